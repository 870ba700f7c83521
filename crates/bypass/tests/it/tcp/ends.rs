//! Both ends of a connection: a stack whose clock the test has, and the kernel's TCP.

use crate::bench::{addresses, port};
use crate::harm::{Harm, Harmed};
use bypass::frame::Checksums;
use bypass::{ConnectionId, Device, Port, Protocol, TcpLimits, TcpStack};
use clock::{Clock, Deadline};
use host::network::{DEVICE, Networks};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

pub const PATIENCE: Duration = Duration::from_secs(60);
/// Time of the stack between two polls at most. A thread that gets no core for long would otherwise
/// look like a peer that is silent for long.
const STEP_NS: u64 = 100_000_000;
/// A pattern's length, which divides no size of a buffer.
const PATTERN_BYTES: usize = 1_000_003;

/// Bytes that the stack sends, and those of the kernel's end.
pub static OURS: LazyLock<Pattern> = LazyLock::new(|| Pattern::new(1));
pub static THEIRS: LazyLock<Pattern> = LazyLock::new(|| Pattern::new(2));

/// Bytes without an end that differ from themselves at every shift.
pub struct Pattern(Vec<u8>);

impl Pattern {
    fn new(seed: u64) -> Pattern {
        let mut random = clock::random::SplitMix64::new(seed);
        Pattern((0..PATTERN_BYTES).map(|_| random.bits() as u8).collect())
    }

    /// Bytes from a place on: at least one, and at most `max`.
    pub fn at(&self, place: usize, max: usize) -> &[u8] {
        let begin = place % self.0.len();
        &self.0[begin..self.0.len().min(begin + max)]
    }

    /// Whether these bytes stand at a place.
    fn has(&self, mut place: usize, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            let part = self.at(place, bytes.len());
            let (front, rest) = bytes.split_at(part.len());
            if front != part {
                return false;
            }
            (place, bytes) = (place + part.len(), rest);
        }
        true
    }
}

/// A stack whose frames may be harmed, and its clock.
pub struct Bench {
    pub stack: TcpStack<Harmed<Port>>,
    /// The address and port that it has.
    pub local: SocketAddrV4,
    clock: Clock,
    seen_ns: u64,
    now_ns: u64,
    /// Frames that had come, when by the stack's clock the last one did, and the longest time
    /// without one, ns.
    heard: (u64, u64, u64),
    /// By how much its clock runs faster than time; 0: it stands until the test moves it.
    pub haste: u64,
}

impl Bench {
    /// A stack with one claimed address; `None` after counting the test as skipped.
    pub fn new(networks: &Networks, limits: TcpLimits) -> Option<Bench> {
        Bench::harmed(networks, limits, 0, [Harm::NONE; 2])
    }

    /// With harm on the way in and on the way out.
    pub fn harmed(
        networks: &Networks,
        limits: TcpLimits,
        seed: u64,
        harm: [Harm; 2],
    ) -> Option<Bench> {
        let mut port = port(networks)?;
        let [ours, theirs] = addresses(networks);
        let prepare = || {
            let local = port.claim(Protocol::Tcp, SocketAddrV4::new(ours, 0)).unwrap();
            (local, port.next_hop(theirs).unwrap())
        };
        let (local, their_mac) = networks.exchange().within(prepare).unwrap();
        let mac = port.interface().mac;
        let is_harmed = harm != [Harm::NONE; 2];
        let sums = if is_harmed { Checksums::Whole } else { Checksums::OrPartial };
        let frames = Harmed::new(port, seed, harm);
        let mut stack = TcpStack::over(frames, mac, (ours, 1500), sums, limits, seed).unwrap();
        stack.learn(theirs, their_mac);
        let clock = Clock::calibrate();
        let (seen_ns, heard) = (clock.now_ns(), (0, 0, 0));
        Some(Bench { stack, local, clock, seen_ns, now_ns: 0, heard, haste: 1 })
    }

    pub fn poll(&mut self) {
        let seen_ns = self.clock.now_ns();
        self.now_ns += ((seen_ns - self.seen_ns) * self.haste).min(STEP_NS);
        self.seen_ns = seen_ns;
        self.stack.poll(self.now_ns).unwrap();
        let (count, last_ns, longest_ns) = self.heard;
        let now_count = self.stack.frames().inbound.count;
        let last_ns = if now_count > count { self.now_ns } else { last_ns };
        self.heard = (now_count, last_ns, longest_ns.max(self.now_ns - last_ns));
    }

    /// Moves the stack's clock, and polls.
    pub fn pass(&mut self, time: Duration) {
        self.now_ns += time.as_nanos() as u64;
        self.poll();
    }

    pub fn until<T>(&mut self, what: &str, done: impl FnMut(&mut Bench) -> Option<T>) -> T {
        self.until_within(PATIENCE, what, done)
    }

    fn until_within<T>(
        &mut self,
        patience: Duration,
        what: &str,
        mut done: impl FnMut(&mut Bench) -> Option<T>,
    ) -> T {
        let deadline = Deadline::after(patience);
        loop {
            self.poll();
            if let Some(result) = done(self) {
                return result;
            }
            assert!(!deadline.left().is_zero(), "{what}: {:?}", self.stack.counts());
            // The other end may wait for this core.
            std::thread::yield_now();
        }
    }

    /// A connection of the kernel to the stack, and the stack's end.
    pub fn accepted(&mut self, networks: &Networks) -> (TcpStream, ConnectionId) {
        let local = self.local;
        std::thread::scope(|scope| {
            let kernel = scope.spawn(|| connect(networks, local).unwrap());
            let id = self.until("a peer", |bench| bench.stack.accept()).0;
            self.until("the kernel's end", |_| kernel.is_finished().then_some(()));
            (kernel.join().unwrap(), id)
        })
    }

    /// A connection of the stack to the kernel.
    pub fn dialled(&mut self, to: &TcpListener) -> (TcpStream, ConnectionId) {
        let SocketAddr::V4(address) = to.local_addr().unwrap() else { panic!() };
        let id = self.stack.connect(self.local.port(), address).unwrap();
        self.until("a connection", |bench| bench.stack.is_connected(id).then_some(()));
        std::thread::scope(|scope| {
            let kernel = scope.spawn(|| to.accept().unwrap().0);
            // The kernel may still wait for the last part of the handshake.
            self.until("the kernel's end", |_| kernel.is_finished().then_some(()));
            (kernel.join().unwrap(), id)
        })
    }

    /// Both ends send so many bytes at the same time, the stack's first, and end. All of them
    /// arrive, in order.
    pub fn talk(&mut self, id: ConnectionId, kernel: TcpStream, bytes: [usize; 2]) {
        let reversed = [bytes[1], bytes[0]];
        std::thread::scope(|scope| {
            let kernel = scope.spawn(move || kernels_end(&kernel, reversed));
            self.send_and_receive(id, bytes);
            self.until("the kernel's end", |_| kernel.is_finished().then_some(()));
            let silence = Duration::from_nanos(self.heard.2);
            let ended = kernel.join();
            ended.unwrap_or_else(|_| panic!("the kernel's end failed; silence of {silence:?}"));
        });
    }

    fn send_and_receive(&mut self, id: ConnectionId, [ours, theirs]: [usize; 2]) {
        // A busy machine still passes a megabyte a second.
        let patience = PATIENCE + Duration::from_micros((ours + theirs) as u64);
        let (mut sent, mut came, mut into) = (0, 0, vec![0; 65_536]);
        let mut is_finished = false;
        self.until_within(patience, "all bytes", |bench| {
            while sent < ours {
                match bench.stack.write(id, OURS.at(sent, ours - sent)) {
                    Ok(n) => sent += n,
                    Err(why) if why.kind() == ErrorKind::WouldBlock => break,
                    Err(why) => panic!("{why} after {sent} bytes of {ours}"),
                }
            }
            if sent == ours && !is_finished {
                bench.stack.finish(id);
                is_finished = true;
            }
            loop {
                match bench.stack.read(id, &mut into) {
                    Ok(0) => return is_finished.then_some(()),
                    Ok(n) => {
                        assert!(THEIRS.has(came, &into[..n]), "from the kernel, after {came}");
                        came += n;
                    }
                    Err(why) if why.kind() == ErrorKind::WouldBlock => return None,
                    Err(why) => panic!("{why} after {came} bytes of {theirs}"),
                }
            }
        });
        assert_eq!(came, theirs);
    }
}

/// The kernel's end: sends and reads at the same time.
fn kernels_end(stream: &TcpStream, [theirs, ours]: [usize; 2]) {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut sent = 0;
            while sent < theirs {
                let part = THEIRS.at(sent, (theirs - sent).min(65_536));
                let mut stream = stream;
                stream.write_all(part).unwrap();
                sent += part.len();
            }
            stream.shutdown(Shutdown::Write).unwrap();
        });
        let (mut came, mut into, mut stream) = (0, vec![0; 65_536], stream);
        loop {
            match stream.read(&mut into) {
                Ok(0) => break,
                Ok(n) => {
                    assert!(OURS.has(came, &into[..n]), "to the kernel, after {came} bytes");
                    came += n;
                }
                Err(why) => {
                    assert_eq!(why.kind(), ErrorKind::Interrupted, "{why} after {came} bytes");
                }
            }
        }
        assert_eq!(came, ours, "bytes to the kernel");
    });
}

pub fn connect(networks: &Networks, to: SocketAddrV4) -> io::Result<TcpStream> {
    networks.trader().within(|| TcpStream::connect_timeout(&SocketAddr::V4(to), PATIENCE)).unwrap()
}

/// A listener of the kernel.
pub fn listener(networks: &Networks) -> TcpListener {
    let listen = || TcpListener::bind((addresses(networks)[1], 0));
    networks.trader().within(listen).unwrap().unwrap()
}

/// Makes the kernel's TCP send again after milliseconds, and acknowledge at once, so that a test
/// with many losses is short.
pub fn hasten_the_kernel(networks: &Networks) {
    let mut ip = Command::new("ip");
    ip.args(["route", "change", "192.0.2.0/24", "dev", DEVICE, "scope", "link", "src"]);
    ip.arg(addresses(networks)[1].to_string()).args(["rto_min", "10ms", "quickack", "1"]);
    let done = networks.trader().within(|| ip.output().unwrap()).unwrap();
    assert!(done.status.success(), "{done:?}");
}

/// States of the kernel's connections to an address, as /proc/net/tcp numbers them.
pub fn kernels_states(networks: &Networks, to: SocketAddrV4) -> Vec<String> {
    let read = || std::fs::read_to_string("/proc/thread-self/net/tcp").unwrap();
    let table = networks.trader().within(read).unwrap();
    let address = u32::from_ne_bytes(Ipv4Addr::octets(to.ip()));
    let wanted = format!("{address:08X}:{:04X}", to.port());
    let rows = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    rows.filter(|row| row.get(2) == Some(&&*wanted)).map(|row| row[3].to_owned()).collect()
}

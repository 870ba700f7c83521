//! A replicator on a thread, and the sockets around it. Tests take the names from here.

pub use clock::Clock;
use fanout::register::member::{Answer, Member};
pub use fanout::replicate::{Counts, FanOutError, Replicator, Settings, Tunnel};
pub use plan::tables::fan_out::SendOrder;
use std::io::ErrorKind;
pub use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
pub use std::sync::Arc;
pub use std::sync::atomic::{AtomicBool, Ordering};
pub use std::sync::mpsc;
pub use std::thread::JoinHandle;
pub use std::time::Duration;
use std::time::Instant;

/// How long a datagram may take on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(20);
/// How long nothing must come where nothing is expected.
pub const SILENCE: Duration = Duration::from_millis(150);
/// The longest that a replicator of a test runs, ns.
pub const LONGEST_NS: u64 = 60_000_000_000;

/// A replicator's work, which may have to be done in another namespace.
pub type Work<'a> = &'a mut dyn FnMut() -> Result<Counts, FanOutError>;

/// Any port of this host.
pub const ANY: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);

/// A replicator that copies to these.
pub fn settings(to: &[SocketAddrV4]) -> Settings {
    Settings {
        from: ANY,
        interface: Ipv4Addr::LOCALHOST,
        source: None,
        to: to.to_vec(),
        listen: Some(ANY),
        lease_ms: 5_000,
        parent: None,
        order: SendOrder::Fixed,
        seed: 0,
        gre: None,
        tunnel: Tunnel::None,
        backend: plan::backend::BLOCK,
        queue: plan::backend::Queue::All,
    }
}

/// A replicator on a thread of its own.
pub struct Running {
    pub from: SocketAddrV4,
    pub listening: SocketAddrV4,
    pub stop: Arc<AtomicBool>,
    pub thread: JoinHandle<Result<Counts, FanOutError>>,
}

impl Running {
    pub fn start(settings: Settings) -> Running {
        Running::start_in(settings, |work| work())
    }

    /// `within` runs a closure where the replicator is to be.
    pub fn start_in(
        settings: Settings,
        within: impl FnOnce(Work<'_>) -> Result<Counts, FanOutError> + Send + 'static,
    ) -> Running {
        Running::start_for(LONGEST_NS, settings, within)
    }

    /// The same, for this long at most.
    pub fn start_for(
        longest_ns: u64,
        settings: Settings,
        within: impl FnOnce(Work<'_>) -> Result<Counts, FanOutError> + Send + 'static,
    ) -> Running {
        let stop = Arc::new(AtomicBool::new(false));
        let (ready, when_ready) = mpsc::channel();
        let its_stop = stop.clone();
        let mut work = move || {
            let clock = Clock::calibrate();
            let replicator = Replicator::new(settings.clone(), clock)?;
            let listening = replicator.listening().unwrap().unwrap_or(ANY.into());
            ready.send((v4(replicator.from().unwrap()), v4(listening))).unwrap();
            replicator.run(&its_stop, Some(clock.now_ns() + longest_ns))
        };
        let thread = std::thread::spawn(move || within(&mut work));
        let (from, listening) = when_ready.recv().unwrap();
        Running { from, listening, stop, thread }
    }

    pub fn end(self) -> Counts {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap().unwrap()
    }
}

pub fn v4(address: SocketAddr) -> SocketAddrV4 {
    match address {
        SocketAddr::V4(address) => address,
        SocketAddr::V6(_) => panic!("{address}"),
    }
}

pub fn socket() -> (UdpSocket, SocketAddrV4) {
    socket_at(ANY)
}

/// A port that a socket of this test has just left may be taken for a moment: another test that
/// starts a process has copies of all sockets in it until that one runs its program.
pub fn socket_at(at: SocketAddrV4) -> (UdpSocket, SocketAddrV4) {
    let deadline = Instant::now() + PATIENCE;
    let socket = loop {
        match UdpSocket::bind(at) {
            Err(error) if error.kind() == ErrorKind::AddrInUse && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(1));
            }
            bound => break bound.unwrap(),
        }
    };
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let address = v4(socket.local_addr().unwrap());
    (socket, address)
}

/// Stopping a process interrupts its waits with a timeout, and some machines stop all of theirs.
pub fn receive(socket: &UdpSocket) -> Vec<u8> {
    let mut bytes = [0; 2048];
    loop {
        match socket.recv(&mut bytes) {
            Ok(length) => return bytes[..length].to_vec(),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => panic!("{error}"),
        }
    }
}

#[track_caller]
pub fn gets_nothing(socket: &UdpSocket) {
    socket.set_read_timeout(Some(SILENCE)).unwrap();
    let got = socket.recv(&mut [0; 2048]);
    assert!(got.is_err(), "{got:?} bytes came");
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
}

/// Registers `socket` and reads until it is accepted.
pub fn register(socket: &UdpSocket, at: SocketAddrV4) -> Member {
    let mut member = Member::new(at).unwrap();
    socket.send_to(&member.due(0).unwrap(), at).unwrap();
    while !member.is_registered(0) {
        let mut bytes = [0; 2048];
        let (length, from) = socket.recv_from(&mut bytes).unwrap();
        match member.receive(&bytes[..length], from, 0) {
            Answer::Reply(reply) => drop(socket.send_to(&reply, at).unwrap()),
            Answer::Taken => {}
            Answer::Other => panic!("a copy came before the lease"),
        }
    }
    member
}

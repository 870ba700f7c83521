//! TCP against the kernel's, both roles, with harm in between.

use crate::bench::{Harm, Harmed, addresses, networks, port};
use bypass::frame::Checksums;
use bypass::{ConnectionId, Device, Frames, Port, Protocol, TcpLimits, TcpStack};
use clock::{Clock, Deadline};
use host::network::Networks;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);
const MEGABYTE: usize = 1 << 20;
const NO_HARM: Harm = Harm { drop: 0, double: 0, swap: 0 };

/// A stack whose frames are harmed, and its clock. The clock runs faster than time, because the
/// stack waits for a second before it sends a segment again.
struct Bench {
    stack: TcpStack<Harmed<Port>>,
    clock: Clock,
    started_ns: u64,
    haste: u64,
}

impl Bench {
    /// A stack with one claimed address, and the networks' other end.
    fn new(networks: &Networks, harm: Harm, limits: TcpLimits) -> Option<(Bench, SocketAddrV4)> {
        let mut port = port(networks)?;
        let [ours, theirs] = addresses(networks);
        let prepare = || {
            let local = port.claim(Protocol::Tcp, SocketAddrV4::new(ours, 0)).unwrap();
            (local, port.next_hop(theirs).unwrap())
        };
        let (local, their_mac) = networks.exchange().within(prepare).unwrap();
        let mac = port.interface().mac;
        let haste = if harm.drop > 0 { 20 } else { 1 };
        let frames = Harmed::new(port, harm);
        let sums = Checksums::OrPartial;
        let mut stack = TcpStack::over(frames, mac, (ours, 1500), sums, limits, 42).unwrap();
        stack.learn(theirs, their_mac);
        let clock = Clock::calibrate();
        let started_ns = clock.now_ns();
        Some((Bench { stack, clock, started_ns, haste }, local))
    }

    fn poll(&mut self) {
        let now_ns = (self.clock.now_ns() - self.started_ns) * self.haste;
        self.stack.poll(now_ns).unwrap();
    }

    fn until<T>(&mut self, what: &str, mut done: impl FnMut(&mut Bench) -> Option<T>) -> T {
        let deadline = Deadline::after(PATIENCE);
        loop {
            self.poll();
            if let Some(result) = done(self) {
                return result;
            }
            assert!(!deadline.left().is_zero(), "{what}: {:?}", self.stack.counts());
        }
    }

    fn accept(&mut self) -> ConnectionId {
        self.until("accept", |bench| bench.stack.accept()).0
    }

    /// Sends `bytes`, ends, and reads until the peer ends.
    fn exchange(&mut self, id: ConnectionId, bytes: &[u8]) -> Vec<u8> {
        let (mut sent, mut came) = (0, Vec::new());
        let mut into = vec![0; 65_536];
        self.until("exchange", |bench| {
            while sent < bytes.len() {
                match bench.stack.write(id, &bytes[sent..]) {
                    Ok(n) => sent += n,
                    Err(why) if why.kind() == ErrorKind::WouldBlock => break,
                    Err(why) => panic!("{why} after {sent} bytes"),
                }
                if sent == bytes.len() {
                    bench.stack.finish(id);
                }
            }
            loop {
                match bench.stack.read(id, &mut into) {
                    Ok(0) if sent == bytes.len() => return Some(()),
                    Ok(0) => return None,
                    Ok(n) => came.extend_from_slice(&into[..n]),
                    Err(why) if why.kind() == ErrorKind::WouldBlock => return None,
                    Err(why) => panic!("{why} after {} bytes", came.len()),
                }
            }
        });
        came
    }
}

fn pattern(seed: u64) -> Vec<u8> {
    let mut state = seed;
    let next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    (0..MEGABYTE).map(next).collect()
}

/// The kernel's end: sends and reads at the same time.
fn kernels_end(stream: TcpStream) -> Vec<u8> {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    std::thread::scope(|scope| {
        let sender = scope.spawn(|| {
            (&stream).write_all(&pattern(2)).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
        });
        let mut came = Vec::new();
        (&stream).read_to_end(&mut came).unwrap();
        sender.join().unwrap();
        came
    })
}

fn connect(networks: &Networks, to: SocketAddrV4) -> io::Result<TcpStream> {
    networks.trader().within(|| TcpStream::connect_timeout(&SocketAddr::V4(to), PATIENCE)).unwrap()
}

/// A megabyte each way at the same time, equal byte for byte: the kernel connects.
fn as_a_server(harm: Harm, limits: TcpLimits) -> Option<[[u64; 3]; 2]> {
    let networks = networks()?;
    let (mut bench, local) = Bench::new(&networks, harm, limits)?;
    bench.stack.listen(local.port());
    std::thread::scope(|scope| {
        let kernel = scope.spawn(|| kernels_end(connect(&networks, local).unwrap()));
        let id = bench.accept();
        assert!(bench.exchange(id, &pattern(1)) == pattern(2), "bytes from the kernel differ");
        bench.until("the kernel's end", |_| kernel.is_finished().then_some(()));
        assert!(kernel.join().unwrap() == pattern(1), "bytes to the kernel differ");
    });
    Some(bench.stack.frames_mut().harmed())
}

/// The same, and the stack connects.
fn as_a_client(harm: Harm, limits: TcpLimits) -> Option<[[u64; 3]; 2]> {
    let networks = networks()?;
    let (mut bench, local) = Bench::new(&networks, harm, limits)?;
    let listen = || TcpListener::bind((addresses(&networks)[1], 0));
    let listener = networks.trader().within(listen).unwrap().unwrap();
    let SocketAddr::V4(to) = listener.local_addr().unwrap() else { panic!() };
    std::thread::scope(|scope| {
        let kernel = scope.spawn(|| kernels_end(listener.accept().unwrap().0));
        let id = bench.stack.connect(local.port(), to).unwrap();
        bench.until("connect", |bench| bench.stack.is_connected(id).then_some(()));
        assert!(bench.exchange(id, &pattern(1)) == pattern(2), "bytes from the kernel differ");
        bench.until("the kernel's end", |_| kernel.is_finished().then_some(()));
        assert!(kernel.join().unwrap() == pattern(1), "bytes to the kernel differ");
    });
    Some(bench.stack.frames_mut().harmed())
}

#[test]
fn a_megabyte_each_way_is_equal_byte_for_byte() {
    as_a_server(NO_HARM, TcpLimits::default());
    as_a_client(NO_HARM, TcpLimits::default());
}

/// With frames that are lost, doubled and out of order, both ways.
#[test]
fn harm_on_the_way_does_not_show() {
    let harm = Harm { drop: 97, double: 31, swap: 17 };
    for harmed in [as_a_server, as_a_client].map(|role| role(harm, TcpLimits::default())) {
        let Some(harmed) = harmed else { return };
        assert!(harmed.as_flattened().iter().all(|n| *n > 2), "no harm was done: {harmed:?}");
    }
}

/// A window of a few segments is full most of the time.
#[test]
fn small_windows_are_enough() {
    let small =
        TcpLimits { receive_buffer_bytes: 4_000, send_buffer_bytes: 4_000, ..TcpLimits::default() };
    as_a_server(NO_HARM, small);
}

/// More connections, one after another, than there are sockets: those in TIME-WAIT give way. The
/// sum of the bytes is right each time, half-closed by the kernel first.
#[test]
fn connections_past_the_limit_reuse_what_has_ended() {
    let limits = TcpLimits { connections_max: 4, backlog: 2, ..TcpLimits::default() };
    let Some(networks) = networks() else { return };
    let Some((mut bench, local)) = Bench::new(&networks, NO_HARM, limits) else { return };
    bench.stack.listen(local.port());
    for n in 0..40u8 {
        let mut kernel = std::thread::scope(|scope| {
            let kernel = scope.spawn(|| connect(&networks, local).unwrap());
            bench.until("connect", |_| kernel.is_finished().then_some(()));
            kernel.join().unwrap()
        });
        let id = bench.accept();
        kernel.write_all(&[n; 100]).unwrap();
        if n % 2 == 0 {
            kernel.shutdown(Shutdown::Write).unwrap();
        }
        let mut into = [0; 200];
        let mut came = 0;
        bench.until("bytes", |bench| {
            came += bench.stack.read(id, &mut into[came..]).unwrap_or(0);
            (came == 100).then_some(())
        });
        bench.stack.write(id, &into[..came]).unwrap();
        bench.stack.close(id);
        kernel.set_nonblocking(true).unwrap();
        let mut back = Vec::new();
        bench.until("the end", |_| kernel.read_to_end(&mut back).is_ok().then_some(()));
        assert_eq!(back, [n; 100]);
    }
    assert_eq!(bench.stack.counts().connections, 40);
}

/// Nobody keeps a closed connection for ever: a peer that does not end its side is reset in time,
/// and one that goes on sending at once.
#[test]
fn peers_of_a_closed_connection_are_reset() {
    let Some(networks) = networks() else { return };
    let made = Bench::new(&networks, NO_HARM, TcpLimits::default());
    let Some((mut bench, local)) = made else { return };
    bench.stack.listen(local.port());
    for sends in [false, true] {
        let mut kernel = std::thread::scope(|scope| {
            let kernel = scope.spawn(|| connect(&networks, local).unwrap());
            let id = bench.accept();
            bench.stack.close(id);
            kernel.join().unwrap()
        });
        bench.poll();
        kernel.set_read_timeout(Some(PATIENCE)).unwrap();
        assert_eq!(kernel.read(&mut [0; 8]).unwrap(), 0, "our side ends");
        match sends {
            true => kernel.write_all(b"more").unwrap(),
            // Eleven seconds later.
            false => bench.started_ns -= 11_000_000_000,
        }
        let error = bench.until("a reset", |_| kernel.take_error().unwrap());
        // So Linux calls a reset that comes after the peer's end.
        assert_eq!(error.kind(), ErrorKind::BrokenPipe, "sends: {sends}");
    }
}

/// The kernel sees a reset, and so do we.
#[test]
fn a_reset_ends_a_connection_at_the_other_end() {
    let Some(networks) = networks() else { return };
    let made = Bench::new(&networks, NO_HARM, TcpLimits::default());
    let Some((mut bench, local)) = made else { return };
    bench.stack.listen(local.port());
    let next = |bench: &mut Bench| {
        std::thread::scope(|scope| {
            let kernel = scope.spawn(|| connect(&networks, local).unwrap());
            let id = bench.accept();
            (kernel.join().unwrap(), id)
        })
    };
    let (mut kernel, id) = next(&mut bench);
    bench.stack.abort(id);
    bench.poll();
    kernel.set_read_timeout(Some(PATIENCE)).unwrap();
    assert_eq!(kernel.read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    // The kernel resets a connection that is closed with unread bytes.
    let (kernel, id) = next(&mut bench);
    bench.stack.write(id, b"unread").unwrap();
    bench.poll();
    kernel.peek(&mut [0; 8]).unwrap();
    drop(kernel);
    bench.until("a reset", |bench| bench.stack.is_closed(id).then_some(()));
    let read = bench.stack.read(id, &mut [0; 8]).unwrap_err();
    assert_eq!(read.kind(), ErrorKind::ConnectionReset);
    assert_eq!(bench.stack.write(id, b"x").unwrap_err().kind(), ErrorKind::BrokenPipe);
    bench.stack.close(id);
    // Nobody listens there.
    let nobody = SocketAddrV4::new(addresses(&networks)[1], 9);
    let refused = bench.stack.connect(local.port(), nobody).unwrap();
    bench.until("a reset", |bench| bench.stack.is_closed(refused).then_some(()));
}

/// A port by itself, without a harmful one in between: the kernel's tables say where the peer is,
/// and no second connection has the same two ends.
#[test]
fn a_stack_on_a_port_finds_its_peer_by_itself() {
    let Some(networks) = networks() else { return };
    let Some(mut port) = port(&networks) else { return };
    let [ours, theirs] = addresses(&networks);
    let listener = networks.trader().within(|| TcpListener::bind((theirs, 0))).unwrap().unwrap();
    let SocketAddr::V4(to) = listener.local_addr().unwrap() else { panic!() };
    let prepare = || {
        let local = port.claim(Protocol::Tcp, SocketAddrV4::new(ours, 0)).unwrap();
        let mut stack = TcpStack::on_port(port, ours, TcpLimits::default(), 7).unwrap();
        stack.resolve(theirs).unwrap();
        (stack, local)
    };
    let (mut stack, local) = networks.exchange().within(prepare).unwrap();
    let id = stack.connect(local.port(), to).unwrap();
    let second = stack.connect(local.port(), to).unwrap_err();
    assert_eq!(second.kind(), ErrorKind::AddrInUse);
    let (clock, deadline) = (Clock::calibrate(), Deadline::after(PATIENCE));
    while !stack.is_connected(id) {
        stack.poll(clock.now_ns()).unwrap();
        assert!(!deadline.left().is_zero(), "{:?}", stack.counts());
    }
    let (_kernel, from) = listener.accept().unwrap();
    assert_eq!(from, SocketAddr::V4(local));
}

/// Limits are named.
#[test]
fn a_limit_out_of_range_is_named() {
    struct Nothing;
    impl Frames for Nothing {
        fn receive(&mut self, _: impl FnOnce(&[u8])) -> bool {
            false
        }
        fn send(&mut self, _: usize, _: impl FnOnce(&mut [u8])) -> bool {
            false
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let made = |limits, mtu| {
        let ends = (Ipv4Addr::LOCALHOST, mtu);
        let mac = bypass::frame::Mac([2; 6]);
        TcpStack::over(Nothing, mac, ends, Checksums::Whole, limits, 1).map(|_| ())
    };
    let limits = TcpLimits::default();
    made(limits, 1500).unwrap();
    for (bad, mtu, name) in [
        (TcpLimits { connections_max: 0, ..limits }, 1500, "connections_max is 0"),
        (TcpLimits { backlog: 65, ..limits }, 1500, "backlog is 65"),
        (TcpLimits { send_buffer_bytes: 0, ..limits }, 1500, "send_buffer_bytes is 0"),
        (limits, 10, "the MTU is 10"),
    ] {
        let error = made(bad, mtu).unwrap_err().to_string();
        assert!(error.starts_with(name), "{error}");
    }
}

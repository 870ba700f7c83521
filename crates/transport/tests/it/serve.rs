//! The server loop over real sockets with the raw echo as its service: every backend, in one thread
//! and with gateways.

use crate::ways::{Way, ways};
use clock::{Clock, Deadline};
use std::io::{BufReader, BufWriter, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use transport::StreamId;
use transport::echo::bulk::{self, ACCOUNT_BYTES, Account};
use transport::echo::{Echo, EchoMessage};
use transport::serve::{Full, Limits, Outbound, Rejections, Service, serve};

struct Running {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Rejections>>,
}

impl Running {
    fn start(way: Way, limits: Limits) -> Running {
        Running::start_with(way, limits, Echo::default())
    }

    fn start_with(way: Way, limits: Limits, mut service: impl Service + Send + 'static) -> Running {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let clock = Clock::calibrate();
            let mut streams = way.open(clock);
            streams.listen(listener).unwrap();
            serve(&mut *streams, &mut service, limits, clock, &stopped).unwrap()
        });
        Running { address, stop, thread: Some(thread) }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        // Or a message in two parts waits 40 ms for the acknowledgement of the first.
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream.set_write_timeout(Some(Duration::from_secs(10))).unwrap();
        stream
    }

    fn stop(mut self) -> Rejections {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

const LIMITS: Limits = Limits {
    connections_max: 64,
    connections_per_address_max: usize::MAX,
    limits_loopback: false,
    outbound_bytes_max: 1 << 20,
    answer_bytes_max: 16 << 20,
    outbound_bytes_before_login_max: 64 << 20,
    outbound_bytes_total_max: 256 << 20,
    held_bytes_max: 1 << 20,
};

/// How long an answer is held.
const WAIT: Duration = Duration::from_millis(400);
/// Half a millisecond each once the loop looks seldom, and some while it looks often. A loop that
/// does not sleep makes this many in some milliseconds.
const TURNS_MAX: u64 = 2_000;

fn message(sequence: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    EchoMessage { length_bytes: 212, reply_bytes: 291, kind: b'O', sequence }.encode(&mut bytes);
    bytes
}

/// Reads one reply of the 291 bytes asked for, and returns its sequence.
fn reply(stream: &mut impl Read) -> u64 {
    let mut bytes = [0; 291];
    stream.read_exact(&mut bytes).unwrap();
    EchoMessage::decode(&bytes).unwrap().unwrap().sequence
}

/// Few connections (read in turn when spinning) and many (found by epoll), interleaved, with
/// messages that arrive in two parts.
#[test]
fn every_connection_gets_its_own_replies() {
    for way in ways() {
        for connections in [1, 3, 20] {
            let server = Running::start(way, LIMITS);
            let mut streams: Vec<TcpStream> = (0..connections).map(|_| server.connect()).collect();
            for round in 0..20u64 {
                for (index, stream) in (0u64..).zip(&mut streams) {
                    let bytes = message(round * 100 + index);
                    stream.write_all(&bytes[..100]).unwrap();
                    if round % 7 == 0 {
                        std::thread::sleep(Duration::from_millis(2));
                    }
                    stream.write_all(&bytes[100..]).unwrap();
                }
                for (index, stream) in (0u64..).zip(&mut streams) {
                    assert_eq!(reply(stream), round * 100 + index, "{way}");
                }
            }
            assert_eq!(server.stop(), Rejections::default());
        }
    }
}

/// Blocks that span many reads, one that follows its header at once, and a message between them.
#[test]
fn blocks_are_swallowed_and_counted_and_messages_are_answered() {
    for way in ways() {
        let server = Running::start(way, LIMITS);
        let mut stream = server.connect();
        let (mut sent, mut last_ns) = (0, 0);
        for (bytes, then) in [(1, 1), (700_000, 0), (24, 3), (300_000, 1)] {
            let mut out = Vec::new();
            bulk::block(bytes, false).encode(&mut out);
            out.resize(out.len() + bytes as usize, 7);
            bulk::block(bytes, true).encode(&mut out);
            out.resize(out.len() + bytes as usize, 7);
            (0..then).for_each(|sequence| out.extend(message(sequence)));
            stream.write_all(&out).unwrap();
            sent += 2 * bytes;
            let mut account = [0; ACCOUNT_BYTES];
            stream.read_exact(&mut account).unwrap();
            let account = Account::decode(&account).unwrap();
            assert_eq!(account.bytes, sent, "{way}");
            assert!(account.received_ns > last_ns, "{way}");
            last_ns = account.received_ns;
            (0..then).for_each(|sequence| assert_eq!(reply(&mut stream), sequence, "{way}"));
        }
        let mut bad = Vec::new();
        bulk::block(bulk::BLOCK_BYTES_MAX + 1, true).encode(&mut bad);
        stream.write_all(&bad).unwrap();
        assert_eq!(stream.read(&mut [0; 9]).unwrap(), 0, "{way}: a block too long ends it");
        assert_eq!(server.stop(), Rejections::default());
    }
}

/// Bytes that could not be written at once are written in order when the client reads again.
#[test]
fn a_client_that_reads_late_gets_everything() {
    for way in ways() {
        let limits = Limits { outbound_bytes_max: 64 << 20, ..LIMITS };
        let server = Running::start(way, limits);
        let stream = server.connect();
        // A call of the system for each message would be most of the test's time.
        let mut writer = BufWriter::with_capacity(64 << 10, stream.try_clone().unwrap());
        let mut stream = BufReader::with_capacity(64 << 10, stream);
        // 29 MB of replies: more than both socket buffers hold.
        let sender = std::thread::spawn(move || {
            (0..100_000).for_each(|sequence| writer.write_all(&message(sequence)).unwrap());
            writer.flush().unwrap();
        });
        std::thread::sleep(Duration::from_millis(300));
        for sequence in 0..100_000 {
            assert_eq!(reply(&mut stream), sequence);
        }
        sender.join().unwrap();
        assert_eq!(server.stop(), Rejections::default());
    }
}

#[test]
fn a_client_that_never_reads_is_cut_off_and_the_others_do_not_notice() {
    for way in ways() {
        // Only half a second without progress ends it, not how much waits.
        let limits = Limits { answer_bytes_max: 1 << 40, ..LIMITS };
        let limits = Limits { outbound_bytes_before_login_max: 1 << 40, ..limits };
        let limits = Limits { outbound_bytes_total_max: 1 << 40, ..limits };
        let server = Running::start(way, limits);
        let mut silent = server.connect();
        let mut polite = server.connect();
        let mut cut_off = false;
        let deadline = Deadline::after(Duration::from_secs(30));
        for sequence in (0..).take_while(|_| !deadline.left().is_zero()) {
            if silent.write_all(&message(sequence)).is_err() {
                cut_off = true;
                break;
            }
            if sequence % 1000 == 0 {
                polite.write_all(&message(sequence)).unwrap();
                assert_eq!(reply(&mut polite), sequence);
            }
        }
        assert!(cut_off, "{way}");
        polite.write_all(&message(7)).unwrap();
        assert_eq!(reply(&mut polite), 7);
        assert_eq!(server.stop().slow_readers, 1);
    }
}

#[test]
fn a_connection_past_the_limit_is_ended_and_one_that_leaves_makes_room() {
    for way in ways() {
        let server = Running::start(way, Limits { connections_max: 2, ..LIMITS });
        let mut first = server.connect();
        let mut second = server.connect();
        for stream in [&mut first, &mut second] {
            stream.write_all(&message(1)).unwrap();
            assert_eq!(reply(stream), 1);
        }
        let mut rejected = server.connect();
        assert_eq!(rejected.read(&mut [0; 16]).unwrap(), 0, "ended without a byte");
        drop(first);
        // The server sees the end of a connection a moment after its client does.
        let mut tries = 0;
        let is_served = |_: &u32| {
            tries += 1;
            let mut third = server.connect();
            let _ = third.write_all(&message(3));
            third.read_exact(&mut [0; 291]).is_ok()
        };
        assert!((0..1000).find(is_served).is_some(), "{way}");
        assert_eq!(server.stop().connections, tries);
    }
}

#[test]
fn a_broken_message_ends_its_connection_alone() {
    for way in ways() {
        let server = Running::start(way, LIMITS);
        let mut broken = server.connect();
        let mut whole = server.connect();
        broken.write_all(&[0xff; 64]).unwrap();
        assert_eq!(broken.read(&mut [0; 16]).unwrap(), 0);
        whole.write_all(&message(5)).unwrap();
        assert_eq!(reply(&mut whole), 5);
        server.stop();
    }
}

/// An echo whose answers wait until they may leave.
#[derive(Default)]
struct Holding {
    echo: Echo,
    may_leave: Arc<AtomicBool>,
    /// Turns of the loop.
    turns: Arc<AtomicU64>,
}

impl Service for Holding {
    fn opened(&mut self, id: StreamId, peer: Option<SocketAddr>, now_ns: u64) {
        self.echo.opened(id, peer, now_ns);
    }
    fn space(&mut self, id: StreamId) -> &mut [u8] {
        self.echo.space(id)
    }
    fn received(&mut self, id: StreamId, n: usize, stamp_ns: u64, outbound: &mut Outbound) {
        outbound.hold(1);
        self.echo.received(id, n, stamp_ns, outbound);
    }
    fn closed(&mut self, _: StreamId, _: &mut Outbound) {}
    fn sweep(&mut self, _: u64, _: &mut Outbound) {}
    fn rejection(&self, _: Full) -> &[u8] {
        &[]
    }
    fn elsewhere(&mut self, outbound: &mut Outbound) -> bool {
        self.turns.fetch_add(1, Ordering::Relaxed);
        if self.may_leave.load(Ordering::Relaxed) {
            outbound.release(1);
        }
        false
    }
}

/// An exchange with `block` took a whole core while it waited for its disk or for a cluster that
/// was electing a leader.
#[test]
fn a_sleeping_loop_sleeps_while_answers_wait_and_sees_that_they_may_leave() {
    for way in ways().into_iter().filter(|way| way.sleeps()) {
        let service = Holding::default();
        let (may_leave, turns) = (service.may_leave.clone(), service.turns.clone());
        let server = Running::start_with(way, LIMITS, service);
        let mut stream = server.connect();
        stream.write_all(&message(7)).unwrap();
        stream.set_read_timeout(Some(WAIT)).unwrap();
        assert!(stream.read(&mut [0; 1]).is_err(), "{way}: it was held");
        let turned = turns.load(Ordering::Relaxed);
        may_leave.store(true, Ordering::Relaxed);
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        assert_eq!(reply(&mut stream), 7, "{way}");
        server.stop();
        assert!(turned < TURNS_MAX, "{way}: {turned} turns in {WAIT:?}");
    }
}

#[test]
fn a_client_that_makes_too_much_wait_is_cut_off() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let server = scope.spawn(|| {
            let clock = Clock::calibrate();
            let mut streams = transport::backend("block").unwrap().open(clock).unwrap();
            streams.listen(listener).unwrap();
            serve(&mut *streams, &mut Holding::default(), LIMITS, clock, &stop).unwrap()
        });
        let mut stream = TcpStream::connect(address).unwrap();
        let deadline = Deadline::after(Duration::from_secs(30));
        while !deadline.left().is_zero() && stream.write_all(&message(1)).is_ok() {}
        let left = deadline.left();
        stop.store(true, Ordering::Relaxed);
        let rejections = server.join().unwrap();
        assert!(!left.is_zero(), "it was not cut off");
        assert_eq!((rejections.held, rejections.slow_readers), (1, 0));
    });
}

/// A connection from one of the machine's loopback addresses.
fn connect_from(server: &Running, source: &str) -> TcpStream {
    use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
    let from: SocketAddr = format!("{source}:0").parse().unwrap();
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&socket, &from).unwrap();
    connect(&socket, &server.address).unwrap();
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream
}

/// Whether the server answers on this connection. One that was rejected has ended.
fn is_served(stream: &mut TcpStream) -> bool {
    let mut bytes = [0; 291];
    stream.write_all(&message(1)).is_ok() && stream.read_exact(&mut bytes).is_ok()
}

/// Issue 13: one address could take all connections.
#[test]
fn one_address_has_so_many_connections() {
    for way in ways() {
        let limits = Limits { connections_per_address_max: 2, limits_loopback: true, ..LIMITS };
        let server = Running::start(way, limits);
        let mut first = [connect_from(&server, "127.0.0.2"), connect_from(&server, "127.0.0.2")];
        assert!(first.iter_mut().all(is_served), "{way}");
        assert!(!is_served(&mut connect_from(&server, "127.0.0.2")), "{way}: one too many");
        let mut other = connect_from(&server, "127.0.0.3");
        assert!(is_served(&mut other), "{way}: another address has its own");
        // Its place is free again when one of them is gone.
        drop(first);
        let deadline = Deadline::after(Duration::from_secs(10));
        while !is_served(&mut connect_from(&server, "127.0.0.2")) {
            assert!(!deadline.left().is_zero(), "{way}");
        }
        let rejections = server.stop();
        assert!(
            rejections.connections_per_address >= 1 && rejections.connections == 0,
            "{rejections:?}"
        );
    }
    // By default loopback is not limited.
    let limits = Limits { connections_per_address_max: 2, ..LIMITS };
    let server = Running::start(ways()[0], limits);
    let mut many: Vec<TcpStream> = (0..5).map(|_| server.connect()).collect();
    assert!(many.iter_mut().all(is_served));
    assert_eq!(server.stop(), Rejections::default());
}

/// Sends until the server cuts the connection off, or until `bytes_max` were sent and it has not.
fn flood(stream: &mut TcpStream, bytes_max: usize) -> bool {
    stream.set_write_timeout(Some(Duration::from_secs(2))).unwrap();
    let bytes = message(1).repeat(100);
    let mut sent = 0;
    while sent < bytes_max {
        match stream.write(&bytes) {
            Ok(n) => sent += n,
            Err(_) => return true,
        }
    }
    false
}

/// Issue 13: a client that had not logged in and did not read took 600 MB.
#[test]
fn a_client_that_has_not_logged_in_and_does_not_read_is_cut_off_at_once() {
    for way in ways() {
        let limits = Limits { outbound_bytes_before_login_max: 64 << 10, ..LIMITS };
        let server = Running::start(way, limits);
        let mut other = server.connect();
        assert!(flood(&mut server.connect(), 256 << 20), "{way}");
        assert!(is_served(&mut other), "{way}");
        let rejections = server.stop();
        assert_eq!(rejections, Rejections { before_login: 1, ..Rejections::default() }, "{way}");
    }
}

/// Many that do not read are bounded together; the fullest goes first.
#[test]
fn what_waits_for_all_clients_is_bounded() {
    for way in ways() {
        // None of them alone is past its own limit.
        let limits = Limits { outbound_bytes_total_max: 2 << 20, ..LIMITS };
        let server = Running::start(way, limits);
        let mut other = server.connect();
        assert!(flood(&mut server.connect(), 256 << 20), "{way}");
        assert!(is_served(&mut other), "{way}");
        let rejections = server.stop();
        assert_eq!(rejections, Rejections { total: 1, ..Rejections::default() }, "{way}");
    }
}

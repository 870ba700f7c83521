//! Sets of streams over real sockets.

use crate::acked::{SharedCounts, beside, bind, dialling};
use crate::streams::{Ready, StreamId, StreamRead, Streams, Write};
use crate::{Blocking, Dialogue};
use clock::Clock;
use plan::faults::DatagramHarm;
use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// A server that sends back what it reads, over TCP and UDP.
struct EchoServer {
    over_udp: SocketAddr,
    over_tcp: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl EchoServer {
    fn start(backend: &'static crate::Backend) -> EchoServer {
        let socket = bind("127.0.0.1:0").unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (over_udp, over_tcp) = (socket.local_addr().unwrap(), listener.local_addr().unwrap());
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let clock = Clock::calibrate();
            let mut streams = beside(backend, socket, &[], clock, SharedCounts::default()).unwrap();
            streams.listen(listener).unwrap();
            let (mut ready, mut buffer) = (Vec::new(), vec![0; 10_000]);
            while !stopped.load(Ordering::Relaxed) {
                streams.wait(clock.now_ns() + 10_000_000, &mut ready).unwrap();
                for event in ready.drain(..) {
                    echo(&mut *streams, event, &mut buffer);
                }
            }
        });
        EchoServer { over_udp, over_tcp, stop, thread: Some(thread) }
    }
}

fn echo(streams: &mut dyn Streams, event: Ready, buffer: &mut [u8]) {
    match event {
        Ready::Incoming => while streams.accept().unwrap().is_some() {},
        Ready::Readable(id) => match streams.read(id, buffer) {
            StreamRead::Bytes { n, .. } => {
                // The clients here wait for each answer, so all of it goes.
                assert!(
                    matches!(streams.write(id, &buffer[..n]), Write::Bytes { n: m, .. } if m == n)
                );
            }
            StreamRead::Empty => {}
            StreamRead::Closed | StreamRead::Failed(_) => streams.remove(id),
        },
        Ready::Writable(_) => {}
    }
}

impl Drop for EchoServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        if !std::thread::panicking() {
            ended.unwrap().unwrap();
        }
    }
}

fn exchange_some(dialogue: &mut impl Blocking, rounds: usize) {
    for round in 0..rounds {
        let sent: Vec<u8> = (0..1 + round * 37 % 4_000).map(|at| (at + round) as u8).collect();
        dialogue.write_all(&sent).unwrap();
        let mut read = vec![0; sent.len()];
        dialogue.read_exact(&mut read).unwrap();
        assert_eq!(read, sent);
    }
}

fn dial(
    backend: &crate::Backend,
    server: SocketAddr,
    harm: DatagramHarm,
) -> (Box<dyn Streams>, StreamId, Clock) {
    let clock = Clock::calibrate();
    let mut streams = dialling(backend, server, harm, clock).unwrap();
    let id = streams.dial(server).unwrap();
    (streams, id, clock)
}

/// A busy machine may take some time for each.
const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn bytes_come_back_over_udp_and_tcp_beside_each_other() {
    for backend in crate::present::backends() {
        let server = EchoServer::start(backend);
        let (mut streams, id, clock) = dial(backend, server.over_udp, DatagramHarm::default());
        let second = streams.dial(server.over_udp).unwrap();
        let mut over_tcp = TcpStream::connect(server.over_tcp).unwrap();
        for id in [id, second] {
            assert_eq!(streams.peer(id), Some(server.over_udp));
            let (patience, is_secure) = (PATIENCE, false);
            let streams = &mut *streams;
            exchange_some(&mut Dialogue { streams, id, clock, patience, is_secure }, 100);
            exchange_some(&mut over_tcp, 20);
        }
    }
}

/// As a bad network would.
#[test]
fn bytes_come_back_through_lost_doubled_and_late_datagrams() {
    let backend = crate::backend("block").unwrap();
    let server = EchoServer::start(backend);
    let harm = DatagramHarm { drop_every: 5, duplicate_every: 3, reorder_every: 4 };
    let (mut streams, id, clock) = dial(backend, server.over_udp, harm);
    let (patience, is_secure) = (PATIENCE, false);
    let streams = &mut *streams;
    exchange_some(&mut Dialogue { streams, id, clock, patience, is_secure }, 40);
}

/// The set of a process that ends says so to the other end.
#[test]
fn the_other_end_learns_of_a_set_that_is_gone() {
    let backend = crate::backend("block").unwrap();
    let server = EchoServer::start(backend);
    let (mut streams, id, clock) = dial(backend, server.over_udp, DatagramHarm::default());
    drop(server);
    let mut dialogue =
        Dialogue { streams: &mut *streams, id, clock, patience: PATIENCE, is_secure: false };
    let error = dialogue.read(&mut [0; 10]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    assert_eq!(error.to_string(), "the other end has reset the connection");
}

#[test]
fn a_closed_port_is_an_error_at_once() {
    let backend = crate::backend("block").unwrap();
    let free = bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let clock = Clock::calibrate();
    let mut streams = dialling(backend, free, DatagramHarm::default(), clock).unwrap();
    assert_eq!(streams.dial(free).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    let other: SocketAddr = "192.0.2.1:9".parse().unwrap();
    assert_eq!(streams.dial(other).unwrap_err().kind(), ErrorKind::AddrNotAvailable);
}

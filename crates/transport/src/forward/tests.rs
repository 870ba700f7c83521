//! Over real sockets, with every backend.

mod slow_readers;

use super::*;
use crate::present;
use crate::tls::{self, Acceptor, CertificatePair as Certificate, Connector};
use plan::trust::Trust;
use rustix::net::sockopt;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(20);
/// More than all buffers of a pair hold.
const MANY_BYTES: usize = 24 << 20;

/// A gateway in a thread of its own.
struct Gateway {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    reports: Receiver<UnreachableExchange>,
    thread: Option<JoinHandle<Counts>>,
}

impl Gateway {
    fn start(backend: &'static str, exchange: &[SocketAddr], limits: Limits) -> Gateway {
        Gateway::start_with(backend, exchange, limits, None)
    }

    fn start_with(
        backend: &'static str,
        exchange: &[SocketAddr],
        limits: Limits,
        acceptor: Option<Arc<Acceptor>>,
    ) -> Gateway {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let (reported, reports) = channel();
        let (flag, exchange) = (stop.clone(), exchange.to_vec());
        let thread = std::thread::spawn(move || {
            let clock = Clock::calibrate();
            let streams = crate::backend(backend).unwrap().open(clock).unwrap();
            let mut streams = tls::around(streams, acceptor, clock);
            streams.listen(listener).unwrap();
            let mut report = |unreachable| reported.send(unreachable).unwrap();
            let exchange = Target { addresses: &exchange, greeting: b"" };
            forward(&mut *streams, exchange, limits, clock, &flag, &mut report).unwrap()
        });
        Gateway { address, stop, reports, thread: Some(thread) }
    }

    fn connect(&self) -> TcpStream {
        patient(TcpStream::connect(self.address).unwrap())
    }

    fn end(mut self) -> Counts {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn patient(stream: TcpStream) -> TcpStream {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Where a test plays the exchange.
fn exchange() -> (TcpListener, SocketAddr) {
    exchange_on("127.0.0.1:0")
}

/// On an address where no other test takes the port of a listener that was dropped.
fn exchange_on(address: &str) -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind(address).unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

fn accept(listener: &TcpListener) -> TcpStream {
    patient(listener.accept().unwrap().0)
}

fn each(test: fn(&'static str)) {
    present::backends().into_iter().for_each(|backend| test(backend.row.name));
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 13 + at / 241) as u8).collect()
}

/// One message there and back.
fn ping(client: &mut TcpStream, exchange: &mut TcpStream) {
    let mut got = [0; 5];
    client.write_all(b"order").unwrap();
    exchange.read_exact(&mut got).unwrap();
    assert_eq!(&got, b"order");
    exchange.write_all(b"reply").unwrap();
    client.read_exact(&mut got).unwrap();
    assert_eq!(&got, b"reply");
}

/// Whether it ends, in order or not, without a further byte.
fn ends(stream: &mut TcpStream) -> bool {
    match stream.read(&mut [0; 1]) {
        Ok(n) => n == 0,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

/// Writes until nothing more is taken for a while; how many bytes were.
fn clog(stream: &mut TcpStream, bytes: &[u8]) -> usize {
    stream.set_nonblocking(true).unwrap();
    let (mut taken, mut last, began) = (0, Instant::now(), Instant::now());
    while last.elapsed() < Duration::from_millis(300) {
        assert!(began.elapsed() < PATIENCE && taken < bytes.len(), "{taken} bytes were taken");
        match stream.write(&bytes[taken..]) {
            Ok(n) => (taken, last) = (taken + n, Instant::now()),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
    stream.set_nonblocking(false).unwrap();
    taken
}

#[test]
fn messages_go_both_ways_and_every_read_is_timed_or_counted() {
    each(|backend| {
        let (listener, address) = exchange();
        let gateway = Gateway::start(backend, &[address], Limits::default());
        let mut client = gateway.connect();
        let mut exchange = accept(&listener);
        (0..200).for_each(|_| ping(&mut client, &mut exchange));
        let counts = gateway.end();
        assert_eq!(counts.connections, 1, "{backend}");
        for carried in [counts.to_exchange, counts.to_client] {
            assert_eq!(carried.bytes, 1000, "{backend}");
            assert_eq!(carried.residence_ns.len() + carried.deferred, 200, "{backend}");
            assert!(carried.residence_ns.len() > 150, "{backend}: {} waited", carried.deferred);
        }
    });
}

/// Neither end reads at first: each is stopped, other clients are not, and nothing is lost.
#[test]
fn an_end_that_does_not_read_stops_only_its_own_pair() {
    each(|backend| {
        let (listener, address) = exchange();
        let gateway = Gateway::start(backend, &[address], Limits::default());
        let bytes = Arc::new(pattern(MANY_BYTES));
        let mut client = gateway.connect();
        let mut exchange = accept(&listener);
        let sent = [clog(&mut client, &bytes), clog(&mut exchange, &bytes)];
        let mut other = gateway.connect();
        let mut other_exchange = accept(&listener);
        (0..20).for_each(|_| ping(&mut other, &mut other_exchange));
        let drains = [(exchange, sent[0]), (client, sent[1])].map(|(mut stream, length)| {
            let bytes = bytes.clone();
            std::thread::spawn(move || {
                let mut got = vec![0; length];
                // In portions that end anywhere.
                for part in got.chunks_mut(12_345) {
                    stream.read_exact(part).unwrap();
                }
                assert!(got == bytes[..length]);
                stream
            })
        });
        let [mut exchange, mut client] = drains.map(|drain| drain.join().unwrap());
        ping(&mut client, &mut exchange);
        let counts = gateway.end();
        for (carried, sent) in [(counts.to_exchange, sent[0]), (counts.to_client, sent[1])] {
            assert_eq!(carried.bytes, 5 + 100 + sent as u64, "{backend}");
            assert!(carried.deferred > 0, "{backend}");
        }
    });
}

/// The sockets take what is in the pair bit by bit.
#[test]
fn bytes_that_are_written_in_parts_stay_in_order() {
    each(|backend| {
        let (listener, address) = exchange();
        let gateway = Gateway::start(backend, &[address], Limits::default());
        let mut client = gateway.connect();
        let mut exchange = accept(&listener);
        let bytes = pattern(MANY_BYTES);
        let writer = std::thread::spawn(move || client.write_all(&bytes).map(|()| client));
        let mut got = vec![0; MANY_BYTES];
        for (at, part) in got.chunks_mut(100_003).enumerate() {
            exchange.read_exact(part).unwrap();
            if at.is_multiple_of(50) {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        assert!(got == pattern(MANY_BYTES), "{backend}");
        drop(writer.join().unwrap().unwrap());
        assert!(ends(&mut exchange), "{backend}");
    });
}

#[test]
fn a_client_over_tls_is_forwarded_in_plain_text() {
    each(|backend| {
        let (listener, address) = exchange();
        let certificate = Certificate::self_signed(&["127.0.0.1".to_owned()]).unwrap();
        let acceptor = Some(Arc::new(Acceptor::of(&certificate).unwrap()));
        let gateway = Gateway::start_with(backend, &[address], Limits::default(), acceptor);
        let ca_pem = String::from_utf8(certificate.certificate).ok();
        let trust = Trust { ca_pem, ..Trust::default() };
        let connector = Connector::new(&trust, &gateway.address.to_string()).unwrap();
        let mut client = connector.connect(gateway.connect()).unwrap();
        let mut exchange = accept(&listener);
        let bytes = pattern(MANY_BYTES / 4);
        let sent = bytes.clone();
        let writer = std::thread::spawn(move || {
            client.write_all(&sent).unwrap();
            std::thread::sleep(Duration::from_millis(100));
            let mut got = vec![0; sent.len()];
            client.read_exact(&mut got).unwrap();
            assert!(got == sent);
            assert_eq!(client.read(&mut [0]).unwrap(), 0);
        });
        std::thread::sleep(Duration::from_millis(100));
        let mut got = vec![0; bytes.len()];
        exchange.read_exact(&mut got).unwrap();
        assert!(got == bytes, "{backend}");
        exchange.write_all(&bytes).unwrap();
        drop(exchange);
        writer.join().unwrap();
    });
}

/// Half an end is passed on, and the reply to what came before it still arrives.
#[test]
fn an_end_is_passed_on_behind_the_bytes_before_it() {
    each(|backend| {
        let (listener, address) = exchange();
        let gateway = Gateway::start(backend, &[address], Limits::default());
        for client_first in [true, false] {
            let client = gateway.connect();
            let exchange = accept(&listener);
            let (mut first, mut second) = match client_first {
                true => (client, exchange),
                false => (exchange, client),
            };
            let bytes = pattern(1 << 20);
            let mut writer = first.try_clone().unwrap();
            let sent = bytes.clone();
            let thread = std::thread::spawn(move || {
                writer.write_all(&sent).unwrap();
                writer.shutdown(Shutdown::Write).unwrap();
            });
            let mut got = Vec::new();
            second.read_to_end(&mut got).unwrap();
            assert!(got == bytes, "{backend}");
            thread.join().unwrap();
            second.write_all(b"reply").unwrap();
            drop(second);
            got.clear();
            first.read_to_end(&mut got).unwrap();
            assert_eq!(got, b"reply", "{backend}");
        }
        assert_eq!(gateway.end().cut, 0, "{backend}");
    });
}

#[test]
fn a_side_that_breaks_ends_the_other_one_and_no_other_pair() {
    each(|backend| {
        let (listener, address) = exchange();
        let gateway = Gateway::start(backend, &[address], Limits::default());
        let mut other = gateway.connect();
        let mut other_exchange = accept(&listener);
        for client_first in [true, false] {
            let mut client = gateway.connect();
            let mut exchange = accept(&listener);
            ping(&mut client, &mut exchange);
            let (breaks, mut stays) = match client_first {
                true => (client, exchange),
                false => (exchange, client),
            };
            sockopt::set_socket_linger(&breaks, Some(Duration::ZERO)).unwrap();
            drop(breaks);
            assert!(ends(&mut stays), "{backend}");
            ping(&mut other, &mut other_exchange);
        }
    });
}

#[test]
fn a_pair_of_which_one_side_does_not_end_is_cut() {
    each(|backend| {
        let (listener, address) = exchange();
        let limits = Limits { linger_ns_max: 1_000_000, ..Limits::default() };
        let gateway = Gateway::start(backend, &[address], limits);
        let mut client = gateway.connect();
        let mut exchange = accept(&listener);
        exchange.shutdown(Shutdown::Write).unwrap();
        assert!(ends(&mut client), "{backend}");
        // The client does not end its side, so nothing but the limit does.
        assert!(ends(&mut exchange), "{backend}");
        assert_eq!(gateway.end().cut, 1, "{backend}");
    });
}

#[test]
fn while_the_exchange_is_away_clients_are_closed_and_counted() {
    each(|backend| {
        let (listener, address) = exchange_on("127.0.0.2:0");
        drop(listener);
        let gateway = Gateway::start(backend, &[address], Limits::default());
        for count in 1..=3 {
            assert!(ends(&mut gateway.connect()), "{backend}");
            let report = gateway.reports.recv_timeout(PATIENCE).unwrap();
            assert_eq!((report.address, report.count), (address, count), "{backend}");
            assert_eq!(report.error.kind(), ErrorKind::ConnectionRefused, "{backend}");
        }
        let listener = TcpListener::bind(address).unwrap();
        let mut client = gateway.connect();
        ping(&mut client, &mut accept(&listener));
        let counts = gateway.end();
        assert_eq!((counts.connections, counts.exchange_unreachable), (4, 3), "{backend}");
    });
}

/// Its accept queue is full, so that the kernel drops what asks for a connection.
#[test]
fn a_connection_to_the_exchange_times_out() {
    each(|backend| {
        let (listener, address) = exchange();
        rustix::net::listen(&listener, 0).unwrap();
        let _fill: Vec<TcpStream> = (0..2)
            .map_while(|_| TcpStream::connect_timeout(&address, Duration::from_millis(50)).ok())
            .collect();
        let limits = Limits { connect_ns_max: 10_000_000, ..Limits::default() };
        let gateway = Gateway::start(backend, &[address], limits);
        let mut client = gateway.connect();
        client.write_all(b"order").unwrap();
        assert!(ends(&mut client), "{backend}");
        let report = gateway.reports.recv_timeout(PATIENCE).unwrap();
        assert_eq!(report.error.kind(), ErrorKind::TimedOut, "{backend}");
    });
}

#[test]
fn every_address_of_the_exchange_is_tried() {
    each(|backend| {
        let (closed, nowhere) = exchange_on("127.0.0.3:0");
        drop(closed);
        let (listener, address) = exchange();
        let gateway = Gateway::start(backend, &[nowhere, address], Limits::default());
        for _ in 0..2 {
            let mut client = gateway.connect();
            ping(&mut client, &mut accept(&listener));
        }
        assert_eq!(gateway.end().exchange_unreachable, 0, "{backend}");
    });
}

#[test]
fn a_client_past_the_limit_is_closed_and_counted() {
    each(|backend| {
        let (listener, address) = exchange();
        let limits = Limits { connections_max: 2, ..Limits::default() };
        let gateway = Gateway::start(backend, &[address], limits);
        let mut clients: Vec<_> = (0..2).map(|_| (gateway.connect(), accept(&listener))).collect();
        clients.iter_mut().for_each(|(client, exchange)| ping(client, exchange));
        assert!(ends(&mut gateway.connect()), "{backend}");
        let (client, mut exchange) = clients.pop().unwrap();
        drop(client);
        assert!(ends(&mut exchange), "{backend}");
        drop(exchange);
        // Its place is free as soon as the gateway has seen both ends.
        let began = Instant::now();
        loop {
            let mut client = gateway.connect();
            listener.set_nonblocking(true).unwrap();
            std::thread::sleep(Duration::from_millis(20));
            if let Ok((exchange, _)) = listener.accept() {
                exchange.set_nonblocking(false).unwrap();
                ping(&mut client, &mut patient(exchange));
                break;
            }
            assert!(began.elapsed() < PATIENCE, "{backend}");
        }
        let counts = gateway.end();
        assert!(counts.rejected_connections >= 1 && counts.connections == 3, "{backend}");
    });
}

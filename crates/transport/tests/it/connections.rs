//! Connections below the kernel, between two namespaces; needs root. The kernel's TCP is the judge
//! at either end.

use crate::Ending;
use crate::tls::trusted;
use clock::{Clock, Deadline};
use host::network::Networks;
use plan::trust::Trust;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use transport::echo::{Echo, EchoMessage};
use transport::serve::{Limits, Rejections, serve};
use transport::tls::{self, Acceptor, Connector};
use transport::{Dialogue, StreamId, Streams};

const PATIENCE: Duration = Duration::from_secs(20);
const BELOW: &str = "af_xdp";
/// The backends of the server and of the client.
const ENDS: [(&str, &str); 3] = [(BELOW, BELOW), (BELOW, "spin"), ("spin", BELOW)];

/// Runs `client` in one network against the raw echo over `backend` in the other. `None` after
/// counting the test as skipped.
fn beside_an_echo(
    backend: &str,
    acceptor: Option<Acceptor>,
    client: impl FnOnce(SocketAddr),
) -> Option<Rejections> {
    let networks = match Networks::create() {
        Ok(networks) => networks,
        Err(why) => {
            testing::skipped(testing::Need::Root, why);
            return None;
        }
    };
    let (clock, stop) = (Clock::calibrate(), AtomicBool::new(false));
    let at = format!("{}:0", networks.exchange().address());
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let server = scope.spawn(|| {
            let mut streams = transport::backend(backend).unwrap().open(clock).unwrap();
            if acceptor.is_some() {
                streams = tls::around(streams, acceptor.map(Arc::new), clock);
            }
            let listening = networks.exchange().within(|| match backend {
                BELOW => streams.listen_at(&at),
                _ => {
                    let listener = TcpListener::bind(&at).unwrap();
                    let address = listener.local_addr();
                    streams.listen(listener).unwrap();
                    address
                }
            });
            let listening = listening.unwrap();
            let is_there = listening.is_ok();
            tell.send(listening.map_err(|why| why.to_string())).unwrap();
            if !is_there {
                return Rejections::default();
            }
            serve(&mut *streams, &mut Echo::default(), Limits::default(), clock, &stop).unwrap()
        });
        let address = match told.recv().unwrap() {
            Ok(address) => address,
            Err(why) => {
                testing::skipped(testing::Need::Kernel, why);
                return None;
            }
        };
        let ending = Ending(&stop);
        networks.trader().within(|| client(address)).unwrap();
        drop(ending);
        Some(server.join().unwrap())
    })
}

/// A client's streams, with TLS if there is something to trust.
fn open(backend: &str, trust: Option<&Trust>, clock: Clock) -> Box<dyn Streams> {
    let streams = transport::backend(backend).unwrap().open(clock).unwrap();
    match trust {
        None => streams,
        Some(trust) => tls::dialling(streams, Connector::new(trust, "any").unwrap(), clock),
    }
}

fn dial(streams: &mut dyn Streams, backend: &str, to: SocketAddr) -> StreamId {
    match backend {
        BELOW => streams.dial(to).unwrap(),
        _ => streams.add(TcpStream::connect(to).unwrap().into()).unwrap(),
    }
}

fn say(streams: &mut dyn Streams, id: StreamId, clock: Clock) -> Dialogue<'_, dyn Streams + '_> {
    Dialogue { streams, id, clock, patience: PATIENCE, is_secure: false }
}

fn message(reply_bytes: u16, sequence: u64) -> Vec<u8> {
    let mut out = Vec::new();
    EchoMessage { length_bytes: 212, reply_bytes, kind: b'O', sequence }.encode(&mut out);
    out
}

/// Each connection gets its own replies, also with a message in two parts; what waits for a reader
/// that does not read comes whole. Over both ends below the kernel, and either one.
#[test]
fn messages_come_back_at_either_end() {
    for (server, client) in ENDS {
        let rejections = beside_an_echo(server, None, |address| {
            let clock = Clock::calibrate();
            let mut streams = open(client, None, clock);
            let ids = [(); 3].map(|()| dial(&mut *streams, client, address));
            assert_eq!(streams.peer(ids[2]), Some(address));
            let stack = streams.stack();
            assert_eq!(stack.is_some_and(|stack| stack.contains("native XDP")), client == BELOW);
            let mut reply = vec![0; 8_000];
            for sequence in 0..300 {
                let mut dialogue = say(&mut *streams, ids[sequence % 3], clock);
                let bytes = message(291, sequence as u64);
                let cut = if sequence % 7 == 0 { 100 } else { 0 };
                dialogue.write_all(&bytes[..cut]).unwrap();
                dialogue.write_all(&bytes[cut..]).unwrap();
                dialogue.read_exact(&mut reply[..291]).unwrap();
                let back = EchoMessage::decode(&reply[..291]).unwrap().unwrap();
                assert_eq!(back.sequence, sequence as u64, "{server} {client}");
            }
            // Four megabytes of replies to a client that reads none until all is sent.
            let mut dialogue = say(&mut *streams, ids[1], clock);
            for sequence in 0..500 {
                dialogue.write_all(&message(8_000, sequence)).unwrap();
            }
            for sequence in 0..500 {
                dialogue.read_exact(&mut reply).unwrap();
                assert_eq!(EchoMessage::decode(&reply).unwrap().unwrap().sequence, sequence);
            }
        });
        let Some(rejections) = rejections else { return };
        assert_eq!(rejections, Rejections::default(), "{server} {client}");
    }
}

/// The same through TLS, whose handshake goes over the streams too; a certificate that nobody
/// trusts is rejected in words.
#[test]
fn tls_is_the_same_below_the_kernel() {
    let (acceptor, trust) = trusted();
    let (_, distrust) = trusted();
    beside_an_echo(BELOW, Some(acceptor), |address| {
        let clock = Clock::calibrate();
        let mut streams = open(BELOW, Some(&trust), clock);
        let id = streams.dial(address).unwrap();
        let (patience, is_secure) = (PATIENCE, true);
        let mut dialogue = Dialogue { streams: &mut *streams, id, clock, patience, is_secure };
        let mut reply = [0; 291];
        for sequence in 0..100 {
            dialogue.write_all(&message(291, sequence)).unwrap();
            dialogue.read_exact(&mut reply).unwrap();
            assert_eq!(EchoMessage::decode(&reply).unwrap().unwrap().sequence, sequence);
        }
        drop(streams);
        let error = open(BELOW, Some(&distrust), clock).dial(address).unwrap_err().to_string();
        assert!(error.contains("certificate is rejected"), "{error}");
    });
}

/// Ends of either side are seen at the other: half-closed, closed, the whole set dropped, and
/// nobody there.
#[test]
fn ends_are_seen_at_the_other_end() {
    let answered = |kernel: &mut TcpStream| {
        kernel.set_read_timeout(Some(PATIENCE)).unwrap();
        kernel.write_all(&message(64, 7)).unwrap();
        kernel.shutdown(Shutdown::Write).unwrap();
        let mut all = Vec::new();
        kernel.read_to_end(&mut all).unwrap();
        all.len()
    };
    let below = beside_an_echo(BELOW, None, |address| {
        assert_eq!(answered(&mut TcpStream::connect(address).unwrap()), 64);
    });
    // The same kernel would fail the client, with nothing to report it as skipped.
    let Some(_) = below else { return };
    beside_an_echo("block", None, |address| {
        let clock = Clock::calibrate();
        let mut streams = open(BELOW, None, clock);
        let ids = [(); 2].map(|()| streams.dial(address).unwrap());
        streams.shutdown(ids[0]);
        let mut dialogue = say(&mut *streams, ids[0], clock);
        assert_eq!(dialogue.read(&mut [0; 8]).unwrap(), 0, "the echo ends its side, too");
        streams.remove(ids[0]);
        assert!(matches!(streams.write(ids[0], b"x"), transport::Write::Failed(_)));
        // Its id is used again.
        assert_eq!(streams.dial(address).unwrap(), ids[0]);
        let nobody = SocketAddr::new(address.ip(), 9);
        assert_eq!(streams.dial(nobody).unwrap_err().kind(), ErrorKind::ConnectionRefused);
        let listener = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
        let error = streams.listen(listener).unwrap_err().to_string();
        assert!(error.contains("take another backend"), "{error}");
    });
}

/// Streams that are dropped end their connections, as a process's sockets do.
#[test]
fn dropped_streams_end_their_connections() {
    let networks = match Networks::create() {
        Ok(networks) => networks,
        Err(why) => testing::skip!(Root, "{why}"),
    };
    let listen = || TcpListener::bind((networks.exchange().address(), 0)).unwrap();
    let listener = networks.exchange().within(listen).unwrap();
    let to = listener.local_addr().unwrap();
    let dialled = networks.trader().within(|| {
        let mut streams = open(BELOW, None, Clock::calibrate());
        streams.dial(to).map(|_| streams)
    });
    let streams = match dialled.unwrap() {
        Ok(streams) => streams,
        Err(why) => testing::skip!(Kernel, "{why}"),
    };
    let (mut kernel, _) = listener.accept().unwrap();
    kernel.set_read_timeout(Some(PATIENCE)).unwrap();
    drop(streams);
    let deadline = Deadline::after(PATIENCE);
    assert_eq!(kernel.read(&mut [0; 8]).unwrap(), 0);
    assert!(!deadline.left().is_zero());
}

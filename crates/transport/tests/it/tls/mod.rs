//! TLS at both ends: bytes through every way of serving, foreign peers, and everything that must
//! fail with an error that says why.

mod authority;
mod echo;
mod foreign;
mod stamps;

use authority::Authority;
use clock::Clock;
use echo::Server;
use plan::trust::Trust;
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};
use transport::tls::{Acceptor, CertificatePair, Connector, RECORD_OVERHEAD_BYTES};

const NAME: &str = "exchange.test";

/// Two certificates of one authority, and what trusts it.
pub fn trusted() -> (Acceptor, Trust) {
    let authority = Authority::new();
    (Acceptor::of(&authority.pair(NAME)).unwrap(), authority.trust(NAME))
}

fn connect(server: &Server, trust: &Trust) -> std::io::Result<transport::Connection> {
    let connector = Connector::new(trust, &server.address.to_string()).unwrap();
    let socket = TcpStream::connect(server.address).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    connector.connect(socket)
}

/// Why no connection comes about: the client's words, then the server's.
fn fails(acceptor: Acceptor, trust: &Trust) -> (String, String) {
    let server = Server::start("block", 0, acceptor);
    let error = connect(&server, trust).err().expect("there must be no connection");
    (error.to_string(), server.failure())
}

#[test]
fn bytes_come_back_whole_in_every_way() {
    for (backend, gateways) in super::ways::all() {
        let (acceptor, trust) = trusted();
        let server = Server::start(backend, gateways, acceptor);
        let mut clients: Vec<_> = (0..6).map(|_| connect(&server, &trust).unwrap()).collect();
        for (round, client) in (0..60).zip((0..6).cycle()) {
            let sent: Vec<u8> = (0..round * 37 + 1).map(|n| (n * 31 + round) as u8).collect();
            clients[client].write_all(&sent).unwrap();
            let mut came = vec![0; sent.len()];
            clients[client].read_exact(&mut came).unwrap();
            assert_eq!(came, sent, "{backend} with {gateways} gateways");
        }
        // More than a record, and more than the kernel's buffers take at once.
        let sent: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
        let client = &mut clients[0];
        let (mut came, mut at) = (vec![0; sent.len()], 0);
        for part in sent.chunks(100_000) {
            client.write_all(part).unwrap();
            // Some of it stays under way, so that the server writes in parts.
            let until = at + part.len() / 2;
            while at < until {
                at += client.read(&mut came[at..]).unwrap();
            }
        }
        client.read_exact(&mut came[at..]).unwrap();
        assert!(came == sent, "{backend} with {gateways} gateways: other bytes came back");
        // All bytes of every client arrived, and each record was as long as its head says.
        assert_eq!(server.failures(), 0);
        drop(clients);
        server.end();
    }
    assert_eq!(RECORD_OVERHEAD_BYTES, 22);
}

/// A client may send its first request with the last message of the handshake, in one packet. The
/// exchange took the stamp 0 for such a request, and at its next look at the time ended the
/// connection as one that had long failed to authenticate.
#[test]
fn bytes_that_come_with_the_end_of_the_handshake_have_a_stamp() {
    let authority = Authority::new();
    let server = Server::start("block", 0, Acceptor::of(&authority.pair(NAME)).unwrap());
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.pem().as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = NAME.try_into().unwrap();
    let mut client = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut socket = TcpStream::connect(server.address).unwrap();
    client.write_tls(&mut socket).unwrap();
    while client.is_handshaking() {
        client.read_tls(&mut socket).unwrap();
        client.process_new_packets().unwrap();
    }
    client.writer().write_all(b"early").unwrap();
    let mut together = Vec::new();
    while client.wants_write() {
        client.write_tls(&mut together).unwrap();
    }
    socket.write_all(&together).unwrap();
    let mut came = [0; 5];
    rustls::Stream::new(&mut client, &mut socket).read_exact(&mut came).unwrap();
    assert_eq!(&came, b"early");
    assert_ne!(server.stamp_ns_min(), 0);
}

/// A thousand writes that the reader leaves in the kernel: the server's records go out in parts.
#[test]
fn a_slow_reader_gets_everything_in_order() {
    let (acceptor, trust) = trusted();
    let server = Server::start("block", 0, acceptor);
    let mut client = connect(&server, &trust).unwrap();
    let sent: Vec<u8> = (0..700_000_u32).map(|n| (n % 253) as u8).collect();
    for part in sent.chunks(70_000) {
        client.write_all(part).unwrap();
    }
    std::thread::sleep(Duration::from_millis(100));
    let mut came = vec![0; sent.len()];
    for part in came.chunks_mut(999) {
        client.read_exact(part).unwrap();
    }
    assert!(came == sent);
}

#[test]
fn a_certificate_that_is_not_good_is_rejected_with_the_reason_at_both_ends() {
    let authority = Authority::new();
    let trust = authority.trust(NAME);
    let of = |pair: &CertificatePair| Acceptor::of(pair).unwrap();
    let (client, server) = fails(of(&authority.expired(NAME)), &trust);
    assert!(client.contains("certificate is rejected") && client.contains("renew it"), "{client}");
    assert!(server.contains("CertificateExpired"), "{server}");

    let (client, server) = fails(of(&Authority::new().pair(NAME)), &trust);
    assert!(client.contains("name the CA's file"), "{client}");
    assert!(server.contains("the client rejects our certificate"), "{server}");

    let alone = CertificatePair::self_signed(&[NAME.to_owned()]).unwrap();
    let (client, server) = fails(of(&alone), &trust);
    assert!(client.contains("it is self-signed, or signed by an authority"), "{client}");
    assert!(server.contains("the client rejects our certificate"), "{server}");

    let (client, server) = fails(of(&authority.pair("other.test")), &trust);
    assert!(client.contains("connect by a name of its subjectAltName"), "{client}");
    assert!(client.contains("other.test"), "it says whose the certificate is: {client}");
    assert!(server.contains("the client rejects our certificate"), "{server}");

    // Trusted by name, the self-signed one is good.
    let ca_pem = String::from_utf8(alone.certificate.clone()).ok();
    let server = Server::start("block", 0, of(&alone));
    let name = Some(NAME.to_owned());
    connect(&server, &Trust { ca_pem, name, ..Trust::default() }).unwrap();
}

#[test]
fn a_plain_client_is_told_to_use_tls() {
    let (acceptor, _) = trusted();
    let server = Server::start("block", 0, acceptor);
    let mut client = TcpStream::connect(server.address).unwrap();
    client.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("use wss://"), "{answer}");
    assert!(server.failure().contains("the client sent plain text to a TLS port"));
}

#[test]
fn a_tls_client_of_a_plain_port_is_told_that_there_is_no_tls() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let peer = std::thread::spawn(move || {
        let mut peer = listener.accept().unwrap().0;
        let n = peer.read(&mut [0; 4096]).unwrap();
        peer.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        n
    });
    let trust = Authority::new().trust(NAME);
    let connector = Connector::new(&trust, NAME).unwrap();
    let error = connector.connect(TcpStream::connect(address).unwrap()).err().unwrap().to_string();
    assert!(error.contains("answered in plain text") && error.contains("HTTP/1.1 400"), "{error}");
    assert!(peer.join().unwrap() > 0);
}

/// A client that stalls is ended; so is one that sends a byte now and then. Others go on meanwhile.
#[test]
fn a_stalled_handshake_is_ended_and_disturbs_nobody() {
    let (acceptor, trust) = trusted();
    let patience = Duration::from_secs(2);
    let server = Server::start("block", 0, acceptor.patience(patience));
    let mut good = connect(&server, &trust).unwrap();
    let silent = TcpStream::connect(server.address).unwrap();
    let mut slow = TcpStream::connect(server.address).unwrap();
    let began = Instant::now();
    let hello = [22, 3, 1, 1, 0, 1, 0, 0, 252, 3, 3];
    let mut sent = 0;
    while server.failures() < 2 {
        assert!(began.elapsed() < Duration::from_secs(30), "nobody was ended");
        if slow.write_all(&hello[sent % hello.len()..][..1]).is_ok() {
            sent += 1;
        }
        good.write_all(b"ping").unwrap();
        good.read_exact(&mut [0; 4]).unwrap();
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(began.elapsed() >= patience);
    assert!(server.failure().contains("it was not done after 2 s: the other end stalls"));
    drop(silent);
}

/// The server's side, driven by hand: however many handshakes wait, between two looks at the
/// sockets there is at most one step of them, behind everything that connected clients sent.
#[test]
fn a_flood_of_handshakes_delays_a_connected_client_by_one_step() {
    use transport::{Ready, StreamRead as Got};
    for backend in ["spin", "block"] {
        let (acceptor, trust) = trusted();
        let acceptor = acceptor.patience(Duration::from_secs(600));
        let clock = Clock::calibrate();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let streams = transport::backend(backend).unwrap().open(clock).unwrap();
        let mut streams =
            transport::tls::around(streams, Some(std::sync::Arc::new(acceptor)), clock);
        streams.listen(listener).unwrap();
        let connector = Connector::new(&trust, NAME).unwrap();
        let client =
            std::thread::spawn(move || connector.connect(TcpStream::connect(address).unwrap()));
        let (mut ready, mut good, mut buffer) = (Vec::new(), None, vec![0; 4096]);
        let began = Instant::now();
        while !client.is_finished() {
            assert!(began.elapsed() < Duration::from_secs(30), "no handshake");
            streams.wait(clock.now_ns() + 1_000_000, &mut ready).unwrap();
            for event in ready.drain(..) {
                match event {
                    Ready::Incoming => good = good.or(streams.accept().unwrap()),
                    Ready::Readable(id) => drop(streams.read(id, &mut buffer)),
                    Ready::Writable(_) => {}
                }
            }
        }
        let (mut client, good) = (client.join().unwrap().unwrap(), good.unwrap());
        // The client's last flight may not be read yet.
        client.write_all(b"ready").unwrap();
        let mut flood: Vec<TcpStream> =
            (0..40).map(|_| TcpStream::connect(address).unwrap()).collect();
        // A whole first flight each, as foreign::hello() says it.
        flood.iter_mut().for_each(|one| one.write_all(&foreign::hello()).unwrap());
        client.write_all(b" and again").unwrap();
        std::thread::sleep(Duration::from_millis(50));
        let (mut came, mut waits, mut steps) = (Vec::new(), 0, 0);
        while steps < 40 {
            assert!(began.elapsed() < Duration::from_secs(60), "{steps} steps in {waits} waits");
            waits += 1;
            streams.wait(clock.now_ns(), &mut ready).unwrap();
            let mut steps_now = 0;
            for event in ready.drain(..) {
                match event {
                    Ready::Incoming => while streams.accept().unwrap().is_some() {},
                    Ready::Readable(id) if id == good => {
                        assert_eq!(steps_now, 0, "a step came before a connected client's bytes");
                        if let Got::Bytes { n, .. } = streams.read(id, &mut buffer) {
                            came.extend_from_slice(&buffer[..n]);
                        }
                    }
                    Ready::Readable(id) => {
                        steps_now += 1;
                        drop(streams.read(id, &mut buffer));
                    }
                    Ready::Writable(_) => {}
                }
            }
            assert!(steps_now <= 1, "{steps_now} steps between two waits");
            steps += steps_now;
        }
        assert_eq!(came, b"ready and again", "{backend}");
    }
}

/// A client that resets its connection while the handshake lasts: the log named "an unknown
/// address", as the socket no longer knew its peer.
#[test]
fn a_client_that_is_gone_is_named_by_its_address() {
    use transport::{Ready, StreamRead as Got};
    let (acceptor, _) = trusted();
    let (sender, failures) = std::sync::mpsc::sync_channel(1);
    let acceptor = Arc::new(acceptor.failures(sender));
    let clock = Clock::calibrate();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let streams = transport::backend("block").unwrap().open(clock).unwrap();
    let mut streams = transport::tls::around(streams, Some(acceptor), clock);
    streams.listen(listener).unwrap();
    let address = client.local_addr().unwrap();
    let (mut ready, mut client, mut ended) = (Vec::new(), Some(client), false);
    let began = Instant::now();
    while !ended {
        assert!(began.elapsed() < Duration::from_secs(30), "the handshake does not end");
        streams.wait(clock.now_ns() + 1_000_000, &mut ready).unwrap();
        for event in ready.drain(..) {
            match event {
                Ready::Incoming => {
                    assert!(streams.accept().unwrap().is_some());
                    let client = client.take().unwrap();
                    // No time to linger: closing resets the connection.
                    let at_once = Some(Duration::ZERO);
                    rustix::net::sockopt::set_socket_linger(&client, at_once).unwrap();
                }
                Ready::Readable(id) => {
                    ended = matches!(streams.read(id, &mut [0; 4096]), Got::Failed(_));
                }
                Ready::Writable(_) => {}
            }
        }
    }
    assert_eq!(failures.try_recv().unwrap().peer, Some(address));
}

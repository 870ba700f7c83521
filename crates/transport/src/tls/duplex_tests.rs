//! Both ends in one process, over sockets of the kernel.

use super::*;
use crate::tls::{CertificatePair, Reason};
use plan::trust::Trust;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

const PATIENCE: Duration = Duration::from_secs(20);

/// A certificate for this host and its key, as files.
struct Files {
    directory: tempfile::TempDir,
}

impl Files {
    fn new() -> Files {
        let directory = tempfile::tempdir().unwrap();
        let pair = CertificatePair::self_signed(&["127.0.0.1".to_owned()]).unwrap();
        std::fs::write(directory.path().join("pem"), pair.certificate).unwrap();
        std::fs::write(directory.path().join("key"), pair.key).unwrap();
        Files { directory }
    }

    fn certificate(&self) -> PathBuf {
        self.directory.path().join("pem")
    }

    fn key(&self) -> PathBuf {
        self.directory.path().join("key")
    }

    fn acceptor(&self) -> Acceptor {
        Acceptor::read(&self.certificate(), &self.key()).unwrap()
    }
}

fn trusting(authority: &Path) -> Connector {
    let trust = Trust { ca: Some(authority.to_owned()), ..Trust::default() };
    Connector::new(&trust, "127.0.0.1").unwrap()
}

fn sockets() -> [TcpStream; 2] {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let server = listener.accept().unwrap().0;
    for socket in [&client, &server] {
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.set_write_timeout(Some(PATIENCE)).unwrap();
    }
    [client, server]
}

/// Reads once, whatever interrupts it.
fn read(duplex: &Duplex, out: &mut [u8]) -> io::Result<usize> {
    loop {
        match (&*duplex).read(out) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// The client's end, and the outcome of the server's first read, in which it makes its handshake.
fn shake_hands(
    connector: &Connector,
    acceptor: &Acceptor,
) -> (io::Result<Duplex>, io::Result<usize>) {
    let [client, server] = sockets();
    // The socket stays open, or what the client has sent would reset the connection.
    let server = Duplex::server(acceptor, server).unwrap();
    std::thread::scope(|scope| {
        let first = scope.spawn(|| read(&server, &mut [0; 8]));
        let client = Duplex::client(connector, client, PATIENCE);
        if let Ok(client) = &client {
            // The other end may have given up.
            let _ = (&*client).write_all(b"hello");
        }
        let first = first.join().unwrap();
        if let (Ok(client), Err(_)) = (&client, &first) {
            // A client learns it when it reads: in TLS 1.3 its own handshake is over by then.
            let error = read(client, &mut [0; 1]).unwrap_err();
            return (Err(error), first);
        }
        (client, first)
    })
}

fn why(error: &io::Error) -> String {
    error.get_ref().map_or_else(|| error.to_string(), ToString::to_string)
}

/// More than any buffer holds, both ways at once, in pieces of all sizes.
#[test]
fn both_directions_carry_bytes_at_the_same_time() {
    const BYTES: usize = 3_000_000;
    let files = Files::new();
    let (acceptor, connector) = (files.acceptor(), trusting(&files.certificate()));
    let [client, server] = sockets();
    let content = |seed: usize| -> Vec<u8> { (0..BYTES).map(|at| (at / 7 + seed) as u8).collect() };
    let carry = |duplex: &Duplex, own: Vec<u8>, other: Vec<u8>| {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (mut rest, mut piece) = (&own[..], 1);
                while !rest.is_empty() {
                    let (now, later) = rest.split_at(piece.min(rest.len()));
                    (&*duplex).write_all(now).unwrap();
                    (rest, piece) = (later, piece * 3 % 200_000 + 1);
                }
            });
            let (mut came, mut bytes, mut room) = (Vec::new(), vec![0; 70_000], 1);
            while came.len() < BYTES {
                let n = read(duplex, &mut bytes[..room]).unwrap();
                assert!(n > 0, "it ended after {} bytes", came.len());
                came.extend_from_slice(&bytes[..n]);
                room = room * 5 % 69_999 + 1;
            }
            assert!(came == other);
        });
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let server = Duplex::server(&acceptor, server).unwrap();
            // The handshake is part of the first read.
            assert_eq!(read(&server, &mut [0; 1]).unwrap(), 1);
            carry(&server, content(1), content(2));
        });
        let client = Duplex::client(&connector, client, PATIENCE).unwrap();
        (&client).write_all(b"x").unwrap();
        carry(&client, content(2), content(1));
    });
}

#[test]
fn the_servers_certificate_is_checked() {
    let [ours, others] = [Files::new(), Files::new()];
    let (client, server) = shake_hands(&trusting(&ours.certificate()), &ours.acceptor());
    assert!(client.is_ok() && server.unwrap() == 5);
    let (client, server) = shake_hands(&trusting(&others.certificate()), &ours.acceptor());
    let error = client.err().unwrap();
    assert!(why(&error).contains("server's certificate is rejected"), "{error}");
    assert!(why(&server.unwrap_err()).contains("client rejects our certificate"));
}

#[test]
fn a_client_without_the_right_certificate_is_rejected() {
    let [ours, theirs, others] = [Files::new(), Files::new(), Files::new()];
    let authority = theirs.certificate();
    let acceptor = Acceptor::read_mutual(&ours.certificate(), &ours.key(), &authority).unwrap();
    acceptor.reload().unwrap();
    let connector = trusting(&ours.certificate());
    let right = connector.clone().showing(&theirs.certificate(), &theirs.key()).unwrap();
    assert_eq!(shake_hands(&right, &acceptor).1.unwrap(), 5);
    let wrong = connector.clone().showing(&others.certificate(), &others.key()).unwrap();
    let error = shake_hands(&wrong, &acceptor).1.unwrap_err();
    assert!(why(&error).contains("client's certificate is rejected"), "{error}");
    let (client, server) = shake_hands(&connector, &acceptor);
    assert!(why(&server.unwrap_err()).contains("shows no certificate"));
    let error = client.err().unwrap();
    assert!(why(&error).contains("asks for a certificate"), "{error}");
    assert!(connector.showing(&theirs.certificate(), &others.key()).is_err(), "another key");
}

#[test]
fn peers_without_tls_and_silent_ones_are_given_up() {
    let files = Files::new();
    let connector = trusting(&files.certificate());
    let [client, mut server] = sockets();
    server.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
    assert!(Duplex::client(&connector, client, PATIENCE).is_err());
    let [client, server] = sockets();
    drop(server);
    let error = Duplex::client(&connector, client, PATIENCE).err().unwrap();
    assert!(why(&error).contains("closed the connection"), "{error}");
    let [client, _server] = sockets();
    let error = Duplex::client(&connector, client, Duration::from_millis(50)).err().unwrap();
    let failed = error.get_ref().and_then(|error| error.downcast_ref::<HandshakeError>());
    assert_eq!(failed.unwrap().reason, Reason::TimedOut);
    let [mut client, server] = sockets();
    let server = Duplex::server(&files.acceptor(), server).unwrap();
    client.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    assert!(read(&server, &mut [0; 8]).is_err());
}

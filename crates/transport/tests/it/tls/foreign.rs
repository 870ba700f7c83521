//! OpenSSL at the other end, where it is installed.

use super::authority::Authority;
use super::echo::Server;
use super::{NAME, connect};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};
use transport::tls::{Acceptor, Connector};

/// A first flight that a server answers: it offers X25519 with a share, ECDSA, AES-128-GCM, TLS
/// 1.3.
pub fn hello() -> Vec<u8> {
    hello_with([3, 3], &[43, 10, 13, 51])
}

/// The same by a client whose highest version without extensions is `version`, with these
/// extensions.
fn hello_with(version: [u8; 2], kinds: &[u16]) -> Vec<u8> {
    let extension = |kind: u16, body: &[u8]| {
        [&kind.to_be_bytes()[..], &(body.len() as u16).to_be_bytes(), body].concat()
    };
    // The base point, which is a valid share.
    let share = [&[0, 36, 0, 29, 0, 32, 9][..], &[0; 31]].concat();
    let all = [(43, &[2, 3, 4][..]), (10, &[0, 2, 0, 29]), (13, &[0, 2, 4, 3]), (51, &share)];
    let extensions: Vec<u8> = all
        .iter()
        .filter(|(kind, _)| kinds.contains(kind))
        .flat_map(|(kind, body)| extension(*kind, body))
        .collect();
    let body = [
        &version[..],
        &[7; 32],
        &[0, 0, 2, 0x13, 1, 1, 0],
        &(extensions.len() as u16).to_be_bytes(),
        &extensions,
    ]
    .concat();
    let message = [&[1, 0][..], &(body.len() as u16).to_be_bytes(), &body].concat();
    [&[22, 3, 1][..], &(message.len() as u16).to_be_bytes(), &message].concat()
}

fn openssl(arguments: &[&str]) -> Option<Child> {
    let mut command = Command::new("openssl");
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    match command.spawn() {
        Ok(child) => Some(child),
        Err(error) => {
            testing::skipped(testing::Need::OpenSsl, format_args!("openssl: {error}"));
            None
        }
    }
}

/// Sends on every line, from a thread of its own.
fn say(output: impl Read + Send + 'static, lines: Sender<String>) {
    std::thread::spawn(move || {
        let output = BufReader::new(output).lines().map_while(Result::ok);
        output.map_while(|line| lines.send(line).ok()).for_each(drop);
    });
}

/// A process that ends with the test.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn file(directory: &tempfile::TempDir, name: &str, bytes: &[u8]) -> String {
    let path: PathBuf = directory.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    path.display().to_string()
}

/// OpenSSL's client against our server: it checks our certificate, asks for new keys, gets its
/// bytes back, and ends in order.
#[test]
fn openssl_is_a_client_of_ours() {
    let (authority, directory) = (Authority::new(), tempfile::tempdir().unwrap());
    let server = Server::start("block", 0, Acceptor::of(&authority.pair(NAME)).unwrap());
    let ca = file(&directory, "ca.pem", authority.pem().as_bytes());
    let address = server.address.to_string();
    let arguments = ["s_client", "-connect", &address, "-CAfile", &ca, "-servername", NAME];
    let checks = ["-verify_hostname", NAME, "-verify_return_error", "-tls1_3"];
    let Some(child) = openssl(&[&arguments[..], &checks].concat()) else { return };
    let mut child = Ends(child);
    let mut input = child.0.stdin.take().unwrap();
    let (sender, lines) = channel();
    say(child.0.stdout.take().unwrap(), sender.clone());
    say(child.0.stderr.take().unwrap(), sender);
    let mut verified = false;
    let mut wait_for = |wanted: &str| loop {
        let line: String = lines.recv_timeout(Duration::from_secs(30)).expect(wanted);
        verified |=
            line.contains("Verify return code: 0 (ok)") || line.contains("Verification: OK");
        if line == wanted {
            break;
        }
    };
    // New keys of both directions, then of one. It takes a letter for a command if it reads nothing
    // else.
    for (asked, wanted) in [("", "one order"), ("K\n", "two"), ("k\n", "three")] {
        if !asked.is_empty() {
            input.write_all(asked.as_bytes()).unwrap();
            wait_for("KEYUPDATE");
        }
        input.write_all(format!("{wanted}\n").as_bytes()).unwrap();
        wait_for(wanted);
    }
    assert!(verified);
    assert_eq!((server.done(), server.failures()), (1, 0));
}

#[test]
fn a_client_that_offers_less_than_1_3_is_rejected_at_both_ends() {
    let authority = Authority::new();
    let server = Server::start("block", 0, Acceptor::of(&authority.pair(NAME)).unwrap());
    let address = server.address.to_string();
    let Some(child) = openssl(&["s_client", "-connect", &address, "-tls1_2"]) else { return };
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains("protocol version"), "{text}");
    let failure = server.failure();
    assert!(failure.contains("the client offers no TLS 1.3"), "{failure}");
}

/// Clients from TLS 1.0 to 1.2, with the extensions that such clients send, are told the version
/// (RFC 8446, 4.2.1 and D.2). One that offers 1.3 without signature algorithms lacks an extension
/// (9.2).
#[test]
fn each_older_client_is_told_that_its_version_is_too_old() {
    const PROTOCOL_VERSION: u8 = 70;
    const MISSING_EXTENSION: u8 = 109;
    let authority = Authority::new();
    let server = Server::start("block", 0, Acceptor::of(&authority.pair(NAME)).unwrap());
    for (version, extensions, alert) in [
        ([3, 1], &[][..], PROTOCOL_VERSION),
        ([3, 1], &[10], PROTOCOL_VERSION),
        ([3, 2], &[10], PROTOCOL_VERSION),
        ([3, 3], &[10], PROTOCOL_VERSION),
        ([3, 3], &[10, 13], PROTOCOL_VERSION),
        ([3, 3], &[43, 10, 51], MISSING_EXTENSION),
    ] {
        let mut client = TcpStream::connect(server.address).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        client.write_all(&hello_with(version, extensions)).unwrap();
        let mut told = [0; 7];
        client.read_exact(&mut told).unwrap();
        assert_eq!(told, [21, 3, 3, 0, 2, 2, alert], "{version:?} {extensions:?}");
        let words = match alert {
            PROTOCOL_VERSION => "the client offers no TLS 1.3",
            _ => "SignatureAlgorithms",
        };
        let failure = server.failure();
        assert!(failure.contains(words), "{failure}");
    }
}

/// The file that `openssl` writes with these arguments; `None` where it is not installed.
fn made(directory: &tempfile::TempDir, name: &str, arguments: &str) -> Option<Vec<u8>> {
    let path = file(directory, name, b"");
    // Some commands take no option behind their last argument.
    let (command, arguments) = arguments.split_once(' ').unwrap();
    let words = [command, "-out", &path].into_iter().chain(arguments.split(' '));
    let done = openssl(&words.collect::<Vec<_>>())?.wait_with_output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Some(std::fs::read(path).unwrap())
}

/// The certificate of `openssl req -x509` is an authority's (CA:TRUE). It is trusted where it is
/// given itself, for its names and its time, and nowhere else.
#[test]
fn a_certificate_of_openssl_is_its_own_authority() {
    let directory = tempfile::tempdir().unwrap();
    let pair = |name: &str| {
        let key = directory.path().join(name).display().to_string();
        let curve = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
        let names = format!("-subj /CN=x -addext subjectAltName=DNS:{NAME}");
        let certificate =
            made(&directory, "pem", &format!("req -x509 {curve} {names} -keyout {key}"))?;
        Some(transport::tls::CertificatePair { certificate, key: std::fs::read(key).unwrap() })
    };
    let (Some(its), Some(other)) = (pair("its.key"), pair("other.key")) else { return };
    let server = Server::start("block", 0, Acceptor::of(&its).unwrap());
    let trust = |pair: &transport::tls::CertificatePair, name: &str| plan::trust::Trust {
        ca: None,
        ca_pem: Some(String::from_utf8(pair.certificate.clone()).unwrap()),
        name: Some(name.to_owned()),
    };
    let mut client = connect(&server, &trust(&its, NAME)).unwrap();
    client.write_all(b"ping").unwrap();
    client.read_exact(&mut [0; 4]).unwrap();
    let error = |trust| connect(&server, &trust).err().unwrap().to_string();
    let wrong_name = error(trust(&its, "other.test"));
    assert!(wrong_name.contains("subjectAltName"), "{wrong_name}");
    let untrusted = error(trust(&other, NAME));
    assert!(untrusted.contains("name this very certificate"), "{untrusted}");
}

#[test]
fn a_key_that_can_not_be_used_is_an_error_with_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let certificate = Authority::new().pair(NAME).certificate;
    for (arguments, why) in [
        ("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-521", "the curve P-521"),
        ("ecparam -name secp521r1 -genkey -noout", "the curve P-521"),
        ("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:secp256k1", "the curve secp256k1"),
        ("genpkey -algorithm ED448", "an Ed448 key"),
        ("genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:1024", "its RSA modulus is shorter"),
        ("genpkey -algorithm ED25519 -aes256 -pass pass:x", "openssl pkey"),
        ("genrsa -traditional -aes256 -passout pass:x 2048", "openssl pkey"),
    ] {
        let Some(key) = made(&directory, "key", arguments) else { return };
        let pair = transport::tls::CertificatePair { certificate: certificate.clone(), key };
        let error = Acceptor::of(&pair).err().expect(arguments).to_string();
        assert!(error.contains(why), "{arguments}: {error}");
    }
}

/// OpenSSL's server, which sends lines back in reverse.
fn reversing(
    directory: &tempfile::TempDir,
    authority: &Authority,
    more: &[&str],
) -> Option<(Ends, String)> {
    let pair = authority.pair(NAME);
    let certificate = file(directory, "certificate.pem", &pair.certificate);
    let key = file(directory, "key.pem", &pair.key);
    let arguments =
        ["s_server", "-accept", "127.0.0.1:0", "-cert", &certificate, "-key", &key, "-rev"];
    let mut child = Ends(openssl(&[&arguments[..], more].concat())?);
    let mut output = BufReader::new(child.0.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("ACCEPT") {
        line.clear();
        assert!(output.read_line(&mut line).unwrap() > 0, "openssl s_server did not start");
    }
    // It goes on talking, to nobody.
    std::thread::spawn(move || std::io::copy(&mut output, &mut std::io::sink()));
    let address = line.split_whitespace().last().unwrap().to_owned();
    Some((child, address))
}

/// Our client against OpenSSL's server, which sends tickets.
#[test]
fn openssl_is_a_server_for_ours() {
    let (authority, directory) = (Authority::new(), tempfile::tempdir().unwrap());
    for cipher in
        ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"]
    {
        let more = ["-tls1_3", "-ciphersuites", cipher];
        let Some((_server, address)) = reversing(&directory, &authority, &more) else { return };
        let connector = Connector::new(&authority.trust(NAME), &address).unwrap();
        let mut client = connector.connect(TcpStream::connect(&address).unwrap()).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        for _ in 0..3 {
            client.write_all(b"redro na\n").unwrap();
            let mut came = [0; 9];
            client.read_exact(&mut came).unwrap();
            assert_eq!(&came, b"an order\n", "{cipher}");
        }
    }
}

#[test]
fn a_server_that_has_less_than_1_3_is_rejected() {
    let (authority, directory) = (Authority::new(), tempfile::tempdir().unwrap());
    let Some((_server, address)) = reversing(&directory, &authority, &["-tls1_2"]) else { return };
    let connector = Connector::new(&authority.trust(NAME), &address).unwrap();
    let error = connector.connect(TcpStream::connect(&address).unwrap()).err().unwrap();
    assert!(error.to_string().contains("the server speaks no TLS 1.3"), "{error}");
}

/// A handshake that is broken off at any byte, or goes on with rubbish, ends that connection alone.
#[test]
fn rubbish_ends_one_connection() {
    let authority = Authority::new();
    let server = Server::start("block", 0, Acceptor::of(&authority.pair(NAME)).unwrap());
    let mut good = connect(&server, &authority.trust(NAME)).unwrap();
    let hello = hello();
    let mut expected = 0;
    for cut in (1..hello.len()).step_by(7) {
        let mut changed = hello.clone();
        changed[cut] ^= 0x55;
        for bytes in [&hello[..cut], &changed[..]] {
            let mut client = TcpStream::connect(server.address).unwrap();
            client.write_all(bytes).unwrap();
            client.shutdown(std::net::Shutdown::Write).unwrap();
            client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            // Until the server has ended it; a reset does that too.
            let _ = client.read_to_end(&mut Vec::new());
            expected += 1;
        }
        good.write_all(b"ping").unwrap();
        good.read_exact(&mut [0; 4]).unwrap();
    }
    let began = Instant::now();
    while server.failures() < expected {
        assert!(began.elapsed() < Duration::from_secs(20), "{} of {expected}", server.failures());
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(server.done(), 1);
}

//! TLS of whole processes: certificates by file and their reload, foreign clients, records
//! of scenarios over TLS, and what is said where it can't be.

use crate::support::*;
use plan::trust::Trust;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use transport::tls::{CertificatePair, Connector};

/// Certificate and key as files.
struct Files {
    directory: tempfile::TempDir,
}

impl Files {
    fn new(names: &[&str]) -> Files {
        let files = Files { directory: tempfile::tempdir().unwrap() };
        files.replace(names);
        files
    }

    /// Another certificate in the same files.
    fn replace(&self, names: &[&str]) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let pair = CertificatePair::self_signed(&names).unwrap();
        std::fs::write(self.path("exchange.pem"), pair.certificate).unwrap();
        std::fs::write(self.path("exchange.key"), pair.key).unwrap();
    }

    fn path(&self, name: &str) -> String {
        self.directory.path().join(name).display().to_string()
    }

    fn arguments(&self) -> Vec<String> {
        let words = ["--any-token", "--tls-certificate"].map(str::to_owned);
        let key = ["--tls-key".to_owned(), self.path("exchange.key")];
        words.into_iter().chain([self.path("exchange.pem")]).chain(key).collect()
    }

    fn connect(&self, address: &str) -> Result<transport::Connection, String> {
        let trust = Trust { ca: Some(self.path("exchange.pem").into()), ..Trust::default() };
        let connector = Connector::new(&trust, address).unwrap();
        connector.connect(TcpStream::connect(address).unwrap()).map_err(|error| error.to_string())
    }
}

fn start(arguments: &[String], more: &[&str]) -> Exchange {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    Exchange::start(&[&arguments[..], more].concat())
}

/// The answer to a health request.
fn health(connection: &mut transport::Connection) -> String {
    connection.write_all(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    answer
}

/// SIGHUP takes another certificate; connections that are open stay; a pair that is no good changes
/// nothing.
#[test]
fn a_hang_up_reloads_the_certificate() {
    let files = Files::new(&["localhost", "127.0.0.1"]);
    let exchange = start(&files.arguments(), &[]);
    let mut old = files.connect(&exchange.address).unwrap();
    let before = std::fs::read(files.path("exchange.pem")).unwrap();
    files.replace(&["127.0.0.1"]);
    let failed = files.connect(&exchange.address).err().unwrap();
    assert!(failed.contains("name the CA's file"), "{failed}");
    signal(exchange.child.id(), rustix::process::Signal::HUP);
    wait_for("the new certificate", || files.connect(&exchange.address).ok());
    assert!(health(&mut old).starts_with("HTTP/1.1 200"));
    // The old certificate and the new key.
    let new = std::fs::read(files.path("exchange.pem")).unwrap();
    std::fs::write(files.path("exchange.pem"), before).unwrap();
    signal(exchange.child.id(), rustix::process::Signal::HUP);
    std::thread::sleep(std::time::Duration::from_millis(200));
    std::fs::write(files.path("exchange.pem"), new).unwrap();
    assert!(health(&mut files.connect(&exchange.address).unwrap()).starts_with("HTTP/1.1 200"));
    let counts = exchange.end();
    assert!(counts["counts"]["tls"]["handshakes"].as_u64() >= Some(3), "{counts}");
    assert!(counts["counts"]["tls"]["failed"]["rejected"].as_u64() >= Some(1), "{counts}");
}

#[test]
fn what_is_no_pair_is_said_before_anything_listens() {
    let files = Files::new(&["localhost"]);
    let words = |certificate: &str, key: &str| {
        let [certificate, key] = [certificate, key].map(|name| files.path(name));
        let done = output(&[
            "exchange",
            "--any-token",
            "--tls-certificate",
            &certificate,
            "--tls-key",
            &key,
        ]);
        assert_eq!(done.status.code(), Some(2), "{done:?}");
        text(&done.stderr)
    };
    std::fs::write(files.path("text"), "no PEM").unwrap();
    let other = CertificatePair::self_signed(&["localhost".to_owned()]).unwrap();
    std::fs::write(files.path("other.key"), other.key).unwrap();
    let nowhere = words("nowhere", "exchange.key");
    assert!(nowhere.contains("cannot read") && nowhere.contains("nowhere"), "{nowhere}");
    let no_certificate = words("text", "exchange.key");
    assert!(no_certificate.contains("no certificate in PEM"), "{no_certificate}");
    let no_key = words("exchange.pem", "text");
    assert!(no_key.contains("no private key in PEM"), "{no_key}");
    let apart = words("exchange.pem", "other.key");
    assert!(apart.contains("is the key that of the first certificate?"), "{apart}");
    for (arguments, wanted) in [
        (&["exchange", "--any-token", "--tls-key", "k"][..], "--tls-certificate"),
        (&["exchange", "--echo", "--tls-self-signed"], "--echo"),
    ] {
        let done = output(arguments);
        assert!(text(&done.stderr).contains(wanted), "{}", text(&done.stderr));
    }
}

/// A client in Java, with the JDK's TLS and WebSocket, with and without a gateway thread.
#[test]
fn a_java_client_trades() {
    let files = Files::new(&["localhost", "127.0.0.1"]);
    let program =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/java-tls/OrderOverTls.java");
    for gateways in ["0", "1"] {
        let exchange = start(&files.arguments(), &["--gateways", gateways]);
        let port = exchange.address.rsplit(':').next().unwrap();
        let java = |host: &str, ca: &str, orders: &str| {
            let mut command = Command::new("java");
            command.arg(&program).args([&format!("wss://{host}:{port}/"), ca, orders]);
            command.stdin(Stdio::null());
            // On a busy machine a JVM may not log on within the exchange's limit.
            for _ in 0..4 {
                let done = command.output()?;
                if !text(&done.stderr).contains("authentication_seconds_max") {
                    return Ok(done);
                }
            }
            command.output()
        };
        let done = match java("localhost", &files.path("exchange.pem"), "20") {
            Ok(done) => done,
            Err(error) => testing::skip!(JavaPeers, "java: {error}"),
        };
        assert!(done.status.success(), "{}", text(&done.stderr));
        assert!(text(&done.stdout).ends_with("order 19 booked and cancelled\n"), "{done:?}");
        if gateways == "0" {
            let stranger = Files::new(&["localhost"]);
            let done = java("localhost", &stranger.path("exchange.pem"), "1").unwrap();
            assert!(!done.status.success());
            assert!(text(&done.stderr).contains("error: "), "{done:?}");
        }
        let counts = exchange.end();
        assert_eq!(counts["counts"]["orders"], 20, "{counts}");
        assert_eq!(counts["counts"]["tls"]["handshakes"], 1, "{counts}");
    }
}

/// The operator's view of handshakes that fail, and of TLS clients at a plain exchange.
#[test]
fn both_ends_say_why_there_is_no_connection() {
    let mut child = tickpath()
        .args(["exchange", "--any-token", "--listen", "127.0.0.1:0", "--backend", "block"])
        .arg("--tls-self-signed")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let ready: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert!(ready["certificate"].as_str().unwrap().starts_with("-----BEGIN CERTIFICATE"));
    let address = ready["listening"].as_str().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let mut logged = |wanted: &str| log.by_ref().find(|line| line.contains(wanted)).unwrap();

    // Trades by hand, without the certificate and in plain text.
    let directory = tempfile::tempdir().unwrap();
    let hlog = directory.path().join("x.hlog").display().to_string();
    let trade = |address: &str, sets: &[&str]| {
        let sets = sets.iter().flat_map(|set| ["--set", *set]);
        let words = ["trade", "order-to-ack", "--connect", address, "--hlog", &hlog];
        let all: Vec<&str> = words.into_iter().chain(sets).collect();
        let done = output(&all);
        assert!(!done.status.success(), "{done:?}");
        text(&done.stderr)
    };
    let ca = format!("exchange.tls_ca={}", Files::new(&["localhost"]).path("exchange.pem"));
    let gone = trade(address, &["tls=true", &ca]);
    assert!(gone.contains("cannot read"), "{gone}");
    let strangers = Files::new(&["127.0.0.1"]);
    let ca = format!("exchange.tls_ca={}", strangers.path("exchange.pem"));
    let foreign = trade(address, &["tls=true", &ca]);
    assert!(foreign.contains("TLS handshake failed") && foreign.contains("CA's file"), "{foreign}");
    assert!(logged("TLS handshake failed").contains("the client rejects our certificate"));
    let plain = trade(address, &[]);
    assert!(plain.contains("400"), "{plain}");
    assert!(logged("plain text").contains("the client is 127.0.0.1:"));
    child.kill().unwrap();
    child.wait().unwrap();

    let exchange = Exchange::start(&["--any-token"]);
    let no_tls = trade(&exchange.address, &["tls=true", &ca]);
    assert!(no_tls.contains("the server answered in plain text"), "{no_tls}");
    let counts = exchange.end();
    assert_eq!(counts["counts"]["rejected"]["tls_on_plain_port"], 1, "{counts}");
}

/// Over TLS a record is one like another, and its floor has as many bytes as TLS sends.
#[test]
fn a_scenario_over_tls_leaves_a_record_with_a_floor_of_equal_bytes() {
    let runs = tempfile::tempdir().unwrap();
    let out = runs.path().display().to_string();
    let sets = [
        "runs=1",
        "warm_up_seconds=0.1",
        "seconds=0.4",
        "floor_seconds=0.2",
        "hiccup_seconds=0",
        "exchange.backend=block",
        "subject.plain.backend=block",
        "subject.rustls.backend=block",
    ];
    let sets = sets.iter().flat_map(|set| ["--set", *set]);
    let all: Vec<&str> = ["run", "tls", "--json", "--out", &out].into_iter().chain(sets).collect();
    let done = output(&all);
    let record = printed_record(&done);
    assert!(!is_void(&record), "{}", record["void_because"]);
    let subjects = record["subjects"].as_array().unwrap();
    let bytes = |name: &str| {
        let found = subjects.iter().find(|subject| subject["name"] == name);
        let subject = found.unwrap_or_else(|| panic!("no {name}: {record}"));
        let order = subject["load"]["message_bytes"]["order"].as_u64().unwrap();
        (order, subject["tls"].as_bool().unwrap_or(false))
    };
    let (plain, rustls) = (bytes("plain"), bytes("rustls"));
    assert_eq!((plain.1, rustls.1), (false, true));
    assert_eq!(bytes("floor"), (plain.0, false));
    assert_eq!(bytes("floor-2"), (rustls.0 + 22, true));
}

#[test]
fn ticks_become_orders_over_tls() {
    let runs = tempfile::tempdir().unwrap();
    let out = runs.path().display().to_string();
    let sets = SHORT_TICKS.iter().chain(&["tls=true"]).flat_map(|set| ["--set", *set]);
    let words = ["run", "tick-to-trade", "--json", "--out", &out];
    let done = output(&words.into_iter().chain(sets).collect::<Vec<_>>());
    let record = printed_record(&done);
    assert!(!is_void(&record), "{}", record["void_because"]);
    assert_eq!(rust(&record)["tls"], true);
}

//! `run endpoint`: an address that belongs to somebody else, near and far, secure and not, and what
//! it may do to a stranger.

use crate::support::{Exchange, output, printed_record, series, text};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Output;
use std::time::Duration;

/// The relay's delay each way: ten times that of a busy machine.
const DELAY: Duration = Duration::from_millis(30);

/// Probes `target` for a second.
fn probe(target: &str, more: &[&str]) -> Output {
    let out = tempfile::tempdir().unwrap();
    let mut arguments = vec!["run", "endpoint", "--connect", target, "--json", "--out"];
    arguments.push(out.path().to_str().unwrap());
    let short = ["runs=1", "warm_up_seconds=0.2", "seconds=1.5", "hiccup_seconds=0"];
    let often = ["endpoint.probes_per_second=50", "subject.probe.backend=block"];
    for set in short.iter().chain(&often).chain(more) {
        arguments.extend(["--set", set]);
    }
    output(&arguments)
}

/// The median, or the largest value where a busy machine left too few.
fn p50_ns(record: &serde_json::Value, name: &str) -> u64 {
    let pooled = &series(record, "probe", name, "service")["pooled"];
    pooled["p50"].as_u64().or(pooled["max"].as_u64()).unwrap()
}

/// Bytes both ways, each late by [`DELAY`]; a thread for each direction of each connection.
fn relay(target: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(server) = TcpStream::connect(&target) else { return };
            let pass = |mut from: TcpStream, mut to: TcpStream| {
                std::thread::spawn(move || {
                    let mut bytes = [0; 4096];
                    while let Ok(n @ 1..) = from.read(&mut bytes) {
                        std::thread::sleep(DELAY);
                        if to.write_all(&bytes[..n]).is_err() {
                            break;
                        }
                    }
                    let _ = to.shutdown(std::net::Shutdown::Both);
                })
            };
            pass(client.try_clone().unwrap(), server.try_clone().unwrap());
            pass(server, client);
        }
    });
    address
}

/// Each step is timed alone: a relay delays what goes through it, and not the connection to itself.
#[test]
fn every_step_is_a_series_and_distance_is_seen_where_it_is() {
    let exchange = Exchange::start(&["--any-token"]);
    let far = relay(exchange.address.clone());
    let done = probe(&far, &["endpoint.fresh_every=2", "seconds=5"]);
    let record = printed_record(&done);
    assert_eq!(record["void_because"], serde_json::json!([]), "{record}");
    let both_ways_ns = 2 * DELAY.as_nanos() as u64;
    for step in ["ping", "upgrade", "first_ping"] {
        assert!(p50_ns(&record, step) >= both_ways_ns, "{step}: {record}");
    }
    // The fastest of a few: a delay would be in each, and what a busy machine adds is not.
    let connect = &series(&record, "probe", "connect", "service")["pooled"];
    assert!(connect["min"].as_u64().unwrap() < both_ways_ns, "{record}");
    let all = record["subjects"][0]["series"].as_array().unwrap();
    assert_eq!(all[0]["name"], "ping", "the main series comes first");
    assert!(all.iter().all(|one| one["name"] != "handshake"), "there was no TLS");
    let load = &record["subjects"][0]["load"];
    assert_eq!(load["sent"], load["received"]);
    let near = printed_record(&probe(&exchange.address, &[]));
    assert!(p50_ns(&near, "ping") < both_ways_ns, "{near}");
    let counts = exchange.end();
    assert_eq!(counts["counts"]["orders"], 0, "probes send no orders: {counts}");
}

/// With TLS the handshake is a step of its own, and a stranger's certificate ends the run.
#[test]
fn a_handshake_is_timed_and_certificates_are_checked() {
    let exchange = Exchange::start(&["--any-token", "--tls-self-signed"]);
    let done = probe(&exchange.address, &["tls=true"]);
    assert_eq!(done.status.code(), Some(2), "{}", text(&done.stderr));
    assert!(text(&done.stderr).contains("handshake"), "{}", text(&done.stderr));
    // The scenario can start an exchange of ours, whose certificate it knows.
    let out = tempfile::tempdir().unwrap();
    let mut arguments = vec!["run", "endpoint", "--json", "--out", out.path().to_str().unwrap()];
    for set in [
        "exchange.start=true",
        "exchange.backend=block",
        "subject.probe.backend=block",
        "tls=true",
        "runs=1",
        "warm_up_seconds=0.1",
        "seconds=1.5",
        "hiccup_seconds=0",
        "endpoint.fresh_every=1",
    ] {
        arguments.extend(["--set", set]);
    }
    let record = printed_record(&output(&arguments));
    assert_eq!(record["void_because"], serde_json::json!([]), "{record}");
    assert!(p50_ns(&record, "handshake") > p50_ns(&record, "connect"), "{record}");
}

/// A target that speaks no WebSocket is connected to, and nothing is sent to it.
#[test]
fn a_target_without_websocket_is_only_connected_to() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let mut said = Vec::new();
            assert_eq!(client.read_to_end(&mut said).unwrap_or(0), 0, "{said:?}");
        }
    });
    let tcp = ["endpoint.protocol=tcp", "endpoint.fresh_every=1"];
    let record = printed_record(&probe(&address, &tcp));
    assert_eq!(record["void_because"], serde_json::json!([]), "{record}");
    assert_eq!(record["subjects"][0]["series"][0]["name"], "connect");
}

/// A stranger's echo server, which is no program of ours: RFC 862 in four lines.
#[test]
fn a_udp_echo_server_is_probed_with_any_payload() {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let mut bytes = [0; 8192];
        while let Ok((n, from)) = socket.recv_from(&mut bytes) {
            let _ = socket.send_to(&bytes[..n], from);
        }
    });
    let udp = ["endpoint.protocol=udp", "endpoint.payload_bytes=4096"];
    let record = printed_record(&probe(&address, &udp));
    assert_eq!(record["void_because"], serde_json::json!([]), "{record}");
    let names: Vec<&str> = record["subjects"][0]["series"]
        .as_array()
        .unwrap()
        .iter()
        .map(|series| series["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["ping", "first_ping"]);
    for (set, words) in [
        ("tls=true", "datagrams have no TLS"),
        ("exchange.start=true", "echoes no datagrams"),
        ("endpoint.payload_bytes=4097", "0 to 4096"),
    ] {
        let done = probe(&address, &["endpoint.protocol=udp", set]);
        assert_eq!(done.status.code(), Some(2));
        assert!(text(&done.stderr).contains(words), "{set}: {}", text(&done.stderr));
    }
}

/// The heads that a server gets, which then hangs up.
fn asked(listener: TcpListener) -> std::sync::mpsc::Receiver<String> {
    let (sender, heads) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let mut client = std::io::BufReader::new(client);
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                if std::io::BufRead::read_line(&mut client, &mut head).unwrap_or(0) == 0 {
                    break;
                }
            }
            let _ = sender.send(head);
        }
    });
    heads
}

/// A load balancer may ask who comes: headers are sent as written, a secret comes from a file, and
/// neither the record nor an error has it.
#[test]
fn headers_and_subprotocols_are_sent_and_a_secret_is_nowhere_else() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("token");
    std::fs::write(&file, "Bearer s3cr3t\n").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = listener.local_addr().unwrap().to_string();
    let heads = asked(listener);
    let headers =
        format!("endpoint.headers=[\"Authorization: @{}\", \"X-Desk: seven\"]", file.display());
    let done = probe(&target, &[&headers, "endpoint.subprotocols=[\"v1.orders\", \"v2\"]"]);
    assert_eq!(done.status.code(), Some(2), "{}", text(&done.stderr));
    let head = heads.recv_timeout(Duration::from_secs(20)).unwrap();
    for line in [
        &format!("Host: {target}"),
        "Authorization: Bearer s3cr3t",
        "X-Desk: seven",
        "Sec-WebSocket-Protocol: v1.orders, v2",
        concat!("User-Agent: tickpath/", env!("CARGO_PKG_VERSION")),
    ] {
        assert!(head.contains(&format!("\r\n{line}\r\n")), "{line}: {head}");
    }
    let said = text(&done.stdout) + &text(&done.stderr);
    assert!(!said.contains("s3cr3t"), "{said}");
    let exchange = Exchange::start(&["--any-token"]);
    let record = printed_record(&probe(&exchange.address, &[&headers]));
    assert_eq!(record["void_because"], serde_json::json!([]), "{record}");
    assert!(!record.to_string().contains("s3cr3t"), "{record}");
    let missing = probe(&target, &["endpoint.headers=[\"Authorization: @/no/such/file\"]"]);
    assert!(text(&missing.stderr).contains("/no/such/file"), "{}", text(&missing.stderr));
}

/// Ways of a stranger: reject the request, answer something else, say nothing, hang up.
#[test]
fn what_a_target_does_wrong_is_said_with_the_step() {
    let failed = |target: &str, more: &[&str], expected: &str| {
        let done = probe(target, more);
        assert_eq!(done.status.code(), Some(2), "{}", text(&done.stderr));
        assert!(text(&done.stderr).contains(expected), "{expected}: {}", text(&done.stderr));
    };
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    failed(&closed, &[], "connect: Connection refused");
    failed("no.such.host.invalid:1", &[], "no.such.host.invalid:1");
    let answering = |answer: &'static [u8], holds: bool| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        std::thread::spawn(move || {
            let mut held = Vec::new();
            for mut client in listener.incoming().flatten() {
                let mut asked = [0; 1024];
                let _ = client.read(&mut asked);
                let _ = client.write_all(answer);
                if holds {
                    held.push(client);
                }
            }
        });
        address
    };
    let other = answering(b"HTTP/1.1 404 Not Found\r\n\r\n", true);
    failed(&other, &[], "upgrade: the server answered the WebSocket handshake with status 404");
    let silent = answering(b"", true);
    failed(&silent, &["endpoint.patience_seconds=0.3"], "upgrade: no answer within 0.3 s");
    let rude = answering(b"", false);
    failed(&rude, &[], "upgrade: the target closed the connection");
    let done = output(&["run", "endpoint"]);
    assert!(text(&done.stderr).contains("--connect HOST:PORT"), "{}", text(&done.stderr));
    let fast = output(&["run", "endpoint", "--set", "endpoint.probes_per_second=5000"]);
    assert_eq!(fast.status.code(), Some(2));
    assert!(text(&fast.stderr).contains("at most 100"), "{}", text(&fast.stderr));
}

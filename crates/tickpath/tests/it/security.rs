//! Attacks on a real exchange process, over real sockets (issue 13).

use crate::support::websocket::Client;
use crate::support::{Exchange, listening, text, tickpath, wait_for};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const LOGIN: &[u8] = br#"{"type":"AUTHENTICATE","api_token":"1"}"#;

/// Where datagrams of the feed could come. On Linux all of 127.0.0.0/8 is this machine.
fn victim(address: &str) -> UdpSocket {
    let socket = UdpSocket::bind((address, 0)).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    socket
}

/// Subscribes a new connection to the feed at this address and asks for the books; gives what it is
/// told.
fn subscribe(exchange: &str, address: &str) -> (Client, String) {
    let mut client = Client::connect(exchange);
    client.send(1, LOGIN);
    let ask =
        format!(r#"{{"type":"SUBSCRIBE","channels":[{{"name":"FEED","address":"{address}"}}]}}"#);
    client.send(1, ask.as_bytes());
    client.send(1, br#"{"type":"FEED_SNAPSHOT"}"#);
    let told = client.told().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    (client, told)
}

/// Bytes that come to a socket until nothing comes for half a second, 64 KiB at most.
fn bytes_at(socket: &UdpSocket) -> usize {
    let (mut bytes, mut datagram) = (0, [0; 2048]);
    while bytes < 65_536 {
        match socket.recv(&mut datagram) {
            Ok(n) => bytes += n,
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => panic!("{error}"),
        }
    }
    bytes
}

/// 30 bytes of a request led to 542 209 bytes at an address that had not asked.
#[test]
fn no_byte_of_the_feed_goes_to_an_address_that_did_not_ask() {
    for gateways in ["0", "1"] {
        let arguments = ["--any-token", "--feed", "unicast", "--gateways", gateways];
        let exchange = Exchange::start(&arguments);
        let (foreign, own) = (victim("127.0.0.2"), victim("127.0.0.1"));
        let addresses = [
            foreign.local_addr().unwrap().to_string(),
            "255.255.255.255:4000".to_owned(),
            "127.255.255.255:4000".to_owned(),
            format!("0.0.0.0:{}", own.local_addr().unwrap().port()),
            "239.1.1.1:4000".to_owned(),
        ];
        let rejected: Vec<_> =
            addresses.iter().map(|address| subscribe(&exchange.address, address)).collect();
        for ((_, told), address) in rejected.iter().zip(&addresses) {
            assert!(told.contains(r#""type":"ERROR""#) && told.contains(address), "{told}");
        }
        assert!(rejected[0].1.contains("--feed-allow 127.0.0.2/32"), "{}", rejected[0].1);
        assert_eq!(bytes_at(&foreign), 0, "a byte came to an address that did not ask");
        assert_eq!(bytes_at(&own), 0);
        let (_client, told) = subscribe(&exchange.address, &own.local_addr().unwrap().to_string());
        assert!(told.contains("SUBSCRIPTIONS"), "{told}");
        assert!(bytes_at(&own) > 1000, "who asked is sent the books");
        assert_eq!(bytes_at(&foreign), 0);
        let counts = exchange.end();
        assert_eq!(counts["counts"]["rejected"]["feed_address"], addresses.len(), "{counts}");
    }
}

/// The operator knows that the clients' market data cards have other addresses.
#[test]
fn the_feed_goes_where_the_operator_allows() {
    let exchange =
        Exchange::start(&["--any-token", "--feed", "unicast", "--feed-allow", "127.0.0.2/32"]);
    let (allowed, foreign) = (victim("127.0.0.2"), victim("127.0.0.3"));
    let (_client, told) = subscribe(&exchange.address, &allowed.local_addr().unwrap().to_string());
    assert!(told.contains("SUBSCRIPTIONS"), "{told}");
    assert!(bytes_at(&allowed) > 1000);
    let (_other, told) = subscribe(&exchange.address, &foreign.local_addr().unwrap().to_string());
    assert!(told.contains(r#""type":"ERROR""#), "{told}");
    assert_eq!(bytes_at(&foreign), 0);
}

/// Behind a gateway every client has the gateway's address, and could aim the feed at any port of
/// the gateway's host.
#[test]
fn the_feed_is_not_aimed_through_a_gateway() {
    for (more, is_allowed) in [(&[][..], false), (&["--feed-allow", "127.0.0.1/32"], true)] {
        let exchange = Exchange::start(&[&["--any-token", "--feed", "unicast"], more].concat());
        let mut gateway = tickpath()
            .args(["gateway", "--exchange", &exchange.address, "--backend", "block"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (_lines, address) = listening(&mut gateway);
        let victim = victim("127.0.0.1");
        let (_client, told) = subscribe(&address, &victim.local_addr().unwrap().to_string());
        assert_eq!(told.contains("SUBSCRIPTIONS"), is_allowed, "{told}");
        assert_eq!(told.contains("through a gateway"), !is_allowed, "{told}");
        assert_eq!(bytes_at(&victim) > 0, is_allowed);
        gateway.kill().unwrap();
        gateway.wait().unwrap();
    }
}

/// The raw ticker takes an address in its subscription, too: `S`, then the address and the port.
#[test]
fn the_raw_ticker_sends_to_no_address_that_did_not_ask() {
    let exchange = Exchange::start(&["--echo", "--feed", "unicast", "--flow-seconds", "0.2"]);
    let foreign = victim("127.0.0.2");
    let port = foreign.local_addr().unwrap().port();
    let subscription = u64::from(u32::from_be_bytes([127, 0, 0, 2])) << 16 | u64::from(port);
    let mut stream = TcpStream::connect(&exchange.address).unwrap();
    for (kind, sequence) in [(b'S', subscription), (b'G', 0)] {
        let message =
            transport::echo::EchoMessage { length_bytes: 16, reply_bytes: 0, kind, sequence };
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        stream.write_all(&bytes).unwrap();
        let mut answer = [0; 16];
        stream.read_exact(&mut answer).unwrap();
        let answer = transport::echo::EchoMessage::decode(&answer).unwrap().unwrap();
        assert_eq!((answer.kind, answer.sequence), (kind, 0), "it is not taken");
    }
    assert_eq!(bytes_at(&foreign), 0);
}

/// Memory of a process at its highest, in bytes.
fn peak_bytes(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// Pings before the login whose pongs nobody read took 600 MB.
#[test]
fn pings_before_the_login_do_not_take_memory() {
    for gateways in ["0", "1"] {
        let exchange = Exchange::start(&["--any-token", "--book", "empty", "--gateways", gateways]);
        let before = peak_bytes(exchange.child.id());
        let mut stream = upgraded(&exchange.address);
        stream.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
        let mut ping = vec![0x89, 0x80 | 125, 0, 0, 0, 0];
        ping.resize(6 + 125, b'x');
        let pings = ping.repeat(500);
        let end = Instant::now() + Duration::from_secs(20);
        let mut is_cut = false;
        while Instant::now() < end && !is_cut {
            // A time-out is the kernel's buffers being full, not the end of the connection.
            is_cut = match stream.write(&pings) {
                Ok(_) => false,
                Err(error) => error.kind() != ErrorKind::WouldBlock,
            };
        }
        assert!(is_cut, "still open");
        let grown = peak_bytes(exchange.child.id()) - before;
        assert!(grown < 8 << 20, "{grown} bytes");
        let counts = exchange.end();
        assert_eq!(counts["counts"]["limits"]["outbound_bytes_before_login_max"], 1, "{counts}");
    }
}

/// A connection past its handshake.
fn upgraded(address: &str) -> TcpStream {
    let (mut stream, answer) = handshake(address, "");
    assert!(answer.starts_with("HTTP/1.1 101"), "{answer}");
    stream.flush().unwrap();
    stream
}

/// A handshake with more headers, and the head of its answer.
fn handshake(address: &str, headers: &str) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let head = format!(
        "GET / HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n{headers}\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let (mut answer, mut byte) = (Vec::new(), [0]);
    while !answer.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        answer.push(byte[0]);
    }
    (stream, text(&answer))
}

/// A page that a trader's browser shows could trade where any token is good.
#[test]
fn a_foreign_page_can_not_trade_where_any_token_is_good() {
    let exchange = Exchange::start(&["--any-token", "--book", "empty"]);
    let status = |headers: &str| {
        let (_, answer) = handshake(&exchange.address, headers);
        answer.split_whitespace().nth(1).unwrap().to_owned()
    };
    assert_eq!(status("Origin: http://evil.example\r\n"), "403");
    assert_eq!(status("Origin: null\r\n"), "403");
    assert_eq!(status(&format!("Origin: http://{}\r\n", exchange.address)), "101");
    assert_eq!(status("X: y\nZ: w\r\n"), "400", "a bare LF");
    assert_eq!(status("Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"), "400", "two keys");
    assert_eq!(exchange.end()["counts"]["rejected"]["foreign_origin"], 2);
}

/// Failed logins are counted, delayed and logged.
#[test]
fn failed_logins_are_slow_and_logged() {
    let place = tempfile::tempdir().unwrap();
    let (tokens, log) = (place.path().join("tokens.toml"), place.path().join("log"));
    std::fs::write(&tokens, "[tokens]\n\"secret\" = \"1\"\n").unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", "exec \"$@\" 2> \"$0\""]).arg(&log).arg(tickpath().get_program());
    let exchange =
        Exchange::start_by(shell, &["--tokens", tokens.to_str().unwrap(), "--book", "empty"]);
    let mut guesses: Vec<Client> = (0..3).map(|_| Client::connect(&exchange.address)).collect();
    let begin = Instant::now();
    for guess in &mut guesses {
        guess.send(1, br#"{"type":"AUTHENTICATE","api_token":"guess"}"#);
    }
    for guess in &mut guesses {
        let answer = guess.next_text();
        assert!(answer.contains("unknown api_token"), "{answer}");
    }
    let took = begin.elapsed();
    assert!(took >= Duration::from_secs(1), "answered after {took:?}");
    // A client with the token does not wait.
    let begin = Instant::now();
    let mut client = Client::connect(&exchange.address);
    client.send(1, br#"{"type":"AUTHENTICATE","api_token":"secret"}"#);
    assert!(client.next_text().contains("AUTHENTICATED"));
    assert!(begin.elapsed() < Duration::from_secs(1));
    let logged = wait_for("a line for a failed login", || {
        let said = std::fs::read_to_string(&log).unwrap();
        said.contains("(3 failed so far").then_some(said)
    });
    assert!(logged.contains("login failed from 127.0.0.1:"), "{logged}");
    assert!(!logged.contains("guess"), "no token is logged: {logged}");
    assert_eq!(exchange.end()["counts"]["logins_failed"], 3);
}

/// A client that asked for `/health` and keeps its connection was told that its handshake had timed
/// out.
#[test]
fn an_idle_plain_connection_is_closed_without_a_word() {
    let exchange = Exchange::start(&["--any-token", "--book", "empty"]);
    let mut stream = TcpStream::connect(&exchange.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = text(&answer);
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("OK"), "{answer}");
    assert_eq!(exchange.end()["counts"]["limits"], serde_json::json!({}));
}

/// The files that "Run the exchange" shows are ones that an exchange reads.
#[test]
fn the_guides_files_of_accounts_limits_and_instruments_are_read() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/run-the-exchange.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let mut arguments = vec!["--book".to_owned(), "empty".to_owned()];
    for name in ["tokens", "risk", "instruments"] {
        let start = guide.find(&format!("```toml\n# {name}.toml")).expect(name) + "```toml\n".len();
        let end = start + guide[start..].find("```").unwrap();
        let file = directory.path().join(name);
        std::fs::write(&file, &guide[start..end]).unwrap();
        arguments.extend([format!("--{name}"), file.display().to_string()]);
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    assert_eq!(Exchange::start(&arguments).end()["orders"], 0);
}

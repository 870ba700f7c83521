//! The upgrade and the plain requests.

use wire::http::{
    Framing, Head, HttpError, Request, UpgradeError, UpgradeKey, accept_response,
    check_upgrade_response, error_response, parse_head, response, upgrade_request,
    without_default_port,
};

const UPGRADE: &str = include_str!("../../../../clients/vectors/upgrade_request.http");
const ACCEPTED: &[u8] = include_bytes!("../../../../clients/vectors/upgrade_response.http");
/// The nonce of RFC 6455, section 1.3.
const NONCE: &[u8; 16] = b"the sample nonce";

fn parse(head: &str) -> Result<Head<'_>, HttpError> {
    parse_head(head.as_bytes()).map(|head| head.expect("the head is whole"))
}

fn status(head: &str) -> u16 {
    parse(head).expect_err("a bad head").status
}

#[test]
fn the_handshake_is_the_rfcs() {
    let key = UpgradeKey::from_nonce(*NONCE);
    let mut out = Vec::new();
    upgrade_request(&mut out, "127.0.0.1:8888", "/", &key, &[]);
    assert_eq!(String::from_utf8_lossy(&out), UPGRADE);

    let with_frame = format!("{UPGRADE}\u{1}");
    let head = parse(&with_frame).unwrap();
    assert_eq!(head.request, Request::Upgrade { key, is_foreign: false });
    assert_eq!(head.head_bytes, UPGRADE.len());

    out.clear();
    accept_response(&mut out, &key);
    assert_eq!(out, ACCEPTED);
    out.extend_from_slice(b"frames");
    assert_eq!(check_upgrade_response(&out, &key, &[]), Ok(Some(ACCEPTED.len())));
}

#[test]
fn tungstenites_client_and_ours_agree_on_keys() {
    for _ in 0..20 {
        let key = tungstenite::handshake::client::generate_key();
        assert_eq!(UpgradeKey::parse(key.as_bytes()).unwrap().as_bytes(), key.as_bytes());
    }
    assert_eq!(
        UpgradeKey::parse(b"dGhlIHNhbXBsZSBub25jZQ=="),
        Some(UpgradeKey::from_nonce(*NONCE))
    );
    assert_eq!(UpgradeKey::from_nonce([0xff; 16]).as_bytes(), b"/////////////////////w==");
    assert_eq!(UpgradeKey::parse(b"dGhlIHNhbXBsZSBub25jZQ="), None);
    assert_eq!(UpgradeKey::parse(b"dGhlIHNhbXBsZSBub25j\nQ=="), None);
}

#[test]
fn header_names_tokens_and_lists_are_read_as_http_says() {
    let firefox = UPGRADE
        .replace("Connection: Upgrade", "connection:  keep-alive, uPGRADE ")
        .replace("Upgrade: websocket", "UPGRADE: WebSocket")
        .replace("GET / ", "GET /?session=1 ");
    assert!(matches!(parse(&firefox).unwrap().request, Request::Upgrade { .. }));
}

#[test]
fn plain_requests_of_the_incumbents_clients() {
    let health = parse("GET /health HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    assert_eq!((health.request, health.keep_alive), (Request::Health, true));
    let once = parse("GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    assert!(!once.keep_alive);
    assert!(!parse("GET /health HTTP/1.0\r\n\r\n").unwrap().keep_alive);

    let path = "/private/account/user/balances/3001/USDT/10.5";
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
    let balances = Request::Balances { user: "3001", currency: "USDT", amount: "10.5" };
    assert_eq!(parse(&request).unwrap().request, balances);
    for other in
        ["/private/account/user/balances/3001/USDT", "/private/account/user/balances/3001//1", "/x"]
    {
        let request = format!("GET {other} HTTP/1.1\r\nHost: x\r\n\r\n");
        assert_eq!(parse(&request).unwrap().request, Request::NotFound);
    }
    assert_eq!(parse(&request.replace("/USDT", "/USDT/1")).unwrap().request, Request::NotFound);
}

#[test]
fn bad_heads_get_their_status() {
    assert_eq!(status(&UPGRADE.replace("Version: 13", "Version: 8")), 426);
    assert_eq!(status(&UPGRADE.replace("nonce", "").replace("dGhl", "dGh")), 400);
    assert_eq!(status("\u{16}\u{3}\u{1}\u{2}"), 400);
    assert_eq!(status(&format!("GET /health HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(65))), 431);
    // Too long, complete or not; with one byte less, the parser still waits.
    let long = format!("GET /health HTTP/1.1\r\nA: {}", "b".repeat(8192));
    assert_eq!(parse_head(&long.as_bytes()[..8191]), Ok(None));
    assert_eq!(parse_head(&long.as_bytes()[..8192]).unwrap_err().status, 431);
    assert_eq!(status(&format!("{long}\r\n\r\n")), 431);
}

#[test]
fn responses_carry_their_length_and_date() {
    let mut out = Vec::new();
    // The moment that RFC 9110 writes in section 5.6.7.
    let wall_ns = Some(784_111_777_000_000_000);
    let framing = Framing { keep_alive: true, is_head: false, wall_ns };
    response(&mut out, 200, "OK", framing);
    response(&mut out, 404, "no such path\n", Framing { keep_alive: false, ..framing });
    let mut headers = [httparse::EMPTY_HEADER; 8];
    let mut parsed = httparse::Response::new(&mut headers);
    let head_bytes = parsed.parse(&out).unwrap().unwrap();
    assert_eq!((parsed.code, parsed.reason), (Some(200), Some("OK")));
    let headers: Vec<_> =
        parsed.headers.iter().map(|one| (one.name, str::from_utf8(one.value).unwrap())).collect();
    assert_eq!(headers[0], ("Date", "Sun, 06 Nov 1994 08:49:37 GMT"));
    assert_eq!(headers[2], ("Content-Length", "2"));
    assert_eq!(&out[head_bytes..head_bytes + 15], b"OKHTTP/1.1 404 ");
    assert!(out.ends_with(b"Content-Length: 13\r\nConnection: close\r\n\r\nno such path\n"));

    // HEAD gets the same head, and no body.
    let (mut get, mut head) = (Vec::new(), Vec::new());
    response(&mut get, 200, "OK", framing);
    response(&mut head, 200, "OK", Framing { is_head: true, ..framing });
    assert_eq!(get, [&head[..], b"OK"].concat());

    for (status, header) in [(405, "Allow: GET, HEAD\r\n"), (426, "Sec-WebSocket-Version: 13\r\n")]
    {
        out.clear();
        error_response(&mut out, &HttpError { status, reason: "why", is_head: false }, 0);
        let text = String::from_utf8_lossy(&out);
        assert!(
            text.contains(header) && text.contains("close\r\n") && text.ends_with("\r\n\r\nwhy")
        );
    }
}

#[test]
fn a_client_believes_only_a_proper_upgrade() {
    let key = UpgradeKey::from_nonce(*NONCE);
    let accepted = String::from_utf8_lossy(ACCEPTED).into_owned();
    let check = |answer: &str| check_upgrade_response(answer.as_bytes(), &key, &[]);
    assert_eq!(check(&accepted), Ok(Some(accepted.len())));
    assert_eq!(check(&accepted[..accepted.len() - 1]), Ok(None));
    let full = "HTTP/1.1 503 Service Unavailable\r\n\r\n";
    assert_eq!(check(full), Err(UpgradeError::Rejected { status: 503 }));
    assert_eq!(check("SSH-2.0-OpenSSH"), Err(UpgradeError::Malformed));
    assert_eq!(check(&accepted.replace("websocket", "h2c")), Err(UpgradeError::NotWebSocket));
    let offered = accepted.replace("Upgrade\r\n", "Upgrade\r\nSec-WebSocket-Extensions: x\r\n");
    assert_eq!(check(&offered), Err(UpgradeError::NotOffered));
    let other = UpgradeKey::from_nonce([0; 16]);
    assert_eq!(check_upgrade_response(ACCEPTED, &other, &[]), Err(UpgradeError::WrongAccept));
    let endless = format!("HTTP/1.1 101 OK\r\nA: {}", "b".repeat(8192));
    assert_eq!(check(&endless), Err(UpgradeError::Malformed));
}

#[test]
fn a_client_that_offers_subprotocols_gets_one_of_them() {
    let key = UpgradeKey::from_nonce(*NONCE);
    let offered = ["v2.orders".to_owned(), "v1.orders".to_owned()];
    let accepted = String::from_utf8_lossy(ACCEPTED).into_owned();
    let check = |chosen: &str, offered: &[String]| {
        let chosen = format!("Upgrade\r\nSec-WebSocket-Protocol: {chosen}\r\n");
        let answer = accepted.replace("Upgrade\r\n", &chosen);
        check_upgrade_response(answer.as_bytes(), &key, offered).map(|head| head.is_some())
    };
    assert_eq!(check("v1.orders", &offered), Ok(true));
    assert_eq!(check("v3.orders", &offered), Err(UpgradeError::NotOffered));
    assert_eq!(check("v1.orders", &[]), Err(UpgradeError::NotOffered));
    let none = check_upgrade_response(ACCEPTED, &key, &offered);
    assert_eq!(none, Err(UpgradeError::NoSubprotocol));
}

/// RFC 9110, 4.2.3; some servers compare `Host` as text.
#[test]
fn a_default_port_is_not_in_host() {
    for (target, is_secure, host) in [
        ("exchange.test:443", true, "exchange.test"),
        ("exchange.test:80", false, "exchange.test"),
        ("exchange.test:80", true, "exchange.test:80"),
        ("exchange.test:443", false, "exchange.test:443"),
        ("exchange.test:8443", true, "exchange.test:8443"),
        ("[::1]:443", true, "[::1]"),
    ] {
        assert_eq!(without_default_port(target, is_secure), host);
    }
}

/// A proxy that ends lines only at CR LF would see one header where we saw two.
#[test]
fn a_bare_line_feed_is_rejected() {
    for head in [
        UPGRADE.replace("\r\n", "\n"),
        UPGRADE.replacen("\r\n", "\n", 1),
        UPGRADE.replace("Sec-WebSocket-Version: 13\r\n", "Sec-WebSocket-Version: 13\n"),
        "GET /health HTTP/1.1\nHost: x\n\n".to_owned(),
    ] {
        let error = parse(&head).unwrap_err();
        assert_eq!(error.status, 400, "{head:?}");
        assert!(error.reason.contains("CR LF"), "{error}");
    }
}

#[test]
fn two_keys_or_hosts_are_rejected() {
    for name in ["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Host: other"] {
        let head = UPGRADE.replace("\r\n\r\n", &format!("\r\n{name}\r\n\r\n"));
        assert_eq!(status(&head), 400, "{name}");
    }
}

#[test]
fn an_origin_is_foreign_unless_it_is_this_server_by_its_address() {
    let is_foreign = |host: &str, origin: &str| {
        let head = format!(
            "{}Host: {host}\r\nOrigin: {origin}\r\n\r\n",
            UPGRADE.replace("Host: 127.0.0.1:8888\r\n", "").trim_end_matches("\r\n").to_owned()
                + "\r\n"
        );
        match parse(&head).unwrap().request {
            Request::Upgrade { is_foreign, .. } => is_foreign,
            other => panic!("{other:?}"),
        }
    };
    for host in ["127.0.0.1:8888", "localhost:8888", "[::1]:8888", "192.0.2.1"] {
        assert!(!is_foreign(host, &format!("http://{host}")), "{host}");
    }
    for (host, origin) in [
        ("127.0.0.1:8888", "http://evil.example"),
        ("127.0.0.1:8888", "http://127.0.0.1:3000"),
        ("127.0.0.1:8888", "https://127.0.0.1:8888"),
        ("127.0.0.1:8888", "null"),
        // A name whose owner lets it point to 127.0.0.1 after the page has loaded.
        ("evil.example:8888", "http://evil.example:8888"),
    ] {
        assert!(is_foreign(host, origin), "{host} {origin}");
    }
}

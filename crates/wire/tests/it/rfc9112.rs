//! What RFC 9110 and RFC 9112 require of a server, one row a requirement.

use wire::http::{Request, parse_head};

/// The status of the response; 101 for an upgrade.
fn status(request: &str) -> u16 {
    match parse_head(request.as_bytes()) {
        Ok(Some(head)) => match head.request {
            Request::Upgrade { .. } => 101,
            Request::Health | Request::Balances { .. } => 200,
            Request::NotFound => 404,
        },
        Ok(None) => panic!("the head is whole: {request:?}"),
        Err(error) => error.status,
    }
}

fn health(more: &str) -> String {
    format!("GET /health HTTP/1.1\r\nHost: x\r\n{more}\r\n")
}

fn upgrade(more: &str) -> String {
    let key = "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==";
    format!("GET / HTTP/1.1\r\nHost: x\r\n{key}\r\n{more}\r\n")
}

#[test]
fn requests_are_read_as_the_rfcs_require() {
    let get = |target: &str| format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n");
    let asked = |method: &str| format!("{method} /health HTTP/1.1\r\nHost: x\r\n\r\n");
    let rows = [
        // The request line.
        ("9112 2.2: an empty line before it is ignored", format!("\r\n{}", health("")), 200),
        ("9112 2.3: HTTP/1.0", "GET /health HTTP/1.0\r\n\r\n".to_owned(), 200),
        ("9110 15.6.6: another major version", health("").replace("/1.1", "/2.0"), 505),
        ("9112 3: no version", "GET /health\r\n\r\n".to_owned(), 400),
        ("9112 3: a target that is too long", format!("GET /{}", "x".repeat(9000)), 414),
        ("9110 9.1: HEAD", asked("HEAD"), 200),
        ("9110 9.1: a known method", asked("POST"), 405),
        ("9110 9.1: a known method", asked("PATCH"), 405),
        ("9112 3.2.4: asterisk-form", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(), 405),
        ("9112 3.2.3: authority-form", "CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n\r\n".to_owned(), 405),
        ("9110 9.1: an unknown method", asked("BREW"), 501),
        ("9110 9.1: methods are case-sensitive", asked("get"), 501),
        // The target.
        ("9112 3.2.1: origin-form with a query", get("/health?full=1"), 200),
        ("9112 3.2.2: absolute-form", get("http://x/health"), 200),
        ("9112 3.2.2: absolute-form of another host", get("http://exchange.test:80/health"), 200),
        ("9110 4.2.3: schemes ignore case", get("HTTPS://[::1]:8888/health"), 200),
        ("9110 4.2.3: an empty path is /", get("http://x"), 426),
        ("9110 4.2.3: an empty path is /", get("http://x?a=/health"), 426),
        ("9112 3.2: another form", get("health"), 400),
        ("9110 4.2: another scheme", get("ftp://x/health"), 400),
        ("9110 4.2.1: no host", get("http:///health"), 400),
        ("9110 4.2.4: a user", get("http://me@x/health"), 400),
        // Host.
        ("9112 3.2: no Host", "GET /health HTTP/1.1\r\n\r\n".to_owned(), 400),
        (
            "9112 3.2: no Host beside absolute-form",
            "GET http://x/health HTTP/1.1\r\n\r\n".into(),
            400,
        ),
        ("9112 3.2: two", health("Host: x\r\n"), 400),
        ("9112 3.2: two in HTTP/1.0", health("Host: x\r\n").replace("/1.1", "/1.0"), 400),
        ("9112 3.2: an invalid one", health("").replace("Host: x", "Host: x/y"), 400),
        ("9112 3.2: an invalid one", health("").replace("Host: x", "Host: x:http"), 400),
        ("9112 3.2: an empty one", health("").replace("Host: x", "Host:"), 200),
        ("9110 5.1: names ignore case", health("").replace("Host: x", "hOST: x"), 200),
        // Field lines.
        ("9112 5.1: no space is needed", health("").replace("Host: x", "Host:x"), 200),
        ("9112 5.1: spaces and tabs around values", health("").replace(" x", " \t x \t "), 200),
        ("9112 5.1: a space before the colon", health("Accept : */*\r\n"), 400),
        ("9112 5.2: obs-fold", health("Accept: a,\r\n b\r\n"), 400),
        ("9110 5.5: no other control character", health("Accept: a\u{1}\r\n"), 400),
        ("9110 5.5: obs-text", health("User-Agent: caf\u{e9}\r\n"), 200),
        // Content.
        ("9112 6.3: no content", health("Content-Length: 0\r\n"), 200),
        ("9110 8.6: the same length twice", health("Content-Length: 0, 0\r\n"), 200),
        ("9112 6.3: two lengths", health("Content-Length: 0\r\nContent-Length: 5\r\n"), 400),
        ("9112 6.3: two lengths in one line", health("Content-Length: 5, 6\r\n"), 400),
        ("9112 6.3: no length", health("Content-Length: +5\r\n"), 400),
        ("9112 6.3: no length", health("Content-Length:\r\n"), 400),
        ("9110 15.5.14: content", health("Content-Length: 5\r\n"), 413),
        ("9110 15.5.14: content", health("Transfer-Encoding: Chunked\r\n"), 413),
        ("9112 6.1: an unknown coding", health("Transfer-Encoding: gzip, chunked\r\n"), 501),
        (
            "9112 6.1: coding and length",
            health("Transfer-Encoding: chunked\r\nContent-Length: 0\r\n"),
            400,
        ),
        (
            "9112 6.1: a coding in HTTP/1.0",
            health("Transfer-Encoding: chunked\r\n").replace("/1.1", "/1.0"),
            400,
        ),
        // Expectations and negotiation.
        ("9110 10.1.1: 100-continue", health("Expect: 100-Continue\r\n"), 200),
        ("9110 10.1.1: another expectation", health("Expect: 200-ok\r\n"), 417),
        (
            "9110 10.1.1: ignored in HTTP/1.0",
            health("Expect: 200-ok\r\n").replace("/1.1", "/1.0"),
            200,
        ),
        ("9110 12.5.1: Accept may be disregarded", health("Accept: image/png\r\n"), 200),
        // The upgrade.
        ("9110 7.8", upgrade("Upgrade: websocket\r\nConnection: Upgrade\r\n"), 101),
        (
            "9110 5.6.1: lists with spaces and empty elements",
            upgrade("Upgrade: h2c ,, WebSocket\r\nConnection: ,keep-alive ,\tUPGRADE\r\n"),
            101,
        ),
        (
            "9110 5.3: a list in several lines",
            upgrade(
                "upgrade: h2c\r\nupgrade: websocket\r\nconnection: keep-alive\r\nconnection: upgrade\r\n",
            ),
            101,
        ),
        (
            "9110 7.8: absolute-form",
            upgrade("Upgrade: websocket\r\nConnection: Upgrade\r\n")
                .replace("GET /", "GET ws://x/"),
            101,
        ),
        (
            "9110 7.8: ignored in HTTP/1.0",
            upgrade("Upgrade: websocket\r\nConnection: Upgrade\r\n")
                .replace("HTTP/1.1", "HTTP/1.0"),
            426,
        ),
        ("9110 7.8: without the option", upgrade("Upgrade: websocket\r\n"), 426),
        (
            "6455 4.2.1: only by GET",
            upgrade("Upgrade: websocket\r\nConnection: Upgrade\r\n").replace("GET", "HEAD"),
            426,
        ),
    ];
    for (section, request, expected) in rows {
        assert_eq!(status(&request), expected, "{section}: {request:?}");
    }
}

/// RFC 9112, 9.3.
#[test]
fn a_connection_persists_as_the_rfc_says() {
    for (request, persists) in [
        (health(""), true),
        (health("Connection: keep-alive\r\n"), true),
        (health("Connection: keep-alive\r\nConnection: foo , CLOSE\r\n"), false),
        (health("").replace("/1.1", "/1.0"), false),
    ] {
        let head = parse_head(request.as_bytes()).unwrap().unwrap();
        assert_eq!(head.keep_alive, persists, "{request:?}");
    }
}

/// RFC 9110, 9.3.2: a response to HEAD has no content, whatever its status.
#[test]
fn head_is_known_in_responses_of_all_kinds() {
    let head = health("").replace("GET", "HEAD");
    assert!(parse_head(head.as_bytes()).unwrap().unwrap().is_head);
    for request in [head.replace("/health", "/"), head.replace("Host: x", "Host: x/y")] {
        assert!(parse_head(request.as_bytes()).unwrap_err().is_head, "{request:?}");
    }
}

/// RFC 9112, 3.2.2: the host of absolute-form counts, and `Host` does not.
#[test]
fn the_origin_is_compared_with_the_host_of_the_target() {
    let ask = |target: &str, origin: &str| {
        let more = format!("Upgrade: websocket\r\nConnection: Upgrade\r\nOrigin: {origin}\r\n");
        let request = upgrade(&more).replace("GET /", &format!("GET {target}"));
        match parse_head(request.as_bytes()).unwrap().unwrap().request {
            Request::Upgrade { is_foreign, .. } => is_foreign,
            other => panic!("{other:?}"),
        }
    };
    assert!(!ask("http://127.0.0.1:1/", "http://127.0.0.1:1"));
    assert!(ask("http://127.0.0.1:1/", "http://127.0.0.1:2"));
    assert!(ask("/", "http://127.0.0.1:1"));
}

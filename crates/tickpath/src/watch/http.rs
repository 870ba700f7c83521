//! The metrics over HTTP, on loopback: one request a connection. Nothing that it sends depends on
//! what a client says but the format.

use crate::watch::accept::{Format, format_for};
use anyhow::bail;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ALLOW, CONTENT_TYPE, HOST, HeaderMap, HeaderValue, VARY};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Version};
use hyper_util::rt::TokioIo;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;

/// The longest head of a request, bytes.
const HEAD_BYTES_MAX: usize = 8 << 10;
/// Header lines of a request.
const HEADERS_MAX: usize = 64;
/// A connection ends after this long, whatever it does.
const DEADLINE: Duration = Duration::from_secs(5);
/// Connections at the same time. One more ends the oldest: a request takes milliseconds, so that
/// one waits for a client that is slow.
const CONNECTIONS_MAX: usize = 64;
/// Pause after a connection that could not be accepted, mostly for want of descriptors.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// Makes the body of a reply.
pub(crate) type Body = Arc<dyn Fn(Format) -> Vec<u8> + Send + Sync>;

/// The listener.
pub(crate) fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    if !address.ip().is_loopback() {
        bail!(
            "--listen {address}: metrics have no access control, so the address must be a loopback one, such as \
             127.0.0.1:9571; a tunnel or a proxy leads there from outside"
        );
    }
    TcpListener::bind(address).map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => anyhow::anyhow!(
            "--listen {address}: another program has this port, perhaps another watch; choose another one, or port 0 \
             for any free one"
        ),
        _ => anyhow::anyhow!("--listen {address}: {error}; choose another address"),
    })
}

/// Answers requests until the process ends.
///
/// # Errors
/// If the kernel has no means to wait for connections.
pub(crate) fn serve(listener: TcpListener, body: Body) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(accept(listener, body))
}

async fn accept(listener: TcpListener, body: Body) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let mut open = VecDeque::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_AGAIN).await;
            continue;
        };
        open.retain(|one: &tokio::task::AbortHandle| !one.is_finished());
        if open.len() >= CONNECTIONS_MAX
            && let Some(oldest) = open.pop_front()
        {
            oldest.abort();
        }
        open.push_back(tokio::spawn(answer(stream, body.clone())).abort_handle());
    }
}

async fn answer(stream: TcpStream, body: Body) {
    let service = service_fn(move |request| {
        let reply = reply_to(&request, &*body);
        async move { Ok::<_, Infallible>(reply) }
    });
    let connection = http1::Builder::new()
        .keep_alive(false)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX)
        .serve_connection(TokioIo::new(stream), service);
    // A client that is gone or late is no error of ours.
    let _ = tokio::time::timeout(DEADLINE, connection).await;
}

fn reply_to<B>(request: &Request<B>, body: &dyn Fn(Format) -> Vec<u8>) -> Response<Full<Bytes>> {
    let known = [
        Method::POST,
        Method::PUT,
        Method::DELETE,
        Method::CONNECT,
        Method::OPTIONS,
        Method::TRACE,
        Method::PATCH,
    ];
    if known.contains(request.method()) {
        let mut reply = error(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are served");
        reply.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return reply;
    }
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        return error(StatusCode::NOT_IMPLEMENTED, "an unknown method; GET and HEAD are served");
    }
    if !has_host(request.headers(), request.version()) {
        let why = "header Host is missing, there are two, or it is neither a host nor host:port";
        return error(StatusCode::BAD_REQUEST, why);
    }
    if request.uri().path() != "/metrics" {
        return error(StatusCode::NOT_FOUND, "the metrics are at /metrics");
    }
    let format = format_for(request.headers());
    let mut reply = Response::new(Full::from(body(format)));
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(format.media_type()));
    reply.headers_mut().insert(VARY, HeaderValue::from_static("Accept"));
    reply
}

/// One `Host` in HTTP/1.1, none or one before (RFC 9112, 3.2).
fn has_host(headers: &HeaderMap, version: Version) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (None, _) => version == Version::HTTP_10,
        (Some(host), None) => {
            host.is_empty()
                || host.to_str().is_ok_and(|host| {
                    host.parse::<hyper::http::uri::Authority>()
                        .is_ok_and(|host| !host.as_str().contains('@'))
                })
        }
        (Some(_), Some(_)) => false,
    }
}

fn error(status: StatusCode, why: &str) -> Response<Full<Bytes>> {
    let mut reply = Response::new(Full::from(format!("{why}\n")));
    *reply.status_mut() = status;
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    reply.headers_mut().insert(CONTENT_TYPE, text);
    reply
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net;

    /// A server in a thread of its own, which ends with the tests.
    fn start() -> SocketAddr {
        let listener = listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || serve(listener, Arc::new(|_| b"figures".to_vec())));
        address
    }

    fn dial(address: SocketAddr) -> net::TcpStream {
        let stream = net::TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream
    }

    fn ask(address: SocketAddr, request: &str) -> String {
        let mut stream = dial(address);
        stream.write_all(request.as_bytes()).unwrap();
        let mut reply = String::new();
        // The end may be a reset, where the server did not read all.
        let _ = stream.read_to_string(&mut reply);
        reply
    }

    #[test]
    fn requests_are_answered_as_the_rfcs_require() {
        let address = start();
        let get = |more: &str| format!("GET /metrics HTTP/1.1\r\nHost: x\r\n{more}\r\n");
        let rows = [
            ("9112 3.2.1: origin-form", get(""), "200"),
            ("9112 3.2.1: a query", get("").replace("metrics", "metrics?x=1"), "200"),
            ("9112 3.2.2: absolute-form", get("").replace("/metrics", "http://y:1/metrics"), "200"),
            ("9112 2.2: an empty line before it", format!("\r\n{}", get("")), "200"),
            ("9112 2.3: HTTP/1.0", "GET /metrics HTTP/1.0\r\n\r\n".to_owned(), "200"),
            ("9112 5.1: no space, and tabs", get("Accept:*/*\r\nX: \t y \t\r\n"), "200"),
            ("9110 10.1.1: 100-continue", get("Expect: 100-continue\r\n"), "200"),
            ("9110 9.3.2: HEAD", get("").replace("GET", "HEAD"), "200"),
            ("9110 15.5.5", get("").replace("/metrics", "/"), "404"),
            ("9110 15.5.6: a known method", get("").replace("GET", "POST"), "405"),
            ("9112 3.2.4: asterisk-form", get("").replace("GET /metrics", "OPTIONS *"), "405"),
            ("9110 15.6.2: an unknown method", get("").replace("GET", "BREW"), "501"),
            ("9112 3.2: no Host", get("").replace("Host: x\r\n", ""), "400"),
            ("9112 3.2: two", get("Host: x\r\n"), "400"),
            ("9112 3.2: an invalid one", get("").replace("Host: x", "Host: x/y"), "400"),
            ("9112 5.1: a space before the colon", get("Accept : */*\r\n"), "400"),
            ("9112 5.2: obs-fold", get("Accept: a,\r\n b\r\n"), "400"),
            ("9112 6.3: two lengths", get("Content-Length: 0\r\nContent-Length: 5\r\n"), "400"),
            ("9112 2: TLS", "\x16\x03\x01\x02\0\r\n\r\n".to_owned(), "400"),
            ("6585 5: a long head", get(&format!("X: {}\r\n", "x".repeat(HEAD_BYTES_MAX))), "431"),
            ("6585 5: many lines", get(&"a: b\r\n".repeat(HEADERS_MAX + 1)), "431"),
        ];
        for (section, request, status) in rows {
            let reply = ask(address, &request);
            assert!(
                reply.starts_with(&format!("HTTP/1.1 {status} "))
                    || reply.starts_with(&format!("HTTP/1.0 {status} ")),
                "{section}: {reply}"
            );
            let has_body = !request.starts_with("HEAD") && status == "200";
            assert_eq!(reply.ends_with("\r\n\r\nfigures"), has_body, "{section}: {reply}");
            if status == "200" {
                let head = reply.to_ascii_lowercase();
                assert!(head.contains("content-length: 7\r\n"), "{section}: {reply}");
                assert!(head.contains("vary: accept\r\n") && head.contains("\ndate: "), "{reply}");
            }
            assert_eq!(reply.to_ascii_lowercase().contains("allow: get, head"), status == "405");
        }
    }

    /// One client sends its head byte by byte, and twice as many as may be connected send nothing.
    /// None of them delays another's request, and all of them are closed at last.
    #[test]
    fn slow_and_silent_clients_delay_nobody() {
        let address = start();
        let slow = std::thread::spawn(move || {
            let mut slow = dial(address);
            for byte in b"GET /metrics HTTP/1.1\r\nHost: x\r\nX: ".iter().chain([b'x'; 1000].iter())
            {
                if slow.write_all(&[*byte]).is_err() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        let mut silent: Vec<net::TcpStream> = Vec::new();
        for _ in 0..2 * CONNECTIONS_MAX + 2 {
            silent.push(dial(address));
            let reply = ask(address, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
            assert!(reply.ends_with("figures"), "{} silent: {reply}", silent.len());
        }
        for stream in &mut silent {
            assert!(!matches!(stream.read(&mut [0]), Ok(1..)));
        }
        slow.join().unwrap();
    }

    #[test]
    fn only_loopback_is_listened_on() {
        let error = listen("0.0.0.0:0".parse().unwrap()).unwrap_err().to_string();
        assert!(error.contains("loopback"), "{error}");
        let first = listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let error = listen(first.local_addr().unwrap()).unwrap_err().to_string();
        assert!(error.contains("another program has this port"), "{error}");
    }
}

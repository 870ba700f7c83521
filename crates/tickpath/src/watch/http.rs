//! The metrics over HTTP, on loopback: one request at a time, which ends its connection. Nothing
//! that it sends depends on what a client says but the format.

use anyhow::bail;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

/// The longest head of a request, bytes.
const HEAD_BYTES_MAX: usize = 8 << 10;
/// Header lines of a request.
const HEADERS_MAX: usize = 64;
/// A client that sends or takes nothing for so long is cut off.
const PATIENCE: Duration = Duration::from_secs(2);
/// Reads of one head: a client that sends byte by byte doesn't keep others waiting.
const READS_MAX: usize = 32;

const TEXT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PROTOBUF: &str =
    "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";

/// A scraper's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// OpenMetrics.
    Text,
    /// Prometheus' own, which can hold native histograms.
    Protobuf,
}

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
pub(crate) fn serve(listener: &TcpListener, body: &dyn Fn(Format) -> Vec<u8>) {
    for stream in listener.incoming().flatten() {
        // A client that is gone is no error of ours.
        let _ = answer(stream, body);
    }
}

fn answer(mut stream: TcpStream, body: &dyn Fn(Format) -> Vec<u8>) -> std::io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut head = Vec::new();
    let mut piece = [0; 1024];
    let mut reply = None;
    for _ in 0..READS_MAX {
        let read = stream.read(&mut piece)?;
        head.extend_from_slice(&piece[..read]);
        reply = reply_to(&head, body);
        if reply.is_some() || read == 0 {
            break;
        }
    }
    let reply = reply.unwrap_or_else(|| Reply::error("400 Bad Request", "the request has no end"));
    let Reply { status, kind, body, is_head } = reply;
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    if !is_head {
        stream.write_all(&body)?;
    }
    stream.flush()
}

struct Reply {
    status: &'static str,
    kind: &'static str,
    body: Vec<u8>,
    is_head: bool,
}

impl Reply {
    fn error(status: &'static str, why: &str) -> Reply {
        let body = format!("{why}\n").into_bytes();
        Reply { status, kind: "text/plain; charset=utf-8", body, is_head: false }
    }
}

/// The reply to a whole head; `None` while its end has not come.
fn reply_to(head: &[u8], body: &dyn Fn(Format) -> Vec<u8>) -> Option<Reply> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(head) {
        Ok(httparse::Status::Partial) if head.len() < HEAD_BYTES_MAX => return None,
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
            let why = "the head of a request has at most 8 KiB and 64 lines";
            return Some(Reply::error("431 Request Header Fields Too Large", why));
        }
        Err(_) => return Some(Reply::error("400 Bad Request", "this is no HTTP")),
    }
    let is_head = request.method == Some("HEAD");
    if !is_head && request.method != Some("GET") {
        return Some(Reply::error("405 Method Not Allowed", "there is only GET and HEAD"));
    }
    let path = request.path.unwrap_or_default().split('?').next().unwrap_or_default();
    if path != "/metrics" {
        return Some(Reply::error("404 Not Found", "the metrics are at /metrics"));
    }
    let accept = request.headers.iter().find(|one| one.name.eq_ignore_ascii_case("accept"));
    let format = format_for(accept.map_or("", |one| std::str::from_utf8(one.value).unwrap_or("")));
    let kind = if format == Format::Protobuf { PROTOBUF } else { TEXT };
    Some(Reply { status: "200 OK", kind, body: body(format), is_head })
}

/// Protobuf for a scraper that names it first, as Prometheus does where native histograms are on.
fn format_for(accept: &str) -> Format {
    let first = accept.split(',').next().unwrap_or_default();
    let is_ours = first.contains("application/vnd.google.protobuf")
        && first.contains("io.prometheus.client.MetricFamily")
        && first.contains("delimited");
    if is_ours { Format::Protobuf } else { Format::Text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(head: &str) -> Option<&'static str> {
        reply_to(head.as_bytes(), &|_| b"x".to_vec()).map(|reply| reply.status)
    }

    #[test]
    fn only_whole_requests_for_metrics_get_them() {
        assert_eq!(status("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"), Some("200 OK"));
        assert_eq!(status("HEAD /metrics?x=1 HTTP/1.1\r\n\r\n"), Some("200 OK"));
        assert_eq!(status("GET / HTTP/1.1\r\n\r\n"), Some("404 Not Found"));
        assert_eq!(status("POST /metrics HTTP/1.1\r\n\r\n"), Some("405 Method Not Allowed"));
        assert_eq!(status("\x16\x03\x01"), Some("400 Bad Request"));
        assert_eq!(status("GET /metrics HTTP/1.1\r\nHost"), None);
        let long = format!("GET /metrics HTTP/1.1\r\nX: {}", "x".repeat(HEAD_BYTES_MAX));
        assert_eq!(status(&long), Some("431 Request Header Fields Too Large"));
        let many = format!("GET /metrics HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(HEADERS_MAX + 1));
        assert_eq!(status(&many), Some("431 Request Header Fields Too Large"));
    }

    #[test]
    fn prometheus_with_native_histograms_gets_protobuf() {
        let with = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,\
                    application/openmetrics-text;version=1.0.0;q=0.8,*/*;q=0.1";
        assert_eq!(format_for(with), Format::Protobuf);
        let without = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5";
        assert_eq!(format_for(without), Format::Text);
        assert_eq!(format_for(""), Format::Text);
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

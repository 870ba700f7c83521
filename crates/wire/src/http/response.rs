//! A server's responses.

use super::status::status_text;
use super::{HttpError, UpgradeKey};
use std::io::Write;
use std::time::{Duration, UNIX_EPOCH};
use tungstenite::handshake::derive_accept_key;

/// The frame of a plain response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// Whether the connection stays open.
    pub keep_alive: bool,
    /// Whether it answers `HEAD`: the headers are those of `GET`, and no body follows.
    pub is_head: bool,
    /// The wall clock, ns since the epoch, for `Date`; `None` for a response that was made before
    /// its request. RFC 9110, 6.6.1 requires a date in all of 2xx to 4xx.
    pub wall_ns: Option<u64>,
}

/// Appends the response that completes the handshake.
pub fn accept_response(out: &mut Vec<u8>, key: &UpgradeKey) {
    out.extend_from_slice(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
          Sec-WebSocket-Accept: ",
    );
    out.extend_from_slice(derive_accept_key(key.as_bytes()).as_bytes());
    out.extend_from_slice(b"\r\n\r\n");
}

/// Appends a plain response with `body` and its length.
pub fn response(out: &mut Vec<u8>, status: u16, body: &str, framing: Framing) {
    let Framing { keep_alive, is_head, wall_ns } = framing;
    let (text, length) = (status_text(status), body.len());
    let mut line = |line: std::fmt::Arguments<'_>| {
        // A vector takes everything.
        let _ = out.write_fmt(line);
        out.extend_from_slice(b"\r\n");
    };
    line(format_args!("HTTP/1.1 {status} {text}"));
    if let Some(wall_ns) = wall_ns {
        let date = httpdate::HttpDate::from(UNIX_EPOCH + Duration::from_nanos(wall_ns));
        line(format_args!("Date: {date}"));
    }
    line(format_args!("Content-Type: text/plain; charset=utf-8"));
    line(format_args!("Content-Length: {length}"));
    match status {
        405 => line(format_args!("Allow: GET, HEAD")),
        426 => {
            line(format_args!("Upgrade: websocket"));
            line(format_args!("Sec-WebSocket-Version: 13"));
        }
        _ => {}
    }
    match (keep_alive, status) {
        (true, 426) => line(format_args!("Connection: Upgrade")),
        (false, 426) => line(format_args!("Connection: Upgrade, close")),
        (true, _) => {}
        (false, _) => line(format_args!("Connection: close")),
    }
    line(format_args!(""));
    if !is_head {
        out.extend_from_slice(body.as_bytes());
    }
}

/// Appends the response to an invalid head. Close the connection after it, because the position of
/// the next request is unknown.
pub fn error_response(out: &mut Vec<u8>, error: &HttpError, wall_ns: u64) {
    let framing = Framing { keep_alive: false, is_head: error.is_head, wall_ns: Some(wall_ns) };
    response(out, error.status, error.reason, framing);
}

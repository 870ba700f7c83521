//! A client's upgrade.

use super::{HTTP_HEAD_BYTES_MAX, HTTP_HEADERS_MAX, Headers, UpgradeKey};
use tungstenite::handshake::derive_accept_key;

/// Appends a client's upgrade request. `host`
/// ([`without_default_port`](super::without_default_port)), `path` and the names and values of
/// `more` headers must be valid.
pub fn upgrade_request(
    out: &mut Vec<u8>,
    host: &str,
    path: &str,
    key: &UpgradeKey,
    more: &[(String, String)],
) {
    out.extend_from_slice(b"GET ");
    out.extend_from_slice(path.as_bytes());
    out.extend_from_slice(b" HTTP/1.1\r\nHost: ");
    out.extend_from_slice(host.as_bytes());
    out.extend_from_slice(
        b"\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
          Sec-WebSocket-Key: ",
    );
    out.extend_from_slice(key.as_bytes());
    for (name, value) in more {
        for part in ["\r\n", name, ": ", value] {
            out.extend_from_slice(part.as_bytes());
        }
    }
    out.extend_from_slice(b"\r\n\r\n");
}

/// Why a server's answer to an upgrade is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UpgradeError {
    /// Any status but 101.
    #[error("the server answered the WebSocket handshake with status {status}, not 101")]
    Rejected {
        /// The server's status.
        status: u16,
    },
    /// Not HTTP, or a head past the limits.
    #[error("the server's answer to the handshake is not a proper HTTP head of at most 8192 bytes")]
    Malformed,
    /// A 101 without the headers of RFC 6455, section 4.1.
    #[error("the server's answer lacks Upgrade: websocket or Connection: Upgrade")]
    NotWebSocket,
    /// The proof does not match the key: the answer comes from a cache, or from a server without
    /// WebSocket.
    #[error("the server's Sec-WebSocket-Accept does not fit the key that was sent")]
    WrongAccept,
    /// An extension or a subprotocol that was not offered.
    #[error("the server chose an extension or subprotocol that was not offered")]
    NotOffered,
    /// Subprotocols were offered, and the server chose none.
    #[error("the server speaks none of the subprotocols that were offered")]
    NoSubprotocol,
}

/// Checks the answer to [`upgrade_request`], which offered `subprotocols`. `None` until the head is
/// complete, then its length; frames may follow it in the same read.
pub fn check_upgrade_response(
    bytes: &[u8],
    key: &UpgradeKey,
    subprotocols: &[String],
) -> Result<Option<usize>, UpgradeError> {
    let mut headers = [httparse::EMPTY_HEADER; HTTP_HEADERS_MAX];
    let mut parsed = httparse::Response::new(&mut headers);
    let window = &bytes[..bytes.len().min(HTTP_HEAD_BYTES_MAX)];
    let head_bytes = match parsed.parse(window) {
        Ok(httparse::Status::Complete(head_bytes)) => head_bytes,
        Ok(httparse::Status::Partial) if window.len() < HTTP_HEAD_BYTES_MAX => return Ok(None),
        Ok(httparse::Status::Partial) | Err(_) => return Err(UpgradeError::Malformed),
    };
    match parsed.code {
        Some(101) => {}
        Some(status) => return Err(UpgradeError::Rejected { status }),
        None => return Err(UpgradeError::Malformed),
    }
    let headers = Headers(parsed.headers);
    if !headers.has_token("upgrade", "websocket") || !headers.has_token("connection", "upgrade") {
        return Err(UpgradeError::NotWebSocket);
    }
    if headers.get("sec-websocket-accept") != Some(derive_accept_key(key.as_bytes()).as_bytes()) {
        return Err(UpgradeError::WrongAccept);
    }
    if headers.get("sec-websocket-extensions").is_some() {
        return Err(UpgradeError::NotOffered);
    }
    let chosen = headers.elements("sec-websocket-protocol").next();
    match chosen {
        None if subprotocols.is_empty() => {}
        None => return Err(UpgradeError::NoSubprotocol),
        Some(chosen) if subprotocols.iter().any(|offered| offered.as_bytes() == chosen) => {}
        Some(_) => return Err(UpgradeError::NotOffered),
    }
    Ok(Some(head_bytes))
}

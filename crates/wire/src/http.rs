//! The HTTP head of a connection: the upgrade to WebSocket (RFC 6455, section 4), and a few plain
//! requests on the same port. Only `GET`, no bodies.

use tungstenite::handshake::derive_accept_key;

/// The longest head, request line and headers together.
pub const HTTP_HEAD_BYTES_MAX: usize = 8 * 1024;

/// The most headers in a head.
pub const HTTP_HEADERS_MAX: usize = 64;

const BALANCES_PREFIX: &str = "/private/account/user/balances/";

/// The request of a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// `GET /` with a proper WebSocket handshake: answer with [`accept_response`].
    Upgrade {
        /// The client's nonce.
        key: UpgradeKey,
        /// Whether a browser sends it for a page of another origin.
        is_foreign: bool,
    },
    /// `GET /health`: answer 200 `OK`.
    Health,
    /// `GET /private/account/user/balances/{user}/{currency}/{amount}`, by which the incumbent's
    /// Java client funds its accounts: answer 200 and a line of text. Segments are not
    /// percent-decoded.
    Balances {
        /// The user.
        user: &'a str,
        /// The currency.
        currency: &'a str,
        /// The amount as decimal text, unchecked.
        amount: &'a str,
    },
    /// Any other path: answer 404.
    NotFound,
}

/// A request's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head<'a> {
    /// The request.
    pub request: Request<'a>,
    /// Length of the head; the remaining bytes (frames, the next request) follow it.
    pub head_bytes: usize,
    /// Whether the connection stays open after a plain response: HTTP/1.1's default, unless
    /// `Connection: close`. Meaningless after an upgrade.
    pub keep_alive: bool,
}

/// An invalid head: answer with [`error_response`] and close.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{status} {}: {reason}", status_text(*status))]
pub struct HttpError {
    /// 400, 403, 405, 426 or 431.
    pub status: u16,
    /// The fault, with advice.
    pub reason: &'static str,
}

const fn http_error(status: u16, reason: &'static str) -> HttpError {
    HttpError { status, reason }
}

const HEAD_TOO_LONG: HttpError =
    http_error(431, "the head is longer than 8192 bytes (limit http_head_bytes_max)");
const TOO_MANY_HEADERS: HttpError =
    http_error(431, "more than 64 headers (limit http_headers_max)");
const MALFORMED: HttpError =
    http_error(400, "not an HTTP/1.1 request (is the client speaking TLS?)");

const BARE_LINE_FEED: HttpError =
    http_error(400, "a line ends with LF alone; lines of HTTP end with CR LF");
/// For a server on which any web page in a browser could trade.
pub const FOREIGN_ORIGIN: HttpError = http_error(
    403,
    "header Origin names another site, and this exchange takes any token; start it with --tokens, or send no Origin",
);

/// For a TLS client of a server without TLS.
pub const TLS: HttpError = http_error(
    400,
    "this port has no TLS: use ws://, or start the exchange with --tls-certificate",
);

/// The nonce of a handshake: 16 bytes in base64.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct UpgradeKey([u8; 24]);

impl UpgradeKey {
    /// Copies a `Sec-WebSocket-Key`; `None` if it is not 16 bytes in base64.
    pub fn parse(text: &[u8]) -> Option<UpgradeKey> {
        let key: [u8; 24] = text.try_into().ok()?;
        let base64 = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/');
        (key[..22].iter().all(base64) && key[22..] == *b"==").then_some(UpgradeKey(key))
    }

    /// Encodes a random nonce.
    pub fn from_nonce(nonce: [u8; 16]) -> UpgradeKey {
        const BASE64: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let bits = u128::from_be_bytes(nonce);
        let mut key = [b'='; 24];
        for (at, letter) in key[..22].iter_mut().enumerate() {
            // Six bits from the top; the last letter has two, followed by zeros.
            let sextet = if at < 21 { bits >> (122 - 6 * at) } else { bits << 4 };
            *letter = BASE64[sextet as usize & 63];
        }
        UpgradeKey(key)
    }

    /// The base64 text.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl std::fmt::Debug for UpgradeKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "UpgradeKey({:?})", String::from_utf8_lossy(&self.0))
    }
}

/// Parses the head at the start of `bytes`; `None` until it is complete.
pub fn parse_head(bytes: &[u8]) -> Result<Option<Head<'_>>, HttpError> {
    let mut headers = [httparse::EMPTY_HEADER; HTTP_HEADERS_MAX];
    let mut parsed = httparse::Request::new(&mut headers);
    // Never look beyond the longest head.
    let window = &bytes[..bytes.len().min(HTTP_HEAD_BYTES_MAX)];
    let head_bytes = match parsed.parse(window) {
        Ok(httparse::Status::Complete(head_bytes)) => head_bytes,
        Ok(httparse::Status::Partial) if window.len() == HTTP_HEAD_BYTES_MAX => {
            return Err(HEAD_TOO_LONG);
        }
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(TOO_MANY_HEADERS),
        Err(_) => return Err(MALFORMED),
    };
    // A proxy in front of us may split such a head into other lines.
    let mut before = b'\r';
    for &byte in &window[..head_bytes] {
        if byte == b'\n' && before != b'\r' {
            return Err(BARE_LINE_FEED);
        }
        before = byte;
    }
    let (Some(method), Some(target), Some(version)) = (parsed.method, parsed.path, parsed.version)
    else {
        return Err(MALFORMED);
    };
    if method != "GET" {
        return Err(http_error(405, "only GET is served"));
    }
    let headers = Headers(parsed.headers);
    // We would read the body as the next request.
    let length = headers.get("content-length").unwrap_or(b"0");
    if headers.get("transfer-encoding").is_some() || length.iter().any(|&b| b != b'0') {
        return Err(http_error(400, "a request with a body; GET has none"));
    }
    let closes = headers.has_token("connection", "close");
    let keep_alive = version == 1 && !closes;
    let path = target.split('?').next().unwrap_or_default();
    let request = match path {
        "/" => Request::Upgrade {
            key: check_upgrade(&headers, version)?,
            is_foreign: headers.is_foreign(),
        },
        "/health" => Request::Health,
        _ => balances(path).unwrap_or(Request::NotFound),
    };
    Ok(Some(Head { request, head_bytes, keep_alive }))
}

fn balances(path: &str) -> Option<Request<'_>> {
    let mut segments = path.strip_prefix(BALANCES_PREFIX)?.split('/');
    let mut segment = || segments.next().filter(|segment| !segment.is_empty());
    let (user, currency, amount) = (segment()?, segment()?, segment()?);
    segments.next().is_none().then_some(Request::Balances { user, currency, amount })
}

/// Checks the handshake by RFC 6455, section 4.2.1.
fn check_upgrade(headers: &Headers<'_, '_>, version: u8) -> Result<UpgradeKey, HttpError> {
    if !headers.has_token("upgrade", "websocket") || !headers.has_token("connection", "upgrade") {
        return Err(http_error(426, "this is the order gateway; connect with a WebSocket client"));
    }
    if version != 1 {
        return Err(http_error(400, "a WebSocket handshake needs HTTP/1.1"));
    }
    for (name, reason) in [
        ("host", "header Host is missing, or there are two"),
        ("sec-websocket-key", "header Sec-WebSocket-Key is missing, or there are two"),
    ] {
        if headers.count(name) != 1 {
            return Err(http_error(400, reason));
        }
    }
    if headers.get("sec-websocket-version") != Some(b"13") {
        return Err(http_error(426, "header Sec-WebSocket-Version must be 13"));
    }
    headers
        .get("sec-websocket-key")
        .and_then(UpgradeKey::parse)
        .ok_or(http_error(400, "header Sec-WebSocket-Key must be 16 bytes in base64"))
}

struct Headers<'h, 'b>(&'h [httparse::Header<'b>]);

impl<'b> Headers<'_, 'b> {
    fn get(&self, name: &str) -> Option<&'b [u8]> {
        let header = self.0.iter().find(|header| header.name.eq_ignore_ascii_case(name))?;
        Some(header.value.trim_ascii())
    }

    fn count(&self, name: &str) -> usize {
        self.0.iter().filter(|header| header.name.eq_ignore_ascii_case(name)).count()
    }

    /// Whether `Origin` names another site. It is this server if it has the same host and port as
    /// `Host`, and the host is an address or `localhost`: any other name could be made to point
    /// here (DNS rebinding).
    fn is_foreign(&self) -> bool {
        let Some(origin) = self.get("origin") else { return false };
        let is_own = self.count("origin") == 1
            && origin.strip_prefix(b"http://").is_some_and(|authority| {
                Some(authority) == self.get("host") && is_fixed(authority)
            });
        !is_own
    }

    /// Whether the comma-separated list in all headers with this name contains `token`, ignoring
    /// case.
    fn has_token(&self, name: &str, token: &str) -> bool {
        let named = self.0.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
        named
            .flat_map(|header| header.value.split(|&b| b == b','))
            .any(|item| item.trim_ascii().eq_ignore_ascii_case(token.as_bytes()))
    }
}

/// Whether the host of `host:port` is an address or `localhost`, not a name that may point
/// anywhere.
fn is_fixed(authority: &[u8]) -> bool {
    let Ok(authority) = std::str::from_utf8(authority) else { return false };
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if is_port(port) => host,
        _ => authority,
    };
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host.eq_ignore_ascii_case("localhost") || address.parse::<std::net::IpAddr>().is_ok()
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
pub fn response(out: &mut Vec<u8>, status: u16, body: &str, keep_alive: bool) {
    out.extend_from_slice(b"HTTP/1.1 ");
    crate::digits::write_u64(out, u64::from(status));
    out.push(b' ');
    out.extend_from_slice(status_text(status).as_bytes());
    out.extend_from_slice(b"\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ");
    crate::digits::write_u64(out, body.len() as u64);
    out.extend_from_slice(match status {
        405 => b"\r\nAllow: GET".as_slice(),
        426 => b"\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13",
        _ => b"",
    });
    out.extend_from_slice(match (keep_alive, status) {
        (true, 426) => b"\r\nConnection: Upgrade\r\n\r\n".as_slice(),
        (false, 426) => b"\r\nConnection: Upgrade, close\r\n\r\n",
        (true, _) => b"\r\n\r\n",
        (false, _) => b"\r\nConnection: close\r\n\r\n",
    });
    out.extend_from_slice(body.as_bytes());
}

/// Appends the response to an invalid head. Close the connection after it, because the position of
/// the next request is unknown.
pub fn error_response(out: &mut Vec<u8>, error: &HttpError) {
    response(out, error.status, error.reason, false);
}

fn status_text(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        426 => "Upgrade Required",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Status",
    }
}

/// Appends a client's upgrade request. `host` (`name:port`) and `path` must be valid.
pub fn upgrade_request(out: &mut Vec<u8>, host: &str, path: &str, key: &UpgradeKey) {
    out.extend_from_slice(b"GET ");
    out.extend_from_slice(path.as_bytes());
    out.extend_from_slice(b" HTTP/1.1\r\nHost: ");
    out.extend_from_slice(host.as_bytes());
    out.extend_from_slice(
        b"\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
          Sec-WebSocket-Key: ",
    );
    out.extend_from_slice(key.as_bytes());
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
}

/// Checks the answer to [`upgrade_request`]. `None` until the head is complete, then its length;
/// frames may follow it in the same read.
pub fn check_upgrade_response(
    bytes: &[u8],
    key: &UpgradeKey,
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
    if ["sec-websocket-extensions", "sec-websocket-protocol"]
        .iter()
        .any(|name| headers.get(name).is_some())
    {
        return Err(UpgradeError::NotOffered);
    }
    Ok(Some(head_bytes))
}

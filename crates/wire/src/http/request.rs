//! The head of a request, as a server reads it. Only `GET` and `HEAD`, no bodies.

use super::authority::{is_authority, is_fixed};
use super::status::status_text;
use super::{HTTP_HEAD_BYTES_MAX, HTTP_HEADERS_MAX, Headers, UpgradeKey};

const BALANCES_PREFIX: &str = "/private/account/user/balances/";
/// Methods that are known (RFC 9110, 9.3; RFC 5789) and not served.
const OTHER_METHODS: [&str; 7] = ["POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];
/// Schemes of targets that are meant for this server.
const SCHEMES: [&str; 4] = ["http", "https", "ws", "wss"];

/// The request of a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// `GET /` with a proper WebSocket handshake: answer with
    /// [`accept_response`](super::accept_response).
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
    /// Whether the method is `HEAD`: the response has no body.
    pub is_head: bool,
}

/// An invalid head: answer with [`error_response`](super::error_response) and close.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{status} {}: {reason}", status_text(*status))]
pub struct HttpError {
    /// 4xx or 5xx.
    pub status: u16,
    /// The fault, with advice.
    pub reason: &'static str,
    /// Whether the method is `HEAD`: the response has no body.
    pub is_head: bool,
}

const fn http_error(status: u16, reason: &'static str) -> HttpError {
    HttpError { status, reason, is_head: false }
}

const HEAD_TOO_LONG: HttpError =
    http_error(431, "the head is longer than 8192 bytes (limit http_head_bytes_max)");
const TARGET_TOO_LONG: HttpError =
    http_error(414, "the request line is longer than 8192 bytes (limit http_head_bytes_max)");
const TOO_MANY_HEADERS: HttpError =
    http_error(431, "more than 64 headers (limit http_headers_max)");
const MALFORMED: HttpError =
    http_error(400, "not an HTTP/1.1 request (is the client speaking TLS?)");
const VERSION: HttpError = http_error(505, "only HTTP/1.0 and HTTP/1.1 are served");
const BARE_LINE_FEED: HttpError =
    http_error(400, "a line ends with LF alone; lines of HTTP end with CR LF");
const BAD_TARGET: HttpError = http_error(
    400,
    "the target is neither a path nor a URL of this server; send a path, such as /health",
);
const NO_UPGRADE: HttpError =
    http_error(426, "this is the order gateway; connect with a WebSocket client");
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

/// Parses the head at the start of `bytes`; `None` until it is complete.
pub fn parse_head(bytes: &[u8]) -> Result<Option<Head<'_>>, HttpError> {
    let mut headers = [httparse::EMPTY_HEADER; HTTP_HEADERS_MAX];
    let mut parsed = httparse::Request::new(&mut headers);
    // Never look beyond the longest head.
    let window = &bytes[..bytes.len().min(HTTP_HEAD_BYTES_MAX)];
    let head_bytes = match parsed.parse(window) {
        Ok(httparse::Status::Complete(head_bytes)) => head_bytes,
        Ok(httparse::Status::Partial) if window.len() < HTTP_HEAD_BYTES_MAX => return Ok(None),
        Ok(httparse::Status::Partial) if parsed.version.is_none() => return Err(TARGET_TOO_LONG),
        Ok(httparse::Status::Partial) => return Err(HEAD_TOO_LONG),
        Err(httparse::Error::TooManyHeaders) => return Err(TOO_MANY_HEADERS),
        Err(httparse::Error::Version) => return Err(VERSION),
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
    let is_head = method == "HEAD";
    let headers = Headers(parsed.headers);
    let request = read(method, target, version, &headers);
    let request = request.map_err(|error| HttpError { is_head, ..error })?;
    let keep_alive = version == 1 && !headers.has_token("connection", "close");
    Ok(Some(Head { request, head_bytes, keep_alive, is_head }))
}

fn read<'a>(
    method: &str,
    target: &'a str,
    version: u8,
    headers: &Headers<'_, '_>,
) -> Result<Request<'a>, HttpError> {
    if OTHER_METHODS.contains(&method) {
        return Err(http_error(405, "only GET and HEAD are served"));
    }
    if !["GET", "HEAD"].contains(&method) {
        return Err(http_error(501, "an unknown method; GET and HEAD are served"));
    }
    let host = check_host(headers, version)?;
    check_body(headers, version)?;
    let expects_other =
        headers.elements("expect").any(|what| !what.eq_ignore_ascii_case(b"100-continue"));
    if version == 1 && expects_other {
        return Err(http_error(417, "header Expect may only be 100-continue"));
    }
    let (authority, path) = split_target(target)?;
    Ok(match path {
        "/" => Request::Upgrade {
            key: check_upgrade(headers, method, version)?,
            // The host of the target counts where it has one (RFC 9112, 3.2.2).
            is_foreign: is_foreign(headers, authority.map(str::as_bytes).or(host)),
        },
        "/health" => Request::Health,
        _ => balances(path).unwrap_or(Request::NotFound),
    })
}

/// `Host`: one in HTTP/1.1, none or one before (RFC 9112, 3.2).
fn check_host<'b>(headers: &Headers<'_, 'b>, version: u8) -> Result<Option<&'b [u8]>, HttpError> {
    match (headers.only("host"), headers.get("host")) {
        (Some(host), _) if is_authority(host) => Ok(Some(host)),
        (None, None) if version == 0 => Ok(None),
        (Some(_), _) => Err(http_error(400, "header Host is neither a host nor host:port")),
        (None, _) => Err(http_error(400, "header Host is missing, or there are two")),
    }
}

/// No request has a body here, and one that we did not expect we would read as the next request
/// (RFC 9112, 6.3).
fn check_body(headers: &Headers<'_, '_>, version: u8) -> Result<(), HttpError> {
    let has_length = headers.get("content-length").is_some();
    let mut codings = headers.elements("transfer-encoding").peekable();
    if headers.get("transfer-encoding").is_some() {
        if version == 0 || has_length || codings.peek().is_none() {
            return Err(http_error(
                400,
                "Transfer-Encoding is empty, in HTTP/1.0, or beside Content-Length",
            ));
        }
        if codings.any(|coding| !coding.eq_ignore_ascii_case(b"chunked")) {
            return Err(http_error(501, "an unknown Transfer-Encoding; there is chunked"));
        }
        return Err(http_error(413, "a request with a body; GET and HEAD have none"));
    }
    let lengths = headers.all("content-length").flat_map(|line| line.split(|byte| *byte == b','));
    let mut lengths = lengths.map(<[u8]>::trim_ascii);
    let first = lengths.next();
    let is_number = |length: &[u8]| !length.is_empty() && length.iter().all(u8::is_ascii_digit);
    if first.is_some_and(|first| !is_number(first) || lengths.any(|other| other != first)) {
        return Err(http_error(400, "Content-Length is no number, or has two values"));
    }
    match first.is_none_or(|length| length.iter().all(|digit| *digit == b'0')) {
        true => Ok(()),
        false => Err(http_error(413, "a request with a body; GET and HEAD have none")),
    }
}

/// Host and path of a target, without the query (RFC 9112, 3.2).
fn split_target(target: &str) -> Result<(Option<&str>, &str), HttpError> {
    let (authority, rest) = match target.split_once("://") {
        _ if target.starts_with('/') => (None, target),
        Some((scheme, rest)) if SCHEMES.iter().any(|known| known.eq_ignore_ascii_case(scheme)) => {
            let (authority, rest) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
            (Some(authority), rest)
        }
        _ => return Err(BAD_TARGET),
    };
    let is_bad = |authority: &str| authority.is_empty() || !is_authority(authority.as_bytes());
    if authority.is_some_and(is_bad) {
        return Err(BAD_TARGET);
    }
    match rest.split('?').next() {
        Some("") | None => Ok((authority, "/")),
        Some(path) => Ok((authority, path)),
    }
}

fn balances(path: &str) -> Option<Request<'_>> {
    let mut segments = path.strip_prefix(BALANCES_PREFIX)?.split('/');
    let mut segment = || segments.next().filter(|segment| !segment.is_empty());
    let (user, currency, amount) = (segment()?, segment()?, segment()?);
    segments.next().is_none().then_some(Request::Balances { user, currency, amount })
}

/// Checks the handshake by RFC 6455, section 4.2.1. In HTTP/1.0 there is no `Upgrade` (RFC 9110,
/// 7.8).
fn check_upgrade(
    headers: &Headers<'_, '_>,
    method: &str,
    version: u8,
) -> Result<UpgradeKey, HttpError> {
    let asks =
        headers.has_token("upgrade", "websocket") && headers.has_token("connection", "upgrade");
    if !asks || method != "GET" || version != 1 {
        return Err(NO_UPGRADE);
    }
    if headers.only("sec-websocket-version") != Some(b"13") {
        return Err(http_error(426, "header Sec-WebSocket-Version must be 13"));
    }
    let Some(key) = headers.only("sec-websocket-key") else {
        return Err(http_error(400, "header Sec-WebSocket-Key is missing, or there are two"));
    };
    UpgradeKey::parse(key)
        .ok_or(http_error(400, "header Sec-WebSocket-Key must be 16 bytes in base64"))
}

/// Whether `Origin` names another site. It is this server if it has the same host and port as the
/// request, and the host is an address or `localhost`: any other name could be made to point here
/// (DNS rebinding).
fn is_foreign(headers: &Headers<'_, '_>, host: Option<&[u8]>) -> bool {
    let is_own = |origin: &[u8]| {
        origin
            .strip_prefix(b"http://")
            .is_some_and(|authority| Some(authority) == host && is_fixed(authority))
    };
    headers.get("origin").is_some() && !headers.only("origin").is_some_and(is_own)
}

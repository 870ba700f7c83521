//! `[endpoint]` of a scenario: probes of an address that belongs to somebody else.

use crate::range::{OutOfRange, require, within};
use serde::{Deserialize, Serialize};

/// Limit on probes per second: a target that is somebody else's must not feel them.
pub const PROBES_PER_SECOND_MAX: f64 = 100.0;
/// Limit on the connections that stay open.
pub const CONNECTIONS_KEPT_MAX: usize = 64;
/// Limit on `fresh_every`.
pub const FRESH_EVERY_MAX: u32 = 1_000_000;
/// Limit on the time that one step may take, s.
pub const PATIENCE_SECONDS_MAX: f64 = 60.0;

/// Limit on `payload_bytes`.
pub const PAYLOAD_BYTES_MAX: usize = 4096;
/// Limit on the payload of a WebSocket ping (RFC 6455, section 5.5), bytes.
pub const PING_BYTES_MAX: usize = 125;
/// `payload_bytes` unless the scenario says otherwise: enough to tell an answer from any other.
pub const PAYLOAD_BYTES: usize = 8;
/// Range of `resolve_seconds`.
pub const RESOLVE_SECONDS: std::ops::RangeInclusive<f64> = 0.1..=3600.0;

/// Headers that the upgrade, and nothing else, sets.
const OWN_HEADERS: [&str; 5] =
    ["host", "upgrade", "connection", "content-length", "transfer-encoding"];
/// Parts of the names of headers whose values are secrets.
const SECRETS: [&str; 6] = ["auth", "cookie", "key", "token", "secret", "signature"];

/// The protocol of the target above TCP and TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// Anything: nothing is sent.
    Tcp,
    /// WebSocket: it is upgraded and pinged.
    Websocket,
    /// A UDP echo server (RFC 862): it returns every datagram.
    Udp,
}

/// `[endpoint]` of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Probes {
    /// The protocol of the target.
    pub protocol: Protocol,
    /// The path of the WebSocket.
    pub path: String,
    /// More headers of the upgrade, each `Name: value`, or `Name: @file` for the text of a file.
    pub headers: Vec<String>,
    /// Subprotocols that the upgrade offers; the target must choose one of them.
    pub subprotocols: Vec<String>,
    /// Limit on the rate of probes.
    pub probes_per_second: f64,
    /// Each n-th probe opens a fresh connection and closes it; 1: all do. Others ping a connection
    /// that stays open.
    pub fresh_every: u32,
    /// Connections that stay open to each address, each with a source port of its own. They take
    /// turns.
    pub connections_kept: usize,
    /// Payload of a ping, bytes; at most [`PING_BYTES_MAX`] over a WebSocket.
    pub payload_bytes: usize,
    /// The kernel stamps every n-th ping of a UDP socket on its way out and in; 0: none.
    pub stamp_every: u32,
    /// How often the target's name is looked up again during a run, s.
    pub resolve_seconds: f64,
    /// The longest that a step may take, s.
    pub patience_seconds: f64,
}

impl Default for Probes {
    fn default() -> Probes {
        Probes {
            protocol: Protocol::Websocket,
            path: "/".to_owned(),
            headers: Vec::new(),
            subprotocols: Vec::new(),
            probes_per_second: 20.0,
            fresh_every: 4,
            connections_kept: 4,
            payload_bytes: PAYLOAD_BYTES,
            stamp_every: 0,
            resolve_seconds: 5.0,
            patience_seconds: 5.0,
        }
    }
}

impl Probes {
    /// The limit of a payload depends on the protocol.
    fn check_payload(&self) -> Result<(), OutOfRange> {
        let (key, bytes) = ("endpoint.payload_bytes", self.payload_bytes);
        match self.protocol {
            Protocol::Tcp => {
                let why = "nothing is sent with protocol = \"tcp\": leave it out, or set another \
                           protocol";
                require(bytes == PAYLOAD_BYTES, key, bytes, why)
            }
            Protocol::Websocket => {
                let why =
                    "a WebSocket ping carries {} bytes (RFC 6455); protocol = \"udp\" takes more";
                within(key, bytes, 0..=PING_BYTES_MAX, why)
            }
            Protocol::Udp => within(key, bytes, 0..=PAYLOAD_BYTES_MAX, "it is {} bytes"),
        }
    }

    /// Checks every key against its range.
    ///
    /// # Errors
    /// The first key that is out of range, with the values that are allowed.
    pub fn check(&self) -> Result<(), OutOfRange> {
        let (rate, patience) = (self.probes_per_second, self.patience_seconds);
        let why = format!("above 0 and at most {PROBES_PER_SECOND_MAX}: the target isn't yours");
        require(
            rate > 0.0 && rate <= PROBES_PER_SECOND_MAX,
            "endpoint.probes_per_second",
            rate,
            why,
        )?;
        within("endpoint.fresh_every", self.fresh_every, 1..=FRESH_EVERY_MAX, "there are {}")?;
        let kept = self.connections_kept;
        within("endpoint.connections_kept", kept, 0..=CONNECTIONS_KEPT_MAX, "there are {}")?;
        let why = "only fresh connections can be probed without a protocol to ping with: set 1";
        let pings = self.protocol != Protocol::Tcp;
        require(pings || self.fresh_every == 1, "endpoint.fresh_every", self.fresh_every, why)?;
        let why = "no connection stays open to be pinged: set fresh_every = 1, or keep some";
        let has_some = kept > 0 || self.fresh_every == 1;
        require(has_some, "endpoint.connections_kept", kept, why)?;
        self.check_payload()?;
        let (stamps, key) = (self.stamp_every, "endpoint.stamp_every");
        let why =
            "the kernel stamps datagrams: set endpoint.protocol = \"udp\", or 0 for no stamps";
        require(stamps == 0 || self.protocol == Protocol::Udp, key, stamps, why)?;
        let seconds = self.resolve_seconds;
        within("endpoint.resolve_seconds", seconds, RESOLVE_SECONDS, "it is {} s")?;
        let why = format!("above 0 and at most {PATIENCE_SECONDS_MAX} s");
        require(
            patience > 0.0 && patience <= PATIENCE_SECONDS_MAX,
            "endpoint.patience_seconds",
            patience,
            why,
        )?;
        let is_path = self.path.starts_with('/') && self.path.bytes().all(|b| b.is_ascii_graphic());
        require(is_path, "endpoint.path", &self.path, "it begins with / and has no spaces")?;
        self.headers.iter().try_for_each(|header| check_header(header))?;
        let is_token = |text: &&String| is_token(text);
        match self.subprotocols.iter().find(|text| !is_token(text)) {
            None => Ok(()),
            Some(text) => {
                let why = "a subprotocol is a word without spaces, such as \"v1.orders\"";
                require(false, "endpoint.subprotocols", text, why)
            }
        }
    }
}

/// Name and value of a header, without the spaces around the value.
pub fn split_header(header: &str) -> Option<(&str, &str)> {
    header.split_once(':').map(|(name, value)| (name, value.trim_matches([' ', '\t'])))
}

/// A record keeps the scenario, so a secret must be in a file.
fn check_header(header: &str) -> Result<(), OutOfRange> {
    let bad = |why: &str| require(false, "endpoint.headers", header, why);
    let Some((name, value)) = split_header(header).filter(|(name, _)| is_token(name)) else {
        return bad("write \"Name: value\", or \"Name: @file\" for the text of a file");
    };
    let name = name.to_ascii_lowercase();
    if OWN_HEADERS.contains(&name.as_str()) || name.starts_with("sec-websocket-") {
        return bad("the upgrade sets it itself; subprotocols are endpoint.subprotocols");
    }
    let is_secret = SECRETS.iter().any(|part| name.contains(part));
    if is_secret && !value.starts_with('@') {
        // The value is not repeated.
        let why = "its value may be a secret, and the record keeps this text: write the value to a file and \"Name: @file\" here";
        return require(false, "endpoint.headers", name, why);
    }
    match value.is_empty() || value.chars().any(char::is_control) {
        true => bad("the value is empty, or has control characters"),
        false => Ok(()),
    }
}

/// A token of RFC 9110, 5.6.2.
fn is_token(text: &str) -> bool {
    let is_its = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_its)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ping of 4096 bytes over a WebSocket would break its protocol, and a payload that nobody
    /// sends would stand in the record.
    #[test]
    fn the_payload_fits_the_protocol() {
        let check = |protocol, payload_bytes| {
            let fresh_every = 1;
            Probes { protocol, payload_bytes, fresh_every, ..Probes::default() }.check()
        };
        for (protocol, most) in [(Protocol::Websocket, 125), (Protocol::Udp, 4096)] {
            assert!(check(protocol, 0).is_ok() && check(protocol, most).is_ok());
            let error = check(protocol, most + 1).unwrap_err().to_string();
            assert!(error.contains(&format!("0 to {most}")), "{error}");
        }
        assert!(check(Protocol::Tcp, PAYLOAD_BYTES).is_ok());
        assert!(check(Protocol::Tcp, 0).unwrap_err().to_string().contains("nothing is sent"));
    }

    /// A secret never gets into a record: the scenario, which the record keeps, has the file's
    /// name.
    #[test]
    fn headers_are_checked_and_secrets_are_in_files() {
        let check = |header: &str| {
            let headers = vec![header.to_owned()];
            Probes { headers, ..Probes::default() }.check().map_err(|error| error.to_string())
        };
        for header in ["User-Agent: me", "Authorization: @token.txt", "X-Api-Key:@key", "A: b: c"] {
            assert_eq!(check(header), Ok(()), "{header}");
        }
        for secret in ["Authorization: Bearer s3cr3t", "x-api-key: s3cr3t", "Cookie: s3cr3t"] {
            let error = check(secret).unwrap_err();
            assert!(error.contains("@file") && !error.contains("s3cr3t"), "{error}");
        }
        for (header, words) in [
            ("User-Agent", "write \"Name: value\""),
            ("User Agent: me", "write \"Name: value\""),
            (": me", "write \"Name: value\""),
            ("User-Agent:", "the value is empty"),
            ("User-Agent: a\r\nHost: b", "control characters"),
            ("host: x", "sets it itself"),
            ("Sec-WebSocket-Protocol: x", "endpoint.subprotocols"),
        ] {
            let error = check(header).unwrap_err();
            assert!(error.contains(words), "{header:?}: {error}");
        }
        let subprotocols = vec!["v1.orders".to_owned(), "v2 orders".to_owned()];
        let error = Probes { subprotocols, ..Probes::default() }.check().unwrap_err().to_string();
        assert!(error.contains("v2 orders"), "{error}");
    }
}

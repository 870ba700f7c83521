//! HTTP/1.1 (RFC 9110, RFC 9112): a server's end, for the upgrade to WebSocket (RFC 6455) and a few
//! plain requests on the same port; and a client's end of the upgrade.

mod authority;
mod client;
mod request;
mod response;
mod status;

pub use authority::without_default_port;
pub use client::{UpgradeError, check_upgrade_response, upgrade_request};
pub use request::{FOREIGN_ORIGIN, Head, HttpError, Request, TLS, parse_head};
pub use response::{Framing, accept_response, error_response, response};

/// The longest head, request line and headers together.
pub const HTTP_HEAD_BYTES_MAX: usize = 8 * 1024;

/// The most headers in a head.
pub const HTTP_HEADERS_MAX: usize = 64;

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

struct Headers<'h, 'b>(&'h [httparse::Header<'b>]);

impl<'b> Headers<'_, 'b> {
    /// The values of all lines with this name.
    fn all(&self, name: &str) -> impl Iterator<Item = &'b [u8]> {
        let named = self.0.iter().filter(move |header| header.name.eq_ignore_ascii_case(name));
        named.map(|header| header.value.trim_ascii())
    }

    /// The first of them.
    fn get(&self, name: &str) -> Option<&'b [u8]> {
        self.all(name).next()
    }

    /// The value, if there is one line with this name.
    fn only(&self, name: &str) -> Option<&'b [u8]> {
        self.get(name).filter(|_| self.all(name).count() == 1)
    }

    /// The elements of the lists in all lines with this name. Empty ones are ignored (RFC 9110,
    /// 5.6.1.2).
    fn elements(&self, name: &str) -> impl Iterator<Item = &'b [u8]> {
        let elements = self.all(name).flat_map(|value| value.split(|byte| *byte == b','));
        elements.map(<[u8]>::trim_ascii).filter(|element| !element.is_empty())
    }

    /// Whether one of them is `token`, ignoring case.
    fn has_token(&self, name: &str, token: &str) -> bool {
        self.elements(name).any(|element| element.eq_ignore_ascii_case(token.as_bytes()))
    }
}

//! The side that connects: asks for a cookie, returns it, and gets a connection.

use crate::acked::datagram::{Datagram, DatagramKind, HANDSHAKE_BYTES, Handshake};
use crate::cookie::Cookie;

/// The longest that a handshake takes, ns.
pub const HANDSHAKE_NS: u64 = 5_000_000_000;
/// A question without an answer is asked again after this time, ns; then after twice as long.
const AGAIN_NS: u64 = 50_000_000;

/// The state of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DialStep {
    /// It goes on.
    Waiting,
    /// The server gave a connection of this number.
    Connected(u64),
    /// The server has no place.
    Full,
    /// No answer came for [`HANDSHAKE_NS`].
    TimedOut,
}

/// A handshake. Times are ns of the caller's clock.
pub struct Dial {
    token: u64,
    cookie: Option<Cookie>,
    until_ns: u64,
    again_ns: u64,
    interval_ns: u64,
}

impl Dial {
    /// A handshake that begins now. Nobody can guess `token`.
    pub fn new(token: u64, now_ns: u64) -> Dial {
        Dial {
            token,
            cookie: None,
            until_ns: now_ns + HANDSHAKE_NS,
            again_ns: now_ns,
            interval_ns: AGAIN_NS,
        }
    }

    /// The datagram that is due, if one is.
    pub fn poll(&mut self, now_ns: u64) -> Option<[u8; HANDSHAKE_BYTES]> {
        if now_ns < self.again_ns {
            return None;
        }
        self.again_ns = now_ns + self.interval_ns;
        self.interval_ns *= 2;
        let kind = if self.cookie.is_some() { DatagramKind::Connect } else { DatagramKind::Hello };
        Some(Handshake::new(kind, self.token, self.cookie.unwrap_or_default()).encode())
    }

    /// Takes a datagram from the server, if one came: what came of the handshake.
    pub fn receive(&mut self, bytes: Option<&[u8]>, now_ns: u64) -> DialStep {
        if let Some(Datagram::Handshake(answer)) = bytes.and_then(Datagram::decode)
            && answer.token == self.token
        {
            match answer.kind {
                DatagramKind::Challenge => {
                    self.cookie = Some(answer.cookie);
                    (self.again_ns, self.interval_ns) = (now_ns, AGAIN_NS);
                }
                DatagramKind::Accepted => return DialStep::Connected(answer.connection),
                DatagramKind::Full => return DialStep::Full,
                _ => {}
            }
        }
        match now_ns >= self.until_ns {
            true => DialStep::TimedOut,
            false => DialStep::Waiting,
        }
    }

    /// When [`poll`](Dial::poll) has a datagram.
    pub fn due_ns(&self) -> u64 {
        self.again_ns.min(self.until_ns)
    }
}

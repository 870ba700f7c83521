//! A session's connection to the exchange, without a socket: the bytes that go there, and those
//! that come back.

use std::io;
use transport::proxy;
use wire::frame::{FrameError, Opcode, write_frame_with};
use wire::http::{UpgradeKey, check_upgrade_response, upgrade_request};
use wire::reader::{FrameLimits, Message, MessageReader, Role};
use wire::reply::{Reply, decode_reply};
use wire::request::{Channel, encode_absent, encode_authenticate, encode_subscribe};

/// The frames' mask. It protects proxies from clients, and there is none in between.
const MASK: [u8; 4] = [0x5a, 0xc3, 0x96, 0x3c];

/// Appends a frame with the text that `encode` writes.
pub(crate) fn put_frame(out: &mut Vec<u8>, encode: impl FnOnce(&mut Vec<u8>)) {
    write_frame_with(out, Opcode::Text, Some(MASK), encode);
}

/// The use of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Orders, and reports about them.
    Orders { cancels_on_disconnect: bool },
    /// The same while the client is away: it has not logged on since the exchange began.
    AbsentOrders,
    /// Market data.
    MarketData,
}

/// How far a connection is.
#[derive(Debug)]
enum Phase {
    /// The exchange's answer to the upgrade is not whole.
    Upgrading {
        head: Vec<u8>,
        key: UpgradeKey,
    },
    /// It has not answered the login.
    LoggingIn,
    Open,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Link {
    purpose: Purpose,
    phase: Phase,
    /// Bytes of the upgrade and the login that the exchange has not read.
    pub opening: Vec<u8>,
    /// Frames of the exchange.
    reader: MessageReader,
}

impl Link {
    /// A connection that logs on with `token`, and for orders subscribes the account's reports.
    pub fn new(token: &str, purpose: Purpose) -> Link {
        let key = UpgradeKey::from_nonce(*b"tickpath and fix");
        // The client's address is not this connection's.
        let mut opening = proxy::UNKNOWN.to_vec();
        upgrade_request(&mut opening, "localhost", "/", &key, &[]);
        let cancels = match purpose {
            Purpose::Orders { cancels_on_disconnect } => Some(cancels_on_disconnect),
            Purpose::AbsentOrders | Purpose::MarketData => None,
        };
        put_frame(&mut opening, |out| {
            encode_authenticate(out, token, cancels, None);
            if purpose == Purpose::AbsentOrders {
                encode_absent(out);
            }
        });
        if purpose != Purpose::MarketData {
            put_frame(&mut opening, |out| encode_subscribe(out, &[Channel::named("ORDERS")]));
        }
        let phase = Phase::Upgrading { head: Vec::new(), key };
        let reader = MessageReader::new(Role::Client, FrameLimits::default());
        Link { purpose, phase, opening, reader }
    }

    /// Whether the exchange has answered the login.
    pub fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Open)
    }

    /// Takes all `bytes` of the exchange. Once the connection is open, calls `look` for what is in
    /// the reader, as often as that is full. Gives whether it has opened meanwhile.
    ///
    /// # Errors
    /// If the exchange rejects the upgrade or the login, and those of `look`.
    pub fn each(
        &mut self,
        mut bytes: &[u8],
        mut look: impl FnMut(&mut MessageReader) -> io::Result<()>,
    ) -> io::Result<bool> {
        let mut has_opened = false;
        while !bytes.is_empty() {
            let n = self.take(bytes)?;
            bytes = &bytes[n..];
            has_opened |= self.log_in()?;
            if self.is_open() {
                look(&mut self.reader)?;
            }
        }
        Ok(has_opened)
    }

    /// Takes the next bytes as far as there is room. Gives how many.
    fn take(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Phase::Upgrading { head, key } = &mut self.phase else {
            return Ok(self.reader.fill_from(bytes, 0));
        };
        let before = head.len();
        head.extend_from_slice(bytes);
        if let Some(head_bytes) =
            check_upgrade_response(head, key, &[]).map_err(io::Error::other)?
        {
            self.phase = Phase::LoggingIn;
            return Ok(head_bytes - before);
        }
        Ok(bytes.len())
    }

    /// Reads the answers to the login. Gives whether the connection is open now; bytes behind the
    /// answers stay in the reader.
    ///
    /// # Errors
    /// The exchange's reason, if it rejects the login.
    fn log_in(&mut self) -> io::Result<bool> {
        if !matches!(self.phase, Phase::LoggingIn) {
            return Ok(false);
        }
        let framing = |error: FrameError| io::Error::other(error);
        while let Some(received) = self.reader.next().map_err(framing)? {
            let text = match received.message {
                Message::Text(text) => text,
                Message::Close { .. } => return Err(io::ErrorKind::ConnectionAborted.into()),
                Message::Binary(_) | Message::Ping(_) | Message::Pong(_) => continue,
            };
            let is_last = match decode_reply(text).map_err(io::Error::other)? {
                Reply::Error { reason } => return Err(io::Error::other(reason.into_owned())),
                Reply::Subscriptions(_) => true,
                Reply::Authenticated => self.purpose == Purpose::MarketData,
                _ => false,
            };
            if is_last {
                self.phase = Phase::Open;
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOGGED_IN: &str = r#"{"type":"AUTHENTICATED"}"#;
    const SUBSCRIBED: &str = r#"{"channels":[],"time":1,"type":"SUBSCRIPTIONS"}"#;

    /// An exchange's bytes: its answer to the upgrade, then these messages.
    fn from_exchange(messages: &[&str]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let key = UpgradeKey::from_nonce(*b"tickpath and fix");
        wire::http::accept_response(&mut bytes, &key);
        for text in messages {
            let encode = |out: &mut Vec<u8>| out.extend_from_slice(text.as_bytes());
            write_frame_with(&mut bytes, Opcode::Text, None, encode);
        }
        bytes
    }

    /// Takes the parts; how often the connection opened, and the texts behind that.
    fn take(purpose: Purpose, parts: &[&[u8]]) -> io::Result<(u32, Vec<String>)> {
        let (mut link, mut opened, mut texts) = (Link::new("t", purpose), 0, Vec::new());
        for part in parts {
            opened += u32::from(link.each(part, |reader| {
                while let Some(received) = reader.next().map_err(io::Error::other)? {
                    let Message::Text(text) = received.message else { continue };
                    texts.push(String::from_utf8_lossy(text).into_owned());
                }
                Ok(())
            })?);
        }
        Ok((opened, texts))
    }

    /// However the exchange's bytes are cut, the connection opens once, and reports behind the
    /// answers are not lost.
    #[test]
    fn a_connection_opens_at_the_last_answer_wherever_the_bytes_are_cut() {
        let orders = Purpose::Orders { cancels_on_disconnect: true };
        let report = r#"{"type":"REPORT"}"#;
        for (purpose, answers) in
            [(orders, &[LOGGED_IN, SUBSCRIBED][..]), (Purpose::MarketData, &[LOGGED_IN])]
        {
            let bytes = from_exchange(&[answers, &[report]].concat());
            let opened = (1, vec![report.to_owned()]);
            for cut in 0..=bytes.len() {
                let parts = [&bytes[..cut], &bytes[cut..]];
                assert_eq!(take(purpose, &parts).unwrap(), opened, "{purpose:?}, cut at {cut}");
            }
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            assert_eq!(take(purpose, &single).unwrap(), opened, "{purpose:?}");
            let short = &bytes[..bytes.len() - report.len() - 2 - 1];
            assert_eq!(take(purpose, &[short]).unwrap().0, 0, "{purpose:?}");
        }
    }

    #[test]
    fn an_exchange_that_rejects_the_upgrade_or_the_login_ends_the_connection() {
        let error = |bytes: &[u8]| take(Purpose::MarketData, &[bytes]).unwrap_err().to_string();
        let rejects = from_exchange(&[r#"{"reason":"no more accounts","type":"ERROR"}"#]);
        assert_eq!(error(&rejects), "no more accounts");
        let full = error(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n");
        assert!(full.contains("503"), "{full}");
    }
}

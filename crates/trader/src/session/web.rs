//! One WebSocket connection to an exchange during its blocking set-up: the upgrade and the steps of
//! logging on. Also the client ids of a run.

use crate::session::form::CLIENT_ID_BYTES;
use clock::Deadline;
use clock::random::SplitMix64;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read};
use std::time::Duration;
use transport::Blocking;
use wire::frame::{Opcode, write_frame_with};
use wire::http::{UpgradeKey, check_upgrade_response, upgrade_request, without_default_port};
use wire::reader::{FrameLimits, Message, MessageReader, Role};
use wire::reply::{Reply, decode_reply};
use wire::request::encode_authenticate;

/// Limit on the length of a reply, and size of one read.
const MESSAGE_BYTES_MAX: usize = 128 * 1024;

/// Time limit of each step of logging on: handshake, authentication, subscription.
pub(crate) const STEP_PATIENCE: Duration = Duration::from_secs(5);

/// A connection's reader and its masks.
pub(crate) struct WebSession {
    target: String,
    /// Time limit of each step of logging on.
    pub(crate) patience: Duration,
    pub(crate) reader: MessageReader,
    pub(crate) masks: Masks,
}

/// A mask must differ from frame to frame. Against proxies that an attacker poisons it would have
/// to be unpredictable too, but a benchmark needs no such protection.
pub(crate) struct Masks(SplitMix64);

impl Masks {
    /// Another seed gives other masks.
    pub(crate) fn new(seed: u64) -> Masks {
        Masks(SplitMix64::new(seed))
    }

    /// The mask of the next frame.
    #[inline]
    pub(crate) fn next(&mut self) -> [u8; 4] {
        (self.0.bits() as u32).to_ne_bytes()
    }
}

impl WebSession {
    /// To `HOST:PORT`. Sessions with different seeds have different masks.
    pub(crate) fn new(target: &str, seed: u64) -> WebSession {
        WebSession::with_room(target, seed, MESSAGE_BYTES_MAX)
    }

    /// The same with another limit on the length of a message, bytes.
    pub(crate) fn with_room(target: &str, seed: u64, message_bytes_max: usize) -> WebSession {
        let limits = FrameLimits { message_bytes_max };
        WebSession {
            target: target.to_owned(),
            patience: STEP_PATIENCE,
            reader: MessageReader::new(Role::Client, limits),
            masks: Masks::new(seed),
        }
    }

    /// Writes one message.
    pub(crate) fn send(
        &mut self,
        stream: &mut dyn Blocking,
        encode: impl FnOnce(&mut Vec<u8>),
    ) -> io::Result<()> {
        let mut out = Vec::new();
        write_frame_with(&mut out, Opcode::Text, Some(self.masks.next()), encode);
        stream.write_all(&out)
    }

    /// Authenticates an account; the flags are those of `AUTHENTICATE`.
    pub(crate) fn authenticate(
        &mut self,
        stream: &mut dyn Blocking,
        token: u64,
        [cancel_on_disconnect, stamps]: [Option<bool>; 2],
    ) -> io::Result<()> {
        let token = token.to_string();
        self.send(stream, |out| encode_authenticate(out, &token, cancel_on_disconnect, stamps))?;
        self.wait_for(stream, "AUTHENTICATE", |reply, _| {
            matches!(reply, Reply::Authenticated).then_some(())
        })
    }

    /// Reads until `accept` takes a reply to the message `asked`; it also gets the reply's text.
    pub(crate) fn wait_for<T>(
        &mut self,
        stream: &mut dyn Blocking,
        asked: &str,
        accept: impl FnMut(&Reply<'_>, &[u8]) -> Option<T>,
    ) -> io::Result<T> {
        let patience = self.patience;
        self.read_until(stream, accept).map_err(|error| {
            let why = match error.kind() {
                io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => format!(
                    "no answer to {asked} within {} s: the server may not know this message",
                    patience.as_secs_f64()
                ),
                io::ErrorKind::UnexpectedEof => format!(
                    "the server closed the connection instead of answering {asked}: it may not know this message"
                ),
                _ => format!("{asked}: {error}"),
            };
            io::Error::new(error.kind(), why)
        })
    }

    fn read_until<T>(
        &mut self,
        stream: &mut dyn Blocking,
        mut accept: impl FnMut(&Reply<'_>, &[u8]) -> Option<T>,
    ) -> io::Result<T> {
        let deadline = Deadline::after(self.patience);
        let reader = &mut self.reader;
        loop {
            while let Some(received) = reader.next().map_err(io::Error::other)? {
                match received.message {
                    Message::Text(text) => {
                        let reply = decode_reply(text).map_err(io::Error::other)?;
                        if let Reply::Error { reason } = &reply {
                            return Err(io::Error::other(format!("the exchange says: {reason}")));
                        }
                        if let Some(accepted) = accept(&reply, text) {
                            return Ok(accepted);
                        }
                    }
                    Message::Close { reason, .. } => {
                        let reason = String::from_utf8_lossy(reason);
                        let text = format!("the exchange closed the connection: {reason}");
                        return Err(io::Error::other(text));
                    }
                    _ => {}
                }
            }
            wait_at_most(stream, deadline)?;
            match read(stream, reader.space())? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                n => reader.filled(n, 0),
            }
        }
    }

    /// Makes a WebSocket of a fresh connection.
    pub(crate) fn upgrade(&mut self, stream: &mut dyn Blocking) -> io::Result<()> {
        let mut nonce = [0; 16];
        nonce[..8].copy_from_slice(&self.masks.0.bits().to_ne_bytes());
        nonce[8..].copy_from_slice(&self.masks.0.bits().to_ne_bytes());
        let key = UpgradeKey::from_nonce(nonce);
        let mut request = Vec::new();
        let host = without_default_port(&self.target, stream.is_secure());
        upgrade_request(&mut request, host, "/", &key, &[]);
        stream.write_all(&request)?;
        let mut response = Vec::new();
        let mut byte = [0];
        let deadline = Deadline::after(self.patience);
        // A byte at a time, to leave everything after the head unread.
        loop {
            if check_upgrade_response(&response, &key, &[]).map_err(io::Error::other)?.is_some() {
                return Ok(());
            }
            wait_at_most(stream, deadline)?;
            stream.read_exact(&mut byte)?;
            response.push(byte[0]);
        }
    }
}

/// Reads some bytes. A signal that stops and continues the process breaks a read with a time-out
/// off (signal(7)); that is no reason to give up.
pub(crate) fn read(stream: &mut (impl Read + ?Sized), into: &mut [u8]) -> io::Result<usize> {
    loop {
        match stream.read(into) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// Makes the next read end at the deadline.
pub(crate) fn wait_at_most(stream: &mut dyn Blocking, deadline: Deadline) -> io::Result<()> {
    let left = deadline.left();
    if left.is_zero() {
        return Err(io::Error::new(io::ErrorKind::TimedOut, "no answer in time"));
    }
    stream.set_patience(left)
}

/// A number that differs from that of other runs against the same exchange. Not from time and
/// process id: hosts of a fleet begin together, and in containers they share process ids.
pub(crate) fn nonce() -> u32 {
    RandomState::new().hash_one(()) as u32
}

/// Position of the order's number in the client id, as 12 hex digits.
const NUMBER_AT: usize = 24;

/// The client ids of a run: `xxxxxxxx-0000-4000-8000-` and the order's number.
pub(crate) struct ClientIds([u8; CLIENT_ID_BYTES]);

impl ClientIds {
    pub(crate) fn new(nonce: u32) -> ClientIds {
        let mut text = *b"00000000-0000-4000-8000-000000000000";
        text[..8].copy_from_slice(format!("{nonce:08x}").as_bytes());
        ClientIds(text)
    }

    #[inline]
    pub(crate) fn of(&mut self, number: u64) -> &[u8; CLIENT_ID_BYTES] {
        for (index, digit) in self.0[NUMBER_AT..].iter_mut().enumerate() {
            *digit = b"0123456789abcdef"[(number >> (44 - 4 * index)) as usize & 15];
        }
        &self.0
    }

    /// The same as a text.
    pub(crate) fn text(&mut self, number: u64) -> &str {
        // Its prefix and its digits are ASCII.
        std::str::from_utf8(self.of(number)).unwrap_or_default()
    }

    /// The number in the text of a client id of this run; `None` for any other.
    #[inline]
    pub(crate) fn number(&self, client_id: &[u8]) -> Option<u64> {
        let (prefix, digits) = client_id.split_at_checked(NUMBER_AT)?;
        if prefix != &self.0[..NUMBER_AT] || digits.len() != 12 {
            return None;
        }
        digits.iter().try_fold(0, |number, &digit| {
            Some(number << 4 | u64::from((digit as char).to_digit(16)?))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::net::TcpListener;

    /// Two containers of a fleet had the same process id and began in the same millisecond. The
    /// nonce came from these two, so the exchange rejected one's orders as the other's duplicates.
    #[test]
    fn runs_that_begin_together_have_client_ids_of_their_own() {
        let nonces: HashSet<u32> = (0..100).map(|_| nonce()).collect();
        assert_eq!(nonces.len(), 100);
    }

    /// `tickpath audit` finds an order of the log in the exchange's journal by it.
    #[test]
    fn a_client_id_is_the_one_that_an_audit_log_stands_for() {
        let (run, order) = (0x00ab_cdef, 0x1234_5678_9abc);
        let id = String::from_utf8(ClientIds::new(run).of(order).to_vec()).unwrap();
        assert_eq!(id, audit::client_id(run.into(), order));
    }

    /// A server that does not know `DESCRIBE` once led to an error that named no message.
    #[test]
    fn a_message_that_is_not_answered_is_named() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut session = WebSession::new(&address.to_string(), 1);
        let mut stream =
            transport::Connection::from(std::net::TcpStream::connect(address).unwrap());
        let (peer, _) = listener.accept().unwrap();
        let error = session.wait_for(&mut stream, "DESCRIBE", |_, _| Some(())).unwrap_err();
        assert!(error.to_string().starts_with("no answer to DESCRIBE within 5 s"), "{error}");
        drop(peer);
        let error = session.wait_for(&mut stream, "DESCRIBE", |_, _| Some(())).unwrap_err();
        assert!(error.to_string().contains("instead of answering DESCRIBE"), "{error}");
    }
}

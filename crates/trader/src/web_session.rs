//! One WebSocket connection to an exchange while it is still a blocking one: the upgrade, and each step of logging on. And the client ids
//! of a run.

use crate::form::CLIENT_ID_BYTES;
use measure::clock::{Deadline, wall_ms};
use measure::random::SplitMix64;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use wire::client_id::ClientId;
use wire::frame::{Opcode, write_frame_with};
use wire::http::{UpgradeKey, check_upgrade_response, upgrade_request};
use wire::reader::{FrameLimits, Message, MessageReader, Role};
use wire::reply::{Reply, decode_reply};

/// The longest reply, and how much one read takes at once.
const MESSAGE_BYTES_MAX: usize = 128 * 1024;

/// How long each step of logging on may take: the handshake, each authentication, the subscription.
const STEP_PATIENCE: Duration = Duration::from_secs(5);

/// A connection's reader and its masks.
pub(crate) struct Session {
    target: String,
    pub(crate) reader: MessageReader,
    pub(crate) masks: Masks,
}

/// A mask must differ from frame to frame; against a proxy that an attacker poisons it would have to be unpredictable too, which a benchmark's
/// need not be.
pub(crate) struct Masks(SplitMix64);

impl Masks {
    /// Others of another seed.
    pub(crate) fn new(seed: u64) -> Masks {
        Masks(SplitMix64::new(seed))
    }

    /// For the next frame.
    #[inline]
    pub(crate) fn next(&mut self) -> [u8; 4] {
        (self.0.bits() as u32).to_ne_bytes()
    }
}

impl Session {
    /// To `HOST:PORT`. Sessions of another seed have other masks.
    pub(crate) fn new(target: &str, seed: u64) -> Session {
        let limits = FrameLimits { message_bytes_max: MESSAGE_BYTES_MAX };
        Session {
            target: target.to_owned(),
            reader: MessageReader::new(Role::Client, limits),
            masks: Masks::new(seed),
        }
    }

    /// Writes one message.
    pub(crate) fn say(
        &mut self,
        stream: &mut TcpStream,
        encode: impl FnOnce(&mut Vec<u8>),
    ) -> io::Result<()> {
        let mut out = Vec::new();
        write_frame_with(&mut out, Opcode::Text, Some(self.masks.next()), encode);
        stream.write_all(&out)
    }

    /// Reads until `accept` takes a reply, of which it sees the text, too.
    pub(crate) fn hear<T>(
        &mut self,
        stream: &mut TcpStream,
        mut accept: impl FnMut(&Reply<'_>, &[u8]) -> Option<T>,
    ) -> io::Result<T> {
        let deadline = Deadline::after(STEP_PATIENCE);
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
    pub(crate) fn upgrade(&mut self, stream: &mut TcpStream) -> io::Result<()> {
        let mut nonce = [0; 16];
        nonce[..8].copy_from_slice(&self.masks.0.bits().to_ne_bytes());
        nonce[8..].copy_from_slice(&self.masks.0.bits().to_ne_bytes());
        let key = UpgradeKey::from_nonce(nonce);
        let mut request = Vec::new();
        upgrade_request(&mut request, &self.target, &key);
        stream.write_all(&request)?;
        let mut response = Vec::new();
        let mut byte = [0];
        let deadline = Deadline::after(STEP_PATIENCE);
        // A byte at a time, so that nothing behind the head is taken.
        loop {
            if check_upgrade_response(&response, &key).map_err(io::Error::other)?.is_some() {
                return Ok(());
            }
            wait_at_most(stream, deadline)?;
            stream.read_exact(&mut byte)?;
            response.push(byte[0]);
        }
    }
}

/// Some of what has come. A read with a timeout is broken off by a stop and a continuation of the process (signal(7)), which is no reason to give up.
pub(crate) fn read(stream: &mut TcpStream, into: &mut [u8]) -> io::Result<usize> {
    loop {
        match stream.read(into) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// The next read gives up at the deadline.
fn wait_at_most(stream: &TcpStream, deadline: Deadline) -> io::Result<()> {
    let left = deadline.left();
    if left.is_zero() {
        return Err(io::Error::new(io::ErrorKind::TimedOut, "no answer to the log-on in 5 s"));
    }
    stream.set_read_timeout(Some(left))
}

/// Unlike that of another run against the same exchange.
pub(crate) fn nonce() -> u32 {
    SplitMix64::new(wall_ms() << 20 ^ u64::from(std::process::id())).bits() as u32
}

/// Where the order's number stands in the client id, as 12 hex digits.
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

    /// The number in a client id of this run; `None` for any other.
    pub(crate) fn number(&self, client_id: &ClientId) -> Option<u64> {
        let (prefix, digits) = client_id.as_bytes().split_at_checked(NUMBER_AT)?;
        if prefix != &self.0[..NUMBER_AT] || digits.len() != 12 {
            return None;
        }
        digits.iter().try_fold(0, |number, &digit| {
            Some(number << 4 | u64::from((digit as char).to_digit(16)?))
        })
    }
}

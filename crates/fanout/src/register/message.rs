//! The messages. All have the same length, so that no answer is longer than its question.
//!
//! ```text
//!   0 magic "TPF1"   4 kind   5 zeros   8 token   16 cookie   48 lease, ms   52 zeros   56 root
//! ```
//!
//! Numbers are big-endian.

use transport::cookie::{COOKIE_BYTES, Cookie};

/// Bytes of each message.
pub const MESSAGE_BYTES: usize = 64;
/// The first four bytes.
pub const MAGIC: [u8; 4] = *b"TPF1";

const TOKEN: usize = 8;
const COOKIE: usize = 16;
const LEASE: usize = COOKIE + COOKIE_BYTES;
const ROOT: usize = 56;

/// The kinds of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegistrationKind {
    /// A subscriber asks for a cookie.
    Register = 1,
    /// The replicator gives one.
    Challenge = 2,
    /// A subscriber returns it, and gets or renews a lease.
    Confirm = 3,
    /// The replicator gave a lease.
    Accepted = 4,
    /// A subscriber ends its lease.
    Leave = 5,
    /// The replicator has no place.
    Full = 6,
}

impl RegistrationKind {
    const ALL: [RegistrationKind; 6] = [
        RegistrationKind::Register,
        RegistrationKind::Challenge,
        RegistrationKind::Confirm,
        RegistrationKind::Accepted,
        RegistrationKind::Leave,
        RegistrationKind::Full,
    ];
}

/// A message. Fields that its kind doesn't use are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its kind.
    pub kind: RegistrationKind,
    /// A random number of the subscriber. Each answer repeats it, so only a peer that saw the
    /// question can answer.
    pub token: u64,
    /// The replicator's code for the subscriber's address.
    pub cookie: Cookie,
    /// Length of the lease, ms.
    pub lease_ms: u32,
    /// The replicator at the root of the tree, by a number of its own.
    pub root: u64,
}

impl Message {
    /// A message with just these.
    pub fn new(kind: RegistrationKind, token: u64, cookie: Cookie) -> Message {
        Message { kind, token, cookie, lease_ms: 0, root: 0 }
    }

    /// Its bytes.
    pub fn encode(&self) -> [u8; MESSAGE_BYTES] {
        let mut bytes = [0; MESSAGE_BYTES];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4] = self.kind as u8;
        bytes[TOKEN..COOKIE].copy_from_slice(&self.token.to_be_bytes());
        bytes[COOKIE..LEASE].copy_from_slice(&self.cookie.0);
        bytes[LEASE..LEASE + 4].copy_from_slice(&self.lease_ms.to_be_bytes());
        bytes[ROOT..].copy_from_slice(&self.root.to_be_bytes());
        bytes
    }

    /// Reads a message; `None` if it is none.
    pub fn decode(bytes: &[u8]) -> Option<Message> {
        let bytes: &[u8; MESSAGE_BYTES] = bytes.try_into().ok()?;
        let zeros = bytes[5..TOKEN].iter().chain(&bytes[LEASE + 4..ROOT]);
        if bytes[..4] != MAGIC || zeros.into_iter().any(|byte| *byte != 0) {
            return None;
        }
        let number = |at: usize| bytes[at..].first_chunk().map(|bytes| u64::from_be_bytes(*bytes));
        Some(Message {
            kind: RegistrationKind::ALL.into_iter().find(|kind| *kind as u8 == bytes[4])?,
            token: number(TOKEN)?,
            cookie: Cookie(*bytes[COOKIE..].first_chunk()?),
            lease_ms: u32::from_be_bytes(*bytes[LEASE..].first_chunk()?),
            root: number(ROOT)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_golden_bytes_are_read_and_written() {
        let mut golden = [0; MESSAGE_BYTES];
        golden[..5].copy_from_slice(b"TPF1\x04");
        golden[8..16].copy_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8]);
        golden[16..48].fill(0xC0);
        golden[48..52].copy_from_slice(&[0, 0, 0x27, 0x10]);
        golden[63] = 9;
        let message = Message {
            kind: RegistrationKind::Accepted,
            token: 0x0102_0304_0506_0708,
            cookie: Cookie([0xC0; COOKIE_BYTES]),
            lease_ms: 10_000,
            root: 9,
        };
        assert_eq!(message.encode(), golden);
        let vector = include_bytes!("../../../../clients/vectors/fan_out_accepted.packet");
        assert_eq!(golden, *vector, "fuzzing begins with it");
        assert_eq!(Message::decode(&golden), Some(message));
    }

    #[test]
    fn what_is_no_message_is_not_read() {
        let good = Message::new(RegistrationKind::Register, 1, Cookie::default()).encode();
        assert!(Message::decode(&good).is_some());
        assert_eq!(Message::decode(&good[..MESSAGE_BYTES - 1]), None);
        assert_eq!(Message::decode(&[&good[..], &[0]].concat()), None);
        for (at, byte) in [(0, b'X'), (4, 0), (4, 7), (5, 1), (7, 1), (52, 1), (55, 1)] {
            let mut bad = good;
            bad[at] = byte;
            assert_eq!(Message::decode(&bad), None, "byte {at} = {byte}");
        }
    }
}

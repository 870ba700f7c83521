//! One TLS 1.3 record (RFC 8446, section 5): its parts, and the key that seals and opens it in
//! place.

use ring::aead::{
    AES_128_GCM, AES_256_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey,
};
use rustls::ConnectionTrafficSecrets;

/// Most bytes of plain text in one record (RFC 8446, 5.1).
pub(super) const PLAIN_BYTES_MAX: usize = 1 << 14;
/// A record's type, version and length.
pub(super) const HEAD_BYTES: usize = 5;
/// The tag of each of the ciphers.
const TAG_BYTES: usize = 16;
/// A record's bytes beyond its plain text: head, inner type, tag.
pub const RECORD_OVERHEAD_BYTES: usize = HEAD_BYTES + 1 + TAG_BYTES;
/// Most bytes of a record that a peer may send: with padding it may be longer than ours.
pub(super) const RECORD_BYTES_MAX: usize = HEAD_BYTES + PLAIN_BYTES_MAX + 256;
/// Bytes of one read: at least one record.
pub(super) const INPUT_BYTES: usize = 2 * RECORD_BYTES_MAX;
pub(super) const CHANGE_CIPHER_SPEC: u8 = 20;
pub(super) const ALERT: u8 = 21;
pub(super) const HANDSHAKE: u8 = 22;
pub(super) const APPLICATION_DATA: u8 = 23;

pub(super) const NEW_SESSION_TICKET: u8 = 4;
pub(super) const KEY_UPDATE: u8 = 24;

pub(super) const CLOSE_NOTIFY: u8 = 0;
pub(super) const UNEXPECTED_MESSAGE: u8 = 10;
pub(super) const BAD_RECORD_MAC: u8 = 20;
pub(super) const RECORD_OVERFLOW: u8 = 22;
pub(super) const ILLEGAL_PARAMETER: u8 = 47;
pub(super) const PROTOCOL_VERSION: u8 = 70;
pub(super) const MISSING_EXTENSION: u8 = 109;

/// Why a connection can't go on after its handshake.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// Changed on its way, or sent under another key.
    #[error(
        "TLS record {0} can't be decrypted: it was changed on its way, or the peer lost its key"
    )]
    Decrypt(u64),
    /// Longer than the protocol allows.
    #[error(
        "a TLS record of {0} bytes came, the protocol allows {RECORD_BYTES_MAX}: is the peer still speaking TLS?"
    )]
    TooLong(usize),
    /// Another kind of record than may come after a handshake.
    #[error("a TLS record of type {0} came after the handshake: is the peer still speaking TLS?")]
    UnexpectedRecord(u8),
    /// More plain text and padding than the protocol allows.
    #[error(
        "a TLS record with {0} bytes of plain text and padding came, the protocol allows {PLAIN_BYTES_MAX}"
    )]
    TooMuchPlainText(usize),
    /// Another handshake message than may come after a handshake.
    #[error(
        "TLS handshake message {0} came after the handshake; only key updates may, and a server's tickets"
    )]
    UnexpectedMessage(u8),
    /// A handshake record or an alert without a byte.
    #[error("an empty TLS record of type {0} came; the protocol allows no empty one")]
    Empty(u8),
    /// A key update with a value that has no meaning.
    #[error("a TLS key update asks for {0}; the protocol has 0 and 1")]
    BadKeyUpdate(u8),
    /// The peer gave up.
    #[error("the peer ended the TLS connection with alert {0}")]
    Alert(u8),
    /// No new keys.
    #[error("no new TLS keys: {0}")]
    Keys(#[from] rustls::Error),
}

/// The key of one direction.
pub(super) struct DirectionKey {
    key: LessSafeKey,
    iv: [u8; 12],
    /// The number of the next record under this key.
    pub(super) sequence: u64,
}

impl DirectionKey {
    pub(super) fn new((sequence, secrets): (u64, ConnectionTrafficSecrets)) -> DirectionKey {
        let (algorithm, key, iv) = match &secrets {
            ConnectionTrafficSecrets::Aes128Gcm { key, iv } => (&AES_128_GCM, key, iv),
            ConnectionTrafficSecrets::Aes256Gcm { key, iv } => (&AES_256_GCM, key, iv),
            ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => (&CHACHA20_POLY1305, key, iv),
            _ => unreachable!("the provider has no other cipher"),
        };
        let key = UnboundKey::new(algorithm, key.as_ref()).expect("rustls gives whole keys");
        let iv = iv.as_ref().try_into().expect("each cipher of TLS 1.3 has 12 bytes");
        DirectionKey { key: LessSafeKey::new(key), iv, sequence }
    }

    /// Each record has a nonce of its own (RFC 8446, 5.3).
    #[inline]
    fn next_nonce(&mut self) -> Nonce {
        let mut nonce = self.iv;
        for (byte, sequence) in nonce[4..].iter_mut().zip(self.sequence.to_be_bytes()) {
            *byte ^= sequence;
        }
        self.sequence += 1;
        Nonce::assume_unique_for_key(nonce)
    }

    /// Appends a record to `out`.
    #[inline]
    pub(super) fn seal(&mut self, kind: u8, plain: &[u8], out: &mut Vec<u8>) {
        let [high, low] = ((plain.len() + 1 + TAG_BYTES) as u16).to_be_bytes();
        let head = [APPLICATION_DATA, 3, 3, high, low];
        out.extend_from_slice(&head);
        let start = out.len();
        out.extend_from_slice(plain);
        out.push(kind);
        let nonce = self.next_nonce();
        let sealed = self.key.seal_in_place_separate_tag(nonce, Aad::from(head), &mut out[start..]);
        // ring fails for more than 2^36 bytes, and for nothing else.
        out.extend_from_slice(sealed.expect("a record is short").as_ref());
    }

    /// Decrypts a whole record in place. Gives its inner type and the length of its plain text,
    /// which lies behind the head.
    #[inline]
    pub(super) fn open(&mut self, record: &mut [u8]) -> Result<(u8, usize), RecordError> {
        let (head, sealed) = record.split_at_mut(HEAD_BYTES);
        let number = self.sequence;
        let nonce = self.next_nonce();
        let opened = self.key.open_in_place(nonce, Aad::from(&*head), sealed);
        let plain = opened.map_err(|_| RecordError::Decrypt(number))?;
        // The type is one more byte (RFC 8446, 5.4).
        if plain.len() > PLAIN_BYTES_MAX + 1 {
            return Err(RecordError::TooMuchPlainText(plain.len() - 1));
        }
        // Behind the type there may be zeros that hide the length.
        let kind = plain.iter().rposition(|byte| *byte != 0);
        let kind_at = kind.ok_or(RecordError::UnexpectedRecord(0))?;
        Ok((plain[kind_at], kind_at))
    }
}

/// The length of the record that begins here, head included, if its head is here whole.
#[inline]
pub(super) fn record_bytes(bytes: &[u8]) -> Option<usize> {
    match *bytes {
        [_, _, _, high, low, ..] => Some(HEAD_BYTES + usize::from(u16::from_be_bytes([high, low]))),
        _ => None,
    }
}

//! The client's name for an order.

use std::fmt;

/// The longest client id, in bytes of UTF-8. A UUID's text has 36.
pub const CLIENT_ID_BYTES_MAX: usize = 63;

/// A client order id: 1 to [`CLIENT_ID_BYTES_MAX`] bytes of UTF-8 without control characters.
/// Stored in the bytes of one cache line, so that a book can keep it in the order without a
/// pointer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ClientId {
    /// The text, padded with zeros, and its length in the last byte. Equal texts are equal arrays.
    bytes: [u8; CLIENT_ID_BYTES_MAX + 1],
}

/// Why a text is not a [`ClientId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClientIdError {
    /// No character at all.
    #[error("client_id is empty")]
    Empty,
    /// More than [`CLIENT_ID_BYTES_MAX`] bytes.
    #[error("client_id is longer than {CLIENT_ID_BYTES_MAX} bytes (limit client_id_bytes_max)")]
    TooLong,
    /// Bytes that are not UTF-8; JSON has no such texts.
    #[error("client_id is not UTF-8")]
    NotUtf8,
    /// A control character: U+0000 to U+001F, U+007F to U+009F.
    #[error("client_id has a control character")]
    NotPrintable,
}

impl ClientId {
    /// Copies the text.
    pub fn new(text: &str) -> Result<ClientId, ClientIdError> {
        if text.is_empty() {
            return Err(ClientIdError::Empty);
        }
        if text.len() > CLIENT_ID_BYTES_MAX {
            return Err(ClientIdError::TooLong);
        }
        // A fold instead of a search, so that the compiler can test many bytes at a time.
        let plain = text.bytes().fold(true, |plain, b| plain & (b' '..=b'~').contains(&b));
        if !plain && text.chars().any(char::is_control) {
            return Err(ClientIdError::NotPrintable);
        }
        let mut bytes = [0; CLIENT_ID_BYTES_MAX + 1];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        bytes[CLIENT_ID_BYTES_MAX] = text.len() as u8;
        Ok(ClientId { bytes })
    }

    /// The client id of a text that is padded with zeros; `None` for no text.
    ///
    /// # Errors
    /// Bytes that are not UTF-8, control characters, or zeros before the end.
    pub fn from_padded(
        padded: &[u8; CLIENT_ID_BYTES_MAX],
    ) -> Result<Option<ClientId>, ClientIdError> {
        let length = padded.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        if length == 0 {
            return Ok(None);
        }
        let text = std::str::from_utf8(&padded[..length]).map_err(|_| ClientIdError::NotUtf8)?;
        ClientId::new(text).map(Some)
    }

    /// The text's bytes: valid UTF-8, no control characters.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.bytes[CLIENT_ID_BYTES_MAX])]
    }

    /// The text's bytes, then zeros.
    pub fn padded(&self) -> &[u8; CLIENT_ID_BYTES_MAX] {
        let (text, _) = self.bytes.split_first_chunk().unwrap_or((&[0; CLIENT_ID_BYTES_MAX], &[]));
        text
    }

    /// The text. Checks the UTF-8 again, which takes some nanoseconds: on the hot path use
    /// [`ClientId::as_bytes`].
    pub fn as_str(&self) -> &str {
        // Only `new` makes a ClientId, from a str, so the default is never used.
        std::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }

    /// A well-mixed hash of the text, the same in every process: both its low and its high bits can
    /// index a table. Four folded 64x64-bit products over the padded bytes, without a branch.
    ///
    /// It has no secret key, so a client can produce collisions. A table for several clients must
    /// include the account in its key, so that a client can harm only itself.
    pub fn hash64(&self) -> u64 {
        // The constants of wyhash (Wang Yi, public domain). No text can cancel one to zero, because
        // each contains bytes that are not printable UTF-8.
        const KEYS: [u64; 2] = [0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db];
        let (words, _) = self.bytes.as_chunks::<8>();
        let mut hash = KEYS[1];
        for pair in words.chunks_exact(2) {
            let (a, b) = (u64::from_le_bytes(pair[0]), u64::from_le_bytes(pair[1]));
            hash = fold(a ^ KEYS[0], b ^ hash);
        }
        fold(hash ^ KEYS[0], KEYS[1])
    }
}

/// Both halves of the 128-bit product, folded into one.
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

impl std::hash::Hash for ClientId {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash64());
    }
}

impl fmt::Debug for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClientId({:?})", self.as_str())
    }
}

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for ClientId {
    type Err = ClientIdError;

    fn from_str(text: &str) -> Result<ClientId, ClientIdError> {
        ClientId::new(text)
    }
}

//! The header of an audit log: one block of 4096 bytes before the records.
//!
//! | bytes | little-endian |
//! |---|---|
//! | 0..8 | `TPAUDIT` and a zero |
//! | 8..12 | version, 2; version 1 has no sessions |
//! | 12..16 | bytes of the text |
//! | 16..20 | CRC-32C of the other 4092 bytes |
//! | 20.. | [`Header`] as JSON; zeros to the end of the block |

pub(crate) mod codec;
pub(crate) mod reader;
pub(crate) mod writer;

use crate::{AuditError, ReadError};
use clock::time_base::TimeBase;
use crc32c::{crc32c, crc32c_append};
use serde::{Deserialize, Serialize};

/// Bytes before the first record.
pub const HEADER_BYTES: usize = 4096;
/// The longest header's text.
pub const HEADER_TEXT_BYTES_MAX: usize = HEADER_BYTES - TEXT;
/// The format's version.
pub const VERSION: u32 = 2;

const MAGIC: &[u8; 8] = b"TPAUDIT\0";
const CHECK: usize = 16;
const TEXT: usize = 20;

/// Description of an audit log: its run and its clocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The scenario's name.
    pub scenario: String,
    /// The measured subject.
    pub subject: String,
    /// The program and its version.
    pub tool: String,
    /// The clock of the trader's stamps, and its relation to UTC when the log began. Later readings
    /// are records.
    pub time: TimeBase,
    /// Whether the exchange's stamps are on that clock, too: when a tick was due, acknowledged and
    /// published, and those of a reply.
    #[serde(default = "yes")]
    pub same_clock: bool,
    /// Otherwise the exchange's clock, read before the run. `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange_time: Option<TimeBase>,
    /// Risk's reasons for rejections, by their number in decisions.
    pub reasons: Vec<String>,
}

/// Default for logs without the key, which were only written on one machine.
fn yes() -> bool {
    true
}

impl Header {
    /// Encodes it for a file.
    ///
    /// # Errors
    /// If the text does not fit.
    pub fn to_bytes(&self) -> Result<Box<[u8; HEADER_BYTES]>, AuditError> {
        let text = serde_json::to_vec(self).expect("a header has no map with odd keys");
        if text.len() > HEADER_TEXT_BYTES_MAX {
            return Err(AuditError::HeaderTooLong {
                bytes: text.len(),
                max: HEADER_TEXT_BYTES_MAX,
            });
        }
        let mut bytes = Box::new([0; HEADER_BYTES]);
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&(text.len() as u32).to_le_bytes());
        bytes[TEXT..TEXT + text.len()].copy_from_slice(&text);
        let check = check(&bytes);
        bytes[CHECK..TEXT].copy_from_slice(&check.to_le_bytes());
        Ok(bytes)
    }

    /// Decodes the header of a file.
    ///
    /// # Errors
    /// If it is something else, of a later version, or damaged.
    pub fn from_bytes(bytes: &[u8; HEADER_BYTES]) -> Result<Header, ReadError> {
        if bytes[..8] != *MAGIC {
            return Err(ReadError::Foreign("it begins differently"));
        }
        let found = u32_at(bytes, 8);
        if !(1..=VERSION).contains(&found) {
            return Err(ReadError::Version { found, known: VERSION });
        }
        if u32_at(bytes, CHECK) != check(bytes) {
            return Err(ReadError::Foreign("its header is incomplete or was changed"));
        }
        let text = bytes[TEXT..].get(..u32_at(bytes, 12) as usize);
        let text = text.ok_or(ReadError::Foreign("its header is too long"))?;
        serde_json::from_slice(text).map_err(|_| ReadError::Foreign("its header is not readable"))
    }
}

fn check(bytes: &[u8; HEADER_BYTES]) -> u32 {
    crc32c_append(crc32c(&bytes[..CHECK]), &bytes[TEXT..])
}

fn u32_at(bytes: &[u8; HEADER_BYTES], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]))
}

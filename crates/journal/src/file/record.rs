//! A record of the log: an input, a client id or a delivery, its sequence, and the durable sequence
//! when it was written. Pure: bytes in, bytes out.
//!
//! | bytes | |
//! |---|---|
//! | 0..8 | sequence |
//! | 8..16 | durable: when this was written, all sequences below were on the disk |
//! | 16..88 | an input, a client id (`client_ids.rs`), or a delivery (`deliveries.rs`) |
//! | 88..92 | bytes of the input, 72 |
//! | 92..96 | CRC-32C of all bytes before it |
//!
//! All integers are little-endian. Zeros follow the last record up to the end of the segment.
//!
//! *Durable* tells a torn tail from damage. Records that were written together are not durable at
//! the same moment, and after a power failure any of their sectors may be missing. So a complete
//! record after an incomplete one proves damage only if it says that the other had been durable.
//!
//! A sector (512 bytes, the smallest unit that a disk writes) that was not written holds its old
//! content, which is zeros, because records are never overwritten. Records begin at multiples of
//! 32. If the end of a sector splits a record, no part is all zeros when written: an input's kind
//! is in its first 32 bytes, its length in its last. So a record that a power failure left
//! incomplete has a zero part. An invalid record without a zero part was changed by something else.

use crc32c::crc32c;
use engine::{DecodeError, Input};

use crate::client_ids::Content;

/// Bytes of a record.
pub const RECORD_BYTES: usize = 96;

/// Bytes of a record's content: an input, a client id, or a delivery.
pub const CONTENT_BYTES: usize = Input::BYTES;

/// The smallest unit that a disk writes.
const SECTOR_BYTES: u64 = 512;

const DURABLE: usize = 8;
const INPUT: usize = 16;
const LENGTH: usize = INPUT + Input::BYTES;
const CHECK: usize = LENGTH + 4;

const _: () = assert!(CHECK + 4 == RECORD_BYTES);
const _: () = assert!(RECORD_BYTES.is_multiple_of(32) && SECTOR_BYTES.is_multiple_of(32));

/// The bytes of a record.
pub(crate) type Bytes = [u8; RECORD_BYTES];

/// Content at the position of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordSlot {
    /// A complete record.
    Record { sequence: u64, durable: u64, content: Result<Content, DecodeError> },
    /// Zeros.
    Nothing,
    /// Something else.
    Broken,
}

/// Encodes a record.
pub(crate) fn encode(sequence: u64, durable: u64, input: &[u8; Input::BYTES]) -> Bytes {
    let mut bytes = [0; RECORD_BYTES];
    bytes[..DURABLE].copy_from_slice(&sequence.to_le_bytes());
    bytes[DURABLE..INPUT].copy_from_slice(&durable.to_le_bytes());
    bytes[INPUT..LENGTH].copy_from_slice(input);
    bytes[LENGTH..CHECK].copy_from_slice(&(Input::BYTES as u32).to_le_bytes());
    let check = crc32c(&bytes[..CHECK]);
    bytes[CHECK..].copy_from_slice(&check.to_le_bytes());
    bytes
}

/// Decodes the content at a record's position.
pub(crate) fn read(bytes: &Bytes) -> RecordSlot {
    if u32_at(bytes, LENGTH) != Input::BYTES as u32
        || u32_at(bytes, CHECK) != crc32c(&bytes[..CHECK])
    {
        return if *bytes == [0; RECORD_BYTES] { RecordSlot::Nothing } else { RecordSlot::Broken };
    }
    let input = std::array::from_fn(|byte| bytes[INPUT + byte]);
    RecordSlot::Record {
        sequence: u64_at(bytes, 0),
        durable: u64_at(bytes, DURABLE),
        content: Content::from_bytes(&input),
    }
}

/// Whether an interrupted write can have left these bytes of the record at byte `at` of its file:
/// one of its parts in different sectors is missing.
pub(crate) fn is_torn(bytes: &Bytes, at: u64) -> bool {
    let in_first = (SECTOR_BYTES - at % SECTOR_BYTES).min(RECORD_BYTES as u64) as usize;
    let (first, second) = bytes.split_at(in_first);
    let is_missing = |part: &[u8]| !part.is_empty() && part.iter().all(|byte| *byte == 0);
    is_missing(first) || is_missing(second)
}

/// The content's bytes of a record that [`read`] has found complete.
pub(crate) fn content_of(bytes: &Bytes) -> &[u8] {
    &bytes[INPUT..LENGTH]
}

fn u64_at(bytes: &Bytes, at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]))
}

fn u32_at(bytes: &Bytes, at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]))
}

#[cfg(test)]
mod tests {
    use engine::{Cancel, Command};

    use super::*;

    fn input() -> Input {
        let cancel = Cancel { order_id: 0, account: 0, tag: 0, instrument: 0 };
        Input { time_ns: 0, command: Command::Cancel(cancel) }
    }

    #[test]
    fn a_record_comes_back() {
        let bytes = encode(5, 3, &input().to_bytes());
        let expected =
            RecordSlot::Record { sequence: 5, durable: 3, content: Ok(Content::Input(input())) };
        assert_eq!(read(&bytes), expected);
        assert_eq!(read(&[0; RECORD_BYTES]), RecordSlot::Nothing);
    }

    #[test]
    fn every_bit_counts() {
        let bytes = encode(0, 0, &input().to_bytes());
        for bit in 0..RECORD_BYTES * 8 {
            let mut changed = bytes;
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read(&changed), RecordSlot::Broken, "bit {bit}");
        }
    }

    /// The record with the most zeros, for any end of a sector in it.
    #[test]
    fn a_part_that_is_missing_is_seen_and_nothing_else_is() {
        let bytes = encode(0, 0, &input().to_bytes());
        for at in (128..128 + 3 * SECTOR_BYTES).step_by(32) {
            assert!(!is_torn(&bytes, at), "{at}");
            assert!(is_torn(&[0; RECORD_BYTES], at));
            let end_in_record = (at / SECTOR_BYTES + 1) * SECTOR_BYTES - at;
            if end_in_record < RECORD_BYTES as u64 {
                for missing in [0..end_in_record as usize, end_in_record as usize..RECORD_BYTES] {
                    let mut torn = bytes;
                    torn[missing].fill(0);
                    assert!(is_torn(&torn, at), "{at}");
                }
            }
        }
    }

    #[test]
    fn what_is_whole_but_means_nothing_is_told_apart() {
        let mut unknown = input().to_bytes();
        unknown[8] = 99;
        let RecordSlot::Record { content: Err(error), .. } = read(&encode(0, 0, &unknown)) else {
            panic!("it is whole");
        };
        assert_eq!((error.field, error.found), ("kind", 99));
    }
}

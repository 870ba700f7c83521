//! The header of a journal's file. Pure: bytes in, bytes out.
//!
//! | bytes | |
//! |---|---|
//! | 0..8 | `tpathlog` of a segment, `tpathsnp` of a snapshot |
//! | 8..12 | version of the format, 3; 1 has no client ids, 2 no deliveries and no disconnects |
//! | 12..16 | CRC-32C of the other bytes |
//! | 16..24 | the log: a random number that all its files share |
//! | 24..32 | sequence of a segment's first record; of a snapshot, the first one after it |
//! | 32..40 | capacity of a segment in records; of a snapshot 0 |
//! | 40..112 | the engine, as `Saved::Engine` at its time 0 |
//! | 112..128 | zeros |

use std::fmt;

use engine::{EngineLimits, SavedItem};

use crate::file::record::RECORD_BYTES;
use crc32c::{crc32c, crc32c_append};

/// Bytes of a header.
pub(crate) const HEADER_BYTES: usize = 128;

/// Largest segment, bytes.
pub const SEGMENT_BYTES_MAX: u64 = 1 << 36;

/// Maximum number of records of a segment.
pub(crate) const SEGMENT_RECORDS_MAX: u64 =
    (SEGMENT_BYTES_MAX - HEADER_BYTES as u64) / RECORD_BYTES as u64;

/// The version of records, headers and snapshots that this program writes. It reads all before it.
/// Into a segment of an earlier version it may write records of this one.
pub(crate) const VERSION: u32 = 3;

const CHECK: usize = 12;
const ENGINE: usize = 40;

/// The engine of a journal. Inputs for another shape would have other results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Number of instruments.
    pub instruments: u16,
    /// Its limits.
    pub limits: EngineLimits,
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Identity { instruments, limits } = self;
        write!(
            f,
            "{instruments} instruments, open_orders_max {}, price_levels_max {}, stop_levels_max {}, \
             expiring_orders_max {}, accounts_max {}",
            limits.open_orders_max,
            limits.price_levels_max,
            limits.stop_levels_max,
            limits.expiring_orders_max,
            limits.accounts_max
        )
    }
}

/// The kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    Segment,
    Snapshot,
}

impl FileKind {
    fn magic(self) -> [u8; 8] {
        match self {
            FileKind::Segment => *b"tpathlog",
            FileKind::Snapshot => *b"tpathsnp",
        }
    }
}

/// A decoded header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub kind: FileKind,
    /// The log's number.
    pub log: u64,
    pub sequence: u64,
    /// Capacity of a segment in records, from 1.
    pub records: u64,
    pub identity: Identity,
}

/// Why bytes are not a valid header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// They begin differently.
    Foreign,
    /// A format of another version.
    Version(u32),
    /// Damaged.
    Damaged(&'static str),
}

impl Header {
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let Identity { instruments, limits } = self.identity;
        let engine = SavedItem::Engine { instruments, limits, time_ns: 0, killed: false };
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&self.kind.magic());
        bytes[8..CHECK].copy_from_slice(&VERSION.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.log.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[32..ENGINE].copy_from_slice(&self.records.to_le_bytes());
        bytes[ENGINE..ENGINE + SavedItem::BYTES].copy_from_slice(&engine.to_bytes());
        let check = check(&bytes);
        bytes[CHECK..16].copy_from_slice(&check.to_le_bytes());
        bytes
    }

    pub fn decode(bytes: &[u8; HEADER_BYTES], kind: FileKind) -> Result<Header, Fault> {
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        let half = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        if bytes[..8] != kind.magic() {
            return Err(Fault::Foreign);
        }
        // First the checksum: a damaged version is not another version.
        if half(CHECK) != check(bytes) {
            return Err(Fault::Damaged("its checksum does not match"));
        }
        if !(1..=VERSION).contains(&half(8)) {
            return Err(Fault::Version(half(8)));
        }
        let engine = std::array::from_fn(|byte| bytes[ENGINE + byte]);
        let Ok(SavedItem::Engine { instruments, limits, time_ns: 0, killed: false }) =
            SavedItem::from_bytes(&engine)
        else {
            return Err(Fault::Damaged("it has no valid engine"));
        };
        if limits.check(instruments).is_err() {
            return Err(Fault::Damaged("its engine limits are impossible"));
        }
        let (sequence, records) = (word(24), word(32));
        let allowed = match kind {
            FileKind::Segment => 1..=SEGMENT_RECORDS_MAX,
            FileKind::Snapshot => 0..=0,
        };
        if !allowed.contains(&records) || sequence.checked_add(records).is_none() {
            return Err(Fault::Damaged("its number of records is impossible"));
        }
        let identity = Identity { instruments, limits };
        Ok(Header { kind, log: word(16), sequence, records, identity })
    }
}

fn check(bytes: &[u8; HEADER_BYTES]) -> u32 {
    crc32c_append(crc32c(&bytes[..CHECK]), &bytes[16..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(kind: FileKind) -> Header {
        let limits = EngineLimits { accounts_max: 3, ..EngineLimits::matching_only(10, 20) };
        let identity = Identity { instruments: 4, limits };
        let records = if kind == FileKind::Segment { 9 } else { 0 };
        Header { kind, log: 0x1234, sequence: 77, records, identity }
    }

    #[test]
    fn a_header_comes_back() {
        for kind in [FileKind::Segment, FileKind::Snapshot] {
            assert_eq!(Header::decode(&header(kind).encode(), kind), Ok(header(kind)));
        }
        let snapshot = header(FileKind::Snapshot).encode();
        assert_eq!(Header::decode(&snapshot, FileKind::Segment), Err(Fault::Foreign));
    }

    #[test]
    fn every_bit_counts() {
        let bytes = header(FileKind::Segment).encode();
        for bit in 0..HEADER_BYTES * 8 {
            let mut changed = bytes;
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(Header::decode(&changed, FileKind::Segment).is_err(), "bit {bit}");
        }
    }

    /// The checksum is right, but the content is unusable.
    #[test]
    fn impossible_headers_are_rejected() {
        let mut other = header(FileKind::Segment).encode();
        other[8] = 4;
        let sum = check(&other);
        other[CHECK..16].copy_from_slice(&sum.to_le_bytes());
        assert_eq!(Header::decode(&other, FileKind::Segment), Err(Fault::Version(4)));
        let mut impossible = header(FileKind::Segment);
        impossible.identity.limits.open_orders_max = 0;
        let decoded = Header::decode(&impossible.encode(), FileKind::Segment);
        assert!(matches!(decoded, Err(Fault::Damaged(_))));
        for (sequence, records) in [(0, 0), (0, SEGMENT_RECORDS_MAX + 1), (u64::MAX, 1)] {
            let empty = Header { sequence, records, ..header(FileKind::Segment) };
            let decoded = Header::decode(&empty.encode(), FileKind::Segment);
            assert!(matches!(decoded, Err(Fault::Damaged(_))));
        }
    }
}

//! The header of a region: kind, shape and checksum. The table is in [`region`](crate::region).

use std::fmt;

use crate::IpcError;

/// Bytes of the header; the structure follows.
pub const HEADER_BYTES: usize = 128;

/// Words for a structure's shape.
pub const GEOMETRY_WORDS: usize = 8;

/// Version of the header and of the structures.
pub const VERSION: u32 = 1;

/// Largest region, bytes: 64 GiB. A damaged or foreign length is rejected before mapping.
pub const REGION_BYTES_MAX: u64 = 1 << 36;

const MAGIC: u64 = u64::from_ne_bytes(*b"TICKPIPC");
const CHECKSUM_OFFSET: usize = 120;

/// The structure in a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum RegionKind {
    /// A bounded ring of messages.
    Ring = 1,
    /// One block of an append-only queue.
    QueueBlock = 2,
    /// A conflating distributor.
    Distributor = 3,
    /// The bell of an append-only queue.
    QueueBell = 4,
}

impl RegionKind {
    fn from_number(number: u32) -> Option<RegionKind> {
        let kinds = [
            RegionKind::Ring,
            RegionKind::QueueBlock,
            RegionKind::Distributor,
            RegionKind::QueueBell,
        ];
        kinds.into_iter().find(|&kind| kind as u32 == number)
    }
}

impl fmt::Display for RegionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RegionKind::Ring => "ring",
            RegionKind::QueueBlock => "queue's block",
            RegionKind::Distributor => "distributor",
            RegionKind::QueueBell => "queue's bell",
        })
    }
}

/// A header.
pub(crate) fn encode(
    kind: RegionKind,
    geometry: &[u64; GEOMETRY_WORDS],
    bytes: u64,
) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..8].copy_from_slice(&MAGIC.to_ne_bytes());
    header[8..12].copy_from_slice(&VERSION.to_ne_bytes());
    header[12..16].copy_from_slice(&(kind as u32).to_ne_bytes());
    header[16..24].copy_from_slice(&bytes.to_ne_bytes());
    for (place, word) in header[24..].as_chunks_mut().0.iter_mut().zip(geometry) {
        *place = word.to_ne_bytes();
    }
    sealed(header)
}

/// The header with its checksum.
pub(crate) fn sealed(mut header: [u8; HEADER_BYTES]) -> [u8; HEADER_BYTES] {
    let sum = checksum(&header[..CHECKSUM_OFFSET]);
    header[CHECKSUM_OFFSET..].copy_from_slice(&sum.to_ne_bytes());
    header
}

/// The geometry in a header of a file with `file_bytes`, if everything else is valid.
pub(crate) fn decode(
    name: &str,
    header: &[u8; HEADER_BYTES],
    file_bytes: u64,
    wanted: RegionKind,
) -> Result<[u64; GEOMETRY_WORDS], IpcError> {
    let word = |at: usize| u64::from_ne_bytes(header.as_chunks().0[at / 8]);
    let half = |at: usize| u32::from_ne_bytes(header.as_chunks().0[at / 4]);
    let region = || name.to_owned();
    if word(0) != MAGIC {
        return Err(IpcError::Foreign { region: region(), why: "its first bytes differ" });
    }
    if half(8) != VERSION {
        return Err(IpcError::Version { region: region(), found: half(8), known: VERSION });
    }
    if word(CHECKSUM_OFFSET) != checksum(&header[..CHECKSUM_OFFSET]) {
        let why = "its checksum does not match".to_owned();
        return Err(IpcError::Damaged { region: region(), why });
    }
    let Some(found) = RegionKind::from_number(half(12)) else {
        let why = format!("no structure has the number {}", half(12));
        return Err(IpcError::Damaged { region: region(), why });
    };
    if found != wanted {
        return Err(IpcError::Kind { region: region(), found, wanted });
    }
    let stated = word(16);
    if stated != file_bytes {
        return Err(IpcError::Length { region: region(), found: file_bytes, stated });
    }
    if !(HEADER_BYTES as u64..=REGION_BYTES_MAX).contains(&stated) || stated % 8 != 0 {
        let why = format!("no region has {stated} bytes");
        return Err(IpcError::Damaged { region: region(), why });
    }
    Ok(std::array::from_fn(|i| word(24 + 8 * i)))
}

/// FNV-1a, 64 bits: detects torn or damaged headers, not attacks.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |sum, &byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}

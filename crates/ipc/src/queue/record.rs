//! The head of a record: the word that publishes it, and its sequence. Pure: bytes in, bytes out.

/// Alignment of a record: its own cache line, so that a reader that polls the next record doesn't
/// hold a line that the writer still needs.
pub(crate) const RECORD_ALIGN: usize = 64;

/// Bytes before a record's content: its word and its sequence.
pub(crate) const HEAD_BYTES: usize = 16;

/// Bits of the word for the length; a queue's block size sets a lower limit.
const LENGTH_BITS: u32 = 29;
/// Set if the check covers the bytes too.
const CHECKED: u32 = 1 << LENGTH_BITS;
const KIND_SHIFT: u32 = 30;

/// The kind of content at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum RecordKind {
    /// A record.
    Record = 1,
    /// The first mark of a block: the writer has reached it. Its sequence is that of the block's
    /// first record.
    Start = 2,
    /// The last mark of a block: the next block continues. Its sequence is that of the next block's
    /// first record.
    End = 3,
}

/// A published word, which is not zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head(u64);

impl Head {
    /// The head of a record.
    #[inline]
    pub fn of_record(sequence: u64, bytes: &[u8], checked: bool) -> Head {
        debug_assert!(bytes.len() < 1 << LENGTH_BITS);
        let checked = if checked { CHECKED } else { 0 };
        Head::new(RecordKind::Record, checked | bytes.len() as u32, sequence, bytes)
    }

    /// The head of a start or an end.
    pub fn of_mark(kind: RecordKind, sequence: u64) -> Head {
        Head::new(kind, 0, sequence, &[])
    }

    #[inline]
    fn new(kind: RecordKind, rest: u32, sequence: u64, bytes: &[u8]) -> Head {
        let low = (kind as u32) << KIND_SHIFT | rest;
        let bytes = if low & CHECKED == 0 { &[] } else { bytes };
        Head(u64::from(check(sequence, low, bytes)) << 32 | u64::from(low))
    }

    /// The word, never zero.
    pub fn word(self) -> u64 {
        self.0
    }

    /// Parses a word; `None` for a word that no writer writes, such as zero.
    #[inline]
    pub fn read(word: u64) -> Option<Head> {
        let head = Head(word);
        match word as u32 >> KIND_SHIFT {
            1 => Some(head),
            2 | 3 if word as u32 & (CHECKED | (CHECKED - 1)) == 0 => Some(head),
            _ => None,
        }
    }

    /// Its kind.
    #[inline]
    pub fn kind(self) -> RecordKind {
        match self.0 as u32 >> KIND_SHIFT {
            2 => RecordKind::Start,
            3 => RecordKind::End,
            _ => RecordKind::Record,
        }
    }

    /// Bytes of the record; 0 for a start and an end.
    #[inline]
    pub fn length(self) -> usize {
        (self.0 as u32 & (CHECKED - 1)) as usize
    }

    /// Whether this head matches this sequence and these bytes (only their length if they are not
    /// checked).
    #[inline]
    pub fn fits(self, sequence: u64, bytes: &[u8]) -> bool {
        let low = self.0 as u32;
        let bytes = if low & CHECKED == 0 { &[] } else { bytes };
        (self.0 >> 32) as u32 == check(sequence, low, bytes)
    }
}

/// Bytes that a record of `length` takes in a block.
pub(crate) const fn span(length: usize) -> usize {
    (HEAD_BYTES + length).next_multiple_of(RECORD_ALIGN)
}

/// 32 bits over sequence, kind, length and bytes. Four lanes of multiply-and-rotate, because one
/// lane would wait for its own multiplication at every step. Every step is a bijection of its lane,
/// so damage within one aligned word of 8 bytes always changes the 64-bit sum. Half of the sum is
/// kept, so one damage in 2^32 is missed. It detects torn blocks, not attacks.
fn check(sequence: u64, low: u32, bytes: &[u8]) -> u32 {
    // The odd constants of SplitMix64 and xxHash64, which mix well.
    const LANES: [u64; 4] = [
        0x9E37_79B9_7F4A_7C15,
        0xC2B2_AE3D_27D4_EB4F,
        0x1656_67B1_9E37_79F9,
        0x27D4_EB2F_1656_67C5,
    ];
    let mut lanes = LANES;
    lanes[0] ^= sequence;
    lanes[1] ^= u64::from(low);
    let (blocks, rest) = bytes.as_chunks::<32>();
    for block in blocks {
        for (lane, word) in lanes.iter_mut().zip(block.as_chunks::<8>().0) {
            *lane = mix(*lane, *word);
        }
    }
    let (words, rest) = rest.as_chunks::<8>();
    for (lane, word) in lanes.iter_mut().zip(words) {
        *lane = mix(*lane, *word);
    }
    if !rest.is_empty() {
        // Padded with zeros; the length tells their number.
        let word = rest.iter().fold(0, |word: u64, byte| word << 8 | u64::from(*byte));
        lanes[3] = mix(lanes[3], word.to_le_bytes());
    }
    let fold = |a: u64, b: u64| (a.rotate_left(32) ^ b).wrapping_mul(LANES[0]);
    let sum = fold(fold(lanes[0], lanes[1]), fold(lanes[2], lanes[3]));
    ((sum ^ sum >> 29).wrapping_mul(LANES[1]) >> 32) as u32
}

#[inline]
fn mix(lane: u64, word: [u8; 8]) -> u64 {
    (lane ^ u64::from_le_bytes(word)).wrapping_mul(0x9FB2_1C65_1E98_DF25).rotate_left(31)
}

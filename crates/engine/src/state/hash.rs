//! The definition of the state hash.

use crate::state::saved::SavedItem;

/// A hash of a sequence of 64-bit words, which depends on their order: the words of
/// [`SavedItem::to_bytes`], little-endian, piece after piece.
///
/// It starts at the ASCII bytes of `tickpath`; for each word it becomes `mix(hash ^ word)`, where
/// `mix` is the output function of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom
/// number generators, 2014). It detects accidental differences of states, not deliberate
/// collisions.
#[derive(Debug, Clone)]
pub struct StateHash(u64);

impl StateHash {
    /// The hash of an empty sequence.
    #[must_use]
    pub fn new() -> StateHash {
        StateHash(u64::from_be_bytes(*b"tickpath"))
    }

    /// Adds a piece of the state.
    pub fn piece(&mut self, piece: &SavedItem) {
        let bytes = piece.to_bytes();
        let (words, rest) = bytes.as_chunks();
        debug_assert!(rest.is_empty());
        words.iter().for_each(|word| self.word(u64::from_le_bytes(*word)));
    }

    /// Adds a word.
    #[inline]
    pub fn word(&mut self, word: u64) {
        let mut z = (self.0 ^ word).wrapping_add(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        self.0 = z ^ (z >> 31);
    }

    /// The hash.
    #[must_use]
    pub fn finish(self) -> u64 {
        self.0
    }
}

impl Default for StateHash {
    fn default() -> StateHash {
        StateHash::new()
    }
}

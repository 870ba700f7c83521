//! A set of members of a message, group, header or trailer, by their positions.

use super::MEMBERS_MAX;

const WORD_BITS: usize = 64;

/// See the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MemberSet([u64; MEMBERS_MAX.div_ceil(WORD_BITS)]);

impl MemberSet {
    /// Returns whether it is new.
    #[inline]
    pub fn add(&mut self, position: usize) -> bool {
        let (word, bit) = (&mut self.0[position / WORD_BITS], 1 << (position % WORD_BITS));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    #[inline]
    pub fn has(&self, position: usize) -> bool {
        self.0[position / WORD_BITS] & (1 << (position % WORD_BITS)) != 0
    }

    /// The first one that `other` does not have.
    #[inline]
    pub fn first_without(&self, other: &MemberSet) -> Option<usize> {
        let words = self.0.iter().zip(&other.0).map(|(ours, others)| ours & !others);
        let (nth, word) = words.enumerate().find(|(_, word)| *word != 0)?;
        Some(nth * WORD_BITS + word.trailing_zeros() as usize)
    }
}

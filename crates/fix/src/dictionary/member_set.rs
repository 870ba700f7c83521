//! A set of members of a message, group, header or trailer, by their positions.

use super::MEMBERS_MAX;

const WORD_BITS: usize = 64;

/// Words of a set that has room for every member.
pub(super) const WORDS_MAX: usize = MEMBERS_MAX.div_ceil(WORD_BITS);

/// See the module. It has room for the positions below `BITS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MemberSet<const WORDS: usize>([u64; WORDS]);

impl<const WORDS: usize> Default for MemberSet<WORDS> {
    fn default() -> MemberSet<WORDS> {
        MemberSet([0; WORDS])
    }
}

impl<const WORDS: usize> MemberSet<WORDS> {
    pub const BITS: usize = WORDS * WORD_BITS;

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

    /// The first one that `other` does not have, among the positions for which it has room.
    #[inline]
    pub fn first_without<const OTHERS: usize>(&self, other: &MemberSet<OTHERS>) -> Option<usize> {
        let words = self.0.iter().zip(&other.0).map(|(ours, others)| ours & !others);
        let (nth, word) = words.enumerate().find(|(_, word)| *word != 0)?;
        Some(nth * WORD_BITS + word.trailing_zeros() as usize)
    }
}

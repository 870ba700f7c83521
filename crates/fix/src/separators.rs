//! Where the separators of a message are, found many bytes at a time: a message has one in ten
//! bytes, and each would otherwise end a loop of its own.

use crate::SOH;

/// Bytes that are looked at together: a bit for each.
const BLOCK_BYTES: usize = 64;
/// Bytes that are compared by one instruction.
#[cfg(target_arch = "x86_64")]
const PART_BYTES: usize = 16;

/// The places of all separators, in order.
#[derive(Clone, Debug)]
pub(crate) struct Separators<'a> {
    bytes: &'a [u8],
    /// Where the block is whose separators that are left are `mask`.
    block: usize,
    mask: u64,
}

impl<'a> Separators<'a> {
    #[inline]
    pub fn of(bytes: &'a [u8]) -> Separators<'a> {
        Separators { bytes, block: 0, mask: mask_at(bytes, 0) }
    }

    /// Passes over those before `at`.
    #[inline]
    pub fn skip_to(&mut self, at: usize) {
        let block = at - at % BLOCK_BYTES;
        if block != self.block {
            (self.block, self.mask) = (block, mask_at(self.bytes, block));
        }
        self.mask &= u64::MAX << (at % BLOCK_BYTES);
    }
}

impl Iterator for Separators<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.mask == 0 {
            self.block += BLOCK_BYTES;
            if self.block >= self.bytes.len() {
                self.block = self.bytes.len();
                return None;
            }
            self.mask = mask_at(self.bytes, self.block);
        }
        let at = self.block + self.mask.trailing_zeros() as usize;
        self.mask &= self.mask - 1;
        Some(at)
    }
}

/// A bit for each separator of the block that begins there.
#[inline]
fn mask_at(bytes: &[u8], at: usize) -> u64 {
    let rest = bytes.get(at..).unwrap_or_default();
    match (rest.first_chunk(), bytes.last_chunk()) {
        (Some(block), _) => mask_of(block),
        // The bytes before `at` are shifted out.
        (None, Some(last)) if !rest.is_empty() => mask_of(last) >> (BLOCK_BYTES - rest.len()),
        _ => {
            let mut block = [0; BLOCK_BYTES];
            block[..rest.len()].copy_from_slice(rest);
            mask_of(&block)
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn mask_of(block: &[u8; BLOCK_BYTES]) -> u64 {
    let (parts, _) = block.as_chunks::<PART_BYTES>();
    parts.iter().enumerate().fold(0, |mask, (nth, part)| {
        // SAFETY: every processor of this architecture has SSE2.
        let found = unsafe { mask_of_part(part) };
        mask | u64::from(found) << (PART_BYTES * nth)
    })
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "sse2")]
fn mask_of_part(part: &[u8; PART_BYTES]) -> u16 {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8};
    // SAFETY: a part has as many bytes as are loaded.
    let part = unsafe { _mm_loadu_si128(part.as_ptr().cast()) };
    _mm_movemask_epi8(_mm_cmpeq_epi8(part, _mm_set1_epi8(SOH as i8))) as u16
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn mask_of(block: &[u8; BLOCK_BYTES]) -> u64 {
    const WORD_BYTES: usize = 8;
    let (words, _) = block.as_chunks::<WORD_BYTES>();
    words.iter().enumerate().fold(0, |mask, (nth, word)| {
        mask | mask_of_word(u64::from_le_bytes(*word)) << (WORD_BYTES * nth)
    })
}

/// Source: Henry S. Warren, "Hacker's Delight", second edition, 6-1.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn mask_of_word(word: u64) -> u64 {
    const LOW_BITS: u64 = u64::from_ne_bytes([0x7f; 8]);
    // The highest bit of each byte that is zero, which is a separator.
    let word = word ^ u64::from_ne_bytes([SOH; 8]);
    let found = !(((word & LOW_BITS) + LOW_BITS) | word | LOW_BITS);
    // The bits of all bytes side by side.
    (found >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(testing::cases(256)))]
        #[test]
        fn each_separator_is_found_once_also_behind_a_skip(
            bytes in prop::collection::vec(prop_oneof![3 => Just(SOH), 1 => any::<u8>(), 6 => 0u8..3], 0..300),
            skip in 0usize..310,
        ) {
            let bytes = &bytes[..];
            let all = |from| (from..bytes.len()).filter(move |at: &usize| bytes[*at] == SOH);
            let mut separators = Separators::of(bytes);
            prop_assert!(separators.clone().eq(all(0)));
            separators.skip_to(skip);
            prop_assert!(separators.by_ref().eq(all(skip)));
            prop_assert_eq!(separators.next(), None);
        }
    }
}

//! Copies into memory that another core reads, without a store across two cache lines. Such a store
//! needs both lines at once, and while they come from the reader's core, all later stores wait. The
//! C library uses the widest stores, at any alignment.

use std::ptr;

/// Bytes of a cache line. Matters only for speed.
pub(crate) const LINE_BYTES: usize = 64;

const WORD_BYTES: usize = size_of::<u64>();

/// Copies by words of 8 bytes.
///
/// # Safety
/// `target` must be a multiple of 8. The caller must own `bytes.len()` bytes from there on, and
/// they must not overlap `bytes`.
#[inline(always)]
pub(crate) unsafe fn by_words(bytes: &[u8], target: *mut u8) {
    let (words, rest) = bytes.as_chunks::<WORD_BYTES>();
    for (index, word) in words.iter().enumerate() {
        // SAFETY: within `bytes.len()`, as the caller guarantees.
        let place = unsafe { target.cast::<u64>().add(index) };
        // Volatile, so that the compiler can't use wider stores or call the C library.
        // SAFETY: as above, and aligned like the target.
        unsafe { place.write_volatile(u64::from_ne_bytes(*word)) };
    }
    let behind = bytes.len() - rest.len();
    for (index, byte) in rest.iter().enumerate() {
        // SAFETY: within `bytes.len()`, as the caller guarantees.
        let place = unsafe { target.add(behind + index) };
        // SAFETY: as above.
        unsafe { place.write_volatile(*byte) };
    }
}

/// Copies by lines, and the rest by words: faster than words alone if the target begins a line.
///
/// # Safety
/// As [`by_words`].
#[inline(always)]
pub(crate) unsafe fn by_lines(bytes: &[u8], target: *mut u8) {
    let (lines, rest) = bytes.as_chunks::<LINE_BYTES>();
    for (index, line) in lines.iter().enumerate() {
        // SAFETY: within `bytes.len()`, as the caller guarantees.
        let place = unsafe { target.add(index * LINE_BYTES) };
        // SAFETY: as above.
        unsafe { ptr::copy_nonoverlapping(line.as_ptr(), place, LINE_BYTES) };
    }
    // SAFETY: within `bytes.len()`, or its end.
    let behind = unsafe { target.add(bytes.len() - rest.len()) };
    // SAFETY: the caller's guarantee; lines are multiples of 8.
    unsafe { by_words(rest, behind) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// From any address to any word, exactly these bytes.
        #[test]
        fn copies_every_byte_and_no_other(
            bytes in prop::collection::vec(any::<u8>(), 0..400),
            skip in 0..8usize,
            word in 0..9usize,
            lines in any::<bool>(),
        ) {
            let bytes = bytes.get(skip..).unwrap_or(&[]);
            let mut target = [0x5a5a_5a5a_5a5a_5a5a_u64; 64];
            // SAFETY: the first of 64 words, and at most the 9 after it; 440 bytes are left.
            let start = unsafe { target.as_mut_ptr().add(word) }.cast::<u8>();
            let copy = if lines { by_lines } else { by_words };
            // SAFETY: aligned to a word, and fewer than 400 bytes.
            unsafe { copy(bytes, start) };
            let all: Vec<u8> = target.iter().flat_map(|word| word.to_ne_bytes()).collect();
            let (before, rest) = all.split_at(word * 8);
            let (copied, behind) = rest.split_at(bytes.len());
            prop_assert_eq!(copied, bytes);
            prop_assert!(before.iter().chain(behind).all(|byte| *byte == 0x5a));
        }
    }
}

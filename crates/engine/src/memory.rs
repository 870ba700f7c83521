//! Memory that is mapped before the first command.

use std::hint::black_box;

/// An empty vector with room for `capacity` values, with all of its pages written to.
///
/// Fresh memory is mapped on first touch, with a page fault of about a microsecond, at a random
/// moment on the path. Writing here moves that to construction. The vector is hidden from the
/// optimiser during the writing, because "allocate, then fill with zeros" may be compiled to
/// "allocate zeroed", as `vec![0; n]` is, and that is mapped lazily.
pub(crate) fn touched<T: Copy>(capacity: usize, filler: T) -> Vec<T> {
    let mut memory = filled(capacity, filler);
    memory.clear();
    memory
}

/// A vector of `length` copies of `filler`, made like [`touched`].
pub(crate) fn filled<T: Copy>(length: usize, filler: T) -> Vec<T> {
    let mut memory = black_box(Vec::with_capacity(length));
    memory.resize(length, filler);
    black_box(memory)
}

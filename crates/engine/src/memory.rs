//! Memory that is there before the first command.

use std::hint::black_box;

/// An empty vector with room for `capacity` values, every page of which has been written to.
///
/// Memory fresh from the system is mapped on first touch, which costs a page fault: a microsecond
/// or so, on the path, at a moment nobody chose. Writing here moves that to construction. The
/// vector is hidden from the optimiser around the writing, because "allocate, then fill with zeros"
/// may be compiled to "allocate zeroed", as `vec![0; n]` is, and that is mapped lazily.
pub(crate) fn touched<T: Copy>(capacity: usize, filler: T) -> Vec<T> {
    let mut memory = filled(capacity, filler);
    memory.clear();
    memory
}

/// A vector of `length` copies of `filler`, written to as [`touched`] says.
pub(crate) fn filled<T: Copy>(length: usize, filler: T) -> Vec<T> {
    let mut memory = black_box(Vec::with_capacity(length));
    memory.resize(length, filler);
    black_box(memory)
}

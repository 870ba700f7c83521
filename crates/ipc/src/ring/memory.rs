//! A ring's parts in a region, with all `unsafe` access to them. The table is in
//! [`ring`](crate::ring).

use std::mem::{offset_of, size_of};
use std::slice;
use std::sync::Arc;

use crate::atomics::{AtomicU32, AtomicU64};
use crate::copy::{self, LINE_BYTES};
use crate::region::Region;
use crate::ring::protocol::{Geometry, Memory};

/// The indices before the slots. Each has its own pair of cache lines, because the prefetcher of
/// x86 fetches lines in pairs.
#[repr(C, align(128))]
pub(crate) struct Indices {
    consumer: ConsumerLines,
    producers: ProducerLines,
    bell: BellLines,
}

#[repr(C, align(128))]
struct ConsumerLines {
    head: AtomicU64,
    abandoned: AtomicU64,
    damaged: AtomicU64,
}

#[repr(C, align(128))]
struct ProducerLines {
    tail: AtomicU64,
}

#[repr(C, align(128))]
struct BellLines {
    word: AtomicU32,
}

const _: () = {
    assert!(offset_of!(Indices, consumer) == 0);
    assert!(offset_of!(ConsumerLines, head) == 0);
    assert!(offset_of!(ConsumerLines, abandoned) == 8);
    assert!(offset_of!(ConsumerLines, damaged) == 16);
    assert!(offset_of!(Indices, producers) == 128);
    assert!(offset_of!(Indices, bell) == 256);
    assert!(size_of::<Indices>() == 384);
};

/// Bytes of a slot's word, before the message.
const WORD_BYTES: usize = size_of::<AtomicU64>();

/// Bytes from one slot to the next.
pub(crate) fn stride(message_bytes_max: usize) -> usize {
    (WORD_BYTES + message_bytes_max).next_multiple_of(WORD_BYTES)
}

/// Bytes of a ring after the region's header.
pub(crate) fn body_bytes(geometry: &Geometry) -> u64 {
    size_of::<Indices>() as u64 + geometry.slots() * stride(geometry.message_bytes_max) as u64
}

/// A ring in a region.
#[derive(Clone)]
pub(crate) struct RegionMemory {
    /// Keeps the mapping, into which the pointers below point.
    region: Arc<Region>,
    indices: *const Indices,
    slots: *mut u8,
    stride: usize,
}

// SAFETY: the pointers are into the mapping that `region` keeps, which threads may share.
unsafe impl Send for RegionMemory {}
// SAFETY: as for `Region`: by atomics, or by the protocol that `Memory`'s callers follow.
unsafe impl Sync for RegionMemory {}

impl RegionMemory {
    /// `None` unless the region has exactly the size of the geometry.
    pub(crate) fn new(region: Arc<Region>, geometry: &Geometry) -> Option<RegionMemory> {
        if region.body_bytes() as u64 != body_bytes(geometry) {
            return None;
        }
        let indices = region.body();
        // SAFETY: the body is longer than the indices, as checked above.
        let slots = unsafe { indices.add(size_of::<Indices>()) };
        let stride = stride(geometry.message_bytes_max);
        Some(RegionMemory { region, indices: indices.cast(), slots, stride })
    }

    pub(crate) fn region(&self) -> &Arc<Region> {
        &self.region
    }

    #[inline(always)]
    fn indices(&self) -> &Indices {
        // SAFETY: inside the mapping, which `region` keeps; its start is aligned to a page and the
        // header has 128 bytes; every bit pattern is an `Indices`, which is all atomics.
        unsafe { &*self.indices }
    }

    /// Address of a slot.
    #[inline(always)]
    fn slot(&self, slot: usize) -> *mut u8 {
        // SAFETY: callers keep `slot` below the number of slots (it is masked), and `new` has
        // checked that the mapping has all of them.
        unsafe { self.slots.add(slot * self.stride) }
    }

    #[inline(always)]
    fn message(&self, slot: usize) -> *mut u8 {
        // SAFETY: a slot is longer than its word.
        unsafe { self.slot(slot).add(WORD_BYTES) }
    }
}

impl Memory for RegionMemory {
    #[inline(always)]
    fn head(&self) -> &AtomicU64 {
        &self.indices().consumer.head
    }

    #[inline(always)]
    fn tail(&self) -> &AtomicU64 {
        &self.indices().producers.tail
    }

    fn abandoned(&self) -> &AtomicU64 {
        &self.indices().consumer.abandoned
    }

    fn damaged(&self) -> &AtomicU64 {
        &self.indices().consumer.damaged
    }

    #[inline(always)]
    fn bell(&self) -> &AtomicU32 {
        &self.indices().bell.word
    }

    #[inline(always)]
    fn word(&self, slot: usize) -> &AtomicU64 {
        // SAFETY: inside the mapping, which `region` keeps; slots begin at multiples of 8; every
        // bit pattern is an AtomicU64.
        unsafe { &*self.slot(slot).cast() }
    }

    #[inline(always)]
    unsafe fn write(&self, slot: usize, message: &[u8]) {
        // The consumer polls the word's line and takes it back after each store. So that line is
        // written last, directly before the word; otherwise it would cross twice per message.
        let beside_word = LINE_BYTES - WORD_BYTES - self.slot(slot).addr() % LINE_BYTES;
        let (first, rest) = message.split_at(message.len().min(beside_word));
        let start = self.message(slot);
        // SAFETY: the message fits into the slot, so its first part does.
        let behind = unsafe { start.add(first.len()) };
        // SAFETY: the caller owns the slot and has checked that the message fits. A message of safe
        // code is not in an unpublished slot. Slots, words and lines are multiples of 8.
        unsafe { copy::by_words(rest, behind) };
        // SAFETY: as before.
        unsafe { copy::by_words(first, start) };
    }

    #[inline(always)]
    unsafe fn write_in_batch(&self, slot: usize, message: &[u8]) {
        // SAFETY: as in `write`.
        unsafe { copy::by_words(message, self.message(slot)) };
    }

    #[inline(always)]
    unsafe fn read<R>(&self, slot: usize, length: usize, show: impl FnOnce(&[u8]) -> R) -> R {
        // SAFETY: the caller has checked that the length fits and that nobody writes the slot now;
        // the mapping is initialised, and lives as long as `self`.
        show(unsafe { slice::from_raw_parts(self.message(slot), length) })
    }
}

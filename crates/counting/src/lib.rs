//! An allocator that counts, for tests that check allocations and memory use. A test that calls one
//! of these functions gets it as its process's allocator. A dev-dependency only: no binary contains
//! it.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

thread_local! {
    /// Per thread, because the test harness allocates on its own threads at any time. Constant, so
    /// that it needs no allocation itself.
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);

/// Calls to the allocator by this thread so far, including frees.
pub fn calls() -> u64 {
    CALLS.get()
}

/// Allocations and reallocations by the whole process so far. Nothing else may allocate between two
/// readings that are compared.
pub fn allocations_of_process() -> u64 {
    ALLOCATIONS.load(Relaxed)
}

/// Bytes that the whole process holds now, as requested.
pub fn bytes_of_process() -> usize {
    BYTES.load(Relaxed)
}

/// Counts every call and forwards it to the system's allocator.
struct Counting;

/// Counts a call that takes `taken_bytes` and frees `freed_bytes`.
fn count(is_allocation: bool, taken_bytes: usize, freed_bytes: usize) {
    // A thread that is ending has no counter any more.
    let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
    ALLOCATIONS.fetch_add(u64::from(is_allocation), Relaxed);
    BYTES.fetch_add(taken_bytes, Relaxed);
    BYTES.fetch_sub(freed_bytes, Relaxed);
}

// SAFETY: every call is passed on unchanged to `System`, which keeps the contract; counting neither
// allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(true, layout.size(), 0);
        // SAFETY: the caller keeps the contract of `alloc`, which is that of `System`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(true, layout.size(), 0);
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(true, new_size, layout.size());
        // SAFETY: as above; `pointer` came from `System`, since all allocations do.
        unsafe { System.realloc(pointer, layout, new_size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(false, 0, layout.size());
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_is_counted() {
        let (before, bytes, allocations) = (calls(), bytes_of_process(), allocations_of_process());
        let mut grown = std::hint::black_box(Vec::<u8>::with_capacity(1 << 20));
        assert_eq!(calls() - before, 1);
        grown.reserve_exact(1 << 22);
        assert_eq!(calls() - before, 2);
        let zeroed = std::hint::black_box(vec![0_u8; 1 << 20]);
        assert_eq!(calls() - before, 3);
        // The test harness allocates and frees a little at the same time.
        let taken = bytes_of_process() - bytes;
        assert!(taken.abs_diff(5 << 20) < 1 << 20, "{taken} bytes");
        assert!(allocations_of_process() - allocations >= 3);
        drop((grown, zeroed));
        assert_eq!(calls() - before, 5);
        let left = bytes_of_process().abs_diff(bytes);
        assert!(left < 1 << 20, "{left} bytes");
    }

    #[test]
    fn another_threads_calls_are_its_own() {
        let theirs = std::thread::spawn(|| {
            let before = calls();
            drop(std::hint::black_box(Box::new(1_u64)));
            calls() - before
        });
        assert_eq!(theirs.join().unwrap(), 2);
    }
}

//! After construction the engine does not meet the allocator, whatever the commands.

mod commands;
mod workload;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use commands::{inputs, limits};
use engine::*;
use proptest::prelude::*;
use workload::{LIMITS, Shallow};

thread_local! {
    /// Per thread, because the test harness allocates on its own threads at any time.
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

/// Counts every call, and leaves the work to the system's allocator.
struct Counting;

fn count() {
    // A thread that is ending has no counter any more, and nothing here to count.
    let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
}

// SAFETY: every call is passed on unchanged to `System`, which keeps the contract; counting neither
// allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `alloc`, which is that of `System`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count();
        // SAFETY: as above; `pointer` came from `System`, since all allocations do.
        unsafe { System.realloc(pointer, layout, new_size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count();
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Calls to the allocator, frees too, while `engine` executes `inputs` and hashes its state.
fn allocator_calls(engine: &mut Engine, inputs: &[Input]) -> (u64, u64) {
    let mut events = 0_u64;
    let before = CALLS.get();
    for input in inputs {
        engine.expect(input);
        engine.apply(input, &mut |_| events += 1);
    }
    std::hint::black_box(engine.state_hash());
    (CALLS.get() - before, events)
}

#[test]
fn the_counter_counts() {
    let before = CALLS.get();
    drop(std::hint::black_box(Box::new(1_u64)));
    assert_eq!(CALLS.get() - before, 2);
}

#[test]
fn four_hundred_thousand_operations_do_not_allocate() {
    let (workload, prefill) = Shallow::new();
    let commands = prefill.into_iter().chain(workload.take(400_000));
    let inputs: Vec<_> = commands.map(|command| Input { time_ns: 0, command }).collect();
    let mut engine = Engine::new(1, LIMITS);
    let (calls, events) = allocator_calls(&mut engine, &inputs);
    assert!(events > inputs.len() as u64);
    assert_eq!(calls, 0);
}

proptest! {
    #[test]
    fn at_its_limits_it_does_not_allocate(limits in limits(), inputs in inputs(300)) {
        let mut engine = Engine::new(3, limits);
        let (calls, events) = allocator_calls(&mut engine, &inputs);
        prop_assert!(events >= inputs.len() as u64);
        prop_assert_eq!(calls, 0);
    }
}

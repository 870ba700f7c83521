//! After construction the engine never allocates, for any commands.

use crate::commands::{inputs, limits};
use crate::workload::{LIMITS, Shallow};
use counting::calls;
use engine::*;
use proptest::prelude::*;

/// Calls to the allocator, including frees, while `engine` executes `inputs` and hashes its state.
fn allocator_calls(engine: &mut Engine, inputs: &[Input]) -> (u64, u64) {
    let mut events = 0_u64;
    let before = calls();
    for input in inputs {
        engine.expect(input);
        engine.apply(input, &mut |_| events += 1);
    }
    std::hint::black_box(engine.state_hash());
    (calls() - before, events)
}

#[test]
fn the_counter_counts() {
    let before = calls();
    drop(std::hint::black_box(Box::new(1_u64)));
    assert_eq!(calls() - before, 2);
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

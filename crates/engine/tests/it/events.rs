//! The events suffice to keep the book and to account for every lot.

use crate::commands::{inputs, limits};
use crate::observer::Observer;
use engine::*;
use proptest::prelude::*;

const INSTRUMENTS: u16 = 3;
/// More than one command can cause here: stops an engine in an endless loop.
const EVENTS_MAX: usize = 100_000;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(512)))]

    #[test]
    fn events_rebuild_the_book_and_account_for_every_lot(
        limits in limits(),
        inputs in inputs(300),
    ) {
        let mut engine = Engine::new(INSTRUMENTS, limits);
        let mut observer = Observer::new(limits);
        for input in &inputs {
            let mut events = Vec::new();
            engine.apply(input, &mut |event| {
                assert!(events.len() < EVENTS_MAX, "{input:?} has no end");
                events.push(event);
            });
            observer.hear(input, &events);
            observer.check(&engine, INSTRUMENTS, limits);
        }
    }
}

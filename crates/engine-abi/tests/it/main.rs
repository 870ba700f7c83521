//! A replica against the engine itself, and the file by which other languages check theirs.

mod flow;

use engine::{Engine, Event, Input};
use engine_abi::{AbiError, Replica};
use expect_test::expect_file;
use serde_json::json;

use crate::flow::{INSTRUMENTS, LIMITS, inputs};

const INPUTS: usize = 240;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The engine's own events, each as its record.
fn apply(engine: &mut Engine, input: &Input) -> Vec<[u8; Event::BYTES]> {
    let mut events = Vec::new();
    engine.apply(input, &mut |event| events.push(event.to_bytes()));
    events
}

/// The record of an input, without its time, and with the id 0 in an order: the replica fills in
/// both.
fn record(input: &Input) -> [u8; Input::BYTES] {
    let mut bytes = input.to_bytes();
    bytes[..8].fill(0);
    if matches!(input.command, engine::Command::New(_)) {
        bytes[24..32].fill(0);
    }
    bytes
}

#[test]
fn the_vectors_of_other_languages_are_the_engines() {
    let mut engine = Engine::new(INSTRUMENTS, LIMITS);
    let head = json!({
        "instruments": INSTRUMENTS,
        "open_orders_max": LIMITS.open_orders_max,
        "price_levels_max": LIMITS.price_levels_max,
        "stop_levels_max": LIMITS.stop_levels_max,
        "expiring_orders_max": LIMITS.expiring_orders_max,
        "accounts_max": LIMITS.accounts_max,
    });
    let mut lines = format!("{head}\n");
    let mut kinds = [0; 11];
    for input in inputs(INPUTS) {
        let events = apply(&mut engine, &input);
        events.iter().for_each(|event| kinds[usize::from(event[8])] += 1);
        let events: Vec<String> = events.iter().map(|event| hex(event)).collect();
        let line = json!({
            "record": hex(&record(&input)),
            "time_ns": input.time_ns,
            "events": events,
            "state_hash": format!("{:016x}", engine.state_hash()),
        });
        lines.push_str(&format!("{line}\n"));
    }
    assert!(kinds[1..].iter().all(|count| *count > 0), "an event that the file lacks: {kinds:?}");
    expect_file!["../../../../clients/vectors/engine.jsonl"].assert_eq(&lines);
}

#[test]
fn a_replica_does_what_the_engine_does() {
    let mut engine = Engine::new(INSTRUMENTS, LIMITS);
    let mut replica = Replica::new(INSTRUMENTS, LIMITS).unwrap();
    for (number, input) in (1..).zip(inputs(2_000)) {
        let expected = apply(&mut engine, &input).concat();
        let events = replica.apply(&record(&input), input.time_ns).unwrap();
        assert_eq!(replica.output(), expected, "{input:?}");
        assert_eq!(events as usize * Event::BYTES, expected.len());
        assert_eq!(replica.sequence(), number);
        if number % 100 == 0 {
            assert_eq!(replica.state_hash(), engine.state_hash());
            // The restored one goes on in its place.
            replica.save();
            replica = Replica::restore(replica.output()).unwrap();
        }
    }
}

#[test]
fn a_saved_replica_that_is_damaged_is_rejected() {
    let mut replica = Replica::new(INSTRUMENTS, LIMITS).unwrap();
    for input in inputs(200) {
        replica.apply(&record(&input), input.time_ns).unwrap();
    }
    replica.save();
    let saved = replica.output().to_vec();
    for length in [0, 15, saved.len() - 1] {
        assert_eq!(Replica::restore(&saved[..length]).unwrap_err(), AbiError::Length(length));
    }
    // The sequence is not part of the engine's hash; all other bytes are.
    for at in 8..saved.len() {
        let mut damaged = saved.clone();
        damaged[at] ^= 1;
        assert!(Replica::restore(&damaged).is_err(), "byte {at}");
    }
    let whole_pieces = &saved[..saved.len() - engine::SavedItem::BYTES];
    assert!(Replica::restore(whole_pieces).is_err());
}

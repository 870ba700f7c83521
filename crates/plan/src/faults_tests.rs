//! The words of faults, as a command line has them.

use super::*;
use proptest::prelude::*;

fn words(words: &[&str]) -> Result<Inject, String> {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    Inject::from_words(&words).map_err(|error| error.to_string())
}

#[test]
fn what_is_out_of_range_is_named_with_what_it_may_be() {
    for (word, expected) in [
        ("delay_us=100001", "inject.delay_us = 100001: a write is delayed by 0 to 100000 us"),
        ("stall_ms=1001", "inject.stall_ms = 1001: a stall lasts 0 to 1000 ms"),
        ("stall_ms=1000", "shorter than that; set stall_every_ms too"),
        ("stall_every_ms=0", "every 1 to 3600000 ms"),
        ("drop_every=9", "0 (none), or 10 or more"),
        ("drop_every=-1", "inject.drop_every = -1: write a whole number"),
        ("drop_every", "write a whole number"),
        (
            "dellay_us=1",
            "there is no \"dellay_us\"; write KEY=VALUE with one of delay_us, stall_ms",
        ),
        ("", "write KEY=VALUE"),
    ] {
        let error = words(&[word]).unwrap_err();
        assert!(error.contains(expected), "{word}: {error}");
    }
}

#[test]
fn a_line_says_what_is_done_and_no_more() {
    assert_eq!(Inject::default().to_string(), "");
    assert_eq!(words(&["stall_ms=10"]).unwrap().to_string(), "stall_ms=10 stall_every_ms=1000");
    assert_eq!(words(&["delay_us=50"]).unwrap().to_string(), "delay_us=50");
    assert!(words(&["stall_every_ms=5"]).unwrap().is_none());
}

proptest! {
    #[test]
    fn words_read_back_as_what_was_written(
        delay_us in 0..=DELAY_US_MAX,
        stall_ms in 0..=STALL_MS_MAX,
        stall_every_ms in STALL_MS_MAX + 1..=STALL_EVERY_MS_MAX,
        drop_every in prop_oneof![Just(0), DROP_EVERY_MIN..],
    ) {
        let inject = Inject { delay_us, stall_ms, stall_every_ms, drop_every };
        let again = Inject::from_words(&inject.words()).unwrap();
        prop_assert_eq!(again.words(), inject.words());
        prop_assert_eq!(again.is_none(), inject.is_none());
    }

    #[test]
    fn any_words_are_read_or_rejected(words in proptest::collection::vec(".{0,20}", 0..3)) {
        let _ = Inject::from_words(&words);
    }
}

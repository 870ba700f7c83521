//! A follower against primaries of the same log, earlier and later ones.

use super::*;
use engine::EngineLimits;
use journal::{Identity, LogCopy, Options};

/// A log's name, from a journal that is there.
fn log(open_orders_max: u32) -> LogName {
    let place = tempfile::tempdir().unwrap();
    let limits = EngineLimits::matching_only(open_orders_max, 10);
    let identity = Identity { instruments: 1, limits };
    let options = Options { segment_bytes: 1 << 16, reserve_inputs: 10, ..Options::default() };
    journal::open(place.path(), identity, options.clone()).unwrap().0.close().unwrap();
    let name = LogName::of(place.path()).unwrap().unwrap();
    drop(LogCopy::open(place.path(), name, &options).unwrap());
    name
}

fn term(term: u64, primary: u64, first: u64) -> Term {
    Term { term, primary, first }
}

fn decide(own: &[Term], next: u64, given: &[Term]) -> Result<(), Rejection> {
    let log = log(100);
    let hello = Hello { silence_ms: 1, is_sync: true, written: 0, log, terms: given.to_vec() };
    admit(FollowerLog { log: Some(log), terms: own, next }, &hello)
}

const A: Term = Term { term: 1, primary: 10, first: 0 };

#[test]
fn a_follower_takes_its_primary_again_and_a_later_term() {
    decide(&[], 0, &[A]).unwrap();
    decide(&[A], 700, &[A]).unwrap();
    decide(&[A], 700, &[A, term(2, 20, 700)]).unwrap();
    // A copy of the directory from before the primary had a follower.
    decide(&[], 40, &[term(1, 10, 40)]).unwrap();
}

#[test]
fn a_primary_of_an_earlier_term_is_fenced() {
    let fenced = Err(Rejection::Fenced { own: 2, given: 1 });
    assert_eq!(decide(&[A, term(2, 20, 700)], 700, &[A]), fenced);
    // Both call themselves the second one; the follower has taken the other.
    let fenced = Err(Rejection::Fenced { own: 2, given: 2 });
    assert_eq!(decide(&[A, term(2, 20, 700)], 700, &[A, term(2, 21, 700)]), fenced);
}

/// The old primary comes back as a follower: it had written records that its follower never got.
#[test]
fn a_log_with_other_records_is_rejected() {
    let promoted = [A, term(2, 20, 700)];
    decide(&[A], 700, &promoted).unwrap();
    let diverged = |equal, next| Err(Rejection::Diverged { equal, next });
    assert_eq!(decide(&[A], 701, &promoted), diverged(700, 701));
    // It was started as a primary once more, and then lost to a later one.
    let own = [A, term(2, 21, 650)];
    let later = [A, term(2, 20, 700), term(3, 30, 900)];
    assert_eq!(decide(&own, 660, &later), diverged(650, 660));
    decide(&own, 650, &later).unwrap();
    assert!(decide(&[term(1, 11, 0)], 1, &[A]).unwrap_err().is_fenced());
    assert_eq!(decide(&[term(1, 11, 0)], 1, &[term(2, 12, 0)]), diverged(0, 1));
    // A copy of before, with records from after.
    assert_eq!(decide(&[], 41, &[term(1, 10, 40)]), diverged(40, 41));
}

#[test]
fn another_log_is_rejected() {
    let hello = Hello { silence_ms: 1, is_sync: true, written: 0, log: log(100), terms: vec![A] };
    let own = FollowerLog { log: Some(log(200)), terms: &[], next: 0 };
    assert_eq!(admit(own, &hello), Err(Rejection::OtherLog));
}

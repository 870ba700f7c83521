use super::*;
use crate::verdict::{Outcome, Scale, direction};
use proptest::prelude::*;

fn effect(
    design: Design,
    a: &[u64],
    b: &[u64],
    control: Option<f64>,
    step_ns: u64,
) -> Option<Effect> {
    super::effect(design, a, b, control, step_ns).map(|(effect, _)| effect)
}

fn outcome(effect: &Effect, p: f64) -> Outcome {
    direction(Scale::Factor, effect, p).unwrap_or(Outcome::NoDifference)
}

const QUIET: [u64; 8] = [10_000, 10_010, 9_990, 10_005, 9_995, 10_000, 10_008, 9_992];

fn times(values: &[u64], factor: f64) -> Vec<u64> {
    values.iter().map(|value| (*value as f64 * factor) as u64).collect()
}

#[test]
fn what_is_twice_as_slow_is_worse_and_the_other_way_round() {
    for design in [Design::Interleaved, Design::Apart] {
        let slow = times(&QUIET, 2.0);
        let worse = effect(design, &QUIET, &slow, None, 1).unwrap();
        assert!((worse.change - 1.0).abs() < 0.01, "{worse:?}");
        assert!(worse.interval[0] > 0.99 && worse.interval[1] < 1.01, "{worse:?}");
        assert_eq!(outcome(&worse, worse.p), Outcome::Worse);
        let better = effect(design, &slow, &QUIET, None, 1).unwrap();
        assert!((better.change + 0.5).abs() < 0.01, "{better:?}");
        assert_eq!(outcome(&better, better.p), Outcome::Better);
    }
}

/// All of n pairs in one direction: chance shows that twice in 2^n. All of 8 above all of 8: twice
/// in 16 choose 8.
#[test]
fn p_is_that_of_the_permutation_test() {
    let slow = times(&QUIET, 1.5);
    let p = |design| effect(design, &QUIET, &slow, None, 1).unwrap().p;
    assert!((p(Design::Interleaved) - 2.0 / 256.0).abs() < 1e-12);
    assert!((p(Design::Apart) - 2.0 / 12_870.0).abs() < 1e-12);
    assert_eq!(effect(Design::Interleaved, &QUIET, &QUIET, None, 1).unwrap().p, 1.0);
    assert_eq!(effect(Design::Apart, &QUIET, &QUIET, None, 1).unwrap().p, 1.0);
}

/// A certain difference of 0.01 % is below the resolution of the histograms.
#[test]
fn a_difference_below_the_noise_is_no_difference_however_certain() {
    let exact = [1_000_000u64; 8];
    let effect = effect(Design::Interleaved, &exact, &times(&exact, 1.0005), None, 1).unwrap();
    assert!(effect.p < SIGNIFICANCE);
    assert_eq!(outcome(&effect, effect.p), Outcome::NoDifference);
}

/// The raw echo can't have changed. If it moved by a tenth, the machine may have moved everything.
#[test]
fn what_the_control_moved_by_is_noise() {
    let slow = times(&QUIET, 1.1);
    let judged = |control| {
        let effect = effect(Design::Apart, &QUIET, &slow, control, 1).unwrap();
        outcome(&effect, effect.p)
    };
    assert_eq!(judged(None), Outcome::Worse);
    assert_eq!(judged(Some(0.01)), Outcome::Worse);
    assert_eq!(judged(Some(-0.12)), Outcome::NoDifference);
}

/// Everything became faster, the raw echo most: 40 us to 20 is a larger change than 100 to 60.
#[test]
fn what_improved_by_less_than_the_control_is_not_believed() {
    for (factor, control) in [(0.6, -0.5), (0.72, -0.3), (0.905, -0.1)] {
        let fast = times(&QUIET, factor);
        let slower = effect(Design::Apart, &QUIET, &fast, Some(control), 1).unwrap();
        assert_eq!(outcome(&slower, slower.p), Outcome::NoDifference, "{slower:?}");
        let faster = times(&QUIET, (1.0 + control) * 0.9);
        let effect = effect(Design::Apart, &QUIET, &faster, Some(control), 1).unwrap();
        assert_eq!(outcome(&effect, effect.p), Outcome::Better, "{effect:?}");
    }
}

/// A tenth of a nanosecond across the edge of a bin moves every run by a step, without scatter.
#[test]
fn one_step_of_the_clock_is_no_difference() {
    let judged = |design, a: u64, b: u64, step_ns| {
        let effect = effect(design, &[a; 12], &[b; 12], None, step_ns).unwrap();
        assert!(effect.p < SIGNIFICANCE);
        outcome(&effect, effect.p)
    };
    for design in [Design::Interleaved, Design::Apart] {
        // If the record has no value, a step is a nanosecond.
        for (a, b, step_ns) in [(21, 22, 0), (22, 21, 1), (40, 80, 40), (999, 1_000, 1)] {
            assert_eq!(judged(design, a, b, step_ns), Outcome::NoDifference, "{a} {b}");
        }
        assert_eq!(judged(design, 21, 23, 1), Outcome::Worse);
        assert_eq!(judged(design, 23, 21, 1), Outcome::Better);
        assert_eq!(judged(design, 40, 120, 40), Outcome::Worse);
    }
}

#[test]
fn too_few_runs_say_nothing() {
    let few = [1u64; RUNS_MIN - 1];
    assert_eq!(effect(Design::Apart, &few, &[2; 100], None, 1), None);
    assert_eq!(effect(Design::Interleaved, &[1; 8], &[2; 7], None, 1), None);
}

#[test]
fn many_runs_are_no_trouble() {
    let many: Vec<u64> = (0..1000).map(|at| 10_000 + at % 7).collect();
    let effect = effect(Design::Apart, &many, &times(&many, 1.01), None, 1).unwrap();
    assert_eq!(outcome(&effect, effect.p), Outcome::Worse);
}

proptest! {
    /// For any values: no panic, the estimate lies in its interval, and swapping A and B swaps the
    /// answer.
    #[test]
    fn turning_a_and_b_round_turns_the_answer_round(
        // At most nine, so that the test looks at every relabelling.
        a in prop::collection::vec(0u64..1_000_000_000_000, 6..10),
        shift in 1u64..1_000_000,
        apart: bool,
    ) {
        let design = if apart { Design::Apart } else { Design::Interleaved };
        let b: Vec<u64> = a.iter().rev().map(|value| value / 2 + shift).collect();
        let there = effect(design, &a, &b, None, 1).unwrap();
        let back = effect(design, &b, &a, None, 1).unwrap();
        prop_assert!(there.interval[0] <= there.change && there.change <= there.interval[1]);
        prop_assert!((0.0..=1.0).contains(&there.p));
        prop_assert!((there.p - back.p).abs() < 1e-9);
        let product = (1.0 + there.change) * (1.0 + back.change);
        prop_assert!((product - 1.0).abs() < 1e-6, "{product}");
    }
}

/// Adding a tenth of all messages counts the same whether few or many were disturbed before.
#[test]
fn what_adds_to_a_share_adds_as_much_to_any() {
    let before: Vec<u64> = (0..12).map(|run| 1_000 + run % 4 * 100_000 + run * 37).collect();
    let more: Vec<u64> = before.iter().map(|ppm| ppm + 100_000).collect();
    let (worse, _) = effect_on_share(Design::Interleaved, &before, &more, 1_000).unwrap();
    assert!((worse.change - 0.1).abs() < 1e-9, "{worse:?}");
    assert_eq!(worse.added_ns, 100_000);
    let quiet: Vec<u64> = (0..12).map(|run| 1_000 + run * 37).collect();
    let disturbed: Vec<u64> = quiet.iter().map(|ppm| ppm + 100_000).collect();
    let of = |a: &[u64], b: &[u64]| {
        let (effect, _) = effect_on_share(Design::Interleaved, a, b, 1_000).unwrap();
        direction(Scale::Points, &effect, effect.p).unwrap_or(Outcome::NoDifference)
    };
    assert_eq!(of(&quiet, &disturbed), Outcome::Worse);
    assert_eq!(of(&disturbed, &quiet), Outcome::Better);
    let hardly: Vec<u64> = quiet.iter().map(|ppm| ppm + 500).collect();
    assert_eq!(of(&quiet, &hardly), Outcome::NoDifference, "below the step");
    assert!(effect_on_share(Design::Interleaved, &quiet[..5], &quiet[..5], 0).is_none());
}

/// The machine changed its speed between the two runs of three pairs. Their differences say nothing
/// about A and B. In Wilcoxon's test they outvoted the other nine.
#[test]
fn pairs_across_a_change_of_the_machine_decide_nothing() {
    let mut a: Vec<u64> = (0..12).map(|at| 8_000 + at * 7 % 20).collect();
    let mut b = times(&a, 1.05);
    b[1] += 30;
    a[2] = a[2] * 14 / 10;
    a[7] = a[7] * 14 / 10;
    b[5] = b[5] * 14 / 10;
    let worse = effect(Design::Interleaved, &a, &b, None, 1).unwrap();
    assert_eq!(outcome(&worse, worse.p), Outcome::Worse, "{worse:?}");
    assert!(worse.interval[0] > 0.04 && worse.interval[1] < 0.06, "{worse:?}");
}

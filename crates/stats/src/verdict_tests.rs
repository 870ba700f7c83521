use super::*;

const METHOD: Method = Method {
    design: Design::Interleaved,
    scale: Scale::Factor,
    control: None,
    step: 1,
    is_first: true,
};

/// Runs that differ a little, with brackets that reach `below` and `above` each value, as shares.
fn runs(ns: u64, count: u64, below: f64, above: f64) -> Vec<RunFigure> {
    let of = |at: u64| {
        let value = ns + at * 7_919 % 41;
        let end = |share: f64| (value as f64 * (1.0 + share)) as u64;
        RunFigure { value, bracket: Some([end(-below), end(above)]) }
    };
    (0..count).map(of).collect()
}

fn judged(a: &[RunFigure], b: &[RunFigure]) -> (Difference, Outcome) {
    let difference = Difference::of(&METHOD, a, b).unwrap();
    let outcome = judge(&[vec![&difference]])[0][0].outcome;
    (difference, outcome)
}

/// Regression: no p50 held, so a factor of three was left out and the verdict was inconclusive.
#[test]
fn a_factor_of_three_is_found_where_no_figure_holds() {
    let (a, b) = (runs(8_000, 6, 0.4, 0.0), runs(24_000, 6, 0.4, 0.3));
    let (difference, outcome) = judged(&a, &b);
    assert_eq!(outcome, Outcome::Worse);
    assert_eq!((difference.held, difference.holds()), ([0, 0], false));
    let [low, high] = difference.range().unwrap();
    assert!(low > 0.7 && low < 0.9 && high > 5.0, "{low} {high}");
    assert_eq!(judged(&b, &a).1, Outcome::Better);
}

/// A looks slower, and disturbance of A's runs may have made all of it.
#[test]
fn a_difference_within_the_brackets_is_not_known() {
    let (a, b) = (runs(12_000, 8, 0.4, 0.0), runs(10_000, 8, 0.0, 0.0));
    assert_eq!(judged(&a, &b).1, Outcome::NotKnown);
    assert_eq!(judged(&b, &a).1, Outcome::NotKnown);
    let (a, b) = (runs(12_000, 8, 0.1, 0.0), runs(10_000, 8, 0.0, 0.0));
    assert_eq!(judged(&a, &b).1, Outcome::Better);
}

/// Figures that are close hide nothing only where they hold.
#[test]
fn what_is_close_is_no_difference_where_it_holds() {
    let (a, b) = (runs(10_000, 8, 0.01, 0.0), runs(10_003, 8, 0.01, 0.0));
    assert_eq!(judged(&a, &b).1, Outcome::NoDifference);
    let disturbed = runs(10_003, 8, 0.3, 0.0);
    assert_eq!(judged(&a, &disturbed).1, Outcome::NotKnown);
    let mut half = disturbed;
    half[..4].copy_from_slice(&b[..4]);
    assert_eq!(judged(&a, &half).1, Outcome::NoDifference);
}

#[test]
fn a_run_that_was_not_judged_leaves_the_answer_open() {
    let a = runs(8_000, 8, 0.0, 0.0);
    let mut b = runs(24_000, 8, 0.0, 0.0);
    assert_eq!(judged(&a, &b).1, Outcome::Worse);
    b[3].bracket = None;
    let (difference, outcome) = judged(&a, &b);
    assert_eq!((difference.range(), outcome), (None, Outcome::NotKnown));
}

/// Six pairs that all agree decide all figures of one candidate, but not those of two.
#[test]
fn candidates_are_corrected_for_each_other() {
    let (a, b) = (runs(8_000, 6, 0.0, 0.0), runs(24_000, 6, 0.0, 0.0));
    let one = Difference::of(&METHOD, &a, &b).unwrap();
    let alone = judge(&[vec![&one; 4]]);
    assert!(alone[0].iter().all(|one| one.outcome == Outcome::Worse), "{alone:?}");
    assert!((alone[0][0].p_adjusted - 2.0 / 64.0).abs() < 1e-12);
    let two = judge(&[vec![&one; 4], vec![&one; 4]]);
    assert!((two[1][3].p_adjusted - 4.0 / 64.0).abs() < 1e-12, "{two:?}");
    assert_eq!(two[0][0].outcome, Outcome::Inconclusive, "six pairs can't tell two candidates");
}

/// Regression: six pairs in which every p50 tripled were no evidence beside a noisy p99.
#[test]
fn what_other_figures_show_takes_no_evidence_from_the_first() {
    let (a, b) = (runs(8_000, 6, 0.0, 0.0), runs(24_000, 6, 0.0, 0.0));
    let p50 = Difference::of(&METHOD, &a, &b).unwrap();
    let method = Method { is_first: false, ..METHOD };
    let tails = [0b101_001, 0b010_110, 0b110_100].map(|signs: u64| {
        let noisy = |at: u64, run: &RunFigure| {
            let by = (at + 1) * 1_000;
            let value = if signs >> at & 1 == 1 { run.value + by } else { run.value - by };
            RunFigure::exact(value)
        };
        let b: Vec<RunFigure> = (0..).zip(&a).map(|(at, run)| noisy(at, run)).collect();
        Difference::of(&method, &a, &b).unwrap()
    });
    let figures: Vec<&Difference> = [&p50].into_iter().chain(&tails).collect();
    let verdicts = &judge(&[figures])[0];
    assert_eq!(verdicts[0].outcome, Outcome::Worse, "{verdicts:?}");
    assert!(verdicts[1..].iter().all(|one| !one.outcome.is_difference()), "{verdicts:?}");
}

#[test]
fn pairs_needed_are_the_fewest_that_can_decide() {
    assert_eq!([0, 1, 2, 3, 4].map(pairs_needed), [6, 6, 7, 8, 8]);
    for candidates in [1, 2, 5] {
        let needed = pairs_needed(candidates) as u64;
        let outcome = |pairs: u64| {
            let (a, b) = (runs(8_000, pairs, 0.0, 0.0), runs(24_000, pairs, 0.0, 0.0));
            let first = Difference::of(&METHOD, &a, &b).unwrap();
            let others = Method { is_first: false, ..METHOD };
            let other = Difference::of(&others, &a, &b).unwrap();
            judge(&vec![vec![&first, &other]; candidates])[0][0].outcome
        };
        assert_eq!(outcome(needed), Outcome::Worse, "{candidates}");
        if needed > RUNS_MIN as u64 {
            assert_eq!(outcome(needed - 1), Outcome::Inconclusive, "{candidates}");
        }
    }
}

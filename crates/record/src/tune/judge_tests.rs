use super::*;
use crate::{DisturbedShare, Kind, Percentiles, Subject};

/// A run with p50 `ns`, p99 twice that, and this disturbed share.
fn run(ns: u64, share: f64, holds_to: f64) -> RunRecord {
    let pooled =
        Percentiles { count: 5_000, p50: Some(ns), p99: Some(2 * ns), ..Percentiles::default() };
    let series = serde_json::json!({"name": "order", "kind": Kind::Response, "unit": "ns",
        "pooled": pooled, "holds_to": holds_to,
        "disturbed": [DisturbedShare { share, ..DisturbedShare::NONE }]});
    let series = serde_json::from_value(series).unwrap();
    let subject = Subject { name: "rust".to_owned(), series: vec![series], ..Subject::default() };
    serde_json::from_value(serde_json::json!({"schema": 2, "tool": "", "scenario": "s",
        "complete": true, "runs": 1, "warnings": [], "subjects": [subject]}))
    .unwrap()
}

/// Runs that differ a little, as on a real machine.
fn runs(ns: u64, share: f64, holds_to: f64) -> Vec<RunRecord> {
    let of = |at: u64| run(ns + (at * 7_919) % 40, share + (at * 31 % 17) as f64 * 1e-5, holds_to);
    (0..14).map(of).collect()
}

fn tried(a: &[RunRecord], b: &[RunRecord]) -> TriedSetting {
    TriedSetting {
        id: "x".to_owned(),
        pairs: a.len(),
        pairs_void: 0,
        seconds: 1.0,
        figures: figures(Design::Interleaved, a, b),
        outcome: Outcome::Inconclusive,
        why: String::new(),
    }
}

fn of<'a>(tried: &'a TriedSetting, figure: &str) -> &'a TriedFigure {
    tried.figures.iter().find(|one| one.figure == figure).unwrap()
}

#[test]
fn each_figure_has_a_verdict_or_a_reason() {
    let mut all = [tried(&runs(10_000, 0.0, 0.99), &runs(12_000, 0.0, 0.99))];
    corrected(Design::Interleaved, &mut all);
    let [one] = all;
    assert_eq!(one.outcome, Outcome::Worse, "{one:?}");
    assert_eq!((of(&one, "p50").outcome, of(&one, "p99").outcome), (one.outcome, one.outcome));
    let too_few = of(&one, "p99.9");
    assert_eq!((too_few.pairs, too_few.effect.is_none()), (0, true));
    assert!(too_few.why.contains("0 of 14 pairs"), "{}", too_few.why);
    assert!(too_few.why.contains("5000 messages a run are too few"), "{}", too_few.why);
    assert!(of(&one, NOISE_SHARE).why.contains("chance"), "{:?}", of(&one, NOISE_SHARE));
}

/// A setting that removes disturbance changes figures that did not hold without it. The noise share
/// shows the effect.
#[test]
fn a_figure_that_does_not_hold_is_not_compared_and_the_share_is() {
    let mut all = [tried(&runs(10_000, 0.4, 0.0), &runs(9_000, 0.001, 0.99))];
    corrected(Design::Interleaved, &mut all);
    let [one] = all;
    assert!(of(&one, "p50").effect.is_none());
    assert!(of(&one, "p50").why.contains("holds in 0 of 14 pairs"), "{}", of(&one, "p50").why);
    assert!(of(&one, "p50").why.contains("disturbed"));
    let share = of(&one, NOISE_SHARE);
    assert_eq!((share.outcome, share.unit), (Outcome::Better, Unit::Ppm));
    assert_eq!(one.outcome, Outcome::Better);
}

#[test]
fn a_thousandth_of_the_messages_is_no_change_of_the_share() {
    let mut all = [tried(&runs(10_000, 0.001, 0.99), &runs(10_000, 0.0015, 0.99))];
    corrected(Design::Interleaved, &mut all);
    let share = of(&all[0], NOISE_SHARE);
    assert_eq!(share.outcome, Outcome::Inconclusive, "{share:?}");
    assert!(share.why.contains("noise of 0.1 points"), "{}", share.why);
}

#[test]
fn few_pairs_are_no_verdict_and_say_so() {
    let (a, b) = (runs(10_000, 0.0, 0.99), runs(20_000, 0.0, 0.99));
    let five = tried(&a[..5], &b[..5]);
    assert!(of(&five, "p50").why.contains("5 pairs were made"), "{}", of(&five, "p50").why);
    // Six pairs decide one figure, but not thirty.
    let mut many: Vec<TriedSetting> = (0..10).map(|_| tried(&a[..6], &b[..6])).collect();
    corrected(Design::Interleaved, &mut many);
    assert_eq!(many[0].outcome, Outcome::Inconclusive);
    assert!(of(&many[0], "p50").why.contains("6 pairs are too few"), "{:?}", many[0]);
}

#[test]
fn one_worse_figure_decides() {
    let b = runs(9_000, 0.3, 0.99);
    let mut all = [tried(&runs(10_000, 0.0, 0.99), &b)];
    corrected(Design::Interleaved, &mut all);
    assert_eq!(all[0].outcome, Outcome::Worse);
    assert!(all[0].why.contains("although p50, p99 is better"), "{}", all[0].why);
}

/// Before and after a reboot: runs made apart.
#[test]
fn six_runs_of_each_tell_a_change_over_a_reboot() {
    let (a, b) = (runs(10_000, 0.0, 0.99), runs(8_000, 0.0, 0.99));
    let figures = figures(Design::Apart, &a[..6], &b[..6]);
    let mut all = [TriedSetting { figures, ..tried(&a[..6], &b[..6]) }];
    corrected(Design::Apart, &mut all);
    assert_eq!(of(&all[0], "p50").outcome, Outcome::Better, "{:?}", of(&all[0], "p50"));
    let figures = super::figures(Design::Apart, &a[..5], &b[..6]);
    assert!(figures[0].why.contains("5 runs of each"), "{}", figures[0].why);
}

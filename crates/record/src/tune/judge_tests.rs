use super::*;
use crate::{DisturbedShare, Disturber, Kind, Percentiles, Subject};

/// A run with p50 `ns`, p99 twice that, and this disturbed share.
fn run(ns: u64, share: f64, holds_to: f64) -> RunRecord {
    let pooled =
        Percentiles { count: 5_000, p50: Some(ns), p99: Some(2 * ns), ..Percentiles::default() };
    let series = serde_json::json!({"name": "order", "kind": Kind::Response, "unit": "ns",
        "pooled": pooled, "holds_to": holds_to,
        "disturbed": [DisturbedShare { share: Some(share), ..DisturbedShare::NONE }]});
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
    corrected(&mut all);
    let [one] = all;
    assert_eq!(one.outcome, Outcome::Worse, "{one:?}");
    assert_eq!((of(&one, "p50").outcome, of(&one, "p99").outcome), (one.outcome, one.outcome));
    let too_few = of(&one, "p99.9");
    assert_eq!((too_few.pairs, too_few.effect.is_none()), (0, true));
    assert!(too_few.why.contains("0 of 14 pairs"), "{}", too_few.why);
    assert!(too_few.why.contains("5000 messages a run are too few"), "{}", too_few.why);
    let share = of(&one, NOISE_SHARE);
    assert_eq!(share.outcome, Outcome::NoDifference);
    assert!(share.why.contains("chance"), "{share:?}");
}

/// A setting that removes disturbance changes figures that did not hold without it. Whether it
/// changes more is not known; the noise share shows the effect.
#[test]
fn what_disturbance_may_have_made_is_not_known_and_the_share_is() {
    let disturbed: Vec<RunRecord> = runs(10_000, 0.4, 0.0)
        .into_iter()
        .map(|mut run| {
            let series = &mut run.subjects[0].series[0];
            series.bracket = [("p50".to_owned(), [7_000, 10_000])].into();
            series.disturbed[0].preempted = Some(0.4);
            run.disturber = Some(Disturber { name: "stress".to_owned(), ..Disturber::default() });
            run
        })
        .collect();
    let mut all = [tried(&disturbed, &runs(9_000, 0.001, 0.99))];
    corrected(&mut all);
    let [one] = all;
    let p50 = of(&one, "p50");
    assert_eq!((p50.outcome, p50.pairs), (Outcome::NotKnown, 14), "{p50:?}");
    assert!(p50.why.contains("A, mostly by stress (does not hold in 14 of 14"), "{}", p50.why);
    let share = of(&one, NOISE_SHARE);
    assert_eq!((share.outcome, share.unit), (Outcome::Better, Unit::Ppm));
    assert_eq!(one.outcome, Outcome::Better);
}

/// Regression: a factor of two was left out where p50 did not hold.
#[test]
fn what_disturbance_cannot_have_made_is_found() {
    let bracketed = |ns: u64, low: u64, share: f64| -> Vec<RunRecord> {
        let with_bracket = |mut run: RunRecord| {
            let bracket = [("p50".to_owned(), [low, ns + 40])].into();
            run.subjects[0].series[0].bracket = bracket;
            run
        };
        runs(ns, share, 0.0).into_iter().map(with_bracket).collect()
    };
    let mut all = [tried(&bracketed(20_000, 17_000, 0.3), &bracketed(10_000, 8_000, 0.3))];
    corrected(&mut all);
    assert_eq!(of(&all[0], "p50").outcome, Outcome::Better, "{:?}", all[0]);
}

#[test]
fn a_thousandth_of_the_messages_is_no_change_of_the_share() {
    let mut all = [tried(&runs(10_000, 0.001, 0.99), &runs(10_000, 0.0015, 0.99))];
    corrected(&mut all);
    let share = of(&all[0], NOISE_SHARE);
    assert_eq!(share.outcome, Outcome::NoDifference, "{share:?}");
    assert!(share.why.contains("noise of 0.1 points"), "{}", share.why);
}

#[test]
fn few_pairs_are_no_verdict_and_say_so() {
    let (a, b) = (runs(10_000, 0.0, 0.99), runs(20_000, 0.0, 0.99));
    let five = tried(&a[..5], &b[..5]);
    assert!(of(&five, "p50").why.contains("5 pairs were made"), "{}", of(&five, "p50").why);
    // Six pairs decide one setting, but not ten.
    let mut many: Vec<TriedSetting> = (0..10).map(|_| tried(&a[..6], &b[..6])).collect();
    corrected(&mut many);
    assert_eq!(many[0].outcome, Outcome::Inconclusive);
    assert!(of(&many[0], "p50").why.contains("6 pairs are too few"), "{:?}", many[0]);
}

#[test]
fn one_worse_figure_decides() {
    let b = runs(9_000, 0.3, 0.99);
    let mut all = [tried(&runs(10_000, 0.0, 0.99), &b)];
    corrected(&mut all);
    assert_eq!(all[0].outcome, Outcome::Worse);
    assert!(all[0].why.contains("although p50, p99 is better"), "{}", all[0].why);
}

/// Before and after a reboot: runs made apart.
#[test]
fn six_runs_of_each_tell_a_change_over_a_reboot() {
    let (a, b) = (runs(10_000, 0.0, 0.99), runs(8_000, 0.0, 0.99));
    let figures = figures(Design::Apart, &a[..6], &b[..6]);
    let mut all = [TriedSetting { figures, ..tried(&a[..6], &b[..6]) }];
    corrected(&mut all);
    assert_eq!(of(&all[0], "p50").outcome, Outcome::Better, "{:?}", of(&all[0], "p50"));
    let figures = super::figures(Design::Apart, &a[..5], &b[..6]);
    assert!(figures[0].why.contains("5 runs of each"), "{}", figures[0].why);
}

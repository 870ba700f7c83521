//! The verdict of a comparison in words, the same for terminal, page and CI.

use crate::text::number::us;
use record::Percentiles;
use record::comparison::compared::ComparedFigure;
use record::comparison::{Arm, ArmSeries, Comparison};
use stats::median;
use stats::verdict::Outcome;

/// The first line of each candidate: the figures of A and the candidate, and the verdict.
pub fn headlines(comparison: &Comparison) -> Vec<String> {
    let of = |(letter, one): (char, &Comparison)| headline(letter, one, &comparison.a);
    comparison.candidates().map(of).collect()
}

/// The first line of the candidate `letter`; `a` is the arm with A's runs.
pub(crate) fn headline(letter: char, one: &Comparison, a: &Arm) -> String {
    let Some(figure) = one.main_figure() else {
        let medians = medians(a, &one.b).map(|([a, b], name)| values(letter, [a, b], &name));
        let lead = medians.map_or_else(String::new, |values| format!("{values}: "));
        return format!("{lead}INCONCLUSIVE, not judged");
    };
    let title = format!("{} {} {}", figure.series, figure.kind.name(), figure.figure);
    let lead = values(letter, figures(one, figure), &title);
    format!("{lead}: {}", verdict(letter, one.outcome, figure))
}

fn verdict(letter: char, outcome: Outcome, figure: &ComparedFigure) -> String {
    let change = figure.effect.change;
    let interval = ends(figure.effect.interval);
    match outcome {
        Outcome::Better => format!("{letter} is BETTER by {} ({interval})", percent(-change)),
        Outcome::Worse => format!("{letter} is WORSE by {} ({interval})", percent(change)),
        Outcome::NoDifference => {
            format!("no difference seen above {}", percent(figure.seen_above()))
        }
        Outcome::NotKnown => {
            let range = figure.range.map(ends);
            let range = range.map_or("anything".to_owned(), |range| range);
            format!(
                "NOT KNOWN: disturbed. {letter} measured {} ({interval}); the disturbance allows \
                 {range}",
                signed(change)
            )
        }
        Outcome::Inconclusive => format!("INCONCLUSIVE, {letter} measured {}", signed(change)),
    }
}

/// The verdict on one figure, for a column.
pub(crate) fn short_verdict(figure: &ComparedFigure) -> String {
    match figure.outcome {
        Outcome::Better => "better".to_owned(),
        Outcome::Worse => "WORSE".to_owned(),
        Outcome::NoDifference => format!("none > {}", percent(figure.seen_above())),
        Outcome::NotKnown => "not known".to_owned(),
        Outcome::Inconclusive => "-".to_owned(),
    }
}

/// The verdict on one figure in full words.
pub(crate) fn full_verdict(figure: &ComparedFigure) -> String {
    match figure.outcome {
        Outcome::NoDifference => {
            format!("no difference seen above {}", percent(figure.seen_above()))
        }
        outcome => outcome.name().to_owned(),
    }
}

/// A figure of A and of a candidate, us or `1.07x` for a ratio to the floor, with `?` where it does
/// not hold in half of the runs.
pub(crate) fn figures(one: &Comparison, figure: &ComparedFigure) -> [String; 2] {
    let of = |value: u64, arm: usize, runs: usize| {
        let fails = figure.held.is_some_and(|held| 2 * held[arm] < runs);
        let shown = match figure.is_ratio() {
            true => format!("{:.3}x", value as f64 / 1e6),
            false => us(value),
        };
        format!("{shown}{}", if fails { "?" } else { "" })
    };
    [of(figure.effect.a, 0, one.a.runs), of(figure.effect.b, 1, one.b.runs)]
}

fn values(letter: char, [a, b]: [String; 2], title: &str) -> String {
    let unit = |text: String| match text.split_once('?') {
        _ if text.contains(['s', 'x']) => text,
        Some((value, _)) => format!("{value} us?"),
        None => format!("{text} us"),
    };
    format!("A {}, {letter} {} ({title})", unit(a), unit(b))
}

/// The medians over runs of the first p50 that both have, for runs that were not judged.
fn medians(a: &Arm, b: &Arm) -> Option<([String; 2], String)> {
    let p50 = |series: &ArmSeries| median_of(series, |run| run.p50);
    a.series.iter().find_map(|of_a| {
        let same = |of_b: &&ArmSeries| (&of_b.series, of_b.kind) == (&of_a.series, of_a.kind);
        let of_b = b.series.iter().find(same)?;
        let title = format!("{} {} p50", of_a.series, of_a.kind.name());
        Some(([us(p50(of_a)?), us(p50(of_b)?)], title))
    })
}

/// The median of a percentile over the runs of a series; `None` if a run does not support it.
fn median_of(series: &ArmSeries, of: fn(&Percentiles) -> Option<u64>) -> Option<u64> {
    median(&series.runs.iter().map(of).collect::<Option<Vec<u64>>>()?)
}

/// p50 and p99 of the first series of an arm that has a p50, for runs that were not judged.
pub(crate) fn not_judged(arm: &Arm) -> Option<[String; 2]> {
    let of = |series: &ArmSeries| {
        let p99 = median_of(series, |run| run.p99);
        Some([us(median_of(series, |run| run.p50)?), p99.map_or_else(|| "-".to_owned(), us)])
    };
    arm.series.iter().find_map(of)
}

fn number(share: f64) -> String {
    let percent = share * 100.0;
    if percent.abs() < 9.95 { format!("{percent:.1}") } else { format!("{percent:.0}") }
}

fn percent(share: f64) -> String {
    format!("{} %", number(share))
}

fn signed(share: f64) -> String {
    let sign = if share < 0.0 { "" } else { "+" };
    format!("{sign}{}", percent(share))
}

fn ends(range: [f64; 2]) -> String {
    let [low, high] = range.map(|end| signed(end).trim_end_matches(" %").to_owned());
    format!("{low} to {high}")
}

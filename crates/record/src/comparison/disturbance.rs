//! Disturbance of the runs of a comparison.

use crate::text::counted;
use crate::{DisturbedShare, RunRecord, Series};
use stats::verdict::{Difference, Method, RunFigure};
use std::collections::BTreeMap;

/// A side is named as disturbed if its brackets are at least this share as wide as the other's.
const NAMED_FROM: f64 = 0.25;

/// A figure of one run, and what disturbed that run most.
#[derive(Clone, Debug)]
pub(crate) struct JudgedRun {
    pub figure: RunFigure,
    /// A program or another cause, or why the run was not judged; empty if nothing disturbed it.
    pub cause: String,
}

/// The difference of B's runs from A's. With `forced`, what disturbed them is ignored.
pub(crate) fn between(
    method: &Method,
    a: &[JudgedRun],
    b: &[JudgedRun],
    forced: bool,
) -> Option<Difference> {
    let figures = |runs: &[JudgedRun]| -> Vec<RunFigure> {
        let of = |run: &JudgedRun| match forced {
            true => RunFigure::exact(run.figure.value),
            false => run.figure,
        };
        runs.iter().map(of).collect()
    };
    Difference::of(method, &figures(a), &figures(b))
}

/// Main disturber of a run of `series`, or why it was not judged; empty if there is none.
pub(crate) fn disturbed_by(record: &RunRecord, series: &Series, run: usize) -> String {
    if !series.not_judged.is_empty() {
        return series.not_judged.clone();
    }
    let Some(share) = series.disturbed.get(run).filter(|one| one.share > Some(0.0)) else {
        return String::new();
    };
    let DisturbedShare { late, preempted, faulted, interrupted, .. } = *share;
    let program = record.disturber.as_ref().map_or("other threads", |one| one.name.as_str());
    let causes = [
        (preempted, program),
        (interrupted, "interrupts or the hypervisor"),
        (late, "orders that left late"),
        (faulted, "page faults"),
    ];
    let most = causes.into_iter().reduce(|most, one| if one.0 > most.0 { one } else { most });
    most.map_or_else(String::new, |(_, cause)| cause.to_owned())
}

/// Arms with disturbed runs, and the cause: `A, mostly by stress (does not hold in 5 of 6 runs)`.
/// Empty if neither was.
pub(crate) fn whose(a: &[JudgedRun], b: &[JudgedRun]) -> String {
    let sides = [("A", a, width(a)), ("B", b, width(b))];
    let widest = sides.iter().map(|(_, _, width)| *width).fold(0.0, f64::max);
    let named = |(name, runs, width): (&str, &[JudgedRun], f64)| -> Option<String> {
        if width == 0.0 || width < NAMED_FROM * widest {
            return None;
        }
        let (all, open) = (runs.len(), runs.iter().filter(|run| !run.figure.holds()).count());
        let unknown = runs.iter().any(|run| run.figure.bracket.is_none());
        let cause = usual(runs.iter().map(|run| run.cause.as_str()), unknown);
        Some(match unknown {
            true => format!("{name}, not judged{cause}"),
            false => format!("{name}{cause} (does not hold in {open} of {})", counted(all, "run")),
        })
    };
    sides.into_iter().filter_map(named).collect::<Vec<_>>().join("; ")
}

/// How far apart the ends of the brackets are, as a mean of logarithms. A run that was not judged
/// may be anywhere.
fn width(runs: &[JudgedRun]) -> f64 {
    let of = |run: &JudgedRun| match run.figure.bracket {
        Some([low, high]) => (high.max(1) as f64 / low.max(1) as f64).ln(),
        None => f64::INFINITY,
    };
    runs.iter().map(of).sum::<f64>() / runs.len().max(1) as f64
}

/// The most frequent cause.
fn usual<'a>(causes: impl Iterator<Item = &'a str>, unknown: bool) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for cause in causes.filter(|cause| !cause.is_empty()) {
        *counts.entry(cause).or_default() += 1;
    }
    match counts.into_iter().max_by_key(|(_, count)| *count) {
        None => String::new(),
        Some((cause, _)) if unknown => format!(": {cause}"),
        Some((cause, _)) => format!(", mostly by {cause}"),
    }
}

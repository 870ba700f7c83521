//! The two speeds of a machine: which second of each run lay in which regime, by the medians of the
//! floor and of the series itself. docs/METHODOLOGY.md says when there are two.
//!
//! See docs/decisions/022-regimes-and-ratios.md.

use crate::hlog::{HlogError, Totals, slices};
use crate::series::InRegime;
use crate::{Kind, Percentiles, Series, Subject};
use stats::percentiles;
use stats::regimes::{Regime, Regimes};
use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

/// The latencies of one run in the fast regime and in the slow one; only of series that have both.
pub type ByRegime = [Totals; 2];

/// Finds the regimes of every timed series that has a floor, and of the floors; `open` reads the
/// log of each run. Sets `regimes` of these series, and widens their brackets to span both. Returns
/// each run's latencies by regime, or nothing if the machine had one speed.
///
/// A series has two regimes only if its floor has them too: else they may be its own.
///
/// # Errors
/// If a log can't be read.
pub fn find<R: BufRead>(
    subjects: &mut [Subject],
    runs: usize,
    open: impl Fn(usize) -> std::io::Result<R>,
) -> Result<Vec<ByRegime>, HlogError> {
    let open = |run| open(run).map_err(|error| HlogError::of(&error));
    let medians: Vec<BTreeMap<String, Vec<Option<u64>>>> =
        (0..runs).map(|run| slices::medians(open(run)?)).collect::<Result<_, _>>()?;
    let split = |tag: &String| {
        let of_runs = medians.iter().filter_map(|run| run.get(tag));
        Regimes::split(&of_runs.flatten().copied().flatten().collect::<Vec<u64>>())
    };
    let found: BTreeMap<String, Regimes> = candidates(subjects, &split)
        .iter()
        .filter_map(|tag| Some((tag.clone(), split(tag)?)))
        .collect();
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let part = |run: usize, tag: &str, place: usize| {
        let median = (*medians[run].get(tag)?.get(place)?)?;
        Some(match found.get(tag)?.of(median)? {
            Regime::Fast => 0,
            Regime::Slow => 1,
        })
    };
    let by_regime: Vec<ByRegime> = (0..runs)
        .map(|run| slices::in_two_parts(open(run)?, |tag, place| part(run, tag, place)))
        .collect::<Result<_, _>>()?;
    for subject in subjects {
        for series in &mut subject.series {
            let tag = tag(&subject.name, series);
            if found.contains_key(&tag) {
                let places = |run: usize| medians[run].get(&tag).map_or(0, Vec::len);
                let slices = (0..runs).flat_map(|run| (0..places(run)).map(move |at| (run, at)));
                let parts: Vec<Option<usize>> =
                    slices.map(|(run, at)| part(run, &tag, at)).collect();
                series.set_regimes(&parts, &tag, &by_regime);
            }
        }
    }
    Ok(by_regime)
}

/// Tag of a series in a log.
pub(crate) fn tag(subject: &str, series: &Series) -> String {
    format!("{subject}.{}", series.own_tag())
}

/// Tags of the timed series of references, and of subjects whose floor has two regimes.
fn candidates(
    subjects: &[Subject],
    split: &impl Fn(&String) -> Option<Regimes>,
) -> BTreeSet<String> {
    let mut tags = BTreeSet::new();
    for subject in subjects {
        let floor = subjects.iter().find(|floor| floor.is_floor_of(subject));
        for series in &subject.series {
            if !matches!(series.kind, Kind::Response | Kind::Service) {
                continue;
            }
            let may = match (subject.is_reference(), floor) {
                (true, _) => true,
                (false, None) => false,
                (false, Some(floor)) => split(&tag(&floor.name, series)).is_some(),
            };
            if may {
                tags.insert(tag(&subject.name, series));
            }
        }
    }
    tags
}

impl Series {
    /// Sets its figures in both regimes; `parts` is the regime of each of its slices.
    fn set_regimes(&mut self, parts: &[Option<usize>], tag: &str, by_regime: &[ByRegime]) {
        let figures = |(at, regime): (usize, Regime)| {
            let mut all = clock::recorder::histogram();
            for part in by_regime.iter().filter_map(|run| run[at].get(tag)) {
                all.add(part).expect("read with the same bounds");
            }
            let slices = parts.iter().filter(|part| **part == Some(at)).count();
            let share = slices as f64 / parts.len().max(1) as f64;
            InRegime { regime, slices: slices as u32, share, figures: percentiles(&all).0 }
        };
        self.regimes = [Regime::Fast, Regime::Slow].into_iter().enumerate().map(figures).collect();
        let figures: Vec<Percentiles> = self.regimes.iter().map(|one| one.figures).collect();
        self.widen(&figures);
    }
}

#[cfg(test)]
#[path = "regimes_tests.rs"]
mod tests;

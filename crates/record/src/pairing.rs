//! Pairs each series with the same of its floor, run by run and regime by regime.

use crate::hlog::Totals;
use crate::over_floor::{Halves, OverFloor, Pair};
use crate::regimes::{ByRegime, tag};
use crate::{Kind, Percentiles, RunRecord, Series, Subject};
use hdrhistogram::Histogram;
use stats::bracket::{Half, paired_brackets};
use stats::regimes::Regime;
use stats::{PERCENTILES, percentile};
use std::collections::BTreeMap;

/// Why the figures of a record before schema 3 are not judged.
const BEFORE_SCHEMA_3: &str = "a record of before schema 3 does not say how far each of its runs was disturbed at a percentile";

/// Sets `over_floor` of every timed series that has a floor. `runs` are the latencies of each run,
/// `by_regime` the same by regime; it is empty if the machine had one.
///
/// Halves of different regimes are never paired.
pub fn pair(subjects: &mut [Subject], runs: &[&Totals], by_regime: &[ByRegime]) {
    set(subjects, |ours, floor| {
        let tags = [tag(&ours.0.name, ours.1), tag(&floor.0.name, floor.1)];
        let both = |totals: &'_ Totals| tags.iter().all(|tag| totals.contains_key(tag));
        let has_regimes = !ours.1.regimes.is_empty() && !floor.1.regimes.is_empty();
        let mut pairs = Vec::new();
        for (at, whole) in runs.iter().enumerate() {
            let parts: Vec<(Option<Regime>, &Totals)> = match by_regime.get(at) {
                Some([fast, slow]) if has_regimes => {
                    vec![(Some(Regime::Fast), fast), (Some(Regime::Slow), slow)]
                }
                _ => vec![(None, *whole)],
            };
            for (regime, totals) in parts.into_iter().filter(|(_, totals)| both(totals)) {
                let half = |series: &Series, tag: &str| {
                    let share = series.disturbed.get(at).and_then(|one| one.known()).unwrap_or(1.0);
                    (totals[tag].clone(), share, series.moves)
                };
                let halves = halves(&half(ours.1, &tags[0]), &half(floor.1, &tags[1]));
                if halves.contains_key("p50") {
                    pairs.push(Pair { run: at as u32 + 1, regime, halves });
                }
            }
        }
        let reasons = [&ours.1.not_judged, &floor.1.not_judged];
        let reason = reasons.into_iter().find(|reason| !reason.is_empty()).cloned();
        (pairs, reason.unwrap_or_default())
    });
}

type HalfOf = (Histogram<u64>, f64, stats::bracket::Moves);

/// Every percentile that both samples support, except where the floor's is 0.
fn halves(ours: &HalfOf, floor: &HalfOf) -> BTreeMap<String, Halves> {
    fn half((sample, share, moves): &HalfOf) -> Half<'_> {
        Half { sample, share: *share, moves: *moves }
    }
    let of = |(name, quantile): (&str, f64)| {
        let (value, below) = (percentile(&ours.0, quantile)?, percentile(&floor.0, quantile)?);
        let brackets = paired_brackets(half(ours), half(floor), quantile);
        let (ratio_bracket, added_bracket) = brackets.unzip();
        let halves = Halves { ours: value, floor: below, ratio_bracket, added_bracket };
        (below > 0).then(|| (name.to_owned(), halves))
    };
    PERCENTILES.into_iter().filter_map(of).collect()
}

/// Sets it in a record that was written before schema 3, from its runs; not judged.
pub(crate) fn derive(record: &mut RunRecord) {
    set(&mut record.subjects, |(_, ours), (_, floor)| {
        let runs = ours.per_run.iter().zip(&floor.per_run).enumerate();
        let has_both =
            |(ours, floor): (&Percentiles, &Percentiles)| ours.count > 0 && floor.count > 0;
        let pairs = runs.filter(|(_, both)| has_both(*both)).map(|(at, (ours, floor))| {
            let values = ours.values().into_iter().zip(floor.values());
            let halves = PERCENTILES.iter().zip(values).filter_map(|((name, _), both)| {
                let (ours, floor) = both.0.zip(both.1.filter(|floor| *floor > 0))?;
                Some(((*name).to_owned(), Halves { ours, floor, ..Halves::default() }))
            });
            Pair { run: at as u32 + 1, regime: None, halves: halves.collect() }
        });
        (pairs.collect(), BEFORE_SCHEMA_3.to_owned())
    });
}

/// Sets the pairs, and why they are not judged, of every timed series that has a floor.
fn set(
    subjects: &mut [Subject],
    pairs: impl Fn((&Subject, &Series), (&Subject, &Series)) -> (Vec<Pair>, String),
) {
    let mut found = Vec::new();
    for (at, subject) in subjects.iter().enumerate() {
        let floor = subjects.iter().find(|below| below.is_below(subject));
        // Requests have no floor: they are what is the floor of orders.
        let bare = || subjects.iter().find(|below| !subject.is_bare() && below.is_bare_of(subject));
        let Some(below) = floor.or_else(bare) else { continue };
        for (of, series) in subject.series.iter().enumerate() {
            let floor = below.series(&series.name, series.kind);
            let is_timed = matches!(series.kind, Kind::Response | Kind::Service);
            let Some(floor) = floor.filter(|_| is_timed) else { continue };
            let (pairs, not_judged) = pairs((subject, series), (below, floor));
            if !pairs.is_empty() {
                found.push((at, of, OverFloor::of(below.name.clone(), pairs, not_judged)));
            }
        }
    }
    for (at, of, over) in found {
        subjects[at].series[of].over_floor = Some(over);
    }
}

/// The pairs of the same series in several records, joined; `runs` gives part and run of each run
/// of the whole. `None` if one of the records lacks them.
pub(crate) fn joined<'a>(
    parts: impl Iterator<Item = Option<&'a Series>>,
    runs: &[(usize, usize)],
) -> Option<OverFloor> {
    let parts = parts.map(|series| series?.over_floor.as_ref());
    let parts: Vec<&OverFloor> = parts.collect::<Option<_>>()?;
    let mut pairs = Vec::new();
    for (at, (part, run)) in runs.iter().enumerate() {
        let of_run = parts[*part].pairs.iter().filter(|pair| pair.run as usize == run + 1);
        pairs.extend(of_run.map(|pair| Pair { run: at as u32 + 1, ..pair.clone() }));
    }
    let reason = parts.iter().find(|part| !part.not_judged.is_empty());
    let reason = reason.map_or(String::new(), |part| part.not_judged.clone());
    Some(OverFloor::of(parts.first()?.floor.clone(), pairs, reason))
}

#[cfg(test)]
#[path = "pairing_tests.rs"]
mod tests;

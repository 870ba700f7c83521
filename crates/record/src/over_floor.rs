//! A series beside the same of its floor: ratio and difference are figures of their own, from pairs
//! of the same run. docs/METHODOLOGY.md says when they hold.

use crate::engine::EMPTY_DISPATCH;
use crate::hlog::Totals;
use crate::regimes::{ByRegime, tag};
use crate::{Kind, Percentiles, RunRecord, Series, Subject};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use stats::bracket::{Half, WIDTH_SHARE_MAX, paired_brackets};
use stats::regimes::Regime;
use stats::{PERCENTILES, median_ranks, percentile};
use std::collections::BTreeMap;

/// Why the figures of a record before schema 3 are not judged.
const BEFORE_SCHEMA_3: &str = "a record of before schema 3 does not say how far each of its runs was disturbed at a percentile";

/// A series over its floor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct OverFloor {
    /// The subject below it: a floor, or for a floor the bare echo.
    pub floor: String,
    /// The two halves of each run, and of each regime in it, that has both.
    pub pairs: Vec<Pair>,
    /// Per percentile that all pairs have, the figures over pairs.
    pub figures: BTreeMap<String, PairedPercentile>,
    /// The highest percentile up to which all ratios hold, as a rank from 0 to 1; 0 if that of p50
    /// does not hold; `None` if it can't be judged.
    pub holds_to: Option<f64>,
    /// Why it can't be judged; empty if it can.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub not_judged: String,
}

/// A series and its floor in one run, or in one regime of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Pair {
    /// The run, from 1.
    pub run: u32,
    /// The machine's regime; `None` if it had one, and both halves are the whole run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regime: Option<Regime>,
    /// By percentile.
    pub halves: BTreeMap<String, Halves>,
}

/// A percentile in both halves of a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Halves {
    /// The series' own, ns.
    pub ours: u64,
    /// The floor's, ns.
    pub floor: u64,
    /// The two values between which the undisturbed ratio lies; `None` if unknown.
    pub ratio_bracket: Option<[f64; 2]>,
    /// The two values between which the undisturbed difference lies, ns; `None` if unknown.
    pub added_bracket: Option<[i64; 2]>,
}

/// A percentile over its floor, over all pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PairedPercentile {
    /// Median of the floor's halves, ns.
    pub floor: u64,
    /// Median of the ratios.
    pub ratio: f64,
    /// A confidence interval of at least 95 % for it; `None` with fewer than six pairs.
    pub ratio_interval: Option<[f64; 2]>,
    /// Between the lower quartile of the brackets' lower ends and the upper quartile of the upper.
    pub ratio_bracket: Option<[f64; 2]>,
    /// Median of the differences, ns.
    pub added: i64,
    /// As `ratio_interval`, ns.
    pub added_interval: Option<[i64; 2]>,
    /// As `ratio_bracket`, ns.
    pub added_bracket: Option<[i64; 2]>,
}

impl Subject {
    /// Whether it is the floor of `subject`: the same way, cores and class.
    pub fn is_floor_of(&self, subject: &Subject) -> bool {
        // The empty dispatch is the floor of every engine.
        let same_backend = self.backend == subject.backend || self.backend == EMPTY_DISPATCH;
        let same_way = same_backend && self.wrapper == subject.wrapper;
        let same_place = self.cores == subject.cores && self.scheduling == subject.scheduling;
        let same_bytes = self.tls == subject.tls && self.dialect == subject.dialect;
        let same_feed = self.feed == subject.feed;
        self.is_floor() && same_way && same_place && same_bytes && same_feed
    }

    fn is_bare_of(&self, floor: &Subject) -> bool {
        self.is_bare()
            && (&self.backend, &self.wrapper) == (&floor.backend, &floor.wrapper)
            && (&self.cores, &self.scheduling) == (&floor.cores, &floor.scheduling)
            && (self.tls, &self.dialect, &self.feed) == (floor.tls, &floor.dialect, &floor.feed)
    }

    /// Whether it is the reference right below `subject`.
    fn is_below(&self, subject: &Subject) -> bool {
        match subject.is_floor() {
            true => self.is_bare_of(subject),
            false => !subject.is_bare() && self.is_floor_of(subject),
        }
    }
}

impl OverFloor {
    /// The figures of these pairs; `not_judged` says why no pair could be judged, if so.
    pub(crate) fn of(floor: String, pairs: Vec<Pair>, not_judged: String) -> OverFloor {
        let mut over =
            OverFloor { floor, pairs, figures: BTreeMap::new(), holds_to: None, not_judged };
        let judged = over.not_judged.is_empty() && !over.pairs.is_empty();
        let (mut holds_to, mut all_hold) = (0.0, true);
        for (name, quantile) in PERCENTILES {
            let halves = over.pairs.iter().map(|pair| pair.halves.get(name).copied());
            // The remaining pairs would be biased.
            let Some(halves) = halves.collect::<Option<Vec<Halves>>>() else { break };
            let Some(figure) = PairedPercentile::of(&halves) else { break };
            all_hold &= figure.holds();
            if all_hold {
                holds_to = quantile;
            }
            over.figures.insert(name.to_owned(), figure);
        }
        over.holds_to = (judged && !over.figures.is_empty()).then_some(holds_to);
        over
    }

    /// The figures of the run `run`, from 1: of its one pair, or of one for each regime in it.
    pub(crate) fn of_run(&self, run: u32) -> BTreeMap<String, PairedPercentile> {
        let pairs = self.pairs.iter().filter(|pair| pair.run == run).cloned().collect();
        OverFloor::of(String::new(), pairs, String::new()).figures
    }

    /// Whether the ratio at the percentile of rank `quantile` holds.
    pub fn holds(&self, quantile: f64) -> bool {
        self.holds_to.is_some_and(|to| quantile <= to)
    }
}

impl PairedPercentile {
    /// `None` without pairs.
    fn of(halves: &[Halves]) -> Option<PairedPercentile> {
        let ratios = halves.iter().map(|pair| pair.ours as f64 / pair.floor as f64);
        let ratios: Vec<f64> = sorted(ratios, f64::total_cmp);
        let added = halves.iter().map(|pair| pair.ours.cast_signed() - pair.floor.cast_signed());
        let added: Vec<i64> = sorted(added, i64::cmp);
        let floors: Vec<u64> = halves.iter().map(|pair| pair.floor).collect();
        let ranks = median_ranks(halves.len());
        let (low, high) = (halves.len().checked_sub(1)? / 2, halves.len() / 2);
        Some(PairedPercentile {
            floor: stats::median(&floors)?,
            ratio: f64::midpoint(ratios[low], ratios[high]),
            ratio_interval: ranks.map(|ends| ends.map(|rank| ratios[rank])),
            ratio_bracket: quartiles(halves, |pair| pair.ratio_bracket, f64::total_cmp),
            added: added[low].midpoint(added[high]),
            added_interval: ranks.map(|ends| ends.map(|rank| added[rank])),
            added_bracket: quartiles(halves, |pair| pair.added_bracket, i64::cmp),
        })
    }

    /// Whether its bracket is narrower than a tenth of it.
    fn holds(&self) -> bool {
        self.ratio_bracket.is_some_and(|[low, high]| high - low <= self.ratio * WIDTH_SHARE_MAX)
    }
}

fn sorted<T>(values: impl Iterator<Item = T>, order: fn(&T, &T) -> std::cmp::Ordering) -> Vec<T> {
    let mut values: Vec<T> = values.collect();
    values.sort_by(order);
    values
}

/// Between the lower quartile of the lower ends and the upper quartile of the upper ones: one pair
/// in four may lie anywhere. `None` if the bracket of any pair is unknown.
fn quartiles<T: Copy>(
    halves: &[Halves],
    bracket: fn(&Halves) -> Option<[T; 2]>,
    order: fn(&T, &T) -> std::cmp::Ordering,
) -> Option<[T; 2]> {
    let brackets: Vec<[T; 2]> = halves.iter().map(bracket).collect::<Option<_>>()?;
    let end = |end: usize| sorted(brackets.iter().map(|bracket| bracket[end]), order);
    let quarter = brackets.len() / 4;
    Some([*end(0).get(quarter)?, *end(1).iter().nth_back(quarter)?])
}

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
#[path = "over_floor_tests.rs"]
mod tests;

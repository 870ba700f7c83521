//! Time that the software adds to the raw echo of the same bytes on the same cores: in each run,
//! because a machine may change its regime between runs, and the median over runs.

use crate::text::words::Unit;
use record::engine::EMPTY_DISPATCH;
use record::{Kind, Percentiles, RunRecord, Series, Subject};
use stats::median;

/// One series of a subject beside the same of its floor.
pub(crate) struct Added<'a> {
    pub subject: &'a str,
    pub series: &'a Series,
    /// Spread of its latencies: p90 - p50.
    pub spread_ns: Option<u64>,
    pub p50: Option<Over>,
    pub p99: Option<Over>,
}

/// A percentile against the floor's.
pub(crate) struct Over {
    pub floor: u64,
    pub added_ns: i64,
    pub ratio: f64,
}

/// Every timed series of every subject over its floor, then of every floor over the bare echo below
/// it.
pub(crate) fn added(record: &RunRecord) -> Vec<Added<'_>> {
    let mut rows = Vec::new();
    let subjects = record.subjects.iter().filter(|subject| !subject.is_reference());
    let floors = record.subjects.iter().filter(|subject| subject.is_floor());
    let below = |subject: &Subject| {
        record.subjects.iter().find(|other| match subject.is_floor() {
            true => is_bare_of(other, subject),
            false => is_floor_of(other, subject),
        })
    };
    let floors = floors.filter(|floor| below(floor).is_some());
    for subject in subjects.chain(floors) {
        let floor = below(subject);
        let timed = |series: &&Series| matches!(series.kind, Kind::Response | Kind::Service);
        for series in subject.series.iter().filter(timed) {
            let under = floor.and_then(|floor| floor.series(&series.name, series.kind));
            let over = |percentile: fn(&Percentiles) -> Option<u64>| {
                Over::paired(series, under?, percentile)
            };
            let both_hold = |quantile| {
                series.holds(quantile) && under.is_some_and(|under| under.holds(quantile))
            };
            let p50 = over(|percentiles| percentiles.p50).filter(|_| both_hold(0.5));
            let p99 = over(|percentiles| percentiles.p99).filter(|_| both_hold(0.99));
            let (middle, ninety) = (series.pooled.p50, series.pooled.p90);
            let spread_ns = middle.zip(ninety).map(|(p50, p90)| p90.saturating_sub(p50));
            rows.push(Added { subject: &subject.name, series, spread_ns, p50, p99 });
        }
    }
    rows
}

pub(crate) fn is_floor_of(floor: &Subject, subject: &Subject) -> bool {
    // The empty dispatch is the floor of every engine.
    let same_way = floor.backend == subject.backend || floor.backend == EMPTY_DISPATCH;
    let same_place = floor.cores == subject.cores && floor.scheduling == subject.scheduling;
    floor.is_floor() && same_way && same_place && floor.tls == subject.tls
}

fn is_bare_of(bare: &Subject, floor: &Subject) -> bool {
    bare.is_bare()
        && (&bare.backend, &bare.cores, &bare.scheduling, bare.tls)
            == (&floor.backend, &floor.cores, &floor.scheduling, floor.tls)
}

impl Over {
    fn paired(
        ours: &Series,
        floor: &Series,
        percentile: fn(&Percentiles) -> Option<u64>,
    ) -> Option<Over> {
        let pairs: Option<Vec<(u64, u64)>> = ours
            .per_run
            .iter()
            .zip(&floor.per_run)
            .map(|(ours, floor)| Some((percentile(ours)?, percentile(floor)?)))
            .collect();
        let pairs = pairs.filter(|pairs| pairs.iter().all(|(_, floor)| *floor > 0))?;
        let floors: Vec<u64> = pairs.iter().map(|(_, floor)| *floor).collect();
        let mut added: Vec<i64> =
            pairs.iter().map(|(ours, floor)| ours.cast_signed() - floor.cast_signed()).collect();
        added.sort_unstable();
        let (low, high) = ((pairs.len().checked_sub(1)?) / 2, pairs.len() / 2);
        let (floor, added_ns) = (median(&floors)?, added[low].midpoint(added[high]));
        // From the two figures beside it: a median of ratios could contradict them.
        let ratio = (floor as f64 + added_ns as f64) / floor as f64;
        Some(Over { floor, added_ns, ratio })
    }

    /// The floor, the time above it, and the ratio of both.
    pub(crate) fn cells(&self, unit: Unit) -> [String; 3] {
        let sign = if self.added_ns < 0 { '-' } else { '+' };
        let added = format!("{sign}{}", (unit.show)(self.added_ns.unsigned_abs()));
        [(unit.show)(self.floor), added, format!("{:.2}x", self.ratio)]
    }
}

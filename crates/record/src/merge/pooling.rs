//! From runs to one figure: pools series by histogram and adds up loads.

use crate::hlog::Totals;
use crate::processor::Processor;
use crate::tick::{INTERVALS, STAGES};
use crate::{
    BetweenZones, Datagrams, DisturbedShare, KernelStamped, Kind, Load, Moves, Percentiles, Series,
};
use hdrhistogram::Histogram;
use stats::{PERCENTILES, RUNS_FOR_INTERVAL_MIN, median_interval, percentiles};
use std::collections::BTreeMap;

/// Every series of `subject` over all runs, orders first. A run that lacks a series has an empty
/// one, so that runs keep their positions. With fewer than `runs_planned` runs there is no
/// interval.
///
/// `judging` gives the disturbed share of each.
pub fn series(
    subject: &str,
    runs: &[&Totals],
    runs_planned: u32,
    judging: &FigureJudge<'_>,
) -> Vec<Series> {
    let empty = clock::recorder::histogram();
    let mut by_series: BTreeMap<(String, Kind), Vec<&Histogram<u64>>> = BTreeMap::new();
    for (at, run) in runs.iter().enumerate() {
        for (tag, histogram) in *run {
            if let Some(name_and_kind) = series_of(tag, subject) {
                let of_runs =
                    by_series.entry(name_and_kind).or_insert_with(|| vec![&empty; runs.len()]);
                of_runs[at] = histogram;
            }
        }
    }
    let mut series: Vec<Series> = by_series
        .into_iter()
        .map(|((name, kind), runs)| pooled(name, kind, &runs, runs_planned, judging))
        .collect();
    series.sort_by_key(rank);
    series
}

/// Orders, then cancels, cycles, pings, intervals of the tick path, all others, and stages last.
fn rank(series: &Series) -> (bool, usize) {
    let intervals = INTERVALS.iter().map(|interval| interval.name);
    let place = match series.kind {
        Kind::Stage => STAGES.iter().position(|stage| stage.name == series.name),
        _ => ["order", "cancel", "cycle", "ping"]
            .into_iter()
            .chain(intervals)
            .position(|name| name == series.name),
    };
    (series.kind == Kind::Stage, place.unwrap_or(usize::MAX))
}

/// Name and kind of the series with this tag in a log, if it belongs to `subject`.
pub fn series_of(tag: &str, subject: &str) -> Option<(String, Kind)> {
    let rest = tag.strip_prefix(subject)?.strip_prefix('.')?;
    let (name, kind) = rest.rsplit_once('.')?;
    Some((name.to_owned(), Kind::from_name(kind)?))
}

/// How to judge the figures of a subject's series.
pub struct FigureJudge<'a> {
    /// The disturbed share of a series in the run with this index.
    pub disturbed: &'a dyn Fn(&str, Kind, usize) -> DisturbedShare,
    /// The direction in which disturbance may move a series' values.
    pub moves: &'a dyn Fn(&str, Kind) -> Moves,
    /// The machine changed in between, so each bracket includes the figures of every run.
    pub spread: bool,
}

impl FigureJudge<'static> {
    /// For series that can't be disturbed.
    pub const UNDISTURBED: FigureJudge<'static> = FigureJudge {
        disturbed: &|_, _, _| DisturbedShare::NONE,
        moves: &|_, _| Moves::Up,
        spread: false,
    };
}

fn pooled(
    name: String,
    kind: Kind,
    runs: &[&Histogram<u64>],
    runs_planned: u32,
    judging: &FigureJudge<'_>,
) -> Series {
    let mut all = clock::recorder::histogram();
    for run in runs {
        all.add(*run).expect("read with the same bounds");
    }
    let (pooled, uncertain) = percentiles(&all);
    let per_run: Vec<Percentiles> = runs.iter().map(|run| percentiles(run).0).collect();
    let interval = intervals(&per_run, runs_planned);
    let disturbed = (0..runs.len()).map(|run| (judging.disturbed)(&name, kind, run)).collect();
    let mut series = Series {
        moves: (judging.moves)(&name, kind),
        name,
        kind,
        unit: "ns".to_owned(),
        pooled,
        uncertain,
        per_run,
        interval,
        bracket: BTreeMap::new(),
        holds_to: None,
        not_judged: String::new(),
        over_floor: None,
        regimes: Vec::new(),
        disturbed,
    };
    series.judge(&all, judging.spread);
    series
}

/// Per percentile, the interval for the median over runs; none if a run lacks the percentile,
/// because the remaining runs would be biased.
fn intervals(per_run: &[Percentiles], runs_planned: u32) -> BTreeMap<String, [u64; 2]> {
    let mut intervals = BTreeMap::new();
    for (index, (percentile, _)) in PERCENTILES.iter().enumerate() {
        let values: Vec<u64> = per_run.iter().filter_map(|run| run.values()[index]).collect();
        if values.len() == runs_planned as usize
            && let Some(bounds) = median_interval(&values)
        {
            intervals.insert((*percentile).to_owned(), bounds);
        }
    }
    intervals
}

/// A warning if `runs` are too few for an interval.
pub fn too_few_runs(runs: usize) -> Option<String> {
    (runs < RUNS_FOR_INTERVAL_MIN).then(|| {
        let what = if runs == 1 { "run gives" } else { "runs give" };
        format!(
            "{runs} {what} no confidence interval. Add --set runs=6: the range of six runs is the \
             first that covers the median with 95 %."
        )
    })
}

/// The load of several runs: adds up the counts, averages the rates and keeps the worst lateness.
pub fn load(loads: &[Load]) -> Load {
    let Some(first) = loads.first() else { return Load::default() };
    // Records from elsewhere may hold any number.
    let sum = |part: fn(&Load) -> u64| loads.iter().map(part).fold(0, u64::saturating_add);
    let mean = |part: fn(&Load) -> f64| loads.iter().map(part).sum::<f64>() / loads.len() as f64;
    let lateness = loads.iter().filter_map(|load| load.lateness_ns_p99);
    Load {
        model: first.model.clone(),
        rate_per_second_offered: first.rate_per_second_offered,
        rate_per_second_achieved: mean(|load| load.rate_per_second_achieved),
        sent: sum(|load| load.sent),
        received: sum(|load| load.received),
        lost: sum(|load| load.lost),
        conflated: sum(|load| load.conflated),
        duplicated: sum(|load| load.duplicated),
        out_of_order: sum(|load| load.out_of_order),
        overtakes: sum(|load| load.overtakes),
        rejected: sum(|load| load.rejected),
        unexpected: sum(|load| load.unexpected),
        held_back: sum(|load| load.held_back),
        blocks_late: sum(|load| load.blocks_late),
        datagrams: datagrams(loads),
        stamped: stamped(loads),
        outages: loads.iter().flat_map(|load| load.outages.clone()).collect(),
        between_zones: between_zones(loads),
        message_bytes: first.message_bytes,
        warm_up_sent: sum(|load| load.warm_up_sent),
        lateness_ns_p99: lateness.max().filter(|_| first.rate_per_second_offered.is_some()),
        context_switches_involuntary: sum(|load| load.context_switches_involuntary),
        page_faults: sum(|load| load.page_faults),
        between: loads.iter().flat_map(|load| load.between.clone()).collect(),
        processor: processor(loads),
        packets_dropped: packets_dropped(loads),
        stacks: stacks(loads),
        codec: loads.iter().flat_map(|load| load.codec.clone()).collect(),
        bulk: loads.iter().flat_map(|load| load.bulk.clone()).collect(),
        engine: loads.iter().flat_map(|load| load.engine.clone()).collect(),
        fan_out: loads.iter().flat_map(|load| load.fan_out.clone()).collect(),
        tick: loads.iter().flat_map(|load| load.tick.clone()).collect(),
        runtime: loads.iter().flat_map(|load| load.runtime.clone()).collect(),
    }
}

/// The processor time of all runs; `None` if one lacks it.
fn processor(loads: &[Load]) -> Option<Processor> {
    let all: Option<Vec<Processor>> = loads.iter().map(|load| load.processor.clone()).collect();
    all?.into_iter().reduce(|sum, one| sum.and(&one))
}

/// Dropped packets of all runs; `None` if one did not count them.
fn packets_dropped(loads: &[Load]) -> Option<u64> {
    loads.iter().try_fold(0, |sum: u64, load| Some(sum.saturating_add(load.packets_dropped?)))
}

/// Packets between the zones in all runs; `None` if one did not count them.
fn between_zones(loads: &[Load]) -> Option<BetweenZones> {
    loads.iter().try_fold(BetweenZones::default(), |sum, load| {
        let BetweenZones { packets, dropped } = load.between_zones?;
        Some(BetweenZones {
            packets: sum.packets.saturating_add(packets),
            dropped: sum.dropped.saturating_add(dropped),
        })
    })
}

/// The stacks of all runs, each once.
fn stacks(loads: &[Load]) -> Vec<String> {
    let mut all: Vec<String> = loads.iter().flat_map(|load| load.stacks.clone()).collect();
    all.sort();
    all.dedup();
    all
}

/// The datagrams of all runs: adds up the late ones, and keeps the shortest time of waiting.
fn datagrams(loads: &[Load]) -> Option<Datagrams> {
    let of_runs = loads.iter().filter_map(|load| load.datagrams);
    of_runs.reduce(|sum, run| Datagrams {
        patience_ns: sum.patience_ns.min(run.patience_ns),
        late: sum.late.saturating_add(run.late),
    })
}

/// The stamped messages of all runs: adds them up, and keeps the worst bound.
fn stamped(loads: &[Load]) -> Option<KernelStamped> {
    let of_runs = loads.iter().filter_map(|load| load.stamped.clone());
    of_runs.reduce(|sum, run| sum.and(&run))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_between_zones_add_up_unless_a_run_did_not_count_them() {
        let run = |between_zones| Load { between_zones, ..Load::default() };
        let counted = |packets, dropped| run(Some(BetweenZones { packets, dropped }));
        let both = [counted(100, 3), counted(50, 1)];
        let sum = Some(BetweenZones { packets: 150, dropped: 4 });
        assert_eq!(super::load(&both).between_zones, sum);
        assert_eq!(super::load(&[counted(100, 3), run(None)]).between_zones, None);
    }

    #[test]
    fn stamped_messages_of_runs_add_up_and_the_worst_bound_stays() {
        let run = |messages, by_card, bound_ns| Load {
            stamped: Some(KernelStamped {
                messages,
                by_card,
                card_bound_ns: (by_card > 0).then_some(bound_ns),
                bound_ns,
                clock_steps: 1,
            }),
            ..Load::default()
        };
        let both = load(&[run(3, 0, 90), Load::default(), run(4, 1, 70)]).stamped.unwrap();
        let expected = KernelStamped {
            messages: 7,
            by_card: 1,
            card_bound_ns: Some(70),
            bound_ns: 90,
            clock_steps: 2,
        };
        assert_eq!((both.source(), both), ("software and hardware", expected));
        assert_eq!(load(&[Load::default()]).stamped, None);
    }

    /// Runs are paired by position, so the position must not shift.
    #[test]
    fn a_run_without_a_series_keeps_its_place() {
        let run = |tag: &str, ns: u64| {
            let mut samples = clock::recorder::histogram();
            samples.record_n(ns, 100).unwrap();
            Totals::from([(tag.to_owned(), samples)])
        };
        let mut runs: Vec<Totals> = (0..7).map(|at| run("a.order.service", 1_000 + at)).collect();
        runs[2] = run("a.cancel.service", 5);
        let runs: Vec<&Totals> = runs.iter().collect();
        let series = series("a", &runs, 7, &FigureJudge::UNDISTURBED);
        let p50 = |of: usize| -> Vec<Option<u64>> {
            series[of].per_run.iter().map(|run| run.p50).collect()
        };
        assert_eq!(series[0].name, "order");
        assert_eq!(series[0].pooled.count, 600);
        assert_eq!(
            p50(0),
            [Some(1_000), Some(1_001), None, Some(1_003), Some(1_004), Some(1_005), Some(1_006)]
        );
        assert_eq!(series[0].per_run[2], Percentiles::default());
        assert!(series[0].interval.is_empty(), "one of the runs is missing");
        assert_eq!(p50(1), [None, None, Some(5), None, None, None, None]);
    }
}

//! The share of disturbed ticks, from the stamps of each tick and the occupancy of both cores.

use crate::evidence::moment::{Moment, on_clock};
use ipc_bench::judge::{DisturbedShares, FAULT_NS};
use noise::occupancy::{CoreOccupancy, OccupancyResult};
use record::Kind;
use record::tick::{INTERVALS, Point, STAGES, Sample};
use stats::touch::Touch;
use std::collections::BTreeMap;

/// The share of the ticks in each series, by its name and kind, that met a window or a fault, or
/// that waited behind one that did. The two moments enclose the run. Empty if the occupancy is not
/// exact: then the sums are all there is.
pub(crate) fn of_ticks(
    samples: &[Sample],
    occupancy: &OccupancyResult,
    (start, end): (Moment, Moment),
) -> BTreeMap<String, DisturbedShares> {
    if !occupancy.cores.iter().all(CoreOccupancy::is_exact) {
        return BTreeMap::new();
    }
    let on = |ns| on_clock(start, end, ns);
    let windows = occupancy.cores.iter().flat_map(|core| &core.windows);
    let windows: Vec<(u64, u64)> = windows.map(|one| (on(one.start_ns), on(one.end_ns))).collect();
    let faults = occupancy.cores.iter().flat_map(|core| &core.faults);
    let faults: Vec<(u64, u64)> = faults.map(|ns| (on(*ns), on(*ns) + FAULT_NS)).collect();
    let (windows, faults) = (Touch::new(windows), Touch::new(faults));
    let next = |from: Point| STAGES.get(from as usize + 1).map_or(Point::Replied, |next| next.from);
    let stages = STAGES.iter().map(|one| (one.name, Kind::Stage, one.from, next(one.from)));
    let intervals = INTERVALS.iter().map(|one| (one.name, one.kind, one.from, one.to));
    stages
        .chain(intervals)
        .filter_map(|(name, kind, from, to)| {
            let spans = spans(samples, from, to);
            let share = |mut touch: Touch| {
                let touched = spans.iter().filter(|(from, to)| touch.touches(*from, *to)).count();
                touched as f64 / spans.len() as f64
            };
            let touched = DisturbedShares {
                preempted: share(windows.clone()),
                faulted: share(faults.clone()),
            };
            let is_known = !spans.is_empty();
            is_known.then(|| (format!("{name}.{}", kind.name()), touched))
        })
        .collect()
}

/// The time of each tick between two points, in order; ticks without both stamps are left out.
fn spans(samples: &[Sample], from: Point, to: Point) -> Vec<(u64, u64)> {
    let span = |sample: &Sample| {
        let (from, to) = (sample.stamps[from as usize], sample.stamps[to as usize]);
        (from > 0 && to > 0).then_some((from, to.max(from)))
    };
    let mut spans: Vec<(u64, u64)> = samples.iter().filter_map(span).collect();
    spans.sort_unstable();
    spans
}

#[cfg(test)]
mod tests {
    use super::*;
    use noise::occupancy::{Name, Window};

    /// 100 ns a stage, a tick each 10 us; the trader's clock is 1 s ahead of the kernel's.
    #[test]
    fn a_tick_counts_in_the_series_that_a_window_met() {
        let sample = |number: u64| Sample {
            number,
            stamps: std::array::from_fn(|point| {
                1_000_000_000 + 10_000 * number + 100 * point as u64
            }),
        };
        let samples: Vec<Sample> = (1..=1_000).map(sample).collect();
        // While tick 7 is between 200 and 350 ns old, between its second and its fourth point.
        let window = Window { start_ns: 70_210, end_ns: 70_350, by: Name::UNKNOWN };
        // Tick 9 is on its way for 1 300 ns; a fault may last until tick 9 is there, and longer.
        let core = CoreOccupancy {
            windows: vec![window],
            faults: vec![91_250],
            ..CoreOccupancy::default()
        };
        let occupancy = OccupancyResult { cores: vec![core], ..OccupancyResult::default() };
        let moment = |ns| Moment { clock_ns: 1_000_000_000 + ns, monotonic_ns: ns };
        let found = of_ticks(&samples, &occupancy, (moment(0), moment(20_000_000)));
        let expected = DisturbedShares { preempted: 0.001, faulted: 0.001 };
        assert_eq!(found["tick_to_ack.response"], expected);
        assert_eq!(found["network_in.stage"], DisturbedShares { preempted: 0.001, faulted: 0.0 });
        assert_eq!(found["publish.stage"], DisturbedShares::default());
        assert_eq!(found["network_back.stage"], DisturbedShares { preempted: 0.0, faulted: 0.001 });
        assert_eq!(found.len(), STAGES.len() + INTERVALS.len());
    }

    #[test]
    fn what_was_not_stamped_is_not_known() {
        let occupancy = OccupancyResult::default();
        let moment = Moment { clock_ns: 0, monotonic_ns: 0 };
        let mut sample = Sample { number: 1, stamps: [5; record::tick::POINTS] };
        sample.stamps[Point::GatewayIn as usize] = 0;
        let found = of_ticks(&[sample], &occupancy, (moment, moment));
        assert!(!found.contains_key("tick_to_gateway.response"));
        assert!(found.contains_key("tick_to_trade.service"));
    }
}

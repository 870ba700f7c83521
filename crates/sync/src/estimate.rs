//! The estimate: the offset if both directions of a path take equally long.

use crate::bracket::Brackets;
use crate::probe::{Origin, Probe};

/// Batches of a window, each of which gives one value.
pub const BATCHES: usize = 16;
/// Student's t for 95 % and `BATCHES - 2` degrees of freedom, since a line takes two.
const T_95: f64 = 2.144_787;
/// Scales a median of absolute deviations to the sigma of a normal distribution.
const MAD_TO_SIGMA: f64 = 1.4826;

/// The offset in a window, if both directions take equally long. Where they don't, it is wrong by
/// half the difference, and its interval doesn't say so: [`Brackets`] does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The instant of A's clock that it is of, in nanoseconds.
    pub at_ns: i64,
    /// The estimate in nanoseconds.
    pub offset_ns: i64,
    /// The 95 % interval, from how batches of the window differ from a line.
    pub interval_ns: [i64; 2],
    /// The drift in the window, in parts of one.
    pub drift: f64,
}

impl Estimate {
    /// Half the interval's width in nanoseconds.
    pub fn error_ns(&self) -> f64 {
        self.interval_ns[1].abs_diff(self.interval_ns[0]) as f64 / 2.0
    }
}

/// One estimate for each `length_ns` of the probing, in order. None where a batch has no reply, or
/// where `brackets` has an instant without a bracket in it, such as a step.
pub fn estimates(probes: &[Probe], brackets: &Brackets, length_ns: i64) -> Vec<Estimate> {
    let mut whole: Vec<Probe> = probes.iter().filter(|one| one.reply.is_some()).copied().collect();
    whole.sort_by_key(|probe| probe.sent_ns);
    let (Some(first), Some(last)) = (whole.first(), whole.last()) else { return Vec::new() };
    let (start, end) = (first.sent_ns, last.sent_ns);
    let windows = (end - start) / length_ns.max(BATCHES as i64);
    (0..windows)
        .filter_map(|window| {
            let from = start + window * length_ns;
            let probes = &whole[whole.partition_point(|probe| probe.sent_ns < from)..];
            let probes =
                &probes[..probes.partition_point(|probe| probe.sent_ns < from + length_ns)];
            let to = probes.iter().filter_map(|probe| Some(probe.reply?.received_ns)).max()?;
            let drift = brackets.drift_near(from + length_ns / 2);
            brackets.covers(from, to).then(|| of_window(probes, drift, from, length_ns)).flatten()
        })
        .collect()
}

/// A line through the middle of the fastest round trip of each batch. `drift` only decides which is
/// the fastest: B's clock measured how long B kept a request.
fn of_window(probes: &[Probe], drift: f64, from_ns: i64, length_ns: i64) -> Option<Estimate> {
    let origin = Origin::of(probes)?;
    let mut fastest: [Option<(f64, Probe)>; BATCHES] = [None; BATCHES];
    for probe in probes {
        let batch = (probe.sent_ns - from_ns) * BATCHES as i64 / length_ns;
        let best = &mut fastest[usize::try_from(batch).ok()?.min(BATCHES - 1)];
        let round_trip = probe.round_trip()?.at(drift);
        if best.is_none_or(|(fastest, _)| round_trip < fastest) {
            *best = Some((round_trip, *probe));
        }
    }
    let mut points = [(0.0, 0.0); BATCHES];
    for (point, fastest) in points.iter_mut().zip(fastest) {
        let (_, probe) = fastest?;
        let reply = probe.reply?;
        let high = origin.offset(probe.sent_ns, probe.received_ns);
        let low = origin.offset(reply.received_ns, reply.sent_ns);
        *point = (
            f64::midpoint(origin.at(probe.sent_ns), origin.at(reply.received_ns)),
            f64::midpoint(high, low),
        );
    }
    let line = FittedLine::through(&points);
    let square: f64 = points.iter().map(|&(at, offset)| (offset - line.value(at)).powi(2)).sum();
    let n = BATCHES as f64;
    let error = T_95 * (square / (n - 2.0) / n).sqrt();
    Some(Estimate {
        at_ns: origin.instant_ns(line.at),
        offset_ns: origin.low_ns(line.offset.round()),
        interval_ns: [origin.low_ns(line.offset - error), origin.high_ns(line.offset + error)],
        drift: line.slope,
    })
}

/// A line by least squares: its value at the mean instant.
struct FittedLine {
    at: f64,
    offset: f64,
    slope: f64,
}

impl FittedLine {
    fn through(points: &[(f64, f64)]) -> FittedLine {
        let n = points.len() as f64;
        let at = points.iter().map(|point| point.0).sum::<f64>() / n;
        let offset = points.iter().map(|point| point.1).sum::<f64>() / n;
        let spread: f64 = points.iter().map(|point| (point.0 - at).powi(2)).sum();
        let common: f64 = points.iter().map(|point| (point.0 - at) * (point.1 - offset)).sum();
        let slope = if spread > 0.0 { common / spread } else { 0.0 };
        FittedLine { at, offset, slope }
    }

    fn value(&self, at: f64) -> f64 {
        self.offset + self.slope * (at - self.at)
    }
}

/// How much two clocks wander against each other: the robust sigma, in nanoseconds, of how far the
/// offset of a window lies from the line between its two neighbours, whose noise it includes.
/// `None` below five estimates.
pub fn wander_ns(estimates: &[Estimate]) -> Option<f64> {
    if estimates.len() < 5 {
        return None;
    }
    let from_neighbours = estimates.windows(3).filter_map(|three| {
        let [before, here, after] = three else { return None };
        let whole = (after.at_ns - before.at_ns) as f64;
        let share = (here.at_ns - before.at_ns) as f64 / whole;
        let expected = (after.offset_ns - before.offset_ns) as f64 * share;
        Some((here.offset_ns - before.offset_ns) as f64 - expected)
    });
    let mut sizes: Vec<f64> = from_neighbours.map(f64::abs).collect();
    sizes.sort_by(f64::total_cmp);
    // The three values have weights 1, 1/2 and 1/2: a sigma of sqrt(3/2) of each.
    Some(MAD_TO_SIGMA * sizes[sizes.len() / 2] / 1.5_f64.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64, offset_ns: i64) -> Estimate {
        let at_ns = second * 1_000_000_000;
        Estimate { at_ns, offset_ns, interval_ns: [offset_ns; 2], drift: 0.0 }
    }

    #[test]
    fn a_steady_drift_is_no_wander_and_too_few_windows_say_nothing() {
        let steady: Vec<Estimate> = (0..9).map(|second| at(second, 50_000 * second)).collect();
        assert_eq!(wander_ns(&steady), Some(0.0));
        assert_eq!(wander_ns(&steady[..4]), None);
        // Up and down by 100 ns: 200 from the line between the neighbours.
        let shaken: Vec<Estimate> =
            (0..9).map(|second| at(second, 100 * (1 - 2 * (second % 2)))).collect();
        let wander = wander_ns(&shaken).unwrap();
        assert!((wander - MAD_TO_SIGMA * 200.0 / 1.5_f64.sqrt()).abs() < 1e-9, "{wander}");
    }
}

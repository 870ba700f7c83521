//! What the stamps of a run are worth, and the series that they make.

use measure::record::Kind;
use measure::recorder::{self, INTERVAL_NS, Interval, Series};
use measure::tick::{INTERVALS, POINTS, Point, STAGES, Sample};
use measure::utc::Time;
use std::io::{self, Write};
use std::time::SystemTime;

/// The points that the exchange stamps.
const AT_EXCHANGE: [Point; 7] = [
    Point::Intended,
    Point::Acknowledged,
    Point::Published,
    Point::GatewayIn,
    Point::EngineIn,
    Point::EngineOut,
    Point::GatewayOut,
];
/// Without these a way is not known from end to end. The others are not stamped everywhere: not by a kernel without receive stamps, nor by the
/// floor, whose ticks nobody acknowledged.
const NEEDED: [Point; 7] = [
    Point::Intended,
    Point::Published,
    Point::Read,
    Point::Sent,
    Point::GatewayIn,
    Point::GatewayOut,
    Point::Replied,
];

/// What the samples of a run are worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Judged {
    /// Known from end to end.
    pub(crate) whole: u64,
    /// Of these, with a stamp before the one it must follow.
    pub(crate) out_of_order: u64,
    /// Of these, whose stages are not as long as the whole.
    pub(crate) not_adding_up: u64,
}

/// Looks at each sample; those that are whole and in order stay, in the order of their orders.
pub(crate) fn judge(samples: &mut Vec<Sample>, time: &Time) -> Judged {
    let mut judged = Judged::default();
    samples.retain_mut(|sample| {
        if NEEDED.iter().any(|point| sample.stamps[*point as usize] == 0) {
            return false;
        }
        judged.whole += 1;
        within_bound(sample, time.kernel_bound_ns);
        let in_order = is_in_order(sample, time);
        judged.out_of_order += u64::from(!in_order);
        let adds_up = !time.same_clock || adds_up(sample);
        judged.not_adding_up += u64::from(!adds_up);
        in_order && adds_up
    });
    judged
}

/// The kernel's stamp was laid on our clock, and may be off by so much: it lies no further out than its neighbours.
fn within_bound(sample: &mut Sample, bound_ns: u64) {
    let [published, kernel, read] = [Point::Published, Point::KernelReceived, Point::Read]
        .map(|point| sample.stamps[point as usize]);
    let settled = if kernel == 0 {
        0
    } else if kernel < published && published - kernel <= bound_ns {
        published
    } else if kernel > read && kernel - read <= bound_ns {
        read
    } else {
        kernel
    };
    sample.stamps[Point::KernelReceived as usize] = settled;
}

/// The points that were stamped, in order.
fn stamped(sample: &Sample) -> impl Iterator<Item = usize> + '_ {
    (0..POINTS).filter(|point| sample.stamps[*point] > 0)
}

fn is_at_exchange(point: usize) -> bool {
    AT_EXCHANGE.iter().any(|at_exchange| *at_exchange as usize == point)
}

/// Whether no stamp lies before the one that it must follow. Between two machines that is not known.
fn is_in_order(sample: &Sample, time: &Time) -> bool {
    let pairs = stamped(sample).zip(stamped(sample).skip(1));
    pairs
        .filter(|(from, to)| are_comparable(*from, *to, time))
        .all(|(from, to)| sample.stamps[to] >= sample.stamps[from])
}

fn are_comparable(from: usize, to: usize, time: &Time) -> bool {
    time.same_clock || is_at_exchange(from) == is_at_exchange(to)
}

/// Whether the stages, as they are recorded, are as long as the whole.
fn adds_up(sample: &Sample) -> bool {
    let at = |point: usize| sample.stamps[point];
    let pairs = stamped(sample).zip(stamped(sample).skip(1));
    let sum: u64 = pairs.map(|(from, to)| at(to).saturating_sub(at(from))).sum();
    let (first, last) = (stamped(sample).next(), stamped(sample).last());
    first.zip(last).is_none_or(|(first, last)| sum == at(last).saturating_sub(at(first)))
}

/// What becomes a series: every interval, every stage.
fn series() -> Vec<(Series, usize, usize)> {
    let intervals = INTERVALS.iter().map(|interval| {
        let (from, to) = (interval.from as usize, interval.to as usize);
        (Series::new(interval.name, interval.kind), from, to)
    });
    let stages = STAGES.iter().map(|stage| {
        let from = stage.from as usize;
        (Series::new(stage.name, Kind::Stage), from, from + 1)
    });
    intervals.chain(stages).collect()
}

/// Writes the samples, which are in order of their sending, as an HdrHistogram log with an interval a second.
///
/// # Errors
/// What the log says.
pub(crate) fn write_log(
    samples: &[Sample],
    time: &Time,
    subject: &str,
    log: &mut dyn Write,
    started: SystemTime,
    start_ns: u64,
) -> io::Result<()> {
    let all = series();
    let names: Vec<Series> = all.iter().map(|(series, ..)| series.clone()).collect();
    let mut rest = samples;
    let mut begin_ns = start_ns;
    let mut next = |interval: Option<Box<Interval>>| {
        let (first, _) = rest.split_first()?;
        let sent = |sample: &Sample| sample.stamps[Point::Sent as usize];
        // Seconds without any are left out.
        let empty_seconds = sent(first).saturating_sub(begin_ns) / INTERVAL_NS;
        begin_ns += empty_seconds * INTERVAL_NS;
        let end_ns = begin_ns + INTERVAL_NS;
        let (now, later) =
            rest.split_at(rest.partition_point(|sample| sent(sample) < end_ns).max(1));
        rest = later;
        let mut interval = interval.unwrap_or_else(|| {
            let histograms = all.iter().map(|_| recorder::histogram()).collect();
            Box::new(Interval { start_ns: 0, end_ns: 0, histograms })
        });
        interval.histograms.iter_mut().for_each(hdrhistogram::Histogram::reset);
        (interval.start_ns, interval.end_ns) = (begin_ns, end_ns);
        for sample in now {
            for (histogram, (_, from, to)) in interval.histograms.iter_mut().zip(&all) {
                let [from_ns, to_ns] = [from, to].map(|point| sample.stamps[*point]);
                if from_ns > 0 && to_ns > 0 && are_comparable(*from, *to, time) {
                    histogram.saturating_record(to_ns.saturating_sub(from_ns));
                }
            }
        }
        begin_ns = end_ns;
        Some(interval)
    };
    recorder::write_log(&names, subject, log, started, start_ns, &|| (), &mut next)
}

#[cfg(test)]
#[path = "tick_samples_tests.rs"]
mod tests;

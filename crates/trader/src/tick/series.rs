//! Checks the stamps of a run, and makes series of them.

use clock::recorder::{self, INTERVAL_NS, Interval, Series};
use clock::time_base::one_way;
use clock::utc::Time;
use plan::tables::one_way::OneWay;
use record::Kind;
use record::tick::{AT_EXCHANGE, INTERVALS, POINTS, Point, STAGES, Sample};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::time::SystemTime;

/// A sample without one of these does not cover the whole path. The others may be missing: a kernel
/// may not stamp, and the floor has no acknowledgement.
const NEEDED: [Point; 7] = [
    Point::Intended,
    Point::Published,
    Point::Read,
    Point::Sent,
    Point::GatewayIn,
    Point::GatewayOut,
    Point::Replied,
];

/// The outcome of the checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SampleChecks {
    /// Samples of the whole path.
    pub(crate) whole: u64,
    /// Samples with a stamp before the one that it must follow.
    pub(crate) out_of_order: u64,
    /// Samples whose stages don't add up to the whole.
    pub(crate) not_adding_up: u64,
}

/// Checks each sample, and keeps those that are whole and in order.
pub(crate) fn judge(samples: &mut Vec<Sample>, time: &Time) -> SampleChecks {
    let mut judged = SampleChecks::default();
    samples.retain_mut(|sample| {
        if NEEDED.iter().any(|point| sample.stamps[*point as usize] == 0) {
            return false;
        }
        judged.whole += 1;
        within_bound(sample, time);
        let in_order = is_in_order(sample, time);
        judged.out_of_order += u64::from(!in_order);
        let adds_up = adds_up(sample, time);
        judged.not_adding_up += u64::from(!adds_up);
        in_order && adds_up
    });
    judged
}

/// Moves the kernel's converted stamp to its neighbour on our clock if it lies beyond by at most
/// its error bound.
fn within_bound(sample: &mut Sample, time: &Time) {
    let [published, kernel, read] = [Point::Published, Point::KernelReceived, Point::Read]
        .map(|point| sample.stamps[point as usize]);
    // Without a bound there is no stamp of the kernel either.
    let bound_ns = time.kernel_bound_ns.unwrap_or(0);
    let settled = if kernel == 0 {
        0
    } else if time.same_clock && kernel < published && published - kernel <= bound_ns {
        published.min(read)
    } else if kernel > read && kernel - read <= bound_ns {
        read
    } else {
        kernel
    };
    sample.stamps[Point::KernelReceived as usize] = settled;
}

/// The points with a stamp, in order.
fn stamped(sample: &Sample) -> impl Iterator<Item = usize> + '_ {
    (0..POINTS).filter(|point| sample.stamps[*point] > 0)
}

fn is_at_exchange(point: usize) -> bool {
    AT_EXCHANGE.iter().any(|at_exchange| *at_exchange as usize == point)
}

/// How far a stamp of one point may be off from one of the other; `None`: unknown.
fn apart_ns(from: usize, to: usize, time: &Time) -> Option<u64> {
    if time.same_clock || is_at_exchange(from) == is_at_exchange(to) {
        return Some(0);
    }
    let is_kernels = |point: usize| point == Point::KernelReceived as usize;
    let kernel_ns = if is_kernels(from) || is_kernels(to) { time.kernel_bound_ns? } else { 0 };
    Some(time.exchange_bound_ns?.saturating_add(kernel_ns))
}

/// Whether no stamp lies before the one that it must follow, as far as the clocks can tell.
fn is_in_order(sample: &Sample, time: &Time) -> bool {
    stamped(sample).zip(stamped(sample).skip(1)).all(|(from, to)| {
        apart_ns(from, to, time).is_none_or(|apart_ns| {
            sample.stamps[to].saturating_add(apart_ns) >= sample.stamps[from]
        })
    })
}

/// Whether the recorded stages add up to the whole. A negative stage between two clocks is recorded
/// as 0.
fn adds_up(sample: &Sample, time: &Time) -> bool {
    let at = |point: usize| sample.stamps[point];
    let pairs = || stamped(sample).zip(stamped(sample).skip(1));
    let sum: u64 = pairs().map(|(from, to)| at(to).saturating_sub(at(from))).sum();
    let allowed: Option<u64> = pairs().map(|(from, to)| apart_ns(from, to, time)).sum();
    let (first, last) = (stamped(sample).next(), stamped(sample).last());
    let whole = first.zip(last).map_or(0, |(first, last)| at(last).saturating_sub(at(first)));
    allowed.is_none_or(|allowed| sum.abs_diff(whole) <= allowed)
}

/// All series: every interval, every stage.
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

/// The series with an end that another machine stamped: tag, both ends, and the largest error of
/// their values, which may be unknown.
fn between_clocks<'a>(
    samples: &'a [Sample],
    time: &'a Time,
) -> impl Iterator<Item = (String, [usize; 2], Option<u64>)> + 'a {
    let is_stamped = |point: &usize| samples.iter().any(|sample| sample.stamps[*point] > 0);
    series().into_iter().filter_map(move |(series, from, to)| {
        // A stage whose end has no stamp is joined with the next one.
        let to = match series.kind {
            Kind::Stage => (to..POINTS).find(is_stamped)?,
            _ => to,
        };
        let error_ns = apart_ns(from, to, time);
        (error_ns != Some(0)).then(|| (series.own_tag(), [from, to], error_ns))
    })
}

/// The series between two clocks that are omitted, with the reason: an exchange on another machine
/// stamped one end, and its clock may be off by more than a tenth of the measured length, or by an
/// unknown time.
pub(crate) fn withheld(samples: &[Sample], time: &Time, shown: OneWay) -> BTreeMap<String, String> {
    let reason = |(tag, [from, to], error_ns): (String, [usize; 2], Option<u64>)| {
        let why = one_way(median(samples, from, to)?, error_ns).err()?;
        let is_shown = shown == OneWay::Bracket && error_ns.is_some();
        (!is_shown).then(|| (tag, why.to_string()))
    };
    between_clocks(samples, time).filter_map(reason).collect()
}

/// The largest error of the values of each series between two clocks that is not omitted.
pub(crate) fn errors_ns(samples: &[Sample], time: &Time) -> BTreeMap<String, u64> {
    let given = |(tag, [from, to], error_ns): (String, [usize; 2], Option<u64>)| {
        median(samples, from, to)?;
        let is_given = !time.refused.contains_key(&tag);
        Some((tag, error_ns.filter(|_| is_given)?))
    };
    between_clocks(samples, time).filter_map(given).collect()
}

/// Median of the length between two points; `None` if no sample has both.
fn median(samples: &[Sample], from: usize, to: usize) -> Option<u64> {
    let has_both = |sample: &&Sample| sample.stamps[from] > 0 && sample.stamps[to] > 0;
    let length = |sample: &Sample| sample.stamps[to].saturating_sub(sample.stamps[from]);
    let mut lengths: Vec<u64> = samples.iter().filter(has_both).map(length).collect();
    let middle = lengths.len() / 2;
    (!lengths.is_empty()).then(|| *lengths.select_nth_unstable(middle).1)
}

/// Series of some samples that don't begin and end at their points.
#[derive(Default)]
pub(crate) struct ExtraSeries {
    pub(crate) series: Vec<Series>,
    /// The values of these by the number of a sample, ns.
    pub(crate) lengths: HashMap<u64, Vec<Option<u64>>>,
}

/// Writes the samples, in order of sending, as an HdrHistogram log with one interval per second,
/// and the series beside them.
///
/// # Errors
/// If the log can't be written.
pub(crate) fn write_log(
    (samples, asides): (&[Sample], &[ExtraSeries]),
    withheld: &BTreeMap<String, String>,
    subject: &str,
    log: &mut dyn Write,
    started: SystemTime,
    start_ns: u64,
) -> io::Result<()> {
    let mut all = series();
    all.retain(|(series, ..)| !withheld.contains_key(&series.own_tag()));
    let mut names: Vec<Series> = all.iter().map(|(series, ..)| series.clone()).collect();
    let asides: Vec<&ExtraSeries> =
        asides.iter().filter(|aside| !aside.lengths.is_empty()).collect();
    names.extend(asides.iter().flat_map(|aside| aside.series.iter().cloned()));
    let mut rest = samples;
    let mut begin_ns = start_ns;
    let mut next = |interval: Option<Box<Interval>>| {
        let (first, _) = rest.split_first()?;
        let sent = |sample: &Sample| sample.stamps[Point::Sent as usize];
        // Seconds without samples are left out.
        let empty_seconds = sent(first).saturating_sub(begin_ns) / INTERVAL_NS;
        begin_ns += empty_seconds * INTERVAL_NS;
        let end_ns = begin_ns + INTERVAL_NS;
        let (now, later) =
            rest.split_at(rest.partition_point(|sample| sent(sample) < end_ns).max(1));
        rest = later;
        // The last one ends with its last sample: whether the cores were disturbed after it is not
        // known, since the occupancy of the cores ends with the run.
        let end_ns = match (rest, now) {
            ([], [.., last]) => end_ns.min(sent(last) + 1),
            _ => end_ns,
        };
        let mut interval = interval.unwrap_or_else(|| {
            let histograms = names.iter().map(|_| recorder::histogram()).collect();
            Box::new(Interval { start_ns: 0, end_ns: 0, histograms })
        });
        interval.histograms.iter_mut().for_each(hdrhistogram::Histogram::reset);
        (interval.start_ns, interval.end_ns) = (begin_ns, end_ns);
        for sample in now {
            for (histogram, (_, from, to)) in interval.histograms.iter_mut().zip(&all) {
                let [from_ns, to_ns] = [from, to].map(|point| sample.stamps[*point]);
                if from_ns > 0 && to_ns > 0 {
                    histogram.saturating_record(to_ns.saturating_sub(from_ns));
                }
            }
            let mut rest = &mut interval.histograms[all.len()..];
            for aside in &asides {
                let (own, others) = rest.split_at_mut(aside.series.len());
                let lengths = aside.lengths.get(&sample.number).into_iter().flatten();
                for (histogram, ns) in own.iter_mut().zip(lengths) {
                    ns.iter().for_each(|ns| histogram.saturating_record(*ns));
                }
                rest = others;
            }
        }
        begin_ns = end_ns;
        Some(interval)
    };
    recorder::write_log(&names, subject, log, started, start_ns, &|| (), &mut next)
}

#[cfg(test)]
#[path = "series_tests.rs"]
mod tests;

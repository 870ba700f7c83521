//! The mean stages of ticks around a percentile of the whole path.
//!
//! Percentiles of stages don't add up to a percentile of the whole, because the slowest order of
//! one stage is rarely the slowest of another. Means do. So this takes all paths whose total lies
//! around the percentile, and the mean of each stage over them. The stage whose mean grows most
//! from around p50 to around p99 owns the tail.

use crate::tick::{Attribution, Interval, STAGES, Sample, TracedTick};
use stats::is_supported;

/// Samples within this rank distance on either side lie around a percentile.
pub const RANK_SHARE: f64 = 0.001;
/// Minimum number of samples around a percentile. In the smallest sample with a p99, these are the
/// samples from p98 on. The smallest sample with a p50 has 20, and all of them count.
pub const AROUND_MIN: usize = 21;
/// The percentiles.
const AROUND: [(&str, f64); 2] = [("p50", 0.5), ("p99", 0.99)];

/// One complete path.
struct Way<'a> {
    total_ns: u64,
    run: u32,
    sample: &'a Sample,
}

/// All complete paths over one interval, the shortest first.
pub struct Ways<'a> {
    interval: Interval,
    /// Indices of the points between stages: a point without a stamp joins two stages.
    points: Vec<usize>,
    sorted: Vec<Way<'a>>,
    /// Samples without a stamp that others have, or with a stamp before the one it must follow.
    left_out: u64,
}

impl<'a> Ways<'a> {
    /// The attribution of the samples of each run, in order. The clocks' error is `bound_ns`: a
    /// stamp may precede by that much the one that it must follow.
    pub fn new(runs: &[&'a [Sample]], interval: &Interval, bound_ns: u64) -> Ways<'a> {
        let range = interval.from as usize..=interval.to as usize;
        let count: usize = runs.iter().map(|run| run.len()).sum();
        let stamped = |point: usize| {
            let has = |sample: &&Sample| sample.stamps[point] > 0;
            2 * runs.iter().flat_map(|run| run.iter()).filter(has).count() > count
        };
        let ends = [interval.from as usize, interval.to as usize];
        let points: Vec<usize> =
            range.filter(|point| ends.contains(point) || stamped(*point)).collect();
        let in_order = |sample: &Sample| {
            points.iter().all(|point| sample.stamps[*point] > 0)
                && points.windows(2).all(|pair| {
                    sample.stamps[pair[1]].saturating_add(bound_ns) >= sample.stamps[pair[0]]
                })
        };
        let all =
            (1..).zip(runs).flat_map(|(run, samples)| samples.iter().map(move |one| (run, one)));
        let way = |(run, sample): (u32, &'a Sample)| {
            let total_ns = sample.stamps[ends[1]].checked_sub(sample.stamps[ends[0]])?;
            in_order(sample).then_some(Way { total_ns, run, sample })
        };
        let mut sorted: Vec<Way<'a>> = all.filter_map(way).collect();
        sorted.sort_by_key(|way| (way.total_ns, way.run, way.sample.number));
        let left_out = (count - sorted.len()) as u64;
        Ways { interval: *interval, points, sorted, left_out }
    }

    /// One for each percentile that the samples support.
    pub fn attributions(&self) -> Vec<Attribution> {
        AROUND.iter().filter_map(|(name, quantile)| self.around(name, *quantile)).collect()
    }

    fn around(&self, name: &str, quantile: f64) -> Option<Attribution> {
        let count = self.sorted.len();
        if !is_supported(count as u64, quantile) {
            return None;
        }
        let rank = ((count as f64 * quantile).ceil() as usize).clamp(1, count) - 1;
        let reach = ((count as f64 * RANK_SHARE) as usize).max(AROUND_MIN / 2);
        let last = (rank + reach).min(count - 1);
        let around = &self.sorted[rank.saturating_sub(reach)..=last];
        let mean = |of: &dyn Fn(&Sample) -> f64| {
            around.iter().map(|way| of(way.sample)).sum::<f64>() / around.len() as f64
        };
        let stages = self.points.windows(2).map(|pair| {
            let length = |sample: &Sample| length_ns(sample, pair) as f64;
            (stage_name(pair), mean(&length))
        });
        Some(Attribution {
            around: name.to_owned(),
            of: self.interval.name.to_owned(),
            kind: self.interval.kind,
            total_ns: self.sorted[rank].total_ns,
            samples: around.len() as u64,
            within_rank: reach as f64 / count as f64,
            left_out: self.left_out,
            stages: stages.collect(),
        })
    }

    /// The `n` longest, the longest first.
    pub fn worst(&self, n: usize) -> Vec<TracedTick> {
        let traced = |way: &Way<'_>| TracedTick {
            run: way.run,
            number: way.sample.number,
            of: self.interval.name.to_owned(),
            begin_ns: way.sample.stamps[self.interval.from as usize],
            total_ns: way.total_ns,
            stages: self
                .points
                .windows(2)
                .map(|pair| (stage_name(pair), length_ns(way.sample, pair)))
                .collect(),
            noise: Vec::new(),
        };
        self.sorted.iter().rev().take(n).map(traced).collect()
    }
}

fn length_ns(sample: &Sample, pair: &[usize]) -> i64 {
    sample.stamps[pair[1]].wrapping_sub(sample.stamps[pair[0]]) as i64
}

/// The name of one stage, or of several that a missing stamp joins.
fn stage_name(pair: &[usize]) -> String {
    STAGES[pair[0]..pair[1]].iter().map(|stage| stage.name).collect::<Vec<_>>().join(" + ")
}

/// The owner of a stage, in words.
pub fn owner(stage: &str) -> String {
    let mut owners: Vec<&str> = Vec::new();
    for part in stage.split(" + ") {
        let known = STAGES.iter().find(|stage| stage.name == part);
        for owner in known.into_iter().flat_map(|stage| stage.owner.split(" and ")) {
            if !owners.contains(&owner) {
                owners.push(owner);
            }
        }
    }
    owners.join(" and ")
}

/// The stage that makes slow paths slow.
#[derive(Clone, Debug, PartialEq)]
pub struct Tail {
    /// Its name.
    pub stage: String,
    /// Growth of its mean from around p50 to around p99, ns.
    pub grew_ns: f64,
    /// Growth of the whole path's mean, ns; less than `grew_ns` if other stages shrank.
    pub whole_grew_ns: f64,
}

/// The stage that grew most between two attributions of the same interval; `None` if none grew.
pub fn tail(usual: &Attribution, slow: &Attribution) -> Option<Tail> {
    let grew = |(name, slow_ns): &(String, f64)| {
        let (_, usual_ns) = usual.stages.iter().find(|(known, _)| known == name)?;
        Some((name.clone(), slow_ns - usual_ns))
    };
    let all: Vec<(String, f64)> = slow.stages.iter().filter_map(grew).collect();
    let whole_grew_ns = all.iter().map(|(_, grew)| grew).sum();
    let (stage, grew_ns) = all.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    (grew_ns > 0.0).then_some(Tail { stage, grew_ns, whole_grew_ns })
}

#[cfg(test)]
#[path = "attribution_tests.rs"]
mod tests;

//! Figures from one clock to another in a comparison. Each run finds the offset of the clocks anew,
//! and is off by an unknown part of its bracket. Between the same two clocks that part can be made
//! the same in A and B, and then it isn't in the difference.

use crate::RunRecord;
use crate::comparison::disturbance::JudgedRun;
use crate::tick::{AT_EXCHANGE, INTERVALS, Point, STAGES};

/// The series of requests one way: from the client, and to it.
const WAYS: [(&str, Way); 3] = [
    ("forward.response", Way::FromClient),
    ("forward.service", Way::FromClient),
    ("reverse.service", Way::ToClient),
];
/// Why runs whose clocks can't be related are not judged as they are.
const CAUSE: &str = "the unknown offset of two hosts' clocks";

/// The direction of a series from one clock to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    FromClient,
    ToClient,
}

/// The offset that one run used for one series.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOffset {
    clocks: [String; 2],
    at_ns: u64,
    offset_ns: i64,
    error_ns: u64,
    way: Way,
}

impl RunOffset {
    /// The offset of a series with this tag, in the run with this index; `None` if one clock
    /// stamped it.
    pub(super) fn of(
        record: &RunRecord,
        subject: &str,
        tag: &str,
        run: usize,
    ) -> Option<RunOffset> {
        let load = &record.subject(subject)?.load;
        let Some(between) = load.between.get(run) else {
            // Several clocks made each figure of such a fan-out: nothing of them cancels.
            let hosts = load.fan_out.get(run)?.hosts.as_ref()?;
            return Some(RunOffset {
                clocks: Default::default(),
                at_ns: 0,
                offset_ns: 0,
                error_ns: *hosts.errors_ns.get(tag)?,
                way: Way::FromClient,
            });
        };
        Some(RunOffset {
            clocks: between.clocks.clone(),
            at_ns: between.at_ns,
            offset_ns: between.offset_ns?,
            error_ns: *between.errors_ns.get(tag)?,
            way: way(tag)?,
        })
    }
}

/// The direction of the series with this tag.
fn way(tag: &str) -> Option<Way> {
    let intervals = INTERVALS.iter().map(|one| (one.name, one.kind, one.from));
    let stages = STAGES.iter().map(|one| (one.name, clock::kind::Kind::Stage, one.from));
    let is_it = |(name, kind, _): &(&str, clock::kind::Kind, Point)| {
        tag == format!("{name}.{}", kind.name())
    };
    let starts_there = |from: Point| match AT_EXCHANGE.contains(&from) {
        true => Way::ToClient,
        false => Way::FromClient,
    };
    let of_ticks = intervals.chain(stages).find(is_it).map(|(.., from)| starts_there(from));
    of_ticks.or_else(|| WAYS.iter().find(|(name, _)| *name == tag).map(|(_, way)| *way))
}

/// Relates the runs of B to those of A. Returns how, in words; empty if one clock stamped both.
pub(super) fn relate(
    (offsets_a, of_a): (&[RunOffset], &mut [JudgedRun]),
    (offsets_b, of_b): (&[RunOffset], &mut [JudgedRun]),
) -> String {
    let (Some(first), Some(of_first_b)) = (offsets_a.first(), offsets_b.first()) else {
        return String::new();
    };
    let error_ns = offsets_a.iter().chain(offsets_b).map(|one| one.error_ns).max().unwrap_or(0);
    let is_same = |one: &RunOffset| one.clocks == first.clocks && !one.clocks[1].is_empty();
    let all = offsets_a.iter().chain(offsets_b).all(is_same);
    if all && offsets_a.len() == of_a.len() && offsets_b.len() == of_b.len() {
        for (offset, run) in offsets_b.iter().zip(&mut *of_b) {
            let moved_ns = offset.offset_ns.saturating_sub(line(offsets_a, offset.at_ns));
            let by_ns = match offset.way {
                Way::FromClient => moved_ns,
                Way::ToClient => moved_ns.saturating_neg(),
            };
            let ends = run.figure.bracket;
            run.figure.bracket = ends.map(|ends| ends.map(|end| moved(end, by_ns)));
            run.figure.value = moved(run.figure.value, by_ns);
        }
        return format!(
            "all runs are between the same two clocks: B's are converted by the offset that A's \
             runs use, which cancels in the difference. The figures themselves are known to within \
             {error_ns} ns"
        );
    }
    for (offsets, runs) in [(offsets_a, of_a), (offsets_b, of_b)] {
        let widest_ns = offsets.iter().map(|one| one.error_ns).max().unwrap_or(0);
        for run in runs {
            let around = |[low, high]: [u64; 2]| {
                [low.saturating_sub(widest_ns).max(1), high.saturating_add(widest_ns)]
            };
            run.figure.bracket = run.figure.bracket.map(around);
            CAUSE.clone_into(&mut run.cause);
        }
    }
    if first.clocks[1].is_empty() {
        return format!(
            "the clocks of several hosts, or unknown ones, made these figures, so that no offset \
             cancels: each figure may be off by {error_ns} ns"
        );
    }
    let which = match first.clocks[0] == of_first_b.clocks[0] {
        true => "the other end",
        false => "the client",
    };
    format!(
        "{which} has another clock in some runs, so the offset of the clocks does not cancel: each \
         figure may be off by {error_ns} ns. Compare settings in one command against one echo that \
         runs all the time"
    )
}

/// A figure by another offset, ns.
fn moved(figure_ns: u64, by_ns: i64) -> u64 {
    figure_ns.saturating_add_signed(by_ns).max(1)
}

/// The offset that A's runs use at an instant: on the line between the two nearest in time.
fn line(offsets: &[RunOffset], at_ns: u64) -> i64 {
    let [first, .., last] = offsets else { return offsets[0].offset_ns };
    let after = offsets.iter().position(|one| one.at_ns >= at_ns);
    let (from, to) = match after {
        Some(0) => (first, &offsets[1]),
        Some(after) => (&offsets[after - 1], &offsets[after]),
        None => (&offsets[offsets.len() - 2], last),
    };
    let length = to.at_ns as f64 - from.at_ns as f64;
    if length <= 0.0 {
        return from.offset_ns;
    }
    let share = (at_ns as f64 - from.at_ns as f64) / length;
    let rise = to.offset_ns.saturating_sub(from.offset_ns) as f64;
    from.offset_ns.saturating_add((rise * share).round() as i64)
}

#[cfg(test)]
#[path = "clocks_tests.rs"]
mod tests;

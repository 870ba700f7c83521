//! Stretches without a step. Where two limits can't both hold under the bound of the drift, a clock
//! was set between them.

use crate::cones::Knot;
use crate::hull::Slopes;
use crate::probe::Limit;
use std::ops::Range;

/// The parts of `limits` without a step, in order. What lies between two parts may lie on either
/// side of the step and belongs to none.
///
/// A datagram that was under way when the clock was set says something wrong: a request up to
/// `longest` before the step, a reply up to `longest` after it. So a conflict shows where the step
/// was only to within `longest`, and wrong limits reach as far again.
pub(crate) fn stretches(limits: &[Limit], drift: f64, longest: f64) -> Vec<Range<usize>> {
    let reach = 2.0 * longest;
    let mut stretches = Vec::new();
    let mut start = 0;
    while let Some(conflict) = conflict(limits[start..].iter(), drift) {
        let after = start + conflict;
        // Seen from the conflict backwards in time, the last limits that agree with each other may
        // all be later than the step; the first that doesn't is not.
        let backwards = limits[start..=after].iter().rev();
        let back = self::conflict(backwards, drift).unwrap_or(conflict);
        let (from, to) = (limits[after - back].at - reach, limits[after].at + reach);
        let end = limits.partition_point(|one| one.at < from).max(start);
        stretches.push(start..end);
        start = limits.partition_point(|one| one.at <= to);
    }
    stretches.push(start..limits.len());
    stretches
}

/// The first of `limits` that can't hold together with those before it. They may also be in
/// reversed order.
fn conflict<'a>(limits: impl Iterator<Item = &'a Limit>, drift: f64) -> Option<usize> {
    let slopes = Slopes { low: -drift, high: drift };
    let mut so_far: Option<Knot> = None;
    for (turn, limit) in limits.enumerate() {
        let here = Knot::of(limit);
        let both = so_far.map_or(here, |knot| {
            if knot.at <= limit.at {
                here.and(knot.later(limit.at, slopes))
            } else {
                here.and(knot.earlier(limit.at, slopes))
            }
        });
        if both.is_empty() {
            return Some(turn);
        }
        so_far = Some(both);
    }
    None
}

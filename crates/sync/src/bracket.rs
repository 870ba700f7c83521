//! The bracket: two offsets between which the true one lies, at any instant of the probing.

use crate::Bounds;
use crate::cones::{self, Knot};
use crate::hull::{self, Slopes};
use crate::probe::{self, Limit, Origin, Probe};
use crate::stretch::stretches;

/// A window isn't divided below this number of datagrams in both directions.
const DATAGRAMS_MIN: usize = 256;

const NS_PER_SECOND: f64 = 1e9;

/// The brackets of a run.
#[derive(Clone, Debug)]
pub struct Brackets {
    origin: Option<Origin>,
    parts: Vec<Part>,
    /// The bound of the drift.
    drift: f64,
    /// Number of steps of either clock that the probes showed. A step smaller than the smallest
    /// round trip stays unseen: the host whose clock was set must report it.
    pub steps_seen: u64,
}

/// A window with the limits of the offset at each datagram's instant.
#[derive(Clone, Debug)]
struct Part {
    knots: Vec<Knot>,
    slopes: Slopes,
    window: Window,
}

/// A part of the run within which the clocks drift steadily enough for one set of clock lines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Its first and last datagram, on A's clock in nanoseconds.
    pub from_to_ns: [i64; 2],
    /// The drifts that its datagrams leave, in parts of one; `None` if they leave none, which
    /// contradicts the [`Bounds`], or if one direction has no datagram.
    pub drift: Option<[f64; 2]>,
    /// Its smallest round trip in nanoseconds of A's clock, as the fastest drift that is possible
    /// leaves it; `None` if no reply arrived.
    pub round_trip_min_ns: Option<i64>,
}

impl Brackets {
    /// The brackets that `probes` leave, in any order, under `bounds`. `steps_ns` are the intervals
    /// of A's clock within which a host reports that its clock was set.
    pub fn of(probes: &[Probe], bounds: &Bounds, steps_ns: &[[i64; 2]]) -> Brackets {
        let mut brackets =
            Brackets { origin: None, parts: Vec::new(), drift: bounds.drift, steps_seen: 0 };
        let Some(origin) = Origin::of(probes) else { return brackets };
        brackets.origin = Some(origin);
        let limits = probe::limits(probes, origin, bounds);
        let mut steps: Vec<[f64; 2]> =
            steps_ns.iter().map(|step| step.map(|at_ns| origin.at(at_ns))).collect();
        let longest = probe::longest(probes);
        steps.sort_by(|a, b| a[0].total_cmp(&b[0]));
        steps.push([f64::INFINITY; 2]);
        let mut rest = &limits[..];
        for [from, to] in steps {
            let (before, after) =
                rest.split_at(rest.partition_point(|one| one.at < from - longest));
            let stretches = stretches(before, bounds.drift, longest);
            brackets.steps_seen += stretches.len() as u64 - 1;
            for stretch in stretches {
                brackets.divide(&before[stretch], bounds);
            }
            rest = &after[after.partition_point(|one| one.at <= to + longest)..];
        }
        brackets
    }

    /// Halves a stretch until, within a part, the drift may change by no more than the hulls leave
    /// open: a longer window would not be tighter.
    fn divide(&mut self, limits: &[Limit], bounds: &Bounds) {
        let [first, .., last] = limits else { return };
        let seconds = (last.at - first.at) / NS_PER_SECOND;
        // The drift in the middle of the window is the reference. Between any two of its datagrams
        // the average drift differs from it by at most `change`.
        let change = (bounds.drift_change_per_second * seconds / 2.0).min(2.0 * bounds.drift);
        let left = hull::slopes(limits);
        let middle = limits.len() / 2;
        if change > (left.high - left.low) / 2.0 && middle >= DATAGRAMS_MIN {
            // Both halves have the datagram in the middle, so that no gap is between them.
            self.divide(&limits[..=middle], bounds);
            self.divide(&limits[middle..], bounds);
            return;
        }
        let within = |slopes: Slopes| Slopes {
            low: slopes.low.max(-bounds.drift),
            high: slopes.high.min(bounds.drift),
        };
        let drift = within(Slopes { low: left.low - change, high: left.high + change });
        let slopes = within(Slopes { low: drift.low - change, high: drift.high + change });
        let origin = self.origin.expect("there are probes");
        let knots = cones::knots(limits, slopes);
        let is_bounded =
            knots.first().is_some_and(|one| one.low.is_finite() && one.high.is_finite());
        let is_sound =
            is_bounded && drift.low <= drift.high && !knots.iter().any(|one| one.is_empty());
        // The longest that each can have been, so that none is shorter than the truth.
        let fastest_drift = if is_sound { slopes.high } else { bounds.drift };
        let round_trips = limits.iter().filter_map(|one| one.round_trip);
        let round_trip = round_trips.map(|one| one.at(fastest_drift)).reduce(f64::min);
        let window = Window {
            from_to_ns: [origin.instant_ns(first.at), origin.instant_ns(last.at)],
            drift: is_sound.then_some([drift.low, drift.high]),
            // A stamp's error may exceed the fastest round trip of one host.
            round_trip_min_ns: round_trip.map(|ns| (ns.round() as i64).max(0)),
        };
        self.parts.push(Part { knots: if is_sound { knots } else { Vec::new() }, slopes, window });
    }

    /// The windows, in order of time.
    pub fn windows(&self) -> impl Iterator<Item = &Window> {
        self.parts.iter().map(|part| &part.window)
    }

    /// The two offsets between which the true one lies at an instant of A's clock. `None` outside
    /// of the probing, where a clock was set, and in a window whose datagrams contradict the
    /// bounds.
    pub fn at(&self, a_ns: i64) -> Option<[i64; 2]> {
        let origin = self.origin?;
        let after = self.parts.partition_point(|part| part.window.from_to_ns[1] < a_ns);
        let part = self.parts.get(after)?;
        let at = origin.at(a_ns);
        let next = part.knots.partition_point(|knot| knot.at < at);
        let next_knot = *part.knots.get(next)?;
        let here = next_knot.earlier(at, part.slopes);
        let here = match next.checked_sub(1) {
            Some(before) => here.and(part.knots[before].later(at, part.slopes)),
            None if next_knot.at > at => return None,
            None => here,
        };
        (!here.is_empty()).then(|| [origin.low_ns(here.low), origin.high_ns(here.high)])
    }

    /// As [`Brackets::at`]. Before the first datagram and after the last one it is that of the
    /// nearest of them, wider by the bound of the drift.
    pub fn at_or_near(&self, a_ns: i64) -> Option<[i64; 2]> {
        let (first, last) = (self.parts.first()?, self.parts.last()?);
        let [from, _] = first.window.from_to_ns;
        let [_, to] = last.window.from_to_ns;
        let nearest = a_ns.clamp(from, to);
        let [low, high] = self.at(nearest)?;
        let moved = (a_ns.abs_diff(nearest) as f64 * self.drift).ceil() as i64;
        Some([low.saturating_sub(moved), high.saturating_add(moved)])
    }

    /// The middle of the drifts that are possible at an instant, or just before it; 0 if nothing is
    /// known.
    pub(crate) fn drift_near(&self, a_ns: i64) -> f64 {
        let after = self.parts.partition_point(|part| part.window.from_to_ns[1] < a_ns);
        let part = self.parts.get(after).or(self.parts.last());
        part.and_then(|part| part.window.drift).map_or(0.0, |[low, high]| f64::midpoint(low, high))
    }

    /// Whether every instant between two has a bracket.
    pub(crate) fn covers(&self, from_ns: i64, to_ns: i64) -> bool {
        let mut covered_ns = None;
        for Window { from_to_ns: [from, to], drift, .. } in self.windows() {
            let joins = covered_ns.map_or(*from <= from_ns, |end| *from <= end);
            if *to < from_ns || *from > to_ns {
                continue;
            }
            if !joins || drift.is_none() {
                return false;
            }
            covered_ns = Some(*to);
        }
        covered_ns.is_some_and(|end| end >= to_ns)
    }
}

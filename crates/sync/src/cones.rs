//! How far a limit reaches: the further from it, the more the clocks may have drifted.

use crate::hull::Slopes;
use crate::probe::Limit;

/// The tightest upper and lower limit at an instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Knot {
    pub(crate) at: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Knot {
    /// The limits so far, carried to a later instant, if the offset moves by these slopes.
    pub(crate) fn later(self, at: f64, slopes: Slopes) -> Knot {
        let passed = at - self.at;
        let high = self.high + slopes.high * passed;
        Knot { at, low: self.low + slopes.low * passed, high }
    }

    /// The limits after this one, carried to an earlier instant.
    pub(crate) fn earlier(self, at: f64, slopes: Slopes) -> Knot {
        let until = self.at - at;
        let high = self.high - slopes.low * until;
        Knot { at, low: self.low - slopes.high * until, high }
    }

    /// Both at the same instant.
    pub(crate) fn and(self, other: Knot) -> Knot {
        Knot { low: self.low.max(other.low), high: self.high.min(other.high), ..self }
    }

    /// Nothing is known.
    pub(crate) fn open(at: f64) -> Knot {
        Knot { at, low: f64::NEG_INFINITY, high: f64::INFINITY }
    }

    /// One limit at its instant.
    pub(crate) fn of(limit: &Limit) -> Knot {
        let open = Knot::open(limit.at);
        if limit.is_upper {
            Knot { high: limit.offset, ..open }
        } else {
            Knot { low: limit.offset, ..open }
        }
    }

    /// Whether no offset is left.
    pub(crate) fn is_empty(self) -> bool {
        self.low > self.high
    }
}

/// The tightest limits at each limit's instant, from all of them: one pass each way.
pub(crate) fn knots(limits: &[Limit], slopes: Slopes) -> Vec<Knot> {
    let mut knots: Vec<Knot> = limits.iter().map(Knot::of).collect();
    for to in 1..knots.len() {
        knots[to] = knots[to].and(knots[to - 1].later(knots[to].at, slopes));
    }
    for to in (1..knots.len()).rev() {
        knots[to - 1] = knots[to - 1].and(knots[to].earlier(knots[to - 1].at, slopes));
    }
    knots
}

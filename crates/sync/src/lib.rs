//! Clocks between hosts: the offset of the clock of host B against the clock of host A, from
//! datagrams that both sent each other. No I/O and no clock: stamps come in, nanoseconds go out.
//!
//! - [`Brackets`] assume that no delay is negative, that the two clocks drift apart by a bounded
//!   rate, and that this rate changes slowly ([`Bounds`]). They don't assume that both directions
//!   take equally long, so the true offset lies inside.
//! - An [`Estimate`] assumes just that, and so is narrower, and wrong where paths are asymmetric.
//!
//! All times are nanoseconds of the named host's clock. An **offset** is B's clock minus A's, at an
//! instant of A's clock. docs/METHODOLOGY.md derives the method and names its sources.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod bracket;
mod cones;
mod estimate;
mod hull;
mod probe;
mod stretch;

pub use bracket::{Brackets, Window};
pub use estimate::{BATCHES, Estimate, estimates, wander_ns};
pub use probe::{NearerStamps, Probe, Reply};

/// The assumptions about the two clocks. Rates are parts of one: 1e-6 is 1 ppm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// The fastest that one clock gains on the other.
    pub drift: f64,
    /// How much that rate changes in a second at most. Infinite: nothing is assumed of it.
    pub drift_change_per_second: f64,
    /// By how much a stamp may be wrong, in either direction: at least the clock's resolution, and
    /// the error of a conversion from another clock.
    pub stamp_error_ns: f64,
}

impl Bounds {
    /// Two free-running oscillators of 100 ppm each, the accuracy that IEEE 802.1AS asks of a
    /// clock. The change is an assumption: a kelvin a second at 1 ppm a kelvin. A clock that a
    /// daemon slews is not free-running.
    pub const FREE_RUNNING: Bounds =
        Bounds { drift: 200e-6, drift_change_per_second: 1e-6, stamp_error_ns: 1.0 };
}

//! Settings of a flow, and the errors of making one.

pub use plan::tables::ticks::SPEED_MAX;

use crate::databento::DatabentoError;
use clock::schedule::{Arrival, RATE_PER_SECOND_MAX};
use engine::{EngineLimits, PRICE_TICKS_MAX, QUANTITY_LOTS_MAX};
use std::path::{Path, PathBuf};

/// The most inputs of a script, 32 bytes each.
pub const INPUTS_MAX: usize = 1 << 24;

/// Limits of an engine that takes a recorded day alone.
const OPEN_ORDERS_MAX: u32 = 1 << 18;
const PRICE_LEVELS_MAX: u32 = 1 << 14;
/// The longest day, s.
pub(crate) const DAY_SECONDS_MAX: f64 = 1e6;

/// Source of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Workload W1 with a shallow book.
    Synthetic,
    /// A Databento MBO file.
    DatabentoMbo(PathBuf),
}

/// When inputs are due.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// At the recorded times (a synthetic flow: at its own clock's, 463 000 inputs a second before
    /// any are left out), divided by `speed`.
    Recorded {
        /// Above 0, at most [`SPEED_MAX`].
        speed: f64,
    },
    /// At a rate, in the order of the source.
    Fixed {
        /// Inputs, above 0, at most [`RATE_PER_SECOND_MAX`].
        rate_per_second: f64,
        /// Distribution over time.
        arrival: Arrival,
        /// Inputs at the same instant, for [`Arrival::Burst`] only; at least 1.
        burst: u64,
    },
}

/// Settings of a script.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Its source.
    pub source: Source,
    /// When its inputs are due.
    pub pace: Pace,
    /// Duration; a recording may be shorter.
    pub seconds: f64,
    /// Lots for one unit of the source's sizes.
    pub lots_per_unit: u64,
    /// The middle of a synthetic book at its start, in ticks.
    pub mid_ticks: i64,
    /// Highest price that the instrument takes, in ticks.
    pub price_ticks_max: i64,
    /// Largest order that the instrument takes, in lots.
    pub quantity_lots_max: u64,
    /// Limits of the engine that gets the flow.
    pub limits: EngineLimits,
}

/// Why a script can't be made.
#[derive(Debug, thiserror::Error)]
pub enum FlowError {
    /// A setting is out of its range.
    #[error("the flow's {name} is {value}, but must be above 0 and at most {max}")]
    Setting {
        /// Its name.
        name: &'static str,
        /// Its value.
        value: f64,
        /// Its limit.
        max: f64,
    },
    /// There would be too many inputs.
    #[error(
        "the flow has more than {INPUTS_MAX} inputs (limit inputs_max); take fewer seconds, or a lower rate"
    )]
    TooLong,
    /// The file can't be used.
    #[error(transparent)]
    Databento(#[from] DatabentoError),
    /// The file has no inputs for a flow.
    #[error(
        "{file} has no orders that change a book after its first snapshot; name a file of schema mbo that covers a day"
    )]
    Empty {
        /// The file.
        file: String,
    },
    /// A price or a size that the instrument does not take.
    #[error("the flow does not fit its instrument: {why}; choose another instrument or file")]
    DoesNotFit {
        /// The bound that it breaks.
        why: String,
    },
}

impl Settings {
    /// A recorded day at its own pace, in the file's units, for an engine with these limits.
    #[must_use]
    pub fn of_day(path: &Path, seconds: f64, limits: EngineLimits) -> Settings {
        Settings {
            source: Source::DatabentoMbo(path.to_owned()),
            pace: Pace::Recorded { speed: 1.0 },
            seconds,
            lots_per_unit: 1,
            mid_ticks: 0,
            price_ticks_max: PRICE_TICKS_MAX,
            quantity_lots_max: QUANTITY_LOTS_MAX,
            limits,
        }
    }

    /// The widest limits that a day alone needs.
    #[must_use]
    pub fn limits_of_day() -> EngineLimits {
        EngineLimits::matching_only(OPEN_ORDERS_MAX, PRICE_LEVELS_MAX)
    }

    /// Checks the ranges.
    pub(crate) fn check(&self) -> Result<(), FlowError> {
        let ranges = match self.pace {
            Pace::Recorded { speed } => {
                [("speed", speed, SPEED_MAX), ("seconds", self.seconds, 1e6)]
            }
            Pace::Fixed { rate_per_second, .. } => {
                [("rate", rate_per_second, RATE_PER_SECOND_MAX), ("seconds", self.seconds, 1e6)]
            }
        };
        for (name, value, max) in ranges {
            if !(value > 0.0 && value <= max) {
                return Err(FlowError::Setting { name, value, max });
            }
        }
        if let Pace::Fixed { burst: 0, .. } = self.pace {
            return Err(FlowError::Setting { name: "burst", value: 0.0, max: INPUTS_MAX as f64 });
        }
        Ok(())
    }
}

//! What a flow is made of, and why it can't be.

use crate::databento::DatabentoError;
use clock::schedule::{Arrival, RATE_PER_SECOND_MAX};
use engine::EngineLimits;
use std::path::PathBuf;

/// The most inputs of a script, 32 bytes each.
pub const INPUTS_MAX: usize = 1 << 24;
/// The fastest that a recording is played: a day in less than a second.
pub const SPEED_MAX: f64 = 1e5;

/// Where a flow comes from.
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
    /// As they were recorded (of a synthetic flow: by its own clock, 463 000 a second before what
    /// is left out), so many times as fast.
    Recorded {
        /// Above 0, at most [`SPEED_MAX`].
        speed: f64,
    },
    /// At a rate, in their order.
    Fixed {
        /// Inputs, above 0, at most [`RATE_PER_SECOND_MAX`].
        rate_per_second: f64,
        /// How they are spread over time.
        arrival: Arrival,
        /// Inputs at the same instant, for [`Arrival::Burst`] only; at least 1.
        burst: u64,
    },
}

/// What a script is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Where it comes from.
    pub source: Source,
    /// When its inputs are due.
    pub pace: Pace,
    /// For how long; a recording may end before.
    pub seconds: f64,
    /// What size 1 of the source is, in lots.
    pub lots_per_unit: u64,
    /// The middle of a synthetic book at its start, in ticks.
    pub mid_ticks: i64,
    /// The highest price that the instrument takes, in ticks.
    pub price_ticks_max: i64,
    /// The largest order that it takes, in lots.
    pub quantity_lots_max: u64,
    /// Those of the engine that it is for.
    pub limits: EngineLimits,
}

/// Why a script can't be made.
#[derive(Debug, thiserror::Error)]
pub enum FlowError {
    /// A setting is out of its range.
    #[error("the flow's {name} is {value}, but must be above 0 and at most {max}")]
    Setting {
        /// Which.
        name: &'static str,
        /// What it was set to.
        value: f64,
        /// The most it may be.
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
    /// The file has nothing that a flow could be made of.
    #[error(
        "{file} has no orders that change a book after its first snapshot; name a file of schema mbo with a day in it"
    )]
    Empty {
        /// The file.
        file: String,
    },
    /// A price or a size that the instrument does not take.
    #[error("the flow does not fit its instrument: {why}; choose another instrument or file")]
    DoesNotFit {
        /// Which bound it breaks.
        why: String,
    },
}

impl Settings {
    /// Whether they are in their ranges.
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

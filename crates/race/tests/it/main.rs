//! Races whose result is known.

mod closed;
mod properties;
mod recorded_day;

//! `tick` scenarios: their keys, one run, its rules, and what the samples say.

pub(crate) mod attribution;
pub(crate) mod files;
mod keys;
pub(crate) mod rules;
pub(crate) mod run;
pub(crate) mod taken;

pub use keys::{
    Audit, BURST_MAX, DATAGRAM_BYTES_MIN, DURATION_SHARE_MIN, Feed, Flow, Network, Pace, Risk,
    SPEED_MAX, SYNTHETIC, TRACE_MAX, Transport,
};

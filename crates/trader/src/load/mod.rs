//! Orders and cancels on a schedule or in ping-pong, stamped.
//!
//! See docs/decisions/001-streams-and-pacing.md.

pub(crate) mod addresses;
mod bare;
mod bulk;
mod card;
mod codec;
mod desk;
pub(crate) mod dialler;
pub(crate) mod error;
mod finish;
mod going_on;
mod intensity;
mod one_way;
mod open_loop;
mod ping_pong;
pub(crate) mod progress;
mod rows;
pub mod run;
mod session;
mod silent_lanes;

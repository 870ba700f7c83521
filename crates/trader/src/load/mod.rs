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
mod in_flight;
mod intensity;
mod lane;
mod lengths;
mod lost;
mod one_way;
mod open_loop;
mod patience;
mod ping_pong;
pub(crate) mod progress;
mod redial;
mod rows;
pub mod run;
mod sending;
mod session;
mod silence;
mod silent_lanes;
mod stamping;

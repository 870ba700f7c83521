//! Byte streams: what the kernel offers, and the decorator that does harm on purpose.
//!
//! See docs/decisions/001-streams-and-pacing.md.

pub mod inject;
pub(crate) mod readiness;
mod socket;
pub(crate) mod uring;

//! The clock of the other end of a run between two hosts. Messages and their replies have four
//! stamps each; after the run they give the offset of the clocks, and the other end's stamps can be
//! converted.
//!
//! ```text
//!   ends     both ends' clocks before and after the run, and what their keepers claim
//!   probes   the probes by the applications' stamps, and narrowed by the kernels'
//!   offsets  the bracket of the offset at any instant, narrowed by the tightest claim
//!   ways     requests over datagrams and their replies: the probes that they are, and their
//!            directions. Ticks have theirs in the trader, and a fan-out's copies in `fanout-bench`
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod ends;
pub mod offsets;
pub mod probes;
pub mod ways;

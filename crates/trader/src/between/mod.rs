//! The clock of the other end of a run between two hosts. Messages and their replies have four
//! stamps each; after the run they give the offset of the clocks, and the other end's stamps can be
//! converted.
//!
//! ```text
//!   ends     both ends' clocks before and after the run, and what their keepers claim
//!   probes   the probes by the applications' stamps, and narrowed by the kernels'
//!   offsets  the bracket of the offset at any instant, narrowed by the tightest claim
//!   ways     the directions of requests over datagrams; `tick::clock_source` has those of ticks
//! ```

pub(crate) mod ends;
pub(crate) mod offsets;
pub(crate) mod probes;
pub(crate) mod ways;

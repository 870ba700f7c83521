//! Sessions of SBE order entry: numbers, takeover, and the reports that a client has not seen.
//!
//! A session outlives its connections. Its reports are kept, within a bound, so that a client that
//! lost its connection gets those that it missed. docs/internals/sbe.md says what both sides send.
//!
//! See docs/decisions/025-sbe-on-the-exchange-thread.md.

mod sessions;
mod store;

pub(crate) use sessions::{MissedReports, SbeSessions};

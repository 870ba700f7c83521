//! FIX at the exchange: a thread that accepts FIX sessions, and has for each of them a connection
//! to the exchange's JSON door.
//!
//! ```text
//!   client ── FIX ──> Door ──> Desk: session, orders ── JSON ──> serve ─ exchange, and back
//! ```
//!
//! So an account's limits, kill switch, message rates and self-trade prevention are those of the
//! JSON door, and the exchange's own thread is unchanged. A session's connection to the exchange
//! outlives the client's: reports that come meanwhile wait in the session's store.
//!
//! - [`door`]: sockets, limits, which connection belongs to which session.
//! - [`desk`]: one session without sockets: FIX in, JSON out, and back.
//!
//! See docs/decisions/023-fix-gateway.md.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod desk;
mod door;
mod link;

pub use desk::Security;
pub use door::{Counts, Exchange, FindLogin, Limits, Login, Settings, serve};
pub use fix::session::Logon;

//! FIX at the exchange: sessions as streams of the exchange's own thread. Each of them is a client
//! of the exchange's JSON, without a socket in between.
//!
//! ```text
//!   client ── FIX ──> Door ──> Desk: session, orders ── JSON ──> serve ─ exchange, and back
//! ```
//!
//! So an account's limits, kill switch, message rates and self-trade prevention are those of JSON.
//! A session's connection to the exchange outlives the client's: reports that come meanwhile wait
//! in the session's store.
//!
//! - [`streams`]: the set of streams that the exchange serves: sessions, and those of another set.
//! - [`door`]: clients, limits, which connection belongs to which session.
//! - [`desk`]: one session without sockets: FIX in, JSON out, and back.
//! - [`link`]: a session's connection to the exchange: upgrade, login, replies.
//! - [`sessions`]: the message stores at the start, and what they lack.
//!
//! See docs/decisions/023-fix-gateway.md and docs/decisions/042-fix-on-the-exchange-thread.md.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod desk;
mod door;
mod link;
mod sessions;
mod streams;

use clock::Clock;
pub use desk::{PastReport, Security};
use door::Door;
pub use door::{Counts, FindLogin, FindToken, Limits, Login, Settings, SharedCounts};
pub use fix::session::{Logon, Now};
pub use sessions::Sessions;
use streams::FixStreams;
use transport::Streams;

/// The streams of `inner`, and beside them a stream for each session of the FIX clients that
/// `clients` accepts; its wait must return at once, as that of a [`SideSet`](transport::SideSet).
/// With `is_woken` an event at `clients` ends a wait of `inner` that sleeps. At the end each client
/// gets a Logout, and `counts` are there.
pub fn beside(
    inner: Box<dyn Streams>,
    (clients, is_woken): (Box<dyn Streams>, bool),
    settings: Settings,
    clock: Clock,
    counts: SharedCounts,
) -> Box<dyn Streams> {
    let door = Door::new(clients, settings, clock);
    Box::new(FixStreams::new(inner, door, (clock, is_woken), counts))
}

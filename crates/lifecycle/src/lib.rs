//! A trader's audit log joined with the exchange's journal: for each order the book when it was
//! decided, the book when it arrived, and the input that was faster.
//!
//! ```text
//!   audit log ──> logged: new orders, decisions, answers ─┐
//!   journal, 1st reading ──> arrivals: the input of each ─┤
//!   journal, 2nd reading ──> replay: engine, feed numbers ┴─> race: what each order lost, to which
//! ```
//!
//! **Which order.** By client id, which the journal keeps and the log implies
//! ([`audit::client_id`]); without one (older files) by the exchange's order id in an answer.
//!
//! **Which book.** The log has the number of the tick that an order answers. A second publisher
//! ([`feed::Publisher`]) numbers the messages of the replayed inputs as the exchange's did. It
//! counts from the first input at or after the feed's session began, which the log has.
//!
//! **The first.** The journal is in the order of execution, so its sequence decides. Its clock
//! is read once in a turn of the exchange: inputs of one turn are 0 apart.
//!
//! See docs/decisions/027-lost-races.md.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod arrivals;
mod clocks;
mod deliveries;
mod error;
mod events;
mod logged;
mod race;
mod replay;
mod summary;

pub use crate::error::JoinError;

use crate::arrivals::Arrivals;
use crate::clocks::TraderClock;
use crate::events::Timeline;
use crate::logged::Log;
use record::lifecycle::Lifecycles;
use std::io::Read;
use std::path::Path;

/// Joins an audit log with the journal in the directory `journal`. The names of accounts, files and
/// programs are left empty.
///
/// # Errors
/// [`JoinError`].
pub fn join(log: audit::Reader<impl Read>, journal: &Path) -> Result<Lifecycles, JoinError> {
    let log = Log::read(log)?;
    let arrivals = Arrivals::read(&log, journal)?;
    let clock = TraderClock::new(&log);
    let mut timeline = Timeline::new(&log, &clock);
    let judged = replay::replay(&log, &arrivals, journal, &mut timeline)?;
    let events = timeline.events;
    Ok(Lifecycles { events, ..summary::summarise(&log, &arrivals, &clock, judged) })
}

#[cfg(test)]
mod tests;

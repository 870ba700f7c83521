//! What the exchange has done and what it refused, since its start.

use serde::Serialize;
use std::collections::BTreeMap;
use transport::serve::Refused;

/// Counters, for a record or for a person.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Connections opened.
    pub connections: u64,
    /// `AUTHENTICATED` sent.
    pub authenticated: u64,
    /// `AUTHENTICATE` with a token that nobody has.
    pub logins_failed: u64,
    /// Text messages received whole.
    pub messages: u64,
    /// `CREATE_ORDER` received that could be read.
    pub orders: u64,
    /// `CANCEL_ORDER` received that could be read.
    pub cancels: u64,
    /// `AMEND_ORDER` received that could be read.
    pub amends: u64,
    /// `MASS_CANCEL` received that could be read, and was not refused.
    pub mass_cancels: u64,
    /// Accounts whose orders were cancelled because a connection was gone.
    pub cancels_on_disconnect: u64,
    /// An operator's messages, but mass cancels, that were not refused.
    pub operations: u64,
    /// `BOOKED`, told or not: the connection may be gone.
    pub booked: u64,
    /// Amendments done.
    pub amended: u64,
    /// Stops that were accepted and wait.
    pub waiting: u64,
    /// Stops whose price came.
    pub triggered: u64,
    /// Iceberg orders that showed more.
    pub replenished: u64,
    /// Trades of an account with itself that were prevented at the cost of both orders.
    pub decremented: u64,
    /// Trades; each has two sides.
    pub trades: u64,
    /// Orders of clients that ended, by status.
    pub done: BTreeMap<&'static str, u64>,
    /// Requests refused with `REJECTED`, or with `ERROR` where they have no name, by reason.
    pub rejected: BTreeMap<&'static str, u64>,
    /// `ERROR` sent.
    pub errors: u64,
    /// Refusals by the limit that they named.
    pub limits: BTreeMap<&'static str, u64>,
    /// Reports for which no connection was there.
    pub reports_to_nobody: u64,
}

impl Counts {
    /// With what the server loop refused, under the names of its limits.
    #[must_use]
    pub fn with_refused(mut self, refused: Refused) -> Counts {
        for (name, n) in [
            ("connections_max", refused.connections),
            ("connections_per_address_max", refused.connections_per_address),
            ("outbound_bytes_before_login_max", refused.before_login),
            ("outbound_bytes_total_max", refused.total),
            ("outbound_bytes_max", refused.slow_readers),
            ("held_bytes_max", refused.held),
            ("descriptors", refused.accepts_failed),
        ] {
            if n > 0 {
                *self.limits.entry(name).or_default() += n;
            }
        }
        self
    }
}

/// Counters by name. There are few names, so a search from the front finds one as fast as anything,
/// and memory is taken at a name's first time alone.
#[derive(Debug)]
pub(crate) struct Tally(Vec<(&'static str, u64)>);

impl Tally {
    pub fn new() -> Tally {
        Tally(Vec::with_capacity(32))
    }

    pub fn add(&mut self, name: &'static str) {
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, n)) => *n += 1,
            None => self.0.push((name, 1)),
        }
    }

    pub fn by_name(&self) -> BTreeMap<&'static str, u64> {
        self.0.iter().copied().collect()
    }
}

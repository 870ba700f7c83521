//! Counters of what the exchange has done and rejected since its start.

use crate::execution::deliveries::DeliveryCounts;
use engine::DoneReason;
use serde::Serialize;
use std::collections::BTreeMap;
use transport::serve::Rejections;
use wire::reply::DoneStatus;

/// Counters of an exchange.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Connections opened.
    pub connections: u64,
    /// `AUTHENTICATED` sent, and logons in SBE accepted.
    pub authenticated: u64,
    /// `AUTHENTICATE` with an unknown token.
    pub logins_failed: u64,
    /// Complete messages received: texts, and frames of SBE.
    pub messages: u64,
    /// Valid `CREATE_ORDER` messages received.
    pub orders: u64,
    /// Valid `CANCEL_ORDER` messages received.
    pub cancels: u64,
    /// Valid `AMEND_ORDER` messages received.
    pub amends: u64,
    /// `MASS_CANCEL` messages that were not rejected.
    pub mass_cancels: u64,
    /// Accounts whose orders were cancelled because a connection closed.
    pub cancels_on_disconnect: u64,
    /// Operators' messages that were not rejected, without mass cancels.
    pub operations: u64,
    /// Orders booked, whether or not a connection was there for the report.
    pub booked: u64,
    /// Amendments executed.
    pub amended: u64,
    /// Stops accepted.
    pub waiting: u64,
    /// Stops triggered.
    pub triggered: u64,
    /// Times that an iceberg order showed its next part.
    pub replenished: u64,
    /// Trades of an account with itself that were prevented by decrementing both orders.
    pub decremented: u64,
    /// Trades; each has two sides.
    pub trades: u64,
    /// Orders of clients that ended, by status.
    pub done: BTreeMap<&'static str, u64>,
    /// Requests rejected with `REJECTED`, or with `ERROR` if they have no client id, by reason.
    pub rejected: BTreeMap<&'static str, u64>,
    /// `ERROR` sent.
    pub errors: u64,
    /// Rejections by the limit that they named.
    pub limits: BTreeMap<&'static str, u64>,
    /// Reports that no connection was there to get.
    pub reports_to_nobody: u64,
    /// Orders by what their delivery window did to them; `None` without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deliveries: Option<DeliveryCounts>,
}

impl Counts {
    /// Adds the connections that the server loop rejected, under the names of its limits.
    #[must_use]
    pub fn with_rejected(mut self, rejected: Rejections) -> Counts {
        for (name, n) in [
            ("connections_max", rejected.connections),
            ("connections_per_address_max", rejected.connections_per_address),
            ("outbound_bytes_before_login_max", rejected.before_login),
            ("outbound_bytes_total_max", rejected.total),
            ("outbound_bytes_max", rejected.slow_readers),
            ("held_bytes_max", rejected.held),
            ("descriptors", rejected.accepts_failed),
        ] {
            if n > 0 {
                *self.limits.entry(name).or_default() += n;
            }
        }
        self
    }
}

/// Counters by name. There are few names, so a linear search is fast; a counter allocates only when
/// its name is new.
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

/// Ended orders of clients by reason.
pub(crate) struct DoneCounts([u64; DoneReason::ALL.len()]);

impl DoneCounts {
    pub fn new() -> DoneCounts {
        DoneCounts([0; DoneReason::ALL.len()])
    }

    #[inline]
    pub fn add(&mut self, reason: DoneReason) {
        self.0[reason as usize] += 1;
    }

    /// By the wire's name of the reason, without zeros.
    pub fn by_status(&self) -> BTreeMap<&'static str, u64> {
        let done = DoneReason::ALL.iter().map(|reason| done_status(*reason).name()).zip(self.0);
        done.filter(|(_, n)| *n > 0).collect()
    }
}

/// The wire's name of a reason for which an order ended.
pub(crate) fn done_status(reason: DoneReason) -> DoneStatus {
    match reason {
        DoneReason::Filled => DoneStatus::Filled,
        DoneReason::Cancelled => DoneStatus::Cancelled,
        DoneReason::Expired => DoneStatus::Expired,
        DoneReason::SelfTrade => DoneStatus::SelfTradePrevented,
        DoneReason::Closed => DoneStatus::Closed,
        DoneReason::NoRoom => DoneStatus::NoRoom,
    }
}

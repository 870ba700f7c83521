//! The races that a delivery window decided, in the output of `tickpath audit --journal --json`.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Orders of a journal that said which tick caused them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct DeliveryRaces {
    /// The longest window, ns.
    pub window_ns: u64,
    /// Orders by what became of them: `held`, `early`, `late`, `unknown_tick`, `impossible`.
    pub orders: BTreeMap<String, u64>,
    /// Races that the order of arrival would have given to another order.
    pub first_changed: u64,
    /// Races with at least two orders in another order than they arrived.
    pub order_changed: u64,
    /// Ticks that two or more held orders answered, in the journal's order.
    pub races: Vec<DeliveryRace>,
}

/// The held orders that answer one publication of the feed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct DeliveryRace {
    /// The feed's session.
    pub session: u64,
    /// The number of the publication within it.
    pub publication: u64,
    /// The tick that the first of these orders named.
    pub tick: u64,
    /// The order that would have been first by arrival: its place in `orders`.
    pub first_by_arrival: u64,
    /// The orders as they were sequenced: by response time.
    pub orders: Vec<DeliveryOrder>,
}

/// An order of a race.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct DeliveryOrder {
    /// Its input in the journal.
    pub input: u64,
    /// The exchange's name for it.
    pub order_id: u64,
    /// Its account.
    pub account: u32,
    /// The response time that it claimed, ns.
    pub response_ns: u64,
    /// From the publication to its arrival, ns.
    pub elapsed_ns: u64,
    /// Its place in the order of arrival of all orders that named a tick, from 1.
    pub arrival: u64,
}

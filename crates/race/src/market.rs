//! A race: a market, and the participants in it.

use crate::background::Background;
use crate::hawkes::Hawkes;
use crate::latency::Latency;
use crate::lifetimes::Passive;
use std::sync::Arc;

/// Times after a fill at which its mark-outs are taken, ns.
pub const HORIZONS_NS: [u64; 3] = [1_000_000, 100_000_000, 1_000_000_000];

/// The most participants.
pub const PARTICIPANTS_MAX: usize = 1_000;
/// The most venues.
pub const VENUES_MAX: u16 = 16;

/// A made-up market: a fair value that jumps at times of news, and traders that know nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Market {
    /// The fair value at the start, in ticks.
    pub value_ticks: i64,
    /// When news arrives, at all participants, each after its latency.
    pub news: Hawkes,
    /// Mean of a jump of the fair value, in ticks, at least 1: geometric, up or down.
    pub jump_ticks: f64,
    /// When orders of noise traders arrive.
    pub noise: Hawkes,
    /// Lots of such an order, at least 1. It buys or sells at once, at any venue.
    pub noise_lots: u64,
    /// How far from the fair value noise traders trade, in ticks.
    pub noise_reach_ticks: i64,
    /// Orders of others that rest for a while.
    pub passive: Passive,
    /// Fee of a resting order, in ticks per lot; negative is a rebate.
    pub maker_fee_ticks: f64,
    /// Fee of an order that trades on arrival, in ticks per lot.
    pub taker_fee_ticks: f64,
    /// How long the exchange holds orders of snipers and arbitrageurs before they reach the engine,
    /// ns. Quotes, cancels and noise traders' orders are not held. 0: none.
    pub speed_bump_ns: u64,
    /// Messages wait for the end of a batch of this length, ns. There, quotes and cancels are
    /// first, and everything else comes in random order. 0: no batches.
    pub batch_ns: u64,
}

/// One participant.
#[derive(Clone, Debug)]
pub struct Participant {
    /// Its name.
    pub name: String,
    /// Its strategy.
    pub role: Role,
    /// From what it sees to its order at the engine.
    pub latency: Latency,
    /// Largest inventory, long or short, that its orders may lead to, in lots.
    pub inventory_lots_max: u64,
}

/// A participant's strategy. Prices are in half ticks, because the fair value may lie between two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Quotes both sides around the fair value. On news it cancels and quotes anew; a filled quote
    /// is replaced.
    Maker {
        /// Where.
        venue: u16,
        /// From the fair value to each quote, half ticks.
        half_spread: i64,
        /// Quantity of each quote.
        lots: u64,
    },
    /// On news, takes quotes that the fair value has passed.
    Sniper {
        /// Where.
        venue: u16,
        /// Least profit per lot against the fair value, half ticks.
        edge: i64,
        /// Quantity of an order.
        lots: u64,
    },
    /// Buys at one venue what another pays more for.
    Arbitrageur {
        /// Least profit per lot, half ticks.
        edge: i64,
        /// Quantity of an order.
        lots: u64,
        /// How much longer its orders to all venues but the first take, ns.
        far_ns: u64,
    },
}

impl Role {
    /// Its name in files and results.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Role::Maker { .. } => "maker",
            Role::Sniper { .. } => "sniper",
            Role::Arbitrageur { .. } => "arbitrageur",
        }
    }

    /// The last venue that it needs.
    fn last_venue(self) -> u16 {
        match self {
            Role::Maker { venue, .. } | Role::Sniper { venue, .. } => venue,
            Role::Arbitrageur { .. } => 1,
        }
    }
}

/// A market with its participants.
#[derive(Clone, Debug)]
pub struct Race {
    /// The market.
    pub market: Market,
    /// The participants, at most [`PARTICIPANTS_MAX`].
    pub participants: Vec<Participant>,
    /// A recorded day at venue 0. Its middle is the fair value, and each change of it is news.
    pub background: Option<Arc<Background>>,
    /// Simulated time, ns.
    pub duration_ns: u64,
}

impl Race {
    /// Number of venues: as many as its participants need.
    #[must_use]
    pub fn venues(&self) -> u16 {
        self.participants.iter().map(|one| one.role.last_venue()).max().unwrap_or(0) + 1
    }

    /// The race in which one participant's latency is changed.
    #[must_use]
    pub fn with_latency(&self, participant: usize, latency: Latency) -> Race {
        let mut race = self.clone();
        race.participants[participant].latency = latency;
        race
    }
}

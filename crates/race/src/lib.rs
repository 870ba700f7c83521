//! Tells what a microsecond is worth: participants with latencies in a made-up market, over the
//! real matching engine.
//!
//! Discrete events, no I/O, no clock: the same seed gives the same market on every machine.
//!
//! ```text
//!   latency     from what a participant sees to its order at the engine: made up or recorded
//!   hawkes      arrivals that come in bursts; `fit` finds the process of given times
//!   lifetimes   orders that rest for a while and leave
//!   background  a recorded day as the market around the participants
//!   queue       how well places in the day's queues can be estimated from totals
//!   market      a race: a market, and the participants in it
//!   events      the future, by time
//!   simulation  one market from its seed to its end
//!   account     what one participant traded; `marks`: how that turned out
//!   seeds       the same race over many seeds
//!   replay      one contest of a market, message by message
//!   worth       what the latency of one participant is worth
//!   file        a race as a file
//!   backtest    latencies of runs for a backtester
//!   nautilus    figures of runs for another
//! ```
//!
//! ```
//! let text = r#"
//!     name = "two snipers"
//!     seconds = 5
//!     seeds = 6
//!
//!     [[participant]]
//!     name = "maker"
//!     kind = "maker"
//!     latency.constant_us = 50
//!
//!     [[participant]]
//!     name = "fast"
//!     kind = "sniper"
//!     latency.exponential_us = 10
//!
//!     [[participant]]
//!     name = "slow"
//!     kind = "sniper"
//!     latency.exponential_us = 30
//! "#;
//! let prepared = race::File::parse(text).and_then(race::File::prepare).unwrap();
//! let record = prepared.run(|_| {});
//! let edge = |who: usize| record.participants[who].edge_per_hour.mean.unwrap();
//! assert!(edge(1) > edge(2));
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod account;
mod background;
pub mod backtest;
mod error;
mod events;
mod file;
pub mod hawkes;
mod latency;
mod lifetimes;
mod market;
mod marks;
pub mod nautilus;
mod prepared;
mod queue;
mod random;
mod recorded;
mod replay;
mod seeds;
mod simulation;
mod worth;

pub use account::{Account, MarkOuts};
pub use background::Background;
pub use error::RaceError;
pub use file::{EXAMPLE, File, SEEDS_MAX};
pub use latency::{Block, Change, LATENCY_NS_MAX, Latency};
pub use lifetimes::Passive;
pub use market::{HORIZONS_NS, Market, PARTICIPANTS_MAX, Participant, Race, Role, VENUES_MAX};
pub use prepared::{Effect, PreparedRace};
pub use seeds::{Money, outcomes, state_hash};
pub use simulation::{Outcome, new_engine, simulate};
pub use worth::{MeasuredDifference, Question};

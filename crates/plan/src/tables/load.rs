//! `[load]` of a scenario: which messages are sent, and when.

use crate::range::{OutOfRange, require, within};
use clock::schedule::{Arrival, RATE_PER_SECOND_MAX};
use serde::{Deserialize, Serialize};
use wire::decimal::Decimal;
use wire::request::{INSTRUMENT_CODE_BYTES_MAX, Side};

/// Limit on the accounts of one trader.
pub const ACCOUNTS_MAX: usize = 10_000;
/// Limit on the connections of one trader.
pub const CONNECTIONS_MAX: usize = 4_096;
/// Limit on the accounts that share a connection.
pub const ACCOUNTS_PER_CONNECTION_MAX: usize = 1_024;
/// The longest run: 30 days.
pub const SECONDS_MAX: f64 = 30.0 * 86_400.0;

/// The rule for the time of the next message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// The schedule.
    #[default]
    Open,
    /// The reply to the previous one: one message in flight per account.
    PingPong,
}

impl Model {
    /// The name in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            Model::Open => "open",
            Model::PingPong => "ping-pong",
        }
    }
}

/// `[load]` of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Load {
    /// Open loop or ping-pong.
    pub model: Model,
    /// Messages per second, orders and cancels together; open loop only.
    pub rate_per_second: f64,
    /// How they are spread over time; open loop only.
    pub arrival: Arrival,
    /// Messages of a burst, if `arrival` is `burst`.
    pub burst: u64,
    /// Seed of random arrivals.
    pub seed: u64,
    /// Accounts that trade in parallel, each with its own token.
    pub accounts: usize,
    /// Connections; accounts share them when there are fewer.
    pub connections: usize,
    /// Number of messages between an order and its cancel; open loop only.
    pub cancel_after: u64,
    /// Instrument of the orders.
    pub instrument: String,
    /// `BUY` or `SELL`.
    pub side: String,
    /// Decimal text. Far from the touch, so that the order rests.
    pub price: String,
    /// Decimal text.
    pub amount: String,
    /// The first account's token; the next accounts have the next numbers.
    pub first_token: u64,
    /// The kernel stamps one of so many orders, and its cancel, on its way out and its reply on the
    /// way in; 0: none.
    pub stamp_every: u64,
}

impl Default for Load {
    fn default() -> Load {
        Load {
            model: Model::Open,
            rate_per_second: 10_000.0,
            arrival: Arrival::Uniform,
            burst: 1,
            seed: 42,
            accounts: 16,
            connections: 16,
            cancel_after: 1,
            instrument: "BTC_USDT".to_owned(),
            side: "BUY".to_owned(),
            price: "1".to_owned(),
            amount: "1".to_owned(),
            first_token: 3001,
            stamp_every: 0,
        }
    }
}

impl Load {
    /// Checks every key against its range.
    ///
    /// # Errors
    /// The first key that is out of range, with the values that are allowed.
    pub fn check(&self) -> Result<(), OutOfRange> {
        let rate = self.rate_per_second;
        require(
            rate > 0.0 && rate <= RATE_PER_SECOND_MAX,
            "load.rate_per_second",
            rate,
            "messages a second are above 0 and at most 1e9",
        )?;
        let (accounts, connections) = (self.accounts, self.connections);
        within("load.accounts", accounts, 1..=ACCOUNTS_MAX, "there must be {}")?;
        within("load.connections", connections, 1..=CONNECTIONS_MAX, "there must be {}")?;
        require(
            connections <= accounts,
            "load.connections",
            connections,
            format!(
                "{accounts} accounts can use at most as many connections; set load.accounts too"
            ),
        )?;
        require(
            accounts.div_ceil(connections) <= ACCOUNTS_PER_CONNECTION_MAX,
            "load.accounts",
            accounts,
            format!(
                "{connections} connections can hold {ACCOUNTS_PER_CONNECTION_MAX} each; set \
                 load.connections too"
            ),
        )?;
        require(
            self.first_token.checked_add(accounts as u64).is_some(),
            "load.first_token",
            self.first_token,
            "the last account's token must be a number of 64 bits too",
        )?;
        let why = "a cancel is due {} messages after its order";
        within("load.cancel_after", self.cancel_after, 1..=10_000, why)?;
        within("load.burst", self.burst, 1..=1_000_000, "a burst is {} messages")?;
        check_instrument("load.instrument", &self.instrument)?;
        require(self.parsed_side().is_some(), "load.side", &self.side, "a side is BUY or SELL")?;
        for (key, text) in [("load.price", &self.price), ("load.amount", &self.amount)] {
            Decimal::parse(text).map_err(|error| OutOfRange::new(key, text, error.to_string()))?;
        }
        Ok(())
    }

    /// Messages in that time of open loop: complete blocks of orders with their cancels, so that
    /// the book is empty afterwards.
    pub fn messages(&self, seconds: f64) -> u64 {
        let block = 2 * self.cancel_after;
        ((self.rate_per_second * seconds) as u64).div_ceil(block) * block
    }

    /// Whether only one message is in flight at a time, over one connection.
    pub fn is_single_ping_pong(&self) -> bool {
        (self.model, self.accounts, self.connections) == (Model::PingPong, 1, 1)
    }

    /// The side, if `side` is one.
    pub fn parsed_side(&self) -> Option<Side> {
        [Side::Buy, Side::Sell].into_iter().find(|side| side.name() == self.side)
    }
}

/// Checks the lengths of a run.
pub(crate) fn check_seconds(warm_up_seconds: f64, seconds: f64) -> Result<(), OutOfRange> {
    for (key, seconds) in [("warm_up_seconds", warm_up_seconds), ("seconds", seconds)] {
        let holds = (0.0..=SECONDS_MAX).contains(&seconds);
        require(holds, key, seconds, "must be 0 to 30 days")?;
    }
    Ok(())
}

pub(crate) fn check_instrument(key: &str, code: &str) -> Result<(), OutOfRange> {
    let why = format!("an instrument code has 1 to {INSTRUMENT_CODE_BYTES_MAX} bytes");
    require((1..=INSTRUMENT_CODE_BYTES_MAX).contains(&code.len()), key, code, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_load_is_fine() {
        Load::default().check().unwrap();
    }

    #[test]
    fn a_bad_key_is_named_with_what_it_may_be() {
        let bad = |change: fn(&mut Load)| {
            let mut load = Load::default();
            change(&mut load);
            load.check().unwrap_err().to_string()
        };
        assert!(bad(|load| load.rate_per_second = 0.0).contains("load.rate_per_second = 0"));
        assert!(bad(|load| load.rate_per_second = f64::NAN).contains("above 0"));
        assert!(bad(|load| load.accounts = 0).contains("1 to 10000"));
        assert!(bad(|load| load.connections = 17).contains("set load.accounts"));
        assert!(bad(|load| load.cancel_after = 0).contains("1 to 10000"));
        assert!(bad(|load| load.side = "buy".into()).contains("BUY or SELL"));
        assert!(bad(|load| load.price = "1e3".into()).contains("load.price = 1e3"));
    }
}

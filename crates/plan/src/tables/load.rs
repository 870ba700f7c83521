//! `[load]` of a scenario: which messages are sent, and when.

use crate::range::{OutOfRange, require, within};
use clock::hawkes::{self, Hawkes};
use clock::schedule::{Arrival, RATE_PER_SECOND_MAX, Schedule, stretched_ns};
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
/// Limit on the messages of a schedule that is made before the run: 400 MB.
pub const SCHEDULE_MESSAGES_MAX: u64 = 50_000_000;
/// Limit on the branching of all kernels together: nearer to 1, bursts hardly end.
pub const BRANCHING_MAX: f64 = 0.99;
/// The longest decay, us.
pub const DECAY_US_MAX: f64 = 1e9;

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
    /// If `arrival` is `recorded`: a Databento MBO file, whose orders, changes and cancels give the
    /// distances.
    pub source: String,
    /// If `arrival` is `hawkes`: the number of messages that each one causes directly.
    pub branching: f64,
    /// The time in which that effect fades to 1/e, us.
    pub decay_us: f64,
    /// The same of a second kernel, for bursts of bursts.
    pub slow_branching: f64,
    /// The same of a second kernel.
    pub slow_decay_us: f64,
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
    /// For FIX: a TOML file with a table `keys` of accounts and their secrets, which sign the
    /// Logons in place of tokens as passwords; empty: none.
    pub keys: String,
    /// The kernel stamps one of N orders, and its cancel, on the way out and its reply on the
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
            source: String::new(),
            branching: 0.7,
            decay_us: 1_000.0,
            slow_branching: 0.0,
            slow_decay_us: 1e6,
            seed: 42,
            accounts: 16,
            connections: 16,
            cancel_after: 1,
            instrument: "BTC_USDT".to_owned(),
            side: "BUY".to_owned(),
            price: "1".to_owned(),
            amount: "1".to_owned(),
            first_token: 3001,
            keys: String::new(),
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
        self.check_bursts()?;
        let is_named = self.arrival != Arrival::Recorded || !self.source.is_empty();
        let why = "name a Databento MBO file with load.source";
        require(is_named, "load.arrival", self.arrival.name(), why)?;
        check_instrument("load.instrument", &self.instrument)?;
        require(self.parsed_side().is_some(), "load.side", &self.side, "a side is BUY or SELL")?;
        for (key, text) in [("load.price", &self.price), ("load.amount", &self.amount)] {
            Decimal::parse(text).map_err(|error| OutOfRange::new(key, text, error.to_string()))?;
        }
        Ok(())
    }

    fn check_bursts(&self) -> Result<(), OutOfRange> {
        let kernels = [
            ("load.branching", self.branching, "load.decay_us", self.decay_us),
            ("load.slow_branching", self.slow_branching, "load.slow_decay_us", self.slow_decay_us),
        ];
        for (branching_key, branching, decay_key, decay_us) in kernels {
            within(branching_key, branching, 0.0..=BRANCHING_MAX, "a message causes {} others")?;
            within(decay_key, decay_us, 1.0..=DECAY_US_MAX, "an effect fades in {} us")?;
        }
        let (both, key) = (self.branching + self.slow_branching, "load.branching + slow_branching");
        let why = "together they are {}, or bursts would hardly end";
        within(key, both, 0.0..=BRANCHING_MAX, why)
    }

    /// Checks that there is memory for a schedule that is made before the run.
    ///
    /// # Errors
    /// If it has too many messages.
    pub fn check_schedule(&self, warm_up_seconds: f64, seconds: f64) -> Result<(), OutOfRange> {
        let messages = self.messages(warm_up_seconds).saturating_add(self.messages(seconds));
        let is_made = self.model == Model::Open && self.arrival.is_made_before();
        let why = format!(
            "with load.arrival = {:?} all due times are made before the run, at most \
             {SCHEDULE_MESSAGES_MAX}, and these are {messages}: lower it, or load.rate_per_second",
            self.arrival.name()
        );
        require(!is_made || messages <= SCHEDULE_MESSAGES_MAX, "seconds", seconds, why)
    }

    /// The due times of open loop's messages, the warm-up's first. Those of bursts are drawn here,
    /// some ten million a second: call it before the run. `recorded` has the times of `source`, one
    /// more than there are messages; only a recorded arrival needs them.
    pub fn schedule(&self, warm_up_seconds: f64, seconds: f64, recorded: &[f64]) -> Schedule {
        let (rate, seed) = (self.rate_per_second, self.seed);
        let count = self.messages(warm_up_seconds) + self.messages(seconds);
        let times = match self.arrival {
            Arrival::Hawkes => hawkes::schedule_ns(self.process(), seed, count as usize, rate),
            Arrival::Recorded => stretched_ns(recorded, rate),
            plain => return Schedule::new(rate, plain, self.burst, seed),
        };
        Schedule::at_times(times.into())
    }

    /// The process of bursts at its rate.
    fn process(&self) -> Hawkes {
        let per_second = |branching, decay_us| (branching, 1e6 / decay_us);
        let kernels = [
            per_second(self.branching, self.decay_us),
            per_second(self.slow_branching, self.slow_decay_us),
        ];
        Hawkes::with_kernels(self.rate_per_second, kernels)
    }

    /// Whether it is open loop with messages that are not evenly spaced.
    pub fn is_uneven(&self) -> bool {
        self.model == Model::Open && self.arrival != Arrival::Uniform
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

/// Checks the arrival of a kind without keys for bursts.
pub(crate) fn check_plain(key: &str, arrival: Arrival) -> Result<(), OutOfRange> {
    let why =
        "only orders, and requests of network scenarios, come so: use uniform, poisson or burst";
    require(!arrival.is_made_before(), key, arrival.name(), why)
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
        assert!(
            bad(|load| load.branching = 1.0).contains("load.branching = 1: a message causes 0")
        );
        assert!(bad(|load| load.slow_branching = 0.5).contains("slow_branching = 1.2: together"));
        assert!(
            bad(|load| load.decay_us = 0.0).contains("load.decay_us = 0: an effect fades in 1")
        );
        assert!(
            bad(|load| load.arrival = Arrival::Recorded).contains("load.arrival = recorded: name")
        );
        assert!(bad(|load| load.side = "buy".into()).contains("BUY or SELL"));
        assert!(bad(|load| load.price = "1e3".into()).contains("load.price = 1e3"));
    }

    /// Twice the branching, closer messages; and no times but those of open loop's bursts are kept.
    #[test]
    fn bursts_are_made_before_the_run_and_keep_the_rate() {
        let mut load = Load { arrival: Arrival::Hawkes, decay_us: 20.0, ..Load::default() };
        let at = |schedule: &mut Schedule| {
            let offset_ns = schedule.offset_ns();
            schedule.advance();
            offset_ns
        };
        let mut short = Vec::new();
        for branching in [0.4, 0.8] {
            load.branching = branching;
            let mut schedule = load.schedule(0.5, 2.0, &[]);
            let times: Vec<u64> = (0..25_000).map(|_| at(&mut schedule)).collect();
            assert!((2_300_000_000..2_500_000_000).contains(&times[24_999]), "{}", times[24_999]);
            short.push(times.windows(2).filter(|pair| pair[1] - pair[0] < 10_000).count());
        }
        assert!(short[1] > short[0] * 3 / 2, "{short:?}");
        load.rate_per_second = 1e6;
        load.check_schedule(1.0, 49.0).unwrap();
        let error = load.check_schedule(1.0, 60.0).unwrap_err().to_string();
        assert!(error.contains("seconds = 60") && error.contains("61000000"), "{error}");
        load.arrival = Arrival::Poisson;
        load.check_schedule(1.0, 60.0).unwrap();
        assert!(load.is_uneven());
        load.model = Model::PingPong;
        assert!(!load.is_uneven());
    }
}

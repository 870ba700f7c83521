//! What a client is told to do: one subject, one run. It is also the file that `tickpath run` hands to
//! a client of any language (clients/CONTRACT.md).

use host::scheduling::Scheduling;
use measure::record::MessageBytes;
use measure::schedule::{Arrival, RATE_PER_SECOND_MAX};
use serde::{Deserialize, Serialize};
use transport::inject::{BadInject, Inject};
use wire::decimal::Decimal;
use wire::request::{INSTRUMENT_CODE_BYTES_MAX, Side};

/// Accounts that one trader holds at most.
pub const ACCOUNTS_MAX: usize = 10_000;
/// Connections that one trader opens at most.
pub const CONNECTIONS_MAX: usize = 4_096;
/// Accounts that share one connection at most.
pub const ACCOUNTS_PER_CONNECTION_MAX: usize = 1_024;
/// The longest run: 30 days.
pub const SECONDS_MAX: f64 = 30.0 * 86_400.0;

/// Who decides when the next message goes out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// The schedule alone.
    #[default]
    Open,
    /// The reply to the one before: one message in flight per account.
    PingPong,
}

impl Model {
    /// As in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            Model::Open => "open",
            Model::PingPong => "ping-pong",
        }
    }
}

/// The `[load]` of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Load {
    /// Open loop or ping-pong.
    pub model: Model,
    /// Messages a second, orders and cancels together; open loop only.
    pub rate_per_second: f64,
    /// How they are spread over time; open loop only.
    pub arrival: Arrival,
    /// Messages of a burst, where arrival is `burst`.
    pub burst: u64,
    /// Seed of random arrivals.
    pub seed: u64,
    /// Accounts that trade in parallel, each with its own token.
    pub accounts: usize,
    /// Connections; accounts share them when there are fewer.
    pub connections: usize,
    /// An order's cancel is due so many messages later; open loop only.
    pub cancel_after: u64,
    /// What is traded.
    pub instrument: String,
    /// `BUY` or `SELL`.
    pub side: String,
    /// Decimal text. Far from the touch, so that the order rests.
    pub price: String,
    /// Decimal text.
    pub amount: String,
    /// The first account's token is this number, the next one's the next.
    pub first_token: u64,
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
        }
    }
}

/// Why a load can't be run.
#[derive(Debug, thiserror::Error, PartialEq)]
#[error("{key} = {value}: {why}")]
pub struct BadLoad {
    key: String,
    value: String,
    why: String,
}

impl BadLoad {
    /// Fine, or what the key may be.
    pub(crate) fn unless(
        holds: bool,
        key: &str,
        value: &dyn ToString,
        why: &str,
    ) -> Result<(), BadLoad> {
        match holds {
            true => Ok(()),
            false => {
                Err(BadLoad { key: key.to_owned(), value: value.to_string(), why: why.to_owned() })
            }
        }
    }
}

impl From<BadInject> for BadLoad {
    fn from(BadInject { key, value, why }: BadInject) -> BadLoad {
        BadLoad { key, value, why }
    }
}

impl Load {
    /// Checks every key against its range.
    ///
    /// # Errors
    /// The first key that is out of range, with what it may be.
    pub fn check(&self) -> Result<(), BadLoad> {
        let require = BadLoad::unless;
        require(
            self.rate_per_second > 0.0 && self.rate_per_second <= RATE_PER_SECOND_MAX,
            "load.rate_per_second",
            &self.rate_per_second,
            "messages a second are above 0 and at most 1e9",
        )?;
        let (accounts, connections) = (self.accounts, self.connections);
        require(
            (1..=ACCOUNTS_MAX).contains(&accounts),
            "load.accounts",
            &accounts,
            &format!("there must be 1 to {ACCOUNTS_MAX}"),
        )?;
        require(
            (1..=CONNECTIONS_MAX).contains(&connections),
            "load.connections",
            &connections,
            &format!("there must be 1 to {CONNECTIONS_MAX}"),
        )?;
        require(
            connections <= accounts,
            "load.connections",
            &connections,
            &format!(
                "{accounts} accounts can use at most as many connections; set load.accounts too"
            ),
        )?;
        require(
            accounts.div_ceil(connections) <= ACCOUNTS_PER_CONNECTION_MAX,
            "load.accounts",
            &accounts,
            &format!(
                "{connections} connections can hold {ACCOUNTS_PER_CONNECTION_MAX} each; set \
                 load.connections too"
            ),
        )?;
        require(
            self.first_token.checked_add(accounts as u64).is_some(),
            "load.first_token",
            &self.first_token,
            "the last account's token must be a number of 64 bits too",
        )?;
        let cancel_after = self.cancel_after;
        require(
            (1..=10_000).contains(&cancel_after),
            "load.cancel_after",
            &cancel_after,
            "a cancel is due 1 to 10000 messages after its order",
        )?;
        require(
            (1..=1_000_000).contains(&self.burst),
            "load.burst",
            &self.burst,
            "a burst is 1 to 1000000 messages",
        )?;
        require(
            (1..=INSTRUMENT_CODE_BYTES_MAX).contains(&self.instrument.len()),
            "load.instrument",
            &self.instrument,
            "an instrument code has 1 to 32 bytes",
        )?;
        require(self.parsed_side().is_some(), "load.side", &self.side, "a side is BUY or SELL")?;
        for (key, text) in [("load.price", &self.price), ("load.amount", &self.amount)] {
            Decimal::parse(text).map_err(|error| BadLoad {
                key: key.to_owned(),
                value: text.clone(),
                why: error.to_string(),
            })?;
        }
        Ok(())
    }

    /// Messages in so many seconds of open loop: whole blocks of orders with their cancels, so that
    /// nothing is left in the book.
    pub fn messages(&self, seconds: f64) -> u64 {
        let block = 2 * self.cancel_after;
        ((self.rate_per_second * seconds) as u64).div_ceil(block) * block
    }

    /// The side, if it is one.
    pub fn parsed_side(&self) -> Option<Side> {
        [Side::Buy, Side::Sell].into_iter().find(|side| side.name() == self.side)
    }
}

/// How orders are said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "wire")]
pub enum Wire {
    /// JSON in WebSocket text frames, the incumbent's dialect.
    WebsocketJson,
    /// The raw echo, with messages of these many bytes.
    Raw(MessageBytes),
}

/// One subject, one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The subject's name: the first part of the tags in the .hlog.
    pub subject: String,
    /// `HOST:PORT` of the exchange.
    pub target: String,
    /// How orders are said.
    #[serde(flatten)]
    pub wire: Wire,
    /// A name of [`transport::BACKENDS`], for tickpath's own client.
    pub backend: String,
    /// The core to pin the measuring thread to.
    pub core: Option<usize>,
    /// The class of the measuring thread.
    pub scheduling: Scheduling,
    /// What to send.
    pub load: Load,
    /// Sent, counted and thrown away.
    pub warm_up_seconds: f64,
    /// Measured.
    pub seconds: f64,
    /// Harm to do on purpose; left out of the file where there is none.
    #[serde(default, skip_serializing_if = "Inject::is_none")]
    pub inject: Inject,
    /// The HdrHistogram log, which is appended to.
    pub hlog: String,
    /// Somebody looks on: tell of each second as it ends. A client may ignore it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub progress: bool,
}

impl Plan {
    /// Checks what a plan from outside may have wrong.
    ///
    /// # Errors
    /// The first key that is out of range, with what it may be.
    pub fn check(&self) -> Result<(), BadLoad> {
        self.load.check()?;
        self.inject.check()?;
        for (key, seconds) in [("warm_up_seconds", self.warm_up_seconds), ("seconds", self.seconds)]
        {
            if !(0.0..=SECONDS_MAX).contains(&seconds) {
                let why = "must be 0 to 30 days".to_owned();
                return Err(BadLoad { key: key.to_owned(), value: seconds.to_string(), why });
            }
        }
        Ok(())
    }
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

    #[test]
    fn a_plan_survives_its_file() {
        let bytes = MessageBytes { order: 212, order_reply: 291, cancel: 111, cancel_reply: 272 };
        let harm = Inject { drop_every: 100, ..Inject::default() };
        for (wire, inject) in [(Wire::WebsocketJson, harm), (Wire::Raw(bytes), Inject::default())] {
            let harmless = inject.is_none();
            let plan = Plan {
                subject: "rust".into(),
                target: "127.0.0.1:8888".into(),
                wire,
                backend: "spin".into(),
                core: Some(1),
                scheduling: Scheduling::Fifo(10),
                load: Load::default(),
                warm_up_seconds: 0.5,
                seconds: 2.0,
                inject,
                hlog: "001.hlog".into(),
                progress: wire == Wire::WebsocketJson,
            };
            let text = serde_json::to_string(&plan).unwrap();
            assert_eq!(text.contains("inject"), !harmless);
            assert_eq!(text.contains("progress"), plan.progress, "left out where nobody looks");
            assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
        }
    }
}

//! What a trader that follows a feed is told to do: one subject, one run. `tickpath run` hands it over as JSON; its key
//! `feed` tells it from the plan of a load ([`crate::plan::Plan`]).

use crate::plan::{BadLoad, SECONDS_MAX};
use host::scheduling::Scheduling;
use measure::clock::Clock;
use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, SocketAddr};
pub use transport::datagrams::{DATAGRAM_BYTES_MAX, DatagramHarm, RECEIVE_BUFFER_BYTES_MAX};
use transport::inject::Inject;
use wire::decimal::Decimal;
use wire::request::{INSTRUMENT_CODE_BYTES_MAX, Side};

/// Samples that a plan may have room made for: 120 bytes each.
pub const SAMPLES_MAX: usize = measure::tick_samples::SAMPLES_MAX as usize;

/// One subject, one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TickPlan {
    /// The subject's name: the first part of the tags in the .hlog.
    pub subject: String,
    /// `HOST:PORT` of the exchange.
    pub target: String,
    /// A name of [`transport::BACKENDS`].
    pub backend: String,
    /// The core to pin the measuring thread to.
    pub core: Option<usize>,
    /// The class of the measuring thread.
    #[serde(default)]
    pub scheduling: Scheduling,
    /// What is traded, and what the strategy looks at. The book of every instrument is kept.
    pub instrument: String,
    /// The account's token.
    pub first_token: u64,
    /// So much of the flow is thrown away.
    pub warm_up_seconds: f64,
    /// So much of it is measured. The flow lasts as long as both together.
    pub seconds: f64,
    /// The clock to stamp on: the exchange's, where both ends are on one machine. Without one the trader calibrates its own.
    #[serde(default)]
    pub clock: Option<Clock>,
    /// The HdrHistogram log, which is appended to.
    pub hlog: String,
    /// The file of samples, which is replaced: [`measure::tick::SAMPLE_BYTES`] each, those of the measured part.
    pub samples: String,
    /// Samples that room is made for before the start. A run that has more of them fails.
    #[serde(default = "default_samples")]
    pub samples_max: usize,
    /// The scenario's name, for the audit log.
    #[serde(default)]
    pub scenario: String,
    /// Somebody looks on: tell of each second as it ends.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub progress: bool,
    /// Where the ticks come in.
    pub feed: FeedPlan,
    /// What is made of them.
    #[serde(default)]
    pub strategy: StrategyPlan,
    /// Path of a risk profile; without one the limits are a profile's defaults.
    #[serde(default)]
    pub risk: Option<String>,
    /// Where everything is written down; without it nothing is.
    #[serde(default)]
    pub audit: Option<AuditPlan>,
    /// The floor: the same loop over bytes without meaning, no book, no signal, no risk.
    #[serde(default)]
    pub raw: Option<RawPlan>,
    /// Harm to do on purpose to the stream of orders: `delay_us` shows in the stage `order`.
    #[serde(default, skip_serializing_if = "Inject::is_none")]
    pub inject: Inject,
}

/// Where the ticks come in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FeedPlan {
    /// `IP:PORT` that the trader binds, and (where it isn't multicast) asks the exchange to send to; port 0: any free one.
    pub listen: SocketAddr,
    /// The interface on which to join the exchange's multicast group (0.0.0.0: the kernel chooses); without it the feed is unicast.
    pub multicast: Option<Ipv4Addr>,
    /// The receive buffer to ask the kernel for, bytes. What it gave stands in the result.
    pub receive_buffer_bytes: usize,
    /// Whether the kernel stamps what it receives.
    pub kernel_stamps: bool,
    /// Instruments that the exchange has: as many books are kept, and hashed together.
    pub instruments: u16,
    /// Orders that rest in one book at most: the exchange's `open_orders_max`.
    pub orders_max: u32,
    /// Prices of one side of a book at most: the exchange's `price_levels_max`.
    pub levels_max: u32,
    /// The feed's longest datagram, bytes: the exchange's `--feed-bytes`.
    pub datagram_bytes_max: usize,
    /// Harm to do on purpose to what is received.
    pub inject: DatagramHarm,
}

impl Default for FeedPlan {
    fn default() -> FeedPlan {
        FeedPlan {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            multicast: None,
            receive_buffer_bytes: 8 << 20,
            kernel_stamps: true,
            instruments: 4,
            orders_max: 65_536,
            levels_max: 16_384,
            datagram_bytes_max: 1_472,
            inject: DatagramHarm::default(),
        }
    }
}

/// Which strategy decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StrategyName {
    /// An order for every so many-th tick that never trades: for clean measurement.
    #[default]
    Trigger,
    /// Two quotes around the micro-price, skewed by the position.
    MarketMaking,
}

/// The `[strategy]` of a scenario. Keys that the named strategy does not use are ignored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StrategyPlan {
    /// Which.
    pub name: StrategyName,
    /// `trigger`: every so many-th tick that changed a book leads to an order.
    pub every: u64,
    /// `trigger`: `BUY` or `SELL`.
    pub side: String,
    /// `trigger`: how far behind the touch of its side the order is priced, ticks.
    pub distance_ticks: i64,
    /// An order's or a quote's size, decimal text.
    pub amount: String,
    /// `market-making`: how far from the middle each quote stands, ticks.
    pub half_spread_ticks: f64,
    /// `market-making`: how far a full position moves the middle against itself, ticks.
    pub skew_ticks: f64,
    /// `market-making`: the position at which no more is quoted on its side, in quotes' sizes. What trades while a message is on its way is
    /// seen later: the limit that holds is the risk profile's `position_max`.
    pub position_quotes_max: u64,
    /// `market-making`: a quote that is so far from where it should be, or more, is moved; ticks.
    pub requote_ticks: f64,
    /// While no tick comes the trader goes through its stages with made-up ones, and fetches its book into the processor's caches, so that
    /// the next tick finds both near. Only where it spins.
    pub rehearse: bool,
}

impl Default for StrategyPlan {
    fn default() -> StrategyPlan {
        StrategyPlan {
            name: StrategyName::Trigger,
            every: 1,
            side: "BUY".to_owned(),
            distance_ticks: 10_000,
            amount: "0.01".to_owned(),
            half_spread_ticks: 1.0,
            skew_ticks: 2.0,
            position_quotes_max: 10,
            requote_ticks: 1.0,
            rehearse: true,
        }
    }
}

impl StrategyPlan {
    /// The side, if it is one.
    pub fn parsed_side(&self) -> Option<Side> {
        [Side::Buy, Side::Sell].into_iter().find(|side| side.name() == self.side)
    }
}

/// Where everything is written down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuditPlan {
    /// The file.
    pub file: String,
    /// The core of the logger's thread; anywhere without one.
    #[serde(default)]
    pub core: Option<usize>,
}

/// What the floor sends and receives: as many bytes as the real messages had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawPlan {
    /// Bytes of a tick.
    pub datagram_bytes: u64,
    /// Bytes of an order.
    pub order_bytes: u64,
    /// Bytes of its reply.
    pub reply_bytes: u64,
}

/// Two minutes of 10 000 ticks a second that all become orders: 144 MB.
fn default_samples() -> usize {
    1_200_000
}

impl TickPlan {
    /// Checks what a plan from outside may have wrong.
    ///
    /// # Errors
    /// The first key that is out of range, with what it may be.
    pub fn check(&self) -> Result<(), BadLoad> {
        self.inject.check()?;
        for (key, seconds) in [("warm_up_seconds", self.warm_up_seconds), ("seconds", self.seconds)]
        {
            BadLoad::unless(
                (0.0..=SECONDS_MAX).contains(&seconds),
                key,
                &seconds,
                "must be 0 to 30 days",
            )?;
        }
        BadLoad::unless(
            (1..=INSTRUMENT_CODE_BYTES_MAX).contains(&self.instrument.len()),
            "instrument",
            &self.instrument,
            "an instrument code has 1 to 32 bytes",
        )?;
        BadLoad::unless(
            (1..=SAMPLES_MAX).contains(&self.samples_max),
            "samples_max",
            &self.samples_max,
            "must be 1 to 20 million",
        )?;
        let bytes = self.feed.receive_buffer_bytes;
        BadLoad::unless(
            (1..=RECEIVE_BUFFER_BYTES_MAX).contains(&bytes),
            "feed.receive_buffer_bytes",
            &bytes,
            "must be 1 to 1 GiB",
        )?;
        for (key, value, max) in [
            ("feed.instruments", u64::from(self.feed.instruments), 1_024),
            ("feed.orders_max", self.feed.orders_max.into(), (1 << 24) - 2),
            ("feed.levels_max", self.feed.levels_max.into(), (1 << 24) - 2),
            (
                "feed.datagram_bytes_max",
                self.feed.datagram_bytes_max as u64,
                DATAGRAM_BYTES_MAX as u64,
            ),
        ] {
            let why = format!("must be 1 to {max}, as at the exchange");
            BadLoad::unless((1..=max).contains(&value), key, &value, &why)?;
        }
        let DatagramHarm { drop_every, duplicate_every, reorder_every } = self.feed.inject;
        for (key, every) in [
            ("feed.inject.drop_every", drop_every),
            ("feed.inject.duplicate_every", duplicate_every),
            ("feed.inject.reorder_every", reorder_every),
        ] {
            let why = "every second datagram (2) or fewer; 0 is none";
            BadLoad::unless(every != 1, key, &every, why)?;
        }
        if let Some(clock) = &self.clock {
            let name = clock.source().name();
            let why = "this machine has no such counter; leave the clock out";
            BadLoad::unless(clock.is_readable(), "clock.source", &name, why)?;
        }
        if let Some(raw) = &self.raw {
            let datagram_bytes = raw.datagram_bytes;
            BadLoad::unless(
                (1..=DATAGRAM_BYTES_MAX as u64).contains(&datagram_bytes),
                "raw.datagram_bytes",
                &datagram_bytes,
                "a datagram has 1 to 65507 bytes",
            )?;
        }
        self.strategy.check()
    }
}

impl StrategyPlan {
    /// Checks every key against its range.
    ///
    /// # Errors
    /// The first key that is out of range, with what it may be.
    pub fn check(&self) -> Result<(), BadLoad> {
        BadLoad::unless(
            (1..=1_000_000_000).contains(&self.every),
            "strategy.every",
            &self.every,
            "an order for every tick (1) or for every so many-th, to 1e9",
        )?;
        let side_is_one = self.parsed_side().is_some();
        BadLoad::unless(side_is_one, "strategy.side", &self.side, "a side is BUY or SELL")?;
        BadLoad::unless(
            (1..=1_000_000_000).contains(&self.distance_ticks),
            "strategy.distance_ticks",
            &self.distance_ticks,
            "1 to 1e9: an order at the touch would trade",
        )?;
        let amount = Decimal::parse(&self.amount).is_ok_and(|amount| amount > Decimal::ZERO);
        let why = "write a number above 0, such as \"0.01\"";
        BadLoad::unless(amount, "strategy.amount", &self.amount, why)?;
        for (key, ticks, min) in [
            ("strategy.half_spread_ticks", self.half_spread_ticks, 0.0),
            ("strategy.skew_ticks", self.skew_ticks, 0.0),
            ("strategy.requote_ticks", self.requote_ticks, 0.001),
        ] {
            let why = format!("must be {min} to 1e6 ticks");
            BadLoad::unless((min..=1e6).contains(&ticks), key, &ticks, &why)?;
        }
        BadLoad::unless(
            (1..=1_000_000).contains(&self.position_quotes_max),
            "strategy.position_quotes_max",
            &self.position_quotes_max,
            "must be 1 to 1e6",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> TickPlan {
        TickPlan {
            subject: "rust".into(),
            target: "127.0.0.1:8888".into(),
            backend: "spin".into(),
            core: Some(1),
            scheduling: Scheduling::Fifo(10),
            instrument: "BTC_USDT".into(),
            first_token: 3001,
            warm_up_seconds: 0.5,
            seconds: 2.0,
            clock: None,
            hlog: "001.hlog".into(),
            samples: "001-rust.samples".into(),
            samples_max: 1_000,
            scenario: "tick-to-trade".into(),
            progress: false,
            feed: FeedPlan::default(),
            strategy: StrategyPlan::default(),
            risk: None,
            audit: Some(AuditPlan { file: "001.audit".into(), core: None }),
            raw: None,
            inject: Inject::default(),
        }
    }

    #[test]
    fn survives_its_file_and_is_no_plan_of_a_load() {
        let raw = RawPlan { datagram_bytes: 100, order_bytes: 200, reply_bytes: 300 };
        let clock = Some(Clock::calibrate());
        for plan in [plan(), TickPlan { raw: Some(raw), clock, progress: true, ..plan() }] {
            plan.check().unwrap();
            let text = serde_json::to_string(&plan).unwrap();
            assert_eq!(serde_json::from_str::<TickPlan>(&text).unwrap(), plan);
            assert!(serde_json::from_str::<crate::Plan>(&text).is_err());
        }
    }

    /// What a script writes by hand.
    #[test]
    fn little_must_be_said() {
        let text = r#"{"subject":"rust","target":"127.0.0.1:1","backend":"block","core":null,"instrument":"BTC_USDT",
            "first_token":1,"warm_up_seconds":0,"seconds":1,"hlog":"h","samples":"s","feed":{},
            "strategy":{"name":"market-making"}}"#;
        let plan: TickPlan = serde_json::from_str(text).unwrap();
        assert_eq!(plan.strategy.name, StrategyName::MarketMaking);
        assert_eq!(plan.feed, FeedPlan::default());
        plan.check().unwrap();
    }

    #[test]
    fn a_bad_key_is_named_with_what_it_may_be() {
        let bad = |change: fn(&mut TickPlan)| {
            let mut plan = plan();
            change(&mut plan);
            plan.check().unwrap_err().to_string()
        };
        assert!(bad(|plan| plan.seconds = f64::NAN).contains("0 to 30 days"));
        assert!(bad(|plan| plan.instrument.clear()).contains("1 to 32 bytes"));
        assert!(bad(|plan| plan.feed.receive_buffer_bytes = 0).contains("1 GiB"));
        assert!(bad(|plan| plan.feed.inject.drop_every = 1).contains("drop_every = 1"));
        assert!(bad(|plan| plan.strategy.every = 0).contains("strategy.every = 0"));
        assert!(bad(|plan| plan.strategy.side = "buy".into()).contains("BUY or SELL"));
        assert!(bad(|plan| plan.strategy.amount = "0".into()).contains("above 0"));
        assert!(bad(|plan| plan.strategy.requote_ticks = 0.0).contains("0.001"));
        let raw = RawPlan { datagram_bytes: 0, order_bytes: 1, reply_bytes: 1 };
        let floor = TickPlan { raw: Some(raw), ..plan() };
        assert!(floor.check().unwrap_err().to_string().contains("65507"));
    }
}

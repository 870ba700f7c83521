//! The plan of a trader that follows a feed: one subject, one run, as JSON from `tickpath run`. Its
//! key `feed` distinguishes it from an [`OrdersPlan`](crate::process::orders::OrdersPlan).

use crate::backend::{self, Queue};
use crate::faults::{DatagramHarm, Inject};
use crate::process::targets;
use crate::range::{OutOfRange, require, within};
use crate::tables::load::{check_instrument, check_seconds};
use crate::tables::one_way::OneWay;
use crate::tables::strategy::{StrategyName, StrategyPlan};
use crate::tables::ticks::{
    DATAGRAM_BYTES_MAX, FeedDialect, HOLD_US_MAX, RECEIVE_BUFFER_BYTES_MAX, price_limit,
};
use crate::trust::Trust;
use clock::Clock;
use host::scheduling::Scheduling;
use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, SocketAddr};

/// Limit on the samples of a plan, 120 bytes each.
pub const SAMPLES_MAX: usize = record::tick::samples::SAMPLES_MAX as usize;

/// One subject, one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TickPlan {
    /// The subject's name: the first part of the tags in the .hlog.
    pub subject: String,
    /// `HOST:PORT` of the exchange; several, separated by commas: go on at another one when it is
    /// lost.
    pub target: String,
    /// A name of [`crate::backend::BACKENDS`].
    pub backend: String,
    /// For `af_xdp`: the queue of its interface; left out: all.
    #[serde(default, skip_serializing_if = "Queue::is_all")]
    pub queue: Queue,
    /// The core to pin the measuring thread to.
    pub core: Option<usize>,
    /// Scheduling class of the measuring thread.
    #[serde(default)]
    pub scheduling: Scheduling,
    /// The instrument that the strategy watches and trades. The trader keeps the books of all
    /// instruments.
    pub instrument: String,
    /// The account's token.
    pub first_token: u64,
    /// Length of the warm-up.
    pub warm_up_seconds: f64,
    /// Length of the measured part. The flow lasts for both.
    pub seconds: f64,
    /// The exchange's process, if it runs on this machine: its processor time is counted too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange_process: Option<u32>,
    /// The clock of the stamps: the exchange's, if both ends are on one machine. Without one the
    /// trader calibrates its own.
    #[serde(default)]
    pub clock: Option<Clock>,
    /// When figures between two clocks are shown.
    #[serde(default)]
    pub one_way: OneWay,
    /// The HdrHistogram log, which is appended to.
    pub hlog: String,
    /// The file of samples, which is replaced: [`record::tick::SAMPLE_BYTES`] for each of the
    /// measured part.
    pub samples: String,
    /// The kernel stamps the order of one of N samples; 0: none.
    #[serde(default)]
    pub stamp_every: u64,
    /// Room for samples, made before the start. A run with more fails.
    #[serde(default = "default_samples")]
    pub samples_max: usize,
    /// The scenario's name, for the audit log.
    #[serde(default)]
    pub scenario: String,
    /// Report each second as it ends.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub progress: bool,
    /// The feed.
    pub feed: FeedPlan,
    /// The strategy.
    #[serde(default)]
    pub strategy: StrategyPlan,
    /// Path of a risk profile; without one the limits are a profile's default values.
    #[serde(default)]
    pub risk: Option<String>,
    /// The audit log, if there is one.
    #[serde(default)]
    pub audit: Option<AuditPlan>,
    /// The floor: the same loop over bytes without meaning, without book, signal and risk.
    #[serde(default)]
    pub raw: Option<RawPlan>,
    /// Speak TLS, and check the exchange's certificate by this; absent for plain text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Trust>,
    /// Faults to inject into the stream of orders: `delay_us` shows in the stage `order`.
    #[serde(default, skip_serializing_if = "Inject::is_none")]
    pub inject: Inject,
}

/// The feed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FeedPlan {
    /// Its dialect. With JSON and FIX only `address`, `kernel_stamps` and `levels_max` of what
    /// follows mean anything.
    pub dialect: FeedDialect,
    /// For FIX: `HOST:PORT` at which the exchange accepts it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// `IP:PORT` that the trader binds and, for unicast, names to the exchange; port 0: any free
    /// one.
    pub listen: SocketAddr,
    /// Interface on which to join the exchange's multicast group (0.0.0.0: the kernel's choice);
    /// without it the feed is unicast.
    pub multicast: Option<Ipv4Addr>,
    /// Receive buffer to request from the kernel, bytes. The result tells what it granted.
    pub receive_buffer_bytes: usize,
    /// Whether the kernel stamps datagrams.
    pub kernel_stamps: bool,
    /// Number of the exchange's instruments: one book for each, all hashed together.
    pub instruments: u16,
    /// Limit on resting orders per book: the exchange's `open_orders_max`.
    pub orders_max: u32,
    /// Limit on prices per side of a book: the exchange's `price_levels_max`.
    pub levels_max: u32,
    /// Limit on the length of a datagram, bytes: the exchange's `--feed-bytes`.
    pub datagram_bytes_max: usize,
    /// How long after its publication a tick is handed on, ns; 0: as it comes.
    pub hold_ns: u64,
    /// Damage to received datagrams.
    pub inject: DatagramHarm,
}

impl Default for FeedPlan {
    fn default() -> FeedPlan {
        FeedPlan {
            dialect: FeedDialect::Sbe,
            address: None,
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            multicast: None,
            receive_buffer_bytes: 8 << 20,
            kernel_stamps: true,
            instruments: 4,
            orders_max: 65_536,
            levels_max: 16_384,
            datagram_bytes_max: 1_472,
            hold_ns: 0,
            inject: DatagramHarm::default(),
        }
    }
}

/// The audit log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuditPlan {
    /// The file.
    pub file: String,
    /// Core of the logger's thread; `None`: not pinned.
    #[serde(default)]
    pub core: Option<usize>,
}

/// Lengths of the floor's messages, equal to the real ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawPlan {
    /// Length of a tick.
    pub datagram_bytes: u64,
    /// Length of an order.
    pub order_bytes: u64,
    /// Length of its reply.
    pub reply_bytes: u64,
    /// Only receive and send at both ends.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bare: bool,
}

/// Two minutes of 10 000 ticks per second that all become orders: 144 MB.
fn default_samples() -> usize {
    1_200_000
}

impl TickPlan {
    /// The addresses at which the exchange may be.
    pub fn targets(&self) -> Vec<&str> {
        targets(&self.target)
    }

    /// Whether a trader with this plan can go on at another address.
    fn can_change(&self) -> bool {
        let is_simple = self.strategy.name == StrategyName::Trigger && self.raw.is_none();
        is_simple
            && self.feed.dialect == FeedDialect::Sbe
            && self.feed.multicast.is_none()
            && self.feed.hold_ns == 0
            && self.stamp_every == 0
    }

    /// Checks the parts of a plan that may be wrong.
    ///
    /// # Errors
    /// The first key that is out of range, with the values that are allowed.
    pub fn check(&self) -> Result<(), OutOfRange> {
        self.inject.check()?;
        check_seconds(self.warm_up_seconds, self.seconds)?;
        check_instrument("instrument", &self.instrument)?;
        require(
            self.targets().len() == 1 || self.can_change(),
            "target",
            &self.target,
            "several addresses need strategy.name = \"trigger\", a unicast feed of SBE, \
             feed.hold_us = 0 and load.stamp_every = 0",
        )?;
        within("samples_max", self.samples_max, 1..=SAMPLES_MAX, "there is room for {}")?;
        let FeedPlan { receive_buffer_bytes, instruments, orders_max, levels_max, .. } = self.feed;
        let bytes = 1..=RECEIVE_BUFFER_BYTES_MAX;
        within("feed.receive_buffer_bytes", receive_buffer_bytes, bytes, "{} bytes")?;
        let why = "must be {}, as at the exchange";
        within("feed.instruments", instruments, 1..=1_024, why)?;
        within("feed.orders_max", orders_max, 1..=(1 << 24) - 2, why)?;
        within("feed.levels_max", levels_max, 1..=(1 << 24) - 2, why)?;
        let bytes = 1..=DATAGRAM_BYTES_MAX;
        within("feed.datagram_bytes_max", self.feed.datagram_bytes_max, bytes, why)?;
        within("feed.hold_ns", self.feed.hold_ns, 0..=HOLD_US_MAX * 1_000, "{} ns; 0 is none")?;
        let DatagramHarm { drop_every, duplicate_every, reorder_every } = self.feed.inject;
        for (key, every) in [
            ("feed.inject.drop_every", drop_every),
            ("feed.inject.duplicate_every", duplicate_every),
            ("feed.inject.reorder_every", reorder_every),
        ] {
            let why = "every second datagram (2) or fewer; 0 is none";
            require(every != 1, key, every, why)?;
        }
        if let Some(clock) = &self.clock {
            let name = clock.source().name();
            let why = "this machine has no such counter; leave the clock out";
            require(clock.is_readable(), "clock.source", name, why)?;
        }
        if let Some(raw) = &self.raw {
            let bytes = 1..=DATAGRAM_BYTES_MAX as u64;
            within("raw.datagram_bytes", raw.datagram_bytes, bytes, "{} bytes")?;
        }
        let dialect = self.feed.dialect;
        if dialect != FeedDialect::Sbe {
            let limit = price_limit([
                self.feed.hold_ns > 0,
                !self.feed.inject.is_none(),
                self.strategy.name == StrategyName::MarketMaking,
                self.audit.is_some(),
                self.stamp_every > 0,
                false,
                backend::is_below(&self.backend),
            ]);
            require(limit.is_none(), "feed.dialect", dialect.name(), limit.unwrap_or_default())?;
        }
        let needs_address = dialect == FeedDialect::Fix && self.raw.is_none();
        let has_address = !needs_address || self.feed.address.is_some();
        let why = "name the exchange's FIX port with feed.address (in a scenario feed.fix_address)";
        require(has_address, "feed.dialect", dialect.name(), why)?;
        self.strategy.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> TickPlan {
        TickPlan {
            exchange_process: Some(4711),
            subject: "rust".into(),
            target: "127.0.0.1:8888".into(),
            backend: "spin".into(),
            queue: Queue::One(1),
            core: Some(1),
            scheduling: Scheduling::Fifo(10),
            instrument: "BTC_USDT".into(),
            first_token: 3001,
            warm_up_seconds: 0.5,
            seconds: 2.0,
            clock: None,
            one_way: OneWay::Tenth,
            hlog: "001.hlog".into(),
            samples: "001-rust.samples".into(),
            stamp_every: 0,
            samples_max: 1_000,
            scenario: "tick-to-trade".into(),
            progress: false,
            feed: FeedPlan::default(),
            strategy: StrategyPlan::default(),
            risk: None,
            audit: Some(AuditPlan { file: "001.audit".into(), core: None }),
            raw: None,
            tls: None,
            inject: Inject::default(),
        }
    }

    #[test]
    fn survives_its_file_and_is_no_plan_of_a_load() {
        let raw = RawPlan { datagram_bytes: 100, order_bytes: 200, reply_bytes: 300, bare: true };
        let clock = Some(Clock::calibrate());
        for plan in [plan(), TickPlan { raw: Some(raw), clock, progress: true, ..plan() }] {
            plan.check().unwrap();
            let text = serde_json::to_string(&plan).unwrap();
            assert_eq!(serde_json::from_str::<TickPlan>(&text).unwrap(), plan);
            assert!(serde_json::from_str::<crate::process::orders::OrdersPlan>(&text).is_err());
        }
    }

    /// A plan as a script would write it.
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
        assert!(bad(|plan| plan.feed.receive_buffer_bytes = 0).contains("1 to 1073741824 bytes"));
        assert!(bad(|plan| plan.feed.inject.drop_every = 1).contains("drop_every = 1"));
        assert!(bad(|plan| plan.strategy.every = 0).contains("strategy.every = 0"));
        assert!(bad(|plan| plan.strategy.side = "buy".into()).contains("BUY or SELL"));
        assert!(bad(|plan| plan.strategy.amount = "0".into()).contains("above 0"));
        assert!(bad(|plan| plan.strategy.requote_ticks = 0.0).contains("0.001"));
        let json = bad(|plan| plan.feed.dialect = FeedDialect::Json);
        assert!(json.contains("feed.dialect = json: an audit log"), "{json}");
        let top = bad(|plan| plan.feed.dialect = FeedDialect::JsonTop);
        assert!(top.contains("feed.dialect = json-top: an audit log"), "{top}");
        let fix = bad(|plan| {
            plan.audit = None;
            plan.feed.dialect = FeedDialect::Fix;
        });
        assert!(fix.contains("feed.dialect = fix: name the exchange's FIX port"), "{fix}");
        let raw = RawPlan { datagram_bytes: 0, order_bytes: 1, reply_bytes: 1, bare: false };
        assert!(
            bad(|plan| {
                plan.target = "a:1,b:2".into();
                plan.strategy.name = StrategyName::MarketMaking;
            })
            .contains("several addresses need strategy.name")
        );
        let floor = TickPlan { raw: Some(raw), ..plan() };
        assert!(floor.check().unwrap_err().to_string().contains("65507"));
        // The raw ticker has no FIX port.
        let feed = FeedPlan { dialect: FeedDialect::Fix, ..FeedPlan::default() };
        let raw = floor.raw.map(|raw| RawPlan { datagram_bytes: 200, ..raw });
        TickPlan { raw, feed, audit: None, ..plan() }.check().unwrap();
    }
}

//! The table `[market]` of a race file.

use crate::error::{RaceError, in_range};
use crate::hawkes::{Hawkes, KERNELS_MAX};
use crate::lifetimes::Passive;
use crate::market::Market;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// `[market]`; see [`Market`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(missing_docs)]
pub struct MarketTable {
    /// A Databento MBO file. With it there is no other news and noise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded: Option<PathBuf>,
    pub value_ticks: i64,
    pub news_per_second: f64,
    pub news_branching: f64,
    pub news_decay_us: f64,
    pub news_slow_branching: f64,
    pub news_slow_decay_us: f64,
    pub jump_ticks: f64,
    pub noise_per_second: f64,
    pub noise_branching: f64,
    pub noise_decay_us: f64,
    pub noise_slow_branching: f64,
    pub noise_slow_decay_us: f64,
    pub noise_lots: u64,
    pub noise_reach_ticks: i64,
    pub passive_per_second: f64,
    pub passive_within_100us: f64,
    pub passive_within_1ms: f64,
    pub passive_longer_ms: f64,
    pub passive_lots: u64,
    pub passive_reach_ticks: u32,
    pub maker_fee_ticks: f64,
    pub taker_fee_ticks: f64,
    pub speed_bump_us: f64,
    pub batch_us: f64,
}

impl Default for MarketTable {
    fn default() -> MarketTable {
        MarketTable {
            recorded: None,
            value_ticks: 20_000,
            news_per_second: 20.0,
            news_branching: 0.0,
            news_decay_us: 10_000.0,
            news_slow_branching: 0.0,
            news_slow_decay_us: 1e6,
            jump_ticks: 2.0,
            noise_per_second: 100.0,
            noise_branching: 0.0,
            noise_decay_us: 10_000.0,
            noise_slow_branching: 0.0,
            noise_slow_decay_us: 1e6,
            noise_lots: 1,
            noise_reach_ticks: 10,
            passive_per_second: 0.0,
            passive_within_100us: 0.5,
            passive_within_1ms: 0.7,
            passive_longer_ms: 1_000.0,
            passive_lots: 1,
            passive_reach_ticks: 3,
            maker_fee_ticks: 0.0,
            taker_fee_ticks: 0.0,
            speed_bump_us: 0.0,
            batch_us: 0.0,
        }
    }
}

impl MarketTable {
    /// Branching and decay of each kernel, the decay as a time, us.
    fn kernels_of_news(&self) -> [(f64, f64); KERNELS_MAX] {
        let slow = (self.news_slow_branching, self.news_slow_decay_us);
        [(self.news_branching, self.news_decay_us), slow]
    }

    fn kernels_of_noise(&self) -> [(f64, f64); KERNELS_MAX] {
        let slow = (self.noise_slow_branching, self.noise_slow_decay_us);
        [(self.noise_branching, self.noise_decay_us), slow]
    }

    /// Checks it.
    ///
    /// # Errors
    /// If a value is out of range.
    pub(super) fn market(&self) -> Result<Market, RaceError> {
        let hawkes = |name: &str, rate: f64, kernels: [(f64, f64); KERNELS_MAX]| {
            in_range(&format!("market.{name}_per_second"), rate, 0.0, 1e6)?;
            for ((branching, decay_us), prefix) in kernels.iter().zip(["", "slow_"]) {
                in_range(&format!("market.{name}_{prefix}branching"), *branching, 0.0, 0.99)?;
                in_range(&format!("market.{name}_{prefix}decay_us"), *decay_us, 1.0, 1e9)?;
            }
            let total = kernels[0].0 + kernels[1].0;
            in_range(
                &format!("market.{name}_branching + {name}_slow_branching"),
                total,
                0.0,
                0.99,
            )?;
            let per_second = |(branching, decay_us)| (branching, 1e6 / decay_us);
            Ok::<Hawkes, RaceError>(Hawkes::with_kernels(rate, kernels.map(per_second)))
        };
        in_range("market.value_ticks", self.value_ticks as f64, 100.0, 1e9)?;
        in_range("market.jump_ticks", self.jump_ticks, 1.0, 1e4)?;
        in_range("market.noise_lots", self.noise_lots as f64, 1.0, 1e6)?;
        in_range("market.noise_reach_ticks", self.noise_reach_ticks as f64, 0.0, 1e6)?;
        in_range("market.maker_fee_ticks", self.maker_fee_ticks, -1e6, 1e6)?;
        in_range("market.taker_fee_ticks", self.taker_fee_ticks, -1e6, 1e6)?;
        let batch = in_range("market.batch_us", self.batch_us, 0.0, 1e6)?;
        let speed_bump = in_range("market.speed_bump_us", self.speed_bump_us, 0.0, 1e6)?;
        Ok(Market {
            value_ticks: self.value_ticks,
            news: hawkes("news", self.news_per_second, self.kernels_of_news())?,
            jump_ticks: self.jump_ticks,
            noise: hawkes("noise", self.noise_per_second, self.kernels_of_noise())?,
            noise_lots: self.noise_lots,
            noise_reach_ticks: self.noise_reach_ticks,
            passive: self.passive()?,
            maker_fee_ticks: self.maker_fee_ticks,
            taker_fee_ticks: self.taker_fee_ticks,
            speed_bump_ns: (speed_bump * 1e3) as u64,
            batch_ns: (batch * 1e3) as u64,
        })
    }

    fn passive(&self) -> Result<Passive, RaceError> {
        let within_1ms = in_range("market.passive_within_1ms", self.passive_within_1ms, 0.0, 1.0)?;
        let within_100us = self.passive_within_100us;
        in_range("market.passive_lots", self.passive_lots as f64, 1.0, 1e6)?;
        in_range("market.passive_reach_ticks", f64::from(self.passive_reach_ticks), 1.0, 1e6)?;
        let longer_ms = in_range("market.passive_longer_ms", self.passive_longer_ms, 0.0, 1e9)?;
        Ok(Passive {
            per_second: in_range("market.passive_per_second", self.passive_per_second, 0.0, 1e6)?,
            within_100us: in_range("market.passive_within_100us", within_100us, 0.0, within_1ms)?,
            within_1ms,
            longer_ns: longer_ms * 1e6,
            lots: self.passive_lots,
            reach_ticks: self.passive_reach_ticks,
        })
    }
}

//! A race as a file.

mod market;

use crate::background::Background;
use crate::error::{RaceError, in_range, value};
use crate::hawkes::Hawkes;
use crate::latency::{LATENCY_NS_MAX, Latency};
use crate::market::{PARTICIPANTS_MAX, Participant, Race, Role, VENUES_MAX};
use crate::prepared::PreparedRace;
use crate::recorded;
use crate::seeds::Money;
use market::MarketTable;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

/// The most seeds of a race.
pub const SEEDS_MAX: u32 = 100_000;
/// The race that `tickpath race` makes without a file.
pub const EXAMPLE: &str = include_str!("example.toml");

/// Names of the mark-outs for `worth_at`, in the order of [`crate::HORIZONS_NS`].
const WORTH_AT: [&str; 3] = ["1ms", "100ms", "1s"];

/// A race file, with all defaults.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Its name.
    pub name: String,
    /// Simulated time of each market.
    #[serde(default = "d::seconds")]
    pub seconds: f64,
    /// Number of markets.
    #[serde(default = "d::seeds")]
    pub seeds: u32,
    /// The first one's seed.
    #[serde(default = "d::one")]
    pub first_seed: u64,
    /// Money for one tick of one lot.
    #[serde(default = "d::one_and")]
    pub tick_value: f64,
    /// Its currency.
    #[serde(default = "d::currency")]
    pub currency: String,
    /// When a fill's value counts: `1ms`, `100ms` or `1s` later.
    #[serde(default = "d::worth_at")]
    pub worth_at: String,
    /// The participant whose latency is varied.
    #[serde(default)]
    pub subject: Option<String>,
    /// The market.
    #[serde(default)]
    pub market: MarketTable,
    /// The participants.
    #[serde(default, rename = "participant")]
    pub participants: Vec<ParticipantTable>,
}

/// `[[participant]]`; see [`Participant`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct ParticipantTable {
    pub name: String,
    pub kind: ParticipantKind,
    #[serde(default)]
    pub venue: u16,
    /// Only of a maker.
    #[serde(default = "d::spread")]
    pub spread_ticks: f64,
    /// Only of a sniper or an arbitrageur.
    #[serde(default = "d::edge")]
    pub edge_ticks: f64,
    #[serde(default = "d::one")]
    pub lots: u64,
    #[serde(default = "d::inventory")]
    pub inventory_lots_max: u64,
    /// Only of an arbitrageur.
    #[serde(default)]
    pub far_us: f64,
    pub latency: LatencyTable,
}

/// Kinds of participants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum ParticipantKind {
    Maker,
    Sniper,
    Arbitrageur,
}

/// A latency: constant, exponential, or that of a run; then multiplied and shifted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LatencyTable {
    /// Always the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constant_us: Option<f64>,
    /// Exponential with this mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exponential_us: Option<f64>,
    /// A run's directory, or one of its `.hlog` files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<PathBuf>,
    /// Its series: `subject.series.kind`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<String>,
    /// Factor.
    #[serde(default = "d::one_and")]
    pub times: f64,
    /// Added, after the factor.
    #[serde(default)]
    pub plus_us: f64,
}

/// Defaults.
mod d {
    pub fn seconds() -> f64 {
        20.0
    }
    pub fn seeds() -> u32 {
        30
    }
    pub fn one() -> u64 {
        1
    }
    pub fn one_and() -> f64 {
        1.0
    }
    pub fn currency() -> String {
        "units".to_owned()
    }
    pub fn worth_at() -> String {
        super::WORTH_AT[0].to_owned()
    }
    pub fn spread() -> f64 {
        2.0
    }
    pub fn edge() -> f64 {
        0.5
    }
    pub fn inventory() -> u64 {
        50
    }
}

impl File {
    /// Reads a race from its text.
    ///
    /// # Errors
    /// If it is no TOML, or has keys that no race has.
    pub fn parse(text: &str) -> Result<File, RaceError> {
        toml::from_str(text).map_err(|error| RaceError::Syntax(error.to_string().trim().to_owned()))
    }

    /// The place of a participant.
    ///
    /// # Errors
    /// If none has this name.
    pub fn place(&self, name: &str, key: &str) -> Result<usize, RaceError> {
        let place = self.participants.iter().position(|one| one.name == name);
        place.ok_or_else(|| {
            let names: Vec<&str> = self.participants.iter().map(|one| &*one.name).collect();
            value(key, name, format!("a participant: {}", names.join(", ")))
        })
    }

    /// Checks it, and reads the latencies of runs.
    ///
    /// # Errors
    /// If a value is out of range, or a run can't be read.
    pub fn prepare(self) -> Result<PreparedRace, RaceError> {
        self.check()?;
        let subject = match &self.subject {
            Some(name) => Some(self.place(name, "subject")?),
            None => None,
        };
        let mut participants = Vec::new();
        for table in &self.participants {
            participants.push(table.participant()?);
        }
        let horizon = WORTH_AT.iter().position(|one| *one == self.worth_at);
        let horizon = horizon.ok_or_else(|| {
            value("worth_at", &self.worth_at, WORTH_AT.join(", ") + ", one of them")
        })?;
        let mut market = self.market.market()?;
        let mut duration_ns = (self.seconds * 1e9) as u64;
        let background = match &self.market.recorded {
            None => None,
            Some(path) => {
                let day = Background::read(path, self.seconds)?;
                (market.news, market.noise) = (Hawkes::NONE, Hawkes::NONE);
                market.passive.per_second = 0.0;
                duration_ns = duration_ns.min(day.duration_ns());
                Some(Arc::new(day))
            }
        };
        let race = Race { market, participants, background, duration_ns };
        let money = Money { per_tick_and_lot: self.tick_value, horizon };
        Ok(PreparedRace { file: self, race, money, subject })
    }

    fn check(&self) -> Result<(), RaceError> {
        in_range("seconds", self.seconds, 1e-3, 1e6)?;
        in_range("seeds", f64::from(self.seeds), 1.0, f64::from(SEEDS_MAX))?;
        in_range("tick_value", self.tick_value, 1e-12, 1e12)?;
        let (count, most) = (self.participants.len(), PARTICIPANTS_MAX);
        if count == 0 || count > most {
            let must = format!("1 to {most} tables [[participant]] (limit participants_max)");
            return Err(value("the number of participants", count, must));
        }
        for (place, one) in self.participants.iter().enumerate() {
            if self.participants[..place].iter().any(|other| other.name == one.name) {
                return Err(value(
                    "participant.name",
                    &one.name,
                    "another one for each".to_owned(),
                ));
            }
        }
        Ok(())
    }
}

impl ParticipantTable {
    fn participant(&self) -> Result<Participant, RaceError> {
        let key = |name: &str| format!("participant {:?}: {name}", self.name);
        in_range(&key("venue"), f64::from(self.venue), 0.0, f64::from(VENUES_MAX - 1))?;
        in_range(&key("lots"), self.lots as f64, 1.0, 1e6)?;
        in_range(&key("inventory_lots_max"), self.inventory_lots_max as f64, 1.0, 1e9)?;
        let half_ticks = |name: &str, ticks: f64, least: f64| {
            let half = in_range(&key(name), ticks, least, 1e4)? * 2.0;
            let is_whole = half.fract() == 0.0;
            let must = || "a whole number of half ticks".to_owned();
            is_whole.then_some(half as i64).ok_or_else(|| value(&key(name), ticks, must()))
        };
        let (venue, lots) = (self.venue, self.lots);
        let role = match self.kind {
            // Half of the spread in half ticks is the spread in ticks.
            ParticipantKind::Maker => {
                let half_spread = half_ticks("spread_ticks", self.spread_ticks, 1.0)? / 2;
                Role::Maker { venue, half_spread, lots }
            }
            ParticipantKind::Sniper => {
                Role::Sniper { venue, edge: half_ticks("edge_ticks", self.edge_ticks, 0.0)?, lots }
            }
            ParticipantKind::Arbitrageur => Role::Arbitrageur {
                edge: half_ticks("edge_ticks", self.edge_ticks, 0.0)?.max(1),
                lots,
                far_ns: (in_range(&key("far_us"), self.far_us, 0.0, 1e6)? * 1e3) as u64,
            },
        };
        Ok(Participant {
            name: self.name.clone(),
            role,
            latency: self.latency.latency(&key("latency"))?,
            inventory_lots_max: self.inventory_lots_max,
        })
    }
}

impl LatencyTable {
    fn latency(&self, key: &str) -> Result<Latency, RaceError> {
        let most_us = LATENCY_NS_MAX / 1e3;
        let ns = |us: f64| in_range(key, us, 0.0, most_us).map(|us| (us * 1e3).round() as u64);
        let base = match (self.constant_us, self.exponential_us, &self.run) {
            (Some(us), None, None) => Latency::constant(ns(us)?),
            (None, Some(us), None) => Latency::exponential(ns(us)?),
            (None, None, Some(run)) => recorded::read(run, self.series.as_deref())?,
            _ => {
                let must = "one of constant_us, exponential_us and run".to_owned();
                return Err(value(key, "unclear", must));
            }
        };
        in_range(&format!("{key}.times"), self.times, 0.0, 1e6)?;
        in_range(&format!("{key}.plus_us"), self.plus_us, -most_us, most_us)?;
        Ok(base.shifted(self.times, self.plus_us * 1e3))
    }
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;

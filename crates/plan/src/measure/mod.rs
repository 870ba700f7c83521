//! The kinds of measurement, one file each: keys, checks, series, threads, words.

mod checks;
mod cores;
mod endpoint;
pub mod engine;
mod fan_out;
mod feed;
mod ipc;
pub mod journal;
mod measurement;
mod network;
mod orders;
pub mod soak;
mod ticks;

pub use self::cores::CORES_PAIRED_MAX;
pub use self::measurement::{Measurement, Words};

use crate::scenario::{BARE, FLOOR, HICCUP, Measure, Scenario};
use record::Kind;
use record::comparison::selector::Selector;
use record::nearest::did_you_mean;

/// The keys, checks, series, threads and words of a kind.
pub fn of(measure: Measure) -> &'static dyn Measurement {
    match measure {
        Measure::Orders => &orders::Orders,
        Measure::Ticks => &ticks::Ticks,
        Measure::Ipc => &ipc::Ipc,
        Measure::Cores => &cores::Cores,
        Measure::Engine => &engine::Engine,
        Measure::Soak => &soak::Soak,
        Measure::Journal => &journal::Journal,
        Measure::Endpoint => &endpoint::Endpoint,
        Measure::Network => &network::Network,
        Measure::FanOut => &fan_out::FanOut,
        Measure::Feed => &feed::Feed,
    }
}

impl Scenario {
    /// Its kind of measurement.
    pub fn measurement(&self) -> &'static dyn Measurement {
        of(self.kind)
    }

    /// Messages per second of its schedule; `None` without one.
    pub fn rate_per_second_offered(&self) -> Option<f64> {
        self.measurement().has_schedule(self).then(|| self.rate_per_second())
    }

    /// The rate in the scenario, with or without a schedule: the hiccup row uses it too.
    pub fn rate_per_second(&self) -> f64 {
        self.measurement().rate(self)
    }

    /// Sets the schedule's rate and returns the key that it changed.
    pub fn set_rate_per_second(&mut self, rate_per_second: f64) -> &'static str {
        self.measurement().set_rate(self, rate_per_second);
        self.measurement().rate_key()
    }

    /// Whether it follows the flow of an exchange that already runs, which has its own rate and
    /// runs once.
    pub fn has_one_flow(&self) -> bool {
        self.kind == Measure::Ticks && !self.exchange.start
    }

    /// Messages in that many seconds of its schedule.
    pub fn messages(&self, seconds: f64) -> u64 {
        self.measurement().messages(self, seconds)
    }

    /// The time between two bursts of ticks; 0 where ticks don't arrive in bursts.
    pub fn seconds_between_bursts(&self) -> f64 {
        match self.kind {
            Measure::Ticks => ticks::seconds_between_bursts(self),
            _ => 0.0,
        }
    }

    /// Why no record of this scenario will have the figure of `selector`.
    pub fn lacks_figure(&self, selector: &Selector) -> Option<String> {
        let own = [FLOOR, BARE, HICCUP];
        let mut subjects: Vec<&str> = self.subject.iter().map(|one| one.name.as_str()).collect();
        let series = selector.series.as_str();
        let mut known = self.measurement().series();
        known.retain(|one| self.measurement().has_series(self, one));
        if let Some(asked) = selector.subject.as_deref() {
            if let Some(own) = own.iter().find(|own| asked.starts_with(**own)) {
                return self.lacks_row(own);
            }
            if !subjects.contains(&asked) {
                if known.contains(&asked) {
                    return Some(selector.lacking_kind(asked));
                }
                let meant = did_you_mean(asked, subjects.iter().copied());
                subjects.extend(own);
                let known = subjects.join(", ");
                return Some(format!("there is no subject {asked:?}.{meant} There are: {known}"));
            }
        }
        if !known.is_empty() && !known.contains(&series) {
            let meant = did_you_mean(series, known.iter().copied());
            let known = known.join(", ");
            return Some(format!("there is no series {series:?}.{meant} There are: {known}"));
        }
        // A soak runs operations of either kind.
        let is_timed = self.kind == Measure::Soak || self.measurement().has_schedule(self);
        (selector.kind == Some(Kind::Response) && !is_timed).then(|| {
            let service = Selector { kind: Some(Kind::Service), ..selector.clone() };
            format!("without a schedule there is no response time; write {service}")
        })
    }

    /// Why no record of this scenario will have a row that is not a subject of its own.
    fn lacks_row(&self, row: &str) -> Option<String> {
        let (key, seconds) = match row {
            FLOOR => ("floor_seconds", self.floor_seconds),
            BARE => ("bare_seconds", self.bare_seconds),
            _ => ("hiccup_seconds", self.hiccup_seconds),
        };
        let is_off = self.has_key(&format!("{key}=0")) && seconds == 0.0;
        is_off.then(|| format!("there is no row {row:?} with {key} = 0; set it above 0"))
    }
}

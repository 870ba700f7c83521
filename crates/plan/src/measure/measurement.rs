//! The properties of a kind of measurement.

use crate::scenario::{Scenario, ScenarioError};
use crate::tables::load::Model;
use crate::tables::subject::Subject;

/// A kind of measurement: its keys, checks, series, threads and words.
pub trait Measurement: Sync {
    /// Its keys beside those that all scenarios have. A table's name stands for all its keys.
    fn keys(&self, model: Model) -> &'static [&'static str];

    /// The series whose service times answer what was sent; the first one is the main series. Empty
    /// where nothing is sent.
    fn replies(&self) -> &'static [&'static str];

    /// The series that its records have; none where their names depend on the machine.
    fn series(&self) -> Vec<&'static str> {
        [self.replies(), &["send"]].concat()
    }

    /// Whether a record of this scenario has a series that records of its kind can have.
    fn has_series(&self, _scenario: &Scenario, _series: &str) -> bool {
        true
    }

    /// Series that together hold every latency once. Their counts show whether the log is complete.
    fn recorded(&self) -> &'static [&'static str] {
        self.replies()
    }

    /// Threads of a subject, each with a core of its own; `None`: one on every core.
    fn threads(&self) -> Option<usize> {
        Some(1)
    }

    /// Whether it needs an exchange in a process of its own.
    fn has_exchange(&self) -> bool {
        false
    }

    /// Whether a bare echo can stand below its floor.
    fn has_bare(&self, _scenario: &Scenario) -> bool {
        false
    }

    /// Whether its messages leave on a schedule.
    fn has_schedule(&self, scenario: &Scenario) -> bool {
        scenario.load.model == Model::Open
    }

    /// Messages under way where each waits for the reply to an earlier one; `None` where they don't
    /// wait.
    fn one_by_one(&self, _scenario: &Scenario) -> Option<usize> {
        None
    }

    /// The key of its rate.
    fn rate_key(&self) -> &'static str {
        "load.rate_per_second"
    }

    /// Its rate, with or without a schedule.
    fn rate(&self, scenario: &Scenario) -> f64 {
        scenario.load.rate_per_second
    }

    /// Sets its rate.
    fn set_rate(&self, scenario: &mut Scenario, rate_per_second: f64) {
        scenario.load.rate_per_second = rate_per_second;
    }

    /// Messages in that many seconds of its schedule, at least one if there is any time.
    fn messages(&self, scenario: &Scenario, seconds: f64) -> u64 {
        at_rate(self.rate(scenario), seconds)
    }

    /// Checks its tables.
    ///
    /// # Errors
    /// The first key that is out of range, with the values that are allowed.
    fn check(&self, scenario: &Scenario) -> Result<(), ScenarioError>;

    /// Checks one of its subjects.
    ///
    /// # Errors
    /// The first key that is out of range, with the values that are allowed.
    fn check_subject(&self, scenario: &Scenario, subject: &Subject) -> Result<(), ScenarioError>;

    /// Its words in a report.
    fn words(&self) -> Words;
}

/// Words of a kind of measurement, for people.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// The messages that are sent.
    pub messages: &'static str,
    /// Use of a subject's cores, for a table of loads.
    pub cores: &'static str,
    /// Meaning of the floor.
    pub floor: &'static str,
    /// Parts of a real path that this kind leaves out, whatever its scenario.
    pub left_out: &'static [&'static str],
    /// Percentiles in a table; a page has all.
    pub percentiles: &'static [&'static str],
}

impl Words {
    /// Words of messages to an echo or an exchange.
    pub const fn of_messages(left_out: &'static [&'static str]) -> Words {
        Words {
            messages: "messages",
            cores: "on",
            floor: "a raw echo of the same bytes on the same cores",
            left_out,
            percentiles: &["p50", "p90", "p95", "p99", "p99_9", "p99_99"],
        }
    }
}

/// Messages at that rate, at least one if there is any time.
pub(crate) fn at_rate(rate_per_second: f64, seconds: f64) -> u64 {
    let messages = (rate_per_second * seconds).round() as u64;
    messages.max(u64::from(seconds > 0.0))
}

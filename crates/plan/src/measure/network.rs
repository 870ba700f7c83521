//! `network`: TCP requests and replies of fixed lengths. Four placements of threads and of the
//! network interface's interrupts show what it costs to cross sockets.

use crate::measure::checks;
use crate::measure::measurement::{Measurement, Words};
use crate::scenario::{Scenario, ScenarioError};
use crate::tables::load::Model;
use crate::tables::network::REQUEST;
use crate::tables::subject::Subject;

/// The kind.
pub(crate) struct Network;

impl Measurement for Network {
    fn keys(&self, _model: Model) -> &'static [&'static str] {
        &[
            "warm_up_seconds",
            "seconds",
            "load.rate_per_second",
            "load.arrival",
            "load.burst",
            "load.seed",
            "load.accounts",
            "load.connections",
            "exchange.start",
            "exchange.cores",
            "exchange.gateways",
            "exchange.scheduling",
            "exchange.backend",
            "request",
            "subject.scheduling",
            "subject.backend",
            "subject.placement",
        ]
    }

    fn replies(&self) -> &'static [&'static str] {
        &[REQUEST]
    }

    fn has_exchange(&self) -> bool {
        true
    }

    fn has_schedule(&self, _scenario: &Scenario) -> bool {
        true
    }

    fn messages(&self, scenario: &Scenario, seconds: f64) -> u64 {
        scenario.load.messages(seconds)
    }

    fn check(&self, scenario: &Scenario) -> Result<(), ScenarioError> {
        scenario.load.check()?;
        checks::exchange(scenario)?;
        Ok(scenario.request.check()?)
    }

    fn check_subject(&self, _scenario: &Scenario, subject: &Subject) -> Result<(), ScenarioError> {
        checks::client(subject)
    }

    fn words(&self) -> Words {
        Words {
            messages: "requests",
            ..Words::of_messages(&[
                "Codecs, book and engine: the other end is a raw echo.",
                "Interrupts of the other host: they stay where that host has them.",
            ])
        }
    }
}

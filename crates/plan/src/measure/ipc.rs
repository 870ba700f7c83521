//! `ipc`: messages from one thread to another.

use crate::measure::checks::{self, key_of};
use crate::measure::measurement::{Measurement, Words};
use crate::process::ipc::{IpcEnds, MESSAGE, find_for};
use crate::range::{OutOfRange, require};
use crate::scenario::{Scenario, ScenarioError};
use crate::tables::load::{Model, check_plain};
use crate::tables::subject::Subject;

/// The kind.
pub(crate) struct Ipc;

impl Measurement for Ipc {
    fn keys(&self, _model: Model) -> &'static [&'static str] {
        &[
            "warm_up_seconds",
            "seconds",
            "load.rate_per_second",
            "load.arrival",
            "load.burst",
            "load.seed",
            "ipc",
            "subject.scheduling",
            "subject.backend",
            "subject.command",
            "subject.processes",
        ]
    }

    fn replies(&self) -> &'static [&'static str] {
        &[MESSAGE]
    }

    fn threads(&self) -> Option<usize> {
        Some(2)
    }

    fn has_schedule(&self, _scenario: &Scenario) -> bool {
        true
    }

    fn check(&self, scenario: &Scenario) -> Result<(), ScenarioError> {
        scenario.load.check()?;
        check_plain("load.arrival", scenario.load.arrival)?;
        Ok(scenario.ipc.check()?)
    }

    fn check_subject(&self, _scenario: &Scenario, subject: &Subject) -> Result<(), ScenarioError> {
        checks::cores(subject, 2..=2, "name the producer's core and the consumer's")?;
        let (key, processes) = (key_of(subject, "processes"), subject.processes);
        let why = "its ends are in 1 process, or in 2";
        require((1..=2).contains(&processes), &key, processes, why)?;
        let is_own = subject.command.is_empty();
        let why = "only tickpath's own client can be two processes";
        require(processes == 1 || is_own, &key, processes, why)?;
        if is_own {
            let found = find_for(&subject.backend, IpcEnds::of(processes)[0]);
            found.map_err(|error| OutOfRange { key: key_of(subject, "backend"), ..error })?;
        }
        Ok(())
    }

    fn words(&self) -> Words {
        Words {
            // Many messages, and their tail matters.
            percentiles: &["p50", "p99", "p99_9", "p99_99", "p99_999"],
            ..Words::of_messages(&[
                "More than one producer or consumer at a time.",
                "Time that the hypervisor took: the kernel does not know of it, so it is in the undisturbed rows too.",
            ])
        }
    }
}

//! `fan-out`: one source, a replicator, and many subscribers. The rows are ways to send.

use crate::backend;
use crate::measure::checks::{self, key_of};
use crate::measure::measurement::{Measurement, Words};
use crate::process::fan_out::{
    ARRIVAL, FIRST, HOP_1, HOP_2, LAST, LATE, MEDIAN, RELEASE, RELEASE_SPREAD, REPLICATOR, SPREAD,
    check_arrivals,
};
use crate::range::{OutOfRange, require};
use crate::scenario::{Scenario, ScenarioError};
use crate::tables::fan_out::{FanOut as Table, SendOrder};
use crate::tables::load::{Model, check_plain};
use crate::tables::subject::Subject;

/// The kind.
pub(crate) struct FanOut;

/// Checks that a replicator has the backend `name`, and can use it over this network.
fn check_replicator(key: &str, name: &str, scenario: &Scenario) -> Result<(), OutOfRange> {
    let why =
        "a replicator copies by spin or block (sockets), af_xdp, af_xdp_in_place, dpdk or xdp";
    require(backend::replicator(name).is_ok(), key, name, why)?;
    checks::interface(scenario, name)
}

/// Checks that a chosen queue is one of a replicator over AF_XDP. Others beside it have none.
fn check_queue(scenario: &Scenario) -> Result<(), OutOfRange> {
    let mut ways = scenario.subject.iter().map(|subject| scenario.replicator(subject));
    let way = ways.clone().find(|way| backend::has_queues(way)).or(ways.next()).unwrap_or_default();
    checks::queue("exchange.queue", scenario.exchange.queue, true, way)
}

impl Measurement for FanOut {
    fn keys(&self, _model: Model) -> &'static [&'static str] {
        &[
            "warm_up_seconds",
            "seconds",
            "network",
            "load.rate_per_second",
            "load.arrival",
            "load.burst",
            "load.seed",
            "exchange.start",
            "exchange.cores",
            "exchange.scheduling",
            "exchange.backend",
            "exchange.queue",
            "fan_out",
            "subject.scheduling",
            "subject.backend",
            "subject.order",
            "subject.replicator",
        ]
    }

    fn replies(&self) -> &'static [&'static str] {
        &[LAST]
    }

    fn series(&self) -> Vec<&'static str> {
        let arrivals = [LAST, MEDIAN, FIRST, ARRIVAL, SPREAD, HOP_1, REPLICATOR, HOP_2];
        let releases = [RELEASE, RELEASE_SPREAD, LATE, "send"];
        arrivals.into_iter().chain(releases).collect()
    }

    fn has_series(&self, scenario: &Scenario, series: &str) -> bool {
        let Table { hosts, replicator_end, .. } = &scenario.fan_out;
        match series {
            RELEASE | RELEASE_SPREAD | LATE => scenario.fan_out.holds(),
            // The replicator's host has a clock of its own.
            HOP_1 | REPLICATOR | HOP_2 => hosts.is_empty() || !replicator_end.is_empty(),
            _ => true,
        }
    }

    fn recorded(&self) -> &'static [&'static str] {
        &[ARRIVAL]
    }

    fn has_exchange(&self) -> bool {
        true
    }

    fn has_schedule(&self, _scenario: &Scenario) -> bool {
        true
    }

    fn check(&self, scenario: &Scenario) -> Result<(), ScenarioError> {
        scenario.load.check()?;
        check_plain("load.arrival", scenario.load.arrival)?;
        scenario.fan_out.check()?;
        check_replicator("exchange.backend", &scenario.exchange.backend, scenario)?;
        check_queue(scenario)?;
        let messages = scenario.messages(scenario.seconds);
        scenario.fan_out.check_hosts(scenario.exchange.start, messages)?;
        // A replicator that runs already has one order of sending.
        let one = scenario.exchange.start || scenario.subject.len() == 1;
        let why = "a replicator that runs already has one order of sending, so there is one \
                   subject: use the scenario fan-out-hosts, or leave out the others";
        require(one, "subject", scenario.subject.len(), why)?;
        scenario.fan_out.check_hold(scenario.load.rate_per_second, messages)?;
        let holds = scenario.fan_out.holds();
        Ok(check_arrivals(messages, scenario.fan_out.subscribers, holds)?)
    }

    fn check_subject(&self, scenario: &Scenario, subject: &Subject) -> Result<(), ScenarioError> {
        checks::one_core(subject)?;
        let way = scenario.replicator(subject);
        let key = key_of(subject, "replicator");
        check_replicator(&key, way, scenario)?;
        let why = "XDP programs send in the fixed order only";
        let is_fixed = way != backend::XDP.name || subject.order == SendOrder::Fixed;
        require(is_fixed, &key_of(subject, "order"), subject.order.name(), why)?;
        let has = backend::is_plain(&subject.backend);
        let why = "source and subscribers are one thread: spin or block";
        Ok(require(has, &key_of(subject, "backend"), &subject.backend, why)?)
    }

    fn words(&self) -> Words {
        Words {
            messages: "messages",
            cores: "replicator and client on",
            ..Words::of_messages(&[
                "Processes of subscribers: a message has arrived when the kernel has it.",
                "Hosts: without fan_out.hosts, source, replicator and subscribers share one.",
            ])
        }
    }
}

//! `network`: requests and replies of fixed lengths, over TCP or UDP. Four placements of threads
//! and of the network interface's interrupts show what it costs to cross sockets.

use crate::measure::checks::{self, key_of};
use crate::measure::measurement::{Measurement, Words};
use crate::range::{OutOfRange, require, within};
use crate::scenario::{Scenario, ScenarioError};
use crate::segments::{CARD_SEGMENTS, SEGMENTS};
use crate::tables::load::Model;
use crate::tables::network::{
    BULK_FLOWS_MAX, FORWARD, HEADER_BYTES, MESSAGE_BYTES_MAX, Protocol, REQUEST, REVERSE,
    STAMPED_BYTES, TWO_CLOCKS_MESSAGES_MAX,
};
use crate::tables::subject::Subject;

/// The kind.
pub(crate) struct Network;

/// Checks that a request and its reply fit into one frame each, where they have to.
fn one_frame(scenario: &Scenario, subject: &Subject) -> Result<(), OutOfRange> {
    let request = &scenario.request;
    if request.protocol == Protocol::Tcp {
        return Ok(());
    }
    let lengths = request.message_bytes(subject.message_bytes);
    let longest = lengths.order.max(lengths.order_reply);
    let key = match subject.message_bytes {
        0 => "request.bytes".to_owned(),
        _ => key_of(subject, "message_bytes"),
    };
    let backends = [scenario.exchange.backend.as_str(), &subject.backend];
    checks::one_frame(scenario, &backends, (&key, longest), ", or request.protocol=tcp")
}

impl Measurement for Network {
    fn keys(&self, _model: Model) -> &'static [&'static str] {
        &[
            "warm_up_seconds",
            "seconds",
            "bare_seconds",
            "network",
            "load.model",
            "load.rate_per_second",
            "load.arrival",
            "load.burst",
            "load.source",
            "load.branching",
            "load.decay_us",
            "load.slow_branching",
            "load.slow_decay_us",
            "load.seed",
            "load.accounts",
            "load.connections",
            "load.stamp_every",
            "exchange.start",
            "exchange.cores",
            "exchange.gateways",
            "exchange.scheduling",
            "exchange.backend",
            "exchange.queue",
            "request",
            "one_way",
            "subject.scheduling",
            "subject.backend",
            "subject.queue",
            "subject.wrapper",
            "subject.placement",
            "subject.message_bytes",
            "subject.bulk_flows",
            "subject.inject",
        ]
    }

    fn replies(&self) -> &'static [&'static str] {
        &[REQUEST]
    }

    fn series(&self) -> Vec<&'static str> {
        [&[REQUEST, FORWARD, REVERSE, "send"][..], &SEGMENTS, &CARD_SEGMENTS].concat()
    }

    fn has_series(&self, scenario: &Scenario, series: &str) -> bool {
        match series {
            FORWARD | REVERSE => scenario.request.one_way,
            segment if SEGMENTS.contains(&segment) || CARD_SEGMENTS.contains(&segment) => {
                scenario.load.stamp_every > 0
            }
            _ => true,
        }
    }

    fn has_exchange(&self) -> bool {
        true
    }

    fn has_bare(&self, scenario: &Scenario) -> bool {
        checks::has_bare(scenario)
    }

    fn one_by_one(&self, scenario: &Scenario) -> Option<usize> {
        (scenario.load.model == Model::PingPong).then_some(scenario.load.accounts)
    }

    fn messages(&self, scenario: &Scenario, seconds: f64) -> u64 {
        scenario.load.messages(seconds)
    }

    fn check(&self, scenario: &Scenario) -> Result<(), ScenarioError> {
        scenario.load.check()?;
        scenario.load.check_schedule(scenario.warm_up_seconds, scenario.seconds)?;
        checks::exchange(scenario)?;
        scenario.request.check()?;
        let messages = self.messages(scenario, scenario.seconds);
        let has_room = scenario.exchange.start
            || !scenario.request.one_way
            || scenario.load.model == Model::PingPong
            || messages <= TWO_CLOCKS_MESSAGES_MAX;
        let why = format!(
            "between two hosts the stamps of a run's {messages} messages are kept, and at most \
             {TWO_CLOCKS_MESSAGES_MAX}: shorten it, or lower load.rate_per_second"
        );
        require(has_room, "seconds", scenario.seconds, why)?;
        if scenario.request.protocol == Protocol::Udp {
            let gateways = scenario.exchange.gateways;
            let why = "an echo over UDP has one thread: use 0";
            require(gateways == 0, "exchange.gateways", gateways, why)?;
        }
        let (every, harm) = (scenario.load.stamp_every, scenario.request.inject);
        let why = "request.inject changes which reply a read brings, and the kernel stamps the read: \
                   set 0";
        require(every == 0 || harm.is_none(), "load.stamp_every", every, why)?;
        Ok(())
    }

    fn check_subject(&self, scenario: &Scenario, subject: &Subject) -> Result<(), ScenarioError> {
        checks::client(scenario, subject)?;
        checks::stamps(scenario, subject)?;
        one_frame(scenario, subject)?;
        let least = if scenario.request.one_way { STAMPED_BYTES } else { HEADER_BYTES };
        let bytes = subject.message_bytes;
        let holds = bytes == 0 || (least..=MESSAGE_BYTES_MAX).contains(&bytes);
        let why = format!("0 (as in request), or {least} to {MESSAGE_BYTES_MAX} bytes");
        require(holds, &key_of(subject, "message_bytes"), bytes, why)?;
        let key = key_of(subject, "bulk_flows");
        within(&key, subject.bulk_flows, 0..=BULK_FLOWS_MAX, "there are {} bulk flows")?;
        Ok(())
    }

    fn words(&self) -> Words {
        Words {
            messages: "requests",
            cores: "echo and client on",
            ..Words::of_messages(&[
                "Codecs, book and engine: the other end is a raw echo.",
                "Interrupts of the other host: they stay where that host has them.",
            ])
        }
    }
}

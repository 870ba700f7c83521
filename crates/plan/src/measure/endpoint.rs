//! `endpoint`: probes of an address that belongs to somebody else.

use crate::backend;
use crate::measure::checks::{self, key_of};
use crate::measure::measurement::{Measurement, Words};
use crate::process::endpoint::SERIES;
use crate::range::require;
use crate::scenario::{Scenario, ScenarioError};
use crate::segments::SEGMENTS;
use crate::tables::endpoint::Protocol;
use crate::tables::load::Model;
use crate::tables::subject::Subject;

/// The kind.
pub(crate) struct Endpoint;

impl Measurement for Endpoint {
    fn keys(&self, _model: Model) -> &'static [&'static str] {
        &[
            "warm_up_seconds",
            "seconds",
            "tls",
            "exchange",
            "endpoint",
            "subject.scheduling",
            "subject.backend",
            "subject.tls",
        ]
    }

    fn replies(&self) -> &'static [&'static str] {
        &SERIES
    }

    fn series(&self) -> Vec<&'static str> {
        [&SERIES[..], &SEGMENTS[..]].concat()
    }

    fn has_series(&self, scenario: &Scenario, series: &str) -> bool {
        let probes = &scenario.endpoint;
        match series {
            "ping" => probes.protocol != Protocol::Tcp && probes.fresh_every > 1,
            "connect" => probes.protocol != Protocol::Udp,
            "handshake" => scenario.tls,
            "upgrade" => probes.protocol == Protocol::Websocket,
            "first_ping" => probes.protocol != Protocol::Tcp,
            segment if SEGMENTS.contains(&segment) => probes.stamp_every > 0,
            _ => true,
        }
    }

    fn has_exchange(&self) -> bool {
        true
    }

    fn has_schedule(&self, _scenario: &Scenario) -> bool {
        false
    }

    fn one_by_one(&self, _scenario: &Scenario) -> Option<usize> {
        Some(1)
    }

    fn rate_key(&self) -> &'static str {
        "endpoint.probes_per_second"
    }

    fn rate(&self, scenario: &Scenario) -> f64 {
        scenario.endpoint.probes_per_second
    }

    fn set_rate(&self, scenario: &mut Scenario, rate_per_second: f64) {
        scenario.endpoint.probes_per_second = rate_per_second;
    }

    fn messages(&self, scenario: &Scenario, seconds: f64) -> u64 {
        scenario.load.messages(seconds)
    }

    fn check(&self, scenario: &Scenario) -> Result<(), ScenarioError> {
        checks::exchange(scenario)?;
        scenario.endpoint.check()?;
        if scenario.endpoint.protocol == Protocol::Udp {
            let why = "datagrams have no TLS: set tls = false with endpoint.protocol = \"udp\"";
            require(!scenario.tls, "tls", scenario.tls, why)?;
            let (key, start) = ("exchange.start", scenario.exchange.start);
            let why =
                "tickpath's exchange echoes no datagrams: --connect HOST:PORT of an echo server";
            require(!start, key, start, why)?;
        }
        Ok(())
    }

    fn check_subject(&self, _scenario: &Scenario, subject: &Subject) -> Result<(), ScenarioError> {
        checks::one_core(subject)?;
        let has = backend::is_plain(&subject.backend);
        let why = "it polls a plain socket or sleeps on it: spin or block";
        Ok(require(has, &key_of(subject, "backend"), &subject.backend, why)?)
    }

    fn words(&self) -> Words {
        Words {
            messages: "steps",
            ..Words::of_messages(&[
                "Orders: nothing is sent but what opens a connection, and pings. A gateway may answer those before it answers orders.",
                "The resolver: names are looked up on another thread, outside the probes.",
            ])
        }
    }
}

//! `order-entry`: orders and cancels to an exchange, and their acks.

use crate::backend;
use crate::intensity::INTENSITIES;
use crate::measure::checks::{self, key_of};
use crate::measure::measurement::{Measurement, Words};
use crate::range::{require, within};
use crate::scenario::{Scenario, ScenarioError};
use crate::segments::{CARD_SEGMENTS, SEGMENTS};
use crate::tables::load::Model;
use crate::tables::replica::{
    CLUSTER_MS, Failure, Follower, LOSS_PERCENT_MAX, ROUND_TRIP_US_MAX, Replicate, STANDBY_MS,
};
use crate::tables::subject::{Dialect, Subject};
use crate::tables::ticks::Network;

/// The kind.
pub(crate) struct Orders;

/// An exchange can only fail in mid-run if a standby can go on, and our client with it. The leader
/// of a cluster can if the run lasts until there is another one.
fn check_failure(scenario: &Scenario, subject: &Subject) -> Result<(), ScenarioError> {
    if subject.failure == Failure::None {
        return Ok(());
    }
    let (key, failure) = (key_of(subject, "failure"), subject.failure);
    let require = |holds, why| require(holds, &key, failure, why);
    let has_copy = matches!(subject.replicate, Replicate::Sync | Replicate::Cluster);
    require(
        has_copy,
        "a standby needs subject.replicate = \"sync\", and the loss of a cluster's leader \"cluster\"",
    )?;
    let has_own_client = subject.command.is_empty() && subject.dialect != Dialect::SbeUdp;
    require(has_own_client, "only tickpath's own client over TCP goes on and notes the gap")?;
    let shows = scenario.load.model == Model::Open && scenario.load.stamp_every == 0;
    require(shows, "use load.model = \"open\", whose schedule shows the gap, without stamp_every")?;
    if subject.replicate == Replicate::Cluster {
        require(failure != Failure::End, "a cluster's leader is lost by kill, stop or cut")?;
        let lost_ms = scenario.follower.cluster_lost_ms;
        let lasts = scenario.seconds * 1e3 > 2.0 * lost_ms as f64;
        let why = format!(
            "the leader is lost in the middle, and another one may answer after \
             follower.cluster_lost_ms = {lost_ms}: set seconds above twice that"
        );
        return Ok(crate::range::require(lasts, "seconds", scenario.seconds, why)?);
    }
    let has_cable = failure != Failure::Cut || scenario.network == Network::Veth;
    require(
        has_cable,
        "only a network of its own can be cut: set network = \"veth\", and run as root",
    )?;
    let Follower { round_trip_us, jitter_us, loss_percent, .. } = scenario.follower;
    let is_near = round_trip_us == 0 && jitter_us == 0 && loss_percent == 0.0;
    let why = "a standby is no planted distance away; set follower.round_trip_us = 0, \
               jitter_us = 0 and loss_percent = 0";
    Ok(require(is_near, why)?)
}

/// The way to a follower: its length, and its losses.
fn check_follower(scenario: &Scenario) -> Result<(), ScenarioError> {
    let Follower { round_trip_us, jitter_us, loss_percent, standby_ms, .. } = scenario.follower;
    within("follower.round_trip_us", round_trip_us, 0..=ROUND_TRIP_US_MAX, "{} us")?;
    let jitter_us_max = ROUND_TRIP_US_MAX - round_trip_us;
    within("follower.jitter_us", jitter_us, 0..=jitter_us_max, "{} us")?;
    within("follower.loss_percent", loss_percent, 0.0..=LOSS_PERCENT_MAX, "{} percent")?;
    let has_packets = loss_percent == 0.0 || scenario.network == Network::Veth;
    let why = "only a network of its own loses packets: set network = \"veth\", and run as root";
    require(has_packets, "follower.loss_percent", loss_percent, why)?;
    Ok(within("follower.standby_ms", standby_ms, STANDBY_MS, "{} ms")?)
}

/// The times of a cluster behind an exchange.
fn check_cluster(scenario: &Scenario, subject: &Subject) -> Result<(), ScenarioError> {
    let follower = &scenario.follower;
    let why = "name the program of its processes in follower.cluster, as the scenario two-zones \
               does";
    let has_program = !follower.cluster.is_empty();
    require(has_program, &key_of(subject, "replicate"), subject.replicate, why)?;
    let Follower { cluster_heartbeat_ms, cluster_election_ms, cluster_lost_ms, .. } = *follower;
    within("follower.cluster_heartbeat_ms", cluster_heartbeat_ms, CLUSTER_MS, "{} ms")?;
    within("follower.cluster_election_ms", cluster_election_ms, CLUSTER_MS, "{} ms")?;
    let election_ms = follower.election_ms_max();
    let why = format!(
        "the exchange would reject orders during an election, which takes up to \
         follower.cluster_heartbeat_ms, twice cluster_election_ms and a second, {election_ms} ms \
         together: set it above that, or them lower"
    );
    let outlasts = cluster_lost_ms > election_ms;
    Ok(require(outlasts, "follower.cluster_lost_ms", cluster_lost_ms, why)?)
}

/// FIX and SBE over UDP have ports of their own, over sockets of the kernel.
fn check_port(scenario: &Scenario, subject: &Subject) -> Result<(), ScenarioError> {
    let (key, name) = (key_of(subject, "dialect"), subject.dialect.name());
    let has_sockets = !backend::is_below(&scenario.exchange.backend);
    let why = format!(
        "an exchange accepts {name} over sockets of the kernel; set exchange.backend to spin"
    );
    require(has_sockets, &key, name, why)?;
    let is_alone = scenario.subject.iter().all(|one| one.dialect == subject.dialect);
    let why = format!(
        "an exchange that runs already has another address for {name}; measure it in a run of its \
         own"
    );
    Ok(require(scenario.exchange.start || is_alone, &key, name, why)?)
}

/// Acknowledged datagrams have no TLS, no gateway threads and no stamps of the kernel.
fn check_sbe_udp(scenario: &Scenario, subject: &Subject) -> Result<(), ScenarioError> {
    let (key, name) = (key_of(subject, "dialect"), subject.dialect.name());
    let require = |holds, why| require(holds, &key, name, why);
    let is_plain = !subject.tls && !scenario.tls;
    require(is_plain, "there is no TLS over UDP; leave tls out, or set dialect = \"sbe\"")?;
    let has_gateways = scenario.exchange.gateways > 0;
    require(!has_gateways, "gateway threads have no UDP sockets; set exchange.gateways = 0")?;
    let has_sockets = !backend::is_below(&subject.backend);
    require(has_sockets, "it needs sockets of the kernel; set the subject's backend to spin")?;
    let is_stamped = scenario.load.stamp_every > 0;
    Ok(require(!is_stamped, "the kernel stamps orders over TCP only; set load.stamp_every = 0")?)
}

impl Measurement for Orders {
    fn keys(&self, _model: Model) -> &'static [&'static str] {
        &[
            "warm_up_seconds",
            "seconds",
            "floor_seconds",
            "bare_seconds",
            "find_rate",
            "tls",
            "network",
            "load",
            "exchange",
            "journal",
            "follower",
            "subject.scheduling",
            "subject.backend",
            "subject.queue",
            "subject.command",
            "subject.wrapper",
            "subject.tls",
            "subject.dialect",
            "subject.replicate",
            "subject.failure",
            "subject.inject",
        ]
    }

    fn replies(&self) -> &'static [&'static str] {
        &["order", "cancel"]
    }

    fn series(&self) -> Vec<&'static str> {
        [&["order", "cancel", "cycle", "send"][..], &INTENSITIES, &SEGMENTS, &CARD_SEGMENTS]
            .concat()
    }

    fn has_series(&self, scenario: &Scenario, series: &str) -> bool {
        match series {
            segment if SEGMENTS.contains(&segment) || CARD_SEGMENTS.contains(&segment) => {
                scenario.load.stamp_every > 0
            }
            by_intensity if INTENSITIES.contains(&by_intensity) => scenario.load.is_uneven(),
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
        require(
            !scenario.find_rate || scenario.load.model == Model::Open,
            "find_rate",
            scenario.find_rate,
            "ping-pong has no rate to find; set load.model = \"open\"",
        )?;
        check_follower(scenario)?;
        checks::exchange(scenario)
    }

    fn check_subject(&self, scenario: &Scenario, subject: &Subject) -> Result<(), ScenarioError> {
        check_failure(scenario, subject)?;
        let starts = scenario.exchange.start || subject.replicate == Replicate::Off;
        let why = "only an exchange that it starts gets a journal; leave it out";
        require(starts, &key_of(subject, "replicate"), subject.replicate, why)?;
        if subject.replicate == Replicate::Cluster {
            check_cluster(scenario, subject)?;
        }
        if subject.dialect != Dialect::Json {
            let (key, name) = (key_of(subject, "dialect"), subject.dialect.name());
            let why = "a session has one account; set load.connections = load.accounts";
            require(scenario.load.connections == scenario.load.accounts, &key, name, why)?;
        }
        let keys = &scenario.load.keys;
        let signs = keys.is_empty() || subject.dialect == Dialect::Fix;
        let why = "only Logons of FIX are signed; set each subject's dialect = \"fix\"";
        require(signs, "load.keys", keys, why)?;
        if matches!(subject.dialect, Dialect::Fix | Dialect::SbeUdp) {
            check_port(scenario, subject)?;
        }
        if subject.dialect == Dialect::SbeUdp {
            check_sbe_udp(scenario, subject)?;
        }
        checks::client(scenario, subject)?;
        Ok(checks::stamps(scenario, subject)?)
    }

    fn words(&self) -> Words {
        Words {
            cores: "exchange and trader on",
            ..Words::of_messages(&[
                "TLS: the connection is plain.",
                "The client's encoding of an order and its decoding of a reply: they lie outside the two stamps.",
                "Single stages inside exchange and trader, and without load.stamp_every the kernel's own stamps.",
            ])
        }
    }
}

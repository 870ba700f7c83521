//! Checks that several kinds share.

use crate::backend::{self, BELOW_CONNECTIONS_MAX, GATEWAYS_MAX, Queue};
use crate::faults::Inject;
use crate::range::{OutOfRange, require, within};
use crate::scenario::{Scenario, ScenarioError};
use crate::tables::load::{CONNECTIONS_MAX, Load};
use crate::tables::network::Protocol;
use crate::tables::subject::Subject;
use crate::tables::ticks::Network;
use fair::entry::ENTRY_HOLD_NS_MAX;
use fair::window::WINDOW_NS_MAX;
use host::placement::Cores;
use record::measure::Measure;
use std::ops::RangeInclusive;

/// The longest datagram that one frame of a veth carries, bytes: an MTU of 1500 without headers.
const FRAME_BYTES_MAX: u64 = 1472;

/// The path of a subject's key.
pub(crate) fn key_of(subject: &Subject, key: &str) -> String {
    format!("subject.{}.{key}", subject.name)
}

/// Checks that a subject that names cores names as many as it has threads.
pub(crate) fn cores(
    subject: &Subject,
    counts: RangeInclusive<usize>,
    why: &str,
) -> Result<(), OutOfRange> {
    let cores = &subject.cores;
    let fits = !matches!(cores, Cores::List(list) if !counts.contains(&list.len()));
    require(fits, &key_of(subject, "cores"), cores, why)
}

/// [`cores`] of a subject with one thread.
pub(crate) fn one_core(subject: &Subject) -> Result<(), OutOfRange> {
    cores(subject, 1..=1, "it has one thread: name one core")
}

/// Checks the table of the exchange.
pub(crate) fn exchange(scenario: &Scenario) -> Result<(), ScenarioError> {
    let exchange = &scenario.exchange;
    backend::find(&exchange.backend)?;
    takes_messages(scenario, "exchange.backend", &exchange.backend)?;
    queue("exchange.queue", exchange.queue, exchange.start, &exchange.backend)?;
    let why = "{}; with 0 the exchange thread has the sockets";
    within("exchange.gateways", exchange.gateways as usize, 0..=GATEWAYS_MAX, why)?;
    let has_sockets = exchange.gateways == 0 || !backend::is_below(&exchange.backend);
    let name = &exchange.backend;
    let why = format!("gateway threads need sockets of the kernel, which {name} lacks: use 0");
    require(has_sockets, "exchange.gateways", exchange.gateways, why)?;
    fairness(scenario)?;
    let able = exchange.start;
    Ok(inject("exchange", &exchange.inject, able, "an exchange that it starts")?)
}

/// Checks the waits of an exchange that is to be fair.
fn fairness(scenario: &Scenario) -> Result<(), OutOfRange> {
    let exchange = &scenario.exchange;
    let (hold_us, window_us) = (exchange.entry_hold_us, exchange.delivery_window_us);
    for (key, us, most_ns) in [
        ("exchange.entry_hold_us", hold_us, ENTRY_HOLD_NS_MAX),
        ("exchange.delivery_window_us", window_us, WINDOW_NS_MAX),
    ] {
        within(key, us, 0..=most_ns / 1_000, "{} us; with 0 nothing waits")?;
        let why = "only an exchange that it starts can be told to wait; leave it out";
        require(us == 0 || exchange.start, key, us, why)?;
    }
    let why = "gateways stamp what is held: set exchange.gateways to 1 or more";
    let has_gateways = hold_us == 0 || exchange.gateways > 0;
    require(has_gateways, "exchange.entry_hold_us", hold_us, why)?;
    let why = "orders answer the ticks of a feed, which only scenarios of ticks have";
    let has_feed = window_us == 0 || scenario.kind == Measure::Ticks;
    require(has_feed, "exchange.delivery_window_us", window_us, why)
}

/// Checks a subject that speaks to an exchange over sockets.
pub(crate) fn client(scenario: &Scenario, subject: &Subject) -> Result<(), ScenarioError> {
    one_core(subject)?;
    backend::find(&subject.backend)?;
    takes_messages(scenario, &key_of(subject, "backend"), &subject.backend)?;
    let is_own = subject.command.is_empty();
    queue(&key_of(subject, "queue"), subject.queue, is_own, &subject.backend)?;
    wrapper(subject)?;
    let path = format!("subject.{}", subject.name);
    let arrival = scenario.load.arrival;
    let why = format!(
        "{path} has a command, and only tickpath's own client sends such a load: use uniform, \
         poisson or burst"
    );
    require(is_own || !arrival.is_made_before(), "load.arrival", arrival.name(), why)?;
    Ok(inject(&path, &subject.inject, is_own, "its own client")?)
}

/// Checks that the end with a chosen queue is ours and uses AF_XDP.
pub(crate) fn queue(
    key: &str,
    queue: Queue,
    is_ours: bool,
    backend: &str,
) -> Result<(), OutOfRange> {
    let why = "it is for a program that tickpath starts; give it to the other one yourself";
    require(queue.is_all() || is_ours, key, queue, why)?;
    let has_queues = queue.is_all() || backend::has_queues(backend);
    let why = format!("af_xdp uses queues of an interface, and {backend} doesn't: leave it out");
    require(has_queues, key, queue, why)
}

/// Checks that a wrapper has sockets to take over.
fn wrapper(subject: &Subject) -> Result<(), OutOfRange> {
    let (key, words) = (key_of(subject, "wrapper"), subject.wrapper.join(" "));
    let has_sockets = subject.wrapper.is_empty() || !backend::is_below(&subject.backend);
    let why = format!(
        "a wrapper takes over sockets of the kernel, and {} has none: leave one of them out",
        subject.backend
    );
    require(has_sockets, &key, &words, why)?;
    let named = subject.wrapper.first().is_none_or(|program| !program.is_empty());
    require(named, &key, &words, "its first word is the program, such as \"onload\"")
}

/// Checks that messages of a subject can be stamped, if the scenario asks for it.
pub(crate) fn stamps(scenario: &Scenario, subject: &Subject) -> Result<(), OutOfRange> {
    let every = scenario.load.stamp_every;
    if every == 0 {
        return Ok(());
    }
    let (key, backend) = ("load.stamp_every", &subject.backend);
    let why = format!(
        "the kernel stamps for backends spin and block, and subject {} has {backend}: set 0, or \
         {}=spin",
        subject.name,
        key_of(subject, "backend")
    );
    require(backend::stamps(backend), key, every, why)?;
    let why = format!(
        "subject {} has a command, and only tickpath's own client reads the kernel's stamps: set 0",
        subject.name
    );
    require(subject.command.is_empty(), key, every, why)
}

/// Checks that a backend carries what the scenario sends, and over that network.
fn takes_messages(scenario: &Scenario, key: &str, name: &str) -> Result<(), OutOfRange> {
    if scenario.request.protocol == Protocol::Udp {
        let why = "over UDP it is spin, block, af_xdp or dpdk";
        require(backend::takes_datagrams(name), key, name, why)?;
    }
    if !backend::is_below(name) {
        return Ok(());
    }
    let carries = matches!(scenario.kind, Measure::Orders | Measure::Ticks | Measure::Network);
    let why = "it carries orders, ticks, and requests of network scenarios: take another backend";
    require(carries, key, name, why)?;
    interface(scenario, name)?;
    let connections = scenario.load.connections;
    let why = "{}: below the kernel every connection is looked at in turn; take fewer, or another \
               backend";
    within("load.connections", connections, 1..=BELOW_CONNECTIONS_MAX, why)
}

/// Checks that a backend, or a replicator's way, that goes past the kernel's sockets has an
/// interface to take. The network of an exchange that runs already is not ours to judge.
pub(crate) fn interface(scenario: &Scenario, name: &str) -> Result<(), OutOfRange> {
    let has_interface = !backend::needs_net_admin(name)
        || !scenario.exchange.start
        || scenario.network == Network::Veth;
    let why =
        format!("{name} takes the queues of an interface, which loopback lacks: use \"veth\"");
    require(has_interface, "network", "loopback", why)
}

/// Checks that a datagram of a stack below the kernel fits into one frame of a veth. Other cards
/// may have another MTU: there the first one that is sent fails. `otherwise` follows the advice to
/// shorten it.
pub(crate) fn one_frame(
    scenario: &Scenario,
    backends: &[&str],
    (key, bytes): (&str, u64),
    otherwise: &str,
) -> Result<(), OutOfRange> {
    let is_below = backends.iter().any(|name| backend::is_below(name));
    let fits = bytes <= FRAME_BYTES_MAX || !is_below || scenario.network != Network::Veth;
    let why = format!(
        "a datagram below the kernel is one frame, without fragments: over veth use at most \
         {FRAME_BYTES_MAX} bytes{otherwise}"
    );
    require(fits, key, bytes, why)
}

/// Whether the bare loop, one at a time and over sockets of the kernel, is like the scenario.
pub(crate) fn has_bare(scenario: &Scenario) -> bool {
    scenario.exchange.start && scenario.load.is_single_ping_pong() && !is_below(scenario)
}

/// Whether an end of the scenario is below the kernel.
pub(crate) fn is_below(scenario: &Scenario) -> bool {
    let subjects = scenario.subject.iter().map(|subject| &subject.backend);
    subjects.chain([&scenario.exchange.backend]).any(|name| backend::is_below(name))
}

/// Checks a load without connections: it has room for any number of accounts.
pub(crate) fn load_without_connections(scenario: &Scenario) -> Result<(), OutOfRange> {
    let connections = scenario.load.accounts.clamp(1, CONNECTIONS_MAX);
    Load { connections, ..scenario.load.clone() }.check()
}

fn inject(path: &str, inject: &Inject, able: bool, whom: &str) -> Result<(), OutOfRange> {
    inject.check().map_err(|error| error.below(path))?;
    let why = format!("tickpath can inject faults into {whom} only");
    require(able || inject.is_none(), &format!("{path}.inject"), inject, why)
}

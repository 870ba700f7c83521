//! `network`: requests to an echo over connections or datagrams, also over crossed sockets.

mod steering;

use crate::conduct::{ConductError, Entrant};
use crate::evidence::{Evidence, Lengths, Outcome};
use crate::kind::runner::{RuleCheck, Runner, either_end_may_sleep};
use crate::kind::{orders, rules};
use crate::launch::observer::Observer;
use crate::launch::{Launch, MarketData, Ready};
use crate::progress::Teller;
use clock::Clock;
use host::Root;
use plan::Scenario;
use plan::process::orders::{BulkPlan, DatagramPlan, OneWayPlan, Wire};
use record::text::counted;
use record::{ClientResult, Verdict};
use rustix::process::Pid;
use std::path::Path;
use std::sync::OnceLock;
use steering::SteeredInterrupts;
use tune::journal::STATE_DEFAULT;

/// The client's clock in all runs of this process against an echo with another clock, so that
/// `compare` can relate their offsets.
static NEAR: OnceLock<Clock> = OnceLock::new();

/// The runner.
pub(crate) struct Network;

impl Runner for Network {
    fn run(
        &self,
        launch: &Launch,
        _lengths: Option<Lengths>,
        observer: &mut Observer<'_, '_>,
    ) -> Result<Outcome, ConductError> {
        let _steered = steer(launch)?;
        launch.with_exchange(MarketData::default(), |pid, echo, _| {
            let wire = wire(launch, echo.clock)?;
            let echo = (pid, echo);
            observer
                .during(launch, |teller| match bulk_flows(launch) {
                    0 => orders::trade(launch, echo, wire, teller),
                    flows => trade_beside_bulk(launch, echo, wire, flows, teller),
                })
                .map(Outcome::from)
        })
    }

    fn rules(&self) -> &'static [RuleCheck] {
        &[
            ("complete", rules::complete),
            ("sent", rules::sent),
            ("replies", replies),
            ("recorded", recorded),
            ("accepted", rules::accepted),
            ("clocks", rules::clocks),
        ]
    }

    fn pacer(&self, entrant: &Entrant) -> Option<usize> {
        entrant.cores.first().copied()
    }

    fn may_sleep(&self, scenario: &Scenario, entrant: &Entrant) -> bool {
        either_end_may_sleep(scenario, entrant)
    }
}

/// Bulk flows beside the requests of this entrant.
fn bulk_flows(launch: &Launch) -> usize {
    match launch.entrant.is_bare {
        true => 0,
        false => launch.conduct.scenario.subject[launch.entrant.index].bulk_flows,
    }
}

/// Runs the client with bulk flows to a sink of their own, or to the echo that is there.
fn trade_beside_bulk(
    launch: &Launch,
    echo: (Option<Pid>, Ready),
    wire: Wire,
    flows: usize,
    teller: &mut Teller<'_>,
) -> Result<ClientResult, ConductError> {
    let scenario = &launch.conduct.scenario;
    let request = &scenario.request;
    let requested = echo.1.address.clone();
    let mut plan = orders::order_plan(launch, echo, wire, teller.wants_seconds());
    let mut to = |target: String| {
        plan.bulk = Some(BulkPlan {
            target,
            protocol: request.protocol,
            flows,
            datagram_bytes: request.bulk_bytes,
            megabits: request.bulk_megabits,
        });
        orders::carry_out(launch, &plan, teller)
    };
    match (scenario.exchange.start, request.bulk_target.is_empty()) {
        (true, _) => launch.with_sink(to),
        (false, true) => to(requested),
        (false, false) => to(request.bulk_target.clone()),
    }
}

/// The encoding of a subject's or a bare echo's messages.
fn wire(launch: &Launch, clock: Option<Clock>) -> Result<Wire, ConductError> {
    let request = &launch.conduct.scenario.request;
    let subject = &launch.conduct.scenario.subject[launch.entrant.index];
    let bytes = request.message_bytes(subject.message_bytes);
    // An echo that was not started here says its clock when it is asked.
    let is_shared = launch.conduct.scenario.exchange.start;
    if request.one_way && is_shared && clock.is_none() {
        return Err(
            launch.failed("the echo did not say its clock; this is a bug in tickpath".to_owned())
        );
    }
    let one_way = request.one_way.then(|| OneWayPlan {
        clock: clock.unwrap_or_else(|| *NEAR.get_or_init(Clock::calibrate)),
        is_shared,
        shown: launch.conduct.scenario.one_way,
    });
    Ok(match (launch.has_datagrams(), launch.entrant.is_bare) {
        (false, false) => Wire::Requests(bytes),
        (false, true) => Wire::BareRequests(bytes),
        (true, true) => Wire::BareDatagrams(bytes),
        (true, false) => Wire::Datagrams(DatagramPlan {
            bytes,
            patience_ms: request.patience_ms,
            one_way,
            harm: request.inject,
        }),
    })
}

/// A request over datagrams may be lost: then it is in the log with the time that was waited.
fn recorded(evidence: &Evidence) -> (Verdict, String) {
    let load = &evidence.result.load;
    match load.datagrams {
        None => rules::recorded(evidence, load.received, "replies"),
        Some(_) => rules::recorded(evidence, load.received + load.lost, "replies and losses"),
    }
}

/// Streams lose nothing. Some datagrams must arrive, or there is nothing between the ends; the
/// others are in the figures.
fn replies(evidence: &Evidence) -> (Verdict, String) {
    let load = &evidence.result.load;
    let Some(datagrams) = load.datagrams else { return rules::replies(evidence) };
    let why = format!(
        "of {} {} lost ({} of them answered later than {} ms), {} duplicated, {} out of order",
        counted(load.sent, "datagram"),
        load.lost,
        datagrams.late,
        datagrams.patience_ns / 1_000_000,
        load.duplicated,
        load.out_of_order,
    );
    let adds_up = load.received + load.lost == load.sent;
    match (load.received > 0, adds_up) {
        (true, true) => (Verdict::Held, why),
        (false, _) => (Verdict::Broken, format!("{why}: no reply arrived")),
        (_, false) => (Verdict::Broken, format!("{why}: {} arrived", load.received)),
    }
}

/// Moves the interrupts that the entrant's placement moves, until the result is dropped.
fn steer(launch: &Launch) -> Result<Option<SteeredInterrupts>, ConductError> {
    let Some((interrupts, cores)) = launch.placed.interrupts.get(&launch.entrant.index) else {
        return Ok(None);
    };
    let steered =
        SteeredInterrupts::steer(&Root::system(), Path::new(STATE_DEFAULT), interrupts, cores);
    let who = || format!("moving interrupts for {}", launch.entrant.name);
    steered.map(Some).map_err(|why| ConductError::Process { who: who(), why })
}

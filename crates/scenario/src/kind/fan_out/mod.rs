//! `fan-out`: a replicator, and one client that is the source and all subscribers.

mod trial;

use crate::conduct::{Conduct, ConductError, Entrant};
use crate::evidence::{Evidence, Lengths, Outcome};
use crate::kind::rules;
use crate::kind::runner::{RuleCheck, Runner};
use crate::launch::Launch;
use crate::launch::observer::Observer;
use plan::Scenario;
use plan::backend::{self, XDP, has_queues};
use plan::process::fan_out::FanOutPlan;
use record::fan_out::FanOutRun;
use record::text::counted;
use record::{ClientResult, Verdict, directory};
use serde::Deserialize;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::process::Command;

/// A lease that lasts as long as any run, ms.
const LEASE_MS: u32 = 3_600_000;
/// The client, as a command of ours.
const CLIENT: &str = "fan-out-bench";
/// The replicator, in errors.
const REPLICATOR: &str = "the replicator";

/// The runner.
pub(crate) struct FanOut;

/// A replicator's first line.
#[derive(Deserialize)]
pub(crate) struct Ready {
    listening: SocketAddrV4,
    registration: SocketAddrV4,
}

/// The counts of its last line that say where copies were lost.
#[derive(Deserialize)]
struct ReplicatorCounts {
    received: u64,
    receive_dropped: Option<u64>,
    interface_dropped: Option<u64>,
    subscribers: Vec<SubscriberCounts>,
    former: Vec<SubscriberCounts>,
}

/// One subscriber of a replicator.
#[derive(Deserialize)]
struct SubscriberCounts {
    no_room: u64,
    failed: u64,
}

impl Runner for FanOut {
    fn run(
        &self,
        launch: &Launch,
        _lengths: Option<Lengths>,
        observer: &mut Observer<'_, '_>,
    ) -> Result<Outcome, ConductError> {
        if !launch.conduct.scenario.fan_out.hosts.is_empty() {
            return elsewhere(launch, observer);
        }
        let order = launch.conduct.scenario.subject[launch.entrant.index].order;
        let (mut result, replicated) = replicate(launch, |ready| {
            let plan = plan(launch, ready);
            observer.during(launch, |teller| launch.run_client(CLIENT, &plan, teller))
        })?;
        if let Some(run) = result.load.fan_out.first_mut() {
            order.name().clone_into(&mut run.order);
        }
        match (replicated, result.load.fan_out.first_mut()) {
            (Ok(replicated), Some(run)) => add_counts(run, &replicated),
            (Ok(_), None) => {}
            (Err(why), _) => result.fail(why),
        }
        Ok(Outcome::from(result))
    }

    fn unavailable(&self, launch: &Launch) -> Result<Option<String>, ConductError> {
        trial::of(launch)
    }

    fn rules(&self) -> &'static [RuleCheck] {
        &[
            ("complete", rules::complete),
            ("sent", rules::sent),
            ("recorded", recorded),
            ("copies", copies),
            ("clocks", clocks),
        ]
    }

    fn pacer(&self, entrant: &Entrant) -> Option<usize> {
        entrant.cores.first().copied()
    }

    fn may_sleep(&self, scenario: &Scenario, entrant: &Entrant) -> bool {
        let way = scenario.replicator(&scenario.subject[entrant.index]);
        !backend::spins(&entrant.backend) || !backend::spins(way)
    }
}

/// Runs the source in front of a replicator and subscribers that are there already.
fn elsewhere(launch: &Launch, observer: &mut Observer<'_, '_>) -> Result<Outcome, ConductError> {
    let ready = Ready::named(launch.conduct)?;
    let plan = plan(launch, &ready);
    let result = observer.during(launch, |teller| launch.run_client(CLIENT, &plan, teller))?;
    Ok(Outcome::from(result))
}

impl Ready {
    /// The replicator that runs already.
    pub(crate) fn named(conduct: &Conduct) -> Result<Ready, ConductError> {
        let address = |key: &str, text: &str| {
            text.parse::<SocketAddrV4>().map_err(|_| {
                ConductError::Usage(format!(
                    "{key} {text:?} is no address IP:PORT: name where the replicator receives \
                     (--connect, its --from) and where subscribers register \
                     (fan_out.registration, its --listen)"
                ))
            })
        };
        let listening = conduct.connect.as_deref().unwrap_or_default();
        Ok(Ready {
            listening: address("--connect", listening)?,
            registration: address("fan_out.registration", &conduct.scenario.fan_out.registration)?,
        })
    }
}

/// Starts the replicator, lets `client` use it, and ends it. Returns also its last line, or why it
/// can't be had.
fn replicate(
    launch: &Launch,
    client: impl FnOnce(&Ready) -> Result<ClientResult, ConductError>,
) -> Result<(ClientResult, Result<ReplicatorCounts, String>), ConductError> {
    let command = replicator(launch);
    let (process, ready) =
        launch.start_other_end::<Ready>((REPLICATOR, ".replicator"), command, "")?;
    let measured = client(&ready);
    // It ends whatever became of the client.
    let ended = launch.end_other_end(REPLICATOR, process);
    let replicated = ended.and_then(|line| {
        serde_json::from_str::<ReplicatorCounts>(&line.unwrap_or_default())
            .map_err(|error| format!("{REPLICATOR}'s last line can't be read: {error}"))
    });
    Ok((measured?, replicated))
}

/// The command of the replicator in front of this entrant.
fn replicator(launch: &Launch) -> Command {
    let scenario = &launch.conduct.scenario;
    let subject = &scenario.subject[launch.entrant.index];
    let own = launch.networks.map_or(Ipv4Addr::LOCALHOST, |both| both.exchange().address());
    let any_port = SocketAddrV4::new(own, 0).to_string();
    let mut command = Command::new(&launch.conduct.program);
    let backend = scenario.replicator(subject);
    // Programs in the kernel write no stamps: there a copy has no hops.
    let tunnel = if backend == XDP.name { "none" } else { "keep" };
    command.args(["fan-out", "--from", &any_port, "--listen", &any_port, "--tunnel", tunnel]);
    command.args(["--lease-ms", &LEASE_MS.to_string(), "--order", subject.order.name()]);
    command.args(["--seed", &scenario.load.seed.to_string()]);
    command.args(["--backend", backend]);
    if has_queues(backend) {
        command.args(["--queue", &scenario.exchange.queue.to_string()]);
    }
    command.args(["--scheduling", &scenario.exchange.scheduling.to_string()]);
    command.args(["--die-with-parent", &std::process::id().to_string()]);
    if let Some(core) = launch.placed.exchange.first() {
        command.args(["--core", &core.to_string()]);
    }
    command
}

/// The plan of source and subscribers.
fn plan(launch: &Launch, ready: &Ready) -> FanOutPlan {
    let scenario = &launch.conduct.scenario;
    let spec = &scenario.subject[launch.entrant.index];
    FanOutPlan {
        subject: launch.entrant.name.clone(),
        own: match launch.networks {
            Some(both) => both.trader().address(),
            None if scenario.fan_out.hosts.is_empty() => Ipv4Addr::LOCALHOST,
            None => Ipv4Addr::UNSPECIFIED,
        },
        replicator: ready.listening,
        registration: ready.registration,
        subscribers: scenario.fan_out.subscribers,
        hosts: scenario.fan_out.hosts.clone(),
        replicator_end: Some(scenario.fan_out.replicator_end.clone())
            .filter(|host| !host.is_empty()),
        message_bytes: scenario.fan_out.message_bytes,
        rate_per_second: scenario.load.rate_per_second,
        arrival: scenario.load.arrival,
        burst: scenario.load.burst,
        seed: scenario.load.seed,
        warm_up_messages: scenario.messages(scenario.warm_up_seconds),
        messages: scenario.messages(scenario.seconds),
        fair: scenario.fan_out.fair,
        hold_ns: scenario.fan_out.hold_us * 1_000,
        search_messages: match scenario.fan_out.search {
            true => scenario.messages(scenario.seconds),
            false => 0,
        },
        spins: backend::spins(&spec.backend),
        core: launch.entrant.cores.first().copied(),
        scheduling: spec.scheduling,
        hlog: directory::hlog(launch.path, launch.number).display().to_string(),
    }
}

/// Adds the replicator's counts.
fn add_counts(run: &mut FanOutRun, replicated: &ReplicatorCounts) {
    let rows = replicated.subscribers.iter().chain(&replicated.former);
    run.replicated = Some(replicated.received);
    run.dropped_before = replicated.receive_dropped;
    let by_interface = replicated.interface_dropped.unwrap_or(0);
    run.dropped_in = Some(rows.map(|row| row.no_room + row.failed).sum::<u64>() + by_interface);
}

fn recorded(evidence: &Evidence) -> (Verdict, String) {
    rules::recorded(evidence, evidence.result.load.received, "copies that arrived")
}

/// On one host there is one clock.
fn clocks(evidence: &Evidence) -> (Verdict, String) {
    match evidence.result.load.fan_out.iter().all(|run| run.hosts.is_none()) {
        true => (Verdict::Held, "source, replicator and subscribers read one clock".to_owned()),
        false => rules::clocks(evidence),
    }
}

/// A lost copy is a result, if it is known where it was lost: in front of the replicator, in it, or
/// in front of a subscriber.
fn copies(evidence: &Evidence) -> (Verdict, String) {
    let load = &evidence.result.load;
    let Some(run) = load.fan_out.first() else {
        return (Verdict::Broken, "the client says nothing of its subscribers".to_owned());
    };
    let of = counted(load.received + load.lost, "copy");
    if load.received == 0 {
        return (Verdict::Broken, format!("of {of} none arrived"));
    }
    if load.duplicated + load.unexpected > 0 {
        let (twice, strange) = (load.duplicated, load.unexpected);
        return (Verdict::Broken, format!("of {of} {twice} came twice, and {strange} others came"));
    }
    let subscribers = run.subscribers.len() as u64;
    let before = run.dropped_before.map(|dropped| dropped.saturating_mul(subscribers));
    match (before, run.dropped_in, run.dropped_after) {
        (Some(before), Some(inside), Some(after)) => {
            let explained = before.saturating_add(inside).saturating_add(after);
            let why = format!(
                "of {of} {} lost; the kernel dropped {before} in front of the replicator, {inside} \
                 in it and {after} in front of subscribers, warm-up included",
                load.lost
            );
            (if load.lost <= explained { Verdict::Held } else { Verdict::Broken }, why)
        }
        _ if load.lost == 0 => (Verdict::Held, format!("of {of} none was lost")),
        _ => {
            let why = format!("of {of} {} lost, and the kernel does not say where", load.lost);
            (Verdict::NotApplicable, why)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Measure;
    use record::Load;
    use record::fan_out::FanOutSubscriber;

    fn verdict(change: fn(&mut Load, &mut FanOutRun)) -> (Verdict, String) {
        let mut run = FanOutRun {
            dropped_before: Some(2),
            dropped_in: Some(1),
            dropped_after: Some(3),
            subscribers: vec![FanOutSubscriber::default(); 4],
            ..FanOutRun::default()
        };
        let mut load = Load { received: 388, lost: 12, ..Load::default() };
        change(&mut load, &mut run);
        load.fan_out = vec![run];
        let result = ClientResult { load, ..ClientResult::default() };
        copies(&Evidence::of(Measure::FanOut, &result))
    }

    /// A loss that nobody dropped would be one of tickpath's own.
    #[test]
    fn each_lost_copy_is_explained_or_the_run_is_void() {
        assert_eq!(verdict(|_, _| ()).0, Verdict::Held, "2 x 4 + 1 + 3 are the 12");
        assert_eq!(verdict(|load, _| load.lost = 13).0, Verdict::Broken);
        assert_eq!(verdict(|load, _| load.duplicated = 1).0, Verdict::Broken);
        assert_eq!(verdict(|load, _| load.unexpected = 1).0, Verdict::Broken);
        assert_eq!(verdict(|load, _| load.received = 0).0, Verdict::Broken);
        let unknown = |_: &mut Load, run: &mut FanOutRun| run.dropped_after = None;
        assert_eq!(verdict(unknown).0, Verdict::NotApplicable);
        let none_lost = |load: &mut Load, run: &mut FanOutRun| {
            load.lost = 0;
            run.dropped_before = None;
        };
        assert_eq!(verdict(none_lost).0, Verdict::Held);
    }
}

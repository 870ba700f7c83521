//! A pair of exchanges goes from one build to the next under load, one process after the other: no
//! acknowledged order is lost, and clients wait no longer than for a fail-over.

use super::*;
use std::process::Command;
use testing::unless;

/// The program of the earlier build; without it, both builds are this one.
const FROM: &str = "TICKPATH_UPGRADE_FROM";
/// The silence after which a standby takes over, on a quiet machine.
const STANDBY: Duration = Duration::from_millis(400);
/// A step of the upgrade is not longer than a fail-over by this factor: both have one silence, and
/// starts of processes.
const FACTOR: u32 = 2;

fn earlier_build() -> Command {
    let ours = tickpath();
    let Some(program) = std::env::var_os(FROM) else { return ours };
    let mut command = Command::new(program);
    command.stdin(Stdio::null());
    command.envs(ours.get_envs().filter_map(|(key, value)| Some((key, value?))));
    command
}

#[test]
fn a_pair_is_upgraded_under_load() {
    testing::quiet::or_doubled("a process starts in much less than a standby waits", upgrade);
}

fn upgrade(factor: u32) -> Result<(), String> {
    let place = tempfile::tempdir().unwrap();
    let [a, b] = &["a", "b"].map(|name| {
        Member::new(place.path().join(name), None, place.path().join(format!("{name}.said")))
    });
    let silence = Some(STANDBY * factor);
    let start = |own, other| Running::start_by(tickpath(), own, other, silence);
    let mut standby = Running::start_by(earlier_build(), b, a, silence);
    let mut leader = Running::start_by(earlier_build(), a, b, None);
    let load = Load::start("account".to_owned(), [a.address.clone(), b.address.clone()], 0);
    let mut silences = Vec::new();
    let mut settle = |standby: &Running| {
        standby.wait_until_it_says("the copy is complete");
        wait_for_more(&load);
        silences.push(load.longest_silence());
    };
    settle(&standby);

    // The standby goes on with its copy.
    end(&mut standby);
    standby = start(b, a);
    settle(&standby);
    // The exchange ends, and comes back as the standby, with its journal.
    end(&mut leader);
    let next = start(a, b);
    assert_eq!(standby.line()["listening"], b.address);
    leader = std::mem::replace(&mut standby, next);
    settle(&standby);
    // The new pair fails over.
    signal(leader.child.id(), Signal::KILL);
    leader.child.wait().unwrap();
    std::fs::remove_dir_all(&b.directory).unwrap();
    let next = start(b, a);
    assert_eq!(standby.line()["listening"], a.address);
    leader = std::mem::replace(&mut standby, next);
    settle(&standby);

    let mut acknowledged = Acknowledged::new();
    check(load, &mut acknowledged);
    end_and_compare((leader, standby), [a, b], &acknowledged);
    let [_, of_standby, of_exchange, of_failover] = silences[..] else { panic!("{silences:?}") };
    eprintln!("silences: {of_standby:?}, {of_exchange:?}; a fail-over: {of_failover:?}");
    unless!(
        of_standby.max(of_exchange) < FACTOR * of_failover,
        "{of_standby:?} and {of_exchange:?}, where a fail-over takes {of_failover:?}"
    );
    Ok(())
}

/// By the signal of an operator.
fn end(running: &mut Running) {
    signal(running.child.id(), Signal::TERM);
    let status = running.child.wait().unwrap();
    assert!(status.success(), "{}", std::fs::read_to_string(&running.said).unwrap());
}

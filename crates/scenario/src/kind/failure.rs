//! `subject.failure`: the exchange, or the leader of its cluster, is lost in the middle of the
//! measured part.

use crate::conduct::ConductError;
use crate::launch::Launch;
use crate::launch::cluster::Cluster;
use plan::tables::replica::Failure;
use record::ClientResult;
use rustix::process::{Pid, Signal, kill_process_group};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// The process that is lost.
pub(crate) enum Victim<'a> {
    Exchange(Pid),
    /// The member of its cluster that leads then. The exchange stays.
    Leader(&'a mut Cluster),
}

/// The network that a process loses.
#[derive(Clone, Copy)]
enum Cable {
    Exchange,
    Member(usize),
}

impl Cable {
    fn set_cut(self, launch: &Launch, is_cut: bool) -> Result<(), String> {
        let networks = launch.networks.ok_or("it shares the network of its clients")?;
        let set = match self {
            Cable::Exchange => networks.set_cut(is_cut),
            Cable::Member(number) => {
                let members = networks.members().ok_or("it shares the network of the others")?;
                members.set_cut(number, is_cut)
            }
        };
        set.map_err(|error| error.to_string())
    }
}

/// Loses `victim` in the middle of the measured part, while `client` runs. A result without that
/// loss has failed.
pub(crate) fn midway(
    launch: &Launch,
    victim: Victim,
    client: impl FnOnce() -> Result<ClientResult, ConductError>,
) -> Result<ClientResult, ConductError> {
    let loses_leader = matches!(victim, Victim::Leader(_));
    let (warm_up_seconds, seconds) = launch.conduct.phases(launch.entrant);
    let until = Duration::from_secs_f64(warm_up_seconds + seconds / 2.0);
    let (result, lost) = thread::scope(|scope| {
        let (client_ended, ended) = channel::<()>();
        let losing = scope.spawn(move || {
            if ended.recv_timeout(until) != Err(RecvTimeoutError::Timeout) {
                return Ok(());
            }
            let Some(cable) = lose(launch, victim)? else { return Ok(()) };
            // Until the client has ended.
            let _ = ended.recv();
            cable.set_cut(launch, false)
        });
        let result = client();
        drop(client_ended);
        let lost = losing.join().unwrap_or_else(|_| Err("it panicked".to_owned()));
        (result, lost)
    });
    let heartbeat_ms = launch.conduct.scenario.follower.cluster_heartbeat_ms;
    Ok(match loses_leader {
        true => leader_was_lost(result?, lost, heartbeat_ms),
        false => exchange_was_lost(result?, lost),
    })
}

/// Loses it; returns the cable that was cut and is to be mended.
fn lose(launch: &Launch, victim: Victim) -> Result<Option<Cable>, String> {
    let (cable, pid) = match victim {
        Victim::Exchange(pid) => (Cable::Exchange, pid),
        Victim::Leader(cluster) => {
            let (number, pid) = cluster.lose_leader().ok_or("no member leads")?;
            (Cable::Member(number), pid)
        }
    };
    let signal = match launch.failure() {
        Failure::None => return Ok(None),
        Failure::Kill => Signal::KILL,
        Failure::End => Signal::TERM,
        Failure::Stop => Signal::STOP,
        Failure::Cut => return cable.set_cut(launch, true).map(|()| Some(cable)),
    };
    // It is reaped only after the client's end, so the pid is still its own.
    kill_process_group(pid, signal).map(|()| None).map_err(|error| error.to_string())
}

/// A run without exactly one loss has not measured what it was to measure.
fn exchange_was_lost(mut result: ClientResult, lost: Result<(), String>) -> ClientResult {
    if let Err(why) = lost {
        result.fail(format!("the exchange could not be lost as asked: {why}"));
    }
    let losses = result.load.outages.len();
    if losses != 1 {
        result.fail(format!(
            "the exchange was to be lost once, and the client saw {losses} losses that ended: give \
             the standby more time (seconds), or see its stderr"
        ));
    }
    result
}

/// Members call an election after `heartbeat_ms` without a heartbeat, of which the last one may
/// have come a moment before the loss. A shorter silence is not that of the loss.
fn leader_was_lost(
    mut result: ClientResult,
    lost: Result<(), String>,
    heartbeat_ms: u64,
) -> ClientResult {
    if let Err(why) = lost {
        result.fail(format!("the cluster's leader could not be lost as asked: {why}"));
    }
    let silence_ms = result.load.outages.first().map_or(0, |outage| outage.silence_ns / 1_000_000);
    if silence_ms < heartbeat_ms / 2 {
        result.fail(format!(
            "the cluster's leader was to be lost, but the longest time without an answer was \
             {silence_ms} ms, and an election takes follower.cluster_heartbeat_ms = {heartbeat_ms} \
             and more: give the cluster more time (seconds), or see the members' stderr"
        ));
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Load, Outage};

    fn with(outages: Vec<Outage>) -> ClientResult {
        let load = Load { outages, ..Load::default() };
        ClientResult { complete: true, load, ..ClientResult::default() }
    }

    #[test]
    fn a_run_without_its_loss_is_no_measurement() {
        let with = |losses: usize| with(vec![Outage::default(); losses]);
        let is_complete = |losses| exchange_was_lost(with(losses), Ok(())).complete;
        assert_eq!([0, 1, 2].map(is_complete), [false, true, false]);
        assert!(!exchange_was_lost(with(1), Err("why".to_owned())).complete);
    }

    #[test]
    fn a_silence_shorter_than_an_election_is_not_that_of_a_lost_leader() {
        let with = |ms: u64| with(vec![Outage { silence_ns: ms * 1_000_000, ..Outage::default() }]);
        let is_complete = |ms| leader_was_lost(with(ms), Ok(()), 1_000).complete;
        assert_eq!([0, 499, 500, 3_000].map(is_complete), [false, false, true, true]);
        assert!(!leader_was_lost(with(3_000), Err("why".to_owned()), 1_000).complete);
        assert!(!leader_was_lost(self::with(Vec::new()), Ok(()), 1_000).complete);
    }
}

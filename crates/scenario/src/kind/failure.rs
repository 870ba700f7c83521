//! `subject.failure`: the exchange is lost in the middle of the measured part.

use crate::launch::Launch;
use plan::tables::replica::Failure;
use record::ClientResult;
use rustix::process::{Pid, Signal, kill_process_group};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Loses `exchange` in the middle of the measured part, while `client` runs. Returns also why it
/// could not.
pub(crate) fn midway<T>(
    launch: &Launch,
    exchange: Pid,
    client: impl FnOnce() -> T,
) -> (T, Result<(), String>) {
    let (warm_up_seconds, seconds) = launch.conduct.phases(launch.entrant);
    let until = Duration::from_secs_f64(warm_up_seconds + seconds / 2.0);
    thread::scope(|scope| {
        let (client_ended, ended) = channel::<()>();
        let losing = scope.spawn(move || {
            if ended.recv_timeout(until) != Err(RecvTimeoutError::Timeout) {
                return Ok(());
            }
            let lost = lose(launch, exchange);
            if launch.failure() == Failure::Cut {
                // Until the client has ended.
                let _ = ended.recv();
                return lost.and(cut(launch, false));
            }
            lost
        });
        let result = client();
        drop(client_ended);
        let lost = losing.join().unwrap_or_else(|_| Err("it panicked".to_owned()));
        (result, lost)
    })
}

fn lose(launch: &Launch, exchange: Pid) -> Result<(), String> {
    let signal = match launch.failure() {
        Failure::None => return Ok(()),
        Failure::Kill => Signal::KILL,
        Failure::End => Signal::TERM,
        Failure::Stop => Signal::STOP,
        Failure::Cut => return cut(launch, true),
    };
    // It is reaped only after the client's end, so the pid is still its own.
    kill_process_group(exchange, signal).map_err(|error| error.to_string())
}

fn cut(launch: &Launch, is_cut: bool) -> Result<(), String> {
    let networks = launch.networks.ok_or("it shares the network of its clients")?;
    networks.set_cut(is_cut).map_err(|error| error.to_string())
}

/// A run without exactly one loss has not measured what it was to measure.
pub(crate) fn checked(mut result: ClientResult, lost: Result<(), String>) -> ClientResult {
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

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Load, Outage};

    #[test]
    fn a_run_without_its_loss_is_no_measurement() {
        let with = |losses: usize| {
            let outages = vec![Outage::default(); losses];
            let load = Load { outages, ..Load::default() };
            ClientResult { complete: true, load, ..ClientResult::default() }
        };
        let is_complete = |losses| checked(with(losses), Ok(())).complete;
        assert_eq!([0, 1, 2].map(is_complete), [false, true, false]);
        assert!(!checked(with(1), Err("why".to_owned())).complete);
    }
}

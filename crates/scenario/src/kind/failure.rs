//! `subject.failure`: the exchange is lost in the middle of the measured part.

use crate::launch::Launch;
use plan::tables::replica::Failure;
use record::ClientResult;
use rustix::process::{Pid, Signal, kill_process_group};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// The signal that the exchange gets; `None`: it does not fail.
pub(crate) fn signal(failure: Failure) -> Option<Signal> {
    match failure {
        Failure::None => None,
        Failure::Kill => Some(Signal::KILL),
        Failure::Stop => Some(Signal::STOP),
    }
}

/// Sends the signal to `exchange` in the middle of the measured part, while `client` runs.
pub(crate) fn midway<T>(
    launch: &Launch,
    exchange: Pid,
    signal: Signal,
    client: impl FnOnce() -> T,
) -> T {
    let (warm_up_seconds, seconds) = launch.conduct.phases(launch.entrant);
    let until = Duration::from_secs_f64(warm_up_seconds + seconds / 2.0);
    thread::scope(|scope| {
        let (client_ended, ended) = channel::<()>();
        scope.spawn(move || {
            if ended.recv_timeout(until) == Err(RecvTimeoutError::Timeout) {
                // It is reaped only after the client's end, so the pid is still its own.
                let _ = kill_process_group(exchange, signal);
            }
        });
        let result = client();
        drop(client_ended);
        result
    })
}

/// A run without exactly one loss has not measured what it was to measure.
pub(crate) fn checked(mut result: ClientResult) -> ClientResult {
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
            checked(ClientResult { complete: true, load, ..ClientResult::default() }).complete
        };
        assert_eq!([0, 1, 2].map(with), [false, true, false]);
    }
}

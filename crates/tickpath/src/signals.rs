//! Ctrl-C, SIGTERM and SIGHUP: the first one stops in order, the second ends the process at once.

use anyhow::Context;
use host::Root;
use scenario::Interrupt;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Calls `first` on the first signal. The thread sleeps in between: no core is disturbed.
fn on_interrupt(first: impl Fn() + Send + 'static) -> anyhow::Result<()> {
    let all = [SIGINT, SIGTERM, SIGHUP];
    on_signals(if ignores_hang_ups() { &all[..2] } else { &all }, first)
}

fn on_signals(heard: &[i32], first: impl Fn() + Send + 'static) -> anyhow::Result<()> {
    let mut signals = Signals::new(heard).context("cannot listen for Ctrl-C")?;
    std::thread::spawn(move || {
        let mut coming = signals.forever();
        if coming.next().is_some() {
            first();
        }
        if let Some(signal) = coming.next() {
            std::process::exit(128 + signal);
        }
    });
    Ok(())
}

/// As [`stop_flag`], but a hang-up does not stop: each one calls `hung_up`.
pub(crate) fn stop_flag_or_hang_up(
    hung_up: impl Fn() + Send + 'static,
) -> anyhow::Result<Arc<AtomicBool>> {
    let mut hang_ups = Signals::new([SIGHUP]).context("cannot listen for SIGHUP")?;
    std::thread::spawn(move || hang_ups.forever().for_each(|_| hung_up()));
    let stop = Arc::new(AtomicBool::new(false));
    let flag = stop.clone();
    on_signals(&[SIGINT, SIGTERM], move || flag.store(true, Ordering::Relaxed))?;
    Ok(stop)
}

/// Whether the parent wants this process to outlive the terminal, as `nohup` does.
fn ignores_hang_ups() -> bool {
    let status = Root::system().read("proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (SIGHUP - 1) & 1 == 1)
}

/// An interrupt, set by the first signal.
pub(crate) fn interrupt() -> anyhow::Result<Interrupt> {
    let interrupt = Interrupt::default();
    let interrupted = interrupt.clone();
    on_interrupt(move || interrupted.interrupt())?;
    Ok(interrupt)
}

/// A flag that the first signal sets.
pub(crate) fn stop_flag() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = stop.clone();
    on_interrupt(move || flag.store(true, Ordering::Relaxed))?;
    Ok(stop)
}

//! Ctrl-C and SIGTERM: the first asks everything to end in order, the second ends at once.

use anyhow::Context;
use scenario::conduct::Interrupt;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Calls `first` on the first signal. Whoever listens sleeps in between: no core is disturbed.
fn on_interrupt(first: impl Fn() + Send + 'static) -> anyhow::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM]).context("cannot listen for Ctrl-C")?;
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

/// An interrupt that the first signal sets off.
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

//! One measurement at a time on a core: the second one waits for the first.

use crate::tool::command_line;
use anyhow::bail;
use host::core_lock::{self, BusyCore, CoreLocks};
use std::time::Duration;

/// Interval between two checks whether the cores are free.
const PAUSE: Duration = Duration::from_millis(200);

/// The right to measure on some cores, until it is dropped.
pub(crate) struct Turn {
    _locks: Option<CoreLocks>,
}

impl Turn {
    /// Waits until no other measurement has one of `cores`; `None` if `is_over` before that.
    ///
    /// # Errors
    /// With `no_wait`, if another measurement has one of them.
    pub(crate) fn take(
        cores: &[usize],
        no_wait: bool,
        is_over: impl Fn() -> bool,
    ) -> anyhow::Result<Option<Turn>> {
        let Some(directory) = core_lock::directory() else {
            return Ok(Some(Turn { _locks: None }));
        };
        let who = format!("pid {} ({})", std::process::id(), command_line().join(" "));
        let mut told = false;
        while !is_over() {
            let taken = match CoreLocks::take(&directory, cores, &who) {
                Ok(taken) => taken,
                Err(error) => {
                    // No lock is no reason not to measure.
                    let (here, variable) = (directory.display(), core_lock::DIRECTORY);
                    eprintln!(
                        "warning: cannot lock cores in {here}: {error}; other measurements won't wait for this one. \
                         {variable} names another directory"
                    );
                    return Ok(Some(Turn { _locks: None }));
                }
            };
            match taken {
                Ok(locks) => return Ok(Some(Turn { _locks: Some(locks) })),
                Err(BusyCore { core, holder }) if no_wait => {
                    bail!("{holder} measures on core {core}: wait for it, or choose other cores");
                }
                Err(BusyCore { core, holder }) => {
                    if !std::mem::replace(&mut told, true) {
                        eprintln!("waiting for {holder}, which measures on core {core}");
                    }
                    std::thread::sleep(PAUSE);
                }
            }
        }
        eprintln!("error: interrupted while it waited for its cores; nothing was measured");
        Ok(None)
    }
}

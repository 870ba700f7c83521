//! What both ends ask of the system before they start.

use anyhow::bail;
use rustix::process::{Resource, Rlimit, Signal};

/// Descriptors beside those of connections: standard streams, epoll, files.
const DESCRIPTORS_SPARE: u64 = 128;

/// As many descriptors as connections need, or as many as we may have, and a word if that's too few.
pub(crate) fn raise_descriptors(connections: u64) {
    let wanted = connections + DESCRIPTORS_SPARE;
    let now = rustix::process::getrlimit(Resource::Nofile);
    if now.current.is_none_or(|current| current >= wanted) {
        return;
    }
    let reached = now.maximum.map_or(wanted, |maximum| maximum.min(wanted));
    let raised = Rlimit { current: Some(reached), maximum: now.maximum };
    if rustix::process::setrlimit(Resource::Nofile, raised).is_err() || reached < wanted {
        eprintln!(
            "warning: this process may have {reached} descriptors, and {connections} connections \
             need {wanted}; raise the limit (ulimit -Hn) or use fewer"
        );
    }
}

/// Whoever starts us for a run must not leave us behind, even if it is killed.
pub(crate) fn die_with(parent: Option<i32>) -> anyhow::Result<()> {
    let Some(parent) = parent else { return Ok(()) };
    rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
    // It may have died before the line above.
    if rustix::process::getppid().map(rustix::process::Pid::as_raw_pid) != Some(parent) {
        bail!("process {parent}, which started this one, is gone");
    }
    Ok(())
}

//! Errors of placing and scheduling threads, each with its cause and advice.

use std::io;

use crate::scheduling::{BadScheduling, Scheduling};
use crate::topology::CORES_MAX;

/// Why a thread could not be placed or scheduled.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The kernel did not pin the thread.
    #[error(
        "cannot pin a thread to core {core}: {source}; online are cores {online}, and a container's \
         cpuset may allow fewer: choose another core, or widen the cpuset"
    )]
    Pin {
        /// The requested core.
        core: usize,
        /// The online cores, as a list; `?` if unknown.
        online: String,
        /// The system's reason.
        source: io::Error,
    },

    /// The affinity mask could not be read.
    #[error(
        "cannot read which cores this process may use: {0}; name the cores instead of `auto`, or \
         look whether a sandbox forbids sched_getaffinity"
    )]
    Affinity(io::Error),

    /// The affinity mask could not be set.
    #[error(
        "cannot move a thread to cores {cores}: {source}; a container's cpuset may allow fewer, or a \
         sandbox forbid sched_setaffinity"
    )]
    RunOn {
        /// The cores, as a list.
        cores: String,
        /// The system's reason.
        source: io::Error,
    },

    /// A listed core does not exist, or this process may not use it.
    #[error(
        "core {core} can't be used: this process may use cores {usable}; name one of those, or \
         bring the core online, or start without `taskset` and in a wider cpuset"
    )]
    CoreUnusable {
        /// The requested core.
        core: usize,
        /// The usable cores, as a list.
        usable: String,
    },

    /// An empty list of cores.
    #[error("the list of cores is empty: name at least one core, or write \"auto\"")]
    CoresEmpty,

    /// The text is not a list of cores.
    #[error(
        "\"{0}\" is not a list of cores: write \"auto\", or numbers below {CORES_MAX} and ranges such \
         as \"2,4-7\""
    )]
    CoresText(String),

    /// An invalid scheduling class.
    #[error(transparent)]
    BadScheduling(#[from] BadScheduling),

    /// The kernel did not set the scheduling class.
    #[error(
        "cannot set scheduling {scheduling}: {source}; a real-time class needs CAP_SYS_NICE (run as \
         root, or `setcap cap_sys_nice+ep` on the binary) or a limit `ulimit -r` of at least the \
         priority (it is {limit}), and in a container the capability SYS_NICE"
    )]
    Scheduling {
        /// The requested class.
        scheduling: Scheduling,
        /// The present RLIMIT_RTPRIO, as text.
        limit: String,
        /// The system's reason.
        source: io::Error,
    },

    /// The scheduling class could not be read.
    #[error("cannot read this thread's scheduling class: {0}; look whether a sandbox forbids it")]
    SchedulingUnreadable(io::Error),

    /// A policy without a name in tickpath.
    #[error(
        "this thread has scheduling policy {0}, which tickpath does not use: start it with `chrt -o \
         0`, or name a class in the scenario"
    )]
    SchedulingUnknown(i32),

    /// Memory could not be locked.
    #[error(
        "cannot lock memory: {source}; a page fault may show in the tail; raise `ulimit -l` to \
         unlimited, or give the binary CAP_IPC_LOCK"
    )]
    LockMemory {
        /// The system's reason.
        source: io::Error,
    },
}

//! The calling thread: its core, its scheduling class, its locked memory, and the resources that it
//! used.

use std::io;
use std::mem;

use libc::{c_int, c_ulong};

use crate::error::HostError;
use crate::permissions::{Limit, Permissions};
use crate::root::Root;
use crate::scheduling::Scheduling;
use crate::topology::{CORES_MAX, format_core_list};

/// Cores that one word of a mask holds.
const WORD_CORES: usize = c_ulong::BITS as usize;

/// An affinity mask of [`CORES_MAX`] cores. `libc::cpu_set_t` ends at 1024, and the kernel does not
/// fill a mask that is smaller than its own.
type Mask = [c_ulong; CORES_MAX / WORD_CORES];

/// Pins the calling thread to one core. Does not check the process's initial mask;
/// [`crate::Cores::place`] does.
pub fn pin(core: usize) -> Result<(), HostError> {
    set_mask(&[core]).map_err(|source| HostError::Pin { core, online: online_cores(), source })
}

/// Restricts the calling thread, and threads that it starts later, to `cores`.
pub fn run_on(cores: &[usize]) -> Result<(), HostError> {
    let failed = |source| HostError::RunOn { cores: format_core_list(cores), source };
    set_mask(cores).map_err(failed)
}

fn set_mask(cores: &[usize]) -> io::Result<()> {
    let mut mask: Mask = [0; _];
    for &core in cores {
        let word = mask.get_mut(core / WORD_CORES);
        let word = word.ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
        *word |= 1 << (core % WORD_CORES);
    }
    // SAFETY: the kernel reads `size_of::<Mask>()` bytes at the pointer, which are `mask`. The type
    // of the pointer is that of a shorter array of the same words.
    let result =
        unsafe { libc::sched_setaffinity(0, mem::size_of::<Mask>(), mask.as_ptr().cast()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The cores that the calling thread may run on, ascending. In a thread that was not pinned, these
/// are the cores that `taskset` and the control group allow.
pub fn allowed() -> Result<Vec<usize>, HostError> {
    let mut mask: Mask = [0; _];
    // SAFETY: the kernel writes at most `size_of::<Mask>()` bytes at the pointer, which are `mask`,
    // exclusively borrowed. The type of the pointer is that of a shorter array of the same words.
    let result =
        unsafe { libc::sched_getaffinity(0, mem::size_of::<Mask>(), mask.as_mut_ptr().cast()) };
    if result != 0 {
        return Err(HostError::Affinity(io::Error::last_os_error()));
    }
    let is_set = |core: &usize| mask[core / WORD_CORES] >> (core % WORD_CORES) & 1 == 1;
    Ok((0..CORES_MAX).filter(is_set).collect())
}

/// The core that the calling thread is running on; `None` if unknown.
pub fn current_core() -> Option<usize> {
    // SAFETY: takes no arguments and touches no memory of ours.
    let core = unsafe { libc::sched_getcpu() };
    usize::try_from(core).ok()
}

fn online_cores() -> String {
    let online = Root::system().read("sys/devices/system/cpu/online");
    online.unwrap_or_else(|| "?".to_owned())
}

/// Puts the calling thread into a scheduling class; threads that it starts inherit it.
pub fn set_scheduling(scheduling: Scheduling) -> Result<(), HostError> {
    let policy = match scheduling.checked()? {
        Scheduling::Other => libc::SCHED_OTHER,
        Scheduling::Fifo(_) => libc::SCHED_FIFO,
        Scheduling::RoundRobin(_) => libc::SCHED_RR,
    };
    let mut parameters = no_parameters();
    parameters.sched_priority = scheduling.priority().map_or(0, c_int::from);
    // SAFETY: `parameters` is a valid sched_param for the length of the call.
    let result = unsafe { libc::sched_setscheduler(0, policy, &parameters) };
    if result == 0 {
        return Ok(());
    }
    let source = io::Error::last_os_error();
    let limit = Permissions::read(&Root::system()).real_time_priority;
    let limit = limit.map_or("unknown".to_owned(), |limit| limit.to_string());
    Err(HostError::Scheduling { scheduling, limit, source })
}

/// The calling thread's scheduling class.
pub fn current_scheduling() -> Result<Scheduling, HostError> {
    let unreadable = || HostError::SchedulingUnreadable(io::Error::last_os_error());
    // SAFETY: takes a number only.
    let policy = unsafe { libc::sched_getscheduler(0) };
    if policy < 0 {
        return Err(unreadable());
    }
    let mut parameters = no_parameters();
    // SAFETY: `parameters` is a valid sched_param, exclusively borrowed for the length of the call.
    if unsafe { libc::sched_getparam(0, &mut parameters) } != 0 {
        return Err(unreadable());
    }
    let priority = u8::try_from(parameters.sched_priority).unwrap_or(u8::MAX);
    match policy & !libc::SCHED_RESET_ON_FORK {
        libc::SCHED_OTHER => Ok(Scheduling::Other),
        libc::SCHED_FIFO => Ok(Scheduling::Fifo(priority)),
        libc::SCHED_RR => Ok(Scheduling::RoundRobin(priority)),
        policy => Err(HostError::SchedulingUnknown(policy)),
    }
}

fn no_parameters() -> libc::sched_param {
    // SAFETY: sched_param is a struct of integers in every libc, for which zero is a value.
    unsafe { mem::zeroed() }
}

/// Locks all memory of this process, present and future. A failure deserves a warning but need not
/// end the run.
///
/// # Errors
/// Also under a finite RLIMIT_MEMLOCK without CAP_IPC_LOCK, even if the lock would fit now: the
/// first allocation beyond the limit would fail in the middle of a run.
pub fn lock_memory() -> Result<(), HostError> {
    let permissions = Permissions::read(&Root::system());
    let is_unlimited = permissions.locked_memory_bytes == Some(Limit::Unlimited);
    if !is_unlimited && permissions.has_ipc_lock != Some(true) {
        return Err(HostError::LockMemory { source: io::Error::from_raw_os_error(libc::EPERM) });
    }
    // SAFETY: changes how memory is backed, not what it holds.
    let result = unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) };
    if result == 0 {
        Ok(())
    } else {
        Err(HostError::LockMemory { source: io::Error::last_os_error() })
    }
}

/// Resources used by a thread since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Times it gave up its core to wait.
    pub context_switches_voluntary: u64,
    /// Times it was taken off its core.
    pub context_switches_involuntary: u64,
    /// Page faults served without reading a disk.
    pub page_faults_minor: u64,
    /// Page faults that had to read a disk.
    pub page_faults_major: u64,
}

impl Usage {
    /// The difference to an `earlier` reading of the same thread.
    pub fn since(self, earlier: Usage) -> Usage {
        let since = |now: u64, then: u64| now.saturating_sub(then);
        Usage {
            context_switches_voluntary: since(
                self.context_switches_voluntary,
                earlier.context_switches_voluntary,
            ),
            context_switches_involuntary: since(
                self.context_switches_involuntary,
                earlier.context_switches_involuntary,
            ),
            page_faults_minor: since(self.page_faults_minor, earlier.page_faults_minor),
            page_faults_major: since(self.page_faults_major, earlier.page_faults_major),
        }
    }
}

/// Resources used by the calling thread since its start.
pub fn usage() -> Usage {
    // SAFETY: rusage is a struct of integers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { mem::zeroed() };
    // SAFETY: `usage` is a valid rusage, exclusively borrowed for the length of the call.
    let result = unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
    assert_eq!(result, 0, "getrusage(RUSAGE_THREAD) cannot fail on Linux >= 2.6.26");
    let count = |count: libc::c_long| u64::try_from(count).unwrap_or(0);
    Usage {
        context_switches_voluntary: count(usage.ru_nvcsw),
        context_switches_involuntary: count(usage.ru_nivcsw),
        page_faults_minor: count(usage.ru_minflt),
        page_faults_major: count(usage.ru_majflt),
    }
}

//! Checks of this process's permissions. Small pure functions of an inspection.

use host::permissions::Limit;
use record::doctor::Grade;

use crate::inspection::Inspection;
use crate::setting::Judgement;

/// Open files for a run with some thousand connections; the usual soft limit is 1024.
const OPEN_FILES_MIN: u64 = 4096;

/// A trial by a thread is more reliable than limits: a sandbox, or a control group without
/// real-time budget, rejects it in spite of them.
pub(crate) fn real_time(seen: &Inspection) -> Judgement {
    let permissions = &seen.permissions;
    match (&seen.real_time, permissions.has_sys_nice, permissions.real_time_priority) {
        (Some(Ok(())), ..) => (Grade::Ok, "SCHED_FIFO was set on a thread of its own".to_owned()),
        (Some(Err(answer)), ..) => (Grade::Warn, format!("SCHED_FIFO was rejected: {answer}")),
        (None, Some(true), _) => (Grade::Ok, "CAP_SYS_NICE".to_owned()),
        (None, _, Some(limit)) if limit > Limit::To(0) => {
            (Grade::Ok, format!("up to priority {limit}"))
        }
        (None, Some(false), Some(_)) => {
            (Grade::Warn, "no CAP_SYS_NICE, and RLIMIT_RTPRIO is 0".to_owned())
        }
        (None, ..) => (Grade::Unknown, "capabilities and limits can't be read".to_owned()),
    }
}

pub(crate) fn locked_memory(seen: &Inspection) -> Judgement {
    let permissions = &seen.permissions;
    match (permissions.has_ipc_lock, permissions.locked_memory_bytes) {
        (Some(true), _) => (Grade::Ok, "any amount, by CAP_IPC_LOCK".to_owned()),
        (_, Some(Limit::Unlimited)) => (Grade::Ok, "any amount".to_owned()),
        (Some(false), Some(limit)) => (Grade::Warn, format!("{limit} bytes at most")),
        _ => (Grade::Unknown, "capabilities and limits can't be read".to_owned()),
    }
}

pub(crate) fn open_files(seen: &Inspection) -> Judgement {
    match seen.permissions.open_files {
        Some(limit) if limit >= Limit::To(OPEN_FILES_MIN) => (Grade::Ok, limit.to_string()),
        Some(limit) => (Grade::Warn, limit.to_string()),
        None => (Grade::Unknown, "the limit can't be read".to_owned()),
    }
}

/// AF_XDP needs it (packet(7), bpf(2) beside), and so do preferred busy polling and a budget of
/// more packets a poll than the kernel's 8 (socket(7): SO_BUSY_POLL_BUDGET). Without it everything
/// else measures as well as with it, so its absence matters only to a scenario that takes it.
pub(crate) fn net_admin(seen: &Inspection) -> Judgement {
    match (seen.permissions.has_net_admin, seen.needs_net_admin) {
        (Some(true), _) => (Grade::Ok, "CAP_NET_ADMIN".to_owned()),
        (Some(false), true) => {
            (Grade::Warn, "no CAP_NET_ADMIN, and a backend of the scenario takes it".to_owned())
        }
        (Some(false), false) => {
            (Grade::Ok, "not judged: no CAP_NET_ADMIN, and no scenario that takes it".to_owned())
        }
        (None, _) => (Grade::Unknown, "capabilities can't be read".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::Permissions;

    fn seen(permissions: Permissions) -> Inspection {
        Inspection { permissions, ..Inspection::default() }
    }

    const NONE: Permissions = Permissions {
        real_time_priority: Some(Limit::To(0)),
        locked_memory_bytes: Some(Limit::To(65_536)),
        open_files: Some(Limit::To(1024)),
        has_sys_nice: Some(false),
        has_ipc_lock: Some(false),
        has_net_admin: Some(false),
    };

    #[test]
    fn who_has_no_permission_is_warned_of_each() {
        for rule in [real_time, locked_memory, open_files] {
            assert_eq!(rule(&seen(NONE)).0, Grade::Warn);
            assert_eq!(rule(&Inspection::default()).0, Grade::Unknown);
        }
    }

    #[test]
    fn a_capability_or_a_limit_is_enough() {
        let capable = Permissions { has_sys_nice: Some(true), has_ipc_lock: Some(true), ..NONE };
        let limited = Permissions {
            real_time_priority: Some(Limit::To(1)),
            locked_memory_bytes: Some(Limit::Unlimited),
            open_files: Some(Limit::To(OPEN_FILES_MIN)),
            ..NONE
        };
        for permissions in [capable, limited] {
            assert_eq!(real_time(&seen(permissions)).0, Grade::Ok);
            assert_eq!(locked_memory(&seen(permissions)).0, Grade::Ok);
        }
        assert_eq!(open_files(&seen(limited)).0, Grade::Ok);
    }

    /// Most scenarios use sockets, and lack nothing.
    #[test]
    fn only_a_scenario_that_takes_net_admin_is_warned_of_it() {
        for (has_net_admin, needs_net_admin, grade) in [
            (Some(false), false, Grade::Ok),
            (Some(false), true, Grade::Warn),
            (Some(true), true, Grade::Ok),
            (None, true, Grade::Unknown),
        ] {
            let permissions = Permissions { has_net_admin, ..NONE };
            let found = net_admin(&Inspection { needs_net_admin, ..seen(permissions) });
            assert_eq!(found.0, grade, "{found:?}");
        }
    }

    #[test]
    fn who_asked_knows_better() {
        let rejected = Some(Err("Operation not permitted".to_owned()));
        let capable = Permissions { has_sys_nice: Some(true), ..NONE };
        let found = real_time(&Inspection { real_time: rejected, ..seen(capable) });
        assert_eq!(found.0, Grade::Warn);
        assert!(found.1.contains("Operation not permitted"), "{found:?}");
        let granted = Inspection { real_time: Some(Ok(())), ..seen(NONE) };
        assert_eq!(real_time(&granted).0, Grade::Ok);
    }
}

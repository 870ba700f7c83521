//! Resource limits and capabilities of this process.

use std::fmt;

use crate::root::Root;

/// Bit of CAP_IPC_LOCK in a capability mask (capabilities(7)).
const CAP_IPC_LOCK: u32 = 14;
/// Bit of CAP_NET_ADMIN.
const CAP_NET_ADMIN: u32 = 12;
/// Bit of CAP_SYS_NICE.
const CAP_SYS_NICE: u32 = 23;

/// A soft resource limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    /// A limit with this value.
    To(u64),
    /// No limit.
    Unlimited,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::To(value) => write!(f, "{value}"),
            Limit::Unlimited => write!(f, "unlimited"),
        }
    }
}

/// Limits and capabilities of the calling thread. Unreadable ones are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    /// Highest real-time priority without CAP_SYS_NICE (RLIMIT_RTPRIO); 0 means none.
    pub real_time_priority: Option<Limit>,
    /// Lockable memory without CAP_IPC_LOCK, bytes (RLIMIT_MEMLOCK).
    pub locked_memory_bytes: Option<Limit>,
    /// Maximum number of open files and sockets, plus one (RLIMIT_NOFILE).
    pub open_files: Option<Limit>,
    /// Whether it has CAP_SYS_NICE, which allows any scheduling class and priority.
    pub has_sys_nice: Option<bool>,
    /// Whether it has CAP_IPC_LOCK, which allows any amount of locked memory.
    pub has_ipc_lock: Option<bool>,
    /// Whether it has CAP_NET_ADMIN, which AF_XDP and preferred busy polling need.
    pub has_net_admin: Option<bool>,
}

impl Permissions {
    /// Reads `/proc/self/limits` and `/proc/thread-self/status`.
    pub fn read(root: &Root) -> Permissions {
        let limits = root.read("proc/self/limits").unwrap_or_default();
        let status = root.read("proc/thread-self/status").unwrap_or_default();
        let capabilities = status
            .lines()
            .find_map(|line| line.strip_prefix("CapEff:"))
            .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        let has = |bit: u32| capabilities.map(|mask| mask >> bit & 1 == 1);
        Permissions {
            real_time_priority: limit(&limits, "Max realtime priority"),
            locked_memory_bytes: limit(&limits, "Max locked memory"),
            open_files: limit(&limits, "Max open files"),
            has_sys_nice: has(CAP_SYS_NICE),
            has_ipc_lock: has(CAP_IPC_LOCK),
            has_net_admin: has(CAP_NET_ADMIN),
        }
    }
}

/// The soft limit in a line of name, soft limit, hard limit, unit.
fn limit(limits: &str, name: &str) -> Option<Limit> {
    let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
    match line.split_whitespace().next()? {
        "unlimited" => Some(Limit::Unlimited),
        value => Some(Limit::To(value.parse().ok()?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    const LIMITS: &str = "\
Limit                     Soft Limit           Hard Limit           Units     
Max open files            20000                1048576              files     
Max locked memory         8388608              unlimited            bytes     
Max realtime priority     0                    0                    
";

    fn read(limits: &str, status: &str) -> Permissions {
        let directory = tempfile::tempdir().unwrap();
        for (path, text) in [("proc/self", limits), ("proc/thread-self", status)] {
            std::fs::create_dir_all(directory.path().join(path)).unwrap();
            let file = if path == "proc/self" { "limits" } else { "status" };
            std::fs::write(directory.path().join(path).join(file), text).unwrap();
        }
        Permissions::read(&Root::at(directory.path()))
    }

    #[test]
    fn reads_what_the_kernel_prints() {
        let found = read(LIMITS, "Name:\tx\nCapEff:\t0000000000804000\n");
        expect![[r#"
            Permissions {
                real_time_priority: Some(
                    To(
                        0,
                    ),
                ),
                locked_memory_bytes: Some(
                    To(
                        8388608,
                    ),
                ),
                open_files: Some(
                    To(
                        20000,
                    ),
                ),
                has_sys_nice: Some(
                    true,
                ),
                has_ipc_lock: Some(
                    true,
                ),
                has_net_admin: Some(
                    false,
                ),
            }
        "#]]
        .assert_debug_eq(&found);
        let found = read(&LIMITS.replace("8388608  ", "unlimited"), "CapEff:\t0000000000000000\n");
        assert_eq!(found.locked_memory_bytes, Some(Limit::Unlimited));
        assert_eq!((found.has_sys_nice, found.has_ipc_lock), (Some(false), Some(false)));
    }

    #[test]
    fn what_makes_no_sense_is_not_known() {
        assert_eq!(read("", ""), Permissions::default());
        let odd = "Max open files -1\nMax locked memory\nMax realtime priority many\n";
        assert_eq!(read(odd, "CapEff: all\n"), Permissions::default());
    }

    #[test]
    fn this_process_has_limits() {
        let found = Permissions::read(&Root::system());
        assert!(found.open_files.is_some() && found.has_sys_nice.is_some(), "{found:?}");
    }
}

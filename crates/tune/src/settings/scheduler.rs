//! The scheduler, its watchdogs and statistics, limits of processes.

use record::doctor::Grade;

use super::{readings, rules, wishes};
use crate::goal::Profile;
use crate::setting::{BASE, Check, Risk, Scope, Setting, ValueBound, Wishes};

pub(super) static SETTINGS: [Setting; 12] = [
    Setting {
        id: "sysctl.kernel.sched_rt_runtime_us",
        tier: 1,
        wanted: "-1",
        why: "Before Linux 6.12 the kernel stops a real-time thread that spins for the rest of \
              each period: a stall of 50 ms a second.",
        cost: "A real-time thread that never waits can stop everything else on its core for good.",
        what_to_do: "sysctl -w kernel.sched_rt_runtime_us=-1, on cores where nothing else has to \
              run.",
        source: "Documentation/scheduler/sched-rt-group.rst",
        removes: &["rt_throttling"],
        risk: Risk::Medium,
        profiles: &[Profile::TickToTrade, Profile::Exchange, Profile::Measure],
        check: Some(Check {
            read: readings::rt_runtime,
            judge: rules::rt_runtime,
            absent: (Grade::Ok, "this kernel does not throttle real-time threads"),
        }),
        wishes: Wishes::Sysctl("kernel.sched_rt_runtime_us", ValueBound::Is("-1")),
        ..BASE
    },
    Setting {
        id: "sched.fair_server",
        tier: 1,
        wanted: "0 ns",
        why: "From Linux 6.12 on a thread that waits for a core on which a real-time thread spins \
              gets up to 50 ms of each second.",
        cost: "As above, core by core.",
        what_to_do: "Keep other threads off these cores (isolcpus), or write 0 to \
              /sys/kernel/debug/sched/fair_server/cpuN/runtime while measuring.",
        source: "Documentation/scheduler/sched-deadline.rst; kernel/sched/debug.c: fair_server",
        removes: &["fair_server"],
        scope: Scope::Cores,
        risk: Risk::Medium,
        profiles: &[Profile::TickToTrade, Profile::Exchange, Profile::Measure],
        check: Some(Check {
            read: readings::fair_server,
            judge: rules::fair_server,
            absent: (Grade::Ok, "none before Linux 6.12"),
        }),
        wishes: Wishes::Of(wishes::fair_server),
        ..BASE
    },
    Setting {
        id: "sched.autogroup",
        tier: 2,
        wanted: "0",
        why: "Threads are weighed by terminal session: nice has no effect against what runs in \
              another one. It concerns threads that share a core, and no real-time thread.",
        cost: "A desktop feels slower under load.",
        what_to_do: "sysctl -w kernel.sched_autogroup_enabled=0",
        source: "Documentation/admin-guide/kernel-parameters.txt: noautogroup",
        removes: &["thread.NAME"],
        profiles: &[Profile::TickToTrade, Profile::Exchange, Profile::Measure],
        check: Some(Check {
            read: readings::autogroup,
            judge: rules::autogroup,
            absent: (Grade::Ok, "this kernel has none"),
        }),
        wishes: Wishes::Sysctl("kernel.sched_autogroup_enabled", ValueBound::Is("0")),
        ..BASE
    },
    Setting {
        id: "sysctl.kernel.timer_migration",
        tier: 3,
        wanted: "1",
        why: "Timers of an idle core are kept on cores that are awake; 0 leaves them where they \
              were set.",
        cost: "None.",
        what_to_do: "sysctl -w kernel.timer_migration=1",
        source: "Documentation/admin-guide/sysctl/kernel.rst: timer_migration",
        removes: &["softirq.timer"],
        profiles: &[Profile::TickToTrade, Profile::Exchange],
        wishes: Wishes::Sysctl("kernel.timer_migration", ValueBound::Is("1")),
        ..BASE
    },
    Setting {
        id: "sysctl.kernel.watchdog_cpumask",
        tier: 2,
        wanted: "no measured core in it, where they are isolated",
        why: "Every 4 s the watchdog's timer wakes a thread of the highest class on each of these \
              cores. Without isolation it is lost among other noise.",
        cost: "A measured core that hangs is not reported.",
        what_to_do: "sysctl -w kernel.watchdog_cpumask=LIST of the other cores, or \
              kernel.watchdog=0. nohz_full cores are left out by themselves.",
        source: "Documentation/admin-guide/lockup-watchdogs.rst",
        removes: &["thread.migration", "tick"],
        scope: Scope::Cores,
        profiles: &[Profile::TickToTrade, Profile::Exchange, Profile::Measure],
        check: Some(Check {
            read: readings::watchdog_cores,
            judge: rules::watchdog_cores,
            absent: (Grade::Ok, "this kernel has none"),
        }),
        wishes: Wishes::Of(wishes::watchdog_cpumask),
        ..BASE
    },
    Setting {
        id: "sysctl.kernel.nmi_watchdog",
        tier: 2,
        wanted: "0",
        why: "The hard-lockup detector takes a hardware counter and an NMI on every core.",
        cost: "A core that hangs with interrupts off is not reported.",
        what_to_do: "sysctl -w kernel.nmi_watchdog=0",
        source: "Documentation/admin-guide/sysctl/kernel.rst: nmi_watchdog",
        removes: &["irq.NAME"],
        profiles: &[Profile::TickToTrade, Profile::Exchange, Profile::Measure],
        wishes: Wishes::Sysctl("kernel.nmi_watchdog", ValueBound::Is("0")),
        ..BASE
    },
    Setting {
        id: "sysctl.kernel.soft_watchdog",
        tier: 3,
        wanted: "0",
        why: "Wakes a thread of the highest class on every core each 4 s, also where \
              watchdog_cpumask is missing.",
        cost: "A core that hangs in the kernel is not reported.",
        what_to_do: "sysctl -w kernel.soft_watchdog=0",
        source: "Documentation/admin-guide/sysctl/kernel.rst: soft_watchdog",
        removes: &["tick", "thread.migration"],
        profiles: &[Profile::TickToTrade, Profile::Measure],
        wishes: Wishes::Sysctl("kernel.soft_watchdog", ValueBound::Is("0")),
        ..BASE
    },
    Setting {
        id: "sysctl.vm.stat_interval",
        tier: 2,
        wanted: "10 s or more, on isolated cores",
        why: "Each core gathers its memory statistics at this interval, in a worker of some us. \
              Without isolation it is lost among other noise.",
        cost: "Memory statistics lag by as much.",
        what_to_do: "sysctl -w vm.stat_interval=120. From Linux 6.5 on isolated cores are left \
              out anyway.",
        source: "Documentation/admin-guide/sysctl/vm.rst: stat_interval",
        removes: &["workqueue.vmstat_update"],
        profiles: &[Profile::TickToTrade, Profile::Exchange, Profile::Measure],
        check: Some(Check {
            read: readings::stat_interval,
            judge: rules::stat_interval,
            absent: (Grade::Unknown, "the kernel doesn't say"),
        }),
        wishes: Wishes::Sysctl("vm.stat_interval", ValueBound::AtLeast(120)),
        ..BASE
    },
    Setting {
        id: "sysctl.kernel.sched_schedstats",
        tier: 3,
        wanted: "0",
        why: "Statistics of every switch and wake-up.",
        cost: "No scheduler statistics.",
        what_to_do: "sysctl -w kernel.sched_schedstats=0",
        source: "Documentation/admin-guide/sysctl/kernel.rst: sched_schedstats",
        profiles: &Profile::ALL,
        wishes: Wishes::Sysctl("kernel.sched_schedstats", ValueBound::Is("0")),
        ..BASE
    },
    Setting {
        id: "sysctl.kernel.task_delayacct",
        tier: 3,
        wanted: "0",
        why: "Counts the waits of every thread.",
        cost: "No delay accounting (iotop).",
        what_to_do: "sysctl -w kernel.task_delayacct=0",
        source: "Documentation/admin-guide/sysctl/kernel.rst: task_delayacct",
        profiles: &Profile::ALL,
        wishes: Wishes::Sysctl("kernel.task_delayacct", ValueBound::Is("0")),
        ..BASE
    },
    Setting {
        id: "limit.memlock",
        tier: 2,
        wanted: "unlimited",
        why: "Memory that is not locked may fault in the middle of a run.",
        cost: "A process may lock all memory; effective from the next login.",
        what_to_do: "`ulimit -l unlimited`, setcap cap_ipc_lock+ep on the binary, or \
              LimitMEMLOCK=infinity.",
        source: "limits.conf(5)",
        profiles: &[Profile::TickToTrade, Profile::Exchange, Profile::Measure],
        check: Some(Check {
            read: readings::locked_memory,
            judge: rules::locked_memory,
            absent: (Grade::Unknown, "the limit can't be read"),
        }),
        wishes: Wishes::Of(wishes::limits_memlock),
        ..BASE
    },
    Setting {
        id: "limit.nofile",
        tier: 3,
        wanted: "4096 or more",
        why: "Each connection is an open file: a scenario with more of them can't start.",
        cost: "Effective from the next login.",
        what_to_do: "`ulimit -n 65536`, or LimitNOFILE=65536.",
        source: "limits.conf(5)",
        profiles: &[Profile::TickToTrade, Profile::Exchange, Profile::Measure],
        check: Some(Check {
            read: readings::open_files,
            judge: rules::open_files,
            absent: (Grade::Unknown, "the limit can't be read"),
        }),
        wishes: Wishes::Of(wishes::limits_nofile),
        ..BASE
    },
];

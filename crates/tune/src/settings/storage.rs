//! Disks, for journals and logs.

use super::wishes;
use crate::goal::Profile;
use crate::setting::{BASE, Setting, Wishes};

pub(super) static SETTINGS: [Setting; 3] = [
    Setting {
        id: "block.scheduler",
        tier: 3,
        wanted: "none",
        why: "A journal or an audit log on NVMe waits in the queue of a scheduler that only \
              orders for seeks.",
        cost: "Fairness between programs on a slow disk.",
        what_to_do: "echo none > /sys/block/DISK/queue/scheduler",
        source: "Documentation/block/switching-sched.rst",
        removes: &["softirq.block"],
        profiles: &[Profile::TickToTrade, Profile::Exchange],
        wishes: Wishes::Of(wishes::block_scheduler),
        ..BASE
    },
    Setting {
        id: "block.iostats",
        tier: 3,
        wanted: "0",
        why: "Two clock readings and a lock for each request.",
        cost: "iostat shows nothing.",
        what_to_do: "echo 0 > /sys/block/DISK/queue/iostats",
        source: "Documentation/ABI/stable/sysfs-block: queue/iostats",
        profiles: &[Profile::TickToTrade, Profile::Exchange],
        wishes: Wishes::Of(wishes::block_iostats),
        ..BASE
    },
    Setting {
        id: "block.rq_affinity",
        tier: 3,
        wanted: "1 or 0",
        why: "With 2 a completion is forced onto the core that asked, by an interrupt there.",
        cost: "None.",
        what_to_do: "echo 1 > /sys/block/DISK/queue/rq_affinity",
        source: "Documentation/ABI/stable/sysfs-block: queue/rq_affinity",
        removes: &["softirq.block"],
        profiles: &[Profile::TickToTrade, Profile::Exchange],
        wishes: Wishes::Of(wishes::block_rq_affinity),
        ..BASE
    },
];

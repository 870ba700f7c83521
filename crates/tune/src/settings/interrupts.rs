//! Settings of interrupts.

use record::doctor::Grade;

use super::{readings, rules, wishes};
use crate::goal::Profile;
use crate::setting::{BASE, Check, Scope, Setting, Wishes};

pub(super) static SETTINGS: [Setting; 3] = [
    Setting {
        id: "irq.affinity",
        tier: 1,
        wanted: "no device interrupts on the measured cores",
        why: "A device's interrupt takes the core for some us, and the softirq behind it for as \
              long as there are packets or blocks.",
        cost: "The other cores take them. Interrupts that the kernel manages itself can't be moved.",
        what_to_do: "Stop irqbalance or ban the cores there (IRQBALANCE_BANNED_CPULIST), then \
              write other cores to /proc/irq/N/smp_affinity_list. The NIC's go to a core of its \
              NUMA node.",
        source: "Documentation/core-api/irq/irq-affinity.rst",
        removes: &["irq.NAME", "softirq.net_rx", "softirq.net_tx", "softirq.block"],
        scope: Scope::Cores,
        profiles: &Profile::ALL,
        check: Some(Check {
            read: readings::irq_affinity,
            judge: rules::irq_affinity,
            absent: (Grade::Unknown, "no interrupts are listed"),
        }),
        wishes: Wishes::Of(wishes::irq_affinity),
        ..BASE
    },
    Setting {
        id: "irq.default_affinity",
        tier: 2,
        wanted: "no measured core in it",
        why: "Interrupts that are requested later start there.",
        cost: "None.",
        what_to_do: "Write a mask without the measured cores to /proc/irq/default_smp_affinity.",
        source: "Documentation/core-api/irq/irq-affinity.rst",
        removes: &["irq.NAME"],
        scope: Scope::Cores,
        profiles: &Profile::ALL,
        wishes: Wishes::Of(wishes::irq_default),
        ..BASE
    },
    Setting {
        id: "service.irqbalance",
        tier: 1,
        wanted: "inactive",
        why: "It moves interrupts every ten seconds, also back to the measured cores.",
        cost: "Interrupts of new devices are not spread.",
        what_to_do: "systemctl disable --now irqbalance, or IRQBALANCE_BANNED_CPULIST.",
        source: "irqbalance(1)",
        removes: &["irq.NAME"],
        profiles: &[Profile::TickToTrade, Profile::Exchange, Profile::Measure],
        wishes: Wishes::Stopped(&["irqbalance.service"]),
        ..BASE
    },
];

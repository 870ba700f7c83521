//! Settings of pages: huge, moved, merged, swapped, written back.

use record::doctor::Grade;

use super::{readings, rules, wishes};
use crate::goal::Profile;
use crate::setting::{BASE, Check, Risk, Setting, ValueBound, Wishes};

pub(super) static SETTINGS: [Setting; 12] = [
    Setting {
        id: "thp.enabled",
        tier: 2,
        wanted: "madvise or never",
        why: "With always, any first touch may clear 2 MiB (100 us and more), and khugepaged \
              moves pages under running threads.",
        cost: "Programs that gain from huge pages without asking lose them.",
        what_to_do: "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
        source: "Documentation/admin-guide/mm/transhuge.rst",
        removes: &["page_fault", "thread.khugepaged"],
        profiles: &[Profile::TickToTrade, Profile::Exchange, Profile::Measure],
        check: Some(Check {
            read: readings::thp_enabled,
            judge: rules::thp_enabled,
            absent: (Grade::Ok, "this kernel has none"),
        }),
        wishes: Wishes::Of(wishes::thp_enabled),
        ..BASE
    },
    Setting {
        id: "thp.defrag",
        tier: 2,
        wanted: "madvise, defer or never",
        why: "With always, a page fault waits until memory was compacted for a huge page: ms.",
        cost: "Fewer huge pages.",
        what_to_do: "echo madvise > /sys/kernel/mm/transparent_hugepage/defrag",
        source: "Documentation/admin-guide/mm/transhuge.rst",
        removes: &["page_fault", "thread.kcompactd"],
        profiles: &[Profile::TickToTrade, Profile::Exchange, Profile::Measure],
        check: Some(Check {
            read: readings::thp_defrag,
            judge: rules::thp_defrag,
            absent: (Grade::Ok, "this kernel has none"),
        }),
        wishes: Wishes::Of(wishes::thp_defrag),
        ..BASE
    },
    Setting {
        id: "thp.khugepaged",
        tier: 3,
        wanted: "0",
        why: "khugepaged compacts memory under running programs.",
        cost: "Fewer huge pages.",
        what_to_do: "echo 0 > /sys/kernel/mm/transparent_hugepage/khugepaged/defrag",
        source: "Documentation/admin-guide/mm/transhuge.rst: khugepaged/defrag",
        removes: &["thread.khugepaged"],
        profiles: &[Profile::TickToTrade, Profile::Exchange, Profile::Measure],
        wishes: Wishes::File(
            "/sys/kernel/mm/transparent_hugepage/khugepaged/defrag",
            ValueBound::Is("0"),
        ),
        ..BASE
    },
    Setting {
        id: "sysctl.vm.compaction_proactiveness",
        tier: 2,
        wanted: "0",
        why: "kcompactd moves pages in the background, and a thread that touches a moving page waits.",
        cost: "Huge pages are harder to get later.",
        what_to_do: "sysctl -w vm.compaction_proactiveness=0",
        source: "Documentation/admin-guide/sysctl/vm.rst: compaction_proactiveness",
        removes: &["thread.kcompactd"],
        profiles: &[Profile::TickToTrade, Profile::Exchange, Profile::Measure],
        wishes: Wishes::Sysctl("vm.compaction_proactiveness", ValueBound::Is("0")),
        ..BASE
    },
    Setting {
        id: "sysctl.vm.nr_hugepages",
        tier: 3,
        wanted: "512 or more, for programs that ask for them",
        why: "Reserved huge pages need no clearing or compaction when a program maps them, and \
              spare TLB misses.",
        cost: "1 GiB that nothing else can use.",
        what_to_do: "sysctl -w vm.nr_hugepages=512",
        source: "Documentation/admin-guide/mm/hugetlbpage.rst",
        removes: &["page_fault"],
        risk: Risk::Medium,
        wishes: Wishes::Sysctl("vm.nr_hugepages", ValueBound::AtLeast(512)),
        ..BASE
    },
    Setting {
        id: "sysctl.kernel.numa_balancing",
        tier: 2,
        wanted: "0",
        why: "The kernel unmaps pages to see which threads use them: page faults in running \
              threads, and pages that move.",
        cost: "Programs that are not placed lose locality.",
        what_to_do: "sysctl -w kernel.numa_balancing=0",
        source: "Documentation/admin-guide/sysctl/kernel.rst: numa_balancing",
        removes: &["page_fault"],
        profiles: &[Profile::TickToTrade, Profile::Exchange, Profile::Measure],
        check: Some(Check {
            read: readings::numa_balancing,
            judge: rules::numa_balancing,
            absent: (Grade::Ok, "this kernel has none"),
        }),
        wishes: Wishes::Sysctl("kernel.numa_balancing", ValueBound::Is("0")),
        ..BASE
    },
    Setting {
        id: "sysctl.vm.zone_reclaim_mode",
        tier: 3,
        wanted: "0",
        why: "Otherwise a thread frees pages of its node before it takes a free one of another.",
        cost: "None on most machines.",
        what_to_do: "sysctl -w vm.zone_reclaim_mode=0",
        source: "Documentation/admin-guide/sysctl/vm.rst: zone_reclaim_mode",
        removes: &["page_fault"],
        profiles: &[Profile::TickToTrade, Profile::Exchange, Profile::Measure],
        wishes: Wishes::Sysctl("vm.zone_reclaim_mode", ValueBound::Is("0")),
        ..BASE
    },
    Setting {
        id: "ksm.run",
        tier: 2,
        wanted: "0",
        why: "The kernel looks for equal pages and shares them; a write to one faults and copies \
              it.",
        cost: "More memory where guests are alike.",
        what_to_do: "echo 2 > /sys/kernel/mm/ksm/run (separates shared pages again)",
        source: "Documentation/admin-guide/mm/ksm.rst",
        removes: &["page_fault", "thread.ksmd"],
        profiles: &[Profile::TickToTrade, Profile::Exchange, Profile::Measure],
        check: Some(Check {
            read: readings::ksm,
            judge: rules::ksm,
            absent: (Grade::Ok, "this kernel has none"),
        }),
        wishes: Wishes::File("/sys/kernel/mm/ksm/run", ValueBound::Is("2")),
        ..BASE
    },
    Setting {
        id: "sysctl.vm.swappiness",
        tier: 2,
        wanted: "1 or 0",
        why: "A page that was swapped out costs a disk read at its next touch. A process that \
              locks its memory is safe, others are not.",
        cost: "Page cache is given up first.",
        what_to_do: "sysctl -w vm.swappiness=1",
        source: "Documentation/admin-guide/sysctl/vm.rst: swappiness",
        removes: &["page_fault", "thread.kswapd"],
        profiles: &[Profile::TickToTrade, Profile::Exchange, Profile::Measure],
        wishes: Wishes::Sysctl("vm.swappiness", ValueBound::AtMost(1)),
        ..BASE
    },
    Setting {
        id: "sysctl.vm.dirty_background_ratio",
        tier: 3,
        wanted: "5 % or less",
        why: "Writing back starts earlier and in smaller portions, so that no writer is stopped \
              for a large one.",
        cost: "More, smaller writes.",
        what_to_do: "sysctl -w vm.dirty_background_ratio=5",
        source: "Documentation/admin-guide/sysctl/vm.rst: dirty_background_ratio",
        removes: &["workqueue.FUNC"],
        profiles: &[Profile::TickToTrade, Profile::Exchange],
        wishes: Wishes::Sysctl("vm.dirty_background_ratio", ValueBound::AtMost(5)),
        ..BASE
    },
    Setting {
        id: "sysctl.vm.dirty_writeback_centisecs",
        tier: 3,
        wanted: "1500 or more",
        why: "The flusher wakes this often on some core.",
        cost: "A crash loses up to that much more of what was not synced.",
        what_to_do: "sysctl -w vm.dirty_writeback_centisecs=1500",
        source: "Documentation/admin-guide/sysctl/vm.rst: dirty_writeback_centisecs",
        removes: &["workqueue.FUNC", "thread.kworker"],
        risk: Risk::Medium,
        profiles: &[Profile::TickToTrade, Profile::Measure],
        wishes: Wishes::Sysctl("vm.dirty_writeback_centisecs", ValueBound::AtLeast(1500)),
        ..BASE
    },
    Setting {
        id: "sysctl.vm.max_map_count",
        tier: 3,
        wanted: "262144 or more",
        why: "Mapped files of queues and journals count, and a Java heap with large pages takes \
              many.",
        cost: "None.",
        what_to_do: "sysctl -w vm.max_map_count=262144",
        source: "Documentation/admin-guide/sysctl/vm.rst: max_map_count",
        profiles: &[Profile::Exchange],
        wishes: Wishes::Sysctl("vm.max_map_count", ValueBound::AtLeast(262144)),
        ..BASE
    },
];

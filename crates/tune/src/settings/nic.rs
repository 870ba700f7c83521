//! Network interfaces: queues, moderation, offloads, time.

use super::wishes;
use crate::goal::Profile;
use crate::setting::{BASE, Risk, Scope, Setting, Wishes};

pub(super) static SETTINGS: [Setting; 15] = [
    Setting {
        id: "nic.coalescing",
        tier: 1,
        wanted: "adaptive off, 0 us",
        why: "The device waits this long for more packets before it interrupts; adaptive \
              moderation changes the time with the load.",
        cost: "An interrupt a packet: at high rates the cores that serve them are busier.",
        what_to_do: "ethtool -C NIC adaptive-rx off rx-usecs 0 tx-usecs 0",
        source: "ethtool(8) --coalesce; amzn-drivers, kernel/linux/ena/README.rst and \
              ENA_Linux_Best_Practices.rst",
        removes: &["irq.NAME"],
        scope: Scope::Nic,
        risk: Risk::Medium,
        profiles: &[Profile::TickToTrade],
        wishes: Wishes::Of(wishes::coalescing),
        ..BASE
    },
    Setting {
        id: "nic.gro",
        tier: 2,
        wanted: "off",
        why: "Receive offload holds packets back to join them, until the poll ends.",
        cost: "More work for bulk transfers.",
        what_to_do: "ethtool -K NIC gro off",
        source: "ethtool(8) --features",
        removes: &["softirq.net_rx"],
        scope: Scope::Nic,
        profiles: &[Profile::TickToTrade],
        wishes: Wishes::Of(wishes::gro),
        ..BASE
    },
    Setting {
        id: "nic.lro",
        tier: 2,
        wanted: "off",
        why: "As gro, in the device, and for longer.",
        cost: "More work for bulk transfers.",
        what_to_do: "ethtool -K NIC lro off",
        source: "ethtool(8) --features",
        scope: Scope::Nic,
        profiles: &[Profile::TickToTrade, Profile::Exchange],
        wishes: Wishes::Of(wishes::lro),
        ..BASE
    },
    Setting {
        id: "nic.rings",
        tier: 2,
        wanted: "2048, or the maximum",
        why: "A burst beyond the ring is dropped. A larger ring than needed spreads over more \
              cache lines. Never beyond the maximum of the driver.",
        cost: "The link restarts; memory.",
        what_to_do: "ethtool -G NIC rx 2048",
        source: "ethtool(8) --set-ring; amzn-drivers, kernel/linux/ena/README.rst and \
              ENA_Linux_Best_Practices.rst",
        scope: Scope::Nic,
        risk: Risk::Medium,
        profiles: &[Profile::Exchange],
        wishes: Wishes::Of(wishes::rings),
        ..BASE
    },
    Setting {
        id: "nic.channels",
        tier: 3,
        wanted: "as many as housekeeping cores near the interface",
        why: "One queue for each core that takes interrupts: fewer share, more wake cores that \
              nobody chose.",
        cost: "The link restarts.",
        what_to_do: "ethtool -L NIC combined N",
        source: "ethtool(8) --set-channels; Documentation/networking/scaling.rst: RSS",
        removes: &["irq.NAME"],
        scope: Scope::Nic,
        risk: Risk::Medium,
        wishes: Wishes::Of(wishes::channels),
        ..BASE
    },
    Setting {
        id: "nic.rps",
        tier: 2,
        wanted: "no measured core in it",
        why: "Steers received packets to other cores by an interrupt between cores, the measured \
              ones among them.",
        what_to_do: "Write a mask without the measured cores to \
              /sys/class/net/NIC/queues/rx-N/rps_cpus.",
        source: "Documentation/networking/scaling.rst: RPS",
        removes: &["softirq.net_rx"],
        scope: Scope::Nic,
        profiles: &Profile::ALL,
        wishes: Wishes::Of(wishes::rps),
        ..BASE
    },
    Setting {
        id: "nic.rfs",
        tier: 3,
        wanted: "0",
        why: "As rps, towards the core that reads.",
        what_to_do: "Write 0 to /sys/class/net/NIC/queues/rx-N/rps_flow_cnt.",
        source: "Documentation/networking/scaling.rst: RFS",
        scope: Scope::Nic,
        profiles: &[Profile::TickToTrade],
        wishes: Wishes::Of(wishes::rfs),
        ..BASE
    },
    Setting {
        id: "nic.xps",
        tier: 2,
        wanted: "a queue a measured core",
        why: "A measured core that has a transmit queue of its own waits for no other and shares \
              no lock.",
        what_to_do: "Write a mask to /sys/class/net/NIC/queues/tx-N/xps_cpus.",
        source: "Documentation/networking/scaling.rst: XPS",
        scope: Scope::Nic,
        profiles: &[Profile::TickToTrade, Profile::Exchange],
        wishes: Wishes::Of(wishes::xps),
        ..BASE
    },
    Setting {
        id: "nic.napi_defer",
        tier: 3,
        wanted: "2 polls and 10 us, beside busy polling only",
        why: "With busy polling, interrupts stay off between polls. Without it each packet waits \
              for the time-out. On ENA 0 strands packets in a pause of the polls, and 200 us \
              became the path.",
        cost: "Packets wait up to 10 us where nobody polls.",
        what_to_do: "Write 2 to napi_defer_hard_irqs and 10000 to gro_flush_timeout of \
              /sys/class/net/NIC.",
        source: "Documentation/networking/napi.rst: IRQ mitigation; AWS's \
              trading-latency-benchmark, networking_benchmarks/af_xdp",
        removes: &["irq.NAME", "softirq.net_rx"],
        scope: Scope::Nic,
        risk: Risk::Medium,
        conflicts: &["nic.coalescing"],
        wishes: Wishes::Of(wishes::napi_defer),
        ..BASE
    },
    Setting {
        id: "nic.flow_steering",
        tier: 3,
        wanted: "on, with rules for your flows",
        why: "Rules send a flow to a queue, and with it to a core; the rules themselves are yours.",
        what_to_do: "ethtool -K NIC ntuple on; ethtool -N NIC flow-type tcp4 … action QUEUE",
        source: "ethtool(8) --features ntuple; Documentation/networking/scaling.rst: accelerated \
              RFS",
        scope: Scope::Nic,
        wishes: Wishes::Of(wishes::ntuple),
        ..BASE
    },
    Setting {
        id: "nic.rss",
        tier: 3,
        wanted: "flows on queues whose interrupts are on housekeeping cores",
        why: "The hash decides which queue, and so which core, takes a flow; with few flows it is \
              luck.",
        what_to_do: "ethtool -X NIC equal N, and look at the queues with ethtool -S NIC.",
        source: "Documentation/networking/scaling.rst: RSS; amzn-drivers, \
              kernel/linux/ena/README.rst and ENA_Linux_Best_Practices.rst",
        scope: Scope::Nic,
        ..BASE
    },
    Setting {
        id: "nic.ena_express",
        tier: 3,
        wanted: "off, unless the tail over many flows matters more than the median",
        why: "SRD lowers p99.9 between instances and adds to the median; both ends need it. Set \
              in the EC2 API, not here.",
        what_to_do: "aws ec2 modify-network-interface-attribute --ena-srd-specification \
              EnaSrdEnabled=false; ethtool -S shows ena_srd_mode.",
        source: "Amazon EC2 User Guide: ENA Express",
        scope: Scope::Nic,
        ..BASE
    },
    Setting {
        id: "nic.ptp",
        tier: 3,
        wanted: "the PTP hardware clock of the ENA driver on",
        why: "A hardware clock bounds the error of time stamps to some 10 us, NTP to some 100 us.",
        cost: "A reboot, or the driver loaded again.",
        what_to_do: "options ena phc_enable=1 in /etc/modprobe.d; then refclock PHC /dev/ptp0 in \
              chrony.",
        source: "amzn-drivers, kernel/linux/ena/README.rst: PHC",
        scope: Scope::Nic,
        risk: Risk::Medium,
        wishes: Wishes::Of(wishes::ena_phc),
        ..BASE
    },
    Setting {
        id: "time.chrony",
        tier: 3,
        wanted: "a source on this network: 169.254.169.123 or a PHC",
        why: "Time stamps of several hosts are compared. A far source makes them wander, and a \
              step breaks intervals.",
        what_to_do: "server 169.254.169.123 prefer iburst minpoll 4 maxpoll 4, or refclock PHC \
              /dev/ptp0; `tickpath doctor` and `chronyc tracking` show the error.",
        source: "chrony.conf(5); Amazon EC2 User Guide: set the time",
        ..BASE
    },
    Setting {
        id: "nic.timestamping",
        tier: 3,
        wanted: "hardware stamps where the NIC has them",
        why: "A stamp of the hardware tells the network from the host. Programs ask for it on \
              their sockets.",
        what_to_do: "ethtool -T NIC shows what it can.",
        source: "Documentation/networking/timestamping.rst",
        scope: Scope::Nic,
        ..BASE
    },
];

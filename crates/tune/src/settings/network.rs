//! The network stack.

use record::doctor::Grade;

use super::{readings, rules, wishes};
use crate::goal::Profile;
use crate::setting::{BASE, Check, Setting, ValueBound, Wishes};

pub(super) static SETTINGS: [Setting; 18] = [
    Setting {
        id: "net.busy_poll",
        tier: 2,
        wanted: "50 us",
        why: "A thread that waits in poll or epoll polls the NIC's queue for this time, instead \
              of waiting for an interrupt and a wake-up. Loopback has no queue.",
        cost: "A thread that waits uses its core for 50 us first.",
        what_to_do: "sysctl -w net.core.busy_poll=50, where the NIC's driver knows busy polling.",
        source: "Documentation/networking/napi.rst: busy polling",
        removes: &["irq.NAME", "softirq.net_rx"],
        profiles: &[Profile::TickToTrade],
        check: Some(Check {
            read: readings::busy_poll,
            judge: rules::busy_polling,
            absent: (Grade::Unknown, "not visible in this network namespace"),
        }),
        wishes: Wishes::Sysctl("net.core.busy_poll", ValueBound::AtLeast(50)),
        ..BASE
    },
    Setting {
        id: "net.busy_read",
        tier: 2,
        wanted: "50 us",
        why: "Like net.busy_poll, for threads that wait in read or recv, and once for each read \
              that doesn't wait.",
        cost: "A thread that waits uses its core for 50 us first.",
        what_to_do: "sysctl -w net.core.busy_read=50, where the NIC's driver knows busy polling.",
        source: "Documentation/networking/napi.rst: busy polling",
        removes: &["irq.NAME", "softirq.net_rx"],
        profiles: &[Profile::TickToTrade],
        check: Some(Check {
            read: readings::busy_read,
            judge: rules::busy_polling,
            absent: (Grade::Unknown, "not visible in this network namespace"),
        }),
        wishes: Wishes::Sysctl("net.core.busy_read", ValueBound::AtLeast(50)),
        ..BASE
    },
    Setting {
        id: "sysctl.net.ipv4.tcp_congestion_control",
        tier: 2,
        wanted: "cubic or reno",
        why: "BBR sends by timers at a rate that it estimated, on loopback too: a burst of orders \
              waits for its own pacing.",
        cost: "Throughput over long, lossy paths.",
        what_to_do: "sysctl -w net.ipv4.tcp_congestion_control=cubic",
        source: "Documentation/networking/ip-sysctl.rst: tcp_congestion_control",
        removes: &["tick"],
        profiles: &[Profile::TickToTrade, Profile::Exchange, Profile::Measure],
        check: Some(Check {
            read: readings::congestion_control,
            judge: rules::congestion_control,
            absent: (Grade::Unknown, "not visible in this network namespace"),
        }),
        wishes: Wishes::Of(wishes::congestion_control),
        ..BASE
    },
    Setting {
        id: "sysctl.net.ipv4.tcp_slow_start_after_idle",
        tier: 2,
        wanted: "0",
        why: "After an idle time of one retransmission time-out the congestion window starts \
              small again, so a burst of orders waits for acks.",
        what_to_do: "sysctl -w net.ipv4.tcp_slow_start_after_idle=0",
        source: "Documentation/networking/ip-sysctl.rst",
        profiles: &[Profile::TickToTrade, Profile::Exchange],
        wishes: Wishes::Sysctl("net.ipv4.tcp_slow_start_after_idle", ValueBound::Is("0")),
        ..BASE
    },
    Setting {
        id: "sysctl.net.ipv4.tcp_autocorking",
        tier: 2,
        wanted: "0",
        why: "Small writes are held back while an earlier packet waits in the queue of the device.",
        cost: "More, smaller packets.",
        what_to_do: "sysctl -w net.ipv4.tcp_autocorking=0",
        source: "Documentation/networking/ip-sysctl.rst",
        profiles: &[Profile::TickToTrade],
        wishes: Wishes::Sysctl("net.ipv4.tcp_autocorking", ValueBound::Is("0")),
        ..BASE
    },
    Setting {
        id: "sysctl.net.ipv4.tcp_no_metrics_save",
        tier: 3,
        wanted: "1",
        why: "A new connection inherits the slow start threshold of an old one that lost packets.",
        what_to_do: "sysctl -w net.ipv4.tcp_no_metrics_save=1",
        source: "Documentation/networking/ip-sysctl.rst",
        profiles: &[Profile::TickToTrade, Profile::Exchange],
        wishes: Wishes::Sysctl("net.ipv4.tcp_no_metrics_save", ValueBound::Is("1")),
        ..BASE
    },
    Setting {
        id: "sysctl.net.ipv4.tcp_thin_linear_timeouts",
        tier: 3,
        wanted: "1",
        why: "With few packets in flight a loss is noticed by time-out only; linear ones do not \
              double.",
        cost: "More retransmissions on a path that is down.",
        what_to_do: "sysctl -w net.ipv4.tcp_thin_linear_timeouts=1",
        source: "Documentation/networking/ip-sysctl.rst",
        profiles: &[Profile::TickToTrade],
        wishes: Wishes::Sysctl("net.ipv4.tcp_thin_linear_timeouts", ValueBound::Is("1")),
        ..BASE
    },
    Setting {
        id: "sysctl.net.ipv4.tcp_fastopen",
        tier: 3,
        wanted: "1 or more",
        why: "A reconnect may send its first order with the handshake, if both ends want it.",
        what_to_do: "sysctl -w net.ipv4.tcp_fastopen=1",
        source: "Documentation/networking/ip-sysctl.rst",
        wishes: Wishes::Sysctl("net.ipv4.tcp_fastopen", ValueBound::AtLeast(1)),
        ..BASE
    },
    Setting {
        id: "sysctl.net.ipv4.tcp_rmem",
        tier: 3,
        wanted: "4096 131072 16777216",
        why: "The window can grow with bursts to many subscribers. Without effect on one message \
              in flight.",
        cost: "Up to 16 MiB a connection.",
        what_to_do: "sysctl -w net.ipv4.tcp_rmem=\"4096 131072 16777216\"",
        source: "Documentation/networking/ip-sysctl.rst",
        profiles: &[Profile::Exchange],
        wishes: Wishes::Sysctl("net.ipv4.tcp_rmem", ValueBound::Is("4096 131072 16777216")),
        ..BASE
    },
    Setting {
        id: "sysctl.net.ipv4.tcp_wmem",
        tier: 3,
        wanted: "4096 16384 16777216",
        why: "As tcp_rmem, for the sending side.",
        cost: "Up to 16 MiB a connection.",
        what_to_do: "sysctl -w net.ipv4.tcp_wmem=\"4096 16384 16777216\"",
        source: "Documentation/networking/ip-sysctl.rst",
        profiles: &[Profile::Exchange],
        wishes: Wishes::Sysctl("net.ipv4.tcp_wmem", ValueBound::Is("4096 16384 16777216")),
        ..BASE
    },
    Setting {
        id: "sysctl.net.core.rmem_max",
        tier: 2,
        wanted: "16 MiB or more",
        why: "A feed handler that asks for a large SO_RCVBUF gets it: the default holds some \
              hundred datagrams of a burst.",
        cost: "Memory, while a receiver lags.",
        what_to_do: "sysctl -w net.core.rmem_max=16777216",
        source: "Documentation/admin-guide/sysctl/net.rst",
        profiles: &[Profile::TickToTrade, Profile::Exchange],
        wishes: Wishes::Sysctl("net.core.rmem_max", ValueBound::AtLeast(16777216)),
        ..BASE
    },
    Setting {
        id: "sysctl.net.core.wmem_max",
        tier: 3,
        wanted: "16 MiB or more",
        why: "As rmem_max, for the sending side.",
        cost: "Memory, while a sender lags.",
        what_to_do: "sysctl -w net.core.wmem_max=16777216",
        source: "Documentation/admin-guide/sysctl/net.rst",
        profiles: &[Profile::TickToTrade, Profile::Exchange],
        wishes: Wishes::Sysctl("net.core.wmem_max", ValueBound::AtLeast(16777216)),
        ..BASE
    },
    Setting {
        id: "sysctl.net.core.netdev_max_backlog",
        tier: 3,
        wanted: "10000 or more",
        why: "Packets that wait for a core (RPS, loopback, veth) beyond this are dropped.",
        what_to_do: "sysctl -w net.core.netdev_max_backlog=10000",
        source: "Documentation/admin-guide/sysctl/net.rst",
        profiles: &[Profile::Exchange],
        wishes: Wishes::Sysctl("net.core.netdev_max_backlog", ValueBound::AtLeast(10000)),
        ..BASE
    },
    Setting {
        id: "sysctl.net.core.netdev_budget",
        tier: 3,
        wanted: "600 or more",
        why: "One softirq takes at most this many packets before it yields.",
        cost: "Longer softirqs.",
        what_to_do: "sysctl -w net.core.netdev_budget=600",
        source: "Documentation/admin-guide/sysctl/net.rst",
        profiles: &[Profile::Exchange],
        wishes: Wishes::Sysctl("net.core.netdev_budget", ValueBound::AtLeast(600)),
        ..BASE
    },
    Setting {
        id: "sysctl.net.core.somaxconn",
        tier: 3,
        wanted: "4096 or more",
        why: "Connections that come at once after a restart wait here; those beyond it time out.",
        what_to_do: "sysctl -w net.core.somaxconn=4096",
        source: "Documentation/admin-guide/sysctl/net.rst",
        profiles: &[Profile::Exchange],
        wishes: Wishes::Sysctl("net.core.somaxconn", ValueBound::AtLeast(4096)),
        ..BASE
    },
    Setting {
        id: "sysctl.net.core.default_qdisc",
        tier: 3,
        wanted: "pfifo_fast",
        why: "fq and fq_codel cost some 100 ns a packet; fq paces. For devices that come up \
              later; with several queues each has one.",
        cost: "No fairness between flows.",
        what_to_do: "sysctl -w net.core.default_qdisc=pfifo_fast",
        source: "Documentation/admin-guide/sysctl/net.rst",
        wishes: Wishes::Sysctl("net.core.default_qdisc", ValueBound::Is("pfifo_fast")),
        ..BASE
    },
    Setting {
        id: "sysctl.net.core.rps_sock_flow_entries",
        tier: 3,
        wanted: "0",
        why: "Receive flow steering looks up a table for each packet; where threads and \
              interrupts are placed by hand it only costs.",
        what_to_do: "sysctl -w net.core.rps_sock_flow_entries=0",
        source: "Documentation/networking/scaling.rst: RFS",
        profiles: &[Profile::TickToTrade],
        wishes: Wishes::Sysctl("net.core.rps_sock_flow_entries", ValueBound::Is("0")),
        ..BASE
    },
    Setting {
        id: "sysctl.net.core.netdev_tstamp_prequeue",
        tier: 3,
        wanted: "1",
        why: "Receive time stamps are taken when the packet arrives and not after it was steered \
              to another core.",
        what_to_do: "sysctl -w net.core.netdev_tstamp_prequeue=1",
        source: "Documentation/admin-guide/sysctl/net.rst",
        profiles: &[Profile::TickToTrade, Profile::Exchange, Profile::Measure],
        wishes: Wishes::Sysctl("net.core.netdev_tstamp_prequeue", ValueBound::Is("1")),
        ..BASE
    },
];

//! Decides whether this machine is fit to measure on, from the settings of the catalogue that
//! matter for it, and from facts that can't be set.
//!
//! A machine is fit if no finding is bad. Bad means that usual figures, p99 included, would
//! mislead; warn means that the tail is wider than necessary, or that something is hidden; unknown
//! is reported and never counts as ok.

use host::Root;
use record::doctor::{Finding, Findings, Grade, SCHEMA};

use crate::checks::{below, load, machine, permission, time};
use crate::inspection::Inspection;
use crate::setting::{JudgedSetting, Judgement, Value};
use crate::settings;

/// A check that is not a setting.
struct Check {
    id: &'static str,
    why: &'static str,
    what_to_do: &'static str,
    judge: fn(&Inspection) -> Judgement,
}

/// All of them, the most important first.
static CHECKS: [Check; 23] = [
    Check {
        id: "cores.count",
        why: "The exchange and the client spin on a core each; the kernel, the shell and all daemons \
              need a third, or they take theirs from these.",
        what_to_do: "Use a machine with at least three cores, or widen the cpuset.",
        judge: machine::cores_count,
    },
    Check {
        id: "cores.placement",
        why: "Siblings slow each other down; what crosses a cache or a socket's link takes longer each time.",
        what_to_do: "Name cores of different physical cores behind one cache: --cores LIST here, exchange.cores \
                     and subject.NAME.cores in a scenario.",
        judge: machine::placement,
    },
    Check {
        id: "cgroup.cpu_max",
        why: "Threads that spin use whole cores. When the group has used up its quota, all of them stand \
              still for the rest of the period, tens of ms.",
        what_to_do: "Lift the limit: docker --cpus, systemd CPUQuota=, Kubernetes limits.cpu; pin by cpuset \
                     instead.",
        judge: machine::cgroup_quota,
    },
    Check {
        id: "load.on_cores",
        why: "Other work on the measured cores delays about that share of the messages.",
        what_to_do: "End what runs there, or keep it to other cores: taskset, AllowedCPUs=, isolcpus.",
        judge: load::on_cores,
    },
    Check {
        id: "load.on_siblings",
        why: "Work on the second hardware thread of a measured core takes a third or more of its speed.",
        what_to_do: "As load.on_cores, or switch SMT off.",
        judge: load::on_siblings,
    },
    Check {
        id: "load.average",
        why: "Work of the last minute may go on in the next one.",
        what_to_do: "Wait until what ran is over, or end it.",
        judge: load::load_average,
    },
    Check {
        id: "host.steal",
        why: "In this share of its time the core stood still for another guest or for the host, without \
              any trace in this kernel.",
        what_to_do: "Use a bare-metal or a full-size instance, or a less loaded host. Not every \
                     hypervisor reports it.",
        judge: load::steal,
    },
    Check {
        id: "clock.cost",
        why: "Each stamp is part of what is measured; what is shorter than a stamp can't be seen.",
        what_to_do: "See clock.source; where the counter itself is slow, the hypervisor traps it: use \
                     another instance type.",
        judge: load::clock_cost,
    },
    Check {
        id: "time.source",
        why: "Stamps of several hosts are compared by their wall clocks: a card's PTP clock bounds their error \
              to some 10 us, NTP to some 100 us. Two programs, or a mixture of sources, are as good as the \
              worst of them; NTP may also smear leap seconds, which a PTP clock does not.",
        what_to_do: "Switch a PTP clock of ENA on (nic.ptp; on EC2 in a placement group with the strategy \
                     precision-time). Then in chrony.conf `refclock PHC /dev/ptp0 poll 0 delay 0.000010 prefer`, \
                     `noselect` behind other servers, and restart chronyd. End all other programs that set \
                     the clock: systemctl disable --now systemd-timesyncd.",
        judge: time::source,
    },
    Check {
        id: "probe.cache_line",
        why: "The shortest way between the two measured cores, there and back. Far above 200 ns means \
              two sockets, or a core that the hypervisor takes away.",
        what_to_do: "Choose cores behind one level 3 cache; where they are, look at host.steal and repeat.",
        judge: load::cache_line,
    },
    Check {
        id: "probe.blocking",
        why: "120 bytes over loopback TCP and back between threads that block: wake-ups and idle states. A \
              thread that spins does not pay it.",
        what_to_do: "See cpu.idle_states; on virtual machines measure with backend = \"spin\".",
        judge: load::blocking,
    },
    Check {
        id: "irq.came",
        why: "Each takes the core for some us. Function calls and TLB shootdowns come \
              from work on other cores.",
        what_to_do: "Devices: see irq.affinity. Function calls and TLB shootdowns: end what runs elsewhere in \
                     the same process or on the same memory.",
        judge: load::interrupts,
    },
    Check {
        id: "host.virtual",
        why: "The hypervisor takes the core for its own work; gaps of it have no cause in this kernel. Bare metal \
              has 15 to 29 % less at p99.9 than a full-size instance of the same family.",
        what_to_do: "Nothing, or bare metal. `tickpath noise` tells how much of the lost time is the host's.",
        judge: machine::hypervisor,
    },
    Check {
        id: "host.container",
        why: "Without a NIC of its own each packet crosses a bridge and another namespace.",
        what_to_do: "Give it the host's network (docker --network host) or a NIC.",
        judge: machine::container,
    },
    Check {
        id: "kernel.release",
        why: "Network stack and scheduler change from release to release, by more than most tuning: compare \
              figures of one release only.",
        what_to_do: "Use a kernel that is still mended.",
        judge: machine::kernel,
    },
    Check {
        id: "nic.driver",
        why: "A NIC that the host's software plays adds a wake-up of the host to each packet. Loopback does \
              not touch it.",
        what_to_do: "For what leaves the machine use an instance with a hardware NIC (ENA, SR-IOV).",
        judge: machine::nic_driver,
    },
    Check {
        id: "nic.node",
        why: "Across sockets each packet crosses their link: published measurements have the tail 2.5 times \
              as long.",
        what_to_do: "Measure on cores of the NIC's node: /sys/class/net/NAME/device/numa_node.",
        judge: machine::nic_node,
    },
    Check {
        id: "nic.deferral",
        why: "While a driver defers interrupts, a packet waits until somebody polls or the time-out is over: a \
              long one becomes the path (with 200 us, ENA's users saw 234 us one way instead of 60), and with \
              none the packets of a pause strand.",
        what_to_do: "Where a thread polls the queue (busy polling, AF_XDP), write 10000 to gro_flush_timeout of \
                     /sys/class/net/NAME. Elsewhere write 0 to napi_defer_hard_irqs.",
        judge: machine::nic_deferral,
    },
    Check {
        id: "nic.llq",
        why: "With low-latency queues the driver of ENA writes the beginning of a packet into the device, \
              which otherwise fetches it from memory: some us a packet.",
        what_to_do: "LLQ is on where the device has it. `dmesg | grep -i llq` says why not; \
                     `ethtool -g NAME` has it as TX push.",
        judge: below::llq,
    },
    Check {
        id: "nic.driver_version",
        why: "AF_XDP on ENA without copies needs AWS's own driver, from 2.7.0 on; the kernel's copies. \
              Versions before 2.9.0 lack mended XDP and don't say whether they use LLQ.",
        what_to_do: "Install a newer driver (github.com/amzn/amzn-drivers), or use the kernel's.",
        judge: below::driver_version,
    },
    Check {
        id: "nic.zero_copy",
        why: "A socket of AF_XDP without copies may reset its queue, and some drivers stay mute: a session of \
              ssh on that queue is cut off.",
        what_to_do: "Use a second interface, or a queue of its own (exchange.queue, subject.NAME.queue, --queue) \
                     to which only our flows are steered (ethtool -X, ethtool -N), and keep another way to \
                     the machine.",
        judge: below::zero_copy,
    },
    Check {
        id: "permission.net_admin",
        why: "backend = \"af_xdp\" needs it, also for preferred busy polling and a budget of 64 packets, which \
              its sockets ask for on a card.",
        what_to_do: "Run as root, or setcap cap_net_admin,cap_net_raw,cap_bpf+ep on the binary.",
        judge: permission::net_admin,
    },
    Check {
        id: "permission.real_time",
        why: "Without it scheduling = \"fifo\" is rejected, and on shared cores any thread may interrupt.",
        what_to_do: "Run as root, setcap cap_sys_nice+ep on the binary, or `ulimit -r 99`; in a container \
                     --cap-add SYS_NICE.",
        judge: permission::real_time,
    },
];

/// Runs all checks. `tool` is the program's name and version.
pub fn examine(root: &Root, seen: &Inspection, tool: &str) -> Findings {
    let settings = settings::all().filter_map(|setting| setting.judge(root, seen).map(of_setting));
    let findings: Vec<Finding> =
        CHECKS.iter().map(|check| of_check(check, seen)).chain(settings).collect();
    Findings {
        schema: SCHEMA,
        tool: tool.to_owned(),
        fit: findings.iter().all(|finding| finding.grade != Grade::Bad),
        machine: seen.machine.fixed.identity(),
        cores: seen.cores.clone(),
        watched_seconds: seen.watched.as_ref().map_or(0.0, |watched| watched.seconds),
        findings,
    }
}

fn of_check(check: &Check, seen: &Inspection) -> Finding {
    let (grade, found) = (check.judge)(seen);
    Finding {
        id: check.id.to_owned(),
        grade,
        found,
        why: check.why.to_owned(),
        what_to_do: check.what_to_do.to_owned(),
        ..Finding::default()
    }
}

fn of_setting(inspected: JudgedSetting) -> Finding {
    let setting = inspected.setting;
    Finding {
        id: setting.id.to_owned(),
        grade: inspected.grade,
        found: inspected.found,
        why: setting.why.to_owned(),
        what_to_do: setting.what_to_do.to_owned(),
        value: match inspected.value {
            Value::Is(text) => Some(text),
            Value::Absent | Value::Unreadable => None,
        },
        wanted: Some(setting.wanted.to_owned()),
        removes: setting.removes.iter().map(|&cause| cause.to_owned()).collect(),
    }
}

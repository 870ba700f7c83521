//! Facts of several kinds of machine, each given as a small tree of text files.

use clock::Clock;
use expect_test::{Expect, expect};
use host::{Root, Topology, capture, placement};
use record::machine::Fingerprint;

/// Fixed fields and load, a line each, and a last line with the absent ones.
fn check(root: &Root, expected: Expect) {
    let Fingerprint { mut fixed, load, probes, .. } = capture(root, &Clock::calibrate(), None);
    assert_eq!(probes.cache_line_round_trip_ns_p50, None);
    assert_eq!(probes.missing_because.len(), 1, "no cores to probe is said");
    // The architecture comes from the build, not from the tree.
    assert_eq!(fixed.architecture.take().as_deref(), Some(std::env::consts::ARCH));
    let mut lines = Vec::new();
    let mut absent = Vec::new();
    for part in [serde_json::to_value(fixed).unwrap(), serde_json::to_value(load).unwrap()] {
        for (name, value) in part.as_object().unwrap() {
            match value.to_string().as_str() {
                "null" | "{}" => absent.push(name.clone()),
                value => lines.push(format!("{name} {value}\n")),
            }
        }
    }
    absent.retain(|name| name != "architecture");
    expected.assert_eq(&format!("{}absent {}\n", lines.concat(), absent.join(" ")));
}

fn check_choice(root: &Root, allowed: &[usize], wanted: usize, expected: Expect) {
    let placement = placement::choose(&Topology::read(root), allowed, wanted);
    expected.assert_eq(&format!("{:?} {}", placement.cores, placement.warnings.join(" ")));
}

const SMALL_VM: &str = r"
    .dockerenv:
    proc/cpuinfo: processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel\t\t: 17\nmodel name\t: AMD EPYC\nmicrocode\t: 0x1000065\nflags\t\t: fpu tsc hypervisor rdtscp\n\nprocessor\t: 1
    proc/cmdline: console=ttyS0 quiet
    proc/loadavg: 0.19 0.15 0.09 1/85 4771
    proc/uptime: 561.96 1039.78
    proc/stat: cpu  4764 0 2168 103978 1064 0 38 29 0 0\ncpu0 1801 0 858 53305 51 0 7 9 0 0\ncpu1 2963 0 1309 50672 1013 0 31 19 0 0\nintr 134806 0\nctxt 254994
    proc/meminfo: MemTotal:       24684084 kB\nMemFree:        24206652 kB
    proc/self/cgroup: 8:pids:/\n2:cpuacct:/\n1:cpu:/\n0::/
    proc/1/cgroup: 0::/
    proc/sys/kernel/osrelease: 6.18.44
    proc/sys/kernel/version: #1 SMP PREEMPT_DYNAMIC
    proc/sys/kernel/sched_rt_runtime_us: 950000
    proc/sys/kernel/sched_rt_period_us: 1000000
    proc/sys/kernel/sched_autogroup_enabled: 1
    proc/sys/net/ipv4/tcp_congestion_control: bbr
    sys/fs/cgroup/cpu/cpu.cfs_quota_us: -1
    sys/fs/cgroup/cpu/cpu.cfs_period_us: 100000
    sys/devices/system/cpu/online: 0-1
    sys/devices/system/cpu/isolated:
    sys/devices/system/cpu/smt/control: notsupported
    sys/devices/system/cpu/cpuidle/current_driver: haltpoll
    sys/devices/system/cpu/cpuidle/current_governor: haltpoll
    sys/devices/system/cpu/cpu{0-1}/cpuidle/state0/name: POLL
    sys/devices/system/cpu/cpu{0-1}/cpuidle/state0/disable: 0
    sys/devices/system/cpu/cpu{0-1}/cpuidle/state0/latency: 0
    sys/devices/system/cpu/cpu{0-1}/cpuidle/state1/name: haltpoll idle
    sys/devices/system/cpu/cpu{0-1}/cpuidle/state1/disable: 0
    sys/devices/system/cpu/cpu{0-1}/cpuidle/state1/latency: 1
    sys/devices/system/cpu/cpu0/topology/thread_siblings_list: 0
    sys/devices/system/cpu/cpu1/topology/thread_siblings_list: 1
    sys/devices/system/cpu/cpu{0-1}/cache/index3/shared_cpu_list: 0-1
    sys/devices/system/cpu/vulnerabilities/meltdown: Not affected
    sys/devices/system/cpu/vulnerabilities/spectre_v2: Mitigation: Retpolines; STIBP: disabled
    sys/devices/system/node/node0/cpulist: 0-1
    sys/devices/system/clocksource/clocksource0/available_clocksource: tsc kvm-clock
    sys/devices/system/clocksource/clocksource0/current_clocksource: tsc
    sys/kernel/mm/transparent_hugepage/enabled: always [madvise] never
    sys/class/net/lo/mtu: 65536
    sys/class/net/eth0/mtu: 1400
    sys/class/net/eth0/speed: -1
    sys/class/net/eth0/device/driver -> ../../../../bus/virtio/drivers/virtio_net
    sys/class/net/ifb0/mtu: 1500
";

#[test]
fn a_small_virtual_machine() {
    let (_directory, root) = crate::tree::machine(SMALL_VM);
    check(
        &root,
        expect![[r##"
            autogroup true
            cgroup_cpu_max "max 100000"
            clock_source "tsc"
            clock_sources_available ["tsc","kvm-clock"]
            container "docker"
            cores_isolated []
            cores_online [0,1]
            cpu_model "AMD EPYC"
            cpu_vendor "AuthenticAMD"
            governors {"0":null,"1":null}
            hypervisor "kvm"
            idle_driver "haltpoll"
            idle_governor "haltpoll"
            idle_states {"0":[{"exit_latency_us":0,"is_disabled":false,"name":"POLL"},{"exit_latency_us":1,"is_disabled":false,"name":"haltpoll idle"}],"1":[{"exit_latency_us":0,"is_disabled":false,"name":"POLL"},{"exit_latency_us":1,"is_disabled":false,"name":"haltpoll idle"}]}
            is_virtual true
            kernel_command_line "console=ttyS0 quiet"
            kernel_release "6.18.44"
            kernel_version "#1 SMP PREEMPT_DYNAMIC"
            memory_total_kib 24684084
            microcode "0x1000065"
            mitigations {"meltdown":"Not affected","spectre_v2":"Mitigation: Retpolines; STIBP: disabled"}
            nics [{"driver":"virtio_net","driver_version":null,"mtu_bytes":1400,"name":"eth0","speed_mbit":null},{"driver":null,"driver_version":null,"mtu_bytes":65536,"name":"lo","speed_mbit":null}]
            numa_nodes {"0":[0,1]}
            rt_period_us 1000000
            rt_runtime_us 950000
            siblings {"0":[0],"1":[1]}
            smt "notsupported"
            tcp_congestion_control "bbr"
            transparent_huge_pages "madvise"
            interfaces_virtual [{"driver":null,"driver_version":null,"mtu_bytes":1500,"name":"ifb0","speed_mbit":null}]
            load_average [0.19,0.15,0.09]
            threads_runnable 1
            ticks {"0":{"idle":53356,"steal":9,"total":56031},"1":{"idle":51685,"steal":19,"total":56007}}
            uptime_seconds 561.96
            absent cores_nohz_full dmi_product dmi_vendor fair_server_runtime_ns frequency_driver turbo
        "##]],
    );
    check_choice(&root, &[0, 1], 2, expect!["[0, 1] "]);
    check_choice(
        &root,
        &[0, 1],
        3,
        expect![
            "[0, 1, 0] 3 threads share 2 cores (0-1). Use fewer threads, blocking backends, or a machine with at least 3 cores: a thread that spins keeps the others waiting for up to a time slice, which adds milliseconds to latencies."
        ],
    );
}

/// Two sockets of four cores with SMT; 8-11 and 12-15 are the second threads.
const BARE_METAL: &str = r"
    proc/cpuinfo: processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz\nmicrocode\t: 0xd0003a5\nflags\t\t: fpu tsc constant_tsc
    proc/cmdline: BOOT_IMAGE=/vmlinuz isolcpus=2-15 nohz_full=2-15 rcu_nocbs=2-15
    proc/self/cgroup: 0::/user.slice/user-1000.slice/session-1.scope
    proc/1/cgroup: 0::/init.scope
    proc/sys/kernel/osrelease: 6.12.9-aws
    proc/sys/kernel/sched_rt_runtime_us: -1
    proc/sys/kernel/sched_rt_period_us: 1000000
    sys/fs/cgroup/user.slice/cpu.max: max 100000
    sys/fs/cgroup/user.slice/user-1000.slice/cpu.max: 800000 100000
    sys/fs/cgroup/user.slice/user-1000.slice/session-1.scope/cpu.max: 1000000 100000
    sys/devices/system/cpu/online: 0-15
    sys/devices/system/cpu/isolated: 2-15
    sys/devices/system/cpu/nohz_full: 2-15
    sys/devices/system/cpu/smt/control: on
    sys/devices/system/cpu/intel_pstate/no_turbo: 1
    sys/devices/system/cpu/cpuidle/current_driver: intel_idle
    sys/devices/system/cpu/cpuidle/current_governor_ro: menu
    sys/devices/system/cpu/cpu{0-15}/cpufreq/scaling_driver: intel_pstate
    sys/devices/system/cpu/cpu{0-1}/cpufreq/scaling_governor: powersave
    sys/devices/system/cpu/cpu{2-15}/cpufreq/scaling_governor: performance
    sys/devices/system/cpu/cpu2/cpuidle/state0/name: POLL
    sys/devices/system/cpu/cpu2/cpuidle/state10/name: C6
    sys/devices/system/cpu/cpu2/cpuidle/state10/disable: 1
    sys/devices/system/cpu/cpu2/cpuidle/state10/latency: 170
    sys/devices/system/cpu/cpu2/cpuidle/state2/name: C1E
    sys/devices/system/cpu/cpu{0,8}/topology/thread_siblings_list: 0,8
    sys/devices/system/cpu/cpu{1,9}/topology/thread_siblings_list: 1,9
    sys/devices/system/cpu/cpu{2,10}/topology/thread_siblings_list: 2,10
    sys/devices/system/cpu/cpu{3,11}/topology/thread_siblings_list: 3,11
    sys/devices/system/cpu/cpu{4,12}/topology/thread_siblings_list: 4,12
    sys/devices/system/cpu/cpu{5,13}/topology/thread_siblings_list: 5,13
    sys/devices/system/cpu/cpu{6,14}/topology/thread_siblings_list: 6,14
    sys/devices/system/cpu/cpu{7,15}/topology/thread_siblings_list: 7,15
    sys/devices/system/cpu/cpu{0-3,8-11}/cache/index3/shared_cpu_list: 0-3,8-11
    sys/devices/system/cpu/cpu{4-7,12-15}/cache/index3/shared_cpu_list: 4-7,12-15
    sys/devices/system/node/node0/cpulist: 0-3,8-11
    sys/devices/system/node/node1/cpulist: 4-7,12-15
    sys/devices/system/node/online: 0-1
    sys/devices/system/clocksource/clocksource0/available_clocksource: tsc hpet acpi_pm
    sys/devices/system/clocksource/clocksource0/current_clocksource: tsc
    sys/kernel/mm/transparent_hugepage/enabled: always madvise [never]
    sys/kernel/debug/sched/fair_server/cpu{0-15}/runtime: 50000000
    sys/class/dmi/id/sys_vendor: Amazon EC2
    sys/class/dmi/id/product_name: c6i.metal
    sys/class/net/lo/mtu: 65536
    sys/class/net/bonding_masters: bond0
    sys/class/net/ens5/mtu: 9001
    sys/class/net/ens5/speed: 25000
    sys/class/net/ens5/device/driver -> ../../../../bus/pci/drivers/ena
    sys/bus/pci/drivers/ena/module/version: 2.13.0g
";

#[test]
fn bare_metal_with_two_sockets() {
    let (_directory, root) = crate::tree::machine(BARE_METAL);
    check(
        &root,
        expect![[r#"
            cgroup_cpu_max "800000 100000"
            clock_source "tsc"
            clock_sources_available ["tsc","hpet","acpi_pm"]
            cores_isolated [2,3,4,5,6,7,8,9,10,11,12,13,14,15]
            cores_nohz_full [2,3,4,5,6,7,8,9,10,11,12,13,14,15]
            cores_online [0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]
            cpu_model "Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz"
            cpu_vendor "GenuineIntel"
            dmi_product "c6i.metal"
            dmi_vendor "Amazon EC2"
            fair_server_runtime_ns 50000000
            frequency_driver "intel_pstate"
            governors {"0":"powersave","1":"powersave","10":"performance","11":"performance","12":"performance","13":"performance","14":"performance","15":"performance","2":"performance","3":"performance","4":"performance","5":"performance","6":"performance","7":"performance","8":"performance","9":"performance"}
            idle_driver "intel_idle"
            idle_governor "menu"
            idle_states {"2":[{"exit_latency_us":null,"is_disabled":null,"name":"POLL"},{"exit_latency_us":null,"is_disabled":null,"name":"C1E"},{"exit_latency_us":170,"is_disabled":true,"name":"C6"}]}
            is_virtual false
            kernel_command_line "BOOT_IMAGE=/vmlinuz isolcpus=2-15 nohz_full=2-15 rcu_nocbs=2-15"
            kernel_release "6.12.9-aws"
            microcode "0xd0003a5"
            nics [{"driver":"ena","driver_version":"2.13.0g","mtu_bytes":9001,"name":"ens5","speed_mbit":25000},{"driver":null,"driver_version":null,"mtu_bytes":65536,"name":"lo","speed_mbit":null}]
            numa_nodes {"0":[0,1,2,3,8,9,10,11],"1":[4,5,6,7,12,13,14,15]}
            rt_period_us 1000000
            rt_runtime_us -1
            siblings {"0":[0,8],"1":[1,9],"10":[2,10],"11":[3,11],"12":[4,12],"13":[5,13],"14":[6,14],"15":[7,15],"2":[2,10],"3":[3,11],"4":[4,12],"5":[5,13],"6":[6,14],"7":[7,15],"8":[0,8],"9":[1,9]}
            smt "on"
            transparent_huge_pages "never"
            turbo false
            interfaces_virtual []
            absent autogroup container hypervisor kernel_version memory_total_kib mitigations tcp_congestion_control load_average threads_runnable ticks uptime_seconds
        "#]],
    );
    let all: Vec<usize> = (0..16).collect();
    check_choice(&root, &all, 2, expect!["[2, 3] "]);
    check_choice(&root, &all, 4, expect!["[4, 5, 6, 7] "]);
    check_choice(
        &root,
        &all,
        6,
        expect![
            "[4, 5, 6, 7, 12, 13] cores 4,12 are hardware threads of one physical core. Choose cores of different physical cores, or switch SMT off: each slows the other while both run. cores 5,13 are hardware threads of one physical core. Choose cores of different physical cores, or switch SMT off: each slows the other while both run."
        ],
    );
    check_choice(
        &root,
        &[0, 1, 8, 9],
        2,
        expect![
            "[8, 9] cores 8-9 are isolated, but the hardware threads 0-1 of the same physical cores are not. Isolate these too (isolcpus=), or take them offline: what runs there slows the others."
        ],
    );
}

const GRAVITON: &str = r"
    proc/cpuinfo: processor\t: 0\nBogoMIPS\t: 2100.00\nFeatures\t: fp asimd atomics\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x1\nCPU part\t: 0xd40\nCPU revision\t: 1
    proc/sys/kernel/osrelease: 6.8.0-1021-aws
    sys/devices/system/cpu/online: 0-3
    sys/devices/system/cpu/isolated:
    sys/devices/system/cpu/smt/control: notimplemented
    sys/devices/system/cpu/cpu0/topology/thread_siblings_list: 0
    sys/devices/system/cpu/cpu1/topology/thread_siblings_list: 1
    sys/devices/system/cpu/cpu2/topology/thread_siblings_list: 2
    sys/devices/system/cpu/cpu3/topology/thread_siblings_list: 3
    sys/devices/system/cpu/cpu{0-3}/cache/index3/shared_cpu_list: 0-3
    sys/devices/system/clocksource/clocksource0/available_clocksource: arch_sys_counter
    sys/devices/system/clocksource/clocksource0/current_clocksource: arch_sys_counter
    sys/class/dmi/id/sys_vendor: Amazon EC2
    sys/class/dmi/id/product_name: c7g.xlarge
    sys/class/net/ens5/mtu: 9001
    sys/class/net/ens5/device/driver -> ../../../../bus/pci/drivers/ena
    sys/devices/system/node/node0/cpulist: 0-3
";

#[test]
fn an_arm_instance() {
    let (_directory, root) = crate::tree::machine(GRAVITON);
    check(
        &root,
        expect![[r#"
            clock_source "arch_sys_counter"
            clock_sources_available ["arch_sys_counter"]
            cores_isolated []
            cores_online [0,1,2,3]
            cpu_model "part 0xd40 variant 0x1 revision 1"
            cpu_vendor "implementer 0x41"
            dmi_product "c7g.xlarge"
            dmi_vendor "Amazon EC2"
            governors {"0":null,"1":null,"2":null,"3":null}
            is_virtual true
            kernel_release "6.8.0-1021-aws"
            nics [{"driver":"ena","driver_version":null,"mtu_bytes":9001,"name":"ens5","speed_mbit":null}]
            numa_nodes {"0":[0,1,2,3]}
            siblings {"0":[0],"1":[1],"2":[2],"3":[3]}
            smt "notimplemented"
            interfaces_virtual []
            absent autogroup cgroup_cpu_max container cores_nohz_full fair_server_runtime_ns frequency_driver hypervisor idle_driver idle_governor idle_states kernel_command_line kernel_version memory_total_kib microcode mitigations rt_period_us rt_runtime_us tcp_congestion_control transparent_huge_pages turbo load_average threads_runnable ticks uptime_seconds
        "#]],
    );
    check_choice(&root, &[0, 1, 2, 3], 2, expect!["[1, 2] "]);
}

const BARE_CONTAINER: &str = r"
    proc/1/cgroup: 12:cpu,cpuacct:/kubepods/burstable/pod1\n0::/
    proc/self/cgroup: 12:cpu,cpuacct:/kubepods/burstable/pod1\n0::/../..
    sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us: 150000
    sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us: 100000
    sys/class/net/eth0/mtu: 1450
";

#[test]
fn a_container_with_almost_nothing() {
    let (_directory, root) = crate::tree::machine(BARE_CONTAINER);
    check(
        &root,
        expect![[r#"
            cgroup_cpu_max "150000 100000"
            container "kubepods"
            nics []
            interfaces_virtual [{"driver":null,"driver_version":null,"mtu_bytes":1450,"name":"eth0","speed_mbit":null}]
            absent autogroup clock_source clock_sources_available cores_isolated cores_nohz_full cores_online cpu_model cpu_vendor dmi_product dmi_vendor fair_server_runtime_ns frequency_driver governors hypervisor idle_driver idle_governor idle_states is_virtual kernel_command_line kernel_release kernel_version memory_total_kib microcode mitigations numa_nodes rt_period_us rt_runtime_us siblings smt tcp_congestion_control transparent_huge_pages turbo load_average threads_runnable ticks uptime_seconds
        "#]],
    );
    check_choice(&root, &[4, 5], 2, expect!["[4, 5] "]);
}

/// Every file is malformed, so every fact must be absent.
const NONSENSE: &str = r"
    proc/cpuinfo: :\n\n:::\nflags
    proc/loadavg: nan inf 1e999 x/y
    proc/uptime: -
    proc/stat: cpu0 1 2 3\ncpu1 a b c d e f g h\ncpuX 1 2 3 4 5 6 7 8\ncpu 1\ncpu
    proc/meminfo: MemTotal:
    proc/self/cgroup: \n:\n1:cpu\n2:cpu:\n0::/a
    sys/fs/cgroup/a/cpu.max: max
    sys/fs/cgroup/cpu/cpu.cfs_quota_us: 99999999999999999999999
    sys/fs/cgroup/cpu/cpu.cfs_period_us: 100000
    proc/sys/kernel/sched_rt_runtime_us: lots
    proc/sys/kernel/sched_autogroup_enabled: 2
    sys/devices/system/cpu/online: 0-99999999999
    sys/devices/system/cpu/isolated: 3-1
    sys/devices/system/node/node0/cpulist: x
    sys/devices/system/node/nodeX/cpulist: 0
    sys/kernel/mm/transparent_hugepage/enabled: always [madvise
    sys/devices/system/cpu/cpufreq/boost: maybe
    sys/class/dmi/id/sys_vendor:
    sys/class/net/lo/speed: 1
";

#[test]
fn nonsense_is_absent() {
    let (_directory, root) = crate::tree::machine(NONSENSE);
    check(
        &root,
        expect![[r#"
            nics []
            interfaces_virtual []
            absent autogroup cgroup_cpu_max clock_source clock_sources_available container cores_isolated cores_nohz_full cores_online cpu_model cpu_vendor dmi_product dmi_vendor fair_server_runtime_ns frequency_driver governors hypervisor idle_driver idle_governor idle_states is_virtual kernel_command_line kernel_release kernel_version memory_total_kib microcode mitigations numa_nodes rt_period_us rt_runtime_us siblings smt tcp_congestion_control transparent_huge_pages turbo load_average threads_runnable ticks uptime_seconds
        "#]],
    );
}

#[test]
fn an_empty_root_is_absent() {
    let (_directory, root) = crate::tree::machine("");
    check(
        &root,
        expect![[r#"
            interfaces_virtual []
            absent autogroup cgroup_cpu_max clock_source clock_sources_available container cores_isolated cores_nohz_full cores_online cpu_model cpu_vendor dmi_product dmi_vendor fair_server_runtime_ns frequency_driver governors hypervisor idle_driver idle_governor idle_states is_virtual kernel_command_line kernel_release kernel_version memory_total_kib microcode mitigations nics numa_nodes rt_period_us rt_runtime_us siblings smt tcp_congestion_control transparent_huge_pages turbo load_average threads_runnable ticks uptime_seconds
        "#]],
    );
    assert_eq!(Topology::read(&root), Topology::default());
}

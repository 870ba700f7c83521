//! Five kinds of machine, as trees of files: the kernel's files, boot loaders, directories for
//! drop-ins.

/// Files of all machines.
const COMMON: &str = r"
    proc/sys/kernel/random/boot_id: 11111111-2222-3333-4444-555555555555
    proc/sys/kernel/version: #1 SMP PREEMPT_DYNAMIC
    proc/sys/kernel/sched_rt_runtime_us: 950000
    proc/sys/kernel/sched_rt_period_us: 1000000
    proc/sys/kernel/sched_autogroup_enabled: 1
    proc/sys/kernel/timer_migration: 0
    proc/sys/kernel/watchdog: 1
    proc/sys/kernel/nmi_watchdog: 1
    proc/sys/kernel/soft_watchdog: 1
    proc/sys/kernel/sched_schedstats: 1
    proc/sys/kernel/task_delayacct: 1
    proc/sys/kernel/numa_balancing: 1
    proc/sys/vm/stat_interval: 1
    proc/sys/vm/compaction_proactiveness: 20
    proc/sys/vm/nr_hugepages: 0
    proc/sys/vm/zone_reclaim_mode: 1
    proc/sys/vm/swappiness: 60
    proc/sys/vm/dirty_background_ratio: 10
    proc/sys/vm/dirty_writeback_centisecs: 500
    proc/sys/vm/max_map_count: 65530
    proc/sys/net/core/busy_poll: 0
    proc/sys/net/core/busy_read: 0
    proc/sys/net/core/rmem_max: 212992
    proc/sys/net/core/wmem_max: 212992
    proc/sys/net/core/netdev_max_backlog: 1000
    proc/sys/net/core/netdev_budget: 300
    proc/sys/net/core/somaxconn: 128
    proc/sys/net/core/default_qdisc: fq_codel
    proc/sys/net/core/rps_sock_flow_entries: 32768
    proc/sys/net/core/netdev_tstamp_prequeue: 0
    proc/sys/net/ipv4/tcp_congestion_control: bbr
    proc/sys/net/ipv4/tcp_slow_start_after_idle: 1
    proc/sys/net/ipv4/tcp_autocorking: 1
    proc/sys/net/ipv4/tcp_no_metrics_save: 0
    proc/sys/net/ipv4/tcp_thin_linear_timeouts: 0
    proc/sys/net/ipv4/tcp_fastopen: 0
    proc/sys/net/ipv4/tcp_rmem: 4096\t131072\t6291456
    proc/sys/net/ipv4/tcp_wmem: 4096\t16384\t4194304
    proc/self/limits: Limit                     Soft Limit           Hard Limit           Units     \nMax open files            1024                 4096                 files     \nMax locked memory         65536                65536                bytes     \nMax realtime priority     0                    0                    
    proc/thread-self/status: CapEff:\t0000000000000000
    sys/kernel/mm/transparent_hugepage/enabled: [always] madvise never
    sys/kernel/mm/transparent_hugepage/defrag: [always] defer defer+madvise madvise never
    sys/kernel/mm/transparent_hugepage/khugepaged/defrag: 1
    sys/kernel/mm/ksm/run: 1
    sys/fs/cgroup/cgroup.controllers: cpuset cpu io memory hugetlb pids rdma misc
    sys/fs/cgroup/cgroup.subtree_control: cpu io memory pids
    etc/sysctl.d/10-distribution.conf: kernel.printk = 4 4 1 7
    etc/udev/rules.d/50-mine.rules: # mine
    etc/systemd/system/mine.service: [Unit]
    etc/security/limits.d/README: limits
    dev/cpu_dma_latency: x
    .stand-ins/cpu_dma_latency: free
";

const METAL_CORES: &str = r"
    proc/cpuinfo: processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R) Platinum 8375C\nflags\t\t: fpu tsc constant_tsc nonstop_tsc
    proc/cmdline: BOOT_IMAGE=(hd0,gpt1)/boot/vmlinuz-6.12.41 root=UUID=x ro console=tty0 nvme_core.io_timeout=4294967295
    proc/sys/kernel/osrelease: 6.12.41-63.114.amzn2023.x86_64
    proc/sys/kernel/watchdog_cpumask: 0-15
    proc/interrupts:            CPU0       CPU1       CPU2       CPU3       CPU4       CPU5       CPU6       CPU7       CPU8       CPU9       CPU10       CPU11       CPU12       CPU13       CPU14       CPU15\n 25: 9 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0  PCI-MSI  65536-edge      nvme0q0\n 26: 0 7 0 0 0 0 0 0 0 0 0 0 0 0 0 0  PCI-MSI  81920-edge      ena-mgmnt@pci:0000:7d:00.0\n 27: 0 0 5 0 0 0 0 0 0 0 0 0 0 0 0 0  PCI-MSI  81921-edge      eth0-Tx-Rx-0\n 28: 0 0 0 5 0 0 0 0 0 0 0 0 0 0 0 0  PCI-MSI  81922-edge      eth0-Tx-Rx-1\nLOC: 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1  Local timer interrupts
    proc/irq/{25-28}/smp_affinity_list: 0-15
    proc/irq/25/effective_affinity_list: 0
    proc/irq/default_smp_affinity: ffff
    sys/devices/system/cpu/online: 0-15
    sys/devices/system/cpu/isolated:
    sys/devices/system/cpu/nohz_full:
    sys/devices/system/cpu/smt/control: on
    sys/devices/system/cpu/cpu{0,8}/topology/thread_siblings_list: 0,8
    sys/devices/system/cpu/cpu{1,9}/topology/thread_siblings_list: 1,9
    sys/devices/system/cpu/cpu{2,10}/topology/thread_siblings_list: 2,10
    sys/devices/system/cpu/cpu{3,11}/topology/thread_siblings_list: 3,11
    sys/devices/system/cpu/cpu{4,12}/topology/thread_siblings_list: 4,12
    sys/devices/system/cpu/cpu{5,13}/topology/thread_siblings_list: 5,13
    sys/devices/system/cpu/cpu{6,14}/topology/thread_siblings_list: 6,14
    sys/devices/system/cpu/cpu{7,15}/topology/thread_siblings_list: 7,15
    sys/devices/system/cpu/cpu{0-3,8-11}/topology/physical_package_id: 0
    sys/devices/system/cpu/cpu{4-7,12-15}/topology/physical_package_id: 1
    sys/devices/system/cpu/cpu{0-3,8-11}/cache/index3/shared_cpu_list: 0-3,8-11
    sys/devices/system/cpu/cpu{4-7,12-15}/cache/index3/shared_cpu_list: 4-7,12-15
    sys/devices/system/node/node0/cpulist: 0-3,8-11
    sys/devices/system/node/node1/cpulist: 4-7,12-15
    sys/devices/system/cpu/cpuidle/current_driver: intel_idle
    sys/devices/system/cpu/cpu{0-15}/cpuidle/state0/name: POLL
    sys/devices/system/cpu/cpu{0-15}/cpuidle/state0/disable: 0
    sys/devices/system/cpu/cpu{0-15}/cpuidle/state0/latency: 0
    sys/devices/system/cpu/cpu{0-15}/cpuidle/state1/name: C6
    sys/devices/system/cpu/cpu{0-15}/cpuidle/state1/disable: 0
    sys/devices/system/cpu/cpu{0-15}/cpuidle/state1/latency: 170
    sys/devices/system/cpu/cpu{0-15}/power/pm_qos_resume_latency_us: 0
    sys/devices/system/cpu/cpu{0-15}/cpufreq/scaling_driver: intel_pstate
    sys/devices/system/cpu/cpu{0-15}/cpufreq/scaling_governor: powersave
    sys/devices/system/cpu/cpu{0-15}/cpufreq/energy_performance_preference: balance_performance
    sys/devices/system/cpu/intel_pstate/no_turbo: 0
    sys/devices/system/cpu/intel_pstate/min_perf_pct: 30
    sys/kernel/debug/sched/fair_server/cpu{0-15}/runtime: 50000000
    sys/module/pcie_aspm/parameters/policy: [default] performance powersave powersupersave
    sys/devices/virtual/workqueue/cpumask: ffff
    sys/bus/workqueue/devices/writeback/cpumask: ffff
    sys/devices/system/clocksource/clocksource0/available_clocksource: tsc hpet acpi_pm
    sys/devices/system/clocksource/clocksource0/current_clocksource: hpet
";

const ENA: &str = r"
    sys/class/net/lo/mtu: 65536
    sys/class/net/eth0/mtu: 9001
    sys/class/net/eth0/napi_defer_hard_irqs: 0
    sys/class/net/eth0/gro_flush_timeout: 0
    sys/class/net/eth0/queues/rx-{0-1}/rps_cpus: 00ff
    sys/class/net/eth0/queues/rx-{0-1}/rps_flow_cnt: 4096
    sys/class/net/eth0/queues/tx-{0-1}/xps_cpus: 0000
    sys/class/net/eth0/device/driver -> ../../../../bus/pci/drivers/ena
    sys/class/net/eth0/device/numa_node: 0
    sys/bus/pci/drivers/ena/module/version: 2.13.0g
    sys/module/ena/parameters/phc_enable: 0
    sys/block/nvme0n1/device/model: Amazon Elastic Block Store
    sys/block/nvme0n1/queue/scheduler: none [mq-deadline] kyber
    sys/block/nvme0n1/queue/iostats: 1
    sys/block/nvme0n1/queue/rq_affinity: 2
    sys/block/loop0/queue/iostats: 1
    etc/modprobe.d/blacklist.conf: # mine
    .stand-ins/nic/eth0/rx-usecs: 20
    .stand-ins/nic/eth0/tx-usecs: 64
    .stand-ins/nic/eth0/adaptive-rx: 1
    .stand-ins/nic/eth0/rx-max: 16384
    .stand-ins/nic/eth0/rx: 1024
    .stand-ins/nic/eth0/combined-max: 32
    .stand-ins/nic/eth0/combined: 2
    .stand-ins/nic/eth0/gro: 1
    .stand-ins/nic/eth0/lro: 1
    .stand-ins/nic/eth0/ntuple: 0
    .stand-ins/service/irqbalance.service: active enabled
    .stand-ins/service/amazon-ssm-agent.service: active enabled
    .stand-ins/service/amazon-cloudwatch-agent.service: active enabled
    .stand-ins/service/unattended-upgrades.service: active enabled
    .stand-ins/service/crond.service: active enabled
    .stand-ins/service/fstrim.timer: active enabled
    .stand-ins/service/man-db.timer: active static
    .stand-ins/service/tuned.service: active enabled
";

/// Amazon Linux: Boot Loader Specification under GRUB, with a rescue entry.
const BLS: &str = r"
    etc/default/grub: GRUB_TIMEOUT=0\nGRUB_CMDLINE_LINUX_DEFAULT=\qconsole=tty0 nvme_core.io_timeout=4294967295\q\nGRUB_ENABLE_BLSCFG=true
    etc/kernel/cmdline: root=UUID=x ro console=tty0
    boot/grub2/grub.cfg: insmod blscfg\nblscfg
    boot/loader/entries/a-6.12.41.conf: title Amazon Linux (6.12.41)\nlinux /boot/vmlinuz-6.12.41\noptions root=UUID=x ro console=tty0 isolcpus=managed_irq,1
    boot/loader/entries/a-0-rescue.conf: title rescue\noptions root=UUID=x ro
";

/// Ubuntu: GRUB with a generated configuration and a cloud image's own drop-in.
const GRUB: &str = r"
    etc/default/grub: GRUB_DEFAULT=0\nGRUB_CMDLINE_LINUX_DEFAULT=\qquiet splash\q\nGRUB_CMDLINE_LINUX=\q\q
    etc/default/grub.d/50-cloudimg-settings.cfg: GRUB_CMDLINE_LINUX_DEFAULT=\qconsole=tty1 console=ttyS0\q
    boot/grub/grub.cfg: # Ubuntu\n\tlinux\t/boot/vmlinuz-6.8.0 root=PARTUUID=x ro console=tty1\n\tinitrd /boot/initrd\n# Ubuntu (recovery)\n\tlinux /boot/vmlinuz-6.8.0 root=PARTUUID=x ro recovery nomodeset\n# end
";

const SYSTEMD_BOOT: &str = r"
    boot/efi/loader/loader.conf: timeout 3
    boot/efi/loader/entries/arch.conf: title Arch Linux\nlinux /vmlinuz-linux\ninitrd /initramfs-linux.img\noptions root=PARTUUID=x rw quiet
    boot/efi/loader/entries/arch-fallback.conf: title Arch Linux (fallback)\nlinux /vmlinuz-linux\noptions root=PARTUUID=x rw
    etc/kernel/cmdline: root=PARTUUID=x rw quiet
";

/// Four cores of one thread, with an architecture's own files.
const SMALL: &str = r"
    proc/sys/kernel/watchdog_cpumask: 0-3
    proc/irq/default_smp_affinity: f
    sys/devices/system/cpu/online: 0-3
    sys/devices/system/cpu/isolated:
    sys/devices/system/cpu/nohz_full:
    sys/devices/system/cpu/cpu{0-3}/cache/index3/shared_cpu_list: 0-3
    sys/devices/system/cpu/cpu{0-3}/power/pm_qos_resume_latency_us: 0
    sys/devices/system/cpu/cpu0/topology/thread_siblings_list: 0
    sys/devices/system/cpu/cpu1/topology/thread_siblings_list: 1
    sys/devices/system/cpu/cpu2/topology/thread_siblings_list: 2
    sys/devices/system/cpu/cpu3/topology/thread_siblings_list: 3
    sys/devices/system/node/node0/cpulist: 0-3
    sys/devices/virtual/workqueue/cpumask: f
    sys/bus/workqueue/devices/writeback/cpumask: f
";

const ARM: &str = r"
    proc/cpuinfo: processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f
    proc/cmdline: BOOT_IMAGE=/boot/vmlinuz-6.8.0 root=PARTUUID=x ro console=tty1
    proc/sys/kernel/osrelease: 6.8.0-1021-aws
    proc/interrupts:            CPU0       CPU1       CPU2       CPU3\n 11: 5 5 5 5  GICv3  27 Level     arch_timer\n 30: 0 9 0 0  ITS-MSI  81920 Edge      ena-mgmnt@pci:0000:00:05.0\n 31: 0 0 0 9  ITS-MSI  81921 Edge      eth0-Tx-Rx-0
    proc/irq/{30-31}/smp_affinity_list: 0-3
    sys/devices/system/clocksource/clocksource0/available_clocksource: arch_sys_counter
    sys/devices/system/clocksource/clocksource0/current_clocksource: arch_sys_counter
";

const VIRTIO: &str = r"
    proc/cpuinfo: processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC\nflags\t\t: fpu tsc hypervisor
    proc/cmdline: root=PARTUUID=x rw quiet
    proc/sys/kernel/osrelease: 6.18.1-arch1
    proc/interrupts:            CPU0       CPU1       CPU2       CPU3\n 28: 0 0 0 9  PCI-MSIX-0000:00:03.0   1-edge      virtio2-input.0\n 29: 0 0 0 0  PCI-MSIX-0000:00:03.0   2-edge      virtio2-output.0
    proc/irq/{28-29}/smp_affinity_list: 0-3
    sys/devices/system/cpu/cpufreq/boost: 1
    sys/class/net/lo/mtu: 65536
    sys/class/net/eth0/mtu: 1500
    sys/class/net/eth0/device -> ../../virtio2
    sys/class/virtio2/driver -> ../../bus/virtio/drivers/virtio_net
    sys/class/net/eth0/queues/rx-0/rps_cpus: f
    sys/class/net/eth0/queues/tx-0/xps_cpus: 0
    sys/block/vda/device/vendor: 0x1af4
    sys/block/vda/queue/scheduler: [mq-deadline] none
    sys/block/vda/queue/iostats: 1
    .stand-ins/nic/eth0/rx-max: 256
    .stand-ins/nic/eth0/rx: 128
    .stand-ins/nic/eth0/gro: 1
    .stand-ins/nic/eth0/combined-max: 1
    .stand-ins/nic/eth0/combined: 1
    sys/devices/system/clocksource/clocksource0/available_clocksource: kvm-clock tsc
    sys/devices/system/clocksource/clocksource0/current_clocksource: kvm-clock
";

/// Some settings matter only on isolated cores.
const ISOLATED: &str = r"
    sys/devices/system/cpu/isolated: 2-3
    proc/sys/kernel/osrelease: 5.15.0-1053
";

/// Name and files of each.
pub fn all() -> [(&'static str, String); 5] {
    let whole = |parts: &[&str]| parts.concat().replace("\\q", "\"");
    [
        ("EC2 metal, two sockets", whole(&[COMMON, METAL_CORES, ENA, BLS])),
        ("Graviton, GRUB", whole(&[COMMON, SMALL, ARM, ENA, GRUB])),
        ("virtio guest, GRUB", whole(&[COMMON, SMALL, VIRTIO, GRUB])),
        ("systemd-boot", whole(&[COMMON, SMALL, VIRTIO, SYSTEMD_BOOT])),
        ("isolated cores, an older kernel", whole(&[COMMON, SMALL, VIRTIO, GRUB, ISOLATED])),
    ]
}

//! Interrupts: how often each core handled them, and which cores may get them.

use std::collections::BTreeMap;

use crate::root::Root;
use crate::topology::{CORES_MAX, parse_core_list};

/// The source of an interrupt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InterruptKind {
    /// A device: its interrupt can be moved to other cores.
    #[default]
    Device,
    /// The core's own timer: scheduling ticks and timers.
    Timer,
    /// Another core, the processor or the hypervisor: rescheduling, function calls, TLB shootdowns,
    /// and everything else that each core has for itself, such as an Arm core's counters.
    Internal,
}

/// One line of `/proc/interrupts`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interrupt {
    /// The kernel's number, or its short name where it has none: `38`, `LOC`, `IPI0`.
    pub id: String,
    /// The requesting device, `virtio0-input.0`, or the kernel's explanation of the short name.
    pub name: String,
    /// Its source.
    pub kind: InterruptKind,
    /// Number of interrupts by core, since boot or since an earlier reading.
    pub counts: BTreeMap<usize, u64>,
    /// Cores that may get it (`smp_affinity_list`); `None` if the user can't choose.
    pub allowed: Option<Vec<usize>>,
    /// Cores that actually get it (`effective_affinity_list`).
    pub effective: Option<Vec<usize>>,
}

impl Interrupt {
    /// Cores that get it: the effective ones if known, otherwise the allowed ones.
    pub fn cores(&self) -> Option<&[usize]> {
        let effective = self.effective.as_deref().filter(|cores| !cores.is_empty());
        effective.or(self.allowed.as_deref())
    }

    /// Number of these interrupts on `cores`.
    pub fn count_on(&self, cores: &[usize]) -> u64 {
        let counts = cores.iter().filter_map(|core| self.counts.get(core));
        counts.fold(0, |sum, &count| sum.saturating_add(count))
    }
}

/// Reads `/proc/interrupts` and, for devices, `/proc/irq/N`. `None` if the first can't be read.
/// Leaves out lines that are not per core (`ERR`, `MIS`).
pub fn read(root: &Root) -> Option<Vec<Interrupt>> {
    let text = root.read_text("proc/interrupts")?;
    let mut lines = text.lines();
    let number = |word: &str| word.strip_prefix("CPU")?.parse().ok().filter(|&n| n < CORES_MAX);
    let cores: Vec<usize> = lines.next()?.split_whitespace().map_while(number).collect();
    let of_line = |line| {
        let mut interrupt = parse(line, &cores)?;
        if interrupt.kind == InterruptKind::Device {
            let list =
                |file| parse_core_list(&root.read(format!("proc/irq/{}/{file}", interrupt.id))?);
            let (allowed, effective) = (list("smp_affinity_list"), list("effective_affinity_list"));
            interrupt = Interrupt { allowed, effective, ..interrupt };
        }
        Some(interrupt)
    };
    (!cores.is_empty()).then(|| lines.filter_map(of_line).collect())
}

/// `38:  0  26085  PCI-MSIX-0000:00:03.0  1-edge  virtio2-input.0` or `LOC:  5  6  Local timer
/// interrupts`.
fn parse(line: &str, cores: &[usize]) -> Option<Interrupt> {
    let (id, rest) = line.split_once(':')?;
    let id = id.trim();
    let words: Vec<&str> = rest.split_whitespace().take(cores.len()).collect();
    let counts: Vec<u64> = words.iter().map_while(|word| word.parse().ok()).collect();
    if counts.len() < cores.len() || id.is_empty() {
        return None;
    }
    let mut after = rest;
    for word in words {
        after = after.trim_start().strip_prefix(word)?;
    }
    let is_numbered = id.bytes().all(|byte| byte.is_ascii_digit());
    // Chip, hardware number and trigger come before two spaces and the name.
    let name = after.trim().rsplit("  ").next().filter(|_| is_numbered).unwrap_or(after.trim());
    let kind = match (is_numbered, id) {
        (false, "LOC") => InterruptKind::Timer,
        (false, _) => InterruptKind::Internal,
        (true, _) if !is_per_core(after.trim(), name) => InterruptKind::Device,
        (true, _) if CORE_TIMERS.iter().any(|timer| name.contains(timer)) => InterruptKind::Timer,
        (true, _) => InterruptKind::Internal,
    };
    Some(Interrupt {
        id: id.to_owned(),
        name: name.to_owned(),
        kind,
        counts: cores.iter().copied().zip(counts).collect(),
        ..Interrupt::default()
    })
}

/// Timers of a core, by the names of their drivers (drivers/clocksource, arch/x86/xen/time.c).
const CORE_TIMERS: [&str; 3] = ["arch_timer", "riscv-timer", "timer"];

/// Whether a numbered interrupt is one that each core has for itself: no affinity moves it.
/// `line` is the chip's name, the hardware's number and the trigger, then the device.
fn is_per_core(line: &str, name: &str) -> bool {
    let mut words = line.split_whitespace();
    let (chip, number) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let number: Option<u32> = number.split('-').next().and_then(|number| number.parse().ok());
    // Arm: software-generated 0-15, private peripherals 16-31 and 1056-1119 (GIC architecture,
    // INTID). The other chips sit inside each core.
    let is_private = number.is_some_and(|number| matches!(number, 0..=31 | 1056..=1119));
    let is_core_chip = chip.starts_with("xen-percpu")
        || chip.starts_with("bcm2836")
        || matches!(chip, "RISC-V" | "CPUINTC" | "MIPS" | "XIVE-IPI")
        || line.split_whitespace().any(|word| word == "percpu" || word == "-percpu");
    // Counters of a core may also come as one shared number each, which their driver pins.
    let is_core_device = ["arm-pmu", "arch_timer", "riscv-pmu", "riscv-timer"].contains(&name);
    (chip.starts_with("GIC") && is_private) || is_core_chip || is_core_device
}

/// Whether an interrupt with this name belongs to a network interface: `ens5-Tx-Rx-3` to ens5,
/// `virtio2-input.0` to the interface of device virtio2, and `ena-mgmnt@pci:0000:00:05.0` to the
/// interface of that PCI device.
pub fn is_of_interface(root: &Root, interrupt: &str, interface: &str) -> bool {
    let device = root.link_name(format!("sys/class/net/{interface}/device"));
    let starts = |name: &str| {
        let rest = interrupt.strip_prefix(name);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    starts(interface)
        || device.is_some_and(|device| starts(&device) || interrupt.ends_with(&device))
}

/// Interrupts since an `earlier` reading; leaves out those that are not in both.
pub fn since(now: &[Interrupt], earlier: &[Interrupt]) -> Vec<Interrupt> {
    let of_one = |one: &Interrupt| {
        let before = earlier.iter().find(|other| other.id == one.id)?;
        let added = one.counts.iter().filter_map(|(&core, &count)| {
            Some((core, count.saturating_sub(*before.counts.get(&core)?)))
        });
        Some(Interrupt { counts: added.collect(), ..one.clone() })
    };
    now.iter().filter_map(of_one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    const X86: &str = "           CPU0       CPU1       
 28:          0          0 PCI-MSIX-0000:00:01.0   0-edge      virtio0-config
 38:          7      26085 PCI-MSIX-0000:00:03.0   1-edge      virtio2-input.0, other
 39:          1          2
NMI:          0          0   Non-maskable interrupts
LOC:    5075437    5417326   Local timer interrupts
TLB:         12         13   TLB shootdowns
ERR:          0
MIS:          0
";
    const ARM: &str = "           CPU0       CPU2
 11:    1000000    2000000     GICv3  27 Level     arch_timer
 14:          0          3  ITS-PCI-MSIX-0000:00:05.0   1 Edge      ens5-Tx-Rx-0
IPI0:        10         20       Rescheduling interrupts
Err:          0
";

    fn check(text: &str, expected: Expect) {
        let cores = if text == ARM { [0, 2] } else { [0, 1] };
        let show =
            |one: Interrupt| format!("{} {} {:?} {:?}\n", one.id, one.name, one.kind, one.counts);
        let shown = text.lines().skip(1).filter_map(|line| parse(line, &cores)).map(show);
        expected.assert_eq(&shown.collect::<String>());
    }

    #[test]
    fn reads_what_kernels_print() {
        check(
            X86,
            expect![[r#"
            28 virtio0-config Device {0: 0, 1: 0}
            38 virtio2-input.0, other Device {0: 7, 1: 26085}
            39  Device {0: 1, 1: 2}
            NMI Non-maskable interrupts Internal {0: 0, 1: 0}
            LOC Local timer interrupts Timer {0: 5075437, 1: 5417326}
            TLB TLB shootdowns Internal {0: 12, 1: 13}
        "#]],
        );
        check(
            ARM,
            expect![[r#"
            11 arch_timer Timer {0: 1000000, 2: 2000000}
            14 ens5-Tx-Rx-0 Device {0: 0, 2: 3}
            IPI0 Rescheduling interrupts Internal {0: 10, 2: 20}
        "#]],
        );
    }

    /// No interrupt that each core has for itself is a device's, on any architecture and
    /// hypervisor. A shared interrupt of the same chip is.
    #[test]
    fn interrupts_of_a_core_itself_are_not_a_devices() {
        for (line, kind) in [
            ("23: 0 0 GICv3  23 Level     arm-pmu", InterruptKind::Internal),
            ("9: 0 0 GICv3  25 Level     vgic", InterruptKind::Internal),
            ("12: 5 6 GICv3  26 Level     kvm guest vtimer", InterruptKind::Timer),
            ("6: 5 6 GIC-0  30 Level     arch_timer", InterruptKind::Timer),
            ("7: 5 6 GICv2  39 Level     arm-pmu", InterruptKind::Internal),
            ("8: 5 6 GICv3 1060 Level     arm-spe", InterruptKind::Internal),
            ("10: 5 6 GICv3  33 Level     uart-pl011", InterruptKind::Device),
            ("13: 5 6 GICv3  79 Edge      ena", InterruptKind::Device),
            ("5: 9 9 RISC-V INTC   5 Edge      riscv-timer", InterruptKind::Timer),
            ("17: 9 9 RISC-V INTC  13 Edge      riscv-pmu", InterruptKind::Internal),
            ("11: 0 7 SiFive PLIC   8 Edge      virtio0", InterruptKind::Device),
            ("48: 9 9 xen-percpu    -virq      timer0", InterruptKind::Timer),
            ("49: 9 9 xen-percpu    -ipi       resched0", InterruptKind::Internal),
            ("72: 9 9 xen-dyn    -event     eth0-q0-tx", InterruptKind::Device),
            (
                "24: 9 9 Hyper-V PCIe MSI 4194304-edge      mlx5_async0@pci:a:00:02.0",
                InterruptKind::Device,
            ),
            ("20: 9 9 CPUINTC  12  percpu  ipi", InterruptKind::Internal),
            ("0: 35 0 IO-APIC   2-edge      timer", InterruptKind::Device),
        ] {
            assert_eq!(parse(line, &[0, 1]).unwrap().kind, kind, "{line}");
        }
    }

    /// A host with 256 cores and 1500 lines has 4.4 MB of text, and the network interface's lines
    /// are the last ones.
    #[test]
    fn the_last_line_of_a_large_host_is_read() {
        let heads: String = (0..256).map(|core| format!("       CPU{core}")).collect();
        let counts = format!(" {:>10}", 7).repeat(256);
        let line = |id: usize, name: &str| format!("{id:>4}:{counts}  PCI-MSI {id}-edge  {name}\n");
        let mut text = format!("{heads}\n");
        text.extend((0..1500).map(|id| line(id, "nvme0q1")));
        text += &line(1500, "eth0-Tx-Rx-0");
        assert!(text.len() > 4 << 20, "{}", text.len());
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("proc")).unwrap();
        std::fs::write(directory.path().join("proc/interrupts"), text).unwrap();
        let found = read(&Root::at(directory.path())).unwrap();
        assert_eq!(found.last().unwrap().name, "eth0-Tx-Rx-0");
        assert_eq!(found.len(), 1501);
    }

    #[test]
    fn devices_come_with_their_cores() {
        let directory = tempfile::tempdir().unwrap();
        let root = Root::at(directory.path());
        assert_eq!(read(&root), None);
        let write = |path: &str, text: &str| {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("proc/interrupts", X86);
        write("proc/irq/38/smp_affinity_list", "0-1\n");
        write("proc/irq/38/effective_affinity_list", "1\n");
        write("proc/irq/28/smp_affinity_list", "0-1\n");
        write("proc/irq/28/effective_affinity_list", "\n");
        let found = read(&root).unwrap();
        let cores = |id: &str| found.iter().find(|one| one.id == id).unwrap().cores();
        assert_eq!(cores("38"), Some(&[1][..]));
        assert_eq!(cores("28"), Some(&[0, 1][..]));
        assert_eq!((cores("39"), cores("LOC")), (None, None));
        write("proc/interrupts", &X86.replace("26085", "26185"));
        let later = since(&read(&root).unwrap(), &found);
        let came: Vec<u64> = later.iter().map(|one| one.count_on(&[0, 1])).collect();
        assert_eq!(came, [0, 100, 0, 0, 0, 0]);
    }

    proptest! {
        #[test]
        fn any_line_is_read_or_left_out(line in "[ 0-9A-Z:,\\-\u{e9}]{0,60}", cores in 1..4_usize) {
            let cores: Vec<usize> = (0..cores).collect();
            if let Some(interrupt) = parse(&line, &cores) {
                prop_assert_eq!(interrupt.counts.len(), cores.len());
            }
        }
    }
}

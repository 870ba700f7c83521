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
    /// Another core, the processor or the hypervisor: rescheduling, function calls, TLB shootdowns.
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
    let kind = match (is_numbered, id, name) {
        // ARM gives its per-core timer a number, like a device.
        (false, "LOC", _) | (true, _, "arch_timer") => InterruptKind::Timer,
        (true, ..) => InterruptKind::Device,
        (false, ..) => InterruptKind::Internal,
    };
    Some(Interrupt {
        id: id.to_owned(),
        name: name.to_owned(),
        kind,
        counts: cores.iter().copied().zip(counts).collect(),
        ..Interrupt::default()
    })
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

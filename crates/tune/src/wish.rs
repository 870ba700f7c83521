//! Wanted values of places.

use host::topology::{parse_core_list, parse_core_mask};

use crate::place::SettingPlace;

/// A place and its wanted value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// The place.
    pub place: SettingPlace,
    /// The value.
    pub want: WantedValue,
}

/// A wanted value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedValue {
    /// This value.
    Is(String),
    /// This number or a higher one.
    AtLeast(u64),
    /// This number or a lower one.
    AtMost(u64),
}

impl Wish {
    /// A value for a file of the kernel.
    pub(crate) fn kernel(path: impl Into<String>, value: impl Into<String>) -> Wish {
        Wish { place: SettingPlace::Kernel(path.into()), want: WantedValue::Is(value.into()) }
    }

    /// A value for an attribute of a network interface.
    pub(crate) fn nic(nic: &str, attribute: &str, value: impl Into<String>) -> Wish {
        let place = SettingPlace::Nic { nic: nic.to_owned(), attribute: attribute.to_owned() };
        Wish { place, want: WantedValue::Is(value.into()) }
    }
}

impl WantedValue {
    /// Whether `now`, as read from `place`, is the wanted value.
    pub fn is_met(&self, place: &SettingPlace, now: &str) -> bool {
        match self {
            WantedValue::Is(value) => same(place, value, now),
            WantedValue::AtLeast(least) => number(now).is_some_and(|now| now >= *least),
            WantedValue::AtMost(most) => number(now).is_some_and(|now| now <= *most),
        }
    }

    /// The value to write.
    pub fn written(&self) -> String {
        match self {
            WantedValue::Is(value) => value.clone(),
            WantedValue::AtLeast(number) | WantedValue::AtMost(number) => number.to_string(),
        }
    }
}

fn number(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

/// Whether two texts are the same value of a place: the kernel pads masks, brackets choices and
/// appends a newline.
pub fn same(place: &SettingPlace, one: &str, other: &str) -> bool {
    let SettingPlace::Kernel(path) = place else { return one.trim_end() == other.trim_end() };
    let (one, other) = (restorable(one), restorable(other));
    let name = path.rsplit('/').next().unwrap_or_default();
    if is_mask(path) {
        return one == other || parse_core_mask(&one) == parse_core_mask(&other);
    }
    // Controllers of a control group are added and removed one by one.
    if let Some(controller) = one.strip_prefix('+') {
        return other.split_whitespace().any(|there| there == controller);
    }
    if name.ends_with("list") {
        return one == other || parse_core_list(&one) == parse_core_list(&other);
    }
    one.split_whitespace().eq(other.split_whitespace())
}

/// Files with a mask of cores in hexadecimal words. `watchdog_cpumask` has a list.
fn is_mask(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let masks = ["rps_cpus", "xps_cpus", "smp_affinity", "default_smp_affinity"];
    masks.contains(&name) || (name == "cpumask" && path.contains("workqueue"))
}

/// The value to write so that a kernel's file reads as `read` again: of a list of choices, the one
/// in brackets.
pub fn restorable(read: &str) -> String {
    let chosen = read.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    chosen.map_or(read.trim(), |(chosen, _)| chosen).to_owned()
}

/// The value to write so that `place`, which has `now`, has `before` again.
pub fn undone(place: &SettingPlace, before: &str, now: &str) -> String {
    match place {
        SettingPlace::Kernel(path) if path.ends_with("/cgroup.subtree_control") => {
            let kept: Vec<&str> = before.split_whitespace().collect();
            let added = now.split_whitespace().filter(|one| !kept.contains(one));
            added.map(|one| format!("-{one}")).collect::<Vec<_>>().join(" ")
        }
        SettingPlace::Kernel(_) => restorable(before),
        _ => before.to_owned(),
    }
}

/// A mask of cores as the kernel writes it: words of 32 bits, the highest first.
pub fn format_core_mask(cores: &[usize]) -> String {
    let words = cores.iter().max().map_or(1, |last| last / 32 + 1);
    let word = |place: usize| {
        let bits = cores.iter().filter(|&&core| core / 32 == place);
        bits.fold(0_u32, |word, core| word | 1 << (core % 32))
    };
    let words: Vec<String> = (0..words)
        .rev()
        .map(|place| match place + 1 == words {
            true => format!("{:x}", word(place)),
            false => format!("{:08x}", word(place)),
        })
        .collect();
    words.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_value_in_two_spellings() {
        let kernel = |path: &str| SettingPlace::Kernel(path.to_owned());
        let thp = kernel("/sys/kernel/mm/transparent_hugepage/enabled");
        assert!(same(&thp, "madvise", "always [madvise] never\n"));
        assert!(!same(&thp, "never", "always [madvise] never\n"));
        let rps = kernel("/sys/class/net/ens5/queues/rx-0/rps_cpus");
        assert!(same(&rps, "3", "00000000,00000003\n") && !same(&rps, "3", "00000001\n"));
        let irq = kernel("/proc/irq/30/smp_affinity_list");
        assert!(same(&irq, "0,1", "0-1\n"));
        assert!(same(&kernel("/proc/sys/net/ipv4/tcp_rmem"), "1 2 3", "1\t2\t3\n"));
        assert!(!same(&SettingPlace::Text("/etc/x".to_owned()), "a b", "a  b"));
        assert!(WantedValue::AtMost(10).is_met(&kernel("/x"), "10\n"));
        assert!(!WantedValue::AtLeast(11).is_met(&kernel("/x"), "10\n"));
        assert!(!WantedValue::AtMost(10).is_met(&kernel("/x"), "a word"));
    }

    proptest! {
        #[test]
        fn a_mask_is_read_again(cores in prop::collection::btree_set(0_usize..500, 0..40)) {
            let cores: Vec<usize> = cores.into_iter().collect();
            prop_assert_eq!(parse_core_mask(&format_core_mask(&cores)), Some(cores));
        }
    }
}

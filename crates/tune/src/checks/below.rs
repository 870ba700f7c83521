//! Checks for stacks below the kernel: ENA's driver and its low-latency queues, and AF_XDP without
//! copies where an ssh session may be. Small pure functions of an inspection.

use host::scheduling::release_numbers;
use record::doctor::Grade;
use record::machine::Nic;

use crate::inspection::Inspection;
use crate::setting::Judgement;

const ENA: &str = "ena";
/// The first version of AWS's driver that says whether it uses LLQ, two versions after the one that
/// made AF_XDP without copies an experiment (its RELEASENOTES.md).
const ENA_VERSION_MIN: (u32, u32) = (2, 9);
/// The first kernel that says which queues have sockets of AF_XDP.
const TELLS_SOCKETS: (u32, u32) = (6, 15);

fn ena(seen: &Inspection) -> Vec<&Nic> {
    let nics = seen.machine.fixed.nics.iter().flatten();
    nics.filter(|nic| nic.driver.as_deref() == Some(ENA)).collect()
}

fn none_of_ena(seen: &Inspection) -> Judgement {
    match seen.machine.fixed.nics {
        None => (Grade::Unknown, "the interfaces can't be listed".to_owned()),
        Some(_) => (Grade::Ok, "not judged: no interface is an ENA".to_owned()),
    }
}

fn names(nics: &[&Nic]) -> String {
    nics.iter().map(|nic| nic.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// Without LLQ the device fetches each packet from memory.
pub(crate) fn llq(seen: &Inspection) -> Judgement {
    let all = ena(seen);
    let with = |pushes: Option<u64>| -> Vec<&Nic> {
        let value = |nic: &Nic| seen.nic_value(&nic.name, "tx-push");
        all.iter().copied().filter(|nic| value(nic) == pushes).collect()
    };
    let (off, unknown) = (with(Some(0)), with(None));
    if all.is_empty() {
        none_of_ena(seen)
    } else if !off.is_empty() {
        (Grade::Warn, format!("{} sends without LLQ", names(&off)))
    } else if !unknown.is_empty() {
        (Grade::Unknown, format!("the driver of {} doesn't say it", names(&unknown)))
    } else {
        (Grade::Ok, format!("{} sends by LLQ", names(&all)))
    }
}

/// The kernel's own driver has no version.
pub(crate) fn driver_version(seen: &Inspection) -> Judgement {
    let all = ena(seen);
    if all.is_empty() {
        return none_of_ena(seen);
    }
    let mut worst = (Grade::Ok, Vec::new());
    for nic in all {
        let (grade, found) = match nic.driver_version.as_deref() {
            None => (Grade::Ok, format!("{}: the kernel's own driver", nic.name)),
            // Such as 2.13.0g.
            Some(text) => match release_numbers(text) {
                None => (Grade::Unknown, format!("{}: {text:?} is not understood", nic.name)),
                Some(version) if version < ENA_VERSION_MIN => {
                    (Grade::Warn, format!("{}: {text}, older than 2.9.0", nic.name))
                }
                Some(_) => (Grade::Ok, format!("{}: {text}", nic.name)),
            },
        };
        if worst.0 == Grade::Ok || grade == Grade::Warn {
            worst.0 = grade;
        }
        worst.1.push(found);
    }
    (worst.0, worst.1.join(", "))
}

/// When a socket without copies is bound, some drivers reset the queue, and some stay mute. Which
/// queue an ssh session is on depends on a hash.
pub(crate) fn zero_copy(seen: &Inspection) -> Judgement {
    let nic = match seen.default_nic.as_deref() {
        None => return (Grade::Unknown, "the routes can't be read".to_owned()),
        Some("") => return (Grade::Ok, "not judged: there is no default route".to_owned()),
        Some(nic) => nic,
    };
    let value = |attribute| seen.nic_value(nic, attribute);
    if value("zero-copy") == Some(0) {
        return (Grade::Ok, format!("the driver of {nic} has no zero-copy"));
    }
    let release = seen.machine.fixed.kernel_release.as_deref().and_then(release_numbers);
    let tells = release.is_some_and(|numbers| numbers >= TELLS_SOCKETS);
    match (value("zero-copy"), value("af-xdp-queues").filter(|_| tells)) {
        (Some(_), Some(0)) => (Grade::Ok, format!("no queue of {nic} has a socket of AF_XDP")),
        (Some(_), Some(queues)) => {
            let s = if queues == 1 { " has a socket" } else { "s have sockets" };
            let found = format!(
                "{queues} queue{s} of AF_XDP on {nic}, over which the default route leaves"
            );
            (Grade::Warn, found)
        }
        _ => (Grade::Unknown, format!("the kernel doesn't say it of {nic}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use record::machine::{Fingerprint, FixedFacts};
    use std::collections::BTreeMap;

    fn check(rule: fn(&Inspection) -> Judgement, machines: &[Inspection], expected: Expect) {
        let line = |seen: &Inspection| {
            let (grade, found) = rule(seen);
            format!("{}: {found}\n", grade.name())
        };
        expected.assert_eq(&machines.iter().map(line).collect::<String>());
    }

    /// A machine with that interface, its driver, and an attribute if it says it.
    fn with(driver: &str, version: Option<&str>, attributes: &[(&str, u64)]) -> Inspection {
        let nic = Nic {
            name: "ens5".to_owned(),
            driver: Some(driver.to_owned()),
            driver_version: version.map(str::to_owned),
            ..Nic::default()
        };
        let attributes: BTreeMap<String, u64> =
            attributes.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let kernel_release = Some("6.18.1-test".to_owned());
        let fixed = FixedFacts { nics: Some(vec![nic]), kernel_release, ..FixedFacts::default() };
        Inspection {
            machine: Fingerprint { fixed, ..Fingerprint::default() },
            nic_attributes: BTreeMap::from([("ens5".to_owned(), attributes)]),
            default_nic: Some("ens5".to_owned()),
            ..Inspection::default()
        }
    }

    #[test]
    fn ena_without_low_latency_queues() {
        let machines = [
            Inspection::default(),
            with("ixgbe", None, &[("tx-push", 0)]),
            with("ena", None, &[]),
            with("ena", None, &[("tx-push", 0)]),
            with("ena", None, &[("tx-push", 1)]),
        ];
        check(
            llq,
            &machines,
            expect![[r#"
                unknown: the interfaces can't be listed
                ok: not judged: no interface is an ENA
                unknown: the driver of ens5 doesn't say it
                warn: ens5 sends without LLQ
                ok: ens5 sends by LLQ
            "#]],
        );
    }

    #[test]
    fn versions_of_enas_driver() {
        let machines = [
            Inspection::default(),
            with("ixgbe", Some("1.0"), &[]),
            with("ena", None, &[]),
            with("ena", Some("2.8.9g"), &[]),
            with("ena", Some("2.13.0g"), &[]),
            with("ena", Some("newest"), &[]),
        ];
        check(
            driver_version,
            &machines,
            expect![[r#"
                unknown: the interfaces can't be listed
                ok: not judged: no interface is an ENA
                ok: ens5: the kernel's own driver
                warn: ens5: 2.8.9g, older than 2.9.0
                ok: ens5: 2.13.0g
                unknown: ens5: "newest" is not understood
            "#]],
        );
    }

    #[test]
    fn sockets_without_copies_where_ssh_may_be() {
        let of = |zero_copy, queues| {
            with("ice", None, &[("zero-copy", zero_copy), ("af-xdp-queues", queues)])
        };
        let mut old = of(1, 0);
        old.machine.fixed.kernel_release = Some("6.8.0".to_owned());
        let machines = [
            Inspection::default(),
            Inspection { default_nic: Some(String::new()), ..Inspection::default() },
            with("ice", None, &[]),
            of(0, 1),
            of(1, 0),
            of(1, 1),
            of(1, 3),
            old,
        ];
        check(
            zero_copy,
            &machines,
            expect![[r#"
                unknown: the routes can't be read
                ok: not judged: there is no default route
                unknown: the kernel doesn't say it of ens5
                ok: the driver of ens5 has no zero-copy
                ok: no queue of ens5 has a socket of AF_XDP
                warn: 1 queue has a socket of AF_XDP on ens5, over which the default route leaves
                warn: 3 queues have sockets of AF_XDP on ens5, over which the default route leaves
                unknown: the kernel doesn't say it of ens5
            "#]],
        );
    }
}

//! Apply and revert on whole machines: a revert after any part of an apply restores the same bytes;
//! any write may fail.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use clock::Clock;
use host::{Cores, Root, Topology, capture};
use proptest::prelude::*;
use record::tune::{State, StepResult as Outcome, Survey};
use tempfile::TempDir;
use tune::apply::{OnFailure, apply};
use tune::goal::{Goal, Profile};
use tune::journal::{Journal, JournalError};
use tune::revert::{StepSelection, revert};
use tune::status::status;
use tune::survey::{Choice, Persistence, Surveyor};
use tune::system::Machine;
use tune::{Inspection, settings};

use crate::kernel::{Fault, Kernel, bytes};
use crate::machines;
use crate::room::tree;

static CLOCK: LazyLock<Clock> = LazyLock::new(Clock::calibrate);

struct Bench {
    directory: TempDir,
    root: Root,
    state: TempDir,
    before: BTreeMap<String, String>,
}

impl Bench {
    fn new(machine: usize) -> Bench {
        let (directory, root) = tree::machine(&machines::all()[machine].1);
        let before = bytes(directory.path());
        Bench { directory, root, state: tempfile::tempdir().unwrap(), before }
    }

    fn with_surveyor<T>(&self, profile: Profile, use_it: impl FnOnce(&Surveyor<'_>) -> T) -> T {
        let online = Topology::read(&self.root).online.unwrap();
        let machine = capture(&self.root, &CLOCK, None);
        let mut seen = Inspection::read(&self.root, machine, &[], &online);
        let goal = Goal::find(&seen, profile, &Cores::Auto, &[]).unwrap();
        seen.cores.clone_from(&goal.cores);
        let system = Machine::new(self.root.clone());
        let surveyor = Surveyor {
            system: &system,
            root: &self.root,
            seen: &seen,
            goal: &goal,
            tool: "a test",
        };
        use_it(&surveyor)
    }

    fn plan(&self, profile: Profile, ids: &[&str], lasting: Persistence) -> Survey {
        let ids = ids.iter().map(|&id| id.to_owned()).collect();
        let choice = Choice { ids, lasting, ..Choice::default() };
        self.with_surveyor(profile, |surveyor| surveyor.plan(&choice).unwrap())
    }

    fn journal(&self) -> Journal {
        Journal::open(self.state.path()).unwrap()
    }

    fn apply(
        &self,
        kernel: &mut Kernel,
        plan: &Survey,
        on_failure: OnFailure,
    ) -> Result<Vec<Outcome>, JournalError> {
        apply(kernel, &self.root, &mut self.journal(), plan, on_failure)
    }

    fn revert(&self) -> Vec<Outcome> {
        let mut kernel = Kernel::new(&self.root, Fault::Nothing);
        revert(&mut kernel, &self.root, &mut self.journal(), &StepSelection::All, false).unwrap()
    }

    fn now(&self) -> BTreeMap<String, String> {
        bytes(self.directory.path())
    }

    fn is_as_before(&self) {
        let now = self.now();
        for (name, content) in &self.before {
            assert_eq!(now.get(name), Some(content), "{name}");
        }
        assert_eq!(now.len(), self.before.len(), "files were left behind: {now:?}");
        assert!(!self.state.path().join("journal.jsonl").exists(), "the journal is left");
    }
}

fn failed(outcomes: &[Outcome]) -> Vec<&Outcome> {
    outcomes.iter().filter(|one| one.outcome == "failed").collect()
}

/// Whether `one` is in the directory that `first` failed to make: then it fails too.
fn is_below(first: &Outcome, one: &Outcome) -> bool {
    let directory = first.place.strip_prefix("directory:");
    directory.is_some_and(|path| one.place.starts_with(&format!("file:{path}/")))
}

/// Every writable setting is written on one of the machines, then has the wanted value, and is
/// reverted.
#[test]
fn every_setting_goes_there_and_back() {
    let mut written = BTreeSet::new();
    for machine in 0..machines::all().len() {
        let bench = Bench::new(machine);
        for setting in settings::all() {
            let plan = bench.plan(Profile::TickToTrade, &[setting.id], Persistence::Always);
            let mut kernel = Kernel::new(&bench.root, Fault::Nothing);
            let outcomes = bench.apply(&mut kernel, &plan, OnFailure::GoOn).unwrap();
            assert!(failed(&outcomes).is_empty(), "{}: {outcomes:?}", setting.id);
            if kernel.writes() > 0 {
                written.insert(setting.id);
                let again = bench.plan(Profile::TickToTrade, &[setting.id], Persistence::Always);
                let state = &again.settings[0];
                // Settings that take effect later still have their present value.
                let waits = setting.id.starts_with("limit.");
                let steps = (&state.steps, &again.persistence);
                assert!(state.state == State::AsWanted || waits, "{}: {state:?}", setting.id);
                assert!(steps.0.is_empty() && steps.1.is_empty(), "{}: {steps:?}", setting.id);
            }
            assert!(failed(&bench.revert()).is_empty(), "{}", setting.id);
            bench.is_as_before();
        }
    }
    let advice =
        ["kernel.mitigations", "nic.rss", "nic.ena_express", "time.chrony", "nic.timestamping"];
    for setting in settings::all().filter(|setting| !advice.contains(&setting.id)) {
        assert!(written.contains(setting.id), "{} was written nowhere", setting.id);
    }
}

/// One line of the boot loader on each machine after apply; other words stay.
#[test]
fn the_boot_loader_keeps_its_words() {
    let expected = [
        ("boot/loader/entries/a-6.12.41.conf", "root=UUID=x ro console=tty0 isolcpus="),
        ("boot/grub/grub.cfg", "linux\t/boot/vmlinuz-6.8.0 root=PARTUUID=x ro console=tty1 "),
        ("boot/grub/grub.cfg", "linux\t/boot/vmlinuz-6.8.0 root=PARTUUID=x ro console=tty1 "),
        ("boot/efi/loader/entries/arch.conf", "options root=PARTUUID=x rw quiet "),
    ];
    for (machine, (file, start)) in expected.into_iter().enumerate() {
        let bench = Bench::new(machine);
        let plan = bench.plan(Profile::TickToTrade, &[], Persistence::Always);
        let mut kernel = Kernel::new(&bench.root, Fault::Nothing);
        bench.apply(&mut kernel, &plan, OnFailure::GoOn).unwrap();
        let text = bench.root.read(file).unwrap();
        let line = text.lines().find(|line| line.contains(start)).unwrap_or_default();
        assert!(line.contains("nohz_full=") && line.contains("skew_tick=1"), "{file}: {text}");
        let rescue = bench.root.read("boot/loader/entries/a-0-rescue.conf");
        assert!(rescue.is_none_or(|text| !text.contains("nohz_full")), "{file}");
        assert!(!text.contains("nomodeset isolcpus"), "{text}");
        bench.revert();
        bench.is_as_before();
    }
}

/// After a reboot, live values are the distribution's again, and files are ours.
#[test]
fn a_reboot_in_between_changes_nothing() {
    let bench = Bench::new(0);
    let plan = bench.plan(Profile::TickToTrade, &[], Persistence::Always);
    let mut kernel = Kernel::new(&bench.root, Fault::Nothing);
    bench.apply(&mut kernel, &plan, OnFailure::GoOn).unwrap();
    let write = |path: &str, text: &str| std::fs::write(bench.root.path(path), text).unwrap();
    let old = |path: &str| bench.before[path].split_once(' ').unwrap().1.to_owned();
    let boot_id = "proc/sys/kernel/random/boot_id";
    write(boot_id, "another\n");
    for path in ["proc/sys/vm/swappiness", "proc/irq/25/smp_affinity_list"] {
        write(path, &old(path));
    }
    // The interrupt's number went to another device, which keeps its own value.
    let interrupts = old("proc/interrupts").replace("eth0-Tx-Rx-1", "nvme1q0");
    write("proc/interrupts", &interrupts);
    write("proc/irq/28/smp_affinity_list", "3\n");
    assert!(failed(&bench.revert()).is_empty());
    assert_eq!(bench.root.read("proc/irq/28/smp_affinity_list").as_deref(), Some("3"));
    write("proc/irq/28/smp_affinity_list", &old("proc/irq/28/smp_affinity_list"));
    write("proc/interrupts", &old("proc/interrupts"));
    write(boot_id, &old(boot_id));
    bench.is_as_before();
}

#[test]
fn drift_is_seen_and_a_file_that_somebody_changed_is_kept() {
    let bench = Bench::new(1);
    let plan = bench.plan(Profile::Exchange, &[], Persistence::Always);
    let mut kernel = Kernel::new(&bench.root, Fault::Nothing);
    bench.apply(&mut kernel, &plan, OnFailure::GoOn).unwrap();
    let outcomes = || status(&Machine::new(bench.root.clone()), &bench.root, &bench.journal());
    assert!(outcomes().iter().all(|one| one.outcome != "drifted"), "{:?}", outcomes());
    assert!(outcomes().iter().any(|one| one.outcome == "after_reboot"));
    let config = bench.root.path("boot/grub/grub.cfg");
    let ours = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, format!("{ours}# mine\n")).unwrap();
    std::fs::write(bench.root.path("proc/sys/vm/swappiness"), "33\n").unwrap();
    let drifted: Vec<String> = outcomes()
        .into_iter()
        .filter(|one| one.outcome == "drifted")
        .map(|one| one.place)
        .collect();
    assert_eq!(drifted, ["kernel:/proc/sys/vm/swappiness", "file:/boot/grub/grub.cfg"]);
    let kept: Vec<Outcome> =
        bench.revert().into_iter().filter(|one| one.outcome == "kept").collect();
    assert_eq!(kept.len(), 1, "{kept:?}");
    std::fs::write(&config, ours).unwrap();
    bench.revert();
    bench.is_as_before();
}

#[test]
fn two_at_once_are_rejected() {
    let bench = Bench::new(2);
    let held = bench.journal();
    let error = Journal::open(bench.state.path()).unwrap_err();
    assert!(matches!(error, JournalError::Locked(_)), "{error}");
    drop(held);
    bench.journal();
}

/// A kernel's errors for a write, errno(3): EPERM, ENOENT, EIO, EBUSY, EINVAL.
const REJECTIONS: [i32; 5] = [1, 2, 5, 16, 22];

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        (0_usize..400).prop_map(Fault::Stop),
        (0_usize..400).prop_map(Fault::Tear),
        (1_usize..130, 0..REJECTIONS.len())
            .prop_map(|(at, which)| Fault::Reject(at, REJECTIONS[which])),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: testing::cases(60), ..ProptestConfig::default() })]
    #[test]
    fn any_prefix_of_apply_then_revert_restores_the_same_bytes(
        machine in 0_usize..5,
        profile in 0_usize..4,
        fault in fault(),
        rolls_back in any::<bool>(),
        cut_again in prop::option::of(0_usize..200),
    ) {
        let bench = Bench::new(machine);
        let plan = bench.plan(Profile::ALL[profile], &[], Persistence::Always);
        let mut kernel = Kernel::new(&bench.root, fault);
        let on_failure = if rolls_back { OnFailure::RollBack } else { OnFailure::GoOn };
        let outcomes = bench.apply(&mut kernel, &plan, on_failure);
        match (fault, outcomes) {
            (Fault::Reject(at, _), Ok(outcomes)) if kernel.writes() >= at => {
                let failures = failed(&outcomes);
                prop_assert!(!failures.is_empty(), "{:?}", outcomes);
                let follows = |one: &&Outcome| is_below(failures[0], one);
                prop_assert!(failures[1..].iter().all(follows), "{:?}", failures);
                if rolls_back {
                    bench.is_as_before();
                }
            }
            (Fault::Stop(at) | Fault::Tear(at), Err(_)) => {
                prop_assert!(kernel.operations() > at);
            }
            (_, outcomes) => prop_assert!(outcomes.is_ok()),
        }
        // A revert may be interrupted too.
        if let Some(at) = cut_again {
            let mut kernel = Kernel::new(&bench.root, Fault::Stop(at));
            let _ = revert(&mut kernel, &bench.root, &mut bench.journal(), &StepSelection::All, false);
        }
        let outcomes = bench.revert();
        prop_assert!(failed(&outcomes).is_empty(), "{:?}", outcomes);
        bench.is_as_before();
    }
}

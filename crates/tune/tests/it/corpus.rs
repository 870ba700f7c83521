//! Machines shaped after public ones: `tests/corpus/NAME.machine` has the files, `NAME.plan` the
//! plan for the cores that its first line names. UPDATE_EXPECT=1 writes the plans.

use std::fmt::Write;
use std::path::Path;
use std::sync::LazyLock;

use clock::Clock;
use expect_test::expect_file;
use host::{Cores, Root, Topology, capture};
use record::tune::{State, Survey};
use tune::Inspection;
use tune::apply::{OnFailure, apply};
use tune::goal::{Goal, Profile};
use tune::journal::Journal;
use tune::revert::{StepSelection, revert};
use tune::survey::{Choice, Surveyor};
use tune::system::Machine;

use crate::kernel::bytes;
use crate::room::tree;

static CLOCK: LazyLock<Clock> = LazyLock::new(Clock::calibrate);

const SETTINGS: [&str; 8] = [
    "kernel.isolcpus",
    "kernel.nohz_full",
    "kernel.rcu_nocbs",
    "kernel.skew_tick",
    "irq.affinity",
    "sysctl.vm.swappiness",
    "sysctl.vm.stat_interval",
    "sysctl.net.ipv4.tcp_autocorking",
];

fn plan(root: &Root, cores: &Cores) -> Survey {
    let online = Topology::read(root).online.unwrap();
    let mut seen = Inspection::read(root, capture(root, &CLOCK, None), &[], &online);
    let goal = Goal::find(&seen, Profile::Exchange, cores, &[]).unwrap();
    seen.cores.clone_from(&goal.cores);
    let system = Machine::new(root.clone());
    let surveyor = Surveyor { system: &system, root, seen: &seen, goal: &goal, tool: "a test" };
    let ids = SETTINGS.map(str::to_owned).to_vec();
    surveyor.plan(&Choice { ids, ..Choice::default() }).unwrap()
}

/// States, reasons, and the changed lines of files.
fn shown(plan: &Survey) -> String {
    let mut out = String::new();
    for one in &plan.settings {
        let _ = writeln!(out, "{}: {}: {}", one.id, one.state.name(), one.found);
        let of_files = one.needs.iter().filter(|need| need.contains('/'));
        out.extend(of_files.map(|need| format!("    {need}\n")));
    }
    let steps = plan.settings.iter().flat_map(|one| &one.steps).chain(&plan.persistence);
    for step in steps {
        let _ = writeln!(out, "{}", step.place);
        let before: Vec<&str> = step.before.as_deref().unwrap_or_default().lines().collect();
        let after: Vec<&str> = step.after.as_deref().unwrap_or_default().lines().collect();
        for (sign, lines, others) in [("-", &before, &after), ("+", &after, &before)] {
            let differing = lines.iter().filter(|line| !others.contains(line));
            out.extend(differing.map(|line| {
                format!(
                    "  {sign} {line}
"
                )
            }));
        }
    }
    out
}

#[test]
fn each_machine_has_its_plan_and_goes_there_and_back() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut machines: Vec<_> =
        std::fs::read_dir(&corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
    machines.retain(|path| path.extension().is_some_and(|extension| extension == "machine"));
    assert!(machines.len() >= 11, "{machines:?}");
    for machine in machines {
        let text = std::fs::read_to_string(&machine).unwrap();
        let (first, files) = text.split_once('\n').unwrap();
        let cores: Cores = first.strip_prefix("# cores ").unwrap().parse().unwrap();
        let directories = "etc/sysctl.d/README: files\netc/systemd/system/mine.service: [Unit]\n";
        let (directory, root) = tree::machine(&format!("{directories}{files}"));
        let before = bytes(directory.path());
        let planned = plan(&root, &cores);
        expect_file![machine.with_extension("plan")].assert_eq(&shown(&planned));
        let state = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(state.path()).unwrap();
        let mut system = Machine::new(root.clone());
        let done = apply(&mut system, &root, &mut journal, &planned, OnFailure::GoOn).unwrap();
        assert!(done.iter().all(|one| one.outcome != "failed"), "{machine:?}: {done:?}");
        // Read back, nothing is left to do; what can't be told stays so.
        let again = plan(&root, &cores);
        for (one, then) in again.settings.iter().zip(&planned.settings) {
            assert_ne!(one.state, State::Better, "{machine:?}: {one:?}");
            assert_eq!(one.state == State::Unknown, then.state == State::Unknown, "{one:?}");
        }
        assert!(again.persistence.is_empty(), "{machine:?}: {:?}", again.persistence);
        revert(&mut system, &root, &mut journal, &StepSelection::All, false).unwrap();
        assert_eq!(bytes(directory.path()), before, "{machine:?}");
    }
}

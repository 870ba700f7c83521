//! Checks whether applied settings have an effect in the kernel: interrupts, the tick, idle states.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use clock::Deadline;
use host::interrupts::{self, Interrupt, InterruptKind};
use host::topology::format_core_list;
use host::{Root, thread::pin};
use record::tune::StepResult as Outcome;

use crate::goal::Goal;

/// Duration of the check.
const WATCHED: Duration = Duration::from_secs(1);
/// A core without a tick still has one a second for its statistics, and some at the edges.
const TICKS_MAX: u64 = 20;
/// As `wishes::IDLE_EXIT_US_MAX`.
const IDLE_EXIT_US_MAX: u64 = 10;

/// Watches the measured cores for a second and reports each effect.
pub fn effects(root: &Root, goal: &Goal, applied: &[Outcome]) -> Vec<Outcome> {
    let is_applied = |id: &str| applied.iter().any(|one| one.setting == id);
    let mut outcomes = Vec::new();
    let before = (interrupts::read(root).unwrap_or_default(), deep_entries(root, &goal.cores));
    thread::sleep(WATCHED);
    let after = (interrupts::read(root).unwrap_or_default(), deep_entries(root, &goal.cores));
    if is_applied("irq.affinity") {
        outcomes.push(moved(&before.0, &after.0, &goal.cores));
    }
    if ["cpu.idle_states", "cpu.resume_latency", "cpu.dma_latency"].iter().any(|id| is_applied(id))
    {
        outcomes.push(awake(before.1, after.1));
    }
    let nohz = root.read_text("sys/devices/system/cpu/nohz_full").unwrap_or_default();
    let nohz = host::topology::parse_core_list(&nohz).unwrap_or_default();
    for core in goal.cores.iter().filter(|core| nohz.contains(core)) {
        outcomes.push(without_tick(root, *core));
    }
    outcomes
}

fn told(setting: &str, place: &str, outcome: &str, detail: String) -> Outcome {
    Outcome {
        setting: setting.to_owned(),
        place: place.to_owned(),
        outcome: outcome.to_owned(),
        detail,
    }
}

/// Interrupts on the measured cores during the check. An interrupt that does not occur says
/// nothing, because the kernel moves it at its next occurrence.
fn moved(before: &[Interrupt], after: &[Interrupt], cores: &[usize]) -> Outcome {
    let place = format!("interrupts on cores {}", format_core_list(cores));
    let devices = |all: &[Interrupt]| -> BTreeMap<String, (u64, u64)> {
        let devices = all.iter().filter(|one| one.kind == InterruptKind::Device);
        let counts = |one: &Interrupt| {
            let all: Vec<usize> = one.counts.keys().copied().collect();
            (one.count_on(cores), one.count_on(&all))
        };
        devices.map(|one| (format!("{} {}", one.id, one.name), counts(one))).collect()
    };
    let (before, after) = (devices(before), devices(after));
    let came = |name: &String, now: &(u64, u64)| {
        let then = before.get(name).copied().unwrap_or_default();
        (now.0.saturating_sub(then.0), now.1.saturating_sub(then.1))
    };
    let came: Vec<(&String, (u64, u64))> =
        after.iter().map(|(name, now)| (name, came(name, now))).collect();
    let strays: Vec<String> = came
        .iter()
        .filter(|(_, (here, _))| *here > 0)
        .map(|(name, (here, _))| format!("{name}: {here}"))
        .collect();
    let elsewhere: u64 = came.iter().map(|(_, (_, all))| all).sum();
    match (strays.is_empty(), elsewhere) {
        (false, _) => told("irq.affinity", &place, "not_effective", strays.join(", ")),
        (true, 0) => told(
            "irq.affinity",
            &place,
            "unknown",
            "no device raised one during the check".to_owned(),
        ),
        (true, all) => {
            told("irq.affinity", &place, "effective", format!("all {all} came to other cores"))
        }
    }
}

/// How often the cores entered states with a long exit latency; `None` without such states.
fn deep_entries(root: &Root, cores: &[usize]) -> Option<u64> {
    let mut entries = None;
    for core in cores {
        let directory = format!("sys/devices/system/cpu/cpu{core}/cpuidle");
        for state in root.numbered(&directory, "state").unwrap_or_default() {
            let state = format!("{directory}/state{state}");
            let exit_us: u64 = root.read_value(format!("{state}/latency")).unwrap_or_default();
            if exit_us > IDLE_EXIT_US_MAX {
                let usage: u64 = root.read_value(format!("{state}/usage")).unwrap_or_default();
                entries = Some(entries.unwrap_or(0) + usage);
            }
        }
    }
    entries
}

fn awake(before: Option<u64>, after: Option<u64>) -> Outcome {
    let place = "idle states of the measured cores";
    let (outcome, detail) = match (before, after) {
        (Some(before), Some(after)) if after > before => {
            ("not_effective", format!("{} deep sleeps during the check", after - before))
        }
        (Some(_), Some(_)) => ("effective", "no deep sleep during the check".to_owned()),
        _ => ("unknown", "no idle state has a long exit latency".to_owned()),
    };
    told("cpu.idle_states", place, outcome, detail)
}

/// Spins on the core and counts its timer's interrupts.
fn without_tick(root: &Root, core: usize) -> Outcome {
    let place = format!("tick on core {core}");
    let count = || {
        let all = interrupts::read(root)?;
        let timers = all.iter().filter(|one| one.kind == InterruptKind::Timer);
        Some(timers.map(|one| one.count_on(&[core])).sum::<u64>())
    };
    let spun = thread::spawn(move || {
        pin(core)?;
        let deadline = Deadline::after(WATCHED);
        while !deadline.left().is_zero() {
            std::hint::spin_loop();
        }
        Ok::<(), host::HostError>(())
    });
    let before = count();
    let done = spun.join();
    let (outcome, detail) = match (done, before, count()) {
        (Ok(Ok(())), Some(before), Some(after)) => {
            let ticks = after.saturating_sub(before);
            let outcome = if ticks > TICKS_MAX { "not_effective" } else { "effective" };
            (outcome, format!("{ticks} timer interrupts in a second"))
        }
        (Ok(Err(error)), ..) => ("unknown", error.to_string()),
        _ => ("unknown", "the interrupts can't be read".to_owned()),
    };
    told("kernel.nohz_full", &place, outcome, detail)
}

//! Windows from records, and a disturbance that a real kernel reports.

use super::core::Core;
use super::*;
use crate::trace::records::Switch;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The measured process, its measured thread, its helper thread, and another program.
const PROCESS: i32 = 7;
const MEASURED: i32 = 70;
const HELPER: i32 = 71;
const OTHER: i32 = 99;

fn process_of(thread: i32) -> i32 {
    if [MEASURED, HELPER].contains(&thread) { PROCESS } else { thread }
}

fn names() -> Names {
    let mut names = Names::default();
    for thread in [5, MEASURED, HELPER, OTHER] {
        names.know(thread, &thread.to_string(), false);
    }
    names
}

/// Threads that run after one another on a core: number, start, end, and whether it was preempted.
fn evaluated(runs: impl IntoIterator<Item = (i32, u64, u64, bool)>) -> CoreOccupancy {
    let (mut core, names) = (Core::new(0), names());
    for (thread, from_ns, to_ns, preempted) in runs {
        let process = process_of(thread);
        core.take(Switch::On { process, thread, at_ns: from_ns }, &[PROCESS], &names);
        core.take(Switch::Off { process, thread, at_ns: to_ns, preempted }, &[PROCESS], &names);
    }
    core.finish()
}

fn told(runs: &[(i32, u64, u64, bool)]) -> Vec<(u64, u64, i32)> {
    let (windows, names) = (evaluated(runs.iter().copied()).windows, names());
    let by = |one: &Window| names.of(one.by).parse().unwrap();
    windows.iter().map(|one| (one.start_ns, one.end_ns, by(one))).collect()
}

/// On a busy machine, memory once grew by kilobytes a second until it was full, and nothing of a
/// day's run was judged.
#[test]
fn windows_past_the_limit_are_summed() {
    let later = 1_000;
    let count = WINDOWS_MAX as u64 + later;
    let turn = |n: u64| {
        [
            (MEASURED, 1_000 * n, 1_000 * n + 900, true),
            (OTHER, 1_000 * n + 900, 1_000 * n + 1_000, true),
        ]
    };
    let last = (MEASURED, 1_000 * count, 1_000 * count + 1, true);
    let occupancy = evaluated((0..count).flat_map(turn).chain([last]));
    assert_eq!(occupancy.windows.len(), WINDOWS_MAX);
    let name = names().of_thread(OTHER);
    let taken = CoreShare { windows: later, ns: 100 * later, longest_ns: 100 };
    assert_eq!(occupancy.windows_later, BTreeMap::from([(name, taken)]));
    assert!(!occupancy.is_exact() && occupancy.lost == 0);
}

#[test]
fn a_preempted_thread_has_a_window_and_the_window_has_a_name() {
    let runs = [
        (MEASURED, 0, 1_000_000, true),
        (5, 1_000_000, 1_001_000, false),
        (OTHER, 1_001_000, 1_050_000, true),
        (MEASURED, 1_050_000, 2_000_000, false),
    ];
    assert_eq!(told(&runs), [(1_000_000, 1_050_000, OTHER)]);
}

#[test]
fn a_thread_that_waits_is_disturbed_only_by_who_runs_when_it_is_woken() {
    let idle_between = [
        (MEASURED, 0, 1_000_000, false),
        (OTHER, 1_000_000, 1_020_000, false),
        (0, 1_020_000, 1_400_000, false),
        (MEASURED, 1_400_000, 1_500_000, false),
    ];
    assert_eq!(told(&idle_between), []);
    let runs_to_the_end = [
        (MEASURED, 0, 1_000_000, false),
        (0, 1_000_000, 1_300_000, false),
        (OTHER, 1_300_000, 1_400_000, true),
        (MEASURED, 1_400_000, 1_500_000, false),
    ];
    assert_eq!(told(&runs_to_the_end), [(1_300_000, 1_400_000, OTHER)]);
}

#[test]
fn a_helper_of_the_measured_process_is_a_disturber_like_others() {
    let runs = [
        (HELPER, 0, 10_000, false),
        (MEASURED, 10_000, 1_000_000, true),
        (HELPER, 1_000_000, 1_030_000, false),
        (MEASURED, 1_030_000, 2_000_000, false),
    ];
    assert_eq!(told(&runs), [(1_000_000, 1_030_000, HELPER)]);
}

/// CPU time of the calling thread, ns (`/proc/PID/schedstat`, whose first number it is).
fn own_cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split_whitespace().next().unwrap().parse().unwrap()
}

/// On a real core: a process is measured, and one of its threads takes the core. In its own
/// process, because the thread that ran longest counts as the measured one, and other tests have
/// threads too.
#[test]
fn a_thread_that_takes_a_core_is_seen_and_named() {
    const CHILD: &str = "TICKPATH_TEST_ACCOUNT";
    if std::env::var_os(CHILD).is_some() {
        return take_a_core();
    }
    if !testing::child::is_possible() {
        return;
    }
    let name = testing::test_name!(a_thread_that_takes_a_core_is_seen_and_named);
    let done = testing::child::again(&name).env(CHILD, "1").output().unwrap();
    let printed = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{printed}{}", String::from_utf8_lossy(&done.stderr));
}

fn take_a_core() {
    let core = *host::thread::allowed().unwrap().last().unwrap();
    let occupancy = Occupancy::start(&[core]);
    occupancy.is_measured(rustix::process::getpid());
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (over, (started, starts)) = (&over, std::sync::mpsc::channel());
        scope.spawn(move || {
            host::thread::pin(core).unwrap();
            // It must have run longest, even on a busy machine.
            while own_cpu_ns() < 100_000_000 {}
            started.send(()).unwrap();
            while own_cpu_ns() < 400_000_000 || !over.load(Ordering::Relaxed) {}
        });
        let intruder = std::thread::Builder::new().name("intruder".to_owned());
        let busy = move || {
            host::thread::pin(core).unwrap();
            starts.recv().unwrap();
            while own_cpu_ns() < 100_000_000 {}
            // A name is read while its thread is alive: once a second.
            std::thread::sleep(Duration::from_millis(1_100));
            over.store(true, Ordering::Relaxed);
        };
        intruder.spawn_scoped(scope, busy).unwrap();
    });
    let recorded = occupancy.finish();
    if !recorded.missing.is_empty() {
        testing::skip!(Tracepoints, "{}", recorded.missing);
    }
    let on_core = &recorded.cores[0];
    let taken_ns: u64 = on_core
        .windows
        .iter()
        .filter(|one| recorded.names.of(one.by) == "intruder")
        .map(|one| one.end_ns - one.start_ns)
        .sum();
    // It ran for 100 ms; a window that it shared with a third thread may have that one's name.
    assert!(taken_ns > 10_000_000, "{taken_ns} ns in {:?}", on_core.windows);
}

//! Tasks other than passes: a schedule, a journal, and an early end.

use clock::schedule::Arrival;
use engine_bench::EngineBenchError;
use plan::process::engine::{EnginePlan, JournalMode, Task, Timing};
use record::ClientResult;
use std::path::Path;
use std::sync::atomic::AtomicBool;

fn timing(operations: u64) -> Timing {
    Timing {
        rate_per_second: 20_000.0,
        arrival: Arrival::Uniform,
        burst: 1,
        warm_up_operations: 2_000,
        operations,
    }
}

fn plan(row: &str, task: Task, directory: &Path) -> EnginePlan {
    EnginePlan {
        subject: "it".to_owned(),
        row: row.to_owned(),
        task,
        accounts: 100,
        seed: 42,
        core: None,
        scheduling: host::Scheduling::Other,
        hlog: directory.join("log").display().to_string(),
        progress: false,
    }
}

fn carried_out(plan: &EnginePlan) -> ClientResult {
    engine_bench::run(plan, &AtomicBool::new(false), &mut |_| ()).unwrap()
}

fn recorded(plan: &EnginePlan, kind: &str) -> u64 {
    let log = std::fs::read(&plan.hlog).unwrap();
    record::hlog::totals(&log[..]).unwrap()[&format!("it.operation.{kind}")].len()
}

#[test]
fn every_operation_of_a_schedule_is_done_and_its_state_is_a_replays() {
    let directory = tempfile::tempdir().unwrap();
    let plan = plan("shallow-risk", Task::Open { timing: timing(5_000) }, directory.path());
    let result = carried_out(&plan);
    assert!(result.complete, "{result:?}");
    let load = &result.load;
    assert_eq!((load.sent, load.received, load.lost, load.rejected), (5_000, 5_000, 0, 0));
    assert_eq!((load.engine[0].replays, load.engine[0].replays_unequal), (1, 0));
    assert_eq!((recorded(&plan, "response"), recorded(&plan, "service")), (5_000, 5_000));
}

#[test]
fn a_journal_replayed_is_in_the_engines_state_whatever_its_mode() {
    for (mode, replays) in [(JournalMode::None, 1), (JournalMode::Async, 2), (JournalMode::Sync, 2)]
    {
        let directory = tempfile::tempdir().unwrap();
        let journal = directory.path().join("journal");
        let task = Task::Journal {
            timing: timing(3_000),
            mode,
            directory: journal.display().to_string(),
            writer_core: None,
        };
        let plan = plan("shallow-risk", task, directory.path());
        let result = carried_out(&plan);
        assert!(result.complete, "{mode:?}: {result:?}");
        let matching = &result.load.engine[0];
        assert_eq!((matching.replays, matching.replays_unequal), (replays, 0), "{mode:?}");
        assert_eq!((result.load.received, recorded(&plan, "response")), (3_000, 3_000), "{mode:?}");
        assert_eq!(journal.exists(), mode != JournalMode::None);
        assert_eq!(matching.storage.is_some(), mode != JournalMode::None);
    }
}

#[test]
fn who_is_told_to_end_before_anything_was_measured_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let task = Task::Passes { operations: 1_000, passes: 1 };
    let plan = plan("shallow", task, directory.path());
    let stopped = engine_bench::run(&plan, &AtomicBool::new(true), &mut |_| ());
    assert!(matches!(stopped, Err(EngineBenchError::Interrupted)), "{stopped:?}");
}

#[test]
fn an_impossible_task_is_rejected_with_its_key() {
    let directory = tempfile::tempdir().unwrap();
    let error = |row: &str, task: Task| {
        let plan = plan(row, task, directory.path());
        plan.check().unwrap_err().to_string()
    };
    let passes = |operations, passes| Task::Passes { operations, passes };
    assert!(error("shallow", passes(0, 1)).starts_with("operations = 0"));
    assert!(error("shallow", passes(u64::MAX, 1)).contains("more runs"));
    assert!(error("shallow", passes(1, 0)).starts_with("passes = 0"));
    assert!(error("ideal", passes(1, 1)).contains("schedule"));
    let open = Task::Open { timing: timing(10) };
    assert!(error("shallow-look-ahead", open).contains("back to back"));
    assert!(error("wide", passes(1, 1)).contains("shallow-risk"));
    let cold = Timing { warm_up_operations: 0, ..timing(10) };
    assert!(error("ideal", Task::Open { timing: cold }).contains("warm-up"));
    let stopped = Timing { rate_per_second: 0.0, ..timing(10) };
    assert!(error("shallow", Task::Open { timing: stopped }).starts_with("rate_per_second"));
}

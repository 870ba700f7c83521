//! A soak resumes as if it had not been interrupted, and a damaged state is rejected.

use super::*;
use crate::server::filled;
use plan::process::engine::{Task, find_row};

fn plan(row: &str) -> EnginePlan {
    EnginePlan {
        subject: "soak".to_owned(),
        row: row.to_owned(),
        task: Task::Soak { operations: 1, seconds: 0.0, state: String::new(), resume: None },
        accounts: 7,
        seed: 5,
        core: None,
        scheduling: host::Scheduling::Other,
        hlog: String::new(),
        progress: false,
    }
}

/// A small book of that row's kind, after `operations`.
fn soaked(plan: &EnginePlan, operations: usize) -> (Flow, Engine) {
    let row = find_row(&plan.row).unwrap();
    let (mut flow, prefill) = Flow::bounded(small(), plan.accounts, plan.seed);
    let mut engine = filled(row, plan.accounts, flow.open_orders_max(), &prefill);
    go_on(&mut flow, &mut engine, operations);
    (flow, engine)
}

fn small() -> Shape {
    Shape { live: 100, depth_ticks: 20 }
}

fn go_on(flow: &mut Flow, engine: &mut Engine, operations: usize) {
    (0..operations).for_each(|_| engine.apply(&flow.next_input(), &mut |_| ()));
}

#[test]
fn who_goes_on_does_what_would_have_been_done() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state");
    for row in ["shallow", "shallow-risk"] {
        let plan = plan(row);
        let (mut flow, mut engine) = soaked(&plan, 5_000);
        save(&path, &plan, &flow, &engine).unwrap();
        let (mut flow_too, mut engine_too) = load(&path, &plan, small()).unwrap();
        assert_eq!((flow_too.operations(), &flow_too.live), (5_000, &flow.live));
        assert_eq!(engine_too.state_hash(), engine.state_hash());
        go_on(&mut flow, &mut engine, 5_000);
        go_on(&mut flow_too, &mut engine_too, 5_000);
        assert_eq!(flow_too.live, flow.live);
        assert_eq!(engine_too.state_hash(), engine.state_hash(), "{row}");
    }
}

#[test]
fn a_byte_that_changed_anywhere_is_noticed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state");
    let plan = plan("shallow");
    let (flow, engine) = soaked(&plan, 100);
    save(&path, &plan, &flow, &engine).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let is_damaged = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        matches!(load(&path, &plan, small()), Err(StateError::Damaged { .. }))
    };
    for at in (0..whole.len()).step_by(13).chain([whole.len() - 1]) {
        let mut changed = whole.clone();
        changed[at] ^= 0x10;
        assert!(is_damaged(&changed), "byte {at}");
        assert!(is_damaged(&whole[..at]), "cut off at {at}");
    }
    assert!(!is_damaged(&whole));
}

#[test]
fn the_state_of_another_soak_is_rejected_with_the_difference() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state");
    let left = plan("shallow");
    let (flow, engine) = soaked(&left, 100);
    save(&path, &left, &flow, &engine).unwrap();
    let complaint = |plan: EnginePlan| load(&path, &plan, small()).unwrap_err().to_string();
    assert!(
        complaint(EnginePlan { seed: 6, ..left.clone() })
            .contains("its load.seed is 5, and the plan has 6")
    );
    assert!(complaint(EnginePlan { accounts: 8, ..left.clone() }).contains("load.accounts"));
    assert!(complaint(plan("shallow-risk")).contains("the row"));
    let nowhere = load(&directory.path().join("nowhere"), &left, small()).unwrap_err().to_string();
    assert!(nowhere.contains("cannot read") && nowhere.contains("left its state"), "{nowhere}");
}

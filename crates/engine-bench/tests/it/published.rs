//! Workload W1 against its published counts, which every engine measured so far gives.

use plan::process::engine::{EnginePlan, Task};
use record::ClientResult;
use record::engine::Counts;
use std::path::Path;
use std::sync::atomic::AtomicBool;

fn plan(row: &str, operations: u64, directory: &Path) -> EnginePlan {
    EnginePlan {
        subject: row.to_owned(),
        row: row.to_owned(),
        task: Task::Passes { operations, passes: 2 },
        accounts: 1_000,
        seed: 42,
        core: None,
        scheduling: host::Scheduling::Other,
        hlog: directory.join(format!("{row}.hlog")).display().to_string(),
        progress: false,
    }
}

fn carried_out(plan: &EnginePlan) -> ClientResult {
    engine_bench::run(plan, &AtomicBool::new(false), &mut |_| ()).unwrap()
}

/// The published cancel acks include the 6 586 expired remainders of IOC orders.
const PUBLISHED: Counts = Counts {
    acks: 1_058_830,
    trades: 291_142,
    cancel_acks: 730_756 - 6_586,
    expired: 6_586,
    modify_acks: 86_377,
    cancel_rejects: 116_625,
    modify_rejects: 13_998,
    refused: 0,
    unanswered: 0,
};

#[test]
fn two_million_operations_give_the_published_counts_with_risk_and_without() {
    let directory = tempfile::tempdir().unwrap();
    let mut hashes = Vec::new();
    for row in ["shallow", "shallow-risk"] {
        let plan = plan(row, 2_000_000, directory.path());
        let result = carried_out(&plan);
        assert!(result.complete, "{result:?}");
        let matching = &result.load.engine[0];
        assert_eq!(matching.counts, PUBLISHED, "{row}");
        assert_eq!((matching.replays, matching.replays_unequal), (3, 0), "{row}");
        assert_eq!(matching.passes_ns.len(), 2);
        let log = std::fs::read(&plan.hlog).unwrap();
        let totals = record::hlog::totals(&log[..]).unwrap();
        assert_eq!(totals[&format!("{row}.operation.service")].len(), 2_000_000);
        hashes.push(matching.state_hash.clone());
    }
    assert_ne!(hashes[0], hashes[1], "an engine with accounts has more state");
}

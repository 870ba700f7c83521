//! Compares the rows with the empty dispatch: throughput as a ratio, latencies as differences. The
//! rows take turns, each time with a fresh engine, so that a slow phase of the machine affects all
//! of them.
//!
//! `cargo bench -p engine-bench` compares all rows. Arguments select rows by name, and `--turns N`
//! sets the number of turns. `cargo test --benches` only checks that each row runs to its end.

use host::scheduling::Scheduling;
use plan::process::engine::OPERATION;
use plan::process::engine::{EnginePlan, Task};
use plan::process::engine::{ROWS, ServerKind};
use record::engine::EMPTY_DISPATCH;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Operations of W1's published counts.
const OPERATIONS: u64 = 2_000_000;
const TURNS: usize = 5;

/// Figures of one row in one turn.
struct Figures {
    operations_per_second: f64,
    p50_ns: f64,
    p99_ns: f64,
    p99_9_ns: f64,
}

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_timed = arguments.iter().any(|argument| argument == "--bench");
    let mut turns = if is_timed { TURNS } else { 1 };
    if let Some(at) = arguments.iter().position(|argument| argument == "--turns") {
        turns = arguments[at + 1].parse().expect("--turns takes a number");
        arguments.drain(at..at + 2);
    }
    let operations = if is_timed { OPERATIONS } else { 1_000 };
    let is_chosen = |name: &&str| {
        let chosen: Vec<&String> =
            arguments.iter().filter(|name| !name.starts_with("--")).collect();
        chosen.is_empty() || *name == EMPTY_DISPATCH || chosen.iter().any(|one| one == name)
    };
    let rows: Vec<&str> = ROWS
        .iter()
        .filter(|row| row.serves != ServerKind::Burner)
        .map(|row| row.name)
        .filter(is_chosen)
        .collect();
    let directory = tempfile::tempdir().expect("a directory for logs");
    let mut figures: Vec<Vec<Figures>> = rows.iter().map(|_| Vec::new()).collect();
    for turn in 0..turns {
        for (name, figures) in rows.iter().zip(&mut figures) {
            figures.push(run(name, operations, &directory.path().join(format!("{name}-{turn}"))));
        }
    }
    if is_timed {
        print(&rows, &figures);
    }
}

fn run(row: &str, operations: u64, hlog: &Path) -> Figures {
    let plan = EnginePlan {
        subject: row.to_owned(),
        row: row.to_owned(),
        task: Task::Passes { operations, passes: 1 },
        accounts: 1_000,
        seed: 42,
        core: None,
        scheduling: Scheduling::Other,
        hlog: hlog.display().to_string(),
        progress: false,
    };
    let result = engine_bench::run(&plan, &AtomicBool::new(false), &mut |_| ()).expect("a result");
    assert!(result.complete, "{row}: {:?}", result.failures);
    assert_eq!(result.load.engine[0].replays_unequal, 0, "{row}");
    let log = std::fs::read(hlog).expect("the log");
    let totals = record::hlog::totals(&log[..]).expect("a log of intervals");
    let histogram = &totals[&format!("{row}.{OPERATION}.service")];
    let at = |quantile| histogram.value_at_quantile(quantile) as f64;
    Figures {
        operations_per_second: result.load.rate_per_second_achieved,
        p50_ns: at(0.5),
        p99_ns: at(0.99),
        p99_9_ns: at(0.999),
    }
}

/// The median over the turns of `of`, applied to a row's figures and the empty dispatch's in the
/// same turn.
fn median(row: &[Figures], dispatch: &[Figures], of: impl Fn(&Figures, &Figures) -> f64) -> f64 {
    let mut values: Vec<f64> =
        row.iter().zip(dispatch).map(|(one, other)| of(one, other)).collect();
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

fn print(rows: &[&str], figures: &[Vec<Figures>]) {
    let at = rows.iter().position(|name| *name == EMPTY_DISPATCH).expect("always chosen");
    let dispatch = &figures[at];
    println!(
        "{:<22} {:>8} {:>9} {:>7} {:>7} {:>7} {:>9}",
        "row", "Mops/s", "of empty", "p50", "p99", "p99.9", "p50 over"
    );
    for (name, row) in rows.iter().zip(figures) {
        println!(
            "{name:<22} {:>8.2} {:>9.3} {:>7.0} {:>7.0} {:>7.0} {:>9.0}",
            median(row, dispatch, |one, _| one.operations_per_second / 1e6),
            median(row, dispatch, |one, other| one.operations_per_second
                / other.operations_per_second),
            median(row, dispatch, |one, _| one.p50_ns),
            median(row, dispatch, |one, _| one.p99_ns),
            median(row, dispatch, |one, _| one.p99_9_ns),
            median(row, dispatch, |one, other| one.p50_ns - other.p50_ns),
        );
    }
}

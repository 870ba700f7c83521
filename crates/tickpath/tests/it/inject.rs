//! Faults on purpose, through whole processes: tickpath sees each, and says that it was asked for.

use crate::support::*;
use serde_json::Value;

/// The exit status, the record and the table of a short run with these keys set.
fn run_with(sets: &[&str]) -> (Option<i32>, Value, String) {
    let runs = tempfile::tempdir().unwrap();
    let out = runs.path().display().to_string();
    let sets = sets.iter().flat_map(|set| ["--set", set]);
    let done = tickpath().args(SHORT).args(["--out", &out]).args(sets).output().unwrap();
    assert!(!done.stdout.is_empty(), "{}", text(&done.stderr));
    (done.status.code(), record(&only_run(runs.path())), text(&done.stdout))
}

fn p(record: &Value, subject: &str, kind: &str, figure: &str) -> u64 {
    series(record, subject, "order", kind)["pooled"][figure].as_u64().unwrap()
}

#[test]
fn a_reply_that_the_exchange_drops_is_lost_and_makes_the_run_void() {
    let (status, record, table) = run_with(&["exchange.inject.drop_every=10"]);
    assert_eq!(status, Some(3), "{table}");
    assert!(is_void(&record));
    assert_eq!(rule(&record, "rust.replies")["verdict"], "broken");
    assert!(record["subjects"][0]["load"]["lost"].as_u64() > Some(0), "{record}");
    // The exchange got everything; the floor is the control and lost nothing.
    for held in ["rust.accounted", "rust.state", "floor.replies"] {
        assert_eq!(rule(&record, held)["verdict"], "held", "{record}");
    }
    assert_eq!(record["injected"], serde_json::json!(["exchange drop_every=10"]));
    let warning = record["warnings"][0].as_str().unwrap();
    assert!(warning.starts_with("faults were injected on purpose"), "{warning}");
    let words = table.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("· faults injected: exchange drop_every=10"), "{table}");
}

#[test]
fn a_message_that_the_client_drops_never_comes_to_the_exchange() {
    let (status, record, table) = run_with(&["subject.rust.inject.drop_every=10"]);
    assert_eq!(status, Some(3), "{table}");
    assert_eq!(rule(&record, "rust.replies")["verdict"], "broken");
    assert_eq!(rule(&record, "rust.accounted")["verdict"], "broken");
    assert_eq!(rule(&record, "floor.replies")["verdict"], "held");
    assert_eq!(record["injected"], serde_json::json!(["rust drop_every=10"]));
}

/// A delay of 5 ms before each answer is in every latency of the subject, and in none of the
/// floor's. It compares minima: with two busy loops on each core, every percentile is the
/// scheduler's.
#[test]
fn a_delay_in_the_answer_is_in_the_service_time() {
    let sets = [
        "exchange.inject.delay_us=5000",
        "load.model=ping-pong",
        "load.accounts=1",
        "load.connections=1",
        "seconds=1.5",
    ];
    let (_, record, table) = run_with(&sets);
    // The histogram keeps three digits.
    assert!(p(&record, "rust", "service", "min") >= 4_970_000, "{table}");
    assert!(p(&record, "floor", "service", "min") < 4_000_000, "{table}");
}

/// The client stands still 400 ms of each second. Messages that were due meanwhile have waited: the
/// response time has it, the service time has not. 40 ms of each 100 were too little: beside busy
/// loops the scheduler alone made both that long.
#[test]
fn a_stall_of_the_client_is_in_the_response_time() {
    let sets = [
        "subject.rust.inject.stall_ms=400",
        "subject.rust.inject.stall_every_ms=1000",
        "seconds=3.0",
    ];
    let (_, record, table) = run_with(&sets);
    let (response, service) =
        (p(&record, "rust", "response", "p90"), p(&record, "rust", "service", "p90"));
    assert!(response > 2 * service, "{table}");
    assert_eq!(record["injected"], serde_json::json!(["rust stall_ms=400 stall_every_ms=1000"]));
}

#[test]
fn without_faults_nothing_is_said_of_them() {
    let (_, record, table) = run_with(&["floor_seconds=0", "hiccup_seconds=0"]);
    assert_eq!(record.get("injected"), None);
    assert!(!table.contains("injected"), "{table}");
}

#[test]
fn what_can_not_be_injected_is_rejected() {
    for (arguments, expected) in [
        (&["run", "--set", "exchange.inject.delay_us=-1"][..], "delay_us"),
        (&["run", "--set", "exchange.inject.drop=1"], "There are: delay_us"),
        (
            &["run", "--set", "subject.rust.inject.stall_ms=5000"],
            "subject.rust.inject.stall_ms = 5000",
        ),
        (
            &[
                "run",
                "--set",
                "subject.rust.command=[\"x\"]",
                "--set",
                "subject.rust.inject.stall_ms=5",
            ],
            "its own client only",
        ),
        (&["exchange", "--any-token", "--inject", "delay=5"], "delay_us, stall_ms"),
        (&["exchange", "--echo", "--inject", "delay_us=5"], "cannot be used with"),
    ] {
        let done = output(arguments);
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}

//! Messages that the kernel stamps, through whole processes: where the time of a round trip goes.

use crate::support::*;
use plan::segments::SEGMENTS;
use serde_json::Value;

/// A short ping-pong of one account.
const PING_PONG: [&str; 3] = ["load.model=ping-pong", "load.accounts=1", "load.connections=1"];

fn run_with(sets: &[&str]) -> (Option<i32>, Value, String) {
    let runs = tempfile::tempdir().unwrap();
    let out = runs.path().display().to_string();
    let sets = PING_PONG.iter().chain(sets).flat_map(|set| ["--set", set]);
    let done = tickpath().args(SHORT).args(["--out", &out]).args(sets).output().unwrap();
    assert!(!done.stdout.is_empty(), "{}", text(&done.stderr));
    (done.status.code(), record(&only_run(runs.path())), text(&done.stdout))
}

fn figure(record: &Value, subject: &str, segment: &str, name: &str) -> u64 {
    series(record, subject, segment, "service")["pooled"][name].as_u64().unwrap()
}

/// Every order and cancel is stamped, so that the least of each segment adds up to no more than the
/// least of a round trip, and the most of one to no less than the largest part.
#[test]
fn segments_of_an_order_are_parts_of_its_round_trip() {
    let (_, record, table) = run_with(&["load.stamp_every=1"]);
    assert!(!is_void(&record), "{table}");
    for subject in ["rust", "floor"] {
        let rows = record["subjects"].as_array().unwrap();
        let load = &rows.iter().find(|row| row["name"] == subject).unwrap()["load"];
        let stamped = load["stamped"]["messages"].as_u64().unwrap();
        assert!(stamped > 10 && stamped >= load["received"].as_u64().unwrap() - 2, "{load}");
        for segment in SEGMENTS {
            // The kernel stamps what arrives soon after it is asked to, not at once.
            let count = figure(&record, subject, segment, "count");
            assert!(count >= stamped * 9 / 10, "{segment}: {count} of {stamped}\n{table}");
        }
        let least: u64 = SEGMENTS.iter().map(|one| figure(&record, subject, one, "min")).sum();
        let most = |series: &str| figure(&record, subject, series, "max");
        let min = |series: &str| figure(&record, subject, series, "min");
        let bound_ns = load["stamped"]["bound_ns"].as_u64().unwrap();
        let round = min("order").min(min("cancel"));
        assert!(least > 0 && least <= round + 2 * bound_ns, "{least} {round} {bound_ns}\n{table}");
        let round = most("order").max(most("cancel"));
        for segment in SEGMENTS {
            // The histogram keeps three digits.
            let part = most(segment);
            assert!(part <= round + round / 500 + 2 * bound_ns, "{segment}: {part}\n{table}");
        }
    }
    let resolved = &record["resolved"]["load"]["stamp_every"];
    assert_eq!(resolved, 1, "{resolved}");
}

/// The exchange takes 2 ms for each reply, and the client stands still for 20 of every 21 ms: it
/// stands still when the reply comes, which waits in the kernel. The floor has neither.
#[test]
fn a_reply_that_waits_for_the_client_is_between_kernel_and_application() {
    let (_, record, table) = run_with(&[
        "load.stamp_every=1",
        "seconds=3",
        "exchange.inject.delay_us=2000",
        "subject.rust.inject.stall_ms=20",
        "subject.rust.inject.stall_every_ms=21",
    ]);
    let p50 = |subject: &str, segment: &str| figure(&record, subject, segment, "p50");
    let waited = p50("rust", "kernel_to_application");
    assert!(waited >= 10_000_000, "{waited}\n{table}");
    let answering = p50("rust", "driver_to_kernel");
    assert!(answering >= 1_990_000, "{answering}\n{table}");
    for (subject, segment) in [
        ("floor", "kernel_to_application"),
        ("rust", "application_to_queue"),
        ("rust", "queue_to_driver"),
    ] {
        let other = p50(subject, segment);
        assert!(waited >= 10 * other, "{subject}.{segment}: {other}, {waited}\n{table}");
    }
}

/// Requests over connections and over datagrams.
#[test]
fn segments_of_a_request_are_parts_of_its_round_trip() {
    for protocol in ["request.protocol=tcp", "request.protocol=udp"] {
        let runs = tempfile::tempdir().unwrap();
        let sets = [
            protocol,
            "load.stamp_every=2",
            "runs=1",
            "warm_up_seconds=0.1",
            "seconds=0.5",
            "bare_seconds=0",
            "hiccup_seconds=0",
            "exchange.backend=block",
            "subject.rust.backend=block",
        ];
        let sets = sets.iter().flat_map(|set| ["--set", set]);
        let out = runs.path().display().to_string();
        let done = tickpath().args(["run", "net-rr", "--out", &out]).args(sets).output().unwrap();
        let table = text(&done.stdout);
        assert!(!table.is_empty(), "{}", text(&done.stderr));
        let record = record(&only_run(runs.path()));
        assert!(!is_void(&record), "{table}");
        let load = &rust(&record)["load"];
        let stamped = load["stamped"]["messages"].as_u64().unwrap();
        let received = load["received"].as_u64().unwrap();
        assert!(stamped > 5 && stamped.abs_diff(received / 2) <= 2, "{load}");
        for segment in SEGMENTS {
            let count = figure(&record, "rust", segment, "count");
            assert!(count >= stamped * 9 / 10, "{segment}: {count} of {stamped}\n{table}");
        }
        let least = |series: &str| figure(&record, "rust", series, "min");
        let bound_ns = load["stamped"]["bound_ns"].as_u64().unwrap();
        let sum: u64 = SEGMENTS.iter().map(|segment| least(segment)).sum();
        let most = figure(&record, "rust", "request", "max");
        assert!(sum > 0 && sum <= most + most / 500 + 2 * bound_ns, "{sum} {most}\n{table}");
    }
}

/// One of eight orders: the others are as they would be without stamps, and no row has them.
#[test]
fn only_the_nth_order_is_stamped() {
    const ASSUMPTION: &str = "a run has so many orders that one more or less is no eighth of them";
    testing::quiet::or_doubled(ASSUMPTION, |factor| {
        let seconds = format!("seconds={factor}");
        let (_, record, table) = run_with(&["load.stamp_every=8", &seconds]);
        let load = &rust(&record)["load"];
        let stamped = load["stamped"]["messages"].as_f64().unwrap();
        let share = stamped / load["received"].as_f64().unwrap();
        testing::unless!((0.08..0.17).contains(&share), "{stamped}: {share}\n{table}");
        Ok::<(), String>(())
    });
}

#[test]
fn without_stamps_there_is_no_row_and_no_count() {
    let (_, record, table) = run_with(&["floor_seconds=0"]);
    assert_eq!(rust(&record)["load"]["stamped"], Value::Null);
    assert!(!table.contains("kernel_to_application"), "{table}");
}

#[test]
fn what_can_not_be_stamped_says_why() {
    for (set, why) in [
        ("subject.rust.backend=io_uring", "the kernel stamps for backends spin and block"),
        ("subject.rust.command=[\"true\"]", "only tickpath's own client reads the kernel's stamps"),
        ("request.inject.drop_every=100", "request.inject changes which reply a read brings"),
    ] {
        let scenario = if set.starts_with("request") { "net-one-way" } else { "ping-pong" };
        let done = output(&["run", scenario, "--set", "load.stamp_every=4", "--set", set]);
        let said = text(&done.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(done.status.code(), Some(2), "{said}");
        assert!(said.contains("load.stamp_every = 4") && said.contains(why), "{said}");
    }
}

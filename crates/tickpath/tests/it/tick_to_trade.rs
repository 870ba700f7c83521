//! From a tick to an order, through whole processes: what is counted, what must be equal, what adds
//! up, and in which stage a delay shows.

use crate::support::*;
use plan::segments::{FEED_SEGMENTS, SEGMENTS};
use serde_json::Value;
use std::path::Path;
use std::process::Output;

fn run(out: &Path, scenario: &str, sets: &[&str]) -> Output {
    let mut command = tickpath();
    command.args(["run", scenario, "--quiet", "--out"]).arg(out);
    for set in SHORT_TICKS.iter().chain(sets) {
        command.args(["--set", set]);
    }
    command.output().unwrap()
}

/// The record of a run in `out`, of which these rules of the trader held.
#[track_caller]
fn left(out: &Path, done: &Output, held: &[&str]) -> Value {
    let said = format!("{}{}", text(&done.stdout), text(&done.stderr));
    assert!(!done.stdout.is_empty(), "{said}");
    let record = record(&only_run(out));
    for name in held {
        let rule = rule(&record, &format!("rust.{name}"));
        assert_eq!(rule["verdict"], "held", "{rule}: {said}");
    }
    assert!(text(&done.stdout).lines().all(|line| line.chars().count() <= 100), "{said}");
    record
}

const ALL: &[&str] = &[
    "complete",
    "replies",
    "recorded",
    "accepted",
    "ticks",
    "book",
    "orders",
    "stages",
    "audit",
    "accounted",
    "state",
];

/// Where an order's time goes between the trader's write and its read of the reply.
#[test]
fn stamped_orders_split_the_way_to_the_exchange_and_back() {
    const ASSUMPTION: &str = "in 0.3 s some reply is read before the next one is there";
    testing::quiet::or_doubled(ASSUMPTION, |factor| {
        let out = tempfile::tempdir().unwrap();
        let floor_seconds = format!("floor_seconds={}", 0.3 * f64::from(factor));
        let sets = [&format!("seconds={factor}"), &floor_seconds, "load.stamp_every=2"];
        let done = run(out.path(), "tick-to-trade", &sets);
        let record = left(out.path(), &done, ALL);
        let table = text(&done.stdout);
        for name in ["rust", "floor"] {
            // Replies that are read together have one receive stamp.
            let series = subject(&record, name)["series"].as_array().unwrap();
            let has = |segment: &&str| series.iter().any(|one| one["name"] == **segment);
            testing::unless!(SEGMENTS.iter().all(has), "{name} has not all segments\n{table}");
            stamped_orders_add_up(&record, name, &table);
        }
        departures_add_up(&record, &table);
        Ok::<(), String>(())
    });
}

fn stamped_orders_add_up(record: &Value, name: &str, table: &str) {
    let load = &subject(record, name)["load"];
    let stamped = load["stamped"]["messages"].as_u64().unwrap();
    let samples = load["tick"][0]["samples"].as_u64().unwrap();
    // A later order is not stamped while the reply to an earlier one is not there.
    assert!(stamped > 10 && stamped <= samples / 2 + 1, "{stamped} of {samples}\n{table}");
    let bound_ns = load["stamped"]["bound_ns"].as_u64().unwrap();
    let figure = |segment: &str, kind: &str, figure: &str| {
        series(record, name, segment, kind)["pooled"][figure].as_u64().unwrap()
    };
    let least = |segment: &str| figure(segment, "service", "min");
    for (at, segment) in SEGMENTS.iter().enumerate() {
        let enough = if at < 2 { stamped * 9 / 10 } else { 1 };
        let count = figure(segment, "service", "count");
        assert!(count >= enough, "{segment}: {count} of {stamped}\n{table}");
    }
    let whole: u64 = SEGMENTS.iter().map(|segment| least(segment)).sum();
    let most = figure("order_to_ack", "service", "max");
    assert!(whole > 0 && whole <= most + most / 500 + 2 * bound_ns, "{whole} {most}\n{table}");
    let out = least("application_to_queue") + least("queue_to_driver");
    let most = figure("network_out", "stage", "max");
    assert!(out <= most + most / 500 + 2 * bound_ns, "{out} {most}\n{table}");
}

fn departures_add_up(record: &Value, table: &str) {
    let departures = &rust(record)["load"]["tick"][0]["departures"];
    let departed = departures["samples"].as_u64().unwrap();
    assert!(departed > 10 && departures["clock_steps"] == 0, "{departures}\n{table}");
    let figure = |segment: &str, figure: &str| {
        series(record, "rust", segment, "service")["pooled"][figure].as_u64().unwrap()
    };
    for segment in FEED_SEGMENTS {
        let count = figure(segment, "count");
        assert!(count * 10 >= departed * 9 && count <= departed, "{segment}: {count}\n{table}");
    }
    let whole: u64 = FEED_SEGMENTS.iter().map(|segment| figure(segment, "min")).sum();
    let most = stage(record, "network_in", "max");
    let bound_ns = departures["bound_ns"].as_u64().unwrap();
    assert!(whole > 0 && whole <= most + most / 500 + 4 * bound_ns, "{whole} {most}\n{table}");
    // The record has the counts, and not each datagram.
    assert!(record["exchange"]["departures"].is_null(), "{}", record["exchange"]);
}

fn stage(record: &Value, name: &str, figure: &str) -> u64 {
    series(record, "rust", name, "stage")["pooled"][figure].as_u64().unwrap()
}

#[test]
fn every_tick_is_counted_and_every_stage_adds_up() {
    let out = tempfile::tempdir().unwrap();
    let done = run(out.path(), "tick-to-trade", &["floor_seconds=0.3", "trace=4"]);
    let record = left(out.path(), &done, ALL);
    let subject = rust(&record);
    let tick = &subject["load"]["tick"][0];
    let samples = tick["samples"].as_u64().unwrap();
    // Inputs that came together are one datagram, and each of those led to an order.
    assert!((1..=500).contains(&samples), "{tick}");
    assert_eq!(tick["datagrams"], samples, "{tick}");
    assert!(tick["messages"].as_u64() >= Some(500), "{tick}");
    assert_eq!(tick["book_hash"], tick["exchange_book_hash"]);
    // Without CAP_NET_ADMIN net.core.rmem_max may be less than is asked for.
    let asked = record["resolved"]["feed"]["receive_buffer_bytes"].as_u64().unwrap();
    let is_given = tick["receive_buffer_bytes"].as_u64() >= Some(2 * asked);
    let verdict = if is_given { "held" } else { "broken" };
    assert_eq!(rule(&record, "rust.receive_buffer")["verdict"], verdict, "{tick}");
    assert_eq!(tick["time"]["same_clock"], true);
    for (name, kind) in [
        ("tick_to_gateway", "response"),
        ("tick_to_gateway", "service"),
        ("tick_to_trade", "service"),
        ("decision", "service"),
        ("tick_to_ack", "response"),
        ("normalise", "stage"),
        ("gateway", "stage"),
    ] {
        assert_eq!(
            series(&record, "rust", name, kind)["pooled"]["count"],
            samples,
            "{name} {kind}"
        );
    }
    // The floor has the same way, without the parts that only an exchange with a book can stamp.
    assert!(
        series(&record, "floor", "tick_to_gateway", "service")["pooled"]["count"].as_u64()
            > Some(0)
    );

    for attribution in subject["attribution"].as_array().unwrap() {
        let stages = attribution["stages"].as_array().unwrap();
        let sum: f64 = stages.iter().map(|stage| stage[1].as_f64().unwrap()).sum();
        assert!(sum > 0.0 && stages.len() >= 8, "{attribution}");
    }
    let traced = subject["traced"].as_array().unwrap();
    assert_eq!(traced.len(), 4);
    for one in traced {
        let stages = one["stages"].as_array().unwrap();
        let sum: i64 = stages.iter().map(|stage| stage[1].as_i64().unwrap()).sum();
        assert_eq!(Some(sum as u64), one["total_ns"].as_u64(), "{one}");
    }
    assert_eq!(record["exchange"]["tool"], record["tool"]);
    the_files_are_what_they_should_be(&only_run(out.path()), tick);
}

/// The audit log can be read and has everything; samples are gone; the page draws.
fn the_files_are_what_they_should_be(run: &Path, tick: &Value) {
    let audit = &tick["audit"];
    let log = run.join(audit["file"].as_str().unwrap());
    let read = tickpath().arg("audit").arg(&log).arg("--json").output().unwrap();
    assert!(read.status.success(), "{}", text(&read.stderr));
    let entries = std::fs::read_dir(run).unwrap();
    let mut names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(!names.any(|name| name.ends_with(".samples")));
    let page = std::fs::read_to_string(run.join("report.html")).unwrap();
    assert!(page.contains("data-stage=\"normalise\""));
}

/// The trader spins before it writes; its stamp is the last thing before the system call.
#[test]
fn a_delay_of_the_order_shows_in_the_stage_that_writes_it() {
    let out = tempfile::tempdir().unwrap();
    let sets = ["flow.rate_per_second=15", "seconds=2", "subject.rust.inject.delay_us=20000"];
    let done = run(out.path(), "tick-to-trade", &sets);
    let record = left(out.path(), &done, &["book", "stages", "recorded"]);
    // The histogram keeps three digits.
    assert!(stage(&record, "order", "min") >= 19_900_000, "{}", text(&done.stdout));
    for other in
        ["network_in", "ingest", "normalise", "signal", "risk", "network_out", "gateway", "engine"]
    {
        assert!(stage(&record, other, "min") < 10_000_000, "{other}: {}", text(&done.stdout));
    }
    assert_eq!(record["injected"], serde_json::json!(["rust delay_us=20000"]));
}

/// The exchange spins before it answers, behind its last stamp.
#[test]
fn a_delay_of_the_answer_shows_on_its_way_back() {
    let out = tempfile::tempdir().unwrap();
    let sets = ["flow.rate_per_second=15", "seconds=2", "exchange.inject.delay_us=20000"];
    let done = run(out.path(), "tick-to-trade", &sets);
    let record = left(out.path(), &done, &["book", "stages", "recorded"]);
    assert!(stage(&record, "network_back", "min") >= 19_900_000, "{}", text(&done.stdout));
    assert!(stage(&record, "network_out", "min") < 10_000_000, "{}", text(&done.stdout));
}

/// Datagrams are lost, doubled and late on purpose: the book is the exchange's all the same, and
/// the record says what was done.
#[test]
fn a_feed_with_gaps_ends_in_the_same_book() {
    let out = tempfile::tempdir().unwrap();
    // A snapshot has some hundred datagrams: one of which each copy lost a part would never make a
    // book.
    let sets = [
        "flow.rate_per_second=3000",
        "seconds=3",
        "feed.inject.drop_every=499",
        "feed.inject.duplicate_every=701",
        "feed.inject.reorder_every=503",
    ];
    let done = run(out.path(), "tick-to-trade", &sets);
    let record = left(out.path(), &done, &["ticks", "book", "stages"]);
    let tick = &rust(&record)["load"]["tick"][0];
    assert!(tick["gaps"].as_u64() > Some(0), "{tick}");
    assert!(tick["messages_replayed"].as_u64() > Some(0), "{tick}");
    let injected = "feed drop_every=499 duplicate_every=701 reorder_every=503";
    assert_eq!(record["injected"], serde_json::json!([injected]));
}

/// The stage that ends with the release has the hold, less the way of the tick; the stages after it
/// don't.
#[test]
fn held_ticks_are_handed_on_at_their_release() {
    const ASSUMPTION: &str = "no process waits for a core for 5 ms in most of the ticks";
    testing::quiet::or_doubled(ASSUMPTION, |factor| {
        let out = tempfile::tempdir().unwrap();
        let hold_ns = 50_000_000 * u64::from(factor);
        let hold = format!("feed.hold_us={}", hold_ns / 1_000);
        let done = run(out.path(), "tick-to-trade", &["flow.rate_per_second=200", &hold]);
        let record = left(out.path(), &done, ALL);
        assert!(text(&done.stdout).contains("Hold and release"), "{}", text(&done.stdout));
        let rust = rust(&record);
        let found = &rust["load"]["tick"][0]["hold"];
        assert_eq!(found["hold_ns"], hold_ns, "{found}");
        assert_eq!(found["released"], rust["load"]["tick"][0]["datagrams"], "{found}");
        let p50 = |name: &str| {
            let series = rust["series"].as_array().unwrap();
            let series = series.iter().find(|one| one["name"] == name).unwrap();
            series["pooled"]["p50"].as_u64().unwrap()
        };
        let way_and_wait = p50("network_in") + p50("ingest");
        // A histogram's value is that of its bucket.
        assert!(way_and_wait >= hold_ns - hold_ns / 100, "{way_and_wait} ns: before its release");
        let noise_ns = hold_ns / 10;
        testing::unless!(way_and_wait <= hold_ns + noise_ns, "released after {way_and_wait} ns");
        testing::unless!(p50("tick_to_trade") <= noise_ns, "the hold is in tick_to_trade");
        testing::unless!(found["late"] == 0, "{found}");
        Ok::<(), String>(())
    });
}

/// A hold that ends before a tick can arrive changes nothing but the record.
#[test]
fn ticks_that_arrive_after_their_release_are_late_and_handed_on_at_once() {
    let out = tempfile::tempdir().unwrap();
    let done = run(out.path(), "tick-to-trade", &["flow.rate_per_second=2000", "feed.hold_us=1"]);
    let record = left(out.path(), &done, ALL);
    let tick = &rust(&record)["load"]["tick"][0];
    let found = &tick["hold"];
    let released = found["released"].as_u64().unwrap();
    // A socket's way takes longer than a microsecond, nearly always.
    assert!(found["late"].as_u64().unwrap() > released / 2, "{found}");
    assert!(found["late_by"]["p50"].as_u64() > Some(0), "{found}");
    assert_eq!(tick["kernel_drops"], 0);
}

#[test]
fn a_burst_is_drained_without_loss() {
    let out = tempfile::tempdir().unwrap();
    let sets = ["flow.rate_per_second=2000", "flow.burst=2000", "seconds=1.5"];
    let done = run(out.path(), "tick-to-trade-burst", &sets);
    let record = left(out.path(), &done, &["ticks", "book", "stages"]);
    let tick = &rust(&record)["load"]["tick"][0];
    assert_eq!(tick["kernel_drops"], 0);
    assert!(tick["messages"].as_u64() >= Some(2_000), "{tick}");
}

#[test]
fn a_market_maker_quotes_and_ends_with_what_it_came_to() {
    let out = tempfile::tempdir().unwrap();
    let done = run(out.path(), "market-making", &["flow.rate_per_second=2000"]);
    let record =
        left(out.path(), &done, &["complete", "ticks", "book", "stages", "audit", "accounted"]);
    let outcome = &rust(&record)["load"]["tick"][0]["market_making"];
    assert!(outcome["quotes"].as_u64() > Some(0), "{outcome}");
    let at_top = outcome["share_at_top"].as_array().unwrap();
    assert!(at_top.iter().all(|share| (0.0..=1.0).contains(&share.as_f64().unwrap())), "{outcome}");
    assert!(text(&done.stdout).contains("Result of the market maker rust"));
}

/// The worst ticks are those of both; what ways were made of is neither's to say.
#[test]
fn records_of_ticks_are_merged() {
    let out = tempfile::tempdir().unwrap();
    let parts = ["one", "other"].map(|name| {
        let runs = out.path().join(name);
        let done = run(&runs, "tick-to-trade", &["trace=3"]);
        let record = left(&runs, &done, &["ticks", "book", "stages"]);
        assert!(!rust(&record)["attribution"].as_array().unwrap().is_empty());
        (only_run(&runs), record)
    });
    let merged = out.path().join("merged");
    let mut command = tickpath();
    command.args(["report", "--merge", "--force"]).args(parts.iter().map(|(path, _)| path));
    let done = command.arg("--out").arg(&merged).output().unwrap();
    let table = text(&done.stdout);
    let record = left(&merged, &done, &["ticks", "book", "stages"]);
    let subject = rust(&record);
    assert!(subject.get("attribution").is_none(), "{subject}");
    let warnings = record["warnings"].as_array().unwrap();
    let said = |text: &&Value| {
        text.as_str().unwrap().contains("stages around the percentiles of tick paths")
    };
    assert_eq!(warnings.iter().filter(said).count(), 1, "{warnings:?}");
    assert!(table.contains("Stages of rust") && !table.contains("around p50"), "{table}");
    let worst = |record: &Value| -> Vec<u64> {
        let traced = rust(record)["traced"].as_array().unwrap().iter();
        traced.map(|one| one["total_ns"].as_u64().unwrap()).collect()
    };
    let mut of_both: Vec<u64> = parts.iter().flat_map(|(_, record)| worst(record)).collect();
    of_both.sort_unstable();
    of_both.reverse();
    assert_eq!(worst(&record), of_both[..3]);
    assert_eq!(subject["load"]["tick"].as_array().unwrap().len(), 2);
}

/// The record holds the text of the profile's file, and every trader reads the same.
#[test]
fn a_risk_profile_is_kept_with_the_record() {
    let out = tempfile::tempdir().unwrap();
    let profile = out.path().join("mine.toml");
    std::fs::write(&profile, "[limits]\nmessages_per_second_max = 1\n").unwrap();
    let runs = out.path().join("runs");
    let set = format!("risk.profile={}", profile.display());
    let done = run(&runs, "tick-to-trade", &[&set]);
    let record = left(&runs, &done, &["ticks", "book"]);
    let risk = &record["resolved"]["risk"];
    assert_eq!(risk["profile"], profile.display().to_string());
    assert_eq!(risk["limits"]["messages_per_second_max"], 1, "{risk}");
    assert_eq!(risk["limits"]["amount_max"], "10", "{risk}");
    let rejected = &rust(&record)["load"]["tick"][0]["refused"];
    assert!(
        rejected.as_object().unwrap().values().any(|count| count.as_u64() > Some(0)),
        "{rejected}"
    );
    let kept = std::fs::read_to_string(only_run(&runs).join("risk.toml")).unwrap();
    assert!(kept.contains("messages_per_second_max = 1\n"), "{kept}");
}

#[test]
fn a_risk_profile_that_cannot_be_read_ends_it() {
    let out = tempfile::tempdir().unwrap();
    let profile = out.path().join("mine.toml");
    let runs = out.path().join("runs");
    let set = format!("risk.profile={}", profile.display());
    for (text, why) in [(None, "No such file"), (Some("[limits]\nnone = 1"), "unknown field")] {
        if let Some(text) = text {
            std::fs::write(&profile, text).unwrap();
        }
        let done = run(&runs, "tick-to-trade", &[&set]);
        let said = crate::support::text(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{said}");
        let what = format!("the risk profile {} can't be read", profile.display());
        assert!(said.contains(&what) && said.contains(why), "{said}");
        assert!(!runs.exists(), "nothing was measured");
    }
}

#[test]
fn a_replay_without_a_day_says_how_to_name_one() {
    let out = tempfile::tempdir().unwrap();
    let done = run(out.path(), "tick-to-trade-replay", &[]);
    assert_eq!(done.status.code(), Some(2));
    assert!(text(&done.stderr).contains("--set flow.source=FILE"), "{}", text(&done.stderr));
}

/// As between two machines: the exchange runs already, and says what it is when it is asked.
#[test]
fn an_exchange_that_runs_already_is_followed_and_described() {
    let flow = ["--flow", "synthetic", "--flow-rate", "500", "--flow-seconds", "1.2"];
    let exchange = Exchange::start(
        &[&["--any-token", "--book", "empty", "--feed", "unicast"], &flow[..]].concat(),
    );
    let out = tempfile::tempdir().unwrap();
    let sets = SHORT_TICKS.iter().chain(&["exchange.start=false"]).flat_map(|set| ["--set", set]);
    let mut command = tickpath();
    command.args(["run", "tick-to-trade", "--quiet", "--connect", &exchange.address, "--out"]);
    let done = command.arg(out.path()).args(sets).output().unwrap();
    let record = left(out.path(), &done, &["complete", "ticks", "book", "stages"]);
    assert_eq!(rule(&record, "rust.flow")["verdict"], "not_applicable");
    assert!(record["exchange"]["machine"].is_object(), "{}", record["exchange"]);
    // One machine, one boot: its clock can be read here too.
    assert_eq!(rust(&record)["load"]["tick"][0]["time"]["same_clock"], true);
}

/// Its flow would not begin a second time, and the record be invalid always.
#[test]
fn a_flow_that_runs_once_is_not_asked_for_six_runs() {
    let out = tempfile::tempdir().unwrap();
    let mut command = tickpath();
    command.args(["run", "tick-to-trade", "--set", "exchange.start=false"]);
    let done =
        command.args(["--connect", "127.0.0.1:1", "--out"]).arg(out.path()).output().unwrap();
    assert_eq!(done.status.code(), Some(2));
    assert!(text(&done.stderr).contains("--set runs=1"), "{}", text(&done.stderr));
}

/// Two networks with a cable between them take root.
#[test]
fn ticks_go_through_a_cable_between_two_networks() {
    let out = tempfile::tempdir().unwrap();
    let done = run(out.path(), "tick-to-trade", &["network=veth"]);
    let said = text(&done.stderr);
    if said.contains("CAP_NET_ADMIN") || said.contains("iproute2") {
        testing::skip!(Root, "{said}");
    }
    let record = left(out.path(), &done, &["ticks", "book", "stages", "replies"]);
    assert_eq!(record["resolved"]["network"], "veth");
}

//! Ticks as SBE over UDP, as JSON over a WebSocket (the book, or the best prices) and as FIX,
//! through whole processes: judged alike, in one record, and a delay or a loss of any shows where
//! it belongs.

use crate::support::*;
use serde_json::Value;
use std::path::Path;
use std::process::Output;

const NAMES: [&str; 4] = ["sbe", "json", "top", "fix"];
/// Subjects that follow a whole book.
const BOOKS: [&str; 3] = ["sbe", "json", "fix"];
const SUBJECTS: [&str; 4] = [
    "subject.sbe.backend=block",
    "subject.json.backend=block",
    "subject.top.backend=block",
    "subject.fix.backend=block",
];

fn run(out: &Path, sets: &[&str]) -> (Output, Value) {
    run_scenario(Path::new("tick-dialects"), out, &[&SUBJECTS, sets].concat())
}

fn run_scenario(scenario: &Path, out: &Path, sets: &[&str]) -> (Output, Value) {
    let mut command = tickpath();
    command.arg("run").arg(scenario).args(["--quiet", "--out"]).arg(out);
    let short = SHORT_TICKS.iter().filter(|set| !set.starts_with("subject."));
    for set in short.chain(sets) {
        command.args(["--set", set]);
    }
    let done = command.output().unwrap();
    assert!(!done.stdout.is_empty(), "{}", text(&done.stderr));
    let record = record(&only_run(out));
    (done, record)
}

fn stage(record: &Value, subject: &str, name: &str, figure: &str) -> u64 {
    series(record, subject, name, "stage")["pooled"][figure].as_u64().unwrap()
}

#[track_caller]
fn held(record: &Value, done: &Output, names: &[&str]) {
    held_by(&NAMES, record, done, names);
}

#[track_caller]
fn held_by(subjects: &[&str], record: &Value, done: &Output, names: &[&str]) {
    for subject in subjects {
        for name in names {
            let rule = rule(record, &format!("{subject}.{name}"));
            assert_eq!(rule["verdict"], "held", "{rule}: {}", text(&done.stdout));
        }
    }
}

#[test]
fn all_dialects_are_measured_alike() {
    let out = tempfile::tempdir().unwrap();
    let (done, record) = run(out.path(), &["floor_seconds=1.5"]);
    let rules = ["complete", "replies", "recorded", "accepted", "flow", "ticks", "book", "orders"];
    held(&record, &done, &rules);
    held(&record, &done, &["stages", "accounted", "state"]);
    for (name, feed) in [("json", "json"), ("top", "json-top"), ("fix", "fix")] {
        for judged in ["receive_buffer", "audit"] {
            let rule = rule(&record, &format!("{name}.{judged}"));
            assert_eq!(rule["verdict"], "not_applicable", "{rule}");
        }
        assert_eq!(subject(&record, name)["feed"], feed);
    }
    let book = rule(&record, "top.book")["detail"].as_str().unwrap();
    assert!(book.contains("deeper prices are neither followed nor judged"), "{book}");
    assert_eq!(subject(&record, "sbe")["feed"], Value::Null);
    for name in NAMES {
        let subject = subject(&record, name);
        let tick = &subject["load"]["tick"][0];
        let samples = tick["samples"].as_u64().unwrap();
        // Inputs that came together are one tick, and each of those led to an order.
        assert!((1..=500).contains(&samples), "{tick}");
        assert_eq!(tick["datagrams"], samples, "{tick}");
        match name {
            // Only some of the inputs change the best prices.
            "top" => assert_eq!(tick["messages"], samples, "{tick}"),
            _ => assert!(tick["messages"].as_u64() >= Some(500), "{tick}"),
        }
        assert_eq!(tick["kernel_stamps"], "software", "{tick}");
        let count = |name: &str, kind: &str| {
            let pooled = &series(&record, subject["name"].as_str().unwrap(), name, kind)["pooled"];
            pooled["count"].as_u64().unwrap()
        };
        for (series, kind) in [
            ("tick_to_gateway", "response"),
            ("tick_to_trade", "service"),
            ("normalise", "stage"),
            ("order", "stage"),
        ] {
            assert_eq!(count(series, kind), samples, "{name}: {series}");
        }
        // Ticks over TCP that were read together have one stamp of the kernel, the last one's. On a
        // busy machine that is most of them.
        let stamped = count("network_in", "stage");
        assert!((1..=samples).contains(&stamped), "{name}: {stamped} of {samples}");
    }
    let bytes = |name| subject(&record, name)["load"]["tick"][0]["datagram_bytes"].as_u64();
    assert!(bytes("json") > bytes("sbe"), "{:?} {:?}", bytes("json"), bytes("sbe"));
    assert!(bytes("fix") > bytes("sbe"), "{:?} {:?}", bytes("fix"), bytes("sbe"));
    let ticks = |name| subject(&record, name)["load"]["tick"][0]["datagrams"].as_u64();
    assert!(ticks("top") < ticks("json"), "{:?} {:?}", ticks("top"), ticks("json"));
    floors_are_as_long(&record, 0);
    // At the rate of the changes.
    assert!(ticks("floor-3") < ticks("floor-2"), "{:?}", ["floor-2", "floor-3"].map(ticks));
    let table = text(&done.stdout);
    assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
    let (_, over) = table.split_once("over the floor").unwrap();
    for name in NAMES {
        let mut rows = over.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let row = rows.find(|row| row.first() == Some(&name)).unwrap();
        assert!(
            row.iter().any(|cell| cell.trim_end_matches('?').ends_with('x')),
            "{row:?} {table}"
        );
    }
}

/// Each subject has a floor of its own, whose ticks are as long as its own and, over a connection,
/// `record_bytes` longer.
#[track_caller]
fn floors_are_as_long(record: &Value, record_bytes: u64) {
    let floors = ["floor", "floor-2", "floor-3", "floor-4"];
    let all = record["subjects"].as_array().unwrap().iter();
    let names = all.map(|one| one["name"].as_str().unwrap());
    assert!(names.filter(|name| name.starts_with("floor")).eq(floors), "{record}");
    for (name, floor) in NAMES.iter().zip(floors) {
        let [ours, floors] = [name, floor].map(|of| &subject(record, of)["load"]["tick"][0]);
        let of = |tick: &Value| tick["datagram_bytes"].as_u64().unwrap();
        let longer = if *name == "sbe" { 0 } else { record_bytes };
        assert_eq!(of(floors), of(ours) + longer, "{name}");
        let samples = floors["samples"].as_u64().unwrap();
        assert!(samples > 0 && floors["datagrams"] == samples, "{floors}");
        assert_eq!(floors["kernel_stamps"], "software", "{name}");
        for rule_of in ["complete", "replies", "recorded", "ticks", "orders", "stages"] {
            let rule = rule(record, &format!("{floor}.{rule_of}"));
            assert_eq!(rule["verdict"], "held", "{rule}");
        }
        let whole = series(record, name, "tick_to_gateway", "service");
        assert_eq!(whole["over_floor"]["floor"], floor, "{name}");
        assert!(whole["over_floor"]["figures"]["p50"]["ratio"].as_f64() > Some(0.0), "{whole}");
    }
}

/// Orders of all are in TLS, and the market data of those that have a connection for it. Their
/// floors are as long as its records.
#[test]
fn all_dialects_are_followed_over_tls() {
    let out = tempfile::tempdir().unwrap();
    let (done, record) = run(out.path(), &["tls=true", "floor_seconds=1.5"]);
    held(&record, &done, &["complete", "replies", "recorded", "flow", "ticks", "book", "stages"]);
    for name in NAMES {
        let subject = subject(&record, name);
        assert_eq!(subject["tls"], true, "{name}");
        assert_eq!(subject["load"]["tick"][0]["kernel_stamps"], "software", "{name}");
    }
    floors_are_as_long(&record, 22);
}

/// The exchange spins before each write to a connection. A tick as JSON is such a write, also to
/// a FIX session, and a datagram is none.
#[test]
fn a_delay_of_the_exchange_is_on_the_way_of_connections_alone() {
    let out = tempfile::tempdir().unwrap();
    let sets = ["flow.rate_per_second=10", "seconds=2", "exchange.inject.delay_us=20000"];
    let (done, record) = run(out.path(), &sets);
    // So few inputs may leave the best prices as they are.
    held_by(&BOOKS, &record, &done, &["stages", "recorded"]);
    let table = text(&done.stdout);
    // The histogram keeps three digits.
    for name in ["json", "fix"] {
        assert!(stage(&record, name, "network_in", "min") >= 19_900_000, "{name}: {table}");
    }
    assert!(stage(&record, "sbe", "network_in", "min") < 10_000_000, "{table}");
    for name in BOOKS {
        assert!(stage(&record, name, "network_back", "min") >= 19_900_000, "{name}: {table}");
        for other in ["ingest", "normalise", "signal", "risk", "order", "network_out"] {
            assert!(stage(&record, name, other, "min") < 10_000_000, "{name} {other}: {table}");
        }
    }
}

/// A stream loses only what the exchange loses on purpose: prices are missing, or the message that
/// ends the flow, and the record says so.
#[test]
fn messages_that_the_exchange_loses_make_the_record_void() {
    let shipped = include_str!("../../../../scenarios/tick-dialects.toml");
    for name in ["json", "top", "fix"] {
        let place = tempfile::tempdir().unwrap();
        let (file, out) = (place.path().join("losing.toml"), place.path().join("out"));
        std::fs::write(&file, with_subjects(shipped, &[name])).unwrap();
        let backend = format!("subject.{name}.backend=block");
        let sets = ["exchange.inject.drop_every=10", &backend];
        let (done, record) = run_scenario(&file, &out, &sets);
        assert_eq!(done.status.code(), Some(3), "{}", text(&done.stderr));
        let rules = ["book", "complete"].map(|of| rule(&record, &format!("{name}.{of}")));
        assert!(rules.iter().any(|rule| rule["verdict"] == "broken"), "{rules:?}");
    }
}

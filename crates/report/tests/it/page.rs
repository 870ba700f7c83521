//! The page of a record: what stands on it, in which order, for whole and for poor records.

use record::machine::Machine;
use record::timeline::{Column, OverTime, Timeline};
use record::{Kind, Percentiles, Rule, RunRecord, Series, Subject, Verdict};
use report::{RecordFiles, record_page};

fn series(name: &str, kind: Kind, p50: u64) -> Series {
    let pooled = Percentiles {
        count: 5_000,
        min: p50 / 2,
        p50: Some(p50),
        p90: Some(p50 * 2),
        p95: Some(p50 * 3),
        p99: Some(p50 * 4),
        max: p50 * 9,
        ..Percentiles::default()
    };
    Series {
        name: name.to_owned(),
        kind,
        unit: "ns".to_owned(),
        pooled,
        uncertain: vec!["p99".to_owned()],
        per_run: vec![pooled],
        interval: [("p50".to_owned(), [p50 - 1_000, p50 + 1_000])].into(),
        bracket: Default::default(),
        holds_to: Some(1.0),
        moves: Default::default(),
        not_judged: String::new(),
        over_floor: None,
        regimes: Vec::new(),
        disturbed: Vec::new(),
    }
}

fn record() -> RunRecord {
    let subject = |name: &str, p50| Subject {
        name: name.to_owned(),
        series: vec![series("order", Kind::Service, p50)],
        ..Subject::default()
    };
    let record = RunRecord {
        schema: 1,
        tool: "tickpath 0.1.0".to_owned(),
        scenario: "order-to-ack".to_owned(),
        complete: true,
        runs: 6,
        resolved: serde_json::json!({"kind": "order-entry"}),
        subjects: vec![subject("rust", 17_300), subject("floor", 12_000)],
        ..RunRecord::default()
    };
    // Its ratio to the floor comes from its runs.
    RunRecord::from_json(&serde_json::to_string(&record).unwrap()).unwrap()
}

fn page(record: &RunRecord, timeline: Result<&Timeline, &str>) -> String {
    let json = serde_json::to_string(record).unwrap();
    record_page(record, &json, RecordFiles { machine: Ok(&Machine::default()), timeline })
}

fn in_order(page: &str, words: &[&str]) {
    let mut at = 0;
    for word in words {
        let found = page[at..].find(word);
        at += found.unwrap_or_else(|| panic!("no {word:?} behind the ones before it"));
    }
}

#[test]
fn the_verdict_comes_first_and_every_figure_is_the_records() {
    let page = page(&record(), Err("gone"));
    let order = [
        "<h1>",
        ">holds<",
        "Latency, us",
        "Added by the software",
        "Percentiles",
        "Machine",
        "Not measured",
        "Published figures",
        "id=\"record\"",
    ];
    in_order(&page, &order);
    let cell = r#"data-series="rust.order.service" data-percentile="p99" data-ns="69200">~69.2<"#;
    assert!(page.contains(cell));
    assert!(page.contains("+5.30") && page.contains("1.44x"), "what we add, as in the table");
    assert!(page.contains("16.3-18.3"), "the interval");
    assert!(page.contains("read: gone"), "why there are no logs");
}

#[test]
fn what_broke_what_was_injected_and_what_was_skipped_are_said() {
    let mut record = record();
    record.void_because = vec!["rust.rate: too slow".to_owned()];
    record.injected = vec!["rust: 50 us before each answer".to_owned()];
    record.rules = vec![
        Rule { rule: "a".to_owned(), verdict: Verdict::Held, detail: "well".to_owned() },
        Rule { rule: "b".to_owned(), verdict: Verdict::NotApplicable, detail: "why".to_owned() },
    ];
    let page = page(&record, Err("gone"));
    in_order(
        &page,
        &[
            "VOID: rust.rate: too slow",
            "50 us before each answer",
            "rust.rate: too slow",
            "Rules of integrity that held: 1",
            "Rules that could not be applied: 1",
            "Latency, us",
            "Rule b was not applied: why",
            "this record, VOID",
        ],
    );
}

#[test]
fn a_poor_record_says_what_it_lacks() {
    let mut record = record();
    record.subjects.truncate(1);
    record.subjects[0].series[0].interval.clear();
    let html = page(&record, Err("gone"));
    for lack in ["The floor: ", "The hiccup row: ", "The spread between runs: ", "p99.9 and beyond"]
    {
        assert!(html.contains(lack), "{lack}");
    }
    assert!(!html.contains("p50 interval"));
    record.subjects.clear();
    assert!(page(&record, Ok(&Timeline::default())).contains("</html>"));
}

#[test]
fn only_a_long_run_has_a_heat_map() {
    let column = |index| Column {
        index,
        summary: Percentiles {
            count: 100,
            p50: Some(9_000),
            max: 50_000,
            ..Percentiles::default()
        },
        rows: vec![(39, 90), (46, 10)],
    };
    let timeline = |columns: usize| Timeline {
        column_seconds: 180.0,
        runs: vec![columns],
        series: [(
            "rust.order.service".to_owned(),
            OverTime { columns: (0..columns).map(column).collect(), ..OverTime::default() },
        )]
        .into(),
        damage: Vec::new(),
    };
    let short = page(&record(), Ok(&timeline(100)));
    assert!(short.contains("Over time") && !short.contains("Density"));
    let long = page(&record(), Ok(&timeline(480)));
    in_order(&long, &["Over time", "hours", "Density", "class=\"heat h"]);
    assert!(long.len() < short.len() + 60_000, "neighbours are joined");
}

//! The records of a directory, as a person sees them.

use expect_test::expect;
use record::history::{EntryContent, Headline, History, HistoryEntry, Summary};
use record::{Kind, Percentiles, Series};
use std::collections::BTreeMap;

fn record(minute: u64, p50: u64, change: impl FnOnce(&mut Summary)) -> HistoryEntry {
    let pooled = Percentiles {
        count: 120_000,
        p50: Some(p50),
        p99: Some(3 * p50),
        ..Percentiles::default()
    };
    let started = clock::calendar::utc((1_795_290_000 + minute * 60) * 1000);
    let mut summary = Summary {
        started: started.clone(),
        scenario: "order-to-ack".to_owned(),
        settings: "dokq".to_owned(),
        machine: Some("sovx".to_owned()),
        complete: true,
        runs: 6,
        resolved: serde_json::json!({"load": {"rate_per_second": 10_000}}),
        headline: Some(Headline {
            subject: "rust".to_owned(),
            series: Series {
                name: "order".to_owned(),
                kind: Kind::Response,
                unit: "ns".to_owned(),
                pooled,
                uncertain: vec!["p99".to_owned()],
                per_run: vec![],
                interval: BTreeMap::new(),
                bracket: Default::default(),
                holds_to: Some(1.0),
                moves: Default::default(),
                not_judged: String::new(),
                over_floor: None,
                regimes: Vec::new(),
                disturbed: Vec::new(),
            },
            over_runs: BTreeMap::from([("p50".to_owned(), [p50.saturating_sub(500), p50 + 900])]),
        }),
        ..Summary::default()
    };
    change(&mut summary);
    let name = format!("{}-{}", started.replace(':', "-"), summary.scenario);
    HistoryEntry { name, what: EntryContent::Record(Box::new(summary)) }
}

fn history() -> History {
    let mut renamed = record(50, 9_100, |summary| summary.settings = "abcd".to_owned());
    renamed.name = "baseline <b>".to_owned();
    if let EntryContent::Record(summary) = &mut renamed.what {
        summary.resolved = serde_json::json!({"load": {"rate_per_second": 400_000}});
    }
    let entries = vec![
        record(90, 12_345, |_| ()),
        record(80, 17_000, |summary| {
            summary.void_because = vec!["rust.replies: 3 \"lost\"".to_owned()];
        }),
        record(70, 15_000, |_| ()),
        record(60, 14_000, |summary| summary.injected = vec!["a stall".to_owned()]),
        renamed,
        record(40, 13_000, |summary| summary.machine = None),
        record(30, 1, |summary| summary.headline = None),
        record(20, 13_000, |summary| {
            summary.scenario = "a-scenario-with-a-name-of-forty-letters".into()
        }),
        HistoryEntry {
            name: "2026-11-21T19-00-00Z-sweep-x".to_owned(),
            what: EntryContent::Other { is: "a sweep".to_owned(), has_page: true },
        },
    ];
    History { directory: "runs".to_owned(), entries, left_out: 3 }
}

#[test]
fn a_line_each_then_each_scenario_over_time() {
    let text = report::history(&history(), 100);
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    expect![[r#"
        runs · 8 records, 1 other entry, newest first

        us                                                              p50    p99  mach   set  runs     n
        2026-11-21T21-10-00Z-order-to-ack       holds   rust response  12.3  ~37.0  sovx  dokq     6  120k
        2026-11-21T21-00-00Z-order-to-ack       VOID    rust response  17.0  ~51.0  sovx  dokq     6  120k
        2026-11-21T20-50-00Z-order-to-ack       holds   rust response  15.0  ~45.0  sovx  dokq     6  120k
        2026-11-21T20-40-00Z-order-to-ack       faults  rust response  14.0  ~42.0  sovx  dokq     6  120k
        baseline <b> (orde~to-ack, 2026-11-21)  holds   rust response  9.10  ~27.3  sovx  abcd     6  120k
        2026-11-21T20-20-00Z-order-to-ack       holds   rust response  13.0  ~39.0     -  dokq     6  120k
        2026-11-21T20-10-00Z-order-to-ack       -       no latencies      -      -  sovx  dokq     6     -
        2026-11-21T20-00-0~me-of-forty-letters  holds   rust response  13.0  ~39.0  sovx  dokq     6  120k

          2026-11-21T19-00-00Z-sweep-x  a sweep
          3 older entries were not read

        p50 over time, us  mach  set   oldest to newest  n  oldest  newest      range
        order-to-ack       sovx  dokq  ▅█·▁              4    14.0    12.3  12.3-15.0
          A bar is a record, or several where there are many; · is void, or its p50 does not hold.

          order-to-ack set abcd, beside dokq: load.rate_per_second 400000, not 10000
    "#]].assert_eq(&text);
}

#[test]
fn many_records_share_bars_and_noise_stays_flat() {
    let bars = |p50s: &[u64]| {
        let records = p50s.iter().enumerate().map(|(at, p50)| record(at as u64, *p50, |_| ()));
        let entries = records.rev().collect();
        let text = report::history(&History { entries, ..History::default() }, 100);
        let line = text.lines().skip_while(|line| !line.starts_with("p50 over")).nth(1).unwrap();
        line.split_whitespace().nth(3).unwrap().to_owned()
    };
    assert_eq!(bars(&[10_000, 20_000, 15_000]), "▁█▅");
    assert_eq!(bars(&[10_000, 10_010, 10_000]), "▁▁▁");
    let many: Vec<u64> = (0..1000).map(|at| 10_000 + at * 10).collect();
    let shared = bars(&many);
    assert_eq!(shared.chars().count(), 30);
    assert!(shared.starts_with('▁') && shared.ends_with('█'), "{shared}");
}

/// Regression: in 80 columns the trends of long names came in two blocks, figures below the bars.
#[test]
fn a_narrow_terminal_shows_one_block() {
    let mut records: Vec<HistoryEntry> =
        (0..40).map(|at| record(at, 10_000 + at, |_| ())).collect();
    for one in &mut records {
        let EntryContent::Record(summary) = &mut one.what else { continue };
        summary.scenario = "a-scenario-with-a-name-of-forty-letters".into();
    }
    let text = report::history(&History { entries: records, ..History::default() }, 80);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let mut over_time = text.lines().skip_while(|line| !line.starts_with("p50 over"));
    let (head, row) = (over_time.next().unwrap(), over_time.next().unwrap());
    assert!(head.contains("newest") && !head.contains("range"), "{text}");
    assert!(row.contains('▁') && row.contains(" 40 "), "{text}");
    assert!(text.contains("A wider terminal also shows range"), "{text}");
}

#[test]
fn an_empty_directory_says_what_to_do() {
    expect![[r#"
        · 0 records, newest first
          no records here; `tickpath run` makes one
    "#]]
    .assert_eq(&report::history(&History::default(), 100));
}

#[test]
fn the_page_draws_each_record_and_fetches_nothing() {
    let history = history();
    let json = serde_json::to_string(&history).unwrap();
    let page = report::history_page(&history, &json, "");
    // A plot for what was measured more than once: five records, each with a p50 and a p99.
    assert_eq!(page.matches("<figure").count(), 1);
    assert_eq!(page.matches("<circle").count(), 10);
    assert_eq!(page.matches("c1 hollow").count() + page.matches("c1 dash1 hollow").count(), 2);
    assert!(page.contains("runs 11.8 to 13.2 us"), "the range over runs stands in its point");
    assert!(page.contains("data-ns=\"12345\""));
    assert!(page.contains("baseline &lt;b&gt;") && !page.contains("baseline <b>"));
    for outside in ["http://", "https://", "src=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    let empty = report::history_page(&History::default(), "{}", "");
    assert!(empty.contains("0 records"));
}

/// A record from elsewhere may hold any text.
#[test]
fn a_record_with_strange_values_is_drawn_too() {
    let entries = vec![
        record(0, 500, |summary| summary.started = "yesterday".to_owned()),
        record(1, u64::MAX / 4, |_| ()),
        record(2, 501, |summary| summary.started = "9999-12-31T23:59:59Z".to_owned()),
        record(3, 501, |summary| summary.scenario = "ü".repeat(200)),
        record(4, 501, |summary| summary.machine = Some("mixed".to_owned())),
    ];
    let mut history = History { entries, ..History::default() };
    let is = "no record".to_owned();
    history.entries.push(HistoryEntry {
        name: "x".repeat(255),
        what: EntryContent::Other { is, has_page: false },
    });
    let text = report::history(&history, 100);
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert!(!report::history_page(&history, "{}", "").contains("NaN"));
}

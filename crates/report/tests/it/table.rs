//! The table of a small record, as a person sees it.

use expect_test::expect;
use record::RunRecord;

/// Two runs in which the machine had two regimes: the floor doubled with the subject.
fn record(change: impl FnOnce(&mut RunRecord)) -> RunRecord {
    let series = |kind: &str, p50: [u64; 2], p99: [u64; 2]| {
        let run = |i: usize| serde_json::json!({"count": 20_000, "p50": p50[i], "p99": p99[i]});
        serde_json::json!({
            "name": "order", "kind": kind, "unit": "ns",
            "pooled": {"count": 40_000, "min": 7_000, "p50": p50[1], "p90": p50[1] + 2_500,
                "p95": p50[1] + 3_000, "p99": p99[1], "p99_9": 81_900, "p99_99": null,
                "max": 4_182_000},
            "uncertain": ["p99_9"], "per_run": [run(0), run(1)],
            "interval": {"p50": p50}
        })
    };
    let value = serde_json::json!({
        "schema": 1, "tool": "tickpath 0.1.0", "scenario": "order-to-ack", "complete": true,
        "resolved": {"kind": "order-entry"},
        "valid": true, "invalid_because": [], "runs": 2, "runs_void": 1,
        "warnings": ["one thing that a reader should know, at some length, so that it is broken \
                      before-it-reaches-the-edge-of-a-terminal-that-is-not-wide"],
        "rules": [{"rule": "rust.state", "verdict": "not_applicable", "detail": "not our exchange"}],
        "subjects": [
            {"name": "rust", "backend": "spin", "cores": [0, 1],
             "load": {"model": "open", "rate_per_second_offered": 10_000.0,
                "rate_per_second_achieved": 9_999.7, "sent": 80_000, "lateness_ns_p99": 900},
             "series": [series("response", [9_100, 18_100], [12_000, 24_000]),
                        series("service", [9_000, 18_000], [11_000, 22_000])]},
            {"name": "floor", "backend": "spin", "cores": [0, 1],
             "load": {"model": "open", "rate_per_second_offered": 10_000.0,
                "rate_per_second_achieved": 10_000.0, "sent": 40_000},
             "series": [series("response", [7_600, 15_100], [10_000, 20_000]),
                        series("service", [7_500, 15_000], [10_000, 20_000])]},
            {"name": "hiccup", "cores": [0, 1], "series": [
                {"name": "core1", "kind": "noise", "unit": "ns",
                 "pooled": {"count": 5_000, "p50": 11, "p90": 19, "p95": 22, "p99": 4_000,
                    "max": 51_000}}]}
        ]
    });
    let mut record = RunRecord::from_json(&value.to_string()).unwrap();
    change(&mut record);
    record
}

#[test]
fn a_subject_that_cannot_run_is_a_row_with_its_reason() {
    let why = "the replicator failed: no rights".to_owned();
    let one = record::Unavailable { subject: "xdp".to_owned(), why };
    let table = report::table(&record(|record| record.unavailable = vec![one]), 200);
    let row = table.lines().find(|line| line.starts_with("xdp")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells[..4], ["xdp", "cannot", "run", "-"]);
    assert!(table.contains("xdp cannot run: the replicator failed: no rights."), "{table}");
}

#[test]
fn a_rate_that_was_found_is_said() {
    let found = |carried, missed| {
        let search = record::RateSearch {
            asked_per_second: 400_000.0,
            carried_per_second: carried,
            missed_per_second: missed,
            sweep: "2026-11-26T02-00-00Z-sweep-x".to_owned(),
        };
        let table = report::table(&record(|record| record.rate_search = Some(search)), 200);
        table.lines().find(|line| line.contains("asked")).map(str::trim).map(str::to_owned)
    };
    expect!["400 000 messages/s asked; these cores carry 212 000, not 225 000: measured a tenth below that. The"]
        .assert_eq(&found(Some(212_000.0), Some(225_000.0)).unwrap());
    expect!["These cores carry the 400 000 messages/s asked."]
        .assert_eq(&found(Some(400_000.0), None).unwrap());
    expect!["400 000 messages/s asked; these cores carry no rate that was tried: measured at the lowest. The"]
        .assert_eq(&found(None, Some(25_000.0)).unwrap());
}

#[test]
fn a_valid_record() {
    let table = report::table(&record(|_| ()), 100);
    assert!(table.lines().all(|line| line.chars().count() <= 100));
    expect![[r#"
        order-to-ack · holds · 2 runs
          Disturbance moved none of these figures by more than a tenth: quote and compare them.
          trader (rust): open, spin, cores 0 1, 10 000 of 10 000 messages/s, 80k sent, 0 lost, late p99 900
          ns
          floor: open, spin, cores 0 1, 10 000 of 10 000 messages/s, 40k sent, 0 lost

        us                               p50    p90    p95   p99  p99.9   max     n  p50 interval
        trader (rust)  order response   18.1   20.6   21.1  24.0  ~81.9  4182   40k     9.10-18.1
                       order service    18.0   20.5   21.0  22.0  ~81.9  4182   40k     9.00-18.0
        floor          order response   15.1   17.6   18.1  20.0  ~81.9  4182   40k     7.60-15.1
                       order service    15.0   17.5   18.0  20.0  ~81.9  4182   40k     7.50-15.0
        hiccup         core1           0.011  0.019  0.022  4.00      -  51.0  5000
          ~ fewer than 100 samples lie beyond it; - fewer than 10, not shown

        us             over the floor  floor p50   added   ratio
        trader (rust)  order response       11.3  +2.25?  1.20x?
        trader (rust)  order service        11.2  +2.25?  1.20x?
          Medians over pairs: each run against the floor of the same run. ? was not judged: a record of
          before schema 3 does not say how far each of its runs was disturbed at a percentile.

          not checked: rust.state (not our exchange)
          * one thing that a reader should know, at some length, so that it is broken
            before-it-reaches-the-edge-of-a-terminal-that-is-not-wide
    "#]].assert_eq(&table);
}

/// A record with injected faults can't be taken for a result, either.
#[test]
fn injected_faults_stand_in_the_headline() {
    let table = report::table(
        &record(|record| {
            record.injected =
                vec!["exchange delay_us=50".to_owned(), "rust drop_every=100".to_owned()];
        }),
        100,
    );
    let headline = table.split("  rust: open").next().unwrap();
    expect![[r#"
        order-to-ack · holds · 2 runs · faults injected: exchange delay_us=50; rust drop_every=100
          Disturbance moved none of these figures by more than a tenth: quote and compare them.
          trader (rust): open, spin, cores 0 1, 10 000 of 10 000 messages/s, 80k sent, 0 lost, late p99 900
          ns
          floor: open, spin, cores 0 1, 10 000 of 10 000 messages/s, 40k sent, 0 lost

        us                               p50    p90    p95   p99  p99.9   max     n  p50 interval
        trader (rust)  order response   18.1   20.6   21.1  24.0  ~81.9  4182   40k     9.10-18.1
                       order service    18.0   20.5   21.0  22.0  ~81.9  4182   40k     9.00-18.0
        floor          order response   15.1   17.6   18.1  20.0  ~81.9  4182   40k     7.60-15.1
                       order service    15.0   17.5   18.0  20.0  ~81.9  4182   40k     7.50-15.0
        hiccup         core1           0.011  0.019  0.022  4.00      -  51.0  5000
          ~ fewer than 100 samples lie beyond it; - fewer than 10, not shown

        us             over the floor  floor p50   added   ratio
        trader (rust)  order response       11.3  +2.25?  1.20x?
        trader (rust)  order service        11.2  +2.25?  1.20x?
          Medians over pairs: each run against the floor of the same run. ? was not judged: a record of
          before schema 3 does not say how far each of its runs was disturbed at a percentile.

          not checked: rust.state (not our exchange)
          * one thing that a reader should know, at some length, so that it is broken
            before-it-reaches-the-edge-of-a-terminal-that-is-not-wide
    "#]]
    .assert_eq(headline);
}

/// An invalid record can't be taken for a result: its first lines say so.
#[test]
fn an_invalid_record_says_so_first() {
    let table = report::table(
        &record(|record| {
            record.complete = false;
            record.void_because = vec!["rust.replies: run 2: of 40000 messages 3 lost".to_owned()];
            record.subjects.clear();
        }),
        100,
    );
    expect![[r#"
        order-to-ack · VOID: rust.replies: run 2: of 40000 messages 3 lost · 2 runs
          A void run is no result: it broke a rule of the measurement. Remove the cause and run it again.

        us    p50  p90  p95  p99  p99.9  p99.99  max  n  p50 interval

          not checked: rust.state (not our exchange)
          * one thing that a reader should know, at some length, so that it is broken
            before-it-reaches-the-edge-of-a-terminal-that-is-not-wide
    "#]]
    .assert_eq(&table);
}

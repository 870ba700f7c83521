use super::*;
use crate::Percentiles;
use crate::machine::FixedFacts;
use crate::tick::Tick;
use clock::recorder::histogram;
use expect_test::{Expect, expect};
use hdrhistogram::Histogram;
use proptest::prelude::*;
use serde_json::json;
use stats::percentiles;

const TAG: &str = "rust.order.service";

fn of(samples: &[u64]) -> Histogram<u64> {
    let mut values = histogram();
    samples.iter().for_each(|ns| values.record(*ns).unwrap());
    values
}

/// A valid record of these runs' samples, as `tickpath run` writes it.
fn part(name: &str, minute: u64, runs: &[Vec<u64>]) -> MergePart {
    let totals: Vec<Totals> =
        runs.iter().map(|samples| Totals::from([(TAG.to_owned(), of(samples))])).collect();
    let load = json!({"model": "open", "rate_per_second_offered": 1000.0, "sent": 10,
        "rate_per_second_achieved": 990.0 + minute as f64, "lateness_ns_p99": 100 + minute});
    let mut record: RunRecord = serde_json::from_value(json!({
        "schema": 1, "tool": "tickpath 0.1.0", "scenario": "order-to-ack", "complete": true,
        "started": clock::calendar::utc(minute * 60_000), "valid": true, "invalid_because": [],
        "runs": runs.len(), "runs_void": 0, "warnings": ["the same for all"],
        "clock": {"source": "tsc", "cost_ns": 12},
        "rules": [{"rule": "rust.replies", "verdict": "held", "detail": "none lost"}],
        "resolved": {"name": "order-to-ack", "runs": runs.len(), "seconds": 4.0,
            "warm_up_seconds": 1.0, "load": {"rate_per_second": 1000.0, "seed": minute},
            "exchange": {"backend": "spin", "cores": [0]},
            "subject": [{"name": "rust", "cores": [1], "backend": "spin"}]},
        "subjects": [{"name": "rust", "backend": "spin", "cores": [0, 1], "load": load}]
    }))
    .unwrap();
    let all: Vec<&Totals> = totals.iter().collect();
    record.subjects[0].series =
        pooling::series("rust", &all, runs.len() as u32, &pooling::FigureJudge::UNDISTURBED);
    MergePart { name: name.to_owned(), record, machine: Some(Machine::default()), runs: totals }
}

fn two() -> [MergePart; 2] {
    [part("a", 1, &[vec![10; 40], vec![12; 40]]), part("b", 9, &[vec![20; 60]])]
}

fn merged(parts: &[MergePart]) -> RunRecord {
    merge(parts, VoidParts::Reject).unwrap_or_else(|error| panic!("{error}")).record
}

fn pooled(record: &RunRecord) -> Percentiles {
    record.subject("rust").unwrap().series("order", Kind::Service).unwrap().pooled
}

#[track_caller]
fn rejects(change: impl FnOnce(&mut [MergePart; 2]), expected: Expect) {
    let mut parts = two();
    change(&mut parts);
    let error = merge(&parts, VoidParts::Reject).err().expect("it was merged");
    expected.assert_eq(&error.to_string());
}

/// Shows why percentiles must not be averaged: of 100 hosts, 99 answer in 10 us and one in 10 ms.
/// Their p99.9 is 10 ms, and the mean of their p99.9 is 110 us.
#[test]
fn a_mean_of_percentiles_is_another_figure() {
    let parts: Vec<MergePart> = (0..100)
        .map(|host| {
            let ns = if host == 0 { 10_000_000 } else { 10_000 };
            part(&format!("host-{host}"), host, &[vec![ns; 10_000]])
        })
        .collect();
    let mean = parts.iter().map(|part| pooled(&part.record).p99_9.unwrap()).sum::<u64>() / 100;
    let together = pooled(&merged(&parts)).p99_9.unwrap();
    // Histograms keep three digits.
    assert!((109_000..111_000).contains(&mean), "{mean}");
    assert!((9_990_000..10_010_000).contains(&together), "{together}");
}

#[test]
fn runs_come_in_order_of_start_and_loads_are_weighed_by_runs() {
    let [mut early, late] = two();
    early.runs[1].insert("rust.network_out.stage".to_owned(), of(&[7; 40]));
    let MergeResult { record, runs, .. } = merge(&[late, early], VoidParts::Reject).unwrap();
    assert_eq!(runs, [(1, 0), (1, 1), (0, 0)]);
    let rust = record.subject("rust").unwrap();
    let per_run: Vec<u64> = rust.series[0].per_run.iter().map(|run| run.max).collect();
    assert_eq!(per_run, [10, 12, 20]);
    assert_eq!(rust.series.len(), 1, "a series that only the log has was left out of the record");
    assert_eq!((record.runs, record.resolved["runs"].as_u64()), (3, Some(3)));
    assert_eq!(record.started, "1970-01-01T00:01:00Z");
    assert_eq!((rust.load.sent, rust.load.lateness_ns_p99), (20, Some(109)));
    assert!((rust.load.rate_per_second_achieved - (2.0 * 991.0 + 999.0) / 3.0).abs() < 1e-9);
    let from: Vec<(&str, u32)> =
        record.merged_from.iter().map(|from| (&*from.name, from.runs)).collect();
    assert_eq!(from, [("a", 2), ("b", 1)]);
    assert_eq!(record.rules.len(), 1);
    assert_eq!(record.rules[0].detail, "none lost");
    expect![[r#"
        3 runs give no confidence interval. Add --set runs=6: the range of six runs is the first that covers the median with 95 %.
        the same for all"#]]
    .assert_eq(&record.warnings.join("\n"));
}

/// Runs get new numbers, and their ticks follow that order; the worst ticks are the worst of all.
#[test]
fn ticks_come_in_order_of_start_and_the_worst_of_all_are_kept() {
    let mut parts = two();
    for (part, hashes, worst) in
        [(0, &["a1", "a2"][..], [(2, 900), (1, 500)]), (1, &["b1"], [(1, 700), (1, 600)])]
    {
        let subject = &mut parts[part].record.subjects[0];
        let tick = |hash: &&str| Tick { book_hash: (*hash).to_owned(), ..Tick::default() };
        subject.load.tick = hashes.iter().map(tick).collect();
        let traced = |(run, total_ns)| TracedTick { run, total_ns, ..TracedTick::default() };
        subject.traced = worst.map(traced).into();
    }
    let [early, late] = parts;
    let record = merged(&[late, early]);
    let rust = record.subject("rust").unwrap();
    let hashes: Vec<&str> = rust.load.tick.iter().map(|tick| &*tick.book_hash).collect();
    assert_eq!(hashes, ["a1", "a2", "b1"]);
    let worst: Vec<(u32, u64)> = rust.traced.iter().map(|one| (one.run, one.total_ns)).collect();
    assert_eq!(worst, [(2, 900), (3, 700)]);
}

/// Means around the p50 of two records are not means around their common p50. The merged record
/// leaves the attribution out and says so, after any number of merges.
#[test]
fn attributions_are_left_out_with_a_warning() {
    let parts: Vec<MergePart> = (0..3)
        .map(|at| {
            let mut part = part(&at.to_string(), at, &[vec![10 + at; 40]]);
            let attribution = json!({"around": "p50", "of": "tick_to_ack", "kind": "response", "total_ns": 10,
                "samples": 40, "within_rank": 0.5, "stages": [["event", 4.0], ["publish", 6.0]]});
            part.record.subjects[0].attribution = vec![serde_json::from_value(attribution).unwrap()];
            part
        })
        .collect();
    let at_once = merged(&parts);
    let MergeResult { record, runs, .. } = merge(&parts[..2], VoidParts::Reject).unwrap();
    let totals = runs.iter().map(|(part, run)| parts[*part].runs[*run].clone()).collect();
    let step = MergePart {
        name: "step".to_owned(),
        record,
        machine: parts[0].machine.clone(),
        runs: totals,
    };
    let in_steps = merged(&[step, parts[2].clone()]);
    for record in [&at_once, &in_steps] {
        assert!(record.subjects[0].attribution.is_empty());
        let said = record.warnings.iter().filter(|text| text.contains("stages around"));
        assert_eq!(said.collect::<Vec<_>>(), [UNEXPLAINED]);
    }
    assert_eq!(at_once.warnings, in_steps.warnings);
    assert!(!merged(&two()).warnings.iter().any(|text| text == UNEXPLAINED));
}

/// If a part kept no ticks or traced another interval, the worst of all are unknown.
#[test]
fn the_worst_of_some_are_not_said_to_be_the_worst_of_all() {
    let worst = |of: &[Option<&str>]| {
        let mut parts = two();
        for (part, of) in parts.iter_mut().zip(of) {
            let subject = &mut part.record.subjects[0];
            subject.load.tick = vec![Tick { samples: 9, ..Tick::default() }; part.runs.len()];
            let traced =
                |of: &&str| TracedTick { run: 1, of: (*of).to_owned(), ..TracedTick::default() };
            subject.traced = of.iter().map(traced).collect();
        }
        merged(&parts).subjects[0].traced.len()
    };
    assert_eq!(worst(&[Some("tick_to_ack"), Some("tick_to_ack")]), 1);
    assert_eq!(worst(&[Some("tick_to_ack"), Some("tick_to_gateway")]), 0);
    assert_eq!(worst(&[Some("tick_to_ack"), None]), 0);
    assert_eq!(worst(&[None, None]), 0);
}

#[test]
fn six_records_of_one_run_have_an_interval() {
    let parts: Vec<MergePart> =
        (0..6).map(|at| part(&at.to_string(), at, &[vec![10 + at; 40]])).collect();
    let record = merged(&parts);
    let series = &record.subjects[0].series[0];
    assert_eq!(series.interval["p50"], [10, 15]);
    assert_eq!(record.warnings, ["the same for all"]);
}

#[test]
fn a_rule_is_as_bad_as_its_worst_and_says_where() {
    let mut parts = two();
    parts[1].record.rules[0].verdict = Verdict::NotApplicable;
    parts[1].record.rules[0].detail = "nobody knows".to_owned();
    parts[1].record.warnings.push("only here".to_owned());
    let record = merged(&parts);
    assert_eq!(record.rules[0].verdict, Verdict::NotApplicable);
    assert_eq!(record.rules[0].detail, "b: nobody knows");
    assert_eq!(record.warnings[1..], ["the same for all", "b: only here"]);
}

#[test]
fn a_void_record_is_merged_only_if_asked_and_the_record_says_so() {
    let mut parts = two();
    parts[1].record.void_because = vec!["rust.replies: 3 lost".into(), "and more".into()];
    let error = merge(&parts, VoidParts::Reject).err().unwrap();
    assert!(matches!(error, MergeError::Void(_)));
    expect!["b is void: rust.replies: 3 lost (and 1 more). Leave it out, or take it with --force: the merged record is void then, too"]
        .assert_eq(&error.to_string());
    let record = merge(&parts, VoidParts::Merge).unwrap().record;
    assert!(record.is_void() && record.complete);
    assert_eq!(record.void_because, ["b: rust.replies: 3 lost", "b: and more"]);
    let forced = "b: void, but merged because of --force";
    assert_eq!(record.warnings[0], forced);
}

#[test]
fn a_record_of_another_kind_is_rejected() {
    rejects(
        |parts| parts[1].record.scenario = "ping-pong".into(),
        expect![
            "a is of scenario order-to-ack, b of ping-pong: only records of one scenario can be merged"
        ],
    );
    rejects(
        |parts| parts[1].record.schema = 0,
        expect!["a has schema 1, b has 0: their contents differ"],
    );
    rejects(
        |parts| parts[1].record.tool = "tickpath 0.2.0".into(),
        expect![
            "a was measured with tickpath 0.1.0, b with tickpath 0.2.0: another version has another client and exchange. Measure both with one"
        ],
    );
    rejects(
        |parts| parts[1].record.injected = vec!["drop_every 1000".into()],
        expect![[
            r#"in a these faults were injected on purpose: []; in b these: ["drop_every 1000"]"#
        ]],
    );
    rejects(
        |parts| parts[1].record.resolved["load"]["rate_per_second"] = json!(2000.0),
        expect![
            "they measured different things: load.rate_per_second is 1000.0 in a and 2000.0 in b. Only about, runs, load.seed, load.first_token, exchange.cores, subject.cores, audit.core may differ"
        ],
    );
    rejects(
        |parts| parts[1].record.resolved["subject"][0]["backend"] = json!("block"),
        expect![[
            r#"they measured different things: subject.rust.backend is "spin" in a and "block" in b. Only about, runs, load.seed, load.first_token, exchange.cores, subject.cores, audit.core may differ"#
        ]],
    );
    rejects(
        |parts| parts[1].record.resolved["seconds"] = json!(8.0),
        expect![
            "they measured different things: seconds is 4.0 in a and 8.0 in b. Only about, runs, load.seed, load.first_token, exchange.cores, subject.cores, audit.core may differ"
        ],
    );
}

/// Without a resolved scenario, the subjects decide.
#[test]
fn different_subjects_are_rejected() {
    rejects(
        |parts| parts[0].record.subjects[0].name = "cpp".into(),
        expect!["a measured cpp, b did not: their figures would be of different runs"],
    );
    rejects(
        |parts| {
            let floor = Subject { name: "floor".into(), ..Subject::default() };
            parts[1].record.subjects.push(floor);
        },
        expect!["b measured floor, a did not: their figures would be of different runs"],
    );
    rejects(
        |parts| parts[1].record.subjects[0].backend = "block".into(),
        expect!["rust's backend is spin in a and block in b: they measured different things"],
    );
    rejects(
        |parts| parts[1].record.subjects[0].load.rate_per_second_offered = None,
        expect![
            "rust's offered rate is 1000 in a and no rate in b: they measured different things"
        ],
    );
    rejects(
        |parts| parts[1].record.subjects[0].series[0].name = "cancel".into(),
        expect!["a has rust.order.service, b has not: their figures would be of different runs"],
    );
    rejects(
        |parts| parts[0].record.subjects[0].series[0].unit = "us".into(),
        expect![[r#"rust.order.service of a is in "us": only latencies in ns can be merged"#]],
    );
}

#[test]
fn missing_incomplete_or_repeated_logs_are_rejected() {
    rejects(
        |parts| drop(parts[0].runs.pop()),
        expect![
            "a has 2 runs and logs of 1: a record is merged from its logs, and can't be without them all"
        ],
    );
    rejects(
        |parts| drop(parts[0].runs[1].insert(TAG.to_owned(), of(&[12; 30]))),
        expect![
            "a has 80 latencies of rust.order.service in its run.json and 70 in its logs, which are cut off or another record's: a record is merged from its logs, and can't be without them all"
        ],
    );
    rejects(
        |parts| {
            parts[1] = parts[0].clone();
            parts[1].name = "copy-of-a".to_owned();
        },
        expect![
            "a and copy-of-a both hold the runs that started at 1970-01-01T00:01:00Z: a run counts once, so leave one of them out"
        ],
    );
    rejects(
        |parts| parts[0].record.merged_from = vec![MergedFrom { runs: 7, ..MergedFrom::default() }],
        expect!["a says that it was merged from 7 runs and has 2: its run.json is damaged"],
    );
    let error = merge(&[], VoidParts::Reject).err().unwrap().to_string();
    assert_eq!(error, "there is no record to merge");
    let many: Vec<MergePart> = (0..1001).map(|at| part("x", at, &[vec![]])).collect();
    let error = merge(&many, VoidParts::Reject).err().unwrap().to_string();
    assert!(error.contains("1001 runs") && error.contains("1 to 1000"), "{error}");
}

/// One part of a merged record is merged into it again.
#[test]
fn a_run_that_is_merged_already_is_rejected() {
    let [a, b] = two();
    let MergeResult { record, machine, runs } = merge(&[a.clone(), b], VoidParts::Reject).unwrap();
    let totals = runs.iter().map(|(part, run)| two()[*part].runs[*run].clone()).collect();
    let ab = MergePart { name: "ab".into(), record, machine: Some(machine), runs: totals };
    let error = merge(&[ab, a], VoidParts::Reject).err().unwrap().to_string();
    assert!(error.starts_with("ab and a both hold the runs"), "{error}");
}

#[test]
fn other_machines_other_cores_and_the_same_time_are_warned_of() {
    let mut parts = [part("a", 0, &[vec![10; 40]]), part("b", 0, &[vec![20; 60]])];
    parts[1].record.subjects[0].cores = vec![2, 3];
    let fixed = FixedFacts { smt: Some("off".into()), ..FixedFacts::default() };
    parts[1].machine.as_mut().unwrap().before.fixed = fixed;
    let MergeResult { record, machine, .. } = merge(&parts, VoidParts::Reject).unwrap();
    assert_eq!(machine, Machine::default());
    expect![[r#"
        b came from another machine than a, or from other settings (smt: "off", not absent or unreadable): the pooled figures are of the mixture, the intervals over its runs are no machine's, and machine.json is that of a
        the cores shown are those of a; b ran on others
        a and b were measured at the same time: the rates shown are those of one client in one run, and an exchange that several clients shared saw their sum"#]]
    .assert_eq(&record.warnings[..3].join("\n"));
    assert_ne!(record.merged_from[0].machine, record.merged_from[1].machine);
}

/// Counts from elsewhere may be any number and must not cause a panic.
#[test]
fn sums_stop_at_the_largest_number() {
    let mut parts = two();
    for part in &mut parts {
        part.record.subjects[0].load.sent = u64::MAX;
    }
    let record = merged(&parts);
    assert_eq!(record.subjects[0].load.sent, u64::MAX);
}

fn some_runs() -> impl Strategy<Value = Vec<Vec<Vec<u64>>>> {
    let run = prop::collection::vec(1u64..5_000_000, 1..80);
    prop::collection::vec(prop::collection::vec(run, 1..4), 1..5)
}

proptest! {
    /// The percentiles of the merged record are those of all samples in one histogram, for any
    /// order and number of merges.
    #[test]
    fn merged_figures_are_those_of_all_samples(records in some_runs(), turn in 0usize..5) {
        let mut parts: Vec<MergePart> = records
            .iter()
            .enumerate()
            .map(|(at, runs)| part(&at.to_string(), at as u64, runs))
            .collect();
        let all: Vec<u64> = records.iter().flatten().flatten().copied().collect();
        let at_once = merged(&parts);
        prop_assert_eq!(pooled(&at_once), percentiles(&of(&all)).0);

        let turn = turn % parts.len();
        parts.rotate_left(turn);
        let shuffled = merged(&parts);
        let json = |record: &RunRecord| serde_json::to_value(&record.subjects).unwrap();
        prop_assert_eq!(json(&shuffled)[0]["series"].clone(), json(&at_once)[0]["series"].clone());

        let (first, rest) = parts.split_at(parts.len().div_ceil(2));
        let step = merge(first, VoidParts::Reject).unwrap();
        let totals = step.runs.iter().map(|(part, run)| first[*part].runs[*run].clone()).collect();
        let mut again = vec![MergePart {
            name: "step".into(), record: step.record, machine: Some(step.machine), runs: totals,
        }];
        again.extend_from_slice(rest);
        let in_steps = merged(&again);
        prop_assert_eq!(&in_steps.merged_from, &at_once.merged_from);
        prop_assert_eq!(json(&in_steps)[0]["series"].clone(), json(&at_once)[0]["series"].clone());
    }
}

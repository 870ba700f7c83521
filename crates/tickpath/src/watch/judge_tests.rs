use super::*;
use record::machine::{Fingerprint, FixedFacts};
use serde_json::json;

/// Eight runs around `p50`, which hold to p99.
fn record(p50: u64) -> RunRecord {
    let run =
        |at: u64| json!({"count": 20_000, "p50": p50 + at, "p99": 3 * p50 + at, "max": 9 * p50});
    serde_json::from_value(json!({
        "schema": 2, "tool": "t", "scenario": "s", "complete": true, "runs": 8, "warnings": [],
        "clock_step_ns": 1, "resolved": {"runs": 8, "seconds": 4.0, "load": {"rate_per_second": 100}},
        "subjects": [{"name": "rust", "series": [{"name": "order", "kind": "response", "unit": "ns",
            "pooled": run(0), "holds_to": 0.99, "bracket": {"p50": [p50, p50 + 10]},
            "per_run": (0..8).map(|at| run(at * p50 / 500)).collect::<Vec<_>>()}]}]
    }))
    .unwrap()
}

fn machine() -> Machine {
    let fixed = FixedFacts { kernel_release: Some("6.1".to_owned()), ..FixedFacts::default() };
    Machine { before: Fingerprint { fixed, ..Fingerprint::default() }, after: None }
}

fn judge(texts: &[&str]) -> Judge {
    let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    let mut judge = Judge { gates: gates(&texts).unwrap(), baseline: None, failing: Vec::new() };
    judge.set_baseline("main", record(10_000), machine()).unwrap();
    judge
}

fn outcomes(judged: &WatchVerdict) -> Vec<(&str, GateOutcome)> {
    judged.gates.iter().map(|one| (one.gate.as_str(), one.outcome)).collect()
}

#[test]
fn a_slower_record_alerts_once_and_a_good_one_recovers() {
    let mut judge = judge(&[]);
    let same = judge.judge(&record(10_000), &machine());
    assert_eq!(
        outcomes(&same),
        [
            ("order.response.p50 <= +10%", GateOutcome::Passed),
            ("order.response.p99 <= +10%", GateOutcome::Passed)
        ],
        "{:?}",
        same.gates
    );
    assert!(same.alerts.is_empty() && same.recovered.is_empty());
    let slower = judge.judge(&record(15_000), &machine());
    assert_eq!((slower.alerts.len(), slower.recovered.len()), (2, 0), "{:?}", slower.gates);
    let still = judge.judge(&record(15_000), &machine());
    assert_eq!((still.alerts.len(), still.recovered.len()), (0, 0), "it was told already");
    let mut void = record(10_000);
    void.void_because = vec!["lost replies".to_owned()];
    let nothing = judge.judge(&void, &machine());
    assert_eq!((nothing.alerts.len(), nothing.recovered.len()), (0, 0));
    assert!(nothing.gates[0].why.contains("lost replies"), "{:?}", nothing.gates);
    assert_eq!(judge.judge(&record(10_000), &machine()).recovered.len(), 2);
}

/// A figure that could be the baseline's without the disturbance is no evidence.
#[test]
fn what_a_disturbance_can_explain_raises_no_alert() {
    let mut judge = judge(&[]);
    let mut disturbed = record(15_000);
    let series = &mut disturbed.subjects[0].series[0];
    series.holds_to = Some(0.0);
    series.bracket.insert("p50".to_owned(), [10_000, 15_010]);
    let judged = judge.judge(&disturbed, &machine());
    assert!(judged.alerts.is_empty(), "{:?}", judged.gates);
}

#[test]
fn another_machine_or_other_settings_are_not_compared() {
    let mut judge = judge(&["order.p50 <= +10%"]);
    let mut other = machine();
    other.before.fixed.kernel_release = Some("6.8".to_owned());
    let judged = judge.judge(&record(15_000), &other);
    assert_eq!(judged.gates[0].outcome, GateOutcome::Inconclusive);
    assert!(judged.gates[0].why.contains("kernel_release"), "{:?}", judged.gates);
    let mut longer = record(15_000);
    longer.resolved["seconds"] = json!(600.0);
    assert_eq!(judge.judge(&longer, &machine()).alerts.len(), 1, "a longer run is the same");
    let mut faster = record(15_000);
    faster.resolved["load"]["rate_per_second"] = json!(10_000);
    let judged = judge.judge(&faster, &machine());
    assert!(judged.gates[0].why.contains("load.rate_per_second"), "{:?}", judged.gates);
}

#[test]
fn a_command_gets_the_words_and_may_fail() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("said");
    let line = format!("echo \"$TICKPATH_ALERT in $TICKPATH_RECORD\" > '{}'", file.display());
    run_command(&line, "p50 is up", Path::new("runs/x")).unwrap();
    assert_eq!(std::fs::read_to_string(file).unwrap(), "p50 is up in runs/x\n");
    assert!(run_command("exit 7", "", Path::new("")).unwrap_err().contains('7'));
}

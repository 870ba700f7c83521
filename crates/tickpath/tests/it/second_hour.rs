//! The second hour of a user: plans, project files, turns, misspelt names.

use crate::support::*;
use serde_json::Value;
use std::fs;
use std::process::Stdio;

#[test]
fn a_dry_run_says_what_would_run_and_measures_nothing() {
    let out = tempfile::tempdir().unwrap();
    let runs = out.path().join("runs").display().to_string();
    let done = output(&["run", "--dry-run", "--out", &runs, "--set", "load.rate_per_second=12k"]);
    let said = text(&done.stdout);
    assert_eq!(done.status.code(), Some(0), "{said}{}", text(&done.stderr));
    assert!(
        said.contains("order-to-ack · can run") && said.contains("\"rate_per_second\": 12000.0")
    );
    assert!(!out.path().join("runs").exists());
    let full =
        ["run", "--dry-run", "--out", &runs, "--set", "runs=1000", "--set", "seconds=2592000"];
    let done = output(&full);
    assert_eq!(done.status.code(), Some(2));
    assert!(text(&done.stdout).contains("CANNOT RUN"), "{}", text(&done.stdout));
}

#[test]
fn a_project_file_gives_place_and_settings_and_the_command_line_wins() {
    let here = tempfile::tempdir().unwrap();
    let file = "out = \"results\"\n[set]\nseconds = 3\nruns = 2\n";
    fs::write(here.path().join("tickpath.toml"), file).unwrap();
    let done = tickpath()
        .current_dir(here.path())
        .args(["run", "--dry-run", "--json", "--set", "runs=4"])
        .output()
        .unwrap();
    let plan: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!((&plan["scenario"]["seconds"], &plan["scenario"]["runs"]), (&3.0.into(), &4.into()));
    fs::write(here.path().join("tickpath.toml"), "outt = 1").unwrap();
    let done = tickpath().current_dir(here.path()).args(["run", "--dry-run"]).output().unwrap();
    assert_eq!(done.status.code(), Some(2));
    assert!(text(&done.stderr).contains("Did you mean out?"), "{}", text(&done.stderr));
}

/// Its record says what it is, and nothing can be read from it.
#[test]
fn a_quick_run_is_a_smoke_test() {
    let out = tempfile::tempdir().unwrap();
    let runs = out.path().display().to_string();
    let sets = ["exchange.backend=block", "subject.rust.backend=block", "load.rate_per_second=1k"];
    let sets = sets.map(|set| ["--set", set]).concat();
    let quick = ["run", "--quick", "--quiet", "--out", &runs];
    let done = output(&[&quick[..], &sets[..]].concat());
    let said = text(&done.stdout);
    let record = record(&only_run(out.path()));
    let expected = if is_void(&record) { "VOID" } else { "SMOKE TEST" };
    assert!(said.contains(expected), "{said}{}", text(&done.stderr));
    assert_eq!((&record["smoke_test"], &record["runs"]), (&true.into(), &1.into()));
    assert_eq!(done.status.code(), Some(if is_void(&record) { 3 } else { 0 }));
}

/// Twenty orders in all: not one percentile can be told.
#[test]
fn a_record_without_a_figure_is_no_success() {
    let out = tempfile::tempdir().unwrap();
    let runs = out.path().display().to_string();
    let few = ["--set", "load.rate_per_second=20", "--set", "floor_seconds=0", "--out", &runs];
    let done = output(&[SHORT, &few].concat());
    assert_eq!(done.status.code(), Some(3), "{}", text(&done.stdout));
}

#[test]
fn misspelt_names_are_answered_with_the_closest_ones() {
    for (arguments, expected) in [
        (&["run", "order-to-akc"][..], "Did you mean order-to-ack"),
        (&["run", "--set", "load.rate=1"], "Did you mean rate_per_second"),
        (&["run", "--gate", "ordr.p50 <= 1ms"], "Did you mean order"),
        (&["run", "--gate", "rost.order.p50 <= 1ms"], "Did you mean rust"),
        (&["run", "--gate", "order.respons.p50 <= 1ms"], "Did you mean response"),
        (&["sweep", "order-to-ack", "--slo", "cancl.p50 <= 1ms"], "Did you mean cancel"),
        (&["run", "--set", "subject.rust.cores=[0,1]"], "subject.rust.cores"),
    ] {
        let done = output(arguments);
        assert_eq!(done.status.code(), Some(2), "{arguments:?}");
        let said = text(&done.stderr);
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}

#[test]
fn a_second_measurement_on_the_same_cores_waits_or_fails() {
    let place = tempfile::tempdir().unwrap();
    let runs = place.path().join("runs").display().to_string();
    let measure = |seconds: &str, more: &[&str]| {
        let mut command = tickpath();
        command.env("TICKPATH_LOCKS", place.path());
        command.args(["noise", "--quiet", "--cores", "0", "--out", &runs, "--seconds", seconds]);
        command.args(more).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let mut first = measure("60", &[]);
    wait_for("the first to have its core", || {
        let said = fs::read_to_string(place.path().join("tickpath-core-0.lock")).ok()?;
        said.contains("noise").then_some(())
    });
    let failed = measure("0.1", &["--no-wait"]).wait_with_output().unwrap();
    assert_eq!(failed.status.code(), Some(2));
    let said = text(&failed.stderr);
    assert!(said.contains(&format!("pid {}", first.id())) && said.contains("core 0"), "{said}");
    let second = measure("0.1", &[]);
    signal(first.id(), rustix::process::Signal::INT);
    first.wait().unwrap();
    let done = second.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
}

#[test]
fn several_records_are_one_json_array() {
    let out = tempfile::tempdir().unwrap();
    let record = serde_json::json!({"schema": 2, "tool": "t", "scenario": "s", "complete": true,
        "runs": 1, "warnings": [], "subjects": []});
    let file = out.path().join("run.json");
    fs::write(&file, record.to_string()).unwrap();
    let file = file.display().to_string();
    let read = |arguments: &[&str]| -> Value {
        serde_json::from_slice(&output(arguments).stdout).unwrap()
    };
    assert_eq!(read(&["report", "--json", &file])["scenario"], "s");
    assert_eq!(read(&["report", "--json", &file, &file]).as_array().unwrap().len(), 2);
}

/// One run of half a second, as a record to compare with.
fn quick_record(out: &str, more: &[&str]) -> std::process::Output {
    output(&[SHORT, &["--set", "runs=1", "--quiet", "--out", out], more].concat())
}

#[test]
fn a_baseline_is_kept_compared_and_its_settings_must_agree() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("runs").display().to_string();
    let new = place.path().join("new").display().to_string();
    let (junit, markdown) = (place.path().join("gate.xml"), place.path().join("gate.md"));
    let (junit_text, markdown_text) = (junit.display().to_string(), markdown.display().to_string());
    let summaries = ["--junit", &junit_text, "--markdown", &markdown_text];
    let gate = ["--gate", "order.service.p50 <= 1s", "--save-baseline", "main"];
    let saved = quick_record(&out, &[&summaries[..], &gate[..]].concat());
    let xml = fs::read_to_string(&junit).unwrap();
    assert!(xml.contains("<testsuite name=\"tickpath run\" tests=\"2\""), "{xml}");
    assert!(fs::read_to_string(&markdown).unwrap().contains("### order-to-ack"));
    if saved.status.code() != Some(0) {
        // This machine was too busy for a baseline; then it says so and keeps none.
        assert!(text(&saved.stderr).contains("not saved as baseline"), "{}", text(&saved.stderr));
        return;
    }
    quick_record(&new, &["--set", "load.cancel_after=2"]);
    let new = only_run(std::path::Path::new(&new)).display().to_string();
    let done = output(&["compare", "--json", "--baseline", "main", "--out", &out, &new]);
    let comparison: Value = serde_json::from_slice(&done.stdout).unwrap();
    let because = comparison["incomparable_because"].to_string();
    assert!(because.contains("settings differ: load.cancel_after"), "{comparison:#}");
    let none = output(&["compare", "--baseline", "none", "--out", &out, &new]);
    assert_eq!(none.status.code(), Some(2));
    assert!(text(&none.stderr).contains("--save-baseline"), "{}", text(&none.stderr));

    // A comparison is a record: it is printed and drawn again.
    let kept = fs::read_dir(&out).unwrap().flatten().map(|entry| entry.path());
    let kept = kept.into_iter().find(|path| path.join("compare.json").is_file()).unwrap();
    let again = output(&["report", "--json", &kept.display().to_string()]);
    assert_eq!(serde_json::from_slice::<Value>(&again.stdout).unwrap(), comparison);
    assert!(fs::read_to_string(kept.join("report.html")).unwrap().contains("A against B"));
    let rows = text(&output(&["report", "--export", "csv", &new]).stdout);
    assert!(rows.lines().count() > 10 && rows.contains(",rust,order,service,p50,"), "{rows}");
}

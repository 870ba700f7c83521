//! `tickpath compare` and `selftest` as a whole: real processes, real records, faults that we put
//! there.

use crate::support::*;
use serde_json::Value;
use std::path::Path;
use std::process::Output;

/// Runs that are over in half a second, of clients that sleep: tests share their cores.
const QUICK: &[&str] = &[
    "--set",
    "seconds=0.3",
    "--set",
    "warm_up_seconds=0.1",
    "--set",
    "floor_seconds=0",
    "--set",
    "hiccup_seconds=0",
    "--set",
    "exchange.backend=block",
    "--set",
    "subject.rust.backend=block",
    "--figure",
    "p50",
    "--scenario",
    "ping-pong",
];

fn compare(out: &Path, arguments: &[&str]) -> Output {
    let out = out.display().to_string();
    tickpath().arg("compare").args(QUICK).args(["--out", &out]).args(arguments).output().unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)))
}

fn figure<'a>(comparison: &'a Value, series: &str) -> &'a Value {
    let figures = comparison["figures"].as_array().unwrap();
    figures.iter().find(|figure| figure["series"] == series).unwrap()
}

/// A delay of 3 ms in every answer, where a round trip takes a tenth of one, is found, and is at
/// least as long as it is. How much more it is depends on who else wants the core while the
/// exchange spins; `tickpath selftest` checks the figure on a quiet core.
#[test]
fn a_slower_exchange_is_worse_and_fails_its_gate() {
    let assumption = "orders take 18 ms at most, so that 0.4 s has the twenty that a p50 needs";
    testing::quiet::or_doubled(assumption, slower_exchange_is_worse);
}

fn slower_exchange_is_worse(factor: u32) -> Result<(), String> {
    let out = tempfile::tempdir().unwrap();
    let slower = format!("exchange.inject.delay_us={}", 3_000 * factor);
    let seconds = format!("seconds={}", 0.4 * f64::from(factor));
    let asked = ["--force", "--json", "--pairs", "8", "--set", &seconds];
    let gate = ["--gate", "order.service.p50 <= +100%", "exchange.inject.delay_us=0", &slower];
    let done = compare(out.path(), &[&asked[..], &gate].concat());
    let comparison = json(&done);
    testing::unless!(comparison["outcome"] == "worse", "{comparison:#}");
    assert_eq!(comparison["gates"][0]["outcome"], "failed", "{comparison:#}");
    assert_eq!(done.status.code(), Some(1));
    let order = figure(&comparison, "order");
    let added_ns = order["added_ns"].as_i64().unwrap();
    assert!(added_ns >= 2_000_000, "{order:#}");
    let differs = format!("exchange.inject.delay_us: 0 -> {}", 3_000 * factor);
    assert_eq!(comparison["differs"][0], differs.as_str());
    assert_eq!(comparison["forced"], true);

    // Every run is a record of its own, and the comparison stands beside them.
    let directory = only_run(out.path());
    for arm in ["a", "b"] {
        let records = comparison[arm]["records"].as_array().unwrap();
        assert_eq!(records.len(), 8);
        let first = Path::new(records[0].as_str().unwrap());
        assert!(first.starts_with(directory.join(arm)));
        assert_eq!(record(first)["runs"], 1);
    }
    let saved = std::fs::read_to_string(directory.join("compare.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&saved).unwrap(), comparison);
    Ok(())
}

/// Three treatments are measured in the same rounds, and `report` prints all of it again.
#[test]
fn several_candidates_are_measured_in_one_comparison() {
    let assumption = "orders take 20 ms at most, so that 0.4 s has the twenty that a p50 needs";
    testing::quiet::or_doubled(assumption, three_are_compared);
}

fn three_are_compared(factor: u32) -> Result<(), String> {
    let out = tempfile::tempdir().unwrap();
    let delays = [0, 1_000, 2_000].map(|us| format!("exchange.inject.delay_us={us}"));
    let delays: Vec<&str> = delays.iter().map(String::as_str).collect();
    let seconds = format!("seconds={}", 0.4 * f64::from(factor));
    let gate = ["--force", "--pairs", "1", "--gate", "order.service.p50 <= 1s", "--set", &seconds];
    let done = compare(out.path(), &[&gate, delays.as_slice()].concat());
    testing::unless!(done.status.code() != Some(4), "{}", text(&done.stdout));
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(0), "{said}");
    assert!(said.contains("about 2 candidates needs --pairs 7 or more"), "{said}");
    let printed = text(&done.stdout);
    for words in ["INCONCLUSIVE, not judged", "A B C … C B A", "C gate passed", "C differs"] {
        assert!(printed.contains(words), "no {words:?} in {printed}");
    }
    let directory = only_run(out.path());
    for (arm, delay) in ["a", "b", "c"].iter().zip(&delays) {
        let run = record(&only_run(&directory.join(arm)));
        let set = run["resolved"]["exchange"]["inject"]["delay_us"].to_string();
        assert_eq!(format!("exchange.inject.delay_us={set}"), *delay);
    }
    let again = text(&output(&["report", &directory.display().to_string()]).stdout);
    assert!(printed.starts_with(&again), "{again}");
    let page = std::fs::read_to_string(directory.join("report.html")).unwrap();
    assert!(page.contains("A against each of B to C"), "{page}");
    Ok(())
}

/// A candidate that is 3 ms slower is not worth it. One that its scenario does not allow, one whose
/// file is missing, which is known before the first run, and one whose exchange ends at its start
/// keep their rows.
#[test]
fn a_margin_decides_whether_a_candidate_is_worth_it() {
    let assumption = "orders take 15 ms at most, so that 0.3 s has the twenty that a p50 needs";
    testing::quiet::or_doubled(assumption, slower_is_not_worth_it);
}

fn slower_is_not_worth_it(factor: u32) -> Result<(), String> {
    let out = tempfile::tempdir().unwrap();
    let no_table = out.path().join("no_table.toml").display().to_string();
    std::fs::write(&no_table, "neither a table nor a value").unwrap();
    let seconds = format!("seconds={}", 0.3 * f64::from(factor));
    let slow = format!("exchange.inject.delay_us={}", 3_000 * factor);
    let missing = "exchange.book=/there/is/no/book.csv";
    let unreadable = format!("exchange.instruments={no_table}");
    let asked = ["--force", "--json", "--pairs", "6", "--worth", "5%", "--set", &seconds];
    let runs = out.path().join("runs");
    let over_loopback = "exchange.backend=af_xdp";
    let treatments = ["exchange.inject.delay_us=0", &slow, missing, &unreadable, over_loopback];
    let done = compare(&runs, &[&asked[..], &treatments].concat());
    let said = text(&done.stderr);
    let comparison = json(&done);
    testing::unless!(comparison["worth"]["verdict"] == "not_worth_it", "{comparison:#}");
    assert_eq!(done.status.code(), Some(0), "{said}");
    let not_run = comparison["not_run"].as_array().unwrap();
    let names: Vec<&str> = not_run.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, [over_loopback, missing, unreadable.as_str()], "{said}");
    let reasons = ["loopback lacks", "/there/is/no/book.csv", "no_table.toml"];
    for (one, why) in not_run.iter().zip(reasons) {
        let reason = one["why"].as_str().unwrap();
        assert!(reason.contains(why) && said.contains(reason), "{reason} in {said}");
    }
    let directory = only_run(&runs);
    let printed = text(&output(&["report", &directory.display().to_string()]).stdout);
    for words in ["Does it save 5 % of A's order service p50?", "not worth it", "could not run"] {
        assert!(printed.contains(words), "no {words:?} in {printed}");
    }
    let cost = &comparison["b"]["cost"];
    assert_eq!((&cost["lost"], &cost["packets_dropped"]), (&0.into(), &Value::Null), "{cost}");
    for end in ["client_ns", "exchange_ns"] {
        assert!(cost["processor"][end].as_u64() > Some(0), "{cost}");
    }
    // The trials' records are not kept.
    let kept = std::fs::read_dir(&directory).unwrap().flatten();
    let kept: Vec<String> = kept.map(|one| one.file_name().display().to_string()).collect();
    assert!(!kept.contains(&"trials".to_owned()), "{kept:?}");
    Ok(())
}

/// A candidate that loses every tenth reply makes each round void. Its losses stand in the table
/// all the same.
#[test]
fn losses_of_void_rounds_count() {
    let out = tempfile::tempdir().unwrap();
    let treatments = ["exchange.inject.delay_us=0", "exchange.inject.drop_every=10"];
    let asked = ["--json", "--pairs", "1", "--worth", "5%"];
    let done = compare(out.path(), &[&asked[..], &treatments].concat());
    let (comparison, said) = (json(&done), text(&done.stderr));
    assert_eq!(done.status.code(), Some(3), "{said}");
    assert_eq!((&comparison["b"]["runs"], &comparison["pairs_void"]), (&0.into(), &1.into()));
    let lost = |arm: &str| comparison[arm]["cost"]["lost"].as_u64();
    assert!(lost("a") == Some(0) && lost("b") > Some(0), "{comparison:#}");
    assert_eq!(comparison["worth"]["verdict"], "undecided");
    assert!(comparison["void_because"].to_string().contains("b: rust.replies"), "{comparison:#}");
}

#[test]
fn two_records_are_compared_as_they_are() {
    let runs = tempfile::tempdir().unwrap();
    let mut records = Vec::new();
    for name in ["one", "two"] {
        let out = runs.path().join(name);
        let sets = ["--set", "load.model=ping-pong", "--set", "floor_seconds=0"];
        let out_text = out.display().to_string();
        let done = tickpath()
            .args(SHORT)
            .args(sets)
            .args(["--quiet", "--out", &out_text])
            .output()
            .unwrap();
        assert!(matches!(done.status.code(), Some(0 | 3)), "{}", text(&done.stderr));
        records.push(only_run(&out));
    }
    let out = runs.path().join("compared").display().to_string();
    let [a, b] = [&records[0], &records[1]].map(|path| path.display().to_string());
    // One run each says nothing, whatever it shows.
    let done = output(&["compare", "--json", "--out", &out, &a, &b]);
    let comparison = json(&done);
    assert_eq!(comparison["outcome"], "inconclusive");
    assert_eq!(comparison["design"], "apart");
    let void = records.iter().any(|run| is_void(&record(run)));
    assert_eq!(done.status.code(), Some(if void { 3 } else { 0 }), "{comparison:#}");
    let table = text(&output(&["compare", "--force", "--out", &out, &a, &b]).stdout);
    assert!(table.contains("INCONCLUSIVE"), "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");

    // A void record is rejected unless --force is given.
    let path = records[1].join("run.json");
    let mut broken = record(&records[1]);
    broken["void_because"] = serde_json::json!(["the test says so"]);
    std::fs::write(&path, broken.to_string()).unwrap();
    let done = output(&["compare", "--json", "--out", &out, &a, &b]);
    assert_eq!(done.status.code(), Some(3));
    let because = json(&done)["incomparable_because"].to_string();
    assert!(because.contains("B is void: the test says so"), "{because}");
}

#[test]
fn what_cannot_be_compared_says_what_to_do() {
    let out = tempfile::tempdir().unwrap();
    let out_text = out.path().display().to_string();
    let complaint = |arguments: &[&str]| {
        let done = output(&[&["compare", "--out", &out_text], arguments].concat());
        assert_eq!(done.status.code(), Some(2), "{arguments:?}: {}", text(&done.stdout));
        text(&done.stderr)
    };
    let run = out.path().join("run.json");
    std::fs::write(&run, "{}").unwrap();
    let run = run.display().to_string();
    assert!(complaint(&[&run, "ping-pong"]).contains("is a record and the other is not"));
    assert!(complaint(&[&run, &run, &run]).contains("`tickpath report` sets more"));
    assert!(complaint(&[&run, &run, "ping-pong"]).contains("is a record and the other is not"));
    assert!(complaint(&[vec!["seconds=1"; 27]].concat()).contains("the limit is 26"));
    assert!(complaint(&["--pairs", "3", &run, &run]).contains("made already"));
    assert!(complaint(&["--set", "seconds=1", &run, &run]).contains("--set is for what is made"));
    assert!(complaint(&["--scenario", "engine", &run, &run]).contains("--scenario is for"));
    assert!(complaint(&[&run, &run]).contains("is no run record"));
    assert!(complaint(&["--pairs", "0", "seconds=1", "seconds=1"]).contains("1 to 100"));
    assert!(complaint(&["--gate", "p99 < 5", "seconds=1", "seconds=1"]).contains("such as"));
    assert!(complaint(&["--worth", "5", "seconds=1", "seconds=1"]).contains("such as 5% or 2us"));
    let only_p90 = ["--figure", "p90", "--worth", "5%", "seconds=1", "seconds=1"];
    assert!(complaint(&only_p90).contains("add p50 to --figure"));
    let book = "exchange.book=/there/is/no/book.csv";
    let none = complaint(&["--worth", "5%", "--scenario", "ping-pong", "seconds=1", book]);
    assert!(none.contains("no candidate can run here") && none.contains("cannot read"), "{none}");
    assert!(complaint(&["--figure", "p98", "seconds=1", "seconds=1"]).contains("p99.9"));
    assert!(complaint(&["--command", "true", "true"]).contains("tickpath run --json"));
    assert!(complaint(&["true", "true"]).contains("add --command"));
    let misspelt = out.path().join("rum").display().to_string();
    assert!(complaint(&[&misspelt, &misspelt]).contains("there is no record"));
    // It was once taken for a record.
    assert!(complaint(&["--command", "true", "cat no.json"]).contains("tickpath run --json"));
    let gate = ["--gate", "ordr.p99 <= 5%", "seconds=1", "seconds=1"];
    assert!(complaint(&gate).contains("Did you mean order?"));
}

/// A's run was measured before B's command printed nothing.
#[test]
fn a_run_whose_pair_could_not_be_made_is_kept() {
    let out = tempfile::tempdir().unwrap();
    let sets = "seconds=0.2 warm_up_seconds=0.1 floor_seconds=0 hiccup_seconds=0 \
                exchange.backend=block subject.rust.backend=block";
    let sets: String = sets.split_whitespace().map(|set| format!(" --set {set}")).collect();
    let run = format!("{} run ping-pong --json --quiet{sets}", env!("CARGO_BIN_EXE_tickpath"));
    let out_text = out.path().display().to_string();
    let done = output(&["compare", "--command", "--quiet", "--out", &out_text, &run, "false"]);
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{said}");
    let kept = only_run(out.path());
    assert!(said.contains(&kept.display().to_string()), "{said}");
    assert!(only_run(&kept.join("a")).join("run.json").is_file());
}

#[test]
fn ctrl_c_leaves_what_was_made() {
    let out = tempfile::tempdir().unwrap();
    let out_text = out.path().display().to_string();
    let child = tickpath()
        .arg("compare")
        .args(QUICK)
        .args(["--force", "--json", "--pairs", "50", "--out", &out_text])
        .args(["seconds=0.3", "seconds=0.3"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    wait_for("the second pair", || {
        let directory = std::fs::read_dir(out.path()).ok()?.next()?.ok()?.path();
        (std::fs::read_dir(directory.join("b")).ok()?.count() >= 2).then_some(())
    });
    signal(child.id(), rustix::process::Signal::INT);
    let done = child.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(3), "{}", text(&done.stderr));
    assert!(text(&done.stderr).contains("interrupted"), "{}", text(&done.stderr));
    let made = json(&done)["a"]["runs"].as_u64().unwrap();
    assert!((1..50).contains(&made), "{made}");
    assert!(only_run(out.path()).join("compare.json").is_file());
}

/// The part of the self-test that no noise can spoil.
#[test]
fn a_dropped_reply_is_seen() {
    let out = tempfile::tempdir().unwrap();
    let out_text = out.path().display().to_string();
    let done = output(&["selftest", "--only", "drop", "--quiet", "--out", &out_text]);
    let said = text(&done.stdout);
    assert_eq!(done.status.code(), Some(0), "{said}{}", text(&done.stderr));
    assert!(said.starts_with("ok    dropped replies: "), "{said}");
    assert!(only_run(out.path()).join("selftest.json").is_file());
}

//! `tickpath run` as a whole: real processes over real sockets, and what happens when one of them
//! goes.

use crate::support::*;
use rustix::process::Signal;
use serde_json::Value;
use std::process::Stdio;
use std::time::{Duration, Instant};

#[test]
fn a_run_leaves_a_record_that_agrees_with_its_logs() {
    let runs = tempfile::tempdir().unwrap();
    let out = runs.path().display().to_string();
    let done = tickpath().args(SHORT).args(["--out", &out, "--set", "runs=2"]).output().unwrap();
    let table = text(&done.stdout);
    let run = only_run(runs.path());
    let record = record(&run);

    assert_eq!(record["complete"], true, "{}{table}", text(&done.stderr));
    assert_eq!(done.status.code(), Some(status_of(&record)));
    for name in ["rust.complete", "rust.replies", "rust.accepted", "rust.accounted", "rust.state"] {
        assert_eq!(rule(&record, name)["verdict"], "held", "{}", rule(&record, name));
    }
    // 500 measured messages a run, half orders, half cancels.
    for kind in ["response", "service"] {
        for name in ["order", "cancel"] {
            assert_eq!(series(&record, "rust", name, kind)["pooled"]["count"], 500);
            assert_eq!(series(&record, "floor", name, kind)["pooled"]["count"], 300);
        }
    }
    assert_eq!(record["subjects"][0]["load"]["message_bytes"]["order"], 212);
    // The record's figures are those of the logs, and only of the runs that count.
    let mut all: Option<hdrhistogram::Histogram<u64>> = None;
    for number in ["001", "002"] {
        let log = std::fs::read(run.join(format!("{number}.hlog"))).unwrap();
        let mut totals = record::hlog::totals(&log[..]).unwrap();
        let order = totals.remove("rust.order.response").unwrap();
        match &mut all {
            Some(all) => all.add(&order).unwrap(),
            None => all = Some(order),
        }
    }
    let pooled = &series(&record, "rust", "order", "response")["pooled"];
    let all = all.unwrap();
    assert_eq!(pooled["p50"], all.value_at_quantile(0.5));
    assert_eq!(pooled["max"], all.max());
    assert_eq!(pooled["p99_9"], Value::Null, "500 samples don't support it");

    let machine: Value =
        serde_json::from_str(&std::fs::read_to_string(run.join("machine.json")).unwrap()).unwrap();
    assert!(machine["before"]["fixed"]["kernel_release"].is_string());
    assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
    for word in ["order response", "cancel service", "floor", "hiccup", "p95", "record: "] {
        assert!(table.contains(word), "no {word:?} in {table}");
    }

    let again = output(&["report", &run.display().to_string()]);
    assert_eq!(text(&again.stdout), table.split("\nrecord: ").next().unwrap());
    let json = output(&["report", "--json", &run.display().to_string()]);
    assert_eq!(printed_record(&json), record);
}

#[test]
fn json_is_the_record_and_nothing_else() {
    let runs = tempfile::tempdir().unwrap();
    let out = runs.path().display().to_string();
    let ping_pong =
        ["--set", "load.model=ping-pong", "--set", "floor_seconds=0", "--set", "hiccup_seconds=0"];
    let done =
        tickpath().args(SHORT).args(["--json", "--out", &out]).args(ping_pong).output().unwrap();
    let printed = printed_record(&done);
    assert_eq!(printed, record(&only_run(runs.path())));
    assert!(series(&printed, "rust", "cycle", "service")["pooled"]["count"].as_u64() > Some(100));
    assert_eq!(rule(&printed, "rust.sent")["verdict"], "not_applicable");
}

#[test]
fn several_subjects_each_get_their_floor() {
    let runs = tempfile::tempdir().unwrap();
    let scenario = runs.path().join("two.toml");
    std::fs::write(
        &scenario,
        r#"
name = "two"
kind = "order-entry"
runs = 1
warm_up_seconds = 0.1
seconds = 0.3
floor_seconds = 0.2
[load]
rate_per_second = 500
accounts = 4
connections = 2
[exchange]
backend = "block"
[[subject]]
name = "spinning"
backend = "spin"
[[subject]]
name = "blocking"
backend = "block"
"#,
    )
    .unwrap();
    let out = runs.path().join("runs");
    let done = output(&[
        "run",
        &scenario.display().to_string(),
        "--json",
        "--out",
        &out.display().to_string(),
    ]);
    let record = printed_record(&done);
    let names: Vec<&str> = record["subjects"]
        .as_array()
        .unwrap()
        .iter()
        .map(|subject| subject["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["spinning", "blocking", "floor", "floor-2"]);
    assert_eq!(record["subjects"][3]["backend"], "block");
    // Two accounts share a connection: their messages name the account.
    assert!(record["subjects"][0]["load"]["message_bytes"]["order"].as_u64() > Some(212));
    assert_eq!(rule(&record, "spinning.accepted")["verdict"], "held");
}

/// A run of `tickpath` in the background, long enough that only what the test does ends it.
fn long_run(out: &str) -> std::process::Child {
    tickpath()
        .args(SHORT)
        .args(["--out", out, "--set", "seconds=60", "--set", "floor_seconds=0"])
        .args(["--set", "hiccup_seconds=0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn child_of(run: u32, word: &str) -> u32 {
    wait_for(word, || children(run, word).first().copied())
}

/// Time in which a run begins to measure.
const LEAD: Duration = Duration::from_millis(1500);
const LEAD_ASSUMPTION: &str = "1.5 s after its client's start, a run has measured 100 orders";

#[test]
fn an_exchange_that_is_killed_makes_an_invalid_record_that_says_so() {
    testing::quiet::or_doubled(LEAD_ASSUMPTION, |factor| killed_exchange_is_said(LEAD * factor));
}

/// Orders in a record's row of response times; 0 if there is no row.
fn orders_measured(record: &Value) -> u64 {
    let rows = subject(record, "rust")["series"].as_array().unwrap();
    let orders = rows.iter().find(|row| row["name"] == "order" && row["kind"] == "response");
    orders.map_or(0, |row| row["pooled"]["count"].as_u64().unwrap())
}

fn killed_exchange_is_said(lead: Duration) -> Result<(), String> {
    let runs = tempfile::tempdir().unwrap();
    let run = long_run(&runs.path().display().to_string());
    let exchange = child_of(run.id(), "exchange");
    child_of(run.id(), "trade");
    std::thread::sleep(lead);
    signal(exchange, Signal::KILL);
    let killed = Instant::now();
    let done = run.wait_with_output().unwrap();
    assert!(killed.elapsed() < Duration::from_secs(10), "{:?}", killed.elapsed());
    assert_eq!(done.status.code(), Some(3));
    let record = record(&only_run(runs.path()));
    assert_eq!((is_void(&record), &record["complete"]), (true, &false.into()));
    let reasons = record["void_because"].to_string();
    assert!(reasons.contains("the exchange died in mid-run"), "{reasons}");
    testing::unless!(orders_measured(&record) > 0, "no order was measured");
    Ok(())
}

/// The record holds all that was measured before a client died, however it died.
#[test]
fn a_client_that_is_killed_leaves_what_was_logged() {
    let runs = tempfile::tempdir().unwrap();
    let out = runs.path().display().to_string();
    let run = tickpath()
        .args(SHORT)
        .args(["--out", &out, "--set", "runs=2", "--set", "seconds=1.5"])
        .args(["--set", "floor_seconds=0"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The second run's log is the sign that the first run is on disk.
    wait_for("the second run", || {
        let entry = std::fs::read_dir(runs.path()).ok()?.next()?.ok()?;
        entry.path().join("002.hlog").exists().then_some(())
    });
    signal(child_of(run.id(), "trade"), Signal::KILL);
    let done = run.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(3), "{}", text(&done.stderr));
    let record = record(&only_run(runs.path()));
    assert_eq!(record["complete"], false);
    assert!(record["void_because"].to_string().contains("signal: 9"), "{record}");
    assert_eq!(series(&record, "rust", "order", "response")["pooled"]["count"], 750);
}

#[test]
fn ctrl_c_leaves_what_was_measured_marked_incomplete() {
    testing::quiet::or_doubled(LEAD_ASSUMPTION, |factor| interrupted_run_is_left(LEAD * factor));
}

fn interrupted_run_is_left(lead: Duration) -> Result<(), String> {
    let runs = tempfile::tempdir().unwrap();
    let run = long_run(&runs.path().display().to_string());
    let pid = run.id();
    child_of(pid, "trade");
    std::thread::sleep(lead);
    signal(pid, Signal::INT);
    let asked = Instant::now();
    let done = run.wait_with_output().unwrap();
    assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
    assert_eq!(done.status.code(), Some(3));
    let record = record(&only_run(runs.path()));
    assert_eq!(record["complete"], false);
    let reasons = record["void_because"].to_string();
    assert!(reasons.contains("interrupted"), "{reasons}");
    let measured = orders_measured(&record);
    testing::unless!(measured > 100, "{measured} orders were measured");
    // Every message was answered, and the exchange agrees.
    assert_eq!(rule(&record, "rust.replies")["verdict"], "held");
    assert_eq!(rule(&record, "rust.accounted")["verdict"], "held");
    Ok(())
}

#[test]
fn nothing_outlives_a_run_that_is_killed() {
    let runs = tempfile::tempdir().unwrap();
    let mut run = long_run(&runs.path().display().to_string());
    let started = [child_of(run.id(), "exchange"), child_of(run.id(), "trade")];
    run.kill().unwrap();
    run.wait().unwrap();
    wait_for("the end of exchange and client", || {
        let alive = |pid: &u32| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            !line.is_empty()
        };
        (!started.iter().any(alive)).then_some(())
    });
}

/// clients/CONTRACT.md: a client is any program that reads the plan and prints the result.
#[test]
fn a_foreign_client_is_started_as_the_contract_says() {
    let runs = tempfile::tempdir().unwrap();
    let out = runs.path().display().to_string();
    let own = format!(r#"subject.rust.command=["{}", "trade"]"#, env!("CARGO_BIN_EXE_tickpath"));
    let done =
        tickpath().args(SHORT).args(["--json", "--out", &out, "--set", &own]).output().unwrap();
    let record = printed_record(&done);
    assert_eq!(rule(&record, "rust.complete")["verdict"], "held");

    // One that claims to have done it all, and has nothing to show for it.
    let counts = ["sent", "received", "lost", "duplicated", "rejected", "unexpected"];
    let counts = counts.map(|count| format!(r#"\"{count}\": 0"#)).join(", ");
    let says = format!(r#"{{\"complete\": true, \"load\": {{{counts}}}}}"#);
    let set = format!(r#"subject.rust.command=["/bin/sh", "-c", "echo '{says}'"]"#);
    let done = tickpath()
        .args(SHORT)
        .args(["--json", "--out", &out, "--set", &set, "--set", "floor_seconds=0"])
        .output()
        .unwrap();
    let record = printed_record(&done);
    assert_eq!((is_void(&record), done.status.code()), (true, Some(3)));
    assert_eq!(rule(&record, "rust.sent")["verdict"], "broken");
    assert_eq!(rule(&record, "rust.recorded")["verdict"], "broken");

    for (client, expected) in [
        (r#"["/bin/echo", "hello"]"#, "rust failed"),
        (r#"["/bin/sh", "-c", "echo broken hardware >&2; exit 7"]"#, "broken hardware"),
        (r#"["/no/such/client"]"#, "can't be started"),
        (r#"["/bin/sh", "-c", "echo '{\"complete\": true}'"]"#, "its result has no load.sent"),
    ] {
        let set = format!("subject.rust.command={client}");
        let done = tickpath().args(SHORT).args(["--out", &out, "--set", &set]).output().unwrap();
        assert_eq!(done.status.code(), Some(2), "{}", text(&done.stdout));
        assert!(text(&done.stderr).contains(expected), "{}", text(&done.stderr));
    }
}

#[test]
fn an_exchange_that_runs_already_is_measured_over_connect() {
    let exchange = Exchange::start(&["--any-token"]);
    let echo = Exchange::start(&["--echo"]);
    let runs = tempfile::tempdir().unwrap();
    let out = runs.path().display().to_string();
    let done = tickpath()
        .args(SHORT)
        .args(["--json", "--out", &out, "--set", "exchange.start=false"])
        .args(["--connect", &exchange.address, "--connect-floor", &echo.address])
        .output()
        .unwrap();
    let record = printed_record(&done);
    assert_eq!(rule(&record, "rust.complete")["verdict"], "held");
    assert_eq!(rule(&record, "rust.state")["verdict"], "not_applicable");
    assert_eq!(series(&record, "floor", "order", "service")["pooled"]["count"], 150);
    let counts = exchange.end();
    assert_eq!(counts["orders"], counts["cancels"]);
    // Warm-up and measured part.
    assert_eq!(counts["orders"], 300);
    // Nobody watched its core.
    let order = series(&record, "rust", "order", "response");
    assert_eq!(order["holds_to"], Value::Null);
    assert!(order["not_judged"].as_str().unwrap().contains("nobody watched"), "{order}");
    assert_eq!(done.status.code(), Some(3));
}

/// A gate that no record can answer costs no measurement: it is an error before the first run.
#[test]
fn a_gate_on_a_figure_that_the_scenario_lacks_is_an_error_at_once() {
    for (scenario, sets, gate, words) in [
        ("order-to-ack", &[][..], "orders.p99 < 1ms", "there is no series"),
        ("order-to-ack", &[], "rist.order.p99 < 1ms", "there is no subject"),
        ("order-to-ack", &["floor_seconds=0"], "floor.order.p99 < 1ms", "floor_seconds = 0"),
        ("order-to-ack", &["hiccup_seconds=0"], "hiccup.gap.p99 < 1ms", "hiccup_seconds = 0"),
        ("ping-pong", &[], "order.response.p99 < 1ms", "write order.service.p99"),
        ("endpoint", &["exchange.start=true"], "handshake.p99 < 1ms", "there is no series"),
        (
            "endpoint",
            &["exchange.start=true", "endpoint.protocol=tcp", "endpoint.fresh_every=1"],
            "ping.p99 < 1ms",
            "there is no series",
        ),
    ] {
        let out = tempfile::tempdir().unwrap();
        let path = out.path().to_str().unwrap();
        let mut arguments = vec!["run", scenario, "--gate", gate, "--out", path];
        sets.iter().for_each(|set| arguments.extend(["--set", set]));
        let done = output(&arguments);
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{scenario} {gate}: {said}");
        assert!(said.contains(words), "{scenario} {gate}: {said}");
        assert_eq!(std::fs::read_dir(path).unwrap().count(), 0, "{scenario} {gate}");
    }
}

//! Each command with wrong arguments, and the two ends on their own.

use crate::support::*;

#[track_caller]
fn fails_with(arguments: &[&str], expected: &str) {
    let done = output(arguments);
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{arguments:?}: {said}");
    assert!(said.contains(expected), "{arguments:?}: {said}");
}

#[test]
fn usage_errors_exit_with_2_and_say_what_to_try() {
    fails_with(&[], "Usage");
    fails_with(&["runn"], "unrecognized subcommand");
    fails_with(&["run", "no-such-scenario"], "These ship: order-to-ack");
    fails_with(&["run", "--set", "load.rate_per_second=-1"], "load.rate_per_second = -1");
    fails_with(&["run", "--set", "exchange.cores=[99]"], "99");
    fails_with(&["run", "--set", "exchange.start=false"], "--connect HOST:PORT");
    fails_with(&["run", "--connect", "127.0.0.1:1"], "--set exchange.start=false");
    fails_with(
        &["run", "--set", "exchange.book=/no/such/book.dbn", "--out", "/tmp"],
        "/no/such/book.dbn",
    );
    fails_with(&["run", "--out", "/proc/nowhere"], "--out");
    fails_with(&["exchange"], "--any-token");
    fails_with(&["exchange", "--any-token", "--cores", "9999"], "9999");
    fails_with(&["exchange", "--any-token", "--cores", "0,1"], "one for each of --gateways");
    fails_with(&["exchange", "--any-token", "--gateways", "65"], "take 1 to 64");
    fails_with(&["run", "--set", "exchange.gateways=65"], "exchange.gateways = 65");
    fails_with(&["exchange", "--any-token", "--backend", "onload"], "spin, block");
    fails_with(&["exchange", "--any-token", "--listen", "no.such.host.invalid:1"], "cannot listen");
    fails_with(&["exchange", "--any-token", "--scheduling", "fifo:100"], "100");
    fails_with(&["exchange", "--tokens", "/no/such/file"], "/no/such/file");
    fails_with(&["exchange", "--any-token", "--instruments", "/no/such/file"], "/no/such/file");
    fails_with(&["trade"], "--connect");
    let nobody = ["trade", "ping-pong", "--connect", "127.0.0.1:1", "--hlog", "/dev/null"];
    fails_with(&nobody, "is an exchange running there?");
    fails_with(&["trade", "--plan", "/no/such/plan"], "/no/such/plan");
    fails_with(&["report", "/no/such/run"], "/no/such/run");
    fails_with(&["scenarios", "no-such"], "tickpath scenarios");
}

#[test]
fn every_command_explains_itself() {
    for command in ["run", "sweep", "scenarios", "report", "doctor", "exchange", "trade"] {
        let done = output(&[command, "--help"]);
        assert!(done.status.success());
        assert!(text(&done.stdout).contains("Usage: tickpath"), "{command}");
    }
    let listed = text(&output(&["scenarios"]).stdout);
    for name in ["order-to-ack", "ping-pong", "order-to-ack-400k"] {
        assert!(listed.contains(name));
        let shown = output(&["scenarios", name]);
        assert!(text(&shown.stdout).contains(&format!("name = \"{name}\"")));
    }
}

#[test]
fn trade_against_exchange_and_both_agree() {
    let exchange = Exchange::start(&["--any-token", "--replay-inputs-max", "100000"]);
    let directory = tempfile::tempdir().unwrap();
    let hlog = directory.path().join("trade.hlog").display().to_string();
    let done = output(&[
        "trade",
        "ping-pong",
        "--connect",
        &exchange.address,
        "--hlog",
        &hlog,
        "--set",
        "seconds=0.3",
        "--set",
        "warm_up_seconds=0.1",
        "--set",
        "subject.rust.backend=block",
    ]);
    let result: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(result["complete"], true, "{result}");
    let load = &result["load"];
    let sent = load["sent"].as_u64().unwrap() + load["warm_up_sent"].as_u64().unwrap();
    let told = exchange.end();
    assert_eq!(told["orders"].as_u64().unwrap() + told["cancels"].as_u64().unwrap(), sent);
    assert_eq!(told["replay_equal"], true, "{told}");
    let totals = record::hlog::totals(&std::fs::read(hlog).unwrap()[..]).unwrap();
    assert_eq!(totals["rust.order.service"].len() * 2, load["received"].as_u64().unwrap());
}

/// A full disk: /dev/full takes no byte.
#[test]
fn a_full_disk_is_told() {
    let exchange = Exchange::start(&["--any-token"]);
    let plan = serde_json::json!({
        "subject": "rust", "target": exchange.address, "wire": "websocket-json",
        "backend": "block", "core": null, "scheduling": "other",
        "load": {"model": "ping-pong", "accounts": 1, "connections": 1},
        "warm_up_seconds": 0.0, "seconds": 0.2, "hlog": "/dev/full"
    });
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("plan.json");
    std::fs::write(&file, plan.to_string()).unwrap();
    let done = output(&["trade", "--plan", &file.display().to_string()]);
    assert_eq!(done.status.code(), Some(3));
    let result: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    let failure = result["failures"][0].as_str().unwrap();
    assert!(failure.contains("cannot write /dev/full: No space left on device"), "{failure}");
}

/// A plan from outside is checked as a scenario is.
#[test]
fn a_plan_that_makes_no_sense_is_rejected() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("plan.json").display().to_string();
    for (key, value, expected) in [
        ("seconds", serde_json::json!(1e300), "seconds = 1"),
        ("load", serde_json::json!({"first_token": u64::MAX}), "load.first_token"),
    ] {
        let mut plan = serde_json::json!({
            "subject": "rust", "target": "127.0.0.1:1", "wire": "websocket-json",
            "backend": "block", "core": null, "scheduling": "other", "load": {},
            "warm_up_seconds": 0.0, "seconds": 0.2,
            "hlog": directory.path().join("x.hlog")
        });
        plan[key] = value;
        std::fs::write(&file, plan.to_string()).unwrap();
        fails_with(&["trade", "--plan", &file], expected);
    }
}

/// Two runs in one log would be one result that nobody measured.
#[test]
fn a_log_that_is_there_is_not_added_to() {
    let directory = tempfile::tempdir().unwrap();
    let hlog = directory.path().join("trade.hlog").display().to_string();
    std::fs::write(&hlog, "#a run\n").unwrap();
    fails_with(
        &["trade", "ping-pong", "--connect", "127.0.0.1:1", "--hlog", &hlog],
        "another --hlog",
    );
}

#[test]
fn a_reader_who_has_enough_is_no_error() {
    let mut child =
        tickpath().arg("scenarios").stdout(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// Orders that are rejected make no result: an instrument that does not exist.
#[test]
fn rejections_are_counted_and_the_first_is_quoted() {
    let exchange = Exchange::start(&["--any-token"]);
    let directory = tempfile::tempdir().unwrap();
    let hlog = directory.path().join("trade.hlog").display().to_string();
    let done = output(&[
        "trade",
        "ping-pong",
        "--connect",
        &exchange.address,
        "--hlog",
        &hlog,
        "--set",
        "seconds=0.2",
        "--set",
        "warm_up_seconds=0",
        "--set",
        "subject.rust.backend=block",
        "--set",
        "load.instrument=DOGE_USD",
    ]);
    let result: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert!(result["load"]["rejected"].as_u64() > Some(0), "{result}");
    assert!(result["failures"].to_string().contains("unknown instrument"), "{result}");
}

#[test]
fn tokens_of_a_file_are_the_only_good_ones() {
    let directory = tempfile::tempdir().unwrap();
    let tokens = directory.path().join("tokens.toml");
    std::fs::write(&tokens, "[tokens]\n\"3001\" = \"alice\"\n").unwrap();
    let exchange = Exchange::start(&["--tokens", &tokens.display().to_string()]);
    let trade = |first_token: &str| {
        let hlog = directory.path().join(format!("{first_token}.hlog")).display().to_string();
        output(&[
            "trade",
            "ping-pong",
            "--connect",
            &exchange.address,
            "--hlog",
            &hlog,
            "--set",
            "seconds=0.1",
            "--set",
            "warm_up_seconds=0",
            "--set",
            "subject.rust.backend=block",
            "--set",
            &format!("load.first_token={first_token}"),
        ])
    };
    assert_eq!(trade("3001").status.code(), Some(0));
    let failed = trade("3002");
    assert_eq!(failed.status.code(), Some(2));
    assert!(text(&failed.stderr).contains("token"), "{}", text(&failed.stderr));
}

/// Orders land in the depth of a real book.
#[test]
fn a_real_book_is_loaded() {
    let name = "esh4-glbx-mdp3-20231224.mbo.dbn.zst";
    let Some(book) = testing::market_data(name) else { return };
    let exchange = Exchange::start(&["--any-token", "--book", &book.display().to_string()]);
    let directory = tempfile::tempdir().unwrap();
    let hlog = directory.path().join("trade.hlog").display().to_string();
    let done = output(&[
        "trade",
        "ping-pong",
        "--connect",
        &exchange.address,
        "--hlog",
        &hlog,
        "--set",
        "seconds=0.2",
        "--set",
        "warm_up_seconds=0",
        "--set",
        "subject.rust.backend=block",
    ]);
    let result: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(result["complete"], true, "{result}");
    assert_eq!(result["load"]["rejected"], 0, "{result}");
    assert_eq!(result["load"]["unexpected"], 0, "{result}");
}

/// Arguments, also those that look like ours, and the exit status pass through.
#[test]
fn cloud_runs_the_program_on_the_path() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("tickpath-cloud");
    std::fs::write(&program, "#!/bin/sh\necho \"$@\"\nexit 7\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let arguments = ["cloud", "hunt", "--help", "--json", "a b"];
    let done = tickpath().args(arguments).env("PATH", directory.path()).output().unwrap();
    assert_eq!(done.status.code(), Some(7));
    assert_eq!(text(&done.stdout), "hunt --help --json a b\n");

    let done = tickpath().args(["cloud", "estimate"]).env("PATH", "/nowhere").output().unwrap();
    assert_eq!(done.status.code(), Some(2));
    assert!(text(&done.stderr).contains("pip install"), "{}", text(&done.stderr));
}

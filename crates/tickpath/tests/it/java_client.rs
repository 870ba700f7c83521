//! The client in Java (clients/java), measured and judged like ours by the same contract.

use crate::support::*;
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Its launcher, if it is built.
pub fn launcher() -> Option<PathBuf> {
    let client = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/java");
    client.join("target/java-client.jar").exists().then(|| client.join("client"))
}

/// A short scenario with one subject `java`. The rehearsal makes the client fast, and nothing here
/// is about that.
fn scenario(launcher: &Path, transport: &str, load: &str) -> String {
    let command = json!([launcher, "--transport", transport, "--no-rehearsal"]);
    format!(
        "name = \"java\"\nabout = \"\"\nkind = \"order-entry\"\nruns = 1\nwarm_up_seconds = 0.3\n\
         seconds = 1.0\nfloor_seconds = 0\nhiccup_seconds = 0\n[load]\n{load}\n\
         [exchange]\nbackend = \"block\"\n[[subject]]\nname = \"java\"\nbackend = \"block\"\n\
         command = {command}\n"
    )
}

const OPEN: &str =
    "model = \"open\"\nrate_per_second = 1000\naccounts = 6\nconnections = 3\ncancel_after = 2";
const PING_PONG: &str = "model = \"ping-pong\"\naccounts = 1\nconnections = 1";

/// The record of a run with these keys set.
fn run(scenario: &str, sets: &[&str]) -> Value {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("java.toml");
    std::fs::write(&file, scenario).unwrap();
    let runs = directory.path().join("runs");
    let sets = sets.iter().flat_map(|set| ["--set", set]);
    let done =
        tickpath().arg("run").arg(&file).args(sets).arg("--out").arg(&runs).output().unwrap();
    assert!(matches!(done.status.code(), Some(0 | 3)), "{}", text(&done.stderr));
    record(&only_run(&runs))
}

fn assert_held(record: &Value) {
    assert_eq!(record["complete"], true, "{}", record["void_because"]);
    for held in ["complete", "replies", "recorded", "accounted", "state"] {
        let rule = rule(record, &format!("java.{held}"));
        assert_eq!(rule["verdict"], "held", "{rule}");
    }
}

#[test]
fn both_load_models_leave_a_record_over_each_transport() {
    let Some(launcher) = launcher() else {
        testing::skip!(JavaClient, "the client in Java is not built; `make clients` does it");
    };
    for transport in ["epoll", "io_uring", "nio"] {
        for (load, name) in [(OPEN, "order"), (PING_PONG, "cycle")] {
            let record = run(&scenario(&launcher, transport, load), &[]);
            assert_held(&record);
            let java = &record["subjects"][0];
            assert_eq!(java["load"]["runtime"][0]["transport"], transport);
            assert!(java["load"]["runtime"][0]["allocated_bytes"].is_u64(), "{java}");
            let counted = series(&record, "java", name, "service")["pooled"]["count"].as_u64();
            assert!(counted > Some(10), "{java}");
            if load == OPEN {
                let count = &series(&record, "java", "order", "response")["pooled"]["count"];
                assert_eq!(*count, 500);
            }
        }
    }
}

/// Its orders have the lengths that the schema gives them, in plain text and over TLS.
#[test]
fn orders_in_sbe_leave_a_record() {
    let Some(launcher) = launcher() else {
        testing::skip!(JavaClient, "the client in Java is not built; `make clients` does it");
    };
    let several = ["load.connections=6", "subject.java.dialect=sbe"];
    let encrypted = ["tls=true", "subject.java.dialect=sbe"];
    for (load, sets) in [(OPEN, several), (PING_PONG, encrypted)] {
        let record = run(&scenario(&launcher, "epoll", load), &sets);
        assert_held(&record);
        let bytes = &record["subjects"][0]["load"]["message_bytes"];
        let expected = json!({"order": 150, "order_reply": 130, "cancel": 87, "cancel_reply": 112});
        assert_eq!(*bytes, expected, "{record}");
    }
}

/// The exchange waits before each answer. The service time is longer by that wait, as a stopwatch
/// beside the socket would say. Minima are compared: the rest is the scheduler's on a busy machine.
#[test]
fn a_delay_of_the_exchange_is_recovered_in_the_service_time() {
    let Some(launcher) = launcher() else {
        testing::skip!(JavaClient, "the client in Java is not built; `make clients` does it");
    };
    for transport in ["epoll", "io_uring"] {
        let least_us = |delay_us: u64| {
            let set = format!("exchange.inject.delay_us={delay_us}");
            let record = run(&scenario(&launcher, transport, PING_PONG), &[&set]);
            series(&record, "java", "order", "service")["pooled"]["min"].as_u64().unwrap() / 1000
        };
        let (none, some, much) = (least_us(0), least_us(50), least_us(500));
        // The histogram keeps three digits.
        assert!(some >= 49 && much >= 499, "{transport}: {none} {some} {much}");
        assert!(none < 499, "{transport}: {none} {some} {much}");
    }
}

/// An exchange that stands still 200 ms of each second. A tenth of all messages are due in the
/// first half of a stall, and wait for 100 ms or more.
#[test]
fn a_stall_of_the_exchange_is_in_the_response_time() {
    let Some(launcher) = launcher() else {
        testing::skip!(JavaClient, "the client in Java is not built; `make clients` does it");
    };
    let stall =
        ["exchange.inject.stall_ms=200", "exchange.inject.stall_every_ms=1000", "seconds=3"];
    let record = run(&scenario(&launcher, "epoll", OPEN), &stall);
    let p95 = series(&record, "java", "order", "response")["pooled"]["p95"].as_u64().unwrap();
    assert!(p95 > 80_000_000, "{p95}");
}

#[test]
fn orders_go_over_tls_and_the_certificate_is_checked() {
    let Some(launcher) = launcher() else {
        testing::skip!(JavaClient, "the client in Java is not built; `make clients` does it");
    };
    for transport in ["epoll", "io_uring"] {
        let record = run(&scenario(&launcher, transport, OPEN), &["tls=true"]);
        assert_held(&record);
        assert_eq!(record["subjects"][0]["tls"], true);
    }
    let exchange = Exchange::start(&["--any-token", "--tls-self-signed"]);
    let said = error_of(&launcher, &exchange.address, json!({}));
    assert!(said.contains("the TLS handshake failed"), "{said}");
    // To an exchange without TLS.
    let plain = Exchange::start(&["--any-token"]);
    let said = error_of(&launcher, &plain.address, json!({}));
    assert!(said.contains("the TLS handshake failed"), "{said}");
}

#[test]
fn the_seconds_that_it_tells_agree_with_its_result() {
    let Some(launcher) = launcher() else {
        testing::skip!(JavaClient, "the client in Java is not built; `make clients` does it");
    };
    progress::seconds_agree_with_the_result(|| {
        let mut command = Command::new(&launcher);
        command.arg("--no-rehearsal");
        command
    });
}

/// Its error for this trust.
fn error_of(launcher: &Path, target: &str, tls: Value) -> String {
    let plan = json!({
        "subject": "java", "target": target, "wire": "websocket-json", "backend": "block",
        "core": null, "scheduling": "other", "warm_up_seconds": 0.1, "seconds": 0.1, "tls": tls,
        "hlog": "/dev/null",
        "load": {"model": "ping-pong", "rate_per_second": 1000.0, "arrival": "uniform", "burst": 1,
                 "seed": 1, "accounts": 1, "connections": 1, "cancel_after": 1,
                 "instrument": "BTC_USDT", "side": "BUY", "price": "1", "amount": "1",
                 "first_token": 3001},
    });
    let mut child = Command::new(launcher)
        .args(["--no-rehearsal", "--plan", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(plan.to_string().as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    said
}

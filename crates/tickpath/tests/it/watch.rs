//! `tickpath watch` as a whole: real records, a real scrape, Ctrl-C.

use crate::support::*;
use rustix::process::Signal;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Stdio};
use std::time::Duration;

/// One short run a record, of clients that sleep.
const QUICK: &[&str] = &[
    "order-to-ack",
    "--every",
    "3s",
    "--set",
    "runs=1",
    "--set",
    "warm_up_seconds=0.1",
    "--set",
    "floor_seconds=0.2",
    "--set",
    "hiccup_seconds=0.1",
    "--set",
    "exchange.backend=block",
    "--set",
    "subject.rust.backend=block",
];

struct Watch {
    child: Child,
    lines: BufReader<ChildStdout>,
    address: String,
    records: PathBuf,
}

impl Watch {
    fn start(out: &Path, more: &[&str]) -> Watch {
        let mut child = tickpath()
            .arg("watch")
            .args(QUICK)
            .args(["--json", "--listen", "127.0.0.1:0", "--out", &out.display().to_string()])
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (lines, address) = listening(&mut child);
        Watch { child, lines, address, records: out.join("watch-order-to-ack") }
    }

    /// Its line about the next record; `None` if it ends before.
    fn next_record(&mut self) -> Option<Value> {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        serde_json::from_str(&line).ok()
    }

    fn record(&mut self) -> Value {
        self.next_record().expect("a record")
    }

    fn scrape(&self, accept: &str) -> (String, Vec<u8>) {
        get(&self.address, &format!("GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: {accept}\r\n\r\n"))
    }

    /// Whole records on disk, oldest first.
    fn kept(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.records).into_iter().flatten().flatten();
        let mut kept: Vec<PathBuf> =
            entries.map(|one| one.path()).filter(|path| path.join("run.json").exists()).collect();
        kept.sort();
        kept
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Head and body of a reply.
fn get(address: &str, request: &str) -> (String, Vec<u8>) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).unwrap();
    let end = reply.windows(4).position(|part| part == b"\r\n\r\n").unwrap();
    (text(&reply[..end]), reply[end + 4..].to_vec())
}

/// The number behind the first sample whose line begins with `name`.
fn sample(metrics: &str, name: &str) -> Option<f64> {
    let line = metrics.lines().find(|line| line.starts_with(name))?;
    line.rsplit(' ').next()?.parse().ok()
}

#[test]
fn records_come_and_go_metrics_are_scraped_and_ctrl_c_is_no_error() {
    let out = tempfile::tempdir().unwrap();
    let mut watch = Watch::start(out.path(), &["--keep", "2"]);
    let (head, _) = get(&watch.address, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 404"), "{head}");
    let made: Vec<PathBuf> =
        (0..3).map(|_| PathBuf::from(watch.record()["record"].as_str().unwrap())).collect();
    let kept =
        wait_for("the retention", || Some(watch.kept()).filter(|kept| !kept.contains(&made[0])));
    assert!(kept.contains(&made[2]) && kept.len() <= 3, "{kept:?}");
    let record = record(&made[2]);
    assert_eq!(record["resolved"]["load"]["rate_per_second"], 100.0, "a low rate by default");
    assert!(made[2].join("report.html").exists());

    let (head, body) = watch.scrape("application/openmetrics-text;version=1.0.0");
    assert!(
        head.starts_with("HTTP/1.1 200") && head.contains("application/openmetrics-text"),
        "{head}"
    );
    let metrics = text(&body);
    assert!(metrics.ends_with("# EOF\n"), "{metrics}");
    let first = "{scenario=\"order-to-ack\",subject=\"rust\",series=\"order\",kind=\"response\"";
    let count = sample(&metrics, &format!("tickpath_watch_latency_seconds_count{first}")).unwrap();
    let all = format!("tickpath_watch_latency_seconds_bucket{first},le=\"+Inf\"");
    assert_eq!(sample(&metrics, &all), Some(count));
    // 100 messages a second, half of them orders; each record has one whole second at least.
    assert!(count >= 40.0, "{metrics}");
    let records = ["yes", "no"].map(|result| {
        let name =
            format!("tickpath_watch_records_total{{scenario=\"order-to-ack\",result=\"{result}\"");
        sample(&metrics, &name).unwrap()
    });
    assert!(records[0] + records[1] >= 3.0, "{metrics}");
    assert!(metrics.contains("tickpath_latency_seconds{record=\"latest\""), "{metrics}");

    let protobuf = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited";
    let (head, body) = watch.scrape(protobuf);
    assert!(head.contains("application/vnd.google.protobuf"), "{head}");
    assert!(
        body.windows(30).any(|part| part == b"tickpath_watch_latency_seconds"),
        "{}",
        text(&body)
    );

    // Between two records it has already printed the last one.
    signal(watch.child.id(), Signal::INT);
    let last = watch.next_record();
    assert!(watch.child.wait().unwrap().success());
    if let Some(last) = last {
        assert!(watch.kept().contains(&PathBuf::from(last["record"].as_str().unwrap())));
    }
}

#[test]
fn a_gate_that_fails_runs_the_command_once() {
    let out = tempfile::tempdir().unwrap();
    let said = out.path().join("said");
    let command = format!("echo \"$TICKPATH_ALERT\" >> '{}'", said.display());
    // No order takes as little as that.
    let gate = "order.response.p50 <= 0.001us";
    let mut watch = Watch::start(out.path(), &["--gate", gate, "--alert-command", &command]);
    let (first, second) = (watch.record(), watch.record());
    for record in [&first, &second] {
        assert_eq!(record["gates"][0]["outcome"], "failed", "{record}");
    }
    assert!(first["said"][0].as_str().unwrap().starts_with("ALERT: order.response.p50"), "{first}");
    assert_eq!(second["said"].as_array().map(Vec::len), Some(0), "it was told already: {second}");
    let told = wait_for("the command", || std::fs::read_to_string(&said).ok());
    assert_eq!(told.matches("order.response.p50 <= 0.001us").count(), 1, "{told}");
    let metrics = text(&watch.scrape("").1);
    let failed = "tickpath_watch_gate{scenario=\"order-to-ack\",gate=\"order.response.p50 <= 0.001us\",outcome=\"failed\"}";
    assert_eq!(sample(&metrics, failed), Some(1.0), "{metrics}");
}

#[test]
fn what_cannot_be_watched_says_what_to_do() {
    let out = tempfile::tempdir().unwrap();
    let out_text = out.path().display().to_string();
    let complaint = |arguments: &[&str]| {
        let done = output(
            &[&["watch", "--out", &out_text, "--listen", "127.0.0.1:0"], arguments].concat(),
        );
        assert_eq!(done.status.code(), Some(2), "{arguments:?}: {}", text(&done.stdout));
        text(&done.stderr)
    };
    assert!(complaint(&["engine"]).contains("try order-to-ack"));
    assert!(complaint(&["--every", "2s"]).contains("--set runs=1"));
    assert!(complaint(&["--set", "seconds=9"]).contains("leave it out"));
    assert!(complaint(&["--baseline", "none"]).contains("watch --save-baseline none"));
    assert!(complaint(&["--gate", "p50 <= +5%"]).contains("--baseline NAME"));
    assert!(complaint(&["--gate", "ordr.p50 <= 5us"]).contains("Did you mean order?"));
    let few = ["--save-baseline", "x", "--set", "runs=1"];
    assert!(complaint(&few).contains("--set runs=6"));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let done = output(&["watch", "--out", &out_text, "--listen", &address]);
    assert_eq!(done.status.code(), Some(2));
    assert!(text(&done.stderr).contains("another program has this port"), "{}", text(&done.stderr));
    let done = output(&["watch", "--out", &out_text, "--listen", "0.0.0.0:0"]);
    assert!(text(&done.stderr).contains("loopback"), "{}", text(&done.stderr));
}

/// A baseline of another rate is no baseline.
#[test]
fn a_baseline_of_other_settings_is_rejected_at_once() {
    let out = tempfile::tempdir().unwrap();
    let out_text = out.path().display().to_string();
    output(&[SHORT, &["--set", "floor_seconds=0", "--quiet", "--out", &out_text]].concat());
    let place = out.path().join("baselines/main");
    let made = only_run(out.path());
    std::fs::create_dir_all(&place).unwrap();
    for file in ["run.json", "machine.json"] {
        std::fs::copy(made.join(file), place.join(file)).unwrap();
    }
    let watch = ["watch", "--baseline", "main", "--listen", "127.0.0.1:0", "--out", &out_text];
    let done = output(&[&watch[..], QUICK].concat());
    assert_eq!(done.status.code(), Some(2), "{}", text(&done.stdout));
    let said = text(&done.stderr);
    assert!(said.contains("load.rate_per_second: 1000.0 -> 100.0"), "{said}");
}

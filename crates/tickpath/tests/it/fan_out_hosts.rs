//! `tickpath run fan-out-hosts`: replicator and subscribers in processes of their own, whose clocks
//! are hours ahead. All else is real, and on one machine, so that it is known what must come out.

use crate::support::*;
use clock::Clock;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

const HOUR_NS: i64 = 3_600_000_000_000;

/// A process that runs until it is told to end.
struct Running {
    child: Child,
    lines: BufReader<ChildStdout>,
    ready: Value,
}

impl Running {
    fn start(command: &mut Command) -> Running {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        let ready = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:?}"));
        Running { child, lines, ready }
    }

    fn address(&self, name: &str) -> String {
        self.ready[name].as_str().unwrap().to_owned()
    }

    /// Its last line.
    fn end(mut self) -> Value {
        signal(self.child.id(), rustix::process::Signal::TERM);
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        assert!(self.child.wait().unwrap().success(), "{line}");
        serde_json::from_str(&line).unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn replicator(order: &str, tunnel: &str) -> Running {
    Running::start(
        tickpath()
            .args(["fan-out", "--from", "127.0.0.1:0", "--listen", "127.0.0.1:0"])
            .args(["--backend", "block", "--tunnel", tunnel, "--order", order])
            // Shorter than a run: the ends renew it.
            .args(["--lease-ms", "1000"]),
    )
}

/// An end whose clock is so many hours ahead of `clock`.
fn subscribers(clock: &Value, hours: i64) -> Running {
    let mut ahead = clock.clone();
    ahead["origin_ns"] = (ahead["origin_ns"].as_i64().unwrap() + hours * HOUR_NS).into();
    let arguments = ["subscribers", "--listen", "127.0.0.1:0", "--clock", &ahead.to_string()];
    Running::start(tickpath().args(arguments))
}

/// The command of a run with these ends.
fn run(replicator: &Running, ends: &[&Running], sets: &[&str]) -> (Command, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let hosts: Vec<String> = ends.iter().map(|end| end.address("listening")).collect();
    let hosts = format!("fan_out.hosts={hosts:?}");
    let registration = format!("fan_out.registration={}", replicator.address("registration"));
    let mut command = tickpath();
    command.args(["run", "fan-out-hosts", "--quiet", "--connect"]);
    command.arg(replicator.address("listening")).arg("--out").arg(directory.path());
    let short = [
        "runs=2",
        "warm_up_seconds=0.2",
        "seconds=1",
        "hiccup_seconds=0",
        "load.rate_per_second=500",
        "fan_out.subscribers=5",
        "subject.source.backend=block",
    ];
    let sets = short.iter().chain(sets).copied().chain([hosts.as_str(), registration.as_str()]);
    for set in sets {
        command.args(["--set", set]);
    }
    (command, directory)
}

#[test]
fn a_spread_between_hosts_has_its_bound_and_no_rank_is_guessed() {
    let clock = serde_json::to_value(Clock::calibrate()).unwrap();
    let replicator = replicator("rotating", "keep");
    let ends = [1, 2, 3].map(|hours| subscribers(&clock, hours));
    let beside = format!("fan_out.replicator_end={}", ends[2].address("listening"));
    let (mut command, directory) = run(&replicator, &[&ends[0], &ends[1]], &[&beside]);
    let done = command.output().unwrap();
    let table = text_of(&done);
    let record = record(&only_run(directory.path()));
    assert!(!is_void(&record), "{} {table}", record["void_because"]);
    let subject = &record["subjects"][0];
    let load = &subject["load"];
    assert_eq!((&load["received"], &load["lost"]), (&5_000.into(), &0.into()), "{table}");
    for run in load["fan_out"].as_array().unwrap() {
        assert_eq!(
            (&run["order"], &run["whole"], &run["hold_ns"]),
            (&"".into(), &500.into(), &Value::Null)
        );
        let hosts = &run["hosts"];
        let ends = hosts["ends"].as_array().unwrap();
        let number = |end: &Value, key: &str| end[key].as_i64().unwrap();
        assert_eq!([&ends[0], &ends[1]].map(|end| number(end, "subscribers")), [3, 2]);
        assert_eq!([0, 1, 2].map(|at| number(&ends[at], "received")), [1_500, 1_000, 500]);
        // Both clocks are one counter, an hour apart. The offset is that in the middle of a run.
        let [one, other] = [&ends[0], &ends[1]].map(|end| number(&end["between"], "offset_ns"));
        let errors: i64 = ends[..2].iter().map(|end| number(end, "arrival_error_ns")).sum();
        assert!((other - one - HOUR_NS).abs() <= errors + 100_000, "{hosts}");
        let sum = |rank: &str| -> u64 {
            let all = run["subscribers"].as_array().unwrap();
            all.iter().map(|one| one[rank].as_u64().unwrap()).sum()
        };
        let unknown = |rank: &str| hosts[format!("{rank}_not_judged")].as_u64().unwrap();
        assert_eq!(["first", "last"].map(|rank| sum(rank) + unknown(rank)), [500, 500], "{run}");
        let [least, most] = [0, 1].map(|at| hosts["spread_ns_p50"][at].as_u64().unwrap());
        assert!(least <= most && most > 0, "{hosts}");
        let error_ns = &hosts["errors_ns"]["last.service"];
        let worst = ends[..2].iter().map(|end| end["arrival_error_ns"].as_u64()).max().unwrap();
        assert_eq!(error_ns.as_u64(), worst, "{hosts}");
    }
    let series = subject["series"].as_array().unwrap();
    let has = |name: &str| series.iter().any(|one| one["name"] == name);
    assert!(has("spread") && has("arrival@5") && !has("arrival@6"), "{series:?}");
    for (hop, count) in [("hop_1", 1_000), ("replicator", 1_000), ("hop_2", 5_000)] {
        let own = series.iter().find(|one| one["name"] == hop).unwrap();
        assert_eq!(own["pooled"]["count"], count, "{own}");
    }
    let beside = ends[2].address("listening");
    let titles = ["Between hosts: what is certain", "first unknown", "the clock of each end"];
    for words in titles.into_iter().chain(["4 to 5", "hop 1", &beside]) {
        assert!(table.contains(words), "{words}: {table}");
    }
    for end in ends {
        let counts = end.end();
        assert_eq!((&counts["served"], &counts["failed"]), (&2.into(), &0.into()), "{counts}");
    }
    let counts = replicator.end();
    assert_eq!(counts["registration"]["left"], 12, "{counts}");
}

/// An end that is lost ends the run at once, though it would last for a minute: whether its process
/// is gone, or only stands still.
#[test]
fn a_lost_end_ends_the_run_soon_and_is_named() {
    use rustix::process::Signal;
    let clock = serde_json::to_value(Clock::calibrate()).unwrap();
    let replicator = replicator("fixed", "keep");
    let stays = subscribers(&clock, 1);
    for (by, words) in
        [(Signal::KILL, "it closed the connection"), (Signal::STOP, "none of ten probes")]
    {
        let lost = subscribers(&clock, 2);
        let sets = ["runs=1", "seconds=60"];
        let (mut command, _directory) = run(&replicator, &[&stays, &lost], &sets);
        let source = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(2_500));
        signal(lost.child.id(), by);
        let started = Instant::now();
        let done = source.wait_with_output().unwrap();
        let said = text_of(&done);
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}: {said}", started.elapsed());
        let host = lost.address("listening");
        assert!(!done.status.success() && said.contains(&host) && said.contains(words), "{said}");
    }
    // The other one is free for the next run.
    let (mut command, directory) = run(&replicator, &[&stays], &["runs=1"]);
    let said = text_of(&command.output().unwrap());
    let record = record(&only_run(directory.path()));
    assert!(!is_void(&record), "{} {said}", record["void_because"]);
}

/// A replicator that writes no stamps is not taken for one that takes no time.
#[test]
fn hops_without_the_replicators_stamps_void_the_run() {
    let clock = serde_json::to_value(Clock::calibrate()).unwrap();
    let replicator = replicator("fixed", "none");
    let [end, beside] = [1, 2].map(|hours| subscribers(&clock, hours));
    let beside = format!("fan_out.replicator_end={}", beside.address("listening"));
    let (mut command, directory) = run(&replicator, &[&end], &["runs=1", "seconds=0.2", &beside]);
    let said = text_of(&command.output().unwrap());
    let record = record(&only_run(directory.path()));
    assert!(is_void(&record) && said.contains("--tunnel keep"), "{said}");
    let series = record["subjects"][0]["series"].as_array().unwrap();
    assert!(series.iter().all(|one| one["name"] != "hop_1"), "{series:?}");
}

#[test]
fn a_run_between_hosts_that_makes_no_sense_is_rejected() {
    let hosts = "fan_out.hosts=[\"127.0.0.1:9\",\"127.0.0.1:10\"]";
    let registration = "fan_out.registration=127.0.0.1:11";
    let both = ["fan-out-hosts", "--set", hosts, "--set", registration];
    for (arguments, words) in [
        (vec!["fan-out-hosts"], "tickpath subscribers"),
        (both.to_vec(), "--connect"),
        ([&both[..], &["--set", "fan_out.hold_us=9"]].concat(), "off by the error"),
        ([&both[..], &["--set", "fan_out.search=true"]].concat(), "off by the error"),
        ([&both[..], &["--set", "fan_out.subscribers=1"]].concat(), "2 to 64"),
        ([&both[..], &["--set", "fan_out.registration=there"]].concat(), "--listen"),
        ([&both[..], &["--set", "seconds=10000"]].concat(), "END_ARRIVALS_MAX"),
        (vec!["fan-out", "--set", hosts], "exchange.start=false"),
        (vec!["fan-out", "--set", "fan_out.replicator_end=127.0.0.1:9"], "name fan_out.hosts"),
        (vec!["fan-out", "--set", "exchange.start=false"], "one order of sending"),
    ] {
        let done = output(&[&["run"], &arguments[..]].concat());
        let why = text(&done.stderr);
        assert!(!done.status.success() && why.contains(words), "{arguments:?}: {why}");
    }
}

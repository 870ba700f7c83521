//! A trader that follows a feed goes on at the next exchange: the flow continues where the lost
//! exchange was, the feed begins a new session, and the silence is in the result.

use crate::support::*;
use engine::Command as Input;
use rustix::process::Signal;
use serde_json::Value;
use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Stdio};

const STANDBY_MS: u64 = 600;
/// After that without a datagram a trader takes its exchange for lost; there are ten heartbeats a
/// second.
const FEED_SILENCE_MS: u64 = 2_000;
/// Inputs of the flow.
const INPUTS: usize = 1_200;
/// Inputs before the loss, at least.
const BEFORE: usize = 300;

/// An exchange with a journal and a flow; its address comes with `listening`.
struct Member {
    child: Child,
    lines: BufReader<ChildStdout>,
    log: PathBuf,
}

impl Member {
    fn start(log: PathBuf, listen: &str, more: &[&str]) -> Member {
        let said = std::fs::File::create(log.with_extension("said")).unwrap();
        let mut child = tickpath()
            .args(["exchange", "--any-token", "--backend", "block", "--listen", listen])
            .args(["--feed", "unicast", "--flow", "synthetic", "--flow-rate", "400"])
            .args(["--flow-seconds", "3", "--snapshot-seconds", "0.1", "--journal"])
            .arg(&log)
            .args(more)
            .stdout(Stdio::piped())
            .stderr(said)
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Member { child, lines, log }
    }

    /// The value of a key in the next line that it prints.
    fn says(&mut self, key: &str) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        said[key].clone()
    }

    fn has_said(&self, words: &str) -> bool {
        std::fs::read_to_string(self.log.with_extension("said")).unwrap().contains(words)
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The inputs of the flow in a journal: those of the exchange itself after its start.
fn flow_inputs(log: &Path) -> usize {
    let Ok(inputs) = journal::Inputs::open(log) else { return 0 };
    let account = |command: &Input| match command {
        Input::New(order) => Some(order.account),
        Input::Amend(amend) => Some(amend.account),
        Input::Cancel(cancel) => Some(cancel.account),
        _ => None,
    };
    let inputs = inputs.map_while(Result::ok).map(|(_, input)| input);
    inputs.filter(|input| input.time_ns > 0 && account(&input.command) == Some(0)).count()
}

#[test]
fn a_trader_goes_on_at_the_standby_and_no_input_is_played_twice() {
    lose_the_exchange(Signal::KILL, STANDBY_MS - 100);
}

/// Its connections stay open; the trader misses the heartbeats of the feed.
#[test]
fn a_trader_goes_on_where_the_exchange_is_stopped_as_well() {
    lose_the_exchange(Signal::STOP, FEED_SILENCE_MS - 200);
}

fn lose_the_exchange(by: Signal, silence_ms_min: u64) {
    let place = tempfile::tempdir().unwrap();
    let seconds = (STANDBY_MS as f64 / 1_000.0).to_string();
    let stand_by = ["--standby", "127.0.0.1:0", "--standby-seconds", &seconds];
    // The trader must know it before anything listens there.
    let next = free_address();
    let mut standby = Member::start(place.path().join("copy"), &next, &stand_by);
    let follower = standby.says("standby").as_str().unwrap().to_owned();
    let replicate = ["--replicate", "sync", "--follower", &follower];
    let mut primary = Member::start(place.path().join("log"), "127.0.0.1:0", &replicate);
    let first = primary.says("listening").as_str().unwrap().to_owned();
    wait_for("the copy", || standby.has_said("the copy is complete").then_some(()));

    let mut trader = tickpath();
    trader.args(["trade", "tick-to-trade", "--quiet", "--connect", &format!("{first},{next}")]);
    trader.arg("--hlog").arg(place.path().join("hlog"));
    let sets = ["warm_up_seconds=0.2", "seconds=2.8", "subject.rust.backend=block"];
    trader.args(sets.iter().flat_map(|set| ["--set", set]));
    let trader = trader.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for("the flow", || (flow_inputs(&primary.log) >= BEFORE).then_some(()));
    signal(primary.child.id(), by);
    let done = trader.wait_with_output().unwrap();
    let said = format!("{}{}", text(&done.stdout), text(&done.stderr));
    assert!(done.status.success(), "{said}");

    let result: Value = serde_json::from_slice(&done.stdout).unwrap();
    let load = &result["load"];
    let [outage] = &load["outages"].as_array().unwrap()[..] else { panic!("{said}") };
    let of = |key: &str| outage[key].as_u64().unwrap();
    assert!(of("silence_ns") >= silence_ms_min * 1_000_000, "{outage}");
    assert!(of("connecting_ns") > 0 && of("connecting_ns") <= of("silence_ns"), "{outage}");
    assert_eq!(of("unanswered"), of("accepted_late") + of("rejected"), "{outage}");
    assert_eq!((&load["lost"], &load["duplicated"]), (&0.into(), &0.into()), "{said}");
    assert_eq!(load["sent"], load["received"], "{said}");
    let tick = &load["tick"][0];
    assert_eq!(tick["book_hash"], tick["exchange_book_hash"], "{said}");
    assert_eq!(
        (&tick["samples_out_of_order"], &tick["samples_not_adding_up"]),
        (&0.into(), &0.into())
    );
    let whole = tick["samples"].as_u64().unwrap();
    assert_eq!(whole, load["sent"].as_u64().unwrap() - of("unanswered"), "{said}");

    assert_eq!(standby.says("listening"), next);
    signal(standby.child.id(), Signal::TERM);
    let counts = standby.says("counts");
    assert!(standby.child.wait().unwrap().success());
    let flow = |key: &str| counts["flow"][key].as_u64().unwrap() as usize;
    assert_eq!((flow("scheduled"), flow("refused")), (INPUTS, 0), "{counts}");
    assert!(flow("recovered") >= BEFORE && flow("inputs") > 0, "{counts}");
    assert_eq!(flow("recovered") + flow("inputs"), INPUTS, "{counts}");
    assert_eq!(flow_inputs(&standby.log), INPUTS);
    each_order_is_there_once(&standby.log);
}

fn each_order_is_there_once(log: &Path) {
    let mut history = journal::History::open(log).unwrap();
    let (mut ids, mut orders) = (HashSet::new(), 0);
    while let Some(recorded) = history.next_input().unwrap() {
        if let (Input::New(_), Some(id)) = (&recorded.input.command, recorded.client_id()) {
            orders += 1;
            assert!(ids.insert(id.to_owned()), "{id} is there twice");
        }
    }
    // Late inputs share a tick, so the count of orders is not exact: at least one.
    assert!(orders > 0, "the trader's orders are in the journal");
}

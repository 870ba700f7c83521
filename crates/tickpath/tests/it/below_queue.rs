//! A queue of an interface that somebody chose, as whole processes; needs root.

use crate::below::Killed;
use crate::support::*;
use host::network::{DEVICE, Networks};
use std::process::{Command, Stdio};

/// Both ends on the second queue of their interfaces: frames that leave by it arrive by it, so a
/// port that had any other would get none.
#[test]
fn a_chosen_queue_carries_requests() {
    let networks = match Networks::create() {
        Ok(networks) => networks,
        Err(why) => testing::skip!(Root, "{why}"),
    };
    for network in [networks.exchange(), networks.trader()] {
        let mut ethtool = Command::new("ethtool");
        ethtool.args(["-L", DEVICE, "rx", "2", "tx", "2"]);
        match network.within(|| ethtool.output()).unwrap() {
            Ok(done) if done.status.success() => {}
            other => testing::skip!(Kernel, "two queues: {other:?}"),
        }
    }
    let listen = format!("{}:0", networks.exchange().address());
    let echo = |queue: &str| {
        let mut command = tickpath();
        command.args(["exchange", "--echo", "--datagrams", "--backend", "af_xdp"]);
        command.args(["--listen", &listen, "--queue", queue]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        networks.exchange().within(|| command.spawn().unwrap()).unwrap()
    };
    let missing = echo("2").wait_with_output().unwrap();
    let said = text(&missing.stderr);
    assert!(said.contains("has no receive queue 2: the last one is 1"), "{said}");
    let mut child = Killed(echo("1"));
    let (_lines, address) = listening(&mut child.0);
    let run = |factor: u32| {
        let runs = tempfile::tempdir().unwrap();
        let mut command = tickpath();
        command.args(["run", "net-rr", "--quiet", "--connect", &address, "--out"]);
        command.arg(runs.path());
        let seconds = format!("seconds={}", 0.3 * f64::from(factor));
        for set in [
            "exchange.start=false",
            "request.protocol=udp",
            "subject.rust.backend=af_xdp",
            "subject.rust.queue=1",
            "runs=1",
            "warm_up_seconds=0.1",
            "hiccup_seconds=0",
            &seconds,
        ] {
            command.args(["--set", set]);
        }
        let done = networks.trader().within(|| command.output().unwrap()).unwrap();
        let said = text_of(&done);
        let record = record(&only_run(runs.path()));
        testing::unless!(!is_void(&record), "{said}");
        Ok((record, said))
    };
    let (record, said) = testing::quiet::or_doubled("both ends get a core in 0.3 s", run);
    let load = &rust(&record)["load"];
    assert!(load["received"].as_u64() > Some(0) && load["lost"] == 0, "{load} {said}");
    let stacks = load["stacks"].to_string();
    assert!(stacks.contains("client: AF_XDP on tick0: native XDP, queue 1, copy"), "{stacks}");
    assert_eq!(record["resolved"]["subject"][0]["queue"], 1, "{record}");
}

#[test]
fn a_queue_without_af_xdp_is_named() {
    for (arguments, words) in [
        (
            &["run", "ping-pong", "--set", "subject.rust.queue=1"][..],
            "subject.rust.queue = 1: af_xdp",
        ),
        (&["run", "ping-pong", "--set", "exchange.queue=1"], "exchange.queue = 1: af_xdp"),
        (&["run", "fan-out", "--set", "exchange.queue=1"], "exchange.queue = 1: af_xdp"),
        (&["run", "ping-pong", "--set", "exchange.queue=first"], "such as 1"),
        (&["exchange", "--any-token", "--queue", "1"], "--queue 1: spin"),
        (&["fan-out", "--from", "127.0.0.1:0", "--to", "127.0.0.1:9", "--queue", "1"], "queue 1"),
    ] {
        let done = output(arguments);
        let said = text(&done.stderr);
        assert!(!done.status.success() && said.contains(words), "{arguments:?}: {said}");
    }
}

//! A feed on a schedule, into a book: whole processes.

use crate::support::*;
use testing::quiet::or_doubled;
use testing::unless;

/// So slow that a busy machine keeps up.
const SHORT: [&str; 4] =
    ["runs=1", "hiccup_seconds=0.1", "warm_up_seconds=0.05", "load.rate_per_second=20000"];

fn ran(sets: &[&str]) -> (serde_json::Value, String) {
    let runs = tempfile::tempdir().unwrap();
    let mut command = tickpath();
    command.args(["run", "feed-rate", "--quiet", "--out"]).arg(runs.path());
    for set in SHORT.iter().chain(sets) {
        command.args(["--set", set]);
    }
    let done = command.output().unwrap();
    (record(&only_run(runs.path())), text(&done.stdout) + &text(&done.stderr))
}

fn is_whole(sets: &[&str]) {
    or_doubled("both threads get a core in 0.2 s", |factor| {
        let seconds = format!("seconds={}", 0.2 * f64::from(factor));
        let (record, said) = ran(&[sets, &[&seconds]].concat());
        unless!(!is_void(&record), "{sets:?}: {said}");
        let load = &record["subjects"][0]["load"];
        let tick = &load["tick"][0];
        assert_eq!((load["lost"].as_u64(), tick["gaps"].as_u64()), (Some(0), Some(0)), "{load}");
        assert_eq!(load["sent"], tick["messages"], "{load}");
        assert_eq!(tick["book_hash"], tick["exchange_book_hash"], "{load}");
        for (name, kind) in [("book", "response"), ("book", "service"), ("normalise", "service")] {
            let count = &series(&record, "rust", name, kind)["pooled"]["count"];
            assert_eq!(*count, tick["datagrams"], "{name} {kind}");
        }
        assert!(said.contains("Feed"), "{said}");
        Ok(())
    });
}

#[test]
fn every_message_of_a_feed_is_in_the_book() {
    is_whole(&[]);
}

/// The source's datagrams come from the kernel of another network.
#[test]
fn a_book_below_the_kernel_has_every_message() {
    if let Err(why) = host::network::Networks::create() {
        testing::skip!(Root, "{why}");
    }
    is_whole(&["network=veth"]);
    is_whole(&["network=veth", "subject.rust.backend=af_xdp"]);
}

/// Nothing may look like a rate without loss.
#[test]
fn a_rate_at_which_the_book_is_lost_is_missed() {
    let runs = tempfile::tempdir().unwrap();
    let mut command = tickpath();
    command.args(["sweep", "feed-rate", "--slo", "book.service.max < 1s", "--rates", "20k,1e8"]);
    command.args(["--quiet", "--json", "--out"]).arg(runs.path());
    for set in ["runs=1", "hiccup_seconds=0", "warm_up_seconds=0", "seconds=0.2"] {
        command.args(["--set", set]);
    }
    // Room for a few datagrams.
    let done = command.args(["--set", "feed.receive_buffer_bytes=8192"]).output().unwrap();
    let said = text(&done.stderr);
    let sweep: serde_json::Value = serde_json::from_slice(&done.stdout).expect(&said);
    let outcomes = [0, 1].map(|point| &sweep["points"][point]["outcome"]);
    // On a busy machine the slow one may be overloaded, or its book lost.
    assert!(outcomes[0].is_string() && outcomes[1].is_string(), "{sweep}");
    assert_ne!(outcomes[1], "met", "{sweep}");
}

#[test]
fn what_a_book_can_not_have_is_named() {
    for (sets, words) in [
        (&["subject.rust.backend=block"][..], "spin, af_xdp or dpdk"),
        (&["subject.rust.backend=af_xdp"], "use \"veth\""),
        (&["subject.rust.backend=af_xdp", "network=veth", "feed.datagram_bytes=9000"], "1472"),
        (&["subject.rust.cores=\"0\""], "the source's core and the book's"),
        (&["load.accounts=2"], "load.accounts"),
    ] {
        let mut command = tickpath();
        command.args(["run", "feed-rate", "--quiet"]);
        for set in sets {
            command.args(["--set", set]);
        }
        let done = command.output().unwrap();
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{sets:?}: {said}");
        assert!(said.contains(words), "{sets:?}: {said}");
    }
    let connected = tickpath().args(["run", "feed-rate", "--connect", "127.0.0.1:1"]).output();
    let said = text(&connected.unwrap().stderr);
    assert!(said.contains("starts all that it measures itself"), "{said}");
}

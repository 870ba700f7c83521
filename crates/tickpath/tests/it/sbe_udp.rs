//! SBE over UDP as whole processes: judged in a run like the other dialects; either end killed.

use crate::sbe::Exchange;
use crate::support::*;
use rustix::process::Signal;
use serde_json::Value;
use std::io::Read;
use std::process::{Child, Stdio};
use std::time::Duration;
use transport::acked::HEADER_BYTES;

/// An order's datagram is as long as its reply's in the floor, or longer.
#[test]
fn orders_in_sbe_over_udp_are_judged_like_the_others() {
    let runs = tempfile::tempdir().unwrap();
    let scenario = runs.path().join("udp.toml");
    let text = "name = \"udp\"\nkind = \"order-entry\"\nruns = 1\nwarm_up_seconds = 0.1\n\
                seconds = 0.5\nfloor_seconds = 0.2\nhiccup_seconds = 0.0\n\
                [load]\naccounts = 2\nconnections = 2\nrate_per_second = 500\n\
                [exchange]\nbackend = \"block\"\n\
                [[subject]]\nname = \"rust\"\nbackend = \"block\"\ndialect = \"sbe-udp\"\n";
    std::fs::write(&scenario, text).unwrap();
    for model in ["open", "ping-pong"] {
        let out = runs.path().join(model);
        let done = tickpath()
            .args(["run", &scenario.display().to_string(), "--quiet", "--out"])
            .arg(&out)
            .args(["--set", &format!("load.model={model}")])
            .output()
            .unwrap();
        let said = text_of(&done);
        assert!(matches!(done.status.code(), Some(0 | 3)), "{said}");
        let record = record(&only_run(&out));
        assert!(!is_void(&record), "{}", record["void_because"]);
        for held in ["complete", "replies", "recorded", "accepted", "accounted", "state"] {
            let rule = rule(&record, &format!("rust.{held}"));
            assert_eq!(rule["verdict"], "held", "{rule}");
        }
        assert_eq!(record["subjects"][0]["dialect"], "sbe-udp");
        let bytes = |index: usize, what: &str| {
            record["subjects"][index]["load"]["message_bytes"][what].as_u64().unwrap()
        };
        assert!(record["subjects"][1]["load"]["sent"].as_u64().unwrap() > 0, "{record}");
        for (what, least) in [("order", "order_reply"), ("cancel", "cancel_reply")] {
            let longer = bytes(0, what).max(bytes(0, least)) + HEADER_BYTES as u64;
            assert_eq!(bytes(1, what), longer, "{what}");
            assert_eq!(bytes(1, least), bytes(0, least) + HEADER_BYTES as u64, "{least}");
        }
    }
}

fn exchange() -> (Exchange, String) {
    let exchange = Exchange::start(&["--sbe-udp", "127.0.0.1:0"]);
    let address = exchange.ready["sbe_udp"].as_str().unwrap().to_owned();
    (exchange, address)
}

/// A trader that runs for this long.
fn trader(address: &str, hlog: &std::path::Path, seconds: f64) -> Child {
    tickpath()
        .args(["trade", "ping-pong", "--quiet", "--connect", address, "--hlog"])
        .arg(hlog)
        .args(["--set", "subject.rust.dialect=sbe-udp", "--set", "subject.rust.backend=block"])
        .args(["--set", "exchange.start=false", "--set", &format!("seconds={seconds}")])
        .args(["--set", "load.accounts=1", "--set", "load.connections=1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The trader learns of it by itself, long before its run is over.
#[test]
fn a_trader_ends_when_its_exchange_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let (mut exchange, address) = exchange();
    let hlog = folder.path().join("1.hlog");
    let trader = trader(&address, &hlog, 60.0);
    // It has logged on by then, or finds no exchange: either way it ends.
    std::thread::sleep(Duration::from_secs(2));
    signal(exchange.child.id(), Signal::KILL);
    exchange.child.wait().unwrap();
    let done = trader.wait_with_output().unwrap();
    let said = text_of(&done);
    assert!(!done.status.success(), "{said}");
    assert!(said.contains("ended in mid-run") || said.contains("no reply"), "{said}");
}

/// Another trader is served, before and after the dead one is given up.
#[test]
fn an_exchange_goes_on_when_a_trader_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let (mut exchange, address) = exchange();
    let mut killed = trader(&address, &folder.path().join("1.hlog"), 60.0);
    std::thread::sleep(Duration::from_secs(2));
    signal(killed.id(), Signal::KILL);
    killed.wait().unwrap();
    let short = trader(&address, &folder.path().join("2.hlog"), 0.5);
    let short = short.wait_with_output().unwrap();
    assert!(short.status.success(), "{}", text_of(&short));
    signal(exchange.child.id(), Signal::TERM);
    let mut said = String::new();
    exchange.child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    let result: Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    assert_eq!(result["counts"]["sbe_udp"]["peers"], 2, "{result}");
}

#[test]
fn options_that_it_lacks_are_errors_with_advice() {
    let said = |arguments: &[&str]| {
        let all = [&["exchange", "--any-token", "--listen", "127.0.0.1:0"], arguments].concat();
        let done = output(&all);
        assert_eq!(done.status.code(), Some(2), "{}", text_of(&done));
        text(&done.stderr)
    };
    let udp = ["--sbe-udp", "127.0.0.1:0"];
    assert!(said(&[&udp[..], &["--tls-self-signed"]].concat()).contains("cannot be used with"));
    assert!(said(&[&udp[..], &["--gateways", "1"]].concat()).contains("cannot be used with"));
    let taken = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    assert!(said(&["--sbe-udp", &taken]).contains("port 0 lets the system choose one"));
    let sets = ["run", "dialects", "--set", "tls=true"];
    let done = output(&sets);
    assert!(text(&done.stderr).contains("there is no TLS over UDP"), "{}", text_of(&done));
}

//! The client in C++ in whole runs: measured and judged like ours, over each of its backends, and
//! with the same stopwatch.

use crate::support::*;
use serde_json::Value;
use std::path::{Path, PathBuf};

pub fn client() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let client = root.join("clients/cpp/target/build/tickpath-client");
    client.exists().then(|| client.canonicalize().unwrap())
}

/// Runs ours and the one in C++ against the same exchange; both ends block, because tests share
/// their cores with whatever else runs.
fn run_both(client: &Path, options: &[&str], sets: &[&str]) -> Value {
    let runs = tempfile::tempdir().unwrap();
    let words: Vec<String> = std::iter::once(client.display().to_string())
        .chain(options.iter().map(|&option| option.to_owned()))
        .collect();
    let scenario = runs.path().join("both.toml");
    let text = format!(
        "name = \"both\"\nkind = \"order-entry\"\nruns = 1\nwarm_up_seconds = 0.1\nseconds = 1.0\n\
         [load]\nrate_per_second = 1000\n[exchange]\nbackend = \"block\"\n\
         [[subject]]\nname = \"rust\"\nbackend = \"block\"\n\
         [[subject]]\nname = \"cpp\"\nbackend = \"block\"\ncommand = {words:?}\n"
    );
    std::fs::write(&scenario, text).unwrap();
    let out = runs.path().join("runs");
    let sets = sets.iter().flat_map(|set| ["--set", set]);
    let done = tickpath()
        .args(["run", &scenario.display().to_string(), "--quiet", "--out"])
        .arg(&out)
        .args(sets)
        .output()
        .unwrap();
    assert!(matches!(done.status.code(), Some(0 | 3)), "{}", text_of(&done));
    record(&only_run(&out))
}

fn of(record: &Value, subject: &str, kind: &str, figure: &str) -> u64 {
    series(record, subject, "order", kind)["pooled"][figure].as_u64().unwrap()
}

const PING_PONG: [&str; 3] = ["load.model=ping-pong", "load.accounts=1", "load.connections=1"];

#[test]
fn both_loads_are_judged_like_ours() {
    let Some(client) = client() else {
        testing::skip!(CppClient, "the client in C++ is not built; `make clients` does it");
    };
    let shared = ["load.accounts=12", "load.connections=4", "load.cancel_after=3"];
    for options in [&[][..], &["--io-uring"]] {
        for sets in [&PING_PONG[..], &shared] {
            let record = run_both(&client, options, sets);
            assert!(!is_void(&record), "{options:?} {sets:?}: {}", record["void_because"]);
            for held in ["complete", "replies", "recorded", "accounted", "state"] {
                let rule = rule(&record, &format!("cpp.{held}"));
                assert_eq!(rule["verdict"], "held", "{rule}");
            }
            let bytes = |index: usize| record["subjects"][index]["load"]["message_bytes"].clone();
            let (ours, theirs) = (bytes(0), bytes(1));
            assert_eq!(ours["order"], theirs["order"], "{record}");
            assert_eq!(ours["cancel"], theirs["cancel"], "{record}");
        }
    }
}

/// In SBE ours and theirs send the same bytes, too, with a session for each connection. The last
/// run is over TLS.
#[test]
fn orders_in_sbe_are_judged_like_ours() {
    let Some(client) = client() else {
        testing::skip!(CppClient, "the client in C++ is not built; `make clients` does it");
    };
    let sbe = ["subject.rust.dialect=sbe", "subject.cpp.dialect=sbe"];
    let several = ["load.accounts=4", "load.connections=4", "load.cancel_after=3"];
    let runs: [[&[&str]; 3]; 3] = [
        [&[], &several, &[]],
        [&["--io-uring"], &PING_PONG, &[]],
        [&[], &PING_PONG, &["tls=true"]],
    ];
    for [options, load, tls] in runs {
        let sets = [load, &sbe, tls].concat();
        let record = run_both(&client, options, &sets);
        assert!(!is_void(&record), "{options:?} {sets:?}: {}", record["void_because"]);
        let bytes = |index: usize| record["subjects"][index]["load"]["message_bytes"].clone();
        assert_eq!(bytes(0), bytes(1), "{record}");
        assert_eq!(bytes(1)["cancel"], 87, "{record}");
    }
}

/// An exchange that delays its answers: both clients find the differences in their service time.
/// It compares minima, because with busy loops on each core every percentile is the scheduler's. A
/// machine that is busy for a whole second delays every message: up to three rounds.
#[test]
fn delays_of_the_exchange_are_recovered_in_the_service_time() {
    let Some(client) = client() else {
        testing::skip!(CppClient, "the client in C++ is not built; `make clients` does it");
    };
    for options in [&[][..], &["--io-uring"]] {
        let mut best = DELAYS_US.map(|_| [u64::MAX; 2]);
        let mut round = || {
            for (best, delay_us) in best.iter_mut().zip(DELAYS_US) {
                let found = minima(&client, options, delay_us);
                *best = [0, 1].map(|subject| best[subject].min(found[subject]));
            }
            are_recovered(&best)
        };
        let found = round() || round() || round();
        assert!(found, "{options:?}: {best:?} ns with {DELAYS_US:?} us");
    }
}

const DELAYS_US: [u64; 3] = [0, 50, 500];

/// The least service time of an order, of ours and of the one in C++, ns.
fn minima(client: &Path, options: &[&str], delay_us: u64) -> [u64; 2] {
    let delay = format!("exchange.inject.delay_us={delay_us}");
    // A minimum needs few orders.
    let run = |factor: u32| {
        let seconds = format!("seconds={}", 0.3 * f64::from(factor));
        let sets = PING_PONG.into_iter().chain([delay.as_str(), &seconds]);
        let record = run_both(client, options, &sets.collect::<Vec<_>>());
        testing::unless!(!is_void(&record), "{}", record["void_because"]);
        Ok(record)
    };
    let record = testing::quiet::or_doubled("0.3 s are enough for a reply", run);
    ["rust", "cpp"].map(|one| of(&record, one, "service", "min"))
}

/// Whether both clients' minima differ as the delays do. Even the best round trip differs from run
/// to run by some tens of microseconds, where a host moves its cores; the longer it lasts the more
/// a busy machine adds.
fn are_recovered(minima: &[[u64; 2]; 3]) -> bool {
    [0, 1].into_iter().all(|subject| {
        let [none, delayed @ ..] = minima.map(|both| both[subject] as f64 / 1e3);
        delayed.into_iter().zip(&DELAYS_US[1..]).all(|(took, expected)| {
            let expected = *expected as f64;
            (0.9 * expected - 30.0..1.4 * expected + 50.0).contains(&(took - none))
        })
    })
}

/// The exchange stands still 400 ms of each second: a third of the messages and more wait for it.
#[test]
fn a_stall_of_the_exchange_is_in_the_response_time() {
    let Some(client) = client() else {
        testing::skip!(CppClient, "the client in C++ is not built; `make clients` does it");
    };
    let sets =
        ["exchange.inject.stall_ms=400", "exchange.inject.stall_every_ms=1000", "seconds=3.0"];
    let record = run_both(&client, &[], &sets);
    let [ours, theirs] = ["rust", "cpp"].map(|subject| of(&record, subject, "response", "p90"));
    for p90 in [ours, theirs] {
        assert!(p90 > 150_000_000, "{ours} {theirs}");
    }
    let ratio = ours as f64 / theirs as f64;
    assert!((0.6..1.7).contains(&ratio), "{ours} {theirs}");
}

#[test]
fn tls_is_spoken_and_certificates_are_checked() {
    let Some(client) = client() else {
        testing::skip!(CppClient, "the client in C++ is not built; `make clients` does it");
    };
    for options in [&[][..], &["--io-uring"]] {
        let sets: Vec<&str> = PING_PONG.into_iter().chain(["tls=true"]).collect();
        let record = run_both(&client, options, &sets);
        assert!(!is_void(&record), "{options:?}: {}", record["void_because"]);
    }
    // By the system's authorities, which did not sign it.
    let secure = Exchange::start(&["--any-token", "--tls-self-signed"]);
    let said = error_of(&client, &secure.address);
    assert!(said.contains("certificate is not accepted") && said.contains("tls.ca"), "{said}");
    let plain = Exchange::start(&["--any-token"]);
    let said = error_of(&client, &plain.address);
    assert!(said.contains("the server answered in plain text"), "{said}");
}

/// The client's error for a plan with TLS that it can't carry out.
fn error_of(client: &Path, address: &str) -> String {
    let plan = tempfile::NamedTempFile::new().unwrap();
    let log = tempfile::NamedTempFile::new().unwrap();
    let text = serde_json::json!({
        "subject": "cpp", "target": address, "wire": "websocket-json", "backend": "block",
        "core": null, "scheduling": "other", "tls": {}, "warm_up_seconds": 0.1, "seconds": 0.1,
        "hlog": log.path(),
        "load": {"model": "ping-pong", "rate_per_second": 1.0, "arrival": "uniform", "burst": 1,
                 "seed": 1, "accounts": 1, "connections": 1, "cancel_after": 1,
                 "instrument": "BTC_USDT", "side": "BUY", "price": "1", "amount": "1",
                 "first_token": 3001}
    });
    std::fs::write(plan.path(), text.to_string()).unwrap();
    let done = std::process::Command::new(client).arg("--plan").arg(plan.path()).output().unwrap();
    assert_eq!(done.status.code(), Some(2), "{}", text_of(&done));
    text_of(&done)
}

#[test]
fn the_seconds_that_it_tells_agree_with_its_result() {
    let Some(client) = client() else {
        testing::skip!(CppClient, "the client in C++ is not built; `make clients` does it");
    };
    progress::seconds_agree_with_the_result(|| std::process::Command::new(&client));
}

#[test]
fn a_client_that_is_not_built_is_named() {
    let elsewhere = tempfile::tempdir().unwrap();
    let done = tickpath().current_dir(elsewhere.path()).args(["run", "stacks"]).output().unwrap();
    let said = text_of(&done);
    assert_eq!(done.status.code(), Some(2), "{said}");
    let program = "clients/cpp/target/build/tickpath-client";
    for words in ["subject cpp can't be started", program, "`make clients`"] {
        assert!(said.contains(words), "{said}");
    }
}

/// Follows the `LEVELS` feed of our exchange and answers ticks; at the end both books have the same
/// hash at the same message. With a low rate a datagram is lost only if the machine stands still.
#[test]
fn the_feeds_follower_keeps_the_exchanges_book() {
    let Some(client) = client() else {
        testing::skip!(CppClient, "the client in C++ is not built; `make clients` does it");
    };
    let feed = ["--any-token", "--feed", "unicast", "--flow", "synthetic"];
    let flow = ["--flow-rate", "500", "--flow-seconds", "1.2"];
    let exchange = Exchange::start(&[&feed[..], &flow].concat());
    let done = std::process::Command::new(client)
        .args(["feed", &exchange.address, "--flow", "--order-every", "10"])
        .args(["--warm-up", "0.2", "--seconds", "2"])
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", text_of(&done));
    let told: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(told["complete"], true, "{told}");
    let (feed, orders) = (&told["feed"], &told["orders"]);
    assert_eq!(feed["sequence"], feed["exchange"]["sequence"], "{told}");
    assert_eq!(feed["book_hash"], feed["exchange"]["book_hash"], "{told}");
    // The books of an exchange without a flow would be the same, too.
    assert!(feed["ticks"].as_u64() > Some(100) && told["top"][0]["levels"].as_u64() > Some(0));
    assert!(orders["sent"].as_u64() > Some(0), "{told}");
    assert_eq!(orders["sent"], orders["answered"], "{told}");
    let count = told["tick_to_trade_ns"]["count"].as_u64();
    assert!(count > Some(0) && count <= orders["sent"].as_u64(), "{told}");
    exchange.end();
}

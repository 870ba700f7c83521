//! An exchange whose sockets are in threads of their own, as a whole process: the same answers as
//! without, and a record that says so.

use crate::support::websocket::Client;
use crate::support::*;
use serde_json::{Value, json};

/// Whether this machine can start gateways; if not, why not is said.
fn are_possible() -> bool {
    let done =
        output(&["exchange", "--echo", "--gateways", "1", "--listen", "no.such.host.invalid:1"]);
    let said = text(&done.stderr);
    let possible = !said.contains("no rings for the gateways");
    if !possible {
        testing::skipped(testing::Need::Kernel, format_args!("{said}"));
    }
    possible
}

fn order(client_id: &str, side: &str, price: &str) -> Value {
    json!({"type": "CREATE_ORDER", "order": {"instrument_code": "BTC_USDT", "client_id": client_id,
        "side": side, "type": "LIMIT", "price": price, "amount": "1",
        "time_in_force": "GOOD_TILL_CANCELLED"}})
}

/// Three accounts: orders that rest, trade, are rejected and cancelled.
fn transcript() -> Vec<(usize, Value)> {
    let cancel = |client_id: &str| json!({"type": "CANCEL_ORDER", "client_id": client_id, "instrument_code": "BTC_USDT"});
    let token = |index: usize| json!({"type": "AUTHENTICATE", "api_token": format!("a{index}")});
    let mut transcript: Vec<(usize, Value)> = (0..3).map(|index| (index, token(index))).collect();
    for round in 0..30 {
        let id = |name: &str| format!("{name}{round}");
        transcript.extend([
            (0, order(&id("rests"), "BUY", "100")),
            (1, order(&id("sells"), "SELL", "100")),
            (2, order(&id("waits"), "BUY", "90")),
            (2, order(&id("waits"), "BUY", "90")),
            (0, order(&id("wrong"), "BUY", "-5")),
            (2, cancel(&id("waits"))),
            (1, cancel(&id("sells"))),
            (1, json!({"type": "SING"})),
        ]);
    }
    transcript
}

/// The messages to each account, and the exchange's last line.
fn told(gateways: &str) -> (Vec<Vec<Value>>, Value) {
    let exchange = Exchange::start(&[
        "--any-token",
        "--book",
        "empty",
        "--gateways",
        gateways,
        "--replay-inputs-max",
        "1000",
    ]);
    let mut clients: Vec<Client> = (0..3).map(|_| Client::connect(&exchange.address)).collect();
    let mut texts = vec![Vec::new(); clients.len()];
    for (account, message) in transcript() {
        clients[account].send(1, message.to_string().as_bytes());
        texts[account].extend(clients[account].told());
    }
    for (texts, client) in texts.iter_mut().zip(&mut clients) {
        texts.extend(client.told());
    }
    (texts, exchange.end())
}

#[test]
fn the_same_transcript_gives_the_same_replies() {
    if !are_possible() {
        return;
    }
    let (texts, ended) = told("0");
    assert!(ended["counts"]["trades"].as_u64() >= Some(30), "{ended}");
    assert_eq!(ended["replay_equal"], true, "{ended}");
    for gateways in ["1", "2"] {
        let (others, other_end) = told(gateways);
        assert_eq!(others, texts, "{gateways} gateways");
        // The time is in the state, and so in its hash.
        for key in ["counts", "orders", "cancels", "replay_equal"] {
            assert_eq!(other_end[key], ended[key], "{gateways} gateways");
        }
    }
}

/// Also what a reader must know of them: that they are there, on which cores, and where there are
/// none for them what that means.
#[test]
fn a_run_with_gateways_says_so() {
    if !are_possible() {
        return;
    }
    let runs = tempfile::tempdir().unwrap();
    let out = runs.path().display().to_string();
    let sets = ["--set", "exchange.gateways=2", "--set", "load.connections=3"];
    let done = tickpath().args(SHORT).args(["--out", &out]).args(sets).output().unwrap();
    let table = text(&done.stdout);
    let record = record(&only_run(runs.path()));
    assert_eq!(record["complete"], true, "{}{table}", text(&done.stderr));
    for name in ["rust.complete", "rust.replies", "rust.accepted", "rust.accounted", "rust.state"] {
        assert_eq!(rule(&record, name)["verdict"], "held", "{}", rule(&record, name));
    }
    assert_eq!(
        rule(&record, "floor.replies")["verdict"],
        "held",
        "{}",
        rule(&record, "floor.replies")
    );
    assert_eq!(record["resolved"]["exchange"]["gateways"], 2);
    assert!(table.contains("exchange with 2 gateways"), "{table}");
    let cores = record["resolved"]["exchange"]["cores"].as_array().unwrap().len();
    let warned = record["warnings"].to_string().contains("have no core of their own");
    assert!(cores == 3 && !warned || cores == 1 && warned, "{}", record["warnings"]);
    let subject = &record["subjects"][0]["cores"];
    assert_eq!(subject.as_array().unwrap().len(), cores + 1, "{subject}");
}

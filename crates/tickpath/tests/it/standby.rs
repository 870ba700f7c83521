//! A standby tells its operator that its disk is full, and that a signal has ended it. Cancel on
//! disconnect holds at a standby that took over, and its predecessor tells nothing from old state.

use crate::support::websocket::Client;
use crate::support::*;
use crate::{fix, sbe};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Stdio};
use std::time::Duration;
use testing::{small_disk, test_name};
use transport::Connection;
use wire::request::Side;
use wire::sbe::client::Logon;

/// Room for one segment of a standby, which has 16 MiB, and not for two.
const DISK_BYTES: u64 = 24 << 20;

#[test]
fn a_standby_tells_that_its_disk_is_full_and_ends_at_the_first_signal() {
    let name = test_name!(a_standby_tells_that_its_disk_is_full_and_ends_at_the_first_signal);
    small_disk::on(DISK_BYTES, &name, stand_by_on_a_small_disk);
}

/// A standby, which says on stderr what goes into the file `said`.
struct Standby {
    child: Child,
    lines: BufReader<ChildStdout>,
    said: PathBuf,
}

impl Standby {
    fn start(copy: &Path, said: PathBuf, seconds: &str) -> Standby {
        Standby::start_with(copy, said, seconds, &[])
    }

    fn start_with(copy: &Path, said: PathBuf, seconds: &str, more: &[&str]) -> Standby {
        let mut child = tickpath()
            .args(["exchange", "--any-token", "--backend", "block", "--book", "empty"])
            .args(["--listen", "127.0.0.1:0", "--standby", "127.0.0.1:0"])
            .args(["--standby-seconds", seconds, "--reconnect-seconds", "2", "--journal"])
            .arg(copy)
            .args(more)
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(&said).unwrap())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Standby { child, lines, said }
    }

    fn line(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn has_said(&self, words: &str) -> bool {
        std::fs::read_to_string(&self.said).unwrap().contains(words)
    }
}

impl Drop for Standby {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn primary(log: &Path, standby: &mut Standby) -> Exchange {
    let address = standby.line()["standby"].as_str().unwrap().to_owned();
    let log = log.display().to_string();
    let replicate = ["--journal", &log, "--replicate", "sync", "--follower", &address];
    Exchange::start(&[&["--any-token", "--book", "empty"][..], &replicate].concat())
}

fn logged_in(address: &str, account: &str, asks: bool) -> Client {
    let mut client = Client::connect(address);
    let login = json!({"type": "AUTHENTICATE", "api_token": account, "cancel_on_disconnect": asks});
    client.send(1, login.to_string().as_bytes());
    // In mode sync the answer may wait for the standby.
    assert!(client.next_text().contains("AUTHENTICATED"));
    client
}

fn create(client_id: &str, price: &str) -> String {
    let order = json!({"type": "CREATE_ORDER", "order": {"instrument_code": "BTC_USDT",
        "client_id": client_id, "side": "BUY", "type": "LIMIT", "price": price, "amount": "1",
        "time_in_force": "GOOD_TILL_CANCELLED"}});
    order.to_string()
}

fn order(client: &mut Client, price: &str) {
    assert_eq!(client.ask(create("o", price).as_bytes()).unwrap()["type"], "BOOKED");
}

fn status(client: &mut Client) -> Value {
    status_of(client, "o")
}

fn status_of(client: &mut Client, id: &str) -> Value {
    client.send(1, json!({"type": "ORDER_STATUS", "client_id": id}).to_string().as_bytes());
    serde_json::from_str(&client.next_text()).unwrap()
}

fn stand_by_on_a_small_disk(disk: &Path) {
    let elsewhere = tempfile::tempdir().unwrap();
    let mut standby = Standby::start(&disk.join("copy"), elsewhere.path().join("said"), "60");
    let primary = primary(&elsewhere.path().join("log"), &mut standby);
    wait_for("the warning", || standby.has_said("is full: free some space").then_some(()));
    // There is room in the segment that it has.
    order(&mut logged_in(&primary.address, "a", false), "100");

    signal(standby.child.id(), Signal::INT);
    let records = standby.line()["records"].as_u64().unwrap();
    assert!(records > 0);
    assert!(standby.child.wait().unwrap().success());
    assert!(standby.has_said(&format!("before it took over: its copy has {records} records")));
}

/// Waits until that is the highest bid.
fn wait_for_best_bid(address: &str, price: &str) {
    let mut watcher = logged_in(address, "watcher", false);
    let top = json!({"name": "TOP", "instrument_code": "BTC_USDT"});
    let subscribe = json!({"type": "SUBSCRIBE", "channels": [top]});
    watcher.send(1, subscribe.to_string().as_bytes());
    wait_for("the cancels", || {
        let told: Value = serde_json::from_str(&watcher.next_text()).unwrap();
        (told["bid"][0].as_str() == Some(price)).then_some(())
    });
}

/// `back` comes back in time and keeps its order, `gone` does not; `never` had not asked.
#[test]
fn cancel_on_disconnect_holds_at_a_standby_that_took_over() {
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| place.path().join(name);
    let mut standby = Standby::start(&path("copy"), path("said"), "0.6");
    let first = primary(&path("log"), &mut standby);
    wait_for("the copy", || standby.has_said("the copy is complete").then_some(()));
    let clients = [("back", true, "100"), ("gone", true, "102"), ("never", false, "101")];
    let _clients = clients.map(|(account, asks, price)| {
        let mut client = logged_in(&first.address, account, asks);
        order(&mut client, price);
        client
    });
    signal(first.child.id(), Signal::KILL);
    let address = standby.line()["listening"].as_str().unwrap().to_owned();

    let mut back = logged_in(&address, "back", true);
    wait_for_best_bid(&address, "101");
    let mut gone = logged_in(&address, "gone", true);
    let ended = status(&mut gone);
    assert_eq!((&ended["type"], &ended["status"]), (&json!("ENDED"), &json!("CANCELLED")));
    assert_eq!(status(&mut back)["type"], "OPEN");
    assert_eq!(status(&mut logged_in(&address, "never", false))["type"], "OPEN");
}

fn dial(address: &Value) -> TcpStream {
    let stream = TcpStream::connect(address.as_str().unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// A session of FIX that asks for cancel on disconnect.
fn over_fix(ready: &Value, account: &str) -> fix::Client {
    let (stream, memory) = (Connection::from(dial(&ready["fix"])), Default::default());
    let proof = fix::password_of(account, account);
    let mut client = fix::Client::connect(stream, &account.to_uppercase(), proof, (memory, true));
    assert_eq!(client.next(), Ok(None));
    client
}

/// A session of SBE that asks for cancel on disconnect.
fn over_sbe(ready: &Value, token: &'static str) -> sbe::Client {
    let logon = Logon { session: 0, last_sequence: 0, cancel_on_disconnect: true, token };
    sbe::Client::log_on(Box::new(dial(&ready["listening"])), token, logon).0
}

/// Two sessions of each protocol ask for it, and one of each comes back in time.
#[test]
fn cancel_on_disconnect_of_fix_and_sbe_holds_at_a_standby_that_took_over() {
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| place.path().join(name);
    let store = path("fix1").display().to_string();
    let door = ["--fix", "127.0.0.1:0", "--fix-store", &store];
    let mut standby = Standby::start_with(&path("copy"), path("said"), "0.6", &door);
    let (log, follower) = (path("log").display().to_string(), standby.line());
    let follower = follower["standby"].as_str().unwrap();
    let replicate = ["--journal", &log, "--replicate", "sync", "--follower", follower];
    let first = fix::Exchange::start(&path("fix0"), &[&["--any-token"][..], &replicate].concat());
    wait_for("the copy", || standby.has_said("the copy is complete").then_some(()));
    let fix_clients = [("fix-back", 100), ("fix-gone", 102)].map(|(account, price)| {
        let mut client = over_fix(&first.ready, account);
        client.ask(&format!("35=D|11=o|55=BTC_USDT|54=1|60=@|38=1|40=2|44={price}")).has("150=0");
        client
    });
    let sbe_clients = [("sbe-back", 101), ("sbe-gone", 103)].map(|(account, price)| {
        let mut client = over_sbe(&first.ready, account);
        client.order_at(price, "o", Side::Buy);
        assert_eq!(client.report().1, "booked");
        client
    });
    signal(first.child.id(), Signal::KILL);
    let ready = standby.line();

    let back = (over_fix(&ready, "fix-back"), over_sbe(&ready, "sbe-back"));
    let address = ready["listening"].as_str().unwrap();
    wait_for_best_bid(address, "101");
    for account in ["fix-gone", "sbe-gone"] {
        let ended = status(&mut logged_in(address, account, false));
        assert_eq!((&ended["type"], &ended["status"]), (&json!("ENDED"), &json!("CANCELLED")));
    }
    for account in ["fix-back", "sbe-back"] {
        assert_eq!(status(&mut logged_in(address, account, false))["type"], "OPEN", "{account}");
    }
    drop((fix_clients, sbe_clients, back));
}

/// The old exchange was paused, and does not know yet that another one has cancelled the order.
#[test]
fn an_exchange_that_was_replaced_tells_nothing_from_old_state() {
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| place.path().join(name);
    let mut standby = Standby::start(&path("copy"), path("said"), "0.6");
    let mut old = primary(&path("log"), &mut standby);
    wait_for("the copy", || standby.has_said("the copy is complete").then_some(()));
    let questions = [
        json!({"type": "ORDER_STATUS", "client_id": "o"}),
        // It is cancelled at the next exchange, so it may be placed again there.
        json!({"type": "CREATE_ORDER", "order": {"instrument_code": "BTC_USDT", "client_id": "o",
            "side": "BUY", "type": "LIMIT", "price": "1", "amount": "1",
            "time_in_force": "GOOD_TILL_CANCELLED"}}),
    ];
    let mut owner = logged_in(&old.address, "a", false);
    order(&mut owner, "100");
    assert_eq!(status(&mut owner)["type"], "OPEN");
    let mut clients = [(); 2].map(|()| logged_in(&old.address, "a", false));
    signal(old.child.id(), Signal::STOP);
    let address = standby.line()["listening"].as_str().unwrap().to_owned();
    let mut next = logged_in(&address, "a", false);
    let cancel = json!({"type": "CANCEL_ORDER", "instrument_code": "BTC_USDT", "client_id": "o"});
    next.send(1, cancel.to_string().as_bytes());
    assert!(next.next_text().contains("CANCELLED"));

    for (client, question) in clients.iter_mut().zip(questions) {
        client.send(1, question.to_string().as_bytes());
    }
    signal(old.child.id(), Signal::CONT);
    for mut client in clients {
        for told in client.texts_until_it_ends() {
            assert!(told.contains("follower") || told.contains("journal"), "{told}");
        }
    }
    assert!(!old.child.wait().unwrap().success());
}

/// The new exchange has no session of the old one's clients. It knows their orders.
#[test]
fn a_standby_that_took_over_knows_how_orders_stand_in_each_protocol() {
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| place.path().join(name);
    let store = path("fix").display().to_string();
    let door = ["--fix", "127.0.0.1:0", "--fix-store", &store];
    let mut standby = Standby::start_with(&path("copy"), path("said"), "0.6", &door);
    let first = primary(&path("log"), &mut standby);
    wait_for("the copy", || standby.has_said("the copy is complete").then_some(()));
    let mut client = logged_in(&first.address, "fund", false);
    for id in ["open", "ended"] {
        assert_eq!(client.ask(create(id, "100").as_bytes()).unwrap()["type"], "BOOKED");
    }
    let cancel =
        json!({"type": "CANCEL_ORDER", "instrument_code": "BTC_USDT", "client_id": "ended"});
    client.send(1, cancel.to_string().as_bytes());
    assert!(client.next_text().contains("CANCELLED"));
    signal(first.child.id(), Signal::KILL);
    let ready = standby.line();

    let mut by_json = logged_in(ready["listening"].as_str().unwrap(), "fund", false);
    let (mut by_sbe, _) = sbe::Client::new(Box::new(dial(&ready["listening"])), "fund", (0, 0));
    let stream = Connection::from(dial(&ready["fix"]));
    let mut by_fix =
        fix::Client::connect(stream, "FUND", fix::password("fund"), Default::default());
    assert_eq!(by_fix.next(), Ok(None));
    for (id, in_json, in_sbe, in_fix) in [
        ("open", "OPEN", "status", "39=0"),
        ("ended", "ENDED", "CANCELLED", "39=4|151=0"),
        ("none", "REJECTED", "rejected", "39=8|37=NONE"),
    ] {
        assert_eq!(status_of(&mut by_json, id)["type"], in_json, "{id}");
        by_sbe.ask_status(id);
        let (_, kind, named) = by_sbe.report();
        assert_eq!((kind, named.as_str()), (in_sbe, id));
        let report = by_fix.ask(&format!("35=H|11={id}|55=BTC_USDT|54=1"));
        report.has("35=8|150=I").has(&format!("11={id}")).has(in_fix);
    }
}

//! A standby tells its operator that its disk is full, and that a signal has ended it. Cancel on
//! disconnect holds at a standby that took over.

use crate::support::websocket::Client;
use crate::support::*;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Stdio};
use testing::{small_disk, test_name};

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
        let mut child = tickpath()
            .args(["exchange", "--any-token", "--backend", "block", "--book", "empty"])
            .args(["--listen", "127.0.0.1:0", "--standby", "127.0.0.1:0"])
            .args(["--standby-seconds", seconds, "--reconnect-seconds", "2", "--journal"])
            .arg(copy)
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

fn order(client: &mut Client, price: &str) {
    let order = json!({"type": "CREATE_ORDER", "order": {"instrument_code": "BTC_USDT",
        "client_id": "o", "side": "BUY", "type": "LIMIT", "price": price, "amount": "1",
        "time_in_force": "GOOD_TILL_CANCELLED"}});
    assert_eq!(client.ask(order.to_string().as_bytes()).unwrap()["type"], "BOOKED");
}

fn status(client: &mut Client) -> Value {
    client.send(1, json!({"type": "ORDER_STATUS", "client_id": "o"}).to_string().as_bytes());
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
    let mut watcher = logged_in(&address, "watcher", false);
    let top = json!({"name": "TOP", "instrument_code": "BTC_USDT"});
    let subscribe = json!({"type": "SUBSCRIBE", "channels": [top]});
    watcher.send(1, subscribe.to_string().as_bytes());
    let best_bid = |text: &str| {
        let told: Value = serde_json::from_str(text).unwrap();
        told["bid"][0].as_str().map(str::to_owned)
    };
    wait_for("the cancel", || {
        (best_bid(&watcher.next_text()).as_deref() == Some("101")).then_some(())
    });
    let mut gone = logged_in(&address, "gone", true);
    let ended = status(&mut gone);
    assert_eq!((&ended["type"], &ended["status"]), (&json!("ENDED"), &json!("CANCELLED")));
    assert_eq!(status(&mut back)["type"], "OPEN");
    assert_eq!(status(&mut logged_in(&address, "never", false))["type"], "OPEN");
}

//! An exchange and its follower as whole processes: the primary is killed under load, and the
//! follower's copy is promoted.

use crate::support::websocket::Client;
use crate::support::*;
use engine::Command as Input;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Acknowledged orders before the kill.
const ORDERS: usize = 300;

struct Follower {
    child: Child,
    address: String,
}

impl Follower {
    fn start(copy: &Path, listen: &str) -> Follower {
        let mut child = tickpath()
            .args(["follower", "--listen", listen, "--journal"])
            .arg(copy)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (_, address) = listening(&mut child);
        Follower { child, address }
    }

    fn end(mut self) {
        signal(self.child.id(), Signal::TERM);
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A primary, which says on stderr what goes into the file `said`.
fn primary(log: &Path, mode: &str, follower: &str, said: &Path) -> Exchange {
    let log = log.display().to_string();
    let arguments = ["--any-token", "--book", "empty", "--journal", &log];
    let replicate = ["--replicate", mode, "--follower", follower];
    let arguments = [arguments.as_slice(), &replicate].concat();
    let said = std::fs::File::create(said).unwrap();
    Exchange::start_telling(tickpath(), &arguments, said.into())
}

fn logged_in(address: &str, account: &str) -> Client {
    let mut client = Client::connect(address);
    let login = json!({"type": "AUTHENTICATE", "api_token": account}).to_string();
    client.send(1, login.as_bytes());
    assert_eq!(client.told()[0]["type"], "AUTHENTICATED");
    client
}

fn order(client_id: &str) -> String {
    json!({"type": "CREATE_ORDER", "order": {"instrument_code": "BTC_USDT",
        "client_id": client_id, "side": "BUY", "type": "LIMIT", "price": "100", "amount": "1",
        "time_in_force": "GOOD_TILL_CANCELLED"}})
    .to_string()
}

/// Sends orders until the connection breaks. Returns the number of acknowledged ones.
fn load(mut client: Client, account: &str, stop_at: impl Fn(usize)) -> usize {
    for number in 0.. {
        match client.ask(order(&format!("{account}{number}")).as_bytes()) {
            Ok(told) => assert_eq!(told["type"], "BOOKED", "{told}"),
            Err(_) => return number,
        }
        stop_at(number + 1);
    }
    unreachable!()
}

/// The new orders of a journal, each once.
fn orders(log: &Path) -> Vec<u64> {
    let new = |input: Result<(u64, engine::Input), _>| match input.unwrap().1.command {
        Input::New(order) => Some(order.order_id),
        _ => None,
    };
    let orders: Vec<u64> = journal::Inputs::open(log).unwrap().filter_map(new).collect();
    assert_eq!(orders.iter().collect::<HashSet<_>>().len(), orders.len());
    orders
}

fn cancel(client: &mut Client, client_id: &str) -> Value {
    let cancel = json!({"type": "CANCEL_ORDER", "instrument_code": "BTC_USDT",
        "client_id": client_id});
    client.send(1, cancel.to_string().as_bytes());
    client.told().remove(0)
}

/// Kills the primary under the load of two accounts. Returns the acknowledged orders of each.
fn kill_under_load(first: Exchange, follower: Follower) -> [usize; 2] {
    let pid = first.child.id();
    let clients = ["a", "b"].map(|account| (logged_in(&first.address, account), account));
    let acknowledged = clients.map(|(client, account)| {
        std::thread::spawn(move || {
            load(client, account, |number| {
                if number == ORDERS && account == "a" {
                    signal(pid, Signal::KILL);
                }
            })
        })
    });
    let acknowledged = acknowledged.map(|load| load.join().unwrap());
    drop(first);
    follower.end();
    acknowledged
}

#[test]
fn a_promoted_follower_has_every_acknowledged_order_once() {
    let place = tempfile::tempdir().unwrap();
    let (log, copy) = (place.path().join("log"), place.path().join("copy"));
    let follower = Follower::start(&copy, "127.0.0.1:0");
    let first = primary(&log, "sync", &follower.address, &place.path().join("said"));
    let acknowledged = kill_under_load(first, follower);
    assert!(acknowledged[0] >= ORDERS && acknowledged[1] > 0, "{acknowledged:?}");
    let (ours, theirs) = (orders(&log), orders(&copy));
    assert!(theirs.len() >= acknowledged.iter().sum());
    assert!(ours.starts_with(&theirs), "the copy has what the log has");

    // The file of terms says that this log has followers, so a new one begins.
    let journal = copy.display().to_string();
    let promoted = Exchange::start(&["--any-token", "--book", "empty", "--journal", &journal]);
    for (account, acknowledged) in ["a", "b"].into_iter().zip(acknowledged) {
        let mut client = logged_in(&promoted.address, account);
        for number in 0..acknowledged {
            let told = cancel(&mut client, &format!("{account}{number}"));
            assert_eq!(told["status"], "CANCELLED", "{account}{number}: {told}");
        }
        assert_eq!(cancel(&mut client, &format!("{account}0"))["type"], "REJECTED");
    }
    let terms = std::fs::read_to_string(copy.join("terms")).unwrap();
    assert_eq!(terms.lines().count(), 2, "{terms}");

    // Somebody starts the old primary again, and it meets a follower of the new one's term.
    promoted.end();
    let follower = Follower::start(&copy, "127.0.0.1:0");
    let log = log.display().to_string();
    let old = ["exchange", "--any-token", "--listen", "127.0.0.1:0", "--journal", &log];
    let replicate = ["--replicate", "sync", "--follower", &follower.address];
    let fenced = output(&[&old[..], &["--book", "empty"], &replicate].concat());
    assert_eq!(fenced.status.code(), Some(2));
    assert!(text(&fenced.stderr).contains("follows another primary"), "{}", text(&fenced.stderr));
}

#[test]
fn an_asynchronous_copy_is_a_prefix() {
    let place = tempfile::tempdir().unwrap();
    let (log, copy) = (place.path().join("log"), place.path().join("copy"));
    let follower = Follower::start(&copy, "127.0.0.1:0");
    let first = primary(&log, "async", &follower.address, &place.path().join("said"));
    let acknowledged = kill_under_load(first, follower);
    let (ours, theirs) = (orders(&log), orders(&copy));
    assert!(ours.len() >= acknowledged.iter().sum());
    assert!(!theirs.is_empty() && ours.starts_with(&theirs));
    let replayed = output(&["replay", "--json", &copy.display().to_string()]);
    assert_eq!(replayed.status.code(), Some(0), "{}", text(&replayed.stderr));
}

/// Without its follower the exchange says no to everything; with it, it goes on where it was.
#[test]
fn a_lost_follower_is_a_reason_and_comes_back() {
    let place = tempfile::tempdir().unwrap();
    let (log, copy) = (place.path().join("log"), place.path().join("copy"));
    let follower = Follower::start(&copy, "127.0.0.1:0");
    let address = follower.address.clone();
    let said = place.path().join("said");
    let first = primary(&log, "sync", &address, &said);
    let mut client = logged_in(&first.address, "a");
    assert_eq!(client.ask(order("before").as_bytes()).unwrap()["type"], "BOOKED");
    follower.end();
    let is_said = |words: &str| {
        wait_for(words, || std::fs::read_to_string(&said).unwrap().contains(words).then_some(()));
    };
    is_said("has not acknowledged");
    let told = client.ask(order("during").as_bytes()).unwrap();
    assert!(told["type"] == "REJECTED" && told.to_string().contains("follower"), "{told}");
    let told = cancel(&mut client, "before");
    assert!(told["type"] == "REJECTED" && told.to_string().contains("follower"), "{told}");
    let follower = Follower::start(&copy, &address);
    is_said("acknowledges again");
    assert_eq!(client.ask(order("after").as_bytes()).unwrap()["type"], "BOOKED");
    assert_eq!(cancel(&mut client, "before")["status"], "CANCELLED");
    let last = first.end();
    follower.end();
    assert_eq!(last["counts"]["replica"]["connections"], 2);
    assert_eq!(last["counts"]["replica"]["records"], last["counts"]["replica"]["replicated"]);
    assert_eq!(orders(&log), orders(&copy));
}

#[test]
fn arguments_that_make_no_sense_are_rejected() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().display().to_string();
    let exchange = ["exchange", "--any-token", "--listen", "127.0.0.1:0"];
    let journal = ["--journal", &log];
    let replicate = ["--replicate", "sync", "--follower", "127.0.0.1:1"];
    for (more, word) in [
        (replicate.to_vec(), "--journal"),
        ([&journal[..], &["--replicate", "sync"]].concat(), "--follower"),
        ([&journal[..], &replicate, &["--journal-mode", "none"]].concat(), "--journal-mode"),
        ([&journal[..], &replicate, &["--follower-seconds", "0"]].concat(), "0.01 to 3600"),
        ([&journal[..], &replicate, &["--follower-lag-max", "0"]].concat(), "--follower-lag-max"),
    ] {
        let failed = output(&[&exchange[..], &more].concat());
        assert_eq!(failed.status.code(), Some(2), "{}", text(&failed.stderr));
        assert!(text(&failed.stderr).contains(word), "{}", text(&failed.stderr));
    }
}

/// The script takes the times of a load apart: with its follower, without it, while the follower
/// catches up, and after that. It compares both copies, too.
#[test]
fn a_script_measures_orders_while_a_follower_catches_up() {
    const INPUTS: u64 = 3_000;
    let place = tempfile::tempdir().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/measure-catch-up");
    let mut command = Command::new(script);
    command.arg("--tickpath").arg(env!("CARGO_BIN_EXE_tickpath"));
    command.arg("--directory").arg(place.path()).args(["--inputs", &INPUTS.to_string()]);
    command.args(["--rounds", "1", "--rate", "1000", "--seconds", "3"]);
    // Other tests keep the disk busy.
    command.args(["--catch-up-seconds-max", "5", "--journal-mode", "async"]);
    command.env("TICKPATH_LOCKS", "");
    let done = command.output().unwrap();
    assert!(done.status.success(), "{}", text_of(&done));
    let line = text(&done.stdout);
    let found: Value = serde_json::from_str(line.lines().next().unwrap()).unwrap();
    // An order has two records, and its cancel one.
    assert!(found["records_lacked"].as_u64().unwrap() >= INPUTS, "{found}");
    let with = &found["phases"]["with"];
    assert!(with["p50_us"].as_f64().is_some_and(|p50_us| p50_us > 0.0), "{found}");
    for phase in ["away", "catching_up"] {
        assert!(found["phases"][phase]["orders"].as_u64().unwrap() > 0, "{found}");
    }
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
}

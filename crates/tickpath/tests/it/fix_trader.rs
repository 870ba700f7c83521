//! The trader over FIX as a whole process: judged in a run like the other dialects, and against a
//! foreign server, QuickFIX/J or QuickFIX in Python.

use crate::fix::Exchange;
use crate::quickfix::{java, peers, python};
use crate::support::*;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use tempfile::TempDir;

/// What TLS 1.3 adds to a message.
const TLS_RECORD_BYTES: u64 = 22;

/// Two sessions: every message is answered, and the exchange's counts are the trader's.
fn are_judged_like_the_others(sets: &[&str]) {
    let runs = tempfile::tempdir().unwrap();
    let scenario = runs.path().join("fix.toml");
    let text = "name = \"fix\"\nkind = \"order-entry\"\nruns = 1\nwarm_up_seconds = 0.1\n\
                seconds = 0.5\nfloor_seconds = 0.2\nhiccup_seconds = 0.0\n\
                [exchange]\nbackend = \"block\"\n\
                [[subject]]\nname = \"rust\"\nbackend = \"block\"\ndialect = \"fix\"\n";
    std::fs::write(&scenario, text).unwrap();
    let out = runs.path().join("runs");
    let done = tickpath()
        .args(["run", &scenario.display().to_string(), "--quiet", "--out"])
        .arg(&out)
        .args(sets.iter().flat_map(|set| ["--set", set]))
        .output()
        .unwrap();
    let said = text_of(&done);
    assert!(matches!(done.status.code(), Some(0 | 3)), "{said}");
    let directory = only_run(&out);
    let record = record(&directory);
    assert!(!is_void(&record), "{sets:?}: {}", record["void_because"]);
    for held in ["complete", "replies", "recorded", "accepted", "accounted", "state"] {
        let rule = rule(&record, &format!("rust.{held}"));
        assert_eq!(rule["verdict"], "held", "{rule}");
    }
    let load = |index: usize| record["subjects"][index]["load"].clone();
    assert!(load(0)["sent"].as_u64().unwrap() > 0, "{record}");
    assert_eq!(record["subjects"][0]["dialect"], "fix");
    let bytes = |index: usize| load(index)["message_bytes"]["order"].as_u64().unwrap();
    let record_bytes = if record["subjects"][0]["tls"] == true { TLS_RECORD_BYTES } else { 0 };
    assert_eq!(bytes(1), bytes(0) + record_bytes, "the floor's bytes");
    let left = std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path());
    assert_eq!(left.filter(|path| path.is_dir()).count(), 0, "the sessions' store is gone");
}

#[test]
fn orders_in_fix_are_judged_like_the_others() {
    are_judged_like_the_others(&[
        "load.accounts=2",
        "load.connections=2",
        "load.rate_per_second=500",
    ]);
}

#[test]
fn orders_in_fix_over_tls_are_judged_like_the_others() {
    let ping_pong = ["load.model=ping-pong", "load.accounts=2", "load.connections=2"];
    are_judged_like_the_others(&[&ping_pong[..], &["tls=true"]].concat());
}

/// QuickFIX as an exchange.
struct Server {
    child: Child,
    lines: BufReader<ChildStdout>,
    port: String,
    _orders: Option<TempDir>,
}

/// As many as no load here sends.
const ALL: u64 = 1_000_000;

impl Server {
    /// It knows these clients, and all of FIX 4.4.
    fn start(program: Command, comp_ids: &[&str]) -> Server {
        let orders = tempfile::tempdir().unwrap();
        let mut server = Server::sharing(program, orders.path(), ALL, comp_ids);
        server._orders = Some(orders);
        server
    }

    /// The same with its open orders in a directory that servers may share. After `answered` orders
    /// it answers no further one, and keeps only the first of those.
    fn sharing(mut program: Command, orders: &Path, answered: u64, comp_ids: &[&str]) -> Server {
        let mut child = program
            .arg(peers().join("standard/FIX44.xml"))
            .arg(orders)
            .arg(answered.to_string())
            .args(comp_ids)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut server = Server { child, lines, port: String::new(), _orders: None };
        let line = server.read("listening ");
        server.port = line.rsplit(' ').next().unwrap().to_owned();
        server
    }

    /// The next line that begins so.
    fn read(&mut self, start: &str) -> String {
        loop {
            let mut line = String::new();
            assert!(self.lines.read_line(&mut line).unwrap() > 0, "no line begins with {start}");
            if line.starts_with(start) {
                return line.trim_end().to_owned();
            }
            assert!(!line.contains("|35=3|"), "we sent a Reject: {line}");
            for end in ["unexpected", "logout of"] {
                assert!(!line.starts_with(end), "no line begins with {start} before {line}");
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A load against these ports.
fn load(ports: &[&str], folder: &Path, sets: &[&str]) -> Command {
    let addresses: Vec<String> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    let mut command = tickpath();
    command
        .args(["trade", "ping-pong", "--quiet", "--connect", &addresses.join(",")])
        .args(["--set", "exchange.start=false", "--set", "seconds=0.5"])
        .args(["--set", "warm_up_seconds=0.1", "--set", "subject.rust.dialect=fix"])
        .args(["--set", "subject.rust.backend=block", "--hlog"])
        .arg(folder.join("1.hlog"))
        .args(sets.iter().flat_map(|set| ["--set", set]));
    command
}

/// Its result or its errors.
fn trade(port: &str, sets: &[&str]) -> Result<Value, String> {
    let folder = tempfile::tempdir().unwrap();
    let done = load(&[port], folder.path(), sets).output().unwrap();
    match serde_json::from_slice(&done.stdout) {
        Ok(result) => Ok(result),
        Err(_) => Err(text_of(&done)),
    }
}

/// It takes our Logon, our orders and our cancels by the dictionary of all of FIX 4.4, has its test
/// request answered, and sees an orderly Logout.
fn takes_our_orders(program: Command) {
    let mut server = Server::start(program, &["TRADER-3001"]);
    let result = trade(&server.port, &[]).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(result["complete"], true, "{result}");
    let load = &result["load"];
    let all = load["sent"].as_u64().unwrap() + load["warm_up_sent"].as_u64().unwrap();
    assert!(all >= 2, "an order and its cancel: {result}");
    assert_eq!(load["received"], load["sent"]);
    for none in ["lost", "rejected", "unexpected", "duplicated", "out_of_order"] {
        assert_eq!(load[none].as_u64().unwrap_or(0), 0, "{none}: {result}");
    }
    let logon = server.read("admin 8=FIX.4.4");
    for field in ["35=A", "49=TRADER-3001", "56=TICKPATH", "141=Y", "554=3001", "108=30"] {
        assert!(logon.contains(&format!("|{field}|")), "no {field} in {logon}");
    }
    server.read("logon");
    let heartbeat = server.read("admin ");
    assert!(
        heartbeat.contains("|35=0|") && heartbeat.contains("|112=are-you-there|"),
        "{heartbeat}"
    );
    let logout = server.read("admin ");
    assert!(logout.contains("|35=5|"), "{logout}");
    let counts = format!("logout of TRADER-3001 orders {0} cancels {0}", all / 2);
    assert_eq!(server.read("logout of"), counts);
}

#[test]
fn quickfix_j_as_the_exchange_takes_our_orders() {
    if let Some(program) = java("FixServer") {
        takes_our_orders(program);
    }
}

/// With the dictionary that comes with QuickFIX/J.
#[test]
fn quickfix_in_python_as_the_exchange_takes_our_orders() {
    if let Some(program) = java("FixServer").and_then(|_| python("server")) {
        takes_our_orders(program);
    }
}

/// A server that leaves two orders unanswered is killed, and the next one knows the first of them.
/// It takes our OrderStatusRequests by the dictionary of all of FIX 4.4, and the load goes on.
fn tells_about_the_orders_of_a_killed_one(programs: [Command; 2]) {
    let (orders, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let clients = ["TRADER-3001", "TRADER-3002"];
    let [first, next] = programs;
    let mut first = Server::sharing(first, orders.path(), 20, &clients);
    let mut next = Server::sharing(next, orders.path(), ALL, &clients);
    let sets = ["load.accounts=2", "load.connections=2", "seconds=1"];
    let mut load = load(&[&first.port, &next.port], folder.path(), &sets);
    let load = load.stdout(Stdio::piped()).spawn().unwrap();
    let unanswered = [(); 2].map(|()| {
        let line = first.read("silent about ");
        line.rsplit(' ').next().unwrap().to_owned()
    });
    first.child.kill().unwrap();
    let done = load.wait_with_output().unwrap();
    assert!(done.status.success(), "{}", text(&done.stdout));
    let result: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(result["complete"], true, "{result}");
    let load = &result["load"];
    let [outage] = &load["outages"].as_array().unwrap()[..] else { panic!("{load}") };
    for (key, count) in
        [("unanswered", 2), ("accepted_late", 1), ("rejected", 1), ("sent_again", 0)]
    {
        assert_eq!(outage[key], count, "{key}: {outage}");
    }
    for none in ["lost", "unexpected", "duplicated", "out_of_order"] {
        assert_eq!(load[none].as_u64().unwrap_or(0), 0, "{none}: {result}");
    }
    let asked = [(); 2].map(|()| next.read("asked "));
    for id in unanswered {
        let fields = ["35=H", &format!("11={id}"), "55=BTC_USDT", "54="];
        let is_of_order = |line: &&String| line.contains(&format!("|11={id}|"));
        let line = asked.iter().find(is_of_order).unwrap_or_else(|| panic!("{id}: {asked:?}"));
        assert!(fields.iter().all(|field| line.contains(&format!("|{field}"))), "{line}");
    }
    let counts = next.read("logout of ");
    assert!(!counts.contains("orders 0 "), "it traded there: {counts}");
}

#[test]
fn quickfix_j_as_the_next_exchange_tells_about_orders() {
    if let (Some(first), Some(next)) = (java("FixServer"), java("FixServer")) {
        tells_about_the_orders_of_a_killed_one([first, next]);
    }
}

#[test]
fn quickfix_in_python_as_the_next_exchange_tells_about_orders() {
    let Some(_) = java("FixServer") else { return };
    if let (Some(first), Some(next)) = (python("server"), python("server")) {
        tells_about_the_orders_of_a_killed_one([first, next]);
    }
}

/// A trader that follows ticks over FIX asks it for the instrument and for its market data.
fn takes_our_market_data_requests(program: Command) {
    let folder = tempfile::tempdir().unwrap();
    let exchange = Exchange::start(&folder.path().join("store"), &["--any-token"]);
    let mut server = Server::start(program, &["TICKS-3001"]);
    let mut trader = tickpath();
    trader.args(["run", "tick-to-trade", "--quiet", "--out"]).arg(folder.path().join("runs"));
    trader.args(["--connect", exchange.ready["listening"].as_str().unwrap()]);
    let address = format!("feed.fix_address=127.0.0.1:{}", server.port);
    let sets = ["exchange.start=false", "audit.enabled=false", "subject.rust.feed=fix", &address];
    trader.args(SHORT_TICKS.iter().chain(&sets).flat_map(|set| ["--set", set]));
    let done = trader.output().unwrap();
    let said = text_of(&done);
    assert!(said.contains("the exchange says: no market data of this server"), "{said}");
    let requests = [
        &["35=x", "320=ticks", "559=0", "55=BTC_USDT"][..],
        &["35=V", "262=ticks", "263=1", "267=2", "269=0", "146=1", "55=BTC_USDT", "8016=Y"],
    ];
    for fields in requests {
        let line = server.read("asked ");
        for field in fields {
            assert!(line.contains(&format!("|{field}|")), "no {field} in {line}");
        }
    }
}

#[test]
fn quickfix_j_as_the_exchange_takes_our_market_data_requests() {
    if let Some(program) = java("FixServer") {
        takes_our_market_data_requests(program);
    }
}

#[test]
fn quickfix_in_python_as_the_exchange_takes_our_market_data_requests() {
    if let Some(program) = java("FixServer").and_then(|_| python("server")) {
        takes_our_market_data_requests(program);
    }
}

/// The exchange knows the secret of each account, and the trader proves that it does, too.
#[test]
fn signed_logons_are_accepted_and_others_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let tokens = file("tokens.toml", "[tokens]\n\"s3cret\" = \"fund\"\n\"other\" = \"gale\"\n");
    let store = folder.path().join("store");
    let exchange = Exchange::start(&store, &["--tokens", &tokens]);
    let port = exchange.ready["fix"].as_str().unwrap().rsplit(':').next().unwrap().to_owned();
    let keys = file("keys.toml", "[keys]\nfund = \"s3cret\"\ngale = \"other\"\n");
    let both = ["load.accounts=2", "load.connections=2", &format!("load.keys={keys}")];
    let result = trade(&port, &both).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(result["complete"], true, "{result}");
    assert!(result["load"]["received"].as_u64().unwrap() > 0, "{result}");
    let why = trade(&port, &[&both[..2], &["load.keys=/no/such/keys.toml"]].concat());
    assert!(why.unwrap_err().contains("name a TOML file that exists"));
    let three = ["load.accounts=3", "load.connections=3", both[2]];
    let why = trade(&port, &three).unwrap_err();
    assert!(why.contains("2 keys, and load.accounts = 3") && !why.contains("s3cret"), "{why}");
    let wrong = file("wrong.toml", "[keys]\nfund = \"guess\"\n");
    let why = trade(&port, &[&format!("load.keys={wrong}")]).unwrap_err();
    assert!(why.contains("without an answer to the Logon"), "{why}");
    let why = trade(&port, &[&format!("load.keys={keys}"), "subject.rust.dialect=sbe"]);
    assert!(why.unwrap_err().contains("only Logons of FIX are signed"));
}

/// It knows only one of the two sessions.
#[test]
fn a_logon_that_nobody_answers_is_an_error_with_advice() {
    let Some(program) = java("FixServer") else { return };
    let server = Server::start(program, &["SOMEBODY"]);
    let why = trade(&server.port, &[]).unwrap_err();
    assert!(why.contains("without an answer to the Logon"), "{why}");
}

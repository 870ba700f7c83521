//! An exchange and its standby as whole processes, in rounds: under load the exchange is killed,
//! stopped or cut off from its standby, which takes over. Then a new standby begins on an empty
//! directory. No acknowledged order is lost or doubled, and no two exchanges acknowledge one
//! number.

use crate::support::websocket::Client;
use crate::support::*;
use engine::Command as Input;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use wire::OrderId;

/// Rounds of `make test`, one per cause; `scripts/weekly` makes more.
const ROUNDS: &str = "TICKPATH_FAILOVER_ROUNDS";
const ROUNDS_DEFAULT: usize = 3;
/// Acknowledged orders of a round before the exchange is lost, and after the next one took over.
const ORDERS: u64 = 50;
/// A client that waits longer for an answer tries the other address.
const PATIENCE: Duration = Duration::from_millis(400);
/// Between two orders, so that many rounds stay small.
const PAUSE: Duration = Duration::from_millis(2);
/// An order's number is in its price and its amount.
const PRICES: u64 = 1000;
/// Ticks and lots of a unit, as crates/exchange/src/setup/instruments.toml has it.
const TICKS: u64 = 100;
const LOTS: u64 = 100_000;

/// How an exchange is lost.
#[derive(Clone, Copy, Debug)]
enum Cause {
    Kill,
    Stop,
    Cut,
}

/// Carries bytes between an exchange and its standby, unless it is cut.
struct Link {
    address: String,
    is_cut: Arc<AtomicBool>,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Link {
    fn to(target: String) -> Link {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let is_cut = Arc::new(AtomicBool::new(false));
        let open = Arc::new(Mutex::new(Vec::new()));
        let (cut, all) = (Arc::clone(&is_cut), Arc::clone(&open));
        std::thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                if cut.load(Ordering::SeqCst) {
                    continue;
                }
                let Ok(far) = TcpStream::connect(&target) else { continue };
                let ends = || [near.try_clone().unwrap(), far.try_clone().unwrap()];
                all.lock().unwrap().extend(ends());
                let [[near, far], [near_too, far_too]] = [ends(), ends()];
                std::thread::spawn(move || carry(near, far));
                std::thread::spawn(move || carry(far_too, near_too));
            }
        });
        Link { address, is_cut, open }
    }

    fn set_cut(&self, is_cut: bool) {
        self.is_cut.store(is_cut, Ordering::SeqCst);
        for stream in self.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream) {
    let mut bytes = [0; 1 << 16];
    while let Ok(n @ 1..) = from.read(&mut bytes) {
        if to.write_all(&bytes[..n]).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

/// An address that nobody uses now, outside of the ports that the system gives to connections.
fn free_address() -> String {
    static TRIED: AtomicU16 = AtomicU16::new(0);
    let first = 20_000 + (std::process::id() % 10_000) as u16;
    let next = || format!("127.0.0.1:{}", first + TRIED.fetch_add(1, Ordering::SeqCst));
    std::iter::repeat_with(next).find(|address| TcpListener::bind(address).is_ok()).unwrap()
}

/// One of the two places where an exchange can run.
struct Member {
    directory: PathBuf,
    /// For clients, once it is the exchange.
    address: String,
    /// As a standby.
    standby: String,
    /// From the other member's exchange to this standby.
    link: Link,
}

impl Member {
    fn new(directory: PathBuf) -> Member {
        let (address, standby) = (free_address(), free_address());
        let link = Link::to(standby.clone());
        Member { directory, address, standby, link }
    }
}

struct Running {
    child: Child,
    lines: BufReader<ChildStdout>,
    said: PathBuf,
}

impl Running {
    /// Starts the exchange of `own`, with `other` as its standby; `standby`: first as a standby.
    fn start(own: &Member, other: &Member, standby: bool) -> Running {
        let said = own.directory.with_extension("said");
        let mut command = tickpath();
        command.args(["exchange", "--any-token", "--backend", "block", "--book", "empty"]);
        command.args(["--listen", &own.address, "--journal"]).arg(&own.directory);
        command.args(["--replicate", "sync", "--follower", &other.link.address]);
        if standby {
            command.args(["--standby", &own.standby, "--standby-seconds", "0.4"]);
        }
        let stderr = std::fs::File::create(&said).unwrap();
        let mut child = command.stdout(Stdio::piped()).stderr(stderr).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut running = Running { child, lines, said };
        let first = running.line();
        assert!(first["standby"].is_string() == standby, "{first}");
        running
    }

    fn line(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        let said = || std::fs::read_to_string(&self.said).unwrap_or_default();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:?}: {}", said()))
    }

    fn wait_until_it_says(&self, words: &str) {
        wait_for(words, || {
            std::fs::read_to_string(&self.said).unwrap().contains(words).then_some(())
        });
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Orders of one account, one after the other, at whichever address answers.
struct Load {
    stop: Arc<AtomicBool>,
    acknowledged: Arc<AtomicU64>,
    /// The order id that was acknowledged, by the order's number.
    thread: JoinHandle<HashMap<u64, u64>>,
}

impl Load {
    fn start(addresses: [String; 2]) -> Load {
        let (stop, acknowledged) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (its_stop, count) = (Arc::clone(&stop), Arc::clone(&acknowledged));
        let thread = std::thread::spawn(move || {
            let (mut ids, mut number) = (HashMap::new(), 0);
            for address in addresses.iter().cycle() {
                let orders = trade(address, &mut number, &its_stop, &mut |number, order_id| {
                    assert_eq!(ids.insert(number, order_id), None, "acknowledged twice");
                    count.fetch_add(1, Ordering::SeqCst);
                });
                if its_stop.load(Ordering::SeqCst) {
                    break;
                }
                if orders.is_err() {
                    std::thread::sleep(PAUSE);
                }
            }
            ids
        });
        Load { stop, acknowledged, thread }
    }

    /// Waits for further acknowledgements.
    fn wait_for_more(&self, orders: u64) {
        let until = self.acknowledged.load(Ordering::SeqCst) + orders;
        wait_for("acknowledgements", || {
            (self.acknowledged.load(Ordering::SeqCst) >= until).then_some(())
        });
    }

    fn end(self) -> HashMap<u64, u64> {
        self.stop.store(true, Ordering::SeqCst);
        self.thread.join().unwrap()
    }
}

/// Sends orders over one connection until it fails. An order without an answer is not sent again.
fn trade(
    address: &str,
    number: &mut u64,
    stop: &AtomicBool,
    acknowledged: &mut dyn FnMut(u64, u64),
) -> io::Result<()> {
    let mut client = Client::try_connect(address, PATIENCE)?;
    // Padded, because `ask` sends long texts.
    let login = json!({"type": "AUTHENTICATE", "api_token": "a"}).to_string();
    client.ask(format!("{login:200}").as_bytes())?;
    while !stop.load(Ordering::SeqCst) {
        *number += 1;
        let order = json!({"type": "CREATE_ORDER", "order": {"instrument_code": "BTC_USDT",
            "client_id": format!("c{number}"), "side": "BUY", "type": "LIMIT",
            "price": (100 + *number % PRICES).to_string(),
            "amount": (1 + *number / PRICES).to_string(),
            "time_in_force": "GOOD_TILL_CANCELLED"}});
        let told = client.ask(order.to_string().as_bytes())?;
        match told["type"].as_str() {
            Some("BOOKED") => {
                let order_id = OrderId::parse(told["order_id"].as_str().unwrap()).unwrap();
                acknowledged(*number, order_id.to_u64().unwrap());
            }
            // Without a standby nothing is executed: the other member may be the exchange by now.
            Some("REJECTED") => return Err(io::ErrorKind::Unsupported.into()),
            _ => panic!("{told}"),
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

/// Order ids and numbers of a journal's client orders. Each number is there once.
fn orders(log: &Path) -> HashMap<u64, u64> {
    let mut found = HashMap::new();
    for input in journal::Inputs::open(log).unwrap() {
        let Input::New(order) = input.unwrap().1.command else { continue };
        let price = order.price_ticks as u64 / TICKS - 100;
        let number = (order.quantity_lots / LOTS - 1) * PRICES + price;
        assert_eq!(found.insert(number, order.order_id), None, "order {number} is there twice");
    }
    found
}

/// Ends the exchange of `own` as `cause` says; `standby` has taken over when this returns. Returns
/// how long that took.
fn lose(
    old: &mut Running,
    own: &Member,
    other: &Member,
    standby: &mut Running,
    cause: Cause,
) -> Duration {
    let begin = Instant::now();
    match cause {
        Cause::Kill => signal(old.child.id(), Signal::KILL),
        Cause::Stop => signal(old.child.id(), Signal::STOP),
        Cause::Cut => other.link.set_cut(true),
    }
    let ready = standby.line();
    let took = begin.elapsed();
    assert_eq!(ready["listening"], other.address, "{ready}");
    match cause {
        Cause::Kill => {}
        Cause::Stop => signal(old.child.id(), Signal::CONT),
        Cause::Cut => other.link.set_cut(false),
    }
    // It finds out that another exchange leads, and ends by itself.
    let status = wait_for("the end of the old exchange", || old.child.try_wait().unwrap());
    if !matches!(cause, Cause::Kill) {
        let said = std::fs::read_to_string(&old.said).unwrap();
        assert!(!status.success() && said.contains("term"), "{status}: {said}");
    }
    std::fs::remove_dir_all(&own.directory).unwrap();
    took
}

#[test]
fn no_acknowledged_order_is_lost_or_doubled() {
    let rounds = std::env::var(ROUNDS).map_or(ROUNDS_DEFAULT, |rounds| rounds.parse().unwrap());
    let place = tempfile::tempdir().unwrap();
    let members = ["a", "b"].map(|name| Member::new(place.path().join(name)));
    let causes = [Cause::Kill, Cause::Stop, Cause::Cut];
    let [a, b] = &members;
    let mut standby = Running::start(b, a, true);
    let mut leader = Running::start(a, b, false);
    let load = Load::start([a.address.clone(), b.address.clone()]);
    let (mut own, mut other) = (a, b);
    for round in 0..rounds {
        standby.wait_until_it_says("the copy is complete");
        load.wait_for_more(ORDERS);
        let cause = causes[round % causes.len()];
        let took = lose(&mut leader, own, other, &mut standby, cause);
        eprintln!("round {round}: {cause:?}, {took:?} until the standby listened");
        leader = std::mem::replace(&mut standby, Running::start(own, other, true));
        (own, other) = (other, own);
    }
    load.wait_for_more(ORDERS);
    let acknowledged = load.end();
    // At once, so that the standby does not take over.
    signal(leader.child.id(), Signal::KILL);
    signal(standby.child.id(), Signal::TERM);
    assert!(standby.line()["records"].as_u64().unwrap() > 0);
    assert!(standby.child.wait().unwrap().success());
    drop(leader);

    let found = orders(&own.directory);
    for (number, order_id) in &acknowledged {
        assert_eq!(found.get(number), Some(order_id), "order {number} of {}", acknowledged.len());
    }
    assert_eq!(orders(&other.directory), found);
    assert_eq!(state_hash(&own.directory), state_hash(&other.directory));
}

fn state_hash(log: &Path) -> Value {
    let replayed = output(&["replay", "--json", &log.display().to_string()]);
    assert_eq!(replayed.status.code(), Some(0), "{}", text(&replayed.stderr));
    let replayed: Value = serde_json::from_slice(&replayed.stdout).unwrap();
    assert!(replayed["state_hash"].is_string(), "{replayed}");
    replayed["state_hash"].clone()
}

/// The schedule goes on while nobody answers, so the silence is in the response times; each message
/// is answered once.
#[test]
fn a_run_shows_the_silence_between_two_exchanges() {
    run_and_lose("failover", "3", &["kill", "stop"]);
}

/// The same where the exchange lives and the network to it is lost: it acknowledges nothing more.
#[test]
fn a_run_shows_the_silence_after_a_lost_network() {
    if let Err(error) = host::network::Networks::create() {
        return testing::skipped(testing::Need::Root, error);
    }
    // The last subject alone: the others are those of the test above.
    let shipped = include_str!("../../../../scenarios/failover-cut.toml");
    let (keys, subjects) = shipped.split_once("[[subject]]").unwrap();
    let (_, cut) = subjects.rsplit_once("[[subject]]").unwrap();
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("cut.toml");
    std::fs::write(&file, format!("{keys}[[subject]]{cut}")).unwrap();
    run_and_lose(&file.display().to_string(), "4", &["cut"]);
}

fn run_and_lose(scenario: &str, seconds: &str, causes: &[&str]) {
    const STANDBY_MS: u64 = 600;
    let out = tempfile::tempdir().unwrap();
    let standby = format!("follower.standby_ms={STANDBY_MS}");
    let seconds = format!("seconds={seconds}");
    let sets = ["runs=1", "warm_up_seconds=0.1", &seconds, "hiccup_seconds=0", &standby];
    let mut command = tickpath();
    command.args(["run", scenario, "--json", "--out"]).arg(out.path());
    command.args(sets.iter().flat_map(|set| ["--set", set]));
    let done = command.output().unwrap();
    let record = printed_record(&done);
    assert!(!is_void(&record), "{}", text(&done.stderr));
    for (index, name) in causes.iter().enumerate() {
        let load = &record["subjects"][index]["load"];
        let [outage] = &load["outages"].as_array().unwrap()[..] else { panic!("{load}") };
        let silence_ms = outage["silence_ns"].as_u64().unwrap() / 1_000_000;
        // The last answer may have come a moment before the last heartbeat.
        assert!(silence_ms >= STANDBY_MS - 100, "{name}: {outage}");
        let parts = ["accepted_late", "rejected", "sent_again"].map(|key| outage[key].as_u64());
        let settled: u64 = parts.into_iter().flatten().sum();
        assert_eq!(outage["unanswered"].as_u64(), Some(settled), "{name}: {outage}");
        assert_eq!((load["lost"].as_u64(), load["duplicated"].as_u64()), (Some(0), Some(0)));
        let longest = &series(&record, name, "order", "response")["pooled"]["max"];
        assert!(longest.as_u64().unwrap() / 1_000_000 >= STANDBY_MS - 100, "{name}: {longest}");
    }
    let page = output(&["report", &only_run(out.path()).display().to_string()]);
    assert!(text(&page.stdout).contains("Lost exchanges"), "{}", text(&page.stdout));
}

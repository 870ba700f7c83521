//! An exchange and its standby as whole processes, in rounds: under load the exchange is killed,
//! stopped, or cut off from its standby with and without a sign of it, and the standby takes over,
//! once with a wrong clock. Then the network is mended, and a new standby begins on an empty
//! directory. Where the disk of one of them halts instead, the exchange goes on afterwards. No
//! acknowledged order is lost or doubled: all answers are those that one plain book could have
//! given.

mod checker;
mod clients;
mod cluster;
mod members;
mod preload;
mod upgrade;

use crate::support::websocket::Client;
use crate::support::*;
use clients::{Acknowledged, Load, PRICES};
use engine::Command as Input;
use members::{Member, Running};
use preload::Preload;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};
use testing::halting_disk::{self, HaltingDisk};
use testing::test_name;

/// Rounds of `make test`, one per cause; `scripts/weekly` makes more.
const ROUNDS: &str = "TICKPATH_FAILOVER_ROUNDS";
/// Rounds of one account, whose answers are checked together.
const ROUNDS_PER_ACCOUNT: usize = 4;
/// Acknowledged orders of a round before the exchange is lost, and after the next one took over.
const ORDERS: usize = 50;
/// Ticks and lots of a unit, as crates/exchange/src/setup/instruments.toml has it.
const TICKS: u64 = 100;
const LOTS: u64 = 100_000;

/// A disk has room for the journals of two rounds.
const DISK_BYTES: u64 = 4 << 30;
/// How long a disk halts: longer than clients wait, and as long as makes a follower lost.
const HALT: Duration = Duration::from_millis(600);
const HALT_OF_STANDBY: Duration = Duration::from_millis(1500);
/// How far a clock is set, seconds.
const STEP_SECONDS: i64 = 3600;

/// How an exchange is lost, or held up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Kill,
    Stop,
    /// Its connection to the standby is closed, and it can't make another.
    Cut,
    /// Nothing arrives, and its connection to the standby stays open.
    Silence,
    /// Its own disk halts, then that of its standby. It stays the exchange.
    SlowDisk,
    /// Its clock is set ahead, that of its standby back. Then it is killed.
    ClockStep,
}

const CAUSES: [Cause; 6] =
    [Cause::Kill, Cause::Stop, Cause::Cut, Cause::Silence, Cause::SlowDisk, Cause::ClockStep];

/// Order ids and numbers of a journal's client orders. Each number is there once.
fn orders(log: &Path) -> Acknowledged {
    let mut found = Acknowledged::new();
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
        Cause::ClockStep => {
            for (member, seconds) in [(own, STEP_SECONDS), (other, -STEP_SECONDS)] {
                member.set_clock_off(seconds);
            }
            signal(old.child.id(), Signal::KILL);
        }
        Cause::Stop => signal(old.child.id(), Signal::STOP),
        Cause::Cut => other.link.set_cut(true),
        Cause::Silence => other.link.set_silent(true),
        Cause::SlowDisk => unreachable!("it loses no exchange"),
    }
    let ready = standby.line();
    let took = begin.elapsed();
    assert_eq!(ready["listening"], other.address, "{ready}");
    match cause {
        Cause::Kill | Cause::SlowDisk => {}
        Cause::ClockStep => {
            assert!(standby.has_said("s later than this machine's clock"), "its clock was set");
            [own, other].iter().for_each(|member| member.set_clock_off(0));
        }
        Cause::Stop => signal(old.child.id(), Signal::CONT),
        Cause::Cut => other.link.set_cut(false),
        Cause::Silence => other.link.set_silent(false),
    }
    // It finds out that another exchange leads, and ends by itself.
    let status = wait_for("the end of the old exchange", || old.child.try_wait().unwrap());
    if !matches!(cause, Cause::Kill | Cause::ClockStep) {
        let said = std::fs::read_to_string(&old.said).unwrap();
        assert!(!status.success() && said.contains("term"), "{status}: {said}");
    }
    std::fs::remove_dir_all(&own.directory).unwrap();
    took
}

/// Halts the disks of the exchange and of its standby, one after the other. Both go on as before.
fn hold_up([leader, standby]: [&Running; 2], disks: [&HaltingDisk; 2], load: &Load) {
    let [own, other] = disks;
    for (disk, time) in [(own, HALT), (other, HALT_OF_STANDBY)] {
        let halted = disk.halt(time);
        let before = load.acknowledged();
        std::thread::sleep(time / 2);
        let meanwhile = load.acknowledged() - before;
        drop(halted);
        // Each client may have been about to get an answer.
        assert!(meanwhile <= clients::COUNT, "{meanwhile} orders that the disk does not have");
        wait_for_more(load);
    }
    for words in ["has not acknowledged within", "acknowledges again"] {
        leader.wait_until_it_says(words);
    }
    assert!(!standby.has_said("takes over from"), "the exchange was there all the time");
}

/// Waits for further acknowledgements.
fn wait_for_more(load: &Load) {
    let until = load.acknowledged() + ORDERS;
    wait_for("acknowledgements", || (load.acknowledged() >= until).then_some(()));
}

/// Ends a load and checks its answers. Returns the next placing's number.
fn check(load: Load, acknowledged: &mut Acknowledged) -> u64 {
    let (orders, recording, next) = load.end();
    if let Err(recorded) = recording.check() {
        panic!("no plain book gives these answers:\n{recorded}");
    }
    acknowledged.extend(orders);
    next
}

#[test]
fn no_acknowledged_order_is_lost_or_doubled() {
    let name = test_name!(no_acknowledged_order_is_lost_or_doubled);
    halting_disk::on(DISK_BYTES, &name, lose_exchanges);
}

/// The rounds; without disks that halt, none has a slow one.
fn lose_exchanges(disks: Option<[HaltingDisk; 2]>) {
    let causes: Vec<Cause> =
        CAUSES.into_iter().filter(|cause| disks.is_some() || *cause != Cause::SlowDisk).collect();
    let rounds = std::env::var(ROUNDS).map_or(causes.len(), |rounds| rounds.parse().unwrap());
    let place = tempfile::tempdir().unwrap();
    let library = preload::library(place.path());
    let members = [0, 1].map(|index| {
        let beside = |name: &str| place.path().join(format!("{index}.{name}"));
        let disk = disks.as_ref().map_or(place.path(), |disks| disks[index].path());
        let preload = Preload::new(&library, beside("preload"));
        Member::new(disk.join(format!("journal{index}")), Some(preload), beside("said"))
    });
    let [a, b] = &members;
    let mut standby = Running::start(b, a, true);
    let mut leader = Running::start(a, b, false);
    let start = |account: usize, next| {
        Load::start(format!("account{account}"), [a.address.clone(), b.address.clone()], next)
    };
    let (mut load, mut acknowledged) = (start(0, 0), Acknowledged::new());
    let mut own = 0;
    for round in 0..rounds {
        if round > 0 && round % ROUNDS_PER_ACCOUNT == 0 {
            let next = check(load, &mut acknowledged);
            load = start(round, next);
        }
        standby.wait_until_it_says("the copy is complete");
        wait_for_more(&load);
        let cause = causes[round % causes.len()];
        if let (Cause::SlowDisk, Some(disks)) = (cause, &disks) {
            let [own, other] = [&disks[own], &disks[1 - own]];
            hold_up([&leader, &standby], [own, other], &load);
            continue;
        }
        let (place, other) = (&members[own], &members[1 - own]);
        let took = lose(&mut leader, place, other, &mut standby, cause);
        eprintln!("round {round}: {cause:?}, {took:?} until the standby listened");
        leader = std::mem::replace(&mut standby, Running::start(place, other, true));
        own = 1 - own;
    }
    wait_for_more(&load);
    check(load, &mut acknowledged);
    end_and_compare((leader, standby), [&members[own], &members[1 - own]], &acknowledged);
}

/// Ends both. Their journals are equal, and have each acknowledged order once.
fn end_and_compare(
    (leader, mut standby): (Running, Running),
    [own, other]: [&Member; 2],
    acknowledged: &Acknowledged,
) {
    // At once, so that the standby does not take over.
    signal(leader.child.id(), Signal::KILL);
    signal(standby.child.id(), Signal::TERM);
    assert!(standby.line()["records"].as_u64().unwrap() > 0);
    assert!(standby.child.wait().unwrap().success());
    drop(leader);
    let found = orders(&own.directory);
    for (number, order_id) in acknowledged {
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

/// The silence after which a standby takes over.
const STANDBY_MS: u64 = 600;

/// The schedule goes on while nobody answers, so the silence is in the response times; each message
/// is answered once.
#[test]
fn a_run_shows_the_silence_between_two_exchanges() {
    let shipped = include_str!("../../../../scenarios/failover.toml");
    run_and_lose(shipped, &["kill", "stop"], "3", [STANDBY_MS, STANDBY_MS - 100]);
}

/// The same over FIX and SBE, whose client asks the next exchange in its own dialect.
#[test]
fn clients_of_every_dialect_go_on_at_the_next_exchange() {
    let shipped = include_str!("../../../../scenarios/failover.toml")
        .replace("connections = 2", "connections = 4")
        .replace("name = \"kill\"", "name = \"kill\"\ndialect = \"fix\"")
        .replace("name = \"stop\"", "name = \"stop\"\ndialect = \"sbe\"");
    run_and_lose(&shipped, &["kill", "stop"], "3", [STANDBY_MS, STANDBY_MS - 100]);
}

/// It tells its standby, which does not wait for a silence: that would last longer than the run.
#[test]
fn an_exchange_that_ends_hands_over_at_once() {
    let shipped = include_str!("../../../../scenarios/failover.toml");
    run_and_lose(shipped, &["end"], "3", [10_000, 0]);
}

/// The same where the exchange lives and the network to it is lost: it acknowledges nothing more.
#[test]
fn a_run_shows_the_silence_after_a_lost_network() {
    if let Err(error) = host::network::Networks::create() {
        return testing::skipped(testing::Need::Root, error);
    }
    let shipped = include_str!("../../../../scenarios/failover-cut.toml");
    run_and_lose(shipped, &["cut"], "4", [STANDBY_MS, STANDBY_MS - 100]);
}

/// Loses the exchange of each of these subjects once. `silence_ms_min`: between the two exchanges.
fn run_and_lose(
    shipped: &str,
    causes: &[&str],
    seconds: &str,
    [standby_ms, silence_ms_min]: [u64; 2],
) {
    let place = tempfile::tempdir().unwrap();
    let (file, out) = (place.path().join("lost.toml"), place.path().join("out"));
    std::fs::write(&file, with_subjects(shipped, causes)).unwrap();
    let standby = format!("follower.standby_ms={standby_ms}");
    let seconds = format!("seconds={seconds}");
    let sets = ["runs=1", "warm_up_seconds=0.1", &seconds, "hiccup_seconds=0", &standby];
    let mut command = tickpath();
    command.arg("run").arg(&file).args(["--json", "--out"]).arg(&out);
    command.args(sets.iter().flat_map(|set| ["--set", set]));
    let done = command.output().unwrap();
    let record = printed_record(&done);
    assert!(!is_void(&record), "{}", text(&done.stderr));
    for (index, name) in causes.iter().enumerate() {
        let load = &record["subjects"][index]["load"];
        let [outage] = &load["outages"].as_array().unwrap()[..] else { panic!("{load}") };
        let silence_ms = outage["silence_ns"].as_u64().unwrap() / 1_000_000;
        // The last answer may have come a moment before the last heartbeat.
        assert!(silence_ms >= silence_ms_min, "{name}: {outage}");
        let parts = ["accepted_late", "rejected", "sent_again"].map(|key| outage[key].as_u64());
        let settled: u64 = parts.into_iter().flatten().sum();
        assert_eq!(outage["unanswered"].as_u64(), Some(settled), "{name}: {outage}");
        assert_eq!((load["lost"].as_u64(), load["duplicated"].as_u64()), (Some(0), Some(0)));
        // The next exchange rejects what it does not know, and a rejection has no response time. So
        // the silence may be in none; those that were due while the client looked for it waited.
        let longest = series(&record, name, "order", "response")["pooled"]["max"].as_u64();
        let connecting = outage["connecting_ns"].as_u64().unwrap();
        assert!(longest >= Some(connecting / 10 * 9), "{name}: {longest:?}, {outage}");
    }
    let page = output(&["report", &only_run(&out).display().to_string()]);
    assert!(text(&page.stdout).contains("Lost exchanges"), "{}", text(&page.stdout));
}

/// The exchanges don't know each other: the next one does not have the order in flight, so the
/// client places its next one there.
#[test]
fn a_ping_pong_client_goes_on_at_the_next_address() {
    let [first, next] = [(); 2].map(|()| Exchange::start(&["--any-token", "--book", "empty"]));
    let mut watcher = Client::connect(&first.address);
    let login = json!({"type": "AUTHENTICATE", "api_token": "watcher"});
    watcher.send(1, login.to_string().as_bytes());
    assert!(watcher.next_text().contains("AUTHENTICATED"));
    let top = json!({"name": "TOP", "instrument_code": "BTC_USDT"});
    let subscribe = json!({"type": "SUBSCRIBE", "channels": [top]});
    watcher.send(1, subscribe.to_string().as_bytes());
    let place = tempfile::tempdir().unwrap();
    let mut client = tickpath();
    client.args(["trade", "ping-pong", "--quiet", "--hlog"]).arg(place.path().join("hlog"));
    client.args(["--connect", &format!("{},{}", first.address, next.address)]);
    let sets = ["warm_up_seconds=0.1", "seconds=2", "subject.rust.backend=block"];
    client.args(sets.iter().flat_map(|set| ["--set", set]));
    let client = client.stdout(Stdio::piped()).spawn().unwrap();
    wait_for("an order", || watcher.next_text().contains("\"bid\":[\"").then_some(()));
    signal(first.child.id(), Signal::KILL);
    let done = client.wait_with_output().unwrap();
    assert!(done.status.success(), "{}", text(&done.stdout));
    let result: Value = serde_json::from_slice(&done.stdout).unwrap();
    let load = &result["load"];
    let [outage] = &load["outages"].as_array().unwrap()[..] else { panic!("{load}") };
    let of = |key: &str| outage[key].as_u64().unwrap();
    assert_eq!(of("unanswered"), of("accepted_late") + of("rejected") + of("sent_again"));
    assert_eq!((&load["lost"], &load["duplicated"]), (&0.into(), &0.into()), "{load}");
    assert!(next.end()["orders"].as_u64() > Some(0), "it traded at the next one");
}

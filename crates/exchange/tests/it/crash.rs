//! An exchange that is killed, and one whose disk is full.

use crate::dialogue::Dialogue;
use crate::running::{Client, Running};
use clock::Deadline;
use clock::random::SplitMix64;
use engine::Command;
use exchange::{Config, Journal};
use journal::{Inputs, Mode, Options};
use std::collections::HashSet;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;
use testing::{small_disk, test_name};
use wire::reply::{Reply, decode_reply};

const PLACE: &str = "TICKPATH_TEST_JOURNAL";
const ROUNDS: u32 = 8;
/// Time-out of every wait.
const PATIENCE: Duration = Duration::from_secs(20);

fn journaled(config: Config, directory: &Path, options: Options) -> Config {
    let journal = Some(Journal { directory: directory.to_owned(), options });
    // The journal alone decides here.
    Config { journal, replay_inputs_max: 0, ..config }
}

/// Runs a test of this file again in its own process, which finds the directory in its environment.
fn start_again(test: &str, place: &Path) -> Child {
    testing::child::again(test)
        .env(PLACE, place)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The exchange of the process that is killed: prints its address, and ends no later than its
/// parent.
fn be_killed(place: &Path) {
    let options = Options { segment_bytes: 1 << 20, reserve_inputs: 100, ..Options::default() };
    let mut config = crate::running::config();
    config.limits.open_orders_max = 100_000;
    let running = Running::start(journaled(config, place, options));
    println!("listening {}", running.address);
    std::io::stdout().flush().unwrap();
    let _ = std::io::stdin().read_line(&mut String::new());
}

/// Sends orders until the connection breaks; collects the acknowledged ids and reports the first.
fn acknowledged(address: &str, first: u32, acked: &mut Vec<u64>, begun: &Sender<()>) -> u32 {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let (socket, _) = tungstenite::client(format!("ws://{address}/"), stream).unwrap();
    let mut client = Client { socket };
    client.authenticate("a");
    let mut sent = first;
    loop {
        for _ in 0..8 {
            sent += 1;
            let text = crate::running::order(&format!("o{sent}"), "BUY", "1", "1");
            if client.socket.send(tungstenite::Message::text(text)).is_err() {
                return sent;
            }
        }
        for _ in 0..8 {
            let Ok(message) = client.socket.read() else { return sent };
            let text = message.into_text().unwrap();
            let Ok(Reply::Booked(booked)) = decode_reply(text.as_bytes()) else { return sent };
            acked.push(booked.order_id.to_u64().unwrap());
            let _ = begun.send(());
        }
    }
}

#[test]
fn a_killed_exchange_has_lost_nothing_that_it_acknowledged() {
    if let Some(place) = std::env::var_os(PLACE) {
        return be_killed(Path::new(&place));
    }
    if !testing::child::is_possible() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let mut random = SplitMix64::new(7);
    let (mut acked, mut sent) = (Vec::new(), 0);
    for round in 0..ROUNDS {
        let test = test_name!(a_killed_exchange_has_lost_nothing_that_it_acknowledged);
        let mut child = start_again(&test, place.path());
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines
            .find_map(|line| Some(line.unwrap().split_once("listening ")?.1.to_owned()))
            .expect("an address");
        let before = acked.len();
        let life = Duration::from_millis(50 + u64::from(random.below(200)));
        let (begun, begins) = channel();
        std::thread::scope(|scope| {
            let child = &mut child;
            scope.spawn(move || {
                let has_begun = begins.recv_timeout(PATIENCE);
                std::thread::sleep(life);
                child.kill().unwrap();
                has_begun.expect("nothing was acknowledged");
            });
            sent = acknowledged(&address, sent, &mut acked, &begun);
        });
        child.wait().unwrap();
        assert!(acked.len() > before, "round {round}");
        let there: HashSet<u64> = Inputs::open(place.path())
            .unwrap()
            .map_while(Result::ok)
            .filter_map(|(_, input)| match input.command {
                Command::New(order) => Some(order.order_id),
                _ => None,
            })
            .collect();
        let lost: Vec<&u64> = acked.iter().filter(|id| !there.contains(id)).collect();
        assert!(lost.is_empty(), "round {round}: {lost:?} of {}", acked.len());
    }
    let distinct: HashSet<&u64> = acked.iter().collect();
    assert_eq!(distinct.len(), acked.len(), "an order id came twice");
}

/// Room for three and a half segments. One is a filler, so that while it exists the disk has
/// no room for the third segment.
const SEGMENT_BYTES: u64 = 64 << 10;
const DISK_BYTES: u64 = 3 * SEGMENT_BYTES + SEGMENT_BYTES / 2;

/// On a full disk the exchange rejects orders with a reason, but no cancels; with room it goes on.
#[test]
fn on_a_full_disk_cancels_still_work() {
    let name = test_name!(on_a_full_disk_cancels_still_work);
    small_disk::on(DISK_BYTES, &name, cancel_without_room);
}

fn cancel_without_room(place: &Path) {
    let filler = place.join("filler");
    let journal = place.join("journal");
    let mut d = beside_filler(&filler, &journal);
    let mut orders = 0;
    d.say(
        0,
        "{'type':'CREATE_ORDER','order':{'instrument_code':'BTC_USDT','client_id':'dated','side':'BUY','type':'LIMIT',\
         'price':'1','amount':'1','time_in_force':'GOOD_TILL_DATE','expire_time':9999999999999}}",
    );
    assert!(d.told_unchecked().contains("BOOKED"));
    let told = order_until(&mut d, &mut orders, "no room on its disk");
    assert!(told.starts_with(&format!("0 a REJECTED client_id=o{orders} reason=")), "{told}");
    // A mass cancel without orders uses none of the reserve for cancels, and neither does the
    // passing of time.
    let left_alone = [
        "{'type':'MASS_CANCEL','client_id':'m','side':'SELL'}",
        "{'type':'MASS_CANCEL','client_id':'m','instrument_code':'BTC_EUR'}",
        "{'type':'MASS_CANCEL','client_id':'m'}",
    ];
    for n in 0..100 {
        d.say(u32::from(n % 3 == 2), left_alone[n % 3]);
        d.driven.sweep();
    }
    let told = d.told_unchecked();
    assert_eq!(told.matches("no room on its disk").count(), 100, "{told}");
    d.cancel(0, "o0");
    d.say(0, "{'type':'MASS_CANCEL'}");
    let told = d.told_unchecked();
    assert!(told.contains("DONE client_id=o0 status=CANCELLED"), "{told}");
    assert!(told.ends_with(&format!("MASS_CANCELLED count={orders}")), "{told}");
    assert_eq!(d.driven.exchange.counts().rejected["journal_no_room"], 101);
    std::fs::remove_file(&filler).unwrap();
    order_until(&mut d, &mut orders, "BOOKED");
    d.driven.exchange.close_journal().unwrap();
    let replayed = journal::replay(&journal).unwrap();
    assert_eq!(replayed.state_hash, d.driven.exchange.state_hash());
}

/// An exchange with a journal that has no room as long as the filler is there.
fn beside_filler(filler: &Path, journal: &Path) -> Dialogue {
    let (mode, segment_bytes, reserve_inputs) = (Mode::Async, SEGMENT_BYTES, 50);
    let options = Options { mode, segment_bytes, reserve_inputs, ..Options::default() };
    std::fs::write(filler, vec![1; SEGMENT_BYTES as usize]).unwrap();
    Dialogue::new(journaled(crate::driven::config(), journal, options))
}

/// The journal does not take the cancel when the connection closes: it stays owed, and does not
/// cancel orders that the account sends later.
#[test]
fn a_cancel_on_disconnect_that_is_owed_comes_before_the_account() {
    let name = test_name!(a_cancel_on_disconnect_that_is_owed_comes_before_the_account);
    small_disk::on(DISK_BYTES, &name, disconnect_without_room);
}

fn disconnect_without_room(place: &Path) {
    let filler = place.join("filler");
    let mut d = beside_filler(&filler, &place.join("journal"));
    let login = "{'type':'AUTHENTICATE','api_token':'d','cancel_on_disconnect':true}";
    d.say(3, login);
    d.order(3, "mine", "BUY", "1", "1");
    let mut orders = 0;
    order_until(&mut d, &mut orders, "no room on its disk");
    let rejected = (0..orders).any(|n| {
        d.cancel(0, &format!("o{n}"));
        d.told_unchecked().contains("no room on its disk")
    });
    assert!(rejected, "what is kept for cancels is used up");
    d.driven.disconnect(3);
    d.driven.connect(3);
    (0..10).for_each(|_| d.driven.sweep());
    assert_eq!(d.driven.exchange.counts().rejected["journal_no_room"], 3, "once each");
    d.say(3, login);
    let told = d.told_unchecked();
    assert!(told.contains("try again"), "{told}");
    std::fs::remove_file(&filler).unwrap();
    order_until(&mut d, &mut orders, "BOOKED");
    d.say(3, login);
    d.order(3, "new", "BUY", "1", "1");
    d.driven.sweep();
    d.cancel(3, "mine");
    d.cancel(3, "new");
    let told = d.told_unchecked();
    assert!(told.contains("REJECTED client_id=mine reason=unknown order"), "{told}");
    assert!(told.contains("DONE client_id=new status=CANCELLED"), "{told}");
    assert_eq!(d.driven.exchange.counts().cancels_on_disconnect, 1);
}

/// Sends orders and counts the booked ones until a reply contains a text; returns that reply. A
/// segment that is not ready only delays.
fn order_until(d: &mut Dialogue, orders: &mut u32, part: &str) -> String {
    let deadline = Deadline::after(PATIENCE);
    loop {
        d.order(0, &format!("o{orders}"), "BUY", "1", "1");
        let told = d.told_unchecked();
        let booked = told.contains("BOOKED");
        if told.contains(part) {
            return told;
        }
        *orders += u32::from(booked);
        assert!(!deadline.left().is_zero(), "{told}");
    }
}

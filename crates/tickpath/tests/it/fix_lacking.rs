//! Executions that the exchange's journal has, and that a FIX session had not been given when the
//! exchange was killed: each comes once.
//!
//! The exchange waits for a follower before it reports anything. So the test stops the follower,
//! and knows that what the journal has by then is in no session's store.

use crate::fix::{Client, Exchange};
use crate::support::*;
use fix::session::Proof;
use fix::store::{FileStore, MemoryStore, Store};
use rustix::process::Signal;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use transport::Connection;

const PATIENCE: Duration = Duration::from_secs(20);

/// Ended with the value.
struct Follower(Child, String);

impl Follower {
    fn start(copy: &Path) -> Follower {
        let mut child = tickpath()
            .args(["follower", "--listen", "127.0.0.1:0", "--journal"])
            .arg(copy)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (_, address) = listening(&mut child);
        Follower(child, address)
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn exchange(place: &Path, more: &[&str]) -> Exchange {
    let journal = place.join("journal").display().to_string();
    let arguments = [&["--any-token", "--journal", &journal], more].concat();
    Exchange::start(&place.join("store"), &arguments)
}

/// Logs on, with what the session knows already.
fn log_on(exchange: &Exchange, name: &str, memory: MemoryStore) -> Client {
    let token = name.to_lowercase();
    let proof = Proof::Password { username: Some(token.clone()), password: token };
    let stream = Connection::from(exchange.dial());
    let mut client = Client::connect(stream, name, proof, (memory, false));
    assert_eq!(client.next().err(), None);
    client
}

fn limit(id: &str, side: u8, quantity: u32) -> String {
    format!("35=D|11={id}|55=BTC_USDT|54={side}|60=@|38={quantity}|40=2|44=100")
}

/// The number of inputs in the journal.
fn inputs(place: &Path) -> usize {
    journal::Inputs::open(&place.join("journal")).unwrap().flatten().count()
}

/// ExecType, ClOrdID, LastQty and LeavesQty of all reports in a store.
fn stored(place: &Path, name: &str) -> Vec<String> {
    let mut reports = Vec::new();
    let mut take = |_, bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        let value = |tag: &str| text.split('\x01').find_map(|field| field.strip_prefix(tag));
        let fields = ["150=", "11=", "32=", "151="].map(|tag| value(tag).unwrap_or("-").to_owned());
        reports.push(fields.join(" "));
    };
    FileStore::open(&place.join("store").join(name))
        .unwrap()
        .read(1..=u64::MAX, &mut take)
        .unwrap();
    reports
}

#[test]
fn executions_that_no_session_was_given_come_once_after_kill_9() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    let follower = Follower::start(&place.join("copy"));
    // The exchange goes on although the follower is silent.
    let replicate = ["--replicate", "sync", "--follower", &follower.1, "--follower-seconds", "60"];
    let mut first = exchange(place, &replicate);
    let mut maker = log_on(&first, "MAKER", MemoryStore::default());
    let mut taker = log_on(&first, "TAKER", MemoryStore::default());
    maker.ask(&limit("a", 2, 5)).has("150=0|11=a|151=5");
    maker.ask(&limit("b", 2, 5)).has("150=0|11=b|151=5");
    maker.ask("35=G|41=b|11=c|55=BTC_USDT|54=2|60=@|38=4|40=2|44=100").has("150=5|11=c|151=4");
    signal(follower.0.id(), Signal::STOP);
    let before = inputs(place);
    taker.send(&limit("t", 1, 7));
    maker.send(&limit("d", 2, 3));
    maker.send("35=F|41=d|11=e|55=BTC_USDT|54=2|60=@");
    let deadline = Instant::now() + PATIENCE;
    while inputs(place) < before + 3 {
        assert!(Instant::now() < deadline, "{} inputs, {before} before", inputs(place));
        std::thread::sleep(Duration::from_millis(5));
    }
    first.child.kill().unwrap();
    first.child.wait().unwrap();
    drop((first, follower));
    let (of_maker, of_taker) = ("maker@MAKER.fix", "taker@TAKER.fix");
    let given = ["0 a - 5", "0 b - 5", "5 c - 4"];
    assert_eq!(stored(place, of_maker), given, "the gap");
    assert_eq!(stored(place, of_taker), [""; 0], "the gap");
    let (maker, taker) = (maker.cut(), taker.cut());

    let mut second = exchange(place, &[]);
    // The maker is away, and still it trades.
    let mut other = log_on(&second, "OTHER", MemoryStore::default());
    other.ask(&limit("o", 1, 1)).has("150=0|151=1");
    other.read().has("150=F|32=1|151=0");
    let mut maker = log_on(&second, "MAKER", maker);
    maker.read().has("150=F|11=a|32=5|151=0|39=2|14=5|43=Y");
    maker.read().has("150=F|11=c|32=2|151=2|39=1|14=2|43=Y");
    maker.read().has("150=0|11=d|151=3|38=3|40=2|44=100|43=Y");
    maker.read().has("150=4|11=d|151=0|39=4|43=Y");
    maker.read().has("150=F|11=c|32=1|151=1|39=1|14=3|43=Y");
    let mut taker = log_on(&second, "TAKER", taker);
    taker.read().has("150=0|11=t|38=7|151=7|43=Y");
    taker.read().has("150=F|11=t|32=5|31=100|151=2|43=Y");
    taker.read().has("150=F|11=t|32=2|151=0|39=2|6=100|43=Y");
    // It goes on, and each of them has an id of its own.
    maker.ask("35=H|11=c|55=BTC_USDT|54=2").has("150=I|11=c|151=1|14=3|43=-");
    let (maker, taker) = (maker.cut(), taker.cut());
    second.child.kill().unwrap();
    second.child.wait().unwrap();
    drop(second);
    let (maker_has, taker_has) = (stored(place, of_maker), stored(place, of_taker));

    // Nothing is made twice.
    let third = exchange(place, &[]);
    let mut maker = log_on(&third, "MAKER", maker);
    maker.ask("35=H|11=c|55=BTC_USDT|54=2").has("150=I|11=c|151=1|43=-");
    let mut taker = log_on(&third, "TAKER", taker);
    taker.ask("35=H|11=t|55=BTC_USDT|54=1").has("150=I|11=t|39=2|43=-");
    drop(third);
    assert_eq!(stored(place, of_maker), [maker_has, vec!["I c - 1".to_owned()]].concat());
    assert_eq!(stored(place, of_taker), [taker_has, vec!["I t - 0".to_owned()]].concat());
}

//! One account in three dialects: its limits, message rate and self-trade prevention count all of
//! its messages; and a session that sends nonsense harms no other.

use crate::support::websocket;
use crate::{fix, sbe};
use ::fix::time::{TIMESTAMP_BYTES, put_timestamp};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::time::Duration;
use transport::Connection;
use wire::request::Side;

/// Rounds until both messages of a round are in the same second.
const ROUNDS: usize = 20;

/// An exchange with these risk settings.
fn exchange(folder: &Path, risk: &str) -> fix::Exchange {
    let path = folder.join("risk.toml");
    std::fs::write(&path, risk).unwrap();
    let risk = path.display().to_string();
    fix::Exchange::start(&folder.join("store"), &["--any-token", "--risk", &risk])
}

fn over_json(exchange: &fix::Exchange, account: &str) -> websocket::Client {
    let mut client = websocket::Client::connect(exchange.ready["listening"].as_str().unwrap());
    let login = format!(r#"{{"type":"AUTHENTICATE","api_token":"{account}"}}"#);
    client.send(1, login.as_bytes());
    assert!(client.next_text().contains("AUTHENTICATED"));
    client
}

fn over_fix(exchange: &fix::Exchange, comp_id: &str) -> fix::Client {
    let stream = Connection::from(exchange.dial());
    let mut client =
        fix::Client::connect(stream, comp_id, fix::password("fund"), Default::default());
    assert_eq!(client.next().err(), None);
    client
}

fn over_sbe(exchange: &fix::Exchange) -> sbe::Client {
    let stream = TcpStream::connect(exchange.ready["listening"].as_str().unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    sbe::Client::new(Box::new(stream), "fund", (0, 0)).0
}

fn json_order(client: &mut websocket::Client, id: &str, side: &str, amount: &str) -> String {
    let order = format!(
        r#"{{"type":"CREATE_ORDER","order":{{"instrument_code":"BTC_USDT","client_id":"{id}",
            "side":"{side}","type":"LIMIT","price":"100","amount":"{amount}",
            "time_in_force":"GOOD_TILL_CANCELLED"}}}}"#
    );
    client.send(1, order.as_bytes());
    client.next_text()
}

#[test]
fn limits_and_self_trade_prevention_hold_in_every_dialect() {
    let folder = tempfile::tempdir().unwrap();
    let risk = "[account.fund]\namount_max = \"2\"\nself_trade = \"cancel-newest\"\n";
    let exchange = exchange(folder.path(), risk);
    let mut json = over_json(&exchange, "fund");
    let mut fix = over_fix(&exchange, "FUND");
    let mut sbe = over_sbe(&exchange);

    let rejected = json_order(&mut json, "j1", "BUY", "3");
    assert!(rejected.contains("amount_max"), "{rejected}");
    let rejected = fix.ask(&fix::limit("f1", 1, "3"));
    rejected.has("150=8|11=f1");
    assert!(rejected.get(58).unwrap().contains("amount_max"), "{rejected:?}");

    // The sale in SBE rests; purchases of the same account in the others don't trade with it.
    sbe.order("s1", Side::Sell);
    sbe::is(sbe.report(), (1, "booked", "s1"));
    fix.send(&fix::limit("f2", 1, "1"));
    fix.read().has("150=0|11=f2");
    let prevented = fix.read();
    prevented.has("150=4|11=f2|14=0|58=self-trade prevention");
    let prevented = json_order(&mut json, "j2", "BUY", "1");
    assert!(prevented.contains("SELF_TRADE_PREVENTED"), "{prevented}");

    // Another account's purchase trades with it, and only its own dialect hears of that.
    let mut other = over_json(&exchange, "other");
    let filled = json_order(&mut other, "o1", "BUY", "1");
    assert!(filled.contains("\"FILL\""), "{filled}");
    sbe::is(sbe.report(), (2, "fill", "s1"));
    sbe::is(sbe.report(), (3, "done", "s1"));
    fix.ask(&fix::limit("f3", 1, "1")).has("150=0|11=f3");
    assert_eq!(json.told(), [serde_json::Value::Null; 0]);
}

/// One message a second: the one over FIX is the account's second in the same second. If the rate
/// were counted by dialect, none would ever be rejected.
#[test]
fn a_message_rate_counts_the_messages_of_all_dialects() {
    let folder = tempfile::tempdir().unwrap();
    let exchange = exchange(folder.path(), "[account.fund]\nmessages_per_second_max = 1\n");
    let mut json = over_json(&exchange, "fund");
    let mut fix = over_fix(&exchange, "FUND");
    for round in 0..ROUNDS {
        let first = json_order(&mut json, &format!("j{round}"), "BUY", "1");
        let second = fix.ask(&fix::limit(&format!("f{round}"), 1, "1"));
        if first.contains("\"BOOKED\"") && second.get(150) == Some("8") {
            assert!(second.get(58).unwrap().contains("messages_per_second_max"), "{second:?}");
            return;
        }
        std::thread::sleep(Duration::from_millis(1_100));
    }
    panic!("in {ROUNDS} rounds no order over FIX was rejected for the rate of its account");
}

/// A message with BodyLength and CheckSum, its fields separated by `|`.
fn framed(body: &str) -> Vec<u8> {
    let body = body.replace('|', "\x01");
    let text = format!("8=FIX.4.4\x019={}\x01{body}", body.len());
    let sum = text.bytes().map(u32::from).sum::<u32>() % 256;
    format!("{text}10={sum:03}\x01").into_bytes()
}

/// A session that will send nonsense.
struct Bad {
    comp_id: String,
    now: String,
}

impl Bad {
    fn new(number: usize) -> Bad {
        let mut now = [0; TIMESTAMP_BYTES];
        put_timestamp(&mut now, clock::wall_ns());
        Bad { comp_id: format!("BAD{number}"), now: String::from_utf8(now.to_vec()).unwrap() }
    }

    fn message(&self, kind: &str, number: u64, fields: &str) -> Vec<u8> {
        let Bad { comp_id, now } = self;
        framed(&format!("35={kind}|49={comp_id}|56=TICKPATH|34={number}|52={now}|{fields}"))
    }

    fn wrong_sum(&self) -> Vec<u8> {
        let mut bytes = self.message("0", 2, "");
        let last_digit = bytes.len() - 2;
        bytes[last_digit] = if bytes[last_digit] == b'0' { b'1' } else { b'0' };
        bytes
    }
}

type Nonsense = fn(&Bad) -> Vec<u8>;

const NONSENSE: [(&str, Nonsense); 12] = [
    ("no FIX at all", |_| b"GET / HTTP/1.1\r\n\r\n".to_vec()),
    ("a wrong CheckSum", Bad::wrong_sum),
    ("a BodyLength beyond all limits", |_| b"8=FIX.4.4\x019=4000000000\x0135=0\x01".to_vec()),
    ("zeros", |_| vec![0; 100_000]),
    ("a number too low", |bad| bad.message("0", 1, "")),
    ("a number too high", |bad| bad.message("0", 900, "")),
    ("another session's CompID", |bad| {
        framed(&format!("35=0|49=FUND|56=TICKPATH|34=2|52={}|", bad.now))
    }),
    ("an old SendingTime", |bad| {
        framed(&format!("35=0|49={}|56=TICKPATH|34=2|52=20010101-00:00:00.000|", bad.comp_id))
    }),
    ("an unknown type", |bad| bad.message("ZZ", 2, "")),
    ("an unknown field", |bad| bad.message("D", 2, "9999=x|")),
    ("an order without fields", |bad| bad.message("D", 2, "")),
    ("a group that is short", |bad| bad.message("V", 2, "262=a|263=1|264=0|267=2|269=0|")),
];

/// Each is sent behind a Logon by a session of its own. Whatever becomes of that one, a session of
/// the same account and one over JSON trade on, and hear nothing of it.
#[test]
fn nonsense_of_one_session_is_not_felt_by_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let exchange = exchange(folder.path(), "");
    let mut json = over_json(&exchange, "fund");
    let mut fix = over_fix(&exchange, "FUND");
    for (number, (name, nonsense)) in NONSENSE.into_iter().enumerate() {
        let bad = Bad::new(number);
        let mut stream = exchange.dial();
        stream.write_all(&bad.message("A", 1, "98=0|108=30|141=Y|553=fund|554=fund|")).unwrap();
        assert!(stream.read(&mut [0; 4096]).unwrap() > 0, "{name}: no Logon came back");
        stream.write_all(&nonsense(&bad)).unwrap();
        for turn in ["before", "after"] {
            let id = format!("{turn}-{number}");
            fix.ask(&fix::limit(&id, 1, "1")).has(&format!("150=0|11={id}"));
            let booked = json_order(&mut json, &format!("json-{id}"), "BUY", "1");
            assert!(booked.contains("\"BOOKED\""), "{name}, {turn} it left: {booked}");
            assert_eq!(json.told(), [serde_json::Value::Null; 0], "{name}, {turn} it left");
            // It may be closed already.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

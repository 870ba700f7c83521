//! Orders over SBE, beside orders over JSON: each dialect's replies, and the rules of an account in
//! both.

use crate::driven::sbe::{SbeClient, brief, id, limit};
use crate::driven::{Driven, config, write_text};
use exchange::{Config, Risk, Tokens};
use expect_test::expect;
use proptest::prelude::*;
use wire::reply::decode_reply;
use wire::request::{self, AmendOrder, CancelOrder, CreateOrder, PostOnly, Side, TimeInForce};
use wire::sbe::client::*;
use wire::{Decimal, request::MassCancel};

const A: u32 = 0;
const B: u32 = 1;
const JSON: u32 = 2;

fn decimal(text: &str) -> Decimal {
    Decimal::parse(text).unwrap()
}

/// The texts that this connection got, in the short form of SBE's.
fn json_told(d: &mut Driven, stream: u32) -> Vec<String> {
    d.texts(stream).iter().map(|text| brief(&decode_reply(text.as_bytes()).unwrap())).collect()
}

fn log_on_json(d: &mut Driven, stream: u32, token: &str) {
    d.connect(stream);
    let text = format!(r#"{{"type":"AUTHENTICATE","api_token":"{token}"}}"#);
    assert_eq!(d.ask(stream, &text), [r#"{"type":"AUTHENTICATED"}"#]);
}

#[test]
fn every_request_and_report() {
    let risk = "[default]\nself_trade = 'decrement'";
    let mut config = config();
    config.risk = Risk::parse("risk.toml", risk, &config.instruments).unwrap();
    let mut d = Driven::new(config);
    let (mut a, mut b) = (SbeClient::new(&mut d, A, "a"), SbeClient::new(&mut d, B, "b"));
    let mut c = SbeClient::new(&mut d, JSON, "c");
    let mut told = Vec::new();
    told.extend(a.order(&mut d, "a1", Side::Buy, "100", "2"));
    told.extend(b.order(&mut d, "b1", Side::Sell, "100", "0.5"));
    told.extend(a.told(&mut d));
    let (a1, a2) = (id("a1"), id("a2"));
    let replace = |new_client_id, price| Replacement {
        client_id: &a1,
        new_client_id,
        price: Some(decimal(price)),
        amount: decimal("1"),
        delivery: None,
    };
    told.extend(a.say(&mut d, |out, n| encode_replace_order(out, n, 0, &replace(None, "100"))));
    told.extend(a.say(&mut d, |out, n| encode_replace_order(out, n, 0, &replace(Some(&a2), "99"))));
    told.extend(a.say(&mut d, |out, n| encode_status_request(out, n, &a2)));
    told.extend(a.say(&mut d, |out, n| encode_status_request(out, n, &id("none"))));
    // A trade with an own order is prevented, and takes its amount from both.
    told.extend(a.order(&mut d, "own", Side::Sell, "99", "0.25"));
    let stop =
        CreateOrder { stop_price: Some(decimal("90")), ..limit("st", Side::Sell, "80", "1") };
    told.extend(a.say(&mut d, |out, n| encode_new_order(out, n, 0, &stop)));
    told.extend(b.order(&mut d, "b2", Side::Buy, "90", "1"));
    told.extend(b.order(&mut d, "b3", Side::Sell, "98", "0.75"));
    told.extend(c.order(&mut d, "c1", Side::Sell, "90", "0.5"));
    told.extend(c.say(&mut d, |out, n| encode_status_request(out, n, &id("c1"))));
    told.extend(b.told(&mut d));
    told.extend(a.told(&mut d));
    told.extend(a.order(&mut d, "a3", Side::Buy, "1", "1"));
    told.extend(
        a.say(&mut d, |out, n| encode_mass_cancel(out, n, Some(&id("all")), Some(0), None)),
    );
    told.extend(a.say(&mut d, |out, n| encode_mass_cancel(out, n, None, None, Some(Side::Buy))));
    expect![[r#"
        1 BOOKED a1 100 2
        1 FILL b1 100 0.5 remaining=0
        2 DONE b1 FILLED
        2 FILL a1 100 0.5 remaining=1.5
        3 REPLACED a1 100 1 kept=true
        4 REPLACED a2 was=a1 99 1 kept=false
        5 BOOKED a2 99 1
        6 STATUS a2 1
        7 REJECTED none unknown order: this account has no open order with this client_id
        8 DECREMENTED own 0.25 remaining=0
        9 DECREMENTED a2 0.25 remaining=0.75
        10 DONE own SELF_TRADE_PREVENTED
        11 WAITING st 90 1
        3 BOOKED b2 90 1
        4 FILL b3 99 0.75 remaining=0
        5 DONE b3 FILLED
        1 FILL c1 90 0.5 remaining=0
        2 DONE c1 FILLED
        3 ENDED c1 FILLED
        6 FILL b2 90 0.5 remaining=0.5
        7 FILL b2 90 0.5 remaining=0
        8 DONE b2 FILLED
        12 FILL a2 99 0.75 remaining=0
        13 DONE a2 FILLED
        14 TRIGGERED st
        15 FILL st 90 0.5 remaining=0.5
        16 BOOKED st 80 1
        17 BOOKED a3 1 1
        18 DONE a3 CANCELLED
        19 DONE st CANCELLED
        20 MASS_CANCELLED all count=2
        21 MASS_CANCELLED count=0"#]]
    .assert_eq(&told.join("\n"));
    assert_eq!(d.exchange.replay_check().equal, Some(true));
}

/// A bad frame gets what docs/internals/sbe.md says, and nobody else feels anything.
#[test]
fn bad_frames() {
    let mut good = Vec::new();
    let order = limit("x", Side::Buy, "100", "1");
    encode_new_order(&mut good, 1, 0, &order);
    let mut said = Vec::new();
    // Offsets: 14 bytes of heads, then the fields in the order of the schema.
    let cases: &[(&str, usize, &[u8])] = &[
        ("length of 13", 0, &[0, 0, 0, 13]),
        ("length of 1025", 0, &[0, 0, 4, 1]),
        ("encoding", 4, &[0x5B, 0xE0]),
        ("schema", 10, &[1, 0]),
        ("template", 8, &[99, 0]),
        ("template of the exchange", 8, &[50, 0]),
        ("short block", 6, &[100, 0]),
        ("block past the frame", 6, &[200, 0]),
        ("sequence too high", 14, &[2]),
        ("sequence too low", 14, &[0]),
        ("no client id", 22, &[0; 63]),
        ("client id", 22, &[b'x', 0, b'y']),
        ("instrument", 85, &[4, 0]),
        ("side", 87, &[2]),
        ("time in force", 88, &[4]),
        ("post only", 89, &[3]),
        ("price exponent", 98, &[1]),
        ("no amount", 99, &i64::MIN.to_le_bytes()),
        ("amount past 18 digits", 99, &i64::MAX.to_le_bytes()),
    ];
    for (name, at, bytes) in cases {
        let mut d = Driven::new(config());
        let (mut a, mut b) = (SbeClient::new(&mut d, A, "a"), SbeClient::new(&mut d, B, "b"));
        let mut bad = good.clone();
        bad[*at..at + bytes.len()].copy_from_slice(bytes);
        d.feed(A, &bad);
        let told = a.told(&mut d).join(", ");
        said.push(format!("{name}: {told}"));
        assert_eq!(a.is_terminated, !d.is_open(A));
        assert_eq!(b.order(&mut d, "b1", Side::Buy, "1", "1"), ["1 BOOKED b1 1 1"]);
        // A rejected request has used its number, and one that ends the connection has not.
        a.sent = u64::from(!a.is_terminated);
        if a.is_terminated {
            d.disconnect(A);
            a.log_on(&mut d, false);
        }
        assert!(a.order(&mut d, "next", Side::Buy, "2", "1")[0].ends_with("BOOKED next 2 1"));
    }
    expect![[r#"
        length of 13: TERMINATE a frame of 13 bytes: the length must be from 14 to 1024
        length of 1025: TERMINATE a frame of 1025 bytes: the length must be from 14 to 1024
        encoding: TERMINATE a frame's encoding type is 0x5be0: send 0xeb50 (SBE 1.0, little endian)
        schema: TERMINATE a message of schema 1: send messages of schema 29802
        template: TERMINATE a message of template 99, which is not one that may come here
        template of the exchange: TERMINATE a message of template 50, which is not one that may come here
        short block: TERMINATE a message of template 10 is shorter than its fields
        block past the frame: TERMINATE a message of template 10 is shorter than its fields
        sequence too high: TERMINATE a request has the sequence number 2: the next is 1
        sequence too low: TERMINATE a request has the sequence number 0: the next is 1
        no client id: 1 REJECTED - field clientId is missing
        client id: 1 REJECTED - client_id has a control character
        instrument: 1 REJECTED x field instrument is not the number of an instrument
        side: 1 REJECTED x field side is not 0 (buy) or 1 (sell)
        time in force: 1 REJECTED x field timeInForce is not 0 to 3
        post only: 1 REJECTED x field postOnly is not 0 to 2
        price exponent: 1 REJECTED x field price is not a decimal of at most 18 digits with an exponent from -18 to 0
        no amount: 1 REJECTED x field amount is missing
        amount past 18 digits: 1 REJECTED x field amount is not a decimal of at most 18 digits with an exponent from -18 to 0"#]].assert_eq(&said.join("\n"));
}

/// An account may do the same, and gets the same reports, in both dialects.
#[test]
fn one_account_in_both_dialects() {
    let tokens = "[tokens]\na = 'a'\nb = 'b'\n[operators]\nsecret = 'desk'";
    let mut config = Config { tokens: Tokens::parse("t", tokens).unwrap(), ..config() };
    let risk = "[account.a]\nmessages_per_second_max = 4\nopen_orders_max = 2";
    config.risk = Risk::parse("risk.toml", risk, &config.instruments).unwrap();
    let mut d = Driven::new(config);
    let mut a = SbeClient::new(&mut d, A, "a");
    log_on_json(&mut d, JSON, "a");
    let ask = |d: &mut Driven, stream, write: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = Vec::new();
        write_text(&mut bytes, write);
        d.feed(stream, &bytes);
        json_told(d, stream)
    };
    let create = |client_id| {
        move |out: &mut Vec<u8>| {
            request::encode_create_order(out, &limit(client_id, Side::Buy, "100", "1"));
        }
    };
    // One set of client ids and limits, one count of messages.
    assert_eq!(a.order(&mut d, "one", Side::Buy, "100", "1"), ["1 BOOKED one 100 1"]);
    let duplicate = "REJECTED one duplicate client_id: an order with it is open";
    assert_eq!(ask(&mut d, JSON, &create("one")), [duplicate]);
    assert_eq!(ask(&mut d, JSON, &create("two")), ["BOOKED two 100 1"]);
    let open = "too many orders of this account are open (risk limit open_orders_max)";
    assert_eq!(a.order(&mut d, "three", Side::Buy, "1", "1"), [format!("2 REJECTED three {open}")]);
    // The order's connection gets the report, and the one that cancelled it too.
    let cancel = |out: &mut Vec<u8>| {
        let (client_id, instrument_code) = (id("one"), "BTC_USDT".into());
        let cancel = CancelOrder { client_id, instrument_code, account_id: None };
        request::encode_cancel_order(out, &cancel);
    };
    assert_eq!(ask(&mut d, JSON, &cancel), ["DONE one CANCELLED"]);
    assert_eq!(a.told(&mut d), ["3 DONE one CANCELLED"]);
    let rate =
        "too many messages of this account in this second (risk limit messages_per_second_max)";
    assert_eq!(a.order(&mut d, "four", Side::Buy, "1", "1"), [format!("4 REJECTED four {rate}")]);
    crate::driven::set_time(1000);
    // A kill switch thrown over JSON cancels and rejects over SBE.
    assert_eq!(a.order(&mut d, "five", Side::Buy, "1", "1"), ["5 BOOKED five 1 1"]);
    d.connect(3);
    d.ask(3, r#"{"type":"AUTHENTICATE","api_token":"secret"}"#);
    let kill = |on| format!(r#"{{"type":"KILL_SWITCH","account_id":"a","on":{on}}}"#);
    d.ask(3, &kill(true));
    assert_eq!(a.told(&mut d), ["6 DONE five CANCELLED"]);
    let killed = "the kill switch is on: new orders and amendments are rejected";
    assert_eq!(a.order(&mut d, "six", Side::Buy, "1", "1"), [format!("7 REJECTED six {killed}")]);
    d.ask(3, &kill(false));
    assert_eq!(a.order(&mut d, "six", Side::Buy, "1", "1"), ["8 BOOKED six 1 1"]);
    // Trades with an order of the other dialect's connection are an account's own too.
    assert_eq!(json_told(&mut d, JSON), ["DONE two CANCELLED"]);
    crate::driven::set_time(0);
    assert_eq!(d.exchange.replay_check().equal, Some(true));
}

/// A request that both dialects have.
#[derive(Clone, Debug)]
enum Asked {
    Create(Box<CreateOrder<'static>>),
    Cancel(u8),
    Amend { of: u8, to: Option<u8>, price: i64, amount: i64 },
    MassCancel(Option<Side>),
}

fn name(n: u8) -> wire::ClientId {
    id(&format!("order-{n}"))
}

fn create() -> impl Strategy<Value = CreateOrder<'static>> {
    let shape = (any::<bool>(), 0..3u8, 0..3u8, prop::option::of(95..105i64));
    (0..12u8, 95..105i64, 1..50i64, shape).prop_map(|(n, price, amount, shape)| {
        let (sells, in_force, post_only, stop) = shape;
        let side = if sells { Side::Sell } else { Side::Buy };
        let (price, amount) = (Decimal::new(price, 0).unwrap(), Decimal::new(amount, 1).unwrap());
        let time_in_force = match in_force {
            0 => TimeInForce::GoodTillCancelled,
            1 => TimeInForce::ImmediateOrCancelled,
            _ => TimeInForce::GoodTillDate { expire_time_ms: 1_800_000_000_000 },
        };
        CreateOrder {
            time_in_force,
            post_only: [None, Some(PostOnly::Reject), Some(PostOnly::Reprice)]
                [usize::from(post_only)],
            stop_price: stop
                .filter(|stop| stop % 3 == 0)
                .map(|stop| Decimal::new(stop, 0).unwrap()),
            ..CreateOrder::limit("BTC_USDT", name(n), side, price, amount)
        }
    })
}

fn asked() -> impl Strategy<Value = Asked> {
    let side = prop::option::of(any::<bool>());
    prop_oneof![
        8 => create().prop_map(|create| Asked::Create(Box::new(create))),
        3 => (0..12u8).prop_map(Asked::Cancel),
        3 => (0..12u8, prop::option::of(0..12u8), 95..105i64, 1..50i64)
            .prop_map(|(of, to, price, amount)| Asked::Amend { of, to, price, amount }),
        1 => side.prop_map(|side| {
            Asked::MassCancel(side.map(|sells| if sells { Side::Sell } else { Side::Buy }))
        }),
    ]
}

impl Asked {
    fn as_json(&self, out: &mut Vec<u8>) {
        let (instrument_code, account_id) = (|| "BTC_USDT".into(), None);
        match self {
            Asked::Create(create) => request::encode_create_order(out, create),
            Asked::Cancel(n) => {
                let (client_id, instrument_code) = (name(*n), instrument_code());
                let cancel = CancelOrder { client_id, instrument_code, account_id };
                request::encode_cancel_order(out, &cancel);
            }
            Asked::Amend { of, to, price, amount } => {
                let amend = AmendOrder {
                    client_id: name(*of),
                    new_client_id: to.map(name),
                    instrument_code: instrument_code(),
                    price: Decimal::new(*price, 0),
                    amount: Decimal::new(*amount, 1).unwrap(),
                    delivery: None,
                    account_id,
                };
                request::encode_amend_order(out, &amend);
            }
            Asked::MassCancel(side) => {
                let cancel =
                    MassCancel { client_id: None, instrument_code: None, side: *side, account_id };
                request::encode_mass_cancel(out, &cancel);
            }
        }
    }

    fn as_sbe(&self, out: &mut Vec<u8>, sequence: u64) {
        match self {
            Asked::Create(create) => encode_new_order(out, sequence, 0, create),
            Asked::Cancel(n) => encode_cancel_order(out, sequence, 0, &name(*n)),
            Asked::Amend { of, to, price, amount } => {
                let (client_id, new_client_id) = (name(*of), to.map(name));
                let replacement = Replacement {
                    client_id: &client_id,
                    new_client_id: new_client_id.as_ref(),
                    price: Decimal::new(*price, 0),
                    amount: Decimal::new(*amount, 1).unwrap(),
                    delivery: None,
                };
                encode_replace_order(out, sequence, 0, &replacement);
            }
            Asked::MassCancel(side) => encode_mass_cancel(out, sequence, None, None, *side),
        }
    }
}

/// Without the number in front of a report.
fn unnumbered(line: &str) -> &str {
    line.split_once(' ').unwrap().1
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(48)))]

    /// Two accounts send the same requests over JSON to one exchange and over SBE to another: both
    /// get the same reports in the same order, and the engines are equal.
    #[test]
    fn both_dialects_do_the_same(requests in prop::collection::vec((any::<bool>(), asked()), 1..80)) {
        let (mut json, mut sbe) = (Driven::new(config()), Driven::new(config()));
        log_on_json(&mut json, A, "a");
        log_on_json(&mut json, B, "b");
        let mut clients = [SbeClient::new(&mut sbe, A, "a"), SbeClient::new(&mut sbe, B, "b")];
        for (second, asked) in requests {
            let stream = u32::from(second);
            let mut bytes = Vec::new();
            write_text(&mut bytes, |out| asked.as_json(out));
            json.feed(stream, &bytes);
            let client = &mut clients[usize::from(second)];
            client.sent += 1;
            bytes.clear();
            asked.as_sbe(&mut bytes, client.sent);
            sbe.feed(stream, &bytes);
            for client in &mut clients {
                let told = client.told(&mut sbe);
                let told: Vec<&str> = told.iter().map(|line| unnumbered(line)).collect();
                prop_assert_eq!(told, json_told(&mut json, client.stream), "{:?}", asked);
            }
        }
        prop_assert_eq!(json.exchange.state_hash(), sbe.exchange.state_hash());
    }
}

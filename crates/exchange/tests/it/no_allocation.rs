//! In the steady state the exchange does not allocate, whatever the requests.

use crate::driven::sbe::{SbeClient, limit};
use crate::driven::{Driven, config, write_authenticate, write_cancel, write_order};
use exchange::StartBook;
use std::fmt::Write;
use wire::request::{
    AmendOrder, CreateOrder, MassCancel, PostOnly, Side, TimeInForce, encode_amend_order,
    encode_create_order, encode_mass_cancel,
};
use wire::sbe::client::{Replacement, encode_cancel_order, encode_new_order, encode_replace_order};
use wire::{ClientId, Decimal};

const ACCOUNTS: u32 = 4;

/// Encodes one round of messages of one account into `bytes`, which was cleared.
type Round = fn(&mut Vec<u8>, &mut String, u64);

fn name(text: &mut String, round: u64, what: &str) -> ClientId {
    text.clear();
    write!(text, "0f8fad5b-d9cb-469f-a165-{what}{round:011x}").unwrap();
    ClientId::new(text).unwrap()
}

/// An order that rests and its cancel, in one read.
fn order_and_cancel(bytes: &mut Vec<u8>, text: &mut String, round: u64) {
    let client_id = name(text, round, "a");
    write_order(bytes, client_id, Side::Buy, 100, 100, false);
    write_cancel(bytes, client_id);
}

/// Trades on both sides, an order that expires, and rejections of many kinds.
fn trades_and_rejections(bytes: &mut Vec<u8>, text: &mut String, round: u64) {
    let (sell, buy) = (name(text, round, "b"), name(text, round, "c"));
    write_order(bytes, sell, Side::Sell, 9_000_000, 100, false);
    write_order(bytes, sell, Side::Sell, 9_000_000, 100, false);
    write_order(bytes, buy, Side::Buy, 1, 100, true);
    write_order(bytes, buy, Side::Buy, -1, 100, true);
    write_order(bytes, buy, Side::Buy, 100, 0, true);
    write_cancel(bytes, buy);
    write_cancel(bytes, sell);
    // At the touch of the synthetic book, against other accounts.
    write_order(bytes, buy, Side::Buy, 6_400_000 + round.cast_signed() % 1000, 3, false);
    write_order(bytes, sell, Side::Sell, 6_400_000, 3, true);
    write_cancel(bytes, buy);
    crate::driven::write_text(bytes, |out| out.extend_from_slice(b"{\"type\":\"CANCEL_ORDER\"}"));
}

/// Every other order type, amendments with and without a new client id, a mass cancel.
fn all_order_types(bytes: &mut Vec<u8>, text: &mut String, round: u64) {
    let (one, two) = (name(text, round, "d"), name(text, round, "e"));
    let decimal = |number| Decimal::new(number, 2);
    let mut order = |order: CreateOrder<'_>| {
        crate::driven::write_text(bytes, |out| encode_create_order(out, &order));
    };
    let limit = |id, side, price| {
        let (price, amount) = (decimal(price).unwrap(), decimal(100).unwrap());
        CreateOrder::limit("BTC_USDT", id, side, price, amount)
    };
    let expire_time_ms = (crate::driven::START_NS / 1_000_000).cast_signed() + 1_000;
    order(CreateOrder { display_amount: decimal(10), ..limit(one, Side::Buy, 100) });
    order(CreateOrder {
        time_in_force: TimeInForce::GoodTillDate { expire_time_ms },
        post_only: Some(PostOnly::Reprice),
        ..limit(two, Side::Buy, 100)
    });
    let (stop, market) = (name(text, round, "f"), name(text, round, "0"));
    order(CreateOrder { stop_price: decimal(9_000_000), ..limit(stop, Side::Buy, 9_000_000) });
    order(CreateOrder {
        price: None,
        amount: decimal(1).unwrap(),
        time_in_force: TimeInForce::FillOrKill,
        ..limit(market, Side::Buy, 1)
    });
    for (client_id, new_client_id, price) in
        [(one, None, 100), (one, Some(name(text, round, "1")), 101), (two, None, -1)]
    {
        let amend = AmendOrder {
            client_id,
            new_client_id,
            instrument_code: "BTC_USDT".into(),
            price: decimal(price),
            amount: decimal(50).unwrap(),
            delivery: None,
            account_id: None,
        };
        crate::driven::write_text(bytes, |out| encode_amend_order(out, &amend));
    }
    crate::driven::write_text(bytes, |out| encode_mass_cancel(out, &MassCancel::default()));
}

/// Calls of the allocator inside the exchange over `rounds`, after a warm-up of as many.
fn calls(rounds: u64, round_of: Round) -> (u64, Driven) {
    let config = exchange::Config { start_book: StartBook::Synthetic, ..quick() };
    calls_of(rounds, round_of, Driven::new(config), |_| {})
}

/// The same for a given exchange; `begin` runs when all clients are authenticated.
fn calls_of(
    rounds: u64,
    round_of: Round,
    mut driven: Driven,
    begin: impl Fn(&mut Driven),
) -> (u64, Driven) {
    let mut bytes = Vec::with_capacity(64 * 1024);
    for stream in 0..ACCOUNTS {
        driven.connect(stream);
        bytes.clear();
        write_authenticate(&mut bytes, &format!("account-{stream}"));
        driven.feed(stream, &bytes);
        driven.answers(stream).clear();
    }
    begin(&mut driven);
    let mut text = String::with_capacity(64);
    let mut run = |driven: &mut Driven, rounds: std::ops::Range<u64>| {
        let mut inside = 0;
        for round in rounds {
            for stream in 0..ACCOUNTS {
                bytes.clear();
                round_of(&mut bytes, &mut text, round);
                let before = counting::calls();
                driven.feed(stream, &bytes);
                driven.turn();
                inside += counting::calls() - before;
                assert!(!driven.answers(stream).is_empty());
                (0..ACCOUNTS).for_each(|stream| driven.answers(stream).clear());
            }
        }
        inside
    };
    run(&mut driven, 0..100);
    let inside = run(&mut driven, 100..100 + rounds);
    (inside, driven)
}

fn quick() -> exchange::Config {
    let mut config = config();
    config.limits.open_orders_max = 50_000;
    config.limits.price_levels_max = 2_000;
    config
}

#[test]
fn the_counter_counts() {
    let before = counting::calls();
    drop(std::hint::black_box(Box::new(1_u64)));
    assert_eq!(counting::calls() - before, 2);
}

#[test]
fn a_hundred_thousand_orders_and_cancels_do_not_allocate() {
    let (inside, driven) = calls(25_000, order_and_cancel);
    let counts = driven.exchange.counts();
    assert_eq!((counts.booked, counts.done["CANCELLED"]), (100_400, 100_400));
    assert_eq!(inside, 0);
}

/// Orders, replacements, cancels, trades and rejections over SBE. One client is away, so its
/// reports are kept, and the oldest go.
#[test]
fn sbe_does_not_allocate() {
    let mut driven = Driven::new(quick());
    let mut clients = [0, 1].map(|stream| SbeClient::new(&mut driven, stream, "account"));
    let mut away = SbeClient::new(&mut driven, 2, "away");
    let resting = limit("resting", Side::Sell, "90000", "1000");
    away.say(&mut driven, |out, n| encode_new_order(out, n, 0, &resting));
    driven.disconnect(2);
    let (mut bytes, mut text) = (Vec::with_capacity(64 * 1024), String::with_capacity(64));
    let mut inside = 0;
    for round in 0..3_000 {
        for (index, client) in clients.iter_mut().enumerate() {
            bytes.clear();
            let ids = ["a", "b"].map(|what| name(&mut text, round, what));
            let order = CreateOrder { client_id: ids[index], ..limit("x", Side::Buy, "1", "1") };
            let price = Decimal::new(90_000, 0);
            let taker = CreateOrder { price, amount: Decimal::new(1, 2).unwrap(), ..order.clone() };
            let replacement = Replacement {
                client_id: &ids[index],
                new_client_id: None,
                price,
                amount: order.amount,
                delivery: None,
            };
            encode_new_order(&mut bytes, client.sent + 1, 0, &order);
            encode_new_order(&mut bytes, client.sent + 2, 0, &order);
            encode_replace_order(&mut bytes, client.sent + 3, 9, &replacement);
            encode_cancel_order(&mut bytes, client.sent + 4, 0, &ids[index]);
            encode_new_order(&mut bytes, client.sent + 5, 0, &taker);
            client.sent += 5;
            let before = counting::calls();
            driven.feed(client.stream, &bytes);
            // The first rounds grow the buffers.
            inside += if round < 100 { 0 } else { counting::calls() - before };
            assert!(!driven.answers(client.stream).is_empty());
            driven.answers(client.stream).clear();
        }
    }
    let counts = driven.exchange.counts();
    assert_eq!((counts.trades, counts.booked), (6_000, 6_001));
    assert_eq!(counts.rejected.values().sum::<u64>(), 12_000, "{counts:?}");
    assert_eq!(inside, 0);
    assert!(away.log_on(&mut driven, false)[0].contains("lost="));
}

/// Malformed JSON is left out: the JSON library boxes its error.
#[test]
fn trades_and_rejections_do_not_allocate() {
    let (inside, driven) = calls(1_000, trades_and_rejections);
    let counts = driven.exchange.counts();
    assert!(counts.trades > 1_000 && counts.rejected.len() >= 4, "{counts:?}");
    assert_eq!(inside, 0);
}

#[test]
fn the_other_order_types_do_not_allocate() {
    let (inside, driven) = calls(1_000, all_order_types);
    let counts = driven.exchange.counts();
    assert_eq!((counts.amended, counts.mass_cancels), (2 * 4_400, 4_400), "{counts:?}");
    assert!(counts.trades > 1_000 && counts.waiting > 1_000, "{counts:?}");
    assert_eq!(inside, 0);
}

/// With both depths of the feed sent, market data as JSON, and stamps.
#[test]
fn what_is_published_and_stamped_does_not_allocate() {
    let clock = Some(clock::Clock::calibrate());
    let feed = Some(exchange::Feed::default());
    let start_book = StartBook::Synthetic;
    let config = exchange::Config { clock, feed, start_book, ..quick() };
    let sockets = [(); 2].map(|()| std::net::UdpSocket::bind("127.0.0.1:0").unwrap());
    let (inside, driven) = calls_of(1_000, trades_and_rejections, Driven::new(config), |driven| {
        for (stream, depth) in [(0, "ORDERS"), (1, "LEVELS")] {
            let address = sockets[stream as usize].local_addr().unwrap();
            let feed = format!(r#"{{"name":"FEED","address":"{address}","depth":"{depth}"}}"#);
            let data = ["BOOK", "TRADES", "TOP"].map(|name| {
                let stamps = name != "TRADES";
                format!(r#"{{"name":"{name}","instrument_code":"BTC_USDT","stamps":{stamps}}}"#)
            });
            let channels = format!("{feed},{}", data.join(","));
            let stamps = r#"{"type":"AUTHENTICATE","api_token":"s","stamps":true}"#;
            driven.ask(stream, stamps);
            let subscribe = format!(r#"{{"type":"SUBSCRIBE","channels":[{channels}]}}"#);
            let answers = driven.ask(stream, &subscribe);
            assert_eq!(answers.len(), 3, "{answers:?}");
        }
    });
    let feed = driven.exchange.feed_counts().unwrap();
    assert!(feed.datagrams >= 4_400 && feed.json.messages > 4_400, "{feed:?}");
    assert!(feed.subscribers.iter().all(|subscriber| subscriber.sent >= 4_400), "{feed:?}");
    assert_eq!(inside, 0);
}

/// The exchange's own flow, from its start to the notice of its end.
#[test]
fn a_flow_does_not_allocate() {
    let pace = flow::Pace::Fixed {
        rate_per_second: 50_000.0,
        arrival: clock::schedule::Arrival::Burst,
        burst: 20,
    };
    let source = flow::Source::Synthetic;
    let flow = Some(exchange::FlowConfig { source, pace, seconds: 0.3 });
    let clock = Some(clock::Clock::calibrate());
    let feed = Some(exchange::Feed::default());
    let mut driven = Driven::new(exchange::Config { clock, feed, flow, ..quick() });
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    driven.connect(0);
    let address = socket.local_addr().unwrap();
    driven.ask(0, r#"{"type":"AUTHENTICATE","api_token":"s"}"#);
    let feed = format!(r#"{{"name":"FEED","address":"{address}"}}"#);
    driven.ask(0, &format!(r#"{{"type":"SUBSCRIBE","channels":[{feed}]}}"#));
    let started = driven.ask(0, r#"{"type":"FLOW","action":"START"}"#);
    assert_eq!(started, [r#"{"type":"FLOW_STARTED"}"#]);
    driven.answers(0).reserve(4096);
    let deadline = clock::Deadline::after(std::time::Duration::from_secs(20));
    let before = counting::calls();
    while driven.answers(0).is_empty() {
        assert!(!deadline.left().is_zero(), "the flow does not end");
        driven.turn();
    }
    assert_eq!(counting::calls() - before, 0);
    let counts = driven.exchange.flow_counts().unwrap();
    assert_eq!((counts.inputs, counts.rejected), (15_000, 0));
    assert!(driven.texts(0)[0].contains(r#""type":"FLOW_ENDED","inputs":15000"#));
}

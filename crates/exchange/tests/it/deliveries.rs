//! Delivery windows: orders that answer the same tick are sequenced by response time. Arrivals have
//! the times that the test gives them; only the end of a window is the clock's.

use crate::driven::sbe::{SbeClient, id};
use crate::driven::{Driven, config, write_text};
use clock::Clock;
use exchange::{Config, ConfigError, DeliveryCounts, Exchange, Feed, Journal};
use fair::window::{Fate, ORDERS_WAITING_MAX};
use journal::{History, Mode, Options};
use serde_json::Value;
use std::net::UdpSocket;
use std::path::Path;
use std::time::Duration;
use wire::Decimal;
use wire::request::{
    self, AmendOrder, CancelOrder, CreateOrder, DeliveryClock, MassCancel, Side, TimeInForce,
};
use wire::sbe::client::{Replacement, encode_new_order, encode_replace_order};

const MS: u64 = 1_000_000;
const LOGIN: &str = r#"{"type":"AUTHENTICATE","api_token":"TOKEN"}"#;
const MAKER: u32 = 0;
const NEAR: u32 = 1;
const FAR: u32 = 2;
const SBE: u32 = 3;

/// An exchange with a feed, and a sell order that its latest tick tells of.
struct Market {
    driven: Driven,
    feed: UdpSocket,
    /// The number of that tick.
    tick: u64,
    /// A time after its publication, and before anything else.
    ticked_ns: u64,
}

impl Market {
    fn new(config: Config) -> Market {
        let clock = Clock::calibrate();
        let config = Config { feed: Some(Feed::default()), clock: Some(clock), ..config };
        let mut driven = Driven::new(config);
        for (stream, account) in [(MAKER, "1"), (NEAR, "2"), (FAR, "3")] {
            driven.connect(stream);
            driven.ask(stream, &LOGIN.replace("TOKEN", account));
        }
        let feed = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut market = Market { driven, feed, tick: 0, ticked_ns: 0 };
        market.send(MAKER, &limit("offer", Side::Sell), 0);
        market.driven.turn();
        market.ticked_ns = clock.now_ns();
        market.tick = market.subscription(MAKER)["sequence"].as_u64().unwrap();
        assert!(market.tick > 0);
        market.driven.texts(MAKER);
        market
    }

    /// The feed in the answer to `SUBSCRIBE`.
    fn subscription(&mut self, stream: u32) -> Value {
        let address = self.feed.local_addr().unwrap();
        let channel = format!(r#"{{"name":"FEED","address":"{address}"}}"#);
        let subscribe = format!(r#"{{"type":"SUBSCRIBE","channels":[{channel}]}}"#);
        let told = self.driven.ask(stream, &subscribe).pop().unwrap();
        let told: Value = serde_json::from_str(&told).unwrap();
        let channels = told["channels"].as_array().unwrap();
        channels.iter().find(|channel| channel["name"] == "FEED").unwrap().clone()
    }

    /// An order that is read this long after the tick.
    fn send(&mut self, stream: u32, order: &CreateOrder<'_>, after_ns: u64) {
        self.ask(stream, after_ns, |out| request::encode_create_order(out, order));
    }

    /// An order for the offer, with a delivery clock of this response time.
    fn answer(&mut self, stream: u32, response_ns: u64, after_ns: u64) {
        let order = take("taker", Some((self.tick, response_ns)));
        self.send(stream, &order, after_ns);
    }

    /// Writes a message that is read this long after the tick.
    fn ask(&mut self, stream: u32, after_ns: u64, write: impl FnOnce(&mut Vec<u8>)) {
        let mut frame = Vec::new();
        write_text(&mut frame, write);
        self.driven.feed_at(stream, &frame, self.ticked_ns + after_ns);
    }

    /// The same in SBE, with the next number of the client's session.
    fn say(
        &mut self,
        client: &mut SbeClient,
        after_ns: u64,
        write: impl FnOnce(&mut Vec<u8>, u64),
    ) {
        client.sent += 1;
        let mut bytes = Vec::new();
        write(&mut bytes, client.sent);
        self.driven.feed_at(client.stream, &bytes, self.ticked_ns + after_ns);
    }

    /// An amendment of the order `bid` that takes the offer, with a delivery clock.
    fn raise(&mut self, stream: u32, response_ns: u64, after_ns: u64) {
        let amend = raise(self.tick, response_ns, 100);
        self.ask(stream, after_ns, |out| request::encode_amend_order(out, &amend));
    }

    /// The types of the messages that a connection got, with the status of an order's end.
    fn told(&mut self, stream: u32) -> Vec<String> {
        let kind = |text: String| {
            let message: Value = serde_json::from_str(&text).unwrap();
            message["status"].as_str().or(message["type"].as_str()).unwrap().to_owned()
        };
        self.driven.texts(stream).into_iter().map(kind).collect()
    }

    fn counts(&self) -> DeliveryCounts {
        self.driven.exchange.counts().deliveries.expect("it has a window")
    }

    /// Lets a window of this many ms pass.
    fn wait(&mut self, ms: u64) {
        std::thread::sleep(Duration::from_millis(ms + 1));
        self.driven.turn();
    }
}

fn limit(client_id: &str, side: Side) -> CreateOrder<'static> {
    let (price, amount) = (Decimal::parse("100").unwrap(), Decimal::ONE);
    CreateOrder::limit("BTC_USDT", id(client_id), side, price, amount)
}

fn take(client_id: &str, clock: Option<(u64, u64)>) -> CreateOrder<'static> {
    CreateOrder {
        time_in_force: TimeInForce::ImmediateOrCancelled,
        delivery: clock.map(|(tick, response_ns)| DeliveryClock { tick, response_ns }),
        ..limit(client_id, Side::Buy)
    }
}

/// An amendment of the order `bid`.
fn raise(tick: u64, response_ns: u64, price: i64) -> AmendOrder<'static> {
    AmendOrder {
        client_id: id("bid"),
        new_client_id: None,
        instrument_code: "BTC_USDT".into(),
        price: Decimal::new(price, 0),
        amount: Decimal::ONE,
        delivery: Some(DeliveryClock { tick, response_ns }),
        account_id: None,
    }
}

fn with_window(ms: u64) -> Config {
    Config { delivery_window_us: Some(ms * 1_000), ..config() }
}

/// The near one needs 30 ms and arrives first, the far one needs 10 ms and arrives last.
fn race(market: &mut Market) {
    market.answer(NEAR, 30 * MS, 31 * MS);
    market.answer(FAR, 10 * MS, 60 * MS);
}

#[test]
fn the_faster_answer_gets_the_trade_though_it_arrives_later() {
    let mut market = Market::new(with_window(100));
    assert_eq!(market.subscription(NEAR)["delivery_window_us"], 100_000);
    race(&mut market);
    assert_eq!((market.told(NEAR), market.told(FAR)), (vec![], vec![]), "both wait");
    market.wait(100);
    assert_eq!(market.told(FAR), ["FILL", "FILLED"]);
    assert_eq!(market.told(NEAR), ["EXPIRED"]);
    let expected = DeliveryCounts { held: 2, overtook: 1, without_clock: 1, ..Default::default() };
    assert_eq!(market.counts(), expected);
    assert_eq!(market.driven.exchange.replay_check().equal, Some(true));
}

#[test]
fn without_a_window_the_first_to_arrive_gets_it() {
    let mut market = Market::new(config());
    assert_eq!(market.subscription(NEAR)["delivery_window_us"], Value::Null);
    race(&mut market);
    assert_eq!(market.told(NEAR), ["FILL", "FILLED"]);
    assert_eq!(market.told(FAR), ["EXPIRED"]);
    assert_eq!(market.driven.exchange.counts().deliveries, None);
}

#[test]
fn what_can_not_be_ordered_is_sequenced_as_it_arrives() {
    let mut market = Market::new(with_window(100));
    let tick = market.tick;
    for (clock, after_ns) in [
        (None, 0),
        (Some((tick, MS)), 100 * MS),
        (Some((tick, 60_000 * MS)), MS),
        (Some((tick + 9, 0)), MS),
    ] {
        market.send(FAR, &take("taker", clock), after_ns);
        let told = market.told(FAR);
        assert!(told.ends_with(&["FILLED".into()]) || told == ["EXPIRED"], "{told:?}");
    }
    let counts = market.counts();
    assert_eq!((counts.late, counts.impossible, counts.unknown_tick), (1, 1, 1));
    assert_eq!((counts.held, counts.without_clock), (0, 2));
}

/// The far one speaks SBE, the near one JSON.
#[test]
fn a_delivery_clock_counts_in_sbe_too() {
    let mut market = Market::new(with_window(100));
    let mut far = SbeClient::new(&mut market.driven, SBE, "4");
    market.answer(NEAR, 30 * MS, 31 * MS);
    let order = take("taker", Some((market.tick, 10 * MS)));
    market.say(&mut far, 60 * MS, |out, n| encode_new_order(out, n, 0, &order));
    assert_eq!((market.told(NEAR), far.told(&mut market.driven)), (vec![], vec![]), "both wait");
    market.wait(100);
    let told = far.told(&mut market.driven);
    assert_eq!(told, ["1 FILL taker 100 1 remaining=0", "2 DONE taker FILLED"]);
    assert_eq!(market.told(NEAR), ["EXPIRED"]);
    assert_eq!((market.counts().held, market.counts().overtook), (2, 1));
}

/// Both raise the price of an order that rests, one in JSON and one in SBE.
#[test]
fn amendments_race_like_orders() {
    let mut market = Market::new(with_window(100));
    let mut far = SbeClient::new(&mut market.driven, SBE, "4");
    let bid = CreateOrder { price: Decimal::parse("50").ok(), ..limit("bid", Side::Buy) };
    market.send(NEAR, &bid, 0);
    market.say(&mut far, 0, |out, n| encode_new_order(out, n, 0, &bid));
    market.driven.turn();
    market.told(NEAR);
    far.told(&mut market.driven);
    market.raise(NEAR, 30 * MS, 31 * MS);
    let (client_id, tick) = (id("bid"), market.tick);
    let replacement = Replacement {
        client_id: &client_id,
        new_client_id: None,
        price: Decimal::parse("100").ok(),
        amount: Decimal::ONE,
        delivery: Some(DeliveryClock { tick, response_ns: 10 * MS }),
    };
    market.say(&mut far, 60 * MS, |out, n| encode_replace_order(out, n, 0, &replacement));
    assert_eq!((market.told(NEAR), far.told(&mut market.driven)), (vec![], vec![]), "both wait");
    market.wait(100);
    let told = far.told(&mut market.driven);
    assert!(told.last().is_some_and(|last| last.ends_with("DONE bid FILLED")), "{told:?}");
    assert_eq!(market.told(NEAR), ["AMENDED", "BOOKED"]);
    assert_eq!((market.counts().held, market.counts().overtook), (2, 1));
    assert_eq!(market.driven.exchange.replay_check().equal, Some(true));
}

/// A cancel by either name of a waiting amendment comes after it. An amendment whose order has
/// traded meanwhile is rejected.
#[test]
fn an_amendment_that_waits_is_neither_overtaken_nor_executed_for_another_order() {
    let mut market = Market::new(with_window(10_000));
    let bid = CreateOrder { price: Decimal::parse("50").ok(), ..limit("bid", Side::Buy) };
    for (early, name) in (1..).zip(["bid", "renamed"]) {
        market.send(NEAR, &bid, 0);
        market.driven.turn();
        market.told(NEAR);
        let amend = AmendOrder { new_client_id: Some(id("renamed")), ..raise(market.tick, MS, 60) };
        market.ask(NEAR, 2 * MS, |out| request::encode_amend_order(out, &amend));
        assert_eq!(market.told(NEAR), [""; 0]);
        let (client_id, instrument_code) = (id(name), "BTC_USDT".into());
        let cancel = CancelOrder { client_id, instrument_code, account_id: None };
        market.ask(NEAR, 3 * MS, |out| request::encode_cancel_order(out, &cancel));
        let told = market.told(NEAR);
        assert_eq!(told[..2], ["AMENDED", "BOOKED"], "{name}");
        // Under its old name the order is not there any more.
        let last = if name == "renamed" { "CANCELLED" } else { "REJECTED" };
        assert_eq!(told[2..], [last], "{name}");
        assert_eq!(market.counts().early, early);
        market.ask(NEAR, 3 * MS, |out| request::encode_mass_cancel(out, &MassCancel::default()));
        market.told(NEAR);
    }
    let mut market = Market::new(with_window(100));
    market.send(NEAR, &bid, 0);
    market.driven.turn();
    market.told(NEAR);
    market.raise(NEAR, MS, 2 * MS);
    let sell = CreateOrder { price: bid.price, ..limit("sells", Side::Sell) };
    market.send(MAKER, &sell, 3 * MS);
    assert_eq!(market.told(NEAR), ["FILL", "FILLED"]);
    market.wait(100);
    assert_eq!(market.told(NEAR), ["REJECTED"]);
    assert_eq!(market.driven.exchange.counts().rejected["unknown_order"], 1);
}

/// The window is open for 10 s: only the requests let the orders go.
#[test]
fn a_request_about_a_waiting_order_comes_after_it() {
    let mut market = Market::new(with_window(10_000));
    let cancel = r#"{"type":"CANCEL_ORDER","client_id":"waits","instrument_code":"BTC_USDT"}"#;
    let asks = [
        (cancel, vec!["BOOKED", "CANCELLED"]),
        (r#"{"type":"MASS_CANCEL"}"#, vec!["BOOKED", "CANCELLED", "MASS_CANCELLED"]),
        (r#"{"type":"ORDER_STATUS","client_id":"waits"}"#, vec!["BOOKED", "OPEN"]),
    ];
    let price = Decimal::parse("50");
    for (early, (ask, expected)) in (1..).zip(asks) {
        let order = take("waits", Some((market.tick, MS)));
        let time_in_force = TimeInForce::GoodTillCancelled;
        market.send(NEAR, &CreateOrder { price: price.ok(), time_in_force, ..order }, 2 * MS);
        market.driven.turn();
        assert_eq!(market.told(NEAR), [""; 0]);
        let mut frame = Vec::new();
        write_text(&mut frame, |out| out.extend_from_slice(ask.as_bytes()));
        market.driven.feed_at(NEAR, &frame, market.ticked_ns + 3 * MS);
        assert_eq!(market.told(NEAR), expected, "{ask}");
        assert_eq!(market.counts().early, early);
    }
}

#[test]
fn the_order_of_a_closed_connection_stays_and_nobody_else_gets_its_reports() {
    for cancels in [false, true] {
        let mut market = Market::new(with_window(100));
        if cancels {
            let login = r#"{"type":"AUTHENTICATE","api_token":"2","cancel_on_disconnect":true}"#;
            market.driven.ask(NEAR, login);
        }
        market.answer(NEAR, MS, 2 * MS);
        market.driven.disconnect(NEAR);
        market.driven.connect(NEAR);
        market.driven.ask(NEAR, &LOGIN.replace("TOKEN", "4"));
        market.wait(100);
        assert_eq!(market.told(NEAR), [""; 0]);
        assert_eq!(market.told(MAKER), ["FILL", "FILLED"]);
        // The cancel on disconnect comes after the order.
        assert_eq!(market.counts().early, u64::from(cancels));
    }
}

#[test]
fn one_order_too_many_is_rejected() {
    let mut market = Market::new(with_window(10_000));
    for n in 0..ORDERS_WAITING_MAX {
        market.send(NEAR, &take(&format!("n{n}"), Some((market.tick, MS))), 2 * MS);
    }
    assert_eq!(market.told(NEAR), [""; 0]);
    market.answer(FAR, MS, 2 * MS);
    assert_eq!(market.told(FAR), ["REJECTED"]);
    assert_eq!(market.driven.exchange.counts().limits["delivery_orders_max"], 1);
    assert_eq!(market.counts().held, ORDERS_WAITING_MAX as u64);
}

#[test]
fn a_window_needs_a_feed_and_a_length() {
    let made = |config| Exchange::new(config).err().unwrap();
    assert!(matches!(made(with_window(1)), ConfigError::NoFeed));
    for window_us in [0, 10_000_001] {
        let delivery_window_us = Some(window_us);
        let error = made(Config { delivery_window_us, ..config() }).to_string();
        assert!(error.contains("delivery_window_us"), "{error}");
    }
}

/// Each order that named a tick: arrival, fate, response time and publication.
fn deliveries(directory: &Path) -> Vec<(u64, Fate, u64, u64)> {
    let mut history = History::open(directory).unwrap();
    let mut deliveries = Vec::new();
    while let Some(input) = history.next_input().unwrap() {
        deliveries.extend(input.delivery.map(|delivery| {
            assert!(input.client_id().is_some(), "{input:?}");
            assert_eq!(delivery.window_ns, 100 * MS);
            let answer = delivery.answer;
            (answer.arrival, answer.fate, answer.claim.response_ns, answer.publication)
        }));
    }
    deliveries
}

#[test]
fn the_journal_has_both_orders_and_replays_to_the_same_state() {
    let place = tempfile::tempdir().unwrap();
    let options = Options {
        segment_bytes: 1 << 20,
        reserve_inputs: 100,
        mode: Mode::Async,
        ..Options::default()
    };
    let journal = Some(Journal { directory: place.path().to_owned(), options });
    let mut market = Market::new(Config { journal, ..with_window(100) });
    race(&mut market);
    market.send(NEAR, &take("late", Some((market.tick, MS))), 150 * MS);
    market.wait(100);
    let hash = market.driven.exchange.state_hash();
    market.driven.exchange.close_journal().unwrap();
    let replayed = journal::replay(place.path()).unwrap();
    assert_eq!(replayed.state_hash, hash);
    let publication = 1;
    let expected = [
        (3, Fate::Late, MS, publication),
        (2, Fate::Held, 10 * MS, publication),
        (1, Fate::Held, 30 * MS, publication),
    ];
    assert_eq!(deliveries(place.path()), expected);
}

//! Market data as JSON over real sockets.

use crate::running::{Client, Running, immediate, order};
use clock::schedule::Arrival;
use clock::{Clock, Deadline};
use engine::Side;
use exchange::{Config, FlowConfig, StartBook};
use flow::{Pace, Source};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tungstenite::Message;
use wire::Decimal;
use wire::market_data::{MarketData, PriceAndAmount, decode_level, decode_market_data};

fn subscribe(channels: &[&str]) -> String {
    let channels: Vec<String> = channels
        .iter()
        .map(|name| format!(r#"{{"name":"{name}","instrument_code":"BTC_USDT"}}"#))
        .collect();
    format!(r#"{{"type":"SUBSCRIBE","channels":[{}]}}"#, channels.join(","))
}

fn decimal(text: &str) -> Decimal {
    Decimal::parse(text).unwrap()
}

/// A client's book from its messages.
#[derive(Default)]
struct Book {
    bids: BTreeMap<Decimal, Decimal>,
    asks: BTreeMap<Decimal, Decimal>,
    top: [Option<PriceAndAmount>; 2],
    trades: u64,
    snapshots: u64,
    levels: u64,
    gaps: Vec<(u64, u64)>,
    sequence: u64,
}

impl Book {
    fn hear(&mut self, text: &str) {
        let heard = match decode_market_data(text.as_bytes()) {
            Ok(heard) => heard,
            Err(error) => panic!("{error}: {text}"),
        };
        match heard {
            MarketData::Snapshot(snapshot) => {
                self.bids = snapshot.bids.into_iter().collect();
                self.asks = snapshot.asks.into_iter().collect();
                self.snapshots += 1;
                self.sequence = snapshot.feed_sequence;
            }
            MarketData::Level(level) => {
                assert!(level.feed_sequence > self.sequence, "{text}");
                self.sequence = level.feed_sequence;
                self.levels += 1;
                let side = match level.side {
                    wire::request::Side::Buy => &mut self.bids,
                    wire::request::Side::Sell => &mut self.asks,
                };
                match level.amount == Decimal::ZERO {
                    true => assert!(side.remove(&level.price).is_some(), "{text}"),
                    false => drop(side.insert(level.price, level.amount)),
                }
            }
            MarketData::Trade(_) => self.trades += 1,
            MarketData::Top(top) => self.top = [top.bid, top.ask],
            MarketData::Gap(gap) => self.gaps.push((gap.from, gap.to)),
        }
    }

    /// Compares it with the engine's at the end.
    fn check(&self, engine: &engine::Engine) {
        let (tick, lot) = (decimal("0.01"), decimal("0.00001"));
        for (side, ours) in [(Side::Buy, &self.bids), (Side::Sell, &self.asks)] {
            let theirs: BTreeMap<Decimal, Decimal> = engine
                .levels(0, side)
                .map(|(price, lots, _)| {
                    let price = Decimal::from_units(price, tick).unwrap();
                    (price, Decimal::from_units(lots as i64, lot).unwrap())
                })
                .collect();
            assert!(*ours == theirs, "{} prices of {}", ours.len(), theirs.len());
        }
    }
}

fn next(client: &mut Client) -> Option<String> {
    match client.socket.read() {
        Ok(Message::Text(text)) => Some(text.to_string()),
        Ok(other) => panic!("{other:?}"),
        Err(tungstenite::Error::Io(error)) if error.kind() == std::io::ErrorKind::WouldBlock => {
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// All messages up to `last`, or if that is not known yet until no more come for a while.
fn drain(client: &mut Client, book: &mut Book, last: &AtomicU64) {
    client.socket.get_mut().set_read_timeout(Some(Duration::from_millis(400))).unwrap();
    let deadline = Deadline::after(Duration::from_secs(30));
    loop {
        match next(client) {
            Some(text) => book.hear(&text),
            None if book.sequence >= last.load(Ordering::Relaxed) => return,
            None => {}
        }
        assert!(!deadline.left().is_zero(), "at {} of {last:?}", book.sequence);
    }
}

#[test]
fn books_trades_and_tops_are_told_as_they_happen() {
    let running = Running::start(crate::running::config());
    let mut trader = running.login("1");
    trader.ask(&order("a", "BUY", "100", "2"));
    let mut client = running.login("2");
    let subscribed = client.ask(&subscribe(&["BOOK", "TRADES", "TOP"]));
    let names = r#"{"channels":[{"name":"BOOK","instrument_code":"BTC_USDT"},{"name":"TRADES","instrument_code":"BTC_USDT"},{"name":"TOP","instrument_code":"BTC_USDT"}],"time":0,"type":"SUBSCRIPTIONS"}"#;
    assert_eq!(subscribed, names);
    let rest = r#""time":0}"#;
    let snapshot = r#"{"type":"BOOK_SNAPSHOT","instrument_code":"BTC_USDT","bids":[["100","2"]],"asks":[],"feed_sequence":0,"#;
    assert_eq!(client.read(), format!("{snapshot}{rest}"));
    let top = |bid: &str, ask: &str, sequence: u64| {
        format!(
            r#"{{"type":"TOP","instrument_code":"BTC_USDT","bid":{bid},"ask":{ask},"feed_sequence":{sequence},{rest}"#
        )
    };
    assert_eq!(client.read(), top(r#"["100","2"]"#, "null", 0));
    trader.ask(&order("b", "SELL", "101.5", "1"));
    let book = |side: &str, price: &str, amount: &str, sequence: u64| {
        format!(
            r#"{{"type":"BOOK","instrument_code":"BTC_USDT","side":"{side}","price":"{price}","amount":"{amount}","feed_sequence":{sequence},{rest}"#
        )
    };
    assert_eq!(client.read(), book("SELL", "101.5", "1", 1));
    assert_eq!(client.read(), top(r#"["100","2"]"#, r#"["101.5","1"]"#, 1));
    trader.send(&immediate("c", "SELL", "100", "0.5"));
    let trade = r#"{"type":"TRADE","instrument_code":"BTC_USDT","trade_id":1,"side":"SELL","price":"100","amount":"0.5","feed_sequence":2,"#;
    assert_eq!(client.read(), format!("{trade}{rest}"));
    assert_eq!(client.read(), book("BUY", "100", "1.5", 3));
    assert_eq!(client.read(), top(r#"["100","1.5"]"#, r#"["101.5","1"]"#, 3));
    // A change below the top sends no top.
    trader.send(&order("d", "BUY", "99", "1"));
    assert_eq!(client.read(), book("BUY", "99", "1", 4));
    client.nothing_more();
    // An order of another instrument sends nothing here, nor does a repeated subscription.
    trader.send(&order("e", "BUY", "99", "1").replace("BTC_USDT", "BTC_EUR"));
    assert_eq!(client.ask(&subscribe(&["TOP"])), names);
    client.nothing_more();
}

#[test]
fn what_can_not_be_subscribed_is_told() {
    let mut config = crate::running::config();
    config.limits.market_data_subscriptions_max = 2;
    let running = Running::start(config);
    let mut client = running.login("1");
    let unknown = subscribe(&["BOOK"]).replace("BTC_USDT", "XYZ");
    assert!(client.ask(&unknown).contains("unknown instrument"));
    let mut reader = running.login("2");
    assert!(reader.ask(&subscribe(&["TRADES", "TOP"])).contains("SUBSCRIPTIONS"));
    assert!(
        client.ask(&subscribe(&["TRADES"])).contains("limit market_data_subscriptions_max = 2")
    );
    drop(reader);
    while !client.ask(&subscribe(&["TRADES"])).contains("SUBSCRIPTIONS") {}
    client.nothing_more();
    // The channels before the failing one are subscribed and start.
    assert!(client.ask(&subscribe(&["BOOK", "TOP"])).contains("market_data_subscriptions_max"));
    let began = client.read();
    assert!(began.contains("BOOK_SNAPSHOT"), "{began}");
    client.nothing_more();
}

/// A slow reader loses messages, gets a GAP with their numbers, and starts anew; others get all.
#[test]
fn a_slow_subscriber_has_a_gap_and_disturbs_nobody() {
    let pace = Pace::Fixed { rate_per_second: 20_000.0, arrival: Arrival::Uniform, burst: 1 };
    let flow = FlowConfig { source: Source::Synthetic, pace, seconds: 1.5 };
    let mut config = Config {
        flow: Some(flow),
        clock: Some(Clock::calibrate()),
        start_book: StartBook::Empty,
        ..crate::running::config()
    };
    config.limits.open_orders_max = 40_000;
    config.limits.price_levels_max = 4_000;
    config.limits.market_data_bytes_max = 16 * 1024;
    config.limits.outbound_bytes_max = 1 << 24;
    let running = Running::start_on("spin", config);
    let (mut slow, mut fast) = (running.login("1"), running.login("2"));
    for client in [&mut slow, &mut fast] {
        client.ask(&subscribe(&["BOOK", "TRADES"]));
    }
    let mut starter = running.login("3");
    let last = Arc::new(AtomicU64::new(u64::MAX));
    let last_of_fast = last.clone();
    let reading = std::thread::spawn(move || {
        let mut book = Book::default();
        // From the first message on, which comes at once: the snapshot.
        book.hear(&next(&mut fast).unwrap());
        drain(&mut fast, &mut book, &last_of_fast);
        book
    });
    assert_eq!(starter.ask(r#"{"type":"FLOW","action":"START"}"#), r#"{"type":"FLOW_STARTED"}"#);
    let ended: serde_json::Value = serde_json::from_str(&starter.read()).unwrap();
    assert_eq!(ended["inputs"], 30_000);
    let description: serde_json::Value =
        serde_json::from_str(&starter.ask(r#"{"type":"DESCRIBE"}"#)).unwrap();
    assert_eq!(description["feeds"][0]["depth"], "LEVELS", "{description}");
    last.store(description["feeds"][0]["sequence"].as_u64().unwrap(), Ordering::Relaxed);
    let fast = reading.join().unwrap();
    let mut book = Book::default();
    drain(&mut slow, &mut book, &last);
    let (exchange, rejected) = running.stop();
    assert_eq!(rejected.slow_readers, 0);
    fast.check(exchange.engine());
    book.check(exchange.engine());
    assert!(!book.gaps.is_empty() && book.snapshots >= 2, "{:?}", book.gaps);
    for (from, to) in &book.gaps {
        assert!(from <= to);
    }
    let trades = exchange.counts().trades;
    assert!(book.trades < trades, "{} of {trades}", book.trades);
    // The reader may have lost its core for long enough to be skipped once; otherwise it got
    // everything.
    if fast.gaps.is_empty() {
        assert_eq!((fast.snapshots, fast.trades), (1, trades));
    }
    assert!(book.levels + book.trades < fast.levels + fast.trades);
    assert!(exchange.feed_counts().unwrap().json.gaps >= book.gaps.len() as u64);
}

/// All messages up to the `BOOK` with that number.
fn texts(client: &mut Client, last: u64) -> Vec<String> {
    client.socket.get_mut().set_read_timeout(Some(Duration::from_millis(400))).unwrap();
    let deadline = Deadline::after(Duration::from_secs(30));
    let (mut texts, mut sequence) = (Vec::new(), 0);
    while sequence < last {
        assert!(!deadline.left().is_zero(), "at {sequence} of {last}");
        let Some(text) = next(client) else { continue };
        if let Ok(Some(level)) = decode_level(text.as_bytes()) {
            sequence = level.feed_sequence;
        }
        texts.push(text);
    }
    texts
}

/// The last `BOOK` of each tick says when it was due, acknowledged and published; other subscribers
/// get the same messages without stamps.
#[test]
fn the_last_message_of_a_tick_has_stamps_for_those_that_asked() {
    let pace = Pace::Fixed { rate_per_second: 1_000.0, arrival: Arrival::Uniform, burst: 1 };
    let flow = FlowConfig { source: Source::Synthetic, pace, seconds: 0.5 };
    let clock = Clock::calibrate();
    let mut config = Config {
        flow: Some(flow),
        clock: Some(clock),
        start_book: StartBook::Empty,
        ..crate::running::config()
    };
    config.limits.open_orders_max = 40_000;
    config.limits.price_levels_max = 4_000;
    config.limits.outbound_bytes_max = 1 << 24;
    let running = Running::start_on("spin", config);
    let (mut stamped, mut plain) = (running.login("1"), running.login("2"));
    let begin = |client: &mut Client, channel: String| {
        let subscribed = client.ask(&channel);
        let snapshot = client.read();
        let Ok(MarketData::Snapshot(_)) = decode_market_data(snapshot.as_bytes()) else {
            panic!("{snapshot}")
        };
        (subscribed, snapshot)
    };
    let with_stamps = subscribe(&["BOOK"]).replace("\"}]", "\",\"stamps\":true}]");
    let (subscribed, snapshot) = begin(&mut stamped, with_stamps);
    let units = r#"{"name":"BOOK","instrument_code":"BTC_USDT","tick":"0.01","lot":"0.00001"}"#;
    assert!(subscribed.contains(units), "{subscribed}");
    let (subscribed, _) = begin(&mut plain, subscribe(&["BOOK"]));
    assert!(!subscribed.contains("tick"), "{subscribed}");
    let mut starter = running.login("3");
    let started_ns = clock.now_ns();
    assert_eq!(starter.ask(r#"{"type":"FLOW","action":"START"}"#), r#"{"type":"FLOW_STARTED"}"#);
    let ended: serde_json::Value = serde_json::from_str(&starter.read()).unwrap();
    let last = ended["book_sequence"].as_u64().unwrap();
    let description: serde_json::Value =
        serde_json::from_str(&starter.ask(r#"{"type":"DESCRIBE"}"#)).unwrap();
    let (with, without) = (texts(&mut stamped, last), texts(&mut plain, last));
    let ended_ns = clock.now_ns();
    let (tick, lot) = (decimal("0.01"), decimal("0.00001"));
    let mut book = feed::Book::new(feed::Channel::Levels, 0, 100_000);
    let mut set = |side, (price, amount): PriceAndAmount| {
        let (instrument, orders) = (0, 1);
        let price_ticks = price.in_units_of(tick).unwrap();
        let quantity_lots = amount.in_units_of(lot).unwrap() as u64;
        let level = feed::Message::Level { instrument, side, price_ticks, quantity_lots, orders };
        book.apply(&level).unwrap();
    };
    if let Ok(MarketData::Snapshot(snapshot)) = decode_market_data(snapshot.as_bytes()) {
        snapshot.bids.iter().for_each(|level| set(Side::Buy, *level));
        snapshot.asks.iter().for_each(|level| set(Side::Sell, *level));
    }
    let (mut ticks, mut published_ns) = (0, 0);
    assert_eq!(with.len(), without.len());
    for (with, without) in with.iter().zip(&without) {
        let level = decode_level(with.as_bytes()).unwrap().unwrap();
        let side = match level.side {
            wire::request::Side::Buy => Side::Buy,
            wire::request::Side::Sell => Side::Sell,
        };
        set(side, (level.price, level.amount));
        let Some(stamps) = level.stamps else {
            assert_eq!(with, without);
            continue;
        };
        ticks += 1;
        assert!(stamps.is_sorted() && stamps[0] >= started_ns && stamps[2] <= ended_ns, "{with}");
        assert!(stamps[2] > published_ns, "{with}");
        published_ns = stamps[2];
        let [a, b, c] = stamps;
        let without = without.strip_suffix('}').unwrap();
        assert_eq!(with, &format!(r#"{without},"stamps":[{a},{b},{c}]}}"#));
    }
    // Each of the 500 inputs changes a price, and those that came together are one tick.
    assert!(ticks > 0 && ticks <= 500, "{ticks}");
    let feeds = description["feeds"].as_array().unwrap();
    let state = feeds.iter().find(|feed| feed["depth"] == "BOOK").unwrap();
    assert_eq!(state["instrument_code"], "BTC_USDT");
    assert_eq!(state["sequence"], last);
    assert_eq!(state["book_hash"], format!("{:016x}", book.price_hash()));
}

#[test]
fn stamps_that_can_not_be_had_are_an_error() {
    let running = Running::start(crate::running::config());
    let mut client = running.login("1");
    let top = subscribe(&["TOP"]).replace("\"}]", "\",\"stamps\":true}]");
    let answer = client.ask(&top);
    assert!(answer.contains("channel TOP has no stamps"), "{answer}");
    let answer = client.ask(&top.replace("TOP", "BOOK"));
    assert!(answer.contains("no clock for them"), "{answer}");
}

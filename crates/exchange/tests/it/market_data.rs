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
use wire::market_data::{
    MarketData, PriceAndAmount, Top, decode_level, decode_market_data, decode_top,
};

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

/// All messages up to the `BOOK` or the `TOP` with that number.
fn texts(client: &mut Client, last: u64) -> Vec<String> {
    client.socket.get_mut().set_read_timeout(Some(Duration::from_millis(400))).unwrap();
    let deadline = Deadline::after(Duration::from_secs(30));
    let (mut texts, mut sequence) = (Vec::new(), 0);
    while sequence < last {
        assert!(!deadline.left().is_zero(), "at {sequence} of {last}");
        let Some(text) = next(client) else { continue };
        match decode_market_data(text.as_bytes()) {
            Ok(MarketData::Level(level)) => sequence = level.feed_sequence,
            Ok(MarketData::Top(top)) => sequence = top.feed_sequence,
            _ => {}
        }
        texts.push(text);
    }
    texts
}

/// An exchange with a flow of 500 inputs and a clock for stamps.
fn with_stamps(clock: Clock) -> Running {
    let pace = Pace::Fixed { rate_per_second: 1_000.0, arrival: Arrival::Uniform, burst: 1 };
    let flow = FlowConfig { source: Source::Synthetic, pace, seconds: 0.5 };
    let mut config = Config {
        flow: Some(flow),
        clock: Some(clock),
        start_book: StartBook::Empty,
        ..crate::running::config()
    };
    config.limits.open_orders_max = 40_000;
    config.limits.price_levels_max = 4_000;
    config.limits.outbound_bytes_max = 1 << 24;
    Running::start_on("spin", config)
}

/// A subscription with stamps.
fn stamped(channel: &str) -> String {
    subscribe(&[channel]).replace("\"}]", "\",\"stamps\":true}]")
}

/// Runs the flow. Returns the notice of its end, and the exchange's description after it.
fn run_flow(starter: &mut Client) -> [serde_json::Value; 2] {
    assert_eq!(starter.ask(r#"{"type":"FLOW","action":"START"}"#), r#"{"type":"FLOW_STARTED"}"#);
    let ended = starter.read();
    [ended, starter.ask(r#"{"type":"DESCRIBE"}"#)].map(|text| serde_json::from_str(&text).unwrap())
}

/// The state of a channel in a description.
fn state_of<'a>(description: &'a serde_json::Value, depth: &str) -> &'a serde_json::Value {
    let feeds = description["feeds"].as_array().unwrap();
    feeds.iter().find(|feed| feed["depth"] == depth).unwrap()
}

/// A stamped message is one without stamps, and the stamps.
#[track_caller]
fn same_but_for_stamps(with: &str, without: &str, [a, b, c]: [u64; 3]) {
    let without = without.strip_suffix('}').unwrap();
    assert_eq!(with, format!(r#"{without},"stamps":[{a},{b},{c}]}}"#));
}

/// The last `BOOK` of each tick says when it was due, acknowledged and published; other subscribers
/// get the same messages without stamps.
#[test]
fn the_last_message_of_a_tick_has_stamps_for_those_that_asked() {
    let clock = Clock::calibrate();
    let running = with_stamps(clock);
    let (mut client, mut plain) = (running.login("1"), running.login("2"));
    let begin = |client: &mut Client, channel: String| {
        let subscribed = client.ask(&channel);
        let snapshot = client.read();
        let Ok(MarketData::Snapshot(_)) = decode_market_data(snapshot.as_bytes()) else {
            panic!("{snapshot}")
        };
        (subscribed, snapshot)
    };
    let (subscribed, snapshot) = begin(&mut client, stamped("BOOK"));
    let units = r#"{"name":"BOOK","instrument_code":"BTC_USDT","tick":"0.01","lot":"0.00001"}"#;
    assert!(subscribed.contains(units), "{subscribed}");
    let (subscribed, _) = begin(&mut plain, subscribe(&["BOOK"]));
    assert!(!subscribed.contains("tick"), "{subscribed}");
    let mut starter = running.login("3");
    let started_ns = clock.now_ns();
    let [ended, description] = run_flow(&mut starter);
    let last = ended["book_sequence"].as_u64().unwrap();
    let (with, without) = (texts(&mut client, last), texts(&mut plain, last));
    let ended_ns = clock.now_ns();
    let (tick, lot) = (decimal("0.01"), decimal("0.00001"));
    let mut book = feed::Book::new(feed::Channel::Levels, 0, 100_000);
    let mut set = |side, (price, amount): PriceAndAmount| {
        let (instrument, orders) = (0, 1);
        let price_ticks = price.in_units_of(tick).unwrap();
        let quantity_lots = amount.in_units_of(lot).unwrap() as u64;
        let level =
            feed::FeedMessage::Level { instrument, side, price_ticks, quantity_lots, orders };
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
        same_but_for_stamps(with, without, stamps);
    }
    // Each of the 500 inputs changes a price, and those that came together are one tick.
    assert!(ticks > 0 && ticks <= 500, "{ticks}");
    let state = state_of(&description, "BOOK");
    assert_eq!(state["instrument_code"], "BTC_USDT");
    assert_eq!(state["sequence"], last);
    assert_eq!(state["book_hash"], format!("{:016x}", book.price_hash()));
}

/// Best prices in ticks and lots.
fn in_units(top: &Top<'_>) -> engine::Top {
    let (tick, lot) = (decimal("0.01"), decimal("0.00001"));
    let quote = |(price, amount): PriceAndAmount| engine::Quote {
        price_ticks: price.in_units_of(tick).unwrap(),
        quantity_lots: amount.in_units_of(lot).unwrap() as u64,
    };
    engine::Top { bid: top.bid.map(quote), ask: top.ask.map(quote) }
}

/// Each change of the best prices says when it was due, acknowledged and published. The exchange
/// counts the changes, and hashes all of them with the engine's own best prices at the end.
#[test]
fn each_change_of_the_top_has_stamps_for_those_that_asked() {
    let clock = Clock::calibrate();
    let running = with_stamps(clock);
    let (mut client, mut plain) = (running.login("1"), running.login("2"));
    let subscribed = client.ask(&stamped("TOP"));
    let units = r#"{"name":"TOP","instrument_code":"BTC_USDT","tick":"0.01","lot":"0.00001"}"#;
    assert!(subscribed.contains(units), "{subscribed}");
    assert!(!plain.ask(&subscribe(&["TOP"])).contains("tick"));
    let begun = client.read();
    let top = decode_top(begun.as_bytes()).unwrap().unwrap();
    assert_eq!(top.stamps, None);
    let since = top.feed_sequence;
    let mut history = feed::TopHistory::new(since, &in_units(&top));
    assert!(plain.read().contains(r#""type":"TOP""#));
    let (mut starter, started_ns) = (running.login("3"), clock.now_ns());
    let [ended, description] = run_flow(&mut starter);
    let last = ended["top_sequence"].as_u64().unwrap();
    assert_eq!(ended["book_sequence"], serde_json::Value::Null);
    let (with, without) = (texts(&mut client, last), texts(&mut plain, last));
    let ended_ns = clock.now_ns();
    assert_eq!(with.len(), without.len());
    let (mut before, mut published_ns) = (in_units(&top), 0);
    for (with, without) in with.iter().zip(&without) {
        let top = decode_top(with.as_bytes()).unwrap().unwrap();
        let stamps = top.stamps.unwrap();
        assert!(stamps.is_sorted() && stamps[0] >= started_ns && stamps[2] <= ended_ns, "{with}");
        assert!(stamps[2] > published_ns && in_units(&top) != before, "{with}");
        (published_ns, before) = (stamps[2], in_units(&top));
        same_but_for_stamps(with, without, stamps);
        history.change(top.feed_sequence, &before);
    }
    // Most of the 500 inputs leave the best prices as they are.
    let changes = with.len() as u64;
    assert!((1..=500).contains(&changes), "{changes}");
    let state = state_of(&description, "TOP");
    assert_eq!(state["instrument_code"], "BTC_USDT");
    assert_eq!((&state["since"], &state["changes"]), (&since.into(), &changes.into()));
    assert_eq!(state["sequence"], last);
    assert_eq!(state["book_hash"], format!("{:016x}", history.hash_with(&before)));
    let lost = feed::TopHistory::new(since, &before);
    assert_ne!(state["book_hash"], format!("{:016x}", lost.hash_with(&before)));
}

#[test]
fn stamps_that_can_not_be_had_are_an_error() {
    let running = Running::start(crate::running::config());
    let mut client = running.login("1");
    let answer = client.ask(&stamped("TRADES"));
    assert!(answer.contains("channel TRADES has no stamps"), "{answer}");
    for channel in ["BOOK", "TOP"] {
        let answer = client.ask(&stamped(channel));
        assert!(answer.contains("no clock for them"), "{answer}");
        // It stays subscribed, without stamps.
        assert!(client.read().contains(channel));
    }
}

//! Our messages about the feed and market data: golden bytes, and invalid messages.

use wire::administration::*;
use wire::market_data::*;
use wire::reply::*;
use wire::request::*;
use wire::{Decimal, MessageFault};

macro_rules! vector {
    ($name:literal) => {
        include_bytes!(concat!("../../../../clients/vectors/", $name)).as_slice()
    };
}

const TIME_MS: i64 = 1_700_000_000_123;

fn decimal(text: &str) -> Decimal {
    Decimal::parse(text).unwrap()
}

fn same_request(bytes: &[u8], request: Request<'_>) {
    assert_eq!(decode_request(bytes).as_ref(), Ok(&request));
    let mut out = Vec::new();
    crate::properties::encode_request(&mut out, &request);
    assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(bytes));
}

#[test]
fn requests_about_the_feed_have_their_golden_bytes() {
    let api_token = "3001".into();
    let stamped = Request::Authenticate {
        api_token,
        cancel_on_disconnect: None,
        stamps: Some(true),
        is_absent: false,
    };
    same_request(vector!("authenticate_stamps.json"), stamped);
    let feed = |depth| Channel { depth: Some(depth), ..Channel::named("FEED") };
    let unicast =
        Channel { address: Some("127.0.0.1:4000".parse().unwrap()), ..feed(Depth::Orders) };
    let channels = vec![Channel::named("ORDERS"), unicast];
    same_request(vector!("subscribe_feed.json"), Request::Subscribe { channels });
    let book = |name| Channel { instrument_code: Some("BTC_USDT".into()), ..Channel::named(name) };
    let channels = vec![feed(Depth::Levels), book("BOOK"), book("TRADES"), book("TOP")];
    same_request(vector!("subscribe_market_data.json"), Request::Subscribe { channels });
    let stamped = br#"{"type":"SUBSCRIBE","channels":[{"name":"BOOK","instrument_code":"BTC_USDT","stamps":true}]}"#;
    let channels = vec![Channel { stamps: Some(true), ..book("BOOK") }];
    same_request(stamped, Request::Subscribe { channels });
    let stamped =
        br#"{"type":"SUBSCRIBE","channels":[{"name":"FEED","depth":"ORDERS","stamp_every":64}]}"#;
    let channels = vec![Channel { stamp_every: Some(64), ..feed(Depth::Orders) }];
    same_request(stamped, Request::Subscribe { channels });
    same_request(vector!("feed_replay.json"), Request::FeedReplay { from: 1001, count: 20 });
    same_request(vector!("feed_snapshot.json"), Request::FeedSnapshot);
    same_request(vector!("flow_start.json"), Request::StartFlow);
    same_request(vector!("describe.json"), Request::Describe);
}

#[test]
fn what_a_request_about_the_feed_must_not_say() {
    let rejected = |text: &str| decode_request(text.as_bytes()).unwrap_err().fault;
    let named = |field, expected| MessageFault::WrongKind { field, expected };
    let address = named("channels[].address", "a numeric address such as 127.0.0.1:4000");
    for wrong in [r#""localhost:4000""#, r#""127.0.0.1""#, r#""""#] {
        let text =
            format!(r#"{{"type":"SUBSCRIBE","channels":[{{"name":"FEED","address":{wrong}}}]}}"#);
        assert_eq!(rejected(&text), address);
    }
    assert_eq!(
        rejected(r#"{"type":"SUBSCRIBE","channels":[{"name":"FEED","depth":"L3"}]}"#),
        MessageFault::UnknownValue { field: "channels[].depth", allowed: "ORDERS, LEVELS" }
    );
    assert_eq!(
        rejected(r#"{"type":"SUBSCRIBE","channels":[{"name":"FEED","stamp_every":-1}]}"#),
        named("channels[].stamp_every", "a number of datagrams")
    );
    assert_eq!(
        rejected(r#"{"type":"FEED_REPLAY","from":-1,"count":1}"#),
        named("from", "a message number")
    );
    assert_eq!(
        rejected(r#"{"type":"FEED_REPLAY","from":1,"count":4294967296}"#),
        named("count", "a number of messages")
    );
    assert_eq!(
        rejected(r#"{"type":"FLOW","action":"STOP"}"#),
        MessageFault::UnknownValue { field: "action", allowed: "START" }
    );
}

#[test]
fn subscriptions_name_everything() {
    let feed = FeedSubscription {
        depth: Depth::Orders,
        address: "127.0.0.1:4000".parse().unwrap(),
        session: 1_795_339_464_123_456_789,
        sequence: 8725,
        delivery_window_us: None,
    };
    let (name, instrument_code) = ("TOP".into(), "BTC_USDT".into());
    let channels = vec![
        Subscription::Account { account_id: "3001".into(), name: "ORDERS".into() },
        Subscription::Feed(feed),
        Subscription::MarketData { name, instrument_code, units: None },
    ];
    let subscriptions = Reply::Subscriptions(Subscriptions { channels, time_ms: TIME_MS });
    let bytes = vector!("subscriptions_feed.json");
    assert_eq!(decode_reply(bytes), Ok(subscriptions.clone()));
    let mut out = Vec::new();
    crate::properties::encode_reply(&mut out, &subscriptions);
    assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(bytes));
    let (name, instrument_code) = ("BOOK".into(), "BTC_USDT".into());
    let units = Some([decimal("0.01"), decimal("0.00001")]);
    let channels = vec![Subscription::MarketData { name, instrument_code, units }];
    let subscriptions = Reply::Subscriptions(Subscriptions { channels, time_ms: TIME_MS });
    let bytes = vector!("subscriptions_stamps.json");
    assert_eq!(decode_reply(bytes), Ok(subscriptions.clone()));
    let mut out = Vec::new();
    crate::properties::encode_reply(&mut out, &subscriptions);
    assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(bytes));
    let feed = Subscription::Feed(FeedSubscription { delivery_window_us: Some(150), ..feed });
    let subscriptions = Subscriptions { channels: vec![feed], time_ms: TIME_MS };
    let bytes = vector!("subscriptions_feed_delivery.json");
    let subscriptions = Reply::Subscriptions(subscriptions);
    assert_eq!(decode_reply(bytes), Ok(subscriptions.clone()));
    let mut out = Vec::new();
    crate::properties::encode_reply(&mut out, &subscriptions);
    assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(bytes));
}

#[test]
fn stamps_are_a_replys_last_key() {
    let bytes = vector!("booked_stamps.json");
    let stamps = [900_000_000_100, 900_000_000_250, 900_000_000_700, 900_000_001_000];
    let (reply, decoded) = decode_stamped_reply(bytes).unwrap();
    assert_eq!(decoded, Some(stamps));
    assert_eq!(Ok(&reply), decode_reply(vector!("booked.json")).as_ref());
    let mut out = Vec::new();
    crate::properties::encode_reply(&mut out, &reply);
    assert_eq!(decode_stamped_reply(&out), Ok((reply, None)));
    encode_stamps(&mut out, &stamps);
    assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(bytes));
}

#[test]
fn stamps_of_any_form_are_read_or_rejected() {
    let stamps = |text: &str| {
        let reply = format!(r#"{{"type":"AUTHENTICATED","stamps":{text}}}"#);
        decode_stamped_reply(reply.as_bytes()).map(|(_, stamps)| stamps)
    };
    assert_eq!(stamps("[1,2,3,4]"), Ok(Some([1, 2, 3, 4])));
    assert_eq!(stamps(" [ 1 , 2,3 ,18446744073709551615 ] "), Ok(Some([1, 2, 3, u64::MAX])));
    assert_eq!(stamps("null"), Ok(None));
    for wrong in ["[1,2,3]", "[1,2,3,4,5]", "[1,2,3,-4]", "[1,2,3,4.5]", "7", "{}", "[]", "\"x\""] {
        let expected = "an array of non-negative integers of the right length";
        let fault = MessageFault::WrongKind { field: "stamps", expected };
        assert_eq!(stamps(wrong), Err(ReplyError(fault)), "{wrong}");
    }
    for malformed in ["[1,2,3,4", "[1,2,,4]", "[01,2,3,4]", "[1,2,3,4,]"] {
        let fault = stamps(malformed).unwrap_err().0;
        assert!(matches!(fault, MessageFault::Malformed { .. }), "{malformed}: {fault}");
    }
}

#[test]
fn market_data_has_its_golden_bytes() {
    let same = |bytes: &[u8], data: MarketData<'_>| {
        assert_eq!(decode_market_data(bytes), Ok(data.clone()));
        let mut out = Vec::new();
        match &data {
            MarketData::Snapshot(of) => {
                let (bids, asks) = (of.bids.iter().copied(), of.asks.iter().copied());
                let (sequence, time_ms) = (of.feed_sequence, of.time_ms);
                encode_book_snapshot(&mut out, &of.instrument_code, bids, asks, sequence, time_ms);
            }
            MarketData::Level(level) => encode_level(&mut out, level),
            MarketData::Trade(trade) => encode_trade(&mut out, trade),
            MarketData::Top(top) => encode_top(&mut out, top),
            MarketData::Gap(gap) => encode_gap(&mut out, gap),
        }
        assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(bytes));
    };
    let (time_ms, feed_sequence) = (TIME_MS, 1234);
    let level = |price, amount| (decimal(price), decimal(amount));
    let code = || "BTC_USDT".into();
    let snapshot = BookSnapshot {
        instrument_code: code(),
        bids: vec![level("64999.99", "1.5"), level("64999.5", "0.25")],
        asks: vec![level("65000", "2")],
        feed_sequence,
        time_ms,
    };
    same(vector!("book_snapshot.json"), MarketData::Snapshot(snapshot));
    let (price, amount, side) = (decimal("64999.99"), decimal("0"), Side::Buy);
    let gone = Level {
        instrument_code: code(),
        side,
        price,
        amount,
        feed_sequence,
        time_ms,
        stamps: None,
    };
    assert_eq!(decode_level(vector!("book.json")), Ok(Some(gone.clone())));
    same(vector!("book.json"), MarketData::Level(gone.clone()));
    let stamped = Level { stamps: Some([1_000, 2_000, 3_000]), ..gone };
    assert_eq!(decode_level(vector!("book_stamps.json")), Ok(Some(stamped.clone())));
    same(vector!("book_stamps.json"), MarketData::Level(stamped));
    let (side, amount, trade_id) = (Side::Sell, decimal("0.5"), 77);
    let instrument_code = code();
    let trade = Trade { instrument_code, trade_id, side, price, amount, feed_sequence, time_ms };
    same(vector!("trade.json"), MarketData::Trade(trade));
    let bid = Some(level("64999.99", "1.5"));
    let (ask, stamps) = (None, None);
    let top = Top { instrument_code: code(), bid, ask, feed_sequence, time_ms, stamps };
    assert_eq!(decode_top(vector!("top.json")), Ok(Some(top.clone())));
    same(vector!("top.json"), MarketData::Top(top.clone()));
    let stamped = Top { stamps: Some([1_000, 2_000, 3_000]), ..top };
    assert_eq!(decode_top(vector!("top_stamps.json")), Ok(Some(stamped.clone())));
    same(vector!("top_stamps.json"), MarketData::Top(stamped));
    let gap = Gap { channel: "BOOK".into(), instrument_code: code(), from: 1235, to: 1300 };
    same(vector!("gap.json"), MarketData::Gap(gap));
    let partial = br#"{"type":"BOOK","instrument_code":"A"}"#;
    assert!(decode_market_data(partial).is_err());
    let fault = |text| decode_level(text).unwrap_err().0;
    assert_eq!(fault(partial), MessageFault::Missing { field: "feed_sequence" });
    assert_eq!(decode_level(vector!("gap.json")), Ok(None));
    assert_eq!(decode_top(vector!("book.json")), Ok(None));
}

#[test]
fn best_prices_of_any_form_are_read_or_rejected() {
    let bid = |text: &str| {
        let top = format!(
            r#"{{"type":"TOP","instrument_code":"A","bid":{text},"feed_sequence":1,"time":2}}"#
        );
        decode_top(top.as_bytes()).map(|top| top.unwrap().bid)
    };
    let level = Some((decimal("1.5"), decimal("2")));
    assert_eq!(bid(r#"["1.5","2"]"#), Ok(level));
    assert_eq!(bid(r#" [ "1.5" , "\u0032" ] "#), Ok(level));
    assert_eq!(bid("null"), Ok(None));
    for wrong in ["[]", r#"["1"]"#, r#"["1","2","3"]"#, "[1,2]", r#""1""#, r#"{"1":"2"}"#, "7"] {
        let expected = "an array of two strings";
        let fault = MessageFault::WrongKind { field: "bid", expected };
        assert_eq!(bid(wrong), Err(ReplyError(fault)), "{wrong}");
    }
    for malformed in [r#"["1","2""#, r#"["1",,"2"]"#, r#"["1" "2"]"#, r#"["1","2",]"#] {
        let fault = bid(malformed).unwrap_err().0;
        assert!(matches!(fault, MessageFault::Malformed { .. }), "{malformed}: {fault}");
    }
    let fault = bid(r#"["x","2"]"#).unwrap_err().0;
    assert!(matches!(fault, MessageFault::BadDecimal { field: "bid", .. }), "{fault}");
}

#[test]
fn notices_have_their_golden_bytes() {
    let same = |bytes: &[u8], notice: Notice<'_>| {
        assert_eq!(decode_notice(bytes), Ok(notice.clone()));
        let mut out = Vec::new();
        encode_notice(&mut out, &notice);
        assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(bytes));
    };
    same(vector!("flow_started.json"), Notice::FlowStarted);
    let ended = FlowEnded {
        inputs: 40_000,
        datagrams: 39_990,
        messages: 61_234,
        feed_sequence: 69_959,
        book_sequence: None,
        top_sequence: None,
    };
    same(vector!("flow_ended.json"), Notice::FlowEnded(ended));
    let reason = "message 17 is too old to be sent again; ask for a snapshot".into();
    same(vector!("feed_refused.json"), Notice::FeedRejected { reason });
    let feed = FeedState {
        depth: "ORDERS".to_owned(),
        sequence: 69_959,
        book_hash: "00f1e2d3c4b5a697".to_owned(),
        ..FeedState::default()
    };
    let description = Description {
        tool: "tickpath 0.1.0".to_owned(),
        session: "1795339464123456789".to_owned(),
        state_hash: "0123456789abcdef".to_owned(),
        feeds: vec![feed],
        time_base: serde_json::json!({
            "boot_id": "5f0c9a3e-1d7b-4b62-8c55-3a9f4b7d2e10",
            "clock": {"source": "tsc", "ns_per_count": 1_652_000_000u64, "origin_count": 7, "origin_ns": 9},
            "wall": {"clock_ns": 1_000, "wall_ns": 1_795_339_464_123_457_789u64, "bound_ns": 31},
            "utc": {"bound_ns": null, "from": "", "why": "there is no chrony here", "ptp_clocks": []},
        }),
        machine: serde_json::Value::Null,
        departures: None,
    };
    same(vector!("description.json"), Notice::Description(Box::new(description.clone())));
    let datagrams = vec![[69_959, 0, 1_795]];
    let departures = Some(Departures { bound_ns: 90, clock_steps: 0, datagrams });
    let stamped = Notice::Description(Box::new(Description { departures, ..description }));
    let mut bytes = Vec::new();
    encode_notice(&mut bytes, &stamped);
    assert_eq!(decode_notice(&bytes), Ok(stamped));
    let end = r#","departures":{"bound_ns":90,"clock_steps":0,"datagrams":[[69959,0,1795]]}}"#;
    assert!(bytes.ends_with(end.as_bytes()), "{}", String::from_utf8_lossy(&bytes));
    // Orders and market data are not notices; the reply decoder leaves notices to this one.
    assert!(decode_notice(vector!("booked.json")).is_err());
    let reply = decode_reply(vector!("flow_ended.json")).unwrap();
    assert_eq!(reply, Reply::Other { kind: "FLOW_ENDED".into() });
}

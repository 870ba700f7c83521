//! The feed over real sockets: followers' books, flows, stamps, replays and snapshots, limits.

use crate::following::{Following, config, config_with_flow, subscribe};
use crate::running::{Running, cancel, immediate, order};
use clock::Clock;
use clock::random::SplitMix64;
use clock::schedule::Arrival;
use engine::Side;
use exchange::{Feed, FlowConfig, Journal, Reach, Risk, Tokens};
use flow::{Pace, Source};
use serde_json::Value;
use std::net::{SocketAddrV4, UdpSocket};
use transport::datagram::{DatagramReceiver, DatagramSender, ReceiveOptions, SendOptions};

fn at_rate(rate_per_second: f64, seconds: f64) -> FlowConfig {
    let pace = Pace::Fixed { rate_per_second, arrival: Arrival::Uniform, burst: 1 };
    FlowConfig { source: Source::Synthetic, pace, seconds }
}

const START: &str = r#"{"type":"FLOW","action":"START"}"#;

/// The messages at a flow's end; the followers follow meanwhile.
fn run_flow(starter: &mut Following, others: &mut [&mut Following]) -> Value {
    assert_eq!(starter.client.ask(START), r#"{"type":"FLOW_STARTED"}"#);
    starter.client.socket.get_mut().set_nonblocking(true).unwrap();
    let ended = loop {
        starter.turn();
        for other in others.iter_mut() {
            other.turn();
        }
        match starter.client.socket.read() {
            Ok(message) => break message.to_string(),
            Err(tungstenite::Error::Io(error))
                if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => panic!("{error}"),
        }
    };
    starter.client.socket.get_mut().set_nonblocking(false).unwrap();
    let ended: Value = serde_json::from_str(&ended).unwrap();
    assert_eq!(ended["type"], "FLOW_ENDED", "{ended}");
    ended
}

#[test]
fn a_flow_is_followed_order_by_order_and_price_by_price() {
    let running = Running::start_on("spin", config_with_flow(at_rate(1000.0, 1.0)));
    let mut orders = Following::new(&running, "1", "ORDERS");
    let mut levels = Following::new(&running, "2", "LEVELS");
    orders.reach(0);
    levels.reach(0);
    let ended = run_flow(&mut orders, &mut [&mut levels]);
    orders.same_books();
    levels.same_books();
    assert_eq!(ended["inputs"], 1000);
    assert_eq!(ended["feed_sequence"], orders.follower.sequence());
    assert_eq!(ended["datagrams"], orders.live.len());
    let messages: u64 = orders.live.iter().map(|header| u64::from(header.count)).sum();
    assert_eq!(ended["messages"], messages);
    assert_eq!(orders.follower.counts().gaps + levels.follower.counts().gaps, 0);
    for header in orders.live.iter().chain(&levels.live) {
        let stamps = [header.intended_ns, header.acknowledged_ns, header.published_ns];
        assert!(stamps.is_sorted() && stamps[0] > 0, "{header:?}");
    }
    let (exchange, _) = running.stop();
    let engine = exchange.engine();
    for side in [Side::Buy, Side::Sell] {
        let theirs: Vec<(i64, u64, u32)> = engine.levels(0, side).collect();
        for following in [&orders, &levels] {
            let book = following.follower.book(0).unwrap();
            assert!(book.levels(side).eq(theirs.iter().copied()) && !theirs.is_empty());
        }
    }
    let counts = exchange.flow_counts().unwrap();
    assert_eq!((counts.inputs, counts.scheduled, counts.rejected), (1000, 1000, 0));
    assert!(counts.late_ns_p50 <= counts.late_ns_p99);
    let feed = exchange.feed_counts().unwrap();
    assert_eq!((feed.overrun, feed.faults), (0, 0));
    assert_eq!(exchange.replay_check().equal, Some(true), "{}", exchange.replay_check().why);
}

/// A gateway thread for the clients' sockets makes no difference.
#[test]
fn a_flow_is_followed_beside_gateways() {
    let open = |clock| {
        let backend = transport::backend("block").unwrap();
        transport::gateway::open(1, backend, None, clock, |_| Ok(())).unwrap()
    };
    let running = Running::start_over(open, config_with_flow(at_rate(1000.0, 0.3)));
    let mut following = Following::new(&running, "1", "ORDERS");
    following.reach(0);
    let ended = run_flow(&mut following, &mut []);
    assert_eq!(ended["inputs"], 300);
    following.same_books();
}

/// Each input of a slow flow is one datagram, that is, one tick.
#[test]
fn an_input_that_is_alone_is_a_datagram_and_a_burst_is_packed() {
    let alone = Running::start_on("spin", config_with_flow(at_rate(20.0, 0.5)));
    let mut following = Following::new(&alone, "1", "ORDERS");
    following.reach(0);
    let ended = run_flow(&mut following, &mut []);
    assert_eq!(ended["inputs"], 10);
    // On a busy machine an input may be 50 ms late; then one datagram holds it and the next.
    let late_ns = alone.stop().0.flow_counts().unwrap().late_ns_max.unwrap();
    assert!(ended["datagrams"] == 10 || late_ns >= 50_000_000, "late by {late_ns} ns: {ended}");
    let pace = Pace::Fixed { rate_per_second: 10_000.0, arrival: Arrival::Burst, burst: 500 };
    let burst = FlowConfig { source: Source::Synthetic, pace, seconds: 0.1 };
    let running = Running::start_on("spin", config_with_flow(burst));
    let mut following = Following::new(&running, "1", "ORDERS");
    following.reach(0);
    let ended = run_flow(&mut following, &mut []);
    following.same_books();
    assert_eq!(ended["inputs"], 1000);
    assert!(ended["datagrams"].as_u64().unwrap() < 250, "{ended}");
}

/// Clients trade with the exchange's flow while both send: their actions are on the feed, and they
/// get their own reports.
#[test]
fn clients_trade_against_the_flow() {
    let running = Running::start_on("spin", config_with_flow(at_rate(2000.0, 1.0)));
    let mut following = Following::new(&running, "1", "ORDERS");
    let mut trader = running.login("2");
    following.reach(0);
    assert_eq!(following.client.ask(START), r#"{"type":"FLOW_STARTED"}"#);
    let mut fills = 0;
    for n in 0..50 {
        let side = if n % 2 == 0 { "BUY" } else { "SELL" };
        let price = if n % 2 == 0 { "65050" } else { "64950" };
        trader.send(&immediate(&format!("c{n}"), side, price, "5"));
        loop {
            let reply = trader.read();
            fills += u32::from(reply.contains(r#""type":"FILL""#));
            if reply.contains(r#""type":"DONE""#) {
                break;
            }
        }
        following.turn();
    }
    assert!(fills >= 50);
    following.settle();
    let ended: Value = serde_json::from_str(&following.client.read()).unwrap();
    assert_eq!(ended["type"], "FLOW_ENDED", "{ended}");
    following.same_books();
    let (exchange, _) = running.stop();
    assert_eq!(exchange.replay_check().equal, Some(true));
    // The flow would have cancelled or changed some of the orders that they took.
    assert!(exchange.flow_counts().unwrap().rejected > 0);
    assert!(!exchange.counts().rejected.contains_key("UNKNOWN_ORDER"));
}

#[test]
fn a_clients_orders_and_an_operators_states_are_on_the_feed() {
    let operators =
        Tokens::parse("file", "[tokens]\n\"1\" = \"1\"\n[operators]\n\"op\" = \"op\"\n");
    let config = exchange::Config { tokens: operators.unwrap(), ..config() };
    let running = Running::start(config);
    let mut following = Following::new(&running, "1", "ORDERS");
    following.reach(0);
    let client = &mut following.client;
    client.ask(&order("a", "BUY", "100", "2"));
    client.ask(&order("b", "BUY", "101", "3"));
    client.ask(&cancel("a"));
    client.send(&immediate("c", "SELL", "101", "1"));
    (0..3).for_each(|_| drop(client.read()));
    following.settle();
    let book = following.follower.book(0).unwrap();
    let bids: Vec<_> = book.levels(Side::Buy).collect();
    assert_eq!(bids, [(10_100, 200_000, 1)]);
    assert_eq!(book.state(), engine::InstrumentState::Open);
    let mut operator = running.login("op");
    operator.ask(r#"{"type":"INSTRUMENT_STATE","instrument_code":"BTC_USDT","state":"HALTED"}"#);
    following.settle();
    let state = || following.follower.book(0).unwrap().state();
    assert_eq!(state(), engine::InstrumentState::Halted);
    // A trader is not an operator here.
    let rejected = following.client.ask(r#"{"type":"DESCRIBE"}"#);
    assert!(rejected.contains("only an operator"), "{rejected}");
    assert!(following.client.ask(START).contains("only an operator"));
    let description = operator.ask(r#"{"type":"DESCRIBE"}"#);
    let hash = format!("{:016x}", following.follower.book_hash());
    assert!(description.contains(&hash), "{description}");
    // There is no flow to start.
    assert!(operator.ask(START).contains("no flow of its own"));
}

/// Icebergs, stops, post-only, amendments, mass cancels, self-trades: as the engine shows them.
#[test]
fn every_kind_of_order_is_on_the_feed() {
    let text = "[default]\nself_trade = \"decrement\"\n";
    let config = config();
    let risk = Risk::parse("risk.toml", text, &config.instruments).unwrap();
    let running = Running::start(exchange::Config { risk, ..config });
    let mut orders = Following::new(&running, "1", "ORDERS");
    let mut levels = Following::new(&running, "2", "LEVELS");
    let mut random = SplitMix64::new(7);
    let mut pick = |of: &[&'static str]| of[random.below(of.len() as u32) as usize];
    for n in 0..400 {
        let (side, price) = (pick(&["BUY", "SELL"]), pick(&["98", "99", "100", "101", "102"]));
        let (id, old) = (format!("n{n}"), format!("n{}", n - n % 7 - 3));
        let amount = pick(&["0.5", "1", "3"]);
        let limit = |more: &str| {
            format!(
                r#"{{"type":"CREATE_ORDER","order":{{"instrument_code":"BTC_USDT","client_id":"{id}","side":"{side}","type":"LIMIT","price":"{price}","amount":"{amount}"{more}}}}}"#
            )
        };
        let gtc = r#","time_in_force":"GOOD_TILL_CANCELLED""#;
        let ask = match pick(&[
            "limit", "iceberg", "stop", "post", "fok", "ioc", "amend", "cancel", "mass",
        ]) {
            "limit" => limit(gtc),
            "iceberg" => limit(&format!(r#"{gtc},"display_amount":"0.25""#)),
            "stop" => limit(&format!(r#"{gtc},"stop_price":"100""#)),
            "post" => limit(&format!(r#"{gtc},"post_only":"REPRICE""#)),
            "fok" => limit(r#","time_in_force":"FILL_OR_KILL""#),
            "ioc" => limit(r#","time_in_force":"IMMEDIATE_OR_CANCELLED""#),
            "amend" => format!(
                r#"{{"type":"AMEND_ORDER","client_id":"{old}","instrument_code":"BTC_USDT","price":"{price}","amount":"0.4"}}"#
            ),
            "mass" if n % 11 == 0 => r#"{"type":"MASS_CANCEL"}"#.to_owned(),
            _ => cancel(&old),
        };
        let by = if n % 2 == 0 { &mut orders } else { &mut levels };
        by.client.send(&ask);
    }
    let (exchange, orders, levels) = {
        // All requests are done when both have this reply.
        orders.describe();
        levels.describe();
        orders.same_books();
        levels.same_books();
        (running.stop().0, orders, levels)
    };
    let counts = exchange.counts();
    assert!(counts.decremented > 0 && counts.triggered > 0 && counts.replenished > 0, "{counts:?}");
    for side in [Side::Buy, Side::Sell] {
        let engine: Vec<_> = exchange.engine().levels(0, side).collect();
        for following in [&orders, &levels] {
            assert!(following.follower.book(0).unwrap().levels(side).eq(engine.iter().copied()));
        }
    }
    assert_eq!(exchange.feed_counts().unwrap().faults, 0);
}

#[test]
fn missed_messages_are_replayed_and_too_old_ones_rejected() {
    let mut config = config();
    config.limits.feed_replay_packets_max = 8;
    let running = Running::start(config);
    let mut following = Following::new(&running, "1", "ORDERS");
    following.reach(0);
    let orders = |following: &mut Following, ids: std::ops::Range<u32>| {
        for id in ids {
            following.client.ask(&order(&format!("o{id}"), "BUY", "100", "1"));
        }
    };
    orders(&mut following, 0..3);
    following.settle();
    // Lose some: drop all datagrams that have arrived.
    orders(&mut following, 3..6);
    (0..3).for_each(|_| assert!(following.receive().is_some()));
    orders(&mut following, 6..7);
    following.reach(7);
    assert_eq!(following.follower.counts().gaps, 1);
    assert_eq!(following.follower.counts().snapshots, 1);
    following.same_books();
    // More than is kept: the replay is rejected, a snapshot helps.
    orders(&mut following, 7..27);
    (0..20).for_each(|_| assert!(following.receive().is_some()));
    let rejected = following.client.ask(r#"{"type":"FEED_REPLAY","from":8,"count":1}"#);
    assert!(rejected.contains("FEED_REFUSED") && rejected.contains("too old"), "{rejected}");
    let rejected = following.client.ask(r#"{"type":"FEED_REPLAY","from":28,"count":1}"#);
    assert!(rejected.contains("not been sent yet"), "{rejected}");
    orders(&mut following, 27..28);
    while following.follower.wants().is_none() {
        following.receive().into_iter().for_each(|n| following.take(n));
    }
    following.follower.request_rejected();
    following.reach(28);
    assert_eq!(following.follower.counts().snapshots, 2);
    following.same_books();
}

#[test]
fn only_subscribers_get_replays_and_their_number_is_limited() {
    let mut config = config();
    config.limits.feed_subscribers_max = 2;
    let running = Running::start(config);
    let mut client = running.login("1");
    for ask in [r#"{"type":"FEED_SNAPSHOT"}"#, r#"{"type":"FEED_REPLAY","from":1,"count":1}"#] {
        let rejected = r#"{"type":"FEED_REFUSED","reason":"subscribe to channel FEED first"}"#;
        assert_eq!(client.ask(ask), rejected);
    }
    let no_group = client.ask(r#"{"type":"SUBSCRIBE","channels":[{"name":"FEED"}]}"#);
    assert!(no_group.contains("needs an address"), "{no_group}");
    let first = Following::new(&running, "1", "ORDERS");
    let mut second = Following::new(&running, "1", "LEVELS");
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let third = subscribe(socket.local_addr().unwrap(), "ORDERS");
    assert!(client.ask(&third).contains("limit feed_subscribers_max = 2"));
    // A second subscription replaces the first; a closed connection frees its place.
    let again = subscribe(second.receiver.local_addr().unwrap(), "ORDERS");
    assert!(second.client.ask(&again).contains("SUBSCRIPTIONS"));
    drop(first);
    while !client.ask(&third).contains("SUBSCRIPTIONS") {}
    let counts = running.stop().0.counts();
    assert!(counts.limits["feed_subscribers_max"] >= 1);
}

/// A subscription ends with its connection; others continue.
#[test]
fn nothing_is_sent_to_who_is_gone() {
    let running = Running::start(config());
    let mut gone = Following::new(&running, "1", "ORDERS");
    let mut stays = Following::new(&running, "2", "ORDERS");
    stays.reach(0);
    gone.client = running.connect();
    stays.client.ask(&order("a", "BUY", "100", "1"));
    stays.reach(1);
    // The exchange notices the end after one or two orders at most, and then sends nothing.
    for n in 0..20 {
        stays.client.ask(&order(&format!("b{n}"), "BUY", "100", "1"));
    }
    stays.reach(21);
    stays.same_books();
    while let Some(n) = gone.receive() {
        gone.take(n);
    }
    let live = gone.live.len();
    assert!(live < 21, "{live} datagrams to nobody");
}

#[test]
fn an_exchange_without_a_feed_says_so() {
    let running = Running::start(crate::running::config());
    let mut client = running.login("1");
    let rejected = client.ask(&subscribe("127.0.0.1:9".parse().unwrap(), "ORDERS"));
    assert!(rejected.contains("this exchange has no feed"), "{rejected}");
    let stamps = r#"{"type":"AUTHENTICATE","api_token":"2","stamps":true}"#;
    assert!(client.ask(stamps).contains("no clock to stamp replies with"));
    client.nothing_more();
}

/// In sync mode a tick contains only durable inputs, which a power cut can't undo.
#[test]
fn a_sync_journal_holds_publication() {
    let directory = tempfile::tempdir().unwrap();
    let options = journal::Options { mode: journal::Mode::Sync, ..journal::Options::default() };
    let journal = Some(Journal { directory: directory.path().to_owned(), options });
    let mut config = config_with_flow(at_rate(2000.0, 0.3));
    (config.journal, config.replay_inputs_max) = (journal, 0);
    let running = Running::start_on("spin", config);
    let mut following = Following::new(&running, "1", "ORDERS");
    following.reach(0);
    let ended = run_flow(&mut following, &mut []);
    assert_eq!(ended["inputs"], 600);
    following.same_books();
    for header in &following.live {
        let stamps = [header.intended_ns, header.acknowledged_ns, header.published_ns];
        assert!(stamps.is_sorted(), "{header:?}");
    }
    let hash = running.stop().0.state_hash();
    let replayed = journal::replay(directory.path()).unwrap();
    assert_eq!(replayed.engine.state_hash(), hash);
}

/// When a datagram arrives, its input is in the journal's file. With `block` the exchange sleeps
/// until then, and a release wakes nobody: it looks again itself.
#[test]
fn what_a_tick_says_is_in_the_journal() {
    for backend in ["spin", "block"] {
        ticks_are_in_the_journal(backend);
    }
}

fn ticks_are_in_the_journal(backend: &'static str) {
    let directory = tempfile::tempdir().unwrap();
    let options = journal::Options { mode: journal::Mode::Sync, ..journal::Options::default() };
    let journal = Some(Journal { directory: directory.path().to_owned(), options });
    let running = Running::start_on(backend, exchange::Config { journal, ..config() });
    let mut following = Following::new(&running, "1", "ORDERS");
    following.reach(0);
    for n in 1..=50 {
        following.client.send(&order(&format!("o{n}"), "BUY", "1", "1"));
        while following.live.len() < n {
            following.turn();
        }
        let inputs = journal::Inputs::open(directory.path()).unwrap();
        let inputs = inputs.take_while(Result::is_ok).count();
        assert!(inputs >= n, "{inputs} inputs after {n} ticks");
        assert!(following.client.read().contains("BOOKED"));
    }
    following.same_books();
}

/// A group on the loopback interface: live datagrams, a snapshot on request, and a periodic one.
#[test]
fn a_group_is_sent_everything_once() {
    let (group, interface) = ([239, 255, 77, 1].into(), [127, 0, 0, 1].into());
    let options =
        ReceiveOptions { multicast: Some((group, interface)), ..crate::following::RECEIVE };
    let clock = Clock::calibrate();
    // The system chooses the group's port; the next one must be free only if a test wants it.
    let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let join = || DatagramReceiver::bind(([0, 0, 0, 0], port).into(), &options, clock);
    let outgoing = SendOptions { multicast_interface: Some(interface), ..SendOptions::default() };
    let can_send = DatagramSender::bind(([127, 0, 0, 1], 0).into(), &outgoing).is_ok();
    let (Ok(one), Ok(two), true) = (join(), join(), can_send) else {
        testing::skip!(Multicast, "no multicast on the loopback interface here");
    };
    let reach = Reach::Multicast { group: SocketAddrV4::new(group, port), interface };
    let feed = Some(Feed { reach, snapshot_seconds: 0.2, ..Feed::default() });
    let running = Running::start(exchange::Config { feed, ..config() });
    let mut asks = Following::listening(&running, "1", one, "ORDERS");
    let mut listens = Following::listening(&running, "2", two, "ORDERS");
    let subscribed = asks.client.ask(r#"{"type":"SUBSCRIBE","channels":[{"name":"FEED"}]}"#);
    assert!(subscribed.contains(&format!(r#""address":"239.255.77.1:{port}""#)), "{subscribed}");
    asks.client.ask(&order("a", "BUY", "100", "1"));
    // This follower has no connection for requests: the group's periodic snapshots are enough.
    listens.can_ask = false;
    asks.reach(1);
    listens.reach(1);
    for n in 0..20 {
        asks.client.ask(&order(&format!("b{n}"), "BUY", "100", "1"));
    }
    asks.reach(21);
    listens.reach(21);
    asks.same_books();
    listens.same_books();
    let subscribers = running.stop().0.feed_counts().unwrap().subscribers;
    assert_eq!(subscribers.len(), 2, "one of each depth: {subscribers:?}");
}

/// A recorded day, as fast as is convenient.
#[test]
fn a_recorded_day_is_followed() {
    let name = "esh4-glbx-mdp3-20231225.mbo.dbn.zst";
    let Some(path) = testing::market_data(name) else { return };
    let pace = Pace::Fixed { rate_per_second: 20_000.0, arrival: Arrival::Uniform, burst: 1 };
    let source = Source::DatabentoMbo(path);
    let running =
        Running::start_on("spin", config_with_flow(FlowConfig { source, pace, seconds: 1.0 }));
    let mut orders = Following::new(&running, "1", "ORDERS");
    let mut levels = Following::new(&running, "2", "LEVELS");
    orders.reach(0);
    levels.reach(0);
    let ended = run_flow(&mut orders, &mut [&mut levels]);
    assert_eq!(ended["inputs"], 20_000);
    orders.same_books();
    levels.same_books();
}

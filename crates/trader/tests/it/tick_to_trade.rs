//! A trader that follows a feed, over real sockets against a real exchange and against the raw
//! ticker of its floor.

use crate::ends::{FLOW, Flow, exchange, exchange_with, follow, plan, records, ticker};
use clock::schedule::Arrival;
use clock::{Clock, Deadline};
use exchange::{Feed, Reach};
use plan::faults::DatagramHarm;
use plan::faults::Inject;
use plan::process::ticks::{AuditPlan, FeedPlan, RawPlan, TickPlan};
use plan::tables::strategy::{StrategyName, StrategyPlan};
use plan::tables::ticks::FeedDialect;
use record::progress::Second;
use record::tick::{INTERVALS, Point, STAGES};
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use transport::datagram::{DatagramReceiver, ReceiveOptions};

/// Every tick becomes an order, every order is answered, and all stamps add up.
#[test]
fn every_tick_becomes_an_order_whose_way_is_known() {
    let (clock, directory) = (Clock::calibrate(), tempfile::tempdir().unwrap());
    for backend in ["block", "spin"] {
        let end = exchange(clock, FLOW, Inject::default());
        let files = directory.path().join(backend);
        std::fs::create_dir(&files).unwrap();
        let plan = TickPlan { backend: backend.into(), ..plan(&files, &end.target, clock, FLOW) };
        let led = follow(&plan);
        let (load, tick) = (&led.result.load, led.tick());
        assert!(led.result.complete, "{:?}", led.result);
        assert!(tick.datagrams > 100, "{tick:?}");
        assert_eq!((tick.gaps, tick.kernel_drops, tick.messages_replayed), (0, 0, 0), "{tick:?}");
        assert_eq!(
            (load.sent, load.received),
            (tick.datagrams, tick.datagrams),
            "{:?}",
            led.result
        );
        assert_eq!((load.lost, load.rejected, load.unexpected, load.duplicated), (0, 0, 0, 0));
        assert_eq!(tick.samples, tick.datagrams);
        assert_eq!((tick.samples_out_of_order, tick.samples_not_adding_up), (0, 0), "{tick:?}");
        assert_eq!(led.samples.len() as u64, tick.samples);
        assert_eq!(tick.book_hash, tick.exchange_book_hash, "{tick:?}");
        assert!(tick.refused.is_empty() && tick.faults.is_empty(), "{tick:?}");
        for interval in &INTERVALS {
            let tag = format!("t.{}.{}", interval.name, interval.kind.name());
            assert_eq!(led.series[&tag].0, tick.samples, "{tag}");
        }
        // Without receive stamps of the kernel two stages are joined.
        let stages = STAGES
            .iter()
            .filter(|stage| led.series.contains_key(&format!("t.{}.stage", stage.name)));
        assert_eq!(stages.count(), if tick.kernel_stamps.is_empty() { 11 } else { 13 });
    }
}

#[test]
fn the_floor_is_the_same_loop_without_a_thought() {
    let (clock, directory) = (Clock::calibrate(), tempfile::tempdir().unwrap());
    let end = ticker(clock, FLOW, 120);
    let raw = RawPlan { datagram_bytes: 120, order_bytes: 250, reply_bytes: 310, bare: false };
    let plan = TickPlan { raw: Some(raw), ..plan(directory.path(), &end.target, clock, FLOW) };
    let led = follow(&plan);
    let (load, tick) = (&led.result.load, led.tick());
    assert!(led.result.complete, "{:?}", led.result);
    assert_eq!(tick.datagrams, 1_200);
    assert_eq!((load.sent, load.received, load.lost), (1_200, 1_200, 0));
    assert_eq!(
        (tick.samples, tick.samples_out_of_order, tick.samples_not_adding_up),
        (1_200, 0, 0)
    );
    assert_eq!((load.message_bytes.order, load.message_bytes.order_reply), (250, 310));
    assert_eq!(led.series["t.tick_to_gateway.service"].0, 1_200);
    assert_eq!(led.series["t.decision.service"].1, 0, "nothing is thought, nothing is stamped");
}

/// As the traders of JSON and FIX have their ticks: over a connection of their own.
#[test]
fn the_floor_of_a_connection_is_the_same_loop_too() {
    let (clock, directory) = (Clock::calibrate(), tempfile::tempdir().unwrap());
    for (dialect, backend) in [(FeedDialect::JsonTop, "block"), (FeedDialect::Fix, "spin")] {
        let end = ticker(clock, FLOW, 120);
        // The ticker says how long its ticks are.
        let raw = RawPlan { datagram_bytes: 119, order_bytes: 250, reply_bytes: 310, bare: false };
        let files = directory.path().join(backend);
        std::fs::create_dir(&files).unwrap();
        let plan = plan(&files, &end.target, clock, FLOW);
        let feed = FeedPlan { dialect, ..plan.feed.clone() };
        let led = follow(&TickPlan { raw: Some(raw), feed, backend: backend.into(), ..plan });
        let (load, tick) = (&led.result.load, led.tick());
        assert!(led.result.complete, "{:?}", led.result);
        assert_eq!((tick.datagrams, tick.datagram_bytes), (1_200, 120));
        assert_eq!((load.sent, load.received, load.lost), (1_200, 1_200, 0));
        assert_eq!((tick.samples_out_of_order, tick.samples_not_adding_up), (0, 0), "{tick:?}");
        assert_eq!((tick.samples, tick.receive_buffer_bytes), (1_200, None));
        assert_eq!(tick.kernel_stamps, "software");
        assert!(led.series["t.network_in.stage"].0 > 0, "{:?}", led.series);
        assert_eq!(led.series["t.tick_to_gateway.service"].0, 1_200);
    }
}

/// The ticks are of one connection: a second trader is told why it gets none.
#[test]
fn a_raw_ticker_that_has_a_subscriber_is_an_error() {
    let (clock, directory) = (Clock::calibrate(), tempfile::tempdir().unwrap());
    let end = ticker(clock, FLOW, 120);
    let mut first = std::net::TcpStream::connect(&end.target).unwrap();
    let (kind, mut bytes) = (transport::echo::ticker::SUBSCRIBE_STREAM, Vec::new());
    let message =
        transport::echo::EchoMessage { length_bytes: 16, reply_bytes: 0, kind, sequence: 0 };
    message.encode(&mut bytes);
    first.write_all(&bytes).unwrap();
    first.read_exact(&mut bytes).unwrap();
    let raw = RawPlan { datagram_bytes: 120, order_bytes: 250, reply_bytes: 310, bare: false };
    let plan = plan(directory.path(), &end.target, clock, FLOW);
    let feed = FeedPlan { dialect: FeedDialect::Json, ..plan.feed.clone() };
    let plan = TickPlan { raw: Some(raw), feed, ..plan };
    let error = trader::follow(&plan, &AtomicBool::new(false), &mut |_| ()).unwrap_err();
    let source = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
    let why = format!("{error} {source}");
    assert!(why.contains("another connection has them"), "{why}");
}

/// The trader's own writes are delayed: only its stage `order` shows it.
#[test]
fn a_delay_shows_in_its_own_stage() {
    let (clock, directory) = (Clock::calibrate(), tempfile::tempdir().unwrap());
    let slow = Flow { rate_per_second: 15.0, seconds: 2.0, ..FLOW };
    let run = |name: &str, trader: Inject, exchange_harm: Inject| {
        let end = exchange(clock, slow, exchange_harm);
        let files = directory.path().join(name);
        std::fs::create_dir(&files).unwrap();
        let plan = TickPlan { inject: trader, ..plan(&files, &end.target, clock, slow) };
        let led = follow(&plan);
        assert!(led.result.complete, "{:?}", led.result);
        assert_eq!((led.tick().samples_out_of_order, led.tick().samples_not_adding_up), (0, 0));
        led
    };
    let late = Inject { delay_us: 30_000, ..Inject::default() };
    let quiet = run("quiet", Inject::default(), Inject::default());
    let ours = run("ours", late.clone(), Inject::default());
    let theirs = run("theirs", Inject::default(), late);
    let grew = |led: &crate::ends::Led, stage: &str| {
        let tag = format!("t.{stage}.stage");
        led.series[&tag].1.saturating_sub(quiet.series[&tag].1)
    };
    assert!(grew(&ours, "order") > 20_000_000, "{:?}", ours.series);
    assert!(grew(&theirs, "network_back") > 20_000_000, "{:?}", theirs.series);
    for stage in ["normalise", "signal", "risk", "engine", "gateway"] {
        assert!(grew(&ours, stage) < 10_000_000, "{stage}: {:?}", ours.series);
        assert!(grew(&theirs, stage) < 10_000_000, "{stage}: {:?}", theirs.series);
    }
}

/// Datagrams are lost, duplicated and reordered: the book still equals the exchange's.
#[test]
fn the_book_is_the_exchanges_whatever_the_network_does() {
    let (clock, directory) = (Clock::calibrate(), tempfile::tempdir().unwrap());
    // On a busy machine the first second may be over before the snapshot is there.
    let flow = Flow { rate_per_second: 500.0, seconds: 2.4, ..FLOW };
    for (name, backend, inject) in [
        ("dropped", "block", DatagramHarm { drop_every: 7, ..DatagramHarm::default() }),
        ("all", "spin", DatagramHarm { drop_every: 29, duplicate_every: 5, reorder_every: 11 }),
    ] {
        let end = exchange(clock, flow, Inject::default());
        let files = directory.path().join(name);
        std::fs::create_dir(&files).unwrap();
        let mut plan = plan(&files, &end.target, clock, flow);
        plan.backend = backend.into();
        plan.feed.inject = inject;
        let led = follow(&plan);
        let tick = led.tick();
        assert!(led.result.complete, "{name}: {:?}", led.result);
        assert!(tick.gaps > 0 && tick.messages_replayed > 0, "{name}: {tick:?}");
        assert!(tick.samples > 0 && tick.samples_out_of_order == 0, "{name}: {tick:?}");
        assert_eq!(tick.book_hash, tick.exchange_book_hash, "{name}: {tick:?}");
        assert_eq!(led.result.load.lost, 0);
        let doubled = tick.faults.get("duplicate").is_some_and(|count| *count > 0);
        assert!(doubled || inject.duplicate_every == 0, "{name}: {tick:?}");
    }
}

/// Anybody may send to a feed's port.
#[test]
fn a_storm_of_garbage_is_counted_and_changes_nothing() {
    let (clock, directory) = (Clock::calibrate(), tempfile::tempdir().unwrap());
    let end = exchange(clock, FLOW, Inject::default());
    let mut plan = plan(directory.path(), &end.target, clock, FLOW);
    let free = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    plan.feed.listen = free;
    let is_over = AtomicBool::new(false);
    let led = std::thread::scope(|scope| {
        scope.spawn(|| {
            let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
            let mut random = clock::random::SplitMix64::new(1);
            let deadline = clock::Deadline::after(Duration::from_secs(30));
            while !is_over.load(Ordering::Relaxed) && !deadline.left().is_zero() {
                let length = random.bits() as usize % 200;
                let bytes: Vec<u8> = (0..length).map(|_| random.bits() as u8).collect();
                // There may be no listener yet, or any more.
                let _ = socket.send_to(&bytes, free);
                std::thread::sleep(Duration::from_micros(300));
            }
        });
        let led = follow(&plan);
        is_over.store(true, Ordering::Relaxed);
        led
    });
    let tick = led.tick();
    assert!(led.result.complete, "{:?}", led.result);
    assert!(tick.faults.values().sum::<u64>() > 100, "{tick:?}");
    assert_eq!((tick.gaps, tick.samples), (0, tick.datagrams), "{tick:?}");
    assert_eq!(tick.book_hash, tick.exchange_book_hash);
}

/// It quotes, trades with the flow, and leaves no order behind.
#[test]
fn a_market_maker_ends_with_a_position_and_without_quotes() {
    let (clock, directory) = (Clock::calibrate(), tempfile::tempdir().unwrap());
    let flow = Flow { rate_per_second: 4_000.0, seconds: 1.5, ..FLOW };
    let end = exchange(clock, flow, Inject::default());
    let strategy = StrategyPlan {
        name: StrategyName::MarketMaking,
        amount: "0.00005".into(),
        // Ahead of everybody else wherever there is room.
        half_spread_ticks: 0.0,
        skew_ticks: 0.0,
        position_quotes_max: 1_000,
        ..StrategyPlan::default()
    };
    let file = directory.path().join("audit").display().to_string();
    let audit = Some(AuditPlan { file: file.clone(), core: None });
    let plan = TickPlan { strategy, audit, ..plan(directory.path(), &end.target, clock, flow) };
    let led = follow(&plan);
    let (load, tick) = (&led.result.load, led.tick());
    assert!(led.result.complete, "{:?}", led.result);
    let made = tick.market_making.as_ref().unwrap();
    assert!(made.quotes >= 2 && load.sent > made.quotes, "{made:?} {load:?}");
    assert!(made.quotes_filled > 0 && made.filled_lots > 0, "{made:?}");
    assert!(made.share_at_top.iter().all(|share| (0.0..=1.0).contains(share)), "{made:?}");
    assert!(made.queue_ahead_lots_p50.is_some() && made.flow_lifetime_ns[1].is_some(), "{made:?}");
    assert_eq!((load.lost, load.unexpected, load.duplicated), (0, 0, 0), "{load:?}");
    assert_eq!(tick.book_hash, tick.exchange_book_hash, "{tick:?}");
    // The log agrees: on each fill, and so on the position; on each answered message, including the
    // final cancels, which no tick led to.
    let (mut owed, mut ends, mut position_lots) = (std::collections::HashMap::new(), 0, 0);
    for record in records(&file) {
        match record {
            audit::Record::Order { order, tick, sent_ns, .. } => {
                *owed.entry(order).or_insert(0) += 1;
                ends += u64::from(tick == 0);
                assert!(sent_ns > 0, "the kernel takes all of it");
            }
            audit::Record::Ack { order, .. } => *owed.get_mut(&order).unwrap() -= 1,
            audit::Record::Fill { side, quantity_lots, .. } => {
                let lots = quantity_lots.cast_signed();
                position_lots += if side == audit::Side::Buy { lots } else { -lots };
            }
            _ => {}
        }
    }
    assert!(owed.values().all(|owed| *owed == 0), "{owed:?}");
    assert!((1..=2).contains(&ends), "{ends}");
    assert_eq!(position_lots, made.position_lots);
}

/// The connection is alive but the feed is silent: no quote may rest on a stale book.
#[test]
fn a_silent_feed_ends_the_run() {
    let (clock, directory) = (Clock::calibrate(), tempfile::tempdir().unwrap());
    let long = Flow { seconds: 30.0, ..FLOW };
    let stall = Inject { stall_ms: 6_000, stall_every_ms: 2_000, ..Inject::default() };
    let end = exchange(clock, long, stall);
    let result = follow(&plan(directory.path(), &end.target, clock, long)).result;
    assert!(!result.complete, "{result:?}");
    assert!(result.failures[0].contains("no datagram of the feed came for 2 s"), "{result:?}");
}

#[test]
fn everything_is_told_to_the_audit_log() {
    let (clock, directory) = (Clock::calibrate(), tempfile::tempdir().unwrap());
    let end = exchange(clock, FLOW, Inject::default());
    let file = directory.path().join("audit").display().to_string();
    let audit = Some(AuditPlan { file: file.clone(), core: None });
    let led = follow(&TickPlan { audit, ..plan(directory.path(), &end.target, clock, FLOW) });
    let (load, told) = (&led.result.load, led.tick().audit.as_ref().unwrap());
    assert!(led.result.complete, "{:?}", led.result);
    assert_eq!((told.lost, told.failed.as_str()), (0, ""), "{told:?}");
    assert!(told.windows > 0 && told.windows_ns > 0, "{told:?}");
    let mut counts = [0u64; 4];
    let first = records(&file).into_iter().find(|one| !matches!(one, audit::Record::Wall { .. }));
    assert!(matches!(first, Some(audit::Record::Session { feed: 1.., .. })), "{first:?}");
    for record in records(&file) {
        match record {
            audit::Record::Tick { kind: audit::TickKind::Live, .. } => counts[0] += 1,
            audit::Record::Decision { refused: None, .. } => counts[1] += 1,
            audit::Record::Order { .. } => counts[2] += 1,
            audit::Record::Ack { accepted: true, .. } => counts[3] += 1,
            _ => {}
        }
    }
    let ticks = led.tick().datagrams;
    assert_eq!(counts, [ticks, load.sent, load.sent, load.received]);
}

/// The exchange names its group, and the trader joins it. The snapshots that the group gets again
/// and again are no faults.
#[test]
fn a_group_is_joined_where_the_exchange_names_one() {
    let (clock, directory) = (Clock::calibrate(), tempfile::tempdir().unwrap());
    let interface = std::net::Ipv4Addr::LOCALHOST;
    let port = 20_000 + std::process::id() as u16 % 20_000;
    let group = std::net::SocketAddrV4::new([239, 255, 7, 1].into(), port);
    let reach = Reach::Multicast { group, interface };
    let options = ReceiveOptions {
        receive_buffer_bytes: 4096,
        kernel_stamps: false,
        multicast: Some((*group.ip(), interface)),
    };
    if let Err(error) = DatagramReceiver::bind(group.into(), &options, clock) {
        testing::skip!(Multicast, "{error}");
    }
    let feed = Feed { reach, snapshot_seconds: 0.1, ..Feed::default() };
    let end = exchange_with(feed, clock, FLOW, Inject::default());
    let mut plan = plan(directory.path(), &end.target, clock, FLOW);
    plan.feed.multicast = Some(interface);
    let led = follow(&plan);
    let tick = led.tick();
    assert!(led.result.complete, "{:?}", led.result);
    // A trader that waits for its core loses datagrams, and closes the gap.
    assert!(tick.gaps == 0 || tick.kernel_drops > 0, "{tick:?}");
    assert_eq!(tick.samples, tick.datagrams, "{tick:?}");
    assert!(tick.datagrams_not_needed > 0 && tick.faults.is_empty(), "{tick:?}");
    assert_eq!(tick.book_hash, tick.exchange_book_hash, "{tick:?}");
}

/// Ten bursts of 500: no datagram is lost, and the last of a burst waits for all before it.
#[test]
fn a_burst_is_drained_without_loss() {
    let (clock, directory) = (Clock::calibrate(), tempfile::tempdir().unwrap());
    let burst =
        Flow { rate_per_second: 10_000.0, seconds: 0.5, arrival: Arrival::Burst, burst: 500 };
    let end = exchange(clock, burst, Inject::default());
    let led = follow(&plan(directory.path(), &end.target, clock, burst));
    let tick = led.tick();
    assert!(led.result.complete, "{:?}", led.result);
    assert_eq!((tick.gaps, tick.kernel_drops), (0, 0), "{tick:?}");
    assert_eq!((tick.samples, tick.samples_out_of_order), (tick.datagrams, 0), "{tick:?}");
    assert_eq!(tick.book_hash, tick.exchange_book_hash);
}

/// An order that its own risk check rejects does not leave, and is counted by reason.
#[test]
fn an_order_that_risk_rejects_does_not_leave() {
    let (clock, directory) = (Clock::calibrate(), tempfile::tempdir().unwrap());
    let end = exchange(clock, FLOW, Inject::default());
    let profile = directory.path().join("risk.toml");
    std::fs::write(&profile, "[limits]\nmessages_per_second_max = 50\n").unwrap();
    let risk = Some(profile.display().to_string());
    let led = follow(&TickPlan { risk, ..plan(directory.path(), &end.target, clock, FLOW) });
    let rejected = led.tick().refused["messages_per_second_max"];
    assert!(led.result.complete, "{:?}", led.result);
    let mut seconds = std::collections::BTreeMap::new();
    for sample in &led.samples {
        let decided_ns = sample.stamps[Point::Decided as usize];
        *seconds.entry(decided_ns / 1_000_000_000).or_insert(0) += 1;
    }
    assert!(seconds.values().all(|sent| *sent <= 50), "{seconds:?}");
    assert_eq!(led.samples.len() as u64, led.result.load.sent);
    assert_eq!(led.result.load.sent + rejected, led.tick().datagrams);
}

/// Without a clock in the plan it finds out that the exchange is on the same machine.
#[test]
fn the_exchanges_clock_is_found_where_it_is_this_machines() {
    let (clock, directory) = (Clock::calibrate(), tempfile::tempdir().unwrap());
    let end = exchange(clock, FLOW, Inject::default());
    let led = follow(&TickPlan { clock: None, ..plan(directory.path(), &end.target, clock, FLOW) });
    let time = &led.tick().time;
    if time.boot_id.is_empty() {
        testing::skip!(Kernel, "no boot id here");
    }
    assert!(time.same_clock && led.tick().samples > 0, "{:?}", led.result);
    assert_eq!(led.tick().samples_out_of_order, 0);
}

#[test]
fn what_is_wrong_is_said() {
    let (clock, directory) = (Clock::calibrate(), tempfile::tempdir().unwrap());
    let end = exchange(clock, FLOW, Inject::default());
    let plan = plan(directory.path(), &end.target, clock, FLOW);
    let fails = |plan: TickPlan| {
        trader::follow(&plan, &AtomicBool::new(false), &mut |_| ()).unwrap_err().to_string()
    };
    let unknown = fails(TickPlan { instrument: "XYZ".into(), ..plan.clone() });
    assert!(unknown.contains("no instrument XYZ"), "{unknown}");
    let strategy = StrategyPlan { amount: "0.000001".into(), ..StrategyPlan::default() };
    let odd = fails(TickPlan { strategy, ..plan.clone() });
    assert!(odd.contains("no multiple of the lot"), "{odd}");
    let nowhere = fails(TickPlan { risk: Some("/nowhere.toml".into()), ..plan.clone() });
    assert!(nowhere.contains("/nowhere.toml"), "{nowhere}");
    let nobody = fails(TickPlan { target: "127.0.0.1:1".into(), ..plan.clone() });
    assert!(nobody.contains("is an exchange running there"), "{nobody}");
    // Before anything is measured, and without an exchange.
    let hlog = directory.path().join("nowhere/001.hlog").display().to_string();
    let unwritable = fails(TickPlan { hlog, target: "127.0.0.1:1".into(), ..plan.clone() });
    assert!(unwritable.contains("nowhere/001.hlog"), "{unwritable}");
    // A failed run leaves no log that would stop the next one.
    let audit =
        AuditPlan { file: directory.path().join("audit").display().to_string(), core: None };
    for _ in 0..2 {
        let strategy = StrategyPlan { amount: "0.000001".into(), ..StrategyPlan::default() };
        let odd = fails(TickPlan { strategy, audit: Some(audit.clone()), ..plan.clone() });
        assert!(odd.contains("no multiple of the lot"), "{odd}");
    }
    // The first trader gets the flow, which runs once.
    assert!(follow(&plan).result.complete);
    let again = follow(&plan).result;
    assert!(!again.complete && again.failures[0].contains("runs once"), "{again:?}");
}

/// Ctrl-C: what was measured so far is a result, marked as incomplete; so is the run of an exchange
/// that dies.
#[test]
fn a_run_that_ends_early_says_so() {
    let (clock, directory) = (Clock::calibrate(), tempfile::tempdir().unwrap());
    let long = Flow { seconds: 30.0, ..FLOW };
    for exchange_goes in [false, true] {
        let mut end = Some(exchange(clock, long, Inject::default()));
        let files = directory.path().join(exchange_goes.to_string());
        std::fs::create_dir(&files).unwrap();
        let ended = plan(&files, &end.as_ref().unwrap().target, clock, long);
        let plan = TickPlan { progress: true, ..ended };
        let stop = AtomicBool::new(false);
        let is_measuring = AtomicBool::new(false);
        let result = std::thread::scope(|scope| {
            let seen = &is_measuring;
            let mut tell = |_: &Second| seen.store(true, Ordering::Relaxed);
            let (plan, stopped) = (&plan, &stop);
            let running = scope.spawn(move || trader::follow(plan, stopped, &mut tell));
            let deadline = Deadline::after(Duration::from_secs(20));
            while !is_measuring.load(Ordering::Relaxed) && !deadline.left().is_zero() {
                std::thread::sleep(Duration::from_millis(10));
            }
            match exchange_goes {
                true => drop(end.take()),
                false => stop.store(true, Ordering::Relaxed),
            }
            running.join().unwrap().unwrap()
        });
        assert!(!result.complete && result.load.tick[0].samples > 0, "{result:?}");
        let told = result.failures.iter().any(|why| why.contains("connection ended"));
        assert_eq!(told, exchange_goes, "{result:?}");
    }
}

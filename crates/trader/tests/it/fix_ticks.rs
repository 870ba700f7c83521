//! A trader that follows market data over FIX, of a real exchange.

use crate::ends::{End, FLOW, Flow, Led, config, follow, plan};
use clock::Clock;
use exchange::{Exchange, Feed, Reach};
use fix_gateway::{Login, Security, Sessions, SharedCounts};
use plan::process::ticks::{FeedPlan, TickPlan};
use plan::tables::ticks::FeedDialect;
use record::progress::Second;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use transport::SideSet;
use transport::serve::serve;

/// An exchange that publishes its own synthetic orders, over FIX too.
struct WithFix {
    exchange: End,
    /// Its FIX port.
    address: String,
    counts: SharedCounts,
}

impl WithFix {
    /// The token of an account is its name.
    fn start(store: &Path, backend: &'static str, clock: Clock, flow: Flow) -> WithFix {
        let bind = || TcpListener::bind("127.0.0.1:0").unwrap();
        let (json, fix) = (bind(), bind());
        let address = |listener: &TcpListener| listener.local_addr().unwrap().to_string();
        let (target, address) = (address(&json), address(&fix));
        let settings = settings(store);
        let counts = SharedCounts::default();
        let shared = counts.clone();
        let exchange = End::run(target, move |stop| {
            let feed = Feed { reach: Reach::Unicast, ..Feed::default() };
            let mut exchange = Exchange::new(config(feed, clock, flow)).unwrap();
            let backend = transport::backend(backend).unwrap();
            let mut side = SideSet::open(clock, backend.row.spins).unwrap();
            side.streams.listen(fix).unwrap();
            let inner = backend.open_beside(clock, &[side.bell.as_fd()]).unwrap();
            let clients = (side.streams, true);
            let mut streams = fix_gateway::beside(inner, clients, settings, clock, shared);
            streams.listen(json).unwrap();
            let limits = exchange.limits().serve();
            serve(&mut *streams, &mut exchange, limits, clock, stop).unwrap();
        });
        WithFix { exchange, address, counts }
    }

    /// A plan over FIX for it.
    fn plan(&self, directory: &Path, clock: Clock, flow: Flow) -> TickPlan {
        let address = Some(self.address.clone());
        let feed = FeedPlan { dialect: FeedDialect::Fix, address, ..FeedPlan::default() };
        TickPlan { feed, ..plan(directory, &self.exchange.target, clock, flow) }
    }

    /// Ends it; logons, and those that it could not serve.
    fn end(self) -> (u64, u64) {
        drop(self.exchange);
        let counts = self.counts.lock().unwrap();
        (counts.logons, counts.unavailable)
    }
}

/// Ticks and lots are those of the exchange.
fn settings(store: &Path) -> fix_gateway::Settings {
    let security = |it: &exchange::Instrument| Security {
        symbol: it.code.as_str().into(),
        tick: it.tick,
        lot: it.lot,
        amount_min: it.lot,
    };
    let securities = exchange::Instruments::shipped().all().iter().map(security).collect();
    fix_gateway::Settings {
        sessions: Sessions::open(store, "TICKPATH", securities, false).unwrap(),
        login: Box::new(|logon| {
            let account = logon.password.clone()?;
            Some(Login { token: account.clone(), account })
        }),
        token: Box::new(|account| Some(account.to_owned())),
        limits: fix_gateway::Limits::default(),
    }
}

fn held(led: &Led) {
    let (load, tick) = (&led.result.load, led.tick());
    assert!(led.result.complete, "{:?}", led.result);
    assert!(tick.datagrams > 10 && tick.messages >= tick.datagrams, "{tick:?}");
    assert_eq!((load.sent, load.received), (tick.datagrams, tick.datagrams), "{:?}", led.result);
    assert_eq!((load.lost, load.rejected, load.unexpected, tick.gaps), (0, 0, 0, 0), "{tick:?}");
    assert_eq!(tick.samples, tick.datagrams);
    assert_eq!((tick.samples_out_of_order, tick.samples_not_adding_up), (0, 0), "{tick:?}");
    assert_eq!(tick.book_hash, tick.exchange_book_hash, "{tick:?}");
    assert!(!tick.book_hash.is_empty(), "{tick:?}");
}

/// Every tick becomes an order, all stamps add up, and the books are equal.
#[test]
fn ticks_over_fix_become_orders_whose_way_is_known() {
    let (clock, directory) = (Clock::calibrate(), tempfile::tempdir().unwrap());
    for backend in ["block", "spin"] {
        let files = directory.path().join(backend);
        std::fs::create_dir_all(files.join("store")).unwrap();
        let end = WithFix::start(&files.join("store"), backend, clock, FLOW);
        let led = follow(&TickPlan { backend: backend.into(), ..end.plan(&files, clock, FLOW) });
        held(&led);
        assert_eq!(end.end(), (1, 0));
    }
}

/// The exchange logs out: the run says so, and ends. It once told of the orders' connection alone,
/// which closes right after: a trader that sleeps looks at that first.
#[test]
fn a_logout_ends_the_run_with_its_reason() {
    let (clock, directory) = (Clock::calibrate(), tempfile::tempdir().unwrap());
    let flow = Flow { rate_per_second: 100.0, seconds: 30.0, ..FLOW };
    let store = directory.path().join("store");
    std::fs::create_dir(&store).unwrap();
    let end = WithFix::start(&store, "block", clock, flow);
    let plan = end.plan(directory.path(), clock, flow);
    let stop = end.exchange.stop_flag();
    // A second of the run has passed.
    let mut close = |_: &Second| stop.store(true, Ordering::Relaxed);
    let plan = TickPlan { progress: true, ..plan };
    let result = trader::follow(&plan, &AtomicBool::new(false), &mut close).unwrap();
    assert!(!result.complete);
    let failures = result.failures.join("; ");
    assert!(failures.contains("the exchange logged out: the exchange is stopping"), "{failures}");
}

/// The Logon, or the instrument, or the port is wrong: each error says which.
#[test]
fn what_can_not_be_followed_is_an_error_that_says_so() {
    let (clock, directory) = (Clock::calibrate(), tempfile::tempdir().unwrap());
    let end = WithFix::start(directory.path(), "block", clock, FLOW);
    let plan = end.plan(directory.path(), clock, FLOW);
    let error = |plan: &TickPlan| {
        let failed = trader::follow(plan, &AtomicBool::new(false), &mut |_| ());
        failed.unwrap_err().to_string()
    };
    let unknown = error(&TickPlan { instrument: "ETH_EUR".into(), ..plan.clone() });
    assert!(unknown.contains("lists no ETH_EUR"), "{unknown}");
    let feed = FeedPlan { address: Some(end.exchange.target.clone()), ..plan.feed.clone() };
    let wrong_port = error(&TickPlan { feed, ..plan.clone() });
    assert!(wrong_port.contains("this is not its FIX port"), "{wrong_port}");
    let feed = FeedPlan { address: None, ..plan.feed.clone() };
    let no_address = error(&TickPlan { feed, ..plan });
    assert!(no_address.contains("name the exchange's FIX port with feed.address"), "{no_address}");
}

//! A trader that follows market data over FIX, from the real gateway before a real exchange.

use crate::ends::{End, FLOW, Flow, Led, exchange, follow, plan};
use clock::Clock;
use fix_gateway::{Counts, Login, Security};
use plan::faults::Inject;
use plan::process::ticks::{FeedPlan, TickPlan};
use plan::tables::ticks::FeedDialect;
use record::progress::Second;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// A FIX gateway before an exchange.
struct Door {
    address: String,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Counts>>,
}

impl Door {
    /// The token of an account is its name. Ticks and lots are those of the exchange.
    fn open(end: &End, store: &Path, clock: Clock) -> Door {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let security = |it: &exchange::Instrument| Security {
            symbol: it.code.clone(),
            tick: it.tick,
            lot: it.lot,
            amount_min: it.lot,
        };
        let settings = fix_gateway::Settings {
            comp_id: "TICKPATH".to_owned(),
            store: store.to_owned(),
            login: Box::new(|logon| {
                let account = logon.password.clone()?;
                Some(Login { token: account.clone(), account })
            }),
            securities: exchange::Instruments::shipped().all().iter().map(security).collect(),
            limits: fix_gateway::Limits::default(),
        };
        let target = fix_gateway::Exchange {
            address: end.target.parse().unwrap(),
            secure: Box::new(|socket| Ok(socket.into())),
        };
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut streams = transport::backend("block").unwrap().open(clock).unwrap();
            streams.listen(listener).unwrap();
            fix_gateway::serve(&mut *streams, target, settings, clock, &stopped).unwrap()
        });
        Door { address, stop, thread: Some(thread) }
    }

    fn close(&mut self) -> Counts {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// A plan over FIX for an exchange behind a door.
fn fix_plan(directory: &Path, end: &End, door: &Door, clock: Clock, flow: Flow) -> TickPlan {
    let address = Some(door.address.clone());
    let feed = FeedPlan { dialect: FeedDialect::Fix, address, ..FeedPlan::default() };
    TickPlan { feed, ..plan(directory, &end.target, clock, flow) }
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
        let end = exchange(clock, FLOW, Inject::default());
        let files = directory.path().join(backend);
        std::fs::create_dir_all(files.join("store")).unwrap();
        let mut door = Door::open(&end, &files.join("store"), clock);
        let plan = fix_plan(&files, &end, &door, clock, FLOW);
        let led = follow(&TickPlan { backend: backend.into(), ..plan });
        held(&led);
        let counts = door.close();
        assert_eq!((counts.logons, counts.unavailable), (1, 0), "{counts:?}");
    }
}

/// The gateway logs out: the run says so, and ends.
#[test]
fn a_logout_ends_the_run_with_its_reason() {
    let (clock, directory) = (Clock::calibrate(), tempfile::tempdir().unwrap());
    let flow = Flow { rate_per_second: 100.0, seconds: 30.0, ..FLOW };
    let end = exchange(clock, flow, Inject::default());
    let store = directory.path().join("store");
    std::fs::create_dir(&store).unwrap();
    let mut door = Door::open(&end, &store, clock);
    let plan = fix_plan(directory.path(), &end, &door, clock, flow);
    let stop = Arc::clone(&door.stop);
    // A second of the run has passed.
    let mut close = |_: &Second| stop.store(true, Ordering::Relaxed);
    let plan = TickPlan { progress: true, ..plan };
    let result = trader::follow(&plan, &AtomicBool::new(false), &mut close).unwrap();
    assert!(!result.complete);
    door.close();
    let failures = result.failures.join("; ");
    assert!(failures.contains("the exchange logged out: the exchange is stopping"), "{failures}");
}

/// The Logon, or the instrument, or the port is wrong: each error says which.
#[test]
fn what_can_not_be_followed_is_an_error_that_says_so() {
    let (clock, directory) = (Clock::calibrate(), tempfile::tempdir().unwrap());
    let end = exchange(clock, FLOW, Inject::default());
    let mut door = Door::open(&end, directory.path(), clock);
    let plan = fix_plan(directory.path(), &end, &door, clock, FLOW);
    let error = |plan: &TickPlan| {
        let failed = trader::follow(plan, &AtomicBool::new(false), &mut |_| ());
        failed.unwrap_err().to_string()
    };
    let unknown = error(&TickPlan { instrument: "ETH_EUR".into(), ..plan.clone() });
    assert!(unknown.contains("lists no ETH_EUR"), "{unknown}");
    let feed = FeedPlan { address: Some(end.target.clone()), ..plan.feed.clone() };
    let wrong_port = error(&TickPlan { feed, ..plan.clone() });
    assert!(wrong_port.contains("this is not its FIX port"), "{wrong_port}");
    let feed = FeedPlan { address: None, ..plan.feed.clone() };
    let no_address = error(&TickPlan { feed, ..plan });
    assert!(no_address.contains("name the exchange's FIX port with feed.address"), "{no_address}");
    door.close();
}

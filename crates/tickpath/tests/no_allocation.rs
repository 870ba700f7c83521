//! Neither the trader nor the exchange allocates per message in the steady state. Both run here in one
//! process over real sockets, under an allocator that counts; a run of nearly twice the messages must
//! not allocate more than the shorter one.

use exchange::{Config, Exchange};
use measure::clock::Clock;
use std::alloc::{GlobalAlloc, Layout, System};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use trader::plan::{Load, Model, Plan, Wire};
use transport::gateways::{self, GatewaysError};
use transport::serve::serve;

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps `GlobalAlloc`'s contract, which is the same.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Runs for `seconds` against an exchange with so many gateways; returns messages sent and allocations made, by
/// both ends together.
fn run(model: Model, connections: usize, gateways: usize, seconds: f64) -> (u64, u64) {
    let directory = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = listener.local_addr().unwrap().to_string();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let server = scope.spawn(|| {
            let clock = Clock::calibrate();
            let mut exchange = Exchange::new(Config::default()).unwrap();
            let limits = exchange.limits().serve();
            let backend = transport::backend("block").unwrap();
            let mut streams = match gateways {
                0 => backend.open(clock).unwrap(),
                count => gateways::open(count, backend, clock, |_| Ok(())).unwrap(),
            };
            streams.listen(listener).unwrap();
            serve(&mut *streams, &mut exchange, limits, clock, &stop).unwrap();
        });
        let plan = Plan {
            subject: "t".into(),
            target,
            wire: Wire::WebsocketJson,
            backend: "block".into(),
            core: None,
            scheduling: host::Scheduling::Other,
            load: Load {
                model,
                rate_per_second: 10_000.0,
                accounts: 4,
                connections,
                ..Load::default()
            },
            warm_up_seconds: 0.3,
            seconds,
            inject: Default::default(),
            hlog: directory.path().join("001.hlog").display().to_string(),
            progress: false,
        };
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        let result = trader::run(&plan, &AtomicBool::new(false), &mut |_| ()).unwrap();
        let allocations = ALLOCATIONS.load(Ordering::Relaxed) - before;
        stop.store(true, Ordering::Relaxed);
        server.join().unwrap();
        assert!(result.complete, "{result:?}");
        assert_eq!((result.load.rejected, result.load.unexpected), (0, 0), "{result:?}");
        (result.load.sent, allocations)
    })
}

/// One test, so that nothing else allocates meanwhile. With 4 accounts on 2 connections messages
/// carry an account id.
#[test]
fn twice_the_messages_take_no_more_allocations() {
    let backend = transport::backend("block").unwrap();
    let tried = gateways::open(1, backend, Clock::calibrate(), |_| Ok(()));
    let gateways_max = match tried.map(drop) {
        Err(GatewaysError::Ring(error)) => {
            eprintln!("skipped: no gateways here: {error}");
            0
        }
        _ => 2,
    };
    for (model, connections, gateways) in [
        (Model::Open, 4, 0),
        (Model::Open, 2, 0),
        (Model::PingPong, 4, 0),
        (Model::Open, 4, 1),
        (Model::PingPong, 4, 2),
    ] {
        if gateways > gateways_max {
            continue;
        }
        let (few, allocations_few) = run(model, connections, gateways, 0.5);
        let (many, allocations_many) = run(model, connections, gateways, 0.95);
        let more = many - few;
        assert!(more > 1_000, "{more} more messages");
        let difference = allocations_many.abs_diff(allocations_few);
        assert!(
            difference * 20 < more,
            "{model:?} on {connections}, {gateways} gateways: {allocations_few} allocations for {few} messages, \
             {allocations_many} for {many}"
        );
    }
}

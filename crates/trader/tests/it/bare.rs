//! The bare client over real sockets against the bare echo and the bare ticker: its counts, and the
//! end of a run if the other end misbehaves.

use crate::ends::{FLOW, follow, plan as tick_plan};
use clock::Clock;
use plan::process::orders::{OrdersPlan, Wire};
use plan::process::ticks::{RawPlan, TickPlan};
use plan::tables::load::{Load, Model};
use record::{ClientResult, MessageBytes};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use transport::datagram::{DatagramSender, SendOptions};
use transport::echo::bare;
use transport::echo::ticker::{TickerEcho, TickerSettings};

const BYTES: MessageBytes =
    MessageBytes { order: 212, order_reply: 291, cancel: 111, cancel_reply: 272 };

fn plan(listener: &TcpListener, directory: &tempfile::TempDir, backend: &str) -> OrdersPlan {
    OrdersPlan {
        subject: "bare".into(),
        target: listener.local_addr().unwrap().to_string(),
        wire: Wire::Bare(BYTES),
        backend: backend.into(),
        queue: Default::default(),
        core: None,
        scheduling: host::Scheduling::Other,
        load: Load { model: Model::PingPong, accounts: 1, connections: 1, ..Load::default() },
        warm_up_seconds: 0.1,
        seconds: 0.4,
        tls: None,
        inject: Default::default(),
        bulk: None,
        exchange_process: None,
        silence_ms_max: None,
        hlog: directory.path().join(format!("{backend}.hlog")).display().to_string(),
        progress: false,
    }
}

fn run(plan: &OrdersPlan, stop: &AtomicBool) -> ClientResult {
    trader::run(plan, stop, &mut |_| ()).unwrap()
}

#[test]
fn every_round_trip_is_counted_and_logged() {
    for backend in ["spin", "block"] {
        let directory = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let plan = plan(&listener, &directory, backend);
        let end = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| bare::serve(&listener, backend == "spin", &end));
            let result = run(&plan, &AtomicBool::new(false));
            end.store(true, Ordering::Relaxed);
            assert!(result.complete, "{result:?}");
            let load = result.load;
            assert!(load.sent > 0, "{load:?}");
            assert_eq!((load.sent, load.lost, load.message_bytes), (load.received, 0, BYTES));
            let log = std::fs::read(&plan.hlog).unwrap();
            let totals = record::hlog::totals(&log[..]).unwrap();
            for series in ["order.service", "cancel.service", "cycle.service"] {
                assert_eq!(totals[&format!("bare.{series}")].len(), load.sent / 2, "{series}");
            }
        });
    }
}

#[test]
fn a_run_ends_at_once_when_it_is_stopped_or_the_other_end_ends() {
    for other_ends in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let plan = OrdersPlan { seconds: 60.0, ..plan(&listener, &directory, "block") };
        let (end, stop) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| bare::serve(&listener, false, &end));
            scope.spawn(|| {
                std::thread::sleep(Duration::from_secs(1));
                let ended = if other_ends { &end } else { &stop };
                ended.store(true, Ordering::Relaxed);
            });
            let started = Instant::now();
            let result = run(&plan, &stop);
            end.store(true, Ordering::Relaxed);
            assert!(started.elapsed() < Duration::from_secs(10));
            assert!(!result.complete, "{result:?}");
            let why = result.failures.join("; ");
            assert_eq!(why.contains("ended in mid-run"), other_ends, "{why}");
        });
    }
}

/// The other end takes everything and answers nothing: the client gives up after five seconds.
#[test]
fn a_silent_end_has_a_deadline() {
    let directory = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let plan = OrdersPlan { seconds: 60.0, ..plan(&listener, &directory, "spin") };
    let (sender, silent) = std::sync::mpsc::channel::<TcpStream>();
    let thread = std::thread::spawn(move || sender.send(listener.accept().unwrap().0));
    let started = Instant::now();
    let result = run(&plan, &AtomicBool::new(false));
    assert!(started.elapsed() < Duration::from_secs(20));
    assert!(result.failures[0].contains("no reply for 5 s"), "{result:?}");
    thread.join().unwrap().unwrap();
    drop(silent);
}

#[test]
fn every_tick_becomes_an_order_that_is_answered_with_stamps() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Clock::calibrate();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let end = AtomicBool::new(false);
    let settings = TickerSettings {
        datagram_bytes: 120,
        rate_per_second: FLOW.rate_per_second,
        arrival: FLOW.arrival,
        burst: FLOW.burst,
        seconds: FLOW.seconds,
    };
    let sender = DatagramSender::bind("127.0.0.1:0".parse().unwrap(), &SendOptions::default());
    let mut ticker = TickerEcho::new(settings, sender.unwrap(), clock).unwrap();
    let raw = RawPlan { datagram_bytes: 120, order_bytes: 250, reply_bytes: 310, bare: true };
    let target = listener.local_addr().unwrap().to_string();
    let plan = tick_plan(directory.path(), &target, clock, FLOW);
    let plan = TickPlan { raw: Some(raw), backend: "spin".into(), warm_up_seconds: 0.1, ..plan };
    std::thread::scope(|scope| {
        scope.spawn(|| bare::serve_ticks(&listener, &mut ticker, &end));
        let led = follow(&plan);
        end.store(true, Ordering::Relaxed);
        assert!(led.result.complete, "{:?}", led.result);
        let load = &led.result.load;
        assert_eq!((load.sent, load.lost), (load.received, 0));
        assert_eq!(load.sent + load.warm_up_sent, 1200);
        assert_eq!(led.samples.len() as u64, load.sent, "every sample is whole and in order");
        assert_eq!(led.tick().samples_not_adding_up, 0);
        assert_eq!(led.series["t.tick_to_trade.service"].0, load.sent, "{:?}", led.series.keys());
    });
}

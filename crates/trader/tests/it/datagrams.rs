//! Requests over datagrams against the echo: what is lost, doubled, out of order or late is counted
//! exactly, and a lost request is in the figures with the time that was waited for it.

use clock::Clock;
use clock::time_base::{EchoClock, TimeBase};
use plan::faults::{DatagramHarm, Inject};
use plan::process::orders::{DatagramPlan, OneWayPlan, OrdersPlan, Wire};
use plan::tables::load::{Load, Model};
use plan::tables::one_way::OneWay;
use record::{ClientResult, MessageBytes};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use transport::echo::EchoMessage;
use transport::echo::datagrams::{DatagramCounts, EchoSocket, serve};

pub struct Echo {
    pub address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<DatagramCounts>>,
}

impl Echo {
    fn start() -> Echo {
        Echo::start_by(Clock::calibrate())
    }

    pub fn start_by(clock: Clock) -> Echo {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        // Each test's far end is another machine.
        let describe = move |kernel| {
            let time = TimeBase { boot_id: "elsewhere".to_owned(), ..host::utc::time_base(clock) };
            serde_json::to_string(&EchoClock { time, kernel }).unwrap()
        };
        let thread = std::thread::spawn(move || {
            serve(EchoSocket::Kernel(socket), false, (clock, &describe), &stopped).unwrap()
        });
        Echo { address, stop, thread: Some(thread) }
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

pub const BYTES: MessageBytes =
    MessageBytes { order: 256, order_reply: 200, cancel: 256, cancel_reply: 200 };

pub fn plan(address: SocketAddr, directory: &tempfile::TempDir, load: Load) -> OrdersPlan {
    OrdersPlan {
        subject: "t".into(),
        target: address.to_string(),
        wire: Wire::Datagrams(DatagramPlan {
            bytes: BYTES,
            patience_ms: 300,
            one_way: None,
            harm: DatagramHarm::default(),
        }),
        backend: "block".into(),
        queue: Default::default(),
        core: None,
        scheduling: host::Scheduling::Other,
        load,
        // Without a warm-up what is injected falls into the measured part.
        warm_up_seconds: 0.0,
        seconds: 0.5,
        tls: None,
        inject: Inject::default(),
        bulk: None,
        exchange_process: None,
        silence_ms_max: None,
        hlog: directory.path().join("001.hlog").display().to_string(),
        progress: false,
    }
}

fn harmed(mut plan: OrdersPlan, harm: DatagramHarm) -> OrdersPlan {
    plan.wire =
        Wire::Datagrams(DatagramPlan { bytes: BYTES, patience_ms: 300, one_way: None, harm });
    plan
}

pub type Totals = std::collections::BTreeMap<String, hdrhistogram::Histogram<u64>>;

pub fn run(plan: &OrdersPlan) -> (ClientResult, Totals) {
    let result = trader::run(plan, &AtomicBool::new(false), &mut |_| ()).unwrap();
    (result, record::hlog::totals(&std::fs::read(&plan.hlog).unwrap()[..]).unwrap())
}

/// A thousand requests over one flow.
pub fn open_load() -> Load {
    Load { rate_per_second: 2_000.0, accounts: 1, connections: 1, ..Load::default() }
}

#[test]
fn every_request_has_its_reply_over_each_backend_and_model() {
    let echo = Echo::start();
    for backend in ["block", "spin"] {
        for model in [Model::Open, Model::PingPong] {
            let directory = tempfile::tempdir().unwrap();
            let load = Load { model, accounts: 6, connections: 6, ..open_load() };
            let plan =
                OrdersPlan { backend: backend.into(), ..plan(echo.address, &directory, load) };
            let (result, totals) = run(&plan);
            let load = result.load;
            assert!(result.complete && load.sent > 0, "{load:?}");
            assert_eq!((load.received, load.lost, load.duplicated), (load.sent, 0, 0), "{load:?}");
            assert_eq!(load.datagrams.unwrap().late, 0);
            assert_eq!(load.message_bytes, BYTES);
            assert_eq!(totals["t.request.service"].len(), load.sent);
            let series: Vec<&str> = totals.keys().map(String::as_str).collect();
            match model {
                Model::Open => assert_eq!(
                    series,
                    ["t.request.response", "t.request.service", "t.send.lateness"]
                ),
                Model::PingPong => assert_eq!(series, ["t.request.service"]),
            }
        }
    }
}

/// The 40th, 80th, … reply is lost: percentiles of the survivors would hide it.
#[test]
fn what_is_lost_is_in_the_figures_with_the_wait_for_it() {
    let echo = Echo::start();
    let directory = tempfile::tempdir().unwrap();
    let harm = DatagramHarm { drop_every: 40, ..DatagramHarm::default() };
    let (result, totals) = run(&harmed(plan(echo.address, &directory, open_load()), harm));
    let load = result.load;
    assert!(result.complete, "{:?}", result.failures);
    assert_eq!((load.sent, load.received, load.lost), (1_000, 975, 25));
    assert_eq!((load.duplicated, load.out_of_order), (0, 0));
    for series in ["t.request.response", "t.request.service"] {
        let values = &totals[series];
        assert_eq!(values.len(), 1_000, "{series}");
        assert!(values.value_at_quantile(0.9751) >= 300_000_000, "{series}: a loss is no survivor");
    }
}

/// A write that vanishes is a request lost on its way.
#[test]
fn requests_that_vanish_on_their_way_are_lost_in_ping_pong_too() {
    let echo = Echo::start();
    let directory = tempfile::tempdir().unwrap();
    let load = Load { model: Model::PingPong, accounts: 2, connections: 2, ..open_load() };
    let inject = Inject { drop_every: 10, ..Inject::default() };
    let plan = OrdersPlan { inject, seconds: 2.0, ..plan(echo.address, &directory, load) };
    let (result, totals) = run(&plan);
    let load = result.load;
    assert!(result.complete, "{:?}", result.failures);
    // Each flow loses every tenth of its requests, and waits for it.
    let of_flows = load.sent / 10;
    assert!(load.lost > 0 && of_flows.abs_diff(load.lost) <= 1, "{load:?}");
    assert_eq!(load.received + load.lost, load.sent);
    let slow = totals["t.request.service"].count_between(300_000_000, u64::MAX);
    assert!(slow >= load.lost, "{slow} of {}", load.lost);
}

#[test]
fn replies_that_come_twice_or_in_another_order_are_counted_and_lose_nothing() {
    let echo = Echo::start();
    for (duplicate_every, reorder_every, counts) in [(50, 0, (20, 0)), (0, 50, (0, 20))] {
        let directory = tempfile::tempdir().unwrap();
        let harm = DatagramHarm { duplicate_every, reorder_every, drop_every: 0 };
        // The last reply of a run has none after it: it would wait for ever.
        let load = Load { rate_per_second: 2_020.0, ..open_load() };
        let (result, totals) = run(&harmed(plan(echo.address, &directory, load), harm));
        let load = result.load;
        assert_eq!((load.sent, load.received, load.lost), (1_010, 1_010, 0), "{load:?}");
        assert_eq!((load.duplicated, load.out_of_order), counts, "{load:?}");
        assert_eq!(totals["t.request.service"].len(), 1_010);
    }
}

/// An other end that answers each tenth request after the time of waiting.
#[test]
fn a_late_reply_is_lost_and_counted_as_late() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
            let (mut held, mut bytes, mut requests) = (Vec::new(), [0; 1_000], 0);
            while !stop.load(Ordering::Relaxed) {
                let now = std::time::Instant::now();
                let due = held.extract_if(.., |(at, ..): &mut (std::time::Instant, Vec<u8>, _)| {
                    now >= *at + Duration::from_millis(450)
                });
                for (_, reply, from) in due {
                    socket.send_to(&reply, from).unwrap();
                }
                let Ok((n, from)) = socket.recv_from(&mut bytes) else { continue };
                let message = EchoMessage::decode(&bytes[..n]).unwrap().unwrap();
                let mut reply = Vec::new();
                let length_bytes = message.reply_bytes;
                EchoMessage { length_bytes, reply_bytes: 0, ..message }.encode(&mut reply);
                requests += u64::from(message.kind != b'H');
                match message.kind != b'H' && requests.is_multiple_of(10) {
                    true => held.push((now, reply, from)),
                    false => drop(socket.send_to(&reply, from).unwrap()),
                }
            }
        });
        let directory = tempfile::tempdir().unwrap();
        let load = Load { rate_per_second: 100.0, ..open_load() };
        let plan = OrdersPlan { seconds: 1.0, ..plan(address, &directory, load) };
        let (result, _) = run(&plan);
        stop.store(true, Ordering::Relaxed);
        let load = result.load;
        assert_eq!((load.sent, load.received, load.lost), (100, 90, 10), "{load:?}");
        // The last ones are held back past the end of the run.
        assert!((5..10).contains(&load.datagrams.unwrap().late), "{load:?}");
        assert_eq!(load.duplicated, 0, "{load:?}");
    });
}

/// Both directions together are less than the round trip by the echo's own work, for each request;
/// a loss bounds both, because nobody knows in which it was lost.
#[test]
fn each_direction_is_a_part_of_the_round_trip() {
    let clock = Clock::calibrate();
    let echo = Echo::start_by(clock);
    for (model, drop_every) in [(Model::Open, 0), (Model::PingPong, 0), (Model::Open, 40)] {
        let directory = tempfile::tempdir().unwrap();
        let mut plan = plan(echo.address, &directory, Load { model, ..open_load() });
        let harm = DatagramHarm { drop_every, ..DatagramHarm::default() };
        let one_way = Some(OneWayPlan { clock, is_shared: true, shown: OneWay::Tenth });
        plan.wire = Wire::Datagrams(DatagramPlan { bytes: BYTES, patience_ms: 300, one_way, harm });
        let (result, totals) = run(&plan);
        let load = result.load;
        assert!(result.complete && load.sent > 0, "{load:?}");
        assert_eq!(load.lost, load.sent.checked_div(drop_every).unwrap_or(0));
        let of = |series: &str| &totals[&format!("t.{series}")];
        for series in ["forward.service", "reverse.service", "request.service"] {
            assert_eq!(of(series).len(), load.sent, "{series}");
            assert!(of(series).count_between(300_000_000, u64::MAX) >= load.lost, "{series}");
        }
        assert_eq!(totals.contains_key("t.forward.response"), model == Model::Open);
        // 0 would be a stamp of another clock. Histograms round up by at most a thousandth.
        assert!(of("forward.service").min() > 0 && of("reverse.service").min() > 0);
        if load.lost == 0 {
            let sum = of("forward.service").mean() + of("reverse.service").mean();
            let whole = of("request.service").mean();
            assert!(sum <= whole * 1.002 && sum > whole * 0.3, "{sum} of {whole}");
        }
    }
}

/// The same counter, ahead by an hour and faster by this many parts in a million: what another host
/// would read, with a known truth.
fn shifted(clock: Clock, faster_ppm: f64) -> Clock {
    let mut text = serde_json::to_value(clock).unwrap();
    let add = |text: &mut serde_json::Value, ns: f64| {
        *text = (text.as_u64().unwrap() + ns as u64).into();
    };
    add(&mut text["origin_ns"], 3.6e12);
    let factor = text["ns_per_count"].as_f64().unwrap();
    add(&mut text["ns_per_count"], factor * faster_ppm / 1e6);
    serde_json::from_value(text).unwrap()
}

/// Both directions between two clocks, one of which is an hour ahead and drifts: the bracket holds
/// the true offset, and each figure is as far off as the record says at most. With the kernels'
/// stamps, too.
#[test]
fn between_two_clocks_the_bracket_holds_the_truth() {
    let clock = Clock::calibrate();
    let far = shifted(clock, 80.0);
    let echo = Echo::start_by(far);
    for (shown, drop_every, stamp_every) in [
        (OneWay::Bracket, 0, 0),
        (OneWay::Bracket, 40, 0),
        (OneWay::Tenth, 0, 0),
        (OneWay::Bracket, 0, 1),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let load = Load { stamp_every, ..open_load() };
        let mut plan = plan(echo.address, &directory, load);
        let harm = DatagramHarm { drop_every, ..DatagramHarm::default() };
        let one_way = Some(OneWayPlan { clock, is_shared: false, shown });
        plan.wire = Wire::Datagrams(DatagramPlan { bytes: BYTES, patience_ms: 300, one_way, harm });
        let offset_ns = || far.now_ns() as i64 - clock.now_ns() as i64;
        let before_ns = offset_ns();
        let (result, totals) = run(&plan);
        let after_ns = offset_ns();
        let load = &result.load;
        assert!(result.complete && load.sent > 0, "{:?}", result.failures);
        assert!(after_ns - before_ns > 20_000, "it drifts: {before_ns} to {after_ns}");
        let [between] = &load.between[..] else { panic!("{load:?}") };
        let lost = load.sent.checked_div(drop_every).unwrap_or(0);
        assert_eq!((load.lost, between.probes), (lost, load.sent - lost));
        if stamp_every == 1 {
            // One request at a time: on a busy machine many are under way at once.
            let stamps = between.kernel_stamps;
            assert!(stamps.iter().all(|count| *count >= load.sent / 20), "{between:?}");
            assert_eq!(between.stamps, "software");
        }
        let bracket = between.bracket.as_ref().unwrap();
        let [low, high] = bracket.offset_ns;
        assert!(low <= after_ns && before_ns <= high, "{bracket:?}: {before_ns} to {after_ns}");
        let [slow, fast] = bracket.drift_ppm.unwrap();
        assert!(slow <= 80.0 && 80.0 <= fast, "{bracket:?}");
        assert_eq!((bracket.steps, bracket.windows_contradicted), (0, 0), "{bracket:?}");
        // A busy machine may leave a batch of each window without a reply.
        if let Some(estimate) = &between.estimate {
            assert_eq!(estimate.assumes, "symmetric paths");
        }
        let ways = ["forward.response", "forward.service", "reverse.service"];
        if shown == OneWay::Tenth {
            // A bracket is as wide as a round trip: a tenth of one way only where a busy machine
            // lets most requests wait.
            for way in ways {
                let Some(why) = between.withheld.get(way) else {
                    let half_ns = totals[&format!("t.{way}")].value_at_quantile(0.5);
                    let error_ns = between.errors_ns[way];
                    assert!(10 * error_ns <= half_ns, "{way}: {error_ns} of {half_ns}");
                    continue;
                };
                assert!(!totals.contains_key(&format!("t.{way}")), "{way}");
                assert!(why.contains("--one-way bracket"), "{why}");
            }
            continue;
        }
        let error_ns = between.error_ns.unwrap();
        assert_eq!(between.error_from, "bracket", "nobody claims anything of the other clock");
        let of = |series: &str| &totals[&format!("t.{series}")];
        for way in ways {
            assert_eq!(of(way).len(), load.sent, "{way}");
            assert!(of(way).count_between(300_000_000, u64::MAX) >= load.lost, "{way}");
            assert_eq!(between.errors_ns[way], error_ns);
        }
        if lost == 0 {
            // The offset is in one direction what it is not in the other.
            let sum = of("forward.service").mean() + of("reverse.service").mean();
            let whole = of("request.service").mean();
            assert!(sum <= whole * 1.002 && sum > whole * 0.3, "{sum} of {whole}");
        }
    }
}

#[test]
fn an_other_end_that_is_not_there_is_named() {
    let address = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let plan = plan(address, &directory, open_load());
    let error = trader::run(&plan, &AtomicBool::new(false), &mut |_| ()).unwrap_err();
    let said = error.to_string();
    assert!(said.contains("--echo --datagrams") && said.contains(&address.to_string()), "{said}");
}

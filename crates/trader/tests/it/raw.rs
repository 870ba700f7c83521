//! Whole runs over real sockets against the raw echo: counts, logs, and other ends that stall or
//! die.

use clock::Clock;
use plan::process::orders::{OrdersPlan, Wire};
use plan::tables::load::{Load, Model};
use record::{ClientResult, MessageBytes};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use transport::StreamId;
use transport::echo::Echo;
use transport::serve::{Full, Limits, Outbound, Service, serve};

/// The echo, which stalls at its `stall_at`-th read.
#[derive(Default)]
struct Stalling {
    echo: Echo,
    reads: u64,
    stall_at: Option<(u64, Duration)>,
}

impl Service for Stalling {
    fn opened(&mut self, id: StreamId, peer: Option<SocketAddr>, now_ns: u64) {
        self.echo.opened(id, peer, now_ns);
    }
    fn space(&mut self, id: StreamId) -> &mut [u8] {
        self.echo.space(id)
    }
    fn received(&mut self, id: StreamId, n: usize, stamp_ns: u64, outbound: &mut Outbound) {
        self.reads += 1;
        if let Some((_, stall)) = self.stall_at.filter(|(at, _)| *at == self.reads) {
            std::thread::sleep(stall);
        }
        self.echo.received(id, n, stamp_ns, outbound);
    }
    fn closed(&mut self, id: StreamId, outbound: &mut Outbound) {
        self.echo.closed(id, outbound);
    }
    fn sweep(&mut self, now_ns: u64, outbound: &mut Outbound) {
        self.echo.sweep(now_ns, outbound);
    }
    fn rejection(&self, _: Full) -> &[u8] {
        &[]
    }
}

struct Server {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

fn server(stall_at: Option<(u64, Duration)>) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    let thread = std::thread::spawn(move || {
        let clock = Clock::calibrate();
        let mut streams = transport::backend("block").unwrap().open(clock).unwrap();
        streams.listen(listener).unwrap();
        let limits = Limits { connections_max: 100, ..Limits::default() };
        let mut service = Stalling { stall_at, ..Stalling::default() };
        serve(&mut *streams, &mut service, limits, clock, &stopped).unwrap();
    });
    Server { address, stop, thread: Some(thread) }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn plan(server: &Server, directory: &tempfile::TempDir, load: Load) -> OrdersPlan {
    let bytes = MessageBytes { order: 212, order_reply: 291, cancel: 111, cancel_reply: 272 };
    OrdersPlan {
        subject: "t".into(),
        target: server.address.to_string(),
        wire: Wire::Raw(bytes),
        backend: "block".into(),
        queue: Default::default(),
        core: None,
        scheduling: host::Scheduling::Other,
        load,
        warm_up_seconds: 0.1,
        seconds: 0.5,
        tls: None,
        inject: Default::default(),
        bulk: None,
        exchange_process: None,
        silence_ms_max: None,
        hlog: directory.path().join("001.hlog").display().to_string(),
        progress: false,
    }
}

type Totals = std::collections::BTreeMap<String, hdrhistogram::Histogram<u64>>;

fn run(plan: &OrdersPlan, stop: &AtomicBool) -> (ClientResult, Totals) {
    let result = trader::run(plan, stop, &mut |_| ()).unwrap();
    (result, record::hlog::totals(&std::fs::read(&plan.hlog).unwrap()[..]).unwrap())
}

fn open_load() -> Load {
    Load { rate_per_second: 2_000.0, accounts: 3, connections: 2, ..Load::default() }
}

#[test]
fn open_loop_sends_the_schedule_and_logs_every_reply() {
    let directory = tempfile::tempdir().unwrap();
    let server = server(None);
    for cancel_after in [1, 7] {
        let load = Load { cancel_after, ..open_load() };
        let mut plan = plan(&server, &directory, load);
        plan.hlog = directory.path().join(format!("{cancel_after}.hlog")).display().to_string();
        let (result, totals) = run(&plan, &AtomicBool::new(false));
        assert!(result.complete, "{result:?}");
        // Complete blocks of orders and their cancels.
        let block = 2 * cancel_after;
        let expected = 1000_u64.div_ceil(block) * block;
        let load = result.load;
        assert_eq!((load.sent, load.received, load.lost), (expected, expected, 0));
        assert_eq!(load.warm_up_sent, 200_u64.div_ceil(block) * block);
        assert_eq!((load.duplicated, load.out_of_order, load.unexpected), (0, 0, 0));
        assert_eq!(load.message_bytes.order_reply, 291);
        for series in ["order.response", "order.service", "cancel.response", "cancel.service"] {
            assert_eq!(totals[&format!("t.{series}")].len(), expected / 2, "{series}");
        }
        assert_eq!(totals["t.send.lateness"].len(), expected);
        assert_eq!(totals.keys().collect::<Vec<_>>(), tags("open").iter().collect::<Vec<_>>());
        let (response, service) = (&totals["t.order.response"], &totals["t.order.service"]);
        assert!(response.value_at_quantile(0.5) >= service.value_at_quantile(0.5));
    }
}

/// Progress reports each second, and changes nothing in the log.
#[test]
fn each_second_is_told_of_where_the_plan_asks_for_it() {
    let directory = tempfile::tempdir().unwrap();
    let server = server(None);
    let mut counts = Vec::new();
    for progress in [true, false] {
        let hlog = directory.path().join(format!("{progress}.hlog")).display().to_string();
        let plan =
            OrdersPlan { progress, seconds: 2.0, hlog, ..plan(&server, &directory, open_load()) };
        let mut told = Vec::new();
        let mut tell = |second: &record::progress::Second| told.push(second.clone());
        let result = trader::run(&plan, &AtomicBool::new(false), &mut tell).unwrap();
        assert!(result.complete, "{result:?}");
        let log = std::fs::read(&plan.hlog).unwrap();
        let totals = record::hlog::totals(&log[..]).unwrap();
        counts.push(totals.iter().map(|(tag, one)| (tag.clone(), one.len())).collect::<Vec<_>>());
        if !progress {
            assert_eq!(told, []);
            continue;
        }
        assert!(!told.is_empty());
        let messages: f64 = told.iter().map(|second| second.messages_per_second).sum();
        assert!(messages / told.len() as f64 > 1_000.0, "{told:?}");
        assert_eq!(told[0].series, "order.response");
        assert!(told[0].p50_ns > Some(0) && told[0].p99_ns >= told[0].p50_ns, "{told:?}");
    }
    assert_eq!(counts[0], counts[1]);
}

/// The tags that every client logs under this load: clients/vectors.
fn tags(model: &str) -> Vec<String> {
    let text = include_str!("../../../../clients/vectors/log/tags.json");
    let tags: std::collections::HashMap<String, Vec<String>> = serde_json::from_str(text).unwrap();
    tags[model].iter().map(|series| format!("t.{series}")).collect()
}

#[test]
fn the_contract_lists_the_tags_of_the_vector() {
    let contract = include_str!("../../../../clients/CONTRACT.md");
    for model in ["open", "ping-pong"] {
        let row = contract.lines().find(|line| line.starts_with(&format!("| {model} | `S.")));
        let mut listed: Vec<String> = row
            .unwrap()
            .split('`')
            .filter_map(|code| code.strip_prefix("S."))
            .map(|series| format!("t.{series}"))
            .collect();
        listed.sort();
        assert_eq!(listed, tags(model));
    }
}

#[test]
fn ping_pong_has_service_time_and_cycle_only() {
    let directory = tempfile::tempdir().unwrap();
    let server = server(None);
    let load = Load { model: Model::PingPong, ..open_load() };
    let (result, totals) = run(&plan(&server, &directory, load), &AtomicBool::new(false));
    assert!(result.complete, "{result:?}");
    assert_eq!(result.load.rate_per_second_offered, None);
    assert_eq!(result.load.sent, result.load.received);
    assert_eq!(totals.keys().collect::<Vec<_>>(), tags("ping-pong").iter().collect::<Vec<_>>());
    assert_eq!(totals["t.cycle.service"].len(), totals["t.cancel.service"].len());
    assert!(totals["t.cycle.service"].min() >= totals["t.order.service"].min());
}

/// The other end stalls for 200 ms. In open loop every message that was due in that time waits,
/// about 400 of them; in ping-pong only the one in flight per account.
#[test]
fn a_stall_is_felt_by_every_message_that_was_due() {
    let assumption = "nothing but the stall holds a message up for 20 ms";
    testing::quiet::or_doubled(assumption, |factor| {
        stall_is_felt(Duration::from_millis(200) * factor)
    });
}

fn stall_is_felt(stall: Duration) -> Result<(), String> {
    let long_ns = stall.as_nanos() as u64 / 10;
    let slow = |load: Load| {
        let directory = tempfile::tempdir().unwrap();
        let server = server(Some((400, stall)));
        let (result, totals) = run(&plan(&server, &directory, load), &AtomicBool::new(false));
        assert!(result.complete, "{result:?}");
        ["order", "cancel"]
            .iter()
            .filter_map(|name| {
                totals
                    .get(&format!("t.{name}.response"))
                    .or_else(|| totals.get(&format!("t.{name}.service")))
            })
            .map(|values| values.count_between(long_ns, u64::MAX))
            .sum::<u64>()
    };
    let open = slow(open_load());
    testing::unless!(open > 250, "{open} messages waited");
    let ping_pong = slow(Load { model: Model::PingPong, ..open_load() });
    testing::unless!(ping_pong <= 3, "{ping_pong} messages waited");
    Ok(())
}

/// More than any trader can send: the run ends a second after the end of the schedule.
#[test]
fn a_load_that_is_too_much_ends_in_time_and_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let server = server(None);
    let load = Load { rate_per_second: 1e8, ..open_load() };
    let started = Instant::now();
    let (result, _) = run(&plan(&server, &directory, load), &AtomicBool::new(false));
    assert!(started.elapsed() < Duration::from_secs(15));
    assert!(!result.complete);
    assert!(result.failures[0].contains("lower load.rate_per_second"), "{:?}", result.failures);
    assert!(result.load.rate_per_second_achieved < 1e8);
    assert_eq!((result.load.lost, result.load.duplicated), (0, 0), "{:?}", result.load);
}

#[test]
fn a_run_that_is_stopped_tells_what_it_has() {
    let directory = tempfile::tempdir().unwrap();
    let server = server(None);
    let mut plan = plan(&server, &directory, open_load());
    plan.seconds = 30.0;
    let stop = Arc::new(AtomicBool::new(false));
    let stopper = stop.clone();
    let started = Instant::now();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(600));
        stopper.store(true, Ordering::Relaxed);
    });
    let (result, totals) = run(&plan, &stop);
    assert!(started.elapsed() < Duration::from_secs(10));
    assert!(!result.complete);
    assert_eq!(result.load.lost, 0);
    assert_eq!(totals["t.send.lateness"].len(), result.load.sent);
    assert!(result.load.sent > 0);
}

#[test]
fn the_death_of_the_other_end_ends_the_run_and_is_told() {
    let directory = tempfile::tempdir().unwrap();
    for model in [Model::Open, Model::PingPong] {
        let server = server(None);
        let mut plan = plan(&server, &directory, Load { model, ..open_load() });
        plan.seconds = 30.0;
        let started = Instant::now();
        let killer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(600));
            drop(server);
        });
        let (result, _) = run(&plan, &AtomicBool::new(false));
        killer.join().unwrap();
        assert!(started.elapsed() < Duration::from_secs(10));
        assert!(!result.complete);
        assert!(result.failures[0].contains("ended in mid-run"), "{:?}", result.failures);
    }
}

#[test]
fn nobody_there_is_an_error_with_advice() {
    let directory = tempfile::tempdir().unwrap();
    let mut plan = plan(&server(None), &directory, open_load());
    plan.target = "127.0.0.1:1".into();
    let error = trader::run(&plan, &AtomicBool::new(false), &mut |_| ()).unwrap_err().to_string();
    assert!(error.contains("is an exchange running there?"), "{error}");
    plan.hlog = "/nonexistent/001.hlog".into();
    let error = trader::run(&plan, &AtomicBool::new(false), &mut |_| ()).unwrap_err().to_string();
    assert!(error.contains("cannot write /nonexistent/001.hlog"), "{error}");
}

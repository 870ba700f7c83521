//! Other ends for a trader, each in a thread of this process: a real exchange with feed and flow,
//! and a raw ticker.

#![allow(dead_code, reason = "each test file uses its part")]

use clock::Clock;
use clock::schedule::Arrival;
use exchange::{Config, Exchange, Feed, FlowConfig, Reach, StartBook};
use flow::{Pace, Source};
use host::Scheduling;
use host::network::Networks;
use plan::faults::Inject;
use plan::process::ticks::{FeedPlan, TickPlan};
use plan::tables::one_way::OneWay;
use plan::tables::strategy::StrategyPlan;
use record::ClientResult;
use record::tick::{Sample, Tick};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use transport::acked;
use transport::datagram::{DatagramSender, SendOptions};
use transport::echo::Echo;
use transport::echo::ticker::{TickerEcho, TickerSettings};
use transport::inject;
use transport::serve::{Limits, Service, serve};

/// A server in a thread; it ends when it is dropped.
pub struct End {
    pub target: String,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl End {
    /// Runs `work` in a thread, until the flag is set.
    pub fn run(target: String, work: impl FnOnce(&AtomicBool) + Send + 'static) -> End {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || work(&stopped));
        End { target, stop, thread: Some(thread) }
    }

    /// Ends it.
    pub fn stop_flag(&self) -> Arc<AtomicBool> {
        self.stop.clone()
    }
}

impl Drop for End {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        if !std::thread::panicking() {
            ended.unwrap().unwrap();
        }
    }
}

fn serve_in_thread<S: Service>(
    clock: Clock,
    harm: Inject,
    make: impl FnOnce() -> (S, Limits) + Send + 'static,
) -> End {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = listener.local_addr().unwrap().to_string();
    End::run(target, move |stop| {
        let (mut service, limits) = make();
        let streams = transport::backend("block").unwrap().open(clock).unwrap();
        let mut streams = inject::around(streams, &harm, clock);
        streams.listen(listener).unwrap();
        serve(&mut *streams, &mut service, limits, clock, stop).unwrap();
    })
}

/// Inputs of the flow.
#[derive(Clone, Copy)]
pub struct Flow {
    pub rate_per_second: f64,
    pub seconds: f64,
    pub arrival: Arrival,
    pub burst: u64,
}

pub const FLOW: Flow =
    Flow { rate_per_second: 2_000.0, seconds: 0.6, arrival: Arrival::Uniform, burst: 1 };

/// An exchange that publishes its own synthetic orders, with faults in its writes.
pub fn exchange(clock: Clock, flow: Flow, harm: Inject) -> End {
    exchange_with(Feed { reach: Reach::Unicast, ..Feed::default() }, clock, flow, harm)
}

/// As [`exchange`], with that feed.
pub fn exchange_with(feed: Feed, clock: Clock, flow: Flow, harm: Inject) -> End {
    let config = config(feed, clock, flow);
    serve_in_thread(clock, harm, move || {
        let exchange = Exchange::new(config).unwrap();
        let limits = exchange.limits().serve();
        (exchange, limits)
    })
}

/// As [`exchange`], over AF_XDP: orders and feed share a device. Trader and exchange each have a
/// network; it listens when this returns.
pub fn exchange_below(networks: &Arc<Networks>, clock: Clock, flow: Flow) -> End {
    let feed = Feed { reach: Reach::Unicast, ..Feed::default() };
    let device = transport::backend("af_xdp").unwrap().shared_device().unwrap();
    let config = Config { feed_device: Some(device.clone()), ..config(feed, clock, flow) };
    let target = format!("{}:9000", networks.exchange().address());
    let (networks, address) = (networks.clone(), target.clone());
    let (tell, told) = std::sync::mpsc::channel();
    let end = End::run(target, move |stop| {
        let work = || {
            let mut exchange = Exchange::new(config).unwrap();
            let limits = exchange.limits().serve();
            let mut streams = device.streams(clock);
            streams.listen_at(&address).unwrap();
            tell.send(()).unwrap();
            serve(&mut *streams, &mut exchange, limits, clock, stop).unwrap();
        };
        networks.exchange().within(work).unwrap();
    });
    told.recv().unwrap();
    end
}

/// The settings of [`exchange_with`].
pub fn config(feed: Feed, clock: Clock, flow: Flow) -> Config {
    let Flow { rate_per_second, seconds, arrival, burst } = flow;
    let pace = Pace::Fixed { rate_per_second, arrival, burst };
    Config {
        feed: Some(feed),
        flow: Some(FlowConfig { source: Source::Synthetic, pace, seconds }),
        clock: Some(clock),
        process: exchange::ProcessInfo {
            tool: "a test".into(),
            boot_id: host::utc::boot_id(&host::Root::system()),
            ..exchange::ProcessInfo::default()
        },
        ..Config::default()
    }
}

/// An exchange with an empty book.
pub fn quiet_exchange(clock: Clock) -> End {
    quiet_exchange_with(exchange::Limits::default(), clock)
}

/// As [`quiet_exchange`], with these limits.
pub fn quiet_exchange_with(limits: exchange::Limits, clock: Clock) -> End {
    serve_in_thread(clock, Inject::default(), move || {
        let config = Config { start_book: StartBook::Empty, limits, ..Config::default() };
        let exchange = Exchange::new(config).unwrap();
        let limits = exchange.limits().serve();
        (exchange, limits)
    })
}

/// As [`quiet_exchange`], over UDP.
pub fn quiet_exchange_over_udp(clock: Clock) -> End {
    let socket = acked::bind("127.0.0.1:0").unwrap();
    let target = socket.local_addr().unwrap().to_string();
    End::run(target, move |stop| {
        let config = Config { start_book: StartBook::Empty, ..Config::default() };
        let mut exchange = Exchange::new(config).unwrap();
        let limits = exchange.limits().serve();
        let backend = transport::backend("block").unwrap();
        let counts = acked::SharedCounts::default();
        let mut streams = acked::beside(backend, socket, &[], clock, counts).unwrap();
        serve(&mut *streams, &mut exchange, limits, clock, stop).unwrap();
    })
}

/// The other end of a floor of orders, with faults in its writes.
pub fn echo(clock: Clock, harm: Inject) -> End {
    let limits = Limits { connections_max: 100, ..Limits::default() };
    serve_in_thread(clock, harm, move || (Echo::default(), limits))
}

/// The floor's other end.
pub fn ticker(clock: Clock, flow: Flow, datagram_bytes: usize) -> End {
    let Flow { rate_per_second, seconds, arrival, burst } = flow;
    let settings = TickerSettings { datagram_bytes, rate_per_second, arrival, burst, seconds };
    serve_in_thread(clock, Inject::default(), move || {
        let from = "127.0.0.1:0".parse().unwrap();
        let sender = DatagramSender::bind(from, &SendOptions::default()).unwrap();
        let limits = Limits { connections_max: 4, ..Limits::default() };
        (TickerEcho::new(settings, sender, clock).unwrap(), limits)
    })
}

/// A plan with a directory for its files.
pub fn plan(directory: &std::path::Path, target: &str, clock: Clock, flow: Flow) -> TickPlan {
    let file = |name: &str| directory.join(name).display().to_string();
    TickPlan {
        exchange_process: None,
        subject: "t".into(),
        target: target.to_owned(),
        backend: "block".into(),
        queue: Default::default(),
        core: None,
        scheduling: Scheduling::Other,
        instrument: "BTC_USDT".into(),
        first_token: 7,
        warm_up_seconds: 0.0,
        seconds: flow.seconds,
        clock: Some(clock),
        one_way: OneWay::Tenth,
        hlog: file("001.hlog"),
        samples: file("001.t.samples"),
        stamp_every: 0,
        samples_max: 10_000,
        scenario: "a-test".into(),
        progress: false,
        feed: FeedPlan::default(),
        strategy: StrategyPlan::default(),
        risk: None,
        audit: None,
        raw: None,
        tls: None,
        inject: Inject::default(),
    }
}

/// The result of a plan.
pub struct Led {
    pub result: ClientResult,
    pub samples: Vec<Sample>,
    /// Number of samples and median, ns, by the series' tag.
    pub series: std::collections::BTreeMap<String, (u64, u64)>,
}

impl Led {
    pub fn tick(&self) -> &Tick {
        &self.result.load.tick[0]
    }
}

pub fn follow(plan: &TickPlan) -> Led {
    let result = trader::follow(plan, &AtomicBool::new(false), &mut |_| ()).unwrap();
    let samples = record::tick::samples::read(std::path::Path::new(&plan.samples)).unwrap();
    let log = std::fs::File::open(&plan.hlog).unwrap();
    let totals = record::hlog::totals(std::io::BufReader::new(log)).unwrap();
    let series = totals
        .into_iter()
        .map(|(tag, values)| (tag, (values.len(), values.value_at_quantile(0.5))))
        .collect();
    Led { result, samples, series }
}

/// The records of an audit log.
pub fn records(path: &str) -> Vec<audit::Record> {
    let file = std::io::BufReader::new(std::fs::File::open(path).unwrap());
    let records = audit::Reader::new(file).unwrap();
    records.map(|record| record.unwrap()).collect()
}

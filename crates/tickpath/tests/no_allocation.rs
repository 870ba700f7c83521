//! Neither the trader nor the exchange allocates per message in the steady state. Both run here in
//! one process over real sockets, under an allocator that counts; a run of nearly twice the
//! messages must not allocate more than the shorter one.

use clock::Clock;
use counting::allocations_of_process;
use exchange::{Config, Exchange};
use host::network::{Network, Networks};
use plan::backend::is_below;
use plan::process::orders::{OrdersPlan, Wire};
use plan::tables::load::{Load, Model};
use plan::trust::Trust;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use transport::acked;
use transport::forward::{self, Target, forward};
use transport::gateway::{self, GatewaysError};
use transport::proxy;
use transport::serve::serve;
use transport::tls::{self, Acceptor, CertificatePair};

/// One load on some connections, against an exchange with or without gateways. Both ends have the
/// same backend.
#[derive(Clone, Copy, Debug)]
struct Case {
    backend: &'static str,
    model: Model,
    connections: usize,
    gateways: usize,
    has_tls: bool,
    /// Through a gateway process's loop, which then ends the TLS.
    is_forwarded: bool,
    /// SBE over UDP instead of JSON.
    is_over_udp: bool,
}

/// Runs for `seconds`; returns messages sent and allocations made, by both ends together.
fn run(case: Case, seconds: f64) -> (u64, u64) {
    let Case { model, connections, gateways, has_tls, .. } = case;
    let directory = tempfile::tempdir().unwrap();
    let networks = is_below(case.backend).then(|| Networks::create().unwrap());
    let below = networks.as_ref().map(|networks| format!("{}:9000", networks.exchange().address()));
    let address = networks.as_ref().map_or(Ipv4Addr::LOCALHOST, |both| both.exchange().address());
    let pair = CertificatePair::self_signed(&[address.to_string()]).unwrap();
    let ca_pem = String::from_utf8(pair.certificate.clone()).ok();
    let tls = has_tls.then(|| Trust { ca_pem, ..Trust::default() });
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let exchange = listener.local_addr().unwrap();
    let front = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = acked::bind("127.0.0.1:0").unwrap();
    let target = match case {
        Case { is_over_udp: true, .. } => udp.local_addr().unwrap(),
        Case { is_forwarded: true, .. } => front.local_addr().unwrap(),
        _ => exchange,
    };
    let target = below.clone().unwrap_or_else(|| target.to_string());
    let (tell, told) = std::sync::mpsc::channel();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let serve_all = || {
            let clock = Clock::calibrate();
            let mut exchange = Exchange::new(Config::default()).unwrap();
            let limits = exchange.limits().serve();
            let backend = transport::backend(case.backend).unwrap();
            let has_tls = has_tls && !case.is_forwarded;
            let acceptor = has_tls.then(|| Arc::new(Acceptor::of(&pair).unwrap()));
            let mut streams = match gateways {
                0 if case.is_over_udp => {
                    acked::beside(backend, udp, &[], clock, Default::default()).unwrap()
                }
                0 if has_tls => tls::around(backend.open(clock).unwrap(), acceptor, clock),
                0 => backend.open(clock).unwrap(),
                count => gateway::open(count, backend, acceptor, clock, |_| Ok(())).unwrap(),
            };
            match &below {
                None => streams.listen(listener).unwrap(),
                Some(address) => {
                    streams.listen_at(address).unwrap();
                }
            }
            tell.send(()).unwrap();
            serve(&mut *streams, &mut exchange, limits, clock, &stop).unwrap();
        };
        let server = scope.spawn(|| within(networks.as_ref().map(Networks::exchange), serve_all));
        let gateway = case.is_forwarded.then(|| {
            scope.spawn(|| {
                let clock = Clock::calibrate();
                let streams = transport::backend(case.backend).unwrap().open(clock).unwrap();
                let acceptor = has_tls.then(|| Arc::new(Acceptor::of(&pair).unwrap()));
                let mut streams = tls::around(streams, acceptor, clock);
                streams.listen(front).unwrap();
                let limits = forward::Limits::default();
                let mut report = |failed| panic!("{failed:?}");
                let exchange = Target { addresses: &[exchange], greeting: proxy::UNKNOWN };
                forward(&mut *streams, exchange, limits, clock, &stop, &mut report).unwrap()
            })
        });
        let plan = OrdersPlan {
            subject: "t".into(),
            target,
            wire: match case.is_over_udp {
                true => Wire::SbeUdp(Default::default()),
                false => Wire::WebsocketJson,
            },
            backend: case.backend.into(),
            queue: Default::default(),
            core: None,
            scheduling: host::Scheduling::Other,
            load: Load {
                model,
                rate_per_second: 10_000.0,
                accounts: 4,
                connections,
                ..Load::default()
            },
            warm_up_seconds: 0.15,
            seconds,
            tls,
            inject: Default::default(),
            bulk: None,
            exchange_process: None,
            silence_ms_max: None,
            hlog: directory.path().join("001.hlog").display().to_string(),
            progress: false,
        };
        told.recv().unwrap();
        let before = allocations_of_process();
        let trade = || trader::run(&plan, &AtomicBool::new(false), &mut |_| ()).unwrap();
        let result = within(networks.as_ref().map(Networks::trader), trade);
        let allocations = allocations_of_process() - before;
        stop.store(true, Ordering::Relaxed);
        server.join().unwrap();
        if let Some(gateway) = gateway {
            let counts = gateway.join().unwrap();
            let samples = counts.to_exchange.residence_ns.len();
            // In ping-pong messages are read one by one. On a schedule a busy machine reads many at
            // once, and they have one sample.
            let least = if model == Model::PingPong { result.load.sent / 4 } else { 0 };
            assert!(samples > least, "{case:?}: {samples} samples, {:?}", result.load);
        }
        assert!(result.complete, "{result:?}");
        assert_eq!((result.load.rejected, result.load.unexpected), (0, 0), "{result:?}");
        (result.load.sent, allocations)
    })
}

/// Runs `work` in a network, or in that of this process.
fn within<T>(network: Option<&Network>, work: impl FnOnce() -> T) -> T {
    match network {
        None => work(),
        Some(network) => network.within(work).unwrap(),
    }
}

/// Whether a backend can run here; otherwise the test is counted as skipped.
fn is_here(backend: &'static str) -> bool {
    let clock = Clock::calibrate();
    let open = || transport::backend(backend).unwrap().open(clock);
    if !is_below(backend) {
        return testing::opens(backend, || open().map(drop));
    }
    match Networks::create() {
        Ok(networks) => {
            let address = format!("{}:0", networks.exchange().address());
            let listen = || testing::opens(backend, || open()?.listen_at(&address).map(drop));
            networks.exchange().within(listen).unwrap()
        }
        Err(why) => {
            testing::skipped(testing::Need::Root, why);
            false
        }
    }
}

/// One test, so that nothing else allocates meanwhile. With 4 accounts on 2 connections messages
/// carry an account id.
#[test]
fn twice_the_messages_take_no_more_allocations() {
    let backend = transport::backend("block").unwrap();
    let tried = gateway::open(1, backend, None, Clock::calibrate(), |_| Ok(()));
    let gateways_max = match tried.map(drop) {
        Err(GatewaysError::Ring(error)) => {
            testing::skipped(testing::Need::Kernel, format_args!("no gateways here: {error}"));
            0
        }
        _ => 2,
    };
    let cases = [
        ("block", Model::Open, 4, 0, false),
        ("block", Model::Open, 2, 0, false),
        ("block", Model::PingPong, 4, 0, false),
        ("block", Model::Open, 4, 1, false),
        ("block", Model::PingPong, 4, 2, false),
        ("block", Model::Open, 4, 0, true),
        ("block", Model::PingPong, 4, 1, true),
        ("io_uring", Model::Open, 4, 0, false),
        ("io_uring", Model::PingPong, 4, 0, true),
        ("io_uring", Model::Open, 4, 2, false),
        ("io_uring_spin", Model::Open, 4, 0, false),
        ("io_uring_spin", Model::PingPong, 4, 0, false),
        ("af_xdp", Model::Open, 4, 0, false),
        ("af_xdp", Model::Open, 2, 0, false),
        ("af_xdp", Model::Open, 4, 0, true),
    ];
    let forwarded = [
        ("block", Model::PingPong, 4, 0, false),
        ("block", Model::Open, 4, 0, true),
        ("io_uring", Model::Open, 4, 0, false),
    ];
    let over_udp = [
        ("block", Model::Open, 4, 0, false),
        ("block", Model::PingPong, 4, 0, false),
        ("io_uring", Model::PingPong, 4, 0, false),
    ];
    let cases = cases.map(|case| (case, false, false)).into_iter();
    let cases = cases.chain(forwarded.map(|case| (case, true, false)));
    for ((backend, model, connections, gateways, has_tls), is_forwarded, is_over_udp) in
        cases.chain(over_udp.map(|case| (case, false, true)))
    {
        if gateways > gateways_max || !is_here(backend) {
            continue;
        }
        let case =
            Case { backend, model, connections, gateways, has_tls, is_forwarded, is_over_udp };
        testing::quiet::or_doubled("0.3 s have 1 000 messages more", |factor| {
            let (few, allocations_few) = run(case, 0.1 * f64::from(factor));
            let (many, allocations_many) = run(case, 0.4 * f64::from(factor));
            // In ping-pong a busy machine may send fewer messages in a longer run: it was seen to.
            let more = many.saturating_sub(few);
            testing::unless!(more > 1_000, "{case:?}: {few} messages, then {many}");
            let difference = allocations_many.abs_diff(allocations_few);
            testing::unless!(
                difference * 20 < more,
                "{case:?}: {allocations_few} allocations for {few} messages, {allocations_many} for {many}"
            );
            Ok(())
        });
    }
}

use super::*;
use host::scheduling::Scheduling;
use plan::tables::endpoint::Probes;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// `127.0.0.HOST` for each host, with the port of `target`.
fn addresses(target: &str, hosts: &[u8]) -> io::Result<Vec<SocketAddr>> {
    let port = target.rsplit_once(':').unwrap().1.parse::<u16>().unwrap();
    Ok(hosts.iter().map(|host| (Ipv4Addr::new(127, 0, 0, *host), port).into()).collect())
}

/// Echo servers at one port of several addresses. Each counts its datagrams.
struct Servers {
    port: u16,
    counts: Vec<Arc<AtomicU64>>,
}

impl Servers {
    /// `drops` says which datagram gets no answer, by its number.
    fn start(hosts: &[u8], drops: fn(u64) -> bool) -> Servers {
        // Another process may have the port at one of the addresses.
        let sockets = loop {
            let first = UdpSocket::bind((Ipv4Addr::new(127, 0, 0, hosts[0]), 0)).unwrap();
            let port = first.local_addr().unwrap().port();
            let bind = |host: &u8| UdpSocket::bind((Ipv4Addr::new(127, 0, 0, *host), port));
            let others: io::Result<Vec<UdpSocket>> = hosts[1..].iter().map(bind).collect();
            if let Ok(mut sockets) = others {
                sockets.insert(0, first);
                break sockets;
            }
        };
        let port = sockets[0].local_addr().unwrap().port();
        let counts = sockets.into_iter().map(|socket| {
            let count = Arc::new(AtomicU64::new(0));
            let counted = count.clone();
            std::thread::spawn(move || {
                let mut bytes = [0; 8192];
                while let Ok((n, from)) = socket.recv_from(&mut bytes) {
                    if !drops(counted.fetch_add(1, Ordering::SeqCst)) {
                        let _ = socket.send_to(&bytes[..n], from);
                    }
                }
            });
            count
        });
        Servers { port, counts: counts.collect() }
    }

    fn count(&self, index: usize) -> u64 {
        self.counts[index].load(Ordering::SeqCst)
    }
}

/// A run, its outcome and its log.
fn probe(
    target: String,
    probes: Probes,
    seconds: f64,
    resolve: Resolve,
) -> (Result<ProbeResult, EndpointError>, String) {
    let directory = tempfile::tempdir().unwrap();
    let hlog = directory.path().join("001.hlog");
    let plan = EndpointPlan {
        subject: "probe".to_owned(),
        target,
        tls: None,
        probes: Probes { probes_per_second: 100.0, resolve_seconds: 0.1, ..probes },
        spins: false,
        warm_up_seconds: 0.1,
        seconds,
        core: None,
        scheduling: Scheduling::Other,
        hlog: hlog.display().to_string(),
    };
    let done = run_with(&plan, &AtomicBool::new(false), resolve);
    (done, fs::read_to_string(&hlog).unwrap_or_default())
}

fn udp(payload_bytes: usize) -> Probes {
    Probes { protocol: Protocol::Udp, payload_bytes, connections_kept: 2, ..Probes::default() }
}

/// A name with several addresses was measured at the first that answered, whichever machine that
/// was. Turns are equal, each address has a row, and no payload is lost on the way.
#[test]
fn every_address_behind_a_name_is_probed_in_turn_and_has_a_row() {
    for payload_bytes in [0, 5, 8, 4096] {
        let servers = Servers::start(&[1, 2, 3], |_| false);
        let target = format!("three.test:{}", servers.port);
        let (done, log) =
            probe(target, udp(payload_bytes), 0.6, |target| addresses(target, &[2, 1, 3, 2]));
        let ProbeResult { result, notes } = done.unwrap();
        assert!(result.complete && notes.is_empty(), "{result:?} {notes:?}");
        let load = &result.load;
        assert!(load.sent > 3 && load.sent == load.received, "{load:?}");
        let counts = [0, 1, 2].map(|server| servers.count(server));
        // A few datagrams may be resent while the sockets are opened.
        assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 3, "{counts:?}");
        for host in 1..=3 {
            assert!(log.contains(&format!("Tag=probe.ping@127.0.0.{host}.service,")), "{log}");
        }
        assert!(log.contains("Tag=probe.ping.service,"), "all together are the main series: {log}");
        assert!(log.contains("Tag=probe.first_ping.service,"), "{log}");
    }
}

/// A load balancer replaces a machine during a run: the old one is left in peace, and the record
/// says what came and went.
#[test]
fn changes_of_the_name_are_followed_and_said() {
    static LOOK_UPS: AtomicUsize = AtomicUsize::new(0);
    let servers = Servers::start(&[1, 2, 3], |_| false);
    let target = format!("moves.test:{}", servers.port);
    let (done, log) = probe(target.clone(), udp(8), 2.0, |target| {
        match LOOK_UPS.fetch_add(1, Ordering::SeqCst) {
            0 | 1 => addresses(target, &[1, 2]),
            2 => Err(io::Error::other("no name server answers")),
            _ => addresses(target, &[3, 2]),
        }
    });
    let ProbeResult { result, notes } = done.unwrap();
    assert!(result.complete, "{result:?}");
    let at = |host: u8| format!("127.0.0.{host}:{}", servers.port);
    let notes = notes.join("\n");
    for text in [
        format!(
            "{} appeared behind {target} during a run and is probed from the next run on",
            at(3)
        ),
        format!("{} vanished from {target} during a run and is not probed", at(1)),
        "no name server answers".to_owned(),
    ] {
        assert!(notes.contains(&text), "{text}: {notes}");
    }
    assert_eq!(servers.count(2), 0, "its times would have no row");
    assert!(servers.count(0) < servers.count(1), "it was probed after it had vanished");
    assert!(log.contains("ping@127.0.0.2") && !log.contains("ping@127.0.0.3"), "{log}");
}

/// An address may come back, as from a resolver that returns a part of the addresses at a time.
/// With none of the first ones left, the run ends.
#[test]
fn an_address_that_comes_back_is_probed_again_and_a_name_that_moved_ends_the_run() {
    static LOOK_UPS: AtomicUsize = AtomicUsize::new(0);
    let servers = Servers::start(&[1, 2], |_| false);
    let target = format!("turns.test:{}", servers.port);
    let resolve: Resolve = |target| match LOOK_UPS.fetch_add(1, Ordering::SeqCst) {
        1..=3 => addresses(target, &[2]),
        _ => addresses(target, &[1, 2]),
    };
    let (done, _) = probe(target, udp(8), 2.0, resolve);
    let ProbeResult { result, notes } = done.unwrap();
    assert!(result.complete, "{result:?}");
    assert!(notes.iter().any(|note| note.ends_with("and is probed again")), "{notes:?}");
    static MOVED: AtomicUsize = AtomicUsize::new(0);
    let target = format!("moved.test:{}", servers.port);
    let resolve: Resolve = |target| match MOVED.fetch_add(1, Ordering::SeqCst) {
        0 => addresses(target, &[1]),
        _ => addresses(target, &[2]),
    };
    let (done, _) = probe(target, udp(8), 60.0, resolve);
    let failures = done.unwrap().result.failures.join("; ");
    assert!(failures.contains("has none of the addresses left"), "{failures}");
}

/// The percentiles of what survived would be those of a better network. Without a payload a late
/// echo could be taken for the next one's.
#[test]
fn a_lost_datagram_is_recorded_as_the_patience() {
    let servers = Servers::start(&[1], |number| number > 8 && number.is_multiple_of(5));
    let target = format!("lossy.test:{}", servers.port);
    let patience_seconds = 0.05;
    let probes = Probes { patience_seconds, fresh_every: 1_000_000, ..udp(0) };
    let (done, log) = probe(target, probes, 1.5, |target| addresses(target, &[1]));
    let ProbeResult { result, notes } = done.unwrap();
    assert!(result.complete, "{result:?}");
    let load = &result.load;
    assert!(load.lost > 0 && load.sent == load.received + load.lost, "{load:?}");
    assert_eq!(load.model, DATAGRAMS);
    assert!(notes.iter().any(|note| note.contains("got no echo within 0.05 s")), "{notes:?}");
    let totals = record::hlog::totals(&mut log.as_bytes()).unwrap();
    let pings = &totals["probe.ping.service"];
    assert_eq!(pings.len(), load.sent);
    assert!(pings.max() >= 49_900_000, "{}", pings.max());
    assert!(pings.count_between(49_900_000, u64::MAX) >= load.lost);
}

/// A name may have an address where nobody listens, as an IPv6 one of a server that has only IPv4.
#[test]
fn an_address_that_can_not_be_reached_is_said_and_others_are_probed() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = format!("half.test:{}", listener.local_addr().unwrap().port());
    let tcp = || Probes { protocol: Protocol::Tcp, fresh_every: 1, ..Probes::default() };
    let (done, log) = probe(target.clone(), tcp(), 0.3, |target| addresses(target, &[9, 1]));
    let ProbeResult { result, notes } = done.unwrap();
    assert!(result.complete && result.load.received > 0, "{result:?}");
    assert!(notes[0].starts_with("127.0.0.9:") && notes[0].contains("is not probed: connect"));
    assert!(log.contains("probe.connect.service") && !log.contains('@'), "one address: {log}");
    drop(listener);
    let (done, _) = probe(target, tcp(), 0.3, |target| addresses(target, &[9, 1]));
    let error = done.unwrap_err().to_string();
    assert!(error.contains("127.0.0.9:") && error.contains("127.0.0.1:"), "{error}");
    // Nobody echoes: the kernel says so, or nothing does.
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let target = format!("silent.test:{}", silent.local_addr().unwrap().port());
    let probes = || Probes { patience_seconds: 0.05, ..udp(8) };
    let (done, _) = probe(target.clone(), probes(), 0.3, |target| addresses(target, &[1]));
    assert!(done.unwrap_err().to_string().contains("takes an echo server"));
    drop(silent);
    let (done, _) = probe(target, probes(), 0.3, |target| addresses(target, &[1]));
    assert!(done.unwrap_err().to_string().contains("refused"));
}

/// A record must not name addresses as probed that were not.
#[test]
fn addresses_beyond_the_limit_are_said() {
    let hosts: Vec<u8> = (1..=20).collect();
    let mut many = addresses("many.test:1", &hosts).unwrap();
    let note = name::limit("many.test:1", &mut many).unwrap();
    assert!(note.contains("has 20 addresses: the first 16 are probed"), "{note}");
    assert_eq!(many.len(), 16);
    assert_eq!(name::limit("many.test:1", &mut many), None);
}

/// Where the time of a round trip goes, by the kernel's own stamps. Only every third ping pays for
/// them.
#[test]
fn segments_of_stamped_pings_are_series_that_add_up() {
    let servers = Servers::start(&[1], |_| false);
    let target = format!("stamped.test:{}", servers.port);
    let probes = Probes { stamp_every: 3, fresh_every: 4, ..udp(64) };
    let (done, log) = probe(target, probes, 1.0, |target| addresses(target, &[1]));
    let ProbeResult { result, notes } = match done {
        Err(error) if error.to_string().contains("open a socket") => {
            testing::skip!(Kernel, "{error}")
        }
        done => done.unwrap(),
    };
    assert!(result.complete && notes.is_empty(), "{result:?} {notes:?}");
    let totals = record::hlog::totals(&mut log.as_bytes()).unwrap();
    let series = |name: &str| &totals[&format!("probe.{name}.service")];
    let pings = series("ping").len();
    let counts = SEGMENTS.map(|segment| series(segment).len());
    assert!(counts.iter().all(|count| count.abs_diff(pings / 3) <= 1), "{pings}: {counts:?}");
    let means: f64 = SEGMENTS.iter().map(|segment| series(segment).mean()).sum();
    // Not all pings are stamped, so that the means differ; the parts are below the longest whole.
    assert!(means > 0.0 && means <= series("ping").max() as f64 * 1.01, "{means}");
}

//! Whole runs over real sockets with one unfair path: the first subscriber's copies come later.

use super::*;
use clock::schedule::Arrival;
use fanout::register::message::Message;
use fanout::replicate::{Replicator, Settings, Tunnel};
use host::scheduling::Scheduling;
use plan::tables::fan_out::SendOrder;
use record::fan_out::FanOutRun;
use record::hlog::{self, Totals};
use std::collections::VecDeque;
use std::io::BufReader;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::thread;
use std::time::Instant;
use testing::unless;

#[path = "hosts_tests.rs"]
mod hosts;

const ANY: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
const SUBSCRIBERS: usize = 4;
const MESSAGES: u64 = 100;
/// How much longer the unfair path is: ten times what a busy machine takes away.
const LONGER: Duration = Duration::from_millis(100);
const ASSUMPTION: &str = "no thread waits for a core for 10 ms in most of the messages";

/// A replicator, and in front of its subscribers a relay that keeps the first one's copies.
struct Unfair {
    replicator: SocketAddrV4,
    relay: SocketAddrV4,
}

/// Ends the threads of a test, also if it fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs `test` with a path that is `longer`.
fn with_unfair_path<T>(longer: Duration, test: impl FnOnce(&Unfair) -> T) -> T {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let (ready, when_ready) = mpsc::channel();
        let (stop, _ends) = (&stop, Ends(&stop));
        scope.spawn(move || {
            let clock = Clock::calibrate();
            let replicator = Replicator::new(settings(), clock).unwrap();
            let own = [Some(replicator.from().unwrap()), replicator.listening().unwrap()];
            ready.send(own.map(|address| v4(address.unwrap()))).unwrap();
            replicator.run(stop, Some(clock.now_ns() + 120_000_000_000)).unwrap();
        });
        let [replicator, registration] = when_ready.recv().unwrap();
        let door = socket();
        let relay = v4(door.local_addr().unwrap());
        scope.spawn(move || carry(&door, registration, longer, stop));
        test(&Unfair { replicator, relay })
    })
}

fn settings() -> Settings {
    Settings {
        from: ANY,
        interface: Ipv4Addr::LOCALHOST,
        source: None,
        to: Vec::new(),
        listen: Some(ANY),
        lease_ms: 600_000,
        parent: None,
        order: SendOrder::Fixed,
        seed: 0,
        gre: None,
        tunnel: Tunnel::Keep,
        backend: plan::backend::BLOCK,
        queue: Default::default(),
    }
}

fn v4(address: SocketAddr) -> SocketAddrV4 {
    let SocketAddr::V4(address) = address else { panic!("{address}") };
    address
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind(ANY).unwrap();
    socket.set_nonblocking(true).unwrap();
    socket
}

/// The relay: each subscriber at its door gets a socket of its own to the replicator.
fn carry(door: &UdpSocket, registration: SocketAddrV4, longer: Duration, stop: &AtomicBool) {
    let mut ways: Vec<(SocketAddr, UdpSocket)> = Vec::new();
    let mut kept: VecDeque<(Instant, Vec<u8>)> = VecDeque::new();
    let mut bytes = [0; 2048];
    while !stop.load(Ordering::Relaxed) {
        while let Ok((length, from)) = door.recv_from(&mut bytes) {
            let known = ways.iter().position(|(subscriber, _)| *subscriber == from);
            let way = known.unwrap_or_else(|| {
                ways.push((from, socket()));
                ways.len() - 1
            });
            ways[way].1.send_to(&bytes[..length], registration).unwrap();
        }
        for (number, (subscriber, way)) in ways.iter().enumerate() {
            while let Ok(length) = way.recv(&mut bytes) {
                let copy = &bytes[..length];
                match number == 0 && Message::decode(copy).is_none() {
                    true => kept.push_back((Instant::now() + longer, copy.to_vec())),
                    false => drop(door.send_to(copy, subscriber).unwrap()),
                }
            }
        }
        while let Some((_, copy)) = kept.pop_front_if(|(due, _)| *due <= Instant::now()) {
            door.send_to(&copy, ways[0].0).unwrap();
        }
        thread::sleep(Duration::from_micros(100));
    }
}

/// One run with this hold, or with a search.
fn measured(unfair: &Unfair, hold: Duration, search_messages: u64) -> (FanOutRun, Totals) {
    let hold_ns = hold.as_nanos() as u64;
    carried_out(FanOutPlan { hold_ns, search_messages, ..plan(unfair) })
}

/// A run that holds nothing.
fn plan(unfair: &Unfair) -> FanOutPlan {
    FanOutPlan {
        subject: "unfair".to_owned(),
        own: Ipv4Addr::LOCALHOST,
        replicator: unfair.replicator,
        registration: unfair.relay,
        subscribers: SUBSCRIBERS,
        hosts: Vec::new(),
        replicator_end: None,
        message_bytes: 128,
        rate_per_second: 100.0,
        arrival: Arrival::Uniform,
        burst: 1,
        seed: 1,
        warm_up_messages: 10,
        messages: MESSAGES,
        fair: 0.9,
        hold_ns: 0,
        search_messages: 0,
        spins: false,
        core: None,
        scheduling: Scheduling::Other,
        hlog: String::new(),
    }
}

/// Its result, of which nothing is missing.
fn carried_out(plan: FanOutPlan) -> (FanOutRun, Totals) {
    let folder = tempfile::tempdir().unwrap();
    let hlog = folder.path().join("001.hlog");
    let plan = FanOutPlan { hlog: hlog.display().to_string(), ..plan };
    let result = run(&plan, &AtomicBool::new(false)).unwrap();
    assert!(result.complete, "{:?}", result.failures);
    let load = result.load;
    assert_eq!((load.received, load.lost), (MESSAGES * SUBSCRIBERS as u64, 0));
    let totals = hlog::totals(BufReader::new(File::open(&hlog).unwrap())).unwrap();
    (load.fan_out[0].clone(), totals)
}

fn p50(totals: &Totals, series: &str) -> Duration {
    let series = totals.get(&format!("unfair.{series}"));
    Duration::from_nanos(series.map_or(0, |series| series.value_at_quantile(0.5)))
}

fn is_near(found: Duration, expected: Duration, noise: Duration) -> bool {
    found.abs_diff(expected) <= noise
}

#[test]
fn a_hold_repairs_the_spread_of_an_unfair_path_and_costs_the_hold() {
    testing::quiet::or_doubled(ASSUMPTION, |factor| {
        let (longer, hold) = (LONGER * factor, LONGER * factor * 2);
        let noise = longer / 10;
        let (run, totals) = with_unfair_path(longer, |unfair| measured(unfair, hold, 0));
        let held = run.held.unwrap();
        assert_eq!((held.hold_ns, held.searched), (Some(hold.as_nanos() as u64), None));
        let copies = MESSAGES * SUBSCRIBERS as u64;
        assert_eq!(totals["unfair.release.service"].len(), copies, "each is handed on once");
        let earliest = Duration::from_nanos(totals["unfair.release.service"].min());
        // A histogram's lowest value is that of its bucket.
        assert!(earliest >= hold - hold / 500, "{earliest:?} is before the release");
        let [before, after, cost] = ["spread.stage", "release_spread.stage", "release.service"]
            .map(|one| p50(&totals, one));
        unless!(is_near(before, longer, noise), "spread of arrivals {before:?}");
        unless!(after <= noise, "spread of releases {after:?}");
        unless!(is_near(cost, hold, noise), "released after {cost:?}");
        unless!(held.late == 0 && held.simultaneous == MESSAGES, "{held:?}");
        Ok::<(), String>(())
    });
}

#[test]
fn copies_that_come_after_their_release_are_late_by_what_is_missing() {
    testing::quiet::or_doubled(ASSUMPTION, |factor| {
        let (longer, hold) = (LONGER * factor, LONGER * factor / 2);
        let noise = longer / 10;
        let (run, totals) = with_unfair_path(longer, |unfair| measured(unfair, hold, 0));
        let held = run.held.unwrap();
        assert_eq!(held.simultaneous, 0, "the relay keeps each copy of the first subscriber");
        let late = p50(&totals, "late.stage");
        unless!(held.late == MESSAGES, "{held:?}");
        unless!(is_near(late, longer - hold, noise), "late by {late:?}");
        let spread = p50(&totals, "release_spread.stage");
        unless!(is_near(spread, longer - hold, noise), "spread of releases {spread:?}");
        Ok::<(), String>(())
    });
}

#[test]
fn a_search_finds_the_hold_that_the_longest_path_needs() {
    testing::quiet::or_doubled(ASSUMPTION, |factor| {
        let longer = LONGER * factor;
        let (run, totals) =
            with_unfair_path(longer, |unfair| measured(unfair, Duration::ZERO, MESSAGES));
        let held = run.held.unwrap();
        assert_eq!(held.searched, Some(MESSAGES));
        let hold = Duration::from_nanos(held.hold_ns.unwrap());
        assert!(hold >= longer, "{hold:?}: no copy of the first subscriber comes before");
        unless!(is_near(hold, longer, longer / 2), "{hold:?}");
        // The share that was asked is 0.9, and a sample of a hundred is not exact.
        unless!(held.simultaneous >= MESSAGES / 2, "{held:?}");
        let spread = p50(&totals, "release_spread.stage");
        unless!(spread <= longer / 10, "spread of releases {spread:?}");
        Ok::<(), String>(())
    });
}

//! Whole runs with ends on "other hosts": threads of this process whose clocks are hours ahead.

use super::*;
use crate::end::dialogue::{Dialogue, EndRequest, Line, VERSION};
use crate::end::{EndCounts, serve};
use clock::time_base::EchoClock;
use clock::wall::WallLine;
use std::net::{TcpListener, TcpStream};

const PATIENCE: Duration = Duration::from_secs(60);

/// A clock that is so many hours ahead.
fn ahead(clock: Clock, hours: u64) -> Clock {
    let mut ahead = serde_json::to_value(clock).unwrap();
    let origin_ns = ahead["origin_ns"].as_u64().unwrap() + hours * 3_600_000_000_000;
    ahead["origin_ns"] = origin_ns.into();
    serde_json::from_value(ahead).unwrap()
}

fn described(clock: Clock, kernel: Option<WallLine>) -> String {
    serde_json::to_string(&EchoClock { time: host::utc::time_base(clock), kernel }).unwrap()
}

/// Runs `test` with so many ends, the first one an hour ahead, the second one two hours, and so on.
/// Returns also their counts.
fn with_ends<T>(ends: u64, test: impl FnOnce(&[String]) -> T) -> (T, Vec<EndCounts>) {
    let stop = AtomicBool::new(false);
    let here = Clock::calibrate();
    thread::scope(|scope| {
        let (stop, guard) = (&stop, Ends(&stop));
        let start = |number: u64| {
            let listener = TcpListener::bind(ANY).unwrap();
            let address = listener.local_addr().unwrap();
            let socket = UdpSocket::bind(address).unwrap();
            let clock = ahead(here, number);
            let end = scope.spawn(move || {
                let describe = |kernel| described(clock, kernel);
                serve(&listener, socket, (clock, &describe), stop).unwrap()
            });
            (address.to_string(), end)
        };
        let (hosts, threads): (Vec<_>, Vec<_>) = (1..=ends).map(start).unzip();
        let tested = test(&hosts);
        drop(guard);
        (tested, threads.into_iter().map(|end| end.join().unwrap()).collect())
    })
}

/// The path to the first subscriber, at the first end, is ten times longer than a busy machine's
/// noise: it is certainly last, and the record says by how much.
#[test]
fn the_subscriber_of_a_longer_path_is_last_also_between_hosts() {
    testing::quiet::or_doubled(ASSUMPTION, |factor| {
        let longer = LONGER * factor;
        let ((run, totals), counts) = with_ends(2, |hosts| {
            with_unfair_path(longer, |unfair| {
                carried_out(FanOutPlan { hosts: hosts.to_vec(), ..plan(unfair) })
            })
        });
        assert!(counts.iter().all(|end| (end.served, end.failed) == (1, 0)), "{counts:?}");
        assert_eq!((run.whole, run.hold_ns), (MESSAGES, None));
        let hosts = run.hosts.as_ref().unwrap();
        // Both offsets are the truth: the clocks read one counter, an hour apart.
        let offsets: Vec<i64> =
            hosts.ends.iter().map(|end| end.between.offset_ns.unwrap()).collect();
        let errors: Vec<u64> = hosts.ends.iter().map(|end| end.arrival_error_ns.unwrap()).collect();
        let off_ns = (offsets[1] - offsets[0] - 3_600_000_000_000).unsigned_abs();
        assert!(off_ns <= errors[0] + errors[1] + 100_000, "{off_ns} {errors:?}");
        let lasts: Vec<u64> = run.subscribers.iter().map(|one| one.last).collect();
        assert_eq!(lasts.iter().sum::<u64>() + hosts.last_not_judged, MESSAGES, "{lasts:?}");
        unless!(lasts[0] >= MESSAGES * 9 / 10, "{lasts:?} {hosts:?}");
        unless!(hosts.resolved >= MESSAGES * 9 / 10, "{hosts:?}");
        let spread = p50(&totals, "spread.stage");
        unless!(is_near(spread, longer, longer / 10), "spread {spread:?}");
        let [least, most] = hosts.spread_ns_p50.unwrap().map(Duration::from_nanos);
        unless!(least <= longer + longer / 10 && longer <= most, "{least:?} to {most:?}");
        unless!(most - least <= longer / 5, "{least:?} to {most:?}");
        Ok::<(), String>(())
    });
}

/// Hands on what comes for `to`, each that much later.
fn delayed(front: &UdpSocket, to: SocketAddrV4, by: Duration, stop: &AtomicBool) {
    let mut kept: VecDeque<(Instant, Vec<u8>)> = VecDeque::new();
    let mut bytes = [0; 2048];
    while !stop.load(Ordering::Relaxed) {
        while let Ok(length) = front.recv(&mut bytes) {
            kept.push_back((Instant::now() + by, bytes[..length].to_vec()));
        }
        while let Some((_, message)) = kept.pop_front_if(|(due, _)| *due <= Instant::now()) {
            front.send_to(&message, to).unwrap();
        }
        thread::sleep(Duration::from_micros(100));
    }
}

/// Messages are late in front of the replicator, and one copy of four behind it. An end beside the
/// replicator, whose clock is hours ahead as well, tells both apart.
#[test]
fn each_hop_has_the_delay_of_its_own_way() {
    testing::quiet::or_doubled(ASSUMPTION, |factor| {
        let longer = LONGER * factor;
        let stop = AtomicBool::new(false);
        let ((run, totals), counts) = with_ends(3, |hosts| {
            with_unfair_path(longer, |unfair| {
                thread::scope(|scope| {
                    let (stop, _ends) = (&stop, Ends(&stop));
                    let front = socket();
                    let replicator = v4(front.local_addr().unwrap());
                    scope.spawn(move || delayed(&front, unfair.replicator, longer * 2, stop));
                    carried_out(FanOutPlan {
                        hosts: hosts[..2].to_vec(),
                        replicator_end: Some(hosts[2].clone()),
                        replicator,
                        ..plan(unfair)
                    })
                })
            })
        });
        assert!(counts.iter().all(|end| (end.served, end.failed) == (1, 0)), "{counts:?}");
        assert_eq!((run.whole, run.subscribers.len()), (MESSAGES, SUBSCRIBERS));
        let hosts = run.hosts.as_ref().unwrap();
        let ends: Vec<(u64, u64)> =
            hosts.ends.iter().map(|end| (end.subscribers, end.received)).collect();
        assert_eq!(ends, [(2, 2 * MESSAGES), (2, 2 * MESSAGES), (0, MESSAGES)], "{hosts:?}");
        const HOPS: [&str; 3] = ["hop_1.stage", "replicator.stage", "hop_2.stage"];
        let counts = HOPS.map(|tag| totals[&format!("unfair.{tag}")].len());
        assert_eq!(counts, [MESSAGES, MESSAGES, MESSAGES * SUBSCRIBERS as u64]);
        let found = HOPS.map(|tag| p50(&totals, tag));
        unless!(is_near(found[0], longer * 2, longer / 5), "{found:?}");
        unless!(found[1] < longer / 10 && found[2] < longer / 10, "{found:?}");
        let late = Duration::from_nanos(totals["unfair.hop_2.stage"].value_at_quantile(0.9));
        unless!(is_near(late, longer, longer / 5), "{late:?} of a late copy");
        // The error of the replicator's end is in both hops.
        let errors = HOPS.map(|tag| Duration::from_nanos(hosts.errors_ns[tag]));
        assert!(errors[0] < errors[2], "{errors:?}");
        unless!(errors.iter().all(|error| *error < longer / 10), "{errors:?}");
        Ok::<(), String>(())
    });
}

fn asked(unfair: &Unfair, subscribers: usize) -> Line {
    Line::Asked(EndRequest {
        version: VERSION,
        registration: unfair.relay,
        subscribers,
        first: 0,
        messages: 1,
        hops: false,
        lasts_ms: 60_000,
    })
}

fn connected(host: &str) -> Dialogue {
    Dialogue::new(TcpStream::connect(host).unwrap()).unwrap()
}

/// One client at a time: others are told so, and a client that is lost leaves nothing behind.
#[test]
fn an_end_serves_one_client_and_survives_its_loss() {
    let (_, counts) = with_ends(1, |hosts| {
        with_unfair_path(Duration::ZERO, |unfair| {
            let mut lost = connected(&hosts[0]);
            lost.say(&asked(unfair, 2)).unwrap();
            assert_eq!(lost.line_within(PATIENCE).unwrap(), Line::Ready {});
            let Line::Rejected(why) = connected(&hosts[0]).line_within(PATIENCE).unwrap() else {
                panic!("two at a time");
            };
            assert!(why.contains("another client is served"), "{why}");
            drop(lost);
            // It may come while the lost one is still served.
            let tries = (0..500).find_map(|_| {
                thread::sleep(Duration::from_millis(20));
                let mut strange = connected(&hosts[0]);
                let said = strange.say(&asked(unfair, 65));
                match said.and_then(|()| strange.line_within(PATIENCE)) {
                    Ok(Line::Rejected(why)) if why.contains("1 to 64") => Some(why),
                    _ => None,
                }
            });
            let rejected = tries.expect("the end is free again");
            assert!(rejected.contains("65 subscribers"), "{rejected}");
            let (run, _) = carried_out(FanOutPlan { hosts: hosts.to_vec(), ..plan(unfair) });
            assert_eq!(run.whole, MESSAGES);
        });
    });
    let EndCounts { served, failed, turned_away, .. } = counts[0];
    assert!((served, failed >= 2, turned_away >= 1) == (1, true, true), "{counts:?}");
}

/// A source whose ends are not there says so, and what to start.
#[test]
fn an_end_that_is_not_there_is_named() {
    let unfair = Unfair { replicator: ANY, relay: ANY };
    let free = TcpListener::bind(ANY).unwrap().local_addr().unwrap().to_string();
    let plan = FanOutPlan { hosts: vec![free.clone()], subscribers: 1, ..plan(&unfair) };
    let why = run(&plan, &AtomicBool::new(false)).unwrap_err().to_string();
    assert!(why.contains(&format!("tickpath subscribers --listen {free}")), "{why}");
}

//! A hold on entry, with one gateway whose messages need longer to the exchange's thread.

use super::pairs::{Before, NUMBER, holding_pairs, is_over, pattern};
use crate::backend::Backend;
use crate::gateway::{HoldFigures, HoldOnEntry};
use crate::present;
use crate::stream::readiness;
use crate::streams::{Ready, StreamRead};
use std::io::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use testing::unless;

/// The longer way: ten times what a busy machine takes away.
const LONGER_MS: u64 = 200;
/// From the message through the long way to the one through the short way.
const APART_MS: u64 = 100;
const ASSUMPTION: &str = "no thread waits for a core for 20 ms";

static WAY_MS: AtomicU64 = AtomicU64::new(0);
/// The tests share the way.
static ALONE: Mutex<()> = Mutex::new(());

static SKEWED: Backend = Backend {
    row: plan::backend::Backend {
        name: "skewed",
        about: "the first gateway passes on late what it has stamped",
        spins: false,
    },
    queue: plan::backend::Queue::All,
    open: |clock, _| {
        let after_read = || {
            if NUMBER.get() == 0 {
                std::thread::sleep(Duration::from_millis(WAY_MS.load(Ordering::Relaxed)));
            }
        };
        Ok(Box::new(Before { sockets: readiness::block(clock)?, act: || Ok(()), after_read }))
    },
};

/// One race between two clients: the first one sends earlier, through the longer way. Returns which
/// message is read first, how long the second one waited for that since its stamp, and the figures.
fn race(factor: u64, hold_ms: u64) -> Option<(usize, Duration, HoldFigures)> {
    WAY_MS.store(LONGER_MS * factor, Ordering::Relaxed);
    let hold = (hold_ms > 0).then(|| HoldOnEntry::new(hold_ms * factor * 1_000_000));
    let mut pairs = holding_pairs(2, &SKEWED, 2, hold.clone())?;
    let deadline = Instant::now() + Duration::from_secs(60);
    pairs.peers[0].write_all(b"tick").unwrap();
    let later = Instant::now() + Duration::from_millis(APART_MS * factor);
    let (mut read, mut waited) = (Vec::new(), Duration::ZERO);
    while read.len() < 2 {
        assert!(Instant::now() < deadline, "{read:?}");
        if Instant::now() >= later && waited.is_zero() {
            pairs.peers[1].write_all(b"tick").unwrap();
            waited = Duration::from_nanos(1);
        }
        for event in pairs.wait().unwrap() {
            let Ready::Readable(id) = event else { continue };
            let StreamRead::Bytes { n: 4, stamp_ns } = pairs.streams.read(id, &mut [0; 8]) else {
                panic!("a message is four bytes");
            };
            let place = pairs.ids.iter().position(|one| *one == id).unwrap();
            if place == 1 {
                waited = Duration::from_nanos(pairs.clock.now_ns() - stamp_ns);
            }
            read.push(place);
        }
    }
    drop(pairs);
    let none = HoldOnEntry::new(0);
    Some((read[0], waited, hold.unwrap_or(none).figures()))
}

#[test]
fn a_hold_that_is_longer_than_the_way_restores_the_order_and_costs_the_hold() {
    let _alone = ALONE.lock();
    testing::quiet::or_doubled(ASSUMPTION, |factor| {
        let factor = u64::from(factor);
        let noise = Duration::from_millis(LONGER_MS * factor / 10);
        let Some((first, waited, _)) = race(factor, 0) else { return Ok(()) };
        unless!(first == 1 && waited < noise, "without a hold: {first}, {waited:?}");
        let hold_ms = 2 * LONGER_MS;
        let Some((first, waited, figures)) = race(factor, hold_ms) else { return Ok(()) };
        let hold = Duration::from_millis(hold_ms * factor);
        assert!(waited >= hold, "{waited:?}: nothing is released before it is due");
        unless!(first == 0 && waited < hold + noise, "with a hold: {first}, {waited:?}");
        assert_eq!((figures.counts.released, figures.counts.overtaken), (2, 0));
        assert_eq!(figures.transit_ns.len(), 2, "both found an empty ring");
        let longest = Duration::from_nanos(figures.transit_ns.max());
        let way = Duration::from_millis(LONGER_MS * factor);
        unless!(longest.abs_diff(way) <= noise, "the longer way took {longest:?}");
        Ok::<(), String>(())
    });
}

#[test]
fn a_hold_that_is_shorter_than_the_way_says_what_was_overtaken() {
    let _alone = ALONE.lock();
    testing::quiet::or_doubled(ASSUMPTION, |factor| {
        let factor = u64::from(factor);
        let Some((first, _, figures)) = race(factor, APART_MS / 2) else { return Ok(()) };
        unless!(first == 1, "the longer way was not long");
        assert_eq!((figures.counts.released, figures.counts.overtaken), (2, 1));
        let by = Duration::from_nanos(figures.counts.overtaken_ns_max);
        let (apart, noise) = (APART_MS * factor, LONGER_MS * factor / 10);
        let apart = Duration::from_millis(apart);
        unless!(by.abs_diff(apart) <= Duration::from_millis(noise), "overtaken by {by:?}");
        Ok::<(), String>(())
    });
}

/// More than a ring holds: the gateway waits, and every byte comes, in order.
#[test]
fn a_long_stream_passes_a_hold_whole() {
    for backend in present::backends() {
        let hold = HoldOnEntry::new(2_000_000);
        let Some(mut pairs) = holding_pairs(2, backend, 2, Some(hold.clone())) else { return };
        let sent = pattern(3, 4 << 20);
        let (mut peer, id) = (pairs.peers.remove(0), pairs.ids[0]);
        let writer = std::thread::spawn({
            let sent = sent.clone();
            move || {
                peer.write_all(&sent).unwrap();
                peer.shutdown(std::net::Shutdown::Write).unwrap();
                peer
            }
        });
        let got = pairs.read_until(id, 1000, is_over);
        assert!(got == sent, "{}: {} of {} bytes", backend.row.name, got.len(), sent.len());
        writer.join().unwrap();
        drop(pairs);
        let counts = hold.figures().counts;
        assert_eq!(counts.overtaken, 0);
        // A message has less than 1 100 bytes.
        assert!(counts.released as usize > sent.len() / 1_100, "{counts:?}");
    }
}

//! Made-up hosts whose clocks are known: what is said of a spread must contain the truth.

use super::*;
use crate::arrivals::Arrivals;
use crate::hosts::place;
use between::offsets::Offsets;
use between::probes::Probes;
use clock::random::SplitMix64;
use sync::{Probe, Reply};

const RUNS: u32 = 100;
const MESSAGES: usize = 100;
const INTERVAL_NS: u64 = 1_000_000;
/// The source's clock when it begins to send.
const START_NS: u64 = 1_000_000_000_000;
const STAMP_ERROR_NS: u64 = 300;

fn uniform(random: &mut SplitMix64, low: f64, high: f64) -> f64 {
    low + (high - low) * random.unit_open()
}

/// A host: its clock, and how long datagrams take to it and back.
struct Host {
    shift_ns: f64,
    drift: f64,
    paths_ns: [f64; 2],
}

impl Host {
    fn random(random: &mut SplitMix64) -> Host {
        Host {
            shift_ns: uniform(random, -1e11, 1e11),
            drift: uniform(random, -100e-6, 100e-6),
            paths_ns: [2e3, 2e3].map(|most| uniform(random, 200.0, most)),
        }
    }

    /// Its clock when the source's shows `at_ns`.
    fn clock_ns(&self, at_ns: f64) -> f64 {
        at_ns + self.shift_ns + self.drift * (at_ns - START_NS as f64)
    }

    /// Two probes for each message.
    fn offsets(&self, random: &mut SplitMix64) -> Offsets {
        let probe = |turn: u64| {
            let sent = (START_NS + turn * INTERVAL_NS / 2) as f64 - 1e7;
            let [there, back] = self.paths_ns.map(|least| least + 3e4 * random.unit_open().powi(9));
            let replied = sent + there + 1_500.0;
            Probe {
                sent_ns: sent.floor() as i64,
                received_ns: self.clock_ns(sent + there).ceil() as i64,
                reply: Some(Reply {
                    sent_ns: self.clock_ns(replied).floor() as i64,
                    received_ns: (replied + back).ceil() as i64,
                }),
            }
        };
        let probes: Vec<Probe> = (0..2 * MESSAGES as u64 + 60).map(probe).collect();
        Offsets::of(&probes.into_iter().collect::<Probes>(), None, 1)
    }
}

/// Counts of a run of made-up hosts.
#[derive(Debug, Default)]
struct Found {
    firsts: u64,
    lasts: u64,
    not_judged: u64,
    resolved: u64,
}

/// One run, whose copies arrive within `apart_ns` of each other.
fn check(seed: u64, apart_ns: f64, found: &mut Found) {
    let mut random = SplitMix64::new(seed);
    let random = &mut random;
    let ends = 2 + random.below(3) as usize;
    let each = 1 + random.below(3) as usize;
    let hosts: Vec<Host> = (0..ends).map(|_| Host::random(random)).collect();
    let offsets: Vec<Offsets> = hosts.iter().map(|host| host.offsets(random)).collect();
    let mut truth = vec![vec![0.0; MESSAGES * each]; ends];
    let mut stamps = vec![vec![0; MESSAGES * each]; ends];
    for (end, host) in hosts.iter().enumerate() {
        for place in 0..MESSAGES * each {
            let sent_ns = START_NS + (place / each) as u64 * INTERVAL_NS;
            let at_ns = sent_ns as f64 + 20_000.0 + uniform(random, 0.0, apart_ns);
            let wrong_ns = uniform(random, -1.0, 1.0) * (STAMP_ERROR_NS - 1) as f64;
            truth[end][place] = at_ns;
            stamps[end][place] = (host.clock_ns(at_ns) + wrong_ns) as u64;
        }
    }
    let far: Vec<FarCopies<'_>> = (0..ends)
        .map(|end| FarCopies {
            first: end * each,
            subscribers: each,
            arrivals_ns: &stamps[end],
            stamp_error_ns: STAMP_ERROR_NS,
            clock_steps: 0,
            offsets: &offsets[end],
        })
        .collect();
    let mut arrivals = Arrivals::new(MESSAGES, 0, false);
    for number in 0..MESSAGES {
        let sent_ns = number as u64 * INTERVAL_NS;
        arrivals.sent(number, sent_ns, sent_ns);
        let place = |(end, far): (usize, &FarCopies<'_>)| {
            far.place(end, number, START_NS + sent_ns).collect::<Vec<_>>()
        };
        let placed = far.iter().enumerate().flat_map(place);
        let copies: Vec<Copy> = placed.map(|(_, copy)| copy.expect("a bracket")).collect();
        let true_ns = |copy: &Copy| truth[copy.end][number * each + copy.subscriber % each];
        for copy in &copies {
            let off_ns = (copy.at_ns as f64 - true_ns(copy)).abs();
            assert!(off_ns <= copy.error_ns as f64 + 1.0, "seed {seed}: {off_ns} {copy:?}");
        }
        let by_time = |one: &&Copy, other: &&Copy| true_ns(one).total_cmp(&true_ns(other));
        let first = copies.iter().min_by(by_time).unwrap();
        let last = copies.iter().max_by(by_time).unwrap();
        let spread_ns = true_ns(last) - true_ns(first);
        let [least, most] = bounds(&copies).map(|ns| ns as f64);
        let holds = least - 1.0 <= spread_ns && spread_ns <= most + 1.0;
        assert!(holds, "seed {seed}: {spread_ns} is not in {least} to {most}");
        let certain = ranks(&copies);
        assert!(certain.first.is_none_or(|one| one == first.subscriber), "seed {seed}");
        assert!(certain.last.is_none_or(|one| one == last.subscriber), "seed {seed}");
        found.firsts += u64::from(certain.first.is_some());
        found.lasts += u64::from(certain.last.is_some());
    }
    let placed = place::all(&far, None, ends * each, START_NS, arrivals);
    assert_eq!(placed.ends.iter().map(|end| end.unplaced).sum::<u64>(), 0);
    assert_eq!(placed.arrivals.copies(), (MESSAGES * ends * each) as u64);
    found.resolved += placed.spreads.resolved;
    found.not_judged += placed.spreads.not_judged[0];
}

/// Whatever the clocks do, and however asymmetric the paths are.
#[test]
fn the_truth_is_within_what_is_said_and_no_rank_is_wrong() {
    let total = u64::from(RUNS) * MESSAGES as u64;
    let mut far_apart = Found::default();
    (0..RUNS).for_each(|seed| check(seed.into(), 1e6, &mut far_apart));
    // A millisecond is much more than these clocks leave open.
    assert!(far_apart.firsts > total * 9 / 10 && far_apart.lasts > total * 9 / 10, "{far_apart:?}");
    assert!(far_apart.resolved > total * 99 / 100, "{far_apart:?}");
    // A microsecond is less, and so nearly no rank is certain, and none was taken to be.
    let mut close = Found::default();
    (0..RUNS).for_each(|seed| check(seed.into(), 1e3, &mut close));
    assert!(close.firsts < total / 4, "{close:?}");
    assert_eq!(close.firsts + close.not_judged, total, "{close:?}");
}

fn copy(end: usize, subscriber: usize, at_ns: i64) -> Copy {
    Copy { end, subscriber, at_ns, error_ns: 5_000, stamp_error_ns: 100 }
}

/// The offset of one end's clock is in all its copies, and cancels between them.
#[test]
fn copies_at_one_end_are_compared_by_its_own_clock() {
    let one_end = [copy(0, 0, 0), copy(0, 1, 1_000)];
    assert_eq!(bounds(&one_end), [799, 1_201]);
    assert_eq!(ranks(&one_end), CertainRanks { first: Some(0), last: Some(1) });
    let two_ends = [copy(0, 0, 0), copy(1, 1, 1_000)];
    assert_eq!(bounds(&two_ends), [0, 11_000]);
    assert_eq!(ranks(&two_ends), CertainRanks::default());
    // The last of one end is certain, and the first is not: two ends may have it.
    let both = [copy(0, 0, 0), copy(1, 1, 1_000), copy(1, 2, 20_000)];
    assert_eq!(bounds(&both), [18_796, 30_000]);
    assert_eq!(ranks(&both), CertainRanks { first: None, last: Some(2) });
    assert_eq!(ranks(&[copy(0, 0, 7)]), CertainRanks { first: Some(0), last: Some(0) });
}

/// A run whose clocks are not known, or were set, has no spread, and not one of 0.
#[test]
fn without_a_bracket_no_arrival_has_a_place() {
    let stamps = [START_NS + 5, 0];
    let random = &mut SplitMix64::new(1);
    let known = Host::random(random).offsets(random);
    for (clock_steps, offsets) in [(0, Offsets::of(&Probes::default(), None, 1)), (1, known)] {
        let far = FarCopies {
            first: 0,
            subscribers: 1,
            arrivals_ns: &stamps,
            stamp_error_ns: 0,
            clock_steps,
            offsets: &offsets,
        };
        has_no_spread(far);
    }
}

fn has_no_spread(far: FarCopies<'_>) {
    let mut arrivals = Arrivals::new(2, 0, false);
    arrivals.sent(0, 0, 0);
    let placed = place::all(&[far], None, 1, START_NS, arrivals);
    let end = placed.ends[0];
    assert_eq!((end.received, end.unplaced, end.worst), (1, 1, None));
    assert_eq!(placed.arrivals.copies(), 1, "it arrived");
    assert!(placed.arrivals.messages().all(|message| !message.is_whole()));
    let mut hosts = FanOutHosts::default();
    placed.spreads.into_record(&mut hosts, &placed.ends, &[], placed.hops);
    assert_eq!((hosts.spread_error_ns, hosts.spread_ns_p50), (None, None));
    assert!(hosts.errors_ns.is_empty());
}

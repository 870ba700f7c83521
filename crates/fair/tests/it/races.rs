//! Seeded races with known response times, on paths that differ by ten times what decides a race.

use clock::random::SplitMix64;
use fair::window::{Answer, Claim, DeliveryWindow, Fate};

const PARTICIPANTS: usize = 5;
const RACES: u64 = 10_000;
/// Response times are at least so far apart.
const DIFFERENCE_NS: u64 = 500;
/// Each way, to the participant and back, takes up to this.
const SKEW_NS: u64 = 10 * DIFFERENCE_NS;
const RESPONSE_NS_MAX: u64 = 1_000 + PARTICIPANTS as u64 * DIFFERENCE_NS;
/// Shorter than what may pass until an order arrives, so that several ticks are raced for at once.
const TICK_EVERY_NS: u64 = 9_000;

/// An event at the exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happens {
    Published(u64),
    Arrives { race: u64, rank: usize, response_ns: u64 },
}

/// Publications and arrivals in the order of their times. A participant's rank in a race is its
/// place by response time.
fn events(seed: u64) -> Vec<(u64, Happens)> {
    let mut random = SplitMix64::new(seed);
    let mut below = |n: u64| u64::from(random.below(n as u32));
    let mut events = Vec::new();
    for race in 1..=RACES {
        let published_ns = race * TICK_EVERY_NS;
        events.push((published_ns, Happens::Published(race)));
        for rank in 0..PARTICIPANTS {
            let response_ns = 1_000 + rank as u64 * DIFFERENCE_NS + below(100);
            let at_ns = published_ns + below(SKEW_NS) + response_ns + below(SKEW_NS);
            events.push((at_ns, Happens::Arrives { race, rank, response_ns }));
        }
    }
    events.sort_unstable();
    events
}

/// The orders as they leave the window, and those that came too late for it.
fn run(window_ns: u64, events: &[(u64, Happens)]) -> (Vec<(Answer, usize)>, u64) {
    let mut window = DeliveryWindow::new(window_ns);
    let (mut left, mut late) = (Vec::new(), 0);
    for (now_ns, happens) in events.iter().copied() {
        left.extend(std::iter::from_fn(|| window.release(now_ns)));
        match happens {
            Happens::Published(tick) => window.published(tick, now_ns),
            Happens::Arrives { race, rank, response_ns } => {
                let answer = window.arrives(Claim { tick: race, response_ns }, now_ns);
                match answer.fate {
                    Fate::Held => window.hold(answer, now_ns, rank).unwrap(),
                    fate => {
                        assert_eq!(fate, Fate::Late, "everybody is honest");
                        late += 1;
                    }
                }
            }
        }
    }
    left.extend(std::iter::from_fn(|| window.release(u64::MAX)));
    (left, late)
}

#[test]
fn ten_thousand_races_are_decided_by_response_times() {
    let events = events(2303);
    let (left, late) = run(2 * SKEW_NS + RESPONSE_NS_MAX, &events);
    assert_eq!((left.len() as u64, late), (RACES * PARTICIPANTS as u64, 0));
    for race in left.chunks(PARTICIPANTS) {
        let ranks: Vec<usize> = race.iter().map(|(_, rank)| *rank).collect();
        assert_eq!(ranks, [0, 1, 2, 3, 4], "{race:?}");
        assert!(race.iter().all(|(answer, _)| answer.publication == race[0].0.publication));
    }
    // By arrival most of them had been decided otherwise.
    let is_as_arrived = |race: &&[(Answer, usize)]| race.is_sorted_by_key(|(one, _)| one.arrival);
    let kept = left.chunks(PARTICIPANTS).filter(is_as_arrived).count();
    assert!(kept < RACES as usize / 2, "arrival agreed in {kept} of {RACES} races");
}

/// A window that is too short for some: those that arrive within it are in order all the same.
#[test]
fn within_a_short_window_the_order_is_right() {
    let events = events(34);
    let (left, late) = run(SKEW_NS + RESPONSE_NS_MAX, &events);
    assert!(late > RACES / 100, "only {late} were late");
    assert_eq!(left.len() as u64 + late, RACES * PARTICIPANTS as u64);
    let by_race = |(one, rank): &(Answer, usize)| (one.publication, *rank);
    assert!(left.is_sorted_by_key(by_race), "a slower answer left before a faster one");
}

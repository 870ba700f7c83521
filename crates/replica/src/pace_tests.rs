use super::*;
use proptest::prelude::*;

const SECOND_NS: u64 = 1_000_000_000;

/// A follower that comes back and lacks this many, and a log that grows at this rate.
#[derive(Clone, Copy, Debug)]
struct CatchUp {
    lacks: u64,
    written_per_second: u64,
    /// Time that a frame takes on its way into the socket, and by which each pause is longer, ns.
    delay_ns: u64,
}

impl CatchUp {
    /// When the follower lacks no more than a frame, ns, and how much it has got until then.
    /// `None`: not within this time.
    fn run(self, lacks_max: u64, limit_ns: u64) -> Option<(u64, u64)> {
        let mut pace = Pace::default();
        let (mut now_ns, mut next) = (0, 0);
        while now_ns < limit_ns {
            let written = self.lacks + now_ns * self.written_per_second / SECOND_NS;
            if written - next <= LACKS_MIN {
                return Some((now_ns, next));
            }
            let records = pace.allowance(now_ns, written, next, lacks_max).min(written - next);
            pace.shipped(records);
            next += records;
            let pause_ns = if records == 0 { Pace::PAUSE.as_nanos() as u64 } else { 1_000 };
            now_ns += pause_ns + self.delay_ns;
        }
        None
    }
}

const MILLION: CatchUp = CatchUp { lacks: 1_000_000, written_per_second: 10_000, delay_ns: 0 };

#[test]
fn a_follower_that_was_away_gets_a_part_at_a_time() {
    let (ns, records) = MILLION.run(u64::MAX, 60 * SECOND_NS).unwrap();
    // 100 000 a second come, and 10 000 are added.
    assert!((10..=12).contains(&(ns / SECOND_NS)), "{ns} ns");
    let rate = records * SECOND_NS / ns;
    assert!((90_000..=RATE).contains(&rate), "{rate} a second");
}

#[test]
fn a_follower_that_has_caught_up_gets_all_at_once() {
    let mut pace = Pace::default();
    let mut allowance = |now_ns, lacks| pace.allowance(now_ns, lacks, 0, u64::MAX);
    assert_eq!(allowance(0, LACKS_MIN + 1), 0);
    for now_ns in 1..10 {
        assert_eq!(allowance(now_ns, LACKS_MIN), RECORDS_MAX);
    }
    // The time in which it lacked less does not count.
    assert_eq!(allowance(10 * SECOND_NS, LACKS_MIN + 1), 0);
}

/// Orders are rejected then, so nothing flows that the follower could disturb.
#[test]
fn there_are_no_pauses_while_orders_wait_for_the_follower() {
    let (ns, _) = MILLION.run(0, SECOND_NS).unwrap();
    assert!(ns < SECOND_NS / 1_000, "{ns} ns");
    let mut pace = Pace::default();
    assert_eq!(pace.allowance(0, 500_000, 0, 500_000), RECORDS_MAX);
    assert_eq!(pace.allowance(1, 500_000, 1, 500_000), 0);
}

proptest! {
    /// At any rate of orders, also where a frame or the end of a pause comes late: in less than
    /// half of the time in which that much was written, or at the least rate.
    #[test]
    fn a_follower_always_catches_up(
        lacks in LACKS_MIN + 1..3_000_000_u64,
        written_per_second in 0..1_000_000_u64,
        delay_ns in 0..1_000_000_u64,
    ) {
        let catch_up = CatchUp { lacks, written_per_second, delay_ns };
        let away_ns = lacks * SECOND_NS / written_per_second.max(1);
        let least_ns = 4 * lacks * SECOND_NS / RATE;
        let limit_ns = (away_ns / 2).min(least_ns) + SECOND_NS;
        prop_assert!(catch_up.run(u64::MAX, limit_ns).is_some());
    }
}

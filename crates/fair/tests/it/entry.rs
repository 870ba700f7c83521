//! Races for the sequencer through gateways whose ways to it differ.

use clock::random::SplitMix64;
use fair::entry::EntryHold;
use proptest::prelude::*;
use std::collections::VecDeque;

/// Messages on their way from the gateways: when each was stamped, and when the sequencer can see
/// it. Each gateway's are in order of both.
type Ways = Vec<VecDeque<(u64, u64)>>;

/// The stamps and gateways as a sequencer releases them that looks at these times and, when it has
/// released something, once more.
fn sequenced(
    hold: &mut EntryHold,
    mut ways: Ways,
    looks: impl Iterator<Item = u64>,
) -> Vec<(u64, usize)> {
    let mut order = Vec::new();
    for now_ns in looks {
        loop {
            let visible = |way: &VecDeque<(u64, u64)>| {
                way.front().filter(|(_, seen_ns)| *seen_ns <= now_ns).map(|(stamp_ns, _)| *stamp_ns)
            };
            let Some((gateway, due_ns)) = hold.next(ways.iter().map(visible)) else { break };
            if due_ns > now_ns {
                break;
            }
            let (stamp_ns, _) = ways[gateway].pop_front().unwrap();
            hold.released(stamp_ns);
            order.push((stamp_ns, gateway));
        }
    }
    order
}

/// Two orders race, `DIFFERENCE_NS` apart, through two gateways whose ways take up to `SKEW_NS`.
const DIFFERENCE_NS: u64 = 500;
const SKEW_NS: u64 = 20 * DIFFERENCE_NS;
/// No race meets another one's messages.
const RACE_EVERY_NS: u64 = 10 * SKEW_NS;

/// Runs this many races; returns in how many the earlier order was sequenced first.
fn right(races: u64, hold_ns: u64, seed: u64) -> u64 {
    let mut random = SplitMix64::new(seed);
    let mut hold = EntryHold::new(hold_ns);
    let mut right = 0;
    for race in 1..=races {
        let start_ns = race * RACE_EVERY_NS;
        let stamps = [start_ns, start_ns + DIFFERENCE_NS];
        // Either gateway may have the earlier one.
        let first = random.below(2) as usize;
        let mut ways: Ways = vec![VecDeque::new(); 2];
        for (place, stamp_ns) in stamps.into_iter().enumerate() {
            let seen_ns = stamp_ns + u64::from(random.below(SKEW_NS as u32 + 1));
            ways[first ^ place].push_back((stamp_ns, seen_ns));
        }
        // It looks whenever something can be released.
        let seen = ways.iter().flatten().map(|(_, seen_ns)| *seen_ns);
        let mut looks: Vec<u64> = seen.chain(stamps.map(|stamp_ns| stamp_ns + hold_ns)).collect();
        looks.sort_unstable();
        let order = sequenced(&mut hold, ways, looks.into_iter());
        assert_eq!(order.len(), 2);
        right += u64::from(order[0].1 == first);
    }
    let counts = hold.counts();
    assert_eq!((counts.released, counts.overtaken), (2 * races, races - right));
    right
}

#[test]
fn ten_thousand_races_are_decided_by_arrival_at_the_gateways() {
    const RACES: u64 = 10_000;
    assert_eq!(right(RACES, SKEW_NS, 2311), RACES);
    // Without a hold the ways decide nearly half of them.
    let without = right(RACES, 0, 2311);
    assert!(without < RACES * 6 / 10, "{without} of {RACES}");
}

/// Both ways take a time that is uniform up to S. The earlier order loses if its way takes longer
/// than the difference d and the larger of the hold H and the other's way:
/// ((S - d - H) H + (S - d - H)^2 / 2) / S^2.
#[test]
fn beyond_the_hold_the_share_of_right_orders_is_the_one_that_the_ways_predict() {
    const RACES: u64 = 200_000;
    let mut shares = Vec::new();
    for hold_ns in [0, SKEW_NS / 4, SKEW_NS / 2, SKEW_NS * 3 / 4, SKEW_NS - DIFFERENCE_NS] {
        let share = right(RACES, hold_ns, 34) as f64 / RACES as f64;
        let [s, h] = [SKEW_NS as f64, hold_ns as f64];
        let beyond = s - DIFFERENCE_NS as f64 - h;
        let wrong = (beyond * h + beyond * beyond / 2.0) / (s * s);
        assert!((share - (1.0 - wrong)).abs() < 0.01, "hold {hold_ns}: {share}, {wrong} wrong");
        shares.push(share);
    }
    assert!(shares.is_sorted() && shares[4] == 1.0, "{shares:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(400)))]

    /// Many messages at once through several gateways, ways within the hold, and a sequencer that
    /// looks at any times: the order is that of the stamps, and nothing leaves before it is due.
    #[test]
    fn within_the_hold_the_order_is_that_of_the_stamps(
        gateways in prop::collection::vec(
            prop::collection::vec((0u64..400, 0u64..=1_000), 0..40), 1..6),
        looks in prop::collection::vec(0u64..20_000, 0..60),
    ) {
        let mut ways: Ways = Vec::new();
        let mut expected = Vec::new();
        for (gateway, messages) in gateways.iter().enumerate() {
            let (mut stamp_ns, mut seen_ns, mut way) = (0, 0, VecDeque::new());
            for (after_ns, takes_ns) in messages {
                stamp_ns += after_ns;
                seen_ns = (stamp_ns + takes_ns).max(seen_ns);
                way.push_back((stamp_ns, seen_ns));
                expected.push((stamp_ns, gateway));
            }
            ways.push(way);
        }
        expected.sort_unstable();
        let mut hold = EntryHold::new(1_000);
        let mut looks = looks;
        looks.sort_unstable();
        looks.push(u64::MAX);
        let order = sequenced(&mut hold, ways, looks.into_iter());
        prop_assert_eq!(order, expected);
        prop_assert_eq!(hold.counts().overtaken, 0);
    }
}

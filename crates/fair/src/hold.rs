//! Hold and release: a message is released at its sending time plus a fixed hold, to everybody at
//! once. It is fair if it reached everybody by then.
//!
//! The method is that of CloudEx (Ghalayini et al., HotOS 2021).

/// When a message is released to one subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// The time of release, in the unit and from the origin of the arguments.
    pub at_ns: u64,
    /// It arrived after its release time, so this subscriber sees it later than others.
    pub is_late: bool,
}

/// The release of a message that was sent, and arrived, at these times of one clock.
pub fn release(sent_ns: u64, hold_ns: u64, arrival_ns: u64) -> Release {
    let due_ns = sent_ns.saturating_add(hold_ns);
    Release { at_ns: due_ns.max(arrival_ns), is_late: arrival_ns > due_ns }
}

/// The smallest hold with which at least `fair` of all messages, a share in `0..=1`, are released
/// to everybody at once. `last_ns` are the times from sending until the last subscriber had each
/// message; `None`: somebody never got it. Returns `None` if no hold is enough, or without
/// messages. Sorts its argument.
pub fn smallest_hold(last_ns: &mut [Option<u64>], fair: f64) -> Option<u64> {
    // A message that is lost for one is later than all others.
    last_ns.sort_unstable_by_key(|last| last.unwrap_or(u64::MAX));
    let wanted = (fair * last_ns.len() as f64).ceil() as usize;
    let at = wanted.max(1).checked_sub(1)?;
    *last_ns.get(at)?
}

/// The cost of a hold: late copies, and the time that holding adds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Copies that came after their release time.
    pub late: u64,
    /// Copies that arrived.
    pub copies: u64,
    /// Mean time that a copy was held, ns; 0 for a late one.
    pub held_ns_mean: f64,
}

/// The cost of that hold for these copies. Each is a time from sending to arrival, ns.
pub fn cost(arrivals_ns: impl Iterator<Item = u64>, hold_ns: u64) -> Cost {
    let (mut cost, mut held_ns) = (Cost::default(), 0.0);
    for arrival_ns in arrivals_ns {
        let Release { at_ns, is_late } = release(0, hold_ns, arrival_ns);
        cost.copies += 1;
        cost.late += u64::from(is_late);
        held_ns += (at_ns - arrival_ns) as f64;
    }
    if cost.copies > 0 {
        cost.held_ns_mean = held_ns / cost.copies as f64;
    }
    cost
}

#[cfg(test)]
mod tests {
    use super::*;
    use clock::random::SplitMix64;

    #[test]
    fn a_message_is_released_when_it_is_due_or_when_it_comes() {
        assert_eq!(release(100, 50, 130), Release { at_ns: 150, is_late: false });
        assert_eq!(release(100, 50, 150), Release { at_ns: 150, is_late: false });
        assert_eq!(release(100, 50, 151), Release { at_ns: 151, is_late: true });
    }

    #[test]
    fn the_smallest_hold_is_the_one_below_which_too_many_are_late() {
        let mut last: Vec<Option<u64>> = (1..=1_000).rev().map(Some).collect();
        for (fair, expected) in [(0.5, 500), (0.999, 999), (0.9991, 1_000), (1.0, 1_000)] {
            let hold = smallest_hold(&mut last, fair).unwrap();
            assert_eq!(hold, expected, "{fair}");
            let on_time = |hold| last.iter().filter(|one| one.unwrap() <= hold).count() as f64;
            assert!(on_time(hold) >= fair * 1_000.0 && on_time(hold - 1) < fair * 1_000.0);
        }
        // One recipient never got the message: there is no time at which all have it.
        last[0] = None;
        assert_eq!(smallest_hold(&mut last, 1.0), None);
        assert_eq!(smallest_hold(&mut last, 0.999), Some(1_000));
        assert_eq!(smallest_hold(&mut [], 0.5), None);
    }

    #[test]
    fn holding_costs_the_early_ones() {
        let cost = cost([10, 20, 30, 60].into_iter(), 30);
        assert_eq!((cost.late, cost.copies), (1, 4));
        assert_eq!(cost.held_ns_mean, (20.0 + 10.0 + 0.0 + 0.0) / 4.0);
        assert_eq!(super::cost(std::iter::empty(), 30), Cost::default());
    }

    /// Two participants race for each message; one answers 2 us faster. Their paths have delays
    /// with an exponential distribution of mean `MEAN_NS`. A share `a = exp(-hold / mean)` of
    /// messages is late, by an exponential time again. So the slower one wins with a probability of
    /// `a exp(-difference / mean) (1 - a / 2)`.
    #[test]
    fn the_share_of_right_orders_is_the_one_that_the_delays_predict() {
        const MEAN_NS: f64 = 10_000.0;
        const DIFFERENCE_NS: u64 = 2_000;
        const RACES: u32 = 200_000;
        let mut random = SplitMix64::new(34);
        let mut delay_ns = || (-random.unit_open().ln() * MEAN_NS) as u64;
        let mut shares = Vec::new();
        for hold_ns in [0, 10_000, 30_000, 60_000] {
            let mut right = 0;
            for _ in 0..RACES {
                let [fast, slow] =
                    [delay_ns(), delay_ns()].map(|arrival| release(0, hold_ns, arrival));
                right += u32::from(fast.at_ns < slow.at_ns + DIFFERENCE_NS);
            }
            let late = (-(hold_ns as f64) / MEAN_NS).exp();
            let wrong = late * (-(DIFFERENCE_NS as f64) / MEAN_NS).exp() * (1.0 - late / 2.0);
            let share = f64::from(right) / f64::from(RACES);
            assert!((share - (1.0 - wrong)).abs() < 0.01, "hold {hold_ns}: {share}, {wrong} wrong");
            shares.push(share);
        }
        // Without a hold two of five are wrong; with six times the mean, hardly one in a hundred.
        assert!(shares.is_sorted() && shares[0] < 0.62 && shares[3] > 0.99, "{shares:?}");
    }
}

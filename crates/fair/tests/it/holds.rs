//! The smallest hold that a sample of arrivals asks for, on a later sample from the same paths.

use clock::random::SplitMix64;
use fair::hold::{release, smallest_hold};
use proptest::prelude::*;

const MESSAGES: usize = 40_000;

/// How the delays of a subscriber's path are distributed.
#[derive(Clone, Copy, Debug)]
enum Jitter {
    /// Up to this many ns, each as likely.
    Uniform(u32),
    /// Exponential, with this mean in ns.
    Exponential(u32),
    /// Uniform to the first, and one of 20 exponential with the second as mean.
    Mixed(u32, u32),
}

impl Jitter {
    fn delay_ns(self, random: &mut SplitMix64) -> u64 {
        let mut exponential = |mean: u32| (-random.unit_open().ln() * f64::from(mean)) as u64;
        match self {
            Jitter::Exponential(mean) => exponential(mean),
            Jitter::Mixed(most, mean) => match exponential(1_000_000) < 51_293 {
                // exp(-0.051293) is 0.95.
                true => exponential(mean),
                false => u64::from(random.below(most)),
            },
            Jitter::Uniform(most) => u64::from(random.below(most)),
        }
    }
}

fn path() -> impl Strategy<Value = (u64, Jitter)> {
    let jitter = prop_oneof![
        (5_000u32..50_000).prop_map(Jitter::Uniform),
        (1_000u32..20_000).prop_map(Jitter::Exponential),
        (5_000u32..50_000, 10_000u32..80_000).prop_map(|(most, mean)| Jitter::Mixed(most, mean)),
    ];
    (5_000u64..60_000, jitter)
}

/// How long after its sending each message has reached the last subscriber.
fn last_ns(paths: &[(u64, Jitter)], random: &mut SplitMix64) -> Vec<u64> {
    let last = |random: &mut SplitMix64| {
        let arrivals = paths.iter().map(|(base_ns, jitter)| base_ns + jitter.delay_ns(random));
        arrivals.max().unwrap_or(0)
    };
    (0..MESSAGES).map(|_| last(random)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(60)))]

    /// One path is a hundred times the usual jitter longer in some cases: the hold then is that
    /// path's, and the share stays the one that was asked.
    #[test]
    fn the_share_of_late_messages_is_the_one_that_was_asked(
        mut paths in prop::collection::vec(path(), 1..8),
        longer_ns in prop_oneof![Just(0u64), Just(2_000_000)],
        late in prop_oneof![Just(0.001), Just(0.01), Just(0.1), Just(0.5)],
        seed: u64,
    ) {
        paths[0].0 += longer_ns;
        let mut random = SplitMix64::new(seed);
        let mut search: Vec<Option<u64>> =
            last_ns(&paths, &mut random).into_iter().map(Some).collect();
        let hold_ns = smallest_hold(&mut search, 1.0 - late).unwrap();
        prop_assert!(hold_ns > longer_ns);
        let verified = last_ns(&paths, &mut random);
        let found = verified.iter().filter(|last| release(0, hold_ns, **last).is_late).count();
        let found = found as f64 / MESSAGES as f64;
        prop_assert!((found - late).abs() < 0.01, "{found} of {late}, hold {hold_ns}");
    }
}

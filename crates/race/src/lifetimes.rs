//! Orders that rest for a while and leave: most for microseconds, some for seconds.

use clock::random::{SplitMix64, exponential};

/// The shortest lifetime, ns.
const LEAST_NS: f64 = 1e3;
/// Ends of the two short classes, ns.
pub(crate) const SHORT_NS: [u64; 2] = [100_000, 1_000_000];

/// Passive orders of others than the participants, around the fair value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passive {
    /// Orders per second, a Poisson process; 0: none.
    pub per_second: f64,
    /// Share that leaves within 100 us.
    pub within_100us: f64,
    /// Share that leaves within 1 ms, those within 100 us included.
    pub within_1ms: f64,
    /// The others rest for 1 ms and an exponential time with this mean, ns.
    pub longer_ns: f64,
    /// Lots of an order.
    pub lots: u64,
    /// They rest 1 to `reach_ticks` from the fair value, each distance with the same probability.
    pub reach_ticks: u32,
}

impl Passive {
    /// No orders.
    pub const NONE: Passive = Passive {
        per_second: 0.0,
        within_100us: 0.0,
        within_1ms: 0.0,
        longer_ns: 0.0,
        lots: 1,
        reach_ticks: 1,
    };

    /// A lifetime, ns. Within the short classes its logarithm is uniform.
    pub(crate) fn lifetime_ns(&self, random: &mut SplitMix64) -> u64 {
        let class = random.unit_open();
        let short_ns = SHORT_NS.map(|ns| ns as f64);
        let between = |from: f64, to: f64, random: &mut SplitMix64| {
            from * libm::exp(random.unit_open() * libm::log(to / from))
        };
        let ns = match class {
            class if class <= self.within_100us => between(LEAST_NS, short_ns[0], random),
            class if class <= self.within_1ms => between(short_ns[0], short_ns[1], random),
            _ => short_ns[1] + self.longer_ns * exponential(random),
        };
        ns as u64
    }
}

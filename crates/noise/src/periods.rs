//! Finds series of equal distance among the times at which something happened.
//!
//! A distance is a period if most of the events have a neighbour at that distance, before or after, far
//! more often than chance would give them one. Neighbours, not a phase over the whole time: a clock that
//! drifts, or starts anew, is still the same tick.

/// Events that a series needs.
pub const EVENTS_MIN: usize = 20;
/// Events that are looked at, at most: the first ones.
const EVENTS_MAX: usize = 100_000;
/// So many later neighbours of each event are candidates.
const NEIGHBOURS: usize = 8;
/// Two distances are the same if they differ by at most this share.
const TOLERANCE: f64 = 0.02;
/// Share of the events that must belong to the series.
const SHARE_MIN: f64 = 0.5;
/// How many times the share that chance gives.
const OVER_CHANCE_MIN: f64 = 3.0;
/// Shorter distances are bursts, ns.
const PERIOD_NS_MIN: u64 = 20_000;

/// A series of equal distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Period {
    /// The distance, ns: the median of those between neighbours.
    pub period_ns: u64,
    /// The share of the events that belong to it.
    pub share: f64,
}

/// The longest period among events at `starts_ns` (ascending) that most of them belong to.
pub fn period(starts_ns: &[u64]) -> Option<Period> {
    let starts = &starts_ns[..starts_ns.len().min(EVENTS_MAX)];
    if starts.len() < EVENTS_MIN {
        return None;
    }
    let candidates = candidates(starts);
    let found: Vec<Period> =
        candidates.into_iter().filter_map(|distance| at(starts, distance)).collect();
    // Twice a period is one too, for those that have both neighbours: the shortest of the best.
    let best = found.iter().map(|period| period.share).fold(0.0, f64::max);
    found.into_iter().filter(|period| period.share >= best * 0.9).min_by_key(|one| one.period_ns)
}

/// Candidates that are looked at.
const CANDIDATES_MAX: usize = 8;

/// The distances between neighbours that come most often, each the median of its like.
fn candidates(starts: &[u64]) -> Vec<u64> {
    let mut distances: Vec<u64> = (1..=NEIGHBOURS)
        .flat_map(|step| starts.windows(step + 1).map(move |window| window[step] - window[0]))
        .filter(|distance| *distance >= PERIOD_NS_MIN)
        .collect();
    distances.sort_unstable();
    let mut crowds: Vec<(usize, u64)> = Vec::new();
    let mut from = 0;
    while from < distances.len() {
        let limit = (distances[from] as f64 * (1.0 + TOLERANCE)) as u64;
        let length = distances[from..].partition_point(|distance| *distance <= limit);
        crowds.push((length, distances[from + length / 2]));
        // Half a crowd further, so that one that a border cuts is seen whole as well.
        from += length.div_ceil(2);
    }
    crowds.sort_unstable_by(|a, b| b.cmp(a));
    crowds.into_iter().take(CANDIDATES_MAX).map(|(_, distance)| distance).collect()
}

/// How far `distance` is a period.
fn at(starts: &[u64], distance: u64) -> Option<Period> {
    let slack = (distance as f64 * TOLERANCE) as u64;
    let neighbour = |start: u64| {
        let near = starts.partition_point(|other| *other < start + distance - slack);
        starts.get(near).filter(|other| **other <= start + distance + slack).copied()
    };
    let mut belongs = vec![false; starts.len()];
    let mut steps = Vec::new();
    for (number, &start) in starts.iter().enumerate() {
        if let Some(next) = neighbour(start) {
            steps.push(next - start);
            belongs[number] = true;
            belongs[starts.partition_point(|other| *other < next)] = true;
        }
    }
    let share = belongs.iter().filter(|belongs| **belongs).count() as f64 / starts.len() as f64;
    // Events at random have one within the slack on either side this often.
    let rate = starts.len() as f64 / (starts[starts.len() - 1] - starts[0]).max(1) as f64;
    let chance = 1.0 - (-rate * 4.0 * slack as f64).exp();
    steps.sort_unstable();
    let period_ns = *steps.get(steps.len() / 2)?;
    let is_one = share >= SHARE_MIN && share >= OVER_CHANCE_MIN * chance;
    is_one.then_some(Period { period_ns, share })
}

/// What a kernel's tick may be: `CONFIG_HZ`.
pub const TICKS_HZ: [u64; 5] = [1000, 300, 250, 100, 1024];

/// Whether `period_ns` is that of a kernel's tick, within one in a hundred.
pub fn is_tick(period_ns: u64) -> bool {
    let near = |hz: &u64| (1e9 / period_ns as f64 / *hz as f64 - 1.0).abs() < 0.01;
    TICKS_HZ.iter().any(near)
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::random::SplitMix64;
    use proptest::prelude::*;

    #[test]
    fn too_few_events_have_none() {
        let starts: Vec<u64> = (0..19).map(|n| n * 1_000_000).collect();
        assert_eq!(period(&starts), None);
        assert_eq!(period(&[]), None);
        assert_eq!(period(&[5; 100]), None);
    }
}

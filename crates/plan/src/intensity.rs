//! Latency by intensity: orders by the number of messages that were due in the millisecond before.
//! The schedule gives that number, so it is the same for every client, and no stall changes it.

/// The time before an order, ns.
pub const WINDOW_NS: u64 = 1_000_000;
/// The series of orders, by that number.
pub const INTENSITIES: [&str; 11] = [
    "order@0",
    "order@1",
    "order@2-3",
    "order@4-7",
    "order@8-15",
    "order@16-31",
    "order@32-63",
    "order@64-127",
    "order@128-255",
    "order@256-511",
    "order@512+",
];

/// The place in [`INTENSITIES`] of an order after `messages` others.
#[inline]
pub fn place_of(messages: u64) -> usize {
    ((u64::BITS - messages.leading_zeros()) as usize).min(INTENSITIES.len() - 1)
}

/// The place there of the series of that name; `None` for all others.
pub fn place_of_series(name: &str) -> Option<usize> {
    INTENSITIES.iter().position(|one| *one == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each number is within the limits that the name of its series says.
    #[test]
    fn names_are_the_limits() {
        for messages in (0..2_000).chain([u64::MAX]) {
            let limits = INTENSITIES[place_of(messages)].strip_prefix("order@").unwrap();
            let limits = limits.replace('+', "-18446744073709551615");
            let (low, high) = limits.split_once('-').unwrap_or((&limits, &limits));
            let limits = low.parse::<u64>().unwrap()..=high.parse().unwrap();
            assert!(limits.contains(&messages), "{messages}: {limits:?}");
        }
    }
}

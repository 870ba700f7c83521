//! Random draws that are the same on every machine: logarithms come from `libm`, not from the
//! platform.

use clock::random::SplitMix64;

/// A generator for one draw, the same for equal arguments: a change of one participant leaves the
/// draws of all others as they were.
pub(crate) fn generator(seed: u64, stream: u64, number: u64) -> SplitMix64 {
    let stream = SplitMix64::new(seed ^ SplitMix64::new(stream).bits());
    SplitMix64::new({ stream }.bits() ^ number.wrapping_mul(0xD6E8_FEB8_6659_FD93))
}

/// A geometric draw, 1 or more, with this mean, at least 1.
pub(crate) fn geometric(random: &mut SplitMix64, mean: f64) -> i64 {
    if mean <= 1.0 {
        return 1;
    }
    let draw = libm::log(random.unit_open()) / libm::log(1.0 - 1.0 / mean);
    1 + draw.min(1e6) as i64
}

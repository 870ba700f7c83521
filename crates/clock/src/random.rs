//! A small deterministic generator for schedules and synthetic data: the same seed gives the same
//! run on every machine. Never for secrets.

/// SplitMix64 (Steele, Lea, Flood 2014): one addition and three xor-multiplies a draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// A generator that starts from `seed`.
    pub fn new(seed: u64) -> SplitMix64 {
        SplitMix64(seed)
    }

    /// A seed with which a new generator continues this one's sequence.
    pub fn state(self) -> u64 {
        self.0
    }

    /// The next 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number in `0..n`, from the upper 32 bits; bias below `n / 2^32`.
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        (((self.bits() >> 32) * u64::from(n)) >> 32) as u32
    }

    /// A number in `(0, 1]`, so that its logarithm exists.
    #[inline]
    pub fn unit_open(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }
}

/// An exponential draw with mean 1. The logarithm comes from `libm`, not from the platform.
pub fn exponential(random: &mut SplitMix64) -> f64 {
    -libm::log(random.unit_open())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first three draws of the reference implementation for seed 0.
    #[test]
    fn agrees_with_the_published_sequence() {
        let mut random = SplitMix64::new(0);
        assert_eq!(random.bits(), 0xE220_A839_7B1D_CDAF);
        assert_eq!(random.bits(), 0x6E78_9E6A_A1B9_65F4);
        assert_eq!(random.bits(), 0x06C4_5D18_8009_454F);
    }
}

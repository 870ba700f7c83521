//! A PTP hardware clock beside the wall clock: results of `PTP_SYS_OFFSET_EXTENDED` and
//! `PTP_SYS_OFFSET_PRECISE` (include/uapi/linux/ptp_clock.h), and the lines that convert the card's
//! stamps.

use crate::time_base::on_line;

/// Samples that the kernel takes at most at a time.
pub const SAMPLES_MAX: usize = 25;
/// Number of samples, clock and two reserved words, before the samples.
const HEADER_BYTES: usize = 16;
/// Seconds (8 bytes), nanoseconds (4), reserved (4).
const TIME_BYTES: usize = 16;
/// Length of `struct ptp_sys_offset_extended`.
pub const OFFSET_BYTES: usize = HEADER_BYTES + SAMPLES_MAX * 3 * TIME_BYTES;

/// Length of `struct ptp_sys_offset_precise`: card, wall clock, raw monotonic clock, reserved.
pub const PRECISE_BYTES: usize = 4 * TIME_BYTES;

/// The card's clock and the wall clock at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhcReading {
    /// The card's clock, ns.
    pub phc_ns: u64,
    /// The wall clock, ns: the middle of the two readings around the card's.
    pub wall_ns: u64,
    /// Largest error of `wall_ns`, ns: half of what lay between them.
    pub bound_ns: u64,
}

impl PhcReading {
    /// How far the card's clock is ahead of the wall clock, ns.
    pub fn offset_ns(&self) -> i64 {
        let ahead = i128::from(self.phc_ns) - i128::from(self.wall_ns);
        ahead.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }
}

/// The narrowest sample of a result; `None` if it has none that makes sense.
pub fn narrowest(result: &[u8]) -> Option<PhcReading> {
    let count = u32::from_ne_bytes(*result.first_chunk()?) as usize;
    let samples = result.get(HEADER_BYTES..)?.chunks_exact(3 * TIME_BYTES);
    samples.take(count.min(SAMPLES_MAX)).filter_map(reading).min_by_key(|one| one.bound_ns)
}

/// A result of `PTP_SYS_OFFSET_PRECISE`, for which the hardware reads both clocks at once; `None`
/// if it makes no sense. Its error is the clocks' resolution.
pub fn precise(result: &[u8]) -> Option<PhcReading> {
    let (phc_ns, wall_ns) = (time_ns(result, 0)?, time_ns(result, 1)?);
    (phc_ns > 0 && wall_ns > 0).then_some(PhcReading { phc_ns, wall_ns, bound_ns: 1 })
}

/// The `index`-th `struct ptp_clock_time`, ns.
fn time_ns(bytes: &[u8], index: usize) -> Option<u64> {
    let bytes = bytes.get(index * TIME_BYTES..)?;
    let seconds = u64::try_from(i64::from_ne_bytes(*bytes.first_chunk()?)).ok()?;
    let ns = u32::from_ne_bytes(*bytes.get(8..)?.first_chunk()?);
    seconds.checked_mul(1_000_000_000)?.checked_add(ns.into())
}

/// Reads a sample: the wall clock, the card's clock, the wall clock again.
fn reading(sample: &[u8]) -> Option<PhcReading> {
    let (before_ns, phc_ns, after_ns) =
        (time_ns(sample, 0)?, time_ns(sample, 1)?, time_ns(sample, 2)?);
    // A wall clock that was set back in between is no reading.
    let width_ns = after_ns.checked_sub(before_ns)?;
    let bound_ns = width_ns.div_ceil(2);
    (phc_ns > 0).then_some(PhcReading { phc_ns, wall_ns: before_ns + width_ns / 2, bound_ns })
}

/// Converts the card's stamps to the wall clock by a line through two readings. Both clocks are
/// assumed to run at constant rates between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhcLine {
    from: PhcReading,
    to: PhcReading,
}

impl PhcLine {
    /// `None` if either clock stood or was set back between the readings.
    pub fn through(from: PhcReading, to: PhcReading) -> Option<PhcLine> {
        let runs = from.phc_ns < to.phc_ns && from.wall_ns < to.wall_ns;
        runs.then_some(PhcLine { from, to })
    }

    /// The wall clock when the card's clock showed `phc_ns`, ns since 1970.
    pub fn wall_ns(&self, phc_ns: u64) -> u64 {
        let (phc, wall) =
            ([self.from.phc_ns, self.to.phc_ns], [self.from.wall_ns, self.to.wall_ns]);
        u64::try_from(on_line(phc, wall, phc_ns.into())).unwrap_or(0)
    }

    /// Largest error of a stamp at `phc_ns`, ns: the worse reading's between the two, and more in
    /// proportion outside, where the line is not held by both.
    pub fn bound_ns(&self, phc_ns: u64) -> u64 {
        let worst_ns = self.from.bound_ns.max(self.to.bound_ns);
        let length_ns = self.to.phc_ns - self.from.phc_ns;
        let outside_ns =
            self.from.phc_ns.saturating_sub(phc_ns).max(phc_ns.saturating_sub(self.to.phc_ns));
        let tilt_ns = self.from.bound_ns.saturating_add(self.to.bound_ns);
        let more = u128::from(outside_ns) * u128::from(tilt_ns) / u128::from(length_ns);
        worst_ns.saturating_add(u64::try_from(more).unwrap_or(u64::MAX))
    }
}

/// How far a card's clock may turn from a line within it: what two crystals may differ by. More
/// means that one of the clocks was set.
const TURN_PARTS_PER_MILLION: u64 = 200;

/// The card's clock over a run, on the clock of our stamps: lines between readings, one after the
/// other. In these readings `wall_ns` is that clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhcCourse {
    readings: Vec<PhcReading>,
    bound_ns: u64,
}

impl PhcCourse {
    /// `None` with fewer than three readings, which show no error of a line, or if a clock was set.
    pub fn through(readings: Vec<PhcReading>) -> Option<PhcCourse> {
        let mut bound_ns = 0;
        for three in readings.windows(3) {
            let [before, here, after] = [three[0], three[1], three[2]];
            let line = PhcLine::through(before, after)?;
            PhcLine::through(before, here).and(PhcLine::through(here, after))?;
            // A line between two of the readings turns by less than one over all three.
            let off_ns = line.wall_ns(here.phc_ns).abs_diff(here.wall_ns);
            let read_ns = line.bound_ns(here.phc_ns).saturating_add(here.bound_ns);
            let length_ns = after.phc_ns - before.phc_ns;
            if off_ns > read_ns + length_ns / 1_000_000 * TURN_PARTS_PER_MILLION {
                return None;
            }
            bound_ns = bound_ns.max(off_ns.saturating_add(read_ns));
        }
        (readings.len() >= 3).then_some(PhcCourse { readings, bound_ns })
    }

    /// Our clock when the card's showed `phc_ns`; `None` outside of the readings.
    pub fn clock_ns(&self, phc_ns: u64) -> Option<u64> {
        let after = self.readings.partition_point(|one| one.phc_ns < phc_ns).max(1);
        let (from, to) = (self.readings[after - 1], *self.readings.get(after)?);
        let line = PhcLine::through(from, to).filter(|_| from.phc_ns <= phc_ns)?;
        Some(line.wall_ns(phc_ns))
    }

    /// Largest error of a converted stamp, ns: the worst that a reading showed of the line between
    /// its neighbours, and the readings' own.
    pub fn bound_ns(&self) -> u64 {
        self.bound_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A result with these samples, each wall, card, wall in ns.
    fn result(samples: &[[u64; 3]]) -> Vec<u8> {
        let mut bytes = vec![0; HEADER_BYTES];
        bytes[..4].copy_from_slice(&(samples.len() as u32).to_ne_bytes());
        for ns in samples.as_flattened() {
            bytes.extend(((ns / 1_000_000_000) as i64).to_ne_bytes());
            bytes.extend(((ns % 1_000_000_000) as u32).to_ne_bytes());
            bytes.extend([0; 4]);
        }
        bytes.resize(OFFSET_BYTES, 0);
        bytes
    }

    const WALL: u64 = 1_795_000_000_000_000_000;

    #[test]
    fn the_narrowest_sample_counts() {
        let samples = [
            [WALL, WALL + 37_000_000_400, WALL + 3_000],
            [WALL + 5_000, WALL + 37_000_005_701, WALL + 5_801],
            // The wall clock was set back.
            [WALL + 9_000, WALL + 37_000_009_000, WALL + 8_999],
        ];
        // A card that runs on TAI is 37 s ahead.
        let reading = narrowest(&result(&samples)).unwrap();
        assert_eq!(reading.bound_ns, 401);
        assert_eq!(reading.wall_ns, WALL + 5_400);
        assert_eq!(reading.offset_ns(), 37_000_000_301);
        assert_eq!(narrowest(&result(&samples[2..])), None);
        assert_eq!(narrowest(&result(&[])), None);
        assert_eq!(narrowest(&[1, 0, 0, 0]), None);
    }

    /// The layout of the header: card, wall clock, raw monotonic clock, four reserved words.
    #[test]
    fn a_precise_result_is_one_moment_of_both_clocks() {
        let mut bytes = Vec::new();
        for (seconds, ns) in [(1_795_000_037_i64, 5_u32), (1_795_000_000, 999_999_999), (77, 1)] {
            bytes.extend(seconds.to_ne_bytes());
            bytes.extend(ns.to_ne_bytes());
            bytes.extend([0; 4]);
        }
        bytes.resize(PRECISE_BYTES, 0);
        let reading = precise(&bytes).unwrap();
        assert_eq!((reading.phc_ns, reading.bound_ns), (1_795_000_037_000_000_005, 1));
        assert_eq!(reading.wall_ns, 1_795_000_000_999_999_999);
        assert_eq!(precise(&[0; PRECISE_BYTES]), None);
        assert_eq!(precise(&bytes[..20]), None);
    }

    #[test]
    fn a_course_converts_within_its_readings_and_says_how_far_it_turned() {
        let second = 1_000_000_000;
        let reading = |phc_ns, wall_ns| PhcReading { phc_ns, wall_ns, bound_ns: 10 };
        let readings = vec![
            reading(5 * second, second),
            reading(6 * second, 2 * second + 300),
            reading(7 * second, 3 * second),
        ];
        let course = PhcCourse::through(readings.clone()).unwrap();
        assert_eq!(course.bound_ns(), 300 + 20);
        let converted = [5 * second, 5 * second + second / 2, 6 * second, 7 * second]
            .map(|phc_ns| course.clock_ns(phc_ns).unwrap());
        assert_eq!(converted, [second, second + second / 2 + 150, 2 * second + 300, 3 * second]);
        assert_eq!([5 * second - 1, 7 * second + 1].map(|ns| course.clock_ns(ns)), [None; 2]);
        assert_eq!(PhcCourse::through(readings[..2].to_vec()), None, "nothing shows its error");
        let mut set = readings.clone();
        set[2].wall_ns += second;
        assert_eq!(PhcCourse::through(set), None, "a clock was set");
        let mut back = readings;
        back[2].phc_ns = 5 * second;
        assert_eq!(PhcCourse::through(back), None, "the card's clock was set back");
    }

    /// The kernel may be asked for fewer samples than its structure has room for.
    #[test]
    fn what_follows_the_samples_is_none() {
        let mut bytes = result(&[[WALL, WALL + 1, WALL + 900], [WALL, WALL + 1, WALL + 2]]);
        bytes[..4].copy_from_slice(&1u32.to_ne_bytes());
        assert_eq!(narrowest(&bytes).unwrap().bound_ns, 450);
    }

    #[test]
    fn a_line_converts_with_a_bound_that_grows_outside_of_its_readings() {
        let reading = |phc_ns, wall_ns, bound_ns| PhcReading { phc_ns, wall_ns, bound_ns };
        let (from, to) = (reading(1_000_000, WALL, 300), reading(2_000_000, WALL + 1_000_100, 500));
        let line = PhcLine::through(from, to).unwrap();
        assert_eq!(
            [1_000_000, 1_500_000, 2_000_000].map(|ns| line.wall_ns(ns)),
            [WALL, WALL + 500_050, WALL + 1_000_100]
        );
        assert_eq!([1_000_000, 1_700_000].map(|ns| line.bound_ns(ns)), [500, 500]);
        assert_eq!([0, 4_000_000].map(|ns| line.bound_ns(ns)), [1_300, 2_100]);
        assert_eq!(PhcLine::through(to, from), None);
        assert_eq!(PhcLine::through(from, from), None);
    }

    proptest! {
        /// Whatever the errors of the readings are, a stamp is no further off than its bound.
        #[test]
        fn the_bound_holds(
            rate_ppb in -200_000i64..200_000, length_ns in 1_000_000u64..2_000_000_000,
            at in -1.0f64..2.0, bounds in [0u64..2_000, 0u64..2_000], errors in [-1.0f64..1.0, -1.0f64..1.0],
        ) {
            let phc_ns = WALL + 7;
            let true_ns = |phc: u64| {
                let since = i128::from(phc) - i128::from(phc_ns);
                (i128::from(WALL) + since + since * i128::from(rate_ppb) / 1_000_000_000) as u64
            };
            let reading = |phc: u64, which: usize| {
                let off = (errors[which] * bounds[which] as f64) as i64;
                let wall_ns = true_ns(phc).saturating_add_signed(off);
                PhcReading { phc_ns: phc, wall_ns, bound_ns: bounds[which] }
            };
            let line = PhcLine::through(reading(phc_ns, 0), reading(phc_ns + length_ns, 1)).unwrap();
            let stamp_ns = phc_ns.saturating_add_signed((at * length_ns as f64) as i64);
            let off_ns = line.wall_ns(stamp_ns).abs_diff(true_ns(stamp_ns));
            prop_assert!(off_ns <= line.bound_ns(stamp_ns) + 2, "{off_ns}");
        }

        #[test]
        fn no_bytes_break_it(bytes in proptest::collection::vec(any::<u8>(), 0..OFFSET_BYTES + 9)) {
            let _ = narrowest(&bytes);
        }
    }
}

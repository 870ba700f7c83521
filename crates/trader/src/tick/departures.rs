//! Ticks that the exchange's kernel stamped on their way out: the segments of `network_in`.

use crate::tick::series::ExtraSeries;
use clock::recorder::Series;
use clock::time_base::one_way;
use clock::utc::Time;
use plan::segments::FEED_SEGMENTS;
use plan::tables::one_way::OneWay;
use record::Kind;
use record::tick::{self, Point, Sample};
use std::collections::HashMap;
use wire::administration::Departures;

/// The departures of a run's ticks.
pub(crate) struct DepartedTicks {
    /// By the number of a sample: how long after its publication the datagram reached the queueing
    /// discipline and the driver, ns. Both are on the exchange's clock, so that no offset is in it.
    after_ns: HashMap<u64, [Option<u64>; 2]>,
    pub(crate) counts: tick::Departures,
}

/// The segments that are shown.
pub(crate) struct ShownSegments {
    pub(crate) series: ExtraSeries,
    /// Tag of the last one, if it lies between two clocks, and by how much its values may be off,
    /// ns.
    pub(crate) error_ns: Option<(String, u64)>,
}

impl DepartedTicks {
    /// Finds the samples of the stamped datagrams. Their stamps are still the exchange's.
    pub(crate) fn of(departures: Departures, samples: &[Sample]) -> DepartedTicks {
        let Departures { bound_ns, clock_steps, datagrams } = departures;
        let count = datagrams.len() as u64;
        let mut counts = tick::Departures { datagrams: count, samples: 0, bound_ns, clock_steps };
        let mut after_ns = HashMap::new();
        // A stamp from around a step of the wall clock is wrong by the step.
        if clock_steps == 0 {
            let departed: HashMap<u64, [u64; 2]> = datagrams
                .into_iter()
                .map(|[number, queued, driver]| (number, [queued, driver]))
                .collect();
            for sample in samples {
                let published_ns = sample.stamps[Point::Published as usize];
                if let Some(stamps) = departed.get(&sample.number) {
                    let after = |ns: u64| (ns > 0).then(|| ns.saturating_sub(published_ns));
                    after_ns.insert(sample.number, stamps.map(after));
                }
            }
        }
        counts.samples = after_ns.len() as u64;
        DepartedTicks { after_ns, counts }
    }

    /// From the publication to the queue, to the driver, to the trader's kernel. The stamps of
    /// `sample` are on one clock.
    fn lengths(&self, sample: &Sample) -> Option<[Option<u64>; FEED_SEGMENTS.len()]> {
        let [queued, driver] = *self.after_ns.get(&sample.number)?;
        let [published_ns, kernel_ns] =
            [Point::Published, Point::KernelReceived].map(|point| sample.stamps[point as usize]);
        let arrived = (kernel_ns > 0).then(|| kernel_ns.saturating_sub(published_ns));
        // A conversion may be off by some 100 ns, so that a stamp seems to precede the one before.
        let from = |one: Option<u64>, other: Option<u64>| Some(other?.saturating_sub(one?));
        Some([queued, from(queued, driver), from(driver, arrived)])
    }

    /// The series. The last segment begins at the exchange and ends at the trader: between two
    /// machines it is withheld by the rule of other figures, and `time` gets the reason.
    pub(crate) fn show(&self, samples: &[Sample], time: &mut Time, shown: OneWay) -> ShownSegments {
        let between = if time.same_clock { None } else { self.between(samples, time, shown) };
        let mut names = &FEED_SEGMENTS[..];
        let tag = series(FEED_SEGMENTS[2]).own_tag();
        let error_ns = match between {
            Some(Err(why)) => {
                time.refused.insert(tag, why);
                names = &FEED_SEGMENTS[..2];
                None
            }
            between => between.and_then(Result::ok).map(|error_ns| (tag, error_ns)),
        };
        let of =
            |sample: &Sample| Some((sample.number, self.lengths(sample)?[..names.len()].to_vec()));
        let lengths = samples.iter().filter_map(of).collect();
        let series = names.iter().copied().map(series).collect();
        ShownSegments { series: ExtraSeries { series, lengths }, error_ns }
    }

    /// By how much the last segment may be off, ns, or why it is left out; `None` where no datagram
    /// has both stamps.
    fn between(
        &self,
        samples: &[Sample],
        time: &Time,
        shown: OneWay,
    ) -> Option<Result<u64, String>> {
        let last = |sample: &Sample| self.lengths(sample)?[2];
        let mut lengths: Vec<u64> = samples.iter().filter_map(last).collect();
        let middle = lengths.len() / 2;
        let p50_ns = (!lengths.is_empty()).then(|| *lengths.select_nth_unstable(middle).1)?;
        let bounds = time.exchange_bound_ns.zip(time.kernel_bound_ns);
        let error_ns = bounds
            .map(|(theirs, ours)| theirs.saturating_add(ours).saturating_add(self.counts.bound_ns));
        let checked = one_way(p50_ns, error_ns).map_err(|why| why.to_string());
        Some(match error_ns {
            Some(error_ns) if shown == OneWay::Bracket => Ok(error_ns),
            _ => checked.map(|()| error_ns.unwrap_or(0)),
        })
    }
}

fn series(name: &'static str) -> Series {
    Series::new(name, Kind::Service)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(number: u64, published_ns: u64, kernel_ns: u64) -> Sample {
        let mut sample = Sample { number, ..Sample::default() };
        sample.stamps[Point::Published as usize] = published_ns;
        sample.stamps[Point::KernelReceived as usize] = kernel_ns;
        sample
    }

    fn departures(clock_steps: u64) -> Departures {
        let datagrams = vec![[7, 1_010, 1_050], [8, 0, 2_030], [9, 3_000, 3_010], [70, 1, 1]];
        Departures { bound_ns: 20, clock_steps, datagrams }
    }

    /// The exchange's clock is a second behind ours.
    fn departed(clock_steps: u64) -> (DepartedTicks, [Sample; 3]) {
        let before = [sample(7, 1_000, 0), sample(8, 2_000, 0), sample(10, 9, 0)];
        let ours = [
            sample(7, 1_000_001_000, 1_000_001_900),
            sample(8, 1_000_002_000, 1_000_002_800),
            sample(10, 1_000_000_009, 1_000_000_010),
        ];
        (DepartedTicks::of(departures(clock_steps), &before), ours)
    }

    #[test]
    fn segments_of_network_in_add_up_and_one_without_its_stamp_is_not_there() {
        let (departed, samples) = departed(0);
        let lengths = samples.map(|sample| departed.lengths(&sample));
        let [first, second, third] = lengths;
        assert_eq!(first, Some([Some(10), Some(40), Some(850)]));
        assert_eq!(second, Some([None, None, Some(770)]));
        assert_eq!(third, None);
        let counts = tick::Departures { datagrams: 4, samples: 2, bound_ns: 20, clock_steps: 0 };
        assert_eq!(departed.counts, counts);
    }

    #[test]
    fn a_wall_clock_that_was_set_vouches_for_no_departure() {
        let (departed, samples) = self::departed(1);
        assert!(samples.iter().all(|sample| departed.lengths(sample).is_none()));
        assert_eq!((departed.counts.samples, departed.counts.clock_steps), (0, 1));
    }

    #[test]
    fn between_two_clocks_the_last_segment_is_shown_by_the_rules_of_other_figures() {
        let (departed, samples) = departed(0);
        let of = |theirs: Option<u64>, shown| {
            let mut time = Time { kernel_bound_ns: Some(5), ..Time::default() };
            time.exchange_bound_ns = theirs;
            let ShownSegments { series, error_ns } = departed.show(&samples, &mut time, shown);
            let refused = time.refused.contains_key("feed_driver_to_kernel.service");
            (series.series.len(), error_ns.map(|(_, ns)| ns), refused)
        };
        assert_eq!(of(Some(40), OneWay::Tenth), (3, Some(65), false));
        assert_eq!(of(Some(400), OneWay::Tenth), (2, None, true));
        assert_eq!(of(Some(400), OneWay::Bracket), (3, Some(425), false));
        assert_eq!(of(None, OneWay::Bracket), (2, None, true));
        let mut shared = Time { same_clock: true, ..Time::default() };
        let shown = departed.show(&samples, &mut shared, OneWay::Tenth);
        assert_eq!((shown.series.series.len(), shown.error_ns), (3, None));
        assert!(shared.refused.is_empty());
    }
}

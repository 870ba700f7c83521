//! Latencies for a recorded market: at each of its orders that of a run's orders which came after
//! as many messages.

use crate::backtest::{OrderLatencyRow, ROWS_MAX, SECOND_NS};
use crate::error::{RaceError, in_range};
use crate::latency::CumulativeBlock;
use crate::random::generator;
use crate::recorded;
use plan::intensity::{INTENSITIES, WINDOW_NS, place_of};
use std::path::Path;

/// Latencies of orders by intensity. An intensity that the run doesn't have takes those of the
/// nearest measured one.
#[derive(Clone, Debug)]
pub struct ByIntensity {
    latencies: Vec<CumulativeBlock>,
}

impl ByIntensity {
    /// Reads the subject's response times from a run's logs.
    ///
    /// # Errors
    /// If the run is void, or its orders are not in series by intensity.
    pub fn read(run: &Path, subject: &str) -> Result<ByIntensity, RaceError> {
        let tag = |name: &str| format!("{subject}.{name}.response");
        let known = recorded::tags(run)?;
        let mut measured = Vec::new();
        for (place, name) in INTENSITIES.iter().enumerate() {
            let tag = tag(name);
            if known.contains(&tag) {
                let mut values = recorded::blocks(run, Some(&tag))?.concat();
                values.sort_unstable();
                measured.push((place, CumulativeBlock::new(&values)));
            }
        }
        ByIntensity::of(&measured).ok_or_else(|| RaceError::Run {
            path: run.display().to_string(),
            why: format!(
                "it has no series such as {}; run it with load.arrival = \"recorded\" or \"hawkes\"",
                tag(INTENSITIES[0])
            ),
        })
    }

    /// From the measured ones by their place, ascending; `None` without any.
    fn of(measured: &[(usize, CumulativeBlock)]) -> Option<ByIntensity> {
        let nearest = |place: usize| {
            let nearest = measured.iter().min_by_key(|(of, _)| of.abs_diff(place))?;
            Some(nearest.1.clone())
        };
        let latencies = (0..INTENSITIES.len()).map(nearest).collect::<Option<_>>()?;
        Some(ByIntensity { latencies })
    }

    /// Two rows for each of these times, ascending, ns since 1970: the latency holds until the next
    /// one. Each way takes half of it.
    ///
    /// # Errors
    /// If there would be more than [`ROWS_MAX`] rows, or none.
    pub fn rows(&self, times_ns: &[u64]) -> Result<Vec<OrderLatencyRow>, RaceError> {
        let most = 2.0 * times_ns.len() as f64;
        in_range("the number of rows (limit rows_max)", most, 1.0, ROWS_MAX as f64)?;
        let mut rows = Vec::new();
        let mut behind = 0;
        for (at, time_ns) in times_ns.iter().enumerate() {
            while times_ns[behind] < time_ns.saturating_sub(WINDOW_NS) {
                behind += 1;
            }
            let next_ns = times_ns.get(at + 1).copied();
            let until_ns = next_ns.unwrap_or(time_ns + SECOND_NS.cast_unsigned());
            // The last one of several messages at one instant counts.
            if until_ns == *time_ns {
                continue;
            }
            let share = generator(0, 2, at as u64).unit_open();
            let drawn = self.latencies[place_of((at - behind) as u64)].at(share);
            let row = |req_ts: u64| {
                let at = [req_ts, req_ts + drawn / 2, req_ts + drawn].map(u64::cast_signed);
                OrderLatencyRow { req_ts: at[0], exch_ts: at[1], resp_ts: at[2] }
            };
            rows.push(row(*time_ns));
            if until_ns - 1 > *time_ns {
                rows.push(row(until_ns - 1));
            }
        }
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_intensity(measured: &[(usize, u64)]) -> Option<ByIntensity> {
        let one = |(place, ns): &(usize, u64)| (*place, CumulativeBlock::new(&[(*ns, 1)]));
        ByIntensity::of(&measured.iter().map(one).collect::<Vec<_>>())
    }

    #[test]
    fn a_burst_of_the_market_meets_the_latencies_of_a_burst() {
        let of_run = by_intensity(&[(0, 1_000), (1, 2_000), (2, 4_000)]).unwrap();
        let us = [0, 2_000, 2_010, 2_020, 2_020, 2_021, 9_000];
        let times: Vec<u64> = us.iter().map(|us| 1_000_000_000 + us * 1_000).collect();
        let rows = of_run.rows(&times).unwrap();
        let seen: Vec<(i64, i64)> = rows
            .iter()
            .map(|row| ((row.req_ts - 1_000_000_000) / 1_000, row.resp_ts - row.req_ts))
            .collect();
        assert_eq!(
            seen,
            [
                (0, 1_000),
                (1_999, 1_000),
                (2_000, 1_000),
                (2_009, 1_000),
                (2_010, 2_000),
                (2_019, 2_000),
                (2_020, 4_000),
                (2_020, 4_000),
                // After four messages: those were not measured, two or three are the nearest.
                (2_021, 4_000),
                (8_999, 4_000),
                (9_000, 1_000),
                (1_008_999, 1_000),
            ]
        );
        assert!(rows.windows(2).all(|two| two[0].req_ts < two[1].req_ts));
        assert!(rows.iter().all(|row| row.exch_ts - row.req_ts == (row.resp_ts - row.req_ts) / 2));
    }

    #[test]
    fn without_latencies_or_times_there_is_nothing() {
        assert!(by_intensity(&[]).is_none());
        let error = by_intensity(&[(3, 1)]).unwrap().rows(&[]).unwrap_err().to_string();
        assert!(error.contains("the number of rows"), "{error}");
    }
}

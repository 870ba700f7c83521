//! Latency by intensity: how many messages were due in the millisecond before an order. Nothing is
//! measured for it: a copy of the schedule follows a millisecond behind.

use clock::schedule::Schedule;
use plan::intensity::{WINDOW_NS, place_of};

/// Follows a schedule.
pub(crate) struct Intensity {
    /// At the first message of the window.
    behind: Schedule,
    /// Number of the first of these series.
    row: usize,
}

impl Intensity {
    /// At the start of that schedule.
    pub(crate) fn new(schedule: &Schedule, row: usize) -> Intensity {
        Intensity { behind: schedule.clone(), row }
    }

    /// Number of the series of `schedule`'s next message.
    #[inline]
    pub(crate) fn row(&mut self, schedule: &Schedule) -> usize {
        let from_ns = schedule.offset_ns().saturating_sub(WINDOW_NS);
        while self.behind.offset_ns() < from_ns {
            self.behind.advance();
        }
        self.row + place_of(schedule.index() - self.behind.index())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each row is that of the messages which a search of all times counts.
    #[test]
    fn rows_are_those_of_the_messages_in_the_window() {
        let us = [0, 0, 0, 400, 1_000, 1_001, 1_400, 1_401, 5_000, 5_000, 5_999, 6_000, 6_001];
        let times: Vec<u64> = us.iter().map(|us| us * 1_000).collect();
        let mut schedule = Schedule::at_times(times.clone().into());
        let mut intensity = Intensity::new(&schedule, 100);
        for (at, time) in times.iter().enumerate() {
            let from = time.saturating_sub(WINDOW_NS);
            let counted = times[..at].iter().filter(|earlier| **earlier >= from).count();
            assert_eq!(intensity.row(&schedule), 100 + place_of(counted as u64), "message {at}");
            // A message that must wait is tried again.
            assert_eq!(intensity.row(&schedule), 100 + place_of(counted as u64), "message {at}");
            schedule.advance();
        }
    }
}

//! Counts of stamped pings, and of the segments that they had.

use plan::segments::{SEGMENTS, STAMPS};
use transport::stamps::KernelStamps;

/// How many pings were stamped, and which segments were seen.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SegmentCounts {
    stamped: u64,
    seen: [u64; SEGMENTS.len()],
    card: u64,
}

impl SegmentCounts {
    pub(crate) fn add(&mut self, lengths: &[Option<u64>; SEGMENTS.len()], kernel: &KernelStamps) {
        self.stamped += 1;
        for (count, length) in self.seen.iter_mut().zip(lengths) {
            *count += u64::from(length.is_some());
        }
        self.card += u64::from(kernel.are_by_card());
    }

    /// A sentence about each segment that some pings lack, and about the card's stamps.
    pub(crate) fn notes(&self) -> Vec<String> {
        let stamped = self.stamped;
        let lacking = |(at, seen): (usize, &u64)| {
            let (name, stamp) = (SEGMENTS[at], STAMPS[at]);
            (*seen < stamped).then(|| match seen {
                0 => format!("{name} is not judged: the kernel or the driver gave no {stamp}"),
                _ => {
                    format!("{name} holds {seen} of {stamped} stamped pings: others had no {stamp}")
                }
            })
        };
        let mut notes: Vec<String> = self.seen.iter().enumerate().filter_map(lacking).collect();
        if self.card > 0 {
            notes.push(
                "the network card stamped as well, by its own clock: segments between driver and \
                 wire are not judged"
                    .to_owned(),
            );
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_that_pings_lack_is_said() {
        let all = [Some(10), Some(40), Some(750), Some(50)];
        let no_driver = [Some(10), None, None, Some(50)];
        let card = KernelStamps { card_sent_ns: Some(7), ..KernelStamps::default() };
        let mut counts = SegmentCounts::default();
        counts.add(&all, &KernelStamps::default());
        assert_eq!(counts.notes(), Vec::<String>::new());
        counts.add(&no_driver, &card);
        let notes = counts.notes();
        assert_eq!(notes.len(), 3, "{notes:?}");
        assert!(notes[0].starts_with("queue_to_driver holds 1 of 2 stamped pings"), "{notes:?}");
        assert!(notes[2].contains("by its own clock"), "{notes:?}");
        let mut never = SegmentCounts::default();
        never.add(&no_driver, &card);
        assert!(never.notes()[0].starts_with("queue_to_driver is not judged"));
    }
}

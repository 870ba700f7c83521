//! When each tick was published, for the latest ticks.
//!
//! A publication is what the exchange sends in one go: one datagram or several, and so the numbers
//! of one message or several. They are one event for everybody who trades on them, so all of its
//! numbers name the same publication. A participant gains nothing by naming an earlier one of them.

use std::collections::VecDeque;

/// A publication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Publication {
    /// Its number, from 1.
    pub number: u64,
    /// When it was published, ns on the caller's clock.
    pub at_ns: u64,
}

/// The latest publications.
#[derive(Debug)]
pub struct Publications {
    /// The number of the last message of each, ascending, and when it was published.
    latest: VecDeque<(u64, u64)>,
    capacity: usize,
    /// Publications that were forgotten, and the last message of them.
    forgotten: u64,
    forgotten_last: u64,
}

impl Publications {
    /// Remembers the latest `capacity`, at least one. Takes all memory now.
    pub fn new(capacity: usize) -> Publications {
        let capacity = capacity.max(1);
        let latest = VecDeque::with_capacity(capacity);
        Publications { latest, capacity, forgotten: 0, forgotten_last: 0 }
    }

    /// The messages up to number `last` are published at `at_ns`. Without a new message, nothing
    /// changes.
    pub fn add(&mut self, last: u64, at_ns: u64) {
        let known = self.latest.back().map_or(self.forgotten_last, |(last, _)| *last);
        if last <= known {
            return;
        }
        if self.latest.len() == self.capacity
            && let Some((last, _)) = self.latest.pop_front()
        {
            self.forgotten += 1;
            self.forgotten_last = last;
        }
        self.latest.push_back((last, at_ns));
    }

    /// The publication of a message; `None` if it was not published, or was forgotten.
    pub fn of(&self, message: u64) -> Option<Publication> {
        if message <= self.forgotten_last {
            return None;
        }
        let place = self.latest.partition_point(|(last, _)| *last < message);
        let (_, at_ns) = *self.latest.get(place)?;
        Some(Publication { number: self.forgotten + place as u64 + 1, at_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_a_publication_names_it() {
        let mut publications = Publications::new(2);
        let is = |publications: &Publications, message| {
            publications.of(message).map(|one| (one.number, one.at_ns))
        };
        assert_eq!(is(&publications, 1), None);
        publications.add(3, 100);
        publications.add(3, 150);
        publications.add(4, 200);
        let found = [0, 1, 3, 4, 5].map(|message| is(&publications, message));
        assert_eq!(found, [None, Some((1, 100)), Some((1, 100)), Some((2, 200)), None]);
        publications.add(9, 300);
        let found = [3, 4, 5, 9].map(|message| is(&publications, message));
        assert_eq!(found, [None, Some((2, 200)), Some((3, 300)), Some((3, 300))], "1 is forgotten");
        publications.add(2, 400);
        assert_eq!(is(&publications, 9), Some((3, 300)), "what is known stays");
    }
}

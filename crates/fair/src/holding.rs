//! Messages that wait for their release times.
//!
//! The order of release is total: by release time, then as they came.

use std::collections::VecDeque;

/// Limit on messages that wait.
pub const HELD_MAX: usize = 65_536;

/// As many messages wait as may.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{capacity} messages wait for their release already; shorten the hold, or send fewer")]
pub struct HoldingFull {
    /// How many may.
    pub capacity: usize,
}

/// The messages that wait. Takes all memory when it is made.
#[derive(Debug)]
pub struct Holding<T> {
    /// In the order of release.
    waiting: VecDeque<(u64, T)>,
    capacity: usize,
}

impl<T> Holding<T> {
    /// Room for `capacity` messages, at most [`HELD_MAX`].
    pub fn new(capacity: usize) -> Holding<T> {
        let capacity = capacity.min(HELD_MAX);
        Holding { waiting: VecDeque::with_capacity(capacity), capacity }
    }

    /// Keeps a message until `due_ns`. One that is due already leaves at the next
    /// [`Holding::release`].
    ///
    /// # Errors
    /// If too many wait.
    pub fn hold(&mut self, due_ns: u64, message: T) -> Result<(), HoldingFull> {
        if self.waiting.len() == self.capacity {
            return Err(HoldingFull { capacity: self.capacity });
        }
        // Mostly the last place: a later message is due later.
        let place = self.waiting.partition_point(|(other_ns, _)| *other_ns <= due_ns);
        self.waiting.insert(place, (due_ns, message));
        Ok(())
    }

    /// The next message that is due at `now_ns`, with its release time.
    pub fn release(&mut self, now_ns: u64) -> Option<(u64, T)> {
        self.waiting.pop_front_if(|(due_ns, _)| *due_ns <= now_ns)
    }

    /// When the next message is due.
    pub fn next_due_ns(&self) -> Option<u64> {
        self.waiting.front().map(|(due_ns, _)| *due_ns)
    }

    /// Whether no message waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_too_many_is_rejected_and_leaves_room_when_one_is_released() {
        let mut holding = Holding::new(2);
        assert_eq!((holding.hold(20, "b"), holding.hold(10, "a")), (Ok(()), Ok(())));
        assert_eq!(holding.hold(5, "c"), Err(HoldingFull { capacity: 2 }));
        assert_eq!((holding.next_due_ns(), holding.release(9)), (Some(10), None));
        assert_eq!(holding.release(10), Some((10, "a")));
        assert_eq!(holding.hold(5, "c"), Ok(()));
        assert_eq!(holding.release(10), Some((5, "c")));
        assert!(!holding.is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(testing::cases(400)))]

        /// Against a list that is sorted each time.
        #[test]
        fn messages_leave_when_due_in_the_order_of_a_sorted_list(
            steps in prop::collection::vec((0u64..50, prop::option::of(0u64..300)), 1..200),
        ) {
            let (mut holding, mut model) = (Holding::new(64), Vec::new());
            let mut now_ns = 0;
            for (number, (after_ns, wait_ns)) in steps.into_iter().enumerate() {
                now_ns += after_ns;
                if let Some(wait_ns) = wait_ns {
                    let held = holding.hold(now_ns + wait_ns, number);
                    prop_assert_eq!(held.is_ok(), model.len() < 64);
                    if held.is_ok() {
                        model.push((now_ns + wait_ns, number));
                    }
                } else {
                    model.sort_unstable();
                    let due = model.partition_point(|(due_ns, _)| *due_ns <= now_ns);
                    let expected: Vec<_> = model.drain(..due).collect();
                    let left: Vec<_> = std::iter::from_fn(|| holding.release(now_ns)).collect();
                    prop_assert_eq!(left, expected);
                }
                let first = model.iter().min().map(|(due_ns, _)| *due_ns);
                prop_assert_eq!(holding.next_due_ns(), first);
            }
        }
    }
}

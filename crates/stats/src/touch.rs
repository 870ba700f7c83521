//! Finds the messages that a disturbance touched, if messages are served in turn.

/// The disturbed times of a run. Messages are checked against them one after the other.
#[derive(Clone, Debug)]
pub struct Touch {
    /// Begin and end, in order of time; they don't overlap.
    windows: Vec<(u64, u64)>,
    /// The first window that had not ended when the last message began.
    next: usize,
    /// When the last touched message ended.
    behind_until: u64,
}

impl Touch {
    /// `windows` are begins and ends, in any order, in ns on the clock of the messages.
    pub fn new(mut windows: Vec<(u64, u64)>) -> Touch {
        windows.sort_unstable();
        let mut merged: Vec<(u64, u64)> = Vec::new();
        for (start, end) in windows {
            match merged.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => merged.push((start, end)),
            }
        }
        Touch { windows: merged, next: 0, behind_until: 0 }
    }

    /// Whether the message that was due or under way from `from` to `to`, both included, met a
    /// window or waited behind a message that did. Messages come in order of `from`.
    pub fn touches(&mut self, from: u64, to: u64) -> bool {
        while self.windows.get(self.next).is_some_and(|(_, end)| *end < from) {
            self.next += 1;
        }
        let meets = self.windows.get(self.next).is_some_and(|(start, _)| *start <= to);
        let touched = meets || from < self.behind_until;
        if touched {
            self.behind_until = self.behind_until.max(to);
        }
        touched
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_window_touches_whom_it_meets_and_who_waits_behind() {
        let mut touch = Touch::new(vec![(900, 950), (100, 200), (150, 220)]);
        let messages = [(0, 99), (50, 100), (99, 110), (200, 400), (390, 410), (410, 420)];
        let touched = messages.map(|(from, to)| touch.touches(from, to));
        assert_eq!(touched, [false, true, true, true, true, false]);
        assert!(touch.touches(949, 2_000) && !touch.touches(2_000, 2_001));
    }

    #[test]
    fn without_windows_nothing_is_touched() {
        assert!(!Touch::new(Vec::new()).touches(0, u64::MAX));
    }

    proptest! {
        /// Compares with a check of every window against every message and all messages before it.
        #[test]
        fn it_agrees_with_looking_at_everything(
            windows in prop::collection::vec((0u64..1_000, 0u64..50), 0..20),
            messages in prop::collection::vec((0u64..1_000, 0u64..80), 0..40),
        ) {
            let windows: Vec<_> = windows.into_iter().map(|(start, length)| (start, start + length)).collect();
            let mut messages: Vec<_> = messages.into_iter().map(|(from, length)| (from, from + length)).collect();
            messages.sort_unstable();
            let mut touch = Touch::new(windows.clone());
            let mut touched_so_far: Vec<(u64, u64)> = Vec::new();
            for (from, to) in messages {
                let meets = windows.iter().any(|(start, end)| *start <= to && *end >= from);
                let waits = touched_so_far.iter().any(|(_, earlier)| *earlier > from);
                if meets || waits {
                    touched_so_far.push((from, to));
                }
                prop_assert_eq!(touch.touches(from, to), meets || waits);
            }
        }
    }
}

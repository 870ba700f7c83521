//! The times at which the logger was awake. On a shared core, it disturbed the measured thread at
//! those times.

/// Maximum number of windows that are kept one by one: three hours of a hundred a second.
pub const WINDOWS_MAX: usize = 1 << 20;

/// The times at which a logger was awake, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Windows {
    /// Begin and end of the first [`WINDOWS_MAX`], ns.
    kept: Vec<(u64, u64)>,
    count: u64,
    total_ns: u64,
}

impl Windows {
    /// An empty list with all of its memory.
    pub(crate) fn with_room() -> Windows {
        Windows { kept: Vec::with_capacity(WINDOWS_MAX), ..Windows::default() }
    }

    pub(crate) fn add(&mut self, begin_ns: u64, end_ns: u64) {
        self.count += 1;
        self.total_ns += end_ns.saturating_sub(begin_ns);
        if self.kept.len() < WINDOWS_MAX {
            self.kept.push((begin_ns, end_ns));
        }
    }

    /// Number of windows.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Total duration, ns.
    pub fn total_ns(&self) -> u64 {
        self.total_ns
    }

    /// Whether the times of all windows are known.
    pub fn are_all_kept(&self) -> bool {
        self.count == self.kept.len() as u64
    }

    /// Whether a window overlaps these times. After the last kept window, if not all were kept,
    /// every time counts as disturbed.
    pub fn overlap(&self, from_ns: u64, to_ns: u64) -> bool {
        // They are ordered and don't overlap: the first that ends after `from_ns` decides.
        let next = self.kept.partition_point(|(_, end_ns)| *end_ns <= from_ns);
        match self.kept.get(next) {
            Some((begin_ns, _)) => *begin_ns < to_ns,
            None => !self.are_all_kept(),
        }
    }

    /// Begin and end of each kept window, ns.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.kept.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_in_a_window_in_part_is_found() {
        let mut windows = Windows::default();
        assert!(!windows.overlap(0, u64::MAX));
        windows.add(100, 200);
        windows.add(300, 310);
        let found =
            [(0, 100), (0, 101), (150, 160), (199, 201), (200, 300), (250, 301), (310, 999)];
        let found = found.map(|(from_ns, to_ns)| windows.overlap(from_ns, to_ns));
        assert_eq!(found, [false, true, true, true, false, true, false]);
        assert_eq!((windows.count(), windows.total_ns()), (2, 110));
    }

    #[test]
    fn behind_what_was_kept_nothing_is_taken_for_undisturbed() {
        let windows = Windows { kept: vec![(1, 2)], count: 2, total_ns: 2 };
        assert!(windows.overlap(500, 501));
        assert!(!windows.overlap(0, 1));
    }
}

//! Hold on entry: each gateway stamps what arrives, and a fixed time after its stamp the message is
//! released to the sequencer, whichever gateway it came through.
//!
//! A gateway passes its messages on in the order of their stamps. So the sequencer knows the next
//! one of each gateway, and the earliest of these is the next of all: unless a message with an
//! earlier stamp needs longer than the hold from its gateway to the sequencer. Such a message is
//! overtaken.

/// The longest hold, ns.
pub const ENTRY_HOLD_NS_MAX: u64 = 10_000_000_000;

/// Which gateway's message is next, and what was overtaken. The gateways' next messages wait at
/// their gateways; there is no queue here.
#[derive(Clone, Debug)]
pub struct EntryHold {
    hold_ns: u64,
    /// The latest stamp that was released.
    latest_ns: u64,
    counts: EntryCounts,
}

/// The messages so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EntryCounts {
    /// Messages that were released.
    pub released: u64,
    /// Released messages with an earlier stamp than one that was released before.
    pub overtaken: u64,
    /// The most by which such a stamp was earlier, ns.
    pub overtaken_ns_max: u64,
}

impl EntryHold {
    /// A hold of `hold_ns`, at most [`ENTRY_HOLD_NS_MAX`].
    pub fn new(hold_ns: u64) -> EntryHold {
        let hold_ns = hold_ns.min(ENTRY_HOLD_NS_MAX);
        EntryHold { hold_ns, latest_ns: 0, counts: EntryCounts::default() }
    }

    /// Its length, ns.
    pub fn hold_ns(&self) -> u64 {
        self.hold_ns
    }

    /// The gateway whose next message is the next of all, and when it is due. `stamps_ns` has the
    /// stamp of each gateway's next message; `None`: it has none. With equal stamps the first
    /// gateway's is next.
    pub fn next(&self, stamps_ns: impl Iterator<Item = Option<u64>>) -> Option<(usize, u64)> {
        let waiting = stamps_ns.enumerate().filter_map(|(gateway, stamp)| Some((stamp?, gateway)));
        let (stamp_ns, gateway) = waiting.min()?;
        Some((gateway, stamp_ns.saturating_add(self.hold_ns)))
    }

    /// A message with this stamp is released.
    pub fn released(&mut self, stamp_ns: u64) {
        self.counts.released += 1;
        if stamp_ns < self.latest_ns {
            self.counts.overtaken += 1;
            let by_ns = self.latest_ns - stamp_ns;
            self.counts.overtaken_ns_max = self.counts.overtaken_ns_max.max(by_ns);
        }
        self.latest_ns = self.latest_ns.max(stamp_ns);
    }

    /// The counts so far.
    pub fn counts(&self) -> EntryCounts {
        self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_stamp_is_next_a_hold_later() {
        let hold = EntryHold::new(100);
        assert_eq!(hold.next([None, Some(20), Some(10), Some(10)].into_iter()), Some((2, 110)));
        assert_eq!(hold.next([None, None].into_iter()), None);
        assert_eq!(hold.next([Some(u64::MAX)].into_iter()), Some((0, u64::MAX)));
        assert_eq!(EntryHold::new(u64::MAX).hold_ns(), ENTRY_HOLD_NS_MAX);
    }

    #[test]
    fn an_earlier_stamp_after_a_later_one_was_overtaken() {
        let mut hold = EntryHold::new(100);
        [10, 30, 12, 29, 30, 40].into_iter().for_each(|stamp_ns| hold.released(stamp_ns));
        let counts = EntryCounts { released: 6, overtaken: 2, overtaken_ns_max: 18 };
        assert_eq!(hold.counts(), counts);
    }
}

//! Receives reports in memory that exists before the first operation and is reused round-robin,
//! like a ring to another thread. No thread reads it while operations are timed.

use engine::{Event, Party};

/// Reports that a pass keeps: they fit in a core's L2 cache next to the book.
pub(crate) const REPORTS: usize = 1 << 10;

/// The last `N` reports; `N` is a power of two.
pub(crate) struct Outbound<const N: usize> {
    slots: Box<[Event; N]>,
    /// Reports so far.
    written: u64,
}

impl<const N: usize> Outbound<N> {
    const MASK: u64 = {
        assert!(N.is_power_of_two());
        N as u64 - 1
    };

    pub(crate) fn new() -> Outbound<N> {
        let order = Party { order_id: 0, account: 0, tag: 0, remaining_lots: 0 };
        // Written now, so that the pages exist when the first report arrives.
        let slots = vec![Event::Triggered { instrument: 0, order }; N].into_boxed_slice();
        let slots = slots.try_into().unwrap_or_else(|_| unreachable!("made of that length"));
        Outbound { slots, written: 0 }
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, report: Event) {
        self.slots[(self.written & Self::MASK) as usize] = report;
        self.written += 1;
    }

    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// The reports from number `from` on; fewer if there was no room for all.
    pub(crate) fn since(&self, from: u64) -> impl Iterator<Item = &Event> {
        let first = from.max(self.written.saturating_sub(N as u64));
        (first..self.written).map(|number| &self.slots[(number & Self::MASK) as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_reports_are_kept() {
        let mut outbound = Outbound::<4>::new();
        let report = |tag| Event::Applied { tag, orders: 0 };
        (0..3).for_each(|tag| outbound.push(report(tag)));
        assert_eq!(outbound.since(1).collect::<Vec<_>>(), [&report(1), &report(2)]);
        (3..6).for_each(|tag| outbound.push(report(tag)));
        let last: Vec<Event> = outbound.since(0).copied().collect();
        assert_eq!(last, [2, 3, 4, 5].map(report));
        assert_eq!(outbound.written(), 6);
    }
}

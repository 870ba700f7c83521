//! Hold on entry: what gateways receive is released to the exchange's thread in the order of their
//! stamps. The rules are [`fair::entry`]'s; the messages wait in the rings.

use crate::gateway::end::GatewayEnd;
use clock::recorder;
use fair::entry::{EntryCounts, EntryHold};
use hdrhistogram::Histogram;
use std::sync::{Arc, Mutex, PoisonError};

/// A hold on entry, and its figures once the streams are dropped.
#[derive(Clone)]
pub struct HoldOnEntry {
    hold_ns: u64,
    figures: Arc<Mutex<HoldFigures>>,
}

/// The figures of a hold on entry.
#[derive(Clone)]
pub struct HoldFigures {
    /// Messages between a gateway and the exchange's thread, each a read of a client's bytes or, of
    /// a long one, a part of it.
    pub counts: EntryCounts,
    /// From a gateway's stamp to the exchange thread's first look at the message, ns: of those that
    /// found no earlier one in their ring, since behind another one nobody sees when they came.
    pub transit_ns: Histogram<u64>,
}

impl HoldOnEntry {
    /// Each message is released `hold_ns` after its gateway's stamp; at most
    /// [`fair::entry::ENTRY_HOLD_NS_MAX`].
    pub fn new(hold_ns: u64) -> HoldOnEntry {
        let transit_ns = recorder::histogram();
        let figures = HoldFigures { counts: EntryCounts::default(), transit_ns };
        HoldOnEntry { hold_ns, figures: Arc::new(Mutex::new(figures)) }
    }

    /// Its figures; empty until the streams that hold are dropped.
    pub fn figures(&self) -> HoldFigures {
        self.figures.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The hold at work, on the exchange's thread.
pub(crate) struct Holder {
    hold: EntryHold,
    transit_ns: Histogram<u64>,
    figures: Arc<Mutex<HoldFigures>>,
    /// The time of the look that is under way.
    now_ns: u64,
    /// When the next message is due; `u64::MAX`: none waits.
    due_ns: u64,
}

impl Holder {
    pub(crate) fn new(on_entry: HoldOnEntry) -> Holder {
        let HoldOnEntry { hold_ns, figures } = on_entry;
        let (hold, transit_ns) = (EntryHold::new(hold_ns), recorder::histogram());
        Holder { hold, transit_ns, figures, now_ns: 0, due_ns: u64::MAX }
    }

    /// A look at the rings begins.
    pub(crate) fn look(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
    }

    /// A message with this stamp was found in a ring that had been empty.
    #[inline]
    pub(crate) fn found(&mut self, stamp_ns: u64) {
        self.transit_ns.saturating_record(self.now_ns.saturating_sub(stamp_ns));
    }

    /// The gateway whose message may be read now. Only one at a time: the message after it may be
    /// earlier than those of other gateways.
    #[inline]
    pub(crate) fn release(&mut self, ends: &mut [GatewayEnd]) -> Option<usize> {
        let stamps = ends.iter().map(|end| end.held.stream.map(|_| end.held.stamp_ns));
        let Some((gateway, due_ns)) = self.hold.next(stamps) else {
            self.due_ns = u64::MAX;
            return None;
        };
        self.due_ns = due_ns;
        if due_ns > self.now_ns {
            return None;
        }
        let held = &mut ends[gateway].held;
        if !std::mem::replace(&mut held.is_released, true) {
            self.hold.released(held.stamp_ns);
        }
        Some(gateway)
    }

    /// When a thread that sleeps must look again, if nothing comes.
    pub(crate) fn due_ns(&self) -> u64 {
        self.due_ns
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let mut figures = self.figures.lock().unwrap_or_else(PoisonError::into_inner);
        figures.counts = self.hold.counts();
        figures.transit_ns = self.transit_ns.clone();
    }
}

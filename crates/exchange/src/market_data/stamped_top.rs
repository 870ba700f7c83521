//! `TOP` with stamps: when the changes of a turn were due and acknowledged, and which best prices a
//! subscriber was shown.
//!
//! See docs/decisions/043-ticks-by-the-best-prices.md.

use engine::Top;
use feed::TopHistory;

/// Part of a subscription of `TOP` with stamps.
#[derive(Default)]
pub(super) struct StampedTop {
    /// When the first input of this turn that changed a price of the instrument was intended, and
    /// when the last one was acknowledged.
    changed: Option<[u64; 2]>,
    /// The best prices since the first message.
    history: Option<TopHistory>,
}

impl StampedTop {
    /// A tick of this turn changed prices of the instrument.
    pub fn changes(&mut self, [intended_ns, acknowledged_ns]: [u64; 2]) {
        let first_ns = self.changed.map_or(intended_ns, |[first_ns, _]| first_ns);
        self.changed = Some([first_ns, acknowledged_ns]);
    }

    /// The subscriber is shown these best prices. Returns the first two of their stamps, if ticks
    /// of this turn led to them.
    pub fn shown(&mut self, sequence: u64, top: &Top) -> Option<[u64; 2]> {
        match &mut self.history {
            Some(history) => history.change(sequence, top),
            None => self.history = Some(TopHistory::new(sequence, top)),
        }
        self.changed.take()
    }

    /// The turn is over. Its ticks left the best prices as they were, or they are shown.
    pub fn end_turn(&mut self) {
        self.changed = None;
    }

    /// The best prices that were shown; `None` before the first.
    pub fn history(&self) -> Option<&TopHistory> {
        self.history.as_ref()
    }
}

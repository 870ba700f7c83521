//! Events and stamps of a command, kept if a client wants stamps or the ticker plant publishes.

use crate::sequencer::Sequenced;
use clock::Clock;

/// Room for the events of one input; a mass cancel may have more.
const EVENTS: usize = 4096;

/// What it takes to watch.
pub(crate) struct Observed {
    /// What stamps are read from; `None`: there are none.
    pub clock: Option<Clock>,
    /// Somebody watches.
    pub is_on: bool,
    /// Events of the latest command.
    pub events: Vec<Sequenced>,
}

impl Observed {
    pub fn new(clock: Option<Clock>) -> Observed {
        Observed { clock, is_on: false, events: Vec::with_capacity(EVENTS) }
    }

    #[inline]
    pub fn now_ns(&self) -> u64 {
        self.clock.map_or(0, |clock| clock.now_ns())
    }
}

//! Events and stamps of a command, kept if a client wants stamps or the ticker plant publishes.

use crate::sequencer::NumberedEvent;
use clock::Clock;

/// Room for the events of one input; a mass cancel may have more.
const EVENTS: usize = 4096;

/// The clock of stamps, and the events of the latest command.
pub(crate) struct Observation {
    /// The clock of stamps; `None`: no stamps.
    pub clock: Option<Clock>,
    /// Whether events are recorded: a client asked for stamps, or a ticker plant publishes.
    pub is_on: bool,
    /// When the bytes of the present request were read, or when the present input was due.
    pub cause_ns: u64,
    /// Events of the latest command.
    pub events: Vec<NumberedEvent>,
}

impl Observation {
    pub fn new(clock: Option<Clock>) -> Observation {
        Observation { clock, is_on: false, cause_ns: 0, events: Vec::with_capacity(EVENTS) }
    }

    #[inline]
    pub fn now_ns(&self) -> u64 {
        self.clock.map_or(0, |clock| clock.now_ns())
    }
}

//! How long replies over datagrams are waited for, and for which.

use crate::load::desk::in_flight::{IN_FLIGHT_MAX, InFlight, Progress, Stamps};
use crate::load::session::LoadMessage;
use between::ways::Ways;
use clock::recorder::Recorder;
use std::collections::VecDeque;
use transport::echo::datagrams::EchoStamps;

/// The series that only stamped replies fill.
const FORWARD_RESPONSE: usize = 6;
const FORWARD_SERVICE: usize = 7;
const REVERSE_SERVICE: usize = 8;

/// The messages whose replies are waited for.
pub(super) struct Patience {
    pub(super) patience_ns: u64,
    /// Each direction is a series of its own.
    directions: Directions,
    /// Messages in the order of sending. Some are answered: those are dropped when they come to the
    /// front, or when nothing else fits in.
    pub(super) sent: VecDeque<(u64, LoadMessage)>,
}

/// Each direction of stamped requests by itself.
pub(crate) enum Directions {
    /// The other end doesn't stamp.
    None,
    /// Both ends read one clock: recorded at once.
    Recorded,
    /// They read two clocks: kept until the offset is known.
    Kept(Ways),
}

/// Limit on unanswered requests over datagrams, about 90 MB of them.
const SLOTS_MAX: usize = 1 << 20;

/// Slots for the orders of a schedule of `rate_per_second` messages whose replies are waited for so
/// long: a lost one holds up no other.
pub(super) fn slots_of(patience_ns: u64, rate_per_second: f64) -> usize {
    let orders = rate_per_second / 2.0 * (patience_ns as f64 / 1e9);
    // Some more for the time in which a sleeping thread does not look.
    let slots = (orders * 1.25) as usize;
    slots.next_power_of_two().clamp(IN_FLIGHT_MAX, SLOTS_MAX)
}

impl Patience {
    pub(super) fn new(patience_ns: u64, slots: usize, directions: Directions) -> Patience {
        // Twice as many as can be unanswered, so that dropping the others makes room for long.
        Patience { patience_ns, directions, sent: VecDeque::with_capacity(4 * slots) }
    }

    /// The directions that were kept, if any were to be.
    pub(super) fn into_ways(self) -> Option<Ways> {
        match self.directions {
            Directions::Kept(ways) => Some(ways),
            _ => None,
        }
    }

    #[inline]
    pub(super) fn sent(
        &mut self,
        messages: impl Iterator<Item = (u64, LoadMessage)>,
        in_flight: &mut InFlight,
    ) {
        for message in messages {
            if self.sent.len() == self.sent.capacity() {
                self.sent.retain(|(number, message)| {
                    let order = in_flight.order(*number);
                    order.is_some_and(|one| one.stamps(*message).progress == Progress::InFlight)
                });
            }
            self.sent.push_back(message);
        }
    }

    /// Records or keeps both directions of a request that ended then; without the echo's stamps it
    /// was lost. `is_open`: it had an intended time.
    #[inline]
    pub(super) fn record_ways(
        &mut self,
        (number, message): (u64, LoadMessage),
        stamps: &Stamps,
        (echo, ended_ns): (Option<EchoStamps>, u64),
        is_open: bool,
        recorder: &mut Recorder,
    ) {
        let Stamps { intended_ns, sent_ns, .. } = *stamps;
        match &mut self.directions {
            Directions::Recorded => {}
            Directions::Kept(ways) => {
                let sequence = message.sequence(number);
                return ways.keep(sequence, [intended_ns, sent_ns, ended_ns], echo);
            }
            Directions::None => return,
        }
        let (came_ns, left_ns) =
            echo.map_or((ended_ns, sent_ns), |echo| (echo.received_ns, echo.sent_ns));
        if is_open {
            recorder.record(FORWARD_RESPONSE, came_ns.saturating_sub(intended_ns));
        }
        recorder.record(FORWARD_SERVICE, came_ns.saturating_sub(sent_ns));
        recorder.record(REVERSE_SERVICE, ended_ns.saturating_sub(left_ns));
    }
}

//! Replies over datagrams that don't arrive. After some time the desk stops waiting for one. Then
//! the message counts as lost, and the time that was waited goes into its series: percentiles of
//! the replies that did arrive would look better than what a user of the network saw.

use crate::load::desk::Desk;
use crate::load::in_flight::{Order, Progress, Stamps};
use crate::load::patience::Directions;
use crate::load::rows::{CANCEL_RESPONSE, ORDER_RESPONSE};
use crate::load::session::{LoadMessage, OrderProtocol, Reply};
use transport::echo::datagrams::EchoStamps;

/// The series that only stamped replies fill.
const FORWARD_RESPONSE: usize = 6;
const FORWARD_SERVICE: usize = 7;
const REVERSE_SERVICE: usize = 8;

impl<E: OrderProtocol> Desk<E> {
    /// The longest that a reply is waited for; 0 for streams.
    pub(crate) fn patience_ns(&self) -> u64 {
        self.patience.as_ref().map_or(0, |patience| patience.patience_ns)
    }

    /// How many orders may be unanswered.
    pub(crate) fn slots(&self) -> usize {
        self.in_flight.slots()
    }

    /// Stops waiting for replies that should have come by `now_ns`. Returns whether there were any;
    /// `answered` has them.
    #[inline]
    pub(crate) fn expire(&mut self, now_ns: u64) -> bool {
        if self.patience.is_none() {
            return false;
        }
        self.answered.clear();
        self.lose_before(now_ns, now_ns.saturating_sub(self.patience_ns()));
        !self.answered.is_empty()
    }

    /// Stops waiting for any reply.
    pub(super) fn lose_all(&mut self, now_ns: u64) {
        self.answered.clear();
        self.lose_before(now_ns, now_ns);
    }

    /// Stops waiting for replies to what was sent until `before_ns`.
    fn lose_before(&mut self, now_ns: u64, before_ns: u64) {
        while let Some(patience) = &mut self.patience {
            let Some(&(number, message)) = patience.sent.front() else { break };
            if let Some(order) = self.in_flight.order(number)
                && order.stamps(message).progress == Progress::InFlight
            {
                let stamps = order.stamps(message);
                if stamps.sent_ns > before_ns {
                    break;
                }
                stamps.progress = Progress::Lost;
                let order = *order;
                patience.sent.pop_front();
                self.lose(&order, message, now_ns);
            } else {
                patience.sent.pop_front();
            }
        }
    }

    /// Counts a message as lost, with the time that was waited for its reply.
    fn lose(&mut self, order: &Order, message: LoadMessage, now_ns: u64) {
        self.in_flight.unanswered -= 1;
        let lane = order.account % self.lanes.len();
        self.lanes[lane].unanswered -= 1;
        self.answered.push((Reply::Lost(message, order.number), order.number));
        if !order.measured {
            return;
        }
        self.load.lost += 1;
        let (stamps, response) = match message {
            LoadMessage::Order => (order.order, ORDER_RESPONSE),
            LoadMessage::Cancel => (order.cancel, CANCEL_RESPONSE),
        };
        self.recorder.record(response + 1, now_ns.saturating_sub(stamps.sent_ns));
        if self.load.rate_per_second_offered.is_some() {
            self.recorder.record(response, now_ns.saturating_sub(stamps.intended_ns));
        }
        // In which direction it was lost is not known, so it bounds both.
        self.record_ways((order.number, message), &stamps, None, now_ns);
    }

    /// Records or keeps both directions of a request; without the echo's stamps it was lost.
    #[inline]
    pub(super) fn record_ways(
        &mut self,
        (number, message): (u64, LoadMessage),
        stamps: &Stamps,
        echo: Option<EchoStamps>,
        ended_ns: u64,
    ) {
        let Stamps { intended_ns, sent_ns, .. } = *stamps;
        match self.patience.as_mut().map(|patience| &mut patience.directions) {
            Some(Directions::Recorded) => {}
            Some(Directions::Kept(ways)) => {
                let sequence = message.sequence(number);
                return ways.keep(sequence, [intended_ns, sent_ns, ended_ns], echo);
            }
            Some(Directions::None) | None => return,
        }
        let (came_ns, left_ns) =
            echo.map_or((ended_ns, sent_ns), |echo| (echo.received_ns, echo.sent_ns));
        if self.load.rate_per_second_offered.is_some() {
            self.recorder.record(FORWARD_RESPONSE, came_ns.saturating_sub(intended_ns));
        }
        self.recorder.record(FORWARD_SERVICE, came_ns.saturating_sub(sent_ns));
        self.recorder.record(REVERSE_SERVICE, ended_ns.saturating_sub(left_ns));
    }

    /// Counts a reply to a message that does not wait for one: `before` is what it was.
    #[cold]
    pub(super) fn count_odd(&mut self, before: Progress, counts: bool) {
        match (&mut self.load.datagrams, before) {
            (Some(datagrams), Progress::Lost) => datagrams.late += u64::from(counts),
            _ => self.load.duplicated += u64::from(counts),
        }
    }
}

//! The messages in flight, and what is counted and recorded of each: from its intended send to its
//! reply, or to the end of the wait for one. No I/O and no clock.

use crate::load::desk::in_flight::{InFlight, Order, Progress, Stamps};
use crate::load::desk::lane::LoadLane;
use crate::load::desk::lengths::Lengths;
use crate::load::desk::patience::{Directions, Patience, slots_of};
use crate::load::desk::silence::{Answer, Silence};
use crate::load::rows::{CANCEL_RESPONSE, CYCLE_SERVICE, ORDER_RESPONSE, SEND_LATENESS};
use crate::load::session::{LoadMessage, ReceivedReply, Reply};
use between::ways::Ways;
use clock::recorder::Recorder;
use record::{Datagrams, Load};
use transport::echo::datagrams::EchoStamps;

pub(crate) struct Ledger {
    pub(crate) in_flight: InFlight,
    pub(super) recorder: Recorder,
    /// Counters of the measured part.
    pub(crate) load: Load,
    pub(super) lengths: Lengths,
    /// Messages that the last read or wait ended, and how.
    pub(crate) answered: Vec<(Reply, u64)>,
    sequence: u64,
    pub(crate) measuring: bool,
    pub(crate) measured_from_ns: u64,
    last_sent_ns: u64,
    last_intended_ns: u64,
    /// Notes the longest time without an answer, if that is measured.
    pub(crate) silence: Option<Silence>,
    /// How long datagrams are waited for; `None` for streams, which lose nothing.
    pub(super) patience: Option<Patience>,
    /// Whether a cancel's reply ends a cycle that is recorded.
    pub(super) has_cycle: bool,
}

/// A message whose reply came in time.
pub(super) struct AnsweredMessage {
    pub(super) message: LoadMessage,
    pub(super) order: Order,
    pub(super) sent_ns: u64,
    /// The lane that owed the reply, whichever lane brought it.
    pub(super) owing: usize,
}

impl Ledger {
    pub(super) fn new(recorder: Recorder) -> Ledger {
        Ledger {
            in_flight: InFlight::new(),
            recorder,
            load: Load::default(),
            lengths: Lengths::default(),
            answered: Vec::with_capacity(4096),
            sequence: 0,
            measuring: false,
            measured_from_ns: 0,
            last_sent_ns: 0,
            last_intended_ns: 0,
            silence: None,
            patience: None,
            has_cycle: true,
        }
    }

    /// See [`crate::load::desk::Desk::over_datagrams`].
    pub(super) fn wait_for_datagrams(
        &mut self,
        patience_ns: u64,
        rate_per_second: f64,
        directions: Directions,
    ) {
        let slots = slots_of(patience_ns, rate_per_second);
        self.in_flight = InFlight::with_slots(slots);
        self.patience = Some(Patience::new(patience_ns, slots, directions));
        self.load.datagrams = Some(Datagrams { patience_ns, late: 0 });
    }

    /// Ends the warm-up at `now_ns`: orders from here on are measured.
    pub(super) fn start_measuring(&mut self, now_ns: u64) {
        self.measuring = true;
        self.measured_from_ns = now_ns;
        if let Some(silence) = &mut self.silence {
            silence.begin(now_ns);
        }
        self.recorder.start(now_ns);
    }

    /// The longest that a reply is waited for; 0 for streams.
    pub(crate) fn patience_ns(&self) -> u64 {
        self.patience.as_ref().map_or(0, |patience| patience.patience_ns)
    }

    /// The account of order `number`.
    pub(crate) fn account_of(&mut self, number: u64) -> Option<usize> {
        self.in_flight.order(number).map(|order| order.account)
    }

    /// Has the response time of an order, which was just appended, recorded in a further series.
    #[inline]
    pub(crate) fn also_record(&mut self, number: u64, row: usize) {
        if let Some(order) = self.in_flight.order(number) {
            order.further_row = row as u16;
        }
    }

    pub(crate) fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    /// A message of an order is about to be encoded. Returns the order's account.
    #[inline]
    pub(super) fn append(
        &mut self,
        message: LoadMessage,
        number: u64,
        intended_ns: u64,
    ) -> Option<usize> {
        let sequence = self.next_sequence();
        let order = self.in_flight.order(number)?;
        *order.stamps(message) =
            Stamps { intended_ns, sent_ns: 0, sequence, progress: Progress::InFlight };
        let (account, measured) = (order.account, order.measured);
        if measured {
            self.load.sent += 1;
        } else {
            self.load.warm_up_sent += 1;
        }
        self.last_intended_ns = intended_ns;
        self.in_flight.unanswered += 1;
        Some(account)
    }

    /// One write took these messages, whole.
    #[inline]
    pub(super) fn wrote(
        &mut self,
        messages: impl Iterator<Item = (u64, LoadMessage)> + Clone,
        stamp_ns: u64,
    ) {
        for (number, message) in messages.clone() {
            self.last_sent_ns = stamp_ns;
            if let Some(order) = self.in_flight.order(number) {
                let measured = order.measured;
                let stamps = order.stamps(message);
                stamps.sent_ns = stamp_ns;
                // Ping-pong has no schedule, so nothing in it is late.
                if measured && self.load.rate_per_second_offered.is_some() {
                    let lateness_ns = stamp_ns.saturating_sub(stamps.intended_ns);
                    self.recorder.record(SEND_LATENESS, lateness_ns);
                }
            }
        }
        if let Some(patience) = &mut self.patience {
            patience.sent(messages, &mut self.in_flight);
        }
    }

    /// Counts and records a reply that `lane` brought; `echo`: the other end's stamps, if any.
    /// Returns its message if that waited for it.
    #[inline]
    pub(super) fn answer(
        &mut self,
        lanes: &mut [LoadLane],
        lane: usize,
        received: ReceivedReply,
        echo: Option<EchoStamps>,
    ) -> Option<AnsweredMessage> {
        let (message, number) = self.message_of(received.reply)?;
        let Some(order) = self.in_flight.order(number) else {
            self.load.duplicated += 1;
            return None;
        };
        // Over datagrams odd replies are no fault, and those to the warm-up don't count.
        let counts = order.measured || self.patience.is_none();
        let stamps = order.stamps(message);
        let before = stamps.progress;
        if before != Progress::Unsent {
            stamps.progress = Progress::Answered;
        }
        if before != Progress::InFlight {
            self.count_odd(before, counts);
            return None;
        }
        let (sequence, sent_ns) = (stamps.sequence, stamps.sent_ns);
        let order = *order;
        if let Some(silence) = &mut self.silence {
            silence.answered(&Answer {
                at_ns: received.first_byte_ns,
                is_rejection: matches!(received.reply, Reply::Rejected(_)),
                sequence,
                last_sequence: self.sequence,
                unanswered: self.in_flight.unanswered,
            });
        }
        self.in_flight.unanswered -= 1;
        self.answered.push((received.reply, number));
        let owing = order.account % lanes.len();
        lanes[owing].unanswered -= 1;
        let lane = &mut lanes[lane];
        if sequence < lane.answered_sequence {
            self.load.out_of_order += u64::from(counts);
        }
        lane.answered_sequence = lane.answered_sequence.max(sequence);
        if order.measured {
            self.load.received += 1;
            match received.reply {
                Reply::Rejected(_) => self.load.rejected += 1,
                _ => self.record(message, &order, received, echo),
            }
        }
        Some(AnsweredMessage { message, order, sent_ns, owing })
    }

    /// The message that a reply belongs to.
    #[inline]
    fn message_of(&mut self, reply: Reply) -> Option<(LoadMessage, u64)> {
        match reply {
            Reply::Ack(message, number) => Some((message, number)),
            Reply::Rejected(number) => match self.in_flight.order(number) {
                // Replies come in order, so a rejection belongs to the message that was sent first.
                Some(order) if order.order.progress == Progress::InFlight => {
                    Some((LoadMessage::Order, number))
                }
                _ => Some((LoadMessage::Cancel, number)),
            },
            Reply::Unexpected => {
                self.load.unexpected += 1;
                None
            }
            Reply::Aside | Reply::Lost(..) => None,
        }
    }

    #[inline]
    fn record(
        &mut self,
        message: LoadMessage,
        order: &Order,
        received: ReceivedReply,
        echo: Option<EchoStamps>,
    ) {
        let (stamps, response) = stamps_and_row(message, order);
        self.lengths.answered(message, received.bytes);
        let at_ns = received.first_byte_ns;
        let is_open = self.load.rate_per_second_offered.is_some();
        if let (Some(patience), Some(echo)) = (&mut self.patience, echo) {
            let message = (order.number, message);
            patience.record_ways(
                message,
                &stamps,
                (Some(echo), at_ns),
                is_open,
                &mut self.recorder,
            );
        }
        self.recorder.record(response + 1, at_ns.saturating_sub(stamps.sent_ns));
        if is_open {
            let response_ns = at_ns.saturating_sub(stamps.intended_ns);
            self.recorder.record(response, response_ns);
            if message == LoadMessage::Order && order.further_row > 0 {
                self.recorder.record(usize::from(order.further_row), response_ns);
            }
        } else if message == LoadMessage::Cancel && self.has_cycle {
            self.recorder.record(CYCLE_SERVICE, at_ns.saturating_sub(order.order.sent_ns));
        }
    }

    /// Counts a reply to a message that does not wait for one: `before` is what it was.
    #[cold]
    fn count_odd(&mut self, before: Progress, counts: bool) {
        match (&mut self.load.datagrams, before) {
            (Some(datagrams), Progress::Lost) => datagrams.late += u64::from(counts),
            _ => self.load.duplicated += u64::from(counts),
        }
    }

    /// Stops waiting for replies to datagrams that were sent until `before_ns`: `answered` has
    /// them. Such a message counts as lost, and the time that was waited goes into its series:
    /// percentiles of the replies that did arrive would look better than what a user of the network
    /// saw.
    pub(super) fn lose_before(&mut self, lanes: &mut [LoadLane], now_ns: u64, before_ns: u64) {
        self.answered.clear();
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
                self.lose(lanes, &order, message, now_ns);
            } else {
                patience.sent.pop_front();
            }
        }
    }

    /// Counts a message as lost, with the time that was waited for its reply.
    fn lose(&mut self, lanes: &mut [LoadLane], order: &Order, message: LoadMessage, now_ns: u64) {
        self.in_flight.unanswered -= 1;
        lanes[order.account % lanes.len()].unanswered -= 1;
        self.answered.push((Reply::Lost(message, order.number), order.number));
        if !order.measured {
            return;
        }
        self.load.lost += 1;
        let (stamps, response) = stamps_and_row(message, order);
        let is_open = self.load.rate_per_second_offered.is_some();
        self.recorder.record(response + 1, now_ns.saturating_sub(stamps.sent_ns));
        if is_open {
            self.recorder.record(response, now_ns.saturating_sub(stamps.intended_ns));
        }
        if let Some(patience) = &mut self.patience {
            // In which direction it was lost is not known, so it bounds both.
            let message = (order.number, message);
            patience.record_ways(message, &stamps, (None, now_ns), is_open, &mut self.recorder);
        }
    }

    /// Stops waiting for any reply.
    pub(crate) fn stop_waiting(&mut self, lanes: &mut [LoadLane], now_ns: u64) {
        match self.patience {
            None => self.load.lost = self.in_flight.unanswered,
            Some(_) => self.lose_before(lanes, now_ns, now_ns),
        }
        self.load.outages.extend(self.silence.take().and_then(Silence::longest));
    }

    /// Ends the last interval. Returns the counts, and the directions that were kept.
    pub(crate) fn finish(mut self, now_ns: u64) -> (Load, Option<Ways>) {
        self.recorder.finish(now_ns);
        self.load.message_bytes = self.lengths.means();
        (self.load, self.patience.and_then(Patience::into_ways))
    }

    /// The rate that was achieved. If sending took longer than its schedule, it is lower than
    /// `offered` in proportion.
    pub(crate) fn achieved(&self, offered: f64) -> f64 {
        if !self.measuring || self.load.sent == 0 {
            return 0.0;
        }
        let gap_ns = 1e9 / offered;
        let scheduled_ns = self.last_intended_ns.saturating_sub(self.measured_from_ns) as f64;
        let took_ns = self.last_sent_ns.saturating_sub(self.measured_from_ns) as f64;
        offered * (scheduled_ns + gap_ns) / (took_ns + gap_ns).max(scheduled_ns + gap_ns)
    }
}

/// A message's times, and the series of its response time; that of its service time follows.
#[inline]
fn stamps_and_row(message: LoadMessage, order: &Order) -> (Stamps, usize) {
    match message {
        LoadMessage::Order => (order.order, ORDER_RESPONSE),
        LoadMessage::Cancel => (order.cancel, CANCEL_RESPONSE),
    }
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;

//! The trader's desk: its connections (lanes), its messages in flight and its stamps. The load
//! models decide which message is due when; the desk sends, stamps, reads and records.
//!
//! [`ledger`] holds the messages in flight and what is counted of them, without I/O.
//! [`connections`] writes. Neither knows what a failed connection means for the run: the desk does.

pub(crate) mod connections;
pub(crate) mod in_flight;
pub(crate) mod lane;
pub(crate) mod ledger;
mod lengths;
pub(crate) mod patience;
pub(crate) mod redial;
pub(crate) mod silence;
pub(crate) mod stamping;

use crate::load::desk::connections::Connections;
use crate::load::desk::in_flight::Progress;
use crate::load::desk::lane::{LoadLane, UnsentMessage};
use crate::load::desk::ledger::{AnsweredMessage, Ledger};
use crate::load::desk::patience::Directions;
use crate::load::desk::redial::Redial;
use crate::load::desk::stamping::Stamping;
use crate::load::session::{LoadMessage, OrderProtocol, ReceivedReply};
use clock::Clock;
use clock::recorder::Recorder;
use host::processor::ProcessorMeter;
use host::thread::Usage;
use transport::{Ready, StreamId, StreamRead, Streams};

/// A sleeping backend wakes at least this often, to check whether it should stop.
pub(crate) const WAIT_NS_MAX: u64 = 50_000_000;

pub(crate) struct Desk<E: OrderProtocol> {
    pub(crate) clock: Clock,
    pub(crate) entry: E,
    pub(crate) connections: Connections,
    pub(crate) ledger: Ledger,
    pub(crate) ready: Vec<Ready>,
    /// The thread's resource usage when measuring began.
    pub(crate) usage: Usage,
    /// Processor time of both ends since then.
    pub(crate) processor: ProcessorMeter,
    /// Why the run can't continue.
    pub(crate) failure: Option<String>,
    /// A connection has ended; its replies won't come.
    pub(crate) broken: bool,
    /// Other addresses of the exchange, if there are any.
    pub(crate) redial: Option<Redial>,
    pub(crate) next_silence_check_ns: u64,
}

impl<E: OrderProtocol> Desk<E> {
    /// `streams` has one stream per lane, in order.
    pub(crate) fn new(
        clock: Clock,
        streams: Box<dyn Streams>,
        ids: &[StreamId],
        entry: E,
        recorder: Recorder,
    ) -> Desk<E> {
        Desk {
            clock,
            entry,
            connections: Connections::new(streams, ids),
            ledger: Ledger::new(recorder),
            ready: Vec::with_capacity(2 * ids.len() + 1),
            usage: host::thread::usage(),
            processor: ProcessorMeter::new(None),
            failure: None,
            broken: false,
            redial: None,
            next_silence_check_ns: 0,
        }
    }

    /// Goes on at another address when the exchange is lost.
    pub(crate) fn with_redial(mut self, redial: Option<Redial>) -> Desk<E> {
        self.redial = redial;
        self
    }

    /// The kernel stamps some of its messages.
    pub(crate) fn stamped(mut self, stamping: Stamping) -> Desk<E> {
        self.connections.stamping = Some(stamping);
        self
    }

    /// Orders and cancels alike are requests.
    pub(crate) fn of_requests(mut self) -> Desk<E> {
        self.ledger.has_cycle = false;
        self
    }

    /// Its messages are datagrams, and it waits `patience_ns` for each reply. `rate_per_second` is
    /// that of the schedule: lost messages keep their slots meanwhile.
    pub(crate) fn over_datagrams(
        mut self,
        patience_ns: u64,
        rate_per_second: f64,
        directions: Directions,
    ) -> Desk<E> {
        self.connections.is_datagrams = true;
        self.ledger.wait_for_datagrams(patience_ns, rate_per_second, directions);
        self
    }

    /// Ends the warm-up at `now_ns`: orders from here on are measured.
    pub(crate) fn start_measuring(&mut self, now_ns: u64) {
        self.usage = host::thread::usage();
        self.processor.start();
        self.ledger.start_measuring(now_ns);
    }

    /// Ends the interval if its time is over.
    #[inline]
    pub(crate) fn roll(&mut self, now_ns: u64) {
        self.ledger.recorder.roll(now_ns);
    }

    /// Appends a new order to its account's lane; the next [`Desk::flush`] sends it. `None` if it
    /// must wait.
    #[inline]
    pub(crate) fn order(&mut self, number: u64, account: usize, intended_ns: u64) -> Option<()> {
        if self.connections.is_full(account) {
            return None;
        }
        self.ledger.in_flight.open(number, account, self.ledger.measuring)?;
        self.append(LoadMessage::Order, number, intended_ns);
        Some(())
    }

    /// Appends the cancel of an order. `None` if it must wait.
    #[inline]
    pub(crate) fn cancel(&mut self, number: u64, intended_ns: u64) -> Option<()> {
        let order = *self.ledger.in_flight.order(number)?;
        if self.connections.is_full(order.account) {
            return None;
        }
        if order.measured && order.order.progress != Progress::Answered {
            self.ledger.load.overtakes += 1;
        }
        self.append(LoadMessage::Cancel, number, intended_ns);
        Some(())
    }

    fn append(&mut self, message: LoadMessage, number: u64, intended_ns: u64) {
        let Some(account) = self.ledger.append(message, number, intended_ns) else { return };
        let Connections { lanes, stamping, .. } = &mut self.connections;
        let index = account % lanes.len();
        let lane = &mut lanes[index];
        let start = lane.bytes.len();
        self.entry.encode(message, number, account, &mut lane.bytes);
        let end = lane.bytes.len();
        lane.unsent.push(UnsentMessage { number, message, end });
        if let Some(stamping) = stamping
            && stamping.append(index, (number, message), &mut self.ledger.in_flight)
        {
            self.entry.choose(&mut lane.bytes[start..]);
        }
        if lane.unanswered == 0 {
            lane.quiet_since_ns = self.clock.now_ns();
        }
        lane.unanswered += 1;
        self.connections.mark(index);
        self.ledger.lengths.sent(message, end - start);
    }

    /// Writes what was appended, one call per lane, the lane of the earliest message first.
    #[inline]
    pub(crate) fn flush(&mut self) {
        for place in 0..self.connections.dirty.len() {
            let index = self.connections.dirty[place];
            let lane = &mut self.connections.lanes[index];
            lane.dirty = false;
            // A lane with a full socket is written when the socket is ready again.
            if !lane.watched && !lane.bytes.is_empty() {
                self.flush_lane(index);
            }
        }
        self.connections.dirty.clear();
    }

    fn flush_lane(&mut self, lane: usize) {
        if let Err(error) = self.connections.flush(lane, &mut self.ledger) {
            self.fail_lane(lane, &error.to_string());
        }
    }

    /// Sends at once what a session has appended for itself to `before` bytes.
    pub(crate) fn send_own(&mut self, lane: usize, before: usize) {
        let LoadLane { bytes, watched, .. } = &self.connections.lanes[lane];
        if bytes.len() > before && !watched {
            self.flush_lane(lane);
        }
    }

    /// Waits as the backend does, and puts what it finds into `ready`.
    #[inline]
    pub(crate) fn wait(&mut self, until_ns: u64) {
        self.ready.clear();
        if let Err(error) = self.connections.streams.wait(until_ns, &mut self.ready) {
            self.failure = Some(format!("waiting for replies failed: {error}"));
            self.broken = true;
        }
    }

    /// Handles one finding: one read, or one write.
    #[inline]
    pub(crate) fn handle(&mut self, ready: Ready) {
        match ready {
            Ready::Readable(stream) => self.read(self.connections.lane_of(stream)),
            Ready::Writable(stream) => self.flush_lane(self.connections.lane_of(stream)),
            Ready::Incoming => {}
        }
    }

    /// The second stamp of invariant 6: the transport takes it right after the read returns.
    fn read(&mut self, lane: usize) {
        self.ledger.answered.clear();
        let Connections { streams, lanes, .. } = &mut self.connections;
        let read_bytes = match streams.read(lanes[lane].stream, self.entry.space(lane)) {
            StreamRead::Empty => return,
            StreamRead::Closed => return self.fail_lane(lane, "the other end closed it"),
            StreamRead::Failed(error) => return self.fail_lane(lane, &error.to_string()),
            StreamRead::Bytes { n, stamp_ns } => {
                self.entry.filled(lane, n, stamp_ns);
                lanes[lane].quiet_since_ns = stamp_ns;
                n
            }
        };
        let unsent_bytes = lanes[lane].bytes.len();
        let (mut decoded_bytes, mut ended_read) = (0, false);
        loop {
            match self.entry.next(lane, &mut self.connections.lanes[lane].bytes) {
                Ok(Some(received)) => {
                    decoded_bytes += received.bytes;
                    let was_answered = self.has_stamps(lane);
                    self.account_for(lane, received);
                    ended_read = self.has_stamps(lane) && !was_answered;
                }
                Ok(None) => break,
                Err(why) => return self.fail_lane(lane, &why),
            }
        }
        // Such as a pong.
        self.send_own(lane, unsent_bytes);
        if self.has_stamps(lane) {
            self.take_stamps(lane, ended_read && decoded_bytes == read_bytes);
        }
    }

    /// Whether the lane's stamped message was just answered.
    #[inline]
    fn has_stamps(&self, lane: usize) -> bool {
        self.connections.stamping.as_ref().is_some_and(|stamping| stamping.is_answered(lane))
    }

    /// After the answer was recorded: reading the stamps is no part of it.
    #[cold]
    fn take_stamps(&mut self, lane: usize, ended_read: bool) {
        let Connections { stamping: Some(stamping), streams, lanes, .. } = &mut self.connections
        else {
            return;
        };
        let stamps = streams.stamps(lanes[lane].stream);
        stamping.record(lane, stamps, ended_read, &mut self.ledger.recorder);
    }

    /// Counts and records a reply that `lane` brought.
    pub(crate) fn account_for(&mut self, lane: usize, received: ReceivedReply) {
        let Connections { lanes, stamping, .. } = &mut self.connections;
        let echo = self.entry.stamps();
        let Some(answered) = self.ledger.answer(lanes, lane, received, echo) else { return };
        if let Some(redial) = &mut self.redial {
            self.ledger.load.outages.extend(redial.answered(received.first_byte_ns));
        }
        let AnsweredMessage { message, order, sent_ns, owing } = answered;
        if let Some(stamping) = stamping.as_mut().filter(|_| owing == lane) {
            let both_ns = (sent_ns, received.first_byte_ns);
            stamping.answered(lane, (order.number, message), order.measured, both_ns);
        }
    }

    /// Stops waiting for replies over datagrams that should have come by `now_ns`. Returns whether
    /// there were any; [`Ledger::answered`] has them.
    #[inline]
    pub(crate) fn expire(&mut self, now_ns: u64) -> bool {
        if !self.connections.is_datagrams {
            return false;
        }
        let before_ns = now_ns.saturating_sub(self.ledger.patience_ns());
        self.ledger.lose_before(&mut self.connections.lanes, now_ns, before_ns);
        !self.ledger.answered.is_empty()
    }

    pub(crate) fn fail_lane(&mut self, lane: usize, why: &str) {
        if let Some(redial) = &mut self.redial {
            return redial.lose(format!("connection {lane}: {why}"));
        }
        self.broken = true;
        let lanes = self.connections.lanes.len();
        self.failure
            .get_or_insert_with(|| format!("connection {lane} of {lanes} ended in mid-run: {why}"));
    }

    pub(crate) fn unanswered(&self) -> u64 {
        self.ledger.in_flight.unanswered
    }
}

#[cfg(test)]
mod tests;

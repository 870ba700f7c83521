//! The trader's desk: its connections (lanes), its messages in flight and its stamps. The load
//! models decide which message is due when; the desk sends, stamps, reads and records.

use crate::load::in_flight::{InFlight, Order, Progress, Stamps};
use crate::load::lane::{LANE_BYTES_MAX, LoadLane, UnsentMessage};
use crate::load::lengths::Lengths;
use crate::load::patience::{Directions, Patience, slots_of};
use crate::load::redial::Redial;
use crate::load::rows::{CANCEL_RESPONSE, CYCLE_SERVICE, ORDER_RESPONSE};
use crate::load::session::{LoadMessage, OrderProtocol, ReceivedReply, Reply};
use crate::load::silence::{Answer, Silence};
use crate::load::stamping::Stamping;
use between::ways::{KernelTimes, Ways};
use clock::Clock;
use clock::recorder::Recorder;
use host::processor::ProcessorMeter;
use host::thread::Usage;
use record::{Datagrams, Load};
use transport::{Ready, StreamId, StreamRead, Streams};

/// Limit on unanswered messages per lane; further ones wait and are late. Their replies stay below
/// the megabyte after which an exchange takes a client for one that does not read.
pub(crate) const LANE_UNANSWERED_MAX: u32 = 2048;
/// A sleeping backend wakes at least this often, to check whether it should stop.
pub(crate) const WAIT_NS_MAX: u64 = 50_000_000;

pub(crate) struct Desk<E: OrderProtocol> {
    pub(crate) clock: Clock,
    pub(super) streams: Box<dyn Streams>,
    pub(crate) entry: E,
    pub(super) lanes: Vec<LoadLane>,
    lane_of_stream: Vec<usize>,
    /// Lanes with bytes that no write has been tried for.
    pub(super) dirty: Vec<usize>,
    pub(super) in_flight: InFlight,
    pub(super) recorder: Recorder,
    /// Counters of the measured part.
    pub(crate) load: Load,
    lengths: Lengths,
    /// Messages answered by the last [`Desk::read`], and how.
    pub(crate) answered: Vec<(Reply, u64)>,
    pub(crate) ready: Vec<Ready>,
    sequence: u64,
    pub(super) next_silence_check_ns: u64,
    pub(crate) measuring: bool,
    pub(crate) measured_from_ns: u64,
    pub(crate) last_sent_ns: u64,
    last_intended_ns: u64,
    /// The thread's resource usage when measuring began.
    usage: Usage,
    /// Processor time of both ends since then.
    pub(super) processor: ProcessorMeter,
    /// Why the run can't continue.
    pub(crate) failure: Option<String>,
    pub(super) broken: bool,
    /// Other addresses of the exchange, if there are any.
    pub(super) redial: Option<Redial>,
    /// Notes the longest time without an answer, if that is measured.
    pub(super) silence: Option<Silence>,
    /// How long datagrams are waited for; `None` for streams, which lose nothing.
    pub(super) patience: Option<Patience>,
    /// Whether a cancel's reply ends a cycle that is recorded.
    has_cycle: bool,
    /// `None`: the kernel stamps nothing.
    pub(super) stamping: Option<Stamping>,
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
        let mut lane_of_stream = vec![0; ids.iter().map(|id| id.index() + 1).max().unwrap_or(0)];
        let lanes = ids.iter().enumerate().map(|(lane, &stream)| {
            lane_of_stream[stream.index()] = lane;
            LoadLane::new(stream)
        });
        Desk {
            clock,
            streams,
            entry,
            lanes: lanes.collect(),
            lane_of_stream,
            dirty: Vec::with_capacity(ids.len()),
            in_flight: InFlight::new(),
            recorder,
            load: Load::default(),
            lengths: Lengths::default(),
            answered: Vec::with_capacity(4096),
            ready: Vec::with_capacity(2 * ids.len() + 1),
            sequence: 0,
            next_silence_check_ns: 0,
            measuring: false,
            measured_from_ns: 0,
            last_sent_ns: 0,
            last_intended_ns: 0,
            usage: host::thread::usage(),
            processor: ProcessorMeter::new(None),
            failure: None,
            broken: false,
            redial: None,
            silence: None,
            patience: None,
            has_cycle: true,
            stamping: None,
        }
    }

    /// Goes on at another address when the exchange is lost.
    pub(crate) fn with_redial(mut self, redial: Option<Redial>) -> Desk<E> {
        self.redial = redial;
        self
    }

    /// The kernel stamps some of its messages.
    pub(crate) fn stamped(mut self, stamping: Stamping) -> Desk<E> {
        self.stamping = Some(stamping);
        self
    }

    /// Orders and cancels alike are requests.
    pub(crate) fn of_requests(mut self) -> Desk<E> {
        self.has_cycle = false;
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
        let slots = slots_of(patience_ns, rate_per_second);
        self.in_flight = InFlight::with_slots(slots);
        self.patience = Some(Patience::new(patience_ns, slots, directions));
        self.load.datagrams = Some(Datagrams { patience_ns, late: 0 });
        self
    }

    /// Ends the warm-up at `now_ns`: orders from here on are measured.
    pub(crate) fn start_measuring(&mut self, now_ns: u64) {
        self.measuring = true;
        self.measured_from_ns = now_ns;
        if let Some(silence) = &mut self.silence {
            silence.begin(now_ns);
        }
        self.usage = host::thread::usage();
        self.processor.start();
        self.recorder.start(now_ns);
    }

    /// Ends the interval if its time is over.
    #[inline]
    pub(crate) fn roll(&mut self, now_ns: u64) {
        self.recorder.roll(now_ns);
    }

    /// Appends a new order to its account's lane; the next [`Desk::flush`] sends it. `None` if it
    /// must wait.
    #[inline]
    pub(crate) fn order(&mut self, number: u64, account: usize, intended_ns: u64) -> Option<()> {
        if self.lane_is_full(account) {
            return None;
        }
        self.in_flight.open(number, account, self.measuring)?;
        self.append(LoadMessage::Order, number, intended_ns);
        Some(())
    }

    /// Appends the cancel of an order. `None` if it must wait.
    #[inline]
    pub(crate) fn cancel(&mut self, number: u64, intended_ns: u64) -> Option<()> {
        let order = *self.in_flight.order(number)?;
        if self.lane_is_full(order.account) {
            return None;
        }
        if order.measured && order.order.progress != Progress::Answered {
            self.load.overtakes += 1;
        }
        self.append(LoadMessage::Cancel, number, intended_ns);
        Some(())
    }

    fn lane_is_full(&self, account: usize) -> bool {
        let lane = &self.lanes[account % self.lanes.len()];
        lane.bytes.len() > LANE_BYTES_MAX || lane.unanswered >= LANE_UNANSWERED_MAX
    }

    pub(super) fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    pub(super) fn lane_of(&self, stream: StreamId) -> usize {
        self.lane_of_stream[stream.index()]
    }

    /// From now on the lane uses this stream.
    pub(super) fn use_stream(&mut self, lane: usize, stream: StreamId, now_ns: u64) {
        if self.lane_of_stream.len() <= stream.index() {
            self.lane_of_stream.resize(stream.index() + 1, 0);
        }
        self.lane_of_stream[stream.index()] = lane;
        let lane = &mut self.lanes[lane];
        (lane.stream, lane.watched, lane.quiet_since_ns) = (stream, false, now_ns);
    }

    fn append(&mut self, message: LoadMessage, number: u64, intended_ns: u64) {
        let sequence = self.next_sequence();
        let Some(order) = self.in_flight.order(number) else { return };
        *order.stamps(message) =
            Stamps { intended_ns, sent_ns: 0, sequence, progress: Progress::InFlight };
        let (account, measured) = (order.account, order.measured);
        let index = account % self.lanes.len();
        let lane = &mut self.lanes[index];
        let start = lane.bytes.len();
        self.entry.encode(message, number, account, &mut lane.bytes);
        let end = lane.bytes.len();
        lane.unsent.push(UnsentMessage { number, message, end });
        if let Some(stamping) = &mut self.stamping
            && stamping.append(index, (number, message), &mut self.in_flight)
        {
            self.entry.choose(&mut lane.bytes[start..]);
        }
        if lane.unanswered == 0 {
            lane.quiet_since_ns = self.clock.now_ns();
        }
        lane.unanswered += 1;
        if !lane.dirty {
            lane.dirty = true;
            self.dirty.push(index);
        }
        self.lengths.sent(message, end - start);
        if measured {
            self.load.sent += 1;
        } else {
            self.load.warm_up_sent += 1;
        }
        self.last_intended_ns = intended_ns;
        self.in_flight.unanswered += 1;
    }

    /// Waits as the backend does, and puts what it finds into `ready`.
    #[inline]
    pub(crate) fn wait(&mut self, until_ns: u64) {
        self.ready.clear();
        if let Err(error) = self.streams.wait(until_ns, &mut self.ready) {
            self.failure = Some(format!("waiting for replies failed: {error}"));
            self.broken = true;
        }
    }

    /// Handles one finding: one read, or one write.
    #[inline]
    pub(crate) fn handle(&mut self, ready: Ready) {
        match ready {
            Ready::Readable(stream) => self.read(self.lane_of(stream)),
            Ready::Writable(stream) => self.flush_lane(self.lane_of(stream)),
            Ready::Incoming => {}
        }
    }

    /// The second stamp of invariant 6: the transport takes it right after the read returns.
    fn read(&mut self, lane: usize) {
        self.answered.clear();
        let read_bytes = match self.streams.read(self.lanes[lane].stream, self.entry.space(lane)) {
            StreamRead::Empty => return,
            StreamRead::Closed => return self.fail_lane(lane, "the other end closed it"),
            StreamRead::Failed(error) => return self.fail_lane(lane, &error.to_string()),
            StreamRead::Bytes { n, stamp_ns } => {
                self.entry.filled(lane, n, stamp_ns);
                self.lanes[lane].quiet_since_ns = stamp_ns;
                n
            }
        };
        let unsent_bytes = self.lanes[lane].bytes.len();
        let (mut decoded_bytes, mut ended_read) = (0, false);
        loop {
            match self.entry.next(lane, &mut self.lanes[lane].bytes) {
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
        self.stamping.as_ref().is_some_and(|stamping| stamping.is_answered(lane))
    }

    /// After the answer was recorded: reading the stamps is no part of it.
    #[cold]
    fn take_stamps(&mut self, lane: usize, ended_read: bool) {
        let Some(stamping) = &mut self.stamping else { return };
        let stamps = self.streams.stamps(self.lanes[lane].stream);
        stamping.record(lane, stamps, ended_read, &mut self.recorder);
    }

    pub(super) fn account_for(&mut self, lane: usize, received: ReceivedReply) {
        let (message, number) = match received.reply {
            Reply::Ack(message, number) => (message, number),
            Reply::Rejected(number) => match self.in_flight.order(number) {
                // Replies come in order, so a rejection belongs to the message that was sent first.
                Some(order) if order.order.progress == Progress::InFlight => {
                    (LoadMessage::Order, number)
                }
                _ => (LoadMessage::Cancel, number),
            },
            Reply::Unexpected => return self.load.unexpected += 1,
            Reply::Aside | Reply::Lost(..) => return,
        };
        let Some(order) = self.in_flight.order(number) else {
            return self.load.duplicated += 1;
        };
        // Over datagrams odd replies are no fault, and those to the warm-up don't count.
        let counts = order.measured || self.patience.is_none();
        let stamps = order.stamps(message);
        let before = stamps.progress;
        if before != Progress::Unsent {
            stamps.progress = Progress::Answered;
        }
        if before != Progress::InFlight {
            return self.count_odd(before, counts);
        }
        let (sequence, sent_ns) = (stamps.sequence, stamps.sent_ns);
        let order = *order;
        if let Some(redial) = &mut self.redial {
            self.load.outages.extend(redial.answered(received.first_byte_ns));
        }
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
        // The lane that owes the reply, whichever lane brought it.
        let owing = order.account % self.lanes.len();
        self.lanes[owing].unanswered -= 1;
        if let Some(stamping) = self.stamping.as_mut().filter(|_| owing == lane) {
            let both_ns = (sent_ns, received.first_byte_ns);
            stamping.answered(lane, (number, message), order.measured, both_ns);
        }
        let lane = &mut self.lanes[lane];
        if sequence < lane.answered_sequence {
            self.load.out_of_order += u64::from(counts);
        }
        lane.answered_sequence = lane.answered_sequence.max(sequence);
        if order.measured {
            self.load.received += 1;
            match received.reply {
                Reply::Rejected(_) => self.load.rejected += 1,
                _ => self.record(message, &order, received),
            }
        }
    }

    #[inline]
    fn record(&mut self, message: LoadMessage, order: &Order, received: ReceivedReply) {
        let (stamps, response) = match message {
            LoadMessage::Order => (order.order, ORDER_RESPONSE),
            LoadMessage::Cancel => (order.cancel, CANCEL_RESPONSE),
        };
        self.lengths.answered(message, received.bytes);
        let at_ns = received.first_byte_ns;
        if let Some(echo) = self.entry.stamps() {
            self.record_ways((order.number, message), &stamps, Some(echo), at_ns);
        }
        self.recorder.record(response + 1, at_ns.saturating_sub(stamps.sent_ns));
        if self.load.rate_per_second_offered.is_some() {
            let response_ns = at_ns.saturating_sub(stamps.intended_ns);
            self.recorder.record(response, response_ns);
            if message == LoadMessage::Order && order.further_row > 0 {
                self.recorder.record(usize::from(order.further_row), response_ns);
            }
        } else if message == LoadMessage::Cancel && self.has_cycle {
            self.recorder.record(CYCLE_SERVICE, at_ns.saturating_sub(order.order.sent_ns));
        }
    }

    pub(super) fn fail_lane(&mut self, lane: usize, why: &str) {
        if let Some(redial) = &mut self.redial {
            return redial.lose(format!("connection {lane}: {why}"));
        }
        self.broken = true;
        self.failure.get_or_insert_with(|| {
            format!("connection {lane} of {} ended in mid-run: {why}", self.lanes.len())
        });
    }

    /// A connection has ended; its replies won't come.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken
    }

    /// The account of order `number`.
    pub(crate) fn account_of(&mut self, number: u64) -> Option<usize> {
        self.in_flight.order(number).map(|order| order.account)
    }

    pub(crate) fn unanswered(&self) -> u64 {
        self.in_flight.unanswered
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

    /// Ends the last interval.
    pub(crate) fn finish(mut self) -> FinishedLoad<E> {
        self.load.message_bytes = self.lengths.means();
        match self.patience {
            None => self.load.lost = self.in_flight.unanswered,
            Some(_) => self.lose_all(self.clock.now_ns()),
        }
        self.load.outages.extend(self.silence.take().and_then(Silence::longest));
        let usage = host::thread::usage().since(self.usage);
        self.load.context_switches_involuntary = usage.context_switches_involuntary;
        self.load.page_faults = usage.page_faults_minor + usage.page_faults_major;
        self.log_off();
        let (stamped, times) = self.stamping.map(Stamping::finish).unzip();
        self.load.stamped = stamped;
        self.recorder.finish(self.clock.now_ns());
        FinishedLoad {
            load: self.load,
            failure: self.failure,
            entry: self.entry,
            ways: self.patience.and_then(Patience::into_ways),
            times: times.unwrap_or_default(),
        }
    }
}

/// A load that has ended.
pub(crate) struct FinishedLoad<E> {
    pub(crate) load: Load,
    pub(crate) failure: Option<String>,
    pub(crate) entry: E,
    /// The directions that were kept.
    pub(crate) ways: Option<Ways>,
    /// The stamped messages that were kept.
    pub(crate) times: Vec<KernelTimes>,
}

#[cfg(test)]
#[path = "desk_tests.rs"]
mod tests;

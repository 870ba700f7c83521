//! The loop that joins the stages: one thread, each datagram to completion.
//!
//! ```text
//!   ① ingest      TickReceiver::receive                   one system call per datagram
//!   ② normalise   TradingLogic::normalise
//!   ③ signal      TradingLogic::decide
//!   ④ risk        TradingLogic::check
//!   ⑤ order       OrderSession::encode, Streams::write    one system call per tick with an order
//! ```
//!
//! The feed comes first. The loop polls the stream of replies if there is no datagram, and after
//! every [`DATAGRAMS_BETWEEN_LOOKS`] datagrams. An empty poll of a socket costs a system call, and
//! a tick that arrives meanwhile waits. So while no reply is owed, the loop polls the stream only
//! at every [`LOOKS_WITHOUT_DEBT`]th empty poll of the feed.

use crate::session::codec::Reply;
use crate::strategy::OrderIntent;
use crate::strategy::own_orders::{OwnOrders, PendingRequest};
use crate::tick::followed::MarketDataKind;
use crate::tick::logic::TradingLogic;
use crate::tick::parts::LoopParts;
use crate::tick::phase::{Course, Step, View};
use crate::tick::rehearsal::Rehearsal;
use crate::tick::releases::{HeldTick, Releases};
use crate::tick::session::{OrderSession, Request, StampedReply};
use crate::tick::stages::{DecidedTick, Stages};
use engine::Side;
use host::thread::Usage;
use transport::datagram::{DATAGRAM_BYTES_MAX, Datagram};

/// Datagrams in a row after which the stream is polled.
const DATAGRAMS_BETWEEN_LOOKS: u32 = 32;
/// Empty polls of the feed per poll of a stream that owes nothing.
const LOOKS_WITHOUT_DEBT: u32 = 64;
/// Empty polls of the feed per rehearsal.
const LOOKS_A_REHEARSAL: u32 = 16;
/// A backend that sleeps wakes at least this often.
const SLEEP_NS_MAX: u64 = 20_000_000;
/// A request to the feed without an effect for this long is sent again.
const AGAIN_NS: u64 = 50_000_000;
/// Interval between readings of the wall clock, which convert the kernel's stamps.
const REFRESH_NS: u64 = 1_000_000_000;
const SIDES: [Side; 2] = [Side::Buy, Side::Sell];
/// A tick whose release is so near is not delayed by a poll of the stream.
const RELEASE_NEAR_NS: u64 = 20_000;
/// Why a run with a silent feed fails.
const SILENT: &str = "no datagram of the feed came for 2 s, and heartbeats come ten times a second: is \
     the way of UDP from the exchange still open?";

pub(crate) struct TickLoop<M: TradingLogic, L: OrderSession> {
    pub(crate) stages: Stages<M, L>,
    /// Keeps the path warm; `None`: nothing does.
    rehearsal: Option<Rehearsal<M, L>>,
    pub(crate) parts: LoopParts,
    pub(crate) datagram: Box<[u8]>,
    /// Datagrams since the last poll of the stream.
    datagrams: u32,
    /// Empty polls of the feed.
    looks: u32,
    pub(crate) course: Course,
    /// Ticks that were intended from then on are measured, on the exchange's clock. `None` until
    /// the first tick shows where that clock is.
    intended_from_ns: Option<u64>,
    /// The thread's resource usage when measuring began.
    pub(crate) usage: Usage,
    next_refresh_ns: u64,
    wanted_at_ns: u64,
    /// Why the run can't continue.
    pub(crate) failure: Option<String>,
}

impl<M: TradingLogic, L: OrderSession> TickLoop<M, L> {
    /// Allocates all memory.
    pub(crate) fn new(
        stages: Stages<M, L>,
        rehearsal: Option<Rehearsal<M, L>>,
        parts: LoopParts,
    ) -> TickLoop<M, L> {
        let course = Course::new(M::HAS_STAGES, parts.followed.clone());
        TickLoop {
            stages,
            rehearsal,
            parts,
            datagram: vec![1; DATAGRAM_BYTES_MAX].into_boxed_slice(),
            datagrams: 0,
            looks: 0,
            course,
            intended_from_ns: Some(0),
            usage: Usage::default(),
            next_refresh_ns: 0,
            wanted_at_ns: 0,
            failure: None,
        }
    }

    /// One turn: the next datagram through the stages or, without one, everything else.
    #[inline]
    pub(crate) fn turn(&mut self) {
        if let Some(held) = self.parts.releases.as_ref().and_then(Releases::held) {
            return self.release(held);
        }
        match self.parts.receiver.receive(&mut self.datagram) {
            Datagram::Bytes { n, read_ns } => {
                if self.parts.releases.is_none() || !self.hold(n) {
                    self.hand_on(n, read_ns);
                }
            }
            Datagram::Empty => {
                self.looks = self.looks.wrapping_add(1);
                self.rehearse();
                let owed = self.stages.orders.unanswered() > 0 || self.course.awaits;
                if owed || !self.parts.spins || self.looks.is_multiple_of(LOOKS_WITHOUT_DEBT) {
                    self.listen(true);
                }
            }
            Datagram::Failed(error) => self.fail(format!("receiving the feed failed: {error}")),
        }
    }

    #[inline]
    fn hand_on(&mut self, n: usize, read_ns: u64) {
        self.tick(n, read_ns);
        self.datagrams += 1;
        if self.datagrams >= DATAGRAMS_BETWEEN_LOOKS {
            self.listen(false);
        }
    }

    /// With a hold: whether the datagram has ticks, which then wait for their release.
    fn hold(&mut self, n: usize) -> bool {
        let published = self.stages.logic.publication(&self.datagram[..n]);
        let Some(published) = published else { return false };
        let is_measured = self.is_measured(published.intended_ns);
        let LoopParts { releases, receiver, .. } = &mut self.parts;
        if let Some(releases) = releases {
            releases.hold(n, published, receiver.kernel_ns(), is_measured);
        }
        true
    }

    /// Hands on the tick that waits, if it is due; if not, looks for replies.
    fn release(&mut self, held: HeldTick) {
        let now_ns = self.parts.clock.now_ns();
        if now_ns < held.due_ns {
            self.looks = self.looks.wrapping_add(1);
            let owed = self.stages.orders.unanswered() > 0 || self.course.awaits;
            let has_turn = owed || self.looks.is_multiple_of(LOOKS_WITHOUT_DEBT);
            if has_turn && held.due_ns - now_ns > RELEASE_NEAR_NS {
                self.listen(false);
            }
            return;
        }
        if let Some(releases) = &mut self.parts.releases {
            releases.released(now_ns);
        }
        self.hand_on(held.n, now_ns);
    }

    /// Stages 2 to 5 of a datagram. Everything that can wait follows the write.
    #[inline]
    fn tick(&mut self, n: usize, read_ns: u64) {
        let Some(passed) = self.stages.pass(&self.datagram[..n], read_ns) else { return };
        let stamped = if passed.encoded > 0 { self.parts.choose_stamped() } else { None };
        let written_ns = if passed.encoded > 0 { self.write() } else { 0 };
        let kernel_ns = self.parts.receiver.kernel_ns();
        if self.intended_from_ns.is_none() && passed.tick.kind == MarketDataKind::Live {
            self.find_exchanges_clock(passed.tick.published_ns, read_ns);
        }
        if passed.encoded > 0 {
            let measured = self.is_measured(passed.tick.intended_ns);
            let samples = measured.then_some(&mut self.parts.samples);
            self.stages.ordered(&passed, [kernel_ns, read_ns], written_ns, samples);
            let is_whole = written_ns > 0 && self.stages.outbox.bytes.is_empty();
            self.parts.expect_stamps(stamped, is_whole);
        }
        self.after(n, &passed, [kernel_ns, read_ns], written_ns);
    }

    /// Without a datagram, keeps what the next tick needs in the caches.
    #[inline]
    fn rehearse(&mut self) {
        if let Some(rehearsal) = &mut self.rehearsal {
            self.stages.logic.keep_near();
            if self.looks.is_multiple_of(LOOKS_A_REHEARSAL) {
                rehearsal.turn();
            }
        }
    }

    /// By the exchange's clock.
    #[inline]
    fn is_measured(&self, intended_ns: u64) -> bool {
        self.intended_from_ns.is_some_and(|from_ns| intended_ns >= from_ns)
    }

    /// Locates the exchange's clock by the first tick, up to that tick's transit time: accurate
    /// enough to end the warm-up.
    #[cold]
    fn find_exchanges_clock(&mut self, published_ns: u64, read_ns: u64) {
        let until_ns = self.course.measured_from_ns.saturating_sub(read_ns);
        self.intended_from_ns = Some(published_ns.saturating_add(until_ns));
    }

    /// Writes the outbox. Returns the stamp taken right before the system call.
    #[inline]
    fn write(&mut self) -> u64 {
        let Stages { outbox, counts, .. } = &mut self.stages;
        let LoopParts { connection, samples, .. } = &mut self.parts;
        match connection.write(outbox, samples, &mut counts.last_sent_ns) {
            Ok(stamp_ns) => stamp_ns,
            Err(why) => {
                self.lose(why);
                0
            }
        }
    }

    /// Off the path: the work after a datagram.
    fn after(&mut self, n: usize, passed: &DecidedTick, came: [u64; 2], written_ns: u64) {
        let tick = &passed.tick;
        self.course.heard_at_ns = came[1];
        if tick.kind == MarketDataKind::Live && self.is_measured(tick.intended_ns) {
            let counts = &mut self.stages.counts;
            counts.datagrams += 1;
            counts.messages += u64::from(tick.messages);
            counts.datagram_bytes += tick.bytes as u64;
        }
        if tick.kind == MarketDataKind::Live
            && let Some(addresses) = &mut self.parts.addresses
        {
            addresses.ticked(came[1]);
        }
        let Stages { logic, orders, .. } = &mut self.stages;
        let [_, read_ns] = came;
        logic.after(&self.datagram[..n], tick, orders, read_ns);
        if let Some(trail) = &mut self.parts.trail {
            let Stages { decisions, orders, outbox, .. } = &self.stages;
            trail.tick(passed, came, written_ns, decisions, orders, outbox.messages.len());
        }
        self.stages.decisions.clear();
        if !self.stages.logic.is_in_sync() {
            self.recover(read_ns);
        }
    }

    /// Requests missing messages of the feed.
    #[cold]
    fn recover(&mut self, now_ns: u64) {
        if let Some(why) = self.stages.logic.failure() {
            let why = format!("the market data can't be followed: {why}");
            return self.fail(why);
        }
        if let Some(want) = self.stages.logic.wants() {
            self.wanted_at_ns = now_ns;
            self.ask(Request::Feed(want));
        }
    }

    /// Sends a request off the hot path.
    fn ask(&mut self, ask: Request) {
        let Stages { session, outbox, .. } = &mut self.stages;
        session.encode_request(ask, &mut outbox.bytes);
        outbox.end_message();
        self.write();
    }

    /// Starts the flow: see [`Course::start`].
    pub(crate) fn start(&mut self, warm_up_ns: u64, flow_ns: u64) {
        self.course.start(self.parts.clock.now_ns(), warm_up_ns, flow_ns);
        let measured_from_ns = self.course.measured_from_ns;
        self.intended_from_ns = self.parts.is_shared.then_some(measured_from_ns);
        if let Some(addresses) = &mut self.parts.addresses {
            addresses.ticked(self.parts.clock.now_ns());
        }
        if let Some(shown) = &mut self.parts.shown {
            shown.start(measured_from_ns);
        }
        self.ask(Request::StartFlow);
    }

    /// Ends the run now, with what was measured so far.
    pub(crate) fn break_off(&mut self) {
        let step = self.course.break_off(self.parts.clock.now_ns());
        self.follow(step);
    }

    /// Polls for replies, then does everything else.
    fn listen(&mut self, may_sleep: bool) {
        self.datagrams = 0;
        let now_ns = self.parts.clock.now_ns();
        match self.parts.connection.wait(if may_sleep { now_ns + SLEEP_NS_MAX } else { 0 }) {
            Ok((is_readable, is_writable)) => {
                if is_readable {
                    self.read();
                }
                if is_writable {
                    self.write();
                }
                self.look_after(now_ns);
            }
            Err(why) => self.lose(why),
        }
    }

    /// Reads the stream once.
    fn read(&mut self) {
        let session = &mut self.stages.session;
        let read_bytes = match self.parts.connection.read(session.space()) {
            Ok(Some((n, stamp_ns))) => {
                session.filled(n, stamp_ns);
                n
            }
            Ok(None) => return,
            Err(why) => return self.lose(why),
        };
        let unsent_bytes = self.stages.outbox.bytes.len();
        let (mut decoded_bytes, mut ended_read) = (0, false);
        loop {
            let Stages { session, outbox, .. } = &mut self.stages;
            match session.next(&mut outbox.bytes) {
                Ok(Some(reply)) => {
                    decoded_bytes += reply.bytes;
                    let was_answered = self.parts.stamped_answer().is_some();
                    self.reply(reply);
                    ended_read = self.parts.stamped_answer().is_some() && !was_answered;
                }
                Ok(None) => break,
                Err(why) => return self.lose(why),
            }
        }
        // Send a pong at once.
        if self.stages.outbox.bytes.len() > unsent_bytes {
            self.write();
        }
        if let Some(place) = self.parts.stamped_answer() {
            self.parts.take_stamps(place, ended_read && decoded_bytes == read_bytes);
        }
    }

    fn reply(&mut self, StampedReply { reply, first_byte_ns, bytes }: StampedReply) {
        let course = &mut self.course;
        match reply {
            Reply::Execution(report) => {
                let trail = self.parts.trail.as_mut();
                let answered = self.stages.apply(&report, first_byte_ns, bytes, trail);
                if let Some(place) = answered.and_then(|order| order.sample) {
                    self.parts.replied(place, report.stamps, first_byte_ns);
                }
            }
            Reply::FlowStarted => (course.flow_has_started, course.awaits) = (true, false),
            Reply::FlowEnded(ended) => {
                course.flow_ended = Some(course.followed.last(&ended));
            }
            Reply::FeedRejected => {
                self.stages.logic.feed_rejected();
                self.recover(first_byte_ns);
            }
            Reply::Description(description) => {
                (course.description, course.awaits) = (Some(description), false);
            }
            Reply::Aside => {}
            Reply::Unexpected => {
                self.stages.counts.unexpected += 1;
                if !course.flow_has_started {
                    let complaint =
                        self.stages.session.first_complaint().unwrap_or("it says something else");
                    let why = format!("the exchange does not begin its flow: {complaint}");
                    self.fail(why);
                }
            }
        }
    }

    /// Housekeeping between datagrams.
    fn look_after(&mut self, now_ns: u64) {
        if !self.stages.logic.is_in_sync() {
            if now_ns > self.wanted_at_ns + AGAIN_NS {
                self.stages.logic.again();
                self.wanted_at_ns = now_ns;
            }
            self.recover(now_ns);
        }
        if let Some(shown) = &mut self.parts.shown {
            shown.roll(now_ns);
        }
        if self.course.is_silent(now_ns) && M::HAS_HEARTBEATS {
            self.lose(SILENT.to_owned());
        }
        self.start_again(now_ns);
        // This takes some microseconds: not while a reply is due.
        if now_ns >= self.next_refresh_ns && self.stages.orders.unanswered() == 0 {
            self.next_refresh_ns = now_ns + REFRESH_NS;
            self.parts.receiver.look_after();
        }
        let Stages { logic, orders, .. } = &self.stages;
        let view = View {
            sequence: logic.sequence(),
            is_in_sync: logic.is_in_sync(),
            unanswered: orders.unanswered(),
            has_quotes: SIDES.iter().any(|side| idle_quote(orders, *side).is_some()),
        };
        let step = self.course.advance(now_ns, view);
        self.follow(step);
    }

    /// Does what the phase asks for.
    fn follow(&mut self, step: Step) {
        match step {
            Step::Nothing => {}
            Step::Measure => {
                self.usage = host::thread::usage();
                self.parts.processor.start();
            }
            Step::StopTrading => self.stages.trades = false,
            Step::CancelQuotes => SIDES.into_iter().for_each(|side| self.cancel_quote(side)),
            Step::Describe => self.ask(Request::Describe),
            Step::Fail(why) => self.fail(why.to_owned()),
        }
    }

    /// Cancels the quote of a side, outside of any tick.
    fn cancel_quote(&mut self, side: Side) {
        let Stages { session, outbox, orders, .. } = &mut self.stages;
        let Some(number) = idle_quote(orders, side) else { return };
        if orders.ask(number, PendingRequest::Cancel).is_none() {
            return;
        }
        session.encode(&OrderIntent::Cancel { number }, number, &mut outbox.bytes);
        outbox.end_message();
        let written_ns = self.write();
        let has_left = self.stages.outbox.messages.is_empty();
        if let Some(trail) = &mut self.parts.trail {
            trail.cancel(self.stages.orders.at(number), if has_left { written_ns } else { 0 });
        }
    }

    /// Another exchange was found then; `knows_clock`: its stamps can be compared with ours.
    pub(crate) fn follow_anew(&mut self, now_ns: u64, knows_clock: bool) {
        if !knows_clock {
            self.intended_from_ns = None;
        }
        self.stages.logic.change_exchange();
        self.stages.trades = true;
        self.course.lose(now_ns);
        self.wanted_at_ns = 0;
    }

    /// Starts the flow of another exchange once the book is there, so that no tick is missed.
    fn start_again(&mut self, now_ns: u64) {
        if !self.stages.logic.is_in_sync() {
            return;
        }
        let addresses = self.parts.addresses.as_mut();
        if let Some(since_ns) = addresses.and_then(|addresses| addresses.start_flow()) {
            self.course.resume(now_ns, since_ns);
            self.ask(Request::StartFlow);
        }
    }

    /// The connection is of no use any more. That ends the run, unless it can go on elsewhere.
    #[cold]
    fn lose(&mut self, why: String) {
        let addresses = self.parts.addresses.as_mut();
        if let Some(addresses) = addresses.filter(|_| self.failure.is_none()) {
            addresses.lose(self.course.is_flowing());
            return self.fail(why);
        }
        // An exchange that ends says so to clients of FIX, and closes other connections at once.
        match self.parts.feeds_end(&mut self.datagram) {
            Some(feeds) => self.fail(format!("{why}; {feeds}")),
            None => self.fail(why),
        }
    }

    #[cold]
    pub(crate) fn fail(&mut self, why: String) {
        self.failure.get_or_insert(why);
    }
}

/// The number of a side's quote without a pending request.
fn idle_quote(orders: &OwnOrders, side: Side) -> Option<u64> {
    orders.quote(side).filter(|quote| quote.pending.is_none()).map(|quote| quote.number)
}

#[cfg(test)]
#[path = "event_loop_tests.rs"]
mod tests;

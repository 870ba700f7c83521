//! The loop that joins the stages: one thread, each datagram to completion.
//!
//! ```text
//!   ① ingest      DatagramReceiver::receive    one system call a datagram
//!   ② normalise   Mind::normalise
//!   ③ signal      Mind::decide
//!   ④ risk        Mind::check
//!   ⑤ order       Line::say, Streams::write    one system call a tick that becomes an order
//! ```
//!
//! The feed comes first: replies are looked for when no datagram is there, and after every [`DATAGRAMS_BETWEEN_LOOKS`] of them. A look at a socket
//! that has nothing costs a system call, and a tick that comes meanwhile waits for it: while nothing is owed the stream is only looked at every
//! [`LOOKS_WITHOUT_DEBT`] empty looks at the feed.

use crate::line::{Ask, Line};
use crate::mind::{Kind, Mind};
use crate::rehearsal::Rehearsal;
use crate::samples::Samples;
use crate::signal::Wish;
use crate::stages::{Outbox, Passed, Stages};
use audit::Auditor;
use host::thread::Usage;
use measure::clock::Clock;
use measure::recorder::Recorder;
use measure::tick::{POINTS, Point, Sample};
use transport::datagrams::{DATAGRAM_BYTES_MAX, Datagram, DatagramReceiver};
use transport::{Ready, StreamId, Streams, Write};
use wire::administration::Description;

/// Datagrams in a row after which replies are looked for.
const DATAGRAMS_BETWEEN_LOOKS: u32 = 32;
/// Empty looks at the feed for one at a stream that owes nothing.
const LOOKS_WITHOUT_DEBT: u32 = 64;
/// Empty looks at the feed for one rehearsal.
const LOOKS_A_REHEARSAL: u32 = 16;
/// A backend that sleeps wakes at least this often.
const SLEEP_NS_MAX: u64 = 20_000_000;

/// Where a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Ticks come.
    Flowing,
    /// The flow is over; its last ticks and replies are awaited until then.
    Draining { until_ns: u64 },
    /// The trader's own orders are ended.
    Closing { until_ns: u64 },
    /// The exchange was asked for its book's hash.
    Comparing { until_ns: u64, times: u32 },
    /// All is said.
    Over,
}

/// What the loop is made of.
pub(crate) struct Parts {
    pub(crate) clock: Clock,
    /// The exchange stamps by it, too.
    pub(crate) is_shared: bool,
    pub(crate) receiver: DatagramReceiver,
    pub(crate) streams: Box<dyn Streams>,
    pub(crate) stream: StreamId,
    /// Whether its thread keeps its core busy.
    pub(crate) spins: bool,
    pub(crate) samples: Samples,
    pub(crate) instrument: u16,
    pub(crate) audit: Option<Auditor>,
    /// For who looks on: the way from the intended event to the gateway.
    pub(crate) shown: Option<Recorder>,
}

pub(crate) struct TickLoop<M: Mind, L: Line> {
    pub(crate) stages: Stages<M, L>,
    /// What idle turns are for; `None`: nothing.
    rehearsal: Option<Rehearsal<M, L>>,
    pub(crate) parts: Parts,
    datagram: Box<[u8]>,
    watched: bool,
    ready: Vec<Ready>,
    /// Datagrams since replies were looked for, and empty looks at the feed.
    datagrams: u32,
    looks: u32,
    pub(crate) phase: Phase,
    /// Something was asked that is not about an order, and not yet answered.
    pub(crate) awaits: bool,
    /// When measuring begins, on our clock,
    pub(crate) measured_from_ns: u64,
    /// and on the exchange's: ticks that were intended from then on are measured. `None` until its first tick tells where its clock is.
    pub(crate) intended_from_ns: Option<u64>,
    pub(crate) started_ns: u64,
    pub(crate) deadline_ns: u64,
    pub(crate) is_measuring: bool,
    /// What the thread had used when measuring began.
    pub(crate) usage: Usage,
    pub(crate) flow_has_started: bool,
    /// The number of the flow's last message, once it is over.
    pub(crate) flow_ended: Option<u64>,
    pub(crate) description: Option<Box<Description>>,
    pub(crate) next_refresh_ns: u64,
    /// When the feed was last read, and when that was last looked at.
    pub(crate) heard_at_ns: u64,
    pub(crate) looked_at_ns: u64,
    pub(crate) wanted_at_ns: u64,
    /// Why the run can't go on.
    pub(crate) failure: Option<String>,
}

impl<M: Mind, L: Line> TickLoop<M, L> {
    /// All memory is made here.
    pub(crate) fn new(
        stages: Stages<M, L>,
        rehearsal: Option<Rehearsal<M, L>>,
        parts: Parts,
    ) -> TickLoop<M, L> {
        TickLoop {
            stages,
            rehearsal,
            parts,
            datagram: vec![1; DATAGRAM_BYTES_MAX].into_boxed_slice(),
            watched: false,
            ready: Vec::with_capacity(8),
            datagrams: 0,
            looks: 0,
            phase: Phase::Flowing,
            awaits: false,
            measured_from_ns: 0,
            intended_from_ns: Some(0),
            started_ns: 0,
            deadline_ns: u64::MAX,
            is_measuring: false,
            usage: Usage::default(),
            flow_has_started: false,
            flow_ended: None,
            description: None,
            next_refresh_ns: 0,
            heard_at_ns: 0,
            looked_at_ns: 0,
            wanted_at_ns: 0,
            failure: None,
        }
    }

    /// One turn: the next datagram through the stages, or whatever else there is to do.
    #[inline]
    pub(crate) fn turn(&mut self) {
        match self.parts.receiver.receive(&mut self.datagram) {
            Datagram::Bytes { n, read_ns } => {
                self.tick(n, read_ns);
                self.datagrams += 1;
                if self.datagrams >= DATAGRAMS_BETWEEN_LOOKS {
                    self.listen(false);
                }
            }
            Datagram::Empty => {
                self.looks = self.looks.wrapping_add(1);
                self.rehearse();
                let owed = self.stages.orders.unanswered() > 0 || self.awaits;
                if owed || !self.parts.spins || self.looks.is_multiple_of(LOOKS_WITHOUT_DEBT) {
                    self.listen(true);
                }
            }
            Datagram::Failed(error) => self.fail(format!("receiving the feed failed: {error}")),
        }
    }

    /// Stages 2 to 5 of a datagram. All that can wait comes after the write.
    #[inline]
    fn tick(&mut self, n: usize, read_ns: u64) {
        let Some(passed) = self.stages.pass(&self.datagram[..n], read_ns) else { return };
        let written_ns = if passed.said > 0 { self.write() } else { 0 };
        let kernel_ns = self.parts.receiver.kernel_ns();
        if self.intended_from_ns.is_none() && passed.tick.kind == Kind::Live {
            self.find_exchanges_clock(passed.tick.published_ns, read_ns);
        }
        if passed.said > 0 {
            self.ordered(&passed, [kernel_ns, read_ns], written_ns);
        }
        self.after(n, &passed, [kernel_ns, read_ns], written_ns);
    }

    /// Nothing came: what the next tick will need is kept near.
    #[inline]
    fn rehearse(&mut self) {
        if let Some(rehearsal) = &mut self.rehearsal {
            self.stages.mind.keep_near();
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

    /// Where the exchange's clock is as the first tick comes, give or take that tick's way: well enough to end the warm-up.
    #[cold]
    fn find_exchanges_clock(&mut self, published_ns: u64, read_ns: u64) {
        let until_ns = self.measured_from_ns.saturating_sub(read_ns);
        self.intended_from_ns = Some(published_ns.saturating_add(until_ns));
    }

    /// A tick has led to orders, of which the first carries its sample.
    fn ordered(&mut self, passed: &Passed, came: [u64; 2], written_ns: u64) {
        let unsent = self.stages.outbox.messages.len();
        // What the kernel has not taken leaves, and is stamped, later.
        let first_unsent = unsent.checked_sub(passed.said);
        let sent_ns = if first_unsent.is_none() { written_ns } else { 0 };
        let Passed { tick, normalised_ns, decided_ns, checked_ns, .. } = *passed;
        let [kernel_ns, read_ns] = came;
        let mut stamps = [0; POINTS];
        for (point, ns) in [
            (Point::Intended, tick.intended_ns),
            (Point::Acknowledged, tick.acknowledged_ns),
            (Point::Published, tick.published_ns),
            (Point::KernelReceived, kernel_ns),
            (Point::Read, read_ns),
            (Point::Normalised, normalised_ns),
            (Point::Decided, decided_ns),
            (Point::Checked, checked_ns),
            (Point::Sent, sent_ns),
        ] {
            stamps[point as usize] = ns;
        }
        let measured = self.is_measured(tick.intended_ns);
        let sample = Sample { number: tick.number, stamps };
        let place = if measured { self.parts.samples.begin(&sample) } else { None };
        match first_unsent {
            Some(first) => self.stages.outbox.messages[first].sample = place,
            None => self.stages.counts.last_sent_ns = sent_ns,
        }
        self.sent(measured, place);
    }

    /// The orders of this tick know whose they are.
    fn sent(&mut self, measured: bool, mut place: Option<u32>) {
        let Stages { verdicts, orders, counts, .. } = &mut self.stages;
        for verdict in verdicts.iter().filter(|verdict| verdict.refused.is_none()) {
            *if measured { &mut counts.sent } else { &mut counts.warm_up_sent } += 1;
            if let Some(order) = orders.living(verdict.number) {
                (order.measured, order.sample) = (measured, place.take());
            }
        }
    }

    /// Writes what waits. Gives the stamp that was taken last thing before the system call.
    #[inline]
    pub(crate) fn write(&mut self) -> u64 {
        let (parts, outbox) = (&mut self.parts, &mut self.stages.outbox);
        if self.watched || outbox.bytes.is_empty() {
            return 0;
        }
        let (n, stamp_ns) = match parts.streams.write(parts.stream, &outbox.bytes) {
            Write::Bytes { n, stamp_ns } => (n, stamp_ns),
            Write::Failed(error) => {
                self.fail(format!("the exchange's connection ended in mid-run: {error}"));
                return 0;
            }
        };
        let is_whole = n == outbox.bytes.len();
        if is_whole && outbox.messages.iter().all(|unsent| unsent.sample.is_none()) {
            outbox.clear();
        } else {
            self.written_in_part(n, stamp_ns);
        }
        stamp_ns
    }

    /// A message leaves with the write that takes its last byte.
    #[cold]
    fn written_in_part(&mut self, n: usize, stamp_ns: u64) {
        let Outbox { bytes, messages } = &mut self.stages.outbox;
        let whole = messages.iter().take_while(|unsent| unsent.end <= n).count();
        for place in messages.drain(..whole).filter_map(|unsent| unsent.sample) {
            self.parts.samples.sent(place, stamp_ns);
            self.stages.counts.last_sent_ns = stamp_ns;
        }
        messages.iter_mut().for_each(|unsent| unsent.end -= n);
        bytes.drain(..n);
        let waits = !bytes.is_empty();
        self.watch(waits);
    }

    fn watch(&mut self, watch: bool) {
        if watch != self.watched {
            self.watched = watch;
            let watched = self.parts.streams.watch_writable(self.parts.stream, watch);
            if let Err(error) = watched {
                self.fail(format!("waiting for the exchange's socket failed: {error}"));
            }
        }
    }

    /// Off the path: the datagram is done with.
    fn after(&mut self, n: usize, passed: &Passed, came: [u64; 2], written_ns: u64) {
        let tick = &passed.tick;
        self.heard_at_ns = came[1];
        if tick.kind == Kind::Live && self.is_measured(tick.intended_ns) {
            let counts = &mut self.stages.counts;
            counts.datagrams += 1;
            counts.messages += u64::from(tick.messages);
            counts.datagram_bytes += n as u64;
        }
        let Stages { mind, orders, .. } = &mut self.stages;
        let [_, read_ns] = came;
        mind.after(&self.datagram[..n], tick, orders, read_ns);
        if self.parts.audit.is_some() {
            self.tell(passed, came, written_ns);
        }
        self.stages.verdicts.clear();
        if !self.stages.mind.is_in_sync() {
            self.recover(read_ns);
        }
    }

    /// Asks for what is missing of the feed.
    #[cold]
    pub(crate) fn recover(&mut self, now_ns: u64) {
        if let Some(want) = self.stages.mind.wants() {
            self.wanted_at_ns = now_ns;
            self.ask(Ask::Feed(want));
        }
    }

    /// Says what is rarely said.
    pub(crate) fn ask(&mut self, ask: Ask) {
        let Stages { line, outbox, .. } = &mut self.stages;
        line.ask(ask, &mut outbox.bytes);
        outbox.end_message();
        self.write();
    }

    /// Ends an order, outside any tick.
    pub(crate) fn end(&mut self, number: u64) {
        let Stages { line, outbox, .. } = &mut self.stages;
        line.say(&Wish::End { number }, number, &mut outbox.bytes);
        outbox.end_message();
        let written_ns = self.write();
        let has_left = self.stages.outbox.messages.is_empty();
        self.tell_end(number, if has_left { written_ns } else { 0 });
    }

    /// Looks for replies, and after everything else.
    fn listen(&mut self, may_sleep: bool) {
        self.datagrams = 0;
        let now_ns = self.parts.clock.now_ns();
        let until_ns = if may_sleep { now_ns + SLEEP_NS_MAX } else { 0 };
        self.ready.clear();
        if let Err(error) = self.parts.streams.wait(until_ns, &mut self.ready) {
            return self.fail(format!("waiting for replies failed: {error}"));
        }
        for index in 0..self.ready.len() {
            match self.ready[index] {
                Ready::Readable(id) if id == self.parts.stream => self.read(),
                Ready::Writable(id) if id == self.parts.stream => {
                    self.watch(false);
                    self.write();
                }
                // The feed has something: that is looked at next.
                _ => {}
            }
        }
        self.look_after(now_ns);
    }

    #[cold]
    pub(crate) fn fail(&mut self, why: String) {
        self.failure.get_or_insert(why);
    }
}

#[cfg(test)]
#[path = "tick_loop_tests.rs"]
mod tests;

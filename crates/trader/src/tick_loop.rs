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
use crate::mind::{Kind, Mind, Tick};
use crate::own_orders::{Asked, OwnOrders};
use crate::risk::Refusal;
use crate::samples::Samples;
use crate::signal::{WISHES_MAX, Wish};
use crate::tick_counts::TickCounts;
use crate::tick_phase::Phase;
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
/// Bytes that wait when the socket takes no more; past that an order is refused.
const OUT_BYTES_MAX: usize = 64 * 1024;
/// A backend that sleeps wakes at least this often.
const SLEEP_NS_MAX: u64 = 20_000_000;

/// A message in `out`.
#[derive(Clone, Copy)]
struct Unsent {
    /// Where it ends.
    end: usize,
    sample: Option<u32>,
}

/// What was wished, and what risk said.
#[derive(Clone, Copy)]
pub(crate) struct Verdict {
    pub(crate) wish: Wish,
    /// The order's number; of a refused new one no order's.
    pub(crate) number: u64,
    pub(crate) refused: Option<Refusal>,
}

/// What the loop is made of.
pub(crate) struct Parts<M, L> {
    pub(crate) clock: Clock,
    /// The exchange stamps by it, too.
    pub(crate) is_shared: bool,
    pub(crate) receiver: DatagramReceiver,
    pub(crate) streams: Box<dyn Streams>,
    pub(crate) stream: StreamId,
    /// Whether its thread keeps its core busy.
    pub(crate) spins: bool,
    pub(crate) mind: M,
    pub(crate) line: L,
    pub(crate) samples: Samples,
    pub(crate) instrument: u16,
    pub(crate) audit: Option<Auditor>,
    /// For who looks on: the way from the intended event to the gateway.
    pub(crate) shown: Option<Recorder>,
}

pub(crate) struct TickLoop<M: Mind, L: Line> {
    pub(crate) parts: Parts<M, L>,
    datagram: Box<[u8]>,
    pub(crate) orders: OwnOrders,
    wishes: Vec<Wish>,
    verdicts: Vec<Verdict>,
    /// Encoded, and not yet taken by the kernel.
    pub(crate) out: Vec<u8>,
    unsent: Vec<Unsent>,
    watched: bool,
    ready: Vec<Ready>,
    /// Datagrams since replies were looked for, and empty looks at the feed.
    datagrams: u32,
    looks: u32,
    pub(crate) counts: TickCounts,
    pub(crate) phase: Phase,
    /// Ticks become orders.
    pub(crate) trades: bool,
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
    pub(crate) wanted_at_ns: u64,
    /// Why the run can't go on.
    pub(crate) failure: Option<String>,
}

impl<M: Mind, L: Line> TickLoop<M, L> {
    /// All memory is made here.
    pub(crate) fn new(parts: Parts<M, L>) -> TickLoop<M, L> {
        TickLoop {
            parts,
            datagram: vec![1; DATAGRAM_BYTES_MAX].into_boxed_slice(),
            orders: OwnOrders::default(),
            wishes: Vec::with_capacity(WISHES_MAX),
            verdicts: Vec::with_capacity(WISHES_MAX),
            out: Vec::with_capacity(2 * OUT_BYTES_MAX),
            unsent: Vec::with_capacity(OUT_BYTES_MAX / 64),
            watched: false,
            ready: Vec::with_capacity(8),
            datagrams: 0,
            looks: 0,
            counts: TickCounts::default(),
            phase: Phase::Flowing,
            trades: true,
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
            wanted_at_ns: 0,
            failure: None,
        }
    }

    /// One turn: the next datagram through the stages, or whatever else there is to do.
    #[inline]
    pub(crate) fn turn(&mut self) {
        match self.parts.receiver.receive(&mut self.datagram) {
            Datagram::Bytes { n, kernel_ns, read_ns } => {
                self.stages(n, kernel_ns, read_ns);
                self.datagrams += 1;
                if self.datagrams >= DATAGRAMS_BETWEEN_LOOKS {
                    self.listen(false);
                }
            }
            Datagram::Empty => {
                self.looks = self.looks.wrapping_add(1);
                let owed = self.orders.unanswered() > 0 || self.awaits;
                if owed || !self.parts.spins || self.looks.is_multiple_of(LOOKS_WITHOUT_DEBT) {
                    self.listen(true);
                }
            }
            Datagram::Failed(error) => self.fail(format!("receiving the feed failed: {error}")),
        }
    }

    /// Stages 2 to 5 of a datagram. What follows the write is off the path.
    #[inline]
    fn stages(&mut self, n: usize, kernel_ns: u64, read_ns: u64) {
        let Some(tick) = self.parts.mind.normalise(&self.datagram[..n]) else { return };
        let normalised_ns = self.stamp(read_ns);
        if self.intended_from_ns.is_none() && tick.kind == Kind::Live {
            self.find_exchanges_clock(tick.published_ns, read_ns);
        }
        if tick.kind == Kind::Live && self.trades {
            self.parts.mind.decide(&self.orders, &mut self.wishes);
        }
        let (mut decided_ns, mut checked_ns) = (0, 0);
        if !self.wishes.is_empty() {
            decided_ns = self.stamp(read_ns);
            self.check(decided_ns);
            checked_ns = self.stamp(read_ns);
            let Tick { intended_ns, acknowledged_ns, published_ns, .. } = tick;
            let mut stamps = [0; POINTS];
            let way = [intended_ns, acknowledged_ns, published_ns, kernel_ns, read_ns];
            stamps[..way.len()].copy_from_slice(&way);
            let way = [normalised_ns, decided_ns, checked_ns];
            stamps[Point::Normalised as usize..=Point::Checked as usize].copy_from_slice(&way);
            self.order(Sample { number: tick.number, stamps });
        }
        self.after(n, &tick, [kernel_ns, read_ns, normalised_ns], [decided_ns, checked_ns]);
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

    /// Where a stage ends.
    #[inline(always)]
    fn stamp(&self, read_ns: u64) -> u64 {
        if M::THINKS { self.parts.clock.now_ns() } else { read_ns }
    }

    /// Stage 4. What passes counts as sent at once, so that the next wish is held against it.
    #[inline]
    fn check(&mut self, now_ns: u64) {
        for wish in self.wishes.drain(..) {
            let checked = if self.out.len() > OUT_BYTES_MAX {
                Err(Refusal::Backlog)
            } else {
                self.parts.mind.check(&wish, &mut self.orders, now_ns)
            };
            let number = checked.and_then(|()| {
                let entered = match wish {
                    Wish::Enter { side, price_ticks, quantity_lots, to_rest } => {
                        self.orders.enter(side, price_ticks, quantity_lots, to_rest)
                    }
                    Wish::Move { number, price_ticks, quantity_lots } => {
                        let asked = Asked::Move { price_ticks, quantity_lots };
                        self.orders.ask(number, asked).map(|()| number)
                    }
                    Wish::End { number } => self.orders.ask(number, Asked::End).map(|()| number),
                };
                entered.ok_or(Refusal::OpenOrders)
            });
            let (number, refused) = (number.unwrap_or(0), number.err());
            if let Some(refusal) = refused {
                self.counts.refused[refusal as usize] += 1;
            }
            self.verdicts.push(Verdict { wish, number, refused });
        }
    }

    /// Stage 5. The tick's first order carries its sample.
    #[inline]
    fn order(&mut self, mut sample: Sample) {
        let before = self.unsent.len();
        for Verdict { wish, number, refused } in &self.verdicts {
            if refused.is_none() {
                let start = self.out.len();
                self.parts.line.say(wish, *number, &mut self.out);
                self.unsent.push(Unsent { end: self.out.len(), sample: None });
                self.counts.said_bytes += (self.out.len() - start) as u64;
                self.counts.said += 1;
            }
        }
        if self.unsent.len() == before {
            return;
        }
        let written_ns = self.write();
        // The rest is off the path.
        let measured = self.is_measured(sample.stamps[Point::Intended as usize]);
        let is_whole = self.unsent.is_empty();
        sample.stamps[Point::Sent as usize] = if is_whole { written_ns } else { 0 };
        let place = if measured { self.parts.samples.begin(&sample) } else { None };
        if let Some(unsent) = self.unsent.get_mut(before) {
            unsent.sample = place;
        }
        self.sent(measured, place);
    }

    /// The orders of this tick know whose they are.
    fn sent(&mut self, measured: bool, mut place: Option<u32>) {
        for verdict in self.verdicts.iter().filter(|verdict| verdict.refused.is_none()) {
            let count =
                if measured { &mut self.counts.sent } else { &mut self.counts.warm_up_sent };
            *count += 1;
            if let Some(order) = self.orders.living(verdict.number) {
                (order.measured, order.sample) = (measured, place.take());
            }
        }
    }

    /// Writes what waits. Gives the stamp that was taken last thing before the system call.
    #[inline]
    pub(crate) fn write(&mut self) -> u64 {
        if self.watched || self.out.is_empty() {
            return 0;
        }
        let parts = &mut self.parts;
        let (n, stamp_ns) = match parts.streams.write(parts.stream, &self.out) {
            Write::Bytes { n, stamp_ns } => (n, stamp_ns),
            Write::Failed(error) => {
                self.fail(format!("the exchange's connection ended in mid-run: {error}"));
                return 0;
            }
        };
        self.counts.last_sent_ns = stamp_ns;
        if n == self.out.len() && self.unsent.iter().all(|unsent| unsent.sample.is_none()) {
            self.out.clear();
            self.unsent.clear();
        } else {
            self.written_in_part(n, stamp_ns);
        }
        stamp_ns
    }

    /// A message leaves with the write that takes its last byte.
    #[cold]
    fn written_in_part(&mut self, n: usize, stamp_ns: u64) {
        let whole = self.unsent.iter().take_while(|unsent| unsent.end <= n).count();
        for place in self.unsent.drain(..whole).filter_map(|unsent| unsent.sample) {
            self.parts.samples.sent(place, stamp_ns);
        }
        self.unsent.iter_mut().for_each(|unsent| unsent.end -= n);
        self.out.drain(..n);
        self.watch(!self.out.is_empty());
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
    fn after(&mut self, n: usize, tick: &Tick, came: [u64; 3], decided: [u64; 2]) {
        if tick.kind == Kind::Live && self.is_measured(tick.intended_ns) {
            self.counts.datagrams += 1;
            self.counts.messages += u64::from(tick.messages);
            self.counts.datagram_bytes += n as u64;
        }
        let [_, read_ns, _] = came;
        self.parts.mind.after(&self.datagram[..n], tick, &self.orders, read_ns);
        if self.parts.audit.is_some() {
            self.tell(tick, came, decided);
        }
        self.verdicts.clear();
        if !self.parts.mind.is_in_sync() {
            self.recover(read_ns);
        }
    }

    pub(crate) fn verdicts(&self) -> &[Verdict] {
        &self.verdicts
    }

    /// Asks for what is missing of the feed.
    #[cold]
    pub(crate) fn recover(&mut self, now_ns: u64) {
        if let Some(want) = self.parts.mind.wants() {
            self.wanted_at_ns = now_ns;
            self.ask(Ask::Feed(want));
        }
    }

    /// Says what is rarely said.
    pub(crate) fn ask(&mut self, ask: Ask) {
        self.parts.line.ask(ask, &mut self.out);
        self.unsent.push(Unsent { end: self.out.len(), sample: None });
        self.write();
    }

    /// Says it of an order, outside any tick.
    pub(crate) fn say(&mut self, wish: &Wish, number: u64) {
        self.parts.line.say(wish, number, &mut self.out);
        self.unsent.push(Unsent { end: self.out.len(), sample: None });
        self.write();
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

//! Stages 2 to 5 without the write: from a datagram to the bytes of an order. No I/O, and no
//! allocation.

use crate::risk::Rejection;
use crate::strategy::own_orders::{OwnOrders, PendingRequest};
use crate::strategy::{INTENTS_MAX, OrderIntent};
use crate::tick::counts::TickCounts;
use crate::tick::followed::{MarketDataKind, Tick};
use crate::tick::logic::TradingLogic;
use crate::tick::samples::Samples;
use crate::tick::session::OrderSession;
use clock::Clock;
use record::tick::{POINTS, Point, Sample};
use wire::request::DeliveryClock;

/// Limit on bytes that wait for a full socket; beyond it, orders are rejected.
pub(crate) const OUT_BYTES_MAX: usize = 64 * 1024;

/// Encoded messages that the kernel has not taken yet.
pub(crate) struct Outbox {
    pub(crate) bytes: Vec<u8>,
    pub(crate) messages: Vec<UnsentMessage>,
}

/// A message in an [`Outbox`].
#[derive(Clone, Copy)]
pub(crate) struct UnsentMessage {
    /// Offset of its end.
    pub(crate) end: usize,
    pub(crate) sample: Option<u32>,
}

/// An order intent and the risk check's answer.
#[derive(Clone, Copy)]
pub(crate) struct Decision {
    pub(crate) intent: OrderIntent,
    /// The order's number; meaningless for a new order that was rejected.
    pub(crate) number: u64,
    pub(crate) rejection: Option<Rejection>,
}

/// A datagram that went through the stages.
pub(crate) struct DecidedTick {
    pub(crate) tick: Tick,
    pub(crate) normalised_ns: u64,
    /// 0 without an order intent.
    pub(crate) decided_ns: u64,
    pub(crate) checked_ns: u64,
    /// Number of messages that it led to: the last ones of the outbox.
    pub(crate) encoded: usize,
}

pub(crate) struct Stages<M, L> {
    clock: Clock,
    pub(crate) logic: M,
    pub(crate) session: L,
    pub(crate) orders: OwnOrders,
    intents: Vec<OrderIntent>,
    /// The decisions of the last datagram.
    pub(crate) decisions: Vec<Decision>,
    pub(crate) outbox: Outbox,
    pub(crate) counts: TickCounts,
    /// Whether ticks may become orders.
    pub(crate) trades: bool,
}

impl<M: TradingLogic, L: OrderSession> Stages<M, L> {
    /// Allocates all memory.
    pub(crate) fn new(clock: Clock, logic: M, session: L) -> Stages<M, L> {
        Stages {
            clock,
            logic,
            session,
            orders: OwnOrders::default(),
            intents: Vec::with_capacity(INTENTS_MAX),
            decisions: Vec::with_capacity(INTENTS_MAX),
            outbox: Outbox {
                bytes: Vec::with_capacity(2 * OUT_BYTES_MAX),
                messages: Vec::with_capacity(OUT_BYTES_MAX / 64),
            },
            counts: TickCounts::default(),
            trades: true,
        }
    }

    /// Runs the stages. `None` if the datagram is not one of the feed's.
    ///
    /// Not inlined, so that a rehearsal runs the same instructions, not a copy of them.
    #[inline(never)]
    pub(crate) fn pass(&mut self, datagram: &[u8], read_ns: u64) -> Option<DecidedTick> {
        let tick = self.logic.normalise(datagram)?;
        let normalised_ns = self.stamp(read_ns);
        if tick.kind == MarketDataKind::Live && self.trades {
            self.logic.decide(&self.orders, &mut self.intents);
        }
        let mut passed =
            DecidedTick { tick, normalised_ns, decided_ns: 0, checked_ns: 0, encoded: 0 };
        if !self.intents.is_empty() {
            passed.decided_ns = self.stamp(read_ns);
            self.check(passed.decided_ns);
            passed.checked_ns = self.stamp(read_ns);
            if self.session.carries_clocks() {
                let response_ns = self.clock.now_ns().saturating_sub(read_ns);
                self.session.answers(Some(DeliveryClock { tick: tick.number, response_ns }));
            }
            passed.encoded = self.encode_all();
        }
        Some(passed)
    }

    /// The stamp at the end of a stage.
    #[inline(always)]
    fn stamp(&self, read_ns: u64) -> u64 {
        if M::HAS_STAGES { self.clock.now_ns() } else { read_ns }
    }

    /// Stage 4. An intent that passes counts as sent at once, so that the next one is checked
    /// against it.
    #[inline]
    fn check(&mut self, now_ns: u64) {
        for intent in self.intents.drain(..) {
            let checked = if self.outbox.bytes.len() > OUT_BYTES_MAX {
                Err(Rejection::Backlog)
            } else {
                self.logic.check(&intent, &mut self.orders, now_ns)
            };
            let number = checked.and_then(|()| {
                let entered = match intent {
                    OrderIntent::New { side, price_ticks, quantity_lots, to_rest } => {
                        self.orders.enter(side, price_ticks, quantity_lots, to_rest)
                    }
                    OrderIntent::Amend { number, price_ticks, quantity_lots } => {
                        let pending = PendingRequest::Amend { price_ticks, quantity_lots };
                        self.orders.ask(number, pending).map(|()| number)
                    }
                    OrderIntent::Cancel { number } => {
                        self.orders.ask(number, PendingRequest::Cancel).map(|()| number)
                    }
                };
                entered.ok_or(Rejection::OpenOrders)
            });
            let (number, rejection) = (number.unwrap_or(0), number.err());
            if let Some(rejection) = rejection {
                self.counts.risk_rejections[rejection as usize] += 1;
            }
            self.decisions.push(Decision { intent, number, rejection });
        }
    }

    /// Stage 5 without the write: encodes what passed. Returns the number of messages.
    #[inline]
    fn encode_all(&mut self) -> usize {
        let (bytes, messages) = (self.outbox.bytes.len(), self.outbox.messages.len());
        for Decision { intent, number, rejection } in &self.decisions {
            if rejection.is_none() {
                self.session.encode(intent, *number, &mut self.outbox.bytes);
                self.outbox.end_message();
            }
        }
        let said = self.outbox.messages.len() - messages;
        self.counts.said += said as u64;
        self.counts.said_bytes += (self.outbox.bytes.len() - bytes) as u64;
        said
    }

    /// Notes the messages of a tick that were written at `written_ns`; the first one carries the
    /// sample, which goes to `samples` if the tick is measured.
    pub(crate) fn ordered(
        &mut self,
        passed: &DecidedTick,
        came: [u64; 2],
        written_ns: u64,
        samples: Option<&mut Samples>,
    ) {
        let unsent = self.outbox.messages.len();
        // Bytes that the kernel has not taken yet are stamped when they leave.
        let first_unsent = unsent.checked_sub(passed.encoded);
        let sent_ns = if first_unsent.is_none() { written_ns } else { 0 };
        let DecidedTick { tick, normalised_ns, decided_ns, checked_ns, .. } = *passed;
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
        let measured = samples.is_some();
        let sample = Sample { number: tick.number, stamps };
        let mut place = samples.and_then(|samples| samples.begin(&sample));
        match first_unsent {
            Some(first) => self.outbox.messages[first].sample = place,
            None => self.counts.last_sent_ns = sent_ns,
        }
        let Stages { decisions, orders, counts, .. } = self;
        for decision in decisions.iter().filter(|decision| decision.rejection.is_none()) {
            *if measured { &mut counts.sent } else { &mut counts.warm_up_sent } += 1;
            if let Some(order) = orders.living(decision.number) {
                (order.measured, order.sample) = (measured, place.take());
            }
        }
    }
}

impl Outbox {
    /// Ends the message that was appended last.
    #[inline]
    pub(crate) fn end_message(&mut self) {
        self.messages.push(UnsentMessage { end: self.bytes.len(), sample: None });
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.messages.clear();
    }
}

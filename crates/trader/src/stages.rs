//! Stages 2 to 5 but for the write: from a datagram to the bytes of an order. No I/O; nothing is allocated.

use crate::line::Line;
use crate::mind::{Kind, Mind, Tick};
use crate::own_orders::{Asked, OwnOrders};
use crate::risk::Refusal;
use crate::signal::{WISHES_MAX, Wish};
use crate::tick_counts::TickCounts;
use measure::clock::Clock;

/// Bytes that wait when the socket takes no more; past that an order is refused.
pub(crate) const OUT_BYTES_MAX: usize = 64 * 1024;

/// What is encoded, and not yet taken by the kernel.
pub(crate) struct Outbox {
    pub(crate) bytes: Vec<u8>,
    pub(crate) messages: Vec<Unsent>,
}

/// A message in an [`Outbox`].
#[derive(Clone, Copy)]
pub(crate) struct Unsent {
    /// Where it ends.
    pub(crate) end: usize,
    pub(crate) sample: Option<u32>,
}

/// What was wished, and what risk said.
#[derive(Clone, Copy)]
pub(crate) struct Verdict {
    pub(crate) wish: Wish,
    /// The order's number; of a refused new one no order's.
    pub(crate) number: u64,
    pub(crate) refused: Option<Refusal>,
}

/// A datagram that went through.
pub(crate) struct Passed {
    pub(crate) tick: Tick,
    pub(crate) normalised_ns: u64,
    /// 0 where nothing was wished.
    pub(crate) decided_ns: u64,
    pub(crate) checked_ns: u64,
    /// Messages that it led to; they are the last of the outbox.
    pub(crate) said: usize,
}

pub(crate) struct Stages<M, L> {
    clock: Clock,
    pub(crate) mind: M,
    pub(crate) line: L,
    pub(crate) orders: OwnOrders,
    wishes: Vec<Wish>,
    /// On what the latest datagram led to.
    pub(crate) verdicts: Vec<Verdict>,
    pub(crate) outbox: Outbox,
    pub(crate) counts: TickCounts,
    /// Ticks become orders.
    pub(crate) trades: bool,
}

impl<M: Mind, L: Line> Stages<M, L> {
    /// All memory is made here.
    pub(crate) fn new(clock: Clock, mind: M, line: L) -> Stages<M, L> {
        Stages {
            clock,
            mind,
            line,
            orders: OwnOrders::default(),
            wishes: Vec::with_capacity(WISHES_MAX),
            verdicts: Vec::with_capacity(WISHES_MAX),
            outbox: Outbox {
                bytes: Vec::with_capacity(2 * OUT_BYTES_MAX),
                messages: Vec::with_capacity(OUT_BYTES_MAX / 64),
            },
            counts: TickCounts::default(),
            trades: true,
        }
    }

    /// The stages, one after the other. `None` for what is no datagram of the feed.
    ///
    /// Not inlined, so that a rehearsal goes through the same instructions, and not through a copy of them.
    #[inline(never)]
    pub(crate) fn pass(&mut self, datagram: &[u8], read_ns: u64) -> Option<Passed> {
        let tick = self.mind.normalise(datagram)?;
        let normalised_ns = self.stamp(read_ns);
        if tick.kind == Kind::Live && self.trades {
            self.mind.decide(&self.orders, &mut self.wishes);
        }
        let mut passed = Passed { tick, normalised_ns, decided_ns: 0, checked_ns: 0, said: 0 };
        if !self.wishes.is_empty() {
            passed.decided_ns = self.stamp(read_ns);
            self.check(passed.decided_ns);
            passed.checked_ns = self.stamp(read_ns);
            passed.said = self.say_all();
        }
        Some(passed)
    }

    /// Where a stage ends.
    #[inline(always)]
    fn stamp(&self, read_ns: u64) -> u64 {
        if M::THINKS { self.clock.now_ns() } else { read_ns }
    }

    /// Stage 4. What passes counts as sent at once, so that the next wish is held against it.
    #[inline]
    fn check(&mut self, now_ns: u64) {
        for wish in self.wishes.drain(..) {
            let checked = if self.outbox.bytes.len() > OUT_BYTES_MAX {
                Err(Refusal::Backlog)
            } else {
                self.mind.check(&wish, &mut self.orders, now_ns)
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

    /// Stage 5 but for the write: what risk has passed. Gives how many messages.
    #[inline]
    fn say_all(&mut self) -> usize {
        let (bytes, messages) = (self.outbox.bytes.len(), self.outbox.messages.len());
        for Verdict { wish, number, refused } in &self.verdicts {
            if refused.is_none() {
                self.line.say(wish, *number, &mut self.outbox.bytes);
                self.outbox.end_message();
            }
        }
        let said = self.outbox.messages.len() - messages;
        self.counts.said += said as u64;
        self.counts.said_bytes += (self.outbox.bytes.len() - bytes) as u64;
        said
    }
}

impl Outbox {
    /// What was appended last is a message.
    #[inline]
    pub(crate) fn end_message(&mut self) {
        self.messages.push(Unsent { end: self.bytes.len(), sample: None });
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.messages.clear();
    }
}

//! Idle turns run the stages with made-up ticks, so that a real tick finds their instructions in
//! the caches and their branches predicted. The loop that waits for a tick otherwise runs only the
//! kernel's receive call, some hundred times per tick, and a path that runs once in 100 us is cold.
//!
//! The stages rehearse on a book, a strategy, a risk check and orders of their own, and nothing of
//! it leaves or counts. [`crate::tick::logic::TradingLogic::keep_near`] keeps the memory of the
//! real book in the caches.

use crate::tick::logic::TradingLogic;
use crate::tick::session::OrderSession;
use crate::tick::stages::Stages;
use engine::Side;
use feed::{Book, Channel, FeedMessage, PacketHeader, PacketKind, encode_packet};

/// A made-up feed, message by message.
pub(crate) trait MadeUpTicks: Send {
    /// The messages of a market with two orders that always rest.
    fn opening(&mut self) -> Vec<Vec<u8>>;

    /// The next tick.
    fn next(&mut self) -> &[u8];
}

/// A second set of stages, and ticks for them.
pub(crate) struct Rehearsal<M, L> {
    stages: Stages<M, L>,
    ticks: Box<dyn MadeUpTicks>,
}

impl<M: TradingLogic, L: OrderSession> Rehearsal<M, L> {
    /// From stages that follow a feed of one instrument, number 0, and have seen nothing yet.
    pub(crate) fn new(
        mut stages: Stages<M, L>,
        mut ticks: Box<dyn MadeUpTicks>,
    ) -> Rehearsal<M, L> {
        for message in ticks.opening() {
            stages.logic.normalise(&message);
        }
        Rehearsal { stages, ticks }
    }

    /// Runs one tick, up to the bytes of the order that it leads to.
    pub(crate) fn turn(&mut self) {
        let Rehearsal { stages, ticks } = self;
        stages.pass(ticks.next(), 0);
        for decision in stages.decisions.drain(..).filter(|decision| decision.rejection.is_none()) {
            stages.orders.answered(decision.number, true);
            stages.orders.end(decision.number);
        }
        stages.outbox.clear();
    }
}

/// Room for one message.
const DATAGRAM_BYTES: usize = 256;
/// Distance between two orders that always rest, so that there is a market; ticks.
pub(crate) const SPREAD_TICKS: i64 = 2;
/// Prices that rehearsals need below and above the market.
const AROUND_TICKS: i64 = 10;
/// Steps of an order's life behind the touch: it arrives, is reduced, trades in part, and is
/// deleted.
const LIFE: u64 = 4;

/// Datagrams of a made-up feed.
pub(crate) struct Ticks {
    datagram: Vec<u8>,
    /// Number of the next message.
    sequence: u64,
    /// Steps so far.
    lives: u64,
    bid_ticks: i64,
}

impl Ticks {
    /// The market is at this price.
    pub(crate) fn new(at_ticks: i64) -> Ticks {
        let bid_ticks = bid_at(at_ticks);
        Ticks { datagram: vec![0; DATAGRAM_BYTES], sequence: 1, lives: 0, bid_ticks }
    }

    /// The snapshot of an empty book.
    fn snapshot(&mut self) -> Vec<u8> {
        let book_hash = Book::new(Channel::Orders, 0, 0).hash();
        let (instrument, code, tick, lot, entries) = (0, [0; 32], (1, 0), (1, 0), 0);
        let definition =
            FeedMessage::Definition { instrument, code, tick, lot, entries, book_hash };
        let header = PacketHeader { count: 1, kind: PacketKind::Snapshot, ..self.header() };
        let n = encode_packet(&mut self.datagram, &header, &[definition]).unwrap_or(0);
        self.datagram[..n].to_vec()
    }

    fn rests(&mut self, side: Side) -> Vec<u8> {
        let price_ticks = self.bid_ticks + if side == Side::Buy { 0 } else { SPREAD_TICKS };
        // A number that no other order has.
        let order_id = u64::MAX / 2 + self.sequence;
        let (instrument, quantity_lots) = (0, 100);
        let message =
            FeedMessage::OrderAdded { instrument, order_id, side, price_ticks, quantity_lots };
        self.live(&message).to_vec()
    }

    fn live(&mut self, message: &FeedMessage) -> &[u8] {
        let header = PacketHeader { count: 1, ..self.header() };
        self.sequence += 1;
        let n = encode_packet(&mut self.datagram, &header, std::slice::from_ref(message));
        &self.datagram[..n.unwrap_or(0)]
    }

    fn header(&self) -> PacketHeader {
        PacketHeader {
            session: 1,
            sequence: self.sequence,
            count: 0,
            part: 0,
            parts: 1,
            channel: Channel::Orders,
            kind: PacketKind::Live,
            intended_ns: 0,
            acknowledged_ns: 0,
            published_ns: 0,
        }
    }
}

impl MadeUpTicks for Ticks {
    fn opening(&mut self) -> Vec<Vec<u8>> {
        vec![self.snapshot(), self.rests(Side::Buy), self.rests(Side::Sell)]
    }

    /// The next step in the life of an order, alternately on both sides.
    fn next(&mut self) -> &[u8] {
        let (order_id, step) = (self.lives / LIFE, self.lives % LIFE);
        self.lives += 1;
        let (side, price_ticks) = match order_id.is_multiple_of(2) {
            true => (Side::Buy, self.bid_ticks - 5),
            false => (Side::Sell, self.bid_ticks + SPREAD_TICKS + 5),
        };
        let instrument = 0;
        let message = match step {
            0 => FeedMessage::OrderAdded {
                instrument,
                order_id,
                side,
                price_ticks,
                quantity_lots: 9,
            },
            1 => FeedMessage::OrderReduced { instrument, order_id, quantity_lots: 6 },
            2 => FeedMessage::Trade {
                instrument,
                trade_id: order_id,
                order_id,
                aggressor_side: side.opposite(),
                price_ticks,
                quantity_lots: 2,
            },
            _ => FeedMessage::OrderDeleted { instrument, order_id },
        };
        self.live(&message)
    }
}

/// The bid of a market around a price, so far from the ends that every rehearsed price exists.
pub(crate) fn bid_at(at_ticks: i64) -> i64 {
    at_ticks.clamp(AROUND_TICKS, engine::PRICE_TICKS_MAX - AROUND_TICKS)
}

#[cfg(test)]
#[path = "rehearsal_tests.rs"]
mod tests;

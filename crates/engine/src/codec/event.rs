//! [`Event`] as a record, for processes in other languages.
//!
//! | bytes | |
//! |---|---|
//! | 0..8 | price; of a stop that waits its stop price |
//! | 8 | kind, below; never 0 |
//! | 9 | side; of a trade the aggressor's |
//! | 10 | reason; of an amendment 1 if the order kept its place |
//! | 14..16 | instrument |
//! | 16..20, 20..24, 24..32, 32..40 | account, tag, order id, remaining quantity: of the order, or the aggressor |
//! | 40..48 | quantity; shown quantity of an order that rests; number of orders of `Applied` |
//! | 48..52, 52..56, 56..64, 64..72 | account, tag, order id, remaining quantity of the resting order |
//!
//! Kinds, from 1: booked, trade, decremented, replenished, amended, waiting, triggered, done,
//! applied, rejected. Unused bytes are 0. Reasons are the numbers of [`crate::DoneReason`] and
//! [`crate::Reject`].

use crate::codec::record::BYTES;
use crate::command::Side;
use crate::event::{Event, Party};

const KIND: usize = 8;
const SIDE: usize = 9;
const REASON: usize = 10;
const INSTRUMENT: usize = 14;
const ORDER: usize = 16;
const QUANTITY: usize = 40;
const RESTING: usize = 48;

impl Event {
    /// Bytes of an event's record.
    pub const BYTES: usize = BYTES;

    /// Its record, by the layout table of `codec::event`.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Event::BYTES] {
        let mut record = Record([0; BYTES]);
        match *self {
            Event::Booked { instrument, order, side, price_ticks, visible_lots } => {
                record.order(1, instrument, &order);
                record.rests(side, price_ticks, visible_lots);
            }
            Event::Trade {
                instrument,
                price_ticks,
                quantity_lots,
                aggressor_side,
                aggressor,
                resting,
            } => {
                record.order(2, instrument, &aggressor);
                record.rests(aggressor_side, price_ticks, quantity_lots);
                record.party(RESTING, &resting);
            }
            Event::Decremented {
                instrument,
                price_ticks,
                quantity_lots,
                aggressor_side,
                aggressor,
                resting,
            } => {
                record.order(3, instrument, &aggressor);
                record.rests(aggressor_side, price_ticks, quantity_lots);
                record.party(RESTING, &resting);
            }
            Event::Replenished { instrument, order, side, price_ticks, visible_lots } => {
                record.order(4, instrument, &order);
                record.rests(side, price_ticks, visible_lots);
            }
            Event::Amended { instrument, order, side, price_ticks, kept_place, visible_lots } => {
                record.order(5, instrument, &order);
                record.rests(side, price_ticks, visible_lots);
                record.0[REASON] = u8::from(kept_place);
            }
            Event::Waiting { instrument, order, side, stop_ticks } => {
                record.order(6, instrument, &order);
                record.rests(side, stop_ticks, 0);
            }
            Event::Triggered { instrument, order } => record.order(7, instrument, &order),
            Event::Done { instrument, order, reason } => {
                record.order(8, instrument, &order);
                record.0[REASON] = reason as u8;
            }
            Event::Applied { tag, orders } => {
                record.order(9, 0, &Party { order_id: 0, account: 0, tag, remaining_lots: 0 });
                record.put(QUANTITY, u64::from(orders));
            }
            Event::Rejected { instrument, order_id, account, tag, reason } => {
                record.order(10, instrument, &Party { order_id, account, tag, remaining_lots: 0 });
                record.0[REASON] = reason as u8;
            }
        }
        record.0
    }
}

struct Record([u8; BYTES]);

impl Record {
    fn put(&mut self, at: usize, value: u64) {
        self.0[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }

    fn party(&mut self, at: usize, party: &Party) {
        self.0[at..at + 4].copy_from_slice(&party.account.to_le_bytes());
        self.0[at + 4..at + 8].copy_from_slice(&party.tag.to_le_bytes());
        self.put(at + 8, party.order_id);
        self.put(at + 16, party.remaining_lots);
    }

    fn order(&mut self, kind: u8, instrument: u16, order: &Party) {
        self.0[KIND] = kind;
        self.0[INSTRUMENT..INSTRUMENT + 2].copy_from_slice(&instrument.to_le_bytes());
        self.party(ORDER, order);
    }

    fn rests(&mut self, side: Side, price_ticks: i64, quantity_lots: u64) {
        self.0[SIDE] = side as u8;
        self.put(0, price_ticks.cast_unsigned());
        self.put(QUANTITY, quantity_lots);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{DoneReason, Reject};

    const ORDER: Party = Party { order_id: 0x11, account: 0x22, tag: 0x33, remaining_lots: 0x44 };
    const OTHER: Party = Party { order_id: 0x55, account: 0x66, tag: 0x77, remaining_lots: 0x88 };

    /// The bytes of a record that are not 0, each with its place.
    fn set(event: Event) -> Vec<(usize, u8)> {
        event.to_bytes().into_iter().enumerate().filter(|(_, byte)| *byte != 0).collect()
    }

    const OF_ORDER: [(usize, u8); 4] = [(16, 0x22), (20, 0x33), (24, 0x11), (32, 0x44)];
    const OF_OTHER: [(usize, u8); 4] = [(48, 0x66), (52, 0x77), (56, 0x55), (64, 0x88)];

    #[test]
    fn an_order_that_rests_has_its_price_and_its_shown_quantity() {
        let (side, price_ticks, visible_lots) = (Side::Sell, 0x99, 0xaa);
        let head = |kind, reason: &[(usize, u8)]| {
            let mut all = vec![(0, 0x99), (8, kind), (9, 1)];
            all.extend_from_slice(reason);
            all.push((14, 3));
            all.extend_from_slice(&OF_ORDER);
            all.push((40, 0xaa));
            all
        };
        let booked = Event::Booked { instrument: 3, order: ORDER, side, price_ticks, visible_lots };
        assert_eq!(set(booked), head(1, &[]));
        let shown =
            Event::Replenished { instrument: 3, order: ORDER, side, price_ticks, visible_lots };
        assert_eq!(set(shown), head(4, &[]));
        let amended = |kept_place| Event::Amended {
            instrument: 3,
            order: ORDER,
            side,
            price_ticks,
            kept_place,
            visible_lots,
        };
        assert_eq!(set(amended(true)), head(5, &[(10, 1)]));
        assert_eq!(set(amended(false)), head(5, &[]));
    }

    #[test]
    fn a_trade_has_both_orders() {
        let expected = |kind| {
            let mut all = vec![(0, 0x99), (8, kind), (9, 1), (14, 3)];
            all.extend_from_slice(&OF_ORDER);
            all.push((40, 0xaa));
            all.extend_from_slice(&OF_OTHER);
            all
        };
        let (instrument, price_ticks, quantity_lots) = (3, 0x99, 0xaa);
        let (aggressor_side, aggressor, resting) = (Side::Sell, ORDER, OTHER);
        let trade = Event::Trade {
            instrument,
            price_ticks,
            quantity_lots,
            aggressor_side,
            aggressor,
            resting,
        };
        assert_eq!(set(trade), expected(2));
        let decremented = Event::Decremented {
            instrument,
            price_ticks,
            quantity_lots,
            aggressor_side,
            aggressor,
            resting,
        };
        assert_eq!(set(decremented), expected(3));
    }

    #[test]
    fn the_others_have_what_they_need() {
        let with = |head: &[(usize, u8)]| [head, &OF_ORDER].concat();
        let waiting =
            Event::Waiting { instrument: 3, order: ORDER, side: Side::Sell, stop_ticks: 0x99 };
        assert_eq!(set(waiting), with(&[(0, 0x99), (8, 6), (9, 1), (14, 3)]));
        let triggered = Event::Triggered { instrument: 3, order: ORDER };
        assert_eq!(set(triggered), with(&[(8, 7), (14, 3)]));
        let done = Event::Done { instrument: 3, order: ORDER, reason: DoneReason::NoRoom };
        assert_eq!(set(done), with(&[(8, 8), (10, 5), (14, 3)]));
        assert_eq!(set(Event::Applied { tag: 0x33, orders: 7 }), [(8, 9), (20, 0x33), (40, 7)]);
        let rejected = Event::Rejected {
            instrument: 3,
            order_id: 0x11,
            account: 0x22,
            tag: 0x33,
            reason: Reject::LimitExpiringOrders,
        };
        let expected = [(8, 10), (10, 24), (14, 3), (16, 0x22), (20, 0x33), (24, 0x11)];
        assert_eq!(set(rejected), expected);
    }

    #[test]
    fn negative_prices_are_in_twos_complement() {
        let waiting =
            Event::Waiting { instrument: 0, order: ORDER, side: Side::Buy, stop_ticks: -2 };
        assert_eq!(waiting.to_bytes()[..8], (-2_i64).to_le_bytes());
    }
}

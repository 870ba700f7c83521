//! The order that a report is about, and the reports about it.

use crate::counts::done_status;
use crate::reply::text::wire_side;
use crate::setup::instruments::Instrument;
use engine::{DoneReason, Side};
use wire::reply::{
    Fill, OrderAmended, OrderBooked, OrderDone, StopTriggered, StopWaiting, TradePrevented,
};
use wire::{ClientId, OrderId};

/// The fields that all reports about an order have.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub client_id: ClientId,
    pub order_id: u64,
    pub instrument: &'a Instrument,
    pub uid: &'a str,
    pub order_book_sequence: i64,
    pub time_ms: i64,
}

impl<'a> Subject<'a> {
    #[inline]
    pub fn booked(&self, side: Side, price_ticks: i64, quantity_lots: u64) -> OrderBooked<'a> {
        OrderBooked {
            client_id: self.client_id,
            instrument_code: self.instrument.code.as_str().into(),
            side: wire_side(side),
            price: self.instrument.price(price_ticks),
            amount: self.instrument.amount(quantity_lots),
            order_id: OrderId::from_u64(self.order_id),
            order_book_sequence: self.order_book_sequence,
            time_ms: self.time_ms,
            uid: self.uid.into(),
        }
    }

    /// Its part in a trade at that price.
    #[inline]
    pub fn fill(&self, side: Side, trade_id: i64, of: MatchedLots) -> Fill<'a> {
        Fill {
            client_id: self.client_id,
            instrument_code: self.instrument.code.as_str().into(),
            side: wire_side(side),
            price: self.instrument.price(of.price_ticks),
            amount: self.instrument.amount(of.quantity_lots),
            remaining: self.instrument.amount(of.remaining_lots),
            order_id: OrderId::from_u64(self.order_id),
            trade_id,
            order_book_sequence: self.order_book_sequence,
            time_ms: self.time_ms,
            uid: self.uid.into(),
        }
    }

    pub fn decremented(&self, side: Side, of: MatchedLots) -> TradePrevented<'a> {
        TradePrevented {
            client_id: self.client_id,
            instrument_code: self.instrument.code.as_str().into(),
            side: wire_side(side),
            price: self.instrument.price(of.price_ticks),
            amount: self.instrument.amount(of.quantity_lots),
            remaining: self.instrument.amount(of.remaining_lots),
            order_id: OrderId::from_u64(self.order_id),
            order_book_sequence: self.order_book_sequence,
            time_ms: self.time_ms,
            uid: self.uid.into(),
        }
    }

    /// An amendment of the order, whose client id is the new one if there is a `replaced` one.
    pub fn amended(
        &self,
        side: Side,
        replaced: Option<ClientId>,
        (price_ticks, remaining_lots, place_kept): (i64, u64, bool),
    ) -> OrderAmended<'a> {
        OrderAmended {
            client_id: self.client_id,
            replaced_client_id: replaced,
            instrument_code: self.instrument.code.as_str().into(),
            side: wire_side(side),
            price: (price_ticks != 0).then(|| self.instrument.price(price_ticks)),
            amount: self.instrument.amount(remaining_lots),
            place_kept,
            order_id: OrderId::from_u64(self.order_id),
            order_book_sequence: self.order_book_sequence,
            time_ms: self.time_ms,
            uid: self.uid.into(),
        }
    }

    pub fn waiting(&self, side: Side, stop_ticks: i64, quantity_lots: u64) -> StopWaiting<'a> {
        StopWaiting {
            client_id: self.client_id,
            instrument_code: self.instrument.code.as_str().into(),
            side: wire_side(side),
            stop_price: self.instrument.price(stop_ticks),
            amount: self.instrument.amount(quantity_lots),
            order_id: OrderId::from_u64(self.order_id),
            order_book_sequence: self.order_book_sequence,
            time_ms: self.time_ms,
            uid: self.uid.into(),
        }
    }

    pub fn triggered(&self) -> StopTriggered<'a> {
        StopTriggered {
            client_id: self.client_id,
            instrument_code: self.instrument.code.as_str().into(),
            order_id: OrderId::from_u64(self.order_id),
            order_book_sequence: self.order_book_sequence,
            time_ms: self.time_ms,
            uid: self.uid.into(),
        }
    }

    #[inline]
    pub fn done(&self, reason: DoneReason) -> OrderDone<'a> {
        OrderDone {
            client_id: self.client_id,
            instrument_code: self.instrument.code.as_str().into(),
            status: done_status(reason),
            order_id: OrderId::from_u64(self.order_id),
            order_book_sequence: self.order_book_sequence,
            time_ms: self.time_ms,
            uid: self.uid.into(),
        }
    }
}

/// A match of two orders, and the rest of one of them.
#[derive(Clone, Copy)]
pub(crate) struct MatchedLots {
    pub price_ticks: i64,
    pub quantity_lots: u64,
    pub remaining_lots: u64,
}

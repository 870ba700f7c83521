//! From what the engine says to messages, and to the connections that are to have them.

use crate::counts::Counts;
use crate::instruments::Instruments;
use crate::orders::{ClientOrder, ClientOrders};
use crate::refusals::{Refusals, by_engine};
use crate::sequencer::Sequenced;
use crate::sessions::Sessions;
use crate::text::send;
use engine::{DoneReason, Event, Party, Reject, Side};
use transport::StreamId;
use transport::serve::Outbound;
use wire::OrderId;
use wire::reply::{self, Booked, Done, DoneStatus, Fill};

/// Writes the reports of one command.
pub(crate) struct Reports<'a> {
    pub instruments: &'a Instruments,
    pub sessions: &'a Sessions,
    pub orders: &'a mut ClientOrders,
    pub counts: &'a mut Counts,
    pub done: &'a mut [u64; 3],
    pub refusals: &'a mut Refusals,
    pub outbound: &'a mut Outbound,
    /// Who sent the command.
    pub requester: StreamId,
    pub time_ms: i64,
}

impl Reports<'_> {
    #[inline]
    pub fn event(&mut self, sequenced: Sequenced) {
        match sequenced.event {
            Event::Booked { instrument, order, side, price_ticks } => {
                self.booked(&sequenced, instrument, order, side, price_ticks);
            }
            Event::Trade { aggressor_side, aggressor, resting, .. } => {
                self.counts.trades += 1;
                self.fill(&sequenced, aggressor, aggressor_side);
                self.fill(&sequenced, resting, aggressor_side.opposite());
            }
            Event::Done { instrument, order, reason } => {
                self.done(&sequenced, instrument, order, reason);
            }
            Event::Rejected { tag, reason, .. } => self.rejected(tag, reason),
        }
    }

    fn booked(
        &mut self,
        sequenced: &Sequenced,
        instrument: u16,
        order: Party,
        side: Side,
        price_ticks: i64,
    ) {
        let Some(client_order) = self.orders.get(order.tag).copied() else { return };
        self.counts.booked += 1;
        let Some(to) = self.route(&client_order) else { return };
        let instrument = self.instruments.get(instrument);
        let booked = Booked {
            client_id: client_order.client_id,
            instrument_code: instrument.code.as_str().into(),
            side: wire_side(side),
            price: instrument.price(price_ticks),
            amount: instrument.amount(client_order.quantity_lots),
            order_id: OrderId::from_u64(order.order_id),
            order_book_sequence: sequenced.order_book_sequence,
            time_ms: self.time_ms,
            uid: self.sessions.account_id(order.account).into(),
        };
        send(self.outbound.to(to), |out| reply::encode_booked(out, &booked));
    }

    fn fill(&mut self, sequenced: &Sequenced, order: Party, side: Side) {
        let Event::Trade { instrument, price_ticks, quantity_lots, .. } = sequenced.event else {
            return;
        };
        let Some(client_order) = self.orders.get(order.tag).copied() else { return };
        let Some(to) = self.route(&client_order) else { return };
        let instrument = self.instruments.get(instrument);
        let fill = Fill {
            client_id: client_order.client_id,
            instrument_code: instrument.code.as_str().into(),
            side: wire_side(side),
            price: instrument.price(price_ticks),
            amount: instrument.amount(quantity_lots),
            remaining: instrument.amount(order.remaining_lots),
            order_id: OrderId::from_u64(order.order_id),
            trade_id: sequenced.trade_id,
            order_book_sequence: sequenced.order_book_sequence,
            time_ms: self.time_ms,
            uid: self.sessions.account_id(order.account).into(),
        };
        send(self.outbound.to(to), |out| reply::encode_fill(out, &fill));
    }

    /// A cancel is acknowledged to whoever asked for it, and to the order's own connection if that is
    /// another.
    fn done(&mut self, sequenced: &Sequenced, instrument: u16, order: Party, reason: DoneReason) {
        let Some(client_order) = self.orders.get(order.tag).copied() else { return };
        self.orders.remove(order.tag);
        self.done[reason as usize] += 1;
        let instrument = self.instruments.get(instrument);
        let done = Done {
            client_id: client_order.client_id,
            instrument_code: instrument.code.as_str().into(),
            status: status(reason),
            order_id: OrderId::from_u64(order.order_id),
            order_book_sequence: sequenced.order_book_sequence,
            time_ms: self.time_ms,
            uid: self.sessions.account_id(order.account).into(),
        };
        let owner = self.sessions.route(client_order.sender, client_order.account);
        let requester = (reason == DoneReason::Cancelled).then_some(self.requester);
        if owner.or(requester).is_none() {
            self.counts.reports_to_nobody += 1;
        }
        for to in [requester, owner.filter(|owner| Some(*owner) != requester)].into_iter().flatten()
        {
            send(self.outbound.to(to), |out| reply::encode_done(out, &done));
        }
    }

    #[cold]
    fn rejected(&mut self, tag: u32, reason: Reject) {
        let Some(client_order) = self.orders.get(tag).copied() else { return };
        self.orders.remove(tag);
        let uid = self.sessions.account_id(client_order.account);
        let (out, refused) = (self.outbound.to(self.requester), by_engine(reason));
        self.refusals.reject(out, &refused, client_order.client_id, self.time_ms, uid);
    }

    #[inline]
    fn route(&mut self, order: &ClientOrder) -> Option<StreamId> {
        let to = self.sessions.route(order.sender, order.account);
        self.counts.reports_to_nobody += u64::from(to.is_none());
        to
    }
}

/// The statuses by `DoneReason as usize`.
pub(crate) const STATUSES: [DoneReason; 3] =
    [DoneReason::Filled, DoneReason::Cancelled, DoneReason::Expired];

pub(crate) fn status(reason: DoneReason) -> DoneStatus {
    match reason {
        DoneReason::Filled => DoneStatus::Filled,
        DoneReason::Cancelled => DoneStatus::Cancelled,
        DoneReason::Expired => DoneStatus::Expired,
    }
}

fn wire_side(side: Side) -> wire::request::Side {
    match side {
        Side::Buy => wire::request::Side::Buy,
        Side::Sell => wire::request::Side::Sell,
    }
}

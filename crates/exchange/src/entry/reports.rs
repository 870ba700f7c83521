//! From what the engine says to messages, and to the connections that are to have them.

use crate::account::sessions::Sessions;
use crate::counts::Counts;
use crate::entry::orders::{ClientOrder, ClientOrders};
use crate::entry::refusals::{Refusals, Refused, by_engine, by_journal};
use crate::entry::stamping::{Stamping, send_stamped};
use crate::sequencer::Sequenced;
use crate::setup::instruments::Instruments;
use engine::{DoneReason, Event, Party, Reject, Side};
use transport::StreamId;
use transport::serve::Outbound;
use wire::reply::{
    self, Amended, Applied, Booked, Decremented, Done, DoneStatus, Fill, Triggered, Waiting,
};
use wire::{ClientId, OrderId};

/// The requester of a command, and the kind of request.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    /// The connection that gets the answer; `None` if the exchange itself asks.
    pub from: Option<StreamId>,
    /// The name of the order, or of the request.
    pub client_id: Option<&'a ClientId>,
    /// The account in whose name it was asked.
    pub account: u32,
    pub what: What<'a>,
}

/// What was asked for.
#[derive(Clone, Copy)]
pub(crate) enum What<'a> {
    /// A new order, with its tag and whether it is a stop.
    Order { tag: u32, stop: bool },
    /// Another price, amount or name.
    Amend { new_client_id: Option<&'a ClientId> },
    /// The end of one order.
    Cancel,
    /// The end of many.
    MassCancel,
    /// An operator's.
    Setting,
    /// The house's flow.
    Flow,
}

/// Writes the reports of one command.
pub(crate) struct Reports<'a> {
    pub instruments: &'a Instruments,
    pub sessions: &'a Sessions,
    pub orders: &'a mut ClientOrders,
    pub counts: &'a mut Counts,
    /// By `DoneReason as usize`.
    pub done: &'a mut [u64; DoneReason::ALL.len()],
    pub refusals: &'a mut Refusals,
    pub outbound: &'a mut Outbound,
    pub asked: &'a Asked<'a>,
    pub time_ms: i64,
    /// Stamps of replies to the requester, if it wants them.
    pub stamping: Option<Stamping>,
}

impl Reports<'_> {
    #[inline]
    pub fn event(&mut self, sequenced: Sequenced) {
        match sequenced.event {
            Event::Booked { instrument, order, side, price_ticks, .. } => {
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
            Event::Rejected { reason, .. } => self.rejected(reason),
            Event::Applied { orders, .. } => self.applied(orders),
            // The order's fills say what is left of it.
            Event::Replenished { .. } => self.counts.replenished += 1,
            _ => self.rare(&sequenced),
        }
    }

    #[cold]
    fn rare(&mut self, sequenced: &Sequenced) {
        match sequenced.event {
            Event::Amended { order, .. } => self.amended(sequenced, order),
            Event::Waiting { order, .. } => self.waiting(sequenced, order),
            Event::Triggered { instrument, order } => self.triggered(sequenced, instrument, order),
            Event::Decremented { aggressor_side, aggressor, resting, .. } => {
                self.counts.decremented += 1;
                self.decremented(sequenced, aggressor, aggressor_side);
                self.decremented(sequenced, resting, aggressor_side.opposite());
            }
            _ => {}
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
        self.send(to, |out| reply::encode_booked(out, &booked));
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
        self.send(to, |out| reply::encode_fill(out, &fill));
    }

    fn decremented(&mut self, sequenced: &Sequenced, order: Party, side: Side) {
        let Event::Decremented { instrument, price_ticks, quantity_lots, .. } = sequenced.event
        else {
            return;
        };
        let Some(client_order) = self.orders.get(order.tag).copied() else { return };
        let Some(to) = self.route(&client_order) else { return };
        let instrument = self.instruments.get(instrument);
        let decremented = Decremented {
            client_id: client_order.client_id,
            instrument_code: instrument.code.as_str().into(),
            side: wire_side(side),
            price: instrument.price(price_ticks),
            amount: instrument.amount(quantity_lots),
            remaining: instrument.amount(order.remaining_lots),
            order_id: OrderId::from_u64(order.order_id),
            order_book_sequence: sequenced.order_book_sequence,
            time_ms: self.time_ms,
            uid: self.sessions.account_id(order.account).into(),
        };
        self.send(to, |out| reply::encode_decremented(out, &decremented));
    }

    /// Like a cancel it is acknowledged to the requester, and to the order's own connection if that
    /// is another.
    fn amended(&mut self, sequenced: &Sequenced, order: Party) {
        let Event::Amended { instrument, side, price_ticks, kept_place, .. } = sequenced.event
        else {
            return;
        };
        let Some(client_order) = self.orders.get(order.tag).copied() else { return };
        let What::Amend { new_client_id } = self.asked.what else { return };
        self.counts.amended += 1;
        self.orders.amend(order.tag, new_client_id, order.remaining_lots);
        let instrument = self.instruments.get(instrument);
        let amended = Amended {
            client_id: *new_client_id.unwrap_or(&client_order.client_id),
            replaced_client_id: new_client_id.map(|_| client_order.client_id),
            instrument_code: instrument.code.as_str().into(),
            side: wire_side(side),
            price: (price_ticks != 0).then(|| instrument.price(price_ticks)),
            amount: instrument.amount(order.remaining_lots),
            place_kept: kept_place,
            order_id: OrderId::from_u64(order.order_id),
            order_book_sequence: sequenced.order_book_sequence,
            time_ms: self.time_ms,
            uid: self.sessions.account_id(order.account).into(),
        };
        for to in self.both(&client_order, self.asked.from) {
            self.send(to, |out| reply::encode_amended(out, &amended));
        }
    }

    fn waiting(&mut self, sequenced: &Sequenced, order: Party) {
        let Event::Waiting { instrument, side, stop_ticks, .. } = sequenced.event else { return };
        let Some(client_order) = self.orders.get(order.tag).copied() else { return };
        self.counts.waiting += 1;
        let Some(to) = self.route(&client_order) else { return };
        let instrument = self.instruments.get(instrument);
        let waiting = Waiting {
            client_id: client_order.client_id,
            instrument_code: instrument.code.as_str().into(),
            side: wire_side(side),
            stop_price: instrument.price(stop_ticks),
            amount: instrument.amount(client_order.quantity_lots),
            order_id: OrderId::from_u64(order.order_id),
            order_book_sequence: sequenced.order_book_sequence,
            time_ms: self.time_ms,
            uid: self.sessions.account_id(order.account).into(),
        };
        self.send(to, |out| reply::encode_waiting(out, &waiting));
    }

    fn triggered(&mut self, sequenced: &Sequenced, instrument: u16, order: Party) {
        let Some(client_order) = self.orders.get(order.tag).copied() else { return };
        self.counts.triggered += 1;
        let Some(to) = self.route(&client_order) else { return };
        let triggered = Triggered {
            client_id: client_order.client_id,
            instrument_code: self.instruments.get(instrument).code.as_str().into(),
            order_id: OrderId::from_u64(order.order_id),
            order_book_sequence: sequenced.order_book_sequence,
            time_ms: self.time_ms,
            uid: self.sessions.account_id(order.account).into(),
        };
        self.send(to, |out| reply::encode_triggered(out, &triggered));
    }

    /// A cancel is acknowledged to the trader that asked for it, and to the order's own connection
    /// if that is another. An operator gets the number of cancelled orders.
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
        let of_trader = self.asked.account == order.account;
        let requester = self.asked.from.filter(|_| reason == DoneReason::Cancelled && of_trader);
        for to in self.both(&client_order, requester) {
            self.send(to, |out| reply::encode_done(out, &done));
        }
    }

    fn rejected(&mut self, reason: Reject) {
        let stop = matches!(self.asked.what, What::Order { stop: true, .. });
        self.refused(&by_engine(reason, stop));
    }

    /// The journal did not take the command: nothing has happened.
    #[cold]
    pub fn not_taken(&mut self, refused: journal::AppendError) {
        self.refused(&by_journal(refused));
    }

    #[cold]
    fn refused(&mut self, refused: &Refused<'_>) {
        if let What::Order { tag, .. } = self.asked.what {
            self.orders.remove(tag);
        }
        let Asked { from: Some(from), client_id, account, .. } = *self.asked else {
            // The exchange's own: nobody is told, but it is counted. The house counts by itself.
            if matches!(self.asked.what, What::Flow) {
                return;
            }
            self.refusals.rejected.add(refused.name);
            return;
        };
        let uid = self.sessions.operator(from).unwrap_or(self.sessions.account_id(account));
        let out = self.outbound.to(from);
        self.refusals.answer(out, refused, client_id, self.time_ms, uid, self.stamping.as_ref());
    }

    fn applied(&mut self, orders: u32) {
        let Asked { from: Some(from), client_id, account, what } = *self.asked else { return };
        let uid = self.sessions.operator(from).unwrap_or(self.sessions.account_id(account));
        let (client_id, count) = (client_id.copied(), i64::from(orders));
        let applied = Applied { client_id, count, time_ms: self.time_ms, uid: uid.into() };
        self.send(from, |out| match what {
            What::MassCancel => reply::encode_mass_cancelled(out, &applied),
            _ => reply::encode_applied(out, &applied),
        });
    }

    /// Appends a report. It is stamped where it goes to who asked.
    #[inline]
    fn send(&mut self, to: StreamId, write: impl FnOnce(&mut Vec<u8>)) {
        let stamping = self.stamping.as_ref().filter(|_| self.asked.from == Some(to));
        send_stamped(self.outbound.to(to), stamping, write);
    }

    #[inline]
    fn route(&mut self, order: &ClientOrder) -> Option<StreamId> {
        let to = self.sessions.route(order.sender, order.account);
        self.counts.reports_to_nobody += u64::from(to.is_none());
        to
    }

    /// The requester, then the order's own connection if that is another.
    #[inline]
    fn both(
        &mut self,
        order: &ClientOrder,
        requester: Option<StreamId>,
    ) -> impl Iterator<Item = StreamId> + use<> {
        let owner = self.sessions.route(order.sender, order.account);
        if owner.or(requester).is_none() {
            self.counts.reports_to_nobody += 1;
        }
        [requester, owner.filter(|owner| Some(*owner) != requester)].into_iter().flatten()
    }
}

pub(crate) fn status(reason: DoneReason) -> DoneStatus {
    match reason {
        DoneReason::Filled => DoneStatus::Filled,
        DoneReason::Cancelled => DoneStatus::Cancelled,
        DoneReason::Expired => DoneStatus::Expired,
        DoneReason::SelfTrade => DoneStatus::SelfTradePrevented,
        DoneReason::Closed => DoneStatus::Closed,
        DoneReason::NoRoom => DoneStatus::NoRoom,
    }
}

fn wire_side(side: Side) -> wire::request::Side {
    match side {
        Side::Buy => wire::request::Side::Buy,
        Side::Sell => wire::request::Side::Sell,
    }
}

//! Turns the engine's events into execution reports and sends them to their connections.

use crate::account::orders::{ClientOrder, ClientOrders};
use crate::account::session_table::sbe_index;
use crate::account::sessions::Sessions;
use crate::counts::{Counts, DoneCounts};
use crate::reply::rejections::{Destination, Rejection, Rejections, by_engine, by_journal};
use crate::reply::report::{MassCancelled, Report};
use crate::reply::stamping::{Stamping, send_stamped};
use crate::reply::subject::{MatchedLots, Subject};
use crate::sbe::SbeSessions;
use crate::sequencer::NumberedEvent;
use crate::setup::instruments::Instruments;
use engine::{DoneReason, Event, Party, Reject, Side};
use transport::StreamId;
use transport::serve::Outbound;
use wire::ClientId;
use wire::reply::{self, RequestApplied};
use wire::sbe::exchange::ReportNumbers;

/// The requester of a command, and the kind of request.
#[derive(Clone, Copy)]
pub(crate) struct Requester<'a> {
    /// The connection that gets the answer; `None` if the exchange itself asks.
    pub from: Option<StreamId>,
    /// The client id of the order, or of the request.
    pub client_id: Option<&'a ClientId>,
    /// The account for which the command is executed.
    pub account: u32,
    pub kind: RequestKind<'a>,
}

impl<'a> Requester<'a> {
    /// The client id that the command gives its order.
    #[inline]
    pub fn given_client_id(&self) -> Option<&'a ClientId> {
        match self.kind {
            RequestKind::Order { .. } => self.client_id,
            RequestKind::Amend { new_client_id } => new_client_id,
            _ => None,
        }
    }
}

/// The kind of a request.
#[derive(Clone, Copy)]
pub(crate) enum RequestKind<'a> {
    /// A new order, with its tag and whether it is a stop.
    Order { tag: u32, stop: bool },
    /// Another price, amount or client id.
    Amend { new_client_id: Option<&'a ClientId> },
    /// Cancel one order.
    Cancel,
    /// Cancel many orders.
    MassCancel,
    /// A setting, by an operator or by the exchange.
    Setting,
    /// An input of the exchange's own flow.
    Flow,
}

/// Writes the reports of one command.
pub(crate) struct Reports<'a> {
    pub instruments: &'a Instruments,
    pub sessions: &'a Sessions,
    pub orders: &'a mut ClientOrders,
    pub counts: &'a mut Counts,
    pub done: &'a mut DoneCounts,
    pub rejections: &'a mut Rejections,
    pub outbound: &'a mut Outbound,
    pub sbe: &'a mut SbeSessions,
    pub requester: &'a Requester<'a>,
    pub time_ms: i64,
    /// Stamps of replies to the requester, if it asked for stamps.
    pub stamping: Option<Stamping>,
}

impl<'a> Reports<'a> {
    #[inline]
    pub fn event(&mut self, numbered: NumberedEvent) {
        match numbered.event {
            Event::Booked { instrument, order, side, price_ticks, .. } => {
                self.booked(&numbered, instrument, order, side, price_ticks);
            }
            Event::Trade { aggressor_side, aggressor, resting, .. } => {
                self.counts.trades += 1;
                self.fill(&numbered, aggressor, aggressor_side);
                self.fill(&numbered, resting, aggressor_side.opposite());
            }
            Event::Done { instrument, order, reason } => {
                self.done(&numbered, instrument, order, reason);
            }
            Event::Rejected { reason, .. } => self.rejected(reason),
            Event::Applied { orders, .. } => self.applied(orders),
            // The fills of the order report its remaining amount.
            Event::Replenished { .. } => self.counts.replenished += 1,
            _ => self.rare(&numbered),
        }
    }

    #[cold]
    fn rare(&mut self, numbered: &NumberedEvent) {
        match numbered.event {
            Event::Amended { order, .. } => self.amended(numbered, order),
            Event::Waiting { order, .. } => self.waiting(numbered, order),
            Event::Triggered { instrument, order } => self.triggered(numbered, instrument, order),
            Event::Decremented { aggressor_side, aggressor, resting, .. } => {
                self.counts.decremented += 1;
                self.decremented(numbered, aggressor, aggressor_side);
                self.decremented(numbered, resting, aggressor_side.opposite());
            }
            _ => {}
        }
    }

    fn booked(
        &mut self,
        numbered: &NumberedEvent,
        instrument: u16,
        order: Party,
        side: Side,
        price_ticks: i64,
    ) {
        let Some(client_order) = self.orders.get(order.tag).copied() else { return };
        self.counts.booked += 1;
        let Some(to) = self.route(&client_order) else { return };
        let booked = self.subject(numbered, instrument, &client_order).booked(
            side,
            price_ticks,
            client_order.quantity_lots,
        );
        self.send(to, instrument, &booked);
    }

    fn fill(&mut self, numbered: &NumberedEvent, order: Party, side: Side) {
        let Event::Trade { instrument, price_ticks, quantity_lots, .. } = numbered.event else {
            return;
        };
        let Some(client_order) = self.orders.get(order.tag).copied() else { return };
        let Some(to) = self.route(&client_order) else { return };
        let matched =
            MatchedLots { price_ticks, quantity_lots, remaining_lots: order.remaining_lots };
        let subject = self.subject(numbered, instrument, &client_order);
        let fill = subject.fill(side, numbered.trade_id, matched);
        self.send(to, instrument, &fill);
    }

    fn decremented(&mut self, numbered: &NumberedEvent, order: Party, side: Side) {
        let Event::Decremented { instrument, price_ticks, quantity_lots, .. } = numbered.event
        else {
            return;
        };
        let Some(client_order) = self.orders.get(order.tag).copied() else { return };
        let Some(to) = self.route(&client_order) else { return };
        let matched =
            MatchedLots { price_ticks, quantity_lots, remaining_lots: order.remaining_lots };
        let subject = self.subject(numbered, instrument, &client_order);
        let decremented = subject.decremented(side, matched);
        self.send(to, instrument, &decremented);
    }

    /// Reports an amendment to the requester and, if it differs, to the connection that sent the
    /// order.
    fn amended(&mut self, numbered: &NumberedEvent, order: Party) {
        let Event::Amended { instrument, side, price_ticks, kept_place, .. } = numbered.event
        else {
            return;
        };
        let Some(client_order) = self.orders.get(order.tag).copied() else { return };
        let RequestKind::Amend { new_client_id } = self.requester.kind else { return };
        self.counts.amended += 1;
        self.orders.amend(order.tag, new_client_id, order.remaining_lots);
        let subject = Subject {
            client_id: *new_client_id.unwrap_or(&client_order.client_id),
            ..self.subject(numbered, instrument, &client_order)
        };
        let replaced = new_client_id.map(|_| client_order.client_id);
        let terms = (price_ticks, order.remaining_lots, kept_place);
        let amended = subject.amended(side, replaced, terms);
        for to in self.both(&client_order, self.requester.from) {
            self.send(to, instrument, &amended);
        }
    }

    fn waiting(&mut self, numbered: &NumberedEvent, order: Party) {
        let Event::Waiting { instrument, side, stop_ticks, .. } = numbered.event else { return };
        let Some(client_order) = self.orders.get(order.tag).copied() else { return };
        self.counts.waiting += 1;
        let Some(to) = self.route(&client_order) else { return };
        let subject = self.subject(numbered, instrument, &client_order);
        let waiting = subject.waiting(side, stop_ticks, client_order.quantity_lots);
        self.send(to, instrument, &waiting);
    }

    fn triggered(&mut self, numbered: &NumberedEvent, instrument: u16, order: Party) {
        let Some(client_order) = self.orders.get(order.tag).copied() else { return };
        self.counts.triggered += 1;
        let Some(to) = self.route(&client_order) else { return };
        let triggered = self.subject(numbered, instrument, &client_order).triggered();
        self.send(to, instrument, &triggered);
    }

    /// Reports the end of an order. A cancel is reported to the requester and, if it differs, to
    /// the connection that sent the order; an operator gets the number of cancelled orders instead.
    fn done(
        &mut self,
        numbered: &NumberedEvent,
        instrument: u16,
        order: Party,
        reason: DoneReason,
    ) {
        let Some(client_order) = self.orders.get(order.tag).copied() else { return };
        self.orders.end(order.tag, reason);
        self.done.add(reason);
        let done = self.subject(numbered, instrument, &client_order).done(reason);
        let of_trader = self.requester.account == order.account;
        let requester =
            self.requester.from.filter(|_| reason == DoneReason::Cancelled && of_trader);
        for to in self.both(&client_order, requester) {
            self.send(to, instrument, &done);
        }
    }

    #[inline]
    fn subject(
        &self,
        numbered: &NumberedEvent,
        instrument: u16,
        order: &ClientOrder,
    ) -> Subject<'a> {
        Subject {
            client_id: order.client_id,
            order_id: order.order_id,
            instrument: self.instruments.get(instrument),
            uid: self.sessions.account_id(order.account),
            order_book_sequence: numbered.order_book_sequence,
            time_ms: self.time_ms,
        }
    }

    fn rejected(&mut self, reason: Reject) {
        let stop = matches!(self.requester.kind, RequestKind::Order { stop: true, .. });
        self.reject(&by_engine(reason, stop));
    }

    /// Rejects a command that the journal did not take; the engine did not execute it.
    #[cold]
    pub fn not_logged(&mut self, error: journal::AppendError) {
        self.reject(&by_journal(error));
    }

    #[cold]
    fn reject(&mut self, rejection: &Rejection<'_>) {
        if let RequestKind::Order { tag, .. } = self.requester.kind {
            self.orders.remove(tag);
        }
        let Requester { from: Some(from), client_id, account, .. } = *self.requester else {
            // A command of the exchange itself: count it, send nothing. The flow has own counters.
            if matches!(self.requester.kind, RequestKind::Flow) {
                return;
            }
            self.rejections.rejected.add(rejection.name);
            return;
        };
        let uid = self.sessions.operator(from).unwrap_or(self.sessions.account_id(account));
        let to = Destination { id: from, outbound: self.outbound, sbe: self.sbe };
        self.rejections.answer(to, rejection, client_id, self.time_ms, uid, self.stamping.as_ref());
    }

    fn applied(&mut self, orders: u32) {
        let Requester { from: Some(from), client_id, account, kind } = *self.requester else {
            return;
        };
        let uid = self.sessions.operator(from).unwrap_or(self.sessions.account_id(account));
        let (client_id, count) = (client_id.copied(), i64::from(orders));
        let applied = RequestApplied { client_id, count, time_ms: self.time_ms, uid: uid.into() };
        match kind {
            RequestKind::MassCancel => self.send(from, 0, &MassCancelled(applied)),
            // Operators speak JSON.
            _ => send_stamped(self.outbound.to(from), self.stamping.as_ref(), |out| {
                reply::encode_applied(out, &applied);
            }),
        }
    }

    /// Sends a report, with stamps if it goes to the requester.
    #[inline]
    fn send(&mut self, to: StreamId, instrument: u16, report: &impl Report) {
        if sbe_index(to).is_some() {
            let write = |out: &mut Vec<u8>, sequence| {
                report.write_sbe(out, ReportNumbers { sequence, instrument });
            };
            return self.sbe.report(to, self.outbound, write);
        }
        let stamping = self.stamping.as_ref().filter(|_| self.requester.from == Some(to));
        send_stamped(self.outbound.to(to), stamping, |out| report.write_json(out));
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

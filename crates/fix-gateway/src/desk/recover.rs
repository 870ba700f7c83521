//! Notes of orders, and the reports that a session lacks at its start: see [`Recovery`].

use super::codes::{ExecType, put_order_id, side_code};
use super::number::put_decimal;
use super::pending::{PendingRequest, RequestKind};
use super::recovery::{PastReport, Recovery, Reported};
use super::state::Desk;
use crate::link::put_frame;
use fix::encode::Body;
use fix::session::Now;
use fix::store::Store;
use std::io;
use wire::OrderId;
use wire::client_id::ClientId;
use wire::request::{OrderStatus, encode_order_status};

const INCOMPLETE: &str = "reports of this order did not reach this session: CumQty (14) and AvgPx \
                          (6) may lack trades";

impl Desk {
    /// Notes an order that the exchange gets next.
    pub(super) fn note(&mut self, id: &ClientId) -> io::Result<()> {
        let Desk { note, orders, session, highest, .. } = self;
        let Some(order) = orders.get(id) else { return Ok(()) };
        note.clear();
        let mut fields = Body::new(note);
        fields.bytes(11, id.as_bytes());
        put_order_id(&mut fields, *highest);
        fields.char(39, order.status).text(55, &order.symbol).char(54, side_code(order.side));
        put_decimal(&mut fields, 38, order.quantity);
        if let Some(kind) = order.kind {
            fields.char(40, kind);
        }
        put_decimal(&mut fields, 44, order.price);
        put_decimal(&mut fields, 99, order.stop);
        put_decimal(&mut fields, 151, Some(order.leaves));
        session.note(note)
    }

    /// Whether it wants the reports of the journal about an order with this client id.
    pub fn wants(&mut self, client_id: &ClientId, order_id: OrderId) -> bool {
        let Desk { recovery, orders, .. } = self;
        recovery.as_mut().is_some_and(|recovery| recovery.wants(orders, client_id, order_id))
    }

    /// Whether it wanted those about that order.
    pub fn follows(&self, order_id: OrderId) -> bool {
        self.recovery.as_ref().is_some_and(|recovery| recovery.follows(order_id))
    }

    /// The next of them, in the order of the journal.
    pub fn add_past(&mut self, report: PastReport) {
        if let Some(recovery) = &mut self.recovery {
            recovery.add(report);
        }
    }

    /// Stores the reports that the session lacks. Gives how many.
    ///
    /// # Errors
    /// If the store fails.
    pub fn recover(&mut self, now: Now) -> io::Result<u64> {
        let Some(recovery) = self.recovery.take() else { return Ok(0) };
        let reported = recovery.reported_of(&self.orders);
        let before = self.session.store().next_out();
        for (at, past) in recovery.past().iter().enumerate() {
            let of_order = reported.get(&past.order_id).copied().unwrap_or(Reported::All);
            match past.reply() {
                None if of_order == Reported::TooFew => self.restate(past, &recovery, now)?,
                Some(reply) if !of_order.has(at) => {
                    self.happened_ns = Some(past.time_ns);
                    self.reply(&reply, now)?;
                }
                _ => {}
            }
        }
        self.happened_ns = None;
        // The journal has none of those that are left: the exchange never had them.
        for id in recovery.noted() {
            if self.orders.get(id).is_some_and(|order| !order.is_acknowledged()) {
                self.orders.remove(id);
            }
        }
        Ok(self.session.store().next_out() - before)
    }

    /// Reports how an order stands of which reports are lost.
    fn restate(&mut self, past: &PastReport, recovery: &Recovery, now: Now) -> io::Result<()> {
        let Some(name) = recovery.name_of(past.order_id) else { return Ok(()) };
        let Some(order) = self.orders.get_mut(name) else { return Ok(()) };
        order.leaves = past.open;
        self.execution(name, ExecType::Restated, now, |body| {
            body.number(378, 99).text(58, INCOMPLETE);
        })
    }

    /// Whether one of its orders is open.
    pub fn has_open_orders(&self) -> bool {
        self.orders.open().next().is_some()
    }

    /// Takes the reports about its open orders: the connection that had sent them is gone.
    pub fn take_orders(&mut self) {
        let Desk { orders, to_exchange, pending, .. } = self;
        for id in orders.open() {
            let asked = OrderStatus { client_id: *id, account_id: None, takes: true };
            put_frame(to_exchange, |out| encode_order_status(out, &asked));
            pending.push_back(PendingRequest { kind: RequestKind::Take, target: *id, id: *id });
        }
    }
}

#[cfg(test)]
#[path = "recover_tests.rs"]
mod tests;

//! Requests of the client: sent to the exchange, or answered from what the desk knows.

use super::codes::{ExecType, side_code};
use super::number::put_decimal;
use super::orders::Order;
use super::pending::{PENDING_MAX, PendingRequest, RequestKind};
use super::request::{Change, Problem, Replace, Request};
use super::state::Desk;
use crate::link::put_frame;
use fix::session::Now;
use std::io;
use wire::client_id::ClientId;
use wire::request::{
    AmendOrder, CancelOrder, CreateOrder, MassCancel, encode_amend_order, encode_cancel_order,
    encode_create_order, encode_mass_cancel,
};

impl Desk {
    pub(super) fn request(&mut self, request: Request<'_>, now: Now) -> io::Result<()> {
        if self.pending.len() >= PENDING_MAX
            && let Some(named) = request.that_waits()
        {
            return self.too_many(named, now);
        }
        match request {
            Request::MarketData(request) => self.market_data_request(request, now),
            Request::SecurityList(list) => self.security_list(&list, now),
            Request::New { create, kind, is_resent } => self.create(create, kind, is_resent, now),
            Request::Cancel(change) => self.cancel(&change, now),
            Request::Replace(replace) => self.replace(&replace, now),
            Request::Status { id, question } => {
                self.ask_status(id, question);
                Ok(())
            }
            Request::MassCancel { id, symbol, side, kind } => {
                let instrument_code = symbol.map(Into::into);
                let all =
                    MassCancel { client_id: Some(id), instrument_code, side, account_id: None };
                put_frame(&mut self.to_exchange, |out| encode_mass_cancel(out, &all));
                self.wait_for(RequestKind::MassCancel(kind), id, id);
                Ok(())
            }
        }
    }

    pub(super) fn wait_for(&mut self, kind: RequestKind, target: ClientId, id: ClientId) {
        self.pending.push_back(PendingRequest { kind, target, id });
    }

    fn create(
        &mut self,
        create: CreateOrder<'_>,
        kind: char,
        is_resent: bool,
        now: Now,
    ) -> io::Result<()> {
        let id = create.client_id;
        if let Some(order) = self.orders.get(&id) {
            // Case 19: an order that came before is reported, and not entered again.
            if is_resent {
                return self.execution(&id, ExecType::Status, now, |_| {});
            }
            if !order.has_ended() {
                return self.duplicate(&create, kind, now);
            }
        }
        let order = Order {
            symbol: self.securities.name(&create.instrument_code),
            side: create.side,
            kind: Some(kind),
            quantity: Some(create.amount),
            price: create.price,
            stop: create.stop_price,
            order_id: None,
            traded: Default::default(),
            leaves: create.amount,
            status: 'A',
            is_triggered: false,
        };
        self.orders.insert(id, order);
        if self.notes {
            self.note(&id)?;
        }
        put_frame(&mut self.to_exchange, |out| encode_create_order(out, &create));
        self.wait_for(RequestKind::New, id, id);
        Ok(())
    }

    /// An order with the id of one that is open. It never reaches the exchange, whose reply could
    /// not be told from a reply about the other one.
    fn duplicate(&mut self, create: &CreateOrder<'_>, kind: char, now: Now) -> io::Result<()> {
        let exec_id = self.exec_id(now);
        let account = self.account.clone();
        self.send("8", now, |body| {
            body.text(37, "NONE").bytes(11, create.client_id.as_bytes());
            exec_id.put(body, 17).char(150, '8').char(39, '8').number(103, 6).text(1, &account);
            body.text(55, &create.instrument_code).char(54, side_code(create.side));
            put_decimal(body, 38, Some(create.amount));
            body.char(40, kind).number(151, 0).number(14, 0).number(6, 0);
            body.time(60, now.utc_ns).text(58, "ClOrdID (11) is that of an open order");
        })
    }

    fn cancel(&mut self, change: &Change<'_>, now: Now) -> io::Result<()> {
        if let Some(order) = self.orders.get(&change.target)
            && order.has_ended()
        {
            return self.cancel_reject(
                RequestKind::Cancel(change.side),
                change,
                "the order has ended",
                now,
            );
        }
        let instrument_code = change.symbol.into();
        let cancel = CancelOrder { client_id: change.target, instrument_code, account_id: None };
        put_frame(&mut self.to_exchange, |out| encode_cancel_order(out, &cancel));
        self.wait_for(RequestKind::Cancel(change.side), change.target, change.id);
        Ok(())
    }

    /// The exchange amends the open amount; FIX's OrderQty is that and what has traded.
    fn replace(&mut self, replace: &Replace<'_>, now: Now) -> io::Result<()> {
        let Replace { change, kind, price, stop, quantity, delivery } = replace;
        let order = self.orders.get(&change.target);
        let Some(order) = order.filter(|order| !order.has_ended()) else {
            return self.cancel_reject(RequestKind::Replace, change, "no such open order", now);
        };
        // Neither is known of an order of an earlier life that the store no longer knows.
        let changed = match order.kind {
            Some(old) if old != *kind => Some("OrdType (40) can't change"),
            Some(_) if stop.is_some() && *stop != order.stop => Some("StopPx (99) can't change"),
            _ => None,
        };
        if let Some(text) = changed {
            return self.cancel_reject(RequestKind::Replace, change, text, now);
        }
        let open = super::number::minus(*quantity, order.traded.amount);
        let Some(amount) = open.filter(|open| open.mantissa() > 0) else {
            let text = "OrderQty (38) is not more than what has traded";
            return self.cancel_reject(RequestKind::Replace, change, text, now);
        };
        let amend = AmendOrder {
            client_id: change.target,
            new_client_id: Some(change.id),
            instrument_code: change.symbol.into(),
            price: *price,
            amount,
            delivery: *delivery,
            account_id: None,
        };
        put_frame(&mut self.to_exchange, |out| encode_amend_order(out, &amend));
        self.wait_for(RequestKind::Replace, change.target, change.id);
        Ok(())
    }

    fn cancel_reject(
        &mut self,
        kind: RequestKind,
        change: &Change<'_>,
        text: &str,
        now: Now,
    ) -> io::Result<()> {
        let pending = PendingRequest { kind, target: change.target, id: change.id };
        self.order_cancel_reject(&pending, text, now)
    }

    fn too_many(&mut self, (msg_type, id): (&str, ClientId), now: Now) -> io::Result<()> {
        let problem = Problem {
            seq: 0,
            msg_type: msg_type.to_owned(),
            id: Some(id.as_str().to_owned()),
            reason: 4,
            text: format!("{PENDING_MAX} requests wait for replies (limit PENDING_MAX)"),
        };
        self.reject(&problem, now)
    }
}

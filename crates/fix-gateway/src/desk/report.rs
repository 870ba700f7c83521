//! Reports of FIX, from what a session knows of its orders.

use super::codes::{ExecType, put_order_id, side_code};
use super::number::put_decimal;
use super::pending::{PendingRequest, RequestKind};
use super::state::Desk;
use fix::encode::{Body, put_number};
use fix::session::Now;
use std::io;
use wire::OrderId;
use wire::client_id::ClientId;
use wire::request::Side;

/// ExecID (17): the time, and a number of its own.
#[derive(Clone, Copy)]
pub(super) struct ExecId {
    time_ms: u64,
    number: u64,
}

impl ExecId {
    pub fn put<'a, 'b>(self, body: &'a mut Body<'b>, tag: u32) -> &'a mut Body<'b> {
        body.written(tag, |out| {
            put_number(out, self.time_ms);
            out.push(b'-');
            put_number(out, self.number);
        })
    }
}

/// An order of which this session has no reports.
pub(super) struct Stranger<'a> {
    pub order_id: Option<OrderId>,
    pub symbol: &'a str,
    pub side: Side,
}

impl Desk {
    pub(super) fn exec_id(&mut self, now: Now) -> ExecId {
        self.executions += 1;
        ExecId { time_ms: now.utc_ns / 1_000_000, number: self.executions }
    }

    pub(super) fn order_cancel_reject(
        &mut self,
        pending: &PendingRequest,
        text: &str,
        now: Now,
    ) -> io::Result<()> {
        let order = self.orders.get(&pending.target);
        let status = order.map_or('8', |order| order.status);
        let order_id = order.and_then(|order| order.order_id);
        let reason = match order {
            None => 1,
            Some(order) if order.has_ended() => 0,
            Some(_) => 2,
        };
        let account = self.account.clone();
        self.send("9", now, |body| {
            put_order_id(body, order_id);
            body.bytes(11, pending.id.as_bytes()).bytes(41, pending.target.as_bytes());
            body.char(39, status).text(1, &account).time(60, now.utc_ns);
            body.char(434, if pending.kind == RequestKind::Replace { '2' } else { '1' });
            body.number(102, reason).text(58, text);
        })
    }

    pub(super) fn mass_cancel_report(
        &mut self,
        pending: &PendingRequest,
        outcome: Result<i64, &str>,
        now: Now,
    ) -> io::Result<()> {
        let RequestKind::MassCancel(kind) = pending.kind else { return Ok(()) };
        self.send("r", now, |body| {
            let id = pending.id.as_bytes();
            body.bytes(11, id).bytes(37, id).char(530, kind);
            match outcome {
                Ok(count) => body.char(531, kind).number(533, count.unsigned_abs()),
                Err(reason) => body.char(531, '0').char(532, '1').text(58, reason),
            };
            body.time(60, now.utc_ns);
        })
    }

    /// An ExecutionReport of an order that the desk knows.
    pub(super) fn execution(
        &mut self,
        id: &ClientId,
        exec_type: ExecType,
        now: Now,
        more: impl FnOnce(&mut Body<'_>),
    ) -> io::Result<()> {
        self.report(id, None, exec_type, now, more)
    }

    /// With `request` its id is ClOrdID, and the order's is OrigClOrdID.
    pub(super) fn report(
        &mut self,
        id: &ClientId,
        request: Option<&ClientId>,
        exec_type: ExecType,
        now: Now,
        more: impl FnOnce(&mut Body<'_>),
    ) -> io::Result<()> {
        let exec_id = self.exec_id(now);
        let time_ns = self.happened_ns.unwrap_or(now.utc_ns);
        let Desk { orders, session, account, to_client, .. } = self;
        let Some(order) = orders.get(id) else { return Ok(()) };
        let fill = |body: &mut Body<'_>| {
            put_order_id(body, order.order_id);
            body.bytes(11, request.unwrap_or(id).as_bytes());
            if request.is_some() {
                body.bytes(41, id.as_bytes());
            }
            exec_id.put(body, 17).char(150, exec_type.code()).char(39, order.status);
            body.text(1, account).text(55, &order.symbol).char(54, side_code(order.side));
            put_decimal(body, 38, order.quantity);
            if let Some(kind) = order.kind {
                body.char(40, kind);
            }
            put_decimal(body, 44, order.price);
            put_decimal(body, 99, order.stop);
            put_decimal(body, 151, Some(order.leaves));
            put_decimal(body, 14, Some(order.traded.amount));
            put_decimal(body, 6, Some(order.traded.average));
            body.time(60, time_ns);
            more(body);
        };
        session.send("8", now, to_client, fill).map(drop)
    }

    /// An ExecutionReport of an order that the session knows by this alone. `ids` are the order's
    /// and that of the request.
    pub(super) fn report_stranger(
        &mut self,
        order: &Stranger<'_>,
        [id, request]: [&ClientId; 2],
        (exec_type, status, text): (ExecType, char, &str),
        now: Now,
        more: impl FnOnce(&mut Body<'_>),
    ) -> io::Result<()> {
        let exec_id = self.exec_id(now);
        let order_id = order.order_id.map(OrderId::text);
        self.send("8", now, |body| {
            body.bytes(37, order_id.as_ref().map_or(&b"NONE"[..], |text| &text[..]));
            body.bytes(11, request.as_bytes());
            if request != id {
                body.bytes(41, id.as_bytes());
            }
            exec_id.put(body, 17).char(150, exec_type.code()).char(39, status);
            if status == '8' {
                body.number(103, 5);
            }
            body.text(55, order.symbol).char(54, side_code(order.side));
            // FIX requires the three numbers.
            body.number(151, 0).number(14, 0).number(6, 0).text(58, text);
            more(body);
        })
    }
}

//! Status requests. The exchange answers them, as it does in its other protocols, so an order that
//! is open is never one that another exchange has ended. The desk adds the fields that it knows.

use super::pending::{PendingRequest, Question, RequestKind};
use super::report::{ExecType, side_code};
use super::state::Desk;
use crate::link::put_frame;
use fix::encode::Body;
use fix::session::Now;
use std::io;
use wire::OrderId;
use wire::client_id::ClientId;
use wire::reply::{DoneStatus, OrderDone};
use wire::request::{OrderStatus, Side, encode_order_status};

/// The exchange's answer.
#[derive(Clone, Copy)]
pub(super) enum Standing<'a> {
    Open(OrderId),
    Ended(OrderId, DoneStatus),
    Unknown { reason: &'a str },
}

/// An order of which this session has no reports.
struct Stranger<'a> {
    order_id: Option<OrderId>,
    symbol: &'a str,
    side: Side,
}

/// OrdStatus (39) of an order that has ended.
pub(super) fn ended_code(status: DoneStatus) -> char {
    match status {
        DoneStatus::Filled => '2',
        DoneStatus::Expired => 'C',
        DoneStatus::Cancelled
        | DoneStatus::SelfTradePrevented
        | DoneStatus::Closed
        | DoneStatus::NoRoom => '4',
    }
}

impl Desk {
    pub(super) fn ask_status(&mut self, id: ClientId, question: Box<Question>) {
        let asked = OrderStatus { client_id: id, account_id: None, takes: false };
        put_frame(&mut self.to_exchange, |out| encode_order_status(out, &asked));
        self.wait_for(RequestKind::Status(question), id, id);
    }

    /// Answers the oldest status request about that order.
    pub(super) fn stands(
        &mut self,
        id: &ClientId,
        standing: Standing<'_>,
        now: Now,
    ) -> io::Result<()> {
        let is_it = |pending: &PendingRequest| {
            matches!(pending.kind, RequestKind::Status(_) | RequestKind::Take)
                && pending.target == *id
        };
        match self.take_pending(is_it) {
            Some(PendingRequest { kind: RequestKind::Status(question), .. }) => {
                self.answer_status(id, &question, standing, now)
            }
            _ => Ok(()),
        }
    }

    pub(super) fn answer_status(
        &mut self,
        id: &ClientId,
        question: &Question,
        standing: Standing<'_>,
        now: Now,
    ) -> io::Result<()> {
        let Some(order) = self.orders.get_mut(id) else {
            return self.status_of_a_stranger(id, question, standing, now);
        };
        let mut text = "";
        match standing {
            // Also an order that this session has seen rejected, with the id of another one.
            _ if order.has_ended() => {}
            Standing::Open(order_id) => {
                order.order_id = Some(order_id);
                if !order.is_acknowledged() {
                    order.status = '0';
                }
            }
            Standing::Ended(order_id, status) => {
                order.order_id = Some(order_id);
                (order.status, order.leaves) = (ended_code(status), Default::default());
                self.orders.ended(*id);
                text = "the reports of its end did not reach this session: CumQty (14) and AvgPx \
                        (6) may lack trades";
            }
            Standing::Unknown { .. } => {
                return self.status_of_a_stranger(id, question, standing, now);
            }
        }
        self.execution(id, ExecType::Status, now, |body| {
            question.put_id(body);
            if !text.is_empty() {
                body.text(58, text);
            }
        })
    }

    /// The status of an order of which this session has no reports.
    fn status_of_a_stranger(
        &mut self,
        id: &ClientId,
        question: &Question,
        standing: Standing<'_>,
        now: Now,
    ) -> io::Result<()> {
        let (order_id, status, text) = match standing {
            Standing::Open(order_id) => (
                Some(order_id),
                '0',
                "this session has no reports of it: LeavesQty (151), CumQty (14) and AvgPx (6) are \
                 unknown",
            ),
            Standing::Ended(order_id, status) => (
                Some(order_id),
                ended_code(status),
                "this session has no reports of it: CumQty (14) and AvgPx (6) are unknown",
            ),
            Standing::Unknown { reason } => (None, '8', reason),
        };
        let Question { symbol, side, .. } = question;
        let order = Stranger { order_id, symbol, side: *side };
        let report = (ExecType::Status, status, text);
        self.report_stranger(&order, [id, id], report, now, |body| question.put_id(body))
    }

    /// Reports the end of an order that this session has cancelled and has no other reports of,
    /// such as one that the client placed at an exchange that was lost.
    pub(super) fn cancelled_stranger(&mut self, done: &OrderDone<'_>, now: Now) -> io::Result<()> {
        if done.status != DoneStatus::Cancelled {
            return Ok(());
        }
        let Some(PendingRequest { kind: RequestKind::Cancel(side), id, .. }) =
            self.answered_cancel(&done.client_id)
        else {
            return Ok(());
        };
        let order = Stranger { order_id: Some(done.order_id), symbol: &done.instrument_code, side };
        let text = "this session has no other reports of it: CumQty (14) and AvgPx (6) are unknown";
        let report = (ExecType::Cancelled, ended_code(done.status), text);
        self.report_stranger(&order, [&done.client_id, &id], report, now, |_| ())
    }

    /// An ExecutionReport of an order that the session knows by this alone. `ids` are the order's
    /// and that of the request.
    fn report_stranger(
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

//! Status requests. The exchange answers them, as it does in its other protocols, so an order that
//! is open is never one that another exchange has ended. The desk adds the fields that it knows.

use super::pending::{PendingRequest, Question, RequestKind};
use super::report::{ExecType, side_code};
use super::state::Desk;
use crate::link::put_frame;
use fix::session::Now;
use std::io;
use wire::OrderId;
use wire::client_id::ClientId;
use wire::reply::DoneStatus;
use wire::request::{OrderStatus, encode_order_status};

/// The exchange's answer.
#[derive(Clone, Copy)]
pub(super) enum Standing<'a> {
    Open(OrderId),
    Ended(OrderId, DoneStatus),
    Unknown { reason: &'a str },
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
        let exec_id = self.exec_id(now);
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
        let order_id = order_id.map(OrderId::text);
        self.send("8", now, |body| {
            body.bytes(37, order_id.as_ref().map_or(&b"NONE"[..], |text| &text[..]));
            body.bytes(11, id.as_bytes());
            exec_id.put(body, 17).char(150, 'I').char(39, status);
            if status == '8' {
                body.number(103, 5);
            }
            body.text(55, &question.symbol).char(54, side_code(question.side));
            // FIX requires the three numbers.
            body.number(151, 0).number(14, 0).number(6, 0).text(58, text);
            question.put_id(body);
        })
    }
}

//! Status requests. The exchange answers them, as it does in its other protocols, so an order that
//! is open is never one that another exchange has ended. The desk adds the fields that it knows.

use super::codes::{ExecType, ended_code};
use super::pending::{PendingRequest, Question, RequestKind};
use super::report::Stranger;
use super::state::Desk;
use crate::link::put_frame;
use fix::session::Now;
use std::io;
use wire::OrderId;
use wire::client_id::ClientId;
use wire::reply::{DoneStatus, OrderDone};
use wire::request::{OrderStatus, encode_order_status};

/// The exchange's answer.
#[derive(Clone, Copy)]
pub(super) enum Standing<'a> {
    Open(OrderId),
    Ended(OrderId, DoneStatus),
    Unknown { reason: &'a str },
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
}

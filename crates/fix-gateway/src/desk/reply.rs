//! From the exchange's replies to the orders of a session, and to reports about them.

use super::codes::{ExecType, TRIGGERED, ended_code};
use super::number::{TradedAmount, plus, put_decimal};
use super::orders::Order;
use super::pending::{PendingRequest, RequestKind};
use super::state::Desk;
use super::status::Standing;
use fix::session::Now;
use std::io;
use wire::OrderId;
use wire::client_id::ClientId;
use wire::decimal::Decimal;
use wire::reply::{DoneStatus, Fill, OrderAmended, OrderDone, Reply, RequestRejected};
use wire::request::Side;

impl Desk {
    pub(super) fn reply(&mut self, reply: &Reply<'_>, now: Now) -> io::Result<()> {
        match reply {
            Reply::Booked(booked) => {
                let known = OrderFields {
                    price: Some(booked.price),
                    ..OrderFields::of(&booked.instrument_code, booked.side, booked.amount)
                };
                self.acknowledged(&booked.client_id, booked.order_id, &known, now)
            }
            Reply::Waiting(waiting) => {
                let known = OrderFields::of(&waiting.instrument_code, waiting.side, waiting.amount);
                self.acknowledged(&waiting.client_id, waiting.order_id, &known, now)
            }
            Reply::Fill(fill) => self.fill(fill, now),
            Reply::Done(done) => self.done(done, now),
            Reply::Amended(amended) => self.amended(amended, now),
            Reply::Rejected(rejected) => self.rejected(rejected, now),
            Reply::Triggered(triggered) => {
                if let Some(order) = self.orders.get_mut(&triggered.client_id) {
                    order.is_triggered = true;
                }
                self.execution(&triggered.client_id, ExecType::Restated, now, |body| {
                    body.number(378, 99).text(58, TRIGGERED);
                })
            }
            Reply::Decremented(prevented) => {
                let id = prevented.client_id;
                let Some(order) = self.orders.get_mut(&id) else { return Ok(()) };
                order.leaves = prevented.remaining;
                let text = "self-trade prevention reduced the order";
                self.execution(&id, ExecType::Restated, now, |body| {
                    body.number(378, 99).text(58, text);
                })
            }
            Reply::MassCancelled(applied) => {
                let id = applied.client_id;
                let Some(pending) = self.take_pending(|pending| Some(pending.id) == id) else {
                    return Ok(());
                };
                self.mass_cancel_report(&pending, Ok(applied.count), now)
            }
            Reply::Error { reason } => self.error(reason, now),
            Reply::Open(open) => self.stands(&open.client_id, Standing::Open(open.order_id), now),
            Reply::Ended(ended) => {
                let standing = Standing::Ended(ended.order_id, ended.status);
                self.stands(&ended.client_id, standing, now)
            }
            Reply::Authenticated
            | Reply::Subscriptions(_)
            | Reply::Applied(_)
            | Reply::Other { .. } => Ok(()),
        }
    }

    /// The first reply about an order says that the exchange took it.
    fn acknowledged(
        &mut self,
        id: &ClientId,
        order_id: OrderId,
        seen: &OrderFields<'_>,
        now: Now,
    ) -> io::Result<()> {
        self.highest = self.highest.max(Some(order_id));
        match self.orders.get_mut(id) {
            Some(order) => {
                order.order_id = Some(order_id);
                if order.is_acknowledged() {
                    return Ok(());
                }
                // A post-only order may rest at another price than was asked for.
                order.price = seen.price.or(order.price);
                order.status = '0';
                self.answered(RequestKind::New, id);
            }
            // An order of an earlier life that is no longer in the store.
            None => {
                let symbol = self.securities.name(seen.symbol);
                let mut order = Order::seen(symbol, seen.side, seen.leaves);
                order.order_id = Some(order_id);
                self.orders.insert(*id, order);
                return Ok(());
            }
        }
        self.execution(id, ExecType::New, now, |_| {})
    }

    /// Forgets the first request of that kind for that order.
    fn answered(&mut self, kind: RequestKind, target: &ClientId) -> Option<PendingRequest> {
        self.take_pending(|pending| pending.kind == kind && pending.target == *target)
    }

    fn fill(&mut self, fill: &Fill<'_>, now: Now) -> io::Result<()> {
        let id = fill.client_id;
        let whole = plus(fill.amount, fill.remaining).unwrap_or(fill.remaining);
        let seen = OrderFields::of(&fill.instrument_code, fill.side, whole);
        self.acknowledged(&id, fill.order_id, &seen, now)?;
        let Some(order) = self.orders.get_mut(&id) else { return Ok(()) };
        let traded = order.traded.with(fill.price, fill.amount);
        order.traded = traded.unwrap_or(TradedAmount { average: fill.price, ..order.traded });
        order.leaves = fill.remaining;
        let is_full = fill.remaining == Decimal::ZERO;
        order.status = if is_full { '2' } else { '1' };
        if is_full {
            self.orders.ended(id);
        }
        self.execution(&id, ExecType::Trade, now, |body| {
            put_decimal(body, 32, Some(fill.amount));
            put_decimal(body, 31, Some(fill.price));
            // One that is made anew has none.
            if fill.trade_id != 0 {
                body.number(527, fill.trade_id.unsigned_abs());
            }
        })
    }

    fn done(&mut self, done: &OrderDone<'_>, now: Now) -> io::Result<()> {
        let id = done.client_id;
        // An order that never rested has no other reply.
        let Some(order) = self.orders.get(&id) else { return self.cancelled_stranger(done, now) };
        let seen = OrderFields::of(&done.instrument_code, order.side, order.leaves);
        self.acknowledged(&id, done.order_id, &seen, now)?;
        let cancel = match done.status {
            DoneStatus::Cancelled => self.answered_cancel(&id),
            _ => None,
        };
        let Some(order) = self.orders.get_mut(&id) else { return Ok(()) };
        if order.has_ended() {
            return Ok(());
        }
        let (exec_type, text) = match done.status {
            DoneStatus::Filled => return Ok(()),
            DoneStatus::Cancelled => (ExecType::Cancelled, ""),
            DoneStatus::Expired => (ExecType::Expired, ""),
            DoneStatus::SelfTradePrevented => (ExecType::Cancelled, "self-trade prevention"),
            DoneStatus::Closed => (ExecType::Cancelled, "the instrument is closed"),
            DoneStatus::NoRoom => (ExecType::Cancelled, "the book has no room for its price"),
        };
        order.status = ended_code(done.status);
        order.leaves = Decimal::ZERO;
        self.orders.ended(id);
        let request = cancel.map(|pending| pending.id);
        self.report(&id, request.as_ref(), exec_type, now, |body| {
            if !text.is_empty() {
                body.text(58, text);
            }
        })
    }

    fn amended(&mut self, amended: &OrderAmended<'_>, now: Now) -> io::Result<()> {
        let (old, new) = (amended.replaced_client_id, amended.client_id);
        self.answered(RequestKind::Replace, old.as_ref().unwrap_or(&new));
        if let Some(old) = old {
            self.orders.rename(&old, new);
            // Requests that were sent under the old name.
            for pending in &mut self.pending {
                if pending.target == old && !matches!(pending.kind, RequestKind::Status(_)) {
                    pending.target = new;
                }
            }
        }
        let Some(order) = self.orders.get_mut(&new) else { return Ok(()) };
        (order.price, order.leaves) = (amended.price, amended.amount);
        order.quantity = plus(amended.amount, order.traded.amount);
        let old = old.unwrap_or(new);
        self.execution(&new, ExecType::Replaced, now, |body| {
            body.bytes(41, old.as_bytes());
        })
    }

    fn rejected(&mut self, rejected: &RequestRejected<'_>, now: Now) -> io::Result<()> {
        let id = rejected.client_id;
        let Some(pending) = self.take_pending(|pending| pending.target == id) else {
            return Ok(());
        };
        self.refused(&pending, &rejected.reason, now)
    }

    /// Reports that the exchange rejects a request.
    fn refused(&mut self, pending: &PendingRequest, reason: &str, now: Now) -> io::Result<()> {
        let id = pending.target;
        match &pending.kind {
            RequestKind::New => {
                let Some(order) = self.orders.get_mut(&id) else { return Ok(()) };
                (order.status, order.leaves) = ('8', Decimal::ZERO);
                self.orders.ended(id);
                self.execution(&id, ExecType::Rejected, now, |body| {
                    body.number(103, 99).text(58, reason);
                })
            }
            RequestKind::Cancel(_) | RequestKind::Replace => {
                self.order_cancel_reject(pending, reason, now)
            }
            RequestKind::MassCancel(_) => self.mass_cancel_report(pending, Err(reason), now),
            RequestKind::Status(question) => {
                let standing = Standing::Unknown { reason };
                self.answer_status(&id, question, standing, now)
            }
            RequestKind::Take => Ok(()),
        }
    }

    /// An error that names no request: the exchange answers in order, so it is about the oldest,
    /// which gets no other reply.
    fn error(&mut self, reason: &str, now: Now) -> io::Result<()> {
        let Some(oldest) = self.pending.pop_front() else { return Ok(()) };
        match oldest.kind {
            // The order may well be known.
            RequestKind::Status(_) => self.send("j", now, |body| {
                body.text(372, "H").number(380, 0).text(58, reason);
            }),
            _ => self.refused(&oldest, reason, now),
        }
    }
}

/// The fields of a reply about an order that the desk may not know.
struct OrderFields<'a> {
    symbol: &'a str,
    side: Side,
    leaves: Decimal,
    /// Where it rests, if it does.
    price: Option<Decimal>,
}

impl<'a> OrderFields<'a> {
    fn of(symbol: &'a str, side: Side, leaves: Decimal) -> OrderFields<'a> {
        OrderFields { symbol, side, leaves, price: None }
    }
}

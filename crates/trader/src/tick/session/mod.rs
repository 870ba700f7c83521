//! The order session: encodes order intents, decodes replies. It has one implementation for the
//! exchange and one for the floor; the loop knows no other difference between them.

pub(super) mod exchange;
pub(super) mod raw;

use crate::session::codec::{ExecutionReport, OrderEvent, Reply};
use crate::session::standing::OrderStanding;
use crate::strategy::OrderIntent;
use crate::strategy::own_orders::{OwnOrder, PendingRequest};
use clock::Clock;
use feed::RecoveryRequest;
use plan::process::ticks::TickPlan;
use std::io;
use std::net::SocketAddr;
use transport::Connection;
use wire::reply::DoneStatus;
use wire::request::DeliveryClock;

impl ExecutionReport {
    /// Whether this report answers the order's pending request, and whether the exchange accepted
    /// that. AMENDED answers an amendment; the BOOKED behind it answers nothing. An event that may
    /// also happen without a request is an answer only if it carries stamps.
    pub(crate) fn answers(&self, order: &OwnOrder) -> Option<bool> {
        match (order.pending?, self.event) {
            (_, OrderEvent::Rejected) => Some(false),
            (PendingRequest::Amend { .. }, OrderEvent::Amended) => Some(true),
            (
                PendingRequest::New,
                OrderEvent::Filled { .. } | OrderEvent::Done(DoneStatus::Filled),
            ) => self.stamps.map(|_| true),
            (PendingRequest::New, OrderEvent::Booked { .. } | OrderEvent::Done(_)) => Some(true),
            (PendingRequest::Cancel, OrderEvent::Done(DoneStatus::Filled)) => None,
            (PendingRequest::Cancel, OrderEvent::Done(_)) => self.stamps.map(|_| true),
            _ => None,
        }
    }
}

pub(crate) type StampedReply = crate::session::codec::StampedReply<Reply>;

/// Requests off the hot path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    StartFlow,
    Describe,
    Feed(RecoveryRequest),
}

/// Another exchange to go on at.
pub(crate) struct Join<'a> {
    pub(crate) plan: &'a TickPlan,
    /// `HOST:PORT`.
    pub(crate) target: &'a str,
    /// Where the feed is to go.
    pub(crate) feed: SocketAddr,
    /// The numbers of the orders to ask about.
    pub(crate) orders: &'a [u64],
}

/// A connection to that exchange, logged on and subscribed.
pub(crate) struct JoinedSession {
    pub(crate) stream: Connection,
    /// The state of each order there.
    pub(crate) standings: Vec<OrderStanding>,
    /// Its clock, if that is one of this machine.
    pub(crate) clock: Option<Clock>,
}

/// One connection to an exchange, and its codec.
pub(crate) trait OrderSession {
    /// Appends the message for order `number` to `out`.
    fn encode(&mut self, intent: &OrderIntent, number: u64, out: &mut Vec<u8>);

    /// Whether new orders shall say which tick caused them.
    fn carries_clocks(&self) -> bool {
        false
    }

    /// The delivery clock of the new orders from here on; `None`: they have none.
    fn answers(&mut self, _delivery: Option<DeliveryClock>) {}

    /// Appends a request; a session that does not know it appends nothing.
    fn encode_request(&mut self, request: Request, out: &mut Vec<u8>);

    /// Continues with a fresh connection to another exchange.
    ///
    /// # Errors
    /// If that one does not answer as it should, or this session can't change.
    fn join(&mut self, _join: &Join<'_>) -> io::Result<JoinedSession> {
        Err(io::Error::other("this session has one exchange"))
    }

    /// Where the next bytes go; not empty.
    fn space(&mut self) -> &mut [u8];

    /// `n` bytes were put there by a read that returned at `stamp_ns`.
    fn filled(&mut self, n: usize, stamp_ns: u64);

    /// The next whole message. What the session itself must answer (a pong) is appended to `out`.
    ///
    /// # Errors
    /// If the stream can't be decoded any more, in words.
    fn next(&mut self, out: &mut Vec<u8>) -> Result<Option<StampedReply>, String>;

    /// The first rejection or unexpected message, in words.
    fn first_complaint(&self) -> Option<&str>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::own_orders::OwnOrders;
    use engine::Side;

    const STAMPS: Option<wire::reply::Stamps> = Some([1, 2, 3, 4]);

    /// An amended order enters the book again: BOOKED follows AMENDED, both with the stamps of one
    /// command. If they arrived in two reads, and a tick between them led to the next amendment,
    /// BOOKED was once taken for the answer to that.
    #[test]
    fn each_message_is_answered_by_its_own_kind() {
        let mut orders = OwnOrders::default();
        let number = orders.enter(Side::Buy, 100, 5, true).unwrap();
        let moved = PendingRequest::Amend { price_ticks: 99, quantity_lots: 5 };
        let mut answers = |pending, event, stamps| {
            orders.living(number)?.pending = pending;
            ExecutionReport { number, event, stamps }.answers(orders.at(number))
        };
        let booked = OrderEvent::Booked { order_id: 7 };
        let filled = OrderEvent::Filled { price_ticks: 100, quantity_lots: 1, trade_id: 1 };
        let (closed, traded) =
            (OrderEvent::Done(DoneStatus::Closed), OrderEvent::Done(DoneStatus::Filled));
        for (pending, event, stamps, expected) in [
            (PendingRequest::New, booked, STAMPS, Some(true)),
            (PendingRequest::New, filled, STAMPS, Some(true)),
            (PendingRequest::New, closed, STAMPS, Some(true)),
            (moved, OrderEvent::Amended, STAMPS, Some(true)),
            (moved, booked, STAMPS, None),
            (moved, filled, STAMPS, None),
            // The session closed, or its own side met it; the amendment's rejection follows.
            (moved, closed, None, None),
            (moved, traded, None, None),
            (PendingRequest::Cancel, closed, STAMPS, Some(true)),
            (PendingRequest::Cancel, closed, None, None),
            (PendingRequest::Cancel, filled, None, None),
            (moved, OrderEvent::Rejected, STAMPS, Some(false)),
        ] {
            assert_eq!(answers(Some(pending), event, stamps), expected, "{pending:?} {event:?}");
        }
        assert_eq!(answers(None, booked, STAMPS), None, "nobody pending");
    }
}

//! Asks the next exchange about orders that were in flight when the last one was lost.

use crate::session::web::WebSession;
use std::io;
use transport::Blocking;
use wire::reply::{DoneStatus, Reply};
use wire::request::{OrderStatus, encode_order_status};

/// The state of an order after an outage, as the exchange says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OrderStanding {
    /// It is open.
    Open,
    /// All of it traded.
    Filled,
    /// It was accepted, and ended otherwise: its cancel was executed, for example.
    Ended,
    /// The exchange does not know it: it was never accepted, or ended long ago.
    #[default]
    Unknown,
}

impl OrderStanding {
    /// As a reply to the question says; `None` for a reply to something else.
    pub(crate) fn of(reply: &Reply<'_>) -> Option<OrderStanding> {
        match reply {
            Reply::Open(_) => Some(OrderStanding::Open),
            Reply::Ended(ended) => Some(match ended.status {
                DoneStatus::Filled => OrderStanding::Filled,
                _ => OrderStanding::Ended,
            }),
            Reply::Rejected(_) => Some(OrderStanding::Unknown),
            _ => None,
        }
    }
}

/// Asks about orders on a connection that is logged on; the answers are in the same order.
pub(crate) fn ask(
    session: &mut WebSession,
    stream: &mut dyn Blocking,
    orders: &[OrderStatus<'_>],
) -> io::Result<Vec<OrderStanding>> {
    for order in orders {
        session.send(stream, |out| encode_order_status(out, order))?;
    }
    let mut standings = Vec::new();
    while standings.len() < orders.len() {
        let standing = |reply: &Reply<'_>, _: &[u8]| OrderStanding::of(reply);
        standings.push(session.wait_for(stream, "ORDER_STATUS", standing)?);
    }
    Ok(standings)
}

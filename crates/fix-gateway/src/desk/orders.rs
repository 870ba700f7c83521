//! A session's orders: the fields that execution reports must repeat and the exchange's replies do
//! not have.

use super::number::Traded;
use std::collections::{HashMap, VecDeque};
use wire::OrderId;
use wire::client_id::ClientId;
use wire::decimal::Decimal;
use wire::request::Side;

/// Ended orders that a session still knows, for status requests and PossResend.
pub(crate) const ENDED_ORDERS_MAX: usize = 10_000;

/// An order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Order {
    pub symbol: String,
    pub side: Side,
    /// OrdType (40); `None` for an order of an earlier life that the store no longer knows.
    pub kind: Option<char>,
    pub quantity: Option<Decimal>,
    pub price: Option<Decimal>,
    pub stop: Option<Decimal>,
    /// OrderID (37), once the exchange has given it.
    pub order_id: Option<String>,
    pub traded: Traded,
    pub leaves: Decimal,
    /// OrdStatus (39).
    pub status: char,
}

impl Order {
    /// Whether it can't trade any more.
    pub fn has_ended(&self) -> bool {
        matches!(self.status, '2' | '4' | '8' | 'C')
    }

    /// Takes OrderID (37) from a reply.
    pub fn set_id(&mut self, order_id: OrderId) {
        self.order_id = Some(String::from_utf8_lossy(&order_id.text()).into_owned());
    }

    /// Whether the exchange has answered.
    pub fn is_acknowledged(&self) -> bool {
        self.status != 'A'
    }
}

/// The orders of a session by ClOrdID.
#[derive(Debug, Default)]
pub(super) struct Orders {
    by_id: HashMap<ClientId, Order>,
    /// Those that have ended, the oldest first.
    ended: VecDeque<ClientId>,
}

impl Orders {
    pub fn get(&self, id: &ClientId) -> Option<&Order> {
        self.by_id.get(id)
    }

    pub fn get_mut(&mut self, id: &ClientId) -> Option<&mut Order> {
        self.by_id.get_mut(id)
    }

    /// Adds an order, in place of an ended one with the same id.
    pub fn insert(&mut self, id: ClientId, order: Order) {
        self.ended.retain(|ended| *ended != id);
        self.by_id.insert(id, order);
    }

    /// Gives an order another id.
    pub fn rename(&mut self, from: &ClientId, to: ClientId) {
        if let Some(order) = self.by_id.remove(from) {
            self.insert(to, order);
        }
    }

    /// An order has ended; the oldest ended ones beyond [`ENDED_ORDERS_MAX`] are forgotten.
    pub fn ended(&mut self, id: ClientId) {
        self.ended.push_back(id);
        if self.ended.len() > ENDED_ORDERS_MAX
            && let Some(oldest) = self.ended.pop_front()
        {
            self.by_id.remove(&oldest);
        }
    }
}

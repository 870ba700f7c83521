//! A session's orders: the fields that execution reports must repeat and the exchange's replies do
//! not have.

use super::number::TradedAmount;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use wire::OrderId;
use wire::client_id::ClientId;
use wire::decimal::Decimal;
use wire::request::Side;

/// Ended orders that a session still knows, for status requests and PossResend.
pub(crate) const ENDED_ORDERS_MAX: usize = 10_000;

/// An order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Order {
    pub symbol: Arc<str>,
    pub side: Side,
    /// OrdType (40); `None` for an order of an earlier life that the store no longer knows.
    pub kind: Option<char>,
    pub quantity: Option<Decimal>,
    pub price: Option<Decimal>,
    pub stop: Option<Decimal>,
    /// OrderID (37), once the exchange has given it.
    pub order_id: Option<OrderId>,
    pub traded: TradedAmount,
    pub leaves: Decimal,
    /// OrdStatus (39).
    pub status: char,
    /// It was a stop, whose price was reached.
    pub is_triggered: bool,
}

impl Order {
    /// One of which nothing else is known: an open one. Trades before this are not counted.
    pub fn seen(symbol: Arc<str>, side: Side, leaves: Decimal) -> Order {
        Order {
            symbol,
            side,
            kind: None,
            quantity: None,
            price: None,
            stop: None,
            order_id: None,
            traded: TradedAmount::default(),
            leaves,
            status: '0',
            is_triggered: false,
        }
    }

    /// Whether it can't trade any more.
    pub fn has_ended(&self) -> bool {
        matches!(self.status, '2' | '4' | '8' | 'C')
    }

    /// Whether the exchange has answered.
    pub fn is_acknowledged(&self) -> bool {
        self.status != 'A'
    }
}

/// An order, and the number of its end.
#[derive(Debug)]
struct KnownOrder {
    order: Order,
    /// 0 while it is open.
    end: u64,
}

/// The orders of a session by ClOrdID.
#[derive(Debug, Default)]
pub(super) struct Orders {
    by_id: HashMap<ClientId, KnownOrder>,
    /// Ends and their numbers, the oldest first. An id that is used again has another number then:
    /// to look for its former end here would take longer than all else that an order costs.
    ended: VecDeque<(ClientId, u64)>,
    ends: u64,
}

impl Orders {
    pub fn get(&self, id: &ClientId) -> Option<&Order> {
        self.by_id.get(id).map(|known| &known.order)
    }

    pub fn get_mut(&mut self, id: &ClientId) -> Option<&mut Order> {
        self.by_id.get_mut(id).map(|known| &mut known.order)
    }

    /// Adds an order, in place of an ended one with the same id.
    pub fn insert(&mut self, id: ClientId, order: Order) {
        self.by_id.insert(id, KnownOrder { order, end: 0 });
    }

    /// Forgets an order.
    pub fn remove(&mut self, id: &ClientId) {
        self.by_id.remove(id);
    }

    /// The ids of the orders that have not ended.
    pub fn open(&self) -> impl Iterator<Item = &ClientId> {
        self.by_id.iter().filter(|(_, known)| !known.order.has_ended()).map(|(id, _)| id)
    }

    /// Gives an order another id.
    pub fn rename(&mut self, from: &ClientId, to: ClientId) {
        if let Some(known) = self.by_id.remove(from) {
            self.insert(to, known.order);
        }
    }

    /// An order has ended; the oldest ended ones beyond [`ENDED_ORDERS_MAX`] are forgotten.
    pub fn ended(&mut self, id: ClientId) {
        let Some(known) = self.by_id.get_mut(&id) else { return };
        self.ends += 1;
        known.end = self.ends;
        self.ended.push_back((id, self.ends));
        if self.ended.len() > ENDED_ORDERS_MAX
            && let Some((oldest, end)) = self.ended.pop_front()
            && self.by_id.get(&oldest).is_some_and(|known| known.end == end)
        {
            self.by_id.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: usize) -> ClientId {
        ClientId::new(&format!("order-{number}")).unwrap()
    }

    fn order() -> Order {
        Order { status: '4', ..Order::seen("BTC_USDT".into(), Side::Buy, Decimal::default()) }
    }

    /// The ended ones are few, and an open one is never forgotten, whatever its id was before.
    #[test]
    fn an_order_is_not_forgotten_with_the_former_one_of_its_id() {
        let mut orders = Orders::default();
        for number in 0..=ENDED_ORDERS_MAX {
            orders.insert(id(number), order());
            orders.ended(id(number));
        }
        assert_eq!((orders.get(&id(0)), orders.get(&id(1)).is_some()), (None, true));
        orders.insert(id(1), order());
        for number in 0..ENDED_ORDERS_MAX {
            let number = 2 * ENDED_ORDERS_MAX + number;
            orders.insert(id(number), order());
            orders.ended(id(number));
        }
        assert!(orders.get(&id(1)).is_some() && orders.get(&id(2)).is_none());
        assert_eq!(orders.by_id.len(), ENDED_ORDERS_MAX + 1);
    }
}

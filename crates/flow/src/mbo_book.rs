//! The live orders of one instrument, from Databento's MBO records.
//!
//! The rules are those of the format's documentation (schema mbo, flags, MBO snapshots) and of its
//! example book (<https://databento.com/docs/examples/order-book/limit-order-book>): what that
//! book asserts is an error here.

use dbn::{Action, MboMsg};
use engine::Side;
use std::collections::{HashMap, HashSet};

/// An order that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveOrder {
    /// Its side.
    pub side: Side,
    /// Its price, in 10^-9.
    pub price: i64,
    /// The remaining quantity.
    pub size: u32,
    /// The order with the lower number trades first at a price.
    pub(crate) priority: u64,
}

/// The identity of an order of the instrument: publishers number their orders independently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct OrderKey {
    publisher: u16,
    id: OrderId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum OrderId {
    Numbered(u64),
    /// The one level of a side, from a publisher that sends the top of its book (F_TOB).
    TopBid,
    TopAsk,
}

/// The open orders of one instrument: that of the first record, from all publishers.
#[derive(Debug, Default)]
pub(crate) struct LiveOrders {
    instrument_id: Option<u32>,
    pub(crate) orders: HashMap<OrderKey, LiveOrder>,
    /// Publishers with orders, and whether they send only the top of their book.
    sends_top: HashMap<u16, bool>,
    /// Publishers whose last record does not end its event.
    in_event: HashSet<u16>,
    /// Some record carries F_LAST.
    marks_ends: bool,
    records: u64,
}

impl LiveOrders {
    /// Whether the record is of the instrument.
    pub(crate) fn is_of_it(&mut self, record: &MboMsg) -> bool {
        *self.instrument_id.get_or_insert(record.hd.instrument_id) == record.hd.instrument_id
    }

    /// Takes one record. Returns the orders that it changed.
    ///
    /// F_BAD_TS_RECV changes nothing, because no time of reception is used. F_SNAPSHOT allows a
    /// record to repeat an order that is in the book.
    ///
    /// # Errors
    /// If the book after it is unknown.
    pub(crate) fn apply(&mut self, record: &MboMsg) -> Result<Vec<OrderKey>, String> {
        if !self.is_of_it(record) {
            return Ok(Vec::new());
        }
        self.records += 1;
        let publisher = record.hd.publisher_id;
        if record.flags.is_last() {
            self.in_event.remove(&publisher);
            self.marks_ends = true;
        } else {
            self.in_event.insert(publisher);
        }
        let action = record.action().map_err(|_| {
            format!(
                "has the action {:?}, which the format does not define",
                record.action as u8 as char
            )
        })?;
        match action {
            // A Cancel or a Modify comes with them.
            Action::Trade | Action::Fill | Action::None => return Ok(Vec::new()),
            Action::Clear => return Ok(self.clear(publisher)),
            Action::Add | Action::Modify | Action::Cancel => {}
        }
        if record.flags.is_maybe_bad_book() {
            return Err("follows a gap in the recording (F_MAYBE_BAD_BOOK)".to_owned());
        }
        if record.flags.is_mbp() {
            return Err("is a price level and not an order (F_MBP)".to_owned());
        }
        let side = side(record).ok_or("changes an order but names no side")?;
        if *self.sends_top.entry(publisher).or_insert(record.flags.is_tob())
            != record.flags.is_tob()
        {
            let which = "is of a publisher that sends orders and tops of the book (F_TOB)";
            return Err(which.to_owned());
        }
        let numbered = OrderKey { publisher, id: OrderId::Numbered(record.order_id) };
        match (action, self.orders.get(&numbered).copied()) {
            _ if record.flags.is_tob() => self.top(record, side),
            (Action::Cancel, Some(live)) => self.cancel(numbered, live, record),
            (Action::Cancel, None) => Err(format!(
                "cancels order {}, which is not in the book; a file begins with a snapshot or \
                 before the session",
                record.order_id
            )),
            (Action::Modify, Some(live)) => self.modify(numbered, live, record, side),
            // The example book, too, adds an order that it is asked to modify and doesn't know.
            (_, None) => self.insert(numbered, record, side),
            (_, Some(live)) => {
                let repeats =
                    (live.side, live.price, live.size) == (side, record.price, record.size);
                match record.flags.is_snapshot() && repeats {
                    true => Ok(Vec::new()),
                    false => Err(format!("adds order {}, which is in the book", record.order_id)),
                }
            }
        }
    }

    /// Why the end of the records is not the end of an event, if so: a book within an event is not
    /// one that the venue had.
    pub(crate) fn unfinished(&self) -> Option<&'static str> {
        let is_within = self.marks_ends && !self.in_event.is_empty();
        is_within.then_some("is the file's last, but its event has no end (F_LAST)")
    }

    /// Removes the orders of one publisher.
    fn clear(&mut self, publisher: u16) -> Vec<OrderKey> {
        let mut cleared: Vec<OrderKey> = self
            .orders
            .extract_if(|key, _| key.publisher == publisher)
            .map(|(key, _)| key)
            .collect();
        cleared.sort_unstable();
        cleared
    }

    /// The top of a publisher's book replaces the side; without a price the side is empty.
    fn top(&mut self, record: &MboMsg, side: Side) -> Result<Vec<OrderKey>, String> {
        if matches!(record.action(), Ok(Action::Cancel)) {
            return Err("cancels the top of a book; an Add must replace it (F_TOB)".to_owned());
        }
        let id = if side == Side::Buy { OrderId::TopBid } else { OrderId::TopAsk };
        let key = OrderKey { publisher: record.hd.publisher_id, id };
        if record.price == dbn::UNDEF_PRICE {
            return Ok(self.orders.remove(&key).map(|_| key).into_iter().collect());
        }
        self.insert(key, record, side)
    }

    fn insert(
        &mut self,
        key: OrderKey,
        record: &MboMsg,
        side: Side,
    ) -> Result<Vec<OrderKey>, String> {
        let priority = self.records;
        let live = LiveOrder { side, price: price(record)?, size: record.size, priority };
        self.orders.insert(key, live);
        Ok(vec![key])
    }

    /// Another price or a larger size loses the priority.
    fn modify(
        &mut self,
        key: OrderKey,
        live: LiveOrder,
        record: &MboMsg,
        side: Side,
    ) -> Result<Vec<OrderKey>, String> {
        if live.side != side {
            return Err(format!("moves order {} to the other side", record.order_id));
        }
        let (price, size) = (price(record)?, record.size);
        let keeps = live.price == price && size <= live.size;
        let priority = if keeps { live.priority } else { self.records };
        self.orders.insert(key, LiveOrder { side, price, size, priority });
        Ok(vec![key])
    }

    fn cancel(
        &mut self,
        key: OrderKey,
        live: LiveOrder,
        record: &MboMsg,
    ) -> Result<Vec<OrderKey>, String> {
        let size = live.size.checked_sub(record.size).ok_or_else(|| {
            format!("cancels {} of order {}, which has {}", record.size, record.order_id, live.size)
        })?;
        match size {
            0 => drop(self.orders.remove(&key)),
            _ => drop(self.orders.insert(key, LiveOrder { size, ..live })),
        }
        Ok(vec![key])
    }

    /// In the order in which they trade, without those of size 0.
    pub(crate) fn in_priority(self) -> Vec<LiveOrder> {
        let mut live: Vec<LiveOrder> = self.orders.into_values().collect();
        live.retain(|order| order.size > 0);
        live.sort_unstable_by_key(|order| order.priority);
        live
    }
}

/// The side that a record names.
pub(crate) fn side(record: &MboMsg) -> Option<Side> {
    match record.side as u8 {
        b'B' => Some(Side::Buy),
        b'A' => Some(Side::Sell),
        _ => None,
    }
}

fn price(record: &MboMsg) -> Result<i64, String> {
    match record.price {
        dbn::UNDEF_PRICE => Err(format!("gives order {} no price", record.order_id)),
        price => Ok(price),
    }
}

#[cfg(test)]
#[path = "mbo_book_tests.rs"]
mod tests;

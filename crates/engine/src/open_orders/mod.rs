//! The open orders of all books, found by queue, by id, by date and by account. All tables always
//! hold the same orders.

pub(crate) mod accounts;
pub(crate) mod expiry;
pub(crate) mod index;

use crate::book::levels::Levels;
use crate::book::queue::{Handle, Order, OrderSlab, Queue};
use crate::event::{DoneReason, Event};
use crate::limits::EngineLimits;
use crate::open_orders::accounts::Accounts;
use crate::open_orders::expiry::Expiries;
use crate::open_orders::index::OrderIndex;

#[derive(Debug)]
pub(crate) struct OpenOrders {
    pub slab: OrderSlab,
    pub ids: OrderIndex,
    pub expiries: Expiries,
    pub accounts: Accounts,
}

impl OpenOrders {
    pub fn new(instruments: u16, limits: &EngineLimits) -> OpenOrders {
        OpenOrders {
            slab: OrderSlab::new(limits.open_orders_max),
            ids: OrderIndex::new(limits.open_orders_max),
            expiries: Expiries::new(limits.expiring_orders_max),
            accounts: Accounts::new(instruments, limits),
        }
    }

    /// Adds an order, last in the queue at a price. `None`, without any change, if no slot or level
    /// is free.
    ///
    /// The other tables have room: their limits are checked before an order enters, and the engine
    /// has checked that the id is not open. Continuing otherwise would mean trading on a broken
    /// book.
    #[inline]
    pub fn join(
        &mut self,
        levels: &mut Levels,
        price_ticks: i64,
        mut order: Order,
        expires_ns: u64,
    ) -> Option<Handle> {
        if self.slab.is_full() {
            return None;
        }
        order.level = levels.find_or_insert(price_ticks)?;
        let queue = &mut levels.level_mut(order.level).queue;
        let handle = self.slab.push_last(queue, order)?;
        self.ids.insert(order.order_id, handle);
        if expires_ns != 0 {
            self.expiries.insert(expires_ns, handle, &mut self.slab);
        }
        self.accounts.joined(order.account, handle);
        Some(handle)
    }

    /// The open order with an id.
    #[inline]
    pub fn find(&self, order_id: u64) -> Option<Handle> {
        self.ids.find(order_id, |handle| self.slab.get(handle).order_id == order_id)
    }

    /// Removes an order from its queue and from all tables.
    #[inline]
    pub fn take(&mut self, queue: &mut Queue, handle: Handle) -> Order {
        let order = self.slab.remove(queue, handle);
        self.ids.remove(order.order_id, handle);
        if order.expiry != 0 {
            self.expiries.remove(order.expiry, &mut self.slab);
        }
        self.accounts.left(order.account, handle);
        order
    }

    /// Ends an order.
    #[inline]
    pub fn end(
        &mut self,
        queue: &mut Queue,
        handle: Handle,
        reason: DoneReason,
        events: &mut impl FnMut(Event),
    ) {
        let order = self.take(queue, handle);
        self.done(&order, reason, events);
    }

    /// Reports the end of a removed order, which never returns.
    #[inline]
    pub fn done(&mut self, order: &Order, reason: DoneReason, events: &mut impl FnMut(Event)) {
        let Order { account, instrument, side, .. } = *order;
        let order = order.party();
        self.accounts.closed(account, instrument, side, order.remaining_lots);
        events(Event::Done { instrument, order, reason });
    }
}

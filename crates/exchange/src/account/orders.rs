//! The clients' open orders: the fields of a report that the engine does not keep, and the lookup
//! of an order by client id. Also how the latest ones ended.
//!
//! Orders are in a slab; an order's index there is the engine's `tag`, so that an event finds it
//! without a search. A hash of the client id finds it too, at 16 bytes an entry instead of 80. Two
//! ids of one account with the same 64-bit hash can't be open together: the exchange rejects the
//! second. By accident that does not happen, and a client that contrives it harms only itself.

use crate::account::ended::{EndedOrder, EndedOrders};
use crate::account::sessions::Sender;
use clock::random::SplitMix64;
use engine::DoneReason;
use engine::ids::FlatMap;
use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroU32;
use wire::ClientId;

/// The tag of the exchange's own orders, which are not in the slab.
pub(crate) const NO_TAG: u32 = 0;

/// An order that its client sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientOrder {
    pub client_id: ClientId,
    pub order_id: u64,
    /// The whole amount, or the amount of the last amendment.
    pub quantity_lots: u64,
    pub account: u32,
    pub instrument: u16,
    /// Whether it has an expiry.
    pub expires: bool,
    pub sender: Sender,
}

/// Why an order can't be inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InsertError {
    /// An order with this client id is open.
    DuplicateClientId,
    /// Another client id has the same hash.
    HashCollision,
    /// `open_orders_max`.
    Full,
}

#[derive(Clone, Copy)]
struct Slot {
    order: ClientOrder,
    key: u64,
}

pub(crate) struct ClientOrders {
    by_client_id: FlatMap<u64, NonZeroU32>,
    /// Slot 0 is never used.
    slots: Vec<Slot>,
    free: Vec<NonZeroU32>,
    /// Number of open orders with an expiry.
    expiring: u32,
    ended: EndedOrders,
    /// Random key of the hash: a client that does not know it can't choose ids that collide. It has
    /// no effect on replies.
    secret: u64,
}

impl ClientOrders {
    /// Room for `open_orders_max` open orders and for the one that is being matched. Remembers how
    /// the last `ended_orders_max` orders ended.
    pub fn new(open_orders_max: u32, ended_orders_max: u32) -> ClientOrders {
        let capacity = open_orders_max + 1;
        let sender = Sender::NOBODY;
        let client_id = ClientId::new("-").expect("one character");
        let order = ClientOrder {
            client_id,
            order_id: 0,
            quantity_lots: 0,
            account: 0,
            instrument: 0,
            expires: false,
            sender,
        };
        ClientOrders {
            by_client_id: FlatMap::new(capacity),
            // Not all zeros, so that every page is touched here and not on the hot path.
            slots: vec![Slot { order, key: 0 }; capacity as usize + 1],
            free: (1..=capacity).rev().filter_map(NonZeroU32::new).collect(),
            expiring: 0,
            ended: EndedOrders::new(ended_orders_max),
            secret: RandomState::new().hash_one(0),
        }
    }

    /// Adds recovered orders under their old tags. Call it before any other order is inserted.
    ///
    /// # Errors
    /// The first order that can't be added.
    pub fn restore<T>(&mut self, orders: Vec<(u32, ClientOrder, T)>) -> Result<(), T> {
        let mut used = vec![false; self.slots.len()];
        for (tag, order, or) in orders {
            let fits = |tag: &NonZeroU32| (tag.get() as usize) < used.len();
            let Some(slot) = NonZeroU32::new(tag).filter(fits) else { return Err(or) };
            let key = self.key(order.account, &order.client_id);
            let twice = std::mem::replace(&mut used[tag as usize], true);
            if twice || self.by_client_id.insert(key, slot).is_err() {
                return Err(or);
            }
            self.slots[tag as usize] = Slot { order, key };
            self.expiring += u32::from(order.expires);
        }
        self.free.retain(|tag| !used[tag.get() as usize]);
        Ok(())
    }

    /// Adds a recovered order that has ended; the oldest first.
    pub fn restore_ended(&mut self, account: u32, client_id: &ClientId, ended: EndedOrder) {
        self.ended.add(self.key(account, client_id), ended);
    }

    fn key(&self, account: u32, client_id: &ClientId) -> u64 {
        let of_account = SplitMix64::new(self.secret ^ u64::from(account)).bits();
        SplitMix64::new(of_account ^ client_id.hash64()).bits()
    }

    /// Inserts an order and returns its tag.
    #[inline]
    pub fn insert(&mut self, order: ClientOrder) -> Result<u32, InsertError> {
        self.insert_at(self.key(order.account, &order.client_id), order)
    }

    fn insert_at(&mut self, key: u64, order: ClientOrder) -> Result<u32, InsertError> {
        if let Some(tag) = self.by_client_id.get(&key) {
            return Err(self.taken(tag, order.account, &order.client_id));
        }
        let tag = self.free.pop().ok_or(InsertError::Full)?;
        // The map has as much room as the slab, and the key was not there.
        if self.by_client_id.insert(key, tag).is_err() {
            self.free.push(tag);
            return Err(InsertError::Full);
        }
        self.slots[tag.get() as usize] = Slot { order, key };
        self.expiring += u32::from(order.expires);
        Ok(tag.get())
    }

    /// The open order of an account by its client's id, and its tag.
    #[inline]
    pub fn find(&self, account: u32, client_id: &ClientId) -> Option<(u32, &ClientOrder)> {
        let tag = self.by_client_id.get(&self.key(account, client_id))?.get();
        let order = &self.slots[tag as usize].order;
        (order.account == account && order.client_id == *client_id).then_some((tag, order))
    }

    /// Whether an order may take this id instead of its own.
    ///
    /// # Errors
    /// The errors of [`ClientOrders::insert`].
    pub fn check_rename(&self, account: u32, client_id: &ClientId) -> Result<(), InsertError> {
        let key = self.key(account, client_id);
        self.by_client_id.get(&key).map_or(Ok(()), |tag| Err(self.taken(tag, account, client_id)))
    }

    /// Why the key of a client id is taken.
    fn taken(&self, tag: NonZeroU32, account: u32, client_id: &ClientId) -> InsertError {
        let there = &self.slots[tag.get() as usize].order;
        match there.account == account && there.client_id == *client_id {
            true => InsertError::DuplicateClientId,
            false => InsertError::HashCollision,
        }
    }

    /// Sets the amount of an open order and, if given, a new client id, for which
    /// [`ClientOrders::check_rename`] returned `Ok`.
    pub fn amend(&mut self, tag: u32, client_id: Option<&ClientId>, quantity_lots: u64) {
        let Some(tag) = NonZeroU32::new(tag) else { return };
        let account = self.slots[tag.get() as usize].order.account;
        let key = client_id.map(|client_id| self.key(account, client_id));
        let slot = &mut self.slots[tag.get() as usize];
        slot.order.quantity_lots = quantity_lots;
        if let (Some(client_id), Some(key)) = (client_id, key) {
            self.by_client_id.remove(&slot.key);
            (slot.order.client_id, slot.key) = (*client_id, key);
            // An entry was removed just before, and the new key was not there.
            let inserted = self.by_client_id.insert(key, tag);
            debug_assert!(inserted.is_ok());
        }
    }

    /// Reports about an order go to that connection from now on.
    pub fn set_sender(&mut self, tag: u32, sender: Sender) {
        if tag != NO_TAG {
            self.slots[tag as usize].order.sender = sender;
        }
    }

    /// The open order with this tag; `None` for [`NO_TAG`].
    #[inline]
    pub fn get(&self, tag: u32) -> Option<&ClientOrder> {
        (tag != NO_TAG).then(|| &self.slots[tag as usize].order)
    }

    /// How the latest order of an account with this client id ended; `None` if it is not known.
    pub fn find_ended(&self, account: u32, client_id: &ClientId) -> Option<EndedOrder> {
        self.ended.find(self.key(account, client_id))
    }

    /// Removes an order that has ended, and remembers how. Does nothing for [`NO_TAG`].
    #[inline]
    pub fn end(&mut self, tag: u32, reason: DoneReason) {
        if tag != NO_TAG {
            let Slot { order, key } = &self.slots[tag as usize];
            self.ended.add(*key, EndedOrder { order_id: order.order_id, reason });
            self.remove(tag);
        }
    }

    /// Removes an order that was not accepted. Its client id may be used again. Does nothing for
    /// [`NO_TAG`].
    #[inline]
    pub fn remove(&mut self, tag: u32) {
        let Some(tag) = NonZeroU32::new(tag) else { return };
        let Slot { order, key } = &self.slots[tag.get() as usize];
        self.by_client_id.remove(key);
        self.expiring -= u32::from(order.expires);
        self.free.push(tag);
    }

    /// Number of open orders with an expiry.
    pub fn expiring(&self) -> u32 {
        self.expiring
    }
}

#[cfg(test)]
#[path = "orders_tests.rs"]
mod tests;

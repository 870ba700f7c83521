//! The clients' open orders: what a report says and the engine does not know, and how an order is
//! found by its client's id.
//!
//! An order stands in a slab; its index there is the engine's `tag`, so that an event leads to it
//! without a search. From the client's id a hash leads to it, 16 bytes an entry where the id itself
//! would take 80. Two ids of one account with the same 64-bit hash can't be open together: by
//! accident that does not happen, and a client that contrives it is told and harms itself alone.

use crate::sessions::Sender;
use engine::ids::FlatMap;
use measure::random::SplitMix64;
use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroU32;
use transport::StreamId;
use wire::ClientId;

/// The tag of the start book's orders, which are in no slab.
pub(crate) const NO_TAG: u32 = 0;

/// An order that its client sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientOrder {
    pub client_id: ClientId,
    pub order_id: u64,
    /// The whole amount.
    pub quantity_lots: u64,
    pub account: u32,
    pub instrument: u16,
    pub sender: Sender,
}

/// Why an order can't be taken in.
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
    /// By account: orders that rest or are being matched.
    open_of_account: Vec<u32>,
    /// Decides where an id falls in the table, and nothing that a client sees: who does not know it
    /// can't choose ids that fall together.
    secret: u64,
}

impl ClientOrders {
    /// Room for so many orders that rest, and for the one that is being matched.
    pub fn new(open_orders_max: u32, accounts_max: u32) -> ClientOrders {
        let capacity = open_orders_max + 1;
        let sender = Sender::of(StreamId(u32::MAX), u32::MAX);
        let client_id = ClientId::new("-").expect("one character");
        let (account, instrument, quantity_lots) = (0, 0, 0);
        let order =
            ClientOrder { client_id, order_id: 0, quantity_lots, account, instrument, sender };
        ClientOrders {
            by_client_id: FlatMap::new(capacity),
            // Not all zeros, so every page is written to here and not on the path.
            slots: vec![Slot { order, key: 0 }; capacity as usize + 1],
            free: (1..=capacity).rev().filter_map(NonZeroU32::new).collect(),
            open_of_account: vec![0; accounts_max as usize + 1],
            secret: RandomState::new().hash_one(0),
        }
    }

    fn key(&self, account: u32, client_id: &ClientId) -> u64 {
        let of_account = SplitMix64::new(self.secret ^ u64::from(account)).bits();
        SplitMix64::new(of_account ^ client_id.hash64()).bits()
    }

    /// Takes an order in and gives its tag.
    #[inline]
    pub fn insert(&mut self, order: ClientOrder) -> Result<u32, InsertError> {
        self.insert_at(self.key(order.account, &order.client_id), order)
    }

    fn insert_at(&mut self, key: u64, order: ClientOrder) -> Result<u32, InsertError> {
        if let Some(tag) = self.by_client_id.get(&key) {
            let there = &self.slots[tag.get() as usize].order;
            let same = there.account == order.account && there.client_id == order.client_id;
            return Err(match same {
                true => InsertError::DuplicateClientId,
                false => InsertError::HashCollision,
            });
        }
        let tag = self.free.pop().ok_or(InsertError::Full)?;
        // The map holds as many as the slab, and the key was not there.
        if self.by_client_id.insert(key, tag).is_err() {
            self.free.push(tag);
            return Err(InsertError::Full);
        }
        self.slots[tag.get() as usize] = Slot { order, key };
        self.open_of_account[order.account as usize] += 1;
        Ok(tag.get())
    }

    /// The open order of an account by its client's id.
    #[inline]
    pub fn find(&self, account: u32, client_id: &ClientId) -> Option<&ClientOrder> {
        let tag = self.by_client_id.get(&self.key(account, client_id))?;
        let order = &self.slots[tag.get() as usize].order;
        (order.account == account && order.client_id == *client_id).then_some(order)
    }

    /// The order of a tag that is open; `None` for [`NO_TAG`].
    #[inline]
    pub fn get(&self, tag: u32) -> Option<&ClientOrder> {
        (tag != NO_TAG).then(|| &self.slots[tag as usize].order)
    }

    /// Ends an order that is open: its client id is free again. Nothing for [`NO_TAG`].
    #[inline]
    pub fn remove(&mut self, tag: u32) {
        let Some(tag) = NonZeroU32::new(tag) else { return };
        let Slot { order, key } = &self.slots[tag.get() as usize];
        self.by_client_id.remove(key);
        self.open_of_account[order.account as usize] -= 1;
        self.free.push(tag);
    }

    /// How many orders of an account are open.
    #[inline]
    pub fn open_of_account(&self, account: u32) -> u32 {
        self.open_of_account[account as usize]
    }
}

#[cfg(test)]
#[path = "orders_tests.rs"]
mod tests;

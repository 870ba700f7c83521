//! Finds orders by id: a hash table of chains that grows with the number of open orders.
//!
//! Most ids are consecutive, and most commands concern young orders. So eight consecutive ids share
//! a cache line, in any order, and neighbouring lines are near each other: the slot of a new id is
//! in the cache, because its predecessor's was used just before. A table hashed over all of its
//! memory would miss the cache and the TLB for each new order, once that memory is large.
//!
//! The memory for the largest number of orders is allocated and written to at construction, but
//! only its first part is used: eight slots per four orders that have been open at a time. The used
//! part grows by one line at a time (linear hashing, Litwin 1980), so no insertion pays for a
//! rehash of the table, and unused capacity costs nothing. It never shrinks.
//!
//! Ids of any pattern work: a stride that is a power of two is scattered. Don't use ids that a
//! stranger chooses: the client could put all of them into one chain.

use crate::book::queue::Handle;
use crate::memory::filled;
use crate::prefetch::prefetch;

/// Slots of a line.
const SLOTS: usize = 8;
/// Orders per used line before another line is used.
const ORDERS_PER_LINE: usize = 4;
/// Lines in sequence: half a million consecutive ids are in one block.
const BLOCK_BITS: u32 = 16;
/// 2^64 divided by the golden ratio: Fibonacci hashing (Knuth, volume 3, section 6.4).
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The next order of a chain.
#[derive(Debug, Clone, Copy)]
struct Link {
    order: Option<Handle>,
    /// The hash of the order's id without its slot bits, which hold [`MORE`] or 0.
    tag: u32,
}

/// Another order follows in the chain; `next` is read only then.
const MORE: u32 = 1;
const SLOT_MASK: u32 = SLOTS as u32 - 1;
const EMPTY: Link = Link { order: None, tag: 0 };

impl Link {
    fn has_more(self) -> bool {
        self.tag & MORE != 0
    }
}

#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct IndexLine([Link; SLOTS]);

const _: () = assert!(size_of::<IndexLine>() == 64);

/// Finds orders by id. It holds handles; the ids are in the orders, so the caller checks whether an
/// order has the id.
#[derive(Debug)]
pub(crate) struct OrderIndex {
    /// The starts of the chains. The first `used` lines are used.
    lines: Vec<IndexLine>,
    used: usize,
    /// The next power of two above `used`, less 1.
    mask: usize,
    /// By handle: the chain's next order.
    next: Vec<Link>,
    length: usize,
}

impl OrderIndex {
    /// An index for at most `capacity` orders, with handles from 1 to `capacity`.
    pub fn new(capacity: u32) -> OrderIndex {
        let capacity = capacity as usize;
        let lines = capacity.div_ceil(ORDERS_PER_LINE).max(1);
        OrderIndex {
            lines: filled(lines, IndexLine([EMPTY; SLOTS])),
            used: 1,
            mask: 0,
            next: filled(capacity + 1, EMPTY),
            length: 0,
        }
    }

    /// The order with an id; `is_it` checks an order's id.
    #[inline]
    pub fn find(&self, id: u64, is_it: impl Fn(Handle) -> bool) -> Option<Handle> {
        let hash = hash(id);
        let mut link = *self.start(hash);
        loop {
            let order = link.order?;
            if link.tag & !MORE == hash & !SLOT_MASK && is_it(order) {
                return Some(order);
            }
            if !link.has_more() {
                return None;
            }
            link = self.next[order.get() as usize];
        }
    }

    /// The order that probably has an id, without reading the order.
    #[inline]
    pub fn guess(&self, id: u64) -> Option<Handle> {
        self.find(id, |_| true)
    }

    /// Adds an order whose id is not in the index.
    #[inline]
    pub fn insert(&mut self, id: u64, order: Handle) {
        if self.length >= self.used * ORDERS_PER_LINE && self.used < self.lines.len() {
            self.grow();
        }
        self.length += 1;
        let hash = hash(id);
        let line = self.line(hash);
        self.push(line, (hash & SLOT_MASK) as usize, order, hash & !SLOT_MASK);
    }

    /// Removes an order from the index.
    #[inline]
    pub fn remove(&mut self, id: u64, order: Handle) {
        self.length -= 1;
        let hash = hash(id);
        let line = self.line(hash);
        let start = &mut self.lines[line].0[(hash & SLOT_MASK) as usize];
        if start.order == Some(order) {
            *start = if start.has_more() { self.next[order.get() as usize] } else { EMPTY };
        } else {
            OrderIndex::unlink(start, &mut self.next, order);
        }
    }

    /// Asks the processor to fetch an id's slot, which will soon be used.
    #[inline]
    pub fn prefetch(&self, id: u64) {
        prefetch(self.start(hash(id)));
    }

    #[inline]
    fn start(&self, hash: u32) -> &Link {
        &self.lines[self.line(hash)].0[(hash & SLOT_MASK) as usize]
    }

    /// The line of a hash: by as many bits as the used lines need, or one less if that line is not
    /// used yet.
    #[inline]
    fn line(&self, hash: u32) -> usize {
        let line = (hash / SLOTS as u32) as usize & self.mask;
        if line < self.used { line } else { line & self.mask >> 1 }
    }

    /// Inserts an order at the start of a chain, because the youngest are used most.
    #[inline]
    fn push(&mut self, line: usize, slot: usize, order: Handle, tag: u32) {
        let start = &mut self.lines[line].0[slot];
        let more = match start.order {
            Some(_) => {
                self.next[order.get() as usize] = *start;
                MORE
            }
            None => 0,
        };
        *start = Link { order: Some(order), tag: tag | more };
    }

    /// Removes an order from a chain, if it is not the first.
    #[cold]
    fn unlink(start: &mut Link, next: &mut [Link], order: Handle) {
        // Position of the link to the previous order; `None` is the start.
        let mut at = None;
        let mut link = *start;
        while let Some(before) = link.order.filter(|_| link.has_more()) {
            let before = before.get() as usize;
            let successor = next[before];
            if successor.order != Some(order) {
                (at, link) = (Some(before), successor);
                continue;
            }
            if successor.has_more() {
                next[before] = next[order.get() as usize];
            } else {
                at.map_or(start, |at| &mut next[at]).tag &= !MORE;
            }
            return;
        }
    }

    /// Uses one more line: moves its orders from the only line where they can be.
    fn grow(&mut self) {
        let new = self.used;
        let bit = 1 << new.ilog2();
        self.used += 1;
        self.mask = self.used.next_power_of_two() - 1;
        let old = std::mem::replace(&mut self.lines[new - bit].0, [EMPTY; SLOTS]);
        for (slot, mut link) in old.into_iter().enumerate() {
            while let Some(order) = link.order {
                let after = if link.has_more() { self.next[order.get() as usize] } else { EMPTY };
                let moves = (link.tag / SLOTS as u32) as usize & bit != 0;
                self.push(if moves { new } else { new - bit }, slot, order, link.tag & !MORE);
                link = after;
            }
        }
    }
}

/// The line of an id, and in the lowest bits its slot there.
///
/// Consecutive ids have consecutive lines, and all ids of a block of half a million differ: the
/// exclusive or with the block's own number only changes their order. Ids that are far apart differ
/// by the hash of their upper bits.
#[inline]
fn hash(id: u64) -> u32 {
    let line = id / SLOTS as u64;
    let block = line >> BLOCK_BITS;
    let scattered = block.wrapping_mul(GOLDEN) >> (u64::BITS - BLOCK_BITS);
    let above = (block >> BLOCK_BITS).wrapping_mul(GOLDEN) >> (u32::BITS + 3);
    let slot = id ^ line.wrapping_mul(GOLDEN) >> (u64::BITS - 3);
    ((line ^ scattered ^ above) as u32) << 3 | slot as u32 & SLOT_MASK
}

#[cfg(test)]
#[path = "index_tests.rs"]
mod tests;

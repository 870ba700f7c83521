//! How an order is found by its id: a hash table of chains that grows with the number of open
//! orders.
//!
//! Most ids are given out one after the other, and most commands concern orders that are young. So
//! eight ids that follow each other share a cache line, in any order, and with the next lines lie
//! near it: the slot of a new id is in the cache, because its predecessor's was used just before.
//! A table that is hashed over all of its memory would miss the cache and the TLB at each new
//! order once that memory is large.
//!
//! The memory for the largest number of orders is allocated and written to at construction, but
//! only its first part is used: eight slots for every four orders that have been open at a time.
//! The used part grows by one line at a time (linear hashing, Litwin 1980), so no insertion pays
//! for a rehash of the table, and what the limit would allow costs nothing until it is needed. It
//! never shrinks.
//!
//! Ids of any pattern work: a stride that is a power of two is scattered. Ids that a stranger may
//! choose do not belong here: the client could make all of them meet in one chain.

use crate::book::queue::Handle;
use crate::memory::filled;
use crate::prefetch::prefetch;

/// Slots of a line.
const SLOTS: usize = 8;
/// Orders for each line in use, before another one is used.
const ORDERS_PER_LINE: usize = 4;
/// Lines whose order is kept: half a million ids that follow each other lie in one block.
const BLOCK_BITS: u32 = 16;
/// 2^64 divided by the golden ratio: Fibonacci hashing (Knuth, volume 3, section 6.4).
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// Where a chain goes on.
#[derive(Debug, Clone, Copy)]
struct Link {
    order: Option<Handle>,
    /// The hash of the order's id without its slot; in place of that [`MORE`] or 0.
    tag: u32,
}

/// Another order follows that one in its chain: only then `next` is read.
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

/// Finds orders by id. It holds handles; the ids stand in the orders, so who asks says whether an
/// order has the id.
#[derive(Debug)]
pub(crate) struct OrderIndex {
    /// The starts of the chains. The first `used` lines are in use.
    lines: Vec<IndexLine>,
    used: usize,
    /// The next power of two above `used`, less 1.
    mask: usize,
    /// By handle: where the chain goes on after that order.
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

    /// The order of an id; `is_it` says whether an order has it.
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

    /// The order that an id probably belongs to, without a look at the order.
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

    /// Takes out an order that is in the index.
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

    /// Asks the processor to fetch the slot of an id, which will soon be looked at.
    #[inline]
    pub fn prefetch(&self, id: u64) {
        prefetch(self.start(hash(id)));
    }

    #[inline]
    fn start(&self, hash: u32) -> &Link {
        &self.lines[self.line(hash)].0[(hash & SLOT_MASK) as usize]
    }

    /// The line of a hash: by as many of its bits as the lines in use need, by one less where that
    /// line is not in use yet.
    #[inline]
    fn line(&self, hash: u32) -> usize {
        let line = (hash / SLOTS as u32) as usize & self.mask;
        if line < self.used { line } else { line & self.mask >> 1 }
    }

    /// Puts an order at the start of a chain: the youngest are asked for most.
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

    /// Takes an order out of a chain that it does not start.
    #[cold]
    fn unlink(start: &mut Link, next: &mut [Link], order: Handle) {
        // Where the link stands that leads to the order before it: `None` is the start.
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

    /// Uses one more line: what belongs there moves to it from the one line where it can be.
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
/// Ids that follow each other have lines that follow each other, and all of a block of half a
/// million differ: the exclusive or with a number of the block's own changes their order only. Ids
/// that are far apart differ by the hash of what they have above.
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

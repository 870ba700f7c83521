//! How a price level is found: one sorted vector per side, the best price at its end.
//!
//! Orders come and go near the touch, so a new level or an emptied one moves only the few entries
//! behind it. An entry is 16 bytes, so the twenty best prices are five cache lines. This stops
//! being good when orders arrive far from the touch in a book of thousands of levels: the search
//! then misses the cache at each step, and an insertion moves tens of kilobytes. A tick array with
//! a bitmap of occupied levels has neither cost (REFERENCE, section 6); it would replace this file.

use crate::command::Side;
use crate::memory::{filled, touched};
use crate::queue::Queue;

/// How many levels from the touch are looked at one by one before the search starts to halve.
const NEAR_TOUCH_LEVELS: usize = 8;

/// One price and who queues there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Level {
    pub price_ticks: i64,
    pub queue: Queue,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    /// The price of a bid, the negated price of an ask: better is always greater.
    key: i64,
    level: u32,
}

const _: () = assert!(size_of::<Level>() == 32 && size_of::<Entry>() == 16);

/// The levels of one side of one book.
#[derive(Debug)]
pub(crate) struct Levels {
    side: Side,
    /// Sorted by key, so that the best is last.
    sorted: Vec<Entry>,
    /// The levels themselves. They never move, so that an order can name its level by index.
    levels: Vec<Level>,
    /// Indices into `levels` that are not in use.
    free: Vec<u32>,
}

impl Levels {
    /// Room for `levels_max` prices.
    pub fn new(side: Side, levels_max: u32) -> Levels {
        let mut free = touched(levels_max as usize, 0);
        free.extend((0..levels_max).rev());
        let empty = Level { price_ticks: 0, queue: Queue::EMPTY };
        Levels {
            side,
            sorted: touched(levels_max as usize, Entry { key: 0, level: 0 }),
            levels: filled(levels_max as usize, empty),
            free,
        }
    }

    /// The level with the best price.
    #[inline]
    pub fn best(&self) -> Option<u32> {
        self.sorted.last().map(|entry| entry.level)
    }

    #[inline]
    pub fn level(&self, level: u32) -> &Level {
        &self.levels[level as usize]
    }

    #[inline]
    pub fn level_mut(&mut self, level: u32) -> &mut Level {
        &mut self.levels[level as usize]
    }

    /// How many prices it holds.
    pub fn count(&self) -> usize {
        self.sorted.len()
    }

    /// Whether an order could rest at a price: the price is there, or there is room for one more.
    pub fn has_room_for(&self, price_ticks: i64) -> bool {
        !self.free.is_empty() || self.position(self.key(price_ticks)).is_ok()
    }

    /// The level of a price, made if need be. `None` when there is no room for one more.
    #[inline]
    pub fn find_or_insert(&mut self, price_ticks: i64) -> Option<u32> {
        let key = self.key(price_ticks);
        match self.position(key) {
            Ok(position) => Some(self.sorted[position].level),
            Err(position) => {
                let level = self.free.pop()?;
                self.levels[level as usize] = Level { price_ticks, queue: Queue::EMPTY };
                self.sorted.insert(position, Entry { key, level });
                Some(level)
            }
        }
    }

    /// Takes a level out, which has become empty.
    #[inline]
    pub fn remove(&mut self, level: u32) {
        let key = self.key(self.levels[level as usize].price_ticks);
        if let Ok(position) = self.position(key) {
            self.sorted.remove(position);
            self.free.push(level);
        }
    }

    /// All levels, best first.
    pub fn best_first(&self) -> impl Iterator<Item = &Level> {
        self.sorted.iter().rev().map(|entry| &self.levels[entry.level as usize])
    }

    /// Prices are within 1 and `PRICE_TICKS_MAX`, so the negation is exact.
    #[inline]
    fn key(&self, price_ticks: i64) -> i64 {
        match self.side {
            Side::Buy => price_ticks,
            Side::Sell => -price_ticks,
        }
    }

    /// Where a key stands, or where it would.
    #[inline]
    fn position(&self, key: i64) -> Result<usize, usize> {
        let far = self.sorted.len().saturating_sub(NEAR_TOUCH_LEVELS);
        for (position, entry) in self.sorted.iter().enumerate().skip(far).rev() {
            if entry.key == key {
                return Ok(position);
            }
            if entry.key < key {
                return Err(position + 1);
            }
        }
        self.sorted[..far].binary_search_by_key(&key, |entry| entry.key)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    const LEVELS_MAX: usize = 40;

    proptest! {
        /// Against a map of price to level, with more levels than are looked at one by one.
        #[test]
        fn levels_are_a_sorted_map(
            side in prop_oneof![Just(Side::Buy), Just(Side::Sell)],
            steps in prop::collection::vec((1..60_i64, any::<bool>()), 0..300),
        ) {
            let mut levels = Levels::new(side, LEVELS_MAX as u32);
            let mut model = BTreeMap::new();
            for (price_ticks, insert) in steps {
                let known = model.get(&price_ticks).copied();
                prop_assert_eq!(
                    levels.has_room_for(price_ticks),
                    known.is_some() || model.len() < LEVELS_MAX
                );
                if insert {
                    let found = levels.find_or_insert(price_ticks);
                    match (known, found) {
                        (Some(known), found) => prop_assert_eq!(found, Some(known)),
                        (None, Some(level)) => {
                            prop_assert!(!model.values().any(|used| *used == level));
                            model.insert(price_ticks, level);
                        }
                        (None, None) => prop_assert_eq!(model.len(), LEVELS_MAX),
                    }
                } else if let Some(level) = model.remove(&price_ticks) {
                    levels.remove(level);
                }
                let mut expected: Vec<_> = model.keys().copied().collect();
                if side == Side::Buy {
                    expected.reverse();
                }
                let prices: Vec<_> = levels.best_first().map(|level| level.price_ticks).collect();
                prop_assert_eq!(&prices, &expected);
                prop_assert_eq!(levels.count(), expected.len());
                let best = levels.best().map(|level| levels.level(level).price_ticks);
                prop_assert_eq!(best, expected.first().copied());
            }
        }
    }
}

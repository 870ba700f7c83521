//! Finds price levels: pages of sixteen prices, with one bit for each occupied price.
//!
//! An array of all prices would be fastest, but prices have no bound, and a window of them would
//! have to move with the market. A page covers sixteen prices anywhere. Its place in `near` is
//! given by the lowest bits of its number, in nearly all cases. The pages are also kept sorted,
//! best last, for two pages with the same place and to find the page after the best. A page is
//! added or removed when the market has moved sixteen ticks, so the sorting costs next to nothing;
//! a new or an emptied level in an existing page only changes a bit.

use crate::book::queue::Queue;
use crate::command::Side;
use crate::memory::{filled, touched};
use crate::prefetch::prefetch;

/// Prices in a page, as a power of two.
const PAGE_BITS: u32 = 4;
const PAGE_PRICES: usize = 1 << PAGE_BITS;
/// Places in `near`: with 16 prices each, pages less than 8192 ticks apart have different places.
const NEAR_PAGES: usize = 512;
/// Number of pages from the best to compare one by one before a binary search.
const NEAR_BEST_PAGES: usize = 8;

/// One price and its queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Level {
    pub price_ticks: i64,
    pub queue: Queue,
}

/// Sixteen prices.
#[derive(Debug, Clone, Copy)]
struct Page {
    /// Its prices' keys without the lowest bits. [`NO_PAGE`] if it is unused.
    number: i64,
    /// One bit for each price that has a level.
    occupied: u16,
    /// The levels of these prices.
    levels: [u32; PAGE_PRICES],
}

/// No key has this page number.
const NO_PAGE: i64 = i64::MAX;
const EMPTY: Page = Page { number: NO_PAGE, occupied: 0, levels: [0; PAGE_PRICES] };

#[derive(Debug, Clone, Copy)]
struct PageEntry {
    number: i64,
    page: u32,
}

#[derive(Debug, Clone, Copy)]
struct Best {
    key: i64,
    level: u32,
}

const _: () = assert!(size_of::<Level>() == 32 && size_of::<Page>() == 80);

/// The levels of one side of one book.
///
/// Prices are converted to keys, the price of a bid, the negated price of an ask: better is always
/// greater.
#[derive(Debug)]
pub(crate) struct Levels {
    side: Side,
    best: Option<Best>,
    /// They never move, so that an order can refer to its level by index.
    levels: Vec<Level>,
    /// Unused indices of `levels`.
    free_levels: Vec<u32>,
    pages: Vec<Page>,
    free_pages: Vec<u32>,
    /// By the lowest bits of a page's number: its probable index.
    near: Vec<u32>,
    /// The used pages by number, so that the best is last.
    sorted: Vec<PageEntry>,
}

impl Levels {
    /// Room for `levels_max` prices.
    pub fn new(side: Side, levels_max: u32) -> Levels {
        let length = levels_max as usize;
        let mut free = touched(length, 0);
        free.extend((0..levels_max).rev());
        Levels {
            side,
            best: None,
            levels: filled(length, Level { price_ticks: 0, queue: Queue::EMPTY }),
            free_pages: free.clone(),
            free_levels: free,
            // One more, so that an index into `near` is always an index of a page.
            pages: filled(length + 1, EMPTY),
            near: filled(NEAR_PAGES, levels_max),
            sorted: touched(length, PageEntry { number: 0, page: 0 }),
        }
    }

    /// The level with the best price.
    #[inline]
    pub fn best(&self) -> Option<u32> {
        self.best.map(|best| best.level)
    }

    /// The best price, in ticks.
    #[inline]
    pub fn best_ticks(&self) -> Option<i64> {
        self.best.map(|best| self.price_ticks(best.key))
    }

    #[inline]
    pub fn level(&self, level: u32) -> &Level {
        &self.levels[level as usize]
    }

    /// Asks the processor to fetch a level, which may be unused.
    #[inline]
    pub fn prefetch(&self, level: u32) {
        if let Some(level) = self.levels.get(level as usize) {
            prefetch(level);
        }
    }

    #[inline]
    pub fn level_mut(&mut self, level: u32) -> &mut Level {
        &mut self.levels[level as usize]
    }

    /// Whether an order could rest at a price: the level exists, or there is room for another.
    #[inline]
    pub fn has_room_for(&self, price_ticks: i64) -> bool {
        !self.free_levels.is_empty() || self.find(price_ticks).is_some()
    }

    /// The level of a price.
    #[inline]
    pub fn find(&self, price_ticks: i64) -> Option<u32> {
        let key = self.key(price_ticks);
        let page = &self.pages[self.page(page_number(key))? as usize];
        let place = place(key);
        (page.occupied >> place & 1 == 1).then(|| page.levels[place])
    }

    /// The level of a price, created if necessary. `None` if there is no room.
    #[inline]
    pub fn find_or_insert(&mut self, price_ticks: i64) -> Option<u32> {
        let key = self.key(price_ticks);
        let number = page_number(key);
        let page = match self.page(number) {
            Some(page) => page,
            None if self.free_levels.is_empty() => return None,
            None => self.insert_page(number)?,
        };
        // If two pages have the same place, the used one gets it.
        self.near[near(number)] = page;
        let page = &mut self.pages[page as usize];
        let place = place(key);
        if page.occupied >> place & 1 == 1 {
            return Some(page.levels[place]);
        }
        let level = self.free_levels.pop()?;
        page.occupied |= 1 << place;
        page.levels[place] = level;
        self.levels[level as usize] = Level { price_ticks, queue: Queue::EMPTY };
        if self.best.is_none_or(|best| best.key < key) {
            self.best = Some(Best { key, level });
        }
        Some(level)
    }

    /// Removes an empty level.
    #[inline]
    pub fn remove(&mut self, level: u32) {
        let key = self.key(self.levels[level as usize].price_ticks);
        let number = page_number(key);
        let Some(index) = self.page(number) else { return };
        let page = &mut self.pages[index as usize];
        page.occupied &= !(1 << place(key));
        self.free_levels.push(level);
        if page.occupied == 0 {
            self.remove_page(index, number);
        }
        if self.best.is_some_and(|best| best.level == level) {
            self.best = self.best_of_last_page();
        }
    }

    /// All levels, best first.
    pub fn best_first(&self) -> impl Iterator<Item = &Level> {
        let pages = self.sorted.iter().rev().map(|sorted| &self.pages[sorted.page as usize]);
        pages.flat_map(|page| {
            let places = (0..PAGE_PRICES).rev().filter(|place| page.occupied >> place & 1 == 1);
            places.map(|place| self.level(page.levels[place]))
        })
    }

    #[inline]
    fn best_of_last_page(&self) -> Option<Best> {
        let PageEntry { number, page } = *self.sorted.last()?;
        let page = &self.pages[page as usize];
        let place = page.occupied.checked_ilog2()?;
        let key = (number << PAGE_BITS) + i64::from(place);
        Some(Best { key, level: page.levels[place as usize] })
    }

    /// The index of a page.
    #[inline]
    fn page(&self, number: i64) -> Option<u32> {
        let near = self.near[near(number)];
        if self.pages[near as usize].number == number {
            return Some(near);
        }
        self.far_page(number)
    }

    #[cold]
    fn far_page(&self, number: i64) -> Option<u32> {
        Some(self.sorted[self.position(number).ok()?].page)
    }

    #[cold]
    fn insert_page(&mut self, number: i64) -> Option<u32> {
        let page = self.free_pages.pop()?;
        let position = self.position(number).unwrap_or_else(|position| position);
        self.sorted.insert(position, PageEntry { number, page });
        self.pages[page as usize].number = number;
        Some(page)
    }

    #[cold]
    fn remove_page(&mut self, page: u32, number: i64) {
        if let Ok(position) = self.position(number) {
            self.sorted.remove(position);
        }
        self.pages[page as usize].number = NO_PAGE;
        self.free_pages.push(page);
    }

    /// A page's position in `sorted`, or the position to insert it.
    fn position(&self, number: i64) -> Result<usize, usize> {
        let far = self.sorted.len().saturating_sub(NEAR_BEST_PAGES);
        for (position, sorted) in self.sorted.iter().enumerate().skip(far).rev() {
            if sorted.number == number {
                return Ok(position);
            }
            if sorted.number < number {
                return Err(position + 1);
            }
        }
        self.sorted[..far].binary_search_by_key(&number, |sorted| sorted.number)
    }

    /// Prices are within 1 and `PRICE_TICKS_MAX`, so the negation is exact.
    #[inline]
    fn key(&self, price_ticks: i64) -> i64 {
        match self.side {
            Side::Buy => price_ticks,
            Side::Sell => -price_ticks,
        }
    }

    #[inline]
    fn price_ticks(&self, key: i64) -> i64 {
        match self.side {
            Side::Buy => key,
            Side::Sell => -key,
        }
    }
}

#[inline]
fn page_number(key: i64) -> i64 {
    key >> PAGE_BITS
}

/// A key's position in its page.
#[inline]
fn place(key: i64) -> usize {
    key as usize % PAGE_PRICES
}

/// A page's place in `near`.
#[inline]
fn near(number: i64) -> usize {
    number as usize % NEAR_PAGES
}

#[cfg(test)]
#[path = "levels_tests.rs"]
mod tests;

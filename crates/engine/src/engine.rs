//! Dispatch, limits, and the hash of the state.

use std::fmt;

use crate::book::{Book, OpenOrders};
use crate::command::{Cancel, Command, NewOrder, PRICE_TICKS_MAX, QUANTITY_LOTS_MAX, Side};
use crate::event::{Event, Reject};
use crate::state_hash::StateHash;

/// The highest value of either limit in [`EngineLimits`], 2^24. With it, an engine keeps 640 MiB of
/// orders and 512 MiB of ids.
pub const OPEN_ORDERS_MAX: u32 = 1 << 24;

/// How much an engine holds. All of it is allocated, and written to, at construction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineLimits {
    /// Orders that rest, over all instruments, 1 to [`OPEN_ORDERS_MAX`]. 72 to 104 bytes each.
    pub open_orders_max: u32,
    /// Prices per side and instrument, 1 to [`OPEN_ORDERS_MAX`]. 52 bytes each, times twice the
    /// number of instruments.
    pub price_levels_max: u32,
}

impl EngineLimits {
    /// Whether an engine can be made with these limits. Ask before [`Engine::new`] when they come
    /// from outside.
    ///
    /// # Errors
    /// The limit that is out of range.
    pub fn check(&self) -> Result<(), LimitsError> {
        let EngineLimits { open_orders_max, price_levels_max } = *self;
        for (name, value) in
            [("open_orders_max", open_orders_max), ("price_levels_max", price_levels_max)]
        {
            if !(1..=OPEN_ORDERS_MAX).contains(&value) {
                return Err(LimitsError { name, value });
            }
        }
        Ok(())
    }
}

/// A limit that no engine can be made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitsError {
    /// The field of [`EngineLimits`].
    pub name: &'static str,
    /// What it was set to.
    pub value: u32,
}

impl fmt::Display for LimitsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LimitsError { name, value } = self;
        write!(
            f,
            "{name} is {value}, but must be from 1 to {OPEN_ORDERS_MAX}: set it in this range"
        )
    }
}

impl std::error::Error for LimitsError {}

/// The best price of a side, and what rests there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quote {
    /// In ticks.
    pub price_ticks: i64,
    /// The sum over the orders at this price, in lots.
    pub quantity_lots: u64,
}

/// The top of a book. A side without orders is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Top {
    /// The highest price somebody buys at.
    pub bid: Option<Quote>,
    /// The lowest price somebody sells at.
    pub ask: Option<Quote>,
}

/// Matching for a fixed number of instruments.
#[derive(Debug)]
pub struct Engine {
    limits: EngineLimits,
    /// By instrument number.
    books: Vec<Book>,
    open: OpenOrders,
}

impl Engine {
    /// An engine for the instruments 0 to `instruments`, exclusive, with empty books.
    ///
    /// # Panics
    /// When [`EngineLimits::check`] finds a fault. That is the only panic: no command causes one.
    #[must_use]
    pub fn new(instruments: u16, limits: EngineLimits) -> Engine {
        if let Err(error) = limits.check() {
            panic!("{error}");
        }
        Engine {
            limits,
            books: (0..instruments).map(|i| Book::new(i, limits.price_levels_max)).collect(),
            open: OpenOrders::new(limits.open_orders_max),
        }
    }

    /// Executes one command and reports what happened, in order, to `events`, before it returns.
    #[inline]
    pub fn apply(&mut self, command: &Command, events: &mut impl FnMut(Event)) {
        match command {
            Command::New(new) => {
                if let Err(reason) = self.enter(new, events) {
                    let NewOrder { instrument, order_id, account, tag, .. } = *new;
                    events(Event::Rejected { instrument, order_id, account, tag, reason });
                }
            }
            Command::Cancel(cancel) => {
                if let Err(reason) = self.cancel(cancel, events) {
                    let Cancel { instrument, order_id, account, tag } = *cancel;
                    events(Event::Rejected { instrument, order_id, account, tag, reason });
                }
            }
        }
    }

    #[inline]
    fn enter(&mut self, new: &NewOrder, events: &mut impl FnMut(Event)) -> Result<(), Reject> {
        let book =
            self.books.get_mut(usize::from(new.instrument)).ok_or(Reject::UnknownInstrument)?;
        if !(1..=PRICE_TICKS_MAX).contains(&new.price_ticks) {
            return Err(Reject::BadPrice);
        }
        if !(1..=QUANTITY_LOTS_MAX).contains(&new.quantity_lots) {
            return Err(Reject::BadQuantity);
        }
        if self.open.ids.get(&new.order_id).is_some() {
            return Err(Reject::DuplicateOrderId);
        }
        book.check_room(new, &self.open)?;
        book.enter(new, &mut self.open, events);
        Ok(())
    }

    #[inline]
    fn cancel(&mut self, cancel: &Cancel, events: &mut impl FnMut(Event)) -> Result<(), Reject> {
        let book =
            self.books.get_mut(usize::from(cancel.instrument)).ok_or(Reject::UnknownInstrument)?;
        let handle = self.open.ids.get(&cancel.order_id).ok_or(Reject::UnknownOrder)?;
        let order = self.open.slab.get(handle);
        if order.instrument != cancel.instrument {
            return Err(Reject::UnknownOrder);
        }
        if order.account != cancel.account {
            return Err(Reject::NotYourOrder);
        }
        book.cancel(handle, &mut self.open, events);
        Ok(())
    }

    /// A hash over everything that decides what the engine will do next, and over nothing else: two
    /// engines in the same state have the same hash, however they came there. It visits every open
    /// order: not for the hot path.
    ///
    /// The words, hashed in this order, are: the number of instruments, `open_orders_max`,
    /// `price_levels_max`; for each instrument, for buy then sell: the number of price levels; for
    /// each level, best first: its price and its number of orders; for each order, first in first:
    /// its id, its account times 2^32 plus its tag, and what it has left in lots.
    #[must_use]
    pub fn state_hash(&self) -> u64 {
        let mut hash = StateHash::new();
        hash.word(self.books.len() as u64);
        hash.word(u64::from(self.limits.open_orders_max));
        hash.word(u64::from(self.limits.price_levels_max));
        for book in &self.books {
            for side in [Side::Buy, Side::Sell] {
                hash.word(book.side(side).count() as u64);
                for level in book.side(side).best_first() {
                    hash.word(level.price_ticks.cast_unsigned());
                    hash.word(u64::from(level.queue.orders()));
                    for order in self.open.slab.in_queue(&level.queue) {
                        hash.word(order.order_id);
                        hash.word(u64::from(order.account) << 32 | u64::from(order.tag));
                        hash.word(order.remaining_lots);
                    }
                }
            }
        }
        hash.finish()
    }

    /// The best prices of an instrument. One that the engine does not have looks like an empty
    /// book.
    #[must_use]
    pub fn top(&self, instrument: u16) -> Top {
        let best = |side| {
            let (price_ticks, quantity_lots, _) = self.levels(instrument, side).next()?;
            Some(Quote { price_ticks, quantity_lots })
        };
        Top { bid: best(Side::Buy), ask: best(Side::Sell) }
    }

    /// How many orders rest, over all instruments.
    #[must_use]
    pub fn open_orders(&self) -> u32 {
        self.open.slab.open()
    }

    /// The depth of one side, best first: price in ticks, quantity in lots, number of orders. Empty
    /// for an instrument that the engine does not have.
    pub fn levels(
        &self,
        instrument: u16,
        side: Side,
    ) -> impl Iterator<Item = (i64, u64, u32)> + '_ {
        self.books
            .get(usize::from(instrument))
            .into_iter()
            .flat_map(move |book| book.side(side).best_first())
            .map(|level| (level.price_ticks, level.queue.quantity_lots(), level.queue.orders()))
    }
}

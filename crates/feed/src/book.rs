//! An instrument's book, built from the feed.

use engine::depth::{Depth, DepthError, RestingOrder};
use engine::{InstrumentState, Side, StateHash, Top};

use crate::fault::Fault;
use crate::format::message::{Channel, FeedMessage};

/// Why a message contradicts the book.
pub type BookFault = Fault;

/// One instrument's book: order by order on [`Channel::Orders`], price by price on
/// [`Channel::Levels`].
#[derive(Debug)]
pub struct Book {
    channel: Channel,
    depth: Depth,
    state: InstrumentState,
}

impl Book {
    /// An empty book with room for `orders_max` orders (unused on [`Channel::Levels`]) and
    /// `levels_max` prices per side.
    #[must_use]
    pub fn new(channel: Channel, orders_max: u32, levels_max: u32) -> Book {
        let orders_max = if channel == Channel::Orders { orders_max } else { 0 };
        let depth = Depth::new(orders_max, levels_max);
        Book { channel, depth, state: InstrumentState::Open }
    }

    /// Applies a message of this instrument.
    ///
    /// # Errors
    /// If the message contradicts the book. The book is then unchanged, and differs from the
    /// sender's.
    #[inline]
    pub fn apply(&mut self, message: &FeedMessage) -> Result<(), BookFault> {
        match (self.channel, *message) {
            (_, FeedMessage::State { state, .. }) => self.state = state,
            (_, FeedMessage::Definition { .. }) | (Channel::Levels, FeedMessage::Trade { .. }) => {}
            (
                Channel::Orders,
                FeedMessage::OrderAdded { order_id, side, price_ticks, quantity_lots, .. },
            ) => {
                let order = RestingOrder { order_id, side, price_ticks, quantity_lots };
                self.depth.add(&order).map_err(fault_of)?;
            }
            (Channel::Orders, FeedMessage::OrderReduced { order_id, quantity_lots, .. }) => {
                let shown = self.depth.order(order_id).ok_or(Fault::UnknownOrder)?;
                if quantity_lots >= shown.quantity_lots {
                    return Err(Fault::Contradiction);
                }
                self.depth.set_quantity(order_id, quantity_lots);
            }
            (Channel::Orders, FeedMessage::OrderDeleted { order_id, .. }) => {
                self.depth.remove(order_id).ok_or(Fault::UnknownOrder)?;
            }
            (
                Channel::Orders,
                FeedMessage::Trade { order_id, price_ticks, quantity_lots, aggressor_side, .. },
            ) => {
                let shown = self.depth.order(order_id).ok_or(Fault::UnknownOrder)?;
                let side = aggressor_side.opposite();
                if (shown.side, shown.price_ticks) != (side, price_ticks) {
                    return Err(Fault::Contradiction);
                }
                match shown.quantity_lots.checked_sub(quantity_lots) {
                    None => return Err(Fault::Contradiction),
                    Some(0) => self.depth.remove(order_id),
                    Some(left_lots) => self.depth.set_quantity(order_id, left_lots),
                };
            }
            (
                Channel::Levels,
                FeedMessage::Level { side, price_ticks, quantity_lots, orders, .. },
            ) => {
                self.depth.set_level(side, price_ticks, quantity_lots, orders).map_err(fault_of)?;
            }
            (Channel::Orders, FeedMessage::Level { .. }) | (Channel::Levels, _) => {
                return Err(Fault::OtherChannel);
            }
        }
        Ok(())
    }

    /// Asks the processor to fetch the memory that changes of some of its orders would read: see
    /// [`Depth::prefetch`].
    #[inline]
    pub fn prefetch(&self, place: u32, count: u32) -> u32 {
        self.depth.prefetch(place, count)
    }

    /// Removes all orders and sets the state to open.
    pub fn clear(&mut self) {
        self.depth.clear();
        self.state = InstrumentState::Open;
    }

    /// The best prices.
    #[must_use]
    #[inline]
    pub fn top(&self) -> Top {
        self.depth.top()
    }

    /// One side, best first: price in ticks, quantity in lots, number of orders.
    pub fn levels(&self, side: Side) -> impl Iterator<Item = (i64, u64, u32)> + '_ {
        self.depth.levels(side)
    }

    /// The total at a price: quantity in lots, number of orders.
    #[must_use]
    #[inline]
    pub fn level(&self, side: Side, price_ticks: i64) -> (u64, u32) {
        self.depth.level(side, price_ticks)
    }

    /// The orders of one side in price-time priority. Empty on [`Channel::Levels`].
    pub fn orders(&self, side: Side) -> impl Iterator<Item = RestingOrder> + '_ {
        self.depth.orders(side)
    }

    /// Number of resting orders. 0 on [`Channel::Levels`].
    #[must_use]
    pub fn orders_open(&self) -> u32 {
        self.depth.orders_open()
    }

    /// A resting order.
    #[must_use]
    #[inline]
    pub fn order(&self, order_id: u64) -> Option<RestingOrder> {
        self.depth.order(order_id)
    }

    /// The orders that trade before this one at its price: their number and their shown lots. Takes
    /// time proportional to their number.
    #[must_use]
    pub fn ahead_of(&self, order_id: u64) -> Option<(u32, u64)> {
        self.depth.ahead_of(order_id)
    }

    /// Open, halted or closed.
    #[must_use]
    pub fn state(&self) -> InstrumentState {
        self.state
    }

    /// A hash of its content on its own channel: see [`Book::hash_as`].
    #[must_use]
    pub fn hash(&self) -> u64 {
        self.hash_as(self.channel)
    }

    /// A hash of its state, then of its entries, bids before asks, best price first. An entry is an
    /// order's id, price and lots (first in first), or a level's price, lots and orders. The number
    /// of entries follows each side.
    #[must_use]
    pub fn hash_as(&self, channel: Channel) -> u64 {
        let mut hash = StateHash::new();
        hash.word(self.state as u64);
        for side in [Side::Buy, Side::Sell] {
            let mut entries = 0;
            let mut entry = |words: [u64; 3]| {
                words.into_iter().for_each(|word| hash.word(word));
                entries += 1;
            };
            match channel {
                Channel::Orders => self.orders(side).for_each(|order| {
                    entry([order.order_id, order.price_ticks.unsigned_abs(), order.quantity_lots]);
                }),
                Channel::Levels => self.levels(side).for_each(|(ticks, lots, orders)| {
                    entry([ticks.unsigned_abs(), lots, u64::from(orders)]);
                }),
            }
            hash.word(entries);
        }
        hash.finish()
    }

    /// A hash of its prices and the lots there, bids before asks, best price first, each side with
    /// its number of prices: of all that market data as JSON shows.
    #[must_use]
    pub fn price_hash(&self) -> u64 {
        let mut hash = StateHash::new();
        for side in [Side::Buy, Side::Sell] {
            let mut prices = 0;
            for (price_ticks, quantity_lots, _) in self.levels(side) {
                hash.word(price_ticks.unsigned_abs());
                hash.word(quantity_lots);
                prices += 1;
            }
            hash.word(prices);
        }
        hash.finish()
    }

    /// Number of entries in a snapshot of it.
    #[must_use]
    pub(crate) fn entries(&self, channel: Channel) -> u32 {
        match channel {
            Channel::Orders => self.orders_open(),
            Channel::Levels => {
                let levels = self.levels(Side::Buy).count() + self.levels(Side::Sell).count();
                u32::try_from(levels).unwrap_or(u32::MAX)
            }
        }
    }
}

/// One hash of several books, in order of their instruments' numbers.
pub(crate) fn hash_of<'a>(books: impl Iterator<Item = &'a Book>, channel: Channel) -> u64 {
    let mut hash = StateHash::new();
    books.for_each(|book| hash.word(book.hash_as(channel)));
    hash.finish()
}

fn fault_of(error: DepthError) -> Fault {
    match error {
        DepthError::Duplicate => Fault::DuplicateOrder,
        DepthError::OrdersMax | DepthError::LevelsMax => Fault::BookFull,
    }
}

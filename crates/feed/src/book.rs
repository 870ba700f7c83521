//! An instrument's book, as the feed tells it.

use engine::depth::{Depth, DepthError, RestingOrder};
use engine::{InstrumentState, Side, StateHash, Top};

use crate::fault::Fault;
use crate::format::message::{Channel, Message};

/// Why a message did not go with the book, as it is counted.
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
    /// An empty book with room for `orders_max` orders (of no use on [`Channel::Levels`]) and
    /// `levels_max` prices a side.
    #[must_use]
    pub fn new(channel: Channel, orders_max: u32, levels_max: u32) -> Book {
        let orders_max = if channel == Channel::Orders { orders_max } else { 0 };
        let depth = Depth::new(orders_max, levels_max);
        Book { channel, depth, state: InstrumentState::Open }
    }

    /// Takes in a message of this instrument.
    ///
    /// # Errors
    /// What does not go with what the book shows. Nothing has changed then, and this is no longer
    /// the book of who sent it.
    #[inline]
    pub fn apply(&mut self, message: &Message) -> Result<(), BookFault> {
        match (self.channel, *message) {
            (_, Message::State { state, .. }) => self.state = state,
            (_, Message::Definition { .. }) | (Channel::Levels, Message::Trade { .. }) => {}
            (
                Channel::Orders,
                Message::OrderAdded { order_id, side, price_ticks, quantity_lots, .. },
            ) => {
                let order = RestingOrder { order_id, side, price_ticks, quantity_lots };
                self.depth.add(&order).map_err(fault_of)?;
            }
            (Channel::Orders, Message::OrderReduced { order_id, quantity_lots, .. }) => {
                let shown = self.depth.order(order_id).ok_or(Fault::UnknownOrder)?;
                if quantity_lots >= shown.quantity_lots {
                    return Err(Fault::Contradiction);
                }
                self.depth.set_quantity(order_id, quantity_lots);
            }
            (Channel::Orders, Message::OrderDeleted { order_id, .. }) => {
                self.depth.remove(order_id).ok_or(Fault::UnknownOrder)?;
            }
            (
                Channel::Orders,
                Message::Trade { order_id, price_ticks, quantity_lots, aggressor_side, .. },
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
            (Channel::Levels, Message::Level { side, price_ticks, quantity_lots, orders, .. }) => {
                self.depth.set_level(side, price_ticks, quantity_lots, orders).map_err(fault_of)?;
            }
            (Channel::Orders, Message::Level { .. }) | (Channel::Levels, _) => {
                return Err(Fault::OtherChannel);
            }
        }
        Ok(())
    }

    /// Asks the processor to fetch what changes of some of its orders would read: see
    /// [`Depth::prefetch`].
    #[inline]
    pub fn prefetch(&self, place: u32, count: u32) -> u32 {
        self.depth.prefetch(place, count)
    }

    /// Empty, and open.
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

    /// The total shown at a price: quantity in lots, number of orders.
    #[must_use]
    #[inline]
    pub fn level(&self, side: Side, price_ticks: i64) -> (u64, u32) {
        self.depth.level(side, price_ticks)
    }

    /// The orders of one side, in price-time priority. None on [`Channel::Levels`].
    pub fn orders(&self, side: Side) -> impl Iterator<Item = RestingOrder> + '_ {
        self.depth.orders(side)
    }

    /// How many orders rest. 0 on [`Channel::Levels`].
    #[must_use]
    pub fn orders_open(&self) -> u32 {
        self.depth.orders_open()
    }

    /// An order that rests.
    #[must_use]
    #[inline]
    pub fn order(&self, order_id: u64) -> Option<RestingOrder> {
        self.depth.order(order_id)
    }

    /// What trades before an order at its price: orders, and the lots that they show. It takes a
    /// step for each of those orders.
    #[must_use]
    pub fn ahead_of(&self, order_id: u64) -> Option<(u32, u64)> {
        self.depth.ahead_of(order_id)
    }

    /// Open, halted or closed.
    #[must_use]
    pub fn state(&self) -> InstrumentState {
        self.state
    }

    /// A hash of what it shows on its own channel: see [`Book::hash_as`].
    #[must_use]
    pub fn hash(&self) -> u64 {
        self.hash_as(self.channel)
    }

    /// A hash of what it shows: its state; then, bids before asks, best price first, of each order
    /// (first in first) id, price and lots, or of each level price, lots and orders; after each
    /// side its number of entries.
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

    /// Entries of a snapshot of it.
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

/// One hash of several books, by the number of their instrument.
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

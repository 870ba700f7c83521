//! One instrument's book: price-time priority matching.
//!
//! There is no self-trade prevention yet: an account that crosses its own order trades with itself.

use crate::command::{NewOrder, Side, TimeInForce};
use crate::event::{DoneReason, Event, Party, Reject};
use crate::ids::FlatMap;
use crate::levels::Levels;
use crate::queue::{Handle, Order, OrderSlab};

/// The open orders of all books, and how to find them. The two hold the same orders at all times.
#[derive(Debug)]
pub(crate) struct OpenOrders {
    pub slab: OrderSlab,
    pub ids: FlatMap<u64, Handle>,
}

impl OpenOrders {
    pub fn new(open_orders_max: u32) -> OpenOrders {
        OpenOrders { slab: OrderSlab::new(open_orders_max), ids: FlatMap::new(open_orders_max) }
    }
}

/// The two sides of one instrument.
#[derive(Debug)]
pub(crate) struct Book {
    instrument: u16,
    bids: Levels,
    asks: Levels,
}

impl Book {
    pub fn new(instrument: u16, price_levels_max: u32) -> Book {
        Book {
            instrument,
            bids: Levels::new(Side::Buy, price_levels_max),
            asks: Levels::new(Side::Sell, price_levels_max),
        }
    }

    pub fn side(&self, side: Side) -> &Levels {
        match side {
            Side::Buy => &self.bids,
            Side::Sell => &self.asks,
        }
    }

    fn side_mut(&mut self, side: Side) -> &mut Levels {
        match side {
            Side::Buy => &mut self.bids,
            Side::Sell => &mut self.asks,
        }
    }

    /// Whether what may be left of an order could be booked. Asked before any trade, since a trade
    /// can't be taken back.
    ///
    /// Open orders: exact. If a crossing order has a remainder, it has used up at least one resting
    /// order and so freed a slot; only an order that does not cross needs a slot that is free now.
    ///
    /// Price levels: conservative. A full side refuses a GTC order at a price that it does not
    /// have, even if all of it would trade: to know that would take a walk through the other side.
    /// An IOC order never rests and passes.
    pub fn check_room(&self, new: &NewOrder, open: &OpenOrders) -> Result<(), Reject> {
        if new.time_in_force == TimeInForce::ImmediateOrCancel {
            return Ok(());
        }
        if open.slab.is_full() && !self.crosses(new) {
            return Err(Reject::LimitOpenOrders);
        }
        if !self.side(new.side).has_room_for(new.price_ticks) {
            return Err(Reject::LimitPriceLevels);
        }
        Ok(())
    }

    /// Matches an order that was found acceptable, and books or expires what is left.
    #[inline]
    pub fn enter(&mut self, new: &NewOrder, open: &mut OpenOrders, events: &mut impl FnMut(Event)) {
        let remaining_lots = self.trade(new, open, events);
        let order = party(new, remaining_lots);
        let instrument = self.instrument;
        if remaining_lots == 0 {
            events(Event::Done { instrument, order, reason: DoneReason::Filled });
        } else if new.time_in_force == TimeInForce::ImmediateOrCancel {
            events(Event::Done { instrument, order, reason: DoneReason::Expired });
        } else {
            self.rest(new, remaining_lots, open);
            let NewOrder { side, price_ticks, .. } = *new;
            events(Event::Booked { instrument, order, side, price_ticks });
        }
    }

    /// Takes out an order of this book.
    #[inline]
    pub fn cancel(
        &mut self,
        handle: Handle,
        open: &mut OpenOrders,
        events: &mut impl FnMut(Event),
    ) {
        let Order { side, level: index, .. } = *open.slab.get(handle);
        let levels = self.side_mut(side);
        let level = levels.level_mut(index);
        let order = open.slab.remove(&mut level.queue, handle);
        if level.queue.orders() == 0 {
            levels.remove(index);
        }
        open.ids.remove(&order.order_id);
        events(Event::Done {
            instrument: self.instrument,
            order: order.party(),
            reason: DoneReason::Cancelled,
        });
    }

    fn crosses(&self, new: &NewOrder) -> bool {
        let opposite = self.side(new.side.opposite());
        opposite.best().is_some_and(|best| reaches(new, opposite.level(best).price_ticks))
    }

    /// Trades with the other side, best price first, first in first, as far as the price reaches.
    /// Gives what is left.
    #[inline]
    fn trade(
        &mut self,
        new: &NewOrder,
        open: &mut OpenOrders,
        events: &mut impl FnMut(Event),
    ) -> u64 {
        let instrument = self.instrument;
        let opposite = self.side_mut(new.side.opposite());
        let mut remaining_lots = new.quantity_lots;
        while remaining_lots > 0 {
            let Some(best) = opposite.best() else { break };
            let level = opposite.level_mut(best);
            if !reaches(new, level.price_ticks) {
                break;
            }
            while remaining_lots > 0 {
                let Some(first) = level.queue.first() else { break };
                let quantity_lots = remaining_lots.min(open.slab.get(first).remaining_lots);
                remaining_lots -= quantity_lots;
                let resting = open.slab.reduce(&mut level.queue, first, quantity_lots);
                events(Event::Trade {
                    instrument,
                    price_ticks: level.price_ticks,
                    quantity_lots,
                    aggressor_side: new.side,
                    aggressor: party(new, remaining_lots),
                    resting,
                });
                if resting.remaining_lots == 0 {
                    open.slab.remove(&mut level.queue, first);
                    open.ids.remove(&resting.order_id);
                    let reason = DoneReason::Filled;
                    events(Event::Done { instrument, order: resting, reason });
                }
            }
            if level.queue.orders() == 0 {
                opposite.remove(best);
            }
        }
        remaining_lots
    }

    /// Books what is left. The three expectations hold for every command: `check_room` has seen a
    /// slot and a level, matching has only freed more, the engine has seen that the id is not open,
    /// and the id table holds exactly the orders of the slab. To go on if one were wrong would be
    /// to trade on a broken book.
    fn rest(&mut self, new: &NewOrder, remaining_lots: u64, open: &mut OpenOrders) {
        let levels = self.side_mut(new.side);
        let level = levels.find_or_insert(new.price_ticks).expect("check_room saw a level");
        let order = Order {
            order_id: new.order_id,
            remaining_lots,
            account: new.account,
            tag: new.tag,
            level,
            instrument: new.instrument,
            side: new.side,
        };
        let queue = &mut levels.level_mut(level).queue;
        let handle = open.slab.push_last(queue, order).expect("check_room saw a slot");
        open.ids.insert(new.order_id, handle).expect("the id is new, and there is room");
    }
}

/// Whether an order would trade at a price of the other side.
#[inline]
fn reaches(new: &NewOrder, opposite_price_ticks: i64) -> bool {
    match new.side {
        Side::Buy => opposite_price_ticks <= new.price_ticks,
        Side::Sell => opposite_price_ticks >= new.price_ticks,
    }
}

#[inline]
fn party(new: &NewOrder, remaining_lots: u64) -> Party {
    Party { order_id: new.order_id, account: new.account, tag: new.tag, remaining_lots }
}

//! One instrument's book: price-time priority matching.

pub(crate) mod levels;
pub(crate) mod queue;

use crate::book::levels::{Level, Levels};
use crate::book::queue::{Handle, Order};
use crate::command::{NewOrder, PRICE_TICKS_MAX, PostOnly, Side, TimeInForce};
use crate::event::{DoneReason, Event, Party, Reject};
use crate::limits::EngineLimits;
use crate::open_orders::OpenOrders;
use crate::settings::{InstrumentSettings, InstrumentState, SelfTrade};

/// The two sides of one instrument, and its waiting stops.
#[derive(Debug)]
pub(crate) struct Book {
    /// With the present reference price.
    pub settings: InstrumentSettings,
    bids: Levels,
    asks: Levels,
    buy_stops: Levels,
    sell_stops: Levels,
}

/// Progress of an incoming order.
struct MatchProgress {
    remaining_lots: u64,
    /// It met an order of its own account, which ended it.
    ended: bool,
}

impl Book {
    pub fn new(instrument: u16, limits: &EngineLimits) -> Book {
        Book {
            settings: InstrumentSettings {
                instrument,
                tag: 0,
                state: InstrumentState::Open,
                band_low_ticks: 1,
                band_high_ticks: PRICE_TICKS_MAX,
                reference_ticks: 0,
            },
            bids: Levels::new(Side::Buy, limits.price_levels_max),
            asks: Levels::new(Side::Sell, limits.price_levels_max),
            // The next stop is the one that the market reaches first: the lowest to buy, the
            // highest to sell.
            buy_stops: Levels::new(Side::Sell, limits.stop_levels_max),
            sell_stops: Levels::new(Side::Buy, limits.stop_levels_max),
        }
    }

    pub fn side(&self, side: Side) -> &Levels {
        match side {
            Side::Buy => &self.bids,
            Side::Sell => &self.asks,
        }
    }

    pub fn stops(&self, side: Side) -> &Levels {
        match side {
            Side::Buy => &self.buy_stops,
            Side::Sell => &self.sell_stops,
        }
    }

    /// The levels with an order's level.
    #[inline]
    pub fn lane_mut(&mut self, side: Side, waits: bool) -> &mut Levels {
        match (side, waits) {
            (Side::Buy, false) => &mut self.bids,
            (Side::Sell, false) => &mut self.asks,
            (Side::Buy, true) => &mut self.buy_stops,
            (Side::Sell, true) => &mut self.sell_stops,
        }
    }

    /// Removes an order from its queue.
    #[inline]
    pub fn leave(&mut self, handle: Handle, open: &mut OpenOrders) -> Order {
        let Order { side, waits, level: index, .. } = *open.slab.get(handle);
        let levels = self.lane_mut(side, waits);
        let level = levels.level_mut(index);
        let order = open.take(&mut level.queue, handle);
        if level.queue.orders() == 0 {
            levels.remove(index);
        }
        order
    }

    /// Whether an order would trade on arrival.
    #[inline]
    pub fn crosses(&self, side: Side, price_ticks: i64) -> bool {
        self.side(side.opposite()).best_ticks().is_some_and(|best| reaches(side, price_ticks, best))
    }

    /// The price at which an order may rest, considering post-only.
    #[inline]
    pub fn posted_ticks(&self, order: &NewOrder) -> Result<i64, Reject> {
        let price_ticks = order.price_ticks;
        if order.post_only == PostOnly::No || !self.crosses(order.side, price_ticks) {
            return Ok(price_ticks);
        }
        let best_ticks = self.side(order.side.opposite()).best_ticks().unwrap_or(price_ticks);
        let short_ticks = match order.side {
            Side::Buy => best_ticks - 1,
            Side::Sell => best_ticks + 1,
        };
        match order.post_only == PostOnly::Reprice && self.in_band(short_ticks) {
            true => Ok(short_ticks),
            false => Err(Reject::PostOnlyWouldTrade),
        }
    }

    #[inline]
    pub fn in_band(&self, price_ticks: i64) -> bool {
        (self.settings.band_low_ticks..=self.settings.band_high_ticks).contains(&price_ticks)
    }

    /// Whether the reference price has reached a stop's price.
    #[inline]
    pub fn reached(&self, side: Side, stop_ticks: i64) -> bool {
        let reference_ticks = self.settings.reference_ticks;
        reference_ticks != 0 && reaches(side.opposite(), stop_ticks, reference_ticks)
    }

    /// Checks that the possible remainder of an order could be booked, or that a stop could wait.
    /// Called before any trade, because a trade can't be undone.
    ///
    /// Open orders: exact. A crossing order with a remainder has used up at least one resting order
    /// and so freed a slot; only an order that does not cross needs a slot that is free now.
    ///
    /// Price levels: conservative. A full side rejects an order that may rest at a new price, even
    /// if all of it would trade, because finding that out would take a walk through the other side.
    /// The same holds for dates.
    #[inline]
    pub fn check_room(
        &self,
        order: &NewOrder,
        waits: bool,
        open: &OpenOrders,
    ) -> Result<(), Reject> {
        if !waits && !order.time_in_force.may_rest() {
            return Ok(());
        }
        if open.slab.is_full() && (waits || !self.crosses(order.side, order.price_ticks)) {
            return Err(Reject::LimitOpenOrders);
        }
        self.check_levels(order, waits)?;
        match order.expires_ns != 0 && open.expiries.is_full() {
            true => Err(Reject::LimitExpiringOrders),
            false => Ok(()),
        }
    }

    #[inline]
    pub fn check_levels(&self, order: &NewOrder, waits: bool) -> Result<(), Reject> {
        let (levels, price_ticks) = match waits {
            true => (self.stops(order.side), order.stop_ticks),
            false => (self.side(order.side), order.price_ticks),
        };
        match levels.has_room_for(price_ticks) {
            true => Ok(()),
            false => Err(Reject::LimitPriceLevels),
        }
    }

    /// Matches an accepted order, and books or ends the remainder. Its price is the worst at which
    /// it may trade, also for a market order.
    #[inline]
    pub fn enter(
        &mut self,
        order: &NewOrder,
        open: &mut OpenOrders,
        events: &mut impl FnMut(Event),
    ) {
        let kills = order.time_in_force == TimeInForce::FillOrKill && !self.fills(order, open);
        let MatchProgress { remaining_lots, ended } =
            match kills || !self.crosses(order.side, order.price_ticks) {
                true => MatchProgress { remaining_lots: order.quantity_lots, ended: false },
                false => self.trade(order, open, events),
            };
        let NewOrder { account, instrument, side, price_ticks, .. } = *order;
        let reason = if ended {
            DoneReason::SelfTrade
        } else if remaining_lots == 0 {
            DoneReason::Filled
        } else if !order.time_in_force.may_rest() {
            DoneReason::Expired
        } else {
            let resting = Order::of(order, remaining_lots);
            let (party, visible_lots) = (resting.party(), resting.visible_lots);
            let levels = self.lane_mut(side, false);
            match open.join(levels, price_ticks, resting, order.expires_ns) {
                Some(_) => {
                    events(Event::Booked {
                        instrument,
                        order: party,
                        side,
                        price_ticks,
                        visible_lots,
                    });
                    return;
                }
                None => DoneReason::NoRoom,
            }
        };
        open.accounts.closed(account, instrument, side, remaining_lots);
        events(Event::Done { instrument, order: party(order, remaining_lots), reason });
    }

    /// Trades with the other side, best price first, first in first, up to the order's price.
    #[inline]
    fn trade(
        &mut self,
        order: &NewOrder,
        open: &mut OpenOrders,
        events: &mut impl FnMut(Event),
    ) -> MatchProgress {
        let prevention =
            open.accounts.get(order.account).map_or(SelfTrade::Allowed, |a| a.self_trade);
        let opposite = match order.side {
            Side::Buy => &mut self.asks,
            Side::Sell => &mut self.bids,
        };
        let mut taker = MatchProgress { remaining_lots: order.quantity_lots, ended: false };
        while let Some(best) = opposite.best() {
            let level = opposite.level_mut(best);
            if !reaches(order.side, order.price_ticks, level.price_ticks) {
                break;
            }
            while let Some(first) = level.queue.first() {
                let own = open.slab.get(first).account == order.account;
                if own && prevention != SelfTrade::Allowed {
                    prevent(prevention, order, &mut taker, level, first, open, events);
                } else {
                    trade_one(order, &mut taker, level, first, open, events);
                    self.settings.reference_ticks = level.price_ticks;
                }
                if taker.ended || taker.remaining_lots == 0 {
                    break;
                }
            }
            if level.queue.first().is_none() {
                opposite.remove(best);
            }
            if taker.ended || taker.remaining_lots == 0 {
                break;
            }
        }
        taker
    }

    /// Whether all of an order would trade. Looks only at levels if that is enough; otherwise at
    /// every order, because of hidden quantity and the account's own orders.
    #[cold]
    fn fills(&self, order: &NewOrder, open: &OpenOrders) -> bool {
        let prevention =
            open.accounts.get(order.account).map_or(SelfTrade::Allowed, |a| a.self_trade);
        let reached = || {
            let levels = self.side(order.side.opposite()).best_first();
            levels.take_while(|l| reaches(order.side, order.price_ticks, l.price_ticks))
        };
        let mut lots: u64 = 0;
        if prevention == SelfTrade::Allowed {
            for level in reached() {
                lots += level.queue.visible_lots();
                if lots >= order.quantity_lots {
                    return true;
                }
            }
            lots = 0;
        }
        for level in reached() {
            let before_level = lots;
            let mut visible_lots = 0;
            for resting in open.slab.in_queue(&level.queue) {
                let own = resting.account == order.account && prevention != SelfTrade::Allowed;
                if own && prevention == SelfTrade::CancelOldest {
                    continue;
                }
                if own {
                    // Hidden quantity of earlier iceberg orders trades after it.
                    return before_level + visible_lots >= order.quantity_lots;
                }
                visible_lots += resting.visible_lots;
                lots += resting.remaining_lots();
            }
            if lots >= order.quantity_lots {
                return true;
            }
        }
        false
    }
}

/// Trades the incoming order with the first resting order at the best price.
#[inline]
fn trade_one(
    order: &NewOrder,
    taker: &mut MatchProgress,
    level: &mut Level,
    first: Handle,
    open: &mut OpenOrders,
    events: &mut impl FnMut(Event),
) {
    let NewOrder { instrument, account, side, .. } = *order;
    let quantity_lots = taker.remaining_lots.min(open.slab.get(first).visible_lots);
    taker.remaining_lots -= quantity_lots;
    let resting = open.slab.reduce(&mut level.queue, first, quantity_lots);
    if open.accounts.are_known() {
        open.accounts.traded(account, instrument, side, quantity_lots);
        open.accounts.traded(resting.account, instrument, side.opposite(), quantity_lots);
    }
    events(Event::Trade {
        instrument,
        price_ticks: level.price_ticks,
        quantity_lots,
        aggressor_side: side,
        aggressor: party(order, taker.remaining_lots),
        resting,
    });
    used_up(level, first, DoneReason::Filled, open, events);
}

/// Ends or replenishes an order that has lost some of its shown quantity.
#[inline]
fn used_up(
    level: &mut Level,
    first: Handle,
    reason: DoneReason,
    open: &mut OpenOrders,
    events: &mut impl FnMut(Event),
) {
    let order = open.slab.get(first);
    if order.visible_lots > 0 {
        return;
    }
    if order.hidden_lots == 0 {
        open.end(&mut level.queue, first, reason, events);
        return;
    }
    let order = open.slab.replenish(&mut level.queue, first);
    events(Event::Replenished {
        instrument: order.instrument,
        order: order.party(),
        side: order.side,
        price_ticks: level.price_ticks,
        visible_lots: order.visible_lots,
    });
}

/// Handles an incoming order that meets an order of its own account.
#[cold]
fn prevent(
    prevention: SelfTrade,
    order: &NewOrder,
    taker: &mut MatchProgress,
    level: &mut Level,
    first: Handle,
    open: &mut OpenOrders,
    events: &mut impl FnMut(Event),
) {
    let NewOrder { instrument, account, side, .. } = *order;
    match prevention {
        SelfTrade::Allowed => {}
        SelfTrade::CancelNewest => taker.ended = true,
        SelfTrade::CancelOldest => open.end(&mut level.queue, first, DoneReason::SelfTrade, events),
        SelfTrade::CancelBoth => {
            open.end(&mut level.queue, first, DoneReason::SelfTrade, events);
            taker.ended = true;
        }
        SelfTrade::Decrement => {
            let quantity_lots = taker.remaining_lots.min(open.slab.get(first).visible_lots);
            taker.remaining_lots -= quantity_lots;
            taker.ended = taker.remaining_lots == 0;
            let resting = open.slab.reduce(&mut level.queue, first, quantity_lots);
            open.accounts.release(account, instrument, side, quantity_lots);
            open.accounts.release(account, instrument, side.opposite(), quantity_lots);
            events(Event::Decremented {
                instrument,
                price_ticks: level.price_ticks,
                quantity_lots,
                aggressor_side: side,
                aggressor: party(order, taker.remaining_lots),
                resting,
            });
            used_up(level, first, DoneReason::SelfTrade, open, events);
        }
    }
}

/// Whether an order would trade at a price of the other side.
#[inline]
fn reaches(side: Side, price_ticks: i64, opposite_price_ticks: i64) -> bool {
    match side {
        Side::Buy => opposite_price_ticks <= price_ticks,
        Side::Sell => opposite_price_ticks >= price_ticks,
    }
}

#[inline]
pub(crate) fn party(order: &NewOrder, remaining_lots: u64) -> Party {
    let NewOrder { order_id, account, tag, .. } = *order;
    Party { order_id, account, tag, remaining_lots }
}

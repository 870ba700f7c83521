//! New orders, amendments, cancels, and triggered stops: first the checks, in the order of
//! [`Reject`], then the action.

use crate::book::queue::{Handle, Order};
use crate::book::{Book, party};
use crate::command::{
    Amend, Cancel, Command, NewOrder, OrderType, PRICE_TICKS_MAX, PostOnly, QUANTITY_LOTS_MAX, Side,
};
use crate::engine::Engine;
use crate::event::{Event, Reject};
use crate::open_orders::OpenOrders;
use crate::risk::{self, OrderDemand};
use crate::settings::InstrumentState;

impl Engine {
    #[inline]
    pub(crate) fn new_order(
        &mut self,
        new: &NewOrder,
        events: &mut impl FnMut(Event),
    ) -> Result<(), Reject> {
        let time_ns = self.time_ns;
        let Engine { books, open, killed, .. } = self;
        let book = books.get_mut(usize::from(new.instrument)).ok_or(Reject::UnknownInstrument)?;
        admit(open, new.account, time_ns)?.within()?;
        check_kill(*killed, open, new.account)?;
        check_state(book)?;
        check_form(new)?;
        if new.expires_ns != 0 && new.expires_ns <= time_ns {
            return Err(Reject::BadExpiry);
        }
        let market = new.order_type == OrderType::Market;
        if !market && !book.in_band(new.price_ticks) {
            return Err(Reject::PriceBand);
        }
        if open.find(new.order_id).is_some() {
            return Err(Reject::DuplicateOrderId);
        }
        check_risk(book, open, new, None)?;
        let stop_reached = book.reached(new.side, new.stop_ticks);
        let waits = new.stop_ticks != 0 && !stop_reached;
        let price_ticks = match market {
            true => risk::worst_ticks(open.accounts.get(new.account), new.side, &book.settings),
            false => book.posted_ticks(new)?,
        };
        let order = match waits {
            true => *new,
            false => NewOrder { price_ticks, stop_ticks: 0, ..*new },
        };
        book.check_room(&order, waits, open)?;
        open.accounts.opened(new.account, new.instrument, new.side, new.quantity_lots);
        if waits {
            return wait(book, open, &order, events);
        }
        if new.stop_ticks != 0 {
            let order = party(&order, order.quantity_lots);
            events(Event::Triggered { instrument: new.instrument, order });
        }
        book.enter(&order, open, events);
        Ok(())
    }

    pub(crate) fn amend(
        &mut self,
        amend: &Amend,
        events: &mut impl FnMut(Event),
    ) -> Result<(), Reject> {
        let Amend { order_id, account, tag, instrument, price_ticks, remaining_lots } = *amend;
        let Engine { books, open, killed, time_ns, .. } = self;
        let book = books.get_mut(usize::from(instrument)).ok_or(Reject::UnknownInstrument)?;
        admit(open, account, *time_ns)?.within()?;
        let handle = owned(open, order_id, account, instrument)?;
        let order = *open.slab.get(handle);
        let level_ticks = book.lane_mut(order.side, order.waits).level(order.level).price_ticks;
        let expires_ns = open.expiries.expires_ns(order.expiry);
        let old = order.as_new(level_ticks, expires_ns);
        let new = NewOrder { tag, price_ticks, quantity_lots: remaining_lots, ..old };
        let grows = price_ticks != old.price_ticks || remaining_lots > old.quantity_lots;
        let keeps_place = !grows && !order.waits;
        check_kill(*killed, open, account)?;
        match book.settings.state {
            InstrumentState::Halted if keeps_place => {}
            _ => check_state(book)?,
        }
        if !keeps_place {
            check_prices(&new)?;
        }
        if !(1..=QUANTITY_LOTS_MAX).contains(&remaining_lots) || !new.shows_enough() {
            return Err(Reject::BadQuantity);
        }
        if !keeps_place {
            if new.order_type == OrderType::Limit && !book.in_band(price_ticks) {
                return Err(Reject::PriceBand);
            }
            check_risk(book, open, &new, Some(old.quantity_lots))?;
        }
        let enters = !keeps_place && !order.waits;
        let new = match enters {
            true => NewOrder { price_ticks: book.posted_ticks(&new)?, ..new },
            false => new,
        };
        if enters {
            book.check_levels(&new, false)?;
        }
        open.accounts.release(account, instrument, order.side, old.quantity_lots);
        open.accounts.reserve(account, instrument, order.side, remaining_lots);
        if !enters {
            in_place(book, open, handle, &new, events);
            return Ok(());
        }
        book.leave(handle, open);
        let (side, order) = (new.side, party(&new, remaining_lots));
        let (price_ticks, kept_place, visible_lots) = (new.price_ticks, false, 0);
        events(Event::Amended { instrument, order, side, price_ticks, kept_place, visible_lots });
        book.enter(&new, open, events);
        Ok(())
    }

    #[inline]
    pub(crate) fn cancel(
        &mut self,
        cancel: &Cancel,
        events: &mut impl FnMut(Event),
    ) -> Result<(), Reject> {
        let Cancel { order_id, account, instrument, .. } = *cancel;
        self.book(instrument)?;
        admit(&mut self.open, account, self.time_ns)?;
        let handle = owned(&self.open, order_id, account, instrument)?;
        self.end(handle, crate::DoneReason::Cancelled, events);
        Ok(())
    }

    /// Triggers the stops whose price a command has reached, and those that they reach by trading.
    #[inline]
    pub(crate) fn trigger_stops(&mut self, command: &Command, events: &mut impl FnMut(Event)) {
        let instrument = match command {
            Command::New(new) => new.instrument,
            Command::Amend(amend) => amend.instrument,
            Command::Instrument(settings) => settings.instrument,
            _ => return,
        };
        let Engine { books, open, .. } = self;
        let Some(book) = books.get_mut(usize::from(instrument)) else { return };
        while book.settings.state == InstrumentState::Open {
            let next = |side| {
                let stops = book.stops(side);
                let stop_ticks = stops.best_ticks().filter(|ticks| book.reached(side, *ticks))?;
                Some((stop_ticks, stops.level(stops.best()?).queue.first()?))
            };
            let Some((stop_ticks, handle)) = next(Side::Buy).or_else(|| next(Side::Sell)) else {
                break;
            };
            trigger(book, open, handle, stop_ticks, events);
        }
    }
}

/// Result of counting a message.
struct RateCheck {
    within_rate: bool,
}

impl RateCheck {
    /// Not for a cancel.
    #[inline]
    fn within(self) -> Result<(), Reject> {
        if self.within_rate { Ok(()) } else { Err(Reject::MessageRate) }
    }
}

/// Counts a message of an existing account.
#[inline]
fn admit(open: &mut OpenOrders, account: u32, time_ns: u64) -> Result<RateCheck, Reject> {
    if !open.accounts.are_known() {
        return Ok(RateCheck { within_rate: true });
    }
    let account = open.accounts.get_mut(account).ok_or(Reject::UnknownAccount)?;
    Ok(RateCheck { within_rate: account.count_message(time_ns) })
}

#[inline]
fn check_kill(killed: bool, open: &OpenOrders, account: u32) -> Result<(), Reject> {
    match killed || open.accounts.get(account).is_some_and(|account| account.killed) {
        true => Err(Reject::KillSwitch),
        false => Ok(()),
    }
}

#[inline]
fn check_state(book: &Book) -> Result<(), Reject> {
    match book.settings.state {
        InstrumentState::Open => Ok(()),
        InstrumentState::Halted => Err(Reject::InstrumentHalted),
        InstrumentState::Closed => Err(Reject::InstrumentClosed),
    }
}

/// Checks an order's fields, alone and together.
#[inline]
fn check_form(new: &NewOrder) -> Result<(), Reject> {
    let rests = new.order_type == OrderType::Limit && new.time_in_force.may_rest();
    let plain = rests && new.stop_ticks == 0;
    let dated = new.time_in_force == crate::TimeInForce::GoodTillDate;
    let together = (new.order_type == OrderType::Limit || !new.time_in_force.may_rest())
        && (plain || (new.post_only == PostOnly::No && new.display_lots == 0))
        && dated == (new.expires_ns != 0);
    if !together {
        return Err(Reject::BadCombination);
    }
    check_prices(new)?;
    let quantity = 1..=QUANTITY_LOTS_MAX;
    let shows = new.display_lots <= new.quantity_lots && new.shows_enough();
    if !quantity.contains(&new.quantity_lots) || !shows {
        return Err(Reject::BadQuantity);
    }
    Ok(())
}

#[inline]
fn check_prices(new: &NewOrder) -> Result<(), Reject> {
    let prices = 1..=PRICE_TICKS_MAX;
    let limit_fits = match new.order_type {
        OrderType::Limit => prices.contains(&new.price_ticks),
        OrderType::Market => new.price_ticks == 0,
    };
    match limit_fits && (new.stop_ticks == 0 || prices.contains(&new.stop_ticks)) {
        true => Ok(()),
        false => Err(Reject::BadPrice),
    }
}

#[inline]
fn check_risk(
    book: &Book,
    open: &OpenOrders,
    order: &NewOrder,
    open_lots: Option<u64>,
) -> Result<(), Reject> {
    let (account, position) =
        (open.accounts.get(order.account), open.accounts.position(order.account, order.instrument));
    let (Some(account), Some(position)) = (account, position) else { return Ok(()) };
    let reference_ticks = book.settings.reference_ticks;
    risk::check(account, position, &OrderDemand { order, open_lots, reference_ticks })
}

/// The open order with this id, if it has this instrument and account.
#[inline]
fn owned(
    open: &OpenOrders,
    order_id: u64,
    account: u32,
    instrument: u16,
) -> Result<Handle, Reject> {
    let handle = open.find(order_id).ok_or(Reject::UnknownOrder)?;
    let order = open.slab.get(handle);
    if order.instrument != instrument {
        return Err(Reject::UnknownOrder);
    }
    if order.account != account {
        return Err(Reject::NotYourOrder);
    }
    Ok(handle)
}

/// Lets a stop wait; there is room.
#[cold]
fn wait(
    book: &mut Book,
    open: &mut OpenOrders,
    stop: &NewOrder,
    events: &mut impl FnMut(Event),
) -> Result<(), Reject> {
    let order = Order::of(stop, stop.quantity_lots);
    let stops = book.lane_mut(stop.side, true);
    open.join(stops, stop.stop_ticks, order, stop.expires_ns).ok_or(Reject::LimitOpenOrders)?;
    events(Event::Waiting {
        instrument: stop.instrument,
        order: order.party(),
        side: stop.side,
        stop_ticks: stop.stop_ticks,
    });
    Ok(())
}

/// Triggers a stop.
#[cold]
fn trigger(
    book: &mut Book,
    open: &mut OpenOrders,
    handle: Handle,
    stop_ticks: i64,
    events: &mut impl FnMut(Event),
) {
    let expires_ns = open.expiries.expires_ns(open.slab.get(handle).expiry);
    let stop = book.leave(handle, open).as_new(stop_ticks, expires_ns);
    let price_ticks = match stop.order_type {
        OrderType::Market => {
            risk::worst_ticks(open.accounts.get(stop.account), stop.side, &book.settings)
        }
        OrderType::Limit => stop.price_ticks,
    };
    let order = party(&stop, stop.quantity_lots);
    events(Event::Triggered { instrument: stop.instrument, order });
    book.enter(&NewOrder { price_ticks, stop_ticks: 0, ..stop }, open, events);
}

/// Amends an order that keeps its place, in the book or among the stops.
fn in_place(
    book: &mut Book,
    open: &mut OpenOrders,
    handle: Handle,
    new: &NewOrder,
    events: &mut impl FnMut(Event),
) {
    let Order { side, waits, level: index, .. } = *open.slab.get(handle);
    let level = book.lane_mut(side, waits).level_mut(index);
    open.slab.set_remaining(&mut level.queue, handle, new.quantity_lots);
    let order = open.slab.get_mut(handle);
    order.tag = new.tag;
    if waits {
        // Within 0 and PRICE_TICKS_MAX.
        order.display_lots_or_limit = new.price_ticks.unsigned_abs();
    }
    events(Event::Amended {
        instrument: order.instrument,
        order: order.party(),
        side,
        price_ticks: new.price_ticks,
        kept_place: true,
        visible_lots: if waits { 0 } else { order.visible_lots },
    });
}

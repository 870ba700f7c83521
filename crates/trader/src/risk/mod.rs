//! Stage 4: the trader's own risk check, before an order leaves. In memory and deterministic:
//! limits come from a profile, exposure from the trader's own orders, and the time from the caller.
//! The exchange has a check of its own; this one protects the trader from itself.

mod profile;

pub use crate::risk::profile::{Limits, Profile, Reference, RiskError};
use crate::risk::profile::{notional_max, out_of_range, whole_units};
use crate::strategy::OrderIntent;
use crate::strategy::own_orders::{OWN_ORDERS_MAX, OwnOrder, OwnOrders};
use engine::{PRICE_TICKS_MAX, QUANTITY_LOTS_MAX, Side, Top};
use wire::Decimal;

/// Why an order may not leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Rejection {
    /// Its price or quantity is below 1, or above what an engine takes.
    Range,
    /// Its amount is too large.
    Amount,
    /// Its notional is too large.
    Notional,
    /// The position would be too large if all open orders traded.
    Position,
    /// Too many open orders.
    OpenOrders,
    /// Too many messages in this second.
    MessageRate,
    /// Too far beyond the middle of the local book.
    Collar,
    /// The local book is empty: the price can't be checked.
    NoReference,
    /// The order to amend or cancel is not open, or waits for a reply.
    NotOpen,
    /// The connection's outbound buffer is full.
    Backlog,
}

impl Rejection {
    /// All reasons, in the order of their numbers.
    pub const ALL: [Rejection; 10] = [
        Rejection::Range,
        Rejection::Amount,
        Rejection::Notional,
        Rejection::Position,
        Rejection::OpenOrders,
        Rejection::MessageRate,
        Rejection::Collar,
        Rejection::NoReference,
        Rejection::NotOpen,
        Rejection::Backlog,
    ];

    /// The name of its counter.
    pub fn name(self) -> &'static str {
        match self {
            Rejection::Range => "range",
            Rejection::Amount => "amount_max",
            Rejection::Notional => "notional_max",
            Rejection::Position => "position_max",
            Rejection::OpenOrders => "open_orders_max",
            Rejection::MessageRate => "messages_per_second_max",
            Rejection::Collar => "collar_basis_points",
            Rejection::NoReference => "no_reference_price",
            Rejection::NotOpen => "not_open",
            Rejection::Backlog => "outbound_bytes_max",
        }
    }
}

/// The limits of one instrument, in ticks and lots, and the count of messages.
pub struct Risk {
    quantity_lots_max: u64,
    notional_max: u128,
    position_lots_max: i64,
    open_orders_max: u32,
    messages_per_second_max: u32,
    collar_basis_points: i64,
    second: u64,
    messages: u32,
}

const NS_PER_SECOND: u64 = 1_000_000_000;
const BASIS_POINTS: i64 = 10_000;

impl Risk {
    /// The limits of a profile for an instrument with the exchange's tick and lot.
    ///
    /// # Errors
    /// If the profile's reference data differ, or a limit is out of range.
    pub fn new(
        profile: &Profile,
        code: &str,
        tick: Decimal,
        lot: Decimal,
    ) -> Result<Risk, RiskError> {
        match profile.instrument.iter().find(|reference| reference.code == code) {
            None if profile.instrument.is_empty() => {}
            None => return Err(RiskError::Unlisted { code: code.to_owned() }),
            Some(reference) if (reference.tick, reference.lot) != (tick, lot) => {
                return Err(RiskError::Differs {
                    code: code.to_owned(),
                    tick: reference.tick,
                    lot: reference.lot,
                    exchange_tick: tick,
                    exchange_lot: lot,
                });
            }
            Some(_) => {}
        }
        let limits = &profile.limits;
        let quantity_max = whole_units("amount_max", limits.amount_max, lot)?;
        let position_max = whole_units("position_max", limits.position_max, lot)?;
        let open_orders = limits.open_orders_max;
        if !(1..=OWN_ORDERS_MAX as u32).contains(&open_orders) {
            let why = format!("1 to {OWN_ORDERS_MAX}");
            return Err(out_of_range("open_orders_max", &open_orders, why));
        }
        if limits.collar_basis_points > 1_000_000 {
            let why = "0 to 1000000".to_owned();
            return Err(out_of_range("collar_basis_points", &limits.collar_basis_points, why));
        }
        Ok(Risk {
            quantity_lots_max: quantity_max.min(QUANTITY_LOTS_MAX),
            notional_max: notional_max(limits.notional_max, tick, lot)?,
            position_lots_max: i64::try_from(position_max).unwrap_or(i64::MAX),
            open_orders_max: open_orders,
            messages_per_second_max: limits.messages_per_second_max,
            collar_basis_points: limits.collar_basis_points.into(),
            second: 0,
            messages: 0,
        })
    }

    /// Checks whether the order intent may leave at `now_ns`. `top` is the market without the
    /// trader's own orders.
    ///
    /// # Errors
    /// The first reason, in the order of [`Rejection`], why it may not.
    #[inline]
    pub fn check(
        &mut self,
        intent: &OrderIntent,
        orders: &mut OwnOrders,
        top: &Top,
        now_ns: u64,
    ) -> Result<(), Rejection> {
        self.judge(intent, orders, top, now_ns)?;
        self.messages += 1;
        Ok(())
    }

    #[inline]
    fn judge(
        &mut self,
        intent: &OrderIntent,
        orders: &mut OwnOrders,
        top: &Top,
        now_ns: u64,
    ) -> Result<(), Rejection> {
        let second = now_ns / NS_PER_SECOND;
        if second != self.second {
            (self.second, self.messages) = (second, 0);
        }
        let (side, price_ticks, quantity_lots, is_new) = match *intent {
            OrderIntent::New { side, price_ticks, quantity_lots, .. } => {
                (side, price_ticks, quantity_lots, true)
            }
            OrderIntent::Amend { number, price_ticks, quantity_lots } => {
                (open(orders, number)?.side, price_ticks, quantity_lots, false)
            }
            OrderIntent::Cancel { number } => return open(orders, number).map(drop),
        };
        if !(1..=PRICE_TICKS_MAX).contains(&price_ticks)
            || !(1..=QUANTITY_LOTS_MAX).contains(&quantity_lots)
        {
            return Err(Rejection::Range);
        }
        if quantity_lots > self.quantity_lots_max {
            return Err(Rejection::Amount);
        }
        if u128::from(price_ticks.cast_unsigned()) * u128::from(quantity_lots) > self.notional_max {
            return Err(Rejection::Notional);
        }
        if self.would_be_too_much(orders, side, quantity_lots) {
            return Err(Rejection::Position);
        }
        if is_new && orders.alive() >= self.open_orders_max {
            return Err(Rejection::OpenOrders);
        }
        if self.messages >= self.messages_per_second_max {
            return Err(Rejection::MessageRate);
        }
        self.collar(side, price_ticks, top)
    }

    /// Whether the position would exceed its limit if everything open on that side traded, and this
    /// too. An amendment counts in addition to its order, which may trade while the amendment is in
    /// flight.
    fn would_be_too_much(&self, orders: &OwnOrders, side: Side, quantity_lots: u64) -> bool {
        let open = i128::from(orders.exposed_lots(side)) + i128::from(quantity_lots);
        let position = i128::from(orders.position_lots());
        let reached = match side {
            Side::Buy => position + open,
            Side::Sell => open - position,
        };
        reached > i128::from(self.position_lots_max)
    }

    #[inline]
    fn collar(&self, side: Side, price_ticks: i64, top: &Top) -> Result<(), Rejection> {
        let middle = match (top.bid, top.ask) {
            (Some(bid), Some(ask)) => (bid.price_ticks + ask.price_ticks) / 2,
            (Some(only), None) | (None, Some(only)) => only.price_ticks,
            (None, None) => return Err(Rejection::NoReference),
        };
        // At least one tick: rounding must not close a cheap instrument.
        let collar = (middle / BASIS_POINTS * self.collar_basis_points
            + middle % BASIS_POINTS * self.collar_basis_points / BASIS_POINTS)
            .max(1);
        let past = match side {
            Side::Buy => price_ticks - middle,
            Side::Sell => middle - price_ticks,
        };
        if past > collar { Err(Rejection::Collar) } else { Ok(()) }
    }
}

fn open(orders: &mut OwnOrders, number: u64) -> Result<&OwnOrder, Rejection> {
    match orders.living(number) {
        Some(order) if order.pending.is_none() => Ok(order),
        _ => Err(Rejection::NotOpen),
    }
}

#[cfg(test)]
mod tests;

//! The risk checks, in order. All are arithmetic on two cache lines, the account's and its
//! position's.

use crate::command::{NewOrder, OrderType, Side};
use crate::event::Reject;
use crate::open_orders::accounts::{Account, Position};
use crate::settings::InstrumentSettings;

/// The demand of an order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OrderDemand<'a> {
    pub order: &'a NewOrder,
    /// In an amendment, its present open quantity.
    pub open_lots: Option<u64>,
    /// The instrument's reference price, 0 without one.
    pub reference_ticks: i64,
}

/// Checks whether an account may send an order, in the order of [`Reject`].
#[inline]
pub(crate) fn check(
    account: &Account,
    position: &Position,
    wanted: &OrderDemand<'_>,
) -> Result<(), Reject> {
    let OrderDemand { order, open_lots, reference_ticks } = *wanted;
    if order.quantity_lots > account.quantity_lots_max {
        return Err(Reject::RiskQuantity);
    }
    let market = order.order_type == OrderType::Market;
    if !market && !within_collar(account, order, reference_ticks) {
        return Err(Reject::RiskCollar);
    }
    if account.notional_max != u64::MAX {
        let price_ticks = if market { reference_ticks } else { order.price_ticks };
        if price_ticks == 0 {
            return Err(Reject::RiskNoReference);
        }
        // Both are positive and at most 10^12.
        let notional = price_ticks as u128 * u128::from(order.quantity_lots);
        if notional > u128::from(account.notional_max) {
            return Err(Reject::RiskNotional);
        }
    }
    let may_stay = order.time_in_force.may_rest() || order.stop_ticks != 0;
    if may_stay && open_lots.is_none() && account.open_orders >= account.open_orders_max {
        return Err(Reject::RiskOpenOrders);
    }
    let more_lots = order.quantity_lots.saturating_sub(open_lots.unwrap_or(0));
    if more_lots > 0 && !position.has_room_for(order.side, more_lots) {
        return Err(Reject::RiskPosition);
    }
    Ok(())
}

/// The worst price at which a market order may trade: its account's collar around the reference
/// price, within the band.
pub(crate) fn worst_ticks(
    account: Option<&Account>,
    side: Side,
    settings: &InstrumentSettings,
) -> i64 {
    let InstrumentSettings { band_low_ticks, band_high_ticks, reference_ticks, .. } = *settings;
    // At most 10^12, so that the sums are exact.
    let collar_ticks = account.map_or(0, |account| account.collar_ticks) as i64;
    match (side, collar_ticks == 0 || reference_ticks == 0) {
        (Side::Buy, true) => band_high_ticks,
        (Side::Sell, true) => band_low_ticks,
        (Side::Buy, false) => band_high_ticks.min(reference_ticks + collar_ticks),
        (Side::Sell, false) => band_low_ticks.max(reference_ticks - collar_ticks),
    }
}

#[inline]
fn within_collar(account: &Account, order: &NewOrder, reference_ticks: i64) -> bool {
    if account.collar_ticks == 0 || reference_ticks == 0 {
        return true;
    }
    let past_ticks = match order.side {
        Side::Buy => order.price_ticks - reference_ticks,
        Side::Sell => reference_ticks - order.price_ticks,
    };
    past_ticks <= account.collar_ticks as i64
}

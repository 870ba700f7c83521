//! An account's risk limits and positions.

use super::*;

impl NaiveEngine {
    /// Checks an order that would enter or, with `before`, an order that would be amended.
    pub(super) fn check_risk(
        &self,
        order: &NewOrder,
        before: Option<&NewOrder>,
    ) -> Result<(), Reject> {
        let Some(account) = self.accounts.get(order.account as usize) else { return Ok(()) };
        let settings = &account.settings;
        if order.quantity_lots > settings.quantity_lots_max {
            return Err(Reject::RiskQuantity);
        }
        if self.is_past_collar(order) {
            return Err(Reject::RiskCollar);
        }
        self.check_notional(order, settings.notional_max)?;
        if before.is_none() && self.has_all_its_orders(order, settings.open_orders_max) {
            return Err(Reject::RiskOpenOrders);
        }
        let before_lots = before.map_or(0, |order| order.quantity_lots);
        let open_lots = self.open_lots(order.account, order.instrument, order.side)
            - i128::from(before_lots)
            + i128::from(order.quantity_lots);
        let position = self.position(order.account, order.instrument);
        let past = match order.side {
            Side::Buy => {
                i128::from(position.change_lots) + open_lots > i128::from(position.long_lots_max)
            }
            Side::Sell => {
                open_lots - i128::from(position.change_lots) > i128::from(position.short_lots_max)
            }
        };
        let grows = order.quantity_lots > before_lots;
        if past && grows { Err(Reject::RiskPosition) } else { Ok(()) }
    }

    fn is_past_collar(&self, order: &NewOrder) -> bool {
        let price_ticks = i128::from(order.price_ticks);
        let past = |collar| match order.side {
            Side::Buy => price_ticks > collar,
            Side::Sell => price_ticks < collar,
        };
        order.order_type == OrderType::Limit && self.collar_price(order).is_some_and(past)
    }

    /// The collar of an order's account, if it has one and there is a reference price.
    pub(super) fn collar_price(&self, order: &NewOrder) -> Option<i128> {
        let account = self.accounts.get(order.account as usize)?;
        let reference = self.instruments[usize::from(order.instrument)].reference_ticks;
        let collar = account.settings.collar_ticks;
        if collar == 0 || reference == 0 {
            return None;
        }
        Some(match order.side {
            Side::Buy => i128::from(reference) + i128::from(collar),
            Side::Sell => i128::from(reference) - i128::from(collar),
        })
    }

    fn check_notional(&self, order: &NewOrder, notional_max: u64) -> Result<(), Reject> {
        if notional_max == u64::MAX {
            return Ok(());
        }
        let price_ticks = match order.order_type {
            OrderType::Limit => order.price_ticks,
            OrderType::Market => self.instruments[usize::from(order.instrument)].reference_ticks,
        };
        if price_ticks == 0 {
            return Err(Reject::RiskNoReference);
        }
        let notional = i128::from(price_ticks) * i128::from(order.quantity_lots);
        if notional > i128::from(notional_max) { Err(Reject::RiskNotional) } else { Ok(()) }
    }

    /// Whether an order might exceed its account's number of open orders.
    fn has_all_its_orders(&self, order: &NewOrder, open_orders_max: u32) -> bool {
        let own = self.open.iter().filter(|open| open.order.account == order.account).count();
        let may_be_open = order.time_in_force.may_rest() || order.stop_ticks != 0;
        may_be_open && own >= open_orders_max as usize
    }

    /// Everything that an account has open on a side.
    pub(super) fn open_lots(&self, account: u32, instrument: u16, side: Side) -> i128 {
        let own = self.open.iter().map(|open| open.order).filter(|order| {
            (order.account, order.instrument, order.side) == (account, instrument, side)
        });
        own.map(|order| i128::from(order.quantity_lots)).sum()
    }

    pub(super) fn move_position(&mut self, order: &NewOrder, quantity_lots: u64) {
        if self.accounts.is_empty() {
            return;
        }
        let position = self.position_mut(order.account, order.instrument);
        position.change_lots += match order.side {
            Side::Buy => quantity_lots as i64,
            Side::Sell => -(quantity_lots as i64),
        };
    }

    /// The position is in `change_lots`.
    fn position(&self, account: u32, instrument: u16) -> PositionSettings {
        let at_first = PositionSettings::unlimited(account, instrument);
        self.positions.get(&(account, instrument)).copied().unwrap_or(at_first)
    }

    pub(super) fn position_mut(&mut self, account: u32, instrument: u16) -> &mut PositionSettings {
        let now = self.position(account, instrument);
        self.positions.entry((account, instrument)).or_insert(now)
    }

    pub fn position_lots(&self, account: u32, instrument: u16) -> i64 {
        self.position(account, instrument).change_lots
    }
}

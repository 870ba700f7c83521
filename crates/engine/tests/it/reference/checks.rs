//! Rejections except risk, in the order of `Reject`.

use super::*;

impl NaiveEngine {
    /// The order as it enters: post-only may change its price.
    pub(super) fn check_new(&mut self, new: &NewOrder) -> Result<NewOrder, Reject> {
        self.check_instrument(new.instrument)?;
        self.check_account(new.account)?;
        self.count_message(new.account)?;
        self.check_switches(new.account)?;
        self.check_state(new.instrument)?;
        check_combination(new)?;
        check_prices(new)?;
        check_quantity(new)?;
        if new.display_lots > new.quantity_lots {
            return Err(Reject::BadQuantity);
        }
        if new.time_in_force == TimeInForce::GoodTillDate && new.expires_ns <= self.time_ns {
            return Err(Reject::BadExpiry);
        }
        self.check_band(new)?;
        if self.index(new.order_id).is_some() {
            return Err(Reject::DuplicateOrderId);
        }
        self.check_risk(new, None)?;
        let order = self.short_of_the_touch(new)?;
        self.check_room(&order)?;
        Ok(order)
    }

    /// The order as it will be: post-only may change its price.
    pub(super) fn check_amend(&mut self, amend: &Amend) -> Result<NewOrder, Reject> {
        self.check_instrument(amend.instrument)?;
        self.check_account(amend.account)?;
        self.count_message(amend.account)?;
        let order = self.find(amend.order_id, amend.account, amend.instrument)?;
        self.check_switches(amend.account)?;
        let Amend { tag, price_ticks, remaining_lots, .. } = *amend;
        let amended = NewOrder { tag, price_ticks, quantity_lots: remaining_lots, ..order };
        if order.stop_ticks == 0 && keeps_place(&order, amend) {
            check_quantity(&amended)?;
            return Ok(amended);
        }
        self.check_state(amend.instrument)?;
        check_prices(&amended)?;
        check_quantity(&amended)?;
        self.check_band(&amended)?;
        self.check_risk(&amended, Some(&order))?;
        if order.stop_ticks != 0 {
            return Ok(amended);
        }
        let amended = self.short_of_the_touch(&amended)?;
        // The price that it leaves counts, even if no other order rests there.
        if self.has_level(&amended) { Ok(amended) } else { Err(Reject::LimitPriceLevels) }
    }

    pub(super) fn check_instrument(&self, instrument: u16) -> Result<(), Reject> {
        let known = usize::from(instrument) < self.instruments.len();
        known.then_some(()).ok_or(Reject::UnknownInstrument)
    }

    /// The account of an order; an engine without accounts accepts any.
    pub(super) fn check_account(&self, account: u32) -> Result<(), Reject> {
        if self.limits.accounts_max == 0 { Ok(()) } else { self.check_own_account(account) }
    }

    pub(super) fn check_own_account(&self, account: u32) -> Result<(), Reject> {
        let known = account < self.limits.accounts_max;
        known.then_some(()).ok_or(Reject::UnknownAccount)
    }

    /// Counts a message of an account, if the engine has accounts.
    pub(super) fn count_message(&mut self, account: u32) -> Result<(), Reject> {
        let Some(account) = self.accounts.get_mut(account as usize) else { return Ok(()) };
        let second = self.time_ns / 1_000_000_000;
        if account.second != second {
            account.second = second;
            account.messages = 0;
        }
        let full = account.messages >= account.settings.messages_per_second_max
            && account.settings.messages_per_second_max != u32::MAX;
        account.messages = account.messages.saturating_add(1);
        if full { Err(Reject::MessageRate) } else { Ok(()) }
    }

    fn check_switches(&self, account: u32) -> Result<(), Reject> {
        let own = self.accounts.get(account as usize).is_some_and(|account| account.killed);
        if self.killed || own { Err(Reject::KillSwitch) } else { Ok(()) }
    }

    fn check_state(&self, instrument: u16) -> Result<(), Reject> {
        match self.instruments[usize::from(instrument)].state {
            InstrumentState::Open => Ok(()),
            InstrumentState::Halted => Err(Reject::InstrumentHalted),
            InstrumentState::Closed => Err(Reject::InstrumentClosed),
        }
    }

    fn check_band(&self, order: &NewOrder) -> Result<(), Reject> {
        let instrument = &self.instruments[usize::from(order.instrument)];
        let band = instrument.band_low_ticks..=instrument.band_high_ticks;
        let inside = order.order_type == OrderType::Market || band.contains(&order.price_ticks);
        if inside { Ok(()) } else { Err(Reject::PriceBand) }
    }

    /// The open order with this id.
    pub(super) fn find(
        &self,
        order_id: u64,
        account: u32,
        instrument: u16,
    ) -> Result<NewOrder, Reject> {
        let index = self.index(order_id).ok_or(Reject::UnknownOrder)?;
        let order = self.open[index].order;
        if order.instrument != instrument {
            return Err(Reject::UnknownOrder);
        }
        if order.account != account {
            return Err(Reject::NotYourOrder);
        }
        Ok(order)
    }

    /// Applies an order's post-only setting.
    fn short_of_the_touch(&self, order: &NewOrder) -> Result<NewOrder, Reject> {
        if order.post_only == PostOnly::No {
            return Ok(*order);
        }
        let touch = self.resting(order.instrument, order.side.opposite()).first().copied();
        let Some(touch_ticks) = touch.map(|open| open.order.price_ticks) else {
            return Ok(*order);
        };
        let (crosses, price_ticks) = match order.side {
            Side::Buy => (order.price_ticks >= touch_ticks, touch_ticks - 1),
            Side::Sell => (order.price_ticks <= touch_ticks, touch_ticks + 1),
        };
        if !crosses {
            return Ok(*order);
        }
        let moved = NewOrder { price_ticks, ..*order };
        let rests = order.post_only == PostOnly::Reprice
            && (1..=PRICE_TICKS_MAX).contains(&price_ticks)
            && self.check_band(&moved).is_ok();
        if rests { Ok(moved) } else { Err(Reject::PostOnlyWouldTrade) }
    }

    /// Whether there is room for an order, if it rests or waits.
    fn check_room(&self, order: &NewOrder) -> Result<(), Reject> {
        let waits = order.stop_ticks != 0 && !self.is_reached(order);
        let too_many = if waits {
            self.open.len() >= self.limits.open_orders_max as usize
        } else {
            self.would_be_too_many(NewOrder { stop_ticks: 0, ..*order })
        };
        if too_many {
            return Err(Reject::LimitOpenOrders);
        }
        let has_level = if waits {
            self.has_stop_level(order)
        } else {
            !order.time_in_force.may_rest() || self.has_level(order)
        };
        if !has_level {
            return Err(Reject::LimitPriceLevels);
        }
        let expiring = |order: &NewOrder| order.time_in_force == TimeInForce::GoodTillDate;
        let others = self.open.iter().filter(|open| expiring(&open.order)).count();
        if expiring(order) && others >= self.limits.expiring_orders_max as usize {
            return Err(Reject::LimitExpiringOrders);
        }
        Ok(())
    }

    /// Whether a level for the order exists or can be added.
    pub(super) fn has_level(&self, order: &NewOrder) -> bool {
        let prices: Vec<i64> =
            self.levels(order.instrument, order.side).iter().map(|level| level.0).collect();
        prices.contains(&order.price_ticks) || prices.len() < self.limits.price_levels_max as usize
    }

    fn has_stop_level(&self, order: &NewOrder) -> bool {
        let mut prices: Vec<i64> =
            self.waiting(order.instrument, order.side).iter().map(|o| o.order.stop_ticks).collect();
        prices.dedup();
        prices.contains(&order.stop_ticks) || prices.len() < self.limits.stop_levels_max as usize
    }

    pub(super) fn check_account_settings(&self, settings: &AccountSettings) -> Result<(), Reject> {
        self.check_own_account(settings.account)?;
        let sound = settings.quantity_lots_max <= QUANTITY_LOTS_MAX
            && settings.collar_ticks <= PRICE_TICKS_MAX as u64;
        if sound { Ok(()) } else { Err(Reject::BadSetting) }
    }

    pub(super) fn check_instrument_settings(
        &self,
        settings: &InstrumentSettings,
    ) -> Result<(), Reject> {
        self.check_instrument(settings.instrument)?;
        let InstrumentSettings { band_low_ticks, band_high_ticks, reference_ticks, .. } = *settings;
        let sound = 1 <= band_low_ticks
            && band_low_ticks <= band_high_ticks
            && band_high_ticks <= PRICE_TICKS_MAX
            && (0..=PRICE_TICKS_MAX).contains(&reference_ticks);
        if sound { Ok(()) } else { Err(Reject::BadSetting) }
    }

    /// The resulting position.
    pub(super) fn check_position_settings(
        &self,
        settings: &PositionSettings,
    ) -> Result<i64, Reject> {
        let PositionSettings { account, instrument, long_lots_max, short_lots_max, .. } = *settings;
        self.check_instrument(instrument)?;
        self.check_own_account(account)?;
        let after =
            i128::from(self.position_lots(account, instrument)) + i128::from(settings.change_lots);
        let most = i128::from(POSITION_LOTS_MAX);
        let sound = long_lots_max <= POSITION_LOTS_MAX
            && short_lots_max <= POSITION_LOTS_MAX
            && after + self.open_lots(account, instrument, Side::Buy) <= most
            && self.open_lots(account, instrument, Side::Sell) - after <= most;
        if sound { Ok(after as i64) } else { Err(Reject::BadSetting) }
    }
}

fn check_combination(new: &NewOrder) -> Result<(), Reject> {
    let is_market = new.order_type == OrderType::Market;
    let may_rest = new.time_in_force.may_rest();
    let is_dated = new.time_in_force == TimeInForce::GoodTillDate;
    let plain = !is_market && new.stop_ticks == 0 && may_rest;
    let goes_together = !(is_market && may_rest)
        && (new.post_only == PostOnly::No || plain)
        && (new.display_lots == 0 || plain)
        && is_dated == (new.expires_ns != 0);
    if goes_together { Ok(()) } else { Err(Reject::BadCombination) }
}

fn check_prices(order: &NewOrder) -> Result<(), Reject> {
    let price = match order.order_type {
        OrderType::Limit => (1..=PRICE_TICKS_MAX).contains(&order.price_ticks),
        OrderType::Market => order.price_ticks == 0,
    };
    let stop = (0..=PRICE_TICKS_MAX).contains(&order.stop_ticks);
    if price && stop { Ok(()) } else { Err(Reject::BadPrice) }
}

fn check_quantity(order: &NewOrder) -> Result<(), Reject> {
    let NewOrder { quantity_lots, display_lots, .. } = *order;
    let sound = (1..=QUANTITY_LOTS_MAX).contains(&quantity_lots)
        && (display_lots == 0 || quantity_lots.div_ceil(display_lots) <= DISPLAYS_MAX);
    if sound { Ok(()) } else { Err(Reject::BadQuantity) }
}

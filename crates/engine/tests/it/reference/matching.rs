//! Matches an order with the resting ones.

use super::*;

impl NaiveEngine {
    /// Matches an order that enters; then it is done, or rests itself.
    pub(super) fn enter(&mut self, order: NewOrder, events: &mut Vec<Event>) {
        let mut order = NewOrder { stop_ticks: 0, ..order };
        let instrument = order.instrument;
        let all_or_nothing = order.time_in_force == TimeInForce::FillOrKill;
        let reason = if all_or_nothing && !self.would_trade_whole(order) {
            Some(DoneReason::Expired)
        } else {
            self.meet(&mut order, events)
        };
        let reason = reason.or_else(|| {
            if !order.time_in_force.may_rest() {
                Some(DoneReason::Expired)
            } else if !self.has_level(&order) {
                Some(DoneReason::NoRoom)
            } else {
                None
            }
        });
        if let Some(reason) = reason {
            events.push(Event::Done { instrument, order: party(&order), reason });
            return;
        }
        let visible_lots = shown(&order);
        let NewOrder { side, price_ticks, .. } = order;
        self.join(order, visible_lots);
        let order = party(&order);
        events.push(Event::Booked { instrument, order, side, price_ticks, visible_lots });
    }

    /// Whether all of an order would trade, by trial.
    fn would_trade_whole(&self, mut order: NewOrder) -> bool {
        let mut events = Vec::new();
        let quantity_lots = order.quantity_lots;
        self.clone().meet(&mut order, &mut events);
        let traded = events.iter().map(|event| match event {
            Event::Trade { quantity_lots, .. } => *quantity_lots,
            _ => 0,
        });
        traded.sum::<u64>() == quantity_lots
    }

    /// Whether an order that enters would exceed the number of open orders, by trial.
    pub(super) fn would_be_too_many(&self, mut order: NewOrder) -> bool {
        let full = self.open.len() >= self.limits.open_orders_max as usize;
        let mut trial = self.clone();
        full && order.time_in_force.may_rest()
            && trial.meet(&mut order, &mut Vec::new()).is_none()
            && trial.open.len() >= self.limits.open_orders_max as usize
    }

    /// Matches an order with the resting ones, one after the other. Returns why it ended; otherwise
    /// it has a remainder and no counterpart.
    fn meet(&mut self, order: &mut NewOrder, events: &mut Vec<Event>) -> Option<DoneReason> {
        let worst_ticks = self.worst_ticks(order);
        while let Some(resting) = self.next_to_meet(order, worst_ticks) {
            let resting_id = resting.order.order_id;
            match self.self_trade(order, &resting.order) {
                SelfTrade::Allowed => self.trade(order, resting_id, events),
                SelfTrade::Decrement => self.decrement(order, resting_id, events),
                SelfTrade::CancelNewest => return Some(DoneReason::SelfTrade),
                SelfTrade::CancelOldest => self.end(resting_id, DoneReason::SelfTrade, events),
                SelfTrade::CancelBoth => {
                    self.end(resting_id, DoneReason::SelfTrade, events);
                    return Some(DoneReason::SelfTrade);
                }
            }
            if order.quantity_lots == 0 {
                let traded = self.self_trade(order, &resting.order) == SelfTrade::Allowed;
                return Some(if traded { DoneReason::Filled } else { DoneReason::SelfTrade });
            }
        }
        None
    }

    /// The last price at which an order may trade: for a market order that of its collar or of the
    /// band, whichever is nearer.
    fn worst_ticks(&self, order: &NewOrder) -> i64 {
        if order.order_type == OrderType::Limit {
            return order.price_ticks;
        }
        let instrument = &self.instruments[usize::from(order.instrument)];
        let collar = self.collar_price(order);
        match order.side {
            Side::Buy => collar.unwrap_or(i128::MAX).min(instrument.band_high_ticks.into()) as i64,
            Side::Sell => collar.unwrap_or(i128::MIN).max(instrument.band_low_ticks.into()) as i64,
        }
    }

    fn next_to_meet(&self, order: &NewOrder, worst_ticks: i64) -> Option<Open> {
        let mut resting = self.resting(order.instrument, order.side.opposite());
        resting.retain(|open| match order.side {
            Side::Buy => open.order.price_ticks <= worst_ticks,
            Side::Sell => open.order.price_ticks >= worst_ticks,
        });
        resting.first().copied()
    }

    fn self_trade(&self, order: &NewOrder, resting: &NewOrder) -> SelfTrade {
        match self.accounts.get(order.account as usize) {
            Some(account) if order.account == resting.account => account.settings.self_trade,
            _ => SelfTrade::Allowed,
        }
    }

    fn trade(&mut self, order: &mut NewOrder, resting_id: u64, events: &mut Vec<Event>) {
        let (quantity_lots, resting) = self.reduce_both(order, resting_id);
        let NewOrder { instrument, price_ticks, .. } = resting;
        events.push(Event::Trade {
            instrument,
            price_ticks,
            quantity_lots,
            aggressor_side: order.side,
            aggressor: party(order),
            resting: party(&resting),
        });
        self.instruments[usize::from(instrument)].reference_ticks = price_ticks;
        for order in [&*order, &resting] {
            self.move_position(order, quantity_lots);
        }
        self.show_more_or_end(resting_id, DoneReason::Filled, events);
    }

    fn decrement(&mut self, order: &mut NewOrder, resting_id: u64, events: &mut Vec<Event>) {
        let (quantity_lots, resting) = self.reduce_both(order, resting_id);
        events.push(Event::Decremented {
            instrument: resting.instrument,
            price_ticks: resting.price_ticks,
            quantity_lots,
            aggressor_side: order.side,
            aggressor: party(order),
            resting: party(&resting),
        });
        self.show_more_or_end(resting_id, DoneReason::SelfTrade, events);
    }

    /// The quantity, and the resting order after it.
    fn reduce_both(&mut self, order: &mut NewOrder, resting_id: u64) -> (u64, NewOrder) {
        let at = self.index(resting_id).expect("it rests");
        let resting = &mut self.open[at];
        let quantity_lots = order.quantity_lots.min(resting.visible_lots);
        order.quantity_lots -= quantity_lots;
        resting.order.quantity_lots -= quantity_lots;
        resting.visible_lots -= quantity_lots;
        (quantity_lots, resting.order)
    }

    fn show_more_or_end(&mut self, order_id: u64, reason: DoneReason, events: &mut Vec<Event>) {
        let at = self.index(order_id).expect("it rests");
        let resting = &mut self.open[at];
        if resting.order.quantity_lots == 0 {
            self.end(order_id, reason, events);
        } else if resting.visible_lots == 0 {
            self.counter += 1;
            resting.place = self.counter;
            resting.visible_lots = shown(&resting.order);
            let Open { order, visible_lots, .. } = *resting;
            let NewOrder { instrument, side, price_ticks, .. } = order;
            let order = party(&order);
            events.push(Event::Replenished { instrument, order, side, price_ticks, visible_lots });
        }
    }
}

/// An order's shown quantity when it starts to rest or is replenished.
fn shown(order: &NewOrder) -> u64 {
    match order.display_lots {
        0 => order.quantity_lots,
        display_lots => display_lots.min(order.quantity_lots),
    }
}

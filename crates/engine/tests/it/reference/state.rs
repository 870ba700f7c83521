//! The public state.

use super::*;

impl NaiveEngine {
    /// The resting orders of a side, first to trade first.
    pub(super) fn resting(&self, instrument: u16, side: Side) -> Vec<Open> {
        let mut resting = self.on_side(instrument, side);
        resting.retain(|open| open.order.stop_ticks == 0);
        resting.sort_by_key(|open| {
            let price_ticks = open.order.price_ticks;
            (if side == Side::Buy { -price_ticks } else { price_ticks }, open.place)
        });
        resting
    }

    /// The waiting stops of a side, next to trigger first.
    pub(super) fn waiting(&self, instrument: u16, side: Side) -> Vec<Open> {
        let mut waiting = self.on_side(instrument, side);
        waiting.retain(|open| open.order.stop_ticks != 0);
        waiting.sort_by_key(|open| {
            let stop_ticks = open.order.stop_ticks;
            (if side == Side::Buy { stop_ticks } else { -stop_ticks }, open.place)
        });
        waiting
    }

    fn on_side(&self, instrument: u16, side: Side) -> Vec<Open> {
        let here = |open: &&Open| (open.order.instrument, open.order.side) == (instrument, side);
        self.open.iter().filter(here).copied().collect()
    }

    /// All open orders, in the order of a mass cancel without an account.
    pub(super) fn in_order(&self) -> Vec<Open> {
        let mut all = Vec::new();
        for instrument in 0..self.instruments.len() as u16 {
            all.extend(self.resting(instrument, Side::Buy));
            all.extend(self.resting(instrument, Side::Sell));
            all.extend(self.waiting(instrument, Side::Buy));
            all.extend(self.waiting(instrument, Side::Sell));
        }
        all
    }

    pub fn open_orders(&self) -> u32 {
        self.open.len() as u32
    }

    pub fn levels(&self, instrument: u16, side: Side) -> Vec<(i64, u64, u32)> {
        let mut levels: Vec<(i64, u64, u32)> = Vec::new();
        for Open { order, visible_lots, .. } in self.resting(instrument, side) {
            match levels.last_mut() {
                Some(level) if level.0 == order.price_ticks => {
                    level.1 += visible_lots;
                    level.2 += 1;
                }
                _ => levels.push((order.price_ticks, visible_lots, 1)),
            }
        }
        levels
    }

    pub fn save(&self) -> Vec<SavedItem> {
        let mut pieces = vec![SavedItem::Engine {
            instruments: self.instruments.len() as u16,
            limits: self.limits,
            time_ns: self.time_ns,
            killed: self.killed,
        }];
        pieces.extend(self.instruments.iter().copied().map(SavedItem::Instrument));
        for Account { settings, killed, second, messages } in self.accounts.iter().copied() {
            pieces.push(SavedItem::Account { settings, killed, second, messages });
        }
        for position in self.positions.values() {
            let at_first = position.change_lots == 0
                && position.long_lots_max == POSITION_LOTS_MAX
                && position.short_lots_max == POSITION_LOTS_MAX;
            if !at_first {
                pieces.push(SavedItem::Position(*position));
            }
        }
        for Open { order, visible_lots, .. } in self.in_order() {
            pieces.push(SavedItem::Order { order, visible_lots });
        }
        let mut joined = self.open.clone();
        joined.retain(|_| self.limits.accounts_max > 0);
        joined.sort_by_key(|open| (open.order.account, open.joined));
        for Open { order: NewOrder { account, order_id, .. }, .. } in joined {
            pieces.push(SavedItem::Joined { account, order_id });
        }
        pieces
    }
}

//! Turns a recorded day into the commands that an exchange would have received.

use crate::databento::{self, price_increment};
use crate::mbo_book::{LiveOrders, OrderKey, side};
use crate::settings::{FlowError, Settings};
use crate::writer::{Action, Step, Writer};
use dbn::MboMsg;
use engine::Side;
use std::collections::HashMap;
use std::path::Path;

/// Writes a file's day: its first snapshot rests at the start, and later records become inputs.
///
/// A recorded trade becomes an immediate order with its price and size, so it takes from our book
/// what it took from the recorded one. The recorder's changes to the orders that it met are then
/// already done, and are left out. Every other order is entered, changed or cancelled, so that it
/// matches the recorder's state. An order that would trade on the way, but did not in the
/// recording, is held back until it would not.
pub(crate) fn play(path: &Path, settings: &Settings, writer: &mut Writer) -> Result<(), FlowError> {
    let records = databento::records(path)?;
    let prices = records.iter().map(|record| record.price).filter(|p| *p != dbn::UNDEF_PRICE);
    let increment = price_increment(prices);
    let empty = || FlowError::Empty { file: path.display().to_string() };
    if increment == 0 {
        return Err(empty());
    }
    let day = records.iter().position(|record| !is_of_start(record)).ok_or_else(empty)?;
    let (start, day) = records.split_at(day);
    let units = Units { increment, lots_per_unit: settings.lots_per_unit };
    let (live, numbers, held) = (LiveOrders::default(), HashMap::new(), Vec::new());
    let mut player = Player { units, live, numbers, held, writer };
    player.rest(start)?;
    let begin_ns = day.first().map_or(0, |record| record.hd.ts_event);
    let mut latest_ns = 0;
    for record in day {
        // The recorder's clock may step back a little; ours must not.
        latest_ns = latest_ns.max(record.hd.ts_event.saturating_sub(begin_ns));
        if !(player.hear(record, latest_ns)? && player.bring_held(latest_ns)?) {
            break;
        }
    }
    if writer.steps.is_empty() { Err(empty()) } else { Ok(()) }
}

/// Time of the first record after the day's first snapshot, ns since 1970.
pub(crate) fn begin_ns(path: &Path) -> Result<u64, FlowError> {
    let records = databento::records(path)?;
    let first = records.iter().find(|record| !is_of_start(record));
    let empty = || FlowError::Empty { file: path.display().to_string() };
    first.map(|record| record.hd.ts_event).ok_or_else(empty)
}

/// Whether the record belongs to the first snapshot or the clearing before it.
fn is_of_start(record: &MboMsg) -> bool {
    record.flags.is_snapshot() || matches!(record.action(), Ok(dbn::Action::Clear))
}

/// Conversion of the file's prices and sizes to ours.
#[derive(Clone, Copy)]
struct Units {
    increment: i64,
    lots_per_unit: u64,
}

impl Units {
    fn ticks(self, price: i64) -> i64 {
        price / self.increment
    }

    fn lots(self, size: u32) -> u64 {
        u64::from(size).saturating_mul(self.lots_per_unit)
    }
}

struct Player<'a> {
    units: Units,
    /// The recorder's state.
    live: LiveOrders,
    /// From the recorder's order to ours, for all orders that were ever entered.
    numbers: HashMap<OrderKey, u32>,
    /// Orders that are held back, oldest first.
    held: Vec<OrderKey>,
    writer: &'a mut Writer,
}

impl Player<'_> {
    fn rest(&mut self, records: &[MboMsg]) -> Result<(), FlowError> {
        records.iter().for_each(|record| drop(self.apply(record)));
        let mut orders: Vec<_> = self.live.orders.iter().map(|(id, order)| (*id, *order)).collect();
        orders.retain(|(_, order)| order.size > 0);
        orders.sort_unstable_by_key(|(_, order)| order.priority);
        for (id, order) in orders {
            let (price_ticks, lots) = (self.units.ticks(order.price), self.units.lots(order.size));
            // A snapshot taken before an opening may be crossed.
            if self.would_trade(order.side, price_ticks) {
                self.hold_back(id);
                continue;
            }
            let number = self.writer.rest(order.side, price_ticks, lots)?;
            self.numbers.insert(id, number);
        }
        Ok(())
    }

    /// Returns whether there may be more.
    fn hear(&mut self, record: &MboMsg, at_ns: u64) -> Result<bool, FlowError> {
        if matches!(record.action(), Ok(dbn::Action::Trade)) {
            let Some(side) = side(record).filter(|_| record.price != dbn::UNDEF_PRICE) else {
                return Ok(true);
            };
            let number = self.next_number();
            let (price_ticks, lots) =
                (self.units.ticks(record.price), self.units.lots(record.size));
            let action = Action::Immediate(side);
            let step = Step { offset_ns: 0, price_ticks, lots, number, action };
            return self.writer.write(step, at_ns);
        }
        for key in self.apply(record) {
            if !self.bring(key, at_ns)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the orders that the record changes.
    fn apply(&mut self, record: &MboMsg) -> Vec<OrderKey> {
        self.live.apply(record).expect("`databento::records` applied it")
    }

    /// Brings our order to the recorder's state.
    fn bring(&mut self, id: OrderKey, at_ns: u64) -> Result<bool, FlowError> {
        let number = self.numbers.get(&id).copied();
        let here = number.and_then(|number| self.writer.simulation.resting(number));
        let there = self.live.orders.get(&id).copied().filter(|order| order.size > 0);
        let goal = there
            .map(|order| (order.side, self.units.ticks(order.price), self.units.lots(order.size)));
        let crosses =
            goal.is_some_and(|(side, price_ticks, _)| self.would_trade(side, price_ticks));
        let (action, number, price_ticks, lots) = match (here, goal.filter(|_| !crosses)) {
            (Some(_), None) if crosses => {
                self.hold_back(id);
                (Action::Cancel, number.unwrap_or(0), 0, 0)
            }
            (Some(_), None) => (Action::Cancel, number.unwrap_or(0), 0, 0),
            (Some(here), Some((_, price_ticks, lots))) => {
                if (here.price_ticks, here.lots) == (price_ticks, lots) {
                    self.writer.skipped.traded_already += 1;
                    return Ok(true);
                }
                (Action::Amend, number.unwrap_or(0), price_ticks, lots)
            }
            (None, Some((side, price_ticks, lots))) => {
                let number = self.next_number();
                self.numbers.insert(id, number);
                (Action::Add(side), number, price_ticks, lots)
            }
            (None, None) if crosses => {
                self.hold_back(id);
                return Ok(true);
            }
            (None, None) => {
                self.writer.skipped.traded_already += 1;
                return Ok(true);
            }
        };
        self.writer.write(Step { offset_ns: 0, price_ticks, lots, number, action }, at_ns)
    }

    fn hold_back(&mut self, id: OrderKey) {
        if !self.held.contains(&id) {
            self.writer.skipped.crossing += 1;
            self.held.push(id);
        }
    }

    /// Retries the orders that are held back.
    fn bring_held(&mut self, at_ns: u64) -> Result<bool, FlowError> {
        for id in std::mem::take(&mut self.held) {
            let order = self.live.orders.get(&id).copied();
            match order {
                Some(order) if self.would_trade(order.side, self.units.ticks(order.price)) => {
                    self.held.push(id);
                }
                Some(_) if !self.bring(id, at_ns)? => return Ok(false),
                _ => {}
            }
        }
        Ok(true)
    }

    fn next_number(&mut self) -> u32 {
        self.writer.last_number += 1;
        self.writer.last_number
    }

    fn would_trade(&self, side: Side, price_ticks: i64) -> bool {
        let top = self.writer.simulation.top();
        match side {
            Side::Buy => top.ask.is_some_and(|ask| price_ticks >= ask.price_ticks),
            Side::Sell => top.bid.is_some_and(|bid| price_ticks <= bid.price_ticks),
        }
    }
}

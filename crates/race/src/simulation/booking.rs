//! The engine, and the consequences of its events.

use super::{Cause, Quote, World};
use crate::events::Happening;
use crate::market::Role;
use engine::{Command, DoneReason, Event, Input, Party, Side};

impl World<'_> {
    /// Executes a command, and books its events.
    pub(super) fn apply(&mut self, command: Command) {
        let input = Input { time_ns: self.now_ns, command };
        (self.input)(&input);
        self.inputs += 1;
        let mut events = std::mem::take(&mut self.events);
        self.engine.apply(&input, &mut |event| events.push(event));
        let mut has_taken = None;
        for event in events.drain(..) {
            match event {
                Event::Trade {
                    price_ticks,
                    quantity_lots,
                    aggressor_side,
                    aggressor,
                    resting,
                    ..
                } => {
                    has_taken = Some(aggressor.account as usize);
                    self.book(aggressor, aggressor_side, price_ticks, quantity_lots);
                    self.accounts[aggressor.account as usize].lots_taken += quantity_lots;
                    self.book(resting, aggressor_side.opposite(), price_ticks, quantity_lots);
                    self.made(resting, aggressor_side.opposite(), price_ticks, quantity_lots);
                    self.volume_lots += quantity_lots;
                }
                Event::Booked { instrument, order, side, price_ticks, visible_lots } => {
                    let wanted_ticks = match command {
                        Command::New(new) => new.price_ticks,
                        _ => price_ticks,
                    };
                    let Some(desk) = self.desks.get_mut(order.account as usize) else { continue };
                    let mut levels = self.engine.levels(instrument, side);
                    let level = levels.find(|(level_ticks, ..)| *level_ticks == price_ticks);
                    let lots_ahead = level.map_or(0, |(_, lots, _)| lots - visible_lots);
                    desk.quotes[side as usize] = Some(Quote {
                        order_id: order.order_id,
                        wanted_ticks,
                        lots_ahead,
                        since_ns: self.now_ns,
                    });
                }
                Event::Done { order, reason, .. } => self.done(order, reason),
                Event::Rejected { account, .. } => {
                    let account = &mut self.accounts[account as usize];
                    account.rejected += 1;
                    if let Command::New(new) = command {
                        account.lots_sent -= new.quantity_lots;
                    }
                }
                _ => {}
            }
        }
        if let Some(who) = has_taken {
            self.accounts[who].orders_taken += 1;
        }
        self.events = events;
    }

    fn book(&mut self, of: Party, side: Side, price_ticks: i64, lots: u64) {
        let who = of.account as usize;
        self.accounts[who].trade(side, price_ticks, lots, self.now_ns);
        self.marks.add(self.now_ns, who, side, price_ticks, lots);
    }

    /// A resting order has traded.
    fn made(&mut self, of: Party, side: Side, price_ticks: i64, lots: u64) {
        let who = of.account as usize;
        let account = &mut self.accounts[who];
        account.lots_made += lots;
        let is_passed = match side {
            Side::Buy => self.fair < 2 * price_ticks,
            Side::Sell => self.fair > 2 * price_ticks,
        };
        if is_passed {
            account.lots_picked_off += lots;
        }
        if let Some(quote) = self.desks.get(who).and_then(|desk| desk.quotes[side as usize]) {
            account.fills_made += 1;
            account.lots_ahead += quote.lots_ahead;
            account.resting_ns += self.now_ns - quote.since_ns;
        }
    }

    /// An order has ended: a maker forgets it, and replaces it if it is filled.
    fn done(&mut self, order: Party, reason: DoneReason) {
        let who = order.account as usize;
        let Some(desk) = self.desks.get_mut(who) else { return };
        let has_ended = |quote: &Option<Quote>| quote.is_some_and(|q| q.order_id == order.order_id);
        let Some(side) = desk.quotes.iter().position(has_ended) else { return };
        desk.quotes[side] = None;
        if let Role::Maker { venue, .. } = self.race.participants[who].role
            && reason == DoneReason::Filled
        {
            self.send(who, venue, Cause::Fill, 0, Happening::Quote { who, fair: self.fair });
        }
    }
}

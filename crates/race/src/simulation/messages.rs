//! Messages of the participants: decided here, or arriving here.

use super::{Cause, World};
use crate::events::Happening;
use crate::market::{Participant, Role};
use engine::{Cancel, Command, NewOrder, PostOnly, Side, TimeInForce};

/// A quote and its venue.
type AtVenue = (u16, engine::Quote);

impl World<'_> {
    /// A maker's message arrives: what is out of place leaves first, so that it can't meet its own
    /// quotes.
    pub(super) fn quote(&mut self, who: usize, fair: i64) {
        let Participant { role, inventory_lots_max, .. } = self.race.participants[who];
        let Role::Maker { venue, half_spread, lots } = role else { return };
        let wanted = [Side::Buy, Side::Sell].map(|side| {
            let price_ticks = match side {
                Side::Buy => (fair - half_spread).div_euclid(2),
                Side::Sell => (fair + half_spread + 1).div_euclid(2),
            };
            let has_room = self.accounts[who].has_room(side, lots, inventory_lots_max);
            (has_room && price_ticks >= 1).then_some((side, price_ticks))
        });
        for (side, wanted) in wanted.iter().enumerate() {
            let Some(quote) = self.desks[who].quotes[side] else { continue };
            if wanted.is_none_or(|(_, price_ticks)| price_ticks != quote.wanted_ticks) {
                let order_id = quote.order_id;
                let account = who as u32;
                self.apply(Command::Cancel(Cancel {
                    order_id,
                    account,
                    tag: 0,
                    instrument: venue,
                }));
            }
        }
        for (side, price_ticks) in wanted.into_iter().flatten() {
            if self.desks[who].quotes[side as usize].is_none() {
                self.new_order(NewOrder {
                    account: who as u32,
                    instrument: venue,
                    post_only: PostOnly::Reprice,
                    ..NewOrder::limit(side, price_ticks, lots)
                });
            }
        }
    }

    /// Sends an order if the fair value has passed the venue's best quote by the edge.
    pub(super) fn snipe(&mut self, who: usize, venue: u16, edge: i64, lots: u64) {
        // News is counted for all, so that a race of the same seed has the same latencies whether
        // or not there was something to take before.
        let top = self.engine.top(venue);
        let buys = top.ask.is_some_and(|ask| 2 * ask.price_ticks <= self.fair - edge);
        let sells = top.bid.is_some_and(|bid| 2 * bid.price_ticks >= self.fair + edge);
        let (side, price_ticks) = match (buys, sells) {
            (true, _) => (Side::Buy, (self.fair - edge).div_euclid(2)),
            (_, true) => (Side::Sell, (self.fair + edge + 1).div_euclid(2)),
            _ => {
                self.desks[who].numbers[Cause::News as usize] += 1;
                return;
            }
        };
        let order = Happening::Take { who, venue, side, price_ticks, lots };
        self.send(who, venue, Cause::News, self.market.speed_bump_ns, order);
    }

    /// Arbitrageurs compare the best prices of all venues.
    pub(super) fn arbitrage(&mut self) {
        for who in 0..self.desks.len() {
            let Role::Arbitrageur { edge, lots, far_ns } = self.race.participants[who].role else {
                continue;
            };
            if self.desks[who].in_flight > 0 {
                continue;
            }
            let Some([(sell_venue, bid), (buy_venue, ask)]) = self.best_pair() else { return };
            if 2 * (bid.price_ticks - ask.price_ticks) < edge {
                continue;
            }
            let lots = lots.min(bid.quantity_lots).min(ask.quantity_lots);
            for (venue, side, price_ticks) in
                [(buy_venue, Side::Buy, ask.price_ticks), (sell_venue, Side::Sell, bid.price_ticks)]
            {
                let more_ns = self.market.speed_bump_ns + if venue == 0 { 0 } else { far_ns };
                let order = Happening::Take { who, venue, side, price_ticks, lots };
                self.desks[who].in_flight += 1;
                self.send(who, venue, Cause::Prices, more_ns, order);
            }
        }
    }

    /// The highest bid and the lowest ask over all venues, each with its venue.
    fn best_pair(&self) -> Option<[AtVenue; 2]> {
        let (mut bid, mut ask): (Option<AtVenue>, Option<AtVenue>) = (None, None);
        for venue in 0..self.race.venues() {
            let top = self.engine.top(venue);
            if let Some(here) = top.bid
                && bid.is_none_or(|(_, best)| here.price_ticks > best.price_ticks)
            {
                bid = Some((venue, here));
            }
            if let Some(here) = top.ask
                && ask.is_none_or(|(_, best)| here.price_ticks < best.price_ticks)
            {
                ask = Some((venue, here));
            }
        }
        Some([bid?, ask?])
    }

    /// An order arrives that doesn't rest.
    pub(super) fn take(&mut self, who: usize, venue: u16, side: Side, price_ticks: i64, lots: u64) {
        let lots_max = self.race.participants.get(who).map_or(u64::MAX, |p| p.inventory_lots_max);
        if self.accounts[who].has_room(side, lots, lots_max) {
            self.new_order(NewOrder {
                account: who as u32,
                instrument: venue,
                time_in_force: TimeInForce::ImmediateOrCancel,
                ..NewOrder::limit(side, price_ticks, lots)
            });
        }
    }

    /// An order of others arrives that rests for a while. It never takes a price.
    pub(super) fn passive_arrives(&mut self) {
        let passive = self.market.passive;
        let random = &mut self.lives;
        let side = if random.below(2) == 0 { Side::Buy } else { Side::Sell };
        let venue = random.below(u32::from(self.race.venues())) as u16;
        let distance = 1 + i64::from(random.below(passive.reach_ticks));
        let lifetime_ns = passive.lifetime_ns(random);
        let price_ticks = match side {
            Side::Buy => self.fair.div_euclid(2) - distance,
            Side::Sell => (self.fair + 1).div_euclid(2) + distance,
        };
        self.new_order(NewOrder {
            account: self.others(),
            instrument: venue,
            post_only: PostOnly::Reprice,
            ..NewOrder::limit(side, price_ticks.max(1), passive.lots)
        });
        let leave = Happening::Leave { order_id: self.last_id, venue };
        self.queue.add_message(self.now_ns + lifetime_ns, leave);
        self.await_passive();
    }

    /// The engine rejects the cancel of an order that has traded.
    pub(super) fn passive_leaves(&mut self, order_id: u64, venue: u16) {
        let account = self.others();
        self.apply(Command::Cancel(Cancel { order_id, account, tag: 0, instrument: venue }));
    }

    pub(super) fn new_order(&mut self, order: NewOrder) {
        self.last_id += 1;
        let account = &mut self.accounts[order.account as usize];
        account.orders += 1;
        account.lots_sent += order.quantity_lots;
        self.apply(Command::New(NewOrder { order_id: self.last_id, ..order }));
    }
}

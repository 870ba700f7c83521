//! Checks an engine's inputs and events against rules that hold for any matching: the events
//! suffice to keep the book, as a market data feed must; every lot is accounted for; the first in a
//! queue trades first; an order has one beginning and one end.
//!
//! It is independent of the naive engine, and accepts every rejection.

#![allow(dead_code, reason = "each test file uses its part")]

use std::collections::{BTreeMap, HashMap};

use engine::*;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stands {
    Resting {
        visible_lots: u64,
        place: u64,
    },
    Waiting,
    /// It has arrived, was amended or has triggered, and its result is still to come.
    Entering,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    /// `quantity_lots` is the remainder.
    order: NewOrder,
    stands: Stands,
}

/// The event that must follow a trade or a decrement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Done(u64, DoneReason),
    Replenished(u64),
}

#[derive(Debug, Default)]
pub struct Observer {
    time_ns: u64,
    orders: HashMap<u64, Seen>,
    entering: Option<u64>,
    next: Option<Next>,
    places: u64,
    references: BTreeMap<u16, i64>,
    not_open: BTreeMap<u16, InstrumentState>,
    /// By account and instrument: the traded quantity, and other changes.
    positions: BTreeMap<(u32, u16), (i128, i128)>,
    has_accounts: bool,
}

impl Observer {
    pub fn new(limits: EngineLimits) -> Observer {
        Observer { has_accounts: limits.accounts_max > 0, ..Observer::default() }
    }

    /// Checks a command and its events.
    pub fn hear(&mut self, input: &Input, events: &[Event]) {
        self.time_ns = self.time_ns.max(input.time_ns);
        let mut events = events;
        // Earliest first, the lower id first at the same time.
        while let Some(due) = self.next_due() {
            let Some((event, rest)) = events.split_first() else { panic!("{due} lives on") };
            assert!(matches!(event, Event::Done { order, reason: DoneReason::Expired, .. }
                if order.order_id == due));
            self.hear_event(event);
            events = rest;
        }
        assert!(!events.is_empty(), "every command is answered");
        if let [Event::Rejected { .. }] = events {
            return;
        }
        self.believe(&input.command);
        for event in events {
            self.hear_event(event);
        }
        assert_eq!((self.entering, self.next), (None, None), "{events:?} leave something open");
        let ended = events.iter().filter(|event| matches!(event, Event::Done { .. })).count();
        if let Some(Event::Applied { orders, .. }) =
            events.iter().find(|event| matches!(event, Event::Applied { .. }))
            && !matches!(input.command, Command::Instrument(_))
        {
            assert_eq!(*orders as usize, ended);
        }
        for seen in self.orders.values() {
            let open = !self.not_open.contains_key(&seen.order.instrument);
            assert!(!(open && seen.stands == Stands::Waiting && self.is_reached(&seen.order)));
        }
    }

    fn next_due(&self) -> Option<u64> {
        let orders = self.orders.values().map(|seen| &seen.order);
        let dated = orders.filter(|order| order.time_in_force == TimeInForce::GoodTillDate);
        let next = dated.map(|order| (order.expires_ns, order.order_id)).min()?;
        (next.0 <= self.time_ns).then_some(next.1)
    }

    fn is_reached(&self, order: &NewOrder) -> bool {
        self.references.get(&order.instrument).is_some_and(|reference| match order.side {
            Side::Buy => *reference >= order.stop_ticks,
            Side::Sell => *reference <= order.stop_ticks,
        })
    }

    /// Applies an accepted command.
    fn believe(&mut self, command: &Command) {
        match *command {
            Command::New(order) => {
                assert!(!self.orders.contains_key(&order.order_id), "twice open");
                self.orders.insert(order.order_id, Seen { order, stands: Stands::Entering });
                self.entering = Some(order.order_id);
            }
            Command::Instrument(InstrumentSettings {
                instrument, state, reference_ticks, ..
            }) => {
                if reference_ticks != 0 {
                    self.references.insert(instrument, reference_ticks);
                }
                self.not_open.remove(&instrument);
                if state != InstrumentState::Open {
                    self.not_open.insert(instrument, state);
                }
            }
            Command::Position(PositionSettings { account, instrument, change_lots, .. }) => {
                self.positions.entry((account, instrument)).or_default().1 +=
                    i128::from(change_lots);
            }
            _ => {}
        }
    }

    fn hear_event(&mut self, event: &Event) {
        if let Some(next) = self.next.take() {
            match (next, event) {
                (Next::Done(id, why), Event::Done { order, reason, .. }) => {
                    assert_eq!((id, why), (order.order_id, *reason));
                }
                (Next::Replenished(id), Event::Replenished { order, .. }) => {
                    assert_eq!(id, order.order_id);
                }
                _ => panic!("{event:?} instead of {next:?}"),
            }
        }
        match *event {
            Event::Booked { instrument, order, side, price_ticks, visible_lots } => {
                let seen = self.entering(instrument, &order);
                assert!(seen.order.time_in_force.may_rest() && order.remaining_lots > 0);
                if seen.order.post_only == PostOnly::Reprice {
                    seen.order.price_ticks = price_ticks;
                }
                assert_eq!((seen.order.side, seen.order.price_ticks), (side, price_ticks));
                self.show(order.order_id, visible_lots);
                self.entering = None;
            }
            Event::Replenished { instrument, order, side, price_ticks, visible_lots } => {
                let seen = self.seen(instrument, &order);
                assert!(matches!(seen.stands, Stands::Resting { visible_lots: 0, .. }));
                assert_eq!((seen.order.side, seen.order.price_ticks), (side, price_ticks));
                self.show(order.order_id, visible_lots);
            }
            Event::Trade { instrument, price_ticks, quantity_lots, aggressor, resting, .. } => {
                self.meet(event, DoneReason::Filled);
                self.references.insert(instrument, price_ticks);
                for Party { order_id, account, .. } in [aggressor, resting] {
                    let lots = match self.orders[&order_id].order.side {
                        Side::Buy => i128::from(quantity_lots),
                        Side::Sell => -i128::from(quantity_lots),
                    };
                    self.positions.entry((account, instrument)).or_default().0 += lots;
                }
            }
            Event::Decremented { aggressor, resting, .. } => {
                assert_eq!(aggressor.account, resting.account);
                self.meet(event, DoneReason::SelfTrade);
            }
            Event::Amended { .. } => self.amended(event),
            Event::Waiting { instrument, order, side, stop_ticks } => {
                let seen = self.entering(instrument, &order);
                assert_eq!((seen.order.side, seen.order.stop_ticks), (side, stop_ticks));
                seen.stands = Stands::Waiting;
                let order = seen.order;
                assert!(!self.is_reached(&order));
                self.entering = None;
            }
            Event::Triggered { instrument, order } => {
                let seen = *self.seen(instrument, &order);
                assert!(self.is_reached(&seen.order) && seen.order.stop_ticks != 0);
                assert!(!self.not_open.contains_key(&instrument));
                // An order that has just arrived is already entering.
                assert!(self.entering.is_none_or(|entering| entering == order.order_id));
                self.entering = Some(order.order_id);
                let seen = self.seen(instrument, &order);
                seen.stands = Stands::Entering;
                seen.order.stop_ticks = 0;
            }
            Event::Done { instrument, order, reason } => self.done(instrument, &order, reason),
            Event::Applied { .. } => {}
            Event::Rejected { .. } => panic!("{event:?} is not alone"),
        }
    }

    /// The known state of an order; an event must match it.
    fn seen(&mut self, instrument: u16, party: &Party) -> &mut Seen {
        let seen = self.orders.get_mut(&party.order_id).expect("it is open");
        let NewOrder { order_id, account, tag, quantity_lots, .. } = seen.order;
        assert_eq!(*party, Party { order_id, account, tag, remaining_lots: quantity_lots });
        assert_eq!(instrument, seen.order.instrument);
        seen
    }

    fn entering(&mut self, instrument: u16, party: &Party) -> &mut Seen {
        assert_eq!(self.entering, Some(party.order_id));
        let seen = self.seen(instrument, party);
        assert_eq!(seen.stands, Stands::Entering);
        seen
    }

    /// Puts an order last in its queue.
    fn show(&mut self, order_id: u64, visible_lots: u64) {
        self.places += 1;
        let place = self.places;
        let seen = self.orders.get_mut(&order_id).expect("it is open");
        let NewOrder { display_lots, quantity_lots, .. } = seen.order;
        let most = if display_lots == 0 { quantity_lots } else { display_lots };
        assert_eq!(visible_lots, most.min(quantity_lots));
        seen.stands = Stands::Resting { visible_lots, place };
    }

    /// Handles a trade or a decrement; an order that it uses up must end with `reason`.
    fn meet(&mut self, event: &Event, reason: DoneReason) {
        let (Event::Trade {
            instrument,
            price_ticks,
            quantity_lots: lots,
            aggressor_side,
            aggressor,
            resting,
        }
        | Event::Decremented {
            instrument,
            price_ticks,
            quantity_lots: lots,
            aggressor_side,
            aggressor,
            resting,
        }) = *event
        else {
            unreachable!("{event:?}")
        };
        assert!(lots > 0);
        self.check_stands_first(instrument, &resting, price_ticks, aggressor_side.opposite());
        for order_id in [aggressor.order_id, resting.order_id] {
            let seen = self.orders.get_mut(&order_id).expect("it is open");
            seen.order.quantity_lots = seen.order.quantity_lots.checked_sub(lots).expect("as many");
            if let Stands::Resting { visible_lots, .. } = &mut seen.stands {
                *visible_lots = visible_lots.checked_sub(lots).expect("it shows as many");
            }
        }
        let order = self.entering(instrument, &aggressor).order;
        assert_eq!(order.side, aggressor_side);
        assert!(order.order_type == OrderType::Market || reaches(&order, price_ticks));
        let rests = *self.seen(instrument, &resting);
        if resting.remaining_lots == 0 {
            self.next = Some(Next::Done(resting.order_id, reason));
        } else if matches!(rests.stands, Stands::Resting { visible_lots: 0, .. }) {
            self.next = Some(Next::Replenished(resting.order_id));
        }
    }

    /// Checks that it has the best price, and is first at it.
    fn check_stands_first(&self, instrument: u16, party: &Party, price_ticks: i64, side: Side) {
        let first = self.first(instrument, side).expect("somebody rests");
        assert_eq!((first.order_id, first.price_ticks), (party.order_id, price_ticks));
    }

    fn first(&self, instrument: u16, side: Side) -> Option<NewOrder> {
        let rank = |seen: &Seen| match seen.stands {
            Stands::Resting { place, .. }
                if (seen.order.instrument, seen.order.side) == (instrument, side) =>
            {
                let price_ticks = seen.order.price_ticks;
                Some((if side == Side::Buy { -price_ticks } else { price_ticks }, place))
            }
            _ => None,
        };
        let ranked = self.orders.values().filter_map(|seen| Some((rank(seen)?, seen.order)));
        ranked.min_by_key(|(rank, _)| *rank).map(|(_, order)| order)
    }

    fn amended(&mut self, event: &Event) {
        let Event::Amended { order, price_ticks, kept_place, visible_lots: shows, .. } = *event
        else {
            unreachable!("{event:?}")
        };
        let seen = self.orders.get_mut(&order.order_id).expect("it is open");
        let grown = order.remaining_lots > seen.order.quantity_lots;
        let moved = price_ticks != seen.order.price_ticks;
        match &mut seen.stands {
            Stands::Resting { visible_lots, .. } if kept_place => {
                assert!(!grown && !moved);
                *visible_lots = (*visible_lots).min(order.remaining_lots);
                assert_eq!(*visible_lots, shows);
            }
            Stands::Resting { .. } => {
                // A repriced order may return to its old price.
                assert!(grown || moved || seen.order.post_only == PostOnly::Reprice);
                assert_eq!(shows, 0);
                seen.stands = Stands::Entering;
                self.entering = Some(order.order_id);
            }
            Stands::Waiting => assert!(kept_place && shows == 0),
            Stands::Entering => panic!("{event:?} on its way in"),
        }
        seen.order.quantity_lots = order.remaining_lots;
        (seen.order.price_ticks, seen.order.tag) = (price_ticks, order.tag);
    }

    fn done(&mut self, instrument: u16, party: &Party, reason: DoneReason) {
        let Seen { order, stands } = *self.seen(instrument, party);
        let enters = self.entering == Some(party.order_id);
        assert_eq!(stands == Stands::Entering, enters);
        match reason {
            DoneReason::Filled => assert_eq!(party.remaining_lots, 0),
            DoneReason::SelfTrade => {
                let rests = !enters && party.remaining_lots > 0;
                if let (true, Some(entering)) = (rests, self.entering) {
                    self.check_stands_first(instrument, party, order.price_ticks, order.side);
                    assert_eq!(self.orders[&entering].order.account, party.account);
                }
            }
            // If it could continue, it must.
            DoneReason::Expired | DoneReason::NoRoom if enters => {
                let other = self.first(instrument, order.side.opposite());
                let limit_ioc = order.order_type == OrderType::Limit
                    && order.time_in_force != TimeInForce::FillOrKill;
                assert!(party.remaining_lots > 0);
                assert!(
                    !limit_ioc || !other.is_some_and(|other| reaches(&order, other.price_ticks))
                );
            }
            _ => assert!(party.remaining_lots > 0 && !enters),
        }
        if enters {
            self.entering = None;
        }
        self.orders.remove(&party.order_id);
    }

    /// Compares the engine's public state with the events.
    pub fn check(&self, engine: &Engine, instruments: u16, limits: EngineLimits) {
        assert_eq!(engine.open_orders() as usize, self.orders.len());
        for instrument in 0..instruments {
            for side in [Side::Buy, Side::Sell] {
                let mut shown: Vec<_> = engine.levels(instrument, side).collect();
                shown.sort_unstable();
                assert_eq!(shown, self.depth(instrument, side));
            }
            let touch = [Side::Buy, Side::Sell].map(|side| self.first(instrument, side));
            if let [Some(bid), Some(ask)] = touch {
                assert!(bid.price_ticks < ask.price_ticks, "the book is crossed");
            }
            if self.has_accounts {
                self.check_positions(engine, instrument, limits.accounts_max);
            }
        }
    }

    fn depth(&self, instrument: u16, side: Side) -> Vec<(i64, u64, u32)> {
        let mut depth = BTreeMap::new();
        for Seen { order, stands } in self.orders.values() {
            if let Stands::Resting { visible_lots, .. } = stands
                && (order.instrument, order.side) == (instrument, side)
            {
                let (quantity_lots, orders) = depth.entry(order.price_ticks).or_insert((0, 0));
                *quantity_lots += visible_lots;
                *orders += 1;
            }
        }
        depth.into_iter().map(|(price_ticks, (lots, orders))| (price_ticks, lots, orders)).collect()
    }

    /// For every lot bought, one was sold.
    fn check_positions(&self, engine: &Engine, instrument: u16, accounts: u32) {
        let mut traded = 0;
        for account in 0..accounts {
            let own = self.positions.get(&(account, instrument)).copied().unwrap_or_default();
            assert_eq!(i128::from(engine.position_lots(account, instrument)), own.0 + own.1);
            traded += own.0;
        }
        assert_eq!(traded, 0);
    }
}

fn reaches(order: &NewOrder, price_ticks: i64) -> bool {
    match order.side {
        Side::Buy => order.price_ticks >= price_ticks,
        Side::Sell => order.price_ticks <= price_ticks,
    }
}

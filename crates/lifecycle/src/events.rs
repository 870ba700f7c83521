//! The events in the lives of the log's orders, with the times of both ends.

use crate::clocks::TraderClock;
use crate::logged::Log;
use engine::{Command, DoneReason, Event, NewOrder, Party};
use journal::RecordedInput;
use record::lifecycle::{LifeEvent, LifeEventKind};
use std::collections::HashMap;

/// An order that has arrived.
#[derive(Debug)]
struct ArrivedOrder {
    /// Its place in the log.
    place: usize,
    price_ticks: i64,
    fills: usize,
    amendments: usize,
}

/// The events so far, in the journal's order.
#[derive(Debug)]
pub(crate) struct Timeline<'a> {
    log: &'a Log,
    clock: &'a TraderClock,
    living: HashMap<u64, ArrivedOrder>,
    pub events: Vec<LifeEvent>,
}

impl<'a> Timeline<'a> {
    pub fn new(log: &'a Log, clock: &'a TraderClock) -> Timeline<'a> {
        Timeline { log, clock, living: HashMap::new(), events: Vec::new() }
    }

    /// The log's order at `place` arrives; its events follow.
    pub fn arrives(&mut self, place: usize, order: &NewOrder) {
        let NewOrder { order_id, price_ticks, .. } = *order;
        self.living.insert(order_id, ArrivedOrder { place, price_ticks, fills: 0, amendments: 0 });
    }

    /// The events of an input, after it was executed.
    pub fn add(&mut self, recorded: &RecordedInput, events: &[Event]) {
        if let Command::New(order) = &recorded.input.command
            && let Some(living) = self.living.get(&order.order_id)
        {
            let rejected = events.iter().any(|event| matches!(event, Event::Rejected { .. }));
            let kind = if rejected { LifeEventKind::Rejected } else { LifeEventKind::New };
            let logged = &self.log.orders[living.place];
            let event = LifeEvent {
                price_ticks: order.price_ticks,
                quantity_lots: order.quantity_lots,
                remaining_lots: if rejected { 0 } else { order.quantity_lots },
                ..self.event(living, recorded, kind, logged.sent_ns)
            };
            self.events.push(event);
        }
        for event in events {
            match *event {
                Event::Trade { price_ticks, quantity_lots, aggressor, resting, .. } => {
                    for party in [aggressor, resting] {
                        self.traded(recorded, party, price_ticks, quantity_lots);
                    }
                }
                Event::Amended { order, price_ticks, .. } => {
                    self.amended(recorded, order, price_ticks);
                }
                Event::Done { order, reason, .. } => self.done(recorded, order, reason),
                _ => {}
            }
        }
    }

    fn traded(&mut self, recorded: &RecordedInput, party: Party, price_ticks: i64, lots: u64) {
        let Some(living) = self.living.get_mut(&party.order_id) else { return };
        living.fills += 1;
        let living = &self.living[&party.order_id];
        let kind = match party.remaining_lots {
            0 => LifeEventKind::Filled,
            _ => LifeEventKind::PartiallyFilled,
        };
        let read_ns = self.nth(&self.log.orders[living.place].fills_ns, living.fills);
        let event = LifeEvent {
            price_ticks,
            quantity_lots: lots,
            remaining_lots: party.remaining_lots,
            ..self.event(living, recorded, kind, read_ns)
        };
        self.events.push(event);
    }

    fn amended(&mut self, recorded: &RecordedInput, party: Party, price_ticks: i64) {
        let Some(living) = self.living.get_mut(&party.order_id) else { return };
        living.amendments += 1;
        living.price_ticks = price_ticks;
        let living = &self.living[&party.order_id];
        let sent_ns = self.nth(&self.log.orders[living.place].amended_ns, living.amendments);
        let event = LifeEvent {
            price_ticks,
            quantity_lots: party.remaining_lots,
            remaining_lots: party.remaining_lots,
            ..self.event(living, recorded, LifeEventKind::Replaced, sent_ns)
        };
        self.events.push(event);
    }

    fn done(&mut self, recorded: &RecordedInput, party: Party, reason: DoneReason) {
        let Some(living) = self.living.remove(&party.order_id) else { return };
        let by_owner = match recorded.input.command {
            Command::Cancel(cancel) => cancel.account == party.account,
            Command::MassCancel(mass) => mass.account == Some(party.account),
            _ => false,
        };
        let cancelled_ns = &self.log.orders[living.place].cancelled_ns;
        let (kind, sent_ns) = match reason {
            // The trade said so.
            DoneReason::Filled => return,
            DoneReason::Cancelled if by_owner => {
                (LifeEventKind::Cancelled, cancelled_ns.first().copied().unwrap_or(0))
            }
            DoneReason::Expired => (LifeEventKind::Expired, 0),
            _ => (LifeEventKind::CancelledByExchange, 0),
        };
        let event = LifeEvent {
            price_ticks: living.price_ticks,
            quantity_lots: party.remaining_lots,
            ..self.event(&living, recorded, kind, sent_ns)
        };
        self.events.push(event);
    }

    /// The time of the `nth` message, from 1; 0 if the log lost records, because it may be another
    /// message's then.
    fn nth(&self, times_ns: &[u64], nth: usize) -> u64 {
        if self.log.lost > 0 { 0 } else { times_ns.get(nth - 1).copied().unwrap_or(0) }
    }

    fn event(
        &self,
        living: &ArrivedOrder,
        recorded: &RecordedInput,
        event: LifeEventKind,
        trader_ns: u64,
    ) -> LifeEvent {
        LifeEvent {
            event,
            order: living.place as u64,
            input: recorded.sequence,
            exchange_ns: recorded.input.time_ns,
            trader_utc_ns: self.clock.utc_ns(trader_ns),
            ..LifeEvent::default()
        }
    }
}

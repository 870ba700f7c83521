//! The journal's input of each logged order: a reading without an engine.

use crate::deliveries::Deliveries;
use crate::error::JoinError;
use crate::logged::{Log, LoggedOrder, Session};
use engine::{Command, NewOrder};
use journal::{History, RecordedInput};
use record::delivery::DeliveryRaces;
use std::collections::HashMap;
use std::path::Path;

/// Digits of the run in a client id.
const RUN_DIGITS: usize = 8;

/// A new order as the journal has it.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    pub sequence: u64,
    pub time_ns: u64,
    pub order: NewOrder,
    /// Empty if the journal does not have it.
    pub client_id: String,
}

/// The orders of a log in a journal.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    /// By the order's place in the log.
    pub of: Vec<Option<Arrival>>,
    /// Places in the log, by the input's sequence.
    pub by_sequence: HashMap<u64, usize>,
    /// Orders of this run that are not in the log.
    pub unlogged: Vec<Arrival>,
    /// Races of orders that named their ticks.
    pub deliveries: Option<DeliveryRaces>,
    /// Inputs of the journal.
    pub inputs: u64,
    /// The journal's first input; 0 if none was removed.
    pub first: u64,
    /// Bytes after the last complete record.
    pub cut_bytes: u64,
}

impl Arrivals {
    /// Reads the whole journal.
    pub fn read(log: &Log, journal: &Path) -> Result<Arrivals, JoinError> {
        let mut arrivals = Arrivals { of: vec![None; log.orders.len()], ..Arrivals::default() };
        let by_order_id: HashMap<u64, usize> = (0..)
            .zip(&log.orders)
            .filter_map(|(place, order)| Some((order.answer?.order_id, place)))
            .filter(|(order_id, _)| *order_id > 0)
            .collect();
        let mut deliveries = Deliveries::default();
        let mut history = History::open(journal)?;
        arrivals.first = history.first_sequence();
        while let Some(recorded) = history.next_input()? {
            arrivals.inputs += 1;
            deliveries.add(&recorded);
            if let Command::New(order) = recorded.input.command {
                arrivals.add(log, &by_order_id, &recorded, order);
            }
        }
        arrivals.deliveries = deliveries.end();
        arrivals.cut_bytes = history.end()?.map_or(0, |cut| cut.bytes);
        Ok(arrivals)
    }

    fn add(
        &mut self,
        log: &Log,
        by_order_id: &HashMap<u64, usize>,
        recorded: &RecordedInput,
        order: NewOrder,
    ) {
        let arrival = Arrival {
            sequence: recorded.sequence,
            time_ns: recorded.input.time_ns,
            order,
            client_id: recorded.client_id().unwrap_or_default().to_owned(),
        };
        let place = match (log.session, recorded.client_id()) {
            (Some(session), Some(client_id)) => {
                let Some(number) = number(session, client_id) else { return };
                let Some(place) = log.place(number) else {
                    self.unlogged.push(arrival);
                    return;
                };
                Some(place)
            }
            // An order id counts from the journal's start, so another journal has it, too.
            _ => by_order_id.get(&order.order_id).copied(),
        };
        let place = place.filter(|place| is_same(&log.orders[*place], &order));
        if let Some(place) = place.filter(|place| self.of[*place].is_none()) {
            self.by_sequence.insert(arrival.sequence, place);
            self.of[place] = Some(arrival);
        }
    }
}

/// The number of an order of this run; `None` for a client id of another run.
fn number(session: Session, client_id: &str) -> Option<u64> {
    let run = u64::from_str_radix(client_id.get(..RUN_DIGITS)?, 16).ok()?;
    let number = u64::from_str_radix(client_id.rsplit('-').next()?, 16).ok()?;
    let is_ours = run == session.run && audit::client_id(run, number) == client_id;
    is_ours.then_some(number)
}

fn is_same(logged: &LoggedOrder, order: &NewOrder) -> bool {
    (logged.instrument, logged.side, logged.price_ticks, logged.quantity_lots)
        == (order.instrument, order.side, order.price_ticks, order.quantity_lots)
}

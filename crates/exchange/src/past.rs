//! The reports of a journal's latest inputs, made anew. A session of FIX keeps its own reports, and
//! lacks those that the exchange had not given it when it was killed.

use crate::account::register::account_ids;
use crate::config::ConfigError;
use crate::reply::report::Report as _;
use crate::reply::subject::{MatchedLots, Subject};
use crate::reply::text::wire_time;
use crate::setup::instruments::Instruments;
use engine::{Command, Engine, Event, NewOrder, Party, SavedItem, Side};
use journal::{ClientIds, History, RecordedInput};
use std::collections::HashMap;
use std::path::Path;
use wire::{ClientId, Decimal, OrderId};

/// The number of a trade in a report of this module: it is not in the journal.
pub const UNKNOWN_TRADE: i64 = 0;

/// A report about an order, and the order after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PastReport<'a> {
    /// The order's account.
    pub account: &'a str,
    /// Its client id after the report.
    pub client_id: ClientId,
    /// Its id.
    pub order_id: OrderId,
    /// Its open amount after the report.
    pub open: Decimal,
    /// When the journal got the input, ns since 1970; 0 without a report.
    pub time_ns: u64,
    /// The report as JSON, in which the number of a trade is [`UNKNOWN_TRADE`], and that of the
    /// event in its book 0. `None`: the order was open before the first input that is read.
    pub report: Option<&'a [u8]>,
}

/// Reads the latest inputs of the journal in `directory`, from its latest snapshot but one on, and
/// gives the reports about the orders for which `is_wanted` holds when they come: their account,
/// client id and id. Nothing without a journal, or with that of other instruments.
///
/// # Errors
/// If the journal or its register can't be read.
pub fn past_reports(
    directory: &Path,
    instruments: &Instruments,
    is_wanted: &mut dyn FnMut(&str, &ClientId, OrderId) -> bool,
    each: &mut dyn FnMut(&PastReport<'_>),
) -> Result<(), ConfigError> {
    let Some(accounts) = account_ids(directory)? else { return Ok(()) };
    let mut history = match History::recent(directory) {
        Err(journal::JournalError::NoJournal(_)) => return Ok(()),
        opened => opened?,
    };
    if history.identity().instruments != instruments.count() {
        return Ok(());
    }
    let (mut engine, client_ids) = history.start()?;
    let orders = HashMap::new();
    let mut past = PastReader { instruments, accounts: &accounts, is_wanted, each, orders };
    past.begin(&engine, &client_ids);
    while let Some(recorded) = history.next_input()? {
        past.input(&recorded, &mut engine);
    }
    Ok(())
}

/// An order that is wanted.
#[derive(Clone, Copy)]
struct PastOrder {
    client_id: ClientId,
    account: u32,
    /// As a report of entering the book has it.
    quantity_lots: u64,
}

struct PastReader<'a> {
    instruments: &'a Instruments,
    /// By number from 1.
    accounts: &'a [String],
    is_wanted: &'a mut dyn FnMut(&str, &ClientId, OrderId) -> bool,
    each: &'a mut dyn FnMut(&PastReport<'_>),
    /// The wanted orders that are open.
    orders: HashMap<u64, PastOrder>,
}

impl PastReader<'_> {
    /// The orders that are open before the first input.
    fn begin(&mut self, engine: &Engine, client_ids: &ClientIds) {
        engine.save(&mut |piece| {
            let SavedItem::Order { order, .. } = piece else { return };
            let Some(client_id) = client_ids.get(order.order_id).and_then(as_client_id) else {
                return;
            };
            if self.wants(&order, client_id) {
                let open = self.instruments.get(order.instrument).amount(order.quantity_lots);
                (self.each)(&PastReport {
                    account: &self.accounts[order.account as usize - 1],
                    client_id,
                    order_id: OrderId::from_u64(order.order_id),
                    open,
                    time_ns: 0,
                    report: None,
                });
            }
        });
    }

    /// Begins to follow the order if it is wanted.
    fn wants(&mut self, order: &NewOrder, client_id: ClientId) -> bool {
        let &NewOrder { account, order_id, quantity_lots, .. } = order;
        // Account 0 is the exchange's own.
        let Some(name) = (account as usize).checked_sub(1).and_then(|at| self.accounts.get(at))
        else {
            return false;
        };
        let is_wanted = (self.is_wanted)(name, &client_id, OrderId::from_u64(order_id));
        if is_wanted {
            self.orders.insert(order_id, PastOrder { client_id, account, quantity_lots });
        }
        is_wanted
    }

    fn input(&mut self, recorded: &RecordedInput, engine: &mut Engine) {
        let given = recorded.client_id().and_then(as_client_id);
        if let (Command::New(order), Some(client_id)) = (&recorded.input.command, given) {
            self.wants(order, client_id);
        }
        let time_ns = recorded.input.time_ns;
        engine.apply(&recorded.input, &mut |event| match (event, &recorded.input.command) {
            (Event::Rejected { .. }, Command::New(order)) => {
                self.orders.remove(&order.order_id);
            }
            _ => self.event(&event, given, time_ns),
        });
    }

    fn event(&mut self, event: &Event, given: Option<ClientId>, time_ns: u64) {
        match *event {
            Event::Booked { instrument, order, side, price_ticks, .. } => {
                self.report(instrument, order, time_ns, |subject, wanted, out| {
                    subject.booked(side, price_ticks, wanted.quantity_lots).write_json(out);
                });
            }
            Event::Trade { instrument, aggressor_side, aggressor, resting, .. }
            | Event::Decremented { instrument, aggressor_side, aggressor, resting, .. } => {
                let sides = [(aggressor, aggressor_side), (resting, aggressor_side.opposite())];
                for (order, side) in sides {
                    self.match_report(event, (instrument, order, side), time_ns);
                }
            }
            Event::Amended { instrument, order, side, price_ticks, kept_place, .. } => {
                let Some(wanted) = self.orders.get_mut(&order.order_id) else { return };
                let replaced = given.map(|_| wanted.client_id);
                wanted.client_id = given.unwrap_or(wanted.client_id);
                wanted.quantity_lots = order.remaining_lots;
                self.report(instrument, order, time_ns, |subject, _, out| {
                    let terms = (price_ticks, order.remaining_lots, kept_place);
                    subject.amended(side, replaced, terms).write_json(out);
                });
            }
            Event::Waiting { instrument, order, side, stop_ticks } => {
                self.report(instrument, order, time_ns, |subject, wanted, out| {
                    subject.waiting(side, stop_ticks, wanted.quantity_lots).write_json(out);
                });
            }
            Event::Triggered { instrument, order } => {
                self.report(instrument, order, time_ns, |subject, _, out| {
                    subject.triggered().write_json(out);
                });
            }
            Event::Done { instrument, order, reason } => {
                let ended = Party { remaining_lots: 0, ..order };
                self.report(instrument, ended, time_ns, |subject, _, out| {
                    subject.done(reason).write_json(out);
                });
                self.orders.remove(&order.order_id);
            }
            Event::Rejected { .. } | Event::Replenished { .. } | Event::Applied { .. } => {}
        }
    }

    fn match_report(
        &mut self,
        event: &Event,
        (instrument, order, side): (u16, Party, Side),
        time_ns: u64,
    ) {
        let (Event::Trade { price_ticks, quantity_lots, .. }
        | Event::Decremented { price_ticks, quantity_lots, .. }) = *event
        else {
            return;
        };
        let matched =
            MatchedLots { price_ticks, quantity_lots, remaining_lots: order.remaining_lots };
        self.report(instrument, order, time_ns, |subject, _, out| match event {
            Event::Trade { .. } => subject.fill(side, UNKNOWN_TRADE, matched).write_json(out),
            _ => subject.decremented(side, matched).write_json(out),
        });
    }

    /// Gives a report about the order, if it is wanted.
    fn report(
        &mut self,
        instrument: u16,
        order: Party,
        time_ns: u64,
        write: impl FnOnce(&Subject<'_>, &PastOrder, &mut Vec<u8>),
    ) {
        let Some(wanted) = self.orders.get(&order.order_id) else { return };
        let instrument = self.instruments.get(instrument);
        let account = self.accounts[wanted.account as usize - 1].as_str();
        let subject = Subject {
            client_id: wanted.client_id,
            order_id: order.order_id,
            instrument,
            uid: account,
            order_book_sequence: 0,
            time_ms: wire_time(time_ns),
        };
        let mut report = Vec::new();
        write(&subject, wanted, &mut report);
        (self.each)(&PastReport {
            account,
            client_id: wanted.client_id,
            order_id: OrderId::from_u64(order.order_id),
            open: instrument.amount(order.remaining_lots),
            time_ns,
            report: Some(&report),
        });
    }
}

fn as_client_id(text: &str) -> Option<ClientId> {
    ClientId::new(text).ok()
}

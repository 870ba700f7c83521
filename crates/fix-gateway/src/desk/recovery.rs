//! The start of a session: its orders, as its store has them, and the reports about them that the
//! exchange had not given it when it was killed. They are made anew from the exchange's journal:
//! `docs/decisions/046-reports-made-anew.md`.
//!
//! An order is noted in the store before the exchange gets it, and its reports come in the order of
//! the journal. So its state after its last report in the store says which report of the journal
//! that was, and the session lacks all later ones.

use super::codes::TRIGGERED;
use super::market::securities::Securities;
use super::number::{TradedAmount, minus};
use super::orders::{Order, Orders};
use fix::message::{Message, split};
use fix::store::Kept;
use std::collections::{HashMap, HashSet};
use wire::OrderId;
use wire::client_id::ClientId;
use wire::decimal::Decimal;
use wire::reply::{Reply, decode_reply};
use wire::request::Side;

/// A report of the exchange's journal about an order, and the order after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastReport {
    /// The order's client id after it.
    pub client_id: ClientId,
    /// The order.
    pub order_id: OrderId,
    /// Its open amount after it.
    pub open: Decimal,
    /// When the exchange executed the input that caused it, ns since 1970.
    pub time_ns: u64,
    /// The report as JSON; 0 as the number of a trade: unknown. `None`: the order was open before
    /// the first report.
    pub report: Option<Vec<u8>>,
}

/// The orders that may lack reports, and what the journal has about them.
#[derive(Debug, Default)]
pub(crate) struct Recovery {
    /// Orders that were noted and have no report. The exchange gave them ids above this one.
    noted: HashMap<ClientId, Option<OrderId>>,
    /// The others that the session knows.
    known: HashMap<OrderId, Known>,
    /// The ids of orders about which it wants reports.
    wanted: HashSet<OrderId>,
    /// The highest id of the orders that the session has had.
    highest: Option<OrderId>,
    past: Vec<PastReport>,
}

/// An order that has a report, or is the one that was noted.
#[derive(Debug)]
struct Known {
    /// Its client id in the last report.
    name: ClientId,
    /// All that it had: in mode `async` another order may get its id after a crash.
    names: Vec<ClientId>,
    /// It has no report.
    is_noted: bool,
}

/// The orders of a session as its store has them.
pub(super) struct Remembered<'a> {
    pub securities: &'a Securities,
    pub orders: Orders,
    pub recovery: Recovery,
}

impl Remembered<'_> {
    /// The next message or note of the store.
    pub fn take(&mut self, kept: Kept<'_>, data_of: impl Fn(u32) -> Option<u32>) {
        let (Kept::Message(bytes) | Kept::Note(bytes)) = kept;
        let mut fields = Vec::new();
        if split(bytes, data_of, &mut fields).is_err() {
            return;
        }
        let message = Message::new(bytes, &fields);
        match kept {
            Kept::Message(_) if message.msg_type() == b"8" => self.report(message),
            Kept::Message(_) => {}
            Kept::Note(_) => self.note(message),
        }
    }

    /// An order that goes to the exchange next.
    fn note(&mut self, note: Message<'_>) {
        let highest = note.text(37).and_then(OrderId::parse);
        self.recovery.highest = self.recovery.highest.max(highest);
        if let Some((id, order)) = self.order_of(note) {
            self.recovery.noted.insert(id, highest);
            self.orders.insert(id, Order { order_id: None, ..order });
        }
    }

    fn report(&mut self, report: Message<'_>) {
        let Some((id, order)) = self.order_of(report) else { return };
        // The status of an order of another session.
        if report.get(150) == Some(b"I") && self.orders.get(&id).is_none() {
            return;
        }
        // A cancel's report has the request's id in 11.
        let original = report.text(41).and_then(|text| ClientId::new(text).ok());
        let id = match (original, report.get(150)) {
            (Some(original), Some(b"5")) => {
                self.orders.rename(&original, id);
                id
            }
            (Some(original), _) => original,
            (None, _) => id,
        };
        if order.status == '8' {
            // The order itself was rejected, and not another one with its id.
            if report.get(103) != Some(b"6") && self.recovery.noted.remove(&id).is_some() {
                self.orders.remove(&id);
            }
            return;
        }
        let was_triggered = self
            .orders
            .get(&id)
            .is_some_and(|before| before.order_id == order.order_id && before.is_triggered);
        let is_triggered =
            was_triggered || (report.get(150) == Some(b"D") && report.text(58) == Some(TRIGGERED));
        self.recovery.noted.remove(&id);
        if let Some(order_id) = order.order_id {
            self.recovery.reported(order_id, [original.unwrap_or(id), id]);
        }
        let has_ended = order.has_ended();
        self.orders.insert(id, Order { is_triggered, ..order });
        if has_ended {
            self.orders.ended(id);
        }
    }

    /// ClOrdID, and the order's state.
    fn order_of(&self, report: Message<'_>) -> Option<(ClientId, Order)> {
        let decimal = |tag| report.text(tag).and_then(|text| Decimal::parse(text).ok());
        let character = |tag| report.text(tag).and_then(|text| text.chars().next());
        let id = report.text(11).and_then(|text| ClientId::new(text).ok())?;
        let order = Order {
            symbol: self.securities.name(report.text(55).unwrap_or_default()),
            side: if report.get(54) == Some(b"2") { Side::Sell } else { Side::Buy },
            kind: character(40),
            quantity: decimal(38),
            price: decimal(44),
            stop: decimal(99),
            order_id: report.text(37).and_then(OrderId::parse),
            traded: TradedAmount {
                amount: decimal(14).unwrap_or_default(),
                average: decimal(6).unwrap_or_default(),
            },
            leaves: decimal(151)?,
            status: character(39)?,
            is_triggered: false,
        };
        Some((id, order))
    }
}

impl Recovery {
    fn reported(&mut self, order_id: OrderId, [before, name]: [ClientId; 2]) {
        let new = || Known { name, names: Vec::new(), is_noted: false };
        let known = self.known.entry(order_id).or_insert_with(new);
        known.name = name;
        for one in [before, name] {
            if !known.names.contains(&one) {
                known.names.push(one);
            }
        }
        self.highest = self.highest.max(Some(order_id));
    }

    /// Whether the session may lack reports.
    pub fn is_needed(&self, orders: &Orders) -> bool {
        !self.noted.is_empty() || self.known.keys().any(|id| self.open(orders, *id).is_some())
    }

    /// An order with that id, if it is open: another one may have its client id by now.
    fn open<'a>(&self, orders: &'a Orders, order_id: OrderId) -> Option<&'a Order> {
        let known = self.known.get(&order_id)?;
        let order = orders.get(&known.name).filter(|order| !order.has_ended())?;
        (order.order_id == Some(order_id) || known.is_noted).then_some(order)
    }

    /// Whether the session wants the reports about that order, which has this client id.
    pub fn wants(&mut self, orders: &Orders, id: &ClientId, order_id: OrderId) -> bool {
        let is_wanted = match self.known.get(&order_id) {
            Some(known) => self.open(orders, order_id).is_some() && known.names.contains(id),
            None if self.noted.get(id).is_some_and(|above| Some(order_id) > *above) => {
                let known = Known { name: *id, names: vec![*id], is_noted: true };
                self.known.insert(order_id, known);
                true
            }
            None => false,
        };
        if is_wanted {
            self.wanted.insert(order_id);
        }
        is_wanted
    }

    /// The highest id of the orders that the session has had.
    pub fn highest(&self) -> Option<OrderId> {
        self.highest
    }

    /// Whether it wanted the reports about that order.
    pub fn follows(&self, order_id: OrderId) -> bool {
        self.wanted.contains(&order_id)
    }

    /// Adds the next of them, in the order of the journal.
    pub fn add(&mut self, report: PastReport) {
        self.past.push(report);
    }

    /// All of them.
    pub fn past(&self) -> &[PastReport] {
        &self.past
    }

    /// The client id in the last report of an order.
    pub fn name_of(&self, order_id: OrderId) -> Option<&ClientId> {
        self.known.get(&order_id).map(|known| &known.name)
    }

    /// The orders that were noted and have no report.
    pub fn noted(&self) -> impl Iterator<Item = &ClientId> {
        self.noted.keys()
    }

    /// For each order, by its id: how many of its entries in `past` the store has.
    pub fn reported_of(&self, orders: &Orders) -> HashMap<OrderId, Reported> {
        let mut of = HashMap::new();
        let mut triggered: HashMap<OrderId, bool> = HashMap::new();
        for (at, past) in self.past.iter().enumerate() {
            let order_id = past.order_id;
            let Some(Known { name, .. }) = self.known.get(&order_id) else { continue };
            let Some(order) = self.open(orders, order_id) else { continue };
            match past.reply() {
                Some(Reply::Waiting(_)) => drop(triggered.insert(order_id, false)),
                Some(Reply::Triggered(_)) => drop(triggered.insert(order_id, true)),
                _ => {}
            }
            let reported = of.entry(order_id).or_insert_with(|| Reported::before(past, order));
            let is_triggered = triggered.get(&order_id).unwrap_or(&order.is_triggered);
            if order.is_acknowledged()
                && *name == past.client_id
                && *is_triggered == order.is_triggered
                && is_equal(past.open, order.leaves)
            {
                *reported = Reported::Until(at);
            }
        }
        of
    }
}

/// How many reports about an order a store has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reported {
    None,
    /// The ones until this place.
    Until(usize),
    /// It lacks some that the journal's inputs don't tell any more, and all that they do.
    TooFew,
    /// More than the journal has, which lost its last inputs in mode `async`.
    All,
}

impl Reported {
    /// If the order's state is that after none of its reports in the journal, of which this is the
    /// first.
    fn before(first: &PastReport, order: &Order) -> Reported {
        let is_new = order.traded.amount == Decimal::ZERO && !order.is_triggered;
        match (&first.report, minus(order.leaves, first.open)) {
            (None, Some(more)) if more.mantissa() > 0 => Reported::TooFew,
            (None, _) => Reported::All,
            // Noted; or the first reply became two reports, and the process ended between them.
            (Some(_), _) if !order.is_acknowledged() => Reported::None,
            (Some(_), _) if is_new && Some(order.leaves) == order.quantity => Reported::None,
            (Some(_), _) => Reported::All,
        }
    }

    pub fn has(self, at: usize) -> bool {
        match self {
            Reported::None | Reported::TooFew => false,
            Reported::Until(last) => at <= last,
            Reported::All => true,
        }
    }
}

impl PastReport {
    pub(super) fn reply(&self) -> Option<Reply<'_>> {
        decode_reply(self.report.as_deref()?).ok()
    }
}

fn is_equal(a: Decimal, b: Decimal) -> bool {
    minus(a, b) == Some(Decimal::ZERO)
}

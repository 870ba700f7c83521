//! Dispatches each input to its action, and then to its consequences.

use crate::book::Book;
use crate::command::{Command, Input, Side};
use crate::event::{DoneReason, Event, Reject};
use crate::limits::EngineLimits;
use crate::open_orders::OpenOrders;
use crate::prefetch::prefetch;

/// The best price of a side, and the quantity there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quote {
    /// In ticks.
    pub price_ticks: i64,
    /// The sum of the shown quantities of the orders at this price, in lots.
    pub quantity_lots: u64,
}

/// The top of a book. A side without orders is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Top {
    /// The highest price of a buyer.
    pub bid: Option<Quote>,
    /// The lowest price of a seller.
    pub ask: Option<Quote>,
}

/// Risk and matching for a fixed number of instruments.
#[derive(Debug)]
pub struct Engine {
    pub(crate) limits: EngineLimits,
    /// By instrument number.
    pub(crate) books: Vec<Book>,
    pub(crate) open: OpenOrders,
    /// The latest time so far.
    pub(crate) time_ns: u64,
    /// Whether the kill switch for all accounts is on.
    pub(crate) killed: bool,
}

/// Data of a command for its rejection.
struct RejectedCommand {
    instrument: u16,
    order_id: u64,
    account: u32,
    tag: u32,
}

impl RejectedCommand {
    fn of(command: &Command) -> RejectedCommand {
        let none = RejectedCommand { instrument: 0, order_id: 0, account: 0, tag: 0 };
        match *command {
            Command::New(new) => RejectedCommand {
                instrument: new.instrument,
                order_id: new.order_id,
                account: new.account,
                tag: new.tag,
            },
            Command::Amend(amend) => RejectedCommand {
                instrument: amend.instrument,
                order_id: amend.order_id,
                account: amend.account,
                tag: amend.tag,
            },
            Command::Cancel(cancel) => RejectedCommand {
                instrument: cancel.instrument,
                order_id: cancel.order_id,
                account: cancel.account,
                tag: cancel.tag,
            },
            Command::MassCancel(mass) => RejectedCommand {
                instrument: mass.instrument.unwrap_or(0),
                account: mass.account.unwrap_or(0),
                tag: mass.tag,
                ..none
            },
            Command::Instrument(settings) => {
                RejectedCommand { instrument: settings.instrument, tag: settings.tag, ..none }
            }
            Command::Account(settings) => {
                RejectedCommand { account: settings.account, tag: settings.tag, ..none }
            }
            Command::Position(settings) => RejectedCommand {
                instrument: settings.instrument,
                account: settings.account,
                tag: settings.tag,
                ..none
            },
            Command::Kill(kill) => {
                RejectedCommand { account: kill.account.unwrap_or(0), tag: kill.tag, ..none }
            }
        }
    }
}

impl Engine {
    /// An engine for the instruments 0 to `instruments`, exclusive, with empty books.
    ///
    /// # Panics
    /// If [`EngineLimits::check`] finds a fault. That is the only panic; no input causes one.
    #[must_use]
    pub fn new(instruments: u16, limits: EngineLimits) -> Engine {
        if let Err(error) = limits.check(instruments) {
            panic!("{error}");
        }
        Engine {
            limits,
            books: (0..instruments).map(|i| Book::new(i, &limits)).collect(),
            open: OpenOrders::new(instruments, &limits),
            time_ns: 0,
            killed: false,
        }
    }

    /// Executes one input and reports its events, in order, to `events`, before it returns.
    #[inline]
    pub fn apply(&mut self, input: &Input, events: &mut impl FnMut(Event)) {
        self.time_ns = self.time_ns.max(input.time_ns);
        while let Some(handle) = self.open.expiries.due(self.time_ns) {
            self.end(handle, DoneReason::Expired, events);
        }
        let command = &input.command;
        let result = match command {
            Command::New(new) => self.new_order(new, events),
            Command::Amend(amend) => self.amend(amend, events),
            Command::Cancel(cancel) => self.cancel(cancel, events),
            Command::MassCancel(mass) => self.mass_cancel(mass, events),
            Command::Instrument(settings) => self.set_instrument(settings, events),
            Command::Account(settings) => self.set_account(settings, events),
            Command::Position(settings) => self.set_position(settings, events),
            Command::Kill(kill) => self.set_kill(kill, events),
        };
        match result {
            Ok(()) => self.trigger_stops(command, events),
            Err(reason) => {
                let RejectedCommand { instrument, order_id, account, tag } =
                    RejectedCommand::of(command);
                events(Event::Rejected { instrument, order_id, account, tag, reason });
            }
        }
    }

    /// Prefetches the memory of a future input: the slots of its id and its account. Changes
    /// nothing.
    ///
    /// For a caller with a batch of inputs: call it some eight inputs ahead, and
    /// [`Engine::expect_next`] two ahead. It helps if the open orders don't fit into the caches.
    #[inline]
    pub fn expect(&self, input: &Input) {
        let (order_id, account, instrument) = match &input.command {
            Command::New(new) => (new.order_id, new.account, new.instrument),
            Command::Amend(amend) => (amend.order_id, amend.account, amend.instrument),
            Command::Cancel(cancel) => (cancel.order_id, cancel.account, cancel.instrument),
            _ => return,
        };
        self.open.ids.prefetch(order_id);
        self.open.accounts.prefetch(account, instrument);
    }

    /// Prefetches the order of an input, once [`Engine::expect`] has fetched the id's slot.
    #[inline]
    pub fn expect_next(&self, input: &Input) {
        let order_id = match &input.command {
            Command::Amend(amend) => amend.order_id,
            Command::Cancel(cancel) => cancel.order_id,
            _ => return,
        };
        if let Some(handle) = self.open.ids.guess(order_id) {
            prefetch(self.open.slab.get(handle));
            self.open.accounts.prefetch_order(handle);
        }
    }

    /// The best prices of an instrument; empty for an unknown instrument.
    #[must_use]
    pub fn top(&self, instrument: u16) -> Top {
        let best = |side| {
            let (price_ticks, quantity_lots, _) = self.levels(instrument, side).next()?;
            Some(Quote { price_ticks, quantity_lots })
        };
        Top { bid: best(Side::Buy), ask: best(Side::Sell) }
    }

    /// Number of open orders, resting orders and waiting stops, over all instruments.
    #[must_use]
    pub fn open_orders(&self) -> u32 {
        self.open.slab.open()
    }

    /// The depth of one side, best first: price in ticks, visible quantity in lots, number of
    /// orders. Empty for an unknown instrument.
    pub fn levels(
        &self,
        instrument: u16,
        side: Side,
    ) -> impl Iterator<Item = (i64, u64, u32)> + '_ {
        self.books
            .get(usize::from(instrument))
            .into_iter()
            .flat_map(move |book| book.side(side).best_first())
            .map(|level| (level.price_ticks, level.queue.visible_lots(), level.queue.orders()))
    }

    /// An account's position in an instrument, in lots; 0 if either is unknown.
    #[must_use]
    pub fn position_lots(&self, account: u32, instrument: u16) -> i64 {
        self.open.accounts.position(account, instrument).map_or(0, |position| position.lots)
    }

    /// Ends an open order.
    #[inline]
    pub(crate) fn end(
        &mut self,
        handle: crate::book::queue::Handle,
        reason: DoneReason,
        events: &mut impl FnMut(Event),
    ) {
        let instrument = self.open.slab.get(handle).instrument;
        let order = self.books[usize::from(instrument)].leave(handle, &mut self.open);
        self.open.done(&order, reason, events);
    }

    /// The book of an instrument.
    #[inline]
    pub(crate) fn book(&mut self, instrument: u16) -> Result<&mut Book, Reject> {
        self.books.get_mut(usize::from(instrument)).ok_or(Reject::UnknownInstrument)
    }
}

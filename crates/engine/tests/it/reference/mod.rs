//! The naive engine, written to be obviously right instead of fast: one list of all open orders,
//! searched from end to end for everything. It shares only the messages with the engine.
//!
//! Commands are in this file, matching in `matching`, rejections in `checks` and `risk`, snapshots
//! in `state`.

#![allow(dead_code, reason = "each test file uses its part")]

mod checks;
mod matching;
mod risk;
mod state;

use std::collections::BTreeMap;

use engine::*;

/// A resting order, or a waiting stop.
#[derive(Debug, Clone, Copy)]
struct Open {
    /// `quantity_lots` is the remainder. A waiting stop has a stop price.
    order: NewOrder,
    visible_lots: u64,
    /// The lower number is first in the queue at its price.
    place: u64,
    /// The lower number joined first among the orders of its account.
    joined: u64,
}

#[derive(Debug, Clone, Copy)]
struct Account {
    settings: AccountSettings,
    killed: bool,
    second: u64,
    messages: u32,
}

#[derive(Debug, Clone)]
pub struct NaiveEngine {
    limits: EngineLimits,
    time_ns: u64,
    killed: bool,
    instruments: Vec<InstrumentSettings>,
    accounts: Vec<Account>,
    /// By account and instrument; others have their initial value.
    positions: BTreeMap<(u32, u16), PositionSettings>,
    open: Vec<Open>,
    /// Counts the places and joinings of orders.
    counter: u64,
}

impl NaiveEngine {
    pub fn new(instruments: u16, limits: EngineLimits) -> NaiveEngine {
        let instrument = |instrument| InstrumentSettings {
            instrument,
            tag: 0,
            state: InstrumentState::Open,
            band_low_ticks: 1,
            band_high_ticks: PRICE_TICKS_MAX,
            reference_ticks: 0,
        };
        let account = |account| Account {
            settings: AccountSettings::unlimited(account),
            killed: false,
            second: 0,
            messages: 0,
        };
        NaiveEngine {
            limits,
            time_ns: 0,
            killed: false,
            instruments: (0..instruments).map(instrument).collect(),
            accounts: (0..limits.accounts_max).map(account).collect(),
            positions: BTreeMap::new(),
            open: Vec::new(),
            counter: 0,
        }
    }

    pub fn apply(&mut self, input: &Input) -> Vec<Event> {
        let mut events = Vec::new();
        self.time_ns = self.time_ns.max(input.time_ns);
        self.expire(&mut events);
        let outcome = match &input.command {
            Command::New(new) => self.new_order(new, &mut events),
            Command::Amend(amend) => self.amend(amend, &mut events),
            Command::Cancel(cancel) => self.cancel(cancel, &mut events),
            Command::MassCancel(mass) => self.mass_cancel(mass, &mut events),
            Command::Instrument(settings) => self.set_instrument(settings, &mut events),
            Command::Account(settings) => self.set_account(settings, &mut events),
            Command::Position(settings) => self.set_position(settings, &mut events),
            Command::Kill(kill) => self.kill(kill, &mut events),
        };
        if let Err(reason) = outcome {
            events.push(rejected(&input.command, reason));
        }
        self.trigger_stops(&mut events);
        events
    }

    fn expire(&mut self, events: &mut Vec<Event>) {
        let due = |open: &Open| {
            open.order.time_in_force == TimeInForce::GoodTillDate
                && open.order.expires_ns <= self.time_ns
        };
        let mut due: Vec<Open> = self.open.iter().copied().filter(due).collect();
        due.sort_by_key(|open| (open.order.expires_ns, open.order.order_id));
        for open in due {
            self.end(open.order.order_id, DoneReason::Expired, events);
        }
    }

    fn new_order(&mut self, new: &NewOrder, events: &mut Vec<Event>) -> Result<(), Reject> {
        let order = self.check_new(new)?;
        let instrument = order.instrument;
        if order.stop_ticks == 0 {
            self.enter(order, events);
        } else if self.is_reached(&order) {
            events.push(Event::Triggered { instrument, order: party(&order) });
            self.enter(order, events);
        } else {
            let NewOrder { side, stop_ticks, .. } = order;
            self.join(order, 0);
            events.push(Event::Waiting { instrument, order: party(&order), side, stop_ticks });
        }
        Ok(())
    }

    fn amend(&mut self, amend: &Amend, events: &mut Vec<Event>) -> Result<(), Reject> {
        let amended = self.check_amend(amend)?;
        let at = self.index(amend.order_id).expect("it was checked");
        let waits = amended.stop_ticks != 0;
        let kept_place = waits || keeps_place(&self.open[at].order, amend);
        let visible_lots =
            if kept_place { self.open[at].visible_lots.min(amended.quantity_lots) } else { 0 };
        events.push(Event::Amended {
            instrument: amended.instrument,
            order: party(&amended),
            side: amended.side,
            price_ticks: amended.price_ticks,
            kept_place,
            visible_lots,
        });
        if kept_place {
            self.open[at].order = amended;
            self.open[at].visible_lots = visible_lots;
        } else {
            self.open.remove(at);
            self.enter(amended, events);
        }
        Ok(())
    }

    fn cancel(&mut self, cancel: &Cancel, events: &mut Vec<Event>) -> Result<(), Reject> {
        self.check_instrument(cancel.instrument)?;
        self.check_account(cancel.account)?;
        let _ = self.count_message(cancel.account);
        self.find(cancel.order_id, cancel.account, cancel.instrument)?;
        self.end(cancel.order_id, DoneReason::Cancelled, events);
        Ok(())
    }

    fn mass_cancel(&mut self, mass: &MassCancel, events: &mut Vec<Event>) -> Result<(), Reject> {
        if let Some(instrument) = mass.instrument {
            self.check_instrument(instrument)?;
        }
        if let Some(account) = mass.account {
            self.check_own_account(account)?;
            let _ = self.count_message(account);
        }
        let orders = self.cancel_all(mass, events);
        events.push(Event::Applied { tag: mass.tag, orders });
        Ok(())
    }

    fn cancel_all(&mut self, mass: &MassCancel, events: &mut Vec<Event>) -> u32 {
        let mut open = self.in_order();
        if mass.account.is_some() {
            open.sort_by_key(|open| std::cmp::Reverse(open.joined));
        }
        open.retain(|Open { order, .. }| {
            mass.account.is_none_or(|account| account == order.account)
                && mass.instrument.is_none_or(|instrument| instrument == order.instrument)
                && mass.side.is_none_or(|side| side == order.side)
        });
        for open in &open {
            self.end(open.order.order_id, DoneReason::Cancelled, events);
        }
        open.len() as u32
    }

    fn set_instrument(
        &mut self,
        settings: &InstrumentSettings,
        events: &mut Vec<Event>,
    ) -> Result<(), Reject> {
        self.check_instrument_settings(settings)?;
        let instrument = &mut self.instruments[usize::from(settings.instrument)];
        let reference_ticks = match settings.reference_ticks {
            0 => instrument.reference_ticks,
            ticks => ticks,
        };
        *instrument = InstrumentSettings { tag: 0, reference_ticks, ..*settings };
        let mut ended = self.in_order();
        ended.retain(|open| {
            settings.state == InstrumentState::Closed
                && open.order.instrument == settings.instrument
        });
        for open in &ended {
            self.end(open.order.order_id, DoneReason::Closed, events);
        }
        events.push(Event::Applied { tag: settings.tag, orders: ended.len() as u32 });
        Ok(())
    }

    fn set_account(
        &mut self,
        settings: &AccountSettings,
        events: &mut Vec<Event>,
    ) -> Result<(), Reject> {
        self.check_account_settings(settings)?;
        self.accounts[settings.account as usize].settings = AccountSettings { tag: 0, ..*settings };
        events.push(Event::Applied { tag: settings.tag, orders: 0 });
        Ok(())
    }

    fn set_position(
        &mut self,
        settings: &PositionSettings,
        events: &mut Vec<Event>,
    ) -> Result<(), Reject> {
        let change_lots = self.check_position_settings(settings)?;
        *self.position_mut(settings.account, settings.instrument) =
            PositionSettings { tag: 0, change_lots, ..*settings };
        events.push(Event::Applied { tag: settings.tag, orders: 0 });
        Ok(())
    }

    fn kill(&mut self, kill: &Kill, events: &mut Vec<Event>) -> Result<(), Reject> {
        match kill.account {
            None => self.killed = kill.on,
            Some(account) => {
                self.check_own_account(account)?;
                self.accounts[account as usize].killed = kill.on;
            }
        }
        let Kill { account, tag, cancel, .. } = *kill;
        let all = MassCancel { account, instrument: None, side: None, tag };
        let orders = if cancel { self.cancel_all(&all, events) } else { 0 };
        events.push(Event::Applied { tag, orders });
        Ok(())
    }

    /// For every instrument, because a command that does not change one reaches no stop there.
    fn trigger_stops(&mut self, events: &mut Vec<Event>) {
        while let Some(Open { order, .. }) = self.next_stop() {
            self.open.retain(|open| open.order.order_id != order.order_id);
            let instrument = order.instrument;
            events.push(Event::Triggered { instrument, order: party(&order) });
            self.enter(order, events);
        }
    }

    fn next_stop(&self) -> Option<Open> {
        self.in_order().into_iter().find(|Open { order, .. }| {
            let instrument = &self.instruments[usize::from(order.instrument)];
            instrument.state == InstrumentState::Open && self.is_reached(order)
        })
    }

    /// Whether this is a stop whose price is reached.
    fn is_reached(&self, order: &NewOrder) -> bool {
        let reference = self.instruments[usize::from(order.instrument)].reference_ticks;
        let past = match order.side {
            Side::Buy => reference >= order.stop_ticks,
            Side::Sell => reference <= order.stop_ticks,
        };
        order.stop_ticks != 0 && reference != 0 && past
    }

    /// Removes an open order, and reports the reason.
    fn end(&mut self, order_id: u64, reason: DoneReason, events: &mut Vec<Event>) {
        let at = self.index(order_id).expect("it is open");
        let Open { order, .. } = self.open.remove(at);
        events.push(Event::Done { instrument: order.instrument, order: party(&order), reason });
    }

    /// Adds an open order: last in its queue, last of its account.
    fn join(&mut self, order: NewOrder, visible_lots: u64) {
        self.counter += 1;
        let (place, joined) = (self.counter, self.counter);
        self.open.push(Open { order, visible_lots, place, joined });
    }

    fn index(&self, order_id: u64) -> Option<usize> {
        self.open.iter().position(|open| open.order.order_id == order_id)
    }
}

fn keeps_place(order: &NewOrder, amend: &Amend) -> bool {
    amend.price_ticks == order.price_ticks && amend.remaining_lots <= order.quantity_lots
}

fn party(order: &NewOrder) -> Party {
    let NewOrder { order_id, account, tag, quantity_lots, .. } = *order;
    Party { order_id, account, tag, remaining_lots: quantity_lots }
}

fn rejected(command: &Command, reason: Reject) -> Event {
    let (instrument, order_id, account, tag) = match *command {
        Command::New(NewOrder { instrument, order_id, account, tag, .. })
        | Command::Amend(Amend { instrument, order_id, account, tag, .. })
        | Command::Cancel(Cancel { instrument, order_id, account, tag }) => {
            (instrument, order_id, account, tag)
        }
        Command::MassCancel(MassCancel { instrument, account, tag, .. }) => {
            (instrument.unwrap_or(0), 0, account.unwrap_or(0), tag)
        }
        Command::Instrument(InstrumentSettings { instrument, tag, .. }) => (instrument, 0, 0, tag),
        Command::Account(AccountSettings { account, tag, .. }) => (0, 0, account, tag),
        Command::Position(PositionSettings { instrument, account, tag, .. }) => {
            (instrument, 0, account, tag)
        }
        Command::Kill(Kill { account, tag, .. }) => (0, 0, account.unwrap_or(0), tag),
    };
    Event::Rejected { instrument, order_id, account, tag, reason }
}

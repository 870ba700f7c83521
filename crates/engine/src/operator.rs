//! Operators' commands and mass cancels: everything that is not about one order.

use crate::command::{MassCancel, PRICE_TICKS_MAX, Side};
use crate::engine::Engine;
use crate::event::{DoneReason, Event, Reject};
use crate::settings::{
    AccountSettings, InstrumentSettings, InstrumentState, Kill, PositionSettings,
};

impl Engine {
    pub(crate) fn mass_cancel(
        &mut self,
        mass: &MassCancel,
        events: &mut impl FnMut(Event),
    ) -> Result<(), Reject> {
        let MassCancel { account, instrument, side, tag } = *mass;
        if let Some(instrument) = instrument {
            self.book(instrument)?;
        }
        let orders = match account {
            Some(account) => {
                let time_ns = self.time_ns;
                let known = self.open.accounts.get_mut(account).ok_or(Reject::UnknownAccount)?;
                known.count_message(time_ns);
                self.end_of_account(account, instrument, side, events)
            }
            None => self.end_of_all(instrument, side, events),
        };
        events(Event::Applied { tag, orders });
        Ok(())
    }

    /// Whether a mass cancel would cancel any order.
    #[must_use]
    pub fn has_any(&self, mass: &MassCancel) -> bool {
        let MassCancel { account, instrument, side, .. } = *mass;
        let Some(account) = account else { return self.open_orders() > 0 };
        let newest = self.open.accounts.get(account).and_then(|account| account.newest);
        let mut orders = std::iter::successors(newest, |handle| self.open.accounts.older(*handle));
        orders.any(|handle| {
            let order = self.open.slab.get(handle);
            instrument.is_none_or(|instrument| instrument == order.instrument)
                && side.is_none_or(|side| side == order.side)
        })
    }

    /// Cancels an account's orders, last joined first. Returns their number.
    fn end_of_account(
        &mut self,
        account: u32,
        instrument: Option<u16>,
        side: Option<Side>,
        events: &mut impl FnMut(Event),
    ) -> u32 {
        let mut next = self.open.accounts.get(account).and_then(|account| account.newest);
        let mut orders = 0;
        while let Some(handle) = next {
            next = self.open.accounts.older(handle);
            let order = self.open.slab.get(handle);
            let fits = instrument.is_none_or(|instrument| instrument == order.instrument)
                && side.is_none_or(|side| side == order.side);
            if fits {
                self.end(handle, DoneReason::Cancelled, events);
                orders += 1;
            }
        }
        orders
    }

    /// Cancels the orders of all accounts, book by book. Returns their number.
    fn end_of_all(
        &mut self,
        instrument: Option<u16>,
        side: Option<Side>,
        events: &mut impl FnMut(Event),
    ) -> u32 {
        let named = |number: &u16| instrument.is_none_or(|named| named == *number);
        let numbers = (0..self.books.len() as u16).filter(named);
        numbers.map(|number| self.end_of_book(number, side, DoneReason::Cancelled, events)).sum()
    }

    /// Ends the orders and stops of a book. Returns their number.
    fn end_of_book(
        &mut self,
        instrument: u16,
        side: Option<Side>,
        reason: DoneReason,
        events: &mut impl FnMut(Event),
    ) -> u32 {
        let mut orders = 0;
        for (of_side, waits) in
            [(Side::Buy, false), (Side::Sell, false), (Side::Buy, true), (Side::Sell, true)]
        {
            if side.is_some_and(|side| side != of_side) {
                continue;
            }
            loop {
                let levels = self.books[usize::from(instrument)].lane_mut(of_side, waits);
                let best = levels.best().map(|best| levels.level(best));
                let Some(handle) = best.and_then(|level| level.queue.first()) else { break };
                self.end(handle, reason, events);
                orders += 1;
            }
        }
        orders
    }

    pub(crate) fn set_instrument(
        &mut self,
        settings: &InstrumentSettings,
        events: &mut impl FnMut(Event),
    ) -> Result<(), Reject> {
        let InstrumentSettings { instrument, band_low_ticks, band_high_ticks, .. } = *settings;
        let book = self.book(instrument)?;
        let fits = 1 <= band_low_ticks
            && band_low_ticks <= band_high_ticks
            && band_high_ticks <= PRICE_TICKS_MAX
            && (0..=PRICE_TICKS_MAX).contains(&settings.reference_ticks);
        if !fits {
            return Err(Reject::BadSetting);
        }
        let reference_ticks = match settings.reference_ticks {
            0 => book.settings.reference_ticks,
            new => new,
        };
        book.settings = InstrumentSettings { tag: 0, reference_ticks, ..*settings };
        let orders = match settings.state {
            InstrumentState::Closed => {
                self.end_of_book(instrument, None, DoneReason::Closed, events)
            }
            InstrumentState::Open | InstrumentState::Halted => 0,
        };
        events(Event::Applied { tag: settings.tag, orders });
        Ok(())
    }

    pub(crate) fn set_account(
        &mut self,
        settings: &AccountSettings,
        events: &mut impl FnMut(Event),
    ) -> Result<(), Reject> {
        let account = self.open.accounts.get_mut(settings.account).ok_or(Reject::UnknownAccount)?;
        if !settings.is_in_range() {
            return Err(Reject::BadSetting);
        }
        account.set(settings);
        events(Event::Applied { tag: settings.tag, orders: 0 });
        Ok(())
    }

    pub(crate) fn set_position(
        &mut self,
        settings: &PositionSettings,
        events: &mut impl FnMut(Event),
    ) -> Result<(), Reject> {
        let PositionSettings { account, instrument, tag, .. } = *settings;
        self.book(instrument)?;
        let position = self.open.accounts.position_mut(account, instrument);
        position.ok_or(Reject::UnknownAccount)?.set(settings)?;
        events(Event::Applied { tag, orders: 0 });
        Ok(())
    }

    pub(crate) fn set_kill(
        &mut self,
        kill: &Kill,
        events: &mut impl FnMut(Event),
    ) -> Result<(), Reject> {
        match kill.account {
            Some(account) => {
                self.open.accounts.get_mut(account).ok_or(Reject::UnknownAccount)?.killed = kill.on;
            }
            None => self.killed = kill.on,
        }
        let orders = match (kill.cancel, kill.account) {
            (false, _) => 0,
            (true, Some(account)) => self.end_of_account(account, None, None, events),
            (true, None) => self.end_of_all(None, None, events),
        };
        events(Event::Applied { tag: kill.tag, orders });
        Ok(())
    }
}

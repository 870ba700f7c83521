//! Actions of an operator and of the exchange itself: settings and mass cancels, sequenced like all
//! other inputs.

use crate::account::risk::Known;
use crate::account::sessions::{AuthenticateError, HOUSE};
use crate::entry::OrderEntry;
use crate::entry::commands;
use crate::entry::execution::execute;
use crate::entry::refusals::{
    About, NO_OPERATOR, NOT_LOGGED, OTHER_ACCOUNT, Refused, UNKNOWN_ACCOUNT, by_journal,
};
use crate::entry::reports::{Asked, What};
use crate::entry::text::wire_time;
use engine::{Command, InstrumentState, Kill, MassCancel};
use transport::StreamId;
use transport::serve::Outbound;
use wire::request::{self, KillSwitch, SetInstrumentState};

/// Changes only the engine's time: it releases the house's kill switch, which nobody can throw.
const TIME_PASSES: Command = Command::Kill(Kill { account: Some(HOUSE), tag: 0, on: false });

/// Whom nobody answers: the exchange.
const OWN: Asked<'static> =
    Asked { from: None, client_id: None, account: HOUSE, what: What::Setting };

impl OrderEntry {
    #[cold]
    pub fn instrument_state(
        &mut self,
        from: StreamId,
        set: &SetInstrumentState<'_>,
        time_ns: u64,
        outbound: &mut Outbound,
    ) {
        let command = self.operator(from).and_then(|()| {
            let number = self.instruments.number(&set.instrument_code)?;
            let state = match set.state {
                request::InstrumentState::Open => InstrumentState::Open,
                request::InstrumentState::Halted => InstrumentState::Halted,
                request::InstrumentState::Closed => InstrumentState::Closed,
            };
            Ok(Command::Instrument(self.instruments.get(number).settings(number, state)))
        });
        let client_id = set.client_id.as_ref();
        match command {
            Ok(command) => {
                self.counts.operations += 1;
                let asked = Asked { from: Some(from), client_id, ..OWN };
                execute(self, &asked, command, time_ns, outbound);
            }
            Err(refused) => {
                let time_ms = wire_time(time_ns);
                let about = About { from, account_id: None, client_id, time_ms, stamping: None };
                self.refusals.refuse(&self.sessions, &about, &refused, outbound);
            }
        }
    }

    #[cold]
    pub fn kill_switch(
        &mut self,
        from: StreamId,
        kill: &KillSwitch<'_>,
        time_ns: u64,
        outbound: &mut Outbound,
    ) {
        let client_id = kill.client_id.as_ref();
        let account = self.operator(from).and_then(|()| match kill.account_id.as_deref() {
            None => Ok(None),
            // It may be thrown before the account comes for the first time.
            Some(id) => match self.account(id, time_ns, outbound) {
                Ok(account) => Ok(Some(account)),
                Err(AuthenticateError::NotLogged) => Err(NOT_LOGGED),
                Err(_) => Err(UNKNOWN_ACCOUNT),
            },
        });
        match account {
            Ok(account) => {
                self.counts.operations += 1;
                let asked = Asked { from: Some(from), client_id, ..OWN };
                let command = Command::Kill(Kill { account, tag: 0, on: kill.on });
                execute(self, &asked, command, time_ns, outbound);
            }
            Err(refused) => {
                let about = self.request_of(from, None, client_id, time_ns);
                self.refusals.refuse(&self.sessions, &about, &refused, outbound);
            }
        }
    }

    /// A trader's, of his account; or an operator's, of one or all.
    #[cold]
    pub fn mass_cancel(
        &mut self,
        from: StreamId,
        cancel: &request::MassCancel<'_>,
        time_ns: u64,
        outbound: &mut Outbound,
    ) {
        let account_id = cancel.account_id.as_deref();
        let is_operator = self.sessions.operator(from).is_some();
        let account = match (is_operator, account_id) {
            (false, _) => self.sessions.account(from, account_id).map(Some).ok_or(OTHER_ACCOUNT),
            (true, None) => Ok(None),
            (true, Some(id)) => self.sessions.number(id).map(Some).ok_or(UNKNOWN_ACCOUNT),
        };
        let command = account
            .and_then(|account| commands::mass_cancel(&self.instruments, account, cancel))
            .and_then(|command| self.is_worth_room(&command).map(|()| command));
        let client_id = cancel.client_id.as_ref();
        match command {
            Ok(command) => {
                self.counts.mass_cancels += 1;
                // An operator acts in nobody's name.
                let account = command.account.filter(|_| !is_operator).unwrap_or(HOUSE);
                let what = What::MassCancel;
                let asked = Asked { from: Some(from), client_id, account, what };
                execute(self, &asked, Command::MassCancel(command), time_ns, outbound);
            }
            Err(refused) => {
                let about = self.request_of(from, account_id, client_id, time_ns);
                self.refusals.refuse(&self.sessions, &about, &refused, outbound);
            }
        }
    }

    /// If only the journal's reserve is left, a mass cancel without orders must not use it up.
    fn is_worth_room(&self, command: &MassCancel) -> Result<(), Refused<'static>> {
        match self.sequencer.check_reserve() {
            Err(refused) if !self.sequencer.engine().has_any(command) => Err(by_journal(refused)),
            _ => Ok(()),
        }
    }

    fn operator(&self, from: StreamId) -> Result<(), Refused<'static>> {
        self.sessions.operator(from).map(|_| ()).ok_or(NO_OPERATOR)
    }

    /// The number of an account. A new account is entered in the register, and the engine is told
    /// its settings: all or none, so that its starting position is neither lost nor told twice,
    /// wherever the exchange is killed.
    #[cold]
    pub fn account(
        &mut self,
        account_id: &str,
        time_ns: u64,
        outbound: &mut Outbound,
    ) -> Result<u32, AuthenticateError> {
        let found = self.sessions.number(account_id);
        let account = found.unwrap_or_else(|| self.sessions.next_number());
        let known = match found {
            None => {
                self.sessions.check_new(account_id)?;
                // It has no orders to cancel.
                self.sequencer.check_reserve().map_err(|_| AuthenticateError::NotLogged)?;
                Known::default()
            }
            Some(account) => {
                self.pay_cancel(account, time_ns, outbound)?;
                match &self.sessions.get_mut(account).untold {
                    None => return Ok(account),
                    Some(known) => known.clone(),
                }
            }
        };
        let commands = self.risk.commands(account_id, account, &known);
        let (next, inputs) = (self.sequencer.next_sequence(), commands.len() as u64);
        self.sequencer.check_room(inputs).map_err(|_| AuthenticateError::NotLogged)?;
        if !known.all {
            let added = self.register.add(account_id, next, inputs);
            added.map_err(|_| AuthenticateError::NotLogged)?;
        }
        if found.is_none() {
            self.sessions.add(account_id, known);
        }
        for command in commands {
            if !execute(self, &OWN, command, time_ns, outbound) {
                return Err(AuthenticateError::NotLogged);
            }
        }
        self.sessions.get_mut(account).untold = None;
        Ok(account)
    }

    /// Cancels the orders of accounts whose last connection with that wish is gone. What the
    /// journal does not take now stays owed.
    #[cold]
    pub fn cancel_all(&mut self, accounts: Vec<u32>, time_ns: u64, outbound: &mut Outbound) {
        for account in accounts {
            let (criterion, instrument, side, tag) = (Some(account), None, None, 0);
            let command = MassCancel { account: criterion, instrument, side, tag };
            if self.is_worth_room(&command).is_err() {
                continue;
            }
            match execute(self, &OWN, Command::MassCancel(command), time_ns, outbound) {
                true => self.counts.cancels_on_disconnect += 1,
                false => self.cancels_owed.push(account),
            }
        }
    }

    /// Tries once more what is owed, if there is hope: each refusal is counted.
    #[cold]
    pub fn pay_cancels(&mut self, time_ns: u64, outbound: &mut Outbound) {
        if self.sequencer.check_room(1).is_err() {
            return;
        }
        let owed = std::mem::take(&mut self.cancels_owed);
        self.cancel_all(owed, time_ns, outbound);
    }

    /// An owed cancel must happen before the account returns, or it would cancel the new orders
    /// too.
    fn pay_cancel(
        &mut self,
        account: u32,
        time_ns: u64,
        outbound: &mut Outbound,
    ) -> Result<(), AuthenticateError> {
        if self.cancels_owed.contains(&account) {
            self.pay_cancels(time_ns, outbound);
        }
        match self.cancels_owed.contains(&account) {
            true => Err(AuthenticateError::NotLogged),
            false => Ok(()),
        }
    }

    /// Tells the engine the time while no client sends anything and an order with an expiry is
    /// open. If the journal has only its reserve left, the next cancel does it.
    pub fn pass_time(&mut self, time_ns: u64, outbound: &mut Outbound) {
        if self.sequencer.check_reserve().is_err() {
            return;
        }
        execute(self, &OWN, TIME_PASSES, time_ns, outbound);
    }
}

//! Actions of an operator and of the exchange itself: settings and mass cancels. The sequencer
//! orders them like all other inputs.

use crate::account::risk::KnownAccount;
use crate::account::sessions::{AuthenticateError, EXCHANGE_ACCOUNT};
use crate::entry::OrderEntry;
use crate::entry::commands;
use crate::entry::execution::execute;
use crate::entry::rejections::{
    NO_OPERATOR, NOT_LOGGED, OTHER_ACCOUNT, RejectedRequest, Rejection, UNKNOWN_ACCOUNT, by_journal,
};
use crate::entry::reports::{RequestKind, Requester};
use crate::entry::text::wire_time;
use engine::{Command, InstrumentState, Kill, MassCancel};
use transport::StreamId;
use transport::serve::Outbound;
use wire::request::{self, KillSwitch, SetInstrumentState};

/// Changes only the engine's time: it releases the kill switch of the exchange's own account, which
/// is never on.
const TIME_PASSES: Command =
    Command::Kill(Kill { account: Some(EXCHANGE_ACCOUNT), tag: 0, on: false });

/// The exchange itself as a requester; it gets no reply.
const OWN: Requester<'static> = Requester {
    from: None,
    client_id: None,
    account: EXCHANGE_ACCOUNT,
    kind: RequestKind::Setting,
};

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
                let requester = Requester { from: Some(from), client_id, ..OWN };
                execute(self, &requester, command, time_ns, outbound);
            }
            Err(rejection) => {
                let time_ms = wire_time(time_ns);
                let request =
                    RejectedRequest { from, account_id: None, client_id, time_ms, stamping: None };
                self.rejections.reject(&self.sessions, &request, &rejection, outbound);
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
            // An operator may throw it before the account authenticates for the first time.
            Some(id) => match self.account(id, time_ns, outbound) {
                Ok(account) => Ok(Some(account)),
                Err(AuthenticateError::NotLogged) => Err(NOT_LOGGED),
                Err(_) => Err(UNKNOWN_ACCOUNT),
            },
        });
        match account {
            Ok(account) => {
                self.counts.operations += 1;
                let requester = Requester { from: Some(from), client_id, ..OWN };
                let command = Command::Kill(Kill { account, tag: 0, on: kill.on });
                execute(self, &requester, command, time_ns, outbound);
            }
            Err(rejection) => {
                let request = self.rejected_request(from, None, client_id, time_ns);
                self.rejections.reject(&self.sessions, &request, &rejection, outbound);
            }
        }
    }

    /// Cancels the orders of the trader's account, or for an operator of one or all accounts.
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
                // An operator acts for no account.
                let account = command.account.filter(|_| !is_operator).unwrap_or(EXCHANGE_ACCOUNT);
                let kind = RequestKind::MassCancel;
                let requester = Requester { from: Some(from), client_id, account, kind };
                execute(self, &requester, Command::MassCancel(command), time_ns, outbound);
            }
            Err(rejection) => {
                let request = self.rejected_request(from, account_id, client_id, time_ns);
                self.rejections.reject(&self.sessions, &request, &rejection, outbound);
            }
        }
    }

    /// A mass cancel that would cancel no order must not use up the journal's reserve.
    fn is_worth_room(&self, command: &MassCancel) -> Result<(), Rejection<'static>> {
        match self.sequencer.check_reserve() {
            Err(error) if !self.sequencer.engine().has_any(command) => Err(by_journal(error)),
            _ => Ok(()),
        }
    }

    fn operator(&self, from: StreamId) -> Result<(), Rejection<'static>> {
        self.sessions.operator(from).map(|_| ()).ok_or(NO_OPERATOR)
    }

    /// The number of an account. Enters a new account in the register and sends its settings to the
    /// engine: all or none, so that its starting position is neither lost nor applied twice if the
    /// exchange is killed.
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
                KnownAccount::default()
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

    /// Cancels the orders of accounts whose last connection with `cancel_on_disconnect` has closed.
    /// If the journal does not take a cancel now, it stays owed.
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

    /// Retries owed cancels if the journal has room; without room each try would count a rejection.
    #[cold]
    pub fn pay_cancels(&mut self, time_ns: u64, outbound: &mut Outbound) {
        if self.sequencer.check_room(1).is_err() {
            return;
        }
        let owed = std::mem::take(&mut self.cancels_owed);
        self.cancel_all(owed, time_ns, outbound);
    }

    /// Executes an owed cancel before the account authenticates again; later it would cancel the
    /// account's new orders too.
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

    /// Passes the time to the engine while no client sends anything, so that orders expire. If only
    /// the journal's reserve is left, the next cancel passes it.
    pub fn pass_time(&mut self, time_ns: u64, outbound: &mut Outbound) {
        if self.sequencer.check_reserve().is_err() {
            return;
        }
        execute(self, &OWN, TIME_PASSES, time_ns, outbound);
    }
}

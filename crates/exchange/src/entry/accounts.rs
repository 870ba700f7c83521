//! New accounts, and cancels for accounts whose connection has closed.

use crate::account::register::Register;
use crate::account::risk::{KnownAccount, Risk};
use crate::account::sessions::{AuthenticateError, EXCHANGE_ACCOUNT};
use crate::entry::deliveries;
use crate::entry::disconnects::Disconnects;
use crate::execution::Execution;
use crate::reply::rejections::{Rejection, by_journal};
use crate::reply::reports::{RequestKind, Requester};
use engine::{Command, Kill, MassCancel};
use transport::serve::Outbound;

/// Changes only the engine's time: it releases the kill switch of the exchange's own account, which
/// is never on.
const TIME_PASSES: Command =
    Command::Kill(Kill { account: Some(EXCHANGE_ACCOUNT), tag: 0, on: false, cancel: false });

/// The exchange itself as a requester; it gets no reply.
pub(crate) const OWN: Requester<'static> = Requester {
    from: None,
    client_id: None,
    account: EXCHANGE_ACCOUNT,
    kind: RequestKind::Setting,
};

/// The accounts' limits and register, and the cancels that the exchange owes them.
pub(crate) struct Accounts {
    risk: Risk,
    register: Register,
    /// Accounts whose orders must still be cancelled for a closed connection, because the journal
    /// did not take the cancel.
    cancels_owed: Vec<u32>,
    pub disconnects: Disconnects,
}

impl Accounts {
    pub fn new(risk: Risk, register: Register) -> Accounts {
        let (cancels_owed, disconnects) = (Vec::new(), Disconnects::default());
        Accounts { risk, register, cancels_owed, disconnects }
    }

    /// The number of an account. Enters a new account in the register and sends its settings to the
    /// engine: all or none, so that its starting position is neither lost nor applied twice if the
    /// exchange is killed.
    #[cold]
    pub fn number(
        &mut self,
        core: &mut Execution,
        account_id: &str,
        time_ns: u64,
        outbound: &mut Outbound,
    ) -> Result<u32, AuthenticateError> {
        let found = core.sessions.number(account_id);
        let account = found.unwrap_or_else(|| core.sessions.next_number());
        let known = match found {
            None => {
                core.sessions.check_new(account_id)?;
                // It has no orders to cancel.
                core.sequencer.check_reserve().map_err(|_| AuthenticateError::NotLogged)?;
                KnownAccount::default()
            }
            Some(account) => {
                self.pay_cancel(core, account, time_ns, outbound)?;
                match &core.sessions.get_mut(account).untold {
                    None => return Ok(account),
                    Some(known) => known.clone(),
                }
            }
        };
        let commands = self.risk.commands(account_id, account, &known);
        let (next, inputs) = (core.sequencer.next_sequence(), commands.len() as u64);
        core.sequencer.check_room(inputs).map_err(|_| AuthenticateError::NotLogged)?;
        if !known.all {
            let added = self.register.add(account_id, next, inputs);
            added.map_err(|_| AuthenticateError::NotLogged)?;
        }
        if found.is_none() {
            core.sessions.add(account_id, known);
        }
        for command in commands {
            if !core.execute(&OWN, command, time_ns, outbound) {
                return Err(AuthenticateError::NotLogged);
            }
        }
        core.sessions.get_mut(account).untold = None;
        Ok(account)
    }

    /// Cancels the orders of accounts whose last connection with `cancel_on_disconnect` has closed.
    /// If the journal does not take a cancel now, it stays owed.
    #[cold]
    pub fn cancel_all(
        &mut self,
        core: &mut Execution,
        accounts: Vec<u32>,
        time_ns: u64,
        outbound: &mut Outbound,
    ) {
        for account in accounts {
            deliveries::sequence_all(core, Some(account), time_ns, outbound);
            self.disconnects.withdraw(account);
            let (criterion, instrument, side, tag) = (Some(account), None, None, 0);
            let command = MassCancel { account: criterion, instrument, side, tag };
            if check_worth(core, &command).is_err() {
                continue;
            }
            match core.execute(&OWN, Command::MassCancel(command), time_ns, outbound) {
                true => core.counts.cancels_on_disconnect += 1,
                false => self.cancels_owed.push(account),
            }
        }
    }

    pub fn owes_cancels(&self) -> bool {
        !self.cancels_owed.is_empty()
    }

    /// Retries owed cancels if the journal has room; without room each try would count a rejection.
    #[cold]
    pub fn pay_cancels(&mut self, core: &mut Execution, time_ns: u64, outbound: &mut Outbound) {
        if core.sequencer.check_room(1).is_err() {
            return;
        }
        let owed = std::mem::take(&mut self.cancels_owed);
        self.cancel_all(core, owed, time_ns, outbound);
    }

    /// Cancels the orders of accounts that did not come back after the start, and logs which
    /// accounts ask for `cancel_on_disconnect` no more.
    pub fn sweep(
        &mut self,
        core: &mut Execution,
        now_ns: u64,
        wall_ns: fn() -> u64,
        outbound: &mut Outbound,
    ) {
        let overdue = self.disconnects.overdue(now_ns);
        if !overdue.is_empty() {
            self.cancel_all(core, overdue, wall_ns(), outbound);
        }
        self.disconnects.settle(core, &self.cancels_owed);
    }

    /// Executes an owed cancel before the account authenticates again; later it would cancel the
    /// account's new orders too.
    fn pay_cancel(
        &mut self,
        core: &mut Execution,
        account: u32,
        time_ns: u64,
        outbound: &mut Outbound,
    ) -> Result<(), AuthenticateError> {
        if self.cancels_owed.contains(&account) {
            self.pay_cancels(core, time_ns, outbound);
        }
        match self.cancels_owed.contains(&account) {
            true => Err(AuthenticateError::NotLogged),
            false => Ok(()),
        }
    }
}

/// A mass cancel that would cancel no order must not use up the journal's reserve.
pub(crate) fn check_worth(
    core: &Execution,
    command: &MassCancel,
) -> Result<(), Rejection<'static>> {
    match core.sequencer.check_reserve() {
        Err(error) if !core.sequencer.engine().has_any(command) => Err(by_journal(error)),
        _ => Ok(()),
    }
}

/// Passes the time to the engine while no client sends anything, so that orders expire. If only the
/// journal's reserve is left, the next cancel passes it.
pub(crate) fn pass_time(core: &mut Execution, time_ns: u64, outbound: &mut Outbound) {
    if core.sequencer.check_reserve().is_err() {
        return;
    }
    core.execute(&OWN, TIME_PASSES, time_ns, outbound);
}

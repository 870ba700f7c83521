//! Actions of an operator, and mass cancels. The sequencer orders them like all other inputs.

use crate::account::sessions::{AuthenticateError, EXCHANGE_ACCOUNT, Sessions};
use crate::entry::accounts::{OWN, check_worth};
use crate::entry::state::OrderEntry;
use crate::entry::{commands, deliveries};
use crate::execution::Execution;
use crate::reply::rejections::{
    NO_OPERATOR, NOT_LOGGED, OTHER_ACCOUNT, RejectedRequest, Rejection, UNKNOWN_ACCOUNT,
};
use crate::reply::reports::{RequestKind, Requester};
use crate::reply::text::wire_time;
use engine::{Command, InstrumentState, Kill};
use transport::StreamId;
use transport::serve::Outbound;
use wire::request::{self, KillSwitch, SetInstrumentState};

/// Handles an operator's `INSTRUMENT_STATE`.
#[cold]
pub(crate) fn instrument_state(
    core: &mut Execution,
    from: StreamId,
    set: &SetInstrumentState<'_>,
    time_ns: u64,
    outbound: &mut Outbound,
) {
    let command = check_operator(&core.sessions, from).and_then(|()| {
        let number = core.instruments.number(&set.instrument_code)?;
        let state = match set.state {
            request::InstrumentState::Open => InstrumentState::Open,
            request::InstrumentState::Halted => InstrumentState::Halted,
            request::InstrumentState::Closed => InstrumentState::Closed,
        };
        Ok(Command::Instrument(core.instruments.get(number).settings(number, state)))
    });
    let client_id = set.client_id.as_ref();
    match command {
        Ok(command) => {
            core.counts.operations += 1;
            let requester = Requester { from: Some(from), client_id, ..OWN };
            core.execute(&requester, command, time_ns, outbound);
        }
        Err(rejection) => {
            let time_ms = wire_time(time_ns);
            let request =
                RejectedRequest { from, account_id: None, client_id, time_ms, stamping: None };
            core.rejections.reject((&core.sessions, &mut core.sbe), &request, &rejection, outbound);
        }
    }
}

/// Handles an operator's `KILL_SWITCH`, which cancels open orders when it is set.
#[cold]
pub(crate) fn kill_switch(
    entry: &mut OrderEntry,
    from: StreamId,
    kill: &KillSwitch<'_>,
    time_ns: u64,
    outbound: &mut Outbound,
) {
    let OrderEntry { core, accounts, .. } = entry;
    let client_id = kill.client_id.as_ref();
    let account = check_operator(&core.sessions, from).and_then(|()| {
        let Some(id) = kill.account_id.as_deref() else { return Ok(None) };
        // An operator may throw it before the account authenticates for the first time.
        match accounts.number(core, id, time_ns, outbound) {
            Ok(account) => Ok(Some(account)),
            Err(AuthenticateError::NotLogged) => Err(NOT_LOGGED),
            Err(_) => Err(UNKNOWN_ACCOUNT),
        }
    });
    match account {
        Ok(account) => {
            core.counts.operations += 1;
            let requester = Requester { from: Some(from), client_id, ..OWN };
            let command = Command::Kill(Kill { account, tag: 0, on: kill.on, cancel: kill.on });
            core.execute(&requester, command, time_ns, outbound);
        }
        Err(rejection) => {
            let request = core.rejected_request(from, None, client_id, time_ns);
            core.rejections.reject((&core.sessions, &mut core.sbe), &request, &rejection, outbound);
        }
    }
}

/// Cancels the orders of the trader's account, or for an operator of one or all accounts.
#[cold]
pub(crate) fn mass_cancel(
    core: &mut Execution,
    from: StreamId,
    cancel: &request::MassCancel<'_>,
    time_ns: u64,
    outbound: &mut Outbound,
) {
    let account_id = cancel.account_id.as_deref();
    let is_operator = core.sessions.operator(from).is_some();
    let account = match (is_operator, account_id) {
        (false, _) => core.sessions.account(from, account_id).map(Some).ok_or(OTHER_ACCOUNT),
        (true, None) => Ok(None),
        (true, Some(id)) => core.sessions.number(id).map(Some).ok_or(UNKNOWN_ACCOUNT),
    };
    if let Ok(account) = &account {
        deliveries::sequence_all(core, *account, time_ns, outbound);
    }
    let command = account
        .and_then(|account| commands::mass_cancel(&core.instruments, account, cancel))
        .and_then(|command| check_worth(core, &command).map(|()| command));
    let client_id = cancel.client_id.as_ref();
    match command {
        Ok(command) => {
            core.counts.mass_cancels += 1;
            // An operator acts for no account.
            let account = command.account.filter(|_| !is_operator).unwrap_or(EXCHANGE_ACCOUNT);
            let kind = RequestKind::MassCancel;
            let requester = Requester { from: Some(from), client_id, account, kind };
            core.execute(&requester, Command::MassCancel(command), time_ns, outbound);
        }
        Err(rejection) => {
            let request = core.rejected_request(from, account_id, client_id, time_ns);
            core.rejections.reject((&core.sessions, &mut core.sbe), &request, &rejection, outbound);
        }
    }
}

fn check_operator(sessions: &Sessions, from: StreamId) -> Result<(), Rejection<'static>> {
    sessions.operator(from).map(|_| ()).ok_or(NO_OPERATOR)
}

//! Authentication of a connection.

use crate::account::sessions::{Admission, AuthenticateError};
use crate::entry::state::OrderEntry;
use crate::reply::text::send;
use transport::StreamId;
use transport::serve::Outbound;
use wire::reply;

/// Options of an `AUTHENTICATE`.
#[derive(Clone, Copy)]
pub(crate) struct LoginOptions {
    pub cancel_on_disconnect: Option<bool>,
    pub stamps: Option<bool>,
    /// The client is away: see [`wire::request::Request::Authenticate`].
    pub is_absent: bool,
}

/// How the exchange closes a connection.
pub(crate) enum CloseReason {
    /// At once, with the close frame's code and reason.
    Now(u16, &'static str),
    /// After the delayed answer to a failed login.
    FailedLogin,
}

/// Handles `AUTHENTICATE`.
///
/// # Errors
/// The exchange closes the connection.
pub(crate) fn authenticate(
    entry: &mut OrderEntry,
    from: StreamId,
    api_token: &str,
    options: LoginOptions,
    time_ns: u64,
    outbound: &mut Outbound,
) -> Result<(), CloseReason> {
    let LoginOptions { stamps, .. } = options;
    if stamps == Some(true) && entry.core.observed.clock.is_none() {
        let reason = "this exchange has no clock to stamp replies with";
        entry.core.rejections.error(outbound.to(from), &reason);
        return strike(entry, from);
    }
    match admit(entry, from, api_token, options, time_ns, outbound) {
        Ok(()) => {
            let core = &mut entry.core;
            if let Some(stamps) = stamps {
                core.observed.is_on |= stamps;
                core.sessions.set_stamps(from, stamps);
            }
            core.counts.authenticated += 1;
            outbound.admit(from);
            send(outbound.to(from), reply::encode_authenticated);
            Ok(())
        }
        Err(AuthenticateError::UnknownToken) => {
            entry.failed_login(from);
            Err(CloseReason::FailedLogin)
        }
        Err(error) => {
            if let Some(limit) = error.limit() {
                entry.core.rejections.limits.add(limit);
            }
            entry.core.rejections.error(outbound.to(from), &error);
            match entry.core.sessions.is_authenticated(from) {
                true => Ok(()),
                false => strike(entry, from),
            }
        }
    }
}

/// Counts a message before authentication.
///
/// # Errors
/// It was the last that the exchange allows.
pub(crate) fn strike(entry: &mut OrderEntry, from: StreamId) -> Result<(), CloseReason> {
    if entry.core.sessions.strike(from) < entry.limits.unauthenticated_messages_max {
        return Ok(());
    }
    entry.core.rejections.limits.add("unauthenticated_messages_max");
    Err(CloseReason::Now(1008, "not authenticated (limit unauthenticated_messages_max)"))
}

fn admit(
    entry: &mut OrderEntry,
    from: StreamId,
    api_token: &str,
    options: LoginOptions,
    time_ns: u64,
    outbound: &mut Outbound,
) -> Result<(), AuthenticateError> {
    let LoginOptions { cancel_on_disconnect, is_absent, .. } = options;
    let OrderEntry { core, accounts, .. } = entry;
    match core.sessions.admission(from, api_token)? {
        Admission::Operator(name) => core.sessions.admit_operator(from, name),
        Admission::Account(account_id) => {
            let account = accounts.number(core, &account_id, time_ns, outbound)?;
            accounts.disconnects.log(core, account, cancel_on_disconnect, outbound)?;
            core.sessions.admit(from, account, cancel_on_disconnect);
            core.sessions.set_detached(from, is_absent);
            if !is_absent {
                accounts.disconnects.admitted(core, account);
            }
        }
    }
    Ok(())
}

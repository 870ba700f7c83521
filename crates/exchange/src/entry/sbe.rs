//! Order entry in SBE: the logon, and requests straight from the frame to the functions that JSON's
//! requests reach too.

use crate::account::sessions::{Admission, AuthenticateError};
use crate::entry::state::OrderEntry;
use crate::entry::{operator, orders, status};
use crate::execution::Execution;
use crate::sbe::MissedReports;
use std::num::NonZeroU64;
use transport::StreamId;
use transport::serve::Outbound;
use wire::request::Request;
use wire::sbe::MessageError;
use wire::sbe::client::{
    ClientMessage, ClientMessageError, Logon, decode_client, encode_terminate,
};
use wire::sbe::exchange::{
    InstrumentDefinition, LogonAccepted, encode_instrument, encode_logon_accepted,
};

/// How the exchange ends a connection that speaks SBE.
pub(crate) enum SbeEnd {
    /// With a `Terminate`.
    Terminate(String),
    /// With a `Terminate` after the delay of a failed login.
    FailedLogin,
    /// The client has ended it.
    Client,
}

/// A connection that speaks SBE, and its session after the logon.
#[derive(Clone, Copy)]
pub(crate) struct SbeConnection {
    pub connection: StreamId,
    pub session: Option<StreamId>,
}

/// Handles a message, as [`wire::sbe::split`] returns it. Returns the connection's session.
///
/// # Errors
/// The exchange ends the connection.
#[inline]
pub(crate) fn message(
    entry: &mut OrderEntry,
    from: SbeConnection,
    (message, codes): (&[u8], &[String]),
    time_ns: u64,
    outbound: &mut Outbound,
) -> Result<Option<StreamId>, SbeEnd> {
    let core = &mut entry.core;
    core.counts.messages += 1;
    let decoded = decode_client(message, codes);
    let Some(session) = from.session else {
        return match decoded {
            Ok(ClientMessage::Logon(logon)) => {
                log_on(entry, from.connection, &logon, time_ns, outbound).map(Some)
            }
            Ok(ClientMessage::Terminate { .. }) => Err(SbeEnd::Client),
            Ok(_) => Err(terminate("the first message must be a Logon")),
            Err(error) => Err(terminate(&error.why.to_string())),
        };
    };
    match decoded {
        Ok(ClientMessage::Request { sequence, request }) => {
            receive(core, session, sequence)?;
            execute(core, session, &request, time_ns, outbound);
        }
        Ok(ClientMessage::StatusRequest { sequence, client_id }) => {
            receive(core, session, sequence)?;
            status::sbe(core, session, client_id, time_ns, outbound);
        }
        Ok(ClientMessage::Heartbeat) => {}
        Ok(ClientMessage::Terminate { .. }) => return Err(SbeEnd::Client),
        Ok(ClientMessage::Logon(_)) => {
            return Err(terminate(
                "already logged on: open another connection for another session",
            ));
        }
        Err(error) => unreadable(core, session, &error, time_ns, outbound)?,
    }
    Ok(Some(session))
}

#[cold]
fn terminate(reason: &str) -> SbeEnd {
    SbeEnd::Terminate(reason.to_owned())
}

#[inline]
fn receive(core: &mut Execution, session: StreamId, sequence: u64) -> Result<(), SbeEnd> {
    core.sbe.receive(session, sequence).map_err(|next| {
        SbeEnd::Terminate(format!(
            "a request has the sequence number {sequence}: the next is {next}"
        ))
    })
}

#[inline]
fn execute(
    core: &mut Execution,
    session: StreamId,
    request: &Request<'_>,
    time_ns: u64,
    outbound: &mut Outbound,
) {
    match request {
        Request::CreateOrder(create) => orders::create(core, session, create, time_ns, outbound),
        Request::CancelOrder(cancel) => orders::cancel(core, session, cancel, time_ns, outbound),
        Request::AmendOrder(amend) => orders::amend(core, session, amend, time_ns, outbound),
        Request::MassCancel(cancel) => {
            operator::mass_cancel(core, session, cancel, time_ns, outbound);
        }
        other => debug_assert!(false, "SBE has no {other:?}"),
    }
}

/// Rejects a message with a field that is invalid. If no request can be made out, or the stream is
/// unusable, the connection ends.
#[cold]
fn unreadable(
    core: &mut Execution,
    session: StreamId,
    error: &ClientMessageError,
    time_ns: u64,
    outbound: &mut Outbound,
) -> Result<(), SbeEnd> {
    let (MessageError::Field(_), Some(sequence)) = (error.why, error.sequence) else {
        return Err(terminate(&error.why.to_string()));
    };
    receive(core, session, NonZeroU64::get(sequence))?;
    let request = core.rejected_request(session, None, error.client_id.as_ref(), time_ns);
    let to = (&core.sessions, &mut core.sbe);
    core.rejections.reject_unreadable(to, &request, &error.why, outbound);
    Ok(())
}

/// Handles a `Logon`: continues the session that it names, or begins one.
#[cold]
fn log_on(
    entry: &mut OrderEntry,
    connection: StreamId,
    logon: &Logon<'_>,
    time_ns: u64,
    outbound: &mut Outbound,
) -> Result<StreamId, SbeEnd> {
    let account = match entry.core.sessions.admission(connection, logon.token) {
        Ok(Admission::Account(account_id)) => {
            let (OrderEntry { core, accounts, .. }, asks) =
                (&mut *entry, logon.cancel_on_disconnect);
            let account = accounts.number(core, &account_id, time_ns, outbound);
            account.and_then(|account| {
                accounts.disconnects.log(core, account, Some(asks), outbound).map(|()| account)
            })
        }
        Ok(Admission::Operator(_)) => {
            return Err(terminate("this is an operator's token: operators speak JSON"));
        }
        Err(error) => Err(error),
    };
    let account = account.map_err(|error| not_admitted(entry, connection, error))?;
    let core = &mut entry.core;
    let (session, last) = match core.sbe.find(logon.session, account) {
        Some(session) => {
            let last = logon.last_sequence;
            if last >= core.sbe.next_sequence(session) {
                let reason = "last_sequence is a number that this session has not reached";
                return Err(terminate(reason));
            }
            take_over(core, session, outbound);
            (session, last)
        }
        None => (begin(core, connection, account, time_ns)?, 0),
    };
    core.sessions.admit(session, account, Some(logon.cancel_on_disconnect));
    entry.accounts.disconnects.admitted(core, account);
    core.sessions.attached(session);
    core.counts.authenticated += 1;
    outbound.admit(connection);
    let missed = core.sbe.attach(session, connection, last);
    welcome(core, session, missed, outbound.to(connection));
    Ok(session)
}

#[cold]
fn not_admitted(entry: &mut OrderEntry, connection: StreamId, error: AuthenticateError) -> SbeEnd {
    if error == AuthenticateError::UnknownToken {
        entry.failed_login(connection);
        return SbeEnd::FailedLogin;
    }
    if let Some(limit) = error.limit() {
        entry.core.rejections.limits.add(limit);
    }
    terminate(&error.to_string())
}

/// Ends the older connection of a session, whose orders stay open.
fn take_over(core: &mut Execution, session: StreamId, outbound: &mut Outbound) {
    if let Some(older) = core.sbe.connection(session) {
        let reason = "a newer connection continues this session";
        encode_terminate(outbound.to(older), reason);
        outbound.close(older);
        core.sbe.detach(session, older);
    }
}

fn begin(
    core: &mut Execution,
    connection: StreamId,
    account: u32,
    time_ns: u64,
) -> Result<StreamId, SbeEnd> {
    let session = core.sbe.place(account).map_err(|limit| {
        core.rejections.limits.add(limit);
        SbeEnd::Terminate(format!("too many sessions are connected (limit {limit}); close some"))
    })?;
    // The session of before, which has no connection; its orders stay open.
    core.sessions.ended(session);
    core.sessions.opened(session, core.sessions.peer(connection));
    core.sessions.subscribe(session);
    core.sbe.begin(session, account, time_ns);
    Ok(session)
}

/// Writes the answer to a logon, the instruments, and the reports that the client has missed.
fn welcome(core: &Execution, session: StreamId, missed: MissedReports, out: &mut Vec<u8>) {
    let instruments = core.instruments.all();
    let accepted = LogonAccepted {
        session: core.sbe.number(session),
        received_sequence: core.sbe.received(session),
        next_sequence: missed.next,
        lost: missed.lost,
        heartbeat_ms: core.sbe.silence_ms_max(),
        instruments: core.instruments.count(),
    };
    encode_logon_accepted(out, &accepted);
    for (number, instrument) in (0..).zip(instruments) {
        let (tick, lot, code) = (instrument.tick, instrument.lot, instrument.code.as_str());
        encode_instrument(out, &InstrumentDefinition { number, tick, lot, code });
    }
    core.sbe.resend(session, out);
}

/// Takes the connection from its session, and cancels the account's orders if it asked for that.
#[cold]
pub(crate) fn disconnected(
    entry: &mut OrderEntry,
    from: SbeConnection,
    wall_ns: fn() -> u64,
    outbound: &mut Outbound,
) {
    let Some(session) = from.session else { return };
    let OrderEntry { core, accounts, .. } = entry;
    if !core.sbe.detach(session, from.connection) {
        return;
    }
    let cancelled = core.sessions.detached(session);
    if !cancelled.is_empty() {
        accounts.cancel_all(core, cancelled, wall_ns(), outbound);
    }
}

//! Decodes a client's text message and passes it to the function for its request.

use crate::entry::login::{self, CloseReason, LoginOptions};
use crate::entry::state::OrderEntry;
use crate::entry::{administration, operator, orders, status, subscriptions};
use crate::reply::rejections::limit_of;
use transport::StreamId;
use transport::serve::Outbound;
use wire::MessageFault;
use wire::request::{self, Request, RequestError};

const NOT_AUTHENTICATED: &str = "not authenticated: send AUTHENTICATE with your api_token first";

/// Handles a text message of an open connection.
///
/// # Errors
/// The exchange closes the connection.
#[inline]
pub(crate) fn message(
    entry: &mut OrderEntry,
    from: StreamId,
    text: &[u8],
    time_ns: u64,
    outbound: &mut Outbound,
) -> Result<(), CloseReason> {
    let core = &mut entry.core;
    core.counts.messages += 1;
    match request::decode_request(text) {
        Ok(Request::Authenticate { api_token, cancel_on_disconnect, stamps, is_absent }) => {
            let options = LoginOptions { cancel_on_disconnect, stamps, is_absent };
            return login::authenticate(entry, from, &api_token, options, time_ns, outbound);
        }
        Ok(_) if !core.sessions.is_authenticated(from) => {
            core.rejections.error(outbound.to(from), &NOT_AUTHENTICATED);
            return login::strike(entry, from);
        }
        Ok(Request::CreateOrder(create)) => orders::create(core, from, &create, time_ns, outbound),
        Ok(Request::CancelOrder(cancel)) => orders::cancel(core, from, &cancel, time_ns, outbound),
        Ok(Request::OrderStatus(asked)) => status::json(core, from, &asked, time_ns, outbound),
        Ok(Request::AmendOrder(amend)) => orders::amend(core, from, &amend, time_ns, outbound),
        Ok(Request::MassCancel(cancel)) => {
            operator::mass_cancel(core, from, &cancel, time_ns, outbound);
        }
        Ok(Request::Subscribe { channels }) => {
            subscriptions::subscribe(entry, from, &channels, time_ns, outbound);
        }
        Ok(Request::InstrumentState(set)) => {
            operator::instrument_state(core, from, &set, time_ns, outbound);
        }
        Ok(Request::KillSwitch(kill)) => {
            operator::kill_switch(entry, from, &kill, time_ns, outbound);
        }
        Ok(Request::FeedReplay { from: first, count }) => {
            subscriptions::feed_replay(core, from, first, count, outbound.to(from));
        }
        Ok(Request::FeedSnapshot) => subscriptions::feed_snapshot(core, from, outbound.to(from)),
        Ok(Request::StartFlow) => administration::start_flow(entry, from, outbound.to(from)),
        Ok(Request::Describe) => administration::describe(entry, from, outbound.to(from)),
        Err(error) => return unreadable(entry, from, &error, time_ns, outbound),
    }
    Ok(())
}

#[cold]
fn unreadable(
    entry: &mut OrderEntry,
    from: StreamId,
    error: &RequestError,
    time_ns: u64,
    outbound: &mut Outbound,
) -> Result<(), CloseReason> {
    let core = &mut entry.core;
    if let Some(limit) = limit_of(&error.fault) {
        core.rejections.limits.add(limit);
    }
    let is_authenticated = core.sessions.is_authenticated(from);
    match error.client_id {
        Some(client_id) if is_authenticated => {
            let request = core.rejected_request(from, None, Some(&client_id), time_ns);
            core.rejections.reject_unreadable(
                (&core.sessions, &mut core.sbe),
                &request,
                error,
                outbound,
            );
        }
        _ => core.rejections.error(outbound.to(from), error),
    }
    if matches!(error.fault, MessageFault::NotUtf8 { .. }) {
        return Err(CloseReason::Now(1007, "text is UTF-8"));
    }
    if is_authenticated { Ok(()) } else { login::strike(entry, from) }
}

//! Turns a client's text into a command for the engine, or into a rejection.

use crate::FailedLogin;
use crate::account::sessions::{Admission, AuthenticateError};
use crate::entry::OrderEntry;
use crate::entry::commands;
use crate::entry::execution::execute;
use crate::entry::orders::ClientOrder;
use crate::entry::rejections::{Rejection, limit_of, not_inserted};
use crate::entry::reports::{RequestKind, Requester};
use crate::entry::text::send;
use engine::{Command, NewOrder};
use std::fmt::Write;
use transport::StreamId;
use transport::serve::Outbound;
use wire::MessageFault;
use wire::reply;
use wire::request::{self, AmendOrder, CancelOrder, CreateOrder, Request, RequestError};

const NOT_AUTHENTICATED: &str = "not authenticated: send AUTHENTICATE with your api_token first";

/// Options of an `AUTHENTICATE`.
#[derive(Clone, Copy)]
struct LoginOptions {
    cancel_on_disconnect: Option<bool>,
    stamps: Option<bool>,
}

/// How the exchange closes a connection.
pub(crate) enum Close {
    /// At once, with the close frame's code and reason.
    Now(u16, &'static str),
    /// After the delayed answer to a failed login.
    FailedLogin,
}

/// The answer to a failed login.
pub(crate) const FAILED_LOGIN: &str = "unknown api_token";

impl OrderEntry {
    /// Handles a text message of an open connection.
    #[inline]
    pub fn text(
        &mut self,
        from: StreamId,
        text: &[u8],
        time_ns: u64,
        outbound: &mut Outbound,
    ) -> Result<(), Close> {
        self.counts.messages += 1;
        match request::decode_request(text) {
            Ok(Request::Authenticate { api_token, cancel_on_disconnect, stamps }) => {
                let options = LoginOptions { cancel_on_disconnect, stamps };
                return self.authenticate(from, &api_token, options, time_ns, outbound);
            }
            Ok(_) if !self.sessions.is_authenticated(from) => {
                self.error(outbound.to(from), &NOT_AUTHENTICATED);
                return self.strike(from);
            }
            Ok(Request::CreateOrder(create)) => self.create_order(from, &create, time_ns, outbound),
            Ok(Request::CancelOrder(cancel)) => self.cancel_order(from, &cancel, time_ns, outbound),
            Ok(Request::AmendOrder(amend)) => self.amend_order(from, &amend, time_ns, outbound),
            Ok(Request::MassCancel(cancel)) => self.mass_cancel(from, &cancel, time_ns, outbound),
            Ok(Request::Subscribe { channels }) => {
                self.subscribe(from, &channels, time_ns, outbound);
            }
            Ok(Request::InstrumentState(set)) => {
                self.instrument_state(from, &set, time_ns, outbound);
            }
            Ok(Request::KillSwitch(kill)) => self.kill_switch(from, &kill, time_ns, outbound),
            Ok(Request::FeedReplay { from: first, count }) => {
                self.feed_replay(from, first, count, outbound.to(from));
            }
            Ok(Request::FeedSnapshot) => self.feed_snapshot(from, outbound.to(from)),
            Ok(Request::StartFlow) => self.flow(from, outbound),
            Ok(Request::Describe) => self.describe(from, outbound.to(from)),
            Err(error) => return self.unreadable(from, &error, time_ns, outbound),
        }
        Ok(())
    }

    fn strike(&mut self, from: StreamId) -> Result<(), Close> {
        let strikes = &mut self.strikes[from.index()];
        *strikes += 1;
        if *strikes < self.limits.unauthenticated_messages_max {
            return Ok(());
        }
        self.rejections.limits.add("unauthenticated_messages_max");
        Err(Close::Now(1008, "not authenticated (limit unauthenticated_messages_max)"))
    }

    #[cold]
    fn unreadable(
        &mut self,
        from: StreamId,
        error: &RequestError,
        time_ns: u64,
        outbound: &mut Outbound,
    ) -> Result<(), Close> {
        if let Some(limit) = limit_of(&error.fault) {
            self.rejections.limits.add(limit);
        }
        let is_authenticated = self.sessions.is_authenticated(from);
        match error.client_id {
            Some(client_id) if is_authenticated => {
                self.reason.clear();
                let _ = write!(self.reason, "{error}");
                let rejection = Rejection::new("unreadable", &self.reason);
                let request = self.rejected_request(from, None, Some(&client_id), time_ns);
                self.rejections.reject(&self.sessions, &request, &rejection, outbound);
            }
            _ => self.error(outbound.to(from), error),
        }
        if matches!(error.fault, MessageFault::NotUtf8 { .. }) {
            return Err(Close::Now(1007, "text is UTF-8"));
        }
        if is_authenticated { Ok(()) } else { self.strike(from) }
    }

    fn authenticate(
        &mut self,
        from: StreamId,
        api_token: &str,
        LoginOptions { cancel_on_disconnect, stamps }: LoginOptions,
        time_ns: u64,
        outbound: &mut Outbound,
    ) -> Result<(), Close> {
        if stamps == Some(true) && self.observed.clock.is_none() {
            self.error(outbound.to(from), &"this exchange has no clock to stamp replies with");
            return self.strike(from);
        }
        match self.admit(from, api_token, cancel_on_disconnect, time_ns, outbound) {
            Ok(()) => {
                if let Some(stamps) = stamps {
                    self.observed.is_on |= stamps;
                    self.sessions.set_stamps(from, stamps);
                }
                self.counts.authenticated += 1;
                outbound.admit(from);
                send(outbound.to(from), reply::encode_authenticated);
                Ok(())
            }
            Err(error) => {
                if error == AuthenticateError::UnknownToken {
                    self.failed_login(from);
                    return Err(Close::FailedLogin);
                }
                if let Some(limit) = error.limit() {
                    self.rejections.limits.add(limit);
                }
                self.error(outbound.to(from), &error);
                match error {
                    _ if self.sessions.is_authenticated(from) => Ok(()),
                    _ => self.strike(from),
                }
            }
        }
    }

    /// Counts a failed login and passes it to the operator's log.
    #[cold]
    fn failed_login(&mut self, from: StreamId) {
        self.counts.logins_failed += 1;
        if let Some(log) = &self.failed_logins {
            let (peer, count) = (self.sessions.peer(from), self.counts.logins_failed);
            // Never blocks: the log may miss some, but each entry has the number so far.
            let _ = log.try_send(FailedLogin { peer, count });
        }
    }

    fn admit(
        &mut self,
        from: StreamId,
        api_token: &str,
        cancel_on_disconnect: Option<bool>,
        time_ns: u64,
        outbound: &mut Outbound,
    ) -> Result<(), AuthenticateError> {
        match self.sessions.admission(from, api_token)? {
            Admission::Operator(name) => self.sessions.admit_operator(from, name),
            Admission::Account(account_id) => {
                let account = self.account(&account_id, time_ns, outbound)?;
                self.sessions.admit(from, account, cancel_on_disconnect);
            }
        }
        Ok(())
    }

    #[inline]
    fn create_order(
        &mut self,
        from: StreamId,
        create: &CreateOrder<'_>,
        time_ns: u64,
        outbound: &mut Outbound,
    ) {
        self.counts.orders += 1;
        let client_id = Some(&create.client_id);
        let checked = commands::new_order(&self.sessions, &self.instruments, from, create);
        let accepted = checked.and_then(|new| {
            let order_id = self.sequencer.next_order_id();
            let order = ClientOrder {
                client_id: create.client_id,
                order_id,
                quantity_lots: new.quantity_lots,
                account: new.account,
                instrument: new.instrument,
                expires: new.expires_ns != 0,
                sender: self.sessions.sender(from),
            };
            let tag = self.orders.insert(order).map_err(not_inserted)?;
            Ok(NewOrder { order_id, tag, ..new })
        });
        match accepted {
            Ok(new) => {
                let kind = RequestKind::Order { tag: new.tag, stop: new.stop_ticks != 0 };
                let requester =
                    Requester { from: Some(from), client_id, account: new.account, kind };
                execute(self, &requester, Command::New(new), time_ns, outbound);
            }
            Err(rejection) => {
                let account_id = create.account_id.as_deref();
                let request = self.rejected_request(from, account_id, client_id, time_ns);
                self.rejections.reject(&self.sessions, &request, &rejection, outbound);
            }
        }
    }

    #[inline]
    fn cancel_order(
        &mut self,
        from: StreamId,
        cancel: &CancelOrder<'_>,
        time_ns: u64,
        outbound: &mut Outbound,
    ) {
        self.counts.cancels += 1;
        let client_id = Some(&cancel.client_id);
        match commands::cancel(&self.sessions, &self.instruments, &self.orders, from, cancel) {
            Ok(command) => {
                let (account, kind) = (command.account, RequestKind::Cancel);
                let requester = Requester { from: Some(from), client_id, account, kind };
                execute(self, &requester, Command::Cancel(command), time_ns, outbound);
            }
            Err(rejection) => {
                let account_id = cancel.account_id.as_deref();
                let request = self.rejected_request(from, account_id, client_id, time_ns);
                self.rejections.reject(&self.sessions, &request, &rejection, outbound);
            }
        }
    }

    fn amend_order(
        &mut self,
        from: StreamId,
        amend: &AmendOrder<'_>,
        time_ns: u64,
        outbound: &mut Outbound,
    ) {
        self.counts.amends += 1;
        let client_id = Some(&amend.client_id);
        match commands::amend(&self.sessions, &self.instruments, &self.orders, from, amend) {
            Ok((command, new_client_id)) => {
                let (account, kind) = (command.account, RequestKind::Amend { new_client_id });
                let requester = Requester { from: Some(from), client_id, account, kind };
                execute(self, &requester, Command::Amend(command), time_ns, outbound);
            }
            Err(rejection) => {
                let account_id = amend.account_id.as_deref();
                let request = self.rejected_request(from, account_id, client_id, time_ns);
                self.rejections.reject(&self.sessions, &request, &rejection, outbound);
            }
        }
    }
}

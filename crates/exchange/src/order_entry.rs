//! From a client's text to a command for the engine, or to a refusal.

use crate::counts::Counts;
use crate::instruments::Instruments;
use crate::limits::Limits;
use crate::orders::{ClientOrder, ClientOrders};
use crate::refusals::{
    About, OPEN_ORDERS_PER_ACCOUNT, OTHER_ACCOUNT, OTHER_INSTRUMENT, Refusals, Refused,
    UNKNOWN_ORDER, limit_of, not_inserted,
};
use crate::reports::{Reports, STATUSES, status};
use crate::sequencer::Sequencer;
use crate::sessions::{AuthenticateError, Sessions};
use crate::text::send;
use engine::{Cancel, Command, NewOrder, Side, TimeInForce};
use std::fmt::{Display, Write};
use transport::StreamId;
use transport::serve::Outbound;
use wire::MessageFault;
use wire::reply::{self, Subscription, Subscriptions};
use wire::request::{self, CancelOrder, CreateOrder, Request, RequestError};

/// The channel there is.
const CHANNEL: &str = "ORDERS";
const NOT_AUTHENTICATED: &str = "not authenticated: send AUTHENTICATE with your api_token first";

/// A connection is to be closed: the close frame's code and reason.
pub(crate) struct Close(pub u16, pub &'static str);

pub(crate) struct OrderEntry {
    pub instruments: Instruments,
    pub sessions: Sessions,
    pub orders: ClientOrders,
    pub sequencer: Sequencer,
    pub limits: Limits,
    pub counts: Counts,
    /// By `DoneReason as usize`.
    pub done: [u64; 3],
    pub refusals: Refusals,
    /// By connection: messages before authentication.
    strikes: Vec<u32>,
    /// Where a reason is put together, reused.
    reason: String,
}

impl OrderEntry {
    pub fn new(
        instruments: Instruments,
        sessions: Sessions,
        sequencer: Sequencer,
        limits: Limits,
    ) -> OrderEntry {
        OrderEntry {
            instruments,
            sessions,
            orders: ClientOrders::new(limits.open_orders_max, limits.accounts_max),
            sequencer,
            limits,
            counts: Counts::default(),
            done: [0; 3],
            refusals: Refusals::new(),
            strikes: Vec::with_capacity(limits.connections_max),
            reason: String::with_capacity(1024),
        }
    }

    pub fn opened(&mut self, id: StreamId) {
        self.counts.connections += 1;
        self.sessions.opened(id);
        if self.strikes.len() <= id.index() {
            self.strikes.resize(id.index() + 1, 0);
        }
        self.strikes[id.index()] = 0;
    }

    pub fn counts(&self) -> Counts {
        let mut counts = self.counts.clone();
        let done = STATUSES.iter().map(|reason| status(*reason).name()).zip(self.done);
        counts.done = done.filter(|(_, n)| *n > 0).collect();
        counts.rejected = self.refusals.rejected.by_name();
        counts.limits = self.refusals.limits.by_name();
        counts
    }

    /// A text message of an open connection.
    #[inline]
    pub fn text(
        &mut self,
        from: StreamId,
        text: &[u8],
        time_ms: i64,
        outbound: &mut Outbound,
    ) -> Result<(), Close> {
        self.counts.messages += 1;
        match request::decode_request(text) {
            Ok(Request::Authenticate { api_token }) => {
                self.authenticate(from, &api_token, outbound)
            }
            Ok(_) if !self.sessions.is_authenticated(from) => {
                self.error(outbound.to(from), &NOT_AUTHENTICATED);
                self.strike(from)
            }
            Ok(Request::CreateOrder(create)) => {
                self.create_order(from, &create, time_ms, outbound);
                Ok(())
            }
            Ok(Request::CancelOrder(cancel)) => {
                self.cancel_order(from, &cancel, time_ms, outbound);
                Ok(())
            }
            Ok(Request::Subscribe { channels }) => {
                self.subscribe(from, &channels, time_ms, outbound.to(from));
                Ok(())
            }
            Err(error) => self.unreadable(from, &error, time_ms, outbound),
        }
    }

    /// Sends an `ERROR`.
    pub fn error(&mut self, out: &mut Vec<u8>, reason: &dyn Display) {
        self.counts.errors += 1;
        self.reason.clear();
        // To write into a string can't fail.
        let _ = write!(self.reason, "{reason}");
        send(out, |out| reply::encode_error(out, &self.reason));
    }

    fn strike(&mut self, from: StreamId) -> Result<(), Close> {
        let strikes = &mut self.strikes[from.index()];
        *strikes += 1;
        if *strikes < self.limits.unauthenticated_messages_max {
            return Ok(());
        }
        self.refusals.limits.add("unauthenticated_messages_max");
        Err(Close(1008, "not authenticated (limit unauthenticated_messages_max)"))
    }

    #[cold]
    fn unreadable(
        &mut self,
        from: StreamId,
        error: &RequestError,
        time_ms: i64,
        outbound: &mut Outbound,
    ) -> Result<(), Close> {
        if let Some(limit) = limit_of(&error.fault) {
            self.refusals.limits.add(limit);
        }
        let out = outbound.to(from);
        let account = self.sessions.account(from, None);
        match (account, error.client_id) {
            (Some(account), Some(client_id)) => {
                self.reason.clear();
                let _ = write!(self.reason, "{error}");
                let uid = self.sessions.account_id(account);
                let refused = Refused { name: "unreadable", reason: &self.reason, limit: false };
                self.refusals.reject(out, &refused, client_id, time_ms, uid);
            }
            _ => self.error(out, error),
        }
        if matches!(error.fault, MessageFault::NotUtf8 { .. }) {
            return Err(Close(1007, "text is UTF-8"));
        }
        if account.is_none() { self.strike(from) } else { Ok(()) }
    }

    fn authenticate(
        &mut self,
        from: StreamId,
        api_token: &str,
        outbound: &mut Outbound,
    ) -> Result<(), Close> {
        let out = outbound.to(from);
        match self.sessions.authenticate(from, api_token) {
            Ok(()) => {
                self.counts.authenticated += 1;
                send(out, reply::encode_authenticated);
                Ok(())
            }
            Err(error) => {
                if let Some(limit) = error.limit() {
                    self.refusals.limits.add(limit);
                }
                self.error(out, &error);
                match error {
                    AuthenticateError::UnknownToken => Err(Close(1008, "unknown api_token")),
                    _ if self.sessions.is_authenticated(from) => Ok(()),
                    _ => self.strike(from),
                }
            }
        }
    }

    fn subscribe(
        &mut self,
        from: StreamId,
        channels: &[std::borrow::Cow<'_, str>],
        time_ms: i64,
        out: &mut Vec<u8>,
    ) {
        if let Some(unknown) = channels.iter().find(|channel| *channel != CHANNEL) {
            self.error(out, &format_args!("unknown channel {unknown:?}; there is {CHANNEL}"));
            return;
        }
        if !channels.is_empty() {
            self.sessions.subscribe(from);
        }
        let subscribed = self.sessions.is_subscribed(from);
        let accounts = self.sessions.account_ids(from).filter(|_| subscribed);
        let channels = accounts
            .map(|account| Subscription { account_id: account.into(), name: CHANNEL.into() })
            .collect();
        let subscriptions = Subscriptions { channels, time_ms };
        send(out, |out| reply::encode_subscriptions(out, &subscriptions));
    }

    #[inline]
    fn create_order(
        &mut self,
        from: StreamId,
        create: &CreateOrder<'_>,
        time_ms: i64,
        outbound: &mut Outbound,
    ) {
        self.counts.orders += 1;
        let checked = check_create(&self.sessions, &self.instruments, from, create);
        let accepted = checked.and_then(|new| {
            let rests = new.time_in_force == TimeInForce::GoodTillCancelled;
            let most = self.limits.open_orders_per_account_max;
            if rests && self.orders.open_of_account(new.account) >= most {
                return Err(OPEN_ORDERS_PER_ACCOUNT);
            }
            let order_id = self.sequencer.next_order_id();
            let order = ClientOrder {
                client_id: create.client_id,
                order_id,
                quantity_lots: new.quantity_lots,
                account: new.account,
                instrument: new.instrument,
                sender: self.sessions.sender(from),
            };
            let tag = self.orders.insert(order).map_err(not_inserted)?;
            Ok(Command::New(NewOrder { order_id, tag, ..new }))
        });
        match accepted {
            Ok(command) => execute(self, from, &command, time_ms, outbound),
            Err(refused) => {
                let account_id = create.account_id.as_deref();
                let about = About { from, account_id, client_id: create.client_id, time_ms };
                self.refusals.refuse(&self.sessions, &about, &refused, outbound);
            }
        }
    }

    #[inline]
    fn cancel_order(
        &mut self,
        from: StreamId,
        cancel: &CancelOrder<'_>,
        time_ms: i64,
        outbound: &mut Outbound,
    ) {
        self.counts.cancels += 1;
        match check_cancel(&self.sessions, &self.instruments, &self.orders, from, cancel) {
            Ok(command) => execute(self, from, &command, time_ms, outbound),
            Err(refused) => {
                let account_id = cancel.account_id.as_deref();
                let about = About { from, account_id, client_id: cancel.client_id, time_ms };
                self.refusals.refuse(&self.sessions, &about, &refused, outbound);
            }
        }
    }
}

/// An order as the engine takes it, but for its id and its tag.
#[inline]
fn check_create<'a>(
    sessions: &Sessions,
    instruments: &'a Instruments,
    from: StreamId,
    create: &CreateOrder<'_>,
) -> Result<NewOrder, Refused<'a>> {
    let account = sessions.account(from, create.account_id.as_deref()).ok_or(OTHER_ACCOUNT)?;
    let number = instruments.number(&create.instrument_code)?;
    let instrument = instruments.get(number);
    Ok(NewOrder {
        order_id: 0,
        account,
        tag: 0,
        instrument: number,
        side: match create.side {
            request::Side::Buy => Side::Buy,
            request::Side::Sell => Side::Sell,
        },
        time_in_force: match create.time_in_force {
            request::TimeInForce::GoodTillCancelled => TimeInForce::GoodTillCancelled,
            request::TimeInForce::ImmediateOrCancelled => TimeInForce::ImmediateOrCancel,
        },
        price_ticks: instrument.price_ticks(create.price)?,
        quantity_lots: instrument.quantity_lots(create.amount)?,
    })
}

#[inline]
fn check_cancel<'a>(
    sessions: &Sessions,
    instruments: &'a Instruments,
    orders: &ClientOrders,
    from: StreamId,
    cancel: &CancelOrder<'_>,
) -> Result<Command, Refused<'a>> {
    let account = sessions.account(from, cancel.account_id.as_deref()).ok_or(OTHER_ACCOUNT)?;
    let instrument = instruments.number(&cancel.instrument_code)?;
    let order = orders.find(account, &cancel.client_id).ok_or(UNKNOWN_ORDER)?;
    if order.instrument != instrument {
        return Err(OTHER_INSTRUMENT);
    }
    Ok(Command::Cancel(Cancel { order_id: order.order_id, account, tag: 0, instrument }))
}

#[inline]
fn execute(
    entry: &mut OrderEntry,
    requester: StreamId,
    command: &Command,
    time_ms: i64,
    outbound: &mut Outbound,
) {
    let OrderEntry { instruments, sessions, orders, sequencer, counts, done, refusals, .. } = entry;
    let mut reports = Reports {
        instruments,
        sessions,
        orders,
        counts,
        done,
        refusals,
        outbound,
        requester,
        time_ms,
    };
    sequencer.execute(command, &mut |sequenced| reports.event(sequenced));
}

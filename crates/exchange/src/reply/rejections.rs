//! Rejections: a reason for the client, a name for the counters.

use crate::account::orders::InsertError;
use crate::account::session_table::sbe_index;
use crate::account::sessions::Sessions;
use crate::counts::Tally;
use crate::reply::stamping::{Stamping, send_stamped};
use crate::reply::text::send;
use crate::sbe::SbeSessions;
use crate::setup::instruments::Violation;
use engine::Reject;
use std::fmt::{Display, Write};
use transport::StreamId;
use transport::serve::Outbound;
use wire::client_id::ClientIdError;
use wire::decimal::DecimalError;
use wire::reply::{self, RequestRejected};
use wire::sbe::exchange::encode_rejected;
use wire::{ClientId, MessageFault};

/// Sends rejections and errors, and counts them.
pub(crate) struct Rejections {
    /// Rejections by reason.
    pub rejected: Tally,
    /// Rejections by the name of the limit.
    pub limits: Tally,
    /// `ERROR` messages sent.
    pub errors: u64,
    /// Buffer for a text.
    text: String,
}

/// The connection, or session of SBE, that gets an answer.
pub(crate) struct Destination<'a> {
    pub id: StreamId,
    pub outbound: &'a mut Outbound,
    pub sbe: &'a mut SbeSessions,
}

/// The request that a rejection answers.
pub(crate) struct RejectedRequest<'a> {
    pub from: StreamId,
    pub account_id: Option<&'a str>,
    /// The client id of the order or of the request; without one the answer is an `ERROR`.
    pub client_id: Option<&'a ClientId>,
    pub time_ms: i64,
    /// Stamps of the answer, if the connection asked for stamps.
    pub stamping: Option<Stamping>,
}

impl<'a> Rejection<'a> {
    /// A rejection for a reason other than a limit.
    const fn new(name: &'static str, reason: &'a str) -> Rejection<'a> {
        Rejection { name, reason, limit: false }
    }

    const fn limit(name: &'static str, reason: &'a str) -> Rejection<'a> {
        Rejection { name, reason, limit: true }
    }
}

/// Why the exchange rejects a request.
pub(crate) struct Rejection<'a> {
    /// The name of its counter.
    pub name: &'static str,
    /// Text for the client.
    pub reason: &'a str,
    /// Whether `name` is the name of a limit.
    pub limit: bool,
}

impl<'a> From<Violation<'a>> for Rejection<'a> {
    fn from(Violation { name, reason }: Violation<'a>) -> Rejection<'a> {
        Rejection { name, reason, limit: false }
    }
}

impl Rejections {
    pub fn new() -> Rejections {
        Rejections {
            rejected: Tally::new(),
            limits: Tally::new(),
            errors: 0,
            text: String::with_capacity(1024),
        }
    }

    /// Sends a `REJECTED`, or in JSON an `ERROR` if the request has no client id.
    pub fn answer(
        &mut self,
        to: Destination<'_>,
        rejection: &Rejection<'_>,
        client_id: Option<&ClientId>,
        time_ms: i64,
        uid: &str,
        stamping: Option<&Stamping>,
    ) {
        self.rejected.add(rejection.name);
        if rejection.limit {
            self.limits.add(rejection.name);
        }
        let Destination { id, outbound, sbe } = to;
        if sbe_index(id).is_some() {
            return sbe.report(id, outbound, |out, sequence| {
                encode_rejected(out, sequence, time_ms, client_id, rejection.reason);
            });
        }
        let out = outbound.to(id);
        let Some(client_id) = client_id.copied() else {
            self.errors += 1;
            return send(out, |out| reply::encode_error(out, rejection.reason));
        };
        let reason = rejection.reason.into();
        let rejected = RequestRejected { client_id, reason, time_ms, uid: uid.into() };
        send_stamped(out, stamping, |out| reply::encode_rejected(out, &rejected));
    }

    /// Rejects a request of an account or an operator.
    #[cold]
    pub fn reject(
        &mut self,
        (sessions, sbe): (&Sessions, &mut SbeSessions),
        request: &RejectedRequest<'_>,
        rejection: &Rejection<'_>,
        outbound: &mut Outbound,
    ) {
        let RejectedRequest { from, account_id, client_id, time_ms, stamping } = *request;
        // The client may have named an account that is not authenticated on this connection.
        let first = || sessions.account(from, None).map(|account| sessions.account_id(account));
        let uid = account_id.or_else(first).or_else(|| sessions.operator(from)).unwrap_or_default();
        let to = Destination { id: from, outbound, sbe };
        self.answer(to, rejection, client_id, time_ms, uid, stamping.as_ref());
    }

    /// Rejects a request that can't be decoded.
    #[cold]
    pub fn reject_unreadable(
        &mut self,
        (sessions, sbe): (&Sessions, &mut SbeSessions),
        request: &RejectedRequest<'_>,
        error: &dyn Display,
        outbound: &mut Outbound,
    ) {
        let text = self.write(error);
        self.reject((sessions, sbe), request, &Rejection::new("unreadable", &text), outbound);
        self.text = text;
    }

    /// Sends an `ERROR`.
    pub fn error(&mut self, out: &mut Vec<u8>, reason: &dyn Display) {
        self.errors += 1;
        let text = self.write(reason);
        send(out, |out| reply::encode_error(out, &text));
        self.text = text;
    }

    /// Takes the buffer with this text; put it back afterwards, so that errors don't allocate.
    fn write(&mut self, text: &dyn Display) -> String {
        let mut buffer = std::mem::take(&mut self.text);
        buffer.clear();
        // Writing into a string can't fail.
        let _ = write!(buffer, "{text}");
        buffer
    }
}

pub(crate) const OTHER_ACCOUNT: Rejection<'static> = Rejection::new(
    "not_authenticated",
    "account_id is not authenticated on this connection; send AUTHENTICATE for it first",
);
pub(crate) const NO_OPERATOR: Rejection<'static> = Rejection::new(
    "no_operator",
    "only an operator may do this; authenticate with an operator's token, on a connection of its own",
);
pub(crate) const UNKNOWN_ACCOUNT: Rejection<'static> = Rejection::new(
    "unknown_account",
    "unknown account_id: no account with this id has authenticated on this exchange",
);
pub(crate) const NOT_LOGGED: Rejection<'static> = Rejection::new(
    "journal_not_taken",
    "the exchange's journal can't take this account now; try again",
);
pub(crate) const UNKNOWN_ORDER: Rejection<'static> = Rejection::new(
    "unknown_order",
    "unknown order: this account has no open order with this client_id",
);
pub(crate) const OTHER_INSTRUMENT: Rejection<'static> =
    Rejection::new("other_instrument", "instrument_code does not match the order's");
pub(crate) const DELIVERY_FULL: Rejection<'static> = Rejection::limit(
    "delivery_orders_max",
    "too many orders wait for their delivery windows (limit delivery_orders_max); send it again",
);
const OPEN_ORDERS: Rejection<'static> = Rejection::limit(
    "open_orders_max",
    "too many orders rest on this exchange (limit open_orders_max)",
);

pub(crate) fn not_inserted(error: InsertError) -> Rejection<'static> {
    let (name, reason) = match error {
        InsertError::DuplicateClientId => {
            ("duplicate_client_id", "duplicate client_id: an order with it is open")
        }
        InsertError::HashCollision => (
            "client_id_collision",
            "client_id has the hash of another open order's; send a different one",
        ),
        InsertError::Full => return OPEN_ORDERS,
    };
    Rejection::new(name, reason)
}

/// The engine's reason as a rejection. `stop` says that the order is a stop.
pub(crate) fn by_engine(reason: Reject, stop: bool) -> Rejection<'static> {
    match reason {
        Reject::MessageRate => Rejection::limit(
            "risk_messages_per_second_max",
            "too many messages of this account in this second (risk limit messages_per_second_max)",
        ),
        Reject::KillSwitch => Rejection::new(
            "kill_switch",
            "the kill switch is on: new orders and amendments are rejected",
        ),
        Reject::InstrumentHalted => Rejection::new(
            "instrument_halted",
            "the instrument is halted: orders can be cancelled, or amended to less at the same price",
        ),
        Reject::InstrumentClosed => Rejection::new("instrument_closed", "the instrument is closed"),
        Reject::BadCombination => Rejection::new(
            "bad_combination",
            "type, time_in_force, post_only, display_amount and stop_price do not go together: MARKET needs an \
             immediate time_in_force; post_only and display_amount need a LIMIT that may rest, without stop_price",
        ),
        Reject::BadPrice => Rejection::new(
            "bad_price",
            "price is missing, out of range, or given for an order that has none",
        ),
        Reject::BadQuantity => {
            Rejection::new("bad_amount", "display_amount is larger than amount, or out of range")
        }
        Reject::BadExpiry => Rejection::new("bad_expire_time", "expire_time has come already"),
        Reject::PriceBand => {
            Rejection::new("price_band", "price is outside the band of the instrument")
        }
        Reject::UnknownOrder => UNKNOWN_ORDER,
        Reject::PostOnlyWouldTrade => {
            Rejection::new("post_only_would_trade", "the order is post-only and would trade")
        }
        Reject::LimitOpenOrders => OPEN_ORDERS,
        Reject::LimitPriceLevels if stop => Rejection::limit(
            "stop_levels_max",
            "too many stop prices on this side of the book (limit stop_levels_max)",
        ),
        Reject::LimitPriceLevels => Rejection::limit(
            "price_levels_max",
            "too many prices on this side of the book (limit price_levels_max)",
        ),
        Reject::LimitExpiringOrders => Rejection::limit(
            "expiring_orders_max",
            "too many orders with an expire_time on this exchange (limit expiring_orders_max)",
        ),
        risk => by_risk(risk),
    }
}

/// The journal's error as a rejection.
pub(crate) fn by_journal(error: journal::AppendError) -> Rejection<'static> {
    match error {
        journal::AppendError::Full { limit, .. } => Rejection::limit(
            limit,
            "the exchange's journal is as far behind as its limits allow; try again",
        ),
        journal::AppendError::NoRoom => Rejection::new(
            "journal_no_room",
            "the exchange's journal has no room on its disk: nothing enters; what is open can be cancelled",
        ),
        journal::AppendError::NoFollower => Rejection::new(
            "follower_lost",
            "the exchange's follower doesn't answer, and nothing is executed without it; try again",
        ),
        journal::AppendError::Failed => Rejection::new(
            "journal_failed",
            "the exchange's journal has failed, and nothing is taken any more",
        ),
    }
}

fn by_risk(reason: Reject) -> Rejection<'static> {
    match reason {
        Reject::RiskQuantity => Rejection::limit(
            "risk_amount_max",
            "amount is larger than the account may send (risk limit amount_max)",
        ),
        Reject::RiskCollar => Rejection::limit(
            "risk_collar",
            "price is further past the reference price than the account may go (risk limit collar)",
        ),
        Reject::RiskNoReference => Rejection::new(
            "risk_no_reference_price",
            "a market order can't be held against the account's notional_max: the instrument has not traded yet",
        ),
        Reject::RiskNotional => Rejection::limit(
            "risk_notional_max",
            "price times amount is more than the account may send (risk limit notional_max)",
        ),
        Reject::RiskOpenOrders => Rejection::limit(
            "risk_open_orders_max",
            "too many orders of this account are open (risk limit open_orders_max)",
        ),
        Reject::RiskPosition => Rejection::limit(
            "risk_position",
            "with this order the account's position could go past what it may be (risk limits long_max and short_max)",
        ),
        // The exchange checks the rest before the engine does, or no client can cause it.
        other => Rejection::new(other.as_str(), other.as_str()),
    }
}

/// The limit that a rejected message breaks, if it breaks one.
pub(crate) fn limit_of(fault: &MessageFault) -> Option<&'static str> {
    match fault {
        MessageFault::Limit { limit, .. } => Some(limit),
        MessageFault::BadClientId(ClientIdError::TooLong) => Some("client_id_bytes_max"),
        MessageFault::BadDecimal { why: DecimalError::TooManyDigits, .. } => {
            Some("decimal_digits_max")
        }
        MessageFault::BadDecimal { why: DecimalError::TooLong, .. } => Some("decimal_bytes_max"),
        _ => None,
    }
}

//! Refusals: in words for the client, by name for the counters.

use crate::counts::Tally;
use crate::instruments::Violation;
use crate::orders::InsertError;
use crate::sessions::Sessions;
use crate::text::send;
use engine::Reject;
use transport::StreamId;
use transport::serve::Outbound;
use wire::client_id::ClientIdError;
use wire::decimal::DecimalError;
use wire::reply::{self, Rejected};
use wire::{ClientId, MessageFault};

/// What has been refused.
pub(crate) struct Refusals {
    /// `REJECTED`, by reason.
    pub rejected: Tally,
    /// By the limit's name.
    pub limits: Tally,
}

/// What a refusal is about.
pub(crate) struct About<'a> {
    pub from: StreamId,
    pub account_id: Option<&'a str>,
    pub client_id: ClientId,
    pub time_ms: i64,
}

/// Why an order or a cancel is refused.
pub(crate) struct Refused<'a> {
    /// Under which it is counted.
    pub name: &'static str,
    /// For a person.
    pub reason: &'a str,
    /// Whether `name` is a limit's.
    pub limit: bool,
}

impl<'a> From<Violation<'a>> for Refused<'a> {
    fn from(Violation { name, reason }: Violation<'a>) -> Refused<'a> {
        Refused { name, reason, limit: false }
    }
}

impl Refusals {
    pub fn new() -> Refusals {
        Refusals { rejected: Tally::new(), limits: Tally::new() }
    }

    /// Sends a `REJECTED`.
    pub fn reject(
        &mut self,
        out: &mut Vec<u8>,
        refused: &Refused<'_>,
        client_id: ClientId,
        time_ms: i64,
        uid: &str,
    ) {
        self.rejected.add(refused.name);
        if refused.limit {
            self.limits.add(refused.name);
        }
        let reason = refused.reason.into();
        let rejected = Rejected { client_id, reason, time_ms, uid: uid.into() };
        send(out, |out| reply::encode_rejected(out, &rejected));
    }

    /// Refuses an order or a cancel of an account.
    #[cold]
    pub fn refuse(
        &mut self,
        sessions: &Sessions,
        about: &About<'_>,
        refused: &Refused<'_>,
        outbound: &mut Outbound,
    ) {
        let About { from, account_id, client_id, time_ms } = *about;
        // An account that is not authenticated here is called what the client calls it.
        let first = || sessions.account(from, None).map(|account| sessions.account_id(account));
        let uid = account_id.or_else(first).unwrap_or_default();
        self.reject(outbound.to(from), refused, client_id, time_ms, uid);
    }
}

pub(crate) const OTHER_ACCOUNT: Refused<'static> = Refused {
    name: "not_authenticated",
    reason: "account_id is not authenticated on this connection; send AUTHENTICATE for it first",
    limit: false,
};
pub(crate) const UNKNOWN_ORDER: Refused<'static> = Refused {
    name: "unknown_order",
    reason: "unknown order: this account has no open order with this client_id",
    limit: false,
};
pub(crate) const OTHER_INSTRUMENT: Refused<'static> = Refused {
    name: "other_instrument",
    reason: "instrument_code does not match the order's",
    limit: false,
};
pub(crate) const OPEN_ORDERS_PER_ACCOUNT: Refused<'static> = Refused {
    name: "open_orders_per_account_max",
    reason: "too many orders of this account rest (limit open_orders_per_account_max)",
    limit: true,
};
const OPEN_ORDERS: Refused<'static> = Refused {
    name: "open_orders_max",
    reason: "too many orders rest on this exchange (limit open_orders_max)",
    limit: true,
};
const PRICE_LEVELS: Refused<'static> = Refused {
    name: "price_levels_max",
    reason: "too many prices on this side of the book (limit price_levels_max)",
    limit: true,
};

pub(crate) fn not_inserted(error: InsertError) -> Refused<'static> {
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
    Refused { name, reason, limit: false }
}

/// In the engine's refusals only limits are to be expected: the rest has been checked before.
pub(crate) fn by_engine(reason: Reject) -> Refused<'static> {
    match reason {
        Reject::LimitOpenOrders => OPEN_ORDERS,
        Reject::LimitPriceLevels => PRICE_LEVELS,
        other => Refused { name: other.as_str(), reason: other.as_str(), limit: false },
    }
}

/// The limit for which a message is refused, if it is for one.
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

//! Refusals: in words for the client, by name for the counters.

use crate::account::sessions::Sessions;
use crate::counts::Tally;
use crate::entry::orders::InsertError;
use crate::entry::stamping::{Stamping, send_stamped};
use crate::entry::text::send;
use crate::setup::instruments::Violation;
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
    /// `ERROR`.
    pub errors: u64,
}

/// What a refusal is about.
pub(crate) struct About<'a> {
    pub from: StreamId,
    pub account_id: Option<&'a str>,
    /// The name of the order, or of the request; without one the answer is an `ERROR`.
    pub client_id: Option<&'a ClientId>,
    pub time_ms: i64,
    /// What the answer is stamped with, if who asked wants that.
    pub stamping: Option<Stamping>,
}

impl<'a> Refused<'a> {
    /// One that is no limit's.
    pub const fn new(name: &'static str, reason: &'a str) -> Refused<'a> {
        Refused { name, reason, limit: false }
    }

    const fn limit(name: &'static str, reason: &'a str) -> Refused<'a> {
        Refused { name, reason, limit: true }
    }
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
        Refusals { rejected: Tally::new(), limits: Tally::new(), errors: 0 }
    }

    /// Sends a `REJECTED`, or an `ERROR` if it has no name to go by.
    pub fn answer(
        &mut self,
        out: &mut Vec<u8>,
        refused: &Refused<'_>,
        client_id: Option<&ClientId>,
        time_ms: i64,
        uid: &str,
        stamping: Option<&Stamping>,
    ) {
        self.rejected.add(refused.name);
        if refused.limit {
            self.limits.add(refused.name);
        }
        let Some(client_id) = client_id.copied() else {
            self.errors += 1;
            return send(out, |out| reply::encode_error(out, refused.reason));
        };
        let reason = refused.reason.into();
        let rejected = Rejected { client_id, reason, time_ms, uid: uid.into() };
        send_stamped(out, stamping, |out| reply::encode_rejected(out, &rejected));
    }

    /// Refuses a request of an account or an operator.
    #[cold]
    pub fn refuse(
        &mut self,
        sessions: &Sessions,
        about: &About<'_>,
        refused: &Refused<'_>,
        outbound: &mut Outbound,
    ) {
        let About { from, account_id, client_id, time_ms, stamping } = *about;
        // An account that is not authenticated here is called what the client calls it.
        let first = || sessions.account(from, None).map(|account| sessions.account_id(account));
        let uid = account_id.or_else(first).or_else(|| sessions.operator(from)).unwrap_or_default();
        self.answer(outbound.to(from), refused, client_id, time_ms, uid, stamping.as_ref());
    }
}

pub(crate) const OTHER_ACCOUNT: Refused<'static> = Refused::new(
    "not_authenticated",
    "account_id is not authenticated on this connection; send AUTHENTICATE for it first",
);
pub(crate) const NO_OPERATOR: Refused<'static> = Refused::new(
    "no_operator",
    "only an operator may do this; authenticate with an operator's token, on a connection of its own",
);
pub(crate) const UNKNOWN_ACCOUNT: Refused<'static> = Refused::new(
    "unknown_account",
    "account_id is none that has come to this exchange, and none that could",
);
pub(crate) const NOT_LOGGED: Refused<'static> = Refused::new(
    "journal_not_taken",
    "the exchange's journal can't take this account now; try again",
);
pub(crate) const UNKNOWN_ORDER: Refused<'static> = Refused::new(
    "unknown_order",
    "unknown order: this account has no open order with this client_id",
);
pub(crate) const OTHER_INSTRUMENT: Refused<'static> =
    Refused::new("other_instrument", "instrument_code does not match the order's");
const OPEN_ORDERS: Refused<'static> = Refused::limit(
    "open_orders_max",
    "too many orders rest on this exchange (limit open_orders_max)",
);

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
    Refused::new(name, reason)
}

/// The engine's reasons in words. `stop` is whether it refused a stop.
pub(crate) fn by_engine(reason: Reject, stop: bool) -> Refused<'static> {
    match reason {
        Reject::MessageRate => Refused::limit(
            "risk_messages_per_second_max",
            "too many messages of this account in this second (risk limit messages_per_second_max)",
        ),
        Reject::KillSwitch => Refused::new(
            "kill_switch",
            "the kill switch is on: nothing enters; what is open can be cancelled",
        ),
        Reject::InstrumentHalted => Refused::new(
            "instrument_halted",
            "the instrument is halted: orders can be cancelled, or amended to less at the same price",
        ),
        Reject::InstrumentClosed => Refused::new("instrument_closed", "the instrument is closed"),
        Reject::BadCombination => Refused::new(
            "bad_combination",
            "type, time_in_force, post_only, display_amount and stop_price do not go together: MARKET needs an \
             immediate time_in_force; post_only and display_amount need a LIMIT that may rest, without stop_price",
        ),
        Reject::BadPrice => Refused::new(
            "bad_price",
            "price is missing, out of range, or given for an order that has none",
        ),
        Reject::BadQuantity => {
            Refused::new("bad_amount", "display_amount is larger than amount, or out of range")
        }
        Reject::BadExpiry => Refused::new("bad_expire_time", "expire_time has come already"),
        Reject::PriceBand => {
            Refused::new("price_band", "price is outside the band of the instrument")
        }
        Reject::UnknownOrder => UNKNOWN_ORDER,
        Reject::PostOnlyWouldTrade => {
            Refused::new("post_only_would_trade", "the order is post-only and would trade")
        }
        Reject::LimitOpenOrders => OPEN_ORDERS,
        Reject::LimitPriceLevels if stop => Refused::limit(
            "stop_levels_max",
            "too many stop prices on this side of the book (limit stop_levels_max)",
        ),
        Reject::LimitPriceLevels => Refused::limit(
            "price_levels_max",
            "too many prices on this side of the book (limit price_levels_max)",
        ),
        Reject::LimitExpiringOrders => Refused::limit(
            "expiring_orders_max",
            "too many orders with an expire_time on this exchange (limit expiring_orders_max)",
        ),
        risk => by_risk(risk),
    }
}

/// What the journal did not take.
pub(crate) fn by_journal(refused: journal::AppendError) -> Refused<'static> {
    match refused {
        journal::AppendError::Full { limit, .. } => Refused::limit(
            limit,
            "the exchange's journal is as far behind as its limits allow; try again",
        ),
        journal::AppendError::NoRoom => Refused::new(
            "journal_no_room",
            "the exchange's journal has no room on its disk: nothing enters; what is open can be cancelled",
        ),
        journal::AppendError::Failed => Refused::new(
            "journal_failed",
            "the exchange's journal has failed, and nothing is taken any more",
        ),
    }
}

fn by_risk(reason: Reject) -> Refused<'static> {
    match reason {
        Reject::RiskQuantity => Refused::limit(
            "risk_amount_max",
            "amount is larger than the account may send (risk limit amount_max)",
        ),
        Reject::RiskCollar => Refused::limit(
            "risk_collar",
            "price is further past the reference price than the account may go (risk limit collar)",
        ),
        Reject::RiskNoReference => Refused::new(
            "risk_no_reference_price",
            "a market order can't be held against the account's notional_max: the instrument has not traded yet",
        ),
        Reject::RiskNotional => Refused::limit(
            "risk_notional_max",
            "price times amount is more than the account may send (risk limit notional_max)",
        ),
        Reject::RiskOpenOrders => Refused::limit(
            "risk_open_orders_max",
            "too many orders of this account are open (risk limit open_orders_max)",
        ),
        Reject::RiskPosition => Refused::limit(
            "risk_position",
            "with this order the account's position could go past what it may be (risk limits long_max and short_max)",
        ),
        // What has been checked before, or what no client can ask for.
        other => Refused::new(other.as_str(), other.as_str()),
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

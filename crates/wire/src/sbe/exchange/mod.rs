//! The exchange's messages. Reports count from 1 in their session.

mod decode;
mod encode;

use crate::reply::Reply;
use crate::sbe::block::frame;
use crate::{ClientId, Decimal, OrderId};

pub use crate::sbe::exchange::decode::decode_exchange;
pub use crate::sbe::exchange::encode::{
    ReportNumbers, encode_booked, encode_decremented, encode_done, encode_ended, encode_fill,
    encode_instrument, encode_logon_accepted, encode_mass_cancelled, encode_rejected,
    encode_replaced, encode_status, encode_triggered, encode_waiting,
};

const LOGON_ACCEPTED: u16 = 2;
const INSTRUMENT: u16 = 3;
const BOOKED: u16 = 50;
const FILL: u16 = 51;
const DONE: u16 = 52;
const REPLACED: u16 = 53;
const WAITING: u16 = 54;
const TRIGGERED: u16 = 55;
const DECREMENTED: u16 = 56;
const MASS_CANCELLED: u16 = 57;
const REJECTED: u16 = 58;
const STATUS: u16 = 59;
const ENDED: u16 = 60;

/// The longest report, bytes: a rejection.
pub const REPORT_BYTES_MAX: usize = frame(79) + 2 + crate::sbe::TEXT_BYTES_MAX;
/// Bytes of an instrument's code.
pub const CODE_BYTES: usize = 32;

/// The answer to a logon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogonAccepted {
    /// The session: that of the logon, or a new one.
    pub session: u64,
    /// The last number that the exchange has from the client; 0: none.
    pub received_sequence: u64,
    /// The number of the next report: the first of those that the client missed, if there are any.
    pub next_sequence: u64,
    /// Reports before it that the client missed and the exchange does not keep any more.
    pub lost: u64,
    /// Silence of one side after which the other may close the connection, ms. After half of it a
    /// side sends a heartbeat.
    pub heartbeat_ms: u32,
    /// Number of `Instrument` messages that follow.
    pub instruments: u16,
}

/// The meaning of an instrument's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstrumentDefinition<'a> {
    /// Its number in all messages of the session.
    pub number: u16,
    /// Its tick.
    pub tick: Decimal,
    /// Its lot.
    pub lot: Decimal,
    /// Its code, at most [`CODE_BYTES`] bytes.
    pub code: &'a str,
}

/// An open order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderStatus {
    /// The client's name for it.
    pub client_id: ClientId,
    /// The exchange's.
    pub order_id: OrderId,
    /// Its instrument's number.
    pub instrument: u16,
    /// Its whole amount, or that of its last replacement.
    pub amount: Decimal,
    /// Milliseconds since 1970.
    pub time_ms: i64,
}

/// A message from the exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExchangeMessage<'a> {
    /// The answer to a logon.
    LogonAccepted(LogonAccepted),
    /// An instrument.
    Instrument(InstrumentDefinition<'a>),
    /// A sign of life.
    Heartbeat {
        /// The number of the next report.
        next_sequence: u64,
    },
    /// The last message of the connection.
    Terminate {
        /// The reason.
        reason: &'a str,
    },
    /// A reply or report as in JSON. A rejection of a request without a client id is an `Error`.
    Report {
        /// Its number.
        sequence: u64,
        /// The report.
        reply: Reply<'a>,
    },
    /// The answer to a status request about an open order. About one that has ended it is a report,
    /// [`Reply::Ended`]; about one that the exchange does not know, a rejection.
    Status {
        /// Its number.
        sequence: u64,
        /// The order.
        status: OrderStatus,
    },
}

/// The names that a client knows and reports leave out.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    /// Codes of the instruments by number.
    pub codes: &'a [String],
    /// The session's account.
    pub account: &'a str,
}

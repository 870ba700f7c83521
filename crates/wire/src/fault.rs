//! Why a message is rejected, with advice for its sender.

use crate::client_id::ClientIdError;
use crate::decimal::DecimalError;

/// Why a message can't be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageFault {
    /// It is not UTF-8. A WebSocket peer is closed with 1007 for it.
    #[error("the message is not UTF-8 from byte {at_byte} on; send JSON in a text frame")]
    NotUtf8 {
        /// Number of valid bytes before the fault.
        at_byte: usize,
    },
    /// Not JSON.
    #[error("malformed JSON at byte {at_byte}")]
    Malformed {
        /// Position of the fault, from 0.
        at_byte: usize,
    },
    /// A known key stands twice in an object, so its value is ambiguous.
    #[error("a field stands twice, the second time at byte {at_byte}; send it once")]
    Duplicate {
        /// Position of the second value, from 0.
        at_byte: usize,
    },
    /// A required field is missing.
    #[error("field {field} is missing")]
    Missing {
        /// Its path.
        field: &'static str,
    },
    /// A value of another kind, such as a number for a string.
    #[error("field {field} is not {expected}")]
    WrongKind {
        /// Its path.
        field: &'static str,
        /// The expected kind.
        expected: &'static str,
    },
    /// A string that is not one of the allowed values.
    #[error("field {field} is none of {allowed}")]
    UnknownValue {
        /// Its path.
        field: &'static str,
        /// The allowed values.
        allowed: &'static str,
    },
    /// A field that another field rules out.
    #[error("field {field} does not go with {with}; leave it out")]
    NotWith {
        /// Its path.
        field: &'static str,
        /// The other field.
        with: &'static str,
    },
    /// An unknown `type`.
    #[error(
        "unknown type; send AUTHENTICATE, SUBSCRIBE, CREATE_ORDER, AMEND_ORDER, CANCEL_ORDER or MASS_CANCEL"
    )]
    UnknownType,
    /// A price or amount that is not a decimal number.
    #[error("field {field}: {why}")]
    BadDecimal {
        /// Its path.
        field: &'static str,
        /// The fault.
        why: DecimalError,
    },
    /// An invalid client id.
    #[error("{0}")]
    BadClientId(ClientIdError),
    /// A value above its limit.
    #[error("field {field} is over limit {limit} = {max}")]
    Limit {
        /// The field.
        field: &'static str,
        /// The limit's name.
        limit: &'static str,
        /// Its value, in the unit that its name says.
        max: usize,
    },
}

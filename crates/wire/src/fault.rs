//! Why a message is refused, in words that its sender can act on.

use crate::client_id::ClientIdError;
use crate::decimal::DecimalError;

/// Why a message can't be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageFault {
    /// Not text. A WebSocket peer is closed with 1007 for it.
    #[error("the message is not UTF-8 from byte {at_byte} on; send JSON in a text frame")]
    NotUtf8 {
        /// How many bytes were.
        at_byte: usize,
    },
    /// Not JSON.
    #[error("malformed JSON at byte {at_byte}")]
    Malformed {
        /// Where what can't be read begins, from 0.
        at_byte: usize,
    },
    /// A key that means something to us stands twice in an object: which one counts is not known.
    #[error("a field stands twice, the second time at byte {at_byte}; send it once")]
    Duplicate {
        /// Where the second one's value begins, from 0.
        at_byte: usize,
    },
    /// No such field.
    #[error("field {field} is missing")]
    Missing {
        /// Its name, with the object's in front.
        field: &'static str,
    },
    /// A number where a string is due, and the like.
    #[error("field {field} is not {expected}")]
    WrongKind {
        /// Its name, with the object's in front.
        field: &'static str,
        /// The expected kind.
        expected: &'static str,
    },
    /// A string that is none of those allowed.
    #[error("field {field} is none of {allowed}")]
    UnknownValue {
        /// Its name, with the object's in front.
        field: &'static str,
        /// The allowed values.
        allowed: &'static str,
    },
    /// A field beside another that rules it out.
    #[error("field {field} does not go with {with}; leave it out")]
    NotWith {
        /// Its name, with the object's in front.
        field: &'static str,
        /// What rules it out.
        with: &'static str,
    },
    /// A `type` that we don't serve.
    #[error(
        "unknown type; send AUTHENTICATE, SUBSCRIBE, CREATE_ORDER, AMEND_ORDER, CANCEL_ORDER or MASS_CANCEL"
    )]
    UnknownType,
    /// A price or amount that is no decimal number.
    #[error("field {field}: {why}")]
    BadDecimal {
        /// Its name, with the object's in front.
        field: &'static str,
        /// The fault.
        why: DecimalError,
    },
    /// A client id that can't be one.
    #[error("{0}")]
    BadClientId(ClientIdError),
    /// More than a limit allows.
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

//! Reads flat JSON without allocating, for requests and replies.
//!
//! A message is read into a struct of [`Slot`]s. A slot takes a value of any kind without an error,
//! in any order, so that the error can name a field of the wrong kind, and the client id is read in
//! spite of other faults. Only bytes that are not a JSON object stop it.
//!
//! The scanner is our own because structs derived with serde took twice as long to fill, mostly for
//! moving them half full. It leaves unusual values to serde_json.

pub(crate) mod form;
mod scanner;
mod slot;
pub(crate) mod string;

pub(crate) use scanner::{Fields, Scanner, parse};
pub(crate) use slot::{Object, Slot, Text, ValueKind};

use crate::fault::MessageFault;

/// Checks a text against a limit of bytes.
pub(crate) fn bounded<'a>(
    text: Text<'a>,
    field: &'static str,
    limit: &'static str,
    max: usize,
) -> Result<Text<'a>, MessageFault> {
    match text.len() <= max {
        true => Ok(text),
        false => Err(MessageFault::Limit { field, limit, max }),
    }
}

//! Where the values of a message are read to.

use crate::fault::MessageFault;
use std::borrow::Cow;

/// The value read for a field.
#[derive(Debug, Default)]
pub(crate) enum Slot<T> {
    #[default]
    Absent,
    WrongKind,
    Value(T),
}

/// Text, borrowed from the message unless it contains an escape.
pub(crate) type Text<'a> = Cow<'a, str>;

impl<T: ValueKind> Slot<T> {
    /// The value, or why there is none.
    pub(crate) fn get(&self, field: &'static str) -> Result<&T, MessageFault> {
        match self {
            Slot::Value(value) => Ok(value),
            Slot::Absent => Err(MessageFault::Missing { field }),
            Slot::WrongKind => Err(MessageFault::WrongKind { field, expected: T::NAME }),
        }
    }

    /// A mutable reference to the value.
    pub(crate) fn get_mut(&mut self, field: &'static str) -> Result<&mut T, MessageFault> {
        match self {
            Slot::Value(value) => Ok(value),
            Slot::Absent => Err(MessageFault::Missing { field }),
            Slot::WrongKind => Err(MessageFault::WrongKind { field, expected: T::NAME }),
        }
    }

    /// Takes the value.
    pub(crate) fn take(&mut self, field: &'static str) -> Result<T, MessageFault> {
        match std::mem::take(self) {
            Slot::Value(value) => Ok(value),
            Slot::Absent => Err(MessageFault::Missing { field }),
            Slot::WrongKind => Err(MessageFault::WrongKind { field, expected: T::NAME }),
        }
    }

    /// Takes the value of a field that may be absent or null.
    pub(crate) fn take_optional(&mut self, field: &'static str) -> Result<Option<T>, MessageFault> {
        match self {
            Slot::Absent => Ok(None),
            _ => self.take(field).map(Some),
        }
    }
}

/// The name of a kind of value in messages.
pub(crate) trait ValueKind {
    const NAME: &'static str;
}

/// A JSON object read into a struct.
#[derive(Debug)]
pub(crate) struct Object<T>(pub(crate) T);

impl ValueKind for Text<'_> {
    const NAME: &'static str = "a string";
}

impl ValueKind for i64 {
    const NAME: &'static str = "an integer of 64 bits";
}

impl<const N: usize> ValueKind for [u64; N] {
    const NAME: &'static str = "an array of non-negative integers of the right length";
}

impl ValueKind for [Text<'_>; 2] {
    const NAME: &'static str = "an array of two strings";
}

impl ValueKind for bool {
    const NAME: &'static str = "true or false";
}

impl<T> ValueKind for Object<T> {
    const NAME: &'static str = "an object";
}

impl<T> ValueKind for Vec<T> {
    const NAME: &'static str = "an array";
}

//! What requests and replies share: reading flat JSON without allocating, and writing strings.
//!
//! A message is deserialized into a struct of [`Slot`]s, which takes any value in any order without an
//! error, so that a field of the wrong kind is named, and the client id read, whatever else is
//! wrong. Only bytes that are no JSON object stop it.

use crate::client_id::ClientIdError;
use crate::decimal::DecimalError;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

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
    #[error("malformed JSON at line {line} column {column}")]
    Malformed {
        /// From 1.
        line: usize,
        /// In bytes, from 1; 0 before the line's first.
        column: usize,
    },
    /// A key that means something to us stands twice in an object: which one counts is not known.
    #[error("a field stands twice, the second at line {line} column {column}; send it once")]
    Duplicate {
        /// From 1.
        line: usize,
        /// In bytes, from 1.
        column: usize,
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
        /// What is due.
        expected: &'static str,
    },
    /// A string that is none of those allowed.
    #[error("field {field} is none of {allowed}")]
    UnknownValue {
        /// Its name, with the object's in front.
        field: &'static str,
        /// What is allowed.
        allowed: &'static str,
    },
    /// A `type` that we don't serve.
    #[error("unknown type; send AUTHENTICATE, SUBSCRIBE, CREATE_ORDER or CANCEL_ORDER")]
    UnknownType,
    /// A price or amount that is no decimal number.
    #[error("field {field}: {why}")]
    BadDecimal {
        /// Its name, with the object's in front.
        field: &'static str,
        /// What is wrong with it.
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

/// A field as it was found.
#[derive(Debug, Default)]
pub(crate) enum Slot<T> {
    #[default]
    Absent,
    WrongKind,
    Value(T),
}

/// Text, borrowed from the message unless an escape stands in it.
pub(crate) type Text<'a> = Cow<'a, str>;

impl<T: Kind> Slot<T> {
    /// The value, or why there is none.
    pub(crate) fn get(&self, field: &'static str) -> Result<&T, MessageFault> {
        match self {
            Slot::Value(value) => Ok(value),
            Slot::Absent => Err(MessageFault::Missing { field }),
            Slot::WrongKind => Err(MessageFault::WrongKind { field, expected: T::NAME }),
        }
    }

    /// The value in its place, to take from.
    pub(crate) fn get_mut(&mut self, field: &'static str) -> Result<&mut T, MessageFault> {
        match self {
            Slot::Value(value) => Ok(value),
            Slot::Absent => Err(MessageFault::Missing { field }),
            Slot::WrongKind => Err(MessageFault::WrongKind { field, expected: T::NAME }),
        }
    }

    /// The value, taken out.
    pub(crate) fn take(&mut self, field: &'static str) -> Result<T, MessageFault> {
        match std::mem::take(self) {
            Slot::Value(value) => Ok(value),
            Slot::Absent => Err(MessageFault::Missing { field }),
            Slot::WrongKind => Err(MessageFault::WrongKind { field, expected: T::NAME }),
        }
    }

    /// The value, taken out, of a field that may be absent or null.
    pub(crate) fn take_optional(&mut self, field: &'static str) -> Result<Option<T>, MessageFault> {
        match self {
            Slot::Absent => Ok(None),
            _ => self.take(field).map(Some),
        }
    }
}

/// The name of a kind of value, for a person.
pub(crate) trait Kind {
    const NAME: &'static str;
}

/// What a [`Slot`] of this type takes; whatever it does not override is of the wrong kind.
pub(crate) trait Accept<'de>: Kind + Sized {
    fn text(_: Cow<'de, str>) -> Option<Self> {
        None
    }

    fn integer(_: i64) -> Option<Self> {
        None
    }

    fn object<A: MapAccess<'de>>(mut map: A) -> Result<Option<Self>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn array<A: SeqAccess<'de>>(mut seq: A) -> Result<Option<Self>, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}

impl Kind for Text<'_> {
    const NAME: &'static str = "a string";
}

impl<'de: 'a, 'a> Accept<'de> for Text<'a> {
    fn text(text: Cow<'de, str>) -> Option<Text<'a>> {
        Some(text)
    }
}

impl Kind for i64 {
    const NAME: &'static str = "an integer of 64 bits";
}

impl Accept<'_> for i64 {
    fn integer(n: i64) -> Option<i64> {
        Some(n)
    }
}

/// A JSON object read into a struct; an array is not one, though serde would take it for one.
#[derive(Debug)]
pub(crate) struct Object<T>(pub(crate) T);

impl<T> Kind for Object<T> {
    const NAME: &'static str = "an object";
}

impl<'de, T: Deserialize<'de>> Accept<'de> for Object<T> {
    fn object<A: MapAccess<'de>>(map: A) -> Result<Option<Object<T>>, A::Error> {
        T::deserialize(serde::de::value::MapAccessDeserializer::new(map)).map(|t| Some(Object(t)))
    }
}

impl<T> Kind for Vec<T> {
    const NAME: &'static str = "an array";
}

impl<'de, T: Deserialize<'de>> Accept<'de> for Vec<T> {
    fn array<A: SeqAccess<'de>>(mut seq: A) -> Result<Option<Vec<T>>, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Some(items))
    }
}

impl<'de, T: Accept<'de>> Deserialize<'de> for Slot<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Slot<T>, D::Error> {
        deserializer.deserialize_any(SlotVisitor(PhantomData))
    }
}

struct SlotVisitor<T>(PhantomData<T>);

impl<'de, T: Accept<'de>> Visitor<'de> for SlotVisitor<T> {
    type Value = Slot<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Slot<T>, E> {
        Ok(found(T::text(Cow::Borrowed(text))))
    }

    fn visit_str<E>(self, text: &str) -> Result<Slot<T>, E> {
        Ok(found(T::text(Cow::Owned(text.to_owned()))))
    }

    fn visit_i64<E>(self, n: i64) -> Result<Slot<T>, E> {
        Ok(found(T::integer(n)))
    }

    fn visit_u64<E>(self, n: u64) -> Result<Slot<T>, E> {
        Ok(found(i64::try_from(n).ok().and_then(T::integer)))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Slot<T>, E> {
        Ok(Slot::WrongKind)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Slot<T>, E> {
        Ok(Slot::WrongKind)
    }

    fn visit_unit<E>(self) -> Result<Slot<T>, E> {
        Ok(Slot::Absent)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Slot<T>, A::Error> {
        T::object(map).map(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Slot<T>, A::Error> {
        T::array(seq).map(found)
    }
}

fn found<T>(value: Option<T>) -> Slot<T> {
    value.map_or(Slot::WrongKind, Slot::Value)
}

/// Reads one JSON object. The bytes are checked once to be UTF-8, sixteen at a time, which costs
/// less than a check of each string and leaves no string unchecked.
pub(crate) fn parse<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, MessageFault> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| MessageFault::NotUtf8 { at_byte: error.valid_up_to() })?;
    let mut slot: Slot<Object<T>> = serde_json::from_str(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        match error.classify() {
            // No slot refuses a value, so the only error left to the data is a key that repeats.
            Category::Data => MessageFault::Duplicate { line, column },
            _ => MessageFault::Malformed { line, column },
        }
    })?;
    slot.take("message").map(|Object(message)| message)
}

/// Holds a text against a limit of bytes.
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

/// Appends a string with its quotes, escaped where JSON wants it.
pub(crate) fn write_string(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    // Folded rather than searched, so that the compiler can test many bytes at a time.
    let plain =
        text.iter().fold(true, |plain, &b| plain & (b >= b' ') & (b != b'"') & (b != b'\\'));
    if plain {
        out.extend_from_slice(text);
    } else {
        write_escaped(out, text);
    }
    out.push(b'"');
}

#[cold]
fn write_escaped(out: &mut Vec<u8>, text: &[u8]) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    for &byte in text {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            0..b' ' => {
                let (high, low) = (HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]);
                out.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
            }
            _ => out.push(byte),
        }
    }
}

//! The form of a field's values.

use crate::message::number;
use crate::time::is_timestamp;

/// The types of FIX 4.4, as far as their values differ in form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// A whole number, perhaps with a sign.
    Int,
    /// A whole number from 0 on: SEQNUM, LENGTH, NUMINGROUP.
    Count,
    /// A decimal number, perhaps with a sign: PRICE, QTY, AMT, PERCENTAGE, …
    Decimal,
    /// One character.
    Char,
    /// `Y` or `N`.
    Boolean,
    /// Values from a list, with a space between them.
    Several,
    /// `YYYYMMDD-HH:MM:SS`, perhaps with a fraction.
    Timestamp,
    /// `YYYYMMDD`.
    Date,
    /// Bytes; a length field comes before it.
    Data,
    /// Anything else that is not empty.
    Text,
}

impl ValueKind {
    /// From the dictionary's name of a type. An unknown name is a text.
    pub fn of(name: &str) -> ValueKind {
        match name {
            "INT" => ValueKind::Int,
            "SEQNUM" | "LENGTH" | "NUMINGROUP" => ValueKind::Count,
            "PRICE" | "QTY" | "AMT" | "FLOAT" | "PRICEOFFSET" | "PERCENTAGE" => ValueKind::Decimal,
            "CHAR" => ValueKind::Char,
            "BOOLEAN" => ValueKind::Boolean,
            "MULTIPLEVALUESTRING" => ValueKind::Several,
            "UTCTIMESTAMP" => ValueKind::Timestamp,
            "UTCDATEONLY" | "UTCDATE" | "LOCALMKTDATE" => ValueKind::Date,
            "DATA" => ValueKind::Data,
            _ => ValueKind::Text,
        }
    }

    /// Whether a value, which is not empty, has this form.
    #[inline]
    pub fn fits(self, value: &[u8]) -> bool {
        match self {
            ValueKind::Int => number(value.strip_prefix(b"-").unwrap_or(value)).is_some(),
            ValueKind::Count => number(value).is_some(),
            ValueKind::Decimal => is_decimal(value.strip_prefix(b"-").unwrap_or(value)),
            ValueKind::Char => value.len() == 1,
            ValueKind::Boolean => matches!(value, b"Y" | b"N"),
            ValueKind::Timestamp => is_timestamp(value),
            ValueKind::Date => value.len() == 8 && number(value).is_some(),
            ValueKind::Several | ValueKind::Data | ValueKind::Text => true,
        }
    }
}

/// Digits with at most one point, which may be first or last.
#[inline]
fn is_decimal(digits: &[u8]) -> bool {
    let mut points = 0;
    for &byte in digits {
        match byte {
            b'0'..=b'9' => {}
            b'.' => points += 1,
            _ => return false,
        }
    }
    points <= 1 && digits.len() > points
}

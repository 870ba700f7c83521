//! The form of a field's values.

use crate::message::number;
use crate::time::parse_timestamp;

/// The types of FIX 4.4, as far as their values differ in form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
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

impl Kind {
    /// From the dictionary's name of a type. An unknown name is a text.
    pub fn of(name: &str) -> Kind {
        match name {
            "INT" => Kind::Int,
            "SEQNUM" | "LENGTH" | "NUMINGROUP" => Kind::Count,
            "PRICE" | "QTY" | "AMT" | "FLOAT" | "PRICEOFFSET" | "PERCENTAGE" => Kind::Decimal,
            "CHAR" => Kind::Char,
            "BOOLEAN" => Kind::Boolean,
            "MULTIPLEVALUESTRING" => Kind::Several,
            "UTCTIMESTAMP" => Kind::Timestamp,
            "UTCDATEONLY" | "UTCDATE" | "LOCALMKTDATE" => Kind::Date,
            "DATA" => Kind::Data,
            _ => Kind::Text,
        }
    }

    /// Whether a value, which is not empty, has this form.
    pub fn fits(self, value: &[u8]) -> bool {
        match self {
            Kind::Int => number(value.strip_prefix(b"-").unwrap_or(value)).is_some(),
            Kind::Count => number(value).is_some(),
            Kind::Decimal => is_decimal(value.strip_prefix(b"-").unwrap_or(value)),
            Kind::Char => value.len() == 1,
            Kind::Boolean => matches!(value, b"Y" | b"N"),
            Kind::Timestamp => parse_timestamp(value).is_some(),
            Kind::Date => value.len() == 8 && number(value).is_some(),
            Kind::Several | Kind::Data | Kind::Text => true,
        }
    }
}

/// Digits with at most one point, which may be first or last.
fn is_decimal(digits: &[u8]) -> bool {
    let points = digits.iter().filter(|&&byte| byte == b'.').count();
    let figures = digits.iter().filter(|byte| byte.is_ascii_digit()).count();
    points <= 1 && figures >= 1 && points + figures == digits.len()
}

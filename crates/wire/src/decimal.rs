//! Exact decimal numbers: prices and amounts as they are on the wire.
//!
//! A price never becomes a float. It is read into a mantissa and a scale, and then either divided
//! exactly into a number of ticks (an amount: of lots), or rejected.

use crate::digits::{DIGITS_MAX, count, put_u64};
use std::cmp::Ordering;
use std::fmt;

/// Maximum number of digits of a mantissa. Every such mantissa, and the sum of ten, fits an `i64`.
pub const DECIMAL_DIGITS_MAX: usize = 18;

/// Longest text; a longer one could only be padding with zeros.
pub const DECIMAL_BYTES_MAX: usize = 40;

const MANTISSA_END: i64 = 10i64.pow(DECIMAL_DIGITS_MAX as u32);

/// `mantissa / 10^scale`, exact.
///
/// Always canonical (no trailing zero after the point, no negative zero), so that equal numbers are
/// equal values: `"1.50"` and `"1.5"` are the same `Decimal`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Decimal {
    mantissa: i64,
    scale: u8,
}

/// Why a text is not a [`Decimal`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecimalError {
    /// Not of the form `-?digits(.digits)?`.
    #[error("not a decimal number: write digits with at most one point between them, such as 0.25")]
    NotANumber,
    /// More than [`DECIMAL_DIGITS_MAX`] digits, before or after the point or in total.
    #[error("more than {DECIMAL_DIGITS_MAX} digits (limit decimal_digits_max)")]
    TooManyDigits,
    /// A text longer than [`DECIMAL_BYTES_MAX`].
    #[error("longer than {DECIMAL_BYTES_MAX} bytes (limit decimal_bytes_max)")]
    TooLong,
}

/// Why a number can't be counted in a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// The number lies between two multiples of the unit.
    #[error("not a multiple of the unit")]
    NotAMultiple,
    /// The count does not fit an `i64`, or the number has more than [`DECIMAL_DIGITS_MAX`] digits.
    #[error("too large to be counted exactly in this unit")]
    Overflow,
    /// The unit is zero or negative.
    #[error("the unit is not positive")]
    UnitNotPositive,
}

impl Decimal {
    /// Zero.
    pub const ZERO: Decimal = Decimal { mantissa: 0, scale: 0 };
    /// 1.
    pub const ONE: Decimal = Decimal { mantissa: 1, scale: 0 };

    /// `mantissa / 10^scale` in canonical form; `None` if it needs more than [`DECIMAL_DIGITS_MAX`]
    /// digits in total or after the point.
    pub fn new(mantissa: i64, scale: u8) -> Option<Decimal> {
        Decimal::normalised(i128::from(mantissa), scale)
    }

    fn normalised(mut wide: i128, mut scale: u8) -> Option<Decimal> {
        // A wide division costs as much as the rest of a price's encoding, and is rarely needed.
        let mut mantissa = loop {
            match i64::try_from(wide) {
                Ok(narrow) => break narrow,
                Err(_) if scale > 0 && wide % 10 == 0 => (wide, scale) = (wide / 10, scale - 1),
                Err(_) => return None,
            }
        };
        while scale > 0 && mantissa % 10 == 0 {
            if mantissa == 0 {
                return Some(Decimal::ZERO);
            }
            mantissa /= 10;
            scale -= 1;
        }
        let fits = fits(mantissa) && usize::from(scale) <= DECIMAL_DIGITS_MAX;
        fits.then_some(Decimal { mantissa, scale })
    }

    /// Parses `-?digits(.digits)?`. No exponent, no plus sign, no bare point; leading and trailing
    /// zeros are allowed.
    pub fn parse(text: &str) -> Result<Decimal, DecimalError> {
        let bytes = text.as_bytes();
        if bytes.len() > DECIMAL_BYTES_MAX {
            return Err(DecimalError::TooLong);
        }
        let (negative, digits) = match bytes {
            [b'-', rest @ ..] => (true, rest),
            _ => (false, bytes),
        };
        let point = digits.iter().position(|&b| b == b'.');
        let (whole, fraction) = match point {
            Some(at) => (&digits[..at], &digits[at + 1..]),
            None => (digits, &digits[..0]),
        };
        if whole.is_empty() || (point.is_some() && fraction.is_empty()) {
            return Err(DecimalError::NotANumber);
        }
        // Remove trailing zeros before counting the digits, so that the result is canonical.
        let kept = fraction.iter().rposition(|&b| b != b'0').map_or(0, |at| at + 1);
        let mut mantissa = 0u64;
        let mut too_many = kept > DECIMAL_DIGITS_MAX;
        for &byte in whole.iter().chain(&fraction[..kept]) {
            if !byte.is_ascii_digit() {
                return Err(DecimalError::NotANumber);
            }
            if !too_many {
                mantissa = mantissa * 10 + u64::from(byte - b'0');
                too_many = mantissa >= MANTISSA_END as u64;
            }
        }
        if too_many {
            return Err(DecimalError::TooManyDigits);
        }
        let mantissa = if negative { -(mantissa as i64) } else { mantissa as i64 };
        Ok(Decimal { mantissa, scale: kept as u8 })
    }

    /// The digits as one integer, with the sign; below 10^18 in size.
    pub fn mantissa(self) -> i64 {
        self.mantissa
    }

    /// Number of the mantissa's digits after the point; at most 18.
    pub fn scale(self) -> u8 {
        self.scale
    }

    /// This number in `unit`s, exactly: a price in ticks, an amount in lots.
    pub fn in_units_of(self, unit: Decimal) -> Result<i64, UnitError> {
        if unit.mantissa <= 0 {
            return Err(UnitError::UnitNotPositive);
        }
        // The usual case needs no wide division: a price has no more decimal places than its tick.
        if unit.scale >= self.scale {
            let factor = 10i64.pow(u32::from(unit.scale - self.scale));
            if let Some(scaled) = self.mantissa.checked_mul(factor) {
                return match scaled % unit.mantissa {
                    0 => Ok(scaled / unit.mantissa),
                    _ => Err(UnitError::NotAMultiple),
                };
            }
        }
        // Both products stay below 10^36 and so within an i128.
        let widen = |d: Decimal, other: Decimal| {
            i128::from(d.mantissa) * 10i128.pow(u32::from(other.scale.saturating_sub(d.scale)))
        };
        let (number, unit) = (widen(self, unit), widen(unit, self));
        match number % unit {
            0 => i64::try_from(number / unit).map_err(|_| UnitError::Overflow),
            _ => Err(UnitError::NotAMultiple),
        }
    }

    /// `n` times `unit`; the inverse of [`Decimal::in_units_of`], whose results never fail here.
    pub fn from_units(n: i64, unit: Decimal) -> Result<Decimal, UnitError> {
        if unit.mantissa <= 0 {
            return Err(UnitError::UnitNotPositive);
        }
        if let Some(mantissa) = n.checked_mul(unit.mantissa).filter(|_| unit.scale == 0) {
            let whole = Decimal { mantissa, scale: 0 };
            return fits(mantissa).then_some(whole).ok_or(UnitError::Overflow);
        }
        Decimal::normalised(i128::from(n) * i128::from(unit.mantissa), unit.scale)
            .ok_or(UnitError::Overflow)
    }

    /// Appends the canonical text: no trailing zero after the point, `0.5` and not `.5`.
    #[inline]
    pub fn write_to(self, out: &mut Vec<u8>) {
        write_scaled(out, self.mantissa, self.scale);
    }

    /// Appends the canonical text of `n` times `unit`, like [`Decimal::from_units`] and
    /// [`Decimal::write_to`] together, in half of the time.
    #[inline]
    pub fn write_units(out: &mut Vec<u8>, n: i64, unit: Decimal) -> Result<(), UnitError> {
        match n.checked_mul(unit.mantissa) {
            Some(mantissa) if unit.mantissa > 0 && fits(mantissa) => {
                write_scaled(out, mantissa, unit.scale);
            }
            _ => Decimal::from_units(n, unit)?.write_to(out),
        }
        Ok(())
    }
}

/// Whether it has few enough digits.
fn fits(mantissa: i64) -> bool {
    mantissa.unsigned_abs() < MANTISSA_END as u64
}

/// Writes directly to the final place: copying bytes that were just written one by one would wait
/// for them.
#[inline]
fn write_scaled(out: &mut Vec<u8>, mantissa: i64, scale: u8) {
    let (mut digits, mut scale) = (mantissa.unsigned_abs(), usize::from(scale));
    while scale > 0 && digits.is_multiple_of(10) {
        digits /= 10;
        scale -= 1;
    }
    let is_negative = usize::from(mantissa < 0);
    let length = is_negative + count(digits).max(scale + 1) + usize::from(scale > 0);
    let start = out.len();
    // The sign is already written.
    out.extend_from_slice(&[b'-'; DIGITS_MAX + 2]);
    let text = &mut out[start..start + length];
    let mut at = length;
    if scale > 0 {
        for _ in 0..scale {
            at -= 1;
            text[at] = b'0' + (digits % 10) as u8;
            digits /= 10;
        }
        at -= 1;
        text[at] = b'.';
    }
    put_u64(text, at, digits);
    out.truncate(start + length);
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.mantissa < 0 { "-" } else { "" };
        let digits = self.mantissa.unsigned_abs();
        if self.scale == 0 {
            return write!(f, "{sign}{digits}");
        }
        let (unit, width) = (10u64.pow(u32::from(self.scale)), usize::from(self.scale));
        write!(f, "{sign}{}.{:0width$}", digits / unit, digits % unit)
    }
}

impl std::str::FromStr for Decimal {
    type Err = DecimalError;

    fn from_str(text: &str) -> Result<Decimal, DecimalError> {
        Decimal::parse(text)
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Decimal) -> Ordering {
        let widen = |d: &Decimal, other: &Decimal| {
            i128::from(d.mantissa) * 10i128.pow(u32::from(other.scale.saturating_sub(d.scale)))
        };
        widen(self, other).cmp(&widen(other, self))
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Decimal) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Only as a string: a number in a configuration file would already be a float.
impl serde::Serialize for Decimal {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Decimal {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Decimal, D::Error> {
        struct FromText;
        impl serde::de::Visitor<'_> for FromText {
            type Value = Decimal;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a decimal number in quotes, such as \"0.01\"")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Decimal, E> {
                Decimal::parse(text).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(FromText)
    }
}

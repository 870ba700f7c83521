//! Tradable instruments: codes, ticks and lots, from a TOML file.

use crate::setup::limits::INSTRUMENTS_MAX;
use engine::{InstrumentSettings, InstrumentState, PRICE_TICKS_MAX, QUANTITY_LOTS_MAX};
use serde::Deserialize;
use std::path::Path;
use wire::Decimal;
use wire::decimal::{DECIMAL_DIGITS_MAX, UnitError};
use wire::request::INSTRUMENT_CODE_BYTES_MAX;

/// Name of the shipped file in errors.
const SHIPPED_NAME: &str = "the instruments.toml that ships";
/// The middle of a synthetic book if the file has no `start_price`, in ticks.
const START_PRICE_TICKS: i64 = 1_000_000;

/// One instrument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instrument {
    /// As on the wire.
    pub code: String,
    /// The smallest step of a price.
    pub tick: Decimal,
    /// The smallest step of an amount.
    pub lot: Decimal,
    /// The smallest amount of an order, in lots.
    pub quantity_lots_min: u64,
    /// The largest amount of an order, in lots.
    pub quantity_lots_max: u64,
    /// The highest price of an order, in ticks.
    pub price_ticks_max: i64,
    /// The middle of the synthetic book, in ticks.
    pub start_price_ticks: i64,
    /// Lowest and highest price of a new order, in ticks; the engine enforces it.
    pub band_ticks: (i64, i64),
    /// The reference price before the first trade, in ticks; 0 is none.
    pub reference_ticks: i64,
    /// Whether it trades at the start.
    pub state: InstrumentState,
    reasons: Reasons,
}

/// Texts of rejections, made at the start so that a rejection does not allocate.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Reasons {
    price_range: String,
    tick: String,
    amount_range: String,
    lot: String,
}

/// Why a price or an amount is invalid for an instrument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation<'a> {
    /// The name of its counter.
    pub name: &'static str,
    /// Text for the client.
    pub reason: &'a str,
}

impl Instrument {
    fn new(raw: &RawInstrument) -> Result<Instrument, (&'static str, String)> {
        if raw.code.is_empty() || raw.code.len() > INSTRUMENT_CODE_BYTES_MAX {
            let why = format!("has {} bytes, not 1 to {INSTRUMENT_CODE_BYTES_MAX}", raw.code.len());
            return Err(("code", why));
        }
        if raw.code.chars().any(char::is_control) {
            return Err(("code", "has a control character; remove it".to_owned()));
        }
        for (key, unit) in [("tick", raw.tick), ("lot", raw.lot)] {
            if unit <= Decimal::ZERO {
                return Err((key, format!("is {unit}; write a number above 0, such as \"0.01\"")));
            }
        }
        let ticks_max = units_max(raw.tick, PRICE_TICKS_MAX);
        let lots_max = units_max(raw.lot, QUANTITY_LOTS_MAX as i64);
        let ticks = |key, price, default| count(key, price, "tick", raw.tick, ticks_max, default);
        let lots = |key, amount, default| count(key, amount, "lot", raw.lot, lots_max, default);
        let quantity_lots_min = lots("amount_min", raw.amount_min, 1)?;
        let quantity_lots_max = lots("amount_max", raw.amount_max, lots_max)?;
        if quantity_lots_min > quantity_lots_max {
            return Err(("amount_min", "is above amount_max; no order could be sent".to_owned()));
        }
        let price_ticks_max = ticks("price_max", raw.price_max, ticks_max)?;
        let start_price_ticks = ticks("start_price", raw.start_price, START_PRICE_TICKS)?;
        let band_low = ticks("band_low", raw.band_low, 1)?;
        let band_high = ticks("band_high", raw.band_high, PRICE_TICKS_MAX)?;
        if band_low > band_high {
            return Err(("band_low", "is above band_high; no order could be sent".to_owned()));
        }
        let code = &raw.code;
        let reasons = Reasons {
            price_range: range("price", code, 1, price_ticks_max, raw.tick),
            tick: format!("price is not a multiple of the tick {} of {code}", raw.tick),
            amount_range: range("amount", code, quantity_lots_min, quantity_lots_max, raw.lot),
            lot: format!("amount is not a multiple of the lot {} of {code}", raw.lot),
        };
        Ok(Instrument {
            code: raw.code.clone(),
            tick: raw.tick,
            lot: raw.lot,
            quantity_lots_min: quantity_lots_min.cast_unsigned(),
            quantity_lots_max: quantity_lots_max.cast_unsigned(),
            price_ticks_max,
            start_price_ticks,
            band_ticks: (band_low, band_high),
            reference_ticks: ticks("reference_price", raw.reference_price, 0)?,
            state: match raw.state {
                RawState::Open => InstrumentState::Open,
                RawState::Halted => InstrumentState::Halted,
                RawState::Closed => InstrumentState::Closed,
            },
            reasons,
        })
    }

    /// The settings that put the instrument with this number into this state and keep its reference
    /// price.
    pub(crate) fn settings(&self, instrument: u16, state: InstrumentState) -> InstrumentSettings {
        let (band_low_ticks, band_high_ticks) = self.band_ticks;
        let (tag, reference_ticks) = (0, 0);
        InstrumentSettings {
            instrument,
            tag,
            state,
            band_low_ticks,
            band_high_ticks,
            reference_ticks,
        }
    }

    /// A price in ticks.
    ///
    /// # Errors
    /// If it is not positive, too high, or not a multiple of the tick.
    #[inline]
    pub fn price_ticks(&self, price: Decimal) -> Result<i64, Violation<'_>> {
        let out_of_range = Violation { name: "bad_price", reason: &self.reasons.price_range };
        match price.in_units_of(self.tick) {
            Ok(ticks) if (1..=self.price_ticks_max).contains(&ticks) => Ok(ticks),
            Err(UnitError::NotAMultiple) if price > Decimal::ZERO => {
                Err(Violation { name: "tick", reason: &self.reasons.tick })
            }
            _ => Err(out_of_range),
        }
    }

    /// An amount in lots.
    ///
    /// # Errors
    /// If it is not positive, too small, too large, or not a multiple of the lot.
    #[inline]
    pub fn quantity_lots(&self, amount: Decimal) -> Result<u64, Violation<'_>> {
        let out_of_range = Violation { name: "bad_amount", reason: &self.reasons.amount_range };
        let lots = match amount.in_units_of(self.lot) {
            Ok(lots) => u64::try_from(lots).map_err(|_| out_of_range)?,
            Err(UnitError::NotAMultiple) if amount > Decimal::ZERO => {
                return Err(Violation { name: "lot", reason: &self.reasons.lot });
            }
            Err(_) => return Err(out_of_range),
        };
        match (self.quantity_lots_min..=self.quantity_lots_max).contains(&lots) {
            true => Ok(lots),
            false => Err(out_of_range),
        }
    }

    /// A price from ticks. Exact, because the ticks came from [`Instrument::price_ticks`] or from a
    /// start book that was checked against the same bound.
    #[inline]
    pub fn price(&self, ticks: i64) -> Decimal {
        Decimal::from_units(ticks, self.tick).unwrap_or_default()
    }

    /// An amount from lots, exact for the same reason.
    #[inline]
    pub fn amount(&self, lots: u64) -> Decimal {
        Decimal::from_units(lots as i64, self.lot).unwrap_or_default()
    }
}

/// The largest count of a unit: within the engine's range, and such that this and every smaller
/// count can be written as a decimal.
fn units_max(unit: Decimal, engine_max: i64) -> i64 {
    engine_max.min((10i64.pow(DECIMAL_DIGITS_MAX as u32) - 1) / unit.mantissa())
}

/// The value of an optional key in its unit.
fn count(
    key: &'static str,
    number: Option<Decimal>,
    unit_key: &str,
    unit: Decimal,
    max: i64,
    default: i64,
) -> Result<i64, (&'static str, String)> {
    let Some(number) = number else { return Ok(default) };
    match number.in_units_of(unit) {
        Ok(units) if (1..=max).contains(&units) => Ok(units),
        Ok(_) => {
            Err((key, format!("is {number}; it must be from 1 to {max} times the {unit_key}")))
        }
        Err(why) => Err((key, format!("is {number}, with {unit_key} {unit}: {why}"))),
    }
}

fn range(what: &str, code: &str, min: i64, max: i64, unit: Decimal) -> String {
    let decimal = |units| Decimal::from_units(units, unit).unwrap_or_default();
    format!("{what} is out of range: {code} takes {} to {}", decimal(min), decimal(max))
}

/// The instruments of an exchange, in the order of their file; the index is the instrument's
/// number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruments {
    all: Vec<Instrument>,
    /// Numbers, sorted by code.
    by_code: Vec<u16>,
    unknown: String,
}

/// Why a file of instruments is invalid.
#[derive(Debug, thiserror::Error)]
pub enum InstrumentsError {
    /// It can't be read.
    #[error("can't read the instruments from {file}: {source}; name a TOML file that exists")]
    Unreadable {
        /// The file.
        file: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// It is not TOML, or a key is missing, unknown or of the wrong kind.
    #[error("{file}: {why}")]
    Malformed {
        /// The file.
        file: String,
        /// With line and column.
        why: String,
    },
    /// A value is invalid.
    #[error("{file}: instrument {number} ({code:?}): {key} {why}")]
    BadKey {
        /// The file.
        file: String,
        /// Position of the `[[instrument]]` in the file, from 1.
        number: usize,
        /// Its code.
        code: String,
        /// The key.
        key: &'static str,
        /// The fault and the remedy.
        why: String,
    },
    /// No instruments, or too many.
    #[error("{file}: {count} instruments; write 1 to {INSTRUMENTS_MAX} (limit instruments_max)")]
    BadCount {
        /// The file.
        file: String,
        /// Number of instruments.
        count: usize,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    #[serde(default)]
    instrument: Vec<RawInstrument>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawInstrument {
    code: String,
    tick: Decimal,
    lot: Decimal,
    amount_min: Option<Decimal>,
    amount_max: Option<Decimal>,
    price_max: Option<Decimal>,
    start_price: Option<Decimal>,
    band_low: Option<Decimal>,
    band_high: Option<Decimal>,
    reference_price: Option<Decimal>,
    #[serde(default)]
    state: RawState,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RawState {
    #[default]
    Open,
    Halted,
    Closed,
}

impl Instruments {
    /// The shipped instruments.
    pub fn shipped() -> Instruments {
        Instruments::parse(SHIPPED_NAME, include_str!("instruments.toml"))
            .expect("a test reads the file that ships")
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`InstrumentsError`], with the file's name.
    pub fn read(path: &Path) -> Result<Instruments, InstrumentsError> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|source| InstrumentsError::Unreadable { file: file.clone(), source })?;
        Instruments::parse(&file, &text)
    }

    /// Takes a file's text; `file` is its name for errors.
    ///
    /// # Errors
    /// [`InstrumentsError`].
    pub fn parse(file: &str, text: &str) -> Result<Instruments, InstrumentsError> {
        let file = file.to_owned();
        let raw: RawFile = match toml::from_str(text) {
            Ok(raw) => raw,
            Err(error) => {
                return Err(InstrumentsError::Malformed { file, why: error.to_string() });
            }
        };
        let count = raw.instrument.len();
        if !(1..=INSTRUMENTS_MAX).contains(&count) {
            return Err(InstrumentsError::BadCount { file, count });
        }
        let mut all: Vec<Instrument> = Vec::with_capacity(count);
        for (index, raw) in raw.instrument.iter().enumerate() {
            let made = match all.iter().any(|other| other.code == raw.code) {
                true => Err(("code", "stands twice; remove one".to_owned())),
                false => Instrument::new(raw),
            };
            let (number, code) = (index + 1, raw.code.clone());
            all.push(made.map_err(|(key, why)| InstrumentsError::BadKey {
                file: file.clone(),
                number,
                code,
                key,
                why,
            })?);
        }
        let mut by_code: Vec<u16> = (0..count as u16).collect();
        by_code.sort_by(|a, b| all[usize::from(*a)].code.cmp(&all[usize::from(*b)].code));
        let codes: Vec<&str> = all.iter().take(8).map(|one| one.code.as_str()).collect();
        let more = if count > codes.len() { " and more" } else { "" };
        let unknown = format!("unknown instrument; there are {}{more}", codes.join(", "));
        Ok(Instruments { all, by_code, unknown })
    }

    /// Settings for the engine at the start: of each instrument that differs from its default.
    pub(crate) fn settings(&self) -> impl Iterator<Item = InstrumentSettings> {
        (0..).zip(&self.all).filter_map(|(number, one)| {
            let settings = one.settings(number, one.state);
            let settings = InstrumentSettings { reference_ticks: one.reference_ticks, ..settings };
            let first = (InstrumentState::Open, (1, PRICE_TICKS_MAX), 0);
            ((one.state, one.band_ticks, one.reference_ticks) != first).then_some(settings)
        })
    }

    /// All instruments by number.
    pub fn all(&self) -> &[Instrument] {
        &self.all
    }

    /// The number of instruments.
    pub fn count(&self) -> u16 {
        self.all.len() as u16
    }

    /// The number of an instrument.
    ///
    /// # Errors
    /// If no instrument has this code.
    #[inline]
    pub fn number(&self, code: &str) -> Result<u16, Violation<'_>> {
        self.by_code
            .binary_search_by(|number| self.get(*number).code.as_str().cmp(code))
            .map(|position| self.by_code[position])
            .map_err(|_| Violation { name: "unknown_instrument", reason: &self.unknown })
    }

    /// The instrument with a number from [`Instruments::number`].
    #[inline]
    pub fn get(&self, number: u16) -> &Instrument {
        &self.all[usize::from(number)]
    }
}

#[cfg(test)]
#[path = "instruments_tests.rs"]
mod tests;

//! What a trader may do, and what he knows of instruments: a file in TOML.
//!
//! ```toml
//! [limits]
//! amount_max = "10"             # of one order
//! notional_max = "1000000"      # price times amount of one order
//! position_max = "100"          # long or short, were all that is open to trade
//! open_orders_max = 1000
//! messages_per_second_max = 200000
//! collar_basis_points = 500     # so far past the middle of the local book a price may be
//!
//! [[instrument]]                # reference data; what the exchange says of an instrument must be the same
//! code = "BTC_USDT"
//! tick = "0.01"
//! lot = "0.00001"
//! ```

use crate::own_orders::OWN_ORDERS_MAX;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;
use wire::Decimal;

/// A profile as it stands in its file; what is left out has the default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Profile {
    /// What one trader may do.
    pub limits: Limits,
    /// What is known of instruments. Where any is listed, no other is traded.
    pub instrument: Vec<Reference>,
}

/// What one trader may do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// The largest order.
    pub amount_max: Decimal,
    /// The largest price times amount of one order.
    pub notional_max: Decimal,
    /// The largest position, long or short, were all that is open to trade. An amendment counts beside the order that it amends, which may
    /// trade while it is on its way: leave room for one more than is quoted.
    pub position_max: Decimal,
    /// Orders that live at the same time, at most [`OWN_ORDERS_MAX`].
    pub open_orders_max: u32,
    /// Messages of a second of the trader's clock. Cancels always pass.
    pub messages_per_second_max: u32,
    /// So far past the middle of the local book a price may be, in ten-thousandths of it: above to buy, below to sell.
    pub collar_basis_points: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        let whole = |n: i64| Decimal::new(n, 0).unwrap_or_default();
        Limits {
            amount_max: whole(10),
            notional_max: whole(10_000_000),
            position_max: whole(1_000),
            open_orders_max: OWN_ORDERS_MAX as u32,
            messages_per_second_max: 1_000_000,
            collar_basis_points: 500,
        }
    }
}

/// What is known of an instrument.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// Its code.
    pub code: String,
    /// The smallest step of a price.
    pub tick: Decimal,
    /// The smallest step of an amount.
    pub lot: Decimal,
}

/// Why there is no risk, and so no trading.
#[derive(Debug, thiserror::Error)]
pub enum RiskError {
    /// The profile can't be read.
    #[error("the risk profile {path} can't be read: {why}")]
    Unreadable {
        /// Its path.
        path: String,
        /// What is wrong, and where.
        why: String,
    },
    /// A limit is out of its range.
    #[error("the risk profile's {key} is {value}: {why}")]
    Limit {
        /// The key.
        key: &'static str,
        /// As given.
        value: String,
        /// What it may be.
        why: String,
    },
    /// The profile lists instruments, and not this one.
    #[error("the risk profile has no reference data of {code}; add an [[instrument]] for it")]
    Unlisted {
        /// What was to be traded.
        code: String,
    },
    /// The exchange counts in other units.
    #[error(
        "reference data of {code} differ: tick {tick} and lot {lot} in the profile, {exchange_tick} and {exchange_lot} at the \
         exchange; correct the profile"
    )]
    Differs {
        /// The instrument.
        code: String,
        /// The profile's.
        tick: Decimal,
        /// The profile's.
        lot: Decimal,
        /// The exchange's.
        exchange_tick: Decimal,
        /// The exchange's.
        exchange_lot: Decimal,
    },
}

impl Profile {
    /// Reads a profile file.
    ///
    /// # Errors
    /// If it can't be read, or isn't one.
    pub fn read(path: &Path) -> Result<Profile, RiskError> {
        let unreadable =
            |why: String| RiskError::Unreadable { path: path.display().to_string(), why };
        let text = std::fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
        toml::from_str(&text).map_err(|error| unreadable(error.to_string()))
    }

    /// Writes it to a file, with everything that was left out; read again it is the same.
    ///
    /// # Errors
    /// What the file system says.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let text = toml::to_string(self).map_err(io::Error::other)?;
        std::fs::write(path, text)
    }
}

pub(crate) fn out_of_range(key: &'static str, value: &dyn ToString, why: String) -> RiskError {
    RiskError::Limit { key, value: value.to_string(), why }
}

/// How many whole lots fit into an amount.
pub(crate) fn whole_units(
    key: &'static str,
    amount: Decimal,
    lot: Decimal,
) -> Result<u64, RiskError> {
    let ratio = ratio(amount, lot).filter(|ratio| *ratio >= 1);
    let why = || format!("it must be at least one lot, {lot}");
    Ok(u64::try_from(ratio.ok_or_else(|| out_of_range(key, &amount, why()))?).unwrap_or(u64::MAX))
}

/// The notional limit in ticks times lots.
pub(crate) fn notional_max(
    notional: Decimal,
    tick: Decimal,
    lot: Decimal,
) -> Result<u128, RiskError> {
    // Step by step, each rounded down: at most one tick's worth of a lot is lost.
    let product = i128::from(tick.mantissa()) * i128::from(lot.mantissa());
    let scale = u32::from(tick.scale()) + u32::from(lot.scale());
    let scaled = i128::from(notional.mantissa())
        .checked_mul(10i128.pow(scale.saturating_sub(notional.scale().into()).min(38)));
    let divisor =
        product.checked_mul(10i128.pow(u32::from(notional.scale()).saturating_sub(scale)));
    let units = match (scaled, divisor) {
        (Some(scaled), Some(divisor)) if divisor > 0 => scaled / divisor,
        // Larger than any order could be.
        (None, _) => i128::MAX,
        _ => 0,
    };
    match u128::try_from(units) {
        Ok(units) if units > 0 => Ok(units),
        _ => Err(out_of_range("notional_max", &notional, "it must be above 0".to_owned())),
    }
}

/// How often `unit` fits into `number`.
fn ratio(number: Decimal, unit: Decimal) -> Option<i128> {
    let widen = |d: Decimal, other: Decimal| {
        i128::from(d.mantissa()) * 10i128.pow(u32::from(other.scale().saturating_sub(d.scale())))
    };
    let (number, unit) = (widen(number, unit), widen(unit, number));
    (unit > 0 && number >= 0).then(|| number / unit)
}

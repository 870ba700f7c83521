//! A trader's limits and its reference data: a TOML file.
//!
//! ```toml
//! [limits]
//! amount_max = "10"             # of one order
//! notional_max = "1000000"      # price times amount of one order
//! position_max = "100"          # long or short, if everything open traded
//! open_orders_max = 1000
//! messages_per_second_max = 200000
//! collar_basis_points = 500     # distance of a price beyond the middle of the local book
//!
//! [[instrument]]                # reference data; the exchange's must be equal
//! code = "BTC_USDT"
//! tick = "0.01"
//! lot = "0.00001"
//! ```

use crate::strategy::own_orders::OWN_ORDERS_MAX;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;
use wire::Decimal;

/// A profile; absent keys have default values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Profile {
    /// The trader's limits.
    pub limits: Limits,
    /// Reference data. If there are any, no other instrument may be traded.
    pub instrument: Vec<Reference>,
}

/// The limits of one trader.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// The largest order.
    pub amount_max: Decimal,
    /// The largest price times amount of one order.
    pub notional_max: Decimal,
    /// The largest position, long or short, if everything open traded. An amendment counts in
    /// addition to its order, which may trade while it is in flight: leave room for one quote more.
    pub position_max: Decimal,
    /// Limit on open orders, at most [`OWN_ORDERS_MAX`].
    pub open_orders_max: u32,
    /// Limit on messages per second of the trader's clock. Cancels always pass.
    pub messages_per_second_max: u32,
    /// Distance beyond the middle of the local book, in basis points: above it for bids, below it
    /// for offers.
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

/// Reference data of an instrument.
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

/// Why there is no risk check, and so no trading.
#[derive(Debug, thiserror::Error)]
pub enum RiskError {
    /// The profile can't be read.
    #[error("the risk profile {path} can't be read: {why}")]
    Unreadable {
        /// Its path.
        path: String,
        /// The reason, with the place.
        why: String,
    },
    /// A limit is out of range.
    #[error("the risk profile's {key} is {value}: {why}")]
    Limit {
        /// The key.
        key: &'static str,
        /// As given.
        value: String,
        /// The values that are allowed.
        why: String,
    },
    /// The profile lists instruments, but not this one.
    #[error("the risk profile has no reference data of {code}; add an [[instrument]] for it")]
    Unlisted {
        /// The instrument to trade.
        code: String,
    },
    /// The exchange has another tick or lot.
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
    /// Reads a profile.
    ///
    /// # Errors
    /// If it can't be read or decoded.
    pub fn read(path: &Path) -> Result<Profile, RiskError> {
        let unreadable =
            |why: String| RiskError::Unreadable { path: path.display().to_string(), why };
        let text = std::fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
        toml::from_str(&text).map_err(|error| unreadable(error.to_string()))
    }

    /// Writes it with all default values; reading that file gives the same profile.
    ///
    /// # Errors
    /// The file system's.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let text = toml::to_string(self).map_err(io::Error::other)?;
        std::fs::write(path, text)
    }
}

pub(crate) fn out_of_range(key: &'static str, value: &dyn ToString, why: String) -> RiskError {
    RiskError::Limit { key, value: value.to_string(), why }
}

/// Number of whole lots in an amount.
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
    // In steps, each rounded down: at most one tick's worth of a lot is lost.
    let product = i128::from(tick.mantissa()) * i128::from(lot.mantissa());
    let scale = u32::from(tick.scale()) + u32::from(lot.scale());
    let scaled = i128::from(notional.mantissa())
        .checked_mul(10i128.pow(scale.saturating_sub(notional.scale().into()).min(38)));
    let divisor =
        product.checked_mul(10i128.pow(u32::from(notional.scale()).saturating_sub(scale)));
    let units = match (scaled, divisor) {
        (Some(scaled), Some(divisor)) if divisor > 0 => scaled / divisor,
        // Larger than any order.
        (None, _) => i128::MAX,
        _ => 0,
    };
    match u128::try_from(units) {
        Ok(units) if units > 0 => Ok(units),
        _ => Err(out_of_range("notional_max", &notional, "it must be above 0".to_owned())),
    }
}

/// `number` divided by `unit`.
fn ratio(number: Decimal, unit: Decimal) -> Option<i128> {
    let widen = |d: Decimal, other: Decimal| {
        i128::from(d.mantissa()) * 10i128.pow(u32::from(other.scale().saturating_sub(d.scale())))
    };
    let (number, unit) = (widen(number, unit), widen(unit, number));
    (unit > 0 && number >= 0).then(|| number / unit)
}

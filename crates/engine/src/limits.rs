//! Capacities of an engine.

use std::fmt;

/// The highest value of the limits in [`EngineLimits`] that count orders or prices, 2^24. With it,
/// an engine has 1 GiB of orders and 384 MiB for finding them by id.
pub const OPEN_ORDERS_MAX: u32 = 1 << 24;

/// The highest product of [`EngineLimits::accounts_max`] and the number of instruments, 2^24: 640
/// MiB of positions.
pub const POSITIONS_MAX: u32 = 1 << 24;

/// Capacities of an engine. All memory is allocated, and written to, at construction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineLimits {
    /// Resting orders and waiting stops, over all instruments, 1 to [`OPEN_ORDERS_MAX`].
    pub open_orders_max: u32,
    /// Prices with resting orders, per side and instrument, 1 to [`OPEN_ORDERS_MAX`].
    pub price_levels_max: u32,
    /// Prices with waiting stops, per side and instrument, 0 to [`OPEN_ORDERS_MAX`].
    pub stop_levels_max: u32,
    /// Open orders and stops of [`crate::TimeInForce::GoodTillDate`], 0 to [`OPEN_ORDERS_MAX`].
    pub expiring_orders_max: u32,
    /// Accounts, numbered from 0; times the number of instruments 0 to [`POSITIONS_MAX`]. With 0,
    /// the engine has no accounts: it accepts any number, checks no account's risk, and prevents no
    /// self-trade.
    pub accounts_max: u32,
}

impl EngineLimits {
    /// Limits for this number of open orders and prices, without stops, dates or accounts.
    #[must_use]
    pub fn matching_only(open_orders_max: u32, price_levels_max: u32) -> EngineLimits {
        EngineLimits {
            open_orders_max,
            price_levels_max,
            stop_levels_max: 0,
            expiring_orders_max: 0,
            accounts_max: 0,
        }
    }

    /// Checks that an engine with this number of instruments can be made with these limits. Call it
    /// before [`crate::Engine::new`] for untrusted limits.
    ///
    /// # Errors
    /// The limit that is out of range.
    pub fn check(&self, instruments: u16) -> Result<(), LimitsError> {
        let positions = u64::from(self.accounts_max) * u64::from(instruments);
        for (name, value, min, max) in [
            ("open_orders_max", self.open_orders_max.into(), 1, OPEN_ORDERS_MAX),
            ("price_levels_max", self.price_levels_max.into(), 1, OPEN_ORDERS_MAX),
            ("stop_levels_max", self.stop_levels_max.into(), 0, OPEN_ORDERS_MAX),
            ("expiring_orders_max", self.expiring_orders_max.into(), 0, OPEN_ORDERS_MAX),
            ("accounts_max", self.accounts_max.into(), 0, POSITIONS_MAX),
            ("accounts_max times the number of instruments", positions, 0, POSITIONS_MAX),
        ] {
            if !(min..=max.into()).contains(&value) {
                return Err(LimitsError { name, value, min, max: max.into() });
            }
        }
        Ok(())
    }
}

/// A limit that is out of range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitsError {
    /// The field of [`EngineLimits`].
    pub name: &'static str,
    /// Its value.
    pub value: u64,
    min: u64,
    max: u64,
}

impl fmt::Display for LimitsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LimitsError { name, value, min, max } = self;
        write!(f, "{name} is {value}, but must be from {min} to {max}: set it in this range")
    }
}

impl std::error::Error for LimitsError {}

//! Accounts' limits: from a TOML file in the instruments' units to settings of the engine.

use crate::setup::instruments::{Instrument, Instruments};
use engine::{
    AccountSettings, Command, POSITION_LOTS_MAX, PositionSettings, QUANTITY_LOTS_MAX, SelfTrade,
};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use wire::Decimal;

/// The limits of all accounts. Without a file no account has a limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Risk {
    default: AccountRisk,
    accounts: BTreeMap<String, AccountRisk>,
}

/// The limits of one account, without its number.
#[derive(Clone, Debug, PartialEq, Eq)]
struct AccountRisk {
    settings: AccountSettings,
    /// By instrument.
    positions: BTreeMap<u16, PositionSettings>,
}

impl Default for AccountRisk {
    fn default() -> AccountRisk {
        AccountRisk { settings: AccountSettings::unlimited(0), positions: BTreeMap::new() }
    }
}

/// An account in the engine before this exchange began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KnownAccount {
    /// Whether the engine has all its first settings, including starting positions.
    pub all: bool,
    /// `None`: no limits.
    pub settings: Option<AccountSettings>,
    /// By instrument, where they differ from the engine's default.
    pub positions: BTreeMap<u16, PositionSettings>,
}

/// Why a file of limits is invalid.
#[derive(Debug, thiserror::Error)]
pub enum RiskError {
    /// It can't be read.
    #[error("can't read the risk settings from {file}: {source}; name a TOML file that exists")]
    Unreadable {
        /// The file.
        file: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// It is not TOML, or a key is unknown or of the wrong kind.
    #[error("{file}: {why}")]
    Malformed {
        /// The file.
        file: String,
        /// With line and column.
        why: String,
    },
    /// A value is out of its range.
    #[error("{file}: [{table}] {key} {why}")]
    BadKey {
        /// The file.
        file: String,
        /// `default`, or `account.` and its id.
        table: String,
        /// The key.
        key: String,
        /// The fault and the remedy.
        why: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRisk {
    #[serde(default)]
    default: RawAccount,
    #[serde(default)]
    account: BTreeMap<String, RawAccount>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawAccount {
    amount_max: Option<Decimal>,
    notional_max: Option<Decimal>,
    collar: Option<Decimal>,
    open_orders_max: Option<u32>,
    messages_per_second_max: Option<u32>,
    self_trade: Option<RawSelfTrade>,
    #[serde(default)]
    position: BTreeMap<String, RawPosition>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RawSelfTrade {
    Allowed,
    CancelNewest,
    CancelOldest,
    CancelBoth,
    Decrement,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPosition {
    long_max: Option<Decimal>,
    short_max: Option<Decimal>,
    start: Option<Decimal>,
}

/// A key and its fault.
type BadKey = (String, String);

impl RawAccount {
    /// Fills missing keys from the default.
    fn or(self, default: &RawAccount) -> RawAccount {
        let mut position = default.position.clone();
        for (code, one) in self.position {
            let merged = default.position.get(&code).map_or(one, |default| one.or(default));
            position.insert(code, merged);
        }
        RawAccount {
            amount_max: self.amount_max.or(default.amount_max),
            notional_max: self.notional_max.or(default.notional_max),
            collar: self.collar.or(default.collar),
            open_orders_max: self.open_orders_max.or(default.open_orders_max),
            messages_per_second_max: self
                .messages_per_second_max
                .or(default.messages_per_second_max),
            self_trade: self.self_trade.or(default.self_trade),
            position,
        }
    }

    fn risk(&self, instruments: &Instruments) -> Result<AccountRisk, BadKey> {
        let none = AccountSettings::unlimited(0);
        let lot = |one: &Instrument| Some(one.lot);
        let tick = |one: &Instrument| Some(one.tick);
        let notional = |one: &Instrument| product(one.tick, one.lot);
        let max = i64::MAX;
        let lots_max = QUANTITY_LOTS_MAX as i64;
        let amount = in_common("amount_max", self.amount_max, instruments, "lot", lot, lots_max)?;
        let worth = "product of tick and lot";
        let worth_max =
            in_common("notional_max", self.notional_max, instruments, worth, notional, max)?;
        let collar = in_common("collar", self.collar, instruments, "tick", tick, max)?;
        let settings = AccountSettings {
            quantity_lots_max: amount.unwrap_or(none.quantity_lots_max),
            notional_max: worth_max.unwrap_or(none.notional_max),
            collar_ticks: collar.unwrap_or(none.collar_ticks),
            open_orders_max: self.open_orders_max.unwrap_or(none.open_orders_max),
            messages_per_second_max: self
                .messages_per_second_max
                .unwrap_or(none.messages_per_second_max),
            self_trade: match self.self_trade {
                None | Some(RawSelfTrade::Allowed) => SelfTrade::Allowed,
                Some(RawSelfTrade::CancelNewest) => SelfTrade::CancelNewest,
                Some(RawSelfTrade::CancelOldest) => SelfTrade::CancelOldest,
                Some(RawSelfTrade::CancelBoth) => SelfTrade::CancelBoth,
                Some(RawSelfTrade::Decrement) => SelfTrade::Decrement,
            },
            ..none
        };
        let positions = self.position.iter().map(|(code, raw)| {
            let settings = raw.settings(code, instruments)?;
            Ok::<_, BadKey>((settings.instrument, settings))
        });
        Ok(AccountRisk { settings, positions: positions.collect::<Result<_, _>>()? })
    }
}

impl RawPosition {
    fn or(self, default: &RawPosition) -> RawPosition {
        RawPosition {
            long_max: self.long_max.or(default.long_max),
            short_max: self.short_max.or(default.short_max),
            start: self.start.or(default.start),
        }
    }

    fn settings(&self, code: &str, instruments: &Instruments) -> Result<PositionSettings, BadKey> {
        let instrument = instruments
            .number(code)
            .map_err(|unknown| (format!("position.{code}"), format!("is an {}", unknown.reason)))?;
        let lot = instruments.get(instrument).lot;
        let lots = |name: &str, amount: Option<Decimal>, min: i64, default: i64| {
            let Some(amount) = amount else { return Ok(default) };
            let key = format!("position.{code}.{name}");
            match amount.in_units_of(lot) {
                Ok(lots) if (min..=POSITION_LOTS_MAX as i64).contains(&lots) => Ok(lots),
                Ok(_) => Err((key, format!("is {amount}, which is out of range"))),
                Err(why) => Err((key, format!("is {amount}, with lot {lot}: {why}"))),
            }
        };
        let most = POSITION_LOTS_MAX as i64;
        Ok(PositionSettings {
            account: 0,
            tag: 0,
            instrument,
            long_lots_max: lots("long_max", self.long_max, 0, most)?.unsigned_abs(),
            short_lots_max: lots("short_max", self.short_max, 0, most)?.unsigned_abs(),
            change_lots: lots("start", self.start, -most, 0)?,
        })
    }
}

/// A limit over all instruments, which must therefore share its unit; it is 1 to `max` units.
fn in_common(
    key: &str,
    number: Option<Decimal>,
    instruments: &Instruments,
    what: &str,
    unit_of: impl Fn(&Instrument) -> Option<Decimal>,
    max: i64,
) -> Result<Option<u64>, BadKey> {
    let Some(number) = number else { return Ok(None) };
    let bad = |why: String| Err((key.to_owned(), why));
    let unit = unit_of(instruments.get(0));
    if instruments.all().iter().any(|one| unit_of(one) != unit) {
        return bad(format!(
            "counts over all instruments, but they do not have the same {what}: give them the same, or \
             leave {key} out"
        ));
    }
    let Some(unit) = unit else {
        return bad(format!("can't be counted: the {what} has more than 18 digits"));
    };
    match number.in_units_of(unit) {
        Ok(units) if (1..=max).contains(&units) => Ok(Some(units.unsigned_abs())),
        Ok(_) => bad(format!("is {number}; it must be from 1 to {max} times the {what}, {unit}")),
        Err(why) => bad(format!("is {number}, with a {what} of {unit}: {why}")),
    }
}

fn product(a: Decimal, b: Decimal) -> Option<Decimal> {
    Decimal::new(a.mantissa().checked_mul(b.mantissa())?, a.scale().checked_add(b.scale())?)
}

impl Risk {
    /// Reads a file.
    ///
    /// # Errors
    /// [`RiskError`], with the file's name.
    pub fn read(path: &Path, instruments: &Instruments) -> Result<Risk, RiskError> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|source| RiskError::Unreadable { file: file.clone(), source })?;
        Risk::parse(&file, &text, instruments)
    }

    /// Takes a file's text; `file` is its name for errors.
    ///
    /// ```toml
    /// [default]                        # of every account; a missing key means no limit
    /// amount_max = "10"                # of an order
    /// notional_max = "1000000"         # price times amount of an order
    /// collar = "500"                   # how far past the reference price an order may go
    /// open_orders_max = 1000
    /// messages_per_second_max = 5000
    /// # allowed, cancel-newest, cancel-oldest, cancel-both or decrement
    /// self_trade = "cancel-newest"
    /// position.BTC_USDT = { long_max = "100", short_max = "0", start = "2.5" }
    ///
    /// [account.3001]                   # of this account; missing keys are the default's
    /// open_orders_max = 10
    /// ```
    ///
    /// # Errors
    /// [`RiskError`].
    pub fn parse(file: &str, text: &str, instruments: &Instruments) -> Result<Risk, RiskError> {
        let file = file.to_owned();
        let raw: RawRisk = match toml::from_str(text) {
            Ok(raw) => raw,
            Err(error) => return Err(RiskError::Malformed { file, why: error.to_string() }),
        };
        let risk = |table: &str, raw: RawAccount| {
            raw.risk(instruments).map_err(|(key, why)| {
                let (file, table) = (file.clone(), table.to_owned());
                RiskError::BadKey { file, table, key, why }
            })
        };
        let default = risk("default", raw.default.clone())?;
        let mut accounts = BTreeMap::new();
        for (id, account) in raw.account {
            let account = risk(&format!("account.{id}"), account.or(&raw.default))?;
            accounts.insert(id, account);
        }
        Ok(Risk { default, accounts })
    }

    /// The commands that set an account in the engine before its first message: one for each
    /// setting that differs from the file, also if the file no longer has it. A starting position
    /// is sent once.
    pub(crate) fn commands(
        &self,
        account_id: &str,
        account: u32,
        known: &KnownAccount,
    ) -> Vec<Command> {
        let risk = self.accounts.get(account_id).unwrap_or(&self.default);
        let unlimited = AccountSettings::unlimited(account);
        let settings = AccountSettings { account, ..risk.settings };
        let known_settings = known.settings.unwrap_or(unlimited);
        let mut commands = Vec::new();
        if settings != known_settings {
            commands.push(Command::Account(settings));
        }
        let instruments: BTreeSet<u16> =
            risk.positions.keys().chain(known.positions.keys()).copied().collect();
        for instrument in instruments {
            let at_first = PositionSettings::unlimited(account, instrument);
            let known_here = known.positions.get(&instrument);
            let there = PositionSettings { change_lots: 0, ..*known_here.unwrap_or(&at_first) };
            let mut wanted = *risk.positions.get(&instrument).unwrap_or(&at_first);
            wanted.account = account;
            if known.all || known_here.is_some() {
                wanted.change_lots = 0;
            }
            if wanted != there {
                commands.push(Command::Position(wanted));
            }
        }
        commands
    }
}

#[cfg(test)]
#[path = "risk_tests.rs"]
mod tests;

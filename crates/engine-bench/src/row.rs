//! The rows of the results: which server takes the flow, and with which book. [`ROWS`] lists them.

use engine::{
    AccountSettings, Command, Engine, EngineLimits, Input, InstrumentSettings, InstrumentState,
    OPEN_ORDERS_MAX, PRICE_TICKS_MAX, PositionSettings, SelfTrade,
};
use flow::w1::{DEEP, MID_TICKS, SHALLOW, Shape};
use record::engine::{EMPTY_DISPATCH, IDEAL};

/// The server behind a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Serves {
    /// A matching engine.
    Engine,
    /// No engine: each operation is matched on its type and answered with one report. The floor.
    Nobody,
    /// No engine, for as long as the engine takes: the best that a server of this speed can do.
    Burner,
}

/// A row that this client knows.
#[derive(Debug)]
pub struct Row {
    /// The name in a plan.
    pub name: &'static str,
    /// One line for people.
    pub about: &'static str,
    /// The book.
    pub shape: Shape,
    /// Whether the engine checks every order by account.
    pub has_risk: bool,
    /// The server.
    pub serves: Serves,
    /// Whether the engine may prefetch what later operations need.
    pub look_ahead: bool,
    /// Its tables have room for at least this many open orders; 0: for as many as the flow can
    /// have.
    pub open_orders_min: u32,
}

/// All rows.
pub const ROWS: &[Row] = &[
    Row::plain("shallow", "ten thousand orders, matching alone", SHALLOW),
    Row {
        has_risk: true,
        ..Row::plain("shallow-risk", "ten thousand orders, every risk check on", SHALLOW)
    },
    Row {
        look_ahead: true,
        ..Row::plain("shallow-look-ahead", "as shallow, with look-ahead", SHALLOW)
    },
    Row {
        open_orders_min: 1 << 20,
        ..Row::plain("shallow-large-tables", "as shallow, in tables for 2^20 orders", SHALLOW)
    },
    Row::plain("deep", "a million orders, matching alone", DEEP),
    Row {
        has_risk: true,
        ..Row::plain("deep-risk", "a million orders, every risk check on", DEEP)
    },
    Row { look_ahead: true, ..Row::plain("deep-look-ahead", "as deep, with look-ahead", DEEP) },
    Row {
        open_orders_min: OPEN_ORDERS_MAX,
        ..Row::plain("deep-large-tables", "as deep, in tables for 2^24 orders", DEEP)
    },
    Row {
        serves: Serves::Nobody,
        ..Row::plain(
            EMPTY_DISPATCH,
            "no engine: one report an operation through the same loop",
            SHALLOW,
        )
    },
    Row {
        has_risk: true,
        serves: Serves::Burner,
        ..Row::plain(
            IDEAL,
            "no engine in the measured part: burns the time that shallow-risk took before it",
            SHALLOW,
        )
    },
];

/// The row with that name.
///
/// # Errors
/// The names of all rows.
pub fn find(name: &str) -> Result<&'static Row, String> {
    ROWS.iter().find(|row| row.name == name).ok_or_else(|| {
        let names: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
        format!("this client knows {}", names.join(", "))
    })
}

/// Number of price levels per depth. Orders rest within one and a half depths of the initial
/// middle, and a modification moves them by a tick. If an order ever fell outside, the engine would
/// reject it and the record would be void.
const LEVELS_PER_DEPTH: u32 = 8;

// Every check runs and none rejects. Only self-trade prevention is off: one order in a thousand
// meets its own account, and then the counts would differ from those of other engines.
const QUANTITY_LOTS_MAX: u64 = 1_000_000;
const NOTIONAL_MAX: u64 = 1 << 40;
const COLLAR_DEPTHS: u64 = 100;
const MESSAGES_PER_SECOND_MAX: u32 = 1_000_000;
const POSITION_LOTS_MAX: u64 = 1 << 48;

impl Row {
    /// A row without risk and look-ahead, with tables of the size that the flow needs.
    pub const fn plain(name: &'static str, about: &'static str, shape: Shape) -> Row {
        Row {
            name,
            about,
            shape,
            has_risk: false,
            serves: Serves::Engine,
            look_ahead: false,
            open_orders_min: 0,
        }
    }

    /// The engine's limits, with room for all open orders of the flow.
    pub fn limits(&self, accounts: u32, open_orders_max: usize) -> EngineLimits {
        let needed = u32::try_from(open_orders_max).unwrap_or(u32::MAX);
        let open_orders_max = needed.max(self.open_orders_min);
        let levels = LEVELS_PER_DEPTH * self.shape.depth_ticks;
        EngineLimits {
            accounts_max: if self.has_risk { accounts } else { 0 },
            ..EngineLimits::matching_only(open_orders_max, levels)
        }
    }

    /// A fresh engine with an empty book and all account limits in force.
    pub fn engine(&self, accounts: u32, open_orders_max: usize) -> Engine {
        let mut engine = Engine::new(1, self.limits(accounts, open_orders_max));
        let settings = self.settings(accounts, open_orders_max);
        settings.iter().for_each(|input| engine.apply(input, &mut |_| ()));
        engine
    }

    /// Inputs before the first order: the instrument's reference price and the limits of every
    /// account; none without risk.
    pub(crate) fn settings(&self, accounts: u32, open_orders_max: usize) -> Vec<Input> {
        if !self.has_risk {
            return Vec::new();
        }
        let open_orders_max = self.limits(accounts, open_orders_max).open_orders_max;
        let instrument = InstrumentSettings {
            instrument: 0,
            tag: 0,
            state: InstrumentState::Open,
            band_low_ticks: 1,
            band_high_ticks: PRICE_TICKS_MAX,
            reference_ticks: MID_TICKS,
        };
        let collar_ticks = COLLAR_DEPTHS * u64::from(self.shape.depth_ticks);
        let of_account = move |account| {
            let account_settings = AccountSettings {
                account,
                tag: 0,
                quantity_lots_max: QUANTITY_LOTS_MAX,
                notional_max: NOTIONAL_MAX,
                collar_ticks,
                open_orders_max,
                messages_per_second_max: MESSAGES_PER_SECOND_MAX,
                self_trade: SelfTrade::Allowed,
            };
            let position = PositionSettings {
                account,
                tag: 0,
                instrument: 0,
                long_lots_max: POSITION_LOTS_MAX,
                short_lots_max: POSITION_LOTS_MAX,
                change_lots: 0,
            };
            [Command::Account(account_settings), Command::Position(position)]
        };
        [Command::Instrument(instrument)]
            .into_iter()
            .chain((0..accounts).flat_map(of_account))
            .map(|command| Input { time_ns: 0, command })
            .collect()
    }
}

//! Who serves the flow: a row of the results. A row is a line of [`ROWS`].

use engine::{
    AccountSettings, Command, Engine, EngineLimits, Input, InstrumentSettings, InstrumentState,
    PRICE_TICKS_MAX, PositionSettings, SelfTrade,
};
use flow::w1::{DEEP, MID_TICKS, SHALLOW, Shape};
use measure::matching::{EMPTY_DISPATCH, IDEAL};

/// What takes the operations of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Serves {
    /// A matching engine.
    Engine,
    /// Nobody: each operation is told apart and answered with one report. The floor under every engine.
    Nobody,
    /// Nobody, for as long as the engine takes: the best that a server of this speed can do.
    Burner,
}

/// A row that this client knows.
#[derive(Debug)]
pub struct Row {
    /// As in a plan.
    pub name: &'static str,
    /// One line for people.
    pub about: &'static str,
    /// The book.
    pub shape: Shape,
    /// Whether every order is checked by account.
    pub has_risk: bool,
    /// Who takes its operations.
    pub serves: Serves,
}

/// All of them.
pub const ROWS: &[Row] = &[
    Row {
        name: "shallow",
        about: "ten thousand orders, matching alone",
        shape: SHALLOW,
        has_risk: false,
        serves: Serves::Engine,
    },
    Row {
        name: "shallow-risk",
        about: "ten thousand orders, every risk check on",
        shape: SHALLOW,
        has_risk: true,
        serves: Serves::Engine,
    },
    Row {
        name: "deep",
        about: "a million orders, matching alone",
        shape: DEEP,
        has_risk: false,
        serves: Serves::Engine,
    },
    Row {
        name: "deep-risk",
        about: "a million orders, every risk check on",
        shape: DEEP,
        has_risk: true,
        serves: Serves::Engine,
    },
    Row {
        name: EMPTY_DISPATCH,
        about: "no engine: one report an operation through the same loop",
        shape: SHALLOW,
        has_risk: false,
        serves: Serves::Nobody,
    },
    Row {
        name: IDEAL,
        about: "no engine in the measured part: burns the time that shallow-risk took before it",
        shape: SHALLOW,
        has_risk: true,
        serves: Serves::Burner,
    },
];

/// The row of that name.
///
/// # Errors
/// The names that there are.
pub fn find(name: &str) -> Result<&'static Row, String> {
    ROWS.iter().find(|row| row.name == name).ok_or_else(|| {
        let names: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
        format!("this client knows {}", names.join(", "))
    })
}

/// Prices at which orders can rest: they stand within one and a half depths of where the middle started,
/// and move by a tick at a time when they are modified. Should that ever not do, the engine refuses, and
/// the record is void.
const LEVELS_PER_DEPTH: u32 = 8;

// Every check runs and none refuses. Self-trade prevention alone is off: an order of a thousand meets one of
// its own account, and then the counts would not be those that every engine gives.
const QUANTITY_LOTS_MAX: u64 = 1_000_000;
const NOTIONAL_MAX: u64 = 1 << 40;
const COLLAR_DEPTHS: u64 = 100;
const MESSAGES_PER_SECOND_MAX: u32 = 1_000_000;
const POSITION_LOTS_MAX: u64 = 1 << 48;

impl Row {
    /// How much its engine holds: as many orders as the flow can have open.
    pub fn limits(&self, accounts: u32, open_orders_max: usize) -> EngineLimits {
        let open_orders_max = u32::try_from(open_orders_max).unwrap_or(u32::MAX);
        let levels = LEVELS_PER_DEPTH * self.shape.depth_ticks;
        EngineLimits {
            accounts_max: if self.has_risk { accounts } else { 0 },
            ..EngineLimits::matching_only(open_orders_max, levels)
        }
    }

    /// A fresh engine with an empty book, and the limits of every account in force.
    pub fn engine(&self, accounts: u32, open_orders_max: usize) -> Engine {
        let mut engine = Engine::new(1, self.limits(accounts, open_orders_max));
        let settings = self.settings(accounts, open_orders_max);
        settings.iter().for_each(|input| engine.apply(input, &mut |_| ()));
        engine
    }

    /// What comes before the first order: the instrument's reference price and the limits of every account; nothing
    /// where there is no risk.
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

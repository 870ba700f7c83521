//! The engine behind a row of a plan: its book, its limits and its settings.

use engine::{
    AccountSettings, Command, Engine, EngineLimits, Input, InstrumentSettings, InstrumentState,
    PRICE_TICKS_MAX, PositionSettings, SelfTrade,
};
use flow::w1::{DEEP, MID_TICKS, SHALLOW, Shape};
use plan::process::engine::{Book, OPERATIONS_MAX, Row};

/// Number of price levels per depth. Orders rest within one and a half depths of the initial
/// middle, and a modification moves them by a tick. The engine would reject an order outside, and
/// the record would be void.
const LEVELS_PER_DEPTH: u32 = 8;

// Every check runs and none rejects. Only self-trade prevention is off: one order in a thousand
// meets its own account, and then the counts would differ from those of other engines.
const QUANTITY_LOTS_MAX: u64 = 1_000_000;
const NOTIONAL_MAX: u64 = 1 << 40;
const COLLAR_DEPTHS: u64 = 100;
const MESSAGES_PER_SECOND_MAX: u32 = 1_000_000;
const POSITION_LOTS_MAX: u64 = 1 << 48;

// An engine has room for all orders of the operations that fit in memory.
const _: () = assert!(OPERATIONS_MAX / 2 + DEEP.live as u64 <= engine::OPEN_ORDERS_MAX as u64);

/// The flow's book for that row.
pub fn shape(row: &Row) -> Shape {
    match row.book {
        Book::Shallow => SHALLOW,
        Book::Deep => DEEP,
    }
}

/// The engine's limits, with room for all open orders of the flow.
pub fn limits(row: &Row, accounts: u32, open_orders_max: usize) -> EngineLimits {
    let needed = u32::try_from(open_orders_max).unwrap_or(u32::MAX);
    let open_orders_max = needed.max(row.open_orders_min);
    let levels = LEVELS_PER_DEPTH * shape(row).depth_ticks;
    EngineLimits {
        accounts_max: if row.has_risk { accounts } else { 0 },
        ..EngineLimits::matching_only(open_orders_max, levels)
    }
}

/// A fresh engine with an empty book and all account limits in force.
pub fn engine(row: &Row, accounts: u32, open_orders_max: usize) -> Engine {
    let mut engine = Engine::new(1, limits(row, accounts, open_orders_max));
    let settings = settings(row, accounts, open_orders_max);
    settings.iter().for_each(|input| engine.apply(input, &mut |_| ()));
    engine
}

/// Inputs before the first order: the instrument's reference price and the limits of every
/// account; none without risk.
pub(crate) fn settings(row: &Row, accounts: u32, open_orders_max: usize) -> Vec<Input> {
    if !row.has_risk {
        return Vec::new();
    }
    let open_orders_max = limits(row, accounts, open_orders_max).open_orders_max;
    let instrument = InstrumentSettings {
        instrument: 0,
        tag: 0,
        state: InstrumentState::Open,
        band_low_ticks: 1,
        band_high_ticks: PRICE_TICKS_MAX,
        reference_ticks: MID_TICKS,
    };
    let collar_ticks = COLLAR_DEPTHS * u64::from(shape(row).depth_ticks);
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

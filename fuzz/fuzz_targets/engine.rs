//! The engine and the naive one agree on any commands: every event, and the state after each.
#![no_main]

#[path = "../../crates/engine/tests/reference/mod.rs"]
mod reference;
#[path = "../../crates/engine/tests/side_by_side/mod.rs"]
mod side_by_side;

use engine::*;
use side_by_side::SideBySide;

const COMMAND_BYTES: usize = 5;
/// The naive engine looks at every order for every command: past this an input only takes time.
const COMMANDS_MAX: usize = 300;

const PRICES_EXTREME: [i64; 6] = [i64::MIN, 0, 1, PRICE_TICKS_MAX, PRICE_TICKS_MAX + 1, i64::MAX];
const QUANTITIES_EXTREME: [u64; 4] = [0, QUANTITY_LOTS_MAX, QUANTITY_LOTS_MAX + 1, u64::MAX];

/// Few ids, accounts and prices, so that commands meet; a byte near its end names an extreme.
fn command(bytes: &[u8; COMMAND_BYTES]) -> Command {
    let [kind, id, owner, price, quantity] = *bytes;
    let order_id = if id < 250 { u64::from(id % 32) } else { u64::MAX - u64::from(id) };
    let (account, tag) = (u32::from(owner % 3), u32::from(owner));
    let instrument = if kind >> 4 == 15 { u16::MAX } else { u16::from(kind >> 4) % 4 };
    if kind & 3 == 3 {
        return Command::Cancel(Cancel { order_id, account, tag, instrument });
    }
    Command::New(NewOrder {
        order_id,
        account,
        tag,
        instrument,
        side: if kind & 1 == 0 { Side::Buy } else { Side::Sell },
        time_in_force: match kind & 0b1100 {
            0 => TimeInForce::ImmediateOrCancel,
            _ => TimeInForce::GoodTillCancelled,
        },
        price_ticks: match PRICES_EXTREME.get(usize::from(255 - price)) {
            Some(&extreme) => extreme,
            None => 95 + i64::from(price % 12),
        },
        quantity_lots: match QUANTITIES_EXTREME.get(usize::from(255 - quantity)) {
            Some(&extreme) => extreme,
            None => 1 + u64::from(quantity % 10),
        },
    })
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let [instruments, open_orders, price_levels, commands @ ..] = data else { return };
    let limits = EngineLimits {
        open_orders_max: 1 + u32::from(open_orders % 32),
        price_levels_max: 1 + u32::from(price_levels % 8),
    };
    let mut both = SideBySide::new(u16::from(instruments % 4), limits);
    for bytes in commands.as_chunks().0.iter().take(COMMANDS_MAX) {
        both.apply(&command(bytes));
        both.check_state();
    }
});

//! The memory of an engine is mapped at construction, not at first use. Alone in its file, because
//! it measures the memory of its whole process.

use engine::*;

const PAGE_BYTES: usize = 4096;
const ORDERS: u32 = 1 << 18;

/// Resident memory of this process, if known.
fn resident_bytes() -> Option<usize> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(statm.split_whitespace().nth(1)?.parse::<usize>().ok()? * PAGE_BYTES)
}

/// Each at its own, better price, so that levels are used up quickly, too; a third are stops, a
/// third have a date.
fn order(number: u32) -> NewOrder {
    let price_ticks = i64::from(number) + 1;
    let limit = NewOrder {
        order_id: number.into(),
        account: number,
        ..NewOrder::limit(Side::Buy, price_ticks, 1)
    };
    match number % 3 {
        0 => limit,
        1 => NewOrder { stop_ticks: price_ticks, ..limit },
        _ => NewOrder {
            time_in_force: TimeInForce::GoodTillDate,
            expires_ns: u64::from(ORDERS - number),
            ..limit
        },
    }
}

#[test]
fn filling_an_engine_maps_no_memory() {
    let Some(empty) = resident_bytes() else {
        testing::skip!(Kernel, "no /proc/self/statm here");
    };
    let limits = EngineLimits {
        open_orders_max: ORDERS,
        price_levels_max: ORDERS,
        stop_levels_max: ORDERS,
        expiring_orders_max: ORDERS,
        accounts_max: ORDERS,
    };
    let mut engine = Engine::new(1, limits);
    let constructed = resident_bytes().unwrap_or(0);
    for number in 0..ORDERS {
        let input = Input { time_ns: 0, command: Command::New(order(number)) };
        engine.apply(&input, &mut |event| {
            assert!(matches!(event, Event::Booked { .. } | Event::Waiting { .. }), "{event:?}");
        });
    }
    let late = resident_bytes().unwrap_or(0).saturating_sub(constructed);
    let grown = constructed.saturating_sub(empty);
    // An order and its id alone take more than this.
    assert!(grown > ORDERS as usize * 64, "construction mapped {grown} bytes");
    assert!(late < grown / 20, "{late} of {grown} bytes were mapped by commands");
}

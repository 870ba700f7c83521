//! The memory of an engine is mapped when it is constructed, not when it is first used. Alone in
//! its file, because it looks at the memory of its whole process.

use engine::*;

const PAGE_BYTES: usize = 4096;

/// Memory in use by this process, if the system tells.
fn resident_bytes() -> Option<usize> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(statm.split_whitespace().nth(1)?.parse::<usize>().ok()? * PAGE_BYTES)
}

#[test]
fn filling_an_engine_maps_no_memory() {
    if resident_bytes().is_none() {
        eprintln!("skipped: no /proc/self/statm here");
        return;
    }
    let orders = 1_u32 << 18;
    let empty = resident_bytes().unwrap();
    let limits = EngineLimits { open_orders_max: orders, price_levels_max: orders };
    let mut engine = Engine::new(1, limits);
    let constructed = resident_bytes().unwrap();
    for i in 0..orders {
        // Each at its own price, better and better, so that levels are used up too, and quickly.
        let new = NewOrder {
            order_id: u64::from(i),
            account: 1,
            tag: 0,
            instrument: 0,
            side: Side::Buy,
            time_in_force: TimeInForce::GoodTillCancelled,
            price_ticks: i64::from(i) + 1,
            quantity_lots: 1,
        };
        engine.apply(&Command::New(new), &mut |event| {
            assert!(matches!(event, Event::Booked { .. }));
        });
    }
    let full = resident_bytes().unwrap();
    // 40 bytes an order, 32 for its id, 52 for its level, and as much for the unused asks.
    let expected = orders as usize * (40 + 32 + 52 + 52);
    let grown = constructed.saturating_sub(empty);
    assert!(grown > expected * 9 / 10, "construction mapped {grown} of {expected} bytes");
    let late = full.saturating_sub(constructed);
    assert!(late < expected / 20, "{late} of {expected} bytes were mapped by commands");
}

//! Memory of an engine: a million open orders in at most 128 bytes each, including all tables.
//! Alone in its file, because its allocator counts the bytes of the whole process.

use counting::bytes_of_process;
use engine::*;

const ORDERS: u32 = 1_000_000;
const BYTES_AN_ORDER_MAX: usize = 128;

/// Fills an engine with [`ORDERS`], and returns its bytes per order.
fn bytes_an_order(limits: EngineLimits, order: impl Fn(u32) -> NewOrder) -> usize {
    let before = bytes_of_process();
    let mut engine = Engine::new(1, limits);
    for number in 0..ORDERS {
        let new = NewOrder { order_id: number.into(), ..order(number) };
        let mut event = None;
        engine.apply(&Input { time_ns: 0, command: Command::New(new) }, &mut |e| event = Some(e));
        assert!(matches!(event, Some(Event::Booked { .. })), "{event:?}");
    }
    assert_eq!(engine.open_orders(), ORDERS);
    (bytes_of_process() - before) / ORDERS as usize
}

/// Two thousand prices per side, as in the deep workload; a thousand accounts; one order in ten
/// with a date.
#[test]
fn a_million_open_orders_fit() {
    let limits = EngineLimits {
        open_orders_max: ORDERS,
        price_levels_max: 4_096,
        stop_levels_max: 1_024,
        expiring_orders_max: ORDERS / 10,
        accounts_max: 1_000,
    };
    let with_all = bytes_an_order(limits, |number| {
        let side = if number % 2 == 0 { Side::Buy } else { Side::Sell };
        let offset = i64::from(number / 2 % 2_000);
        let price_ticks = if side == Side::Buy { 20_000 - offset } else { 20_001 + offset };
        let dated = number % 10 == 0;
        NewOrder {
            account: number % 1_000,
            time_in_force: match dated {
                true => TimeInForce::GoodTillDate,
                false => TimeInForce::GoodTillCancelled,
            },
            expires_ns: u64::from(dated) * (1 + u64::from(number)),
            display_lots: u64::from(number % 7 == 0) * 3,
            ..NewOrder::limit(side, price_ticks, 10)
        }
    });
    println!("bytes an order: {with_all}");
    assert!(with_all <= BYTES_AN_ORDER_MAX, "{with_all} bytes an order");
}

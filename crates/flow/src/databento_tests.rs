//! Databento's rules.

use super::*;

fn record(action: char, order_id: u64, side: char, price: i64, size: u32) -> MboMsg {
    let (action, side) = (action as u8 as _, side as u8 as _);
    MboMsg { action, side, order_id, price, size, ..MboMsg::default() }
}

fn live(records: &[MboMsg]) -> Vec<(i64, u32)> {
    let mut live = LiveOrders::default();
    records.iter().for_each(|record| live.apply(record));
    live.in_priority().iter().map(|order| (order.price, order.size)).collect()
}

#[test]
fn databentos_actions_lead_to_the_live_orders() {
    let start = [
        record('A', 9, 'A', 100, 1),
        record('R', 0, 'N', dbn::UNDEF_PRICE, 0),
        record('A', 1, 'B', 50, 5),
        record('A', 2, 'B', 50, 6),
        record('A', 3, 'A', 60, 7),
    ];
    let after = |more: &[MboMsg]| live(&[&start[..], more].concat());
    assert_eq!(after(&[]), [(50, 5), (50, 6), (60, 7)]);
    assert_eq!(after(&[record('C', 1, 'B', 50, 5)]), [(50, 6), (60, 7)]);
    assert_eq!(after(&[record('C', 1, 'B', 50, 2)]), [(50, 3), (50, 6), (60, 7)]);
    // Fewer lots keep the place; more, or another price, lose it.
    assert_eq!(after(&[record('M', 1, 'B', 50, 4)]), [(50, 4), (50, 6), (60, 7)]);
    assert_eq!(after(&[record('M', 1, 'B', 50, 8)]), [(50, 6), (60, 7), (50, 8)]);
    assert_eq!(after(&[record('M', 1, 'B', 49, 5)]), [(50, 6), (60, 7), (49, 5)]);
    // The cancel after a fill removes the quantity; the fill itself doesn't.
    let filled = [record('T', 0, 'A', 50, 5), record('F', 1, 'B', 50, 5)];
    assert_eq!(after(&filled).len(), 3);
    // An unknown order, and an order of another instrument.
    let mut other = record('A', 4, 'B', 50, 1);
    other.hd.instrument_id = 77;
    let strange = [record('C', 8, 'B', 1, 1), record('M', 8, 'B', 1, 1), other];
    assert_eq!(after(&strange).len(), 3);
}

//! Databento's rules.

use super::*;
use dbn::flags::{BAD_TS_RECV, LAST, MAYBE_BAD_BOOK, MBP, SNAPSHOT, TOB};
use dbn::{FlagSet, UNDEF_PRICE};

fn record(action: char, order_id: u64, side: char, price: i64, size: u32) -> MboMsg {
    let (action, side) = (action as u8 as _, side as u8 as _);
    MboMsg { action, side, order_id, price, size, ..MboMsg::default() }
}

fn flagged(flags: u8, record: MboMsg) -> MboMsg {
    MboMsg { flags: FlagSet::new(flags), ..record }
}

fn of(publisher: u16, instrument: u32, mut record: MboMsg) -> MboMsg {
    (record.hd.publisher_id, record.hd.instrument_id) = (publisher, instrument);
    record
}

/// Price and size of the live orders, or what is wrong with the last record.
fn live(records: &[MboMsg]) -> Result<Vec<(i64, u32)>, String> {
    let mut live = LiveOrders::default();
    for (index, record) in records.iter().enumerate() {
        let applied = live.apply(record);
        assert!(applied.is_ok() || index == records.len() - 1, "{index}: {applied:?}");
        applied?;
    }
    Ok(live.in_priority().iter().map(|order| (order.price, order.size)).collect())
}

/// Three orders: 1 and 2 buy at 50, 3 sells at 60.
fn after(more: &[MboMsg]) -> Result<Vec<(i64, u32)>, String> {
    let start = [
        record('A', 9, 'A', 100, 1),
        record('R', 0, 'N', UNDEF_PRICE, 0),
        record('A', 1, 'B', 50, 5),
        record('A', 2, 'B', 50, 6),
        record('A', 3, 'A', 60, 7),
    ];
    live(&[&start[..], more].concat())
}

#[test]
fn databentos_actions_lead_to_the_live_orders() {
    let expect = |more: &[MboMsg], orders: &[(i64, u32)]| {
        assert_eq!(after(more).unwrap(), orders, "{more:?}");
    };
    expect(&[], &[(50, 5), (50, 6), (60, 7)]);
    expect(&[record('C', 1, 'B', 50, 5)], &[(50, 6), (60, 7)]);
    expect(&[record('C', 1, 'B', 50, 2)], &[(50, 3), (50, 6), (60, 7)]);
    // Fewer lots keep the place; more, or another price, lose it.
    expect(&[record('M', 1, 'B', 50, 4)], &[(50, 4), (50, 6), (60, 7)]);
    expect(&[record('M', 1, 'B', 50, 8)], &[(50, 6), (60, 7), (50, 8)]);
    expect(&[record('M', 1, 'B', 49, 5)], &[(50, 6), (60, 7), (49, 5)]);
    // The cancel after a fill removes the quantity; the fill itself doesn't.
    let filled = [record('T', 0, 'A', 50, 5), record('F', 1, 'B', 50, 5)];
    expect(&filled, &[(50, 5), (50, 6), (60, 7)]);
    expect(&[record('N', 1, 'N', UNDEF_PRICE, 0)], &[(50, 5), (50, 6), (60, 7)]);
}

/// It once changed nothing.
#[test]
fn a_modify_of_an_unknown_order_adds_it() {
    let orders = after(&[record('M', 8, 'B', 51, 3), record('C', 8, 'B', 51, 1)]).unwrap();
    assert_eq!(orders, [(50, 5), (50, 6), (60, 7), (51, 2)]);
}

/// Order 1 of one publisher once overwrote order 1 of another.
#[test]
fn publishers_number_and_clear_their_own_orders() {
    let both = [
        of(2, 7, record('A', 1, 'B', 50, 5)),
        of(3, 7, record('A', 1, 'B', 51, 6)),
        of(2, 8, record('A', 1, 'B', 99, 9)),
        of(3, 7, record('M', 1, 'B', 51, 4)),
    ];
    assert_eq!(live(&both).unwrap(), [(50, 5), (51, 4)]);
    let clear = |publisher, instrument| {
        let clear = of(publisher, instrument, record('R', 0, 'N', UNDEF_PRICE, 0));
        live(&[&both[..], &[clear]].concat()).unwrap()
    };
    assert_eq!(clear(3, 7), [(50, 5)]);
    assert_eq!(clear(2, 7), [(51, 4)]);
    assert_eq!(clear(2, 8), [(50, 5), (51, 4)]);
}

#[test]
fn the_top_of_a_book_replaces_its_side() {
    let top = |side, price, size| flagged(TOB | LAST, record('A', 0, side, price, size));
    let start = [top('B', 50, 5), top('A', 60, 7), of(9, 0, record('A', 4, 'B', 49, 1))];
    let after = |more: MboMsg| live(&[&start[..], &[more]].concat());
    assert_eq!(after(top('B', 51, 6)).unwrap(), [(60, 7), (49, 1), (51, 6)]);
    assert_eq!(after(top('B', UNDEF_PRICE, 0)).unwrap(), [(60, 7), (49, 1)]);
    assert_eq!(after(top('A', UNDEF_PRICE, 0)).unwrap(), [(50, 5), (49, 1)]);
    assert!(after(record('A', 1, 'B', 52, 1)).unwrap_err().contains("F_TOB"));
    assert!(after(flagged(TOB, record('C', 0, 'B', 50, 5))).unwrap_err().contains("F_TOB"));
}

/// The snapshot of the documentation: a Clear and Adds, all with F_SNAPSHOT and F_BAD_TS_RECV.
#[test]
fn a_snapshot_replaces_the_book() {
    let snapshot = |record| flagged(SNAPSHOT | BAD_TS_RECV, record);
    let clear = snapshot(record('R', 0, 'N', UNDEF_PRICE, 0));
    let adds = [
        snapshot(record('A', 2, 'B', 50, 4)),
        flagged(SNAPSHOT | BAD_TS_RECV | LAST, record('A', 5, 'A', 61, 1)),
    ];
    assert_eq!(after(&[&[clear][..], &adds].concat()).unwrap(), [(50, 4), (61, 1)]);
    // Snapshots of 2023 have no Clear; what they repeat is in the book once.
    let repeated = snapshot(record('A', 3, 'A', 60, 7));
    assert_eq!(after(&[repeated]).unwrap().len(), 3);
    assert!(after(&[snapshot(record('A', 3, 'A', 60, 8))]).is_err());
}

#[test]
fn a_record_that_leaves_the_book_unknown_is_an_error() {
    let bad = [
        (record('C', 8, 'B', 50, 1), "cancels order 8, which is not in the book"),
        (record('C', 1, 'B', 50, 6), "cancels 6 of order 1, which has 5"),
        (record('A', 1, 'B', 50, 6), "adds order 1, which is in the book"),
        (record('M', 1, 'A', 50, 5), "moves order 1 to the other side"),
        (record('A', 8, 'N', 50, 1), "names no side"),
        (record('A', 8, 'B', UNDEF_PRICE, 1), "gives order 8 no price"),
        (record('M', 1, 'B', UNDEF_PRICE, 1), "gives order 1 no price"),
        (record('x', 8, 'B', 50, 1), "has the action 'x'"),
        (flagged(MBP, record('A', 8, 'B', 50, 1)), "F_MBP"),
        (flagged(MAYBE_BAD_BOOK, record('A', 8, 'B', 50, 1)), "F_MAYBE_BAD_BOOK"),
    ];
    for (record, expected) in bad {
        let why = after(&[record]).unwrap_err();
        assert!(why.contains(expected), "{why}");
    }
}

#[test]
fn records_that_end_within_an_event_leave_no_book() {
    let unfinished = |records: &[MboMsg]| {
        let mut live = LiveOrders::default();
        records.iter().for_each(|record| drop(live.apply(record).unwrap()));
        live.unfinished()
    };
    let open = record('A', 1, 'B', 50, 5);
    let last = flagged(LAST, record('A', 2, 'B', 50, 5));
    assert_eq!(unfinished(&[open.clone(), last.clone()]), None);
    assert!(unfinished(&[last.clone(), open.clone()]).unwrap().contains("F_LAST"));
    // Another instrument's event ends on its own.
    assert_eq!(unfinished(&[last, of(0, 7, open.clone())]), None);
    // A recording that marks no ends.
    assert_eq!(unfinished(&[open]), None);
}

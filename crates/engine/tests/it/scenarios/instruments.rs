//! Effects of an instrument's settings.

use expect_test::expect;

use super::check;

#[test]
fn while_it_is_halted_orders_only_shrink_or_go() {
    check(expect![[r#"
        > buy 1 5@100
          booked 1: buy 5@100
        > buy 2 5@100
          booked 2: buy 5@100
        > instrument halted tag=3
          applied, tag=3, orders: 0
        > sell 3 1@100
          rejected 3: INSTRUMENT_HALTED
        > amend 1 4@100
          amended 1: buy 4@100, keeps its place
        > amend 1 5@100
          rejected 1: INSTRUMENT_HALTED
        > amend 1 4@99
          rejected 1: INSTRUMENT_HALTED
        > cancel 2
          done 2 (5 left): Cancelled
        > instrument
          applied, tag=0, orders: 0
        > sell 3 1@100
          trade 1@100: sell 3 (0 left) meets buy 1 (3 left)
          done 3 (0 left): Filled
    "#]]);
}

/// The quantity 0 is a reduction, so the reason is the quantity, not the halt. The engine once said
/// `INSTRUMENT_HALTED`, which the fuzzer found with the naive engine.
#[test]
fn while_it_is_halted_an_amendment_to_nothing_is_a_bad_quantity() {
    check(expect![[r#"
        > buy 1 5@100
          booked 1: buy 5@100
        > instrument halted
          applied, tag=0, orders: 0
        > amend 1 0@100
          rejected 1: BAD_QUANTITY
        > amend 1 0@99
          rejected 1: INSTRUMENT_HALTED
    "#]]);
}

#[test]
fn to_close_it_ends_its_orders_in_the_order_of_the_book() {
    check(expect![[r#"
        > sell 1 1@110 gtd=1s
          booked 1: sell 1@110
        > buy 2 1@100
          booked 2: buy 1@100
        > buy 3 1@101
          booked 3: buy 1@101
        > buy 4 1@101
          booked 4: buy 1@101
        > buy 5 1@100 stop=105
          waiting 5: buy 1, stop 105
        > sell 6 1@100 stop=95
          waiting 6: sell 1, stop 95
        > buy 7 1@100 on=1
          booked 7 on=1: buy 1@100
        > instrument closed tag=5
          done 3 (1 left): Closed
          done 4 (1 left): Closed
          done 2 (1 left): Closed
          done 1 (1 left): Closed
          done 5 (1 left): Closed
          done 6 (1 left): Closed
          applied, tag=5, orders: 6
        > buy 8 1@100
          rejected 8: INSTRUMENT_CLOSED
        > amend 2 1@100
          rejected 2: UNKNOWN_ORDER
        > cancel 2
          rejected 2: UNKNOWN_ORDER
        > instrument closed
          applied, tag=0, orders: 0
        > instrument
          applied, tag=0, orders: 0
        > buy 8 1@100
          booked 8: buy 1@100
    "#]]);
}

#[test]
fn a_band_is_for_what_is_new_or_loses_its_place() {
    check(expect![[r#"
        > buy 1 5@100
          booked 1: buy 5@100
        > buy 2 5@80
          booked 2: buy 5@80
        > instrument band=90..110
          applied, tag=0, orders: 0
        > buy 3 1@89
          rejected 3: PRICE_BAND
        > buy 3 1@90
          booked 3: buy 1@90
        > sell 4 1@111
          rejected 4: PRICE_BAND
        > sell 4 1@110
          booked 4: sell 1@110
        > amend 2 4@80
          amended 2: buy 4@80, keeps its place
        > amend 2 5@80
          rejected 2: PRICE_BAND
        > amend 2 5@89
          rejected 2: PRICE_BAND
    "#]]);
}

#[test]
fn settings_out_of_range_change_nothing() {
    check(expect![[r#"
        > instrument band=0..10
          rejected 0: BAD_SETTING
        > instrument band=10..9
          rejected 0: BAD_SETTING
        > instrument band=1..1000000000001
          rejected 0: BAD_SETTING
        > instrument reference=-1
          rejected 0: BAD_SETTING
        > instrument reference=1000000000001
          rejected 0: BAD_SETTING
        > instrument on=2
          rejected 0 on=2: UNKNOWN_INSTRUMENT
        > position long=4611686018427387905
          rejected 0: BAD_SETTING
        > position short=4611686018427387905
          rejected 0: BAD_SETTING
        > position change=4611686018427387905
          rejected 0: BAD_SETTING
        > position on=2
          rejected 0 on=2: UNKNOWN_INSTRUMENT
        > position by=3
          rejected 0 by=3: UNKNOWN_ACCOUNT
        > account by=3
          rejected 0 by=3: UNKNOWN_ACCOUNT
        > kill by=3
          rejected 0 by=3: UNKNOWN_ACCOUNT
        > instrument band=10..10 reference=1
          applied, tag=0, orders: 0
        > buy 1 1@10
          booked 1: buy 1@10
    "#]]);
}

#[test]
fn a_reference_price_stays_until_another_comes() {
    check(expect![[r#"
        > account collar=1
          applied, tag=0, orders: 0
        > instrument reference=100
          applied, tag=0, orders: 0
        > instrument
          applied, tag=0, orders: 0
        > buy 1 1@102
          rejected 1: RISK_COLLAR_TICKS
        > buy 1 1@101
          booked 1: buy 1@101
        > sell 2 1@101 by=1
          trade 1@101: sell 2 by=1 (0 left) meets buy 1 (0 left)
          done 1 (0 left): Filled
          done 2 by=1 (0 left): Filled
        > buy 3 1@102
          booked 3: buy 1@102
    "#]]);
}

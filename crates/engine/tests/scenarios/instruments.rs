//! What an instrument's settings do.

use expect_test::expect;

use crate::check;

#[test]
fn while_it_is_halted_orders_only_shrink_or_go() {
    check(expect![[r#"
        > buy 1 5@100
        > buy 2 5@100
        > instrument halted tag=3
        > sell 3 1@100
        > amend 1 4@100
        > amend 1 5@100
        > amend 1 4@99
        > cancel 2
        > instrument
        > sell 3 1@100
    "#]]);
}

#[test]
fn to_close_it_ends_its_orders_in_the_order_of_the_book() {
    check(expect![[r#"
        > sell 1 1@110 gtd=1s
        > buy 2 1@100
        > buy 3 1@101
        > buy 4 1@101
        > buy 5 1@100 stop=105
        > sell 6 1@100 stop=95
        > buy 7 1@100 on=1
        > instrument closed tag=5
        > buy 8 1@100
        > amend 2 1@100
        > cancel 2
        > instrument closed
        > instrument
        > buy 8 1@100
    "#]]);
}

#[test]
fn a_band_is_for_what_is_new_or_loses_its_place() {
    check(expect![[r#"
        > buy 1 5@100
        > buy 2 5@80
        > instrument band=90..110
        > buy 3 1@89
        > buy 3 1@90
        > sell 4 1@111
        > sell 4 1@110
        > amend 2 4@80
        > amend 2 5@80
        > amend 2 5@89
    "#]]);
}

#[test]
fn settings_out_of_range_change_nothing() {
    check(expect![[r#"
        > instrument band=0..10
        > instrument band=10..9
        > instrument band=1..1000000000001
        > instrument reference=-1
        > instrument reference=1000000000001
        > instrument on=2
        > position long=4611686018427387905
        > position short=4611686018427387905
        > position change=4611686018427387905
        > position on=2
        > position by=3
        > account by=3
        > kill by=3
        > instrument band=10..10 reference=1
        > buy 1 1@10
    "#]]);
}

#[test]
fn a_reference_price_stays_until_another_comes() {
    check(expect![[r#"
        > account collar=1
        > instrument reference=100
        > instrument
        > buy 1 1@102
        > buy 1 1@101
        > sell 2 1@101 by=1
        > buy 3 1@102
    "#]]);
}

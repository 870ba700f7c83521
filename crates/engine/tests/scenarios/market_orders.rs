//! Orders without a price: how far they go.

use expect_test::expect;

use crate::check;

#[test]
fn a_market_order_trades_at_any_price_and_never_rests() {
    check(expect![[r#"
        > sell 1 2@100
        > sell 2 2@100000
        > buy 3 5@market ioc
        > buy 4 1@market ioc
        > book
    "#]]);
}

#[test]
fn all_or_nothing_without_a_price() {
    check(expect![[r#"
        > sell 1 2@100
        > sell 2 2@105
        > buy 3 5@market fok
        > buy 4 4@market fok
    "#]]);
}

#[test]
fn it_trades_no_further_than_its_collar_once_there_is_a_reference_price() {
    check(expect![[r#"
        > account by=1 collar=3
        > sell 1 1@100
        > sell 2 1@103
        > sell 3 1@104
        > buy 4 1@market ioc by=1
        > buy 5 5@market ioc by=1
    "#]]);
}

#[test]
fn a_collar_reaches_down_for_who_sells() {
    check(expect![[r#"
        > account by=1 collar=3
        > instrument reference=100
        > buy 1 1@97
        > buy 2 1@96
        > sell 3 2@market ioc by=1
    "#]]);
}

#[test]
fn nor_past_the_band_though_orders_may_rest_there() {
    check(expect![[r#"
        > sell 1 1@100
        > sell 2 1@120
        > buy 3 1@80
        > instrument band=90..110
        > buy 4 2@market ioc
        > sell 5 1@market ioc
    "#]]);
}

/// What rests at a price that is better than the band trades with a market order, as with a limit order.
#[test]
fn the_band_is_how_far_it_goes_and_not_where_it_may_trade() {
    check(expect![[r#"
        > sell 1 1@80
        > instrument band=90..110
        > buy 2 1@market ioc
    "#]]);
}

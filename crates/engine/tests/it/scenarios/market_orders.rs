//! Orders without a limit: how far they may trade.

use expect_test::expect;

use super::check;

#[test]
fn a_market_order_trades_at_any_price_and_never_rests() {
    check(expect![[r#"
        > sell 1 2@100
          booked 1: sell 2@100
        > sell 2 2@100000
          booked 2: sell 2@100000
        > buy 3 5@market ioc
          trade 2@100: buy 3 (3 left) meets sell 1 (0 left)
          done 1 (0 left): Filled
          trade 2@100000: buy 3 (1 left) meets sell 2 (0 left)
          done 2 (0 left): Filled
          done 3 (1 left): Expired
        > buy 4 1@market ioc
          done 4 (1 left): Expired
        > book
          empty
    "#]]);
}

#[test]
fn all_or_nothing_without_a_price() {
    check(expect![[r#"
        > sell 1 2@100
          booked 1: sell 2@100
        > sell 2 2@105
          booked 2: sell 2@105
        > buy 3 5@market fok
          done 3 (5 left): Expired
        > buy 4 4@market fok
          trade 2@100: buy 4 (2 left) meets sell 1 (0 left)
          done 1 (0 left): Filled
          trade 2@105: buy 4 (0 left) meets sell 2 (0 left)
          done 2 (0 left): Filled
          done 4 (0 left): Filled
    "#]]);
}

#[test]
fn it_trades_no_further_than_its_collar_once_there_is_a_reference_price() {
    check(expect![[r#"
        > account by=1 collar=3
          applied, tag=0, orders: 0
        > sell 1 1@100
          booked 1: sell 1@100
        > sell 2 1@103
          booked 2: sell 1@103
        > sell 3 1@104
          booked 3: sell 1@104
        > buy 4 1@market ioc by=1
          trade 1@100: buy 4 by=1 (0 left) meets sell 1 (0 left)
          done 1 (0 left): Filled
          done 4 by=1 (0 left): Filled
        > buy 5 5@market ioc by=1
          trade 1@103: buy 5 by=1 (4 left) meets sell 2 (0 left)
          done 2 (0 left): Filled
          done 5 by=1 (4 left): Expired
    "#]]);
}

#[test]
fn a_collar_reaches_down_for_who_sells() {
    check(expect![[r#"
        > account by=1 collar=3
          applied, tag=0, orders: 0
        > instrument reference=100
          applied, tag=0, orders: 0
        > buy 1 1@97
          booked 1: buy 1@97
        > buy 2 1@96
          booked 2: buy 1@96
        > sell 3 2@market ioc by=1
          trade 1@97: sell 3 by=1 (1 left) meets buy 1 (0 left)
          done 1 (0 left): Filled
          done 3 by=1 (1 left): Expired
    "#]]);
}

#[test]
fn nor_past_the_band_though_orders_may_rest_there() {
    check(expect![[r#"
        > sell 1 1@100
          booked 1: sell 1@100
        > sell 2 1@120
          booked 2: sell 1@120
        > buy 3 1@80
          booked 3: buy 1@80
        > instrument band=90..110
          applied, tag=0, orders: 0
        > buy 4 2@market ioc
          trade 1@100: buy 4 (1 left) meets sell 1 (0 left)
          done 1 (0 left): Filled
          done 4 (1 left): Expired
        > sell 5 1@market ioc
          done 5 (1 left): Expired
    "#]]);
}

/// Orders that rest at prices better than the band trade with a market order, as with a limit
/// order.
#[test]
fn the_band_is_how_far_it_goes_and_not_where_it_may_trade() {
    check(expect![[r#"
        > sell 1 1@80
          booked 1: sell 1@80
        > instrument band=90..110
          applied, tag=0, orders: 0
        > buy 2 1@market ioc
          trade 1@80: buy 2 (0 left) meets sell 1 (0 left)
          done 1 (0 left): Filled
          done 2 (0 left): Filled
    "#]]);
}

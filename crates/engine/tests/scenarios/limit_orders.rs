//! Price-time priority, and what becomes of what is left.

use expect_test::expect;

use crate::check;

#[test]
fn better_prices_trade_first_then_older_orders_at_the_resting_price() {
    check(expect![[r#"
        > sell 1 5@102
        > sell 2 2@101
        > sell 3 4@101 by=1
        > book
        > buy 4 8@103 by=2 tag=9
        > book
        > positions
    "#]]);
}

#[test]
fn a_partly_filled_order_keeps_its_place() {
    check(expect![[r#"
        > buy 1 5@100
        > buy 2 5@100
        > sell 3 1@100
        > sell 4 4@99 ioc
    "#]]);
}

#[test]
fn what_is_left_rests_or_expires() {
    check(expect![[r#"
        > buy 1 3@100
        > sell 2 5@100
        > buy 3 5@100 ioc
        > buy 4 1@100 ioc
        > book
    "#]]);
}

#[test]
fn all_or_nothing_trades_with_several_orders_and_at_several_prices() {
    check(expect![[r#"
        > sell 1 2@100
        > sell 2 2@101
        > buy 3 5@101 fok
        > buy 4 4@100 fok
        > buy 5 4@101 fok
        > book
    "#]]);
}

#[test]
fn all_or_nothing_counts_what_an_iceberg_hides() {
    check(expect![[r#"
        > sell 1 9@100 show=2
        > buy 2 9@100 fok
    "#]]);
}

#[test]
fn only_the_owner_cancels_and_only_where_the_order_is() {
    check(expect![[r#"
        > buy 1 3@100 tag=4
        > cancel 2
        > cancel 1 on=1
        > cancel 1 on=2
        > cancel 1 by=1 tag=5
        > cancel 1 by=3
        > cancel 1 tag=5
        > cancel 1
    "#]]);
}

#[test]
fn an_id_is_taken_while_its_order_is_open_and_free_afterwards() {
    check(expect![[r#"
        > buy 1 3@100
        > sell 1 1@200
        > sell 1 1@100 ioc on=1
        > cancel 1
        > sell 1 1@200
    "#]]);
}

#[test]
fn an_account_may_trade_with_itself_unless_it_says_otherwise() {
    check(expect![[r#"
        > sell 1 1@100
        > buy 2 1@100
        > positions
    "#]]);
}

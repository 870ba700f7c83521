//! Price-time priority, and the treatment of remainders.

use expect_test::expect;

use super::check;

#[test]
fn better_prices_trade_first_then_older_orders_at_the_resting_price() {
    check(expect![[r#"
        > sell 1 5@102
          booked 1: sell 5@102
        > sell 2 2@101
          booked 2: sell 2@101
        > sell 3 4@101 by=1
          booked 3 by=1: sell 4@101
        > book
          sell 5@102, orders: 1
          sell 6@101, orders: 2
        > buy 4 8@103 by=2 tag=9
          trade 2@101: buy 4 by=2 tag=9 (6 left) meets sell 2 (0 left)
          done 2 (0 left): Filled
          trade 4@101: buy 4 by=2 tag=9 (2 left) meets sell 3 by=1 (0 left)
          done 3 by=1 (0 left): Filled
          trade 2@102: buy 4 by=2 tag=9 (0 left) meets sell 1 (3 left)
          done 4 by=2 tag=9 (0 left): Filled
        > book
          sell 3@102, orders: 1
        > positions
          account 0 on 0: -4
          account 1 on 0: -4
          account 2 on 0: +8
    "#]]);
}

#[test]
fn a_partly_filled_order_keeps_its_place() {
    check(expect![[r#"
        > buy 1 5@100
          booked 1: buy 5@100
        > buy 2 5@100
          booked 2: buy 5@100
        > sell 3 1@100
          trade 1@100: sell 3 (0 left) meets buy 1 (4 left)
          done 3 (0 left): Filled
        > sell 4 4@99 ioc
          trade 4@100: sell 4 (0 left) meets buy 1 (0 left)
          done 1 (0 left): Filled
          done 4 (0 left): Filled
    "#]]);
}

#[test]
fn what_is_left_rests_or_expires() {
    check(expect![[r#"
        > buy 1 3@100
          booked 1: buy 3@100
        > sell 2 5@100
          trade 3@100: sell 2 (2 left) meets buy 1 (0 left)
          done 1 (0 left): Filled
          booked 2: sell 2@100
        > buy 3 5@100 ioc
          trade 2@100: buy 3 (3 left) meets sell 2 (0 left)
          done 2 (0 left): Filled
          done 3 (3 left): Expired
        > buy 4 1@100 ioc
          done 4 (1 left): Expired
        > book
          empty
    "#]]);
}

#[test]
fn all_or_nothing_trades_with_several_orders_and_at_several_prices() {
    check(expect![[r#"
        > sell 1 2@100
          booked 1: sell 2@100
        > sell 2 2@101
          booked 2: sell 2@101
        > buy 3 5@101 fok
          done 3 (5 left): Expired
        > buy 4 4@100 fok
          done 4 (4 left): Expired
        > buy 5 4@101 fok
          trade 2@100: buy 5 (2 left) meets sell 1 (0 left)
          done 1 (0 left): Filled
          trade 2@101: buy 5 (0 left) meets sell 2 (0 left)
          done 2 (0 left): Filled
          done 5 (0 left): Filled
        > book
          empty
    "#]]);
}

#[test]
fn all_or_nothing_counts_what_an_iceberg_hides() {
    check(expect![[r#"
        > sell 1 9@100 show=2
          booked 1: sell 9@100 shows 2
        > buy 2 9@100 fok
          trade 2@100: buy 2 (7 left) meets sell 1 (7 left)
          replenished 1: sell 7@100 shows 2
          trade 2@100: buy 2 (5 left) meets sell 1 (5 left)
          replenished 1: sell 5@100 shows 2
          trade 2@100: buy 2 (3 left) meets sell 1 (3 left)
          replenished 1: sell 3@100 shows 2
          trade 2@100: buy 2 (1 left) meets sell 1 (1 left)
          replenished 1: sell 1@100
          trade 1@100: buy 2 (0 left) meets sell 1 (0 left)
          done 1 (0 left): Filled
          done 2 (0 left): Filled
    "#]]);
}

#[test]
fn only_the_owner_cancels_and_only_where_the_order_is() {
    check(expect![[r#"
        > buy 1 3@100 tag=4
          booked 1 tag=4: buy 3@100
        > cancel 2
          rejected 2: UNKNOWN_ORDER
        > cancel 1 on=1
          rejected 1 on=1: UNKNOWN_ORDER
        > cancel 1 on=2
          rejected 1 on=2: UNKNOWN_INSTRUMENT
        > cancel 1 by=1 tag=5
          rejected 1 by=1 tag=5: NOT_YOUR_ORDER
        > cancel 1 by=3
          rejected 1 by=3: UNKNOWN_ACCOUNT
        > cancel 1 tag=5
          done 1 tag=4 (3 left): Cancelled
        > cancel 1
          rejected 1: UNKNOWN_ORDER
    "#]]);
}

#[test]
fn an_id_is_taken_while_its_order_is_open_and_free_afterwards() {
    check(expect![[r#"
        > buy 1 3@100
          booked 1: buy 3@100
        > sell 1 1@200
          rejected 1: DUPLICATE_ORDER_ID
        > sell 1 1@100 ioc on=1
          rejected 1 on=1: DUPLICATE_ORDER_ID
        > cancel 1
          done 1 (3 left): Cancelled
        > sell 1 1@200
          booked 1: sell 1@200
    "#]]);
}

#[test]
fn an_account_may_trade_with_itself_unless_it_says_otherwise() {
    check(expect![[r#"
        > sell 1 1@100
          booked 1: sell 1@100
        > buy 2 1@100
          trade 1@100: buy 2 (0 left) meets sell 1 (0 left)
          done 1 (0 left): Filled
          done 2 (0 left): Filled
        > positions
          none
    "#]]);
}

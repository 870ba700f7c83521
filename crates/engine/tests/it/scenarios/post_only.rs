//! Orders that must rest and not trade.

use expect_test::expect;

use super::check;

#[test]
fn one_that_would_trade_is_rejected_or_rests_one_tick_short() {
    check(expect![[r#"
        > sell 1 1@100
          booked 1: sell 1@100
        > buy 2 1@100 post
          rejected 2: POST_ONLY_WOULD_TRADE
        > buy 2 1@99 post
          booked 2: buy 1@99
        > buy 3 1@100 reprice
          booked 3: buy 1@99
        > buy 4 1@105 reprice
          booked 4: buy 1@99
        > sell 5 1@90 reprice
          booked 5: sell 1@100
        > sell 6 1@101 reprice
          booked 6: sell 1@101
        > book
          sell 1@101, orders: 1
          sell 2@100, orders: 2
          buy 3@99, orders: 3
    "#]]);
}

#[test]
fn it_makes_no_difference_whose_order_it_would_meet() {
    check(expect![[r#"
        > account self-trade=oldest
          applied, tag=0, orders: 0
        > sell 1 1@100
          booked 1: sell 1@100
        > buy 2 1@100 post
          rejected 2: POST_ONLY_WOULD_TRADE
    "#]]);
}

#[test]
fn there_must_be_a_tick_to_rest_at_within_the_band() {
    check(expect![[r#"
        > sell 1 1@1
          booked 1: sell 1@1
        > buy 2 1@5 reprice
          rejected 2: POST_ONLY_WOULD_TRADE
        > buy 3 1@1000000000000 on=1
          booked 3 on=1: buy 1@1000000000000
        > sell 4 1@5 reprice on=1
          rejected 4 on=1: POST_ONLY_WOULD_TRADE
        > cancel-all
          done 1 (1 left): Cancelled
          done 3 on=1 (1 left): Cancelled
          applied, tag=0, orders: 2
        > sell 5 1@90
          booked 5: sell 1@90
        > instrument band=90..110
          applied, tag=0, orders: 0
        > buy 6 1@95 reprice
          rejected 6: POST_ONLY_WOULD_TRADE
        > cancel 5
          done 5 (1 left): Cancelled
        > sell 7 1@91
          booked 7: sell 1@91
        > buy 8 1@95 reprice
          booked 8: buy 1@90
    "#]]);
}

#[test]
fn an_amendment_is_post_only_as_its_order_is() {
    check(expect![[r#"
        > sell 1 1@105
          booked 1: sell 1@105
        > buy 2 1@100 post
          booked 2: buy 1@100
        > buy 3 1@100 reprice
          booked 3: buy 1@100
        > amend 2 1@105
          rejected 2: POST_ONLY_WOULD_TRADE
        > amend 3 1@105
          amended 3: buy 1@104 shows 0, loses its place
          booked 3: buy 1@104
        > amend 3 2@104
          amended 3: buy 2@104 shows 0, loses its place
          booked 3: buy 2@104
        > book
          sell 1@105, orders: 1
          buy 2@104, orders: 1
          buy 1@100, orders: 1
    "#]]);
}

#[test]
fn only_a_limit_order_that_may_rest_without_a_stop_can_be_post_only() {
    check(expect![[r#"
        > buy 1 1@100 post ioc
          rejected 1: BAD_COMBINATION
        > buy 1 1@100 reprice fok
          rejected 1: BAD_COMBINATION
        > buy 1 1@market ioc post
          rejected 1: BAD_COMBINATION
        > buy 1 1@100 post stop=105
          rejected 1: BAD_COMBINATION
        > buy 1 1@100 post gtd=1s show=1
          booked 1: buy 1@100
    "#]]);
}

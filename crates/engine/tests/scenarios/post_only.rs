//! Orders that are to rest and not to trade.

use expect_test::expect;

use crate::check;

#[test]
fn one_that_would_trade_is_refused_or_rests_one_tick_short() {
    check(expect![[r#"
        > sell 1 1@100
        > buy 2 1@100 post
        > buy 2 1@99 post
        > buy 3 1@100 reprice
        > buy 4 1@105 reprice
        > sell 5 1@90 reprice
        > sell 6 1@101 reprice
        > book
    "#]]);
}

#[test]
fn it_makes_no_difference_whose_order_it_would_meet() {
    check(expect![[r#"
        > account self-trade=oldest
        > sell 1 1@100
        > buy 2 1@100 post
    "#]]);
}

#[test]
fn there_must_be_a_tick_to_rest_at_within_the_band() {
    check(expect![[r#"
        > sell 1 1@1
        > buy 2 1@5 reprice
        > buy 3 1@1000000000000 on=1
        > sell 4 1@5 reprice on=1
        > cancel-all
        > sell 5 1@90
        > instrument band=90..110
        > buy 6 1@95 reprice
        > cancel 5
        > sell 7 1@91
        > buy 8 1@95 reprice
    "#]]);
}

#[test]
fn an_amendment_is_post_only_as_its_order_is() {
    check(expect![[r#"
        > sell 1 1@105
        > buy 2 1@100 post
        > buy 3 1@100 reprice
        > amend 2 1@105
        > amend 3 1@105
        > amend 3 2@104
        > book
    "#]]);
}

#[test]
fn only_a_limit_order_that_may_rest_without_a_stop_can_be_post_only() {
    check(expect![[r#"
        > buy 1 1@100 post ioc
        > buy 1 1@100 reprice fok
        > buy 1 1@market ioc post
        > buy 1 1@100 post stop=105
        > buy 1 1@100 post gtd=1s show=1
    "#]]);
}

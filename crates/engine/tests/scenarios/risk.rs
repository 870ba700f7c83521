//! An account's limits.

use expect_test::expect;

use crate::check;

#[test]
fn how_large_an_order_is() {
    check(expect![[r#"
        > account by=1 quantity=5
        > buy 1 6@100 by=1
        > buy 1 5@100 by=1
        > amend 1 6@100 by=1
        > amend 1 6@101 by=1
        > amend 1 5@101 by=1
        > buy 2 6@100
        > account by=1 quantity=1
        > amend 1 4@101 by=1
    "#]]);
}

#[test]
fn how_far_past_the_reference_price_it_bids_or_offers() {
    check(expect![[r#"
        > account by=1 collar=2
        > buy 1 1@500 by=1
        > cancel 1 by=1
        > instrument reference=100
        > buy 2 1@103 by=1
        > buy 2 1@102 by=1
        > sell 3 1@97 by=1
        > sell 3 1@110 by=1
        > buy 4 1@20 by=1
        > amend 4 1@103 by=1
        > buy 5 1@103 by=1 stop=105
    "#]]);
}

#[test]
fn how_much_an_order_is_worth() {
    check(expect![[r#"
        > account by=1 notional=500
        > buy 1 5@101 by=1
        > buy 1 5@100 by=1
        > amend 1 6@100 by=1
        > amend 1 5@101 by=1
        > buy 2 1@market ioc by=1
        > buy 2 1@market ioc by=1 stop=100
        > instrument reference=100
        > buy 2 6@market ioc by=1
        > buy 2 5@market ioc by=1
        > buy 3 6@market ioc by=1 stop=105
        > buy 3 5@market ioc by=1 stop=105
        > amend 3 6@market by=1
        > sell 4 1000000000000@1000000000000
    "#]]);
}

#[test]
fn how_many_orders_are_open() {
    check(expect![[r#"
        > account by=1 orders=2
        > buy 1 1@100 by=1
        > buy 2 1@100 by=1 on=1 stop=200
        > buy 3 1@100 by=1
        > buy 3 1@100 by=1 stop=200 ioc
        > buy 3 1@100 by=1 ioc
        > amend 1 1@101 by=1
        > cancel 2 by=1 on=1
        > buy 3 1@100 by=1
    "#]]);
}

/// Open orders count as if they had traded; what comes in counts as a position.
#[test]
fn how_far_the_position_can_go() {
    check(expect![[r#"
        > position by=1 long=10 short=0 change=3
        > buy 1 7@100 by=1
        > buy 2 1@100 by=1
        > sell 3 4@110 by=1
        > sell 3 3@110 by=1
        > sell 4 1@110 by=1 stop=50
        > sell 5 2@100
        > buy 2 1@100 by=1 ioc
        > positions
        > cancel 1 by=1
        > buy 2 6@100 by=1
        > buy 2 5@100 by=1
        > amend 2 6@100 by=1
        > amend 2 5@101 by=1
    "#]]);
}

#[test]
fn a_stop_that_waits_is_reserved_too() {
    check(expect![[r#"
        > position by=1 long=10
        > buy 1 10@100 by=1 stop=105
        > buy 2 1@90 by=1
        > amend 1 9@100 by=1
        > buy 2 1@90 by=1
        > amend 1 10@100 by=1
    "#]]);
}

#[test]
fn what_is_past_a_limit_that_was_lowered_stays() {
    check(expect![[r#"
        > buy 1 5@100 by=1
        > position by=1 long=3
        > amend 1 4@100 by=1
        > amend 1 4@99 by=1
        > amend 1 3@99 by=1
        > sell 2 3@99
        > positions
    "#]]);
}

#[test]
fn a_position_that_is_taken_out_may_leave_orders_but_no_overflow() {
    check(expect![[r#"
        > position by=1 change=-4611686018427387904
        > sell 1 1@100 by=1
        > position by=1 change=1
        > sell 1 1@100 by=1
        > position by=1 change=-1
        > position by=1 change=9223372036854775807
        > position by=1 change=-9223372036854775808
        > positions
    "#]]);
}

#[test]
fn what_was_traded_with_oneself_moves_no_position() {
    check(expect![[r#"
        > position by=1 long=2 short=2
        > sell 1 2@100 by=1
        > buy 2 2@100 by=1
        > positions
        > buy 3 2@100 by=1
    "#]]);
}

/// Cancels count and are never refused; what is refused counts.
#[test]
fn how_many_messages_in_a_second() {
    check(expect![[r#"
        > account by=1 messages=3
        > buy 1 1@100 by=1 at=0.9s
        > cancel 7 by=1
        > amend 1 1@101 by=1 at=0.999s
        > buy 2 1@100 by=1
        > cancel 1 by=1
        > cancel-all by=1
        > buy 2 1@100 by=1 at=1s
        > buy 3 1@100 by=1 at=0.9s
        > buy 4 0@100 by=1
        > buy 5 1@100 by=1
        > buy 5 1@100 by=2
    "#]]);
}

#[test]
fn a_kill_switch_stops_what_is_new() {
    check(expect![[r#"
        > buy 1 2@100 by=1
        > kill by=1
        > buy 2 1@100 by=1
        > amend 1 1@100 by=1
        > buy 2 1@100
        > sell 3 1@100
        > cancel 1 by=1
        > release by=1
        > kill
        > buy 4 1@100
        > release by=0
        > release
        > buy 4 1@100
    "#]]);
}

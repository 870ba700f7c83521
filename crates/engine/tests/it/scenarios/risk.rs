//! An account's limits.

use expect_test::expect;

use super::check;

#[test]
fn how_large_an_order_is() {
    check(expect![[r#"
        > account by=1 quantity=5
          applied, tag=0, orders: 0
        > buy 1 6@100 by=1
          rejected 1 by=1: RISK_QUANTITY_LOTS_MAX
        > buy 1 5@100 by=1
          booked 1 by=1: buy 5@100
        > amend 1 6@100 by=1
          rejected 1 by=1: RISK_QUANTITY_LOTS_MAX
        > amend 1 6@101 by=1
          rejected 1 by=1: RISK_QUANTITY_LOTS_MAX
        > amend 1 5@101 by=1
          amended 1 by=1: buy 5@101 shows 0, loses its place
          booked 1 by=1: buy 5@101
        > buy 2 6@100
          booked 2: buy 6@100
        > account by=1 quantity=1
          applied, tag=0, orders: 0
        > amend 1 4@101 by=1
          amended 1 by=1: buy 4@101, keeps its place
    "#]]);
}

#[test]
fn how_far_past_the_reference_price_it_bids_or_offers() {
    check(expect![[r#"
        > account by=1 collar=2
          applied, tag=0, orders: 0
        > buy 1 1@500 by=1
          booked 1 by=1: buy 1@500
        > cancel 1 by=1
          done 1 by=1 (1 left): Cancelled
        > instrument reference=100
          applied, tag=0, orders: 0
        > buy 2 1@103 by=1
          rejected 2 by=1: RISK_COLLAR_TICKS
        > buy 2 1@102 by=1
          booked 2 by=1: buy 1@102
        > sell 3 1@97 by=1
          rejected 3 by=1: RISK_COLLAR_TICKS
        > sell 3 1@110 by=1
          booked 3 by=1: sell 1@110
        > buy 4 1@20 by=1
          booked 4 by=1: buy 1@20
        > amend 4 1@103 by=1
          rejected 4 by=1: RISK_COLLAR_TICKS
        > buy 5 1@103 by=1 stop=105
          rejected 5 by=1: RISK_COLLAR_TICKS
    "#]]);
}

#[test]
fn how_much_an_order_is_worth() {
    check(expect![[r#"
        > account by=1 notional=500
          applied, tag=0, orders: 0
        > buy 1 5@101 by=1
          rejected 1 by=1: RISK_NOTIONAL_MAX
        > buy 1 5@100 by=1
          booked 1 by=1: buy 5@100
        > amend 1 6@100 by=1
          rejected 1 by=1: RISK_NOTIONAL_MAX
        > amend 1 5@101 by=1
          rejected 1 by=1: RISK_NOTIONAL_MAX
        > buy 2 1@market ioc by=1
          rejected 2 by=1: RISK_NO_REFERENCE_PRICE
        > buy 2 1@market ioc by=1 stop=100
          rejected 2 by=1: RISK_NO_REFERENCE_PRICE
        > instrument reference=100
          applied, tag=0, orders: 0
        > buy 2 6@market ioc by=1
          rejected 2 by=1: RISK_NOTIONAL_MAX
        > buy 2 5@market ioc by=1
          done 2 by=1 (5 left): Expired
        > buy 3 6@market ioc by=1 stop=105
          rejected 3 by=1: RISK_NOTIONAL_MAX
        > buy 3 5@market ioc by=1 stop=105
          waiting 3 by=1: buy 5, stop 105
        > amend 3 6@market by=1
          rejected 3 by=1: RISK_NOTIONAL_MAX
        > sell 4 1000000000000@1000000000000
          booked 4: sell 1000000000000@1000000000000
    "#]]);
}

#[test]
fn how_many_orders_are_open() {
    check(expect![[r#"
        > account by=1 orders=2
          applied, tag=0, orders: 0
        > buy 1 1@100 by=1
          booked 1 by=1: buy 1@100
        > buy 2 1@100 by=1 on=1 stop=200
          waiting 2 by=1 on=1: buy 1, stop 200
        > buy 3 1@100 by=1
          rejected 3 by=1: RISK_OPEN_ORDERS_MAX
        > buy 3 1@100 by=1 stop=200 ioc
          rejected 3 by=1: RISK_OPEN_ORDERS_MAX
        > buy 3 1@100 by=1 ioc
          done 3 by=1 (1 left): Expired
        > amend 1 1@101 by=1
          amended 1 by=1: buy 1@101 shows 0, loses its place
          booked 1 by=1: buy 1@101
        > cancel 2 by=1 on=1
          done 2 by=1 on=1 (1 left): Cancelled
        > buy 3 1@100 by=1
          booked 3 by=1: buy 1@100
    "#]]);
}

/// Open orders count as if they had traded; a paid-in balance counts as a position.
#[test]
fn how_far_the_position_can_go() {
    check(expect![[r#"
        > position by=1 long=10 short=0 change=3
          applied, tag=0, orders: 0
        > buy 1 7@100 by=1
          booked 1 by=1: buy 7@100
        > buy 2 1@100 by=1
          rejected 2 by=1: RISK_POSITION
        > sell 3 4@110 by=1
          rejected 3 by=1: RISK_POSITION
        > sell 3 3@110 by=1
          booked 3 by=1: sell 3@110
        > sell 4 1@110 by=1 stop=50
          rejected 4 by=1: RISK_POSITION
        > sell 5 2@100
          trade 2@100: sell 5 (0 left) meets buy 1 by=1 (5 left)
          done 5 (0 left): Filled
        > buy 2 1@100 by=1 ioc
          rejected 2 by=1: RISK_POSITION
        > positions
          account 0 on 0: -2
          account 1 on 0: +5
        > cancel 1 by=1
          done 1 by=1 (5 left): Cancelled
        > buy 2 6@100 by=1
          rejected 2 by=1: RISK_POSITION
        > buy 2 5@100 by=1
          booked 2 by=1: buy 5@100
        > amend 2 6@100 by=1
          rejected 2 by=1: RISK_POSITION
        > amend 2 5@101 by=1
          amended 2 by=1: buy 5@101 shows 0, loses its place
          booked 2 by=1: buy 5@101
    "#]]);
}

#[test]
fn a_stop_that_waits_is_reserved_too() {
    check(expect![[r#"
        > position by=1 long=10
          applied, tag=0, orders: 0
        > buy 1 10@100 by=1 stop=105
          waiting 1 by=1: buy 10, stop 105
        > buy 2 1@90 by=1
          rejected 2 by=1: RISK_POSITION
        > amend 1 9@100 by=1
          amended 1 by=1: buy 9@100 shows 0, keeps its place
        > buy 2 1@90 by=1
          booked 2 by=1: buy 1@90
        > amend 1 10@100 by=1
          rejected 1 by=1: RISK_POSITION
    "#]]);
}

#[test]
fn what_is_past_a_limit_that_was_lowered_stays() {
    check(expect![[r#"
        > buy 1 5@100 by=1
          booked 1 by=1: buy 5@100
        > position by=1 long=3
          applied, tag=0, orders: 0
        > amend 1 4@100 by=1
          amended 1 by=1: buy 4@100, keeps its place
        > amend 1 4@99 by=1
          amended 1 by=1: buy 4@99 shows 0, loses its place
          booked 1 by=1: buy 4@99
        > amend 1 3@99 by=1
          amended 1 by=1: buy 3@99, keeps its place
        > sell 2 3@99
          trade 3@99: sell 2 (0 left) meets buy 1 by=1 (0 left)
          done 1 by=1 (0 left): Filled
          done 2 (0 left): Filled
        > positions
          account 0 on 0: -3
          account 1 on 0: +3
    "#]]);
}

#[test]
fn a_position_that_is_taken_out_may_leave_orders_but_no_overflow() {
    check(expect![[r#"
        > position by=1 change=-4611686018427387904
          applied, tag=0, orders: 0
        > sell 1 1@100 by=1
          rejected 1 by=1: RISK_POSITION
        > position by=1 change=1
          applied, tag=0, orders: 0
        > sell 1 1@100 by=1
          booked 1 by=1: sell 1@100
        > position by=1 change=-1
          rejected 0 by=1: BAD_SETTING
        > position by=1 change=9223372036854775807
          applied, tag=0, orders: 0
        > position by=1 change=-9223372036854775808
          rejected 0 by=1: BAD_SETTING
        > positions
          account 1 on 0: +4611686018427387904
    "#]]);
}

#[test]
fn what_was_traded_with_oneself_moves_no_position() {
    check(expect![[r#"
        > position by=1 long=2 short=2
          applied, tag=0, orders: 0
        > sell 1 2@100 by=1
          booked 1 by=1: sell 2@100
        > buy 2 2@100 by=1
          trade 2@100: buy 2 by=1 (0 left) meets sell 1 by=1 (0 left)
          done 1 by=1 (0 left): Filled
          done 2 by=1 (0 left): Filled
        > positions
          none
        > buy 3 2@100 by=1
          booked 3 by=1: buy 2@100
    "#]]);
}

/// Cancels count but are never rejected; rejected messages count.
#[test]
fn how_many_messages_in_a_second() {
    check(expect![[r#"
        > account by=1 messages=3
          applied, tag=0, orders: 0
        > buy 1 1@100 by=1 at=0.9s
          booked 1 by=1: buy 1@100
        > cancel 7 by=1
          rejected 7 by=1: UNKNOWN_ORDER
        > amend 1 1@101 by=1 at=0.999s
          amended 1 by=1: buy 1@101 shows 0, loses its place
          booked 1 by=1: buy 1@101
        > buy 2 1@100 by=1
          rejected 2 by=1: RISK_MESSAGES_PER_SECOND_MAX
        > cancel 1 by=1
          done 1 by=1 (1 left): Cancelled
        > cancel-all by=1
          applied, tag=0, orders: 0
        > buy 2 1@100 by=1 at=1s
          booked 2 by=1: buy 1@100
        > buy 3 1@100 by=1 at=0.9s
          booked 3 by=1: buy 1@100
        > buy 4 0@100 by=1
          rejected 4 by=1: BAD_QUANTITY
        > buy 5 1@100 by=1
          rejected 5 by=1: RISK_MESSAGES_PER_SECOND_MAX
        > buy 5 1@100 by=2
          booked 5 by=2: buy 1@100
    "#]]);
}

#[test]
fn a_kill_switch_stops_what_is_new() {
    check(expect![[r#"
        > buy 1 2@100 by=1
          booked 1 by=1: buy 2@100
        > kill by=1
          applied, tag=0, orders: 0
        > buy 2 1@100 by=1
          rejected 2 by=1: KILL_SWITCH
        > amend 1 1@100 by=1
          rejected 1 by=1: KILL_SWITCH
        > buy 2 1@100
          booked 2: buy 1@100
        > sell 3 1@100
          trade 1@100: sell 3 (0 left) meets buy 1 by=1 (1 left)
          done 3 (0 left): Filled
        > cancel 1 by=1
          done 1 by=1 (1 left): Cancelled
        > release by=1
          applied, tag=0, orders: 0
        > kill
          applied, tag=0, orders: 0
        > buy 4 1@100
          rejected 4: KILL_SWITCH
        > release by=0
          applied, tag=0, orders: 0
        > release
          applied, tag=0, orders: 0
        > buy 4 1@100
          booked 4: buy 1@100
    "#]]);
}

/// An operator's kill switch once left resting orders open.
#[test]
fn a_kill_switch_that_cancels_ends_open_orders_of_the_account_or_all() {
    check(expect![[r#"
        > buy 1 2@100 by=1
          booked 1 by=1: buy 2@100
        > buy 2 1@99 by=1
          booked 2 by=1: buy 1@99
        > buy 3 1@98 by=2
          booked 3 by=2: buy 1@98
        > kill-and-cancel by=1
          done 2 by=1 (1 left): Cancelled
          done 1 by=1 (2 left): Cancelled
          applied, tag=0, orders: 2
        > buy 4 1@100 by=1
          rejected 4 by=1: KILL_SWITCH
        > buy 5 1@97 by=2
          booked 5 by=2: buy 1@97
        > kill-and-cancel
          done 3 by=2 (1 left): Cancelled
          done 5 by=2 (1 left): Cancelled
          applied, tag=0, orders: 2
    "#]]);
}

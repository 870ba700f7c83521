//! Changes of orders that are open.

use expect_test::expect;

use super::check;

#[test]
fn less_at_the_same_price_keeps_its_place() {
    check(expect![[r#"
        > buy 1 5@100 tag=1
          booked 1 tag=1: buy 5@100
        > buy 2 5@100
          booked 2: buy 5@100
        > amend 1 3@100 tag=7
          amended 1 tag=7: buy 3@100, keeps its place
        > amend 1 3@100
          amended 1: buy 3@100, keeps its place
        > sell 3 1@100
          trade 1@100: sell 3 (0 left) meets buy 1 (2 left)
          done 3 (0 left): Filled
        > amend 1 2@100
          amended 1: buy 2@100, keeps its place
        > sell 4 3@100 ioc
          trade 2@100: sell 4 (1 left) meets buy 1 (0 left)
          done 1 (0 left): Filled
          trade 1@100: sell 4 (0 left) meets buy 2 (4 left)
          done 4 (0 left): Filled
    "#]]);
}

#[test]
fn more_or_another_price_loses_it() {
    check(expect![[r#"
        > buy 1 5@100
          booked 1: buy 5@100
        > buy 2 5@100
          booked 2: buy 5@100
        > amend 1 6@100
          amended 1: buy 6@100 shows 0, loses its place
          booked 1: buy 6@100
        > book
          buy 11@100, orders: 2
        > amend 2 5@99
          amended 2: buy 5@99 shows 0, loses its place
          booked 2: buy 5@99
        > amend 2 5@100
          amended 2: buy 5@100 shows 0, loses its place
          booked 2: buy 5@100
        > sell 3 1@100 ioc
          trade 1@100: sell 3 (0 left) meets buy 1 (5 left)
          done 3 (0 left): Filled
    "#]]);
}

#[test]
fn an_amendment_may_trade() {
    check(expect![[r#"
        > sell 1 3@101
          booked 1: sell 3@101
        > buy 2 5@100
          booked 2: buy 5@100
        > amend 2 5@101
          amended 2: buy 5@101 shows 0, loses its place
          trade 3@101: buy 2 (2 left) meets sell 1 (0 left)
          done 1 (0 left): Filled
          booked 2: buy 2@101
        > book
          buy 2@101, orders: 1
        > amend 2 1@1 by=1
          rejected 2 by=1: NOT_YOUR_ORDER
        > sell 3 9@100
          trade 2@101: sell 3 (7 left) meets buy 2 (0 left)
          done 2 (0 left): Filled
          booked 3: sell 7@100
        > amend 3 3@100
          amended 3: sell 3@100, keeps its place
    "#]]);
}

#[test]
fn what_has_traded_does_not_count() {
    check(expect![[r#"
        > buy 1 5@100
          booked 1: buy 5@100
        > sell 2 3@100
          trade 3@100: sell 2 (0 left) meets buy 1 (2 left)
          done 2 (0 left): Filled
        > amend 1 4@100
          amended 1: buy 4@100 shows 0, loses its place
          booked 1: buy 4@100
        > book
          buy 4@100, orders: 1
    "#]]);
}

#[test]
fn the_account_asks_and_the_order_answers() {
    check(expect![[r#"
        > buy 1 5@100
          booked 1: buy 5@100
        > amend 2 5@100
          rejected 2: UNKNOWN_ORDER
        > amend 1 5@100 on=1
          rejected 1 on=1: UNKNOWN_ORDER
        > amend 1 5@100 on=2
          rejected 1 on=2: UNKNOWN_INSTRUMENT
        > amend 1 5@100 by=1
          rejected 1 by=1: NOT_YOUR_ORDER
        > amend 1 5@100 by=3
          rejected 1 by=3: UNKNOWN_ACCOUNT
        > kill
          applied, tag=0, orders: 0
        > amend 2 5@100
          rejected 2: UNKNOWN_ORDER
        > amend 1 4@100
          rejected 1: KILL_SWITCH
        > release
          applied, tag=0, orders: 0
        > amend 1 0@100
          rejected 1: BAD_QUANTITY
        > amend 1 5@0
          rejected 1: BAD_PRICE
        > amend 1 1000000000001@100
          rejected 1: BAD_QUANTITY
        > amend 1 1@1000000000001
          rejected 1: BAD_PRICE
        > amend 1 5@market
          rejected 1: BAD_PRICE
    "#]]);
}

#[test]
fn an_amendment_that_enters_keeps_its_date_and_what_it_shows() {
    check(expect![[r#"
        > buy 1 5@100 gtd=1s show=2
          booked 1: buy 5@100 shows 2
        > amend 1 6@101
          amended 1: buy 6@101 shows 0, loses its place
          booked 1: buy 6@101 shows 2
        > book
          buy 2@101, orders: 1
        > buy 2 1@90 at=1s
          done 1 (6 left): Expired
          booked 2: buy 1@90
    "#]]);
}

#[test]
fn a_stop_that_waits_keeps_its_place_and_its_stop_price() {
    check(expect![[r#"
        > buy 1 5@106 stop=105
          waiting 1: buy 5, stop 105
        > buy 2 5@106 stop=105
          waiting 2: buy 5, stop 105
        > buy 3 5@market ioc stop=105
          waiting 3: buy 5, stop 105
        > amend 1 9@108 tag=3
          amended 1 tag=3: buy 9@108 shows 0, keeps its place
        > amend 3 7@market
          amended 3: buy 7@0 shows 0, keeps its place
        > amend 3 7@100
          rejected 3: BAD_PRICE
        > amend 2 7@0
          rejected 2: BAD_PRICE
        > instrument reference=105
          applied, tag=0, orders: 0
          triggered 1 tag=3 (9 left)
          booked 1 tag=3: buy 9@108
          triggered 2 (5 left)
          booked 2: buy 5@106
          triggered 3 (7 left)
          done 3 (7 left): Expired
        > book
          buy 9@108, orders: 1
          buy 5@106, orders: 1
    "#]]);
}

#[test]
fn a_stop_is_checked_as_one_that_enters_even_where_it_shrinks() {
    check(expect![[r#"
        > buy 1 5@106 stop=105
          waiting 1: buy 5, stop 105
        > instrument band=1..105
          applied, tag=0, orders: 0
        > amend 1 4@106
          rejected 1: PRICE_BAND
        > amend 1 4@105
          amended 1: buy 4@105 shows 0, keeps its place
        > instrument halted
          applied, tag=0, orders: 0
        > amend 1 4@105
          rejected 1: INSTRUMENT_HALTED
        > instrument
          applied, tag=0, orders: 0
        > account quantity=3
          applied, tag=0, orders: 0
        > amend 1 4@105
          rejected 1: RISK_QUANTITY_LOTS_MAX
        > amend 1 3@105
          amended 1: buy 3@105 shows 0, keeps its place
    "#]]);
}

#[test]
fn the_newest_account_order_is_the_one_that_lost_its_place_last() {
    check(expect![[r#"
        > buy 1 5@100
          booked 1: buy 5@100
        > buy 2 5@100
          booked 2: buy 5@100
        > sell 3 5@110 stop=90
          waiting 3: sell 5, stop 90
        > amend 1 6@100
          amended 1: buy 6@100 shows 0, loses its place
          booked 1: buy 6@100
        > amend 3 6@110
          amended 3: sell 6@110 shows 0, keeps its place
        > cancel-all by=0
          done 1 (6 left): Cancelled
          done 3 (6 left): Cancelled
          done 2 (5 left): Cancelled
          applied, tag=0, orders: 3
    "#]]);
}

#[test]
fn an_order_that_would_meet_its_own_on_amendment() {
    check(expect![[r#"
        > account self-trade=newest
          applied, tag=0, orders: 0
        > sell 1 5@105
          booked 1: sell 5@105
        > buy 2 5@100
          booked 2: buy 5@100
        > amend 2 5@105
          amended 2: buy 5@105 shows 0, loses its place
          done 2 (5 left): SelfTrade
        > book
          sell 5@105, orders: 1
    "#]]);
}

//! Orders that wait for a price.

use expect_test::expect;

use super::check;

#[test]
fn it_waits_until_a_trade_reaches_its_price() {
    check(expect![[r#"
        > sell 1 1@104
          booked 1: sell 1@104
        > sell 2 1@105
          booked 2: sell 1@105
        > sell 3 5@106
          booked 3: sell 5@106
        > buy 4 3@106 stop=105
          waiting 4: buy 3, stop 105
        > buy 5 1@104
          trade 1@104: buy 5 (0 left) meets sell 1 (0 left)
          done 1 (0 left): Filled
          done 5 (0 left): Filled
        > buy 6 1@105 by=1
          trade 1@105: buy 6 by=1 (0 left) meets sell 2 (0 left)
          done 2 (0 left): Filled
          done 6 by=1 (0 left): Filled
          triggered 4 (3 left)
          trade 3@106: buy 4 (0 left) meets sell 3 (2 left)
          done 4 (0 left): Filled
        > book
          sell 2@106, orders: 1
    "#]]);
}

#[test]
fn a_sell_stop_waits_for_a_lower_price() {
    check(expect![[r#"
        > buy 1 1@100
          booked 1: buy 1@100
        > buy 2 5@95
          booked 2: buy 5@95
        > sell 3 3@market ioc stop=99
          waiting 3: sell 3, stop 99
        > sell 4 1@99
          trade 1@100: sell 4 (0 left) meets buy 1 (0 left)
          done 1 (0 left): Filled
          done 4 (0 left): Filled
        > sell 5 2@market ioc stop=95
          waiting 5: sell 2, stop 95
        > sell 6 1@95
          trade 1@95: sell 6 (0 left) meets buy 2 (4 left)
          done 6 (0 left): Filled
          triggered 3 (3 left)
          trade 3@95: sell 3 (0 left) meets buy 2 (1 left)
          done 3 (0 left): Filled
          triggered 5 (2 left)
          trade 1@95: sell 5 (1 left) meets buy 2 (0 left)
          done 2 (0 left): Filled
          done 5 (1 left): Expired
    "#]]);
}

#[test]
fn one_whose_price_is_reached_already_enters_at_once() {
    check(expect![[r#"
        > instrument reference=100
          applied, tag=0, orders: 0
        > buy 1 3@100 stop=100
          triggered 1 (3 left)
          booked 1: buy 3@100
        > buy 2 3@100 stop=101
          waiting 2: buy 3, stop 101
        > sell 3 1@105 stop=100
          triggered 3 (1 left)
          booked 3: sell 1@105
        > sell 4 1@105 stop=99
          waiting 4: sell 1, stop 99
        > sell 5 2@99 stop=100 ioc
          triggered 5 (2 left)
          trade 2@100: sell 5 (0 left) meets buy 1 (1 left)
          done 5 (0 left): Filled
    "#]]);
}

#[test]
fn without_a_reference_price_nothing_is_reached() {
    check(expect![[r#"
        > buy 1 1@1 stop=1
          waiting 1: buy 1, stop 1
        > sell 2 1@5 stop=1000000000000
          waiting 2: sell 1, stop 1000000000000
        > instrument reference=3
          applied, tag=0, orders: 0
          triggered 1 (1 left)
          booked 1: buy 1@1
          triggered 2 (1 left)
          booked 2: sell 1@5
    "#]]);
}

#[test]
fn buy_stops_come_first_the_lowest_first_then_sell_stops_the_highest_first() {
    check(expect![[r#"
        > sell 1 1@20 stop=9
          waiting 1: sell 1, stop 9
        > sell 2 1@20 stop=10
          waiting 2: sell 1, stop 10
        > sell 3 1@20 stop=10
          waiting 3: sell 1, stop 10
        > buy 4 1@5 stop=12
          waiting 4: buy 1, stop 12
        > buy 5 1@5 stop=11
          waiting 5: buy 1, stop 11
        > buy 6 1@5 stop=11
          waiting 6: buy 1, stop 11
        > instrument halted reference=11
          applied, tag=0, orders: 0
        > sell 7 1@20 stop=9
          rejected 7: INSTRUMENT_HALTED
        > instrument reference=10
          applied, tag=0, orders: 0
          triggered 2 (1 left)
          booked 2: sell 1@20
          triggered 3 (1 left)
          booked 3: sell 1@20
        > instrument reference=12
          applied, tag=0, orders: 0
          triggered 5 (1 left)
          booked 5: buy 1@5
          triggered 6 (1 left)
          booked 6: buy 1@5
          triggered 4 (1 left)
          booked 4: buy 1@5
    "#]]);
}

#[test]
fn one_leads_to_another_and_each_looks_at_the_last_trade() {
    check(expect![[r#"
        > sell 1 1@101
          booked 1: sell 1@101
        > sell 2 1@102
          booked 2: sell 1@102
        > sell 3 1@103
          booked 3: sell 1@103
        > buy 4 1@101 stop=101
          waiting 4: buy 1, stop 101
        > buy 5 1@102 stop=101
          waiting 5: buy 1, stop 101
        > buy 6 1@103 stop=102
          waiting 6: buy 1, stop 102
        > buy 7 1@50 stop=103
          waiting 7: buy 1, stop 103
        > instrument reference=101
          applied, tag=0, orders: 0
          triggered 4 (1 left)
          trade 1@101: buy 4 (0 left) meets sell 1 (0 left)
          done 1 (0 left): Filled
          done 4 (0 left): Filled
          triggered 5 (1 left)
          trade 1@102: buy 5 (0 left) meets sell 2 (0 left)
          done 2 (0 left): Filled
          done 5 (0 left): Filled
          triggered 6 (1 left)
          trade 1@103: buy 6 (0 left) meets sell 3 (0 left)
          done 3 (0 left): Filled
          done 6 (0 left): Filled
          triggered 7 (1 left)
          booked 7: buy 1@50
        > book
          buy 1@50, orders: 1
    "#]]);
}

/// The first stop's trade is below the second's price, which continues to wait.
#[test]
fn a_trade_at_another_price_can_take_the_reference_away_again() {
    check(expect![[r#"
        > sell 1 1@90
          booked 1: sell 1@90
        > buy 2 1@95 stop=100
          waiting 2: buy 1, stop 100
        > buy 3 1@95 stop=101
          waiting 3: buy 1, stop 101
        > instrument reference=101
          applied, tag=0, orders: 0
          triggered 2 (1 left)
          trade 1@90: buy 2 (0 left) meets sell 1 (0 left)
          done 1 (0 left): Filled
          done 2 (0 left): Filled
    "#]]);
}

#[test]
fn one_that_triggers_all_or_nothing() {
    check(expect![[r#"
        > sell 1 2@100
          booked 1: sell 2@100
        > buy 2 3@100 stop=100 fok
          waiting 2: buy 3, stop 100
        > buy 3 2@100 stop=100 fok
          waiting 3: buy 2, stop 100
        > instrument reference=100
          applied, tag=0, orders: 0
          triggered 2 (3 left)
          done 2 (3 left): Expired
          triggered 3 (2 left)
          trade 2@100: buy 3 (0 left) meets sell 1 (0 left)
          done 1 (0 left): Filled
          done 3 (0 left): Filled
    "#]]);
}

#[test]
fn one_in_an_instrument_that_is_halted_triggers_when_it_opens() {
    check(expect![[r#"
        > buy 1 1@100 stop=100
          waiting 1: buy 1, stop 100
        > instrument halted reference=100
          applied, tag=0, orders: 0
        > instrument reference=100
          applied, tag=0, orders: 0
          triggered 1 (1 left)
          booked 1: buy 1@100
        > instrument halted
          applied, tag=0, orders: 0
        > cancel 1
          done 1 (1 left): Cancelled
    "#]]);
}

#[test]
fn nothing_triggers_in_another_instrument() {
    check(expect![[r#"
        > buy 1 1@100 stop=100 on=1
          waiting 1 on=1: buy 1, stop 100
        > instrument reference=100
          applied, tag=0, orders: 0
        > buy 2 1@100 on=0
          booked 2: buy 1@100
        > instrument reference=100 on=1
          applied, tag=0, orders: 0
          triggered 1 on=1 (1 left)
          booked 1 on=1: buy 1@100
    "#]]);
}

#[test]
fn one_that_triggered_joins_anew_and_is_a_limit_order_like_others() {
    check(expect![[r#"
        > buy 1 1@100 stop=100
          waiting 1: buy 1, stop 100
        > buy 2 1@90
          booked 2: buy 1@90
        > instrument reference=100
          applied, tag=0, orders: 0
          triggered 1 (1 left)
          booked 1: buy 1@100
        > amend 1 2@100
          amended 1: buy 2@100 shows 0, loses its place
          booked 1: buy 2@100
        > cancel-all by=0
          done 1 (2 left): Cancelled
          done 2 (1 left): Cancelled
          applied, tag=0, orders: 2
    "#]]);
}

#[test]
fn what_is_open_is_not_checked_again_when_it_triggers() {
    check(expect![[r#"
        > buy 1 5@100 stop=100 by=1
          waiting 1 by=1: buy 5, stop 100
        > account by=1 quantity=1 notional=1 orders=0 messages=0
          applied, tag=0, orders: 0
        > position by=1 long=0
          applied, tag=0, orders: 0
        > kill by=1
          applied, tag=0, orders: 0
        > instrument reference=100 band=1..50
          applied, tag=0, orders: 0
          triggered 1 by=1 (5 left)
          booked 1 by=1: buy 5@100
        > book
          buy 5@100, orders: 1
    "#]]);
}

#[test]
fn a_market_stop_goes_as_far_as_its_collar_lets_it_when_it_triggers() {
    check(expect![[r#"
        > buy 1 5@market ioc stop=100 by=1
          waiting 1 by=1: buy 5, stop 100
        > account by=1 collar=2
          applied, tag=0, orders: 0
        > sell 2 1@102
          booked 2: sell 1@102
        > sell 3 1@104
          booked 3: sell 1@104
        > instrument reference=100
          applied, tag=0, orders: 0
          triggered 1 by=1 (5 left)
          trade 1@102: buy 1 by=1 (4 left) meets sell 2 (0 left)
          done 2 (0 left): Filled
          done 1 by=1 (4 left): Expired
    "#]]);
}

//! Orders that wait for a price.

use expect_test::expect;

use crate::check;

#[test]
fn it_waits_until_a_trade_reaches_its_price() {
    check(expect![[r#"
        > sell 1 1@104
        > sell 2 1@105
        > sell 3 5@106
        > buy 4 3@106 stop=105
        > buy 5 1@104
        > buy 6 1@105 by=1
        > book
    "#]]);
}

#[test]
fn a_sell_stop_waits_for_a_lower_price() {
    check(expect![[r#"
        > buy 1 1@100
        > buy 2 5@95
        > sell 3 3@market ioc stop=99
        > sell 4 1@99
        > sell 5 2@market ioc stop=95
        > sell 6 1@95
    "#]]);
}

#[test]
fn one_whose_price_is_reached_already_enters_at_once() {
    check(expect![[r#"
        > instrument reference=100
        > buy 1 3@100 stop=100
        > buy 2 3@100 stop=101
        > sell 3 1@105 stop=100
        > sell 4 1@105 stop=99
        > sell 5 2@99 stop=100 ioc
    "#]]);
}

#[test]
fn without_a_reference_price_nothing_is_reached() {
    check(expect![[r#"
        > buy 1 1@1 stop=1
        > sell 2 1@5 stop=1000000000000
        > instrument reference=3
    "#]]);
}

#[test]
fn buy_stops_come_first_the_lowest_first_then_sell_stops_the_highest_first() {
    check(expect![[r#"
        > sell 1 1@20 stop=9
        > sell 2 1@20 stop=10
        > sell 3 1@20 stop=10
        > buy 4 1@5 stop=12
        > buy 5 1@5 stop=11
        > buy 6 1@5 stop=11
        > instrument halted reference=11
        > sell 7 1@20 stop=9
        > instrument reference=10
        > instrument reference=12
    "#]]);
}

#[test]
fn one_leads_to_another_and_each_looks_at_the_last_trade() {
    check(expect![[r#"
        > sell 1 1@101
        > sell 2 1@102
        > sell 3 1@103
        > buy 4 1@101 stop=101
        > buy 5 1@102 stop=101
        > buy 6 1@103 stop=102
        > buy 7 1@50 stop=103
        > instrument reference=101
        > book
    "#]]);
}

/// The first stop's trade is below the second's price: it waits on.
#[test]
fn a_trade_at_another_price_can_take_the_reference_away_again() {
    check(expect![[r#"
        > sell 1 1@90
        > buy 2 1@95 stop=100
        > buy 3 1@95 stop=101
        > instrument reference=101
    "#]]);
}

#[test]
fn one_that_triggers_all_or_nothing() {
    check(expect![[r#"
        > sell 1 2@100
        > buy 2 3@100 stop=100 fok
        > buy 3 2@100 stop=100 fok
        > instrument reference=100
    "#]]);
}

#[test]
fn one_in_an_instrument_that_is_halted_triggers_when_it_opens() {
    check(expect![[r#"
        > buy 1 1@100 stop=100
        > instrument halted reference=100
        > instrument reference=100
        > instrument halted
        > cancel 1
    "#]]);
}

#[test]
fn nothing_triggers_in_another_instrument() {
    check(expect![[r#"
        > buy 1 1@100 stop=100 on=1
        > instrument reference=100
        > buy 2 1@100 on=0
        > instrument reference=100 on=1
    "#]]);
}

#[test]
fn one_that_triggered_joins_anew_and_is_a_limit_order_like_others() {
    check(expect![[r#"
        > buy 1 1@100 stop=100
        > buy 2 1@90
        > instrument reference=100
        > amend 1 2@100
        > cancel-all by=0
    "#]]);
}

#[test]
fn what_is_open_is_not_checked_again_when_it_triggers() {
    check(expect![[r#"
        > buy 1 5@100 stop=100 by=1
        > account by=1 quantity=1 notional=1 orders=0 messages=0
        > position by=1 long=0
        > kill by=1
        > instrument reference=100 band=1..50
        > book
    "#]]);
}

#[test]
fn a_market_stop_goes_as_far_as_its_collar_lets_it_when_it_triggers() {
    check(expect![[r#"
        > buy 1 5@market ioc stop=100 by=1
        > account by=1 collar=2
        > sell 2 1@102
        > sell 3 1@104
        > instrument reference=100
    "#]]);
}

//! Changes of orders that are open.

use expect_test::expect;

use crate::check;

#[test]
fn less_at_the_same_price_keeps_its_place() {
    check(expect![[r#"
        > buy 1 5@100 tag=1
        > buy 2 5@100
        > amend 1 3@100 tag=7
        > amend 1 3@100
        > sell 3 1@100
        > amend 1 2@100
        > sell 4 3@100 ioc
    "#]]);
}

#[test]
fn more_or_another_price_loses_it() {
    check(expect![[r#"
        > buy 1 5@100
        > buy 2 5@100
        > amend 1 6@100
        > book
        > amend 2 5@99
        > amend 2 5@100
        > sell 3 1@100 ioc
    "#]]);
}

#[test]
fn an_amendment_may_trade() {
    check(expect![[r#"
        > sell 1 3@101
        > buy 2 5@100
        > amend 2 5@101
        > book
        > amend 2 1@1 by=1
        > sell 3 9@100
        > amend 3 3@100
    "#]]);
}

#[test]
fn what_has_traded_does_not_count() {
    check(expect![[r#"
        > buy 1 5@100
        > sell 2 3@100
        > amend 1 4@100
        > book
    "#]]);
}

#[test]
fn the_account_asks_and_the_order_answers() {
    check(expect![[r#"
        > buy 1 5@100
        > amend 2 5@100
        > amend 1 5@100 on=1
        > amend 1 5@100 on=2
        > amend 1 5@100 by=1
        > amend 1 5@100 by=3
        > kill
        > amend 2 5@100
        > amend 1 4@100
        > release
        > amend 1 0@100
        > amend 1 5@0
        > amend 1 1000000000001@100
        > amend 1 1@1000000000001
        > amend 1 5@market
    "#]]);
}

#[test]
fn an_amendment_that_enters_keeps_its_date_and_what_it_shows() {
    check(expect![[r#"
        > buy 1 5@100 gtd=1s show=2
        > amend 1 6@101
        > book
        > buy 2 1@90 at=1s
    "#]]);
}

#[test]
fn a_stop_that_waits_keeps_its_place_and_its_stop_price() {
    check(expect![[r#"
        > buy 1 5@106 stop=105
        > buy 2 5@106 stop=105
        > buy 3 5@market ioc stop=105
        > amend 1 9@108 tag=3
        > amend 3 7@market
        > amend 3 7@100
        > amend 2 7@0
        > instrument reference=105
        > book
    "#]]);
}

#[test]
fn a_stop_is_checked_as_one_that_enters_even_where_it_shrinks() {
    check(expect![[r#"
        > buy 1 5@106 stop=105
        > instrument band=1..105
        > amend 1 4@106
        > amend 1 4@105
        > instrument halted
        > amend 1 4@105
        > instrument
        > account quantity=3
        > amend 1 4@105
        > amend 1 3@105
    "#]]);
}

#[test]
fn the_newest_account_order_is_the_one_that_lost_its_place_last() {
    check(expect![[r#"
        > buy 1 5@100
        > buy 2 5@100
        > sell 3 5@110 stop=90
        > amend 1 6@100
        > amend 3 6@110
        > cancel-all by=0
    "#]]);
}

#[test]
fn an_order_that_would_meet_its_own_on_amendment() {
    check(expect![[r#"
        > account self-trade=newest
        > sell 1 5@105
        > buy 2 5@100
        > amend 2 5@105
        > book
    "#]]);
}

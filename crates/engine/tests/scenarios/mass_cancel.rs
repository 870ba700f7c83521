//! Many orders at once.

use expect_test::expect;

use crate::check;

#[test]
fn of_an_account_those_that_joined_last_come_first() {
    check(expect![[r#"
        > buy 1 1@100 by=1
        > buy 2 1@99 by=1 on=1
        > sell 3 1@110 by=2
        > buy 4 1@100 by=1 stop=120
        > sell 5 1@112 by=1
        > buy 6 1@101 by=1
        > cancel-all by=1 side=buy tag=8
        > cancel-all by=1 on=1
        > cancel-all by=1
        > book
    "#]]);
}

#[test]
fn of_all_accounts_in_the_order_of_the_book() {
    check(expect![[r#"
        > sell 1 1@1 stop=90 by=1
        > sell 2 1@1 stop=91
        > buy 3 1@200 stop=120
        > buy 4 1@200 stop=119
        > sell 5 1@112
        > sell 6 1@111 by=2
        > buy 7 1@99
        > buy 8 1@100
        > buy 9 1@100 by=1
        > buy 10 1@1 on=1
        > cancel-all
    "#]]);
}

#[test]
fn of_one_instrument_and_one_side() {
    check(expect![[r#"
        > buy 1 1@100
        > sell 2 1@110
        > buy 3 1@100 on=1
        > sell 4 1@110 on=1
        > buy 5 1@100 on=1 stop=200
        > cancel-all on=1 side=buy
        > cancel-all side=sell
        > cancel-all by=0 on=0
    "#]]);
}

#[test]
fn an_iceberg_is_where_it_went_when_it_showed_more() {
    check(expect![[r#"
        > buy 1 4@100 show=2
        > buy 2 1@100
        > sell 3 2@100 by=1
        > cancel-all on=0
    "#]]);
}

#[test]
fn its_account_sees_it_where_it_joined() {
    check(expect![[r#"
        > buy 1 4@100 show=2
        > buy 2 1@100
        > sell 3 2@100 by=1
        > cancel-all by=0
    "#]]);
}

#[test]
fn in_an_instrument_that_is_halted_and_for_an_account_that_is_killed() {
    check(expect![[r#"
        > buy 1 1@100 by=1
        > instrument halted
        > kill by=1
        > cancel-all by=1
        > cancel-all by=1
        > cancel-all by=3
        > cancel-all on=2
        > cancel-all by=3 on=2
    "#]]);
}

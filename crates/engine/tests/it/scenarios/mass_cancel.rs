//! Many orders at once.

use expect_test::expect;

use super::check;

#[test]
fn of_an_account_those_that_joined_last_come_first() {
    check(expect![[r#"
        > buy 1 1@100 by=1
          booked 1 by=1: buy 1@100
        > buy 2 1@99 by=1 on=1
          booked 2 by=1 on=1: buy 1@99
        > sell 3 1@110 by=2
          booked 3 by=2: sell 1@110
        > buy 4 1@100 by=1 stop=120
          waiting 4 by=1: buy 1, stop 120
        > sell 5 1@112 by=1
          booked 5 by=1: sell 1@112
        > buy 6 1@101 by=1
          booked 6 by=1: buy 1@101
        > cancel-all by=1 side=buy tag=8
          done 6 by=1 (1 left): Cancelled
          done 4 by=1 (1 left): Cancelled
          done 2 by=1 on=1 (1 left): Cancelled
          done 1 by=1 (1 left): Cancelled
          applied, tag=8, orders: 4
        > cancel-all by=1 on=1
          applied, tag=0, orders: 0
        > cancel-all by=1
          done 5 by=1 (1 left): Cancelled
          applied, tag=0, orders: 1
        > book
          sell 1@110, orders: 1
    "#]]);
}

#[test]
fn of_all_accounts_in_the_order_of_the_book() {
    check(expect![[r#"
        > sell 1 1@1 stop=90 by=1
          waiting 1 by=1: sell 1, stop 90
        > sell 2 1@1 stop=91
          waiting 2: sell 1, stop 91
        > buy 3 1@200 stop=120
          waiting 3: buy 1, stop 120
        > buy 4 1@200 stop=119
          waiting 4: buy 1, stop 119
        > sell 5 1@112
          booked 5: sell 1@112
        > sell 6 1@111 by=2
          booked 6 by=2: sell 1@111
        > buy 7 1@99
          booked 7: buy 1@99
        > buy 8 1@100
          booked 8: buy 1@100
        > buy 9 1@100 by=1
          booked 9 by=1: buy 1@100
        > buy 10 1@1 on=1
          booked 10 on=1: buy 1@1
        > cancel-all
          done 8 (1 left): Cancelled
          done 9 by=1 (1 left): Cancelled
          done 7 (1 left): Cancelled
          done 6 by=2 (1 left): Cancelled
          done 5 (1 left): Cancelled
          done 4 (1 left): Cancelled
          done 3 (1 left): Cancelled
          done 2 (1 left): Cancelled
          done 1 by=1 (1 left): Cancelled
          done 10 on=1 (1 left): Cancelled
          applied, tag=0, orders: 10
    "#]]);
}

#[test]
fn of_one_instrument_and_one_side() {
    check(expect![[r#"
        > buy 1 1@100
          booked 1: buy 1@100
        > sell 2 1@110
          booked 2: sell 1@110
        > buy 3 1@100 on=1
          booked 3 on=1: buy 1@100
        > sell 4 1@110 on=1
          booked 4 on=1: sell 1@110
        > buy 5 1@100 on=1 stop=200
          waiting 5 on=1: buy 1, stop 200
        > cancel-all on=1 side=buy
          done 3 on=1 (1 left): Cancelled
          done 5 on=1 (1 left): Cancelled
          applied, tag=0, orders: 2
        > cancel-all side=sell
          done 2 (1 left): Cancelled
          done 4 on=1 (1 left): Cancelled
          applied, tag=0, orders: 2
        > cancel-all by=0 on=0
          done 1 (1 left): Cancelled
          applied, tag=0, orders: 1
    "#]]);
}

#[test]
fn an_iceberg_is_where_it_went_when_it_showed_more() {
    check(expect![[r#"
        > buy 1 4@100 show=2
          booked 1: buy 4@100 shows 2
        > buy 2 1@100
          booked 2: buy 1@100
        > sell 3 2@100 by=1
          trade 2@100: sell 3 by=1 (0 left) meets buy 1 (2 left)
          replenished 1: buy 2@100
          done 3 by=1 (0 left): Filled
        > cancel-all on=0
          done 2 (1 left): Cancelled
          done 1 (2 left): Cancelled
          applied, tag=0, orders: 2
    "#]]);
}

#[test]
fn its_account_sees_it_where_it_joined() {
    check(expect![[r#"
        > buy 1 4@100 show=2
          booked 1: buy 4@100 shows 2
        > buy 2 1@100
          booked 2: buy 1@100
        > sell 3 2@100 by=1
          trade 2@100: sell 3 by=1 (0 left) meets buy 1 (2 left)
          replenished 1: buy 2@100
          done 3 by=1 (0 left): Filled
        > cancel-all by=0
          done 2 (1 left): Cancelled
          done 1 (2 left): Cancelled
          applied, tag=0, orders: 2
    "#]]);
}

#[test]
fn in_an_instrument_that_is_halted_and_for_an_account_that_is_killed() {
    check(expect![[r#"
        > buy 1 1@100 by=1
          booked 1 by=1: buy 1@100
        > instrument halted
          applied, tag=0, orders: 0
        > kill by=1
          applied, tag=0, orders: 0
        > cancel-all by=1
          done 1 by=1 (1 left): Cancelled
          applied, tag=0, orders: 1
        > cancel-all by=1
          applied, tag=0, orders: 0
        > cancel-all by=3
          rejected 0 by=3: UNKNOWN_ACCOUNT
        > cancel-all on=2
          rejected 0 on=2: UNKNOWN_INSTRUMENT
        > cancel-all by=3 on=2
          rejected 0 by=3 on=2: UNKNOWN_INSTRUMENT
    "#]]);
}

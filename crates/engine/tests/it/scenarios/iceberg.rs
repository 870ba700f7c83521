//! Orders that show only a part.

use expect_test::expect;

use super::check;

#[test]
fn it_shows_more_when_what_it_shows_is_used_up_and_goes_to_the_end_of_its_queue() {
    check(expect![[r#"
        > sell 1 5@100 show=2
          booked 1: sell 5@100 shows 2
        > sell 2 3@100
          booked 2: sell 3@100
        > book
          sell 5@100, orders: 2
        > buy 3 2@100 by=1
          trade 2@100: buy 3 by=1 (0 left) meets sell 1 (3 left)
          replenished 1: sell 3@100 shows 2
          done 3 by=1 (0 left): Filled
        > book
          sell 5@100, orders: 2
        > buy 4 4@100 by=1
          trade 3@100: buy 4 by=1 (1 left) meets sell 2 (0 left)
          done 2 (0 left): Filled
          trade 1@100: buy 4 by=1 (0 left) meets sell 1 (2 left)
          done 4 by=1 (0 left): Filled
        > book
          sell 1@100, orders: 1
        > buy 5 9@100 by=1
          trade 1@100: buy 5 by=1 (8 left) meets sell 1 (1 left)
          replenished 1: sell 1@100
          trade 1@100: buy 5 by=1 (7 left) meets sell 1 (0 left)
          done 1 (0 left): Filled
          booked 5 by=1: buy 7@100
    "#]]);
}

#[test]
fn what_it_shows_is_used_up_first_by_what_fits() {
    check(expect![[r#"
        > sell 1 5@100 show=3
          booked 1: sell 5@100 shows 3
        > buy 2 2@100
          trade 2@100: buy 2 (0 left) meets sell 1 (3 left)
          done 2 (0 left): Filled
        > buy 3 1@100
          trade 1@100: buy 3 (0 left) meets sell 1 (2 left)
          replenished 1: sell 2@100
          done 3 (0 left): Filled
        > buy 4 1@100
          trade 1@100: buy 4 (0 left) meets sell 1 (1 left)
          done 4 (0 left): Filled
    "#]]);
}

#[test]
fn one_that_trades_on_arrival_trades_with_all_of_itself() {
    check(expect![[r#"
        > buy 1 4@100
          booked 1: buy 4@100
        > sell 2 9@100 show=2
          trade 4@100: sell 2 (5 left) meets buy 1 (0 left)
          done 1 (0 left): Filled
          booked 2: sell 5@100 shows 2
        > book
          sell 2@100, orders: 1
    "#]]);
}

#[test]
fn the_last_of_it_is_smaller() {
    check(expect![[r#"
        > sell 1 5@100 show=4
          booked 1: sell 5@100 shows 4
        > buy 2 4@100
          trade 4@100: buy 2 (0 left) meets sell 1 (1 left)
          replenished 1: sell 1@100
          done 2 (0 left): Filled
        > book
          sell 1@100, orders: 1
    "#]]);
}

#[test]
fn one_alone_at_its_price_is_met_again_and_again() {
    check(expect![[r#"
        > sell 1 5@100 show=2
          booked 1: sell 5@100 shows 2
        > buy 2 5@100
          trade 2@100: buy 2 (3 left) meets sell 1 (3 left)
          replenished 1: sell 3@100 shows 2
          trade 2@100: buy 2 (1 left) meets sell 1 (1 left)
          replenished 1: sell 1@100
          trade 1@100: buy 2 (0 left) meets sell 1 (0 left)
          done 1 (0 left): Filled
          done 2 (0 left): Filled
    "#]]);
}

#[test]
fn less_of_it_comes_from_what_it_hides_first() {
    check(expect![[r#"
        > sell 1 9@100 show=4
          booked 1: sell 9@100 shows 4
        > sell 2 1@100
          booked 2: sell 1@100
        > buy 3 1@100
          trade 1@100: buy 3 (0 left) meets sell 1 (8 left)
          done 3 (0 left): Filled
        > amend 1 5@100
          amended 1: sell 5@100 shows 3, keeps its place
        > amend 1 2@100
          amended 1: sell 2@100, keeps its place
        > amend 1 1@100
          amended 1: sell 1@100, keeps its place
        > book
          sell 2@100, orders: 2
        > buy 4 2@100
          trade 1@100: buy 4 (1 left) meets sell 1 (0 left)
          done 1 (0 left): Filled
          trade 1@100: buy 4 (0 left) meets sell 2 (0 left)
          done 2 (0 left): Filled
          done 4 (0 left): Filled
    "#]]);
}

#[test]
fn amended_to_more_it_shows_as_much_as_before() {
    check(expect![[r#"
        > sell 1 3@100 show=2
          booked 1: sell 3@100 shows 2
        > buy 2 2@100
          trade 2@100: buy 2 (0 left) meets sell 1 (1 left)
          replenished 1: sell 1@100
          done 2 (0 left): Filled
        > amend 1 5@100
          amended 1: sell 5@100 shows 0, loses its place
          booked 1: sell 5@100 shows 2
        > amend 1 5@101
          amended 1: sell 5@101 shows 0, loses its place
          booked 1: sell 5@101 shows 2
        > book
          sell 2@101, orders: 1
    "#]]);
}

#[test]
fn amended_out_of_place_it_may_be_smaller_than_what_it_would_show() {
    check(expect![[r#"
        > sell 1 9@100 show=4
          booked 1: sell 9@100 shows 4
        > amend 1 3@101
          amended 1: sell 3@101 shows 0, loses its place
          booked 1: sell 3@101
        > amend 1 5@101
          amended 1: sell 5@101 shows 0, loses its place
          booked 1: sell 5@101 shows 4
    "#]]);
}

#[test]
fn only_a_limit_order_that_may_rest_has_something_to_hide() {
    check(expect![[r#"
        > buy 1 5@100 show=2 ioc
          rejected 1: BAD_COMBINATION
        > buy 1 5@100 show=2 stop=105
          rejected 1: BAD_COMBINATION
        > buy 1 5@100 show=6
          rejected 1: BAD_QUANTITY
        > buy 1 5@100 show=5
          booked 1: buy 5@100
    "#]]);
}

/// The engine's work for one message is bounded.
#[test]
fn it_shows_itself_a_thousand_times_at_most() {
    check(expect![[r#"
        > buy 1 1001@100 show=1
          rejected 1: BAD_QUANTITY
        > buy 1 1000@100 show=1
          booked 1: buy 1000@100 shows 1
        > amend 1 1001@100
          rejected 1: BAD_QUANTITY
        > amend 1 1001@101
          rejected 1: BAD_QUANTITY
        > amend 1 999@101
          amended 1: buy 999@101 shows 0, loses its place
          booked 1: buy 999@101 shows 1
        > buy 2 1000000000000@100 show=999999999
          rejected 2: BAD_QUANTITY
        > buy 2 1000000000000@100 show=1000000000
          booked 2: buy 1000000000000@100 shows 1000000000
    "#]]);
}

//! Orders that show a part of themselves.

use expect_test::expect;

use crate::check;

#[test]
fn it_shows_more_when_what_it_shows_is_used_up_and_goes_to_the_end_of_its_queue() {
    check(expect![[r#"
        > sell 1 5@100 show=2
        > sell 2 3@100
        > book
        > buy 3 2@100 by=1
        > book
        > buy 4 4@100 by=1
        > book
        > buy 5 9@100 by=1
    "#]]);
}

#[test]
fn what_it_shows_is_used_up_first_by_what_fits() {
    check(expect![[r#"
        > sell 1 5@100 show=3
        > buy 2 2@100
        > buy 3 1@100
        > buy 4 1@100
    "#]]);
}

#[test]
fn one_that_trades_on_arrival_trades_with_all_of_itself() {
    check(expect![[r#"
        > buy 1 4@100
        > sell 2 9@100 show=2
        > book
    "#]]);
}

#[test]
fn the_last_of_it_is_smaller() {
    check(expect![[r#"
        > sell 1 5@100 show=4
        > buy 2 4@100
        > book
    "#]]);
}

#[test]
fn one_alone_at_its_price_is_met_again_and_again() {
    check(expect![[r#"
        > sell 1 5@100 show=2
        > buy 2 5@100
    "#]]);
}

#[test]
fn less_of_it_comes_from_what_it_hides_first() {
    check(expect![[r#"
        > sell 1 9@100 show=4
        > sell 2 1@100
        > buy 3 1@100
        > amend 1 5@100
        > amend 1 2@100
        > amend 1 1@100
        > book
        > buy 4 2@100
    "#]]);
}

#[test]
fn amended_to_more_it_shows_as_much_as_before() {
    check(expect![[r#"
        > sell 1 3@100 show=2
        > buy 2 2@100
        > amend 1 5@100
        > amend 1 5@101
        > book
    "#]]);
}

#[test]
fn amended_out_of_place_it_may_be_smaller_than_what_it_would_show() {
    check(expect![[r#"
        > sell 1 9@100 show=4
        > amend 1 3@101
        > amend 1 5@101
    "#]]);
}

#[test]
fn only_a_limit_order_that_may_rest_has_something_to_hide() {
    check(expect![[r#"
        > buy 1 5@100 show=2 ioc
        > buy 1 5@100 show=2 stop=105
        > buy 1 5@100 show=6
        > buy 1 5@100 show=5
    "#]]);
}

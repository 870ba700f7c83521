//! What becomes of an order that meets one of its own account.

use engine::EngineLimits;
use expect_test::expect;

use crate::{LIMITS, check, check_with};

#[test]
fn the_one_that_arrives_is_cancelled() {
    check(expect![[r#"
        > account by=1 self-trade=newest
        > sell 1 2@100
        > sell 2 2@100 by=1
        > sell 3 2@100
        > buy 4 5@100 by=1
        > book
    "#]]);
}

/// All of it, with what it hides; the other goes on.
#[test]
fn the_one_that_rests_is_cancelled() {
    check(expect![[r#"
        > account by=1 self-trade=oldest
        > sell 1 2@100
        > sell 2 9@100 by=1 show=2
        > sell 3 2@100
        > buy 4 5@100 by=1
        > book
    "#]]);
}

#[test]
fn both_are_cancelled_the_one_that_rests_first() {
    check(expect![[r#"
        > account by=1 self-trade=both
        > sell 1 2@100
        > sell 2 2@100 by=1
        > buy 4 5@100 by=1
        > book
    "#]]);
}

#[test]
fn both_lose_what_they_would_have_traded() {
    check(expect![[r#"
        > account by=1 self-trade=decrement
        > sell 1 2@100 by=1
        > sell 2 5@100 by=1 show=2
        > buy 3 3@100 by=1
        > book
        > buy 4 2@100 by=1
        > buy 5 5@100 by=1
        > positions
    "#]]);
}

#[test]
fn who_is_used_up_by_both_ends_as_the_last_one_says() {
    check(expect![[r#"
        > account by=1 self-trade=decrement
        > sell 1 2@100 by=1
        > sell 2 2@100
        > buy 3 4@100 by=1
        > sell 4 2@100
        > sell 5 2@100 by=1
        > buy 6 4@100 by=1
    "#]]);
}

#[test]
fn no_reference_price_comes_from_what_was_no_trade() {
    check(expect![[r#"
        > account by=1 self-trade=decrement
        > buy 1 1@100 stop=100
        > sell 2 2@100 by=1
        > buy 3 2@100 by=1
    "#]]);
}

#[test]
fn all_or_nothing_counts_only_what_would_trade() {
    check(expect![[r#"
        > account by=1 self-trade=decrement
        > sell 1 2@100 by=1
        > sell 2 2@100
        > buy 3 4@100 by=1 fok
        > account by=1 self-trade=newest
        > buy 4 2@100 by=1 fok
        > account by=1 self-trade=oldest
        > buy 5 3@100 by=1 fok
        > buy 6 2@100 by=1 fok
    "#]]);
}

#[test]
fn the_account_says_how_when_its_orders_meet() {
    check(expect![[r#"
        > account by=1 self-trade=newest
        > sell 1 2@100 by=1
        > account by=1 self-trade=both
        > buy 2 2@100 by=1
    "#]]);
}

#[test]
fn an_engine_that_knows_no_accounts_lets_them_trade() {
    check_with(
        EngineLimits { accounts_max: 0, ..LIMITS },
        expect![[r#"
        > sell 1 2@100 by=7
        > buy 2 2@100 by=7
        > account by=7 self-trade=both
        > cancel-all by=7
        > position by=7
        > kill by=7
        > kill
    "#]],
    );
}

//! Treatment of an order that meets an order of its own account.

use engine::EngineLimits;
use expect_test::expect;

use super::{LIMITS, check, check_with};

#[test]
fn the_one_that_arrives_is_cancelled() {
    check(expect![[r#"
        > account by=1 self-trade=newest
          applied, tag=0, orders: 0
        > sell 1 2@100
          booked 1: sell 2@100
        > sell 2 2@100 by=1
          booked 2 by=1: sell 2@100
        > sell 3 2@100
          booked 3: sell 2@100
        > buy 4 5@100 by=1
          trade 2@100: buy 4 by=1 (3 left) meets sell 1 (0 left)
          done 1 (0 left): Filled
          done 4 by=1 (3 left): SelfTrade
        > book
          sell 4@100, orders: 2
    "#]]);
}

/// All of it, including its hidden quantity; the other one continues.
#[test]
fn the_one_that_rests_is_cancelled() {
    check(expect![[r#"
        > account by=1 self-trade=oldest
          applied, tag=0, orders: 0
        > sell 1 2@100
          booked 1: sell 2@100
        > sell 2 9@100 by=1 show=2
          booked 2 by=1: sell 9@100 shows 2
        > sell 3 2@100
          booked 3: sell 2@100
        > buy 4 5@100 by=1
          trade 2@100: buy 4 by=1 (3 left) meets sell 1 (0 left)
          done 1 (0 left): Filled
          done 2 by=1 (9 left): SelfTrade
          trade 2@100: buy 4 by=1 (1 left) meets sell 3 (0 left)
          done 3 (0 left): Filled
          booked 4 by=1: buy 1@100
        > book
          buy 1@100, orders: 1
    "#]]);
}

#[test]
fn both_are_cancelled_the_one_that_rests_first() {
    check(expect![[r#"
        > account by=1 self-trade=both
          applied, tag=0, orders: 0
        > sell 1 2@100
          booked 1: sell 2@100
        > sell 2 2@100 by=1
          booked 2 by=1: sell 2@100
        > buy 4 5@100 by=1
          trade 2@100: buy 4 by=1 (3 left) meets sell 1 (0 left)
          done 1 (0 left): Filled
          done 2 by=1 (2 left): SelfTrade
          done 4 by=1 (3 left): SelfTrade
        > book
          empty
    "#]]);
}

#[test]
fn both_lose_what_they_would_have_traded() {
    check(expect![[r#"
        > account by=1 self-trade=decrement
          applied, tag=0, orders: 0
        > sell 1 2@100 by=1
          booked 1 by=1: sell 2@100
        > sell 2 5@100 by=1 show=2
          booked 2 by=1: sell 5@100 shows 2
        > buy 3 3@100 by=1
          decremented 2@100: buy 3 by=1 (1 left) meets sell 1 by=1 (0 left)
          done 1 by=1 (0 left): SelfTrade
          decremented 1@100: buy 3 by=1 (0 left) meets sell 2 by=1 (4 left)
          done 3 by=1 (0 left): SelfTrade
        > book
          sell 1@100, orders: 1
        > buy 4 2@100 by=1
          decremented 1@100: buy 4 by=1 (1 left) meets sell 2 by=1 (3 left)
          replenished 2 by=1: sell 3@100 shows 2
          decremented 1@100: buy 4 by=1 (0 left) meets sell 2 by=1 (2 left)
          done 4 by=1 (0 left): SelfTrade
        > buy 5 5@100 by=1
          decremented 1@100: buy 5 by=1 (4 left) meets sell 2 by=1 (1 left)
          replenished 2 by=1: sell 1@100
          decremented 1@100: buy 5 by=1 (3 left) meets sell 2 by=1 (0 left)
          done 2 by=1 (0 left): SelfTrade
          booked 5 by=1: buy 3@100
        > positions
          none
    "#]]);
}

#[test]
fn who_is_used_up_by_both_ends_as_the_last_one_says() {
    check(expect![[r#"
        > account by=1 self-trade=decrement
          applied, tag=0, orders: 0
        > sell 1 2@100 by=1
          booked 1 by=1: sell 2@100
        > sell 2 2@100
          booked 2: sell 2@100
        > buy 3 4@100 by=1
          decremented 2@100: buy 3 by=1 (2 left) meets sell 1 by=1 (0 left)
          done 1 by=1 (0 left): SelfTrade
          trade 2@100: buy 3 by=1 (0 left) meets sell 2 (0 left)
          done 2 (0 left): Filled
          done 3 by=1 (0 left): Filled
        > sell 4 2@100
          booked 4: sell 2@100
        > sell 5 2@100 by=1
          booked 5 by=1: sell 2@100
        > buy 6 4@100 by=1
          trade 2@100: buy 6 by=1 (2 left) meets sell 4 (0 left)
          done 4 (0 left): Filled
          decremented 2@100: buy 6 by=1 (0 left) meets sell 5 by=1 (0 left)
          done 5 by=1 (0 left): SelfTrade
          done 6 by=1 (0 left): SelfTrade
    "#]]);
}

#[test]
fn no_reference_price_comes_from_what_was_no_trade() {
    check(expect![[r#"
        > account by=1 self-trade=decrement
          applied, tag=0, orders: 0
        > buy 1 1@100 stop=100
          waiting 1: buy 1, stop 100
        > sell 2 2@100 by=1
          booked 2 by=1: sell 2@100
        > buy 3 2@100 by=1
          decremented 2@100: buy 3 by=1 (0 left) meets sell 2 by=1 (0 left)
          done 2 by=1 (0 left): SelfTrade
          done 3 by=1 (0 left): SelfTrade
    "#]]);
}

#[test]
fn all_or_nothing_counts_only_what_would_trade() {
    check(expect![[r#"
        > account by=1 self-trade=decrement
          applied, tag=0, orders: 0
        > sell 1 2@100 by=1
          booked 1 by=1: sell 2@100
        > sell 2 2@100
          booked 2: sell 2@100
        > buy 3 4@100 by=1 fok
          done 3 by=1 (4 left): Expired
        > account by=1 self-trade=newest
          applied, tag=0, orders: 0
        > buy 4 2@100 by=1 fok
          done 4 by=1 (2 left): Expired
        > account by=1 self-trade=oldest
          applied, tag=0, orders: 0
        > buy 5 3@100 by=1 fok
          done 5 by=1 (3 left): Expired
        > buy 6 2@100 by=1 fok
          done 1 by=1 (2 left): SelfTrade
          trade 2@100: buy 6 by=1 (0 left) meets sell 2 (0 left)
          done 2 (0 left): Filled
          done 6 by=1 (0 left): Filled
    "#]]);
}

#[test]
fn the_account_says_how_when_its_orders_meet() {
    check(expect![[r#"
        > account by=1 self-trade=newest
          applied, tag=0, orders: 0
        > sell 1 2@100 by=1
          booked 1 by=1: sell 2@100
        > account by=1 self-trade=both
          applied, tag=0, orders: 0
        > buy 2 2@100 by=1
          done 1 by=1 (2 left): SelfTrade
          done 2 by=1 (2 left): SelfTrade
    "#]]);
}

#[test]
fn an_engine_that_knows_no_accounts_lets_them_trade() {
    check_with(
        EngineLimits { accounts_max: 0, ..LIMITS },
        expect![[r#"
            > sell 1 2@100 by=7
              booked 1 by=7: sell 2@100
            > buy 2 2@100 by=7
              trade 2@100: buy 2 by=7 (0 left) meets sell 1 by=7 (0 left)
              done 1 by=7 (0 left): Filled
              done 2 by=7 (0 left): Filled
            > account by=7 self-trade=both
              rejected 0 by=7: UNKNOWN_ACCOUNT
            > cancel-all by=7
              rejected 0 by=7: UNKNOWN_ACCOUNT
            > position by=7
              rejected 0 by=7: UNKNOWN_ACCOUNT
            > kill by=7
              rejected 0 by=7: UNKNOWN_ACCOUNT
            > kill
              applied, tag=0, orders: 0
        "#]],
    );
}

/// The quantity that both lost is no longer reserved, on either side.
#[test]
fn what_was_lost_is_not_reserved() {
    check(expect![[r#"
        > account by=1 self-trade=decrement
          applied, tag=0, orders: 0
        > position by=1 long=5 short=5
          applied, tag=0, orders: 0
        > sell 1 5@100 by=1
          booked 1 by=1: sell 5@100
        > buy 2 3@100 by=1
          decremented 3@100: buy 2 by=1 (0 left) meets sell 1 by=1 (2 left)
          done 2 by=1 (0 left): SelfTrade
        > sell 3 4@110 by=1
          rejected 3 by=1: RISK_POSITION
        > sell 3 3@110 by=1
          booked 3 by=1: sell 3@110
        > buy 4 6@90 by=1
          rejected 4 by=1: RISK_POSITION
        > buy 4 5@90 by=1
          booked 4 by=1: buy 5@90
    "#]]);
}

/// Cancelled quantity is no longer reserved.
#[test]
fn what_was_cancelled_is_not_reserved() {
    check(expect![[r#"
        > account by=1 self-trade=both
          applied, tag=0, orders: 0
        > position by=1 long=5 short=5
          applied, tag=0, orders: 0
        > sell 1 5@100 by=1
          booked 1 by=1: sell 5@100
        > buy 2 3@100 by=1
          done 1 by=1 (5 left): SelfTrade
          done 2 by=1 (3 left): SelfTrade
        > sell 3 5@110 by=1
          booked 3 by=1: sell 5@110
        > buy 4 5@90 by=1
          booked 4 by=1: buy 5@90
    "#]]);
}

/// An iceberg's hidden quantity comes after the account's own order, which ends the incoming order.
#[test]
fn all_or_nothing_sees_its_own_order_before_what_is_hidden() {
    check(expect![[r#"
        > account by=1 self-trade=newest
          applied, tag=0, orders: 0
        > sell 1 5@100 show=2
          booked 1: sell 5@100 shows 2
        > sell 2 1@100 by=1
          booked 2 by=1: sell 1@100
        > buy 3 4@100 by=1 fok
          done 3 by=1 (4 left): Expired
        > buy 4 2@100 by=1 fok
          trade 2@100: buy 4 by=1 (0 left) meets sell 1 (3 left)
          replenished 1: sell 3@100 shows 2
          done 4 by=1 (0 left): Filled
    "#]]);
}

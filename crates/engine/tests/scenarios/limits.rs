//! How much an engine holds.

use engine::EngineLimits;
use expect_test::expect;

use crate::{LIMITS, check_with};

#[test]
fn a_full_engine_takes_an_order_that_makes_room_for_itself() {
    check_with(
        EngineLimits { open_orders_max: 4, ..LIMITS },
        expect![[r#"
        > sell 1 2@101
        > buy 2 1@100
        > buy 3 1@100
        > buy 4 1@100
        > buy 5 1@100
        > buy 5 1@100 ioc
        > buy 5 1@101
        > buy 6 2@101
        > buy 7 1@101 stop=200
    "#]],
    );
}

#[test]
fn to_make_room_is_to_use_an_order_up_or_to_end_it() {
    check_with(
        EngineLimits { open_orders_max: 2, ..LIMITS },
        expect![[r#"
        > account by=1 self-trade=oldest
        > account by=2 self-trade=decrement
        > sell 1 2@101 by=1
        > sell 2 2@101 by=2
        > buy 3 1@101 by=2
        > buy 3 2@101 by=2
        > buy 4 2@101
        > buy 5 1@101 by=1
        > account by=1 self-trade=newest
    "#]],
    );
}

#[test]
fn all_of_it_used_up_by_one_that_rests_on() {
    check_with(
        EngineLimits { open_orders_max: 1, ..LIMITS },
        expect![[r#"
        > sell 1 9@101 show=3
        > buy 2 9@101
        > buy 3 9@101 post
        > sell 4 9@105
        > sell 3 2@90 ioc
        > buy 5 3@105
    "#]],
    );
}

#[test]
fn a_side_with_all_its_prices_refuses_a_new_one_even_if_it_would_trade() {
    check_with(
        EngineLimits { price_levels_max: 2, ..LIMITS },
        expect![[r#"
        > sell 1 2@101
        > buy 2 1@100
        > buy 3 1@99
        > buy 4 1@98
        > buy 4 1@101
        > buy 4 1@101 ioc
        > buy 5 1@99
        > sell 6 1@102
        > amend 2 2@98
        > amend 2 2@101
        > amend 3 2@98
        > amend 5 2@97
        > cancel 2
        > amend 5 2@97
    "#]],
    );
}

#[test]
fn an_order_alone_at_its_price_may_move() {
    check_with(
        EngineLimits { price_levels_max: 1, ..LIMITS },
        expect![[r#"
        > buy 1 1@100
        > amend 1 2@100
        > amend 1 2@99
        > buy 2 1@99
        > amend 1 2@100
    "#]],
    );
}

#[test]
fn what_is_repriced_needs_its_price_where_it_rests() {
    check_with(
        EngineLimits { price_levels_max: 1, ..LIMITS },
        expect![[r#"
        > sell 1 1@100
        > buy 2 1@99
        > buy 3 1@105 reprice
        > buy 4 1@98 reprice
    "#]],
    );
}

#[test]
fn stops_have_prices_of_their_own() {
    check_with(
        EngineLimits { stop_levels_max: 1, ..LIMITS },
        expect![[r#"
        > buy 1 1@100 stop=100
        > buy 2 1@100 stop=101
        > buy 2 1@99 stop=100
        > sell 3 1@100 stop=90
        > instrument reference=99
        > sell 4 1@100 stop=100
    "#]],
    );
}

#[test]
fn a_stop_that_finds_no_room_when_it_triggers_is_ended() {
    check_with(
        EngineLimits { price_levels_max: 1, ..LIMITS },
        expect![[r#"
        > buy 1 1@90
        > buy 2 3@100 stop=100
        > buy 3 1@90 stop=100
        > buy 4 1@95 stop=100 ioc
        > sell 5 2@99
        > instrument reference=100
        > book
        > buy 6 1@95 stop=100
    "#]],
    );
}

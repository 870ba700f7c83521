//! Capacities of an engine.

use engine::EngineLimits;
use expect_test::expect;

use super::{LIMITS, check_with};

#[test]
fn a_full_engine_takes_an_order_that_makes_room_for_itself() {
    check_with(
        EngineLimits { open_orders_max: 4, ..LIMITS },
        expect![[r#"
            > sell 1 2@101
              booked 1: sell 2@101
            > buy 2 1@100
              booked 2: buy 1@100
            > buy 3 1@100
              booked 3: buy 1@100
            > buy 4 1@100
              booked 4: buy 1@100
            > buy 5 1@100
              rejected 5: LIMIT_OPEN_ORDERS_MAX
            > buy 5 1@100 ioc
              done 5 (1 left): Expired
            > buy 5 1@101
              trade 1@101: buy 5 (0 left) meets sell 1 (1 left)
              done 5 (0 left): Filled
            > buy 6 2@101
              trade 1@101: buy 6 (1 left) meets sell 1 (0 left)
              done 1 (0 left): Filled
              booked 6: buy 1@101
            > buy 7 1@101 stop=200
              rejected 7: LIMIT_OPEN_ORDERS_MAX
        "#]],
    );
}

#[test]
fn to_make_room_is_to_use_an_order_up_or_to_end_it() {
    check_with(
        EngineLimits { open_orders_max: 2, ..LIMITS },
        expect![[r#"
            > account by=1 self-trade=oldest
              applied, tag=0, orders: 0
            > account by=2 self-trade=decrement
              applied, tag=0, orders: 0
            > sell 1 2@101 by=1
              booked 1 by=1: sell 2@101
            > sell 2 2@101 by=2
              booked 2 by=2: sell 2@101
            > buy 3 1@101 by=2
              trade 1@101: buy 3 by=2 (0 left) meets sell 1 by=1 (1 left)
              done 3 by=2 (0 left): Filled
            > buy 3 2@101 by=2
              trade 1@101: buy 3 by=2 (1 left) meets sell 1 by=1 (0 left)
              done 1 by=1 (0 left): Filled
              decremented 1@101: buy 3 by=2 (0 left) meets sell 2 by=2 (1 left)
              done 3 by=2 (0 left): SelfTrade
            > buy 4 2@101
              trade 1@101: buy 4 (1 left) meets sell 2 by=2 (0 left)
              done 2 by=2 (0 left): Filled
              booked 4: buy 1@101
            > buy 5 1@101 by=1
              booked 5 by=1: buy 1@101
            > account by=1 self-trade=newest
              applied, tag=0, orders: 0
        "#]],
    );
}

#[test]
fn all_of_it_used_up_by_one_that_rests_on() {
    check_with(
        EngineLimits { open_orders_max: 1, ..LIMITS },
        expect![[r#"
            > sell 1 9@101 show=3
              booked 1: sell 9@101 shows 3
            > buy 2 9@101
              trade 3@101: buy 2 (6 left) meets sell 1 (6 left)
              replenished 1: sell 6@101 shows 3
              trade 3@101: buy 2 (3 left) meets sell 1 (3 left)
              replenished 1: sell 3@101
              trade 3@101: buy 2 (0 left) meets sell 1 (0 left)
              done 1 (0 left): Filled
              done 2 (0 left): Filled
            > buy 3 9@101 post
              booked 3: buy 9@101
            > sell 4 9@105
              rejected 4: LIMIT_OPEN_ORDERS_MAX
            > sell 6 2@90 ioc
              trade 2@101: sell 6 (0 left) meets buy 3 (7 left)
              done 6 (0 left): Filled
            > buy 5 3@105
              rejected 5: LIMIT_OPEN_ORDERS_MAX
        "#]],
    );
}

#[test]
fn a_full_side_rejects_a_new_price_even_if_it_would_trade() {
    check_with(
        EngineLimits { price_levels_max: 2, ..LIMITS },
        expect![[r#"
            > sell 1 2@101
              booked 1: sell 2@101
            > buy 2 1@100
              booked 2: buy 1@100
            > buy 3 1@99
              booked 3: buy 1@99
            > buy 4 1@98
              rejected 4: LIMIT_PRICE_LEVELS_MAX
            > buy 4 1@101
              rejected 4: LIMIT_PRICE_LEVELS_MAX
            > buy 4 1@101 ioc
              trade 1@101: buy 4 (0 left) meets sell 1 (1 left)
              done 4 (0 left): Filled
            > buy 5 1@99
              booked 5: buy 1@99
            > sell 6 1@102
              booked 6: sell 1@102
            > amend 2 2@98
              rejected 2: LIMIT_PRICE_LEVELS_MAX
            > amend 2 2@101
              rejected 2: LIMIT_PRICE_LEVELS_MAX
            > amend 3 2@98
              rejected 3: LIMIT_PRICE_LEVELS_MAX
            > amend 5 2@97
              rejected 5: LIMIT_PRICE_LEVELS_MAX
            > cancel 2
              done 2 (1 left): Cancelled
            > amend 5 2@97
              amended 5: buy 2@97 shows 0, loses its place
              booked 5: buy 2@97
        "#]],
    );
}

#[test]
fn an_order_alone_at_its_price_may_move() {
    check_with(
        EngineLimits { price_levels_max: 1, ..LIMITS },
        expect![[r#"
            > buy 1 1@100
              booked 1: buy 1@100
            > amend 1 2@100
              amended 1: buy 2@100 shows 0, loses its place
              booked 1: buy 2@100
            > amend 1 2@99
              rejected 1: LIMIT_PRICE_LEVELS_MAX
            > buy 2 1@99
              rejected 2: LIMIT_PRICE_LEVELS_MAX
            > amend 1 2@100
              amended 1: buy 2@100, keeps its place
        "#]],
    );
}

#[test]
fn what_is_repriced_needs_its_price_where_it_rests() {
    check_with(
        EngineLimits { price_levels_max: 1, ..LIMITS },
        expect![[r#"
            > sell 1 1@100
              booked 1: sell 1@100
            > buy 2 1@99
              booked 2: buy 1@99
            > buy 3 1@105 reprice
              booked 3: buy 1@99
            > buy 4 1@98 reprice
              rejected 4: LIMIT_PRICE_LEVELS_MAX
        "#]],
    );
}

#[test]
fn stops_have_prices_of_their_own() {
    check_with(
        EngineLimits { stop_levels_max: 1, ..LIMITS },
        expect![[r#"
            > buy 1 1@100 stop=100
              waiting 1: buy 1, stop 100
            > buy 2 1@100 stop=101
              rejected 2: LIMIT_PRICE_LEVELS_MAX
            > buy 2 1@99 stop=100
              waiting 2: buy 1, stop 100
            > sell 3 1@100 stop=90
              waiting 3: sell 1, stop 90
            > instrument reference=99
              applied, tag=0, orders: 0
            > sell 4 1@100 stop=100
              triggered 4 (1 left)
              booked 4: sell 1@100
        "#]],
    );
}

#[test]
fn a_stop_that_finds_no_room_when_it_triggers_is_ended() {
    check_with(
        EngineLimits { price_levels_max: 1, ..LIMITS },
        expect![[r#"
            > buy 1 1@90
              booked 1: buy 1@90
            > buy 2 3@100 stop=100
              waiting 2: buy 3, stop 100
            > buy 3 1@90 stop=100
              waiting 3: buy 1, stop 100
            > buy 4 1@95 stop=100 ioc
              waiting 4: buy 1, stop 100
            > sell 5 2@99
              booked 5: sell 2@99
            > instrument reference=100
              applied, tag=0, orders: 0
              triggered 2 (3 left)
              trade 2@99: buy 2 (1 left) meets sell 5 (0 left)
              done 5 (0 left): Filled
              done 2 (1 left): NoRoom
            > book
              buy 1@90, orders: 1
            > buy 6 1@95 stop=100
              waiting 6: buy 1, stop 100
        "#]],
    );
}

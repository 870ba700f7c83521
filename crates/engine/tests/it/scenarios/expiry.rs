//! Orders that end at a date.

use engine::EngineLimits;
use expect_test::expect;

use super::{LIMITS, check, check_with};

#[test]
fn they_end_soonest_first_and_the_lower_id_first_before_the_command() {
    check(expect![[r#"
        > buy 9 1@100 gtd=300ms
          booked 9: buy 1@100
        > buy 2 1@101 gtd=200ms on=1
          booked 2 on=1: buy 1@101
        > buy 1 1@102 gtd=300ms
          booked 1: buy 1@102
        > sell 4 1@200 gtd=301ms
          booked 4: sell 1@200
        > sell 5 1@95 ioc at=300ms
          done 2 on=1 (1 left): Expired
          done 1 (1 left): Expired
          done 9 (1 left): Expired
          done 5 (1 left): Expired
    "#]]);
}

#[test]
fn a_stop_that_waits_ends_too() {
    check(expect![[r#"
        > buy 1 1@100 stop=100 gtd=1s
          waiting 1: buy 1, stop 100
        > buy 2 1@100 stop=100 gtd=2s
          waiting 2: buy 1, stop 100
        > instrument reference=100 at=1s
          done 1 (1 left): Expired
          applied, tag=0, orders: 0
          triggered 2 (1 left)
          booked 2: buy 1@100
        > sell 3 1@200 at=2s
          done 2 (1 left): Expired
          booked 3: sell 1@200
    "#]]);
}

#[test]
fn from_its_time_on_an_order_is_not_taken() {
    check(expect![[r#"
        > buy 1 1@100 gtd=1s at=1s
          rejected 1: BAD_EXPIRY
        > buy 1 1@100 gtd=0
          rejected 1: BAD_COMBINATION
        > buy 1 1@100 gtd=1.001s
          booked 1: buy 1@100
        > buy 2 1@100 gtd=1s at=0.5s
          rejected 2: BAD_EXPIRY
    "#]]);
}

#[test]
fn time_never_goes_back() {
    check(expect![[r#"
        > buy 1 1@100 gtd=3s at=2s
          booked 1: buy 1@100
        > buy 2 1@100 gtd=1.5s at=1s
          rejected 2: BAD_EXPIRY
        > cancel 1 at=3s
          done 1 (1 left): Expired
          rejected 1: UNKNOWN_ORDER
    "#]]);
}

#[test]
fn a_rejected_command_still_moves_time() {
    check(expect![[r#"
        > buy 1 1@100 gtd=1s
          booked 1: buy 1@100
        > cancel 7 on=9 at=1s
          done 1 (1 left): Expired
          rejected 7 on=9: UNKNOWN_INSTRUMENT
        > book
          empty
    "#]]);
}

#[test]
fn orders_end_in_an_instrument_that_is_halted() {
    check(expect![[r#"
        > buy 1 1@100 gtd=1s
          booked 1: buy 1@100
        > instrument halted
          applied, tag=0, orders: 0
        > kill at=1s
          done 1 (1 left): Expired
          applied, tag=0, orders: 0
    "#]]);
}

#[test]
fn only_so_many_may_have_a_date() {
    check_with(
        EngineLimits { expiring_orders_max: 2, ..LIMITS },
        expect![[r#"
            > buy 1 1@100 gtd=1s
              booked 1: buy 1@100
            > buy 2 1@100 gtd=1s stop=105
              waiting 2: buy 1, stop 105
            > sell 3 1@100 gtd=1s
              rejected 3: LIMIT_EXPIRING_ORDERS_MAX
            > buy 3 1@90 gtd=1s ioc
              rejected 3: BAD_COMBINATION
            > sell 3 1@100
              trade 1@100: sell 3 (0 left) meets buy 1 (0 left)
              done 1 (0 left): Filled
              done 3 (0 left): Filled
            > buy 4 1@100 gtd=1s
              booked 4: buy 1@100
        "#]],
    );
}

#[test]
fn what_trades_on_arrival_needs_room_for_a_date_too() {
    check_with(
        EngineLimits { expiring_orders_max: 0, ..LIMITS },
        expect![[r#"
            > sell 3 1@100
              booked 3: sell 1@100
            > buy 4 1@100 gtd=1s
              rejected 4: LIMIT_EXPIRING_ORDERS_MAX
        "#]],
    );
}

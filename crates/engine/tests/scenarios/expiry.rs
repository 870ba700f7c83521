//! Orders that end at a date.

use engine::EngineLimits;
use expect_test::expect;

use crate::{LIMITS, check, check_with};

#[test]
fn they_end_soonest_first_and_the_lower_id_first_before_the_command() {
    check(expect![[r#"
        > buy 9 1@100 gtd=300ms
        > buy 2 1@101 gtd=200ms on=1
        > buy 1 1@102 gtd=300ms
        > sell 4 1@200 gtd=301ms
        > sell 5 1@95 ioc at=300ms
    "#]]);
}

#[test]
fn a_stop_that_waits_ends_too() {
    check(expect![[r#"
        > buy 1 1@100 stop=100 gtd=1s
        > buy 2 1@100 stop=100 gtd=2s
        > instrument reference=100 at=1s
        > sell 3 1@200 at=2s
    "#]]);
}

#[test]
fn from_its_time_on_an_order_is_not_taken() {
    check(expect![[r#"
        > buy 1 1@100 gtd=1s at=1s
        > buy 1 1@100 gtd=0
        > buy 1 1@100 gtd=1.001s
        > buy 2 1@100 gtd=1s at=0.5s
    "#]]);
}

#[test]
fn time_never_goes_back() {
    check(expect![[r#"
        > buy 1 1@100 gtd=3s at=2s
        > buy 2 1@100 gtd=1.5s at=1s
        > cancel 1 at=3s
    "#]]);
}

#[test]
fn a_command_that_is_refused_moves_time_all_the_same() {
    check(expect![[r#"
        > buy 1 1@100 gtd=1s
        > cancel 7 on=9 at=1s
        > book
    "#]]);
}

#[test]
fn orders_end_in_an_instrument_that_is_halted() {
    check(expect![[r#"
        > buy 1 1@100 gtd=1s
        > instrument halted
        > kill at=1s
    "#]]);
}

#[test]
fn only_so_many_may_have_a_date() {
    check_with(
        EngineLimits { expiring_orders_max: 2, ..LIMITS },
        expect![[r#"
        > buy 1 1@100 gtd=1s
        > buy 2 1@100 gtd=1s stop=105
        > sell 3 1@100 gtd=1s
        > buy 3 1@90 gtd=1s ioc
        > sell 3 1@100
        > buy 4 1@100 gtd=1s
    "#]],
    );
}

#[test]
fn what_trades_on_arrival_needs_room_for_a_date_too() {
    check_with(
        EngineLimits { expiring_orders_max: 0, ..LIMITS },
        expect![[r#"
        > sell 3 1@100
        > buy 4 1@100 gtd=1s
    "#]],
    );
}

//! Rejections before any look-up, and which reason comes first.

use expect_test::expect;

use super::check;

#[test]
fn prices_and_quantities_end_where_they_say() {
    check(expect![[r#"
        > buy 1 1@-9223372036854775808
          rejected 1: BAD_PRICE
        > buy 1 1@-1
          rejected 1: BAD_PRICE
        > buy 1 1@0
          rejected 1: BAD_PRICE
        > buy 1 1@1000000000001
          rejected 1: BAD_PRICE
        > buy 1 1@9223372036854775807
          rejected 1: BAD_PRICE
        > buy 1 0@1
          rejected 1: BAD_QUANTITY
        > buy 1 1000000000001@1
          rejected 1: BAD_QUANTITY
        > buy 1 18446744073709551615@1
          rejected 1: BAD_QUANTITY
        > buy 1 1@1 stop=-1
          rejected 1: BAD_PRICE
        > buy 1 1@1 stop=1000000000001
          rejected 1: BAD_PRICE
        > buy 1 1000000000000@1
          booked 1: buy 1000000000000@1
        > sell 2 1@1000000000000
          booked 2: sell 1@1000000000000
        > sell 18446744073709551615 1@1000000000000
          booked 18446744073709551615: sell 1@1000000000000
    "#]]);
}

#[test]
fn what_does_not_go_together() {
    check(expect![[r#"
        > buy 1 1@market
          rejected 1: BAD_COMBINATION
        > buy 1 1@market gtd=1s
          rejected 1: BAD_COMBINATION
        > buy 1 1@market ioc show=1
          rejected 1: BAD_COMBINATION
    "#]]);
}

#[test]
fn the_first_that_applies_is_reported() {
    check(expect![[r#"
        > account by=1 quantity=1 messages=1 orders=0
          applied, tag=0, orders: 0
        > buy 1 9@0 by=3 on=2
          rejected 1 by=3 on=2: UNKNOWN_INSTRUMENT
        > buy 1 9@0 by=3
          rejected 1 by=3: UNKNOWN_ACCOUNT
        > kill
          applied, tag=0, orders: 0
        > buy 1 9@0 by=1
          rejected 1 by=1: KILL_SWITCH
        > buy 1 9@0 by=1
          rejected 1 by=1: RISK_MESSAGES_PER_SECOND_MAX
        > buy 1 9@0 by=1 show=1 ioc at=1s
          rejected 1 by=1: KILL_SWITCH
        > release
          applied, tag=0, orders: 0
        > instrument halted
          applied, tag=0, orders: 0
        > buy 1 9@0 by=1 show=1 ioc at=2s
          rejected 1 by=1: INSTRUMENT_HALTED
        > instrument
          applied, tag=0, orders: 0
        > buy 1 0@0 by=1 show=1 ioc at=3s
          rejected 1 by=1: BAD_COMBINATION
        > buy 1 0@0 by=1 at=4s
          rejected 1 by=1: BAD_PRICE
        > buy 1 0@1 by=1 at=5s gtd=1s
          rejected 1 by=1: BAD_QUANTITY
        > buy 1 9@1 by=1 at=6s gtd=1s
          rejected 1 by=1: BAD_EXPIRY
        > buy 1 9@1 at=6s
          booked 1: buy 9@1
        > instrument band=5..6
          applied, tag=0, orders: 0
        > buy 1 9@1 by=1 at=7s
          rejected 1 by=1: PRICE_BAND
        > buy 1 9@5 by=1 at=8s
          rejected 1 by=1: DUPLICATE_ORDER_ID
        > buy 2 9@5 by=1 at=9s
          rejected 2 by=1: RISK_QUANTITY_LOTS_MAX
        > buy 2 1@5 by=1 at=10s
          rejected 2 by=1: RISK_OPEN_ORDERS_MAX
    "#]]);
}

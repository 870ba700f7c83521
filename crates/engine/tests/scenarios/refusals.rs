//! What is refused before anything is looked up, and which reason comes first.

use expect_test::expect;

use crate::check;

#[test]
fn prices_and_quantities_end_where_they_say() {
    check(expect![[r#"
        > buy 1 1@-9223372036854775808
        > buy 1 1@-1
        > buy 1 1@0
        > buy 1 1@1000000000001
        > buy 1 1@9223372036854775807
        > buy 1 0@1
        > buy 1 1000000000001@1
        > buy 1 18446744073709551615@1
        > buy 1 1@1 stop=-1
        > buy 1 1@1 stop=1000000000001
        > buy 1 1000000000000@1
        > sell 2 1@1000000000000
        > sell 18446744073709551615 1@1000000000000
    "#]]);
}

#[test]
fn what_does_not_go_together() {
    check(expect![[r#"
        > buy 1 1@market
        > buy 1 1@market gtd=1s
        > buy 1 1@market ioc show=1
    "#]]);
}

#[test]
fn the_first_that_applies_is_reported() {
    check(expect![[r#"
        > account by=1 quantity=1 messages=1 orders=0
        > buy 1 9@0 by=3 on=2
        > buy 1 9@0 by=3
        > kill
        > buy 1 9@0 by=1
        > buy 1 9@0 by=1
        > buy 1 9@0 by=1 show=1 ioc at=1s
        > release
        > instrument halted
        > buy 1 9@0 by=1 show=1 ioc at=2s
        > instrument
        > buy 1 0@0 by=1 show=1 ioc at=3s
        > buy 1 0@0 by=1 at=4s
        > buy 1 0@1 by=1 at=5s gtd=1s
        > buy 1 9@1 by=1 at=6s gtd=1s
        > buy 1 9@1 at=6s
        > instrument band=5..6
        > buy 1 9@1 by=1 at=7s
        > buy 1 9@5 by=1 at=8s
        > buy 2 9@5 by=1 at=9s
        > buy 2 1@5 by=1 at=10s
    "#]]);
}

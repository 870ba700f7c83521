//! Dialogues with every order type and with amendments.

use crate::dialogue::Dialogue;
use crate::driven::{START_NS, config, set_time};
use expect_test::expect;

const FOK: &str = "'time_in_force':'FILL_OR_KILL'";
const IOC: &str = "'time_in_force':'IMMEDIATE_OR_CANCELLED'";

#[test]
fn market_orders_and_orders_that_trade_whole_or_not_at_all() {
    let mut d = Dialogue::new(config());
    d.order(0, "s1", "SELL", "100", "1");
    d.order(0, "s2", "SELL", "101", "1");
    d.order_with(1, "too-much", "BUY", "101", "2.5", FOK);
    d.order_with(1, "whole", "BUY", "101", "1.5", FOK);
    d.order_with(1, "market", "BUY", "-", "0.25", IOC);
    d.order_with(1, "rest", "BUY", "-", "1", IOC);
    d.order_with(1, "market-fok", "BUY", "-", "1", FOK);
    d.order_with(1, "rests", "BUY", "-", "1", "");
    expect![[r#"
        0 a BOOKED client_id=s1 price=100 amount=1 sequence=1
        0 a BOOKED client_id=s2 price=101 amount=1 sequence=2
        1 b DONE client_id=too-much status=EXPIRED sequence=3
        0 a FILL client_id=s1 price=100 amount=1 remaining=0 sequence=4
        0 a DONE client_id=s1 status=FILLED sequence=5
        0 a FILL client_id=s2 price=101 amount=0.5 remaining=0.5 sequence=6
        1 b FILL client_id=whole price=100 amount=1 remaining=0.5 sequence=4
        1 b FILL client_id=whole price=101 amount=0.5 remaining=0 sequence=6
        1 b DONE client_id=whole status=FILLED sequence=7
        0 a FILL client_id=s2 price=101 amount=0.25 remaining=0.25 sequence=8
        1 b FILL client_id=market price=101 amount=0.25 remaining=0 sequence=8
        1 b DONE client_id=market status=FILLED sequence=9
        0 a FILL client_id=s2 price=101 amount=0.25 remaining=0 sequence=10
        0 a DONE client_id=s2 status=FILLED sequence=11
        1 b FILL client_id=rest price=101 amount=0.25 remaining=0.75 sequence=10
        1 b DONE client_id=rest status=EXPIRED sequence=12
        1 b DONE client_id=market-fok status=EXPIRED sequence=13
        1 b REJECTED client_id=rests reason=type, time_in_force, post_only, display_amount and stop_price do not go together: MARKET needs an immediate time_in_force; post_only and display_amount need a LIMIT that may rest, without stop_price"#]].assert_eq(&d.told());
}

/// A client asks what became of its orders. No other account gets an answer about them.
#[test]
fn an_order_has_a_status_while_it_is_open_and_after_its_end() {
    let mut d = Dialogue::new(config());
    let status = |client_id: &str| format!("{{'type':'ORDER_STATUS','client_id':'{client_id}'}}");
    d.order(0, "s", "SELL", "100", "1");
    d.say(0, &status("s"));
    d.say(1, &status("s"));
    d.say(0, "{'type':'ORDER_STATUS','client_id':'s','account_id':'b'}");
    d.cancel(0, "s");
    d.say(0, &status("s"));
    d.say(1, &status("s"));
    d.order_with(1, "none", "BUY", "100", "1", IOC);
    d.say(1, &status("none"));
    d.order(0, "s", "SELL", "100", "1");
    d.say(0, &status("s"));
    d.order_with(1, "all", "BUY", "100", "1", IOC);
    d.say(1, &status("all"));
    d.say(0, &status("s"));
    d.order_with(0, "rejected", "SELL", "-", "1", "");
    d.say(0, &status("rejected"));
    expect![[r#"
        0 a BOOKED client_id=s price=100 amount=1 sequence=1
        0 a OPEN client_id=s
        1 b REJECTED client_id=s reason=unknown order: this account has no open order with this client_id
        0 b REJECTED client_id=s reason=account_id is not authenticated on this connection; send AUTHENTICATE for it first
        0 a DONE client_id=s status=CANCELLED sequence=2
        0 a ENDED client_id=s status=CANCELLED
        1 b REJECTED client_id=s reason=unknown order: this account has no open order with this client_id
        1 b DONE client_id=none status=EXPIRED sequence=3
        1 b ENDED client_id=none status=EXPIRED
        0 a BOOKED client_id=s price=100 amount=1 sequence=4
        0 a OPEN client_id=s
        0 a FILL client_id=s price=100 amount=1 remaining=0 sequence=5
        0 a DONE client_id=s status=FILLED sequence=6
        1 b FILL client_id=all price=100 amount=1 remaining=0 sequence=5
        1 b DONE client_id=all status=FILLED sequence=7
        1 b ENDED client_id=all status=FILLED
        0 a ENDED client_id=s status=FILLED
        0 a REJECTED client_id=rejected reason=type, time_in_force, post_only, display_amount and stop_price do not go together: MARKET needs an immediate time_in_force; post_only and display_amount need a LIMIT that may rest, without stop_price
        0 a REJECTED client_id=rejected reason=unknown order: this account has no open order with this client_id"#]].assert_eq(&d.told());
}

#[test]
fn post_only_is_rejected_or_repriced() {
    let mut d = Dialogue::new(config());
    d.order(0, "s", "SELL", "100", "1");
    d.order_with(1, "rejected", "BUY", "100", "1", "'post_only':'REJECT'");
    d.order_with(1, "rests", "BUY", "99", "1", "'post_only':'REJECT'");
    d.order_with(1, "repriced", "BUY", "102", "1", "'post_only':'REPRICE'");
    d.order_with(1, "immediate", "BUY", "1", "1", &format!("'post_only':'REJECT',{IOC}"));
    expect![[r#"
        0 a BOOKED client_id=s price=100 amount=1 sequence=1
        1 b REJECTED client_id=rejected reason=the order is post-only and would trade
        1 b BOOKED client_id=rests price=99 amount=1 sequence=2
        1 b BOOKED client_id=repriced price=99.99 amount=1 sequence=3
        1 b REJECTED client_id=immediate reason=type, time_in_force, post_only, display_amount and stop_price do not go together: MARKET needs an immediate time_in_force; post_only and display_amount need a LIMIT that may rest, without stop_price"#]].assert_eq(&d.told());
}

/// The hidden part trades after visible orders at its price; each fill has the remaining amount of
/// the whole order.
#[test]
fn an_iceberg_shows_a_part() {
    let mut d = Dialogue::new(config());
    d.order_with(0, "ice", "SELL", "100", "1", "'display_amount':'0.3'");
    d.order(1, "shown", "SELL", "100", "0.5");
    let top = d.driven.exchange.engine().top(0).ask.unwrap();
    assert_eq!(top.quantity_lots, 80_000);
    d.order(2, "b1", "BUY", "100", "0.4");
    d.order(2, "b2", "BUY", "100", "1.1");
    d.order_with(0, "too-large", "SELL", "100", "1", "'display_amount':'2'");
    d.order_with(0, "no-part", "SELL", "100", "1", "'display_amount':'0'");
    expect![[r#"
        0 a BOOKED client_id=ice price=100 amount=1 sequence=1
        1 b BOOKED client_id=shown price=100 amount=0.5 sequence=2
        0 a FILL client_id=ice price=100 amount=0.3 remaining=0.7 sequence=3
        1 b FILL client_id=shown price=100 amount=0.1 remaining=0.4 sequence=5
        2 c FILL client_id=b1 price=100 amount=0.3 remaining=0.1 sequence=3
        2 c FILL client_id=b1 price=100 amount=0.1 remaining=0 sequence=5
        2 c DONE client_id=b1 status=FILLED sequence=6
        0 a FILL client_id=ice price=100 amount=0.3 remaining=0.4 sequence=9
        0 a FILL client_id=ice price=100 amount=0.3 remaining=0.1 sequence=11
        0 a FILL client_id=ice price=100 amount=0.1 remaining=0 sequence=13
        0 a DONE client_id=ice status=FILLED sequence=14
        1 b FILL client_id=shown price=100 amount=0.4 remaining=0 sequence=7
        1 b DONE client_id=shown status=FILLED sequence=8
        2 c FILL client_id=b2 price=100 amount=0.4 remaining=0.7 sequence=7
        2 c FILL client_id=b2 price=100 amount=0.3 remaining=0.4 sequence=9
        2 c FILL client_id=b2 price=100 amount=0.3 remaining=0.1 sequence=11
        2 c FILL client_id=b2 price=100 amount=0.1 remaining=0 sequence=13
        2 c DONE client_id=b2 status=FILLED sequence=15
        0 a REJECTED client_id=too-large reason=display_amount is larger than amount, or out of range
        0 a REJECTED client_id=no-part reason=amount is out of range: BTC_USDT takes 0.00001 to 10000000"#]].assert_eq(&d.told());
}

/// A stop waits until a trade triggers it, then trades as its own type; if its price is already
/// reached, it trades at once.
#[test]
fn stops_wait_for_their_price() {
    let mut d = Dialogue::new(config());
    d.order_with(0, "stop-limit", "BUY", "106", "1", "'stop_price':'105'");
    d.order_with(0, "stop", "SELL", "-", "1", &format!("'stop_price':'90',{IOC}"));
    d.order(1, "s1", "SELL", "105", "0.5");
    d.order(1, "s2", "SELL", "107", "1");
    d.order(2, "b", "BUY", "105", "0.5");
    d.order_with(0, "at-once", "BUY", "107", "0.25", "'stop_price':'104'");
    d.cancel(0, "stop");
    expect![[r#"
        0 a WAITING client_id=stop-limit stop_price=105 amount=1 sequence=1
        0 a WAITING client_id=stop stop_price=90 amount=1 sequence=2
        1 b BOOKED client_id=s1 price=105 amount=0.5 sequence=3
        1 b BOOKED client_id=s2 price=107 amount=1 sequence=4
        0 a TRIGGERED client_id=stop-limit sequence=8
        0 a BOOKED client_id=stop-limit price=106 amount=1 sequence=9
        1 b FILL client_id=s1 price=105 amount=0.5 remaining=0 sequence=5
        1 b DONE client_id=s1 status=FILLED sequence=6
        2 c FILL client_id=b price=105 amount=0.5 remaining=0 sequence=5
        2 c DONE client_id=b status=FILLED sequence=7
        0 a TRIGGERED client_id=at-once sequence=10
        0 a FILL client_id=at-once price=107 amount=0.25 remaining=0 sequence=11
        0 a DONE client_id=at-once status=FILLED sequence=12
        1 b FILL client_id=s2 price=107 amount=0.25 remaining=0.75 sequence=11
        0 a DONE client_id=stop status=CANCELLED sequence=13"#]]
    .assert_eq(&d.told());
    let counts = d.driven.exchange.counts();
    assert_eq!((counts.waiting, counts.triggered), (2, 2));
}

#[test]
fn a_date_ends_an_order_with_the_next_message_or_without() {
    set_time(0);
    let mut d = Dialogue::new(config());
    let until = |ms: u64| {
        let expire_time = START_NS / 1_000_000 + ms;
        format!("'time_in_force':'GOOD_TILL_DATE','expire_time':{expire_time}")
    };
    d.order_with(0, "second", "BUY", "99", "1", &until(1_000));
    d.order_with(0, "third", "BUY", "98", "1", &until(2_000));
    d.order_with(0, "past", "BUY", "98", "1", &until(0));
    d.order_with(
        0,
        "before-1970",
        "BUY",
        "98",
        "1",
        "'time_in_force':'GOOD_TILL_DATE','expire_time':-1",
    );
    set_time(999);
    d.driven.sweep();
    d.order(1, "s1", "SELL", "99", "0.5");
    set_time(1_000);
    d.order(1, "s2", "SELL", "99", "0.5");
    set_time(2_000);
    d.driven.sweep();
    d.note();
    expect![[r#"
        0 a BOOKED client_id=second price=99 amount=1 sequence=1
        0 a BOOKED client_id=third price=98 amount=1 sequence=2
        0 a REJECTED client_id=past reason=expire_time has come already
        0 a REJECTED client_id=before-1970 reason=expire_time has come already
        0 a FILL client_id=second price=99 amount=0.5 remaining=0.5 sequence=3
        1 b FILL client_id=s1 price=99 amount=0.5 remaining=0 sequence=3
        1 b DONE client_id=s1 status=FILLED sequence=4
        0 a DONE client_id=second status=EXPIRED sequence=5
        1 b BOOKED client_id=s2 price=99 amount=0.5 sequence=6
        0 a DONE client_id=third status=EXPIRED sequence=7"#]]
    .assert_eq(&d.told());
    let inputs = d.driven.exchange.replay_check().why;
    set_time(3_000);
    d.driven.sweep();
    assert_eq!(d.driven.exchange.replay_check().why, inputs, "nothing has a date any more");
    set_time(0);
}

/// A smaller amount at the same price keeps the place; any other change enters anew, and may trade.
/// The new client id takes effect with the amendment and not before.
#[test]
fn amendments() {
    let mut d = Dialogue::new(config());
    d.order(0, "a1", "BUY", "99", "1");
    d.order(1, "b1", "BUY", "99", "1");
    d.amend(0, "a1", "'price':'99','amount':'0.5'");
    d.order(2, "s1", "SELL", "99", "0.75");
    d.amend(1, "b1", "'new_client_id':'b2','price':'99','amount':'2'");
    d.amend(1, "b1", "'price':'98','amount':'1'");
    d.order(2, "s2", "SELL", "101", "0.5");
    d.amend(1, "b2", "'new_client_id':'b3','price':'101','amount':'2'");
    d.cancel(1, "b3");
    expect![[r#"
        0 a BOOKED client_id=a1 price=99 amount=1 sequence=1
        1 b BOOKED client_id=b1 price=99 amount=1 sequence=2
        0 a AMENDED client_id=a1 price=99 amount=0.5 place_kept=true sequence=3
        0 a FILL client_id=a1 price=99 amount=0.5 remaining=0 sequence=4
        0 a DONE client_id=a1 status=FILLED sequence=5
        1 b FILL client_id=b1 price=99 amount=0.25 remaining=0.75 sequence=6
        2 c FILL client_id=s1 price=99 amount=0.5 remaining=0.25 sequence=4
        2 c FILL client_id=s1 price=99 amount=0.25 remaining=0 sequence=6
        2 c DONE client_id=s1 status=FILLED sequence=7
        1 b AMENDED client_id=b2 replaced_client_id=b1 price=99 amount=2 place_kept=false sequence=8
        1 b BOOKED client_id=b2 price=99 amount=2 sequence=9
        1 b REJECTED client_id=b1 reason=unknown order: this account has no open order with this client_id
        2 c BOOKED client_id=s2 price=101 amount=0.5 sequence=10
        1 b AMENDED client_id=b3 replaced_client_id=b2 price=101 amount=2 place_kept=false sequence=11
        1 b FILL client_id=b3 price=101 amount=0.5 remaining=1.5 sequence=12
        1 b BOOKED client_id=b3 price=101 amount=2 sequence=14
        2 c FILL client_id=s2 price=101 amount=0.5 remaining=0 sequence=12
        2 c DONE client_id=s2 status=FILLED sequence=13
        1 b DONE client_id=b3 status=CANCELLED sequence=15"#]].assert_eq(&d.told());
    // All its client ids are free again.
    for name in ["b1", "b2", "b3"] {
        d.order(1, name, "BUY", "1", "1");
    }
    expect![[r#"
        1 b BOOKED client_id=b1 price=1 amount=1 sequence=16
        1 b BOOKED client_id=b2 price=1 amount=1 sequence=17
        1 b BOOKED client_id=b3 price=1 amount=1 sequence=18"#]]
    .assert_eq(&d.told());
}

#[test]
fn amendments_that_are_rejected_change_nothing() {
    let mut d = Dialogue::new(config());
    d.order(0, "a1", "BUY", "99", "1");
    d.order(0, "a2", "BUY", "98", "1");
    d.amend(0, "none", "'price':'99','amount':'1'");
    d.amend(1, "a1", "'price':'99','amount':'1'");
    d.amend(0, "a1", "'new_client_id':'a2','price':'99','amount':'1'");
    d.amend(0, "a1", "'price':'99','amount':'0'");
    d.amend(0, "a1", "'price':'99.001','amount':'1'");
    d.amend(0, "a1", "'amount':'1'");
    d.amend(0, "a1", "'price':'99'");
    d.say(0, "{'type':'AMEND_ORDER','client_id':'a1','instrument_code':'BTC_EUR','price':'1','amount':'1'}");
    // The same client id is not a new one.
    d.amend(0, "a1", "'new_client_id':'a1','price':'99','amount':'0.5'");
    d.order(1, "s", "SELL", "98", "2");
    expect![[r#"
        0 a BOOKED client_id=a1 price=99 amount=1 sequence=1
        0 a BOOKED client_id=a2 price=98 amount=1 sequence=2
        0 a REJECTED client_id=none reason=unknown order: this account has no open order with this client_id
        1 b REJECTED client_id=a1 reason=unknown order: this account has no open order with this client_id
        0 a REJECTED client_id=a1 reason=duplicate client_id: an order with it is open
        0 a REJECTED client_id=a1 reason=amount is out of range: BTC_USDT takes 0.00001 to 10000000
        0 a REJECTED client_id=a1 reason=price is not a multiple of the tick 0.01 of BTC_USDT
        0 a REJECTED client_id=a1 reason=price is missing, out of range, or given for an order that has none
        0 a REJECTED client_id=a1 reason=field amount is missing
        0 a REJECTED client_id=a1 reason=instrument_code does not match the order's
        0 a AMENDED client_id=a1 price=99 amount=0.5 place_kept=true sequence=3
        0 a FILL client_id=a1 price=99 amount=0.5 remaining=0 sequence=4
        0 a DONE client_id=a1 status=FILLED sequence=5
        0 a FILL client_id=a2 price=98 amount=1 remaining=0 sequence=6
        0 a DONE client_id=a2 status=FILLED sequence=7
        1 b FILL client_id=s price=99 amount=0.5 remaining=1.5 sequence=4
        1 b FILL client_id=s price=98 amount=1 remaining=0.5 sequence=6
        1 b BOOKED client_id=s price=98 amount=2 sequence=8"#]].assert_eq(&d.told());
}

/// Amendments of a waiting stop: limit and amount, or of a market order only the amount.
#[test]
fn stops_are_amended() {
    let mut d = Dialogue::new(config());
    d.order_with(0, "limit", "BUY", "106", "1", "'stop_price':'105'");
    d.order_with(0, "market", "BUY", "-", "1", &format!("'stop_price':'105',{IOC}"));
    d.amend(0, "limit", "'price':'105','amount':'2'");
    d.amend(0, "market", "'new_client_id':'renamed','amount':'0.5'");
    d.amend(0, "renamed", "'price':'1','amount':'0.5'");
    d.order(1, "s", "SELL", "105", "0.1");
    d.order(2, "b", "BUY", "105", "0.1");
    expect![[r#"
        0 a WAITING client_id=limit stop_price=105 amount=1 sequence=1
        0 a WAITING client_id=market stop_price=105 amount=1 sequence=2
        0 a AMENDED client_id=limit price=105 amount=2 place_kept=true sequence=3
        0 a AMENDED client_id=renamed replaced_client_id=market amount=0.5 place_kept=true sequence=4
        0 a REJECTED client_id=renamed reason=price is missing, out of range, or given for an order that has none
        1 b BOOKED client_id=s price=105 amount=0.1 sequence=5
        0 a TRIGGERED client_id=limit sequence=9
        0 a BOOKED client_id=limit price=105 amount=2 sequence=10
        0 a TRIGGERED client_id=renamed sequence=11
        0 a DONE client_id=renamed status=EXPIRED sequence=12
        1 b FILL client_id=s price=105 amount=0.1 remaining=0 sequence=6
        1 b DONE client_id=s status=FILLED sequence=7
        2 c FILL client_id=b price=105 amount=0.1 remaining=0 sequence=6
        2 c DONE client_id=b status=FILLED sequence=8"#]].assert_eq(&d.told());
}

/// An amendment from another connection is reported to both.
#[test]
fn both_connections_learn_of_an_amendment() {
    let mut d = Dialogue::new(config());
    d.order(0, "a1", "BUY", "99", "1");
    d.say(3, "{'type':'AUTHENTICATE','api_token':'a'}");
    d.amend(3, "a1", "'price':'98','amount':'1'");
    expect![[r#"
        0 a BOOKED client_id=a1 price=99 amount=1 sequence=1
        3 - AUTHENTICATED
        0 a AMENDED client_id=a1 price=98 amount=1 place_kept=false sequence=2
        0 a BOOKED client_id=a1 price=98 amount=1 sequence=3
        3 a AMENDED client_id=a1 price=98 amount=1 place_kept=false sequence=2"#]]
    .assert_eq(&d.told());
}

#[test]
fn mass_cancels_by_account_instrument_and_side() {
    let mut d = Dialogue::new(config());
    let eur = "{'type':'CREATE_ORDER','order':{'instrument_code':'BTC_EUR','client_id':'eur','side':'BUY','type':'LIMIT','price':'1','amount':'1','time_in_force':'GOOD_TILL_CANCELLED'}}";
    for stream in [0, 1] {
        d.order(stream, "bid1", "BUY", "99", "1");
        d.order(stream, "bid2", "BUY", "98", "1");
        d.order(stream, "ask", "SELL", "101", "1");
        d.order_with(stream, "stop", "BUY", "106", "1", "'stop_price':'105'");
        d.say(stream, eur);
    }
    d.told();
    d.say(0, "{'type':'MASS_CANCEL','client_id':'m1','instrument_code':'BTC_USDT','side':'SELL'}");
    d.say(0, "{'type':'MASS_CANCEL','instrument_code':'BTC_EUR'}");
    d.say(0, "{'type':'MASS_CANCEL','client_id':'m3'}");
    d.say(0, "{'type':'MASS_CANCEL'}");
    d.say(0, "{'type':'MASS_CANCEL','client_id':'m5','instrument_code':'XRP_USD'}");
    d.say(0, "{'type':'MASS_CANCEL','client_id':'m6','account_id':'b'}");
    d.say(0, "{'type':'MASS_CANCEL','account_id':'b'}");
    expect![[r#"
        0 a DONE client_id=ask status=CANCELLED sequence=9
        0 a MASS_CANCELLED client_id=m1 count=1
        0 a DONE client_id=eur status=CANCELLED sequence=3
        0 a MASS_CANCELLED count=1
        0 a DONE client_id=stop status=CANCELLED sequence=10
        0 a DONE client_id=bid2 status=CANCELLED sequence=11
        0 a DONE client_id=bid1 status=CANCELLED sequence=12
        0 a MASS_CANCELLED client_id=m3 count=3
        0 a MASS_CANCELLED count=0
        0 a REJECTED client_id=m5 reason=unknown instrument; there are BTC_USDT, BTC_CHF, BTC_EUR, BTC_USDC
        0 b REJECTED client_id=m6 reason=account_id is not authenticated on this connection; send AUTHENTICATE for it first
        0 - ERROR reason=account_id is not authenticated on this connection; send AUTHENTICATE for it first"#]].assert_eq(&d.told());
    assert_eq!(d.driven.exchange.engine().open_orders(), 5);
}

#[test]
fn limits_of_stops_and_dates_have_names() {
    let mut config = config();
    config.limits.stop_levels_max = 1;
    config.limits.expiring_orders_max = 1;
    let mut d = Dialogue::new(config);
    let date = "'time_in_force':'GOOD_TILL_DATE','expire_time':9000000000000";
    d.order_with(0, "stop1", "BUY", "106", "1", "'stop_price':'105'");
    d.order_with(0, "stop2", "BUY", "106", "1", "'stop_price':'106'");
    d.order_with(0, "date1", "BUY", "1", "1", date);
    d.order_with(0, "date2", "BUY", "1", "1", date);
    expect![[r#"
        0 a WAITING client_id=stop1 stop_price=105 amount=1 sequence=1
        0 a REJECTED client_id=stop2 reason=too many stop prices on this side of the book (limit stop_levels_max)
        0 a BOOKED client_id=date1 price=1 amount=1 sequence=2
        0 a REJECTED client_id=date2 reason=too many orders with an expire_time on this exchange (limit expiring_orders_max)"#]].assert_eq(&d.told());
    let limits = d.driven.exchange.counts().limits;
    expect![[r#"{"expiring_orders_max": 1, "stop_levels_max": 1}"#]]
        .assert_eq(&format!("{limits:?}"));
}

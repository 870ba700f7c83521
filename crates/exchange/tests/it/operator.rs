//! Actions of an operator on a running exchange, and orders whose connection has closed.

use crate::dialogue::Dialogue;
use crate::driven::config;
use exchange::{Config, Instruments, Tokens};
use expect_test::expect;

fn with_operator() -> Config {
    let text = "[tokens]\na = 'a'\nb = 'b'\nc = 'c'\nd = 'd'\n[operators]\nsecret = 'desk'";
    Config { tokens: Tokens::parse("tokens.toml", text).unwrap(), ..config() }
}

/// Connection 3 is the operator's.
fn dialogue(config: Config) -> Dialogue {
    let mut d = Dialogue::new(config);
    d.say(3, "{'type':'AUTHENTICATE','api_token':'secret'}");
    assert_eq!(d.told(), "3 - AUTHENTICATED");
    d
}

fn state(state: &str) -> String {
    format!(
        "{{'type':'INSTRUMENT_STATE','client_id':'op','instrument_code':'BTC_USDT','state':'{state}'}}"
    )
}

#[test]
fn an_instrument_is_halted_closed_and_opened_again() {
    let mut d = dialogue(with_operator());
    d.order(0, "bid", "BUY", "99", "1");
    d.order(1, "ask", "SELL", "101", "1");
    d.order_with(1, "stop", "SELL", "90", "1", "'stop_price':'95'");
    d.say(3, &state("HALTED"));
    d.order(0, "new", "BUY", "99", "1");
    d.amend(0, "bid", "'price':'99','amount':'0.5'");
    d.amend(0, "bid", "'price':'98','amount':'0.5'");
    d.cancel(1, "ask");
    d.say(3, &state("OPEN"));
    d.order(0, "new", "BUY", "98", "1");
    d.say(3, &state("CLOSED"));
    d.order(0, "late", "BUY", "98", "1");
    d.cancel(0, "new");
    d.say(3, &state("OPEN"));
    d.order(0, "again", "BUY", "98", "1");
    expect![[r#"
        0 a BOOKED client_id=bid price=99 amount=1 sequence=1
        1 b BOOKED client_id=ask price=101 amount=1 sequence=2
        1 b WAITING client_id=stop stop_price=95 amount=1 sequence=3
        3 desk APPLIED client_id=op count=0
        0 a REJECTED client_id=new reason=the instrument is halted: orders can be cancelled, or amended to less at the same price
        0 a AMENDED client_id=bid price=99 amount=0.5 place_kept=true sequence=4
        0 a REJECTED client_id=bid reason=the instrument is halted: orders can be cancelled, or amended to less at the same price
        1 b DONE client_id=ask status=CANCELLED sequence=5
        3 desk APPLIED client_id=op count=0
        0 a BOOKED client_id=new price=98 amount=1 sequence=6
        0 a DONE client_id=bid status=CLOSED sequence=7
        0 a DONE client_id=new status=CLOSED sequence=8
        1 b DONE client_id=stop status=CLOSED sequence=9
        3 desk APPLIED client_id=op count=3
        0 a REJECTED client_id=late reason=the instrument is closed
        0 a REJECTED client_id=new reason=unknown order: this account has no open order with this client_id
        3 desk APPLIED client_id=op count=0
        0 a BOOKED client_id=again price=98 amount=1 sequence=10"#]].assert_eq(&d.told());
}

#[test]
fn kill_switches() {
    let mut d = dialogue(with_operator());
    d.order(0, "a", "BUY", "99", "1");
    d.order(1, "b", "BUY", "99", "1");
    d.say(3, "{'type':'KILL_SWITCH','client_id':'k1','on':true,'account_id':'a'}");
    d.order(0, "a2", "BUY", "99", "1");
    d.amend(0, "a", "'price':'98','amount':'1'");
    d.cancel(0, "a");
    d.order(1, "b2", "SELL", "99", "0.5");
    d.say(3, "{'type':'KILL_SWITCH','on':true}");
    d.order(1, "b3", "BUY", "99", "1");
    d.say(1, "{'type':'MASS_CANCEL'}");
    d.say(3, "{'type':'KILL_SWITCH','on':false}");
    d.order(0, "a3", "BUY", "99", "1");
    d.order(1, "b4", "BUY", "99", "1");
    d.say(3, "{'type':'KILL_SWITCH','on':false,'account_id':'a'}");
    d.order(0, "a4", "BUY", "99", "1");
    // For an account before it logs in, and for one that can't log in.
    d.say(3, "{'type':'KILL_SWITCH','on':true,'account_id':'d'}");
    d.say(3, "{'type':'KILL_SWITCH','on':true,'account_id':''}");
    expect![[r#"
        0 a BOOKED client_id=a price=99 amount=1 sequence=1
        1 b BOOKED client_id=b price=99 amount=1 sequence=2
        0 a DONE client_id=a status=CANCELLED sequence=3
        3 desk APPLIED client_id=k1 count=1
        0 a REJECTED client_id=a2 reason=the kill switch is on: new orders and amendments are rejected
        0 a REJECTED client_id=a reason=unknown order: this account has no open order with this client_id
        0 a REJECTED client_id=a reason=unknown order: this account has no open order with this client_id
        1 b FILL client_id=b2 price=99 amount=0.5 remaining=0 sequence=4
        1 b FILL client_id=b price=99 amount=0.5 remaining=0.5 sequence=4
        1 b DONE client_id=b2 status=FILLED sequence=5
        1 b DONE client_id=b status=CANCELLED sequence=6
        3 desk APPLIED count=1
        1 b REJECTED client_id=b3 reason=the kill switch is on: new orders and amendments are rejected
        1 b MASS_CANCELLED count=0
        3 desk APPLIED count=0
        0 a REJECTED client_id=a3 reason=the kill switch is on: new orders and amendments are rejected
        1 b BOOKED client_id=b4 price=99 amount=1 sequence=7
        3 desk APPLIED count=0
        0 a BOOKED client_id=a4 price=99 amount=1 sequence=8
        3 desk APPLIED count=0
        3 - ERROR reason=unknown account_id: no account with this id has authenticated on this exchange"#]].assert_eq(&d.told());
    let counts = d.driven.exchange.counts();
    assert_eq!((counts.operations, counts.rejected["kill_switch"]), (5, 3));
}

#[test]
fn an_operator_cancels_for_one_or_for_all() {
    let mut d = dialogue(with_operator());
    for (stream, id) in [(0, "a1"), (0, "a2"), (1, "b1"), (2, "c1")] {
        d.order(stream, id, "BUY", "99", "1");
    }
    d.told();
    d.say(3, "{'type':'MASS_CANCEL','client_id':'m1','account_id':'a','side':'SELL'}");
    d.say(3, "{'type':'MASS_CANCEL','client_id':'m2','account_id':'a'}");
    d.say(3, "{'type':'MASS_CANCEL'}");
    d.say(3, "{'type':'MASS_CANCEL','account_id':'nobody'}");
    expect![[r#"
        3 desk MASS_CANCELLED client_id=m1 count=0
        0 a DONE client_id=a2 status=CANCELLED sequence=5
        0 a DONE client_id=a1 status=CANCELLED sequence=6
        3 desk MASS_CANCELLED client_id=m2 count=2
        1 b DONE client_id=b1 status=CANCELLED sequence=7
        2 c DONE client_id=c1 status=CANCELLED sequence=8
        3 desk MASS_CANCELLED count=2
        3 - ERROR reason=unknown account_id: no account with this id has authenticated on this exchange"#]]
    .assert_eq(&d.told());
}

#[test]
fn who_is_no_operator_is_told_so_and_an_operator_does_not_trade() {
    let mut d = dialogue(with_operator());
    d.say(0, &state("HALTED"));
    d.say(0, "{'type':'KILL_SWITCH','on':true}");
    d.say(0, "{'type':'AUTHENTICATE','api_token':'secret'}");
    d.say(3, "{'type':'AUTHENTICATE','api_token':'a'}");
    d.order(3, "o", "BUY", "99", "1");
    d.say(3, "{'type':'INSTRUMENT_STATE','instrument_code':'XRP_USD','state':'OPEN'}");
    d.say(
        3,
        "{'type':'INSTRUMENT_STATE','client_id':'x','instrument_code':'BTC_USDT','state':'x'}",
    );
    expect![[r#"
        0 a REJECTED client_id=op reason=only an operator may do this; authenticate with an operator's token, on a connection of its own
        0 - ERROR reason=only an operator may do this; authenticate with an operator's token, on a connection of its own
        0 - ERROR reason=an operator's connection has no accounts; open another connection
        3 - ERROR reason=an operator's connection has no accounts; open another connection
        3 desk REJECTED client_id=o reason=account_id is not authenticated on this connection; send AUTHENTICATE for it first
        3 - ERROR reason=unknown instrument; there are BTC_USDT, BTC_CHF, BTC_EUR, BTC_USDC
        3 desk REJECTED client_id=x reason=field state is none of OPEN, HALTED, CLOSED"#]].assert_eq(&d.told());
    assert!(d.driven.is_open(0) && d.driven.is_open(3));
}

const FLAGGED: &str = "{'type':'AUTHENTICATE','api_token':'a','cancel_on_disconnect':true}";

/// Orders are cancelled with the last connection that asked for it; the others get the reports.
#[test]
fn orders_are_cancelled_on_disconnect() {
    let mut d = Dialogue::new(config());
    d.say(0, FLAGGED);
    d.say(3, FLAGGED);
    d.say(1, "{'type':'AUTHENTICATE','api_token':'a'}");
    d.say(1, "{'type':'SUBSCRIBE','channels':[{'name':'ORDERS'}]}");
    d.order(0, "o1", "BUY", "99", "1");
    d.order(3, "o2", "BUY", "98", "1");
    d.order(1, "b", "BUY", "97", "1");
    d.told();
    d.driven.disconnect(0);
    d.note();
    assert_eq!(d.told(), "");
    d.driven.disconnect(3);
    d.note();
    expect![[r#"
        1 a DONE client_id=o2 status=CANCELLED sequence=4
        1 a DONE client_id=o1 status=CANCELLED sequence=5"#]]
    .assert_eq(&d.told());
    assert_eq!(d.driven.exchange.engine().open_orders(), 1);
    assert_eq!(d.driven.exchange.counts().cancels_on_disconnect, 1);
}

/// The exchange closes the connection because of its client's fault.
#[test]
fn orders_are_cancelled_when_the_exchange_ends_the_connection() {
    let mut d = Dialogue::new(config());
    d.say(0, FLAGGED);
    d.order(0, "o1", "BUY", "99", "1");
    d.driven.feed(0, &[0x82, 0x80, 1, 2, 3, 4]);
    assert!(!d.driven.is_open(0));
    assert_eq!(d.driven.exchange.engine().open_orders(), 0);
    d.driven.disconnect(0);
    assert_eq!(d.driven.exchange.counts().cancels_on_disconnect, 1);
    d.told();
}

/// Over real sockets: a connection breaks, and the account's other one gets the reports at once.
#[test]
fn a_connection_that_breaks_cancels_and_the_others_are_told() {
    for backend in ["block", "spin"] {
        let running = crate::running::Running::start_on(backend, crate::running::config());
        let mut stays = running.login("a");
        stays.subscribe();
        let mut breaks = running.connect();
        breaks.ask(&FLAGGED.replace('\'', "\""));
        breaks.ask(&crate::running::order("o", "BUY", "1", "1"));
        drop(breaks);
        let done = stays.read();
        assert!(done.contains("CANCELLED") && done.contains(r#""client_id":"o""#), "{done}");
        let (exchange, _) = running.stop();
        assert_eq!(exchange.counts().cancels_on_disconnect, 1);
        assert_eq!(exchange.engine().open_orders(), 0);
        assert_eq!(exchange.replay_check().equal, Some(true));
    }
}

/// Bands and states come from the file; opening an instrument keeps its band.
#[test]
fn instruments_start_as_their_file_says() {
    let text = "
        [[instrument]]
        code = 'BTC_USDT'
        tick = '0.01'
        lot = '0.00001'
        band_low = '90'
        band_high = '110'
        reference_price = '100'
        state = 'halted'";
    let instruments = Instruments::parse("instruments.toml", text).unwrap();
    let mut d = dialogue(Config { instruments, ..with_operator() });
    d.order(0, "halted", "BUY", "100", "1");
    d.say(3, &state("OPEN"));
    d.order(0, "low", "BUY", "89.99", "1");
    d.order(0, "high", "SELL", "110.01", "1");
    d.order(0, "in", "BUY", "90", "1");
    d.amend(0, "in", "'price':'89','amount':'1'");
    // The reference price is above it already.
    d.order_with(0, "stop", "BUY", "95", "1", "'stop_price':'99'");
    expect![[r#"
        0 a REJECTED client_id=halted reason=the instrument is halted: orders can be cancelled, or amended to less at the same price
        3 desk APPLIED client_id=op count=0
        0 a REJECTED client_id=low reason=price is outside the band of the instrument
        0 a REJECTED client_id=high reason=price is outside the band of the instrument
        0 a BOOKED client_id=in price=90 amount=1 sequence=1
        0 a REJECTED client_id=in reason=price is outside the band of the instrument
        0 a TRIGGERED client_id=stop sequence=2
        0 a BOOKED client_id=stop price=95 amount=1 sequence=3"#]].assert_eq(&d.told());
}

//! Sessions of SBE: logon, numbers, lost connections, takeover, limits, time-outs.

use crate::driven::sbe::{SbeClient, id, limit};
use crate::driven::{Driven, config};
use exchange::{Config, Limits, Tokens};
use expect_test::expect;
use wire::request::Side;
use wire::sbe::client::*;

const A: u32 = 0;
const B: u32 = 1;
const AGAIN: u32 = 2;

fn with_limits(change: impl FnOnce(&mut Limits)) -> Config {
    let mut config = config();
    change(&mut config.limits);
    config
}

/// Reports of what happens while the connection is lost come with the next one: each once.
#[test]
fn a_client_gets_what_it_missed() {
    let mut d = Driven::new(config());
    let (mut a, mut b) = (SbeClient::new(&mut d, A, "a"), SbeClient::new(&mut d, B, "b"));
    assert_eq!(a.order(&mut d, "a1", Side::Buy, "100", "3"), ["1 BOOKED a1 100 3"]);
    // This one arrives nowhere: the exchange sent it, and the client did not read it.
    a.order(&mut d, "a2", Side::Buy, "99", "1");
    a.seen = 1;
    d.disconnect(A);
    b.order(&mut d, "b1", Side::Sell, "100", "1");
    b.order(&mut d, "b2", Side::Sell, "100", "2");
    a.stream = AGAIN;
    let told = a.log_on(&mut d, false);
    expect![[r#"
        ACCEPTED received=2 next=2 lost=0
        2 BOOKED a2 99 1
        3 FILL a1 100 1 remaining=2
        4 FILL a1 100 2 remaining=0
        5 DONE a1 FILLED"#]]
    .assert_eq(&told.join("\n"));
    // The session goes on with its numbers.
    assert_eq!(a.cancel(&mut d, "a2"), ["6 DONE a2 CANCELLED"]);
    d.disconnect(AGAIN);
    a.stream = A;
    assert_eq!(a.log_on(&mut d, false), ["ACCEPTED received=3 next=7 lost=0"]);
}

/// Beyond the bound the oldest reports go, and the client is told how many.
#[test]
fn reports_past_the_bound_are_counted_as_lost() {
    let mut d = Driven::new(with_limits(|limits| limits.sbe_session_bytes_max = 4096));
    let (mut a, mut b) = (SbeClient::new(&mut d, A, "a"), SbeClient::new(&mut d, B, "b"));
    a.order(&mut d, "a1", Side::Buy, "100", "100");
    d.disconnect(A);
    for n in 0..100 {
        b.order(&mut d, &format!("b{n}"), Side::Sell, "100", "1");
    }
    a.stream = AGAIN;
    let told = a.log_on(&mut d, false);
    // A fill has 147 bytes, so 27 and the end of the order fit: 102 reports without them and the
    // first, which the client has.
    assert_eq!(told[0], "ACCEPTED received=1 next=75 lost=73");
    assert_eq!(told.len(), 1 + 28);
    assert_eq!(told[1], "75 FILL a1 100 1 remaining=26");
    assert_eq!(told.last().unwrap(), "102 DONE a1 FILLED");
}

#[test]
fn a_newer_connection_takes_the_session_over() {
    let mut d = Driven::new(config());
    let mut a = SbeClient::new(&mut d, A, "a");
    let mut older = SbeClient::stranger(A, "a");
    a.order(&mut d, "a1", Side::Buy, "100", "1");
    a.stream = AGAIN;
    assert_eq!(a.log_on(&mut d, true), ["ACCEPTED received=1 next=2 lost=0"]);
    assert_eq!(older.told(&mut d), ["TERMINATE a newer connection continues this session"]);
    assert!(!d.is_open(A));
    // The loop now reports the older one as closed; that must not touch the session.
    d.disconnect(A);
    assert_eq!(a.order(&mut d, "a2", Side::Buy, "99", "1"), ["2 BOOKED a2 99 1"]);
    // Neither a number of another's session nor one that never was leads to a session.
    for (account, session) in [("b", a.session), ("a", 7)] {
        let mut other = SbeClient { session, ..SbeClient::stranger(B, account) };
        assert_eq!(other.log_on(&mut d, false), ["ACCEPTED received=0 next=1 lost=0"]);
        assert_ne!(other.session, session);
        d.disconnect(B);
    }
    assert_eq!(a.cancel(&mut d, "a1"), ["3 DONE a1 CANCELLED"]);
}

#[test]
fn a_wrong_first_message_ends_the_connection() {
    let mut d = Driven::new(Config {
        tokens: Tokens::parse("t", "[tokens]\na = 'a'\n[operators]\nsecret = 'desk'").unwrap(),
        ..config()
    });
    let a = SbeClient::new(&mut d, A, "a");
    let mut said = Vec::new();
    let mut ask = |d: &mut Driven, bytes: &[u8]| {
        let mut client = SbeClient::stranger(B, "a");
        d.open(B);
        d.feed(B, bytes);
        said.extend(client.told(d));
        assert!(!d.is_open(B));
        d.disconnect(B);
    };
    let logon = |session, last_sequence, token| {
        let mut bytes = Vec::new();
        let cancel_on_disconnect = false;
        encode_logon(&mut bytes, &Logon { session, last_sequence, cancel_on_disconnect, token });
        bytes
    };
    let mut order = Vec::new();
    encode_new_order(&mut order, 1, 0, &limit("x", Side::Buy, "1", "1"));
    ask(&mut d, &order);
    ask(&mut d, &logon(0, 0, "wrong"));
    ask(&mut d, &logon(0, 0, "secret"));
    ask(&mut d, &logon(a.session, 1, "a"));
    let mut http = logon(0, 0, "a");
    http[4..6].copy_from_slice(b"GE");
    ask(&mut d, &http);
    expect![[r#"
        TERMINATE the first message must be a Logon
        TERMINATE unknown api_token
        TERMINATE this is an operator's token: operators speak JSON
        TERMINATE last_sequence is a number that this session has not reached
        TERMINATE a frame's encoding type is 0x4745: send 0xeb50 (SBE 1.0, little endian)"#]]
    .assert_eq(&said.join("\n"));
    assert_eq!(d.exchange.counts().logins_failed, 1);
    assert_eq!(d.exchange.counts().rejected["sbe_terminated"], 5);
}

/// A session without a connection makes room for a new one, an account's own first.
#[test]
fn sessions_are_bounded() {
    let mut d = Driven::new(with_limits(|limits| {
        limits.sbe_sessions_max = 3;
        limits.sbe_sessions_per_account_max = 2;
    }));
    let first = SbeClient::new(&mut d, 0, "a");
    let mut second = SbeClient::new(&mut d, 1, "a");
    let mut third = SbeClient::stranger(2, "a");
    let full = "TERMINATE too many sessions are connected (limit sbe_sessions_per_account_max); close some";
    assert_eq!(third.log_on(&mut d, false), [full]);
    let b = SbeClient::new(&mut d, 3, "b");
    let mut c = SbeClient::stranger(4, "c");
    let full = "TERMINATE too many sessions are connected (limit sbe_sessions_max); close some";
    assert_eq!(c.log_on(&mut d, false), [full]);
    // The first without a connection goes; the second's numbers are as before.
    second.order(&mut d, "s1", Side::Buy, "1", "1");
    d.disconnect(0);
    d.disconnect(1);
    d.disconnect(2);
    assert_eq!(third.log_on(&mut d, false), ["ACCEPTED received=0 next=1 lost=0"]);
    let mut again = SbeClient { stream: 0, ..first };
    let before = again.session;
    second.stream = 1;
    assert_eq!(second.log_on(&mut d, false), ["ACCEPTED received=1 next=2 lost=0"]);
    let full = "TERMINATE too many sessions are connected (limit sbe_sessions_per_account_max); close some";
    assert_eq!(again.log_on(&mut d, false), [full]);
    assert_eq!(again.session, before);
    // b has lost its connection, so c may have its place.
    d.disconnect(b.stream);
    d.disconnect(c.stream);
    assert_eq!(c.log_on(&mut d, false), ["ACCEPTED received=0 next=1 lost=0"]);
    let limits = d.exchange.counts().limits;
    assert_eq!((limits["sbe_sessions_per_account_max"], limits["sbe_sessions_max"]), (2, 1));
}

#[test]
fn silence_ends_a_connection_and_heartbeats_prevent_it() {
    let mut d = Driven::new(with_limits(|limits| limits.sbe_silence_seconds_max = 20.0));
    let mut a = SbeClient::new(&mut d, A, "a");
    d.sweep_at(0);
    d.sweep_at(9);
    assert!(a.told(&mut d).is_empty());
    d.sweep_at(10);
    assert_eq!(a.told(&mut d), ["HEARTBEAT"]);
    d.sweep_at(19);
    d.sweep_at(20);
    assert_eq!(a.told(&mut d), ["HEARTBEAT"]);
    d.sweep_at(21);
    let late = "TERMINATE no message came, not even a heartbeat (limit sbe_silence_seconds_max)";
    assert_eq!(a.told(&mut d), [late]);
    assert!(!d.is_open(A));
    // Half a frame may not take for ever.
    let mut late = SbeClient::stranger(B, "b");
    d.open(B);
    d.feed(B, &[0, 0, 0]);
    d.sweep_at(9);
    assert!(d.is_open(B));
    d.sweep_at(11);
    let reason = "half a message, and the rest did not come (limit message_seconds_max)";
    assert_eq!(late.told(&mut d), [format!("TERMINATE {reason}")]);
}

#[test]
fn orders_are_cancelled_on_disconnect_if_the_session_asked_for_it() {
    let mut d = Driven::new(config());
    let mut a = SbeClient::stranger(A, "a");
    a.log_on(&mut d, true);
    a.order(&mut d, "a1", Side::Buy, "100", "1");
    d.disconnect(A);
    assert_eq!(d.exchange.counts().cancels_on_disconnect, 1);
    assert_eq!(d.exchange.counts().done["CANCELLED"], 1);
    // The client learns of it, and this time it does not ask for it.
    assert_eq!(
        a.log_on(&mut d, false),
        ["ACCEPTED received=1 next=2 lost=0", "2 DONE a1 CANCELLED"]
    );
    a.order(&mut d, "a2", Side::Buy, "100", "1");
    d.disconnect(A);
    a.log_on(&mut d, false);
    assert_eq!(a.say(&mut d, |out, n| encode_status_request(out, n, &id("a2"))), ["4 STATUS a2 1"]);
    assert_eq!(d.exchange.counts().cancels_on_disconnect, 1);
}

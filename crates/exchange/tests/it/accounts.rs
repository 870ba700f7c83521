//! Accounts on connections: permissions, reports, and the limits of both.

use crate::driven::{Driven, config};
use expect_test::expect;

fn login(account: &str) -> String {
    format!(r#"{{"type":"AUTHENTICATE","api_token":"{account}"}}"#)
}

const SUBSCRIBE: &str = r#"{"type":"SUBSCRIBE","channels":[{"name":"ORDERS"}]}"#;

fn order(client_id: &str, more: &str) -> String {
    order_of("BTC_USDT", client_id, "BUY", "1", "1", more)
}

fn order_of(
    instrument: &str,
    client_id: &str,
    side: &str,
    price: &str,
    amount: &str,
    more: &str,
) -> String {
    format!(
        r#"{{"type":"CREATE_ORDER"{more},"order":{{"instrument_code":"{instrument}","client_id":"{client_id}","side":"{side}","type":"LIMIT","price":"{price}","amount":"{amount}","time_in_force":"GOOD_TILL_CANCELLED"}}}}"#
    )
}

fn cancel_of(instrument: &str, client_id: &str, more: &str) -> String {
    format!(
        r#"{{"type":"CANCEL_ORDER","client_id":"{client_id}","instrument_code":"{instrument}"{more}}}"#
    )
}

/// Type, account, client id, status and reason of each reply, one a line.
fn brief(texts: &[String]) -> String {
    let line = |text: &String| {
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        let fields = ["type", "uid", "client_id", "status", "reason"];
        let found: Vec<&str> = fields.iter().filter_map(|name| value[name].as_str()).collect();
        found.join(" ")
    };
    texts.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Connections 0 to `connections`, on each of which the account of that number is authenticated.
fn logged_in(config: ::exchange::Config, connections: u32) -> Driven {
    let mut driven = Driven::new(config);
    for stream in 0..connections {
        driven.connect(stream);
        assert_eq!(brief(&driven.ask(stream, &login(&stream.to_string()))), "AUTHENTICATED");
    }
    driven
}

#[test]
fn an_order_is_rejected_with_a_reason() {
    let mut driven = logged_in(config(), 1);
    let mut asked = Vec::new();
    let mut ask = |text: &str| asked.extend(driven.ask(0, text));
    ask(&order_of("XRP_USD", "i", "BUY", "1", "1", ""));
    ask(&order_of("BTC_USDT", "p", "BUY", "0", "1", ""));
    ask(&order_of("BTC_USDT", "p", "BUY", "-5", "1", ""));
    ask(&order_of("BTC_USDT", "p", "BUY", "99999999999", "1", ""));
    ask(&order_of("BTC_USDT", "p", "BUY", "0.015", "1", ""));
    ask(&order_of("BTC_USDT", "p", "BUY", "1e3", "1", ""));
    ask(&order_of("BTC_USDT", "a", "BUY", "1", "0", ""));
    ask(&order_of("BTC_USDT", "a", "BUY", "1", "-1", ""));
    ask(&order_of("BTC_USDT", "a", "BUY", "1", "10000001", ""));
    ask(&order_of("BTC_USDT", "a", "BUY", "1", "0.000001", ""));
    ask(&order_of("BTC_USDT", "a", "BUY", "1", "1234567890123456789", ""));
    ask(&order("", ""));
    ask(&order(&"x".repeat(64), ""));
    ask(&order("same", ""));
    ask(&order("same", ""));
    ask(&order("other", r#","account_id":"3001""#));
    ask(&cancel_of("BTC_USDT", "unknown", ""));
    ask(&cancel_of("BTC_EUR", "same", ""));
    ask(&cancel_of("XRP_USD", "same", ""));
    ask(&cancel_of("BTC_USDT", "same", ""));
    ask(&cancel_of("BTC_USDT", "same", ""));
    expect![[r#"
        REJECTED 0 i unknown instrument; there are BTC_USDT, BTC_CHF, BTC_EUR, BTC_USDC
        REJECTED 0 p price is out of range: BTC_USDT takes 0.01 to 10000000000
        REJECTED 0 p price is out of range: BTC_USDT takes 0.01 to 10000000000
        REJECTED 0 p price is out of range: BTC_USDT takes 0.01 to 10000000000
        REJECTED 0 p price is not a multiple of the tick 0.01 of BTC_USDT
        REJECTED 0 p field order.price: not a decimal number: write digits with at most one point between them, such as 0.25
        REJECTED 0 a amount is out of range: BTC_USDT takes 0.00001 to 10000000
        REJECTED 0 a amount is out of range: BTC_USDT takes 0.00001 to 10000000
        REJECTED 0 a amount is out of range: BTC_USDT takes 0.00001 to 10000000
        REJECTED 0 a amount is not a multiple of the lot 0.00001 of BTC_USDT
        REJECTED 0 a field order.amount: more than 18 digits (limit decimal_digits_max)
        ERROR client_id is empty
        ERROR client_id is longer than 63 bytes (limit client_id_bytes_max)
        BOOKED 0 same
        REJECTED 0 same duplicate client_id: an order with it is open
        REJECTED 3001 other account_id is not authenticated on this connection; send AUTHENTICATE for it first
        REJECTED 0 unknown unknown order: this account has no open order with this client_id
        REJECTED 0 same instrument_code does not match the order's
        REJECTED 0 same unknown instrument; there are BTC_USDT, BTC_CHF, BTC_EUR, BTC_USDC
        DONE 0 same CANCELLED
        REJECTED 0 same unknown order: this account has no open order with this client_id"#]].assert_eq(&brief(&asked));
    let counts = driven.exchange.counts();
    expect![[r#"
        {
          "connections": 1,
          "authenticated": 1,
          "logins_failed": 0,
          "messages": 22,
          "orders": 12,
          "cancels": 5,
          "amends": 0,
          "mass_cancels": 0,
          "cancels_on_disconnect": 0,
          "operations": 0,
          "booked": 1,
          "amended": 0,
          "waiting": 0,
          "triggered": 0,
          "replenished": 0,
          "decremented": 0,
          "trades": 0,
          "done": {
            "CANCELLED": 1
          },
          "rejected": {
            "bad_amount": 3,
            "bad_price": 3,
            "duplicate_client_id": 1,
            "lot": 1,
            "not_authenticated": 1,
            "other_instrument": 1,
            "tick": 1,
            "unknown_instrument": 2,
            "unknown_order": 2,
            "unreadable": 2
          },
          "errors": 2,
          "limits": {
            "client_id_bytes_max": 1,
            "decimal_digits_max": 1
          },
          "reports_to_nobody": 0
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&counts).unwrap());
}

/// Client ids are separate for each account, and free again when their order has ended.
#[test]
fn a_client_id_is_free_again() {
    let mut driven = logged_in(config(), 2);
    let buy = order_of("BTC_USDT", "id", "BUY", "5", "1", "");
    let sell = order_of("BTC_EUR", "id", "SELL", "5", "1", "");
    for _ in 0..3 {
        assert_eq!(brief(&driven.ask(0, &buy)), "BOOKED 0 id");
        assert_eq!(brief(&driven.ask(1, &sell)), "BOOKED 1 id");
        let cancelled = driven.ask(1, &cancel_of("BTC_EUR", "id", ""));
        assert_eq!(brief(&cancelled), "DONE 1 id CANCELLED");
        let sell = order_of("BTC_USDT", "id", "SELL", "5", "1", "");
        assert_eq!(brief(&driven.ask(1, &sell)), "FILL 1 id\nDONE 1 id FILLED");
        assert_eq!(brief(&driven.texts(0)), "FILL 0 id\nDONE 0 id FILLED");
    }
}

/// A message without `account_id` means the first account of the connection.
#[test]
fn several_accounts_share_a_connection() {
    let mut driven = logged_in(config(), 1);
    assert_eq!(driven.ask(0, SUBSCRIBE).len(), 1);
    driven.ask(0, &login("second"));
    driven.ask(0, &login("second"));
    let second = r#","account_id":"second""#;
    let mut asked = Vec::new();
    for text in [
        order("a", ""),
        order("a", second),
        order("b", r#","account_id":"0""#),
        cancel_of("BTC_USDT", "a", second),
        cancel_of("BTC_USDT", "a", second),
        cancel_of("BTC_USDT", "a", ""),
    ] {
        asked.extend(driven.ask(0, &text));
    }
    expect![[r#"
        BOOKED 0 a
        BOOKED second a
        BOOKED 0 b
        DONE second a CANCELLED
        REJECTED second a unknown order: this account has no open order with this client_id
        DONE 0 a CANCELLED"#]]
    .assert_eq(&brief(&asked));
    let subscriptions = driven.ask(0, SUBSCRIBE).concat();
    assert!(subscriptions.contains(r#"{"account_id":"0","name":"ORDERS"}"#), "{subscriptions}");
    assert!(subscriptions.contains(r#"{"account_id":"second","name":"ORDERS"}"#));
}

/// Reports go to the order's connection while it is open, then to a subscribed one, then nowhere.
#[test]
fn reports_find_their_connection() {
    let mut driven = Driven::new(config());
    (0..4).for_each(|stream| driven.connect(stream));
    for stream in 0..3 {
        driven.ask(stream, &login("owner"));
    }
    driven.ask(3, &login("other"));
    driven.ask(2, SUBSCRIBE);
    driven.ask(0, &order_of("BTC_USDT", "o", "BUY", "5", "1", ""));
    let fill = |driven: &mut Driven, name: &str| {
        driven.ask(3, &order_of("BTC_USDT", name, "SELL", "5", "0.1", ""));
        (0..3).map(|stream| brief(&driven.texts(stream))).collect::<Vec<_>>()
    };
    assert_eq!(fill(&mut driven, "1"), ["FILL owner o", "", ""]);
    driven.disconnect(0);
    assert_eq!(fill(&mut driven, "2"), ["", "", "FILL owner o"]);
    // A reused stream is a new connection.
    driven.connect(0);
    driven.ask(0, &login("owner"));
    assert_eq!(fill(&mut driven, "3"), ["", "", "FILL owner o"]);
    driven.disconnect(2);
    assert_eq!(fill(&mut driven, "4"), ["", "", ""]);
    assert_eq!(driven.exchange.counts().reports_to_nobody, 1);
    // The connection that cancels gets the acknowledgement.
    assert_eq!(brief(&driven.ask(1, &cancel_of("BTC_USDT", "o", ""))), "DONE owner o CANCELLED");
    assert_eq!(driven.exchange.counts().reports_to_nobody, 1);
}

/// A cancel from another connection is acknowledged there and reported to the order's own
/// connection.
#[test]
fn a_cancel_from_another_connection_is_told_to_both() {
    let mut driven = logged_in(config(), 1);
    driven.connect(1);
    driven.ask(1, &login("0"));
    driven.ask(0, &order("o", ""));
    assert_eq!(brief(&driven.ask(1, &cancel_of("BTC_USDT", "o", ""))), "DONE 0 o CANCELLED");
    assert_eq!(brief(&driven.texts(0)), "DONE 0 o CANCELLED");
}

#[test]
fn an_order_of_another_account_is_unknown() {
    let mut driven = logged_in(config(), 2);
    driven.ask(0, &order("o", ""));
    let reply = brief(&driven.ask(1, &cancel_of("BTC_USDT", "o", "")));
    assert!(reply.starts_with("REJECTED 1 o unknown order"), "{reply}");
}

/// A new connection on a reused stream has no strikes.
#[test]
fn messages_before_authentication_are_counted_by_connection() {
    let mut driven = Driven::new(config());
    for _ in 0..3 {
        driven.connect(0);
        for _ in 0..9 {
            assert!(brief(&driven.ask(0, SUBSCRIBE)).starts_with("ERROR not authenticated"));
        }
        assert!(driven.is_open(0));
        driven.disconnect(0);
    }
}

#[test]
fn accounts_have_limits() {
    let mut config = config();
    config.limits.accounts_max = 3;
    config.limits.accounts_per_connection_max = 2;
    let mut driven = logged_in(config, 1);
    driven.connect(1);
    let mut asked = Vec::new();
    for (stream, token) in [(0, "a"), (0, "b"), (1, "b"), (1, "c"), (1, "a"), (1, "")] {
        asked.extend(driven.ask(stream, &login(token)));
    }
    asked.extend(driven.ask(1, &login(&"x".repeat(65))));
    expect![[r#"
        AUTHENTICATED
        ERROR too many accounts on this connection (limit accounts_per_connection_max)
        AUTHENTICATED
        ERROR too many accounts on this exchange (limit accounts_max)
        AUTHENTICATED
        ERROR the api_token is empty or longer than an account id (limit account_id_bytes_max)
        ERROR the api_token is empty or longer than an account id (limit account_id_bytes_max)"#]]
    .assert_eq(&brief(&asked));
    let limits = driven.exchange.counts().limits;
    expect![[
        r#"{"account_id_bytes_max": 2, "accounts_max": 1, "accounts_per_connection_max": 1}"#
    ]]
    .assert_eq(&format!("{limits:?}"));
    // Earlier sessions still work.
    assert_eq!(brief(&driven.ask(0, &order("o", r#","account_id":"a""#))), "BOOKED a o");
}

#[test]
fn orders_have_limits() {
    let mut config = config();
    config.limits.open_orders_max = 3;
    config.limits.price_levels_max = 2;
    let risk = "[default]\nopen_orders_max = 2";
    config.risk = ::exchange::Risk::parse("risk", risk, &config.instruments).unwrap();
    let mut driven = logged_in(config, 3);
    let mut asked = Vec::new();
    for (stream, id, price) in
        [(0, "a", "1"), (0, "b", "2"), (0, "c", "1"), (1, "d", "3"), (1, "e", "1"), (1, "f", "1")]
    {
        asked.extend(driven.ask(stream, &order_of("BTC_USDT", id, "BUY", price, "1", "")));
    }
    // An order that trades needs no room in the book.
    asked.extend(driven.ask(2, &order_of("BTC_USDT", "g", "SELL", "1", "0.5", "")));
    expect![[r#"
        BOOKED 0 a
        BOOKED 0 b
        REJECTED 0 c too many orders of this account are open (risk limit open_orders_max)
        REJECTED 1 d too many prices on this side of the book (limit price_levels_max)
        BOOKED 1 e
        REJECTED 1 f too many orders rest on this exchange (limit open_orders_max)
        FILL 2 g
        DONE 2 g FILLED"#]]
    .assert_eq(&brief(&asked));
    let limits = driven.exchange.counts().limits;
    expect![[r#"{"open_orders_max": 1, "price_levels_max": 1, "risk_open_orders_max": 1}"#]]
        .assert_eq(&format!("{limits:?}"));
    // The client id of a rejected order is free.
    driven.ask(0, &cancel_of("BTC_USDT", "a", ""));
    assert_eq!(brief(&driven.ask(1, &order("f", ""))), "BOOKED 1 f");
    assert_eq!(driven.exchange.replay_check().equal, Some(true));
}

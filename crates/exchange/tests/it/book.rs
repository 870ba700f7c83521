//! Dialogues that show the book's behaviour to its clients.

use crate::running::{Client, Running, cancel, config, immediate, order};
use expect_test::expect;

#[test]
fn the_incumbents_dialogue() {
    for backend in ["block", "spin"] {
        let running = Running::start_on(backend, config());
        let mut client = running.connect();
        let dialogue = [
            client.ask(r#"{"type":"AUTHENTICATE","api_token":"3001"}"#),
            client.subscribe(),
            client.ask(&order("a1b6", "BUY", "1", "1")),
            client.ask(&cancel("a1b6")),
        ]
        .join("\n");
        expect![[r#"
            {"type":"AUTHENTICATED"}
            {"channels":[{"account_id":"3001","name":"ORDERS"}],"time":0,"type":"SUBSCRIPTIONS"}
            {"amount":"1","channel_name":"TRADING","client_id":"a1b6","instrument_code":"BTC_USDT","order_book_sequence":1,"order_id":"00000000-0000-8000-8000-000000000001","price":"1","side":"BUY","time":0,"type":"BOOKED","uid":"3001"}
            {"channel_name":"TRADING","client_id":"a1b6","instrument_code":"BTC_USDT","order_book_sequence":2,"order_id":"00000000-0000-8000-8000-000000000001","status":"CANCELLED","time":0,"type":"DONE","uid":"3001"}"#]].assert_eq(&dialogue);
        let (exchange, _) = running.stop();
        assert_eq!(exchange.replay_check().equal, Some(true));
        assert_eq!(exchange.engine().open_orders(), 0);
    }
}

/// One order against three at two prices: best price first, then by time, a FILL to either side at
/// the resting price, and part of the last order is left.
#[test]
fn price_time_priority_and_partial_fills_on_both_sides() {
    let running = Running::start(config());
    let mut one = running.login("one");
    let mut two = running.login("two");
    let mut aggressor = running.login("three");
    one.ask(&order("worse", "SELL", "101", "1"));
    one.ask(&order("first", "SELL", "100", "0.5"));
    two.ask(&order("second", "SELL", "100", "0.5"));
    aggressor.send(&order("buy", "BUY", "101.5", "1.5"));
    let seen = |client: &mut Client, n: usize| {
        let lines: Vec<String> = (0..n).map(|_| brief(&client.read())).collect();
        lines.join("\n")
    };
    let dialogue = [seen(&mut aggressor, 4), seen(&mut one, 3), seen(&mut two, 2)].join("\n--\n");
    expect![[r#"
        FILL client_id=buy side=BUY price=100 amount=0.5 remaining=1 trade_id=1 order_book_sequence=4 uid=three
        FILL client_id=buy side=BUY price=100 amount=0.5 remaining=0.5 trade_id=2 order_book_sequence=6 uid=three
        FILL client_id=buy side=BUY price=101 amount=0.5 remaining=0 trade_id=3 order_book_sequence=8 uid=three
        DONE client_id=buy status=FILLED order_book_sequence=9 uid=three
        --
        FILL client_id=first side=SELL price=100 amount=0.5 remaining=0 trade_id=1 order_book_sequence=4 uid=one
        DONE client_id=first status=FILLED order_book_sequence=5 uid=one
        FILL client_id=worse side=SELL price=101 amount=0.5 remaining=0.5 trade_id=3 order_book_sequence=8 uid=one
        --
        FILL client_id=second side=SELL price=100 amount=0.5 remaining=0 trade_id=2 order_book_sequence=6 uid=two
        DONE client_id=second status=FILLED order_book_sequence=7 uid=two"#]].assert_eq(&dialogue);
    let (exchange, _) = running.stop();
    let depth: Vec<_> = exchange.engine().levels(0, engine::Side::Sell).collect();
    assert_eq!(depth, [(10_100, 50_000, 1)]);
    assert_eq!(exchange.counts().trades, 3);
}

/// A crossing order with a remainder rests: FILL, then BOOKED, whose `amount` is the whole.
#[test]
fn what_does_not_trade_rests() {
    let running = Running::start(config());
    let mut one = running.login("one");
    let mut two = running.login("two");
    one.ask(&order("s", "SELL", "100", "0.25"));
    two.send(&order("b", "BUY", "100", "1"));
    let dialogue = [brief(&two.read()), brief(&two.read())].join("\n");
    expect![[r#"
        FILL client_id=b side=BUY price=100 amount=0.25 remaining=0.75 trade_id=1 order_book_sequence=2 uid=two
        BOOKED client_id=b side=BUY price=100 amount=1 order_book_sequence=4 uid=two"#]].assert_eq(&dialogue);
    // The next order trades with the remainder at its price.
    one.send(&order("s2", "SELL", "99", "0.75"));
    one.read();
    one.read();
    let fills = [brief(&one.read()), brief(&one.read()), brief(&two.read()), brief(&two.read())];
    expect![[r#"
        FILL client_id=s2 side=SELL price=100 amount=0.75 remaining=0 trade_id=2 order_book_sequence=5 uid=one
        DONE client_id=s2 status=FILLED order_book_sequence=7 uid=one
        FILL client_id=b side=BUY price=100 amount=0.75 remaining=0 trade_id=2 order_book_sequence=5 uid=two
        DONE client_id=b status=FILLED order_book_sequence=6 uid=two"#]].assert_eq(&fills.join("\n"));
    assert_eq!(running.stop().0.engine().open_orders(), 0);
}

#[test]
fn an_immediate_order_trades_or_expires() {
    let running = Running::start(config());
    let mut one = running.login("one");
    let mut two = running.login("two");
    one.ask(&order("s", "SELL", "100", "0.25"));
    two.send(&immediate("part", "BUY", "100", "1"));
    two.send(&immediate("none", "BUY", "100", "1"));
    let mut dialogue: Vec<String> = (0..3).map(|_| brief(&two.read())).collect();
    // The FILL and DONE of its order, then the reply to its request.
    one.send(&order("s2", "SELL", "100", "1"));
    (0..3).for_each(|_| drop(one.read()));
    two.send(&immediate("all", "BUY", "100", "1"));
    dialogue.extend((0..2).map(|_| brief(&two.read())));
    expect![[r#"
        FILL client_id=part side=BUY price=100 amount=0.25 remaining=0.75 trade_id=1 order_book_sequence=2 uid=two
        DONE client_id=part status=EXPIRED order_book_sequence=4 uid=two
        DONE client_id=none status=EXPIRED order_book_sequence=5 uid=two
        FILL client_id=all side=BUY price=100 amount=1 remaining=0 trade_id=2 order_book_sequence=7 uid=two
        DONE client_id=all status=FILLED order_book_sequence=9 uid=two"#]].assert_eq(&dialogue.join("\n"));
    assert_eq!(running.stop().0.engine().open_orders(), 0);
}

/// A report without the fields that all reports share.
fn brief(text: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(text).unwrap();
    let field = |name: &str| match &value[name] {
        serde_json::Value::Null => String::new(),
        serde_json::Value::String(text) => format!(" {name}={text}"),
        other => format!(" {name}={other}"),
    };
    let names = [
        "client_id",
        "side",
        "price",
        "amount",
        "remaining",
        "status",
        "trade_id",
        "order_book_sequence",
        "uid",
        "reason",
    ];
    let kind = value["type"].as_str().unwrap();
    format!("{kind}{}", names.iter().map(|name| field(name)).collect::<String>())
}

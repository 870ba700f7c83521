//! Requests and replies: golden bytes, round trips, and invalid messages.

use proptest::prelude::*;
use std::borrow::Cow;
use wire::client_id::ClientIdError;
use wire::decimal::DecimalError;
use wire::reply::*;
use wire::request::*;
use wire::{ClientId, Decimal, MessageFault, OrderId};

macro_rules! vector {
    ($name:literal) => {
        include_bytes!(concat!("../../../../clients/vectors/", $name)).as_slice()
    };
}

const ID: &str = "6f1c2a9e-0d4b-4c3f-9a57-1b2c3d4e5f60";
const TIME_MS: i64 = 1_700_000_000_123;

fn id() -> ClientId {
    ClientId::new(ID).unwrap()
}

fn decimal(text: &str) -> Decimal {
    Decimal::parse(text).unwrap()
}

fn order() -> CreateOrder<'static> {
    CreateOrder::limit("BTC_USDT", id(), Side::Buy, decimal("1"), decimal("1"))
}

fn same_request(bytes: &[u8], request: &Request<'_>) {
    assert_eq!(decode_request(bytes).as_ref(), Ok(request));
    let mut out = Vec::new();
    crate::properties::encode_request(&mut out, request);
    assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(bytes));
}

#[test]
fn requests_have_their_golden_bytes() {
    for (bytes, cancel_on_disconnect) in [
        (vector!("authenticate.json"), None),
        (vector!("authenticate_cancel_on_disconnect.json"), Some(true)),
    ] {
        let api_token = "3001".into();
        let (stamps, is_absent) = (None, false);
        let login = Request::Authenticate { api_token, cancel_on_disconnect, stamps, is_absent };
        same_request(bytes, &login);
    }
    let channels = vec![Channel::named("ORDERS")];
    same_request(vector!("subscribe.json"), &Request::Subscribe { channels });
    same_request(vector!("create_order.json"), &Request::CreateOrder(order()));
    let order = CreateOrder {
        instrument_code: "BTC_EUR".into(),
        side: Side::Sell,
        price: Some(decimal("64250.5")),
        amount: decimal("0.025"),
        time_in_force: TimeInForce::ImmediateOrCancelled,
        account_id: Some("3002".into()),
        ..order()
    };
    same_request(vector!("create_order_ioc_account.json"), &Request::CreateOrder(order));
    let (instrument_code, account_id) = ("BTC_USDT".into(), None);
    let cancel = CancelOrder { client_id: id(), instrument_code, account_id };
    same_request(vector!("cancel_order.json"), &Request::CancelOrder(cancel));
    let (instrument_code, account_id) = ("BTC_EUR".into(), Some("3002".into()));
    let cancel = CancelOrder { client_id: id(), instrument_code, account_id };
    same_request(vector!("cancel_order_account.json"), &Request::CancelOrder(cancel));
    // The incumbent's sizes.
    assert_eq!(vector!("create_order.json").len(), 204);
    assert_eq!(vector!("cancel_order.json").len(), 103);
}

fn same_reply(bytes: &[u8], reply: &Reply<'_>) {
    assert_eq!(decode_reply(bytes).as_ref(), Ok(reply));
    let mut out = Vec::new();
    crate::properties::encode_reply(&mut out, reply);
    assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(bytes));
}

#[test]
fn replies_have_their_golden_bytes() {
    let (order_id, uid) = (OrderId::from_u64(42), Cow::from("3001"));
    same_reply(vector!("authenticated.json"), &Reply::Authenticated);
    let channels = vec![Subscription::Account { account_id: "3001".into(), name: "ORDERS".into() }];
    let subscriptions = Subscriptions { channels, time_ms: TIME_MS };
    same_reply(vector!("subscriptions.json"), &Reply::Subscriptions(subscriptions));
    let booked = OrderBooked {
        client_id: id(),
        instrument_code: "BTC_USDT".into(),
        side: Side::Buy,
        price: decimal("1"),
        amount: decimal("1"),
        order_id,
        order_book_sequence: 7,
        time_ms: TIME_MS,
        uid: uid.clone(),
    };
    same_reply(vector!("booked.json"), &Reply::Booked(booked));
    let fill = Fill {
        client_id: id(),
        instrument_code: "BTC_EUR".into(),
        side: Side::Sell,
        price: decimal("64250.5"),
        amount: decimal("0.025"),
        remaining: decimal("0.975"),
        order_id,
        trade_id: 3,
        order_book_sequence: 8,
        time_ms: TIME_MS,
        uid: "3002".into(),
    };
    same_reply(vector!("fill.json"), &Reply::Fill(fill));
    for (bytes, status) in [
        (vector!("done_cancelled.json"), DoneStatus::Cancelled),
        (vector!("done_filled.json"), DoneStatus::Filled),
        (vector!("done_expired.json"), DoneStatus::Expired),
        (vector!("done_self_trade_prevented.json"), DoneStatus::SelfTradePrevented),
        (vector!("done_closed.json"), DoneStatus::Closed),
        (vector!("done_no_room.json"), DoneStatus::NoRoom),
    ] {
        let done = OrderDone {
            client_id: id(),
            instrument_code: "BTC_USDT".into(),
            status,
            order_id,
            order_book_sequence: 9,
            time_ms: TIME_MS,
            uid: uid.clone(),
        };
        same_reply(bytes, &Reply::Done(done));
    }
    let reason = "unknown instrument \"BTC_XXX\"".into();
    let rejected = RequestRejected { client_id: id(), reason, time_ms: TIME_MS, uid };
    same_reply(vector!("rejected.json"), &Reply::Rejected(rejected));
    let reason = "malformed JSON at byte 17".into();
    same_reply(vector!("error.json"), &Reply::Error { reason });
}

/// `text` with `'` for `"`, so that JSON is readable here.
fn json(text: &str) -> Vec<u8> {
    text.replace('\'', "\"").into_bytes()
}

fn request_fault(text: &str) -> (MessageFault, bool) {
    let error = decode_request(&json(text)).expect_err("a bad request");
    (error.fault, error.client_id == Some(ClientId::new("c1").unwrap()))
}

#[test]
fn keys_come_in_any_order_and_unknown_ones_are_ignored() {
    let text = json(
        " {\n 'z': [1, {'type': 'x'}], 'order' : { 'time_in_force':'GOOD_TILL_CANCELLED', 'amount':'1.0','price':'1',
        'extra':null,'type':'LIMIT','side':'BUY','client_id':'6f1c2a9e-0d4b-4c3f-9a57-1b2c3d4e5f60',
        'instrument_code':'BTC_USDT'}, 'account_id': null, 'order_id': -1e9, '\\u0074ype':'CREATE\\u005fORDER' }\t",
    );
    assert_eq!(decode_request(&text), Ok(Request::CreateOrder(order())));
    let text = json("{'uid':'1','time':1,'type':'SETTLED','order_id':7}");
    assert_eq!(decode_reply(&text), Ok(Reply::Other { kind: "SETTLED".into() }));
    // An immediate order by its alternative name.
    let text = String::from_utf8_lossy(vector!("create_order.json"))
        .replace("GOOD_TILL_CANCELLED", "IMMEDIATE_OR_CANCEL");
    let time_in_force = TimeInForce::ImmediateOrCancelled;
    let order = CreateOrder { time_in_force, ..order() };
    assert_eq!(decode_request(text.as_bytes()), Ok(Request::CreateOrder(order)));
}

#[test]
fn escapes_are_read_and_written() {
    let text = json(
        "{'type':'CANCEL_ORDER','client_id':'a\\\\b\\u00fc\\'','instrument_code':'x\\/\\ud83d\\ude00'}",
    );
    let Ok(Request::CancelOrder(cancel)) = decode_request(&text) else { panic!() };
    assert_eq!((cancel.client_id.as_str(), &*cancel.instrument_code), ("a\\bü\"", "x/😀"));
    let mut out = Vec::new();
    encode_error(&mut out, "\0 \u{1f} \n \" \\ ü");
    assert_eq!(
        out,
        "{\"type\":\"ERROR\",\"reason\":\"\\u0000 \\u001f \\n \\\" \\\\ ü\"}".as_bytes()
    );
}

#[test]
fn a_bad_request_says_what_is_bad_and_whose_it_is() {
    use MessageFault::*;
    let missing = |field| Missing { field };
    assert_eq!(request_fault("{'type':"), (Malformed { at_byte: 8 }, false));
    assert_eq!(request_fault(""), (Malformed { at_byte: 0 }, false));
    assert_eq!(request_fault("{} x"), (Malformed { at_byte: 3 }, false));
    assert!(matches!(request_fault(&"[".repeat(60_000)).0, Malformed { .. }));
    assert_eq!(request_fault("{}"), (missing("type"), false));
    for no_object in ["null", "['CREATE_ORDER']", "'x'", "1", "true"] {
        let fault = request_fault(no_object).0;
        assert!(matches!(fault, Missing { .. } | WrongKind { field: "message", .. }), "{fault:?}");
    }
    assert_eq!(
        request_fault("{'type':1,'client_id':'c1'}"),
        (WrongKind { field: "type", expected: "a string" }, true)
    );
    assert_eq!(request_fault("{'type':'X','client_id':'c1'}"), (UnknownType, true));
    assert_eq!(request_fault("{'type':'X','type':'X'}").0, Duplicate { at_byte: 19 });
    assert_eq!(request_fault("{'type':'AUTHENTICATE'}").0, missing("api_token"));
    assert_eq!(
        request_fault("{'type':'SUBSCRIBE','channels':{}}").0,
        WrongKind { field: "channels", expected: "an array" }
    );
    assert_eq!(
        request_fault("{'type':'SUBSCRIBE','channels':[{'name':1}]}").0,
        WrongKind { field: "channels[].name", expected: "a string" }
    );
    assert_eq!(request_fault("{'type':'CREATE_ORDER','client_id':'c1'}"), (missing("order"), true));
    assert_eq!(
        request_fault("{'type':'CREATE_ORDER','order':[]}").0,
        WrongKind { field: "order", expected: "an object" }
    );
    assert_eq!(request_fault("{'type':'CREATE_ORDER','order':{}}").0, missing("order.client_id"));
    assert_eq!(
        request_fault("{'type':'CANCEL_ORDER','instrument_code':'BTC_USDT'}").0,
        missing("client_id")
    );
    assert_eq!(
        request_fault("{'type':'CANCEL_ORDER','client_id':'c1'}"),
        (missing("instrument_code"), true)
    );
    assert_eq!(
        request_fault("{'type':'CANCEL_ORDER','client_id':''}").0,
        BadClientId(ClientIdError::Empty)
    );
    let bytes = b"{\"type\":\"\xff\"}";
    assert_eq!(decode_request(bytes).unwrap_err().fault, NotUtf8 { at_byte: 9 });
}

#[test]
fn a_bad_order_names_its_field_and_keeps_its_client_id() {
    use MessageFault::*;
    let good = String::from_utf8_lossy(vector!("create_order.json")).replace(ID, "c1");
    let fault = |from: &str, to: &str| {
        let text = good.replace(&from.replace('\'', "\""), &to.replace('\'', "\""));
        assert_ne!(text, good);
        let (fault, with_client_id) = request_fault(&text);
        assert!(with_client_id, "{fault}");
        fault
    };
    let unknown = |field, allowed| UnknownValue { field, allowed };
    assert_eq!(fault("'BUY'", "'buy'"), unknown("order.side", "BUY, SELL"));
    assert_eq!(fault("LIMIT", "STOP"), unknown("order.type", "LIMIT, MARKET"));
    assert_eq!(
        fault("GOOD_TILL_CANCELLED", "DAY"),
        unknown(
            "order.time_in_force",
            "GOOD_TILL_CANCELLED, IMMEDIATE_OR_CANCELLED, FILL_OR_KILL, GOOD_TILL_DATE"
        )
    );
    let (field, why) = ("order.price", DecimalError::NotANumber);
    assert_eq!(fault("'price':'1'", "'price':'1e3'"), BadDecimal { field, why });
    assert_eq!(fault("'price':'1'", "'price':1"), WrongKind { field, expected: "a string" });
    assert_eq!(fault("'price':'1',", ""), Missing { field });
    let (field, why) = ("order.amount", DecimalError::TooManyDigits);
    assert_eq!(fault("'amount':'1'", "'amount':'1234567890123456789'"), BadDecimal { field, why });
    assert_eq!(fault("'amount':'1'", "'amount':true"), WrongKind { field, expected: "a string" });
    let (field, limit) = ("order.instrument_code", "instrument_code_bytes_max");
    assert_eq!(fault("BTC_USDT", &"X".repeat(33)), Limit { field, limit, max: 32 });
    assert_eq!(
        fault("}}", "},'account_id':5}"),
        WrongKind { field: "account_id", expected: "a string" }
    );
    let (field, limit) = ("account_id", "account_id_bytes_max");
    let long = format!("}},'account_id':'{}'}}", "9".repeat(65));
    assert_eq!(fault("}}", &long), Limit { field, limit, max: 64 });
}

#[test]
fn limits_have_names() {
    use MessageFault::Limit;
    let token = format!("{{'type':'AUTHENTICATE','api_token':'{}'}}", "t".repeat(257));
    let (field, limit) = ("api_token", "api_token_bytes_max");
    assert_eq!(request_fault(&token).0, Limit { field, limit, max: 256 });
    let channels = vec!["{'name':'ORDERS'}"; 17].join(",");
    let subscribe = format!("{{'type':'SUBSCRIBE','channels':[{channels}]}}");
    let (field, limit) = ("channels", "channels_max");
    assert_eq!(request_fault(&subscribe).0, Limit { field, limit, max: 16 });
    let cancel = format!("{{'type':'CANCEL_ORDER','client_id':'{}'}}", "c".repeat(64));
    let fault = request_fault(&cancel).0;
    assert_eq!(fault, MessageFault::BadClientId(ClientIdError::TooLong));
    assert!(fault.to_string().contains("client_id_bytes_max"));
}

#[test]
fn the_incumbents_replies_are_read() {
    // With a random UUID and a sequence of 19 digits, these have the incumbent's sizes.
    let done = String::from_utf8_lossy(vector!("done_cancelled.json"))
        .replace("00000000-0000-8000-8000-00000000002a", "0b9f57a2-5ad2-4d6e-8d2f-0c1e2d3f4a5b")
        .replace(":9,", ":9007199254740993123,");
    assert_eq!(done.len(), 267);
    let Ok(Reply::Done(done)) = decode_reply(done.as_bytes()) else { panic!() };
    assert_eq!(
        (done.order_book_sequence, done.order_id.to_u64()),
        (9_007_199_254_740_993_123, None)
    );
    let fault = |text: &str| decode_reply(&json(text)).expect_err("a bad reply").0;
    assert_eq!(fault("{'type':'ERROR'}"), MessageFault::Missing { field: "reason" });
    let late = "{'type':'SUBSCRIPTIONS','channels':[],'time':1.5}";
    let (field, expected) = ("time", "an integer of 64 bits");
    assert_eq!(fault(late), MessageFault::WrongKind { field, expected });
    assert!(matches!(fault("{"), MessageFault::Malformed { .. }));
}

fn any_id() -> impl Strategy<Value = ClientId> {
    "\\PC{1,15}".prop_map(|text| ClientId::new(&text).unwrap_or_else(|_| id()))
}

fn any_text() -> impl Strategy<Value = Cow<'static, str>> {
    any::<String>().prop_map(|text| text.chars().take(7).collect::<String>().into())
}

fn any_decimal() -> impl Strategy<Value = Decimal> {
    (-1_000_000_000_000i64..1_000_000_000_000, 0u8..=18)
        .prop_map(|(mantissa, scale)| Decimal::new(mantissa, scale).unwrap())
}

prop_compose! {
    fn any_order()(
        client_id in any_id(),
        instrument_code in any_text(),
        side in prop::sample::select(vec![Side::Buy, Side::Sell]),
        (price, amount) in (prop::option::of(any_decimal()), any_decimal()),
        (stop_price, display_amount) in (prop::option::of(any_decimal()), prop::option::of(any_decimal())),
        (time_in_force, expire_time_ms) in (0..4u8, any::<i64>()),
        post_only in prop::sample::select(vec![None, Some(PostOnly::Reject), Some(PostOnly::Reprice)]),
        delivery in prop::option::of((0..1u64 << 63, 0..1u64 << 63)),
        account_id in prop::option::of(any_text()),
    ) -> CreateOrder<'static> {
        let time_in_force = match time_in_force {
            0 => TimeInForce::GoodTillCancelled,
            1 => TimeInForce::ImmediateOrCancelled,
            2 => TimeInForce::FillOrKill,
            _ => TimeInForce::GoodTillDate { expire_time_ms },
        };
        let delivery = delivery.map(|(tick, response_ns)| DeliveryClock { tick, response_ns });
        CreateOrder {
            instrument_code, client_id, side, price, amount, time_in_force, stop_price, display_amount, post_only, delivery, account_id,
        }
    }
}

proptest! {
    #[test]
    fn any_request_survives(
        order in any_order(),
        new_client_id in prop::option::of(any_id()),
        side in prop::sample::select(vec![None, Some(Side::Buy), Some(Side::Sell)]),
        (on, some) in any::<(bool, bool)>(),
        state in prop::sample::select(vec![InstrumentState::Open, InstrumentState::Halted, InstrumentState::Closed]),
    ) {
        let CreateOrder { client_id, instrument_code: code, account_id, price, amount, delivery, .. } = order.clone();
        let requests = [
            Request::CreateOrder(order),
            Request::CancelOrder(CancelOrder { client_id, instrument_code: code.clone(), account_id: account_id.clone() }),
            Request::OrderStatus(OrderStatus { client_id, account_id: account_id.clone(), takes: some }),
            Request::AmendOrder(AmendOrder {
                client_id, new_client_id, instrument_code: code.clone(), price, amount, delivery, account_id: account_id.clone(),
            }),
            Request::MassCancel(MassCancel {
                client_id: new_client_id, instrument_code: some.then(|| code.clone()), side, account_id: account_id.clone(),
            }),
            Request::InstrumentState(SetInstrumentState { client_id: new_client_id, instrument_code: code.clone(), state }),
            Request::KillSwitch(KillSwitch { client_id: new_client_id, account_id, on }),
            Request::Authenticate { api_token: code, cancel_on_disconnect: some.then_some(on), stamps: on.then_some(some), is_absent: some },
        ];
        for request in requests {
            let mut out = Vec::new();
            crate::properties::encode_request(&mut out, &request);
            prop_assert!(serde_json::from_slice::<serde_json::Value>(&out).is_ok());
            prop_assert_eq!(decode_request(&out), Ok(request));
        }
    }

    #[test]
    fn any_reply_survives(
        order in any_order(),
        remaining in any_decimal(),
        (order_id, trade_id, order_book_sequence, time_ms) in any::<(u128, i64, i64, i64)>(),
        uid in any_text(),
        reason in any_text(),
        status in prop::sample::select(DoneStatus::ALL.to_vec()),
        replaced_client_id in prop::option::of(any_id()),
        (place_kept, named) in any::<(bool, bool)>(),
    ) {
        let CreateOrder { client_id, instrument_code, side, price: optional_price, amount, .. } = order;
        let price = optional_price.unwrap_or(amount);
        let order_id = OrderId(order_id);
        let channels = vec![Subscription::Account { account_id: uid.clone(), name: reason.clone() }; 2];
        let (code, id) = (&instrument_code, &uid);
        let replies = [
            Reply::Booked(OrderBooked { client_id, instrument_code: code.clone(), side, price, amount, order_id, order_book_sequence, time_ms, uid: id.clone() }),
            Reply::Fill(Fill { client_id, instrument_code: code.clone(), side, price, amount, remaining, order_id, trade_id, order_book_sequence, time_ms, uid: id.clone() }),
            Reply::Done(OrderDone { client_id, instrument_code: code.clone(), status, order_id, order_book_sequence, time_ms, uid: id.clone() }),
            Reply::Rejected(RequestRejected { client_id, reason: reason.clone(), time_ms, uid: id.clone() }),
            Reply::Open(OrderOpen { client_id, order_id, time_ms, uid: id.clone() }),
            Reply::Ended(OrderEnded { client_id, status, order_id, time_ms, uid: id.clone() }),
            Reply::Amended(OrderAmended { client_id, replaced_client_id, instrument_code: code.clone(), side, price: optional_price, amount, place_kept, order_id, order_book_sequence, time_ms, uid: id.clone() }),
            Reply::Waiting(StopWaiting { client_id, instrument_code: code.clone(), side, stop_price: price, amount, order_id, order_book_sequence, time_ms, uid: id.clone() }),
            Reply::Triggered(StopTriggered { client_id, instrument_code: code.clone(), order_id, order_book_sequence, time_ms, uid: id.clone() }),
            Reply::Decremented(TradePrevented { client_id, instrument_code: code.clone(), side, price, amount, remaining, order_id, order_book_sequence, time_ms, uid: id.clone() }),
            Reply::MassCancelled(RequestApplied { client_id: named.then_some(client_id), count: trade_id, time_ms, uid: id.clone() }),
            Reply::Applied(RequestApplied { client_id: named.then_some(client_id), count: trade_id, time_ms, uid: id.clone() }),
            Reply::Error { reason: reason.clone() },
            Reply::Subscriptions(Subscriptions { channels, time_ms }),
        ];
        for reply in replies {
            let mut out = Vec::new();
            crate::properties::encode_reply(&mut out, &reply);
            prop_assert!(serde_json::from_slice::<serde_json::Value>(&out).is_ok());
            prop_assert_eq!(decode_reply(&out), Ok(reply));
        }
    }
}

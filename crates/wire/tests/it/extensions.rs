//! Our extensions of the wire: golden bytes, and rejected messages.

use wire::reply::*;
use wire::request::*;
use wire::{ClientId, Decimal, MessageFault, OrderId};

macro_rules! vector {
    ($name:literal) => {
        include_bytes!(concat!("../../../../clients/vectors/", $name)).as_slice()
    };
}

const TIME_MS: i64 = 1_700_000_000_123;

fn id() -> ClientId {
    ClientId::new("6f1c2a9e-0d4b-4c3f-9a57-1b2c3d4e5f60").unwrap()
}

fn new_id() -> ClientId {
    ClientId::new("0b9f57a2-5ad2-4d6e-8d2f-0c1e2d3f4a5b").unwrap()
}

fn decimal(text: &str) -> Decimal {
    Decimal::parse(text).unwrap()
}

fn same_request(bytes: &[u8], request: Request<'_>) {
    assert_eq!(decode_request(bytes).as_ref(), Ok(&request));
    let mut out = Vec::new();
    crate::properties::encode_request(&mut out, &request);
    assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(bytes));
}

fn same_reply(bytes: &[u8], reply: Reply<'_>) {
    assert_eq!(decode_reply(bytes).as_ref(), Ok(&reply));
    let mut out = Vec::new();
    crate::properties::encode_reply(&mut out, &reply);
    assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(bytes));
}

#[test]
fn orders_have_their_golden_bytes() {
    let order = |price| CreateOrder::limit("BTC_USDT", id(), Side::Buy, price, decimal("1"));
    let market = CreateOrder {
        side: Side::Sell,
        price: None,
        time_in_force: TimeInForce::FillOrKill,
        ..order(decimal("1"))
    };
    same_request(vector!("create_order_market.json"), Request::CreateOrder(market));
    let iceberg = CreateOrder {
        time_in_force: TimeInForce::GoodTillDate { expire_time_ms: 1_700_000_060_000 },
        display_amount: Some(decimal("0.25")),
        post_only: Some(PostOnly::Reprice),
        account_id: Some("3002".into()),
        ..order(decimal("64250.5"))
    };
    same_request(vector!("create_order_iceberg.json"), Request::CreateOrder(iceberg));
    let stop = CreateOrder { stop_price: Some(decimal("64250.5")), ..order(decimal("64300")) };
    same_request(vector!("create_order_stop.json"), Request::CreateOrder(stop));
    let delivery = Some(DeliveryClock { tick: 8725, response_ns: 12_345 });
    let answer = CreateOrder { delivery, ..order(decimal("64300")) };
    same_request(vector!("create_order_delivery.json"), Request::CreateOrder(answer));
}

#[test]
fn amendments_and_mass_cancels_have_their_golden_bytes() {
    let amend = AmendOrder {
        client_id: id(),
        new_client_id: None,
        instrument_code: "BTC_USDT".into(),
        price: Some(decimal("2")),
        amount: decimal("0.5"),
        delivery: None,
        account_id: None,
    };
    same_request(vector!("amend_order.json"), Request::AmendOrder(amend.clone()));
    let delivery = Some(DeliveryClock { tick: 8725, response_ns: 12_345 });
    let answer = AmendOrder { delivery, ..amend.clone() };
    same_request(vector!("amend_order_delivery.json"), Request::AmendOrder(answer));
    let renamed = AmendOrder {
        new_client_id: Some(new_id()),
        instrument_code: "BTC_EUR".into(),
        price: None,
        account_id: Some("3002".into()),
        ..amend
    };
    same_request(vector!("amend_order_renamed.json"), Request::AmendOrder(renamed));
    let asked = OrderStatus { client_id: id(), account_id: Some("3002".into()), takes: false };
    same_request(vector!("order_status.json"), Request::OrderStatus(asked));
    same_request(vector!("mass_cancel.json"), Request::MassCancel(MassCancel::default()));
    let some = MassCancel {
        client_id: Some(id()),
        instrument_code: Some("BTC_EUR".into()),
        side: Some(Side::Sell),
        account_id: Some("3002".into()),
    };
    same_request(vector!("mass_cancel_some.json"), Request::MassCancel(some));
}

#[test]
fn an_operators_messages_have_their_golden_bytes() {
    let (client_id, instrument_code) = (None, "BTC_USDT".into());
    let set = SetInstrumentState { client_id, instrument_code, state: InstrumentState::Halted };
    same_request(vector!("instrument_state.json"), Request::InstrumentState(set));
    let all = KillSwitch { client_id: None, account_id: None, on: true };
    same_request(vector!("kill_switch.json"), Request::KillSwitch(all));
    let one = KillSwitch { client_id: Some(id()), account_id: Some("3002".into()), on: false };
    same_request(vector!("kill_switch_account.json"), Request::KillSwitch(one));
    let count = 0;
    let applied =
        RequestApplied { client_id: None, count, time_ms: TIME_MS, uid: "operator".into() };
    same_reply(vector!("applied.json"), Reply::Applied(applied));
}

#[test]
fn replies_have_their_golden_bytes() {
    let order_id = OrderId::from_u64(42);
    let open = OrderOpen { client_id: id(), order_id, time_ms: TIME_MS, uid: "3001".into() };
    same_reply(vector!("open.json"), Reply::Open(open));
    let (status, uid) = (DoneStatus::Filled, "3001".into());
    let ended = OrderEnded { client_id: id(), status, order_id, time_ms: TIME_MS, uid };
    same_reply(vector!("ended.json"), Reply::Ended(ended));
    let amended = OrderAmended {
        client_id: id(),
        replaced_client_id: None,
        instrument_code: "BTC_USDT".into(),
        side: Side::Buy,
        price: Some(decimal("2")),
        amount: decimal("0.5"),
        place_kept: false,
        order_id,
        order_book_sequence: 10,
        time_ms: TIME_MS,
        uid: "3001".into(),
    };
    same_reply(vector!("amended.json"), Reply::Amended(amended.clone()));
    let renamed = OrderAmended {
        client_id: new_id(),
        replaced_client_id: Some(id()),
        instrument_code: "BTC_EUR".into(),
        side: Side::Sell,
        price: None,
        place_kept: true,
        order_book_sequence: 11,
        uid: "3002".into(),
        ..amended
    };
    same_reply(vector!("amended_renamed.json"), Reply::Amended(renamed));
    let waiting = StopWaiting {
        client_id: id(),
        instrument_code: "BTC_USDT".into(),
        side: Side::Buy,
        stop_price: decimal("64250.5"),
        amount: decimal("1"),
        order_id,
        order_book_sequence: 12,
        time_ms: TIME_MS,
        uid: "3001".into(),
    };
    same_reply(vector!("waiting.json"), Reply::Waiting(waiting));
    let triggered = StopTriggered {
        client_id: id(),
        instrument_code: "BTC_USDT".into(),
        order_id,
        order_book_sequence: 13,
        time_ms: TIME_MS,
        uid: "3001".into(),
    };
    same_reply(vector!("triggered.json"), Reply::Triggered(triggered));
    let decremented = TradePrevented {
        client_id: id(),
        instrument_code: "BTC_EUR".into(),
        side: Side::Sell,
        price: decimal("64250.5"),
        amount: decimal("0.025"),
        remaining: decimal("0.975"),
        order_id,
        order_book_sequence: 14,
        time_ms: TIME_MS,
        uid: "3002".into(),
    };
    same_reply(vector!("decremented.json"), Reply::Decremented(decremented));
    let client_id = Some(id());
    let cancelled = RequestApplied { client_id, count: 3, time_ms: TIME_MS, uid: "3002".into() };
    same_reply(vector!("mass_cancelled.json"), Reply::MassCancelled(cancelled));
}

/// The fault of `good` after replacing `from` by `to`; `'` stands for `"`.
fn fault(good: &[u8], from: &str, to: &str) -> MessageFault {
    let good = String::from_utf8_lossy(good);
    let text = good.replacen(&from.replace('\'', "\""), &to.replace('\'', "\""), 1);
    assert_ne!(text, good);
    decode_request(text.as_bytes()).expect_err("a bad request").fault
}

#[test]
fn a_bad_order_names_its_field() {
    use MessageFault::{Missing, NotWith, UnknownValue, WrongKind};
    let fault = |from, to| fault(vector!("create_order.json"), from, to);
    let (field, with) = ("order.price", "order.type MARKET");
    assert_eq!(fault("LIMIT", "MARKET"), NotWith { field, with });
    let field = "order.expire_time";
    assert_eq!(fault("TILL_CANCELLED", "TILL_DATE"), Missing { field });
    let with = "an order.time_in_force other than GOOD_TILL_DATE";
    assert_eq!(fault("'}", "','expire_time':5}"), NotWith { field, with });
    let expected = "an integer of 64 bits";
    let to = "TILL_DATE','expire_time':'5'";
    assert_eq!(fault("TILL_CANCELLED'", to), WrongKind { field, expected });
    let (field, expected) = ("order.stop_price", "a string");
    assert_eq!(fault("'}", "','stop_price':5}"), WrongKind { field, expected });
    let field = "order.post_only";
    assert_eq!(fault("'}", "','post_only':true}"), WrongKind { field, expected });
    let allowed = "REJECT, REPRICE";
    assert_eq!(fault("'}", "','post_only':'YES'}"), UnknownValue { field, allowed });
    let bad = fault("'}", "','display_amount':'x'}");
    assert!(matches!(bad, MessageFault::BadDecimal { field: "order.display_amount", .. }));
}

/// `null` counts as absent for our extensions, too.
#[test]
fn null_is_absence() {
    let text = String::from_utf8_lossy(vector!("create_order.json")).replace(
        "\"}}",
        "\",\"expire_time\":null,\"stop_price\":null,\"display_amount\":null,\"post_only\":null}}",
    );
    assert_eq!(decode_request(text.as_bytes()), decode_request(vector!("create_order.json")));
    let text = br#"{"type":"MASS_CANCEL","client_id":null,"side":null,"instrument_code":null,"account_id":null}"#;
    assert_eq!(decode_request(text), Ok(Request::MassCancel(MassCancel::default())));
    let text = br#"{"type":"AUTHENTICATE","api_token":"3001","cancel_on_disconnect":null}"#;
    assert_eq!(decode_request(text), decode_request(vector!("authenticate.json")));
}

#[test]
fn other_bad_requests_name_their_field() {
    use MessageFault::{Missing, UnknownValue, WrongKind};
    let (field, expected) = ("cancel_on_disconnect", "true or false");
    for wrong in ["1", "'true'", "[]", "{}"] {
        let bad = fault(vector!("authenticate_cancel_on_disconnect.json"), "true", wrong);
        assert_eq!(bad, WrongKind { field, expected }, "{wrong}");
    }
    let bad = fault(vector!("authenticate_cancel_on_disconnect.json"), "true", "tru");
    assert!(matches!(bad, MessageFault::Malformed { .. }));
    let field = "amount";
    let bad = fault(vector!("amend_order.json"), ",'amount':'0.5'", "");
    assert_eq!(bad, Missing { field });
    let bad = fault(vector!("amend_order_renamed.json"), "0b9f57a2", &"x".repeat(40));
    assert!(bad.to_string().contains("client_id_bytes_max"), "{bad}");
    let (field, allowed) = ("side", "BUY, SELL");
    let bad = fault(vector!("mass_cancel_some.json"), "SELL", "sell");
    assert_eq!(bad, UnknownValue { field, allowed });
    let (field, allowed) = ("state", "OPEN, HALTED, CLOSED");
    let bad = fault(vector!("instrument_state.json"), "HALTED", "PAUSED");
    assert_eq!(bad, UnknownValue { field, allowed });
    let bad = fault(vector!("kill_switch.json"), ",'on':true", "");
    assert_eq!(bad, Missing { field: "on" });
}

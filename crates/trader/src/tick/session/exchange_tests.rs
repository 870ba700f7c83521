//! The exchange decodes what the session encodes, and the other way round.

use super::*;
use crate::session::codec::{ExecutionReport, OrderEvent, Reply};
use engine::Side;
use wire::administration::FlowEnded;
use wire::reader;
use wire::reply::DoneStatus;
use wire::request::{Request, decode_request};

fn decimal(text: &str) -> Decimal {
    Decimal::parse(text).unwrap()
}

fn session() -> ExchangeSession {
    let mut session = ExchangeSession::new("127.0.0.1:1", "BTC_USDT");
    session.count_in(decimal("0.01"), decimal("0.00001"));
    session
}

/// The text of the message, as the exchange gets it.
fn text_of(session: &mut ExchangeSession, intent: &OrderIntent) -> Vec<u8> {
    let mut out = Vec::new();
    session.encode(intent, 0xabc, &mut out);
    let limits = wire::reader::FrameLimits { message_bytes_max: 1 << 16 };
    let mut reader = reader::MessageReader::new(reader::Role::Server, limits);
    reader.space()[..out.len()].copy_from_slice(&out);
    reader.filled(out.len(), 0);
    let received = reader.next().unwrap().unwrap();
    let reader::Message::Text(text) = received.message else { panic!("{received:?}") };
    text.to_vec()
}

/// As the exchange reads it.
fn encoded(intent: &OrderIntent) -> String {
    match decode_request(&text_of(&mut session(), intent)).unwrap() {
        Request::CreateOrder(order) => format!(
            "{:?} {} at {} {:?} {:?} {}",
            order.side,
            order.amount,
            order.price.unwrap(),
            order.time_in_force,
            order.post_only,
            &order.client_id.as_str()[24..]
        ),
        Request::AmendOrder(amend) => format!("{} at {}", amend.amount, amend.price.unwrap()),
        Request::CancelOrder(cancel) => cancel.client_id.as_str()[24..].to_owned(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn order_intents_are_encoded_in_the_exchanges_units() {
    let (side, price_ticks, quantity_lots) = (Side::Sell, 6_500_050, 1_000);
    let ioc = OrderIntent::New { side, price_ticks, quantity_lots, to_rest: false };
    assert_eq!(encoded(&ioc), "Sell 0.01 at 65000.5 ImmediateOrCancelled None 000000000abc");
    let quote = OrderIntent::New { side, price_ticks, quantity_lots: 1, to_rest: true };
    let post_only = "Sell 0.00001 at 65000.5 GoodTillCancelled Some(Reject) 000000000abc";
    assert_eq!(encoded(&quote), post_only);
    assert_eq!(
        encoded(&OrderIntent::Amend { number: 0xabc, price_ticks: 1, quantity_lots: 3 }),
        "0.00003 at 0.01"
    );
    assert_eq!(encoded(&OrderIntent::Cancel { number: 0xabc }), "000000000abc");
}

#[test]
fn orders_and_amendments_carry_the_delivery_clock_that_was_set() {
    let intent =
        OrderIntent::New { side: Side::Buy, price_ticks: 100, quantity_lots: 1, to_rest: false };
    let clock = DeliveryClock { tick: 8725, response_ns: 12_345 };
    for delivery in [Some(clock), None] {
        let mut session = session();
        session.answers(delivery);
        let text = text_of(&mut session, &intent);
        let Ok(Request::CreateOrder(order)) = decode_request(&text) else { panic!() };
        assert_eq!((order.delivery, order.price), (delivery, Some(decimal("1"))));
        let amend = OrderIntent::Amend { number: 0xabc, price_ticks: 100, quantity_lots: 1 };
        let text = text_of(&mut session, &amend);
        let Ok(Request::AmendOrder(amend)) = decode_request(&text) else { panic!() };
        assert_eq!((amend.delivery, amend.price), (delivery, Some(decimal("1"))));
    }
}

fn decoded(text: &str) -> Result<Reply, String> {
    let mut session = session();
    let id = String::from_utf8(session.codec.client_ids.of(0xabc).to_vec()).unwrap();
    session.codec.decode(text.replace("ID", &id).as_bytes())
}

const ABOUT: &str = r#""client_id":"ID","instrument_code":"BTC_USDT","order_id":"00000000-0000-8000-8000-00000000002a","order_book_sequence":1,"time":1,"uid":"u""#;

#[test]
fn replies_become_execution_reports() {
    let done = |status: &str, stamps: &str| {
        let text = format!(r#"{{"type":"DONE","status":"{status}",{ABOUT}{stamps}}}"#);
        match decoded(&text).unwrap() {
            Reply::Execution(ExecutionReport { number: 0xabc, event, stamps }) => (event, stamps),
            other => panic!("{other:?}"),
        }
    };
    let expired = done("EXPIRED", r#","stamps":[1,2,3,4]"#);
    assert_eq!(expired, (OrderEvent::Done(DoneStatus::Expired), Some([1, 2, 3, 4])));
    assert_eq!(done("FILLED", ""), (OrderEvent::Done(DoneStatus::Filled), None));
}

#[test]
fn an_unknown_order_is_a_complaint_and_nonsense_ends_the_session() {
    let text = format!(r#"{{"type":"DONE","status":"FILLED",{ABOUT}}}"#).replace("ID", "somebody");
    let mut session = session();
    assert!(matches!(session.codec.decode(text.as_bytes()), Ok(Reply::Unexpected)));
    assert!(session.first_complaint().unwrap().contains("somebody"));
    assert!(decoded("{").is_err());
    assert!(matches!(decoded(r#"{"type":"ERROR","reason":"no"}"#), Ok(Reply::Unexpected)));
}

#[test]
fn notices_are_decoded() {
    assert!(matches!(decoded(r#"{"type":"FLOW_STARTED"}"#), Ok(Reply::FlowStarted)));
    let ended = r#"{"type":"FLOW_ENDED","inputs":1,"datagrams":2,"messages":3,"feed_sequence":77}"#;
    assert!(matches!(decoded(ended), Ok(Reply::FlowEnded(FlowEnded { feed_sequence: 77, .. }))));
    assert!(matches!(
        decoded(r#"{"type":"FEED_REFUSED","reason":"old"}"#),
        Ok(Reply::FeedRejected)
    ));
}

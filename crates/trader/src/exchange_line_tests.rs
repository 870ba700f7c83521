//! What is said is what was wished; what is heard is what was said.

use super::*;
use engine::Side;
use wire::request::{Request, decode_request};

fn decimal(text: &str) -> Decimal {
    Decimal::parse(text).unwrap()
}

fn line() -> ExchangeLine {
    let mut line = ExchangeLine::new("127.0.0.1:1", "BTC_USDT");
    line.count_in(decimal("0.01"), decimal("0.00001"));
    line
}

/// As the exchange reads it.
fn said(wish: &Wish) -> String {
    let mut out = Vec::new();
    line().say(wish, 0xabc, &mut out);
    let limits = wire::reader::FrameLimits { message_bytes_max: 1 << 16 };
    let mut reader = reader::MessageReader::new(reader::Role::Server, limits);
    reader.space()[..out.len()].copy_from_slice(&out);
    reader.filled(out.len(), 0);
    let received = reader.next().unwrap().unwrap();
    let reader::Message::Text(text) = received.message else { panic!("{received:?}") };
    match decode_request(text).unwrap() {
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
fn wishes_are_said_in_the_exchanges_units() {
    let (side, price_ticks, quantity_lots) = (Side::Sell, 6_500_050, 1_000);
    let ioc = Wish::Enter { side, price_ticks, quantity_lots, to_rest: false };
    assert_eq!(said(&ioc), "Sell 0.01 at 65000.5 ImmediateOrCancelled None 000000000abc");
    let quote = Wish::Enter { side, price_ticks, quantity_lots: 1, to_rest: true };
    let post_only = "Sell 0.00001 at 65000.5 GoodTillCancelled Some(Reject) 000000000abc";
    assert_eq!(said(&quote), post_only);
    assert_eq!(
        said(&Wish::Move { number: 0xabc, price_ticks: 1, quantity_lots: 3 }),
        "0.00003 at 0.01"
    );
    assert_eq!(said(&Wish::End { number: 0xabc }), "000000000abc");
}

fn heard(text: &str) -> Result<Heard, String> {
    let mut line = line();
    let id = String::from_utf8(line.dialect.client_ids.of(0xabc).to_vec()).unwrap();
    line.dialect.understand(text.replace("ID", &id).as_bytes())
}

const ABOUT: &str = r#""client_id":"ID","instrument_code":"BTC_USDT","order_id":"00000000-0000-8000-8000-00000000002a","order_book_sequence":1,"time":1,"uid":"u""#;

#[test]
fn answers_are_news_of_their_order() {
    let done = |status: &str, stamps: &str| {
        let text = format!(r#"{{"type":"DONE","status":"{status}",{ABOUT}{stamps}}}"#);
        match heard(&text).unwrap() {
            Heard::Answer(Answer { number: 0xabc, news, stamps }) => (news, stamps),
            other => panic!("{other:?}"),
        }
    };
    let expired = done("EXPIRED", r#","stamps":[1,2,3,4]"#);
    assert_eq!(expired, (News::Ended { filled: false }, Some([1, 2, 3, 4])));
    assert_eq!(done("FILLED", ""), (News::Ended { filled: true }, None));
}

#[test]
fn a_stranger_is_complained_of_and_nonsense_ends_the_line() {
    let text = format!(r#"{{"type":"DONE","status":"FILLED",{ABOUT}}}"#).replace("ID", "somebody");
    let mut line = line();
    assert!(matches!(line.dialect.understand(text.as_bytes()), Ok(Heard::Unexpected)));
    assert!(line.first_complaint().unwrap().contains("somebody"));
    assert!(heard("{").is_err());
    assert!(matches!(heard(r#"{"type":"ERROR","reason":"no"}"#), Ok(Heard::Unexpected)));
}

#[test]
fn notices_are_heard() {
    assert!(matches!(heard(r#"{"type":"FLOW_STARTED"}"#), Ok(Heard::FlowStarted)));
    let ended = r#"{"type":"FLOW_ENDED","inputs":1,"datagrams":2,"messages":3,"feed_sequence":77}"#;
    assert!(matches!(heard(ended), Ok(Heard::FlowEnded { sequence: 77 })));
    assert!(matches!(heard(r#"{"type":"FEED_REFUSED","reason":"old"}"#), Ok(Heard::FeedRefused)));
}

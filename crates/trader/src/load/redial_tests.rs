//! Each message in flight is answered once, by what the next exchange says of its order.

use super::*;
use crate::load::rows::SERIES;
use crate::load::session::raw::Raw;
use crate::scripted::Scripted;
use clock::Clock;
use clock::recorder::recorder;
use record::MessageBytes;
use transport::{Ready, StreamId, echo};

const BYTES: MessageBytes =
    MessageBytes { order: 200, order_reply: 300, cancel: 100, cancel_reply: 250 };

fn acked(sequence: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    echo::Message { length_bytes: 300, reply_bytes: 0, kind: b'O', sequence }.encode(&mut bytes);
    bytes
}

#[test]
fn messages_in_flight_are_settled_once() {
    let script = Scripted::default();
    let (recorder, _drain) = recorder(&SERIES, 1.0);
    let entry = Raw::new(BYTES, 1, false);
    let ids = [StreamId(0)];
    let mut desk = Desk::new(Clock::calibrate(), Box::new(script.clone()), &ids, entry, recorder);
    desk.load.rate_per_second_offered = Some(1.0);
    desk.start_measuring(0);
    // Orders 0 and 1 are acknowledged; 2, 3 and the cancels of 0 and 1 are in flight.
    (0..4).for_each(|number| desk.order(number, 0, 100).unwrap());
    script.0.borrow_mut().writes.push_back((800, 1000));
    desk.flush();
    script.0.borrow_mut().reads.push_back(([acked(0), acked(1)].concat(), 1500));
    desk.handle(Ready::Readable(StreamId(0)));
    (0..2).for_each(|number| desk.cancel(number, 1600).unwrap());
    script.0.borrow_mut().writes.push_back((200, 1700));
    desk.flush();
    assert_eq!((desk.unanswered(), desk.load.received), (4, 2));

    let waiting = desk.in_flight.written();
    let open = HashMap::from([(0, false), (1, true), (2, true), (3, false)]);
    let mut outage = Outage::default();
    desk.settle(waiting, &open, 9000, &mut outage);
    let expected =
        Outage { unanswered: 4, accepted_late: 2, rejected: 1, sent_again: 1, ..Outage::default() };
    assert_eq!(outage, expected);
    assert_eq!((desk.unanswered(), desk.load.received, desk.load.rejected), (1, 5, 1));
    // The cancel of order 1 leaves again, as the same message.
    assert_eq!(desk.lanes[0].bytes.len(), 100);
    assert!(desk.in_flight.written().is_empty());
    assert_eq!((desk.load.sent, desk.load.duplicated, desk.load.out_of_order), (6, 0, 0));
}

#[test]
fn an_outage_ends_with_the_first_answer() {
    let plan = |target: &str| OrdersPlan { target: target.to_owned(), ..plan() };
    assert!(Redial::new(&plan("a:1"), 0).is_none(), "there is nowhere to go");
    let mut redial = Redial::new(&plan("a:1, b:2"), 0).unwrap();
    assert_eq!(redial.answered(1000), None);
    redial.open = Some(Outage { unanswered: 3, ..Outage::default() });
    let outage = Outage { unanswered: 3, silence_ns: 400, ..Outage::default() };
    assert_eq!(redial.answered(1400), Some(outage));
    assert_eq!(redial.answered(1500), None);
}

fn plan() -> OrdersPlan {
    let text = serde_json::json!({
        "subject": "s", "target": "", "wire": "websocket-json", "backend": "block", "core": null,
        "scheduling": "other", "warm_up_seconds": 0.0, "seconds": 1.0, "hlog": "",
        "load": plan::tables::load::Load::default(),
    });
    serde_json::from_value(text).unwrap()
}

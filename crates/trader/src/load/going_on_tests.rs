//! Each message in flight is answered once, by what the next exchange says of its order.

use super::*;
use crate::load::rows::SERIES;
use crate::load::session::raw::Raw;
use crate::scripted::ScriptedStreams;
use clock::Clock;
use clock::recorder::recorder;
use record::MessageBytes;
use transport::{Ready, StreamId, echo};

const BYTES: MessageBytes =
    MessageBytes { order: 200, order_reply: 300, cancel: 100, cancel_reply: 250 };

fn acked(sequence: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    echo::EchoMessage { length_bytes: 300, reply_bytes: 0, kind: b'O', sequence }
        .encode(&mut bytes);
    bytes
}

#[test]
fn messages_in_flight_are_settled_once() {
    let script = ScriptedStreams::default();
    let (recorder, _drain) = recorder(&SERIES, 1.0);
    let entry = Raw::new(BYTES, 1, false);
    let ids = [StreamId(0)];
    let mut desk = Desk::new(Clock::calibrate(), Box::new(script.clone()), &ids, entry, recorder);
    desk.ledger.load.rate_per_second_offered = Some(1.0);
    desk.start_measuring(0);
    // Orders 0 to 3 are acknowledged, and their cancels in flight; so are 4 to 8, and the cancels
    // of 6 to 8.
    (0..9).for_each(|number| desk.order(number, 0, 100).unwrap());
    script.0.borrow_mut().writes.push_back((1800, 1000));
    desk.flush();
    let acks: Vec<u8> = (0..4).flat_map(acked).collect();
    script.0.borrow_mut().reads.push_back((acks, 1500));
    desk.handle(Ready::Readable(StreamId(0)));
    [0, 1, 2, 3, 6, 7, 8].into_iter().for_each(|number| desk.cancel(number, 1600).unwrap());
    script.0.borrow_mut().writes.push_back((700, 1700));
    desk.flush();
    assert_eq!((desk.unanswered(), desk.ledger.load.received), (12, 4));

    let waiting = desk.ledger.in_flight.written();
    use OrderStanding::{Ended, Filled, Open, Unknown};
    let standings = [Unknown, Open, Ended, Filled, Open, Unknown, Ended, Filled, Unknown];
    let mut outage = Outage::default();
    settle(&mut desk, waiting, &(0..).zip(standings).collect(), 9000, &mut outage);
    // Late: the cancels of 0, 2 and 6, and the orders 4, 6 and 7. Rejected: the cancels of 3 and 7,
    // the orders 5 and 8, and the cancel of 8.
    let expected = Outage {
        unanswered: 12,
        accepted_late: 6,
        rejected: 5,
        sent_again: 1,
        ..Outage::default()
    };
    assert_eq!(outage, expected);
    assert_eq!(
        (desk.unanswered(), desk.ledger.load.received, desk.ledger.load.rejected),
        (1, 15, 5)
    );
    // The cancel of order 1 leaves again, as the same message.
    assert_eq!(desk.connections.lanes[0].bytes.len(), 100);
    assert!(desk.ledger.in_flight.written().is_empty());
    assert_eq!(
        (desk.ledger.load.sent, desk.ledger.load.duplicated, desk.ledger.load.out_of_order),
        (16, 0, 0)
    );
}

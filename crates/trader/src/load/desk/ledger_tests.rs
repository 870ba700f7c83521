//! Replies by themselves, without a stream that brings them.

use super::*;
use crate::load::rows::{SERIES, SERIES_OF_REQUESTS};
use clock::recorder::{Drain, Series, recorder};
use transport::StreamId;

/// A ledger that measures, and its lane with an order, 7, and its cancel, both sent at 1 000.
fn both_sent(series: &[Series]) -> (Ledger, [LoadLane; 1], Drain) {
    let (recorder, drain) = recorder(series, 1.0);
    let mut ledger = Ledger::new(recorder);
    ledger.start_measuring(0);
    let mut lanes = [LoadLane::new(StreamId(0))];
    ledger.in_flight.open(7, 0, true).unwrap();
    for message in [LoadMessage::Order, LoadMessage::Cancel] {
        assert_eq!(ledger.append(message, 7, 900), Some(0));
        lanes[0].unanswered += 1;
    }
    (ledger, lanes, drain)
}

fn answer(ledger: &mut Ledger, lanes: &mut [LoadLane], reply: Reply) -> Option<LoadMessage> {
    let received = ReceivedReply { reply, first_byte_ns: 1_500, bytes: 60 };
    ledger.answer(lanes, 0, received, None).map(|answered| answered.message)
}

/// It names the order alone: the message that was sent first is meant.
#[test]
fn a_rejection_is_the_orders_then_its_cancels() {
    let (mut ledger, mut lanes, _drain) = both_sent(&SERIES);
    ledger.wrote([(7, LoadMessage::Order), (7, LoadMessage::Cancel)].into_iter(), 1_000);
    let mut reject = || answer(&mut ledger, &mut lanes, Reply::Rejected(7));
    assert_eq!(reject(), Some(LoadMessage::Order));
    assert_eq!(reject(), Some(LoadMessage::Cancel));
    assert_eq!(reject(), None);
    assert_eq!((ledger.load.rejected, ledger.load.duplicated), (2, 1));
    assert_eq!((ledger.in_flight.unanswered, lanes[0].unanswered), (0, 0));
}

/// The rest of the wait belongs to what was lost: a message that was answered is not lost as well.
#[test]
fn only_messages_that_still_wait_are_lost_and_only_once() {
    let (mut ledger, mut lanes, _drain) = both_sent(&SERIES_OF_REQUESTS);
    ledger.wait_for_datagrams(500, 1.0, Directions::None);
    ledger.in_flight.open(7, 0, true).unwrap();
    for message in [LoadMessage::Order, LoadMessage::Cancel] {
        ledger.append(message, 7, 900);
    }
    ledger.wrote([(7, LoadMessage::Order), (7, LoadMessage::Cancel)].into_iter(), 1_000);
    let order = Reply::Ack(LoadMessage::Order, 7);
    assert_eq!(answer(&mut ledger, &mut lanes, order), Some(LoadMessage::Order));
    ledger.lose_before(&mut lanes, 1_501, 999);
    assert_eq!(ledger.answered, [], "it is still waited for");
    for answered in [vec![(Reply::Lost(LoadMessage::Cancel, 7), 7)], vec![]] {
        ledger.lose_before(&mut lanes, 1_501, 1_000);
        assert_eq!(ledger.answered, answered);
    }
    assert_eq!((ledger.load.received, ledger.load.lost, ledger.in_flight.unanswered), (1, 1, 0));
}

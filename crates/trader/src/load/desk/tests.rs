//! The two stamps with partial writes and split replies.

use super::*;
use crate::load::finish::{FinishedLoad, finish};
use crate::load::rows::{SERIES, SERIES_OF_REQUESTS};
use crate::load::session::Reply;
use crate::load::session::raw::Raw;
use crate::scripted::ScriptedStreams;
use clock::recorder::recorder;
use record::MessageBytes;
use std::time::SystemTime;
use transport::echo;

const BYTES: MessageBytes =
    MessageBytes { order: 200, order_reply: 300, cancel: 100, cancel_reply: 250 };

fn desk(script: &ScriptedStreams) -> (Desk<Raw>, clock::recorder::Drain) {
    let (recorder, drain) = recorder(&SERIES, 1.0);
    let streams = Box::new(script.clone());
    let entry = Raw::new(BYTES, 1, false);
    let mut desk = Desk::new(Clock::calibrate(), streams, &[StreamId(0)], entry, recorder);
    desk.ledger.load.rate_per_second_offered = Some(1.0);
    desk.start_measuring(0);
    (desk, drain)
}

fn reply(kind: u8, length_bytes: u16, sequence: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    echo::EchoMessage { length_bytes, reply_bytes: 0, kind, sequence }.encode(&mut bytes);
    bytes
}

fn totals(desk: Desk<Raw>, drain: clock::recorder::Drain) -> Vec<(String, u64, u64)> {
    finish(desk);
    let mut log = Vec::new();
    drain.run("t", &mut log, SystemTime::now(), 0, &|| ()).unwrap();
    let totals = record::hlog::totals(&log[..]).unwrap();
    totals.into_iter().map(|(tag, values)| (tag, values.min(), values.max())).collect()
}

fn row(tag: &str, min: u64, max: u64) -> (String, u64, u64) {
    (tag.to_owned(), min, max)
}

/// Two orders in one batch: one write and one stamp. Each has its own intended time.
#[test]
fn a_batch_has_one_stamp() {
    let script = ScriptedStreams::default();
    let (mut desk, drain) = desk(&script);
    desk.order(0, 0, 100).unwrap();
    desk.order(1, 0, 200).unwrap();
    script.0.borrow_mut().writes.push_back((400, 1000));
    desk.flush();
    let both = [reply(b'O', 300, 0), reply(b'O', 300, 1)].concat();
    script.0.borrow_mut().reads.push_back((both, 1500));
    desk.handle(Ready::Readable(StreamId(0)));
    assert_eq!(
        totals(desk, drain),
        [
            row("t.order.response", 1300, 1400),
            row("t.order.service", 500, 500),
            row("t.send.lateness", 800, 900)
        ]
    );
}

/// The kernel takes 250 of 400 bytes, then the rest: the second order left with the second write.
#[test]
fn a_message_leaves_with_the_write_that_takes_its_last_byte() {
    let script = ScriptedStreams::default();
    let (mut desk, drain) = desk(&script);
    desk.order(0, 0, 100).unwrap();
    desk.order(1, 0, 100).unwrap();
    script.0.borrow_mut().writes.extend([(250, 1000), (150, 1200)]);
    desk.flush();
    desk.flush(); // not written again before the socket is ready
    desk.handle(Ready::Writable(StreamId(0)));
    let both = [reply(b'O', 300, 0), reply(b'O', 300, 1)].concat();
    script.0.borrow_mut().reads.push_back((both, 1500));
    desk.handle(Ready::Readable(StreamId(0)));
    assert_eq!(script.0.borrow().written.len(), 400);
    let totals = totals(desk, drain);
    assert_eq!(totals[1], row("t.order.service", 300, 500));
}

/// A reply that arrives in two reads has the stamp of the first.
#[test]
fn a_reply_arrives_with_its_first_byte() {
    let script = ScriptedStreams::default();
    let (mut desk, drain) = desk(&script);
    desk.order(0, 0, 1000).unwrap();
    script.0.borrow_mut().writes.push_back((200, 1000));
    desk.flush();
    let bytes = reply(b'O', 300, 0);
    script.0.borrow_mut().reads.extend([(bytes[..1].to_vec(), 1400), (bytes[1..].to_vec(), 1900)]);
    desk.handle(Ready::Readable(StreamId(0)));
    assert_eq!(desk.unanswered(), 1);
    desk.handle(Ready::Readable(StreamId(0)));
    assert_eq!(desk.unanswered(), 0);
    assert_eq!(totals(desk, drain)[1], row("t.order.service", 400, 400));
}

#[test]
fn every_odd_reply_is_counted_as_what_it_is() {
    let script = ScriptedStreams::default();
    let (mut desk, _drain) = desk(&script);
    for number in 0..3 {
        desk.order(number, 0, 0).unwrap();
    }
    desk.cancel(0, 0).unwrap();
    script.0.borrow_mut().writes.push_back((700, 10));
    desk.flush();
    let replies = [
        reply(b'O', 300, 1),  // fine
        reply(b'O', 300, 0),  // out of order
        reply(b'O', 300, 0),  // again
        reply(b'O', 300, 77), // never sent
        reply(b'C', 250, 1),  // a cancel that was never sent
        reply(b'?', 250, 1),  // unheard of
    ];
    script.0.borrow_mut().reads.push_back((replies.concat(), 20));
    desk.handle(Ready::Readable(StreamId(0)));
    let FinishedLoad { load, failure, .. } = finish(desk);
    assert_eq!(failure, None);
    assert_eq!((load.sent, load.received), (4, 2));
    assert_eq!((load.out_of_order, load.duplicated, load.unexpected), (1, 3, 1));
    assert_eq!((load.overtakes, load.lost), (1, 2));
}

#[test]
fn an_order_waits_while_its_slot_is_unanswered() {
    let script = ScriptedStreams::default();
    let (mut desk, _drain) = desk(&script);
    let ring = crate::load::desk::in_flight::IN_FLIGHT_MAX as u64;
    script.0.borrow_mut().writes.push_back((200, 10));
    desk.order(0, 0, 0).unwrap();
    desk.flush();
    assert!(desk.order(ring, 0, 0).is_none());
    script.0.borrow_mut().reads.push_back((reply(b'O', 300, 0), 20));
    desk.handle(Ready::Readable(StreamId(0)));
    assert!(desk.order(ring, 0, 0).is_some());
}

/// Two requests that are due together: two datagrams, each with the stamp of its own write. The
/// reply to the first one never comes, and that to the second one comes twice.
#[test]
fn each_datagram_has_a_write_and_a_stamp_of_its_own() {
    let script = ScriptedStreams::default();
    let (recorder, drain) = recorder(&SERIES_OF_REQUESTS, 1.0);
    let streams = Box::new(script.clone());
    let entry = Raw::new(BYTES, 1, true);
    let mut desk = Desk::new(Clock::calibrate(), streams, &[StreamId(0)], entry, recorder)
        .of_requests()
        .over_datagrams(1_000, 1.0, crate::load::desk::patience::Directions::None);
    desk.ledger.load.rate_per_second_offered = Some(1.0);
    desk.start_measuring(0);
    desk.order(0, 0, 100).unwrap();
    desk.order(1, 0, 100).unwrap();
    script.0.borrow_mut().writes.extend([(200, 1_000), (200, 1_100)]);
    desk.flush();
    for stamp_ns in [1_600, 1_700] {
        script.0.borrow_mut().reads.push_back((reply(b'O', 300, 1), stamp_ns));
        desk.handle(Ready::Readable(StreamId(0)));
    }
    assert!(!desk.expire(1_999), "it is still waited for");
    assert!(desk.expire(2_050));
    assert_eq!(desk.ledger.answered, [(Reply::Lost(LoadMessage::Order, 0), 0)]);
    // After that time it is late, and then a duplicate.
    for stamp_ns in [2_100, 2_200] {
        script.0.borrow_mut().reads.push_back((reply(b'O', 300, 0), stamp_ns));
        desk.handle(Ready::Readable(StreamId(0)));
    }
    assert_eq!(
        (desk.ledger.load.received, desk.ledger.load.lost, desk.ledger.load.duplicated),
        (1, 1, 2)
    );
    assert_eq!(desk.ledger.load.datagrams.unwrap().late, 1);
    assert_eq!(
        totals(desk, drain),
        [
            row("t.request.response", 1_500, 1_950),
            row("t.request.service", 500, 1_050),
            row("t.send.lateness", 900, 1_000)
        ]
    );
}

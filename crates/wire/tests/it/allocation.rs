//! Counts allocations: none per message in the usual case.

use counting::calls;
use wire::frame::{Opcode, write_frame_with};
use wire::market_data::{decode_level, decode_top};
use wire::reader::{FrameLimits, Message, MessageReader, Role};
use wire::reply::{decode_reply, encode_booked, encode_done, encode_fill, encode_rejected};
use wire::request::{decode_request, encode_cancel_order, encode_create_order};
use wire::{reply::Reply, request::Request};

/// The allocator calls of `work`, including frees.
fn calls_of(mut work: impl FnMut()) -> u64 {
    let before = calls();
    work();
    calls() - before
}

const CREATE: &[u8] = include_bytes!("../../../../clients/vectors/create_order_ioc_account.json");
const CANCEL: &[u8] = include_bytes!("../../../../clients/vectors/cancel_order.json");
const MORE_REQUESTS: [&[u8]; 5] = [
    include_bytes!("../../../../clients/vectors/create_order_market.json"),
    include_bytes!("../../../../clients/vectors/create_order_iceberg.json"),
    include_bytes!("../../../../clients/vectors/create_order_stop.json"),
    include_bytes!("../../../../clients/vectors/amend_order_renamed.json"),
    include_bytes!("../../../../clients/vectors/mass_cancel_some.json"),
];
const MORE_REPLIES: [&[u8]; 5] = [
    include_bytes!("../../../../clients/vectors/amended_renamed.json"),
    include_bytes!("../../../../clients/vectors/waiting.json"),
    include_bytes!("../../../../clients/vectors/triggered.json"),
    include_bytes!("../../../../clients/vectors/decremented.json"),
    include_bytes!("../../../../clients/vectors/mass_cancelled.json"),
];
const REPLIES: [&[u8]; 4] = [
    include_bytes!("../../../../clients/vectors/booked.json"),
    include_bytes!("../../../../clients/vectors/fill.json"),
    include_bytes!("../../../../clients/vectors/done_cancelled.json"),
    include_bytes!("../../../../clients/vectors/rejected.json"),
];

#[test]
fn the_counter_counts() {
    assert_eq!(calls_of(|| drop(std::hint::black_box(Box::new(1)))), 2);
}

#[test]
fn requests_decode_without_allocating() {
    let count = calls_of(|| {
        assert!(matches!(decode_request(CREATE), Ok(Request::CreateOrder(_))));
        assert!(matches!(decode_request(CANCEL), Ok(Request::CancelOrder(_))));
        MORE_REQUESTS.iter().for_each(|request| assert!(decode_request(request).is_ok()));
    });
    assert_eq!(count, 0);
}

#[test]
fn replies_decode_without_allocating() {
    // The last one has an escape in its reason, and so may copy it.
    for reply in REPLIES[..3].iter().chain(&MORE_REPLIES) {
        assert_eq!(calls_of(|| assert!(decode_reply(reply).is_ok())), 0);
    }
}

#[test]
fn market_data_decodes_without_allocating() {
    let book = include_bytes!("../../../../clients/vectors/book_stamps.json");
    let top = include_bytes!("../../../../clients/vectors/top_stamps.json");
    let count = calls_of(|| {
        assert!(matches!(decode_level(book), Ok(Some(_))));
        assert!(matches!(decode_top(top), Ok(Some(_))));
    });
    assert_eq!(count, 0);
}

#[test]
fn a_gateways_loop_does_not_allocate_once_its_buffers_have_grown() {
    let replies = REPLIES.map(|bytes| decode_reply(bytes).unwrap());
    let Ok(Request::CreateOrder(order)) = decode_request(CREATE) else { panic!() };
    let Ok(Request::CancelOrder(cancel)) = decode_request(CANCEL) else { panic!() };
    let mut reader = MessageReader::new(Role::Server, FrameLimits::default());
    let (mut sent, mut answer) = (Vec::new(), Vec::new());
    let mut turn = || {
        sent.clear();
        answer.clear();
        let mask = Some([1, 2, 3, 4]);
        write_frame_with(&mut sent, Opcode::Text, mask, |out| encode_create_order(out, &order));
        write_frame_with(&mut sent, Opcode::Text, mask, |out| encode_cancel_order(out, &cancel));
        assert_eq!(reader.fill_from(&sent, 1), sent.len());
        while let Some(received) = reader.next().unwrap() {
            let Message::Text(text) = received.message else { panic!() };
            assert!(decode_request(text).is_ok());
            for reply in &replies {
                write_frame_with(&mut answer, Opcode::Text, None, |out| match reply {
                    Reply::Booked(booked) => encode_booked(out, booked),
                    Reply::Fill(fill) => encode_fill(out, fill),
                    Reply::Done(done) => encode_done(out, done),
                    Reply::Rejected(rejected) => encode_rejected(out, rejected),
                    other => panic!("{other:?}"),
                });
            }
        }
    };
    turn();
    let turns = calls_of(|| (0..1000).for_each(|_| turn()));
    assert_eq!(turns, 0);
}

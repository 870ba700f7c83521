//! The properties of the fuzz targets, on a few thousand inputs in every test run: random bytes,
//! and valid messages with a few bytes changed.

use proptest::prelude::*;
use wire::MessageFault;
use wire::frame::{Opcode, write_frame};
use wire::reply::decode_reply;

const HEADS: [&[u8]; 4] = [
    include_bytes!("../../../../clients/vectors/upgrade_request.http"),
    include_bytes!("../../../../clients/vectors/upgrade_response.http"),
    b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /private/account/user/balances/3001/BTC/10.5 HTTP/1.0\r\nConnection: close\r\n\r\n",
];

const MESSAGES: [&[u8]; 22] = [
    include_bytes!("../../../../clients/vectors/book_stamps.json"),
    include_bytes!("../../../../clients/vectors/top_stamps.json"),
    include_bytes!("../../../../clients/vectors/create_order.json"),
    include_bytes!("../../../../clients/vectors/cancel_order.json"),
    include_bytes!("../../../../clients/vectors/done_cancelled.json"),
    include_bytes!("../../../../clients/vectors/create_order_ioc_account.json"),
    include_bytes!("../../../../clients/vectors/cancel_order_account.json"),
    include_bytes!("../../../../clients/vectors/authenticate.json"),
    include_bytes!("../../../../clients/vectors/subscribe.json"),
    include_bytes!("../../../../clients/vectors/booked.json"),
    include_bytes!("../../../../clients/vectors/fill.json"),
    include_bytes!("../../../../clients/vectors/rejected.json"),
    include_bytes!("../../../../clients/vectors/subscriptions.json"),
    include_bytes!("../../../../clients/vectors/authenticate_cancel_on_disconnect.json"),
    include_bytes!("../../../../clients/vectors/create_order_iceberg.json"),
    include_bytes!("../../../../clients/vectors/amend_order_renamed.json"),
    include_bytes!("../../../../clients/vectors/mass_cancel_some.json"),
    include_bytes!("../../../../clients/vectors/kill_switch_account.json"),
    include_bytes!("../../../../clients/vectors/amended_renamed.json"),
    include_bytes!("../../../../clients/vectors/waiting.json"),
    include_bytes!("../../../../clients/vectors/decremented.json"),
    include_bytes!("../../../../clients/vectors/mass_cancelled.json"),
];

/// One of `originals` with up to three bytes replaced, inserted or removed.
fn damaged(originals: &'static [&'static [u8]]) -> impl Strategy<Value = Vec<u8>> {
    let shaping = b"{}[]:;,'\"\\ \t\n0123456789.-+eEtfnu/".to_vec();
    let byte = prop_oneof![3 => prop::sample::select(shaping), 1 => any::<u8>()];
    let change = (any::<prop::sample::Index>(), byte, 0..3u8);
    (prop::sample::select(originals), prop::collection::vec(change, 0..=3)).prop_map(
        |(original, changes)| {
            let mut bytes = original.to_vec();
            for (at, byte, how) in changes {
                let at = at.index(bytes.len());
                match how {
                    0 => bytes[at] = byte,
                    1 => bytes.insert(at, byte),
                    _ => drop(bytes.remove(at)),
                }
            }
            bytes
        },
    )
}

/// Frames, mostly valid, as (fin, opcode, masked, payload).
fn frames() -> impl Strategy<Value = Vec<u8>> {
    let opcode = prop::sample::select(vec![
        Opcode::Text,
        Opcode::Continuation,
        Opcode::Binary,
        Opcode::Ping,
        Opcode::Pong,
        Opcode::Close,
    ]);
    let frame = (any::<bool>(), opcode, prop::bool::weighted(0.9), 0..140usize);
    prop::collection::vec(frame, 0..12).prop_map(|frames| {
        let mut stream = Vec::new();
        for (fin, opcode, masked, length) in frames {
            let mask = masked.then_some([9, 8, 7, 6]);
            let fin = fin || opcode.is_control();
            write_frame(&mut stream, fin, opcode, mask, &vec![3; length]);
        }
        stream
    })
}

#[test]
fn what_serde_json_rejects_we_reject() {
    for text in [
        "{'time':01}",
        "{'time':-}",
        "{'time':1.}",
        "{'time':1e}",
        "{'time':+1}",
        "{'time':.5}",
        "{'time':1;'a':2}",
        "{'time':1,}",
        "{,'time':1}",
        "{'time'1}",
        "{'time':}",
        "{time:1}",
        "{'a':[1,]}",
        "{'a':[1 2]}",
        "{'a':tru}",
        "{'channels':[{}{}]}",
        "{'channels':[,]}",
        "{'channels':[{};{}]}",
        "{'channels':[{}",
        "{'a':'\\x'}",
        "{'uid':'\\x'}",
        "{'uid':'\\ud800'}",
        "{'uid':'\n'}",
        "{'uid':'a",
        "{'uid':'a'}}",
        "{'uid':'a'}\0",
    ] {
        let json = text.replace('\'', "\"");
        crate::properties::reply(json.as_bytes());
        let fault = decode_reply(json.as_bytes()).expect_err(text).0;
        assert!(matches!(fault, MessageFault::Malformed { .. }), "{text}: {fault}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(5_000)))]

    #[test]
    fn reader_of_any_bytes(data in prop::collection::vec(any::<u8>(), 0..300)) {
        crate::properties::frame_reader(&data);
    }

    #[test]
    fn reader_of_frames(head in any::<[u8; 2]>(), pieces in any::<[u8; 7]>(), stream in frames()) {
        crate::properties::frame_reader(&[&[head[0], head[1] | 7][..], &pieces, &stream].concat());
    }

    #[test]
    fn http_of_any_bytes(data in prop::collection::vec(any::<u8>(), 0..300)) {
        crate::properties::http_head(&data);
    }

    #[test]
    fn http_of_damaged_heads(data in damaged(&HEADS)) {
        crate::properties::http_head(&data);
    }

    #[test]
    fn sbe_of_any_bytes(data in prop::collection::vec(any::<u8>(), 0..300)) {
        crate::properties::sbe::sbe(&data);
        crate::properties::sbe::sbe_blocks(&data);
    }

    #[test]
    fn json_of_any_bytes(data in prop::collection::vec(any::<u8>(), 0..100)) {
        crate::properties::request(&data);
        crate::properties::reply(&data);
    }

    #[test]
    fn json_of_damaged_messages(data in damaged(&MESSAGES)) {
        crate::properties::request(&data);
        crate::properties::reply(&data);
    }
}

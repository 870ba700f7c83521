//! Properties that hold for any bytes on a connection. `tests/determinism.rs` feeds them from
//! proptest, the target `gateway` in `fuzz/` from libFuzzer.

use super::small::{NEIGHBOUR, SMALL, STRANGER};
use crate::driven::{Driven, write_authenticate, write_cancel, write_order};
use wire::ClientId;
use wire::reader::{FrameLimits, Message, MessageReader, Role};
use wire::reply::{Reply, decode_reply};
use wire::request::Side;

/// The state of the stranger's connection when the bytes begin.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Start {
    Connected,
    Upgraded,
    Authenticated,
}

/// The bytes as one connection's stream, from each start, in one piece and byte by byte: no panic,
/// the same well-formed answers, the neighbour goes on, and the engine equals its replay.
pub fn gateway(stream: &[u8]) {
    for start in [Start::Connected, Start::Upgraded, Start::Authenticated] {
        let whole = answers(start, stream, usize::MAX);
        assert!(whole == answers(start, stream, 1), "portions matter from {start:?}");
    }
}

/// All replies to the stranger with times set to 0, and the final state of the engine.
fn answers(start: Start, stream: &[u8], portion_bytes: usize) -> (Vec<u8>, u64) {
    let mut driven = Driven::new(SMALL.clone());
    driven.connect(NEIGHBOUR);
    authenticate(&mut driven, NEIGHBOUR, "neighbour");
    let id = ClientId::new("resting").unwrap();
    let mut order = Vec::new();
    write_order(&mut order, id, Side::Buy, 1000, 1, false);
    driven.feed(NEIGHBOUR, &order);
    match start {
        Start::Connected => driven.open(STRANGER),
        Start::Upgraded => driven.connect(STRANGER),
        Start::Authenticated => {
            driven.connect(STRANGER);
            authenticate(&mut driven, STRANGER, "stranger");
        }
    }
    for portion in stream.chunks(portion_bytes) {
        driven.feed(STRANGER, portion);
    }
    let mut answers = std::mem::take(driven.answers(STRANGER));
    let closed = check_answers(start, &answers);
    assert!(!(closed && driven.is_open(STRANGER)), "a close frame, but not closed");
    zero_times(&mut answers);
    driven.disconnect(STRANGER);

    driven.texts(NEIGHBOUR);
    let mut cancel = Vec::new();
    write_cancel(&mut cancel, id);
    driven.feed(NEIGHBOUR, &cancel);
    let texts = driven.texts(NEIGHBOUR);
    // The stranger may have traded with the order, or cancelled it under the neighbour's token.
    let answer = decode_reply(texts[0].as_bytes()).unwrap();
    assert!(matches!(answer, Reply::Done(_) | Reply::Rejected(_)), "{answer:?}");
    assert_eq!((texts.len(), driven.is_open(NEIGHBOUR)), (1, true));

    assert_eq!(driven.exchange.replay_check().equal, Some(true));
    (answers, driven.exchange.state_hash())
}

fn authenticate(driven: &mut Driven, stream: u32, token: &str) {
    let mut bytes = Vec::new();
    write_authenticate(&mut bytes, token);
    driven.feed(stream, &bytes);
    assert_eq!(driven.texts(stream), [r#"{"type":"AUTHENTICATED"}"#]);
}

/// Checks plain HTTP answers, then frames behind an upgrade: messages of the wire, pongs, at most
/// one close, which comes last. Returns whether there was one.
fn check_answers(start: Start, answers: &[u8]) -> bool {
    const UPGRADED: &[u8] = b"HTTP/1.1 101 ";
    let mut rest = answers;
    if start == Start::Connected && rest.first() != Some(&0) {
        assert!(rest.is_empty() || rest.starts_with(b"HTTP/1.1 "));
        let Some(at) = find(rest, UPGRADED) else { return false };
        rest = &rest[at..];
        rest = &rest[find(rest, b"\r\n\r\n").expect("a whole head") + 4..];
    }
    // Frames of SBE, which `properties::sbe` checks.
    if start == Start::Connected && answers.first() == Some(&0) {
        return false;
    }
    let mut reader = MessageReader::new(Role::Client, FrameLimits::default());
    let mut closed = false;
    while !rest.is_empty() {
        rest = &rest[reader.fill_from(rest, 0)..];
        while let Some(received) = reader.next().unwrap() {
            assert!(!closed, "{received:?} after a close");
            match received.message {
                Message::Text(text) => {
                    let reply = decode_reply(text).unwrap();
                    assert!(!matches!(reply, Reply::Other { .. }), "{reply:?}");
                }
                Message::Close { .. } => closed = true,
                Message::Pong(_) => {}
                message => panic!("{message:?}"),
            }
        }
    }
    assert!(!reader.is_within_message(), "half a message");
    closed
}

fn find(bytes: &[u8], pattern: &[u8]) -> Option<usize> {
    bytes.windows(pattern.len()).position(|window| window == pattern)
}

/// Only the time in a reply does not depend on the bytes.
fn zero_times(answers: &mut [u8]) {
    const TIME: &[u8] = br#""time":"#;
    let mut from = 0;
    while let Some(at) = find(&answers[from..], TIME) {
        from += at + TIME.len();
        answers[from..].iter_mut().take_while(|b| b.is_ascii_digit()).for_each(|b| *b = b'0');
    }
}

//! Properties of the decoders, for any bytes. `tests/any_bytes.rs` gets them from proptest, the
//! targets in `fuzz/` from libFuzzer.
#![allow(dead_code, reason = "each fuzz target uses one")]

pub mod sbe;

use serde::de::IgnoredAny;
use serde_json::Value;
use wire::MessageFault;
use wire::frame::FrameError;
use wire::http::{UpgradeKey, check_upgrade_response, parse_head};
use wire::market_data::{
    MarketData, decode_level, decode_market_data, decode_top, encode_level, encode_top,
};
use wire::reader::{FrameLimits, Message, MessageReader, Role};
use wire::reply::{self, Reply, decode_reply, decode_stamped_reply};
use wire::request::{self, Request, decode_request};

/// An owned message and its stamp.
pub type Seen = (String, u64);

/// Feeds `stream` to a reader in pieces with sizes from `pieces`, repeated; an empty list gives one
/// piece. A piece's stamp is the offset of its first byte.
pub fn read_in_pieces(
    role: Role,
    message_bytes_max: usize,
    stream: &[u8],
    pieces: &[u8],
) -> (Vec<Seen>, Option<FrameError>, Vec<usize>) {
    let mut reader = MessageReader::new(role, FrameLimits { message_bytes_max });
    let (mut seen, mut starts, mut at) = (Vec::new(), Vec::new(), 0);
    let mut sizes = pieces.iter().cycle().map(|&size| usize::from(size).max(1));
    while at < stream.len() {
        let size = sizes.next().unwrap_or(stream.len()).min(stream.len() - at);
        starts.push(at);
        let taken = reader.fill_from(&stream[at..at + size], at as u64);
        assert!(taken > 0, "a drained reader has space");
        at += taken;
        loop {
            match reader.next() {
                Ok(Some(got)) => seen.push((describe(got.message), got.first_byte_ns)),
                Ok(None) => break,
                Err(error) => {
                    assert_eq!(reader.next(), Err(error), "an error is final");
                    return (seen, Some(error), starts);
                }
            }
        }
    }
    (seen, None, starts)
}

fn describe(message: Message<'_>) -> String {
    format!("{message:?}")
}

/// Any split of the bytes gives the same messages, then the same error. Each message's stamp is
/// that of the piece with its first byte.
pub fn frame_reader(data: &[u8]) {
    let [control, split, data @ ..] = data else { return };
    let role = if control & 1 == 0 { Role::Server } else { Role::Client };
    let message_bytes_max = if control & 2 == 0 { 100 } else { 70_000 };
    let (pieces, stream) = data.split_at(data.len().min(usize::from(split & 7)));
    same_in_pieces(role, message_bytes_max, stream, pieces);
}

/// See [`frame_reader`].
pub fn same_in_pieces(role: Role, message_bytes_max: usize, stream: &[u8], pieces: &[u8]) {
    let (bytewise, error, _) = read_in_pieces(role, message_bytes_max, stream, &[1]);
    let (seen, same_error, starts) = read_in_pieces(role, message_bytes_max, stream, pieces);
    assert_eq!(error, same_error);
    assert_eq!(seen.len(), bytewise.len());
    for ((message, stamp), (same_message, offset)) in seen.iter().zip(&bytewise) {
        assert_eq!(message, same_message);
        // Byte by byte, the stamp is the offset of the message's first byte.
        let piece = starts.iter().rfind(|&&start| start as u64 <= *offset);
        assert_eq!(Some(*stamp), piece.map(|&start| start as u64));
    }
}

/// serde_json defines the grammar: we reject as unreadable exactly the texts that it can't read.
fn same_grammar(data: &[u8], fault: Option<MessageFault>) {
    use MessageFault::{Duplicate, Malformed, NotUtf8, WrongKind};
    // Ours stops at the first duplicate field, or at once if there is no object.
    if matches!(fault, Some(Duplicate { .. } | WrongKind { field: "message", .. })) {
        return;
    }
    let unreadable = matches!(fault, Some(Malformed { .. } | NotUtf8 { .. }));
    // `IgnoredAny` accepts any JSON; `Value` also checks the meaning of escapes and numbers.
    let text = std::str::from_utf8(data);
    let json = text.is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok());
    let meaning = text.is_ok_and(|text| serde_json::from_str::<Value>(text).is_ok());
    assert!(json || unreadable, "no JSON, but {fault:?}");
    assert!(!meaning || !unreadable, "proper JSON, but {fault:?}");
}

/// The same after a space, which no message in our encoder's form begins with: it is read by the
/// scanner, whatever reads the message itself.
fn spaced(data: &[u8]) -> Vec<u8> {
    [b" ", data].concat()
}

/// A decoded message can be encoded again, and decodes to the same.
pub fn request(data: &[u8]) {
    let decoded = decode_request(data);
    assert_eq!(decode_request(&spaced(data)).as_ref().ok(), decoded.as_ref().ok());
    same_grammar(data, decoded.as_ref().err().map(|error| error.fault));
    let Ok(decoded) = decoded else { return };
    let mut out = Vec::new();
    encode_request(&mut out, &decoded);
    assert_eq!(decode_request(&out).as_ref(), Ok(&decoded));
}

/// Encodes any request.
pub fn encode_request(out: &mut Vec<u8>, request: &Request<'_>) {
    match request {
        Request::Authenticate { api_token, cancel_on_disconnect, stamps, is_absent } => {
            request::encode_authenticate(out, api_token, *cancel_on_disconnect, *stamps);
            if *is_absent {
                request::encode_absent(out);
            }
        }
        Request::Subscribe { channels } => request::encode_subscribe(out, channels),
        Request::CreateOrder(order) => request::encode_create_order(out, order),
        Request::CancelOrder(cancel) => request::encode_cancel_order(out, cancel),
        Request::OrderStatus(asked) => request::encode_order_status(out, asked),
        Request::AmendOrder(amend) => request::encode_amend_order(out, amend),
        Request::MassCancel(cancel) => request::encode_mass_cancel(out, cancel),
        Request::InstrumentState(set) => request::encode_instrument_state(out, set),
        Request::KillSwitch(kill) => request::encode_kill_switch(out, kill),
        Request::FeedReplay { from, count } => request::encode_feed_replay(out, *from, *count),
        Request::FeedSnapshot => request::encode_feed_snapshot(out),
        Request::StartFlow => request::encode_start_flow(out),
        Request::Describe => request::encode_describe(out),
    }
}

/// Both decoders of `BOOK` agree about what can be encoded.
fn level(data: &[u8]) {
    let decoded = decode_level(data);
    same_grammar(data, decoded.as_ref().err().map(|error| error.0));
    let Ok(Some(level)) = decoded else { return };
    let mut out = Vec::new();
    encode_level(&mut out, &level);
    assert_eq!(decode_level(&out).as_ref(), Ok(&Some(level.clone())));
    assert_eq!(decode_market_data(&out), Ok(MarketData::Level(level)));
}

/// Both decoders of `TOP` agree about what can be encoded.
fn top(data: &[u8]) {
    let decoded = decode_top(data);
    same_grammar(data, decoded.as_ref().err().map(|error| error.0));
    let Ok(Some(top)) = decoded else { return };
    let mut out = Vec::new();
    encode_top(&mut out, &top);
    assert_eq!(decode_top(&out).as_ref(), Ok(&Some(top.clone())));
    assert_eq!(decode_market_data(&out), Ok(MarketData::Top(top)));
}

/// A decoded message can be encoded again, and decodes to the same.
pub fn reply(data: &[u8]) {
    level(data);
    top(data);
    let decoded = decode_reply(data);
    let stamped = decode_stamped_reply(data);
    assert_eq!(decode_stamped_reply(&spaced(data)).ok(), stamped.ok());
    same_grammar(data, decoded.as_ref().err().map(|error| error.0));
    let Ok(decoded) = decoded else { return };
    let mut out = Vec::new();
    encode_reply(&mut out, &decoded);
    if !matches!(decoded, Reply::Other { .. }) {
        assert_eq!(decode_reply(&out).as_ref(), Ok(&decoded));
    }
}

/// Encodes any reply except [`Reply::Other`], which no exchange sends.
pub fn encode_reply(out: &mut Vec<u8>, reply: &Reply<'_>) {
    match reply {
        Reply::Authenticated => reply::encode_authenticated(out),
        Reply::Subscriptions(subscriptions) => reply::encode_subscriptions(out, subscriptions),
        Reply::Booked(booked) => reply::encode_booked(out, booked),
        Reply::Fill(fill) => reply::encode_fill(out, fill),
        Reply::Done(done) => reply::encode_done(out, done),
        Reply::Rejected(rejected) => reply::encode_rejected(out, rejected),
        Reply::Open(open) => reply::encode_open(out, open),
        Reply::Ended(ended) => reply::encode_ended(out, ended),
        Reply::Amended(amended) => reply::encode_amended(out, amended),
        Reply::Waiting(waiting) => reply::encode_waiting(out, waiting),
        Reply::Triggered(triggered) => reply::encode_triggered(out, triggered),
        Reply::Decremented(decremented) => reply::encode_decremented(out, decremented),
        Reply::MassCancelled(applied) => reply::encode_mass_cancelled(out, applied),
        Reply::Applied(applied) => reply::encode_applied(out, applied),
        Reply::Error { reason } => reply::encode_error(out, reason),
        Reply::Other { .. } => {}
    }
}

/// A head is complete at its last byte, not earlier, and does not depend on the bytes after it.
pub fn http_head(data: &[u8]) {
    if let Ok(Some(head)) = parse_head(data) {
        assert_eq!(parse_head(&data[..head.head_bytes]), Ok(Some(head)));
        for end in 0..head.head_bytes {
            assert_eq!(parse_head(&data[..end]), Ok(None), "at {end} of {}", head.head_bytes);
        }
    }
    let key = UpgradeKey::from_nonce([7; 16]);
    if let Ok(Some(head_bytes)) = check_upgrade_response(data, &key, &[]) {
        assert_eq!(check_upgrade_response(&data[..head_bytes], &key, &[]), Ok(Some(head_bytes)));
        for end in 0..head_bytes {
            assert_eq!(check_upgrade_response(&data[..end], &key, &[]), Ok(None));
        }
    }
}

//! Properties for any bytes. `any_bytes.rs` gets them from proptest, the targets in `fuzz/` from
//! libFuzzer.
#![allow(dead_code, reason = "each fuzz target uses one")]

use fix::dictionary::{Dictionary, Shapes};
use fix::encode::{Body, seal};
use fix::frame::{self, NextFrame};
use fix::hot::Report;
use fix::message::{Message, split};
use fix::session::{Event, Now, Role, Session, Settings};
use fix::store::{MemoryStore, Store};
use std::sync::{Arc, OnceLock};

pub fn dictionary() -> &'static Arc<Dictionary> {
    static DICTIONARY: OnceLock<Arc<Dictionary>> = OnceLock::new();
    DICTIONARY.get_or_init(|| Arc::new(Dictionary::tickpath()))
}

/// Framing skips or takes every byte, a message that is taken is made of its fields, and shapes of
/// earlier ones change neither its fields nor its fault.
pub fn tag_value(stream: &[u8]) {
    let dictionary = dictionary();
    let (mut at, mut fields) = (0, Vec::new());
    let (mut shapes, mut read) = (Shapes::default(), Vec::new());
    loop {
        match frame::next(&stream[at..]) {
            NextFrame::Incomplete => break,
            NextFrame::Garbled { bytes, .. } => {
                assert!(bytes > 0 && at + bytes <= stream.len());
                at += bytes;
            }
            NextFrame::Message { bytes, begin_string } => {
                at += bytes.len();
                let mut valid = split(bytes, |tag| dictionary.data_of(tag), &mut fields);
                if valid.is_ok() {
                    let message = Message::new(bytes, &fields);
                    made_of_its_fields(bytes, begin_string, message);
                    valid = dictionary.check(message);
                }
                assert_eq!(dictionary.read(bytes, &mut shapes, &mut read), valid);
                assert_eq!(read, fields);
            }
        }
    }
}

fn made_of_its_fields(bytes: &[u8], begin_string: &[u8], message: Message<'_>) {
    let mut joined = Vec::new();
    for field in message.fields() {
        joined.extend_from_slice(format!("{}=", field.tag).as_bytes());
        joined.extend_from_slice(message.value(*field));
        joined.push(fix::SOH);
    }
    assert_eq!(joined, bytes);
    assert_eq!(message.get(8), Some(begin_string));
    if let Some(report) = Report::of(bytes) {
        hot_is_slow(&report, message);
    }
}

/// A field that is read without a dictionary is the message's, unless the message has it twice.
fn hot_is_slow(report: &Report<'_>, message: Message<'_>) {
    let hot = [
        (8, report.header.begin_string),
        (35, report.header.msg_type),
        (49, report.header.sender),
        (56, report.header.target),
        (150, report.exec_type),
        (11, report.id),
        (41, report.original_id),
        (379, report.reference),
        (58, report.text),
    ];
    for (tag, value) in hot {
        if message.fields().iter().filter(|field| field.tag == tag).count() < 2 {
            assert_eq!(message.get(tag).unwrap_or_default(), value, "tag {tag}");
        }
    }
}

/// A dictionary loads or says why, and then checks a message.
pub fn loads_or_says_why(xml: &str) {
    match Dictionary::load(xml) {
        Ok(dictionary) => {
            let mut bytes = Vec::new();
            seal(&mut bytes, b"FIX.4.4", b"35=D\x0111=a\x01453=1\x01448=x\x01");
            let mut fields = Vec::new();
            if split(&bytes, |tag| dictionary.data_of(tag), &mut fields).is_ok() {
                let _ = dictionary.check(Message::new(&bytes, &fields));
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// A session that gets lines of bytes, as messages with a right length and sum unless a line begins
/// with `~`; `.` is a second that passes. It never panics, and all that it sends is whole.
pub fn session(stream: &[u8]) {
    let settings = Settings::new(Role::Acceptor, "US", "PEER");
    let mut session = Session::new(settings, Arc::clone(dictionary()), MemoryStore::default());
    let mut now = Now { steady_ns: 1, utc_ns: 1_700_000_000_000_000_000 };
    let mut out = Vec::new();
    session.connected(now, &mut out).expect("memory");
    for line in stream.split(|&byte| byte == b'\n') {
        let mut bytes = Vec::new();
        match line {
            [b'~', raw @ ..] => bytes.extend_from_slice(raw),
            [b'.', seconds @ ..] => {
                now.steady_ns += seconds.len() as u64 * 1_000_000_000;
                now.utc_ns += seconds.len() as u64 * 1_000_000_000;
            }
            body => seal(&mut bytes, b"FIX.4.4", &headed(body, now)),
        }
        if feed(&mut session, &bytes, now, &mut out) {
            break;
        }
    }
    is_whole(&out);
}

/// A line with a header after its first value, which is MsgType; `|` is the separator.
fn headed(line: &[u8], now: Now) -> Vec<u8> {
    let line: Vec<u8> =
        line.iter().map(|&byte| if byte == b'|' { fix::SOH } else { byte }).collect();
    let (kind, rest) = line.split_at(line.iter().position(|&b| b == fix::SOH).unwrap_or(0));
    let mut body = Vec::new();
    Body::new(&mut body).bytes(35, kind).text(49, "PEER").text(56, "US").time(52, now.utc_ns);
    body.extend_from_slice(rest.get(1..).unwrap_or_default());
    body
}

/// Returns whether the session has ended.
fn feed(session: &mut Session<MemoryStore>, mut bytes: &[u8], now: Now, out: &mut Vec<u8>) -> bool {
    loop {
        let n = session.receive(bytes);
        bytes = &bytes[n..];
        loop {
            match session.poll(now, out).expect("memory") {
                None => break,
                Some(Event::End(_)) => return true,
                Some(_) => {}
            }
        }
        assert!(session.store().next_in() >= 1);
        if bytes.is_empty() {
            return false;
        }
    }
}

fn is_whole(mut out: &[u8]) {
    let mut fields = Vec::new();
    while !out.is_empty() {
        let NextFrame::Message { bytes, .. } = frame::next(out) else { panic!("not a message") };
        split(bytes, |tag| dictionary().data_of(tag), &mut fields).expect("fields");
        out = &out[bytes.len()..];
    }
}

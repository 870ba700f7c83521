//! The table `session_cases.txt`, written from "FIX Session-level Test Cases and Expected
//! Behaviors" of FIX 4.4: given, received, expected.

use fix::dictionary::Dictionary;
use fix::encode::{Body, seal};
use fix::frame::{self, NextFrame};
use fix::message::{Message, split};
use fix::session::{Event, Now, Role, Session, Settings};
use fix::store::{MemoryStore, Store};
use fix::time::{TIMESTAMP_BYTES, put_timestamp};
use std::collections::VecDeque;
use std::sync::Arc;

const CASES: &str = include_str!("session_cases.txt");
const START_NS: u64 = 1_700_000_000_000_000_000;
const SECOND: u64 = 1_000_000_000;

/// Fields that stand in the header, in this order.
const HEADER: [u32; 10] = [35, 49, 56, 34, 43, 97, 52, 122, 115, 128];

struct Table {
    session: Session<MemoryStore>,
    dictionary: Arc<Dictionary>,
    now: Now,
    /// The peer's next number.
    peer_seq: u64,
    sent: VecDeque<Vec<u8>>,
    events: VecDeque<String>,
}

impl Table {
    /// `acceptor in=5 out=3`: logged on, with these next numbers. `acceptor connected`: not yet.
    fn new(given: &str) -> Table {
        let mut words = given.split_whitespace();
        let role = match words.next() {
            Some("acceptor") => Role::Acceptor,
            Some("initiator") => Role::Initiator,
            other => panic!("neither acceptor nor initiator: {other:?}"),
        };
        let dictionary = Arc::new(Dictionary::tickpath());
        let (mut is_active, mut store, mut resets) = (true, MemoryStore::default(), false);
        for word in words {
            match word.split_once('=') {
                Some(("in", n)) => {
                    store.set_next_in(n.parse::<u64>().expect("in") - 1).expect("set");
                }
                Some(("out", n)) => {
                    for _ in 2..n.parse::<u64>().expect("out") {
                        store.sent(b"").expect("a sent message");
                    }
                }
                None if word == "connected" => is_active = false,
                None if word == "resets" => resets = true,
                _ => panic!("unknown word {word}"),
            }
        }
        let peer_seq = store.next_in();
        let settings = Settings { resets_at_logon: resets, ..Settings::new(role, "US", "PEER") };
        let session = Session::new(settings, Arc::clone(&dictionary), store);
        let now = Now { steady_ns: SECOND, utc_ns: START_NS };
        let (sent, events) = (VecDeque::new(), VecDeque::new());
        let mut table = Table { session, dictionary, now, peer_seq, sent, events };
        table.connect();
        if is_active {
            table.received("35=A|98=0|108=30");
            table.sent.clear();
            assert_eq!(table.events.pop_front().as_deref(), Some("logged_on"), "{given}");
        }
        table
    }

    fn connect(&mut self) {
        let mut out = Vec::new();
        self.session.connected(self.now, &mut out).expect("a store that works");
        self.split_sent(&out);
    }

    fn received(&mut self, line: &str) {
        let (how, line) = match line.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
            Some((how, line)) => (how, line),
            None => ("", line),
        };
        let bytes = match how {
            "bytes" => line.replace('|', "\x01").into_bytes(),
            _ => self.message(how, line),
        };
        assert_eq!(self.session.receive(&bytes), bytes.len());
        self.poll();
    }

    fn message(&mut self, how: &str, line: &str) -> Vec<u8> {
        let pairs: Vec<(u32, String)> = line
            .split('|')
            .map(|pair| pair.split_once('=').expect("tag=value"))
            .map(|(tag, value)| (tag.parse().expect("a tag"), self.value(value)))
            .collect();
        let given = |tag| pairs.iter().find(|(t, _)| *t == tag).map(|(_, value)| value.clone());
        let seq = given(34).and_then(|seq| seq.parse().ok()).unwrap_or(self.peer_seq);
        self.peer_seq = self.peer_seq.max(seq + 1);
        let mut body = Vec::new();
        let mut fields = Body::new(&mut body);
        for tag in HEADER {
            let usual = match tag {
                49 => Some("PEER".to_owned()),
                56 => Some("US".to_owned()),
                34 => Some(seq.to_string()),
                52 => Some(self.value("@0")),
                _ => None,
            };
            if let Some(value) = given(tag).or(usual).filter(|value| value != "-") {
                fields.text(tag, &value);
            }
        }
        for (tag, value) in pairs.iter().filter(|(tag, _)| !HEADER.contains(tag)) {
            fields.text(*tag, value);
        }
        if how == "order" {
            body.rotate_left(5);
        }
        let mut bytes = Vec::new();
        let begin = how.strip_prefix("begin ").unwrap_or("FIX.4.4");
        seal(&mut bytes, begin.as_bytes(), &body);
        let end = bytes.len();
        match how {
            "sum" => bytes[end - 2] = if bytes[end - 2] == b'0' { b'1' } else { b'0' },
            "length" => bytes[13] = if bytes[13] == b'0' { b'1' } else { b'0' },
            _ => {}
        }
        bytes
    }

    /// `@-200` is the time 200 seconds ago.
    fn value(&self, text: &str) -> String {
        let Some(seconds) = text.strip_prefix('@') else { return text.to_owned() };
        let seconds: i64 = seconds.parse().expect("seconds");
        let mut time = [0; TIMESTAMP_BYTES];
        put_timestamp(&mut time, self.now.utc_ns.saturating_add_signed(seconds * SECOND as i64));
        String::from_utf8_lossy(&time).into_owned()
    }

    fn wait(&mut self, seconds: u64) {
        self.now.steady_ns += seconds * SECOND;
        self.now.utc_ns += seconds * SECOND;
        self.poll();
    }

    fn poll(&mut self) {
        let mut out = Vec::new();
        loop {
            match self.session.poll(self.now, &mut out).expect("a store that works") {
                None => break,
                Some(Event::LoggedOn) => self.events.push_back("logged_on".to_owned()),
                Some(Event::Application(message)) => {
                    let seq = message.number(34).expect("a number");
                    let kind = String::from_utf8_lossy(message.msg_type()).into_owned();
                    self.events.push_back(format!("application {kind} {seq}"));
                }
                Some(Event::Garbled(_)) => self.events.push_back("garbled".to_owned()),
                Some(Event::End(end)) => self.events.push_back(format!("end {end:?}")),
            }
        }
        self.split_sent(&out);
    }

    fn split_sent(&mut self, mut out: &[u8]) {
        while let NextFrame::Message { bytes, .. } = frame::next(out) {
            self.sent.push_back(bytes.to_vec());
            out = &out[bytes.len()..];
        }
        assert!(out.is_empty(), "half a message was sent");
    }

    fn expect_sent(&mut self, line: &str) {
        let bytes = self.sent.pop_front().unwrap_or_else(|| panic!("nothing was sent: {line}"));
        let mut fields = Vec::new();
        split(&bytes, |tag| self.dictionary.data_of(tag), &mut fields).expect("fields");
        let message = Message::new(&bytes, &fields);
        assert_eq!(self.dictionary.check(message), Ok(()), "{line}");
        for pair in line.split('|') {
            let (tag, value) = pair.split_once('=').expect("tag=value");
            let sent = message.text(tag.parse().expect("a tag"));
            let wanted = self.value(value);
            let wanted = (wanted != "-").then_some(wanted.as_str());
            let all = String::from_utf8_lossy(&bytes).replace('\x01', "|");
            assert_eq!(sent, wanted, "tag {tag}: wanted {line}, sent {all}");
        }
    }

    fn send(&mut self, line: &str) {
        let mut out = Vec::new();
        let mut pairs = line.split('|').map(|pair| pair.split_once('=').expect("tag=value"));
        let (_, msg_type) = pairs.next().expect("35");
        let fill = |body: &mut Body<'_>| {
            for (tag, value) in pairs {
                body.text(tag.parse().expect("a tag"), value);
            }
        };
        self.session.send(msg_type, self.now, &mut out, fill).expect("a store that works");
        self.split_sent(&out);
    }

    fn line(&mut self, line: &str) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        if matches!(word, "<" | "wait" | "send" | "connect") {
            assert!(self.sent.is_empty(), "sent, and not expected: {:?}", self.sent);
            assert!(self.events.is_empty(), "events that were not expected: {:?}", self.events);
        }
        match word {
            "<" => self.received(rest),
            ">" => self.expect_sent(rest),
            "!" => assert_eq!(self.events.pop_front().as_deref(), Some(rest), "the event"),
            "wait" => self.wait(rest.parse().expect("seconds")),
            "send" => self.send(rest),
            "disconnect" => self.session.disconnected(),
            "connect" => self.connect(),
            "logout" => {
                let mut out = Vec::new();
                self.session.log_out(rest, self.now, &mut out).expect("a store that works");
                self.split_sent(&out);
            }
            "=" => {
                let store = self.session.store();
                let numbers = format!("in={} out={}", store.next_in(), store.next_out());
                assert_eq!(numbers, rest, "the next numbers");
            }
            _ => panic!("unknown line {line}"),
        }
    }
}

#[test]
fn the_session_does_what_its_specification_says() {
    let mut cases = 0;
    for case in CASES.split("\n\n").map(str::trim) {
        let mut lines = case.lines().filter(|line| !line.starts_with("# "));
        let Some(title) = lines.next() else { continue };
        let run = || {
            let mut table = Table::new(lines.next().expect("what is given"));
            for line in lines {
                table.line(line);
            }
            assert!(table.sent.is_empty(), "sent, and not expected");
            assert!(table.events.is_empty(), "events not expected: {:?}", table.events);
        };
        let run = std::panic::AssertUnwindSafe(run);
        if let Err(panic) = std::panic::catch_unwind(run) {
            let why = panic.downcast_ref::<String>().cloned().unwrap_or_default();
            panic!("case {title}: {why}");
        }
        cases += 1;
    }
    assert!(cases >= 60, "only {cases} cases");
}

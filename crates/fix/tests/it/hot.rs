//! Hot messages among slow ones: the other side sees one session, and an order is never sent twice.

use fix::dictionary::Dictionary;
use fix::frame::{NextFrame, next};
use fix::hot::{Form, Header, Report};
use fix::session::{Event, Now, Role, Session, Settings};
use fix::store::{MemoryStore, Store};
use proptest::prelude::*;
use std::sync::Arc;

const NOW: Now = Now { steady_ns: 5, utc_ns: 1_790_000_000_000_000_000 };
const IDS: [u32; 1] = [379];

fn session(role: Role, sender: &str, target: &str) -> Session<MemoryStore> {
    let dictionary = Arc::new(Dictionary::tickpath());
    Session::new(Settings::new(role, sender, target), dictionary, MemoryStore::default())
}

/// Two sides that have logged on.
fn both() -> [Session<MemoryStore>; 2] {
    let mut sides = [session(Role::Initiator, "A", "B"), session(Role::Acceptor, "B", "A")];
    let mut outs = [Vec::new(), Vec::new()];
    for (side, out) in sides.iter_mut().zip(&mut outs) {
        side.connected(NOW, out).unwrap();
    }
    for (from, to) in [(0, 1), (1, 0)] {
        let bytes = std::mem::take(&mut outs[from]);
        sides[to].receive(&bytes);
        let event = sides[to].poll(NOW, &mut outs[to]).unwrap();
        assert!(matches!(event, Some(Event::LoggedOn)), "{event:?}");
    }
    sides
}

fn form(session: &Session<MemoryStore>) -> Form {
    let fill = |body: &mut fix::encode::Body<'_>| {
        body.text(372, "D").text(379, "0000").number(380, 0).text(58, "hot");
    };
    session.form("j", &IDS, fill).unwrap()
}

/// The messages of a stream.
fn messages(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut all = Vec::new();
    while let NextFrame::Message { bytes: message, .. } = next(bytes) {
        all.push(message);
        bytes = &bytes[message.len()..];
    }
    assert!(bytes.is_empty(), "{}", String::from_utf8_lossy(bytes));
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(64)))]
    /// One side sends both ways, and the other reads both ways: everything comes once, in order.
    #[test]
    fn hot_and_slow_messages_share_one_session(
        hot in prop::collection::vec(any::<bool>(), 1..60),
        reads_hot in prop::collection::vec(any::<bool>(), 1..7),
    ) {
        let [mut one, mut other] = both();
        let mut form = form(&one);
        let mut out = Vec::new();
        for (n, hot) in hot.iter().enumerate() {
            let id = format!("{n:04}");
            if *hot {
                let seq = one.sent_hot(NOW.steady_ns).unwrap();
                form.fill(&mut out, seq, NOW.utc_ns, &[id.as_bytes()]);
            } else {
                let fill = |body: &mut fix::encode::Body<'_>| {
                    body.text(372, "D").text(379, &id).number(380, 0).text(58, "hot");
                };
                one.send("j", NOW, &mut out, fill).unwrap();
            }
        }
        let (mut got, mut answers) = (Vec::new(), Vec::new());
        for (message, reads_hot) in messages(&out).iter().zip(reads_hot.iter().cycle()) {
            let report = Report::of(message).unwrap();
            if *reads_hot && other.take_hot(&report.header, 9).unwrap() {
                got.push(String::from_utf8_lossy(report.reference).into_owned());
                continue;
            }
            other.receive(message);
            while let Some(event) = other.poll(NOW, &mut answers).unwrap() {
                let Event::Application(message) = event else { panic!("{event:?}") };
                got.push(message.text(379).unwrap().to_owned());
            }
        }
        let wanted: Vec<String> = (0..hot.len()).map(|n| format!("{n:04}")).collect();
        prop_assert_eq!(got, wanted);
        prop_assert!(answers.is_empty());
        prop_assert_eq!(other.store().next_in(), one.store().next_out());
    }
}

/// After a gap the session requests what is missing. A hot message is not sent again, and a message
/// that comes twice is not taken twice.
#[test]
fn a_lost_hot_message_is_filled_as_a_gap() {
    let [mut one, mut other] = both();
    let mut form = form(&one);
    let (mut first, mut out) = (Vec::new(), Vec::new());
    let mut send = |one: &mut Session<MemoryStore>, out: &mut Vec<u8>| {
        let seq = one.sent_hot(NOW.steady_ns).unwrap();
        form.fill(out, seq, NOW.utc_ns, &[b"0001"]);
    };
    send(&mut one, &mut Vec::new());
    send(&mut one, &mut first);
    assert!(!other.take_hot(&Header::of(&first).unwrap(), 0).unwrap(), "one is missing");
    other.receive(&first);
    assert!(other.poll(NOW, &mut out).unwrap().is_none());
    one.receive(&out);
    let mut answer = Vec::new();
    assert!(one.poll(NOW, &mut answer).unwrap().is_none());
    let [gap_fill] = messages(&answer)[..] else { panic!("one gap fill") };
    assert!(String::from_utf8_lossy(gap_fill).contains("\x0135=4\x01"));
    other.receive(&answer);
    assert!(other.poll(NOW, &mut out).unwrap().is_none());
    let mut next = Vec::new();
    send(&mut one, &mut next);
    let report = Header::of(&next).unwrap();
    assert!(other.take_hot(&report, 0).unwrap());
    assert!(!other.take_hot(&report, 0).unwrap(), "its number has come");
}

#[test]
fn a_message_of_another_session_or_a_duplicate_is_left_to_the_session() {
    let [one, mut other] = both();
    let mut form = form(&one);
    let mut bytes = Vec::new();
    form.fill(&mut bytes, 2, NOW.utc_ns, &[b"0001"]);
    let fine = Header::of(&bytes).unwrap();
    for header in [
        Header { sender: b"X", ..fine },
        Header { target: b"X", ..fine },
        Header { begin_string: b"FIX.4.2", ..fine },
        Header { is_poss_dup: true, ..fine },
        Header { seq: 3, ..fine },
    ] {
        assert!(!other.take_hot(&header, 0).unwrap(), "{header:?}");
    }
    // Half a message waits in the session.
    other.receive(b"8=FIX");
    assert!(!other.take_hot(&fine, 0).unwrap());
}

/// The first order of a shape makes room, and the next ones use it.
#[test]
fn orders_of_one_shape_are_taken_without_an_allocation() {
    let [mut client, mut exchange] = both();
    let fill = |body: &mut fix::encode::Body<'_>| {
        body.text(11, "0000").text(55, "BTC_USDT").char(54, '1').time(60, NOW.utc_ns);
        body.text(38, "1").char(40, '2').text(44, "100.25");
    };
    let mut form = client.form("D", &[11], fill).unwrap();
    let (mut stream, mut out) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        let seq = client.sent_hot(NOW.steady_ns).unwrap();
        form.fill(&mut stream, seq, NOW.utc_ns, &[b"0001"]);
    }
    let calls = messages(&stream).into_iter().map(|message| {
        let before = counting::calls();
        exchange.receive(message);
        let event = exchange.poll(NOW, &mut out).unwrap();
        assert!(matches!(event, Some(Event::Application(_))), "{event:?}");
        counting::calls() - before
    });
    let calls: Vec<u64> = calls.collect();
    assert!(calls[0] > 0 && calls[1..].iter().all(|calls| *calls == 0), "{calls:?}");
}

//! The cost of a message of the measured path, in parts: an order that a client fills into a form
//! and the exchange's session takes, and the report about it that the client takes.
//!
//! `cargo bench -p fix` prints nanoseconds per message; `cargo test --benches` only checks that
//! each message is taken. The work of the exchange behind its session is not measured here.

use clock::Clock;
use fix::dictionary::{Dictionary, Shapes};
use fix::encode::Body;
use fix::frame::{self, NextFrame};
use fix::hot::{Form, Report};
use fix::message::{Message, split};
use fix::session::{Event, Now, Role, Session, Settings};
use fix::store::MemoryStore;
use stats::median;
use std::hint::black_box;
use std::sync::Arc;

/// Messages between two readings of the clock.
const BATCH: u64 = 64;
/// Number of timed batches of each part.
const REPEATS: usize = 301;
const NOW: Now = Now { steady_ns: 5, utc_ns: 1_790_000_000_000_000_000 };
/// As long as those of a load.
const ID: &str = "0a1b2c3d-0000-4000-8000-00000000002a";

fn main() {
    // Cargo passes `--bench` if it wants times.
    let is_timed = std::env::args().any(|argument| argument == "--bench");
    let mut parts = Parts { clock: Clock::calibrate(), of_part: Vec::new() };
    let dictionary = Arc::new(Dictionary::tickpath());
    let [mut client, mut exchange] = both(&dictionary);
    let mut form = order(&client);
    for _ in 0..if is_timed { REPEATS } else { 1 } {
        let orders = orders(&mut parts, &mut client, &mut form);
        taken(&mut parts, &dictionary, &mut exchange, &orders);
        reports(&mut parts, &mut client, &mut exchange);
    }
    for (name, mut picoseconds) in parts.of_part.into_iter().filter(|_| is_timed) {
        picoseconds.sort_unstable();
        println!("{name:<36} {:>7.1} ns", median(&picoseconds).unwrap_or(0) as f64 / 1e3);
    }
}

/// Picoseconds per message of each batch, by part.
struct Parts {
    clock: Clock,
    of_part: Vec<(&'static str, Vec<u64>)>,
}

impl Parts {
    fn time(&mut self, name: &'static str, batch: impl FnOnce()) {
        let start_ns = self.clock.now_ns();
        batch();
        let picoseconds = (self.clock.now_ns() - start_ns) * 1000 / BATCH;
        match self.of_part.iter_mut().find(|(it, _)| *it == name) {
            Some((_, times)) => times.push(picoseconds),
            None => self.of_part.push((name, vec![picoseconds])),
        }
    }
}

/// The client and the exchange, logged on.
fn both(dictionary: &Arc<Dictionary>) -> [Session<MemoryStore>; 2] {
    let names = ["TRADER-3001", "TICKPATH"];
    let mut sides = [(Role::Initiator, names[0], names[1]), (Role::Acceptor, names[1], names[0])]
        .map(|(role, ours, theirs)| {
            let settings = Settings::new(role, ours, theirs);
            Session::new(settings, Arc::clone(dictionary), MemoryStore::default())
        });
    let mut outs = [Vec::new(), Vec::new()];
    for (side, out) in sides.iter_mut().zip(&mut outs) {
        side.connected(NOW, out).expect("memory");
    }
    for (from, to) in [(0, 1), (1, 0)] {
        let bytes = std::mem::take(&mut outs[from]);
        sides[to].receive(&bytes);
        let event = sides[to].poll(NOW, &mut outs[to]).expect("memory");
        assert!(matches!(event, Some(Event::LoggedOn)), "{event:?}");
    }
    sides
}

fn order(client: &Session<MemoryStore>) -> Form {
    let fill = |body: &mut Body<'_>| {
        body.text(11, ID).text(55, "BTC_USDT").char(54, '1').time(60, NOW.utc_ns);
        body.text(38, "1").char(40, '2').text(44, "100.25");
    };
    client.form("D", &[11], fill).expect("a form")
}

/// A batch of orders.
fn orders(parts: &mut Parts, client: &mut Session<MemoryStore>, form: &mut Form) -> Vec<u8> {
    let mut out = Vec::with_capacity(1 << 16);
    parts.time("order: fill the form", || {
        for _ in 0..BATCH {
            let seq = client.sent_hot(NOW.steady_ns).expect("memory");
            form.fill(&mut out, seq, NOW.utc_ns, &[black_box(ID.as_bytes())]);
        }
    });
    out
}

/// The messages of a batch.
fn messages(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut all = Vec::new();
    while let NextFrame::Message { bytes: message, .. } = frame::next(black_box(bytes)) {
        all.push(message);
        bytes = &bytes[message.len()..];
    }
    assert_eq!(all.len() as u64, BATCH);
    all
}

fn framed(messages: &[&[u8]]) {
    for message in messages {
        black_box(frame::next(black_box(message)));
    }
}

/// The exchange's session takes them, as the reads of a client that waits for each report.
fn taken(
    parts: &mut Parts,
    dictionary: &Dictionary,
    exchange: &mut Session<MemoryStore>,
    bytes: &[u8],
) {
    let messages = messages(bytes);
    let mut fields: Vec<_> = messages.iter().map(|_| Vec::with_capacity(32)).collect();
    parts.time("order: frame", || framed(&messages));
    parts.time("order: split", || {
        for (message, fields) in messages.iter().zip(&mut fields) {
            split(black_box(message), |tag| dictionary.data_of(tag), fields).expect("fields");
        }
    });
    parts.time("order: check", || {
        for (message, fields) in messages.iter().zip(&fields) {
            dictionary.check(black_box(Message::new(message, fields))).expect("valid");
        }
    });
    let mut shapes = Shapes::default();
    dictionary.read(messages[0], &mut shapes, &mut fields[0]).expect("valid");
    parts.time("order: split and check by its shape", || {
        for (message, fields) in messages.iter().zip(&mut fields) {
            dictionary.read(black_box(message), &mut shapes, fields).expect("valid");
        }
    });
    parts.time("order: all that its session does", || {
        for message in &messages {
            exchange.receive(message);
            let event = exchange.poll(NOW, &mut Vec::new()).expect("memory");
            assert!(matches!(event, Some(Event::Application(_))), "{event:?}");
            assert!(exchange.poll(NOW, &mut Vec::new()).expect("memory").is_none());
        }
    });
}

/// The exchange reports each order, and the client takes the reports.
fn reports(
    parts: &mut Parts,
    client: &mut Session<MemoryStore>,
    exchange: &mut Session<MemoryStore>,
) {
    let mut out = Vec::with_capacity(1 << 16);
    let order_id = "00000000-0000-0000-0000-00000000002a";
    parts.time("report: write and keep in memory", || {
        for _ in 0..BATCH {
            let fill = |body: &mut Body<'_>| {
                body.text(37, order_id).text(11, ID).text(17, "1790000000000-42");
                body.char(150, '0').char(39, '0').text(1, "3001").text(55, "BTC_USDT");
                body.char(54, '1').text(38, "1").char(40, '2').text(44, "100.25").text(151, "1");
                body.number(14, 0).number(6, 0).time(60, NOW.utc_ns);
            };
            exchange.send("8", NOW, &mut out, fill).expect("memory");
        }
    });
    let messages = messages(&out);
    parts.time("report: frame", || framed(&messages));
    parts.time("report: read its fields", || {
        for message in &messages {
            black_box(Report::of(black_box(message)).expect("a report"));
        }
    });
    parts.time("report: all that its client does", || {
        for message in &messages {
            let framed = frame::next(black_box(message));
            assert!(matches!(framed, NextFrame::Message { .. }));
            let report = Report::of(message).expect("a report");
            assert!(client.take_hot(&report.header, 9).expect("memory"));
            black_box(report);
        }
    });
}

//! The trader's side of a session against an acceptor in memory.

use super::*;
use crate::load::session::Reply;
use crate::session::fix::EXCHANGE_COMP_ID;
use fix::session::{Event, Now, Role, Settings};
use plan::process::orders::Wire;
use plan::tables::load::Load;
use std::io::{Read, Write};
use std::time::Duration;

const SECOND_NS: u64 = 1_000_000_000;

/// An acceptor, as a stream.
struct Acceptor {
    session: Session<MemoryStore>,
    clock: Clock,
    /// On the way to the trader.
    out: Vec<u8>,
    /// The messages of the application, with `|` between fields.
    orders: Vec<String>,
    logged_out: bool,
    /// It sends a test request right behind its Logon.
    greets: bool,
}

impl Acceptor {
    fn new(clock: Clock, trader: &str) -> Acceptor {
        let settings = Settings::new(Role::Acceptor, EXCHANGE_COMP_ID, trader);
        let dictionary = Arc::new(Dictionary::tickpath());
        let mut session = Session::new(settings, dictionary, MemoryStore::default());
        let mut out = Vec::new();
        session.connected(Acceptor::now(clock), &mut out).unwrap();
        Acceptor { session, clock, out, orders: Vec::new(), logged_out: false, greets: false }
    }

    fn now(clock: Clock) -> Now {
        Now { steady_ns: clock.now_ns(), utc_ns: clock::steady_wall_ns() }
    }

    fn send(&mut self, msg_type: &str, fields: &[(u32, &str)]) {
        let now = Acceptor::now(self.clock);
        let fill = |body: &mut Body<'_>| {
            for (tag, value) in fields {
                body.text(*tag, value);
            }
        };
        self.session.send(msg_type, now, &mut self.out, fill).unwrap();
    }
}

impl Write for Acceptor {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let now = Acceptor::now(self.clock);
        assert_eq!(self.session.receive(bytes), bytes.len());
        let mut greets = false;
        while let Some(event) = self.session.poll(now, &mut self.out).unwrap() {
            match event {
                Event::LoggedOn => greets = self.greets,
                Event::Application(message) => {
                    let text = String::from_utf8(message.bytes().to_vec()).unwrap();
                    self.orders.push(text.replace('\x01', "|"));
                }
                Event::End(_) => self.logged_out = true,
                Event::Garbled(why) => panic!("garbled: {why}"),
            }
        }
        if greets {
            self.send("1", &[(112, "at once")]);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Acceptor {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = into.len().min(self.out.len());
        into[..n].copy_from_slice(&self.out[..n]);
        self.out.drain(..n);
        Ok(n)
    }
}

impl Blocking for Acceptor {
    fn set_patience(&mut self, _: Duration) -> io::Result<()> {
        Ok(())
    }

    fn is_secure(&self) -> bool {
        false
    }
}

fn plan() -> OrdersPlan {
    OrdersPlan {
        subject: "t".into(),
        target: String::new(),
        wire: Wire::Fix,
        backend: "block".into(),
        queue: Default::default(),
        core: None,
        scheduling: host::Scheduling::Other,
        load: Load { accounts: 1, connections: 1, first_token: 7, ..Load::default() },
        warm_up_seconds: 0.0,
        seconds: 1.0,
        tls: None,
        inject: Default::default(),
        bulk: None,
        exchange_process: None,
        silence_ms_max: None,
        hlog: String::new(),
        progress: false,
    }
}

/// A trader that has logged on.
fn logged_on() -> (Fix, Acceptor) {
    let clock = Clock::calibrate();
    let mut fix = Fix::new(&plan(), clock).unwrap();
    let mut acceptor = Acceptor::new(clock, "TRADER-7");
    fix.log_on(0, &mut acceptor, &[0]).unwrap();
    assert!(acceptor.session.is_active());
    (fix, acceptor)
}

/// Delivers the messages of the acceptor; the replies.
fn arrive(fix: &mut Fix, acceptor: &mut Acceptor, stamp_ns: u64) -> Result<Vec<Reply>, String> {
    let (mut replies, mut out) = (Vec::new(), Vec::new());
    let n = acceptor.read(fix.space(0)).unwrap();
    fix.filled(0, n, stamp_ns);
    while let Some(received) = fix.next(0, &mut out)? {
        assert_eq!(received.first_byte_ns, stamp_ns);
        replies.push(received.reply);
    }
    acceptor.write_all(&out).unwrap();
    Ok(replies)
}

fn value<'a>(message: &'a str, tag: &str) -> &'a str {
    let field = message.split('|').find_map(|field| field.strip_prefix(tag)?.strip_prefix('='));
    field.unwrap_or_else(|| panic!("no {tag} in {message}"))
}

#[test]
fn an_order_and_its_cancel_are_acknowledged() {
    let (mut fix, mut acceptor) = logged_on();
    let mut out = Vec::new();
    fix.encode(LoadMessage::Order, 41, 0, &mut out);
    fix.encode(LoadMessage::Cancel, 41, 0, &mut out);
    acceptor.write_all(&out).unwrap();
    let [order, cancel] = &acceptor.orders.clone()[..] else { panic!("{:?}", acceptor.orders) };
    assert_eq!((value(order, "35"), value(order, "34")), ("D", "2"));
    assert_eq!((value(cancel, "35"), value(cancel, "34")), ("F", "3"));
    let id = value(order, "11");
    assert_eq!(value(cancel, "41"), id);
    assert_ne!(value(cancel, "11"), id);
    let same = [(55, "BTC_USDT"), (54, "1"), (151, "1"), (14, "0"), (6, "0"), (37, "9")];
    let report = |fields: &[(u32, &'static str)]| [fields, &same].concat();
    let pending = [report(&[(17, "1"), (150, "A"), (39, "A")]), vec![(11, id)]].concat();
    let booked = [report(&[(17, "2"), (150, "0"), (39, "0")]), vec![(11, id)]].concat();
    let both = vec![(11, value(cancel, "11")), (41, id)];
    let cancelled = [report(&[(17, "3"), (150, "4"), (39, "4")]), both.clone()].concat();
    for fields in [&pending, &booked, &cancelled] {
        acceptor.send("8", fields);
    }
    let too_late = [vec![(37, "NONE"), (39, "8"), (434, "1"), (58, "it has ended")], both].concat();
    acceptor.send("9", &too_late);
    let fields = [(372, "F"), (379, value(cancel, "11")), (380, "0"), (58, "closed")];
    acceptor.send("j", &fields);
    let replies = arrive(&mut fix, &mut acceptor, 5).unwrap();
    let acks = [Reply::Ack(LoadMessage::Order, 41), Reply::Ack(LoadMessage::Cancel, 41)];
    let rejected = [Reply::Rejected(41), Reply::Rejected(41)];
    assert_eq!(replies, [&[Reply::Aside][..], &acks, &rejected].concat());
    assert_eq!(fix.first_complaint(), Some("rejected: it has ended"));
}

#[test]
fn a_report_about_another_order_is_unexpected() {
    let (mut fix, mut acceptor) = logged_on();
    let fields = [(37, "9"), (11, "stranger"), (17, "1"), (150, "0"), (39, "0"), (55, "X")];
    acceptor.send("8", &[&fields[..], &[(54, "1"), (151, "1"), (14, "0"), (6, "0")]].concat());
    assert_eq!(arrive(&mut fix, &mut acceptor, 5), Ok(vec![Reply::Unexpected]));
    let why = fix.first_complaint().unwrap();
    assert!(why.contains("stranger") && why.contains("not about an order of ours"), "{why}");
}

/// The client once took a message with a wrong CheckSum if its header was plain: the report of
/// another order, or with another price, would have counted.
#[test]
fn a_garbled_report_is_not_taken_and_is_sent_again() {
    let (mut fix, mut acceptor) = logged_on();
    let mut out = Vec::new();
    fix.encode(LoadMessage::Order, 41, 0, &mut out);
    acceptor.write_all(&out).unwrap();
    let order = acceptor.orders[0].clone();
    let same = [(55, "BTC_USDT"), (54, "1"), (151, "1"), (14, "0"), (6, "0"), (37, "9")];
    let booked = [(11, value(&order, "11")), (17, "1"), (150, "0"), (39, "0")];
    acceptor.send("8", &[&booked[..], &same].concat());
    // OrderID is before the last separator and the trailer.
    let at = acceptor.out.len() - "\x0110=000\x01".len() - 1;
    assert_eq!(acceptor.out[at], b'9');
    acceptor.out[at] = b'8';
    assert_eq!(arrive(&mut fix, &mut acceptor, 5), Ok(vec![Reply::Unexpected]));
    let why = fix.first_complaint().unwrap();
    assert!(why.starts_with("CheckSum (10) is"), "{why}");
    // The next message shows the gap: the session requests both, and the report comes whole.
    acceptor.send("1", &[(112, "hello")]);
    assert_eq!(arrive(&mut fix, &mut acceptor, 6), Ok(vec![Reply::Aside]));
    let again = arrive(&mut fix, &mut acceptor, 7).unwrap();
    assert_eq!(again[0], Reply::Ack(LoadMessage::Order, 41), "{again:?}");
}

/// The acceptor's test request is answered, ours asks a silent acceptor, and one that stays silent
/// ends the session.
#[test]
fn heartbeats_and_test_requests_keep_a_session_alive() {
    let (mut fix, mut acceptor) = logged_on();
    acceptor.send("1", &[(112, "hello")]);
    let start_ns = fix.times.now().steady_ns;
    let (mut out, mut sent) = (Vec::new(), Vec::new());
    let n = acceptor.read(fix.space(0)).unwrap();
    fix.filled(0, n, start_ns);
    while fix.next(0, &mut sent).unwrap().is_some() {}
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace('\x01', "|");
    assert!(text(&sent).contains("|35=0|") && text(&sent).contains("|112=hello|"));
    fix.keep_alive(0, start_ns + 29 * SECOND_NS, &mut out).unwrap();
    assert_eq!(text(&out), "", "nothing is due");
    fix.keep_alive(0, start_ns + 31 * SECOND_NS, &mut out).unwrap();
    assert!(text(&out).contains("|35=0|"), "{}", text(&out));
    out.clear();
    fix.keep_alive(0, start_ns + 37 * SECOND_NS, &mut out).unwrap();
    assert!(text(&out).contains("|35=1|"), "{}", text(&out));
    let why = fix.keep_alive(0, start_ns + 80 * SECOND_NS, &mut out).unwrap_err();
    assert!(why.starts_with("the session of FIX has ended"), "{why}");
}

/// QuickFIX/J does so, and one read brings both. The client once took the message for an hour old.
#[test]
fn a_message_that_comes_with_the_logon_is_in_time() {
    let clock = Clock::calibrate();
    let mut fix = Fix::new(&plan(), clock).unwrap();
    let mut acceptor = Acceptor { greets: true, ..Acceptor::new(clock, "TRADER-7") };
    fix.log_on(0, &mut acceptor, &[0]).unwrap();
    let mut out = Vec::new();
    let received = fix.next(0, &mut out).unwrap().map(|received| received.reply);
    assert_eq!(received, Some(Reply::Aside));
    let answer = String::from_utf8_lossy(&out).replace('\x01', "|");
    assert!(answer.contains("|35=0|") && answer.contains("|112=at once|"), "{answer}");
}

#[test]
fn the_exchange_logs_out_with_its_reason_and_answers_ours() {
    let (mut fix, mut acceptor) = logged_on();
    let now = Acceptor::now(acceptor.clock);
    acceptor.session.log_out("we close", now, &mut acceptor.out).unwrap();
    let why = arrive(&mut fix, &mut acceptor, 5).unwrap_err();
    assert_eq!(why, "the exchange logged out: we close");
    let (mut fix, mut acceptor) = logged_on();
    let mut out = Vec::new();
    fix.log_off(0, fix.times.now().steady_ns, &mut out);
    acceptor.write_all(&out).unwrap();
    assert!(acceptor.logged_out);
    assert!(arrive(&mut fix, &mut acceptor, 5).unwrap_err().contains("ended"));
}

#[test]
fn a_logon_says_who_we_are_and_what_went_wrong() {
    let clock = Clock::calibrate();
    let mut fix = Fix::new(&plan(), clock).unwrap();
    let mut other = Acceptor::new(clock, "SOMEBODY");
    let error = fix.log_on(0, &mut other, &[0]).unwrap_err().to_string();
    assert!(error.contains("without an answer to the Logon"), "{error}");
    let error = fix.log_on(0, &mut other, &[0, 1]).unwrap_err().to_string();
    assert!(error.contains("load.connections = load.accounts"), "{error}");
}

//! A cluster's member that is killed anywhere, and gets the cluster's log again from its last
//! snapshot, an earlier one, or the start. It replies as one that was never killed, and its copy is
//! the same.

use crate::session::{content, name};
use journal::{CONTENT_BYTES, LogName, Options, Tail};
use proptest::prelude::*;
use replica::frame::{Frame, Frames, Hello};
use replica::member::Member;
use replica::term::{self, Term};
use std::path::Path;

fn options() -> Options {
    Options { segment_bytes: 1 << 12, reserve_inputs: 10, ..Options::default() }
}

/// A message of the cluster's log.
#[derive(Clone, Debug)]
struct Message {
    connection: u64,
    at: u64,
    bytes: Vec<u8>,
}

/// The effect of a message on a member.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    reply: Vec<u8>,
    followed: u64,
    next: u64,
    term: u64,
}

fn take(member: &mut Member, message: &Message) -> Outcome {
    member.receive(message.connection, message.at, &message.bytes).unwrap();
    let reply = member.output().to_vec();
    let (followed, next) = (member.followed(), member.next_sequence());
    Outcome { reply, followed, next, term: member.term() }
}

/// The next event in a log.
#[derive(Clone, Debug)]
enum Step {
    /// The exchange connects.
    Connect,
    /// It has this many more records, and another account if this is true; all that is written goes
    /// in pieces of this many bytes.
    Send(u64, bool, usize),
    /// Some bytes of what follows are damaged.
    Damage,
    /// A piece of an earlier connection arrives late.
    Late,
    /// A copy is promoted.
    Promote,
    /// The exchange before the promoted one connects.
    Old,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => Just(Step::Connect),
        8 => (0..40_u64, any::<bool>(), 1..4000_usize)
            .prop_map(|(records, account, piece)| Step::Send(records, account, piece)),
        1 => Just(Step::Damage),
        1 => Just(Step::Late),
        1 => Just(Step::Promote),
        1 => Just(Step::Old),
    ]
}

/// An exchange, its connection, and the log of the cluster that it causes.
struct Writer {
    log: LogName,
    terms: Vec<Term>,
    records: Vec<[u8; CONTENT_BYTES]>,
    register: Vec<u8>,
    connection: u64,
    /// Bytes of the connection's stream.
    sent: u64,
    /// The next record to send, and how much of the register was sent.
    next: u64,
    registered: usize,
    is_damaged: bool,
    messages: Vec<Message>,
    outcomes: Vec<Outcome>,
    saved: Vec<Vec<u8>>,
}

impl Writer {
    fn new() -> Writer {
        Writer {
            log: name(),
            terms: vec![Term { term: 1, primary: 7, first: 0 }],
            records: Vec::new(),
            register: b"{}\n".to_vec(),
            connection: 0,
            sent: 0,
            next: 0,
            registered: 0,
            is_damaged: false,
            messages: Vec::new(),
            outcomes: Vec::new(),
            saved: Vec::new(),
        }
    }

    fn give(&mut self, member: &mut Member, message: Message) {
        member.save().unwrap();
        self.saved.push(member.output().to_vec());
        self.outcomes.push(take(member, &message));
        self.messages.push(message);
    }

    fn hello(&mut self, member: &mut Member, terms: Vec<Term>) {
        self.connection += 1;
        let written = self.records.len() as u64;
        let hello = Hello { silence_ms: 100, is_sync: true, written, log: self.log, terms };
        let mut bytes = Vec::new();
        Frame::Hello(hello).encode(&mut bytes);
        (self.sent, self.registered) = (bytes.len() as u64, 0);
        self.give(member, Message { connection: self.connection, at: 0, bytes });
        self.next = member.next_sequence();
    }

    fn send(&mut self, member: &mut Member, piece: usize) {
        let mut bytes = Vec::new();
        let (offset, rest) = (self.registered as u64, &self.register[self.registered..]);
        if !rest.is_empty() {
            Frame::Register { offset, is_whole: true, bytes: rest }.encode(&mut bytes);
            self.registered = self.register.len();
        }
        let contents = &self.records[self.next as usize..];
        let first = self.next;
        match contents.is_empty() {
            true => Frame::Heartbeat.encode(&mut bytes),
            false => Frame::Records { first, contents }.encode(&mut bytes),
        }
        self.next = self.records.len() as u64;
        if std::mem::take(&mut self.is_damaged) {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
        }
        for piece in bytes.chunks(piece) {
            let (connection, at) = (self.connection, self.sent);
            self.sent += piece.len() as u64;
            self.give(member, Message { connection, at, bytes: piece.to_vec() });
        }
    }

    fn step(&mut self, member: &mut Member, step: &Step) {
        match *step {
            Step::Connect => self.hello(member, self.terms.clone()),
            Step::Send(records, account, piece) => {
                let first = self.records.len() as u64;
                self.records.extend((first..first + records).map(|id| content(id + 1)));
                if account {
                    self.register
                        .extend_from_slice(format!("{{\"account\":{first}}}\n").as_bytes());
                }
                self.send(member, piece);
            }
            Step::Damage => self.is_damaged = true,
            Step::Late => {
                if let Some(message) = self.messages.first().cloned() {
                    self.give(member, message);
                }
            }
            Step::Promote => {
                self.records.truncate(member.next_sequence() as usize);
                let (first, last) = (self.records.len() as u64, self.terms.len() as u64);
                self.terms.push(Term { term: last + 1, primary: last, first });
                self.register = format!("{{\"promoted\":{last}}}\n").into_bytes();
                self.hello(member, self.terms.clone());
            }
            Step::Old => {
                let earlier = &self.terms[..(self.terms.len() - 1).max(1)];
                self.hello(member, earlier.to_vec());
            }
        }
    }
}

/// The contents of a copy, with the register and the terms.
fn copy(path: &Path, records: u64) -> (Vec<u8>, Option<Vec<u8>>, Vec<Term>) {
    let mut contents = Vec::new();
    if records > 0 {
        let mut tail = Tail::open(path, 0).unwrap();
        while tail.next_sequence() < records {
            tail.read(records, 1000, &mut contents).unwrap();
        }
    }
    (contents, std::fs::read(path.join("register")).ok(), term::read(path).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(64)))]

    #[test]
    fn a_killed_member_replies_and_copies_as_one_that_was_not(
        steps in prop::collection::vec(step(), 1..25),
        kills in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..5),
    ) {
        let place = tempfile::tempdir().unwrap();
        let (steady, killed) = (place.path().join("steady"), place.path().join("killed"));
        let mut writer = Writer::new();
        let mut member = Member::open(&steady, options()).unwrap();
        writer.step(&mut member, &Step::Connect);
        steps.iter().for_each(|step| writer.step(&mut member, step));
        let Writer { messages, outcomes, saved, .. } = writer;

        let (mut from, mut reached) = (0, 0);
        let ends = kills.iter().map(|(end, _)| end.index(messages.len()) + 1);
        let ends: Vec<usize> = ends.chain([messages.len()]).collect();
        let mut kills = kills.iter();
        for end in ends {
            // From the start without a snapshot.
            let mut again = match from {
                0 => Member::open(&killed, options()).unwrap(),
                from => Member::restore(&killed, options(), &saved[from]).unwrap(),
            };
            let had = term::read(&killed).unwrap().len();
            for index in from..end.max(from) {
                again.save().unwrap();
                prop_assert_eq!(again.output(), &saved[index][..], "before message {}", index);
                prop_assert_eq!(&take(&mut again, &messages[index]), &outcomes[index]);
                prop_assert!(term::read(&killed).unwrap().len() >= had, "terms are set back");
            }
            drop(again);
            reached = reached.max(end);
            from = kills.next().map_or(0, |(_, from)| from.index(reached));
        }
        let records = member.next_sequence();
        drop(member);
        prop_assert_eq!(copy(&killed, records), copy(&steady, records));
    }
}

/// A member with three records in its copy, and its snapshot.
fn with_records(path: &Path) -> (Writer, Vec<u8>) {
    let mut writer = Writer::new();
    let mut member = Member::open(path, options()).unwrap();
    writer.step(&mut member, &Step::Connect);
    writer.step(&mut member, &Step::Send(3, false, 1000));
    member.save().unwrap();
    let saved = member.output().to_vec();
    (writer, saved)
}

/// The directory of another cluster, of an earlier moment, or none at all.
#[test]
fn a_directory_that_is_not_the_members_own_is_rejected() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a");
    let (writer, saved) = with_records(&path);
    let error = Member::restore(&place.path().join("none"), options(), &saved).err().unwrap();
    assert!(error.to_string().contains("with an empty directory"), "{error}");
    let error = Member::restore(&path, options(), &saved[..saved.len() - 1]).err().unwrap();
    assert!(error.to_string().contains("checksum"), "{error}");

    // Another cluster's log has other records in their place.
    let mut other = Writer { log: writer.log, ..Writer::new() };
    other.records = vec![content(77)];
    let mut first = Member::open(&place.path().join("b"), options()).unwrap();
    other.step(&mut first, &Step::Connect);
    other.step(&mut first, &Step::Send(0, false, 1000));
    let mut wrong = Member::open(&path, options()).unwrap();
    let given = |message: &Message| wrong.receive(message.connection, message.at, &message.bytes);
    let error = other.messages.iter().map(given).find_map(Result::err).unwrap();
    assert!(error.to_string().contains("record 0 of the copy"), "{error}");
}

/// A connection goes on only without a gap, and an older one never again.
#[test]
fn pieces_that_are_not_of_the_followed_connection_are_dropped() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a");
    let (mut writer, saved) = with_records(&path);
    let mut member = Member::restore(&path, options(), &saved).unwrap();
    let gap = Message { connection: 1, at: writer.sent + 1, bytes: vec![0] };
    let dropped = |followed| Outcome { reply: Vec::new(), followed, next: 3, term: 1 };
    assert_eq!(take(&mut member, &gap), dropped(0));
    assert_eq!(take(&mut member, &writer.messages[0]), dropped(0), "it was followed before");
    writer.step(&mut member, &Step::Connect);
    assert_eq!(member.followed(), 2);
    assert_eq!(take(&mut member, &writer.messages[1]), dropped(2));

    // An exchange of a later term; then the one before it comes back.
    writer.step(&mut member, &Step::Promote);
    writer.step(&mut member, &Step::Old);
    let Outcome { reply, followed, term, .. } = writer.outcomes.last().unwrap();
    assert_eq!((*followed, *term), (3, 2));
    let mut frames = Frames::default();
    frames.push(reply);
    let told = frames.next_frame().unwrap();
    assert!(matches!(told, Some(Frame::Rejected { is_fenced: true, .. })), "{told:?}");
}

//! A follower's session over a stream that is cut at any byte, again and again.

use engine::{Cancel, Command, EngineLimits, Input};
use journal::{CONTENT_BYTES, Identity, LogName, Options};
use proptest::prelude::*;
use replica::admission::{FollowerLog, admit};
use replica::frame::{Frame, FrameError, Frames, Hello};
use replica::session::{AdmitError, Session, SessionError, Store, StoreError};
use replica::term::Term;

/// Records and register in memory.
#[derive(Default)]
struct Memory {
    terms: Vec<Term>,
    records: Vec<[u8; CONTENT_BYTES]>,
    durable: usize,
    register: Vec<u8>,
    is_whole: bool,
}

impl Store for Memory {
    fn admit(&mut self, hello: &Hello) -> Result<u64, AdmitError> {
        self.durable = self.records.len();
        let own =
            FollowerLog { log: Some(hello.log), terms: &self.terms, next: self.durable as u64 };
        admit(own, hello)?;
        self.terms.clone_from(&hello.terms);
        Ok(self.durable as u64)
    }

    fn register(&mut self, offset: u64, is_whole: bool, bytes: &[u8]) -> Result<(), FrameError> {
        self.register.truncate(offset as usize);
        self.register.extend_from_slice(bytes);
        self.is_whole = is_whole;
        Ok(())
    }

    fn append(&mut self, content: &[u8; CONTENT_BYTES]) -> Result<(), FrameError> {
        assert!(self.is_whole, "a record before its register");
        self.records.push(*content);
        Ok(())
    }

    fn commit(&mut self) -> Result<u64, StoreError> {
        self.durable = self.records.len();
        Ok(self.durable as u64)
    }
}

pub fn name() -> LogName {
    let place = tempfile::tempdir().unwrap();
    let identity = Identity { instruments: 1, limits: EngineLimits::matching_only(10, 10) };
    let options = Options { segment_bytes: 1 << 16, reserve_inputs: 10, ..Options::default() };
    journal::open(place.path(), identity, options).unwrap().0.close().unwrap();
    LogName::of(place.path()).unwrap().unwrap()
}

pub fn content(order_id: u64) -> [u8; CONTENT_BYTES] {
    let cancel = Cancel { order_id, account: 1, tag: 2, instrument: 0 };
    Input { time_ns: order_id, command: Command::Cancel(cancel) }.to_bytes()
}

/// The bytes of a connection from a primary with these records to a follower that needs `next`.
fn stream(hello: &Hello, records: &[[u8; CONTENT_BYTES]], next: usize, group: usize) -> Vec<u8> {
    let mut out = Vec::new();
    Frame::Hello(hello.clone()).encode(&mut out);
    Frame::Register { offset: 0, is_whole: false, bytes: b"{}" }.encode(&mut out);
    Frame::Register { offset: 2, is_whole: true, bytes: b"\n" }.encode(&mut out);
    let mut first = next as u64;
    for contents in records[next..].chunks(group) {
        Frame::Records { first, contents }.encode(&mut out);
        Frame::Heartbeat.encode(&mut out);
        first += contents.len() as u64;
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(64)))]

    /// Each connection breaks somewhere. In the end the follower has each record once and in
    /// order, and it never acknowledged one that it did not have.
    #[test]
    fn every_record_arrives_once(
        cuts in prop::collection::vec((0..3000_usize, 1..900_usize), 1..12),
        group in 1..9_usize,
    ) {
        let records: Vec<_> = (0..40).map(content).collect();
        let terms = vec![Term { term: 1, primary: 5, first: 0 }];
        let hello = Hello { silence_ms: 100, is_sync: true, written: 0, log: name(), terms };
        let mut store = Memory::default();
        let mut acknowledged = 0;
        for (cut, piece) in cuts.into_iter().chain([(usize::MAX, 4096)]) {
            let bytes = stream(&hello, &records, store.records.len(), group);
            let bytes = &bytes[..cut.min(bytes.len())];
            let (mut session, mut out) = (Session::default(), Vec::new());
            for piece in bytes.chunks(piece) {
                session.receive(piece, &mut store, &mut out).unwrap();
            }
            let mut replies = Frames::default();
            replies.push(&out);
            while let Some(reply) = replies.next_frame().unwrap() {
                let (Frame::Welcome { next: durable } | Frame::Ack { durable }) = reply else {
                    panic!("{reply:?}");
                };
                prop_assert!(durable >= acknowledged && durable <= store.durable as u64);
                acknowledged = durable;
            }
            prop_assert_eq!(&store.records[..], &records[..store.records.len()]);
        }
        prop_assert_eq!(acknowledged, 40);
    }
}

#[test]
fn frames_out_of_order_end_the_connection() {
    let terms = vec![Term { term: 1, primary: 5, first: 0 }];
    let hello =
        Frame::Hello(Hello { silence_ms: 100, is_sync: true, written: 0, log: name(), terms });
    let register = Frame::Register { offset: 0, is_whole: true, bytes: b"{}\n" };
    let contents = [content(0)];
    let records = |first| Frame::Records { first, contents: &contents };
    for (frames, field) in [
        (vec![Frame::Heartbeat], "place before the first"),
        (vec![hello.clone(), records(0)], "place before the register"),
        (vec![hello.clone(), register.clone(), records(1)], "first record"),
        (vec![hello.clone(), register, records(0), records(0)], "first record"),
        (vec![hello.clone(), hello.clone()], "direction"),
        (vec![hello, Frame::Ack { durable: 0 }], "direction"),
    ] {
        let (mut bytes, mut out) = (Vec::new(), Vec::new());
        frames.iter().for_each(|frame| frame.encode(&mut bytes));
        let ended = Session::default().receive(&bytes, &mut Memory::default(), &mut out);
        let Err(SessionError::Frame(error)) = ended else { panic!("{ended:?}") };
        assert_eq!(error, FrameError::Invalid(field));
    }
}

//! Two sessions against each other, with connections that are cut anywhere and processes that end.

use fix::dictionary::Dictionary;
use fix::session::{Event, Now, Proof, Role, Session, Settings, logon_of};
use fix::store::MemoryStore;
use proptest::prelude::*;
use std::sync::Arc;

struct Side {
    session: Session<MemoryStore>,
    /// On the way from here to the other side.
    out: Vec<u8>,
    /// The texts that came.
    got: Vec<String>,
    sent: usize,
    is_over: bool,
}

impl Side {
    fn new(role: Role, sender: &str, target: &str, store: MemoryStore) -> Side {
        let dictionary = Arc::new(Dictionary::tickpath());
        let session = Session::new(Settings::new(role, sender, target), dictionary, store);
        Side { session, out: Vec::new(), got: Vec::new(), sent: 0, is_over: false }
    }

    fn send(&mut self, now: Now) {
        let text = self.sent.to_string();
        self.sent += 1;
        let fill = |body: &mut fix::encode::Body<'_>| {
            body.text(372, "D").number(380, 0).text(58, &text);
        };
        self.session.send("j", now, &mut self.out, fill).expect("memory");
    }

    fn take(&mut self, bytes: &[u8], now: Now) {
        assert_eq!(self.session.receive(bytes), bytes.len());
        loop {
            match self.session.poll(now, &mut self.out).expect("memory") {
                None => break,
                Some(Event::Application(message)) => {
                    self.got.push(message.text(58).expect("a text").to_owned());
                }
                Some(Event::LoggedOn) => {}
                Some(Event::Garbled(why)) => panic!("garbled: {why}"),
                Some(Event::End(_)) => self.is_over = true,
            }
        }
    }

    /// The process ends and starts again; its store is on a disk.
    fn restart(&mut self, role: Role, sender: &str, target: &str) {
        let store = self.session.store().clone();
        let fresh = Side::new(role, sender, target, store);
        let old = std::mem::replace(self, fresh);
        (self.got, self.sent) = (old.got, old.sent);
    }
}

#[derive(Clone, Debug)]
enum Step {
    Send(bool),
    /// So many bytes arrive at one side.
    Carry(bool, usize),
    /// The connection breaks; what is on the way is lost.
    Cut,
    Restart(bool),
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => any::<bool>().prop_map(Step::Send),
        8 => (any::<bool>(), 1usize..400).prop_map(|(side, n)| Step::Carry(side, n)),
        1 => Just(Step::Cut),
        1 => any::<bool>().prop_map(Step::Restart),
        1 => (1u64..40).prop_map(Step::Wait),
    ];
    proptest::collection::vec(step, 1..60)
}

struct Pair {
    sides: [Side; 2],
    now: Now,
}

impl Pair {
    fn connect(&mut self) {
        for side in &mut self.sides {
            side.session.disconnected();
            side.out.clear();
            side.is_over = false;
        }
        for side in &mut self.sides {
            side.session.connected(self.now, &mut side.out).expect("memory");
        }
    }

    fn carry(&mut self, to: usize, n: usize) {
        let from = &mut self.sides[1 - to];
        let bytes: Vec<u8> = from.out.drain(..n.min(from.out.len())).collect();
        self.sides[to].take(&bytes, self.now);
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Send(side) => self.sides[usize::from(side)].send(self.now),
            Step::Carry(side, n) => self.carry(usize::from(side), n),
            Step::Cut => self.connect(),
            Step::Restart(side) => {
                match side {
                    false => self.sides[0].restart(Role::Initiator, "A", "B"),
                    true => self.sides[1].restart(Role::Acceptor, "B", "A"),
                }
                self.connect();
            }
            Step::Wait(seconds) => {
                self.now.steady_ns += seconds * 1_000_000_000;
                self.now.utc_ns += seconds * 1_000_000_000;
                (0..2).for_each(|side| self.sides[side].take(&[], self.now));
            }
        }
        if self.sides.iter().any(|side| side.is_over) {
            self.connect();
        }
    }

    /// Carries all until both are quiet.
    fn settle(&mut self) {
        self.connect();
        for _ in 0..200 {
            self.step(&Step::Carry(false, usize::MAX));
            self.step(&Step::Carry(true, usize::MAX));
            if self.sides.iter().all(|side| side.out.is_empty()) {
                return;
            }
        }
        panic!("the two sides never are quiet");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(128)))]

    /// Each message arrives exactly once and in order, wherever connections break.
    #[test]
    fn each_message_arrives_once(steps in steps()) {
        let a = Side::new(Role::Initiator, "A", "B", MemoryStore::default());
        let b = Side::new(Role::Acceptor, "B", "A", MemoryStore::default());
        let now = Now { steady_ns: 1, utc_ns: 1_700_000_000_000_000_000 };
        let mut pair = Pair { sides: [a, b], now };
        pair.connect();
        steps.iter().for_each(|step| pair.step(step));
        pair.settle();
        // A gap at the end shows with the next message.
        (0..2).for_each(|side| pair.sides[side].send(pair.now));
        pair.settle();
        for (side, other) in [(0, 1), (1, 0)] {
            let wanted: Vec<String> =
                (0..pair.sides[side].sent).map(|n| n.to_string()).collect();
            prop_assert_eq!(&pair.sides[other].got, &wanted);
        }
    }
}

#[test]
fn a_signed_logon_signs_its_own_number_and_time() {
    let sign = |text: &[u8]| [b"signed:", text].concat();
    let proof = Proof::Signed { username: "fund".to_owned(), sign: Box::new(sign) };
    let settings = Settings { proof, ..Settings::new(Role::Initiator, "A", "B") };
    let dictionary = Arc::new(Dictionary::tickpath());
    let mut session = Session::new(settings, Arc::clone(&dictionary), MemoryStore::default());
    let mut out = Vec::new();
    let now = Now { steady_ns: 1, utc_ns: 1_700_000_000_000_000_000 };
    session.connected(now, &mut out).expect("memory");
    for cut in 0..out.len() {
        assert_eq!(logon_of(&out[..cut], &dictionary), Ok(None));
    }
    let logon = logon_of(&out, &dictionary).expect("a Logon").expect("all of it");
    assert_eq!(logon.signed_text, b"20231114-22:13:20.000\x01A\x011\x01A\x01B");
    assert_eq!(logon.signature, Some(sign(&logon.signed_text)));
    assert_eq!(logon.username.as_deref(), Some("fund"));
    assert_eq!(logon.password, None);
}

//! The counterparty of a walk: what it sends next, and what it has sent.

use clock::random::SplitMix64;
use fix::encode::{Body, seal};
use fix::time::{TIMESTAMP_BYTES, put_timestamp};

const SECOND: i64 = 1_000_000_000;

/// Something that the counterparty does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// ResetSeqNumFlag, and so many numbers that it leaves out.
    Logon {
        resets: bool,
        skips: u64,
    },
    /// A message other than a Logon begins the connection.
    NoLogon,
    Heartbeat,
    TestRequest,
    Application,
    /// BeginSeqNo and EndSeqNo.
    ResendRequest {
        from: u64,
        to: u64,
    },
    /// NewSeqNo is so far above MsgSeqNum.
    GapFill {
        by: i64,
    },
    /// NewSeqNo is so far above the expected number.
    Reset {
        by: i64,
    },
    /// So many messages are lost before this one.
    TooHigh {
        skips: u64,
        is_application: bool,
    },
    TooLow,
    /// A message that came before, once more; without OrigSendingTime that is wrong.
    Again {
        has_orig_time: bool,
    },
    /// OrigSendingTime is later than SendingTime.
    AgainFromTheFuture,
    BadSender,
    BadTarget,
    BadTime {
        seconds: i64,
    },
    WrongSum,
    WrongLength,
    UnknownType,
    UnknownTag,
    MissingField,
    WrongValue,
    EmptyValue,
    SecondLogon,
    Logout,
    /// The connection breaks.
    Break,
    /// The messages that a ResendRequest asks for.
    Serve {
        from: u64,
    },
}

/// See the module.
pub struct Peer {
    name: String,
    next_out: u64,
    /// Whether the message of that number is one of the application, from 1.
    sent: Vec<bool>,
}

/// A message before it is sealed.
struct Draft<'a> {
    msg_type: &'a str,
    seq: u64,
    sender: &'a str,
    target: &'a str,
    seconds: i64,
    /// PossDupFlag with OrigSendingTime so many seconds from now, or without it.
    again: Option<Option<i64>>,
    body: Vec<(u32, String)>,
}

impl Peer {
    pub fn new(name: &str) -> Peer {
        Peer { name: name.to_owned(), next_out: 1, sent: Vec::new() }
    }

    /// A step of a session that is logged on; `out` is the next number of the other side.
    pub fn next(&self, random: &mut SplitMix64, out: u64, expected: u64) -> Step {
        let step = self.any(random, out);
        // After a gap the two differ as `known.rs` says; few walks shall end so.
        match step {
            Step::Heartbeat | Step::Application | Step::Break | Step::TooLow => step,
            Step::Again { .. } | Step::TooHigh { .. } => step,
            _ if self.next_out > expected && random.below(10) > 0 => Step::Application,
            _ => step,
        }
    }

    fn any(&self, random: &mut SplitMix64, out: u64) -> Step {
        let more = |n: u32, random: &mut SplitMix64| u64::from(random.below(n));
        match random.below(100) {
            0..=9 => Step::Heartbeat,
            10..=19 => Step::TestRequest,
            20..=34 => Step::Application,
            35..=46 => {
                let from = 1 + more(out as u32 - 1, random);
                match random.below(20) {
                    0 => Step::ResendRequest { from: more(out as u32 + 2, random), to: from - 1 },
                    1..=9 => Step::ResendRequest { from, to: 0 },
                    _ => Step::ResendRequest { from, to: from + more(4, random) },
                }
            }
            47..=53 => Step::GapFill { by: 1 + random.below(4) as i64 },
            54 => Step::GapFill { by: -(random.below(3) as i64) },
            55 => Step::Application,
            56..=59 => Step::Reset { by: random.below(6) as i64 - 2 },
            60..=66 => {
                let is_application = random.below(2) == 0;
                Step::TooHigh { skips: 1 + more(3, random), is_application }
            }
            67 => Step::TooLow,
            68..=72 => Step::Again { has_orig_time: random.below(9) > 0 },
            73 => Step::AgainFromTheFuture,
            74 => Step::Heartbeat,
            75 => Step::BadSender,
            76 => Step::BadTarget,
            77..=78 => Step::BadTime { seconds: if random.below(2) == 0 { -600 } else { 600 } },
            79..=82 => Step::WrongSum,
            83..=84 => Step::WrongLength,
            85..=86 => Step::UnknownType,
            87..=88 => Step::UnknownTag,
            89..=90 => Step::MissingField,
            91..=92 => Step::WrongValue,
            93..=94 => Step::EmptyValue,
            95 => Step::SecondLogon,
            96..=97 => Step::Logout,
            _ => Step::Break,
        }
    }

    /// The step that begins a connection.
    pub fn begin(&self, random: &mut SplitMix64) -> Step {
        match random.below(12) {
            0 => Step::NoLogon,
            1 => Step::Logon { resets: true, skips: 0 },
            2 | 3 => Step::Logon { resets: false, skips: 1 + u64::from(random.below(3)) },
            _ => Step::Logon { resets: false, skips: 0 },
        }
    }

    /// The bytes of a step, for a side that expects the number `expected`.
    pub fn bytes(&mut self, step: Step, expected: u64) -> Vec<u8> {
        let seq = self.next_out;
        let order = |seq: u64| {
            let fields = [(11, format!("o{seq}")), (55, "BTC_USDT".into()), (54, "1".into())];
            fields.to_vec()
        };
        match step {
            Step::Break => Vec::new(),
            Step::Serve { from } => self.serve(from),
            Step::Logon { resets, skips } => {
                if resets {
                    (self.next_out, self.sent) = (1, Vec::new());
                }
                self.skip(skips);
                let mut body = vec![(98, "0".into()), (108, "3000".into())];
                if resets {
                    body.push((141, "Y".into()));
                }
                self.put("A", body)
            }
            Step::SecondLogon => self.put("A", vec![(98, "0".into()), (108, "3000".into())]),
            Step::NoLogon => {
                let draft = self.draft("0", Vec::new());
                seal_draft(&draft)
            }
            Step::Heartbeat => self.put("0", Vec::new()),
            Step::TestRequest => self.put("1", vec![(112, format!("t{seq}"))]),
            Step::Application => self.put("H", order(seq)),
            Step::ResendRequest { from, to } => {
                self.put("2", vec![(7, from.to_string()), (16, to.to_string())])
            }
            Step::GapFill { by } => {
                let new = seq.saturating_add_signed(by);
                let bytes = self.put("4", vec![(123, "Y".into()), (36, new.to_string())]);
                self.skip(new.saturating_sub(self.next_out));
                self.sent.iter_mut().skip(seq as usize - 1).for_each(|it| *it = false);
                bytes
            }
            Step::Reset { by } => {
                let new = expected.saturating_add_signed(by);
                self.put("4", vec![(36, new.to_string())])
            }
            Step::TooHigh { skips, is_application } => {
                self.skip(skips);
                match is_application {
                    true => self.put("H", order(self.next_out)),
                    false => self.put("0", Vec::new()),
                }
            }
            Step::TooLow => {
                let draft = Draft { seq: expected.max(2) - 1, ..self.draft("0", Vec::new()) };
                seal_draft(&draft)
            }
            Step::Again { has_orig_time } => {
                let seq = expected.max(2) - 1;
                let again = Some(has_orig_time.then_some(-1));
                seal_draft(&Draft { seq, again, ..self.draft("H", order(seq)) })
            }
            Step::AgainFromTheFuture => {
                let bytes =
                    seal_draft(&Draft { again: Some(Some(60)), ..self.draft("H", order(seq)) });
                self.sent(false);
                bytes
            }
            Step::BadSender => {
                let bytes =
                    seal_draft(&Draft { sender: "STRANGER", ..self.draft("0", Vec::new()) });
                self.sent(false);
                bytes
            }
            Step::BadTarget => {
                let bytes =
                    seal_draft(&Draft { target: "STRANGER", ..self.draft("0", Vec::new()) });
                self.sent(false);
                bytes
            }
            Step::BadTime { seconds } => {
                let bytes = seal_draft(&Draft { seconds, ..self.draft("0", Vec::new()) });
                self.sent(false);
                bytes
            }
            Step::WrongSum => {
                let mut bytes = self.put("H", order(seq));
                let at = bytes.len() - 2;
                bytes[at] = if bytes[at] == b'0' { b'1' } else { b'0' };
                bytes
            }
            Step::WrongLength => {
                let mut bytes = self.put("H", order(seq));
                // The last digit of BodyLength, which becomes smaller or larger by one.
                let at = 12 + bytes[12..].iter().position(|byte| *byte == 1).unwrap() - 1;
                bytes[at] ^= 1;
                bytes
            }
            Step::UnknownType => self.put("ZZ", Vec::new()),
            Step::UnknownTag => self.put("0", vec![(4999, "x".into())]),
            Step::MissingField => self.put("1", Vec::new()),
            Step::WrongValue => {
                let mut fields = order(seq);
                fields[2].1 = "9".into();
                self.put("H", fields)
            }
            Step::EmptyValue => self.put("1", vec![(112, String::new())]),
            Step::Logout => self.put("5", Vec::new()),
        }
    }

    /// Whether the message that it sent last has a number above that.
    pub fn sends_beyond(&self, expected: u64) -> bool {
        self.next_out > expected + 1
    }

    /// Goes on with that number.
    pub fn go_on_with(&mut self, next_out: u64) {
        self.sent.resize(next_out as usize - 1, false);
        self.next_out = next_out;
    }

    fn draft(&self, msg_type: &'static str, body: Vec<(u32, String)>) -> Draft<'_> {
        let (seq, sender, seconds) = (self.next_out, self.name.as_str(), 0);
        Draft { msg_type, seq, sender, target: "US", seconds, again: None, body }
    }

    fn put(&mut self, msg_type: &'static str, body: Vec<(u32, String)>) -> Vec<u8> {
        let bytes = seal_draft(&self.draft(msg_type, body));
        self.sent(msg_type == "H");
        bytes
    }

    fn sent(&mut self, is_application: bool) {
        self.sent.push(is_application);
        self.next_out += 1;
    }

    /// Messages that are lost on their way.
    fn skip(&mut self, count: u64) {
        (0..count).for_each(|_| self.sent(true));
    }

    /// Messages of the application again, and gap fills for the others.
    fn serve(&self, from: u64) -> Vec<u8> {
        let (mut bytes, mut seq) = (Vec::new(), from);
        while seq < self.next_out {
            let is_application = |seq: u64| self.sent[seq as usize - 1];
            let again = Some(Some(-1));
            let draft = if is_application(seq) {
                let fields = [(11, format!("o{seq}")), (55, "BTC_USDT".into()), (54, "1".into())];
                Draft { seq, again, ..self.draft("H", fields.to_vec()) }
            } else {
                let next = (seq + 1..self.next_out).find(|seq| is_application(*seq));
                let new = next.unwrap_or(self.next_out);
                let body = vec![(123, "Y".into()), (36, new.to_string())];
                let draft = Draft { seq, again, ..self.draft("4", body) };
                seq = new - 1;
                draft
            };
            bytes.extend(seal_draft(&draft));
            seq += 1;
        }
        bytes
    }
}

fn seal_draft(draft: &Draft<'_>) -> Vec<u8> {
    let time = |seconds: i64| {
        let mut text = [0; TIMESTAMP_BYTES];
        put_timestamp(&mut text, clock::wall_ns().saturating_add_signed(seconds * SECOND));
        text
    };
    let mut body = Vec::new();
    let mut fields = Body::new(&mut body);
    fields.text(35, draft.msg_type).text(49, draft.sender).text(56, draft.target);
    fields.number(34, draft.seq);
    if draft.again.is_some() {
        fields.char(43, 'Y');
    }
    fields.bytes(52, &time(draft.seconds));
    if let Some(Some(seconds)) = draft.again {
        fields.bytes(122, &time(seconds));
    }
    for (tag, value) in &draft.body {
        fields.text(*tag, value);
    }
    let mut bytes = Vec::new();
    seal(&mut bytes, b"FIX.4.4", &body);
    bytes
}

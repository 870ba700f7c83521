//! Random walks of our session machine beside QuickFIX/J's: both get the same bytes of a
//! counterparty, right and wrong ones, and must give the same answers. The differences that the
//! specification leaves open are in `known.rs`.

mod known;
mod peer;

use crate::quickfix::java;
use clock::random::SplitMix64;
use fix::dictionary::Dictionary;
use fix::frame::{self, NextFrame};
use fix::message::{Message, split};
use fix::session::{Event, Now, Role, Session, Settings};
use fix::store::{MemoryStore, Store};
use peer::{Peer, Step};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Walks of `make test`; `scripts/weekly` makes more.
const WALKS: &str = "TICKPATH_FIX_WALKS";
const WALKS_DEFAULT: u64 = 12;
/// Steps of each.
const STEPS: u32 = 60;
/// How long QuickFIX/J may take for an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long it may take to end a connection.
const END: Duration = Duration::from_millis(100);
/// How long it is watched after each step.
const MORE: Duration = Duration::from_millis(3);
/// How long it is watched for an answer that it should not give, at the end of a walk.
const QUIET: Duration = Duration::from_millis(30);

/// The fields of an answer that are compared, by its type.
fn compared(msg_type: &str) -> &'static [u32] {
    match msg_type {
        "A" => &[34, 108, 141],
        "0" | "1" => &[34, 112],
        "2" => &[34, 7, 16],
        "3" => &[34, 45, 371, 372, 373],
        "4" => &[34, 43, 123, 36],
        "j" => &[34, 43, 45, 372],
        _ => &[34],
    }
}

/// The answers of a side to a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// `35=…` and the compared fields of each message.
    pub messages: Vec<String>,
    /// Whether it closed the connection, or said with a Logout that it will.
    pub is_closed: bool,
}

impl Answers {
    fn take(&mut self, bytes: &mut Vec<u8>) {
        while let NextFrame::Message { bytes: message, .. } = frame::next(bytes) {
            let length = message.len();
            let mut fields = Vec::new();
            split(message, |_| None, &mut fields).unwrap();
            let message = Message::new(message, &fields);
            let msg_type = message.text(35).unwrap();
            let mut text = format!("35={msg_type}");
            for tag in compared(msg_type) {
                if let Some(value) = message.text(*tag) {
                    write!(text, "|{tag}={value}").unwrap();
                }
            }
            self.is_closed |= msg_type == "5";
            self.messages.push(text);
            bytes.drain(..length);
        }
    }
}

/// Our session, without a socket.
struct Ours {
    session: Session<MemoryStore>,
}

impl Ours {
    fn new(name: &str) -> Ours {
        let settings = Settings::new(Role::Acceptor, "US", name);
        let dictionary = Arc::new(Dictionary::tickpath());
        Ours { session: Session::new(settings, dictionary, MemoryStore::default()) }
    }

    fn connect(&mut self) {
        self.session.connected(now(), &mut Vec::new()).unwrap();
    }

    fn receive(&mut self, bytes: &[u8]) -> Answers {
        let (mut out, mut answers) = (Vec::new(), Answers::default());
        assert_eq!(self.session.receive(bytes), bytes.len());
        loop {
            let (seq, msg_type) = match self.session.poll(now(), &mut out).unwrap() {
                None => break,
                Some(Event::LoggedOn | Event::Garbled(_)) => continue,
                Some(Event::End(_)) => {
                    answers.is_closed = true;
                    break;
                }
                Some(Event::Application(message)) => {
                    (message.number(34).unwrap(), message.text(35).unwrap().to_owned())
                }
            };
            self.session
                .send("j", now(), &mut out, |body| {
                    body.number(45, seq).text(372, &msg_type).number(380, 0);
                })
                .unwrap();
        }
        answers.take(&mut out);
        answers
    }
}

/// The session of QuickFIX/J.
struct Theirs<'a> {
    port: &'a str,
    stream: TcpStream,
    bytes: Vec<u8>,
}

impl Theirs<'_> {
    fn connect(port: &str) -> Theirs<'_> {
        let stream = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
        stream.set_nodelay(true).unwrap();
        Theirs { port, stream, bytes: Vec::new() }
    }

    /// Another connection, once it has seen the end of this one.
    fn reconnect(&mut self) {
        // It may be about to end it by itself, and would end the next one instead.
        self.stream.set_read_timeout(Some(END)).unwrap();
        while self.stream.read(&mut [0; 4096]).is_ok_and(|n| n > 0) {}
        let _ = self.stream.shutdown(Shutdown::Both);
        std::thread::sleep(END);
        *self = Theirs::connect(self.port);
    }

    /// Sends the bytes, and waits for as many answers as ours are.
    fn receive(&mut self, bytes: &[u8], ours: &Answers) -> Answers {
        let mut answers = Answers::default();
        if self.stream.write_all(bytes).is_err() {
            answers.is_closed = true;
        }
        let deadline = Instant::now() + PATIENCE;
        let is_enough = |answers: &Answers| {
            answers.is_closed || (answers.messages.len() >= ours.messages.len() && !ours.is_closed)
        };
        while !is_enough(&answers) && Instant::now() < deadline {
            self.read(&mut answers, Duration::from_millis(100));
        }
        // One more than ours is seen here, or before the answers to a later step.
        self.read(&mut answers, MORE);
        answers
    }

    fn read(&mut self, answers: &mut Answers, time: Duration) {
        let mut buffer = [0; 4096];
        self.stream.set_read_timeout(Some(time)).unwrap();
        match self.stream.read(&mut buffer) {
            Ok(0) => answers.is_closed = true,
            Ok(n) => {
                self.bytes.extend_from_slice(&buffer[..n]);
                answers.take(&mut self.bytes);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => answers.is_closed = true,
        }
    }
}

fn now() -> Now {
    Now { steady_ns: clock::monotonic_ns(), utc_ns: clock::wall_ns() }
}

/// QuickFIX/J as a process, ended with the value.
struct Server(Child, String);

impl Server {
    fn start() -> Option<Server> {
        let dictionary =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/fix/tickpath-fix44.xml");
        let mut child = java("FixSessions")?
            .arg(dictionary)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().strip_prefix("listening ").expect("a port").to_owned();
        Some(Server(child, port))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The result of a walk.
#[derive(Default)]
struct Walked {
    steps: u32,
    /// The difference that ended it.
    known: Option<&'static str>,
}

/// One session of both, until its steps are done or a known difference separates them.
fn walk(seed: u64, port: &str) -> Result<Walked, String> {
    let name = format!("PEER{seed}");
    let mut random = SplitMix64::new(seed);
    let (mut peer, mut ours) = (Peer::new(&name), Ours::new(&name));
    let mut theirs = Theirs::connect(port);
    ours.connect();
    let (mut is_logged_on, mut wanted, mut walked) = (false, None, Walked::default());
    let mut connections = 1;
    let mut log = String::new();
    while walked.steps < STEPS {
        walked.steps += 1;
        let (out, expected) = (ours.session.store().next_out(), ours.session.store().next_in());
        let step = match wanted.take() {
            _ if !is_logged_on => peer.begin(&mut random),
            Some(from) => Step::Serve { from },
            None => peer.next(&mut random, out, expected),
        };
        let bytes = peer.bytes(step, expected);
        let is_too_high = peer.sends_beyond(expected);
        let mut of_ours = ours.receive(&bytes);
        of_ours.is_closed |= step == Step::Break;
        let of_theirs = match step {
            Step::Break => of_ours.clone(),
            _ => theirs.receive(&bytes, &of_ours),
        };
        writeln!(log, "{step:?}, expected {expected}\n  {}", text(&bytes)).unwrap();
        writeln!(log, "  ours   {of_ours:?}\n  theirs {of_theirs:?}").unwrap();
        let (ours_say, theirs_say) = (&of_ours, &of_theirs);
        let seen =
            known::Seen { step, is_too_high, connections, out, ours: ours_say, theirs: theirs_say };
        match known::judge(&seen) {
            known::Verdict::Same => {}
            known::Verdict::Known(name) => {
                walked.known = Some(name);
                return Ok(walked);
            }
            known::Verdict::Unknown => return Err(format!("seed {seed}:\n{log}")),
        }
        if matches!(step, Step::Reset { .. }) && !of_ours.is_closed {
            peer.go_on_with(ours.session.store().next_in());
        }
        let request = of_ours.messages.iter().find_map(|message| message.strip_prefix("35=2|"));
        wanted = request.map(|request| {
            let begin = request.split('|').find_map(|field| field.strip_prefix("7=")).unwrap();
            begin.parse().unwrap()
        });
        is_logged_on |= matches!(step, Step::Logon { .. });
        if of_ours.is_closed {
            (is_logged_on, wanted) = (false, None);
            ours.session.disconnected();
            ours.connect();
            theirs.reconnect();
            connections += 1;
        }
    }
    let mut late = Answers::default();
    theirs.read(&mut late, QUIET);
    match late.messages.is_empty() {
        true => Ok(walked),
        false => Err(format!("seed {seed}: at the end it says {late:?}\n{log}")),
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace('\x01', "|")
}

#[test]
fn our_session_answers_as_that_of_quickfix_j() {
    let Some(server) = Server::start() else { return };
    let (mut steps, mut differences) = (0, std::collections::BTreeMap::new());
    let mut faults = Vec::new();
    let walks = std::env::var(WALKS).map_or(WALKS_DEFAULT, |walks| walks.parse().unwrap());
    for seed in 0..walks {
        match walk(seed, &server.1) {
            Ok(walked) => {
                steps += walked.steps;
                walked.known.iter().for_each(|name| *differences.entry(*name).or_insert(0) += 1);
            }
            Err(why) => faults.push(why),
        }
    }
    println!("{steps} steps; known differences: {differences:?}");
    assert!(faults.is_empty(), "{} walks differ:\n{}", faults.len(), faults.join("\n"));
    assert!(u64::from(steps) > 10 * walks, "only {steps} steps in {walks} walks");
}

//! A session of FIX over a real connection: messages, answers, ends.

use super::*;
use crate::session::fix::{EXCHANGE_COMP_ID, initiator, password};
use crate::tick::frames::FrameReceiver;
use clock::{Clock, Deadline};
use fix::dictionary::Dictionary;
use fix::encode::Body;
use fix::session::{Role, Settings};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;
use transport::datagram::Datagram;

struct Bench {
    gateway: Session<MemoryStore>,
    exchange: TcpStream,
    receiver: FrameReceiver<FixFrames>,
    times: Times,
    into: Box<[u8]>,
}

fn bench() -> Bench {
    let clock = Clock::calibrate();
    let times = Times::new(clock);
    let dictionary = Arc::new(Dictionary::tickpath());
    let mut session = initiator("TICKS-7", password("7"), Arc::clone(&dictionary));
    let settings = Settings::new(Role::Acceptor, EXCHANGE_COMP_ID, "TICKS-7");
    let mut gateway = Session::new(settings, dictionary, MemoryStore::default());
    let (mut out, mut back) = (Vec::new(), Vec::new());
    session.connected(times.now(), &mut out).unwrap();
    gateway.connected(times.now(), &mut back).unwrap();
    gateway.receive(&out);
    assert!(matches!(gateway.poll(times.now(), &mut back).unwrap(), Some(Event::LoggedOn)));
    session.receive(&back);
    assert!(matches!(session.poll(times.now(), &mut out).unwrap(), Some(Event::LoggedOn)));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (exchange, _) = listener.accept().unwrap();
    exchange.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let frames = FixFrames::new(session, Inbound::default(), times);
    let receiver = FrameReceiver::new(ours.into(), frames, true, clock).unwrap();
    Bench { gateway, exchange, receiver, times, into: vec![0; 4096].into_boxed_slice() }
}

impl Bench {
    /// The next message of the gateway.
    fn message(&mut self, msg_type: &str, tag: u32, value: &str) -> Vec<u8> {
        let mut out = Vec::new();
        let fill = |body: &mut Body<'_>| {
            body.text(tag, value);
        };
        self.gateway.send(msg_type, self.times.now(), &mut out, fill).unwrap();
        out
    }

    fn send(&mut self, bytes: &[u8]) {
        self.exchange.write_all(bytes).unwrap();
    }

    /// The next message that is handed on; an error in words.
    fn next(&mut self) -> Result<Vec<u8>, String> {
        let deadline = Deadline::after(Duration::from_secs(10));
        loop {
            match self.receiver.receive(&mut self.into) {
                Datagram::Bytes { n, .. } => return Ok(self.into[..n].to_vec()),
                Datagram::Empty => assert!(!deadline.left().is_zero(), "nothing came"),
                Datagram::Failed(error) => return Err(error.to_string()),
            }
        }
    }
}

#[test]
fn messages_are_handed_on_and_a_test_request_between_them_is_answered() {
    let mut bench = bench();
    let first = bench.message("X", 268, "0");
    let request = bench.message("1", 112, "alive");
    let second = bench.message("X", 268, "0");
    bench.send(&[&first[..], &request, &second].concat());
    assert_eq!(bench.next().unwrap(), first);
    assert_eq!(bench.next().unwrap(), second);
    let mut answer = [0; 256];
    let n = bench.exchange.read(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer[..n]).replace('\x01', "|");
    assert!(answer.contains("|35=0|") && answer.contains("|112=alive|"), "{answer}");
    // Nothing is due now.
    bench.receiver.look_after();
    assert!(matches!(bench.receiver.receive(&mut bench.into), Datagram::Empty));
}

#[test]
fn a_fault_or_an_end_is_final_and_explained() {
    let fails = |send: fn(&mut Bench) -> Vec<u8>, why: &str| {
        let mut bench = bench();
        let bytes = send(&mut bench);
        bench.send(&bytes);
        let error = bench.next().unwrap_err();
        assert!(error.contains(why), "{error}");
    };
    fails(
        |bench| {
            bench.message("X", 268, "0");
            bench.message("X", 268, "0")
        },
        "message 3 of type X from TICKPATH to TICKS-7 came, and message 2 of this session was due",
    );
    fails(
        |bench| {
            bench.message("X", 268, "0");
            bench.message("0", 112, "late")
        },
        "message 3 of type 0",
    );
    fails(
        |bench| {
            let mut message = bench.message("X", 268, "0");
            let at = message.len() - 12;
            message[at] ^= 1;
            message
        },
        "garbled message: CheckSum",
    );
    fails(
        |bench| {
            let mut out = Vec::new();
            bench.gateway.log_out("bye", bench.times.now(), &mut out).unwrap();
            out
        },
        "the exchange logged out: bye",
    );
    fails(|bench| bench.message("3", 58, "no such field"), "rejects a message: no such field");
    fails(|bench| bench.message("4", 36, "9"), "left out messages");
    let mut gone = bench();
    drop(gone.exchange.shutdown(std::net::Shutdown::Write));
    assert!(gone.next().unwrap_err().contains("closed the connection of its market data"));
}

//! Messages over a real connection: their times, pings, ends.

use super::web::WebFrames;
use super::*;
use crate::session::web::WebSession;
use clock::Deadline;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;
use wire::frame::{Opcode, write_frame};

struct Bench {
    exchange: TcpStream,
    receiver: FrameReceiver<WebFrames>,
    /// The receiver's socket.
    peeked: TcpStream,
    clock: Clock,
    into: [u8; 64],
}

fn bench() -> Bench {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (exchange, _) = listener.accept().unwrap();
    exchange.set_nodelay(true).unwrap();
    exchange.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let clock = Clock::calibrate();
    let web = WebSession::new("localhost:1", 1);
    let peeked = ours.try_clone().unwrap();
    let receiver = FrameReceiver::new(ours.into(), WebFrames::new(web), true, clock).unwrap();
    Bench { exchange, receiver, peeked, clock, into: [0; 64] }
}

fn text(payload: &str) -> Vec<u8> {
    let mut frame = Vec::new();
    write_frame(&mut frame, true, Opcode::Text, None, payload.as_bytes());
    frame
}

impl Bench {
    /// Waits until the kernel has all that was sent: it can be peeked at.
    fn arrived(&self, bytes: usize) {
        let deadline = Deadline::after(Duration::from_secs(10));
        while !self.peeked.peek(&mut [0; 4096]).is_ok_and(|n| n >= bytes) {
            assert!(!deadline.left().is_zero(), "nothing arrived");
        }
    }

    /// The next message, its time, and the kernel's; an error in words.
    fn next(&mut self) -> Result<(String, u64, u64), String> {
        let deadline = Deadline::after(Duration::from_secs(10));
        loop {
            match self.receiver.receive(&mut self.into) {
                Datagram::Bytes { n, read_ns } => {
                    let text = String::from_utf8_lossy(&self.into[..n]).into_owned();
                    return Ok((text, read_ns, self.receiver.kernel_ns()));
                }
                Datagram::Empty => assert!(!deadline.left().is_zero(), "nothing came"),
                Datagram::Failed(error) => return Err(error.to_string()),
            }
        }
    }
}

/// Only of the last message of a read it is known when its segment came.
#[test]
fn messages_of_one_read_share_its_time_and_the_last_has_the_kernels() {
    let mut bench = bench();
    let both = [text("first"), text("second")].concat();
    let sent_ns = bench.clock.now_ns();
    bench.exchange.write_all(&both).unwrap();
    bench.arrived(both.len());
    let (first, first_read_ns, unknown_ns) = bench.next().unwrap();
    let (second, read_ns, kernel_ns) = bench.next().unwrap();
    assert_eq!((first.as_str(), second.as_str(), unknown_ns), ("first", "second", 0));
    assert_eq!(first_read_ns, read_ns);
    let bound_ns = bench.receiver.stream.wall().unwrap().bound_ns();
    assert!(kernel_ns + bound_ns >= sent_ns && kernel_ns <= read_ns + bound_ns);
}

/// The time of a message is that of the read and of the segment with its last byte.
#[test]
fn a_message_in_two_segments_came_with_the_second() {
    let mut bench = bench();
    let whole = text("in two pieces");
    let (head, tail) = whole.split_at(6);
    bench.exchange.write_all(head).unwrap();
    bench.arrived(head.len());
    assert!(matches!(bench.receiver.receive(&mut bench.into), Datagram::Empty));
    let later_ns = bench.clock.now_ns();
    // A ping between two frames is answered, and is no message.
    let mut rest = tail.to_vec();
    write_frame(&mut rest, true, Opcode::Ping, None, b"p");
    bench.exchange.write_all(&rest).unwrap();
    bench.arrived(rest.len());
    let (message, read_ns, _) = bench.next().unwrap();
    assert_eq!(message, "in two pieces");
    assert!(read_ns > later_ns);
    assert!(matches!(bench.receiver.receive(&mut bench.into), Datagram::Empty));
    let mut pong = [0; 7];
    bench.exchange.read_exact(&mut pong).unwrap();
    assert_eq!(pong[..2], [0x8a, 0x81], "a masked pong of one byte");
}

#[test]
fn an_end_is_an_error_with_its_reason() {
    let mut closed = bench();
    let mut close = Vec::new();
    write_frame(
        &mut close,
        true,
        Opcode::Close,
        None,
        &[&1001u16.to_be_bytes()[..], b"bye"].concat(),
    );
    closed.exchange.write_all(&close).unwrap();
    assert_eq!(closed.next(), Err("the exchange closed its market data (Some(1001)): bye".into()));
    let mut gone = bench();
    gone.exchange.write_all(&text("last")).unwrap();
    drop(gone.exchange.shutdown(std::net::Shutdown::Write));
    assert_eq!(gone.next().unwrap().0, "last");
    assert!(gone.next().unwrap_err().contains("closed the connection of its market data"));
    let mut long = bench();
    long.exchange.write_all(&text(&"x".repeat(65))).unwrap();
    assert_eq!(long.next(), Err("a message of 65 bytes; a tick has at most 64".into()));
    let mut binary = bench();
    let mut frame = Vec::new();
    write_frame(&mut frame, true, Opcode::Binary, None, b"x");
    binary.exchange.write_all(&frame).unwrap();
    assert!(binary.next().unwrap_err().contains("binary"));
}

//! The floor: messages of the raw echo, as long as the real ones; also requests, over connections
//! or datagrams.

use crate::load::session::{LoadMessage, OrderProtocol, ReceivedReply, Reply};
use record::MessageBytes;
use std::io::{self, ErrorKind, Read, Write};
use std::time::Duration;
use transport::Blocking;
use transport::echo::datagrams::{EchoStamps, STAMPED, ask_for_departure};
use transport::echo::{self, Inbound};

pub(crate) struct Raw {
    order: (u16, u16),
    cancel: (u16, u16),
    lanes: Vec<Inbound>,
    /// Each read gives one datagram, which is one reply.
    datagrams: bool,
    /// The echo stamps its replies.
    stamped: bool,
    /// Stamps of the latest reply.
    stamps: Option<EchoStamps>,
}

const ORDER: u8 = b'O';
const CANCEL: u8 = b'C';
const HELLO: u8 = b'H';

/// Greetings over a flow of datagrams before the other end is taken to be absent.
const HELLOS_MAX: u64 = 20;
/// Time to wait for the answer to one of them.
pub(crate) const HELLO_PATIENCE: Duration = Duration::from_millis(250);

impl Raw {
    pub(crate) fn new(bytes: MessageBytes, lanes: usize, datagrams: bool) -> Raw {
        let fit = |bytes: u64| {
            bytes.clamp(echo::HEADER_BYTES as u64, echo::MESSAGE_BYTES_MAX as u64) as u16
        };
        Raw {
            order: (fit(bytes.order), fit(bytes.order_reply)),
            cancel: (fit(bytes.cancel), fit(bytes.cancel_reply)),
            lanes: (0..lanes).map(|_| Inbound::default()).collect(),
            datagrams,
            stamped: false,
            stamps: None,
        }
    }

    /// Asks for stamps in each reply, if `stamped`.
    pub(crate) fn stamped(self, stamped: bool) -> Raw {
        Raw { stamped, ..self }
    }
}

impl OrderProtocol for Raw {
    fn log_on(&mut self, _: usize, stream: &mut dyn Blocking, _: &[usize]) -> io::Result<()> {
        if !self.datagrams {
            return Ok(());
        }
        stream.set_patience(HELLO_PATIENCE)?;
        greet(stream)
    }

    fn encode(&mut self, message: LoadMessage, number: u64, _: usize, out: &mut Vec<u8>) {
        let ((length_bytes, reply_bytes), kind) = match message {
            LoadMessage::Order => (self.order, ORDER),
            LoadMessage::Cancel => (self.cancel, CANCEL),
        };
        // A stamped message has that kind, and says in its sequence which one it is.
        let (kind, sequence) = match self.stamped {
            false => (kind, number),
            true => (STAMPED, message.sequence(number)),
        };
        echo::EchoMessage { length_bytes, reply_bytes, kind, sequence }.encode(out);
    }

    fn choose(&mut self, message: &mut [u8]) {
        if self.stamped {
            ask_for_departure(message);
        }
    }

    fn space(&mut self, lane: usize) -> &mut [u8] {
        self.lanes[lane].space()
    }

    fn filled(&mut self, lane: usize, n: usize, stamp_ns: u64) {
        self.lanes[lane].filled(n, stamp_ns);
    }

    fn next(&mut self, lane: usize, _: &mut Vec<u8>) -> Result<Option<ReceivedReply>, String> {
        let inbound = &mut self.lanes[lane];
        let taken = match (inbound.take_with_body(), self.datagrams) {
            (Ok(Some((message, first_byte_ns, body))), _) => {
                self.stamps = EchoStamps::decode(body).filter(|_| message.kind == STAMPED);
                (message, first_byte_ns)
            }
            (Ok(None), false) => return Ok(None),
            (Err(error), false) => return Err(error.to_string()),
            // The rest of a datagram is no message.
            (Ok(None) | Err(_), true) => {
                return Ok(inbound.discard().map(|first_byte_ns| ReceivedReply {
                    reply: Reply::Unexpected,
                    first_byte_ns,
                    bytes: 0,
                }));
            }
        };
        let (message, first_byte_ns) = taken;
        Ok(Some(ReceivedReply {
            reply: match message.kind {
                ORDER => Reply::Ack(LoadMessage::Order, message.sequence),
                CANCEL => Reply::Ack(LoadMessage::Cancel, message.sequence),
                STAMPED if self.stamped && self.stamps.is_some() => {
                    let is_cancel = message.sequence % 2 == 1;
                    let which = if is_cancel { LoadMessage::Cancel } else { LoadMessage::Order };
                    Reply::Ack(which, message.sequence / 2)
                }
                HELLO if self.datagrams => Reply::Aside,
                _ => Reply::Unexpected,
            },
            first_byte_ns,
            bytes: usize::from(message.length_bytes),
        }))
    }

    fn stamps(&self) -> Option<EchoStamps> {
        self.stamps
    }

    fn first_complaint(&self) -> Option<&str> {
        None
    }
}

/// Sends greetings until one is answered: a flow of datagrams opens even if nobody is there. A read
/// of `flow` takes [`HELLO_PATIENCE`] at most.
///
/// # Errors
/// If nobody answers, or the socket is broken.
pub(crate) fn greet(flow: &mut (impl Read + Write + ?Sized)) -> io::Result<()> {
    let length = echo::HEADER_BYTES as u16;
    for sequence in 0..HELLOS_MAX {
        let mut out = Vec::new();
        let hello =
            echo::EchoMessage { length_bytes: length, reply_bytes: length, kind: HELLO, sequence };
        hello.encode(&mut out);
        let mut into = [0; echo::MESSAGE_BYTES_MAX];
        let read = flow.write_all(&out).and_then(|()| flow.read(&mut into));
        match read {
            Ok(n) if matches!(echo::EchoMessage::decode(&into[..n]), Ok(Some(_))) => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                std::thread::sleep(HELLO_PATIENCE);
            }
            Err(error) if echo::is_nothing(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(
        ErrorKind::TimedOut,
        format!(
            "no answer to {HELLOS_MAX} datagrams: start `tickpath exchange --echo --datagrams` \
             there, and let UDP through to it"
        ),
    ))
}

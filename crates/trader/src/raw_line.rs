//! The floor's line: messages of the raw ticker, as many bytes as the real ones.

use crate::line::{Answer, Ask, Heard, Line, News, Reply};
use crate::signal::Wish;
use crate::tick_plan::RawPlan;
use crate::web_session;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use transport::echo::{self, Inbound, Message};
use transport::ticker_echo::{self as ticker, STAMPED_REPLY_BYTES};

const ORDER: u8 = b'O';

/// One connection to a raw ticker.
pub(crate) struct RawLine {
    order_bytes: u16,
    reply_bytes: u16,
    inbound: Inbound,
    complaint: Option<String>,
}

impl RawLine {
    pub(crate) fn new(plan: &RawPlan) -> RawLine {
        let fit =
            |bytes: u64, min: usize| bytes.clamp(min as u64, echo::MESSAGE_BYTES_MAX as u64) as u16;
        RawLine {
            order_bytes: fit(plan.order_bytes, echo::HEADER_BYTES),
            reply_bytes: fit(plan.reply_bytes, STAMPED_REPLY_BYTES),
            inbound: Inbound::default(),
            complaint: None,
        }
    }

    /// Asks for the datagrams, on a connection that still blocks.
    pub(crate) fn subscribe(&mut self, stream: &mut TcpStream, to: SocketAddr) -> io::Result<()> {
        let SocketAddr::V4(to) = to else {
            return Err(io::Error::other("the raw ticker sends to IPv4 addresses alone"));
        };
        let mut out = Vec::new();
        self.append(ticker::SUBSCRIBE, ticker::subscription(to), &mut out);
        stream.write_all(&out)?;
        loop {
            let n = web_session::read(stream, self.inbound.space())?;
            if n == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.inbound.filled(n, 0);
            if let Some((answer, _)) = self.inbound.take().map_err(io::Error::other)? {
                return match (answer.kind, answer.sequence) {
                    (ticker::SUBSCRIBE, 1) => Ok(()),
                    _ => Err(io::Error::other("somebody else has the raw ticker's datagrams")),
                };
            }
        }
    }

    fn append(&self, kind: u8, sequence: u64, out: &mut Vec<u8>) {
        let least = echo::HEADER_BYTES as u16;
        let short = kind != ORDER;
        let length_bytes = if short { least } else { self.order_bytes };
        let reply_bytes = if short { least } else { self.reply_bytes };
        Message { length_bytes, reply_bytes, kind, sequence }.encode(out);
    }
}

impl Line for RawLine {
    #[inline]
    fn say(&mut self, _: &Wish, number: u64, out: &mut Vec<u8>) {
        self.append(ORDER, number, out);
    }

    fn ask(&mut self, ask: Ask, out: &mut Vec<u8>) {
        if ask == Ask::StartFlow {
            self.append(ticker::START, 0, out);
        }
    }

    fn space(&mut self) -> &mut [u8] {
        self.inbound.space()
    }

    fn filled(&mut self, n: usize, stamp_ns: u64) {
        self.inbound.filled(n, stamp_ns);
    }

    #[inline]
    fn next(&mut self, _: &mut Vec<u8>) -> Result<Option<Reply>, String> {
        let taken = self.inbound.take_with_body().map_err(|error| error.to_string())?;
        let Some((message, first_byte_ns, body)) = taken else { return Ok(None) };
        let heard = match message.kind {
            ORDER => Heard::Answer(Answer {
                number: message.sequence,
                news: News::Ended { filled: false },
                stamps: ticker::stamps(body),
            }),
            ticker::START if message.sequence > 0 => Heard::FlowStarted,
            ticker::ENDED => Heard::FlowEnded { sequence: message.sequence },
            _ => {
                let why = "the raw ticker did not begin: it sends to somebody else already";
                self.complaint.get_or_insert_with(|| why.to_owned());
                Heard::Unexpected
            }
        };
        let bytes = usize::from(message.length_bytes);
        Ok(Some(Reply { heard, first_byte_ns, bytes }))
    }

    fn first_complaint(&self) -> Option<&str> {
        self.complaint.as_deref()
    }
}

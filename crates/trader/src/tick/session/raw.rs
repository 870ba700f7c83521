//! The floor's order session: messages of the raw ticker, as long as the real ones.

use crate::session::codec::{ExecutionReport, OrderEvent, Reply};
use crate::session::web;
use crate::strategy::OrderIntent;
use crate::tick::session::{OrderSession, Request, StampedReply};
use plan::process::ticks::RawPlan;
use std::io;
use std::net::SocketAddr;
use transport::Blocking;
use transport::echo::ticker::{self as ticker, STAMPED_REPLY_BYTES};
use transport::echo::{self, EchoMessage, Inbound};
use wire::administration::FlowEnded;
use wire::reply::DoneStatus;

const ORDER: u8 = b'O';
/// Why a request for ticks failed.
const NOT_OURS: &str = "the raw ticker rejected the request for its ticks: another connection has \
     them, it may not send to that address, or it is of an older tickpath";

/// One connection to a raw ticker.
pub(crate) struct RawSession {
    order_bytes: u16,
    reply_bytes: u16,
    inbound: Inbound,
    complaint: Option<String>,
}

impl RawSession {
    pub(crate) fn new(plan: &RawPlan) -> RawSession {
        let fit =
            |bytes: u64, min: usize| bytes.clamp(min as u64, echo::MESSAGE_BYTES_MAX as u64) as u16;
        RawSession {
            order_bytes: fit(plan.order_bytes, echo::HEADER_BYTES),
            reply_bytes: fit(plan.reply_bytes, STAMPED_REPLY_BYTES),
            inbound: Inbound::default(),
            complaint: None,
        }
    }

    /// Requests the datagrams, on a connection that still blocks.
    pub(crate) fn subscribe(
        &mut self,
        stream: &mut dyn Blocking,
        to: SocketAddr,
    ) -> io::Result<()> {
        let SocketAddr::V4(to) = to else {
            return Err(io::Error::other("the raw ticker sends to IPv4 addresses alone"));
        };
        self.ask(stream, ticker::SUBSCRIBE, ticker::subscription(to)).map(drop)
    }

    /// Requests the ticks over `stream` itself; the bytes of each.
    pub(crate) fn subscribe_stream(&mut self, stream: &mut dyn Blocking) -> io::Result<usize> {
        self.ask(stream, ticker::SUBSCRIBE_STREAM, 0).map(|bytes| bytes as usize)
    }

    /// A request for ticks, and its answer, on a connection that still blocks.
    fn ask(&mut self, stream: &mut dyn Blocking, kind: u8, sequence: u64) -> io::Result<u64> {
        let mut out = Vec::new();
        self.append(kind, sequence, &mut out);
        stream.write_all(&out)?;
        loop {
            let n = web::read(stream, self.inbound.space())?;
            if n == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.inbound.filled(n, 0);
            if let Some((answer, _)) = self.inbound.take().map_err(io::Error::other)? {
                return match (answer.kind == kind, answer.sequence) {
                    (true, answered @ 1..) => Ok(answered),
                    _ => Err(io::Error::other(NOT_OURS)),
                };
            }
        }
    }

    fn append(&self, kind: u8, sequence: u64, out: &mut Vec<u8>) {
        let least = echo::HEADER_BYTES as u16;
        let short = kind != ORDER;
        let length_bytes = if short { least } else { self.order_bytes };
        let reply_bytes = if short { least } else { self.reply_bytes };
        EchoMessage { length_bytes, reply_bytes, kind, sequence }.encode(out);
    }
}

impl OrderSession for RawSession {
    #[inline]
    fn encode(&mut self, _: &OrderIntent, number: u64, out: &mut Vec<u8>) {
        self.append(ORDER, number, out);
    }

    fn encode_request(&mut self, request: Request, out: &mut Vec<u8>) {
        if request == Request::StartFlow {
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
    fn next(&mut self, _: &mut Vec<u8>) -> Result<Option<StampedReply>, String> {
        let taken = self.inbound.take_with_body().map_err(|error| error.to_string())?;
        let Some((message, first_byte_ns, body)) = taken else { return Ok(None) };
        let reply = match message.kind {
            ORDER => Reply::Execution(ExecutionReport {
                number: message.sequence,
                event: OrderEvent::Done(DoneStatus::Cancelled),
                stamps: ticker::stamps(body),
            }),
            ticker::START if message.sequence > 0 => Reply::FlowStarted,
            ticker::ENDED => {
                let feed_sequence = message.sequence;
                Reply::FlowEnded(FlowEnded { feed_sequence, ..FlowEnded::default() })
            }
            _ => {
                let why = "the raw ticker did not begin: it sends to somebody else already";
                self.complaint.get_or_insert_with(|| why.to_owned());
                Reply::Unexpected
            }
        };
        let bytes = usize::from(message.length_bytes);
        Ok(Some(StampedReply { reply, first_byte_ns, bytes }))
    }

    fn first_complaint(&self) -> Option<&str> {
        self.complaint.as_deref()
    }
}

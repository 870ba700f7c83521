//! From captured packets to orders and their acks: TCP's two streams, the frames in them, and which
//! ack answers which order.

use super::capture::Captured;
use etherparse::{SlicedPacket, TcpSlice, TransportSlice};
use std::collections::HashMap;
use wire::ClientId;
use wire::http::HTTP_HEAD_BYTES_MAX;
use wire::reader::{FrameLimits, Message, MessageReader, Role};
use wire::reply::{Reply, decode_reply};
use wire::request::{Request, decode_request};

/// An order and its ack, ns of the kernel's stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The packet that carried the order's last byte.
    pub sent_ns: u64,
    /// The packet that carried the ack's first byte.
    pub acked_ns: u64,
}

/// The ports of a packet: from, to.
type Ports = (u16, u16);

/// All orders of all connections in `captured`, as they were sent. An error if anything is missing
/// or left over: a packet, an ack, the end of a stream that may carry orders.
pub fn exchanges(captured: &Captured) -> Result<Vec<Exchange>, String> {
    let mut streams: HashMap<Ports, Stream> = HashMap::new();
    let mut orders = Orders::default();
    for (stamp_ns, packet) in captured.packets() {
        let sliced = SlicedPacket::from_ip(packet).map_err(|error| error.to_string())?;
        let Some(TransportSlice::Tcp(tcp)) = sliced.transport else { continue };
        let ports = (tcp.source_port(), tcp.destination_port());
        // The other end of a connection that is reset says no more.
        if tcp.rst()
            && let Some(stream) = streams.get_mut(&(ports.1, ports.0))
        {
            stream.ended = true;
        }
        if tcp.syn() {
            streams.insert(ports, Stream::begin(&tcp));
        } else if let Some(stream) = streams.get_mut(&ports) {
            stream
                .take(stamp_ns, &tcp, &mut orders)
                .map_err(|why| format!("the stream {} -> {}: {why}", ports.0, ports.1))?;
        }
    }
    if let Some((ports, _)) = streams.iter().find(|(_, stream)| stream.is_open()) {
        return Err(format!("the end of the stream {} -> {} was not captured", ports.0, ports.1));
    }
    orders.answered()
}

/// How far a stream is understood.
enum Content {
    /// The HTTP head until it is whole.
    Head(Vec<u8>),
    Frames,
    /// Not HTTP, such as the probes before and after a run.
    Other,
}

/// One direction of a connection.
struct Stream {
    /// The number of the next byte.
    next: u32,
    content: Content,
    reader: MessageReader,
    role: Role,
    ended: bool,
}

impl Stream {
    /// The packet that opens a stream; only the client's acknowledges nothing.
    fn begin(tcp: &TcpSlice) -> Stream {
        let role = if tcp.ack() { Role::Client } else { Role::Server };
        Stream {
            next: tcp.sequence_number().wrapping_add(1),
            content: Content::Head(Vec::new()),
            reader: MessageReader::new(role, FrameLimits::default()),
            role,
            ended: false,
        }
    }

    /// Whether orders or acks may be missing at its end.
    fn is_open(&self) -> bool {
        !self.ended && !matches!(self.content, Content::Other)
    }

    fn take(&mut self, stamp_ns: u64, tcp: &TcpSlice, orders: &mut Orders) -> Result<(), String> {
        let payload = tcp.payload();
        let ahead = tcp.sequence_number().wrapping_sub(self.next).cast_signed();
        if ahead > 0 {
            return Err(format!("{ahead} bytes are missing: void"));
        }
        self.ended |= tcp.fin() || tcp.rst();
        // A repeated packet says nothing about when its bytes came first.
        if ahead == 0 {
            // The end takes a number as a byte does.
            self.next = self.next.wrapping_add(payload.len() as u32 + u32::from(tcp.fin()));
            self.read(stamp_ns, payload, orders)?;
        }
        Ok(())
    }

    fn read(&mut self, stamp_ns: u64, bytes: &[u8], orders: &mut Orders) -> Result<(), String> {
        let head = match &mut self.content {
            Content::Head(head) => head,
            Content::Frames => return self.frames(stamp_ns, bytes, orders),
            Content::Other => return Ok(()),
        };
        head.extend_from_slice(bytes);
        let begins = if self.role == Role::Server { b"GET " } else { b"HTTP" };
        if !head.iter().zip(begins).all(|(is, wanted)| is == wanted) {
            self.content = Content::Other;
            return Ok(());
        }
        match head.windows(4).position(|four| four == b"\r\n\r\n") {
            None if head.len() > HTTP_HEAD_BYTES_MAX => Err("its HTTP head has no end".to_owned()),
            None => Ok(()),
            Some(at) => {
                let frames = head.split_off(at + 4);
                self.content = Content::Frames;
                self.frames(stamp_ns, &frames, orders)
            }
        }
    }

    fn frames(&mut self, stamp_ns: u64, bytes: &[u8], orders: &mut Orders) -> Result<(), String> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let taken = self.reader.fill_from(rest, stamp_ns);
            rest = &rest[taken..];
            while let Some(received) = self.reader.next().map_err(|error| error.to_string())? {
                let Message::Text(text) = received.message else { continue };
                match self.role {
                    Role::Server => orders.request(text, stamp_ns)?,
                    Role::Client => orders.reply(text, received.first_byte_ns)?,
                }
            }
            if taken == 0 {
                return Err("a message has no room in the reader".to_owned());
            }
        }
        Ok(())
    }
}

/// Every order that was seen, and those without an ack.
#[derive(Default)]
struct Orders {
    all: Vec<Exchange>,
    unanswered: HashMap<ClientId, usize>,
}

impl Orders {
    fn request(&mut self, text: &[u8], last_byte_ns: u64) -> Result<(), String> {
        if let Request::CreateOrder(order) = decode_request(text).map_err(|e| e.to_string())? {
            let index = self.all.len();
            self.all.push(Exchange { sent_ns: last_byte_ns, acked_ns: 0 });
            if self.unanswered.insert(order.client_id, index).is_some() {
                return Err(format!("the order {:?} came twice", order.client_id));
            }
        }
        Ok(())
    }

    fn reply(&mut self, text: &[u8], first_byte_ns: u64) -> Result<(), String> {
        if let Reply::Booked(booked) = decode_reply(text).map_err(|e| e.to_string())? {
            let index = self.unanswered.remove(&booked.client_id);
            let order = index.and_then(|index| self.all.get_mut(index));
            order.ok_or("an ack without an order")?.acked_ns = first_byte_ns;
        }
        Ok(())
    }

    fn answered(self) -> Result<Vec<Exchange>, String> {
        match self.unanswered.len() {
            0 => Ok(self.all),
            missing => Err(format!("{missing} of {} orders have no ack", self.all.len())),
        }
    }
}

#[cfg(test)]
#[path = "exchanges_tests.rs"]
mod tests;

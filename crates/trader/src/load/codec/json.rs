//! The exchange's end of JSON over WebSocket.

use super::answer::{Answer, InMemory};
use std::io;
use wire::OrderId;
use wire::frame::{Opcode, write_frame_with};
use wire::http::{Request as HttpRequest, accept_response, parse_head};
use wire::reader::{FrameLimits, Message, MessageReader, Role};
use wire::reply::{
    OrderBooked, Subscriptions, encode_authenticated, encode_booked, encode_subscriptions,
};
use wire::request::{CreateOrder, Request, decode_request};

pub(super) fn peer() -> InMemory<JsonPeer> {
    let reader = MessageReader::new(Role::Server, FrameLimits::default());
    InMemory::of(JsonPeer { reader, is_upgraded: false, orders: 0 })
}

pub(super) struct JsonPeer {
    reader: MessageReader,
    is_upgraded: bool,
    orders: u64,
}

impl Answer for JsonPeer {
    fn answer(&mut self, inbound: &mut Vec<u8>, out: &mut Vec<u8>) -> io::Result<()> {
        if !self.is_upgraded {
            let Some(head) = parse_head(inbound).map_err(io::Error::other)? else { return Ok(()) };
            let HttpRequest::Upgrade { key, .. } = head.request else {
                return Err(io::Error::other("the head asks for no upgrade"));
            };
            accept_response(out, &key);
            self.is_upgraded = true;
            let head_bytes = head.head_bytes;
            inbound.drain(..head_bytes);
        }
        let mut rest = &inbound[..];
        while !rest.is_empty() {
            rest = &rest[self.reader.fill_from(rest, 0)..];
            while let Some(received) = self.reader.next().map_err(io::Error::other)? {
                let Message::Text(text) = received.message else { continue };
                let request = decode_request(text).map_err(io::Error::other)?;
                self.orders += u64::from(matches!(request, Request::CreateOrder(_)));
                let orders = self.orders;
                write_frame_with(out, Opcode::Text, None, |out| reply(&request, orders, out));
            }
        }
        inbound.clear();
        Ok(())
    }
}

fn reply(request: &Request<'_>, orders: u64, out: &mut Vec<u8>) {
    match request {
        Request::CreateOrder(create) => encode_booked(out, &booked(create, orders)),
        Request::Authenticate { .. } => encode_authenticated(out),
        _ => encode_subscriptions(out, &Subscriptions { channels: Vec::new(), time_ms: 0 }),
    }
}

/// The report that an order rests, for the `nth` order.
pub(super) fn booked<'a>(create: &CreateOrder<'a>, nth: u64) -> OrderBooked<'a> {
    OrderBooked {
        client_id: create.client_id,
        instrument_code: create.instrument_code.clone(),
        side: create.side,
        price: create.price.unwrap_or_default(),
        amount: create.amount,
        order_id: OrderId::from_u64(nth),
        order_book_sequence: nth.cast_signed(),
        time_ms: 1_790_000_000_000,
        uid: "3001".into(),
    }
}

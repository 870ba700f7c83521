//! The floor: messages of the raw echo, as long as the real ones.

use crate::load::session::{Message, OrderProtocol, ReceivedReply, Reply};
use record::MessageBytes;
use std::io;
use transport::Connection;
use transport::echo::{self, Inbound};

pub(crate) struct Raw {
    order: (u16, u16),
    cancel: (u16, u16),
    lanes: Vec<Inbound>,
}

const ORDER: u8 = b'O';
const CANCEL: u8 = b'C';

impl Raw {
    pub(crate) fn new(bytes: MessageBytes, lanes: usize) -> Raw {
        let fit = |bytes: u64| {
            bytes.clamp(echo::HEADER_BYTES as u64, echo::MESSAGE_BYTES_MAX as u64) as u16
        };
        Raw {
            order: (fit(bytes.order), fit(bytes.order_reply)),
            cancel: (fit(bytes.cancel), fit(bytes.cancel_reply)),
            lanes: (0..lanes).map(|_| Inbound::default()).collect(),
        }
    }
}

impl OrderProtocol for Raw {
    fn log_on(&mut self, _: usize, _: &mut Connection, _: &[usize]) -> io::Result<()> {
        Ok(())
    }

    fn encode(&mut self, message: Message, number: u64, _: usize, out: &mut Vec<u8>) {
        let ((length_bytes, reply_bytes), kind) = match message {
            Message::Order => (self.order, ORDER),
            Message::Cancel => (self.cancel, CANCEL),
        };
        echo::Message { length_bytes, reply_bytes, kind, sequence: number }.encode(out);
    }

    fn space(&mut self, lane: usize) -> &mut [u8] {
        self.lanes[lane].space()
    }

    fn filled(&mut self, lane: usize, n: usize, stamp_ns: u64) {
        self.lanes[lane].filled(n, stamp_ns);
    }

    fn next(&mut self, lane: usize, _: &mut Vec<u8>) -> Result<Option<ReceivedReply>, String> {
        let taken = self.lanes[lane].take().map_err(|error| error.to_string())?;
        Ok(taken.map(|(message, first_byte_ns)| ReceivedReply {
            reply: match message.kind {
                ORDER => Reply::Ack(Message::Order, message.sequence),
                CANCEL => Reply::Ack(Message::Cancel, message.sequence),
                _ => Reply::Unexpected,
            },
            first_byte_ns,
            bytes: usize::from(message.length_bytes),
        }))
    }

    fn first_complaint(&self) -> Option<&str> {
        None
    }
}

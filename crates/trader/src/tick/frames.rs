//! Ingest over TCP: one message of a WebSocket at a time, as a receiver of datagrams gives one
//! datagram at a time.

use crate::session::web::{Masks, WebSession};
use clock::Clock;
use std::io;
use transport::datagram::Datagram;
use transport::{Connection, StreamRead, StreamReceiver};
use wire::frame::{Opcode, write_frame};
use wire::reader::{Message, MessageReader};

/// A connection that only market data comes over. Never blocks.
pub(crate) struct FrameReceiver {
    pub(crate) stream: StreamReceiver,
    reader: MessageReader,
    masks: Masks,
    /// When the latest read returned.
    read_ns: u64,
    /// The latest message ended with the last byte of the latest read.
    ends_read: bool,
    pong: Vec<u8>,
}

impl FrameReceiver {
    /// A receiver from a connection that is logged on and subscribed.
    ///
    /// # Errors
    /// As [`StreamReceiver::new`].
    pub(crate) fn new(
        connection: Connection,
        web: WebSession,
        kernel_stamps: bool,
        clock: Clock,
    ) -> io::Result<FrameReceiver> {
        let stream = StreamReceiver::new(connection, kernel_stamps, clock)?;
        let WebSession { reader, masks, .. } = web;
        let (read_ns, ends_read, pong) = (clock.now_ns(), false, Vec::with_capacity(256));
        Ok(FrameReceiver { stream, reader, masks, read_ns, ends_read, pong })
    }

    /// The next text message, if one is there, into `into`. Reads the socket at most once, and only
    /// if none is left from the reads before. Its time is that of the read that completed it.
    #[inline]
    pub(crate) fn receive(&mut self, into: &mut [u8]) -> Datagram {
        if let Some(message) = self.next(into) {
            return message;
        }
        loop {
            match self.stream.read(self.reader.space()) {
                StreamRead::Bytes { n, stamp_ns } => {
                    self.reader.filled(n, stamp_ns);
                    self.read_ns = stamp_ns;
                    if let Some(message) = self.next(into) {
                        return message;
                    }
                }
                StreamRead::Empty => return Datagram::Empty,
                StreamRead::Closed => {
                    let why = "the exchange closed the connection of its market data";
                    return Datagram::Failed(io::Error::new(io::ErrorKind::UnexpectedEof, why));
                }
                StreamRead::Failed(error) => return Datagram::Failed(error),
            }
            // The socket knows nothing of what is left of a TLS record.
            if !self.stream.has_more() {
                return Datagram::Empty;
            }
        }
    }

    /// The next text message of what was read; answers pings.
    #[inline]
    fn next(&mut self, into: &mut [u8]) -> Option<Datagram> {
        loop {
            let FrameReceiver { stream, reader, masks, pong, .. } = self;
            let message = match reader.next() {
                Ok(received) => received?.message,
                Err(error) => return Some(Datagram::Failed(io::Error::other(error))),
            };
            match message {
                Message::Text(text) => {
                    let n = text.len();
                    let Some(into) = into.get_mut(..n) else {
                        let why =
                            format!("a message of {n} bytes; a tick has at most {}", into.len());
                        return Some(Datagram::Failed(io::Error::other(why)));
                    };
                    into.copy_from_slice(text);
                    self.ends_read = !self.reader.is_within_message();
                    return Some(Datagram::Bytes { n, read_ns: self.read_ns });
                }
                Message::Ping(payload) => {
                    pong.clear();
                    write_frame(pong, true, Opcode::Pong, Some(masks.next()), payload);
                    if let Err(error) = stream.send(pong) {
                        return Some(Datagram::Failed(error));
                    }
                }
                Message::Pong(_) => {}
                Message::Binary(_) => {
                    let why = "the exchange sent a binary message, and its market data is text";
                    return Some(Datagram::Failed(io::Error::other(why)));
                }
                Message::Close { code, reason } => {
                    let reason = String::from_utf8_lossy(reason);
                    let why = format!("the exchange closed its market data ({code:?}): {reason}");
                    return Some(Datagram::Failed(io::Error::other(why)));
                }
            }
        }
    }

    /// When the kernel received the segment that completed the latest message, ns on the clock; 0:
    /// unknown, because it did not stamp it, or later bytes were read with it.
    pub(crate) fn kernel_ns(&mut self) -> u64 {
        if self.ends_read { self.stream.kernel_ns() } else { 0 }
    }
}

#[cfg(test)]
#[path = "frames_tests.rs"]
mod tests;

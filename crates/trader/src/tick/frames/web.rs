//! Text messages of a WebSocket.

use crate::session::web::{Masks, WebSession};
use crate::tick::frames::{Frames, copy};
use std::io;
use transport::StreamReceiver;
use wire::frame::{Opcode, write_frame};
use wire::reader::{Message, MessageReader};

/// See the module.
pub(crate) struct WebFrames {
    reader: MessageReader,
    masks: Masks,
    pong: Vec<u8>,
}

impl WebFrames {
    /// Goes on with what the session has read.
    pub(crate) fn new(session: WebSession) -> WebFrames {
        let WebSession { reader, masks, .. } = session;
        WebFrames { reader, masks, pong: Vec::with_capacity(256) }
    }
}

impl Frames for WebFrames {
    fn space(&mut self) -> &mut [u8] {
        self.reader.space()
    }

    fn filled(&mut self, n: usize, read_ns: u64) {
        self.reader.filled(n, read_ns);
    }

    #[inline]
    fn next(&mut self, stream: &mut StreamReceiver, into: &mut [u8]) -> io::Result<Option<usize>> {
        loop {
            let WebFrames { reader, masks, pong } = self;
            let Some(received) = reader.next().map_err(io::Error::other)? else { return Ok(None) };
            match received.message {
                Message::Text(text) => return copy(text, into).map(Some),
                Message::Ping(payload) => {
                    pong.clear();
                    write_frame(pong, true, Opcode::Pong, Some(masks.next()), payload);
                    stream.send(pong)?;
                }
                Message::Pong(_) => {}
                Message::Binary(_) => {
                    let why = "the exchange sent a binary message, and its market data is text";
                    return Err(io::Error::other(why));
                }
                Message::Close { code, reason } => {
                    let reason = String::from_utf8_lossy(reason);
                    let why = format!("the exchange closed its market data ({code:?}): {reason}");
                    return Err(io::Error::other(why));
                }
            }
        }
    }

    #[inline]
    fn ends_read(&self) -> bool {
        !self.reader.is_within_message()
    }
}

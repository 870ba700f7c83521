//! Ingest over TCP: one message at a time, as a receiver of datagrams gives one datagram at a time.

pub(crate) mod fix;
pub(crate) mod raw;
pub(crate) mod web;

use clock::Clock;
use std::io;
use transport::datagram::Datagram;
use transport::{Connection, StreamRead, StreamReceiver};

/// Messages of market data in the bytes of a connection, in one dialect.
pub(crate) trait Frames {
    /// Where the next bytes go; not empty.
    fn space(&mut self) -> &mut [u8];

    /// `n` bytes were put there by a read that returned at `read_ns`.
    fn filled(&mut self, n: usize, read_ns: u64);

    /// Copies the next message of market data into `into`, if one is whole; its length. Answers
    /// what else came, over `stream`.
    ///
    /// # Errors
    /// If nothing more can be followed.
    fn next(&mut self, stream: &mut StreamReceiver, into: &mut [u8]) -> io::Result<Option<usize>>;

    /// Whether the latest message ended with the last byte that was read.
    fn ends_read(&self) -> bool;

    /// Says that this end is alive, if that is due: about once a second.
    ///
    /// # Errors
    /// If the other end is not.
    fn keep_alive(&mut self, _stream: &mut StreamReceiver) -> io::Result<()> {
        Ok(())
    }
}

/// A connection that only market data comes over. Never blocks.
pub(crate) struct FrameReceiver<F> {
    pub(crate) stream: StreamReceiver,
    frames: F,
    /// When the latest read returned.
    read_ns: u64,
    /// The latest message ended with the last byte of the latest read.
    ends_read: bool,
    /// Found between two messages.
    failure: Option<io::Error>,
}

impl<F: Frames> FrameReceiver<F> {
    /// A receiver from a connection that is logged on and subscribed.
    ///
    /// # Errors
    /// As [`StreamReceiver::new`].
    pub(crate) fn new(
        connection: Connection,
        frames: F,
        kernel_stamps: bool,
        clock: Clock,
    ) -> io::Result<FrameReceiver<F>> {
        let stream = StreamReceiver::new(connection, kernel_stamps, clock)?;
        let (read_ns, ends_read, failure) = (clock.now_ns(), false, None);
        Ok(FrameReceiver { stream, frames, read_ns, ends_read, failure })
    }

    /// The next message, if one is there, into `into`. Reads the socket at most once, and only if
    /// none is left from the reads before. Its time is that of the read that completed it.
    #[inline]
    pub(crate) fn receive(&mut self, into: &mut [u8]) -> Datagram {
        if let Some(message) = self.next(into) {
            return message;
        }
        loop {
            match self.stream.read(self.frames.space()) {
                StreamRead::Bytes { n, stamp_ns } => {
                    self.frames.filled(n, stamp_ns);
                    self.read_ns = stamp_ns;
                    if let Some(message) = self.next(into) {
                        return message;
                    }
                }
                StreamRead::Empty => {
                    return self.failure.take().map_or(Datagram::Empty, Datagram::Failed);
                }
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

    #[inline]
    fn next(&mut self, into: &mut [u8]) -> Option<Datagram> {
        match self.frames.next(&mut self.stream, into) {
            Ok(n) => n.map(|n| {
                self.ends_read = self.frames.ends_read();
                Datagram::Bytes { n, read_ns: self.read_ns }
            }),
            Err(error) => Some(Datagram::Failed(error)),
        }
    }

    /// When the kernel received the segment that completed the latest message, ns on the clock; 0:
    /// unknown, because it did not stamp it, or later bytes were read with it.
    pub(crate) fn kernel_ns(&mut self) -> u64 {
        if self.ends_read { self.stream.kernel_ns() } else { 0 }
    }

    /// Reads the wall clock again, and says that this end is alive: about once a second, off the
    /// path.
    pub(crate) fn look_after(&mut self) {
        self.stream.refresh_wall();
        if let Err(error) = self.frames.keep_alive(&mut self.stream) {
            self.failure.get_or_insert(error);
        }
    }
}

/// Copies a message.
#[inline]
fn copy(message: &[u8], into: &mut [u8]) -> io::Result<usize> {
    let (n, room) = (message.len(), into.len());
    let Some(into) = into.get_mut(..n) else {
        let why = format!("a message of {n} bytes; a tick has at most {room}");
        return Err(io::Error::other(why));
    };
    into.copy_from_slice(message);
    Ok(n)
}

#[cfg(test)]
mod tests;

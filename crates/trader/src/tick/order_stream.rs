//! The trader's stream to the exchange: writes the outbox with its stamps, and waits for replies.

use crate::tick::samples::Samples;
use crate::tick::stages::Outbox;
use std::io;
use transport::stamps::KernelStamps;
use transport::{Connection, Ready, StreamId, StreamRead, Streams, Write};

/// One stream.
pub(crate) struct OrderStream {
    streams: Box<dyn Streams>,
    stream: StreamId,
    /// It takes no bytes now, and is watched until it does.
    watched: bool,
    ready: Vec<Ready>,
}

impl OrderStream {
    pub(crate) fn new(streams: Box<dyn Streams>, stream: StreamId) -> OrderStream {
        OrderStream { streams, stream, watched: false, ready: Vec::with_capacity(8) }
    }

    /// Ends the connection.
    pub(crate) fn remove(&mut self) {
        self.streams.remove(self.stream);
    }

    /// Continues with another connection; call it after [`OrderStream::remove`].
    ///
    /// # Errors
    /// If the kernel rejects it.
    pub(crate) fn replace(&mut self, connection: Connection) -> io::Result<()> {
        self.stream = self.streams.add(connection)?;
        self.watched = false;
        Ok(())
    }

    /// The kernel shall stamp the next write.
    #[inline]
    pub(crate) fn stamp_next_write(&mut self) {
        self.streams.stamp_next_write(self.stream);
    }

    /// Stamps of that write, and of the latest read since then.
    pub(crate) fn stamps(&mut self) -> KernelStamps {
        self.streams.stamps(self.stream)
    }

    /// Writes the outbox. Returns the stamp taken right before the system call, 0 without one.
    ///
    /// # Errors
    /// Why the run can't continue.
    #[inline]
    pub(crate) fn write(
        &mut self,
        outbox: &mut Outbox,
        samples: &mut Samples,
        last_sent_ns: &mut u64,
    ) -> Result<u64, String> {
        if self.watched || outbox.bytes.is_empty() {
            return Ok(0);
        }
        let (n, stamp_ns) = match self.streams.write(self.stream, &outbox.bytes) {
            Write::Bytes { n, stamp_ns } => (n, stamp_ns),
            Write::Failed(error) => return Err(ended(&error)),
        };
        let is_whole = n == outbox.bytes.len();
        if is_whole && outbox.messages.iter().all(|unsent| unsent.sample.is_none()) {
            outbox.clear();
        } else {
            self.written_in_part(n, stamp_ns, outbox, samples, last_sent_ns)?;
        }
        Ok(stamp_ns)
    }

    /// A message leaves with the write that takes its last byte.
    #[cold]
    fn written_in_part(
        &mut self,
        n: usize,
        stamp_ns: u64,
        outbox: &mut Outbox,
        samples: &mut Samples,
        last_sent_ns: &mut u64,
    ) -> Result<(), String> {
        let Outbox { bytes, messages } = outbox;
        let whole = messages.iter().take_while(|unsent| unsent.end <= n).count();
        for place in messages.drain(..whole).filter_map(|unsent| unsent.sample) {
            samples.sent(place, stamp_ns);
            *last_sent_ns = stamp_ns;
        }
        messages.iter_mut().for_each(|unsent| unsent.end -= n);
        bytes.drain(..n);
        let waits = !bytes.is_empty();
        self.watch(waits)
    }

    fn watch(&mut self, watch: bool) -> Result<(), String> {
        if watch != self.watched {
            self.watched = watch;
            let watched = self.streams.watch_writable(self.stream, watch);
            watched
                .map_err(|error| format!("waiting for the exchange's socket failed: {error}"))?;
        }
        Ok(())
    }

    /// Waits as the backend does, at most until `until_ns`. Returns whether the stream has bytes to
    /// read, and whether it takes bytes again.
    ///
    /// # Errors
    /// Why the run can't continue.
    pub(crate) fn wait(&mut self, until_ns: u64) -> Result<(bool, bool), String> {
        self.ready.clear();
        let waited = self.streams.wait(until_ns, &mut self.ready);
        waited.map_err(|error| format!("waiting for replies failed: {error}"))?;
        // Anything else is the feed's: the next turn reads it.
        let is_readable = self.ready.contains(&Ready::Readable(self.stream));
        let is_writable = self.ready.contains(&Ready::Writable(self.stream));
        if is_writable {
            self.watch(false)?;
        }
        Ok((is_readable, is_writable))
    }

    /// Reads once into `space`. Returns the number of bytes and the stamp, if there were any.
    ///
    /// # Errors
    /// Why the run can't continue.
    pub(crate) fn read(&mut self, space: &mut [u8]) -> Result<Option<(usize, u64)>, String> {
        match self.streams.read(self.stream, space) {
            StreamRead::Empty => Ok(None),
            StreamRead::Closed => Err(ended(&"the other end closed it")),
            StreamRead::Failed(error) => Err(ended(&error)),
            StreamRead::Bytes { n, stamp_ns } => Ok(Some((n, stamp_ns))),
        }
    }
}

fn ended(why: &dyn std::fmt::Display) -> String {
    format!("the exchange's connection ended in mid-run: {why}")
}

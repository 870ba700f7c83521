//! A stream of a set that is read and written like a blocking socket, before a run.

use crate::streams::{Ready, StreamId, StreamRead, Streams, Write};
use clock::Clock;
use std::io::{self, ErrorKind, Read};
use std::time::Duration;

/// One stream of a set, for a handshake or a greeting.
pub struct Dialogue<'a> {
    /// The set. Events of its other streams are lost meanwhile.
    pub streams: &'a mut dyn Streams,
    /// The stream.
    pub id: StreamId,
    /// The clock that the set was opened with.
    pub clock: Clock,
    /// The longest that a read or a write takes; then it fails with `WouldBlock`.
    pub patience: Duration,
}

impl Dialogue<'_> {
    /// Tries until something comes of it, or for too long.
    fn persist<T>(
        &mut self,
        mut attempt: impl FnMut(&mut dyn Streams) -> io::Result<Option<T>>,
    ) -> io::Result<T> {
        let until_ns = self.clock.now_ns() + self.patience.as_nanos() as u64;
        let mut ready: Vec<Ready> = Vec::new();
        loop {
            if let Some(done) = attempt(self.streams)? {
                return Ok(done);
            }
            if self.clock.now_ns() >= until_ns {
                return Err(ErrorKind::WouldBlock.into());
            }
            ready.clear();
            self.streams.wait(until_ns, &mut ready)?;
        }
    }
}

impl Read for Dialogue<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let id = self.id;
        self.persist(|streams| match streams.read(id, into) {
            StreamRead::Bytes { n, .. } => Ok(Some(n)),
            StreamRead::Empty => Ok(None),
            StreamRead::Closed => Ok(Some(0)),
            StreamRead::Failed(why) => Err(why),
        })
    }
}

impl io::Write for Dialogue<'_> {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        let id = self.id;
        self.persist(|streams| match streams.write(id, from) {
            Write::Bytes { n: 0, .. } => Ok(None),
            Write::Bytes { n, .. } => Ok(Some(n)),
            Write::Failed(why) => Err(why),
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

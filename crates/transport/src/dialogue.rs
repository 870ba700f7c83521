//! Streams that block, for what is said before a run.

use crate::connection::Connection;
use crate::streams::{Ready, StreamId, StreamRead, Streams, Write};
use clock::Clock;
use std::io::{self, ErrorKind, Read};
use std::net::TcpStream;
use std::time::Duration;

/// A stream that blocks: a connection before it goes into a set, or a [`Dialogue`].
pub trait Blocking: io::Read + io::Write {
    /// Sets the longest time that a read or a write takes from now on; then it fails with
    /// `WouldBlock` or `TimedOut`.
    ///
    /// # Errors
    /// If the time is zero, or as the socket's.
    fn set_patience(&mut self, patience: Duration) -> io::Result<()>;

    /// Whether it has a TLS session.
    fn is_secure(&self) -> bool;
}

impl Blocking for TcpStream {
    fn set_patience(&mut self, patience: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(patience))?;
        self.set_write_timeout(Some(patience))
    }

    fn is_secure(&self) -> bool {
        false
    }
}

impl Blocking for Connection {
    fn set_patience(&mut self, patience: Duration) -> io::Result<()> {
        self.socket.set_patience(patience)
    }

    fn is_secure(&self) -> bool {
        self.session.is_some()
    }
}

/// One stream of a set that is read and written like a blocking socket, before a run.
pub struct Dialogue<'a, S: Streams + ?Sized> {
    /// The set. Events of its other streams are lost meanwhile.
    pub streams: &'a mut S,
    /// The stream.
    pub id: StreamId,
    /// The clock that the set was opened with.
    pub clock: Clock,
    /// The longest that a read or a write takes; then it fails with `WouldBlock`.
    pub patience: Duration,
    /// Whether it has a TLS session.
    pub is_secure: bool,
}

impl<S: Streams + ?Sized> Blocking for Dialogue<'_, S> {
    fn set_patience(&mut self, patience: Duration) -> io::Result<()> {
        self.patience = patience;
        Ok(())
    }

    fn is_secure(&self) -> bool {
        self.is_secure
    }
}

impl<S: Streams + ?Sized> Dialogue<'_, S> {
    /// Tries until something comes of it, or for too long.
    fn persist<T>(
        &mut self,
        mut attempt: impl FnMut(&mut S) -> io::Result<Option<T>>,
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

impl<S: Streams + ?Sized> Read for Dialogue<'_, S> {
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

impl<S: Streams + ?Sized> io::Write for Dialogue<'_, S> {
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

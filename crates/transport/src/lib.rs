//! Byte streams over several backends, and datagrams, with the stamps next to the system call; also
//! the raw echo, which gives the floor.
//!
//! Code that speaks over a stream sees only [`Streams`]. A backend is a row of [`BACKENDS`]; a new
//! one changes nothing else.
//!
//! ```text
//!   trader ──────────────┐                      ┌── exchange, echo: a `Service` run by `serve`
//!                        │                      ├── gateway process: `forward`
//!                        v                      v
//!                     Streams: wait, read, write, accept
//!                        ├── inject: harm on purpose, around any
//!                        ├── readiness: `spin`, `block`
//!                        ├── uring: `io_uring`, `io_uring_spin`
//!                        └── gateways: threads that own the sockets, each with one of the former;
//!                            bytes come and go through rings
//! ```

#![deny(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod connection;
pub mod datagram;
pub mod echo;
pub mod forward;
pub mod gateway;
#[cfg(test)]
mod present;
pub mod serve;
mod stream;
pub mod tls;

pub use connection::Connection;
pub use stream::inject;

use clock::Clock;
use plan::backend::{self, UnknownBackend};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// Which stream of a set. Ids are small and used again after [`Streams::remove`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u32);

impl StreamId {
    /// As an index into a table with a row a stream.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What [`Streams::wait`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// There may be something to read.
    Readable(StreamId),
    /// A stream that is watched for it takes bytes again.
    Writable(StreamId),
    /// There may be a connection to accept.
    Incoming,
}

/// How a read went.
#[derive(Debug)]
pub enum Read {
    /// So many bytes came; `stamp_ns` was taken first thing after the call returned.
    Bytes {
        /// At least 1.
        n: usize,
        /// On the clock that the backend was opened with.
        stamp_ns: u64,
    },
    /// Nothing there now.
    Empty,
    /// The peer has ended the stream.
    Closed,
    /// The stream is broken.
    Failed(io::Error),
}

/// How a write went.
#[derive(Debug)]
pub enum Write {
    /// The kernel took the first `n` bytes, maybe none of them; `stamp_ns` was taken last thing
    /// before the call.
    Bytes {
        /// At most what was given.
        n: usize,
        /// On the clock that the backend was opened with.
        stamp_ns: u64,
    },
    /// The stream is broken.
    Failed(io::Error),
}

/// A set of byte streams for one thread, and perhaps the listener from which they come.
pub trait Streams {
    /// Takes a connected stream into the set and switches off Nagle's algorithm. If the peer
    /// vanishes without a word, the stream fails after half a minute.
    ///
    /// # Errors
    /// If the kernel refuses an option or the registration.
    fn add(&mut self, connection: Connection) -> io::Result<StreamId>;

    /// Ends the stream and forgets it; its id may be used again.
    fn remove(&mut self, id: StreamId);

    /// Sends the end of our side, so that the peer reads what was written and then the end.
    fn shutdown(&mut self, id: StreamId);

    /// Takes the listener whose connections [`accept`](Streams::accept) takes.
    ///
    /// # Errors
    /// If the kernel refuses the registration.
    fn listen(&mut self, listener: TcpListener) -> io::Result<()>;

    /// Takes the next connection that waits, if any, into the set as [`add`](Streams::add) does.
    ///
    /// # Errors
    /// If the process or the system is out of descriptors, mostly.
    fn accept(&mut self) -> io::Result<Option<StreamId>>;

    /// Address of the stream's other end; `None` if unknown. Makes a system call: not for the hot
    /// path.
    fn peer(&self, id: StreamId) -> Option<SocketAddr>;

    /// Adds what may be ready to `ready`. A backend that blocks waits for it until `until_ns`; one
    /// that spins looks once and returns. Either may return with nothing.
    ///
    /// # Errors
    /// If the kernel refuses to wait; an interrupted wait is no error.
    fn wait(&mut self, until_ns: u64, ready: &mut Vec<Ready>) -> io::Result<()>;

    /// Reads into `into`, which is not empty.
    fn read(&mut self, id: StreamId, into: &mut [u8]) -> Read;

    /// Writes from `from`, which is not empty.
    fn write(&mut self, id: StreamId, from: &[u8]) -> Write;

    /// Whether [`wait`](Streams::wait) shall report when the stream takes bytes again.
    ///
    /// # Errors
    /// If the kernel refuses the registration.
    fn watch_writable(&mut self, id: StreamId, watch: bool) -> io::Result<()>;

    /// Whether [`wait`](Streams::wait) shall report that there is something to read; it does until
    /// told otherwise. Afterwards it may still report that the stream broke, and what the backend
    /// has already received, at most [`RECEIVED_AHEAD_BYTES_MAX`]: read that, since it takes up
    /// memory that all streams share.
    ///
    /// # Errors
    /// If the kernel refuses, or the set can't stop one stream, as that of gateway threads can't.
    fn watch_readable(&mut self, _id: StreamId, _watch: bool) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// The most that a backend, with TLS around it or not, receives of a stream before it is read.
pub const RECEIVED_AHEAD_BYTES_MAX: usize = 2 << 20;

/// What a gateway's thread asks of its backend beyond [`Streams`].
pub(crate) trait Sockets: Streams {
    /// The next connection that waits, for another thread's set.
    ///
    /// # Errors
    /// As [`Streams::accept`].
    fn accept_socket(&mut self) -> io::Result<Option<TcpStream>>;

    /// Takes what [`accept_socket`](Sockets::accept_socket) gave to some thread into this set.
    ///
    /// # Errors
    /// As [`Streams::add`].
    fn add_accepted(&mut self, socket: TcpStream) -> io::Result<StreamId> {
        self.add(socket.into())
    }

    /// From now on whatever is written to `bell`, an eventfd, ends a wait that sleeps. It may be
    /// reported as [`BELL`], of which nothing can be read.
    ///
    /// # Errors
    /// If the kernel refuses the registration.
    fn wake_by(&mut self, bell: BorrowedFd<'_>) -> io::Result<()>;
}

/// No stream has this id: what was given to [`Backend::open_beside`] is reported so.
pub const BELL: StreamId = StreamId(u32::MAX);

/// One way to wait, read and write, and how to open a set of its sockets.
pub struct Backend {
    /// Its row in the plans.
    pub row: plan::backend::Backend,
    open: fn(Clock) -> io::Result<Box<dyn Sockets>>,
}

/// The backends that plans can name, in their order.
pub const BACKENDS: &[Backend] = &[
    Backend { row: backend::SPIN, open: stream::readiness::spin },
    Backend { row: backend::BLOCK, open: stream::readiness::block },
    Backend { row: backend::IO_URING, open: stream::uring::sleep },
    Backend { row: backend::IO_URING_SPIN, open: stream::uring::spin },
];

/// The backend of that name.
///
/// # Errors
/// If there is none; the error lists all backends.
pub fn backend(name: &str) -> Result<&'static Backend, UnknownBackend> {
    let known = BACKENDS.iter().find(|backend| backend.row.name == name);
    known.ok_or_else(|| UnknownBackend::new(name))
}

impl Backend {
    /// An empty set of streams of this backend. Stamps are taken on `clock`.
    ///
    /// # Errors
    /// If the kernel lacks what the backend needs.
    pub fn open(&self, clock: Clock) -> io::Result<Box<dyn Streams>> {
        Ok((self.open)(clock)?)
    }

    /// As [`Backend::open`], for a thread that also receives datagrams: an arrival at `socket` ends
    /// a sleeping wait. Each arrival is reported once, as [`BELL`], which can't be read: receive
    /// until the socket is empty, then wait.
    ///
    /// # Errors
    /// If the kernel lacks what the backend needs.
    pub fn open_beside(
        &self,
        clock: Clock,
        socket: BorrowedFd<'_>,
    ) -> io::Result<Box<dyn Streams>> {
        let mut sockets = (self.open)(clock)?;
        sockets.wake_by(socket)?;
        Ok(sockets)
    }

    /// As [`Backend::open`], for a gateway's thread.
    pub(crate) fn open_sockets(
        &self,
        tls: Option<Arc<tls::Acceptor>>,
        clock: Clock,
    ) -> io::Result<Box<dyn Sockets>> {
        let sockets = (self.open)(clock)?;
        Ok(match tls {
            None => sockets,
            Some(_) => Box::new(tls::TlsStreams::new(sockets, tls, clock)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_backend_that_a_plan_can_name_is_implemented() {
        let rows: Vec<backend::Backend> = BACKENDS.iter().map(|backend| backend.row).collect();
        assert_eq!(rows, backend::BACKENDS);
    }
}

//! A set of byte streams as the code above sees it.

use crate::connection::Connection;
use crate::stamps::KernelStamps;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::BorrowedFd;

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

/// An event that [`Streams::wait`] found.
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
pub enum StreamRead {
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
    /// If the kernel rejects an option or the registration.
    fn add(&mut self, connection: Connection) -> io::Result<StreamId>;

    /// Opens a connection or a flow of datagrams to `peer` in a set that has no sockets of the
    /// kernel. Others take a connected one, by [`add`](Streams::add). Blocks for some seconds at
    /// most: not for the hot path.
    ///
    /// # Errors
    /// If the set has such sockets, or the stream can't be had.
    fn dial(&mut self, _peer: SocketAddr) -> io::Result<StreamId> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Listens at `HOST:PORT` in a set that has no sockets of the kernel, where others take a
    /// listener by [`listen`](Streams::listen). Gives the address; port 0 is any that is free.
    ///
    /// # Errors
    /// If the set has such sockets, or the address can't be had.
    fn listen_at(&mut self, _address: &str) -> io::Result<SocketAddr> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// In words the stack below a set that has no sockets of the kernel, once it has one; `None`:
    /// the kernel's.
    fn stack(&self) -> Option<String> {
        None
    }

    /// Ends the stream and forgets it; its id may be used again.
    fn remove(&mut self, id: StreamId);

    /// Sends the end of our side, so that the peer reads what was written and then the end.
    fn shutdown(&mut self, id: StreamId);

    /// Takes the listener whose connections [`accept`](Streams::accept) takes.
    ///
    /// # Errors
    /// If the kernel rejects the registration.
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
    /// If the wait fails; an interrupted wait is no error.
    fn wait(&mut self, until_ns: u64, ready: &mut Vec<Ready>) -> io::Result<()>;

    /// As [`wait`](Streams::wait), and a backend that spins sleeps too: for a server that nobody
    /// uses.
    ///
    /// # Errors
    /// As [`wait`](Streams::wait).
    fn rest(&mut self, until_ns: u64, ready: &mut Vec<Ready>) -> io::Result<()> {
        self.wait(until_ns, ready)
    }

    /// Reads into `into`, which is not empty.
    fn read(&mut self, id: StreamId, into: &mut [u8]) -> StreamRead;

    /// Writes from `from`, which is not empty.
    fn write(&mut self, id: StreamId, from: &[u8]) -> Write;

    /// Whether [`wait`](Streams::wait) shall report when the stream takes bytes again.
    ///
    /// # Errors
    /// If the kernel rejects the registration.
    fn watch_writable(&mut self, id: StreamId, watch: bool) -> io::Result<()>;

    /// Whether [`wait`](Streams::wait) shall report that there is something to read; it does until
    /// told otherwise. Afterwards it may still report that the stream broke, and what the backend
    /// has already received, at most [`RECEIVED_AHEAD_BYTES_MAX`]: read that, since it takes up
    /// memory that all streams share.
    ///
    /// # Errors
    /// If the kernel rejects it, or the set can't stop one stream, as that of gateway threads
    /// can't.
    fn watch_readable(&mut self, _id: StreamId, _watch: bool) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// The kernel shall stamp the next write to the stream. Without effect in a set that is not
    /// [`stamped`](crate::stamped).
    fn stamp_next_write(&mut self, _id: StreamId) {}

    /// Stamps of that write, and of the latest read since then. Call it after the answer was read:
    /// the driver may stamp later than the write returns. Makes some system calls.
    fn stamps(&mut self, _id: StreamId) -> KernelStamps {
        KernelStamps::default()
    }
}

/// The most that a backend, with TLS around it or not, receives of a stream before it is read.
pub const RECEIVED_AHEAD_BYTES_MAX: usize = 2 << 20;

/// Calls of a gateway's thread to its backend beyond [`Streams`].
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

    /// From now on an event at `bell` ends a wait that sleeps, as it does at earlier bells. It may
    /// be reported as [`BELL`], of which nothing can be read.
    ///
    /// # Errors
    /// If the kernel rejects the registration.
    fn wake_by(&mut self, bell: BorrowedFd<'_>) -> io::Result<()>;
}

/// No stream has this id: it stands for the socket or bell of
/// [`Backend::open_beside`](crate::Backend::open_beside).
pub const BELL: StreamId = StreamId(u32::MAX);

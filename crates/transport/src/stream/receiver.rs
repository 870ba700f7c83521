//! One stream that is only received from, with the kernel's receive stamps: for market data over
//! TCP. It stands beside a set of streams, as a receiver of datagrams does.

use crate::connection::Connection;
use crate::datagram::ask_for_stamps;
use crate::datagram::receive_stamps::ReceiveStamps;
use crate::stamps;
use crate::stream::socket::would_block;
use crate::streams::StreamRead;
use crate::tls::Session;
use clock::Clock;
use clock::wall::Wall;
use nix::sys::socket::MsgFlags;
use std::io::{self, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};

/// A connected stream, plain or in TLS, that never blocks, and allocates nothing to receive.
pub struct StreamReceiver {
    socket: TcpStream,
    session: Option<Box<Session>>,
    clock: Clock,
    stamps: ReceiveStamps,
    /// The latest read of the socket took all that was there.
    took_all: bool,
}

impl StreamReceiver {
    /// A receiver from a connection. With kernel stamps it takes some 100 ms, because it reads the
    /// wall clock twice.
    ///
    /// # Errors
    /// If the socket rejects the mode. A kernel without receive stamps is not an error:
    /// [`StreamReceiver::kernel_stamps`] tells.
    pub fn new(
        connection: Connection,
        kernel_stamps: bool,
        clock: Clock,
    ) -> io::Result<StreamReceiver> {
        let Connection { socket, session } = connection;
        socket.set_nonblocking(true)?;
        let are_on = kernel_stamps && ask_for_stamps(&socket);
        let stamps = ReceiveStamps::new(are_on, clock);
        Ok(StreamReceiver { socket, session, clock, stamps, took_all: false })
    }

    /// Reads once into `into`, which is not empty. In TLS the socket is read only if nothing is
    /// left of earlier records; the time of what was left is that of the read that brought it.
    #[inline]
    pub fn read(&mut self, into: &mut [u8]) -> StreamRead {
        let StreamReceiver { socket, session, clock, stamps, took_all } = self;
        let mut read_socket = |into: &mut [u8]| {
            let flags = MsgFlags::empty();
            let read = stamps::receive(socket, into, &mut stamps.control, flags);
            let stamp_ns = clock.now_ns();
            match read {
                Ok(0) => StreamRead::Closed,
                Ok(n) => {
                    *took_all = n < into.len();
                    StreamRead::Bytes { n, stamp_ns }
                }
                Err(error) if would_block(&error) => StreamRead::Empty,
                Err(error) => StreamRead::Failed(error),
            }
        };
        let Some(session) = session else { return read_socket(into) };
        session.read_through(into, read_socket).unwrap_or_else(|error| {
            session.complain(&error);
            // The peer learns why, if the kernel takes it now.
            let _ = socket.write(session.out());
            StreamRead::Failed(io::Error::new(io::ErrorKind::InvalidData, error))
        })
    }

    /// Whether the next read gives something without the socket. A thread that sleeps on the socket
    /// would miss it.
    #[inline]
    pub fn has_more(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.has_more())
    }

    /// When the kernel received the segment with the last byte of the latest read, ns on the
    /// [`Clock`]; 0: unknown. The kernel stamps segments, merges those that wait, and reports the
    /// last stamp of what it handed out. So the stamp is that byte's own only if the read took all
    /// that was there, and in TLS if no other record was behind it. Off the path: it decodes the
    /// control messages only now.
    pub fn kernel_ns(&mut self) -> u64 {
        let (kernel_ns, _) = self.stamps.decode();
        let ends_read = self.session.as_ref().is_none_or(|session| session.ends_read());
        if self.took_all && ends_read { kernel_ns } else { 0 }
    }

    /// Writes all of a short message.
    ///
    /// # Errors
    /// If the connection is broken, or the peer has not read for so long that there is no room.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.session {
            None => self.socket.write_all(bytes),
            Some(session) => session.write_to(&mut self.socket, bytes).map(drop),
        }
    }

    /// Source of the latest stamp: `software`, `hardware` (the card, as well; the kernel's is
    /// used), or empty.
    pub fn kernel_stamps(&self) -> &'static str {
        self.stamps.source()
    }

    /// Reads the wall clock again, some microseconds: off the path, about once a second.
    pub fn refresh_wall(&mut self) {
        self.stamps.refresh_wall();
    }

    /// The wall clock that converts the kernel's stamps to our clock; `None` where there are none.
    pub fn wall(&self) -> Option<&Wall> {
        self.stamps.wall()
    }

    /// The kernel's socket, to sleep until something comes.
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for StreamReceiver {
    /// Ends the session, so that the peer can tell the end from a broken connection.
    fn drop(&mut self) {
        if let Some(session) = &mut self.session {
            session.close();
            let _ = self.socket.write(session.out());
        }
    }
}

#[cfg(test)]
#[path = "receiver_tests.rs"]
mod tests;

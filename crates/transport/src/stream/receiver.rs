//! One stream that is only received from, with the kernel's receive stamps: for market data over
//! TCP. It stands beside a set of streams, as a receiver of datagrams does.

use crate::connection::Connection;
use crate::datagram::ask_for_stamps;
use crate::datagram::receive_stamps::ReceiveStamps;
use crate::stamps;
use crate::stream::socket::would_block;
use crate::streams::StreamRead;
use clock::Clock;
use clock::wall::Wall;
use nix::sys::socket::MsgFlags;
use std::io::{self, Write as _};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};

/// A connected stream that never blocks; nothing is allocated on the way of what it receives.
pub struct StreamReceiver {
    socket: TcpStream,
    clock: Clock,
    stamps: ReceiveStamps,
    /// The latest read took all that was there.
    took_all: bool,
}

impl StreamReceiver {
    /// A receiver from a connection without TLS. With kernel stamps it takes some 100 ms, because
    /// it reads the wall clock twice.
    ///
    /// # Errors
    /// If there is a TLS session, or the socket rejects the mode. A kernel without receive stamps
    /// is not an error: [`StreamReceiver::kernel_stamps`] tells.
    pub fn new(
        connection: Connection,
        kernel_stamps: bool,
        clock: Clock,
    ) -> io::Result<StreamReceiver> {
        let socket = connection.into_plain()?;
        socket.set_nonblocking(true)?;
        let are_on = kernel_stamps && ask_for_stamps(&socket);
        let stamps = ReceiveStamps::new(are_on, clock);
        Ok(StreamReceiver { socket, clock, stamps, took_all: false })
    }

    /// Reads once into `into`, which is not empty.
    #[inline]
    pub fn read(&mut self, into: &mut [u8]) -> StreamRead {
        let flags = MsgFlags::empty();
        let read = stamps::receive(&self.socket, into, &mut self.stamps.control, flags);
        let stamp_ns = self.clock.now_ns();
        match read {
            Ok(0) => StreamRead::Closed,
            Ok(n) => {
                self.took_all = n < into.len();
                StreamRead::Bytes { n, stamp_ns }
            }
            Err(error) if would_block(&error) => StreamRead::Empty,
            Err(error) => StreamRead::Failed(error),
        }
    }

    /// When the kernel received the segment with the last byte of the latest read, ns on the
    /// [`Clock`]; 0: unknown. The kernel stamps segments, merges those that wait, and reports the
    /// last stamp of what it handed out. So the stamp is that byte's own only if the read took all
    /// that was there. Off the path: it decodes the control messages only now.
    pub fn kernel_ns(&mut self) -> u64 {
        let (kernel_ns, _) = self.stamps.decode();
        if self.took_all { kernel_ns } else { 0 }
    }

    /// Writes all of a short message.
    ///
    /// # Errors
    /// If the connection is broken, or the peer has not read for so long that there is no room.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.socket.write_all(bytes)
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

    /// The wall clock by which the kernel's stamps are laid on ours; `None` where there are none.
    pub fn wall(&self) -> Option<&Wall> {
        self.stamps.wall()
    }

    /// The kernel's socket, to sleep until something comes.
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
#[path = "receiver_tests.rs"]
mod tests;

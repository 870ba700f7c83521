//! Reading, writing and ending a connection of a stack.

use super::{ClosedConnection, ConnectionId, LINGER, TcpStack};
use crate::frames::Frames;
use smoltcp::socket::tcp::{RecvError, Socket, State};
use smoltcp::time::Instant;
use std::io;

impl<F: Frames> TcpStack<F> {
    /// Whether a connection is open, at least in one direction.
    pub fn is_connected(&self, id: ConnectionId) -> bool {
        let socket: &Socket<'_> = self.sockets.get(id.0);
        socket.may_send() || socket.may_recv() || socket.can_recv()
    }

    /// Whether a connection is closed in both directions: refused, reset, timed out, or ended.
    pub fn is_closed(&self, id: ConnectionId) -> bool {
        self.sockets.get::<Socket<'_>>(id.0).state() == State::Closed
    }

    /// Whether a read of an open connection would give bytes, its end or an error.
    #[inline]
    pub fn is_readable(&self, id: ConnectionId) -> bool {
        let socket: &Socket<'_> = self.sockets.get(id.0);
        socket.can_recv() || !socket.may_recv()
    }

    /// Whether a write would take bytes, or fail.
    #[inline]
    pub fn is_writable(&self, id: ConnectionId) -> bool {
        let socket: &Socket<'_> = self.sockets.get(id.0);
        socket.can_send() || !socket.may_send()
    }

    /// Reads what has arrived, like `std::io::Read`: 0 is the peer's end.
    ///
    /// # Errors
    /// `WouldBlock` if nothing is there; `ConnectionReset` if the connection is no more.
    pub fn read(&mut self, id: ConnectionId, into: &mut [u8]) -> io::Result<usize> {
        let socket: &mut Socket<'_> = self.sockets.get_mut(id.0);
        // It may open the window.
        self.due = Instant::ZERO;
        match socket.recv_slice(into) {
            Ok(0) if !into.is_empty() => Err(io::ErrorKind::WouldBlock.into()),
            Ok(n) => Ok(n),
            Err(RecvError::Finished) => Ok(0),
            // Not yet open.
            Err(RecvError::InvalidState) if socket.is_active() => {
                Err(io::ErrorKind::WouldBlock.into())
            }
            Err(RecvError::InvalidState) => Err(io::ErrorKind::ConnectionReset.into()),
        }
    }

    /// Takes bytes to send, as many as there is room for. They leave with the next
    /// [`TcpStack::transmit`].
    ///
    /// # Errors
    /// `WouldBlock` if there is no room; `BrokenPipe` if this direction is closed.
    pub fn write(&mut self, id: ConnectionId, bytes: &[u8]) -> io::Result<usize> {
        let socket: &mut Socket<'_> = self.sockets.get_mut(id.0);
        self.due = Instant::ZERO;
        match socket.send_slice(bytes) {
            Ok(0) if !bytes.is_empty() => Err(io::ErrorKind::WouldBlock.into()),
            Ok(n) => Ok(n),
            Err(_) if matches!(socket.state(), State::SynSent | State::SynReceived) => {
                Err(io::ErrorKind::WouldBlock.into())
            }
            Err(_) => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Sends no more; what was written still arrives, and the peer may go on.
    pub fn finish(&mut self, id: ConnectionId) {
        self.sockets.get_mut::<Socket<'_>>(id.0).close();
        self.due = Instant::ZERO;
    }

    /// Closes a connection: what was written still arrives, and nobody reads any more. A peer that
    /// goes on sending, or does not end its side, is reset.
    pub fn close(&mut self, id: ConnectionId) {
        self.finish(id);
        self.closing.push(ClosedConnection { handle: id.0, until: self.now + LINGER });
    }

    /// Ends a connection with a reset.
    pub fn abort(&mut self, id: ConnectionId) {
        self.sockets.get_mut::<Socket<'_>>(id.0).abort();
        self.closing.push(ClosedConnection { handle: id.0, until: self.now + LINGER });
        self.due = Instant::ZERO;
    }
}

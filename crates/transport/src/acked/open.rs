//! The two kinds of sets: that of a server, and that of its client.

use crate::acked::socket::Socket;
use crate::acked::streams::AckedStreams;
use crate::acked::table::{SharedCounts, Table};
use crate::backend::Backend;
use crate::streams::Streams;
use clock::Clock;
use plan::faults::DatagramHarm;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

/// Streams of `backend`, and beside them those of the peers that connect to `socket`, which is
/// [bound](crate::acked::bind). Others that ring one of `bells` end a sleeping wait too.
///
/// # Errors
/// If the kernel lacks what the backend needs, or the system gives no random numbers.
pub fn beside(
    backend: &Backend,
    socket: UdpSocket,
    bells: &[BorrowedFd<'_>],
    clock: Clock,
    counts: SharedCounts,
) -> io::Result<Box<dyn Streams>> {
    let inner = backend.open_beside(clock, &[&[socket.as_fd()], bells].concat())?;
    let table = Table::new(true).map_err(io::Error::other)?;
    let socket = Socket::accepting(socket);
    Ok(Box::new(AckedStreams::new(inner, socket, table, (clock, backend.row.spins), counts)))
}

/// A set that [dials](Streams::dial) `server`, over one socket. Waits as `backend` does. What it
/// receives has the faults of `harm`.
///
/// # Errors
/// As [`beside`]; or if there is no socket to the server.
pub fn dialling(
    backend: &Backend,
    server: SocketAddr,
    harm: DatagramHarm,
    clock: Clock,
) -> io::Result<Box<dyn Streams>> {
    let socket = Socket::connected(server, harm)?;
    let inner = backend.open_beside(clock, &[socket.as_fd()])?;
    let table = Table::new(false).map_err(io::Error::other)?;
    let clock = (clock, backend.row.spins);
    Ok(Box::new(AckedStreams::new(inner, socket, table, clock, SharedCounts::default())))
}

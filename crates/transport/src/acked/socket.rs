//! The socket of a set: one that many peers send to, or one that is connected to a server.

use crate::datagram::harm::HarmState;
use crate::datagram::{Control, Datagram, connected, set_receive_buffer};
use crate::stream::socket::would_block;
use plan::faults::DatagramHarm;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

/// Receive buffer to ask for, bytes: full windows of many peers.
const RECEIVE_BUFFER_BYTES: usize = 8 << 20;

/// A socket for [`beside`](crate::acked::beside) at `HOST:PORT`; port 0: any that is free.
///
/// # Errors
/// If the address can't be had, in words that say what to try.
pub fn bind(address: &str) -> io::Result<UdpSocket> {
    let none = || io::Error::new(ErrorKind::NotFound, "the name has no address");
    let first = address.to_socket_addrs()?.next().ok_or_else(none)?;
    let socket = crate::datagram::bind(first).map_err(io::Error::other)?;
    set_receive_buffer(&socket, RECEIVE_BUFFER_BYTES).map_err(io::Error::other)?;
    Ok(socket)
}

pub(super) struct Socket {
    socket: UdpSocket,
    /// Where it is connected to.
    server: Option<SocketAddr>,
    harm: Option<Box<HarmState>>,
}

impl Socket {
    pub fn accepting(socket: UdpSocket) -> Socket {
        Socket { socket, server: None, harm: None }
    }

    pub fn connected(server: SocketAddr, harm: DatagramHarm) -> io::Result<Socket> {
        let socket = connected(server)?;
        socket.set_nonblocking(true)?;
        set_receive_buffer(&socket, RECEIVE_BUFFER_BYTES).map_err(io::Error::other)?;
        let harm = (!harm.is_none()).then(|| Box::new(HarmState::new(harm)));
        Ok(Socket { socket, server: Some(server), harm })
    }

    pub fn server(&self) -> Option<SocketAddr> {
        self.server
    }

    /// Sends a datagram. One that the kernel does not take is lost, as others are on the way: it is
    /// sent again.
    #[inline]
    pub fn send(&self, datagram: &[u8], to: SocketAddr) {
        let _ = match self.server {
            Some(_) => self.socket.send(datagram),
            None => self.socket.send_to(datagram, to),
        };
    }

    /// The next datagram, its length and its source.
    ///
    /// # Errors
    /// `ConnectionRefused`: the server's port is closed.
    #[inline]
    pub fn receive(&mut self, into: &mut [u8]) -> io::Result<Option<(usize, SocketAddr)>> {
        let Some(harm) = &mut self.harm else {
            return receive_from(&self.socket, self.server, into);
        };
        let mut from = Ok(None);
        let (datagram, _) = harm.receive(into, |into| {
            from = receive_from(&self.socket, self.server, into);
            let datagram = match &from {
                Ok(Some((n, _))) => Datagram::Bytes { n: *n, read_ns: 0 },
                _ => Datagram::Empty,
            };
            (datagram, Control::none())
        });
        match (datagram, self.server) {
            (Datagram::Bytes { n, .. }, Some(server)) => Ok(Some((n, server))),
            // One was taken away, which leaves none of its bytes: there may be more behind it.
            _ => from.map(|taken| taken.map(|(_, from)| (0, from))),
        }
    }

    /// Sleeps until a datagram comes, or the time is over.
    ///
    /// # Errors
    /// As poll(2); an interrupted wait is none.
    pub fn wait(&self, ns: u64) -> io::Result<()> {
        let time =
            Timespec { tv_sec: (ns / 1_000_000_000) as _, tv_nsec: (ns % 1_000_000_000) as _ };
        match poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], Some(&time)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[inline]
fn receive_from(
    socket: &UdpSocket,
    server: Option<SocketAddr>,
    into: &mut [u8],
) -> io::Result<Option<(usize, SocketAddr)>> {
    let received = match server {
        Some(server) => socket.recv(into).map(|n| (n, server)),
        None => socket.recv_from(into),
    };
    match received {
        Ok(received) => Ok(Some(received)),
        Err(error) if would_block(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

//! A connected stream before it goes into a set: what logs on over it blocks.

use crate::tls::session::Session;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::time::Duration;

/// A connected socket, and its TLS session if it has one.
///
/// Bytes that a session has read ahead go into the set with it.
pub struct Connection {
    pub(crate) socket: TcpStream,
    pub(crate) session: Option<Box<Session>>,
}

impl From<TcpStream> for Connection {
    fn from(socket: TcpStream) -> Connection {
        Connection { socket, session: None }
    }
}

impl Connection {
    /// A connected datagram socket among streams: a read gives one datagram, a write sends one.
    /// Backends over io_uring merge what they read, so that only `spin` and `block` take it.
    pub fn of_datagrams(socket: UdpSocket) -> Connection {
        TcpStream::from(OwnedFd::from(socket)).into()
    }

    /// The socket of a connection without TLS, for a set that has none.
    ///
    /// # Errors
    /// If there is a session: its bytes would go out in plain text.
    pub fn into_plain(self) -> io::Result<TcpStream> {
        match self.session {
            None => Ok(self.socket),
            Some(_) => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "a TLS connection needs streams with TLS around them; this is a bug in tickpath",
            )),
        }
    }

    /// The longest that a read may take.
    ///
    /// # Errors
    /// As the socket's.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.socket.set_read_timeout(timeout)
    }

    /// Whether reads and writes return at once instead of waiting.
    ///
    /// # Errors
    /// As the socket's.
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.socket.set_nonblocking(nonblocking)
    }

    /// Where the other end is.
    ///
    /// # Errors
    /// As the socket's.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.socket.peer_addr()
    }

    /// Where our end is.
    ///
    /// # Errors
    /// As the socket's.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }
}

impl Read for Connection {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match &mut self.session {
            None => self.socket.read(into),
            Some(session) => session.read_from(&mut self.socket, into),
        }
    }
}

impl Write for Connection {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        match &mut self.session {
            None => self.socket.write(from),
            Some(session) => session.write_to(&mut self.socket, from),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

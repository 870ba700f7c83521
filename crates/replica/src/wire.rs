//! A connection between a primary and its follower: plain, or with TLS. Two threads may use it at
//! the same time, one to read and one to write.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;
use transport::tls::{Acceptor, Connector, Duplex};

/// One end. Clones are the same connection.
#[derive(Clone)]
pub(crate) enum Wire {
    Plain(Arc<TcpStream>),
    Secure(Arc<Duplex>),
}

impl Wire {
    /// The primary's end, of a socket that blocks. With TLS it makes the handshake.
    pub fn of_primary(
        socket: TcpStream,
        tls: Option<&Connector>,
        patience: Duration,
    ) -> io::Result<Wire> {
        Ok(match tls {
            None => Wire::Plain(Arc::new(socket)),
            Some(tls) => Wire::Secure(Arc::new(Duplex::client(tls, socket, patience)?)),
        })
    }

    /// The follower's end. With TLS the handshake is part of the first reads.
    pub fn of_follower(socket: TcpStream, tls: Option<&Acceptor>) -> io::Result<Wire> {
        Ok(match tls {
            None => Wire::Plain(Arc::new(socket)),
            Some(tls) => Wire::Secure(Arc::new(Duplex::server(tls, socket)?)),
        })
    }

    fn socket(&self) -> &TcpStream {
        match self {
            Wire::Plain(socket) => socket,
            Wire::Secure(duplex) => duplex.socket(),
        }
    }

    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.socket().set_nonblocking(nonblocking)
    }

    pub fn set_read_timeout(&self, limit: Duration) -> io::Result<()> {
        self.socket().set_read_timeout(Some(limit))
    }

    pub fn set_write_timeout(&self, limit: Duration) -> io::Result<()> {
        self.socket().set_write_timeout(Some(limit))
    }

    /// Ends it, also for a thread that reads.
    pub fn shut_down(&self) {
        // An error says that it has ended already.
        let _ = self.socket().shutdown(Shutdown::Both);
    }
}

impl Read for &Wire {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self {
            Wire::Plain(socket) => (&**socket).read(out),
            Wire::Secure(duplex) => (&**duplex).read(out),
        }
    }
}

impl Write for &Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Wire::Plain(socket) => (&**socket).write(bytes),
            Wire::Secure(duplex) => (&**duplex).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

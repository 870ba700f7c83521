//! A secure connection that two threads use at the same time: one reads, the other writes. It is
//! for connections off the order path, such as that of a journal to its follower: it copies and
//! allocates, and rustls makes its records.

use super::accept::Acceptor;
use super::connect::Connector;
use super::error::{HandshakeError, Side};
use clock::Deadline;
use rustls::Connection;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Bytes per read.
const READ_BYTES: usize = 16 << 10;

/// The connection. Reads and writes wait as its socket does.
pub struct Duplex {
    socket: TcpStream,
    side: Side,
    /// Locked while records are made or opened, and never while the socket waits.
    tls: Mutex<Connection>,
    /// Bytes that were read and not opened yet.
    unopened: Mutex<Vec<u8>>,
    /// Locked until they are written, so that records leave in the order in which they were made.
    records: Mutex<Vec<u8>>,
}

impl Duplex {
    /// Makes a socket that blocks a secure connection to a server. Afterwards the socket has its
    /// time limits again.
    ///
    /// # Errors
    /// A [`HandshakeError`] inside an [`io::Error`], or the socket's error.
    pub fn client(
        connector: &Connector,
        socket: TcpStream,
        patience: Duration,
    ) -> io::Result<Duplex> {
        let tls = connector.buffered()?;
        let duplex = Duplex::new(socket, Side::Client, Connection::Client(tls));
        let before = duplex.socket.read_timeout()?;
        let deadline = Deadline::after(patience);
        duplex.send_records()?;
        while lock(&duplex.tls).is_handshaking() {
            let left = deadline.left();
            if left.is_zero() {
                return Err(HandshakeError::timed_out(patience).into());
            }
            duplex.socket.set_read_timeout(Some(left))?;
            match duplex.fill(&mut lock(&duplex.unopened)) {
                Ok(true) => {}
                Ok(false) => return Err(HandshakeError::ended().into()),
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => {}
                    io::ErrorKind::ConnectionReset => return Err(HandshakeError::ended().into()),
                    _ => return Err(error),
                },
            }
        }
        duplex.socket.set_read_timeout(before)?;
        Ok(duplex)
    }

    /// The same for a server. The handshake is part of the first reads.
    ///
    /// # Errors
    /// A [`HandshakeError`] inside an [`io::Error`].
    pub fn server(acceptor: &Acceptor, socket: TcpStream) -> io::Result<Duplex> {
        let tls = acceptor.buffered()?;
        Ok(Duplex::new(socket, Side::Server, Connection::Server(tls)))
    }

    fn new(socket: TcpStream, side: Side, mut tls: Connection) -> Duplex {
        tls.set_buffer_limit(None);
        Duplex {
            socket,
            side,
            tls: Mutex::new(tls),
            unopened: Mutex::default(),
            records: Mutex::default(),
        }
    }

    /// Its socket, for time limits and its end. Bytes that are written there break the connection.
    pub fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// Reads from the socket unless there are bytes, and opens some. Returns whether any came.
    fn fill(&self, unopened: &mut Vec<u8>) -> io::Result<bool> {
        if unopened.is_empty() {
            let mut bytes = [0; READ_BYTES];
            let n = (&self.socket).read(&mut bytes)?;
            if n == 0 {
                return Ok(false);
            }
            unopened.extend_from_slice(&bytes[..n]);
        }
        let (opened, wants_write) = {
            let mut tls = lock(&self.tls);
            let taken = tls.read_tls(&mut unopened.as_slice())?;
            unopened.drain(..taken);
            (tls.process_new_packets(), tls.wants_write())
        };
        if wants_write {
            // A part of the handshake, or why it fails, which says more than that nobody listens.
            let sent = self.send_records();
            if opened.is_ok() {
                sent?;
            }
        }
        opened.map_err(|error| HandshakeError::of(self.side, error))?;
        Ok(true)
    }

    fn send_records(&self) -> io::Result<()> {
        self.send(&mut lock(&self.records), &[])
    }

    /// Seals these bytes, and sends all records that there are.
    fn send(&self, records: &mut Vec<u8>, bytes: &[u8]) -> io::Result<()> {
        records.clear();
        let mut tls = lock(&self.tls);
        tls.writer().write_all(bytes)?;
        while tls.wants_write() {
            tls.write_tls(records)?;
        }
        drop(tls);
        (&self.socket).write_all(records)
    }
}

impl Read for &Duplex {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut unopened = lock(&self.unopened);
        loop {
            match lock(&self.tls).reader().read(out) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read,
            }
            if !self.fill(&mut unopened)? {
                return Ok(0);
            }
        }
    }
}

impl Write for &Duplex {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.send(&mut lock(&self.records), bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "duplex_tests.rs"]
mod tests;

//! A UDP socket to an echo server, and a datagram there and back.

use crate::connection::fill;
use crate::timed::{StepTimer, is_empty};
use clock::random::SplitMix64;
use plan::tables::endpoint::PAYLOAD_BYTES_MAX;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use transport::datagram::StampedSocket;
use transport::stamps::KernelStamps;

/// Limit on the datagrams that are read before a ping: a flood must not keep it from being sent.
const WAITING_MAX: u64 = 1024;

/// A socket with a source port of its own.
pub(crate) struct Echo {
    socket: Socket,
    address: SocketAddr,
    random: SplitMix64,
    payload: Vec<u8>,
    /// One byte more than any payload, so that a longer answer is seen.
    answer: [u8; PAYLOAD_BYTES_MAX + 1],
}

enum Socket {
    Plain(UdpSocket),
    Stamped(StampedSocket),
}

impl Socket {
    /// A connected socket; with `stamps` one whose messages the kernel can stamp.
    fn open(address: SocketAddr, stamps: bool, timed: &StepTimer<'_>) -> io::Result<Socket> {
        let socket = connected(address, timed)?;
        Ok(if stamps {
            Socket::Stamped(StampedSocket::new(socket)?)
        } else {
            Socket::Plain(socket)
        })
    }

    fn plain(&self) -> &UdpSocket {
        match self {
            Socket::Plain(socket) => socket,
            Socket::Stamped(socket) => socket.as_ref(),
        }
    }

    /// Sends, with the kernel's stamps if asked; when that began, ns.
    fn send(&mut self, bytes: &[u8], stamp: bool, timed: &StepTimer<'_>) -> io::Result<u64> {
        let mut start_ns = timed.clock.now_ns();
        match self {
            Socket::Stamped(socket) if stamp => {
                socket.send(bytes, &mut || start_ns = timed.clock.now_ns())?;
            }
            _ => _ = self.plain().send(bytes)?,
        }
        Ok(start_ns)
    }

    fn receive(&mut self, into: &mut [u8], stamp: bool) -> io::Result<usize> {
        match self {
            Socket::Stamped(socket) if stamp => socket.receive(into),
            _ => self.plain().recv(into),
        }
    }

    fn stamps(&mut self) -> Option<KernelStamps> {
        match self {
            Socket::Stamped(socket) => Some(socket.stamps()),
            Socket::Plain(_) => None,
        }
    }
}

/// The result of a ping.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct PingResult {
    /// From just before the send until just after the read of the echo, ns; `None`: it did
    /// not come in time.
    pub echo_ns: Option<u64>,
    /// Datagrams that came beside it: echoes that came twice, or that belong to no ping.
    pub strange: u64,
    /// If it was to be stamped and the echo came: our stamps before and after, and the kernel's.
    pub stamps: Option<(u64, KernelStamps, u64)>,
}

impl Echo {
    pub(crate) fn open(
        address: SocketAddr,
        payload_bytes: usize,
        stamps: bool,
        timed: &StepTimer<'_>,
        seed: u64,
    ) -> io::Result<Echo> {
        let socket = Socket::open(address, stamps, timed)?;
        let (random, payload) = (SplitMix64::new(seed), vec![0; payload_bytes]);
        Ok(Echo { socket, address, random, payload, answer: [0; PAYLOAD_BYTES_MAX + 1] })
    }

    /// Sends a datagram and waits for the same bytes. With `stamp` the kernel stamps it. After a
    /// loss the socket is another one, so that a late echo can't be taken for a later one's.
    ///
    /// # Errors
    /// If nobody listens there, or as the socket's.
    pub(crate) fn ping(&mut self, stamp: bool, timed: &StepTimer<'_>) -> io::Result<PingResult> {
        let mut echoed = PingResult { strange: self.drop_waiting(timed)?, ..PingResult::default() };
        fill(&mut self.payload, &mut self.random);
        let start_ns = self.socket.send(&self.payload, stamp, timed)?;
        let deadline_ns = start_ns + timed.patience.as_nanos() as u64;
        loop {
            let received = self.socket.receive(&mut self.answer, stamp);
            let now_ns = timed.clock.now_ns();
            match received {
                Ok(n) if self.answer[..n] == self.payload => {
                    echoed.echo_ns = Some(now_ns - start_ns);
                    let stamps = if stamp { self.socket.stamps() } else { None };
                    echoed.stamps = stamps.map(|stamps| (start_ns, stamps, now_ns));
                    return Ok(echoed);
                }
                Ok(_) => echoed.strange += 1,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_empty(&error) => {
                    if timed.is_stopped() {
                        return Err(io::Error::new(io::ErrorKind::Interrupted, "told to stop"));
                    }
                }
                Err(error) => return Err(error),
            }
            if now_ns >= deadline_ns {
                let stamps = matches!(self.socket, Socket::Stamped(_));
                self.socket = Socket::open(self.address, stamps, timed)?;
                return Ok(echoed);
            }
        }
    }

    /// Reads what came since the last ping; how many datagrams that were.
    fn drop_waiting(&mut self, timed: &StepTimer<'_>) -> io::Result<u64> {
        self.socket.plain().set_nonblocking(true)?;
        let mut strange = 0;
        while strange < WAITING_MAX {
            match self.socket.plain().recv(&mut self.answer) {
                Ok(_) => strange += 1,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_empty(&error) => break,
                Err(error) => return Err(error),
            }
        }
        self.socket.plain().set_nonblocking(timed.spins)?;
        Ok(strange)
    }
}

fn connected(address: SocketAddr, timed: &StepTimer<'_>) -> io::Result<UdpSocket> {
    let socket = transport::datagram::connected(address)?;
    socket.set_read_timeout(Some(timed.patience))?;
    socket.set_nonblocking(timed.spins)?;
    Ok(socket)
}

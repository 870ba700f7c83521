//! Connections below the kernel as a set of streams: TCP in user space, which listens and connects
//! by itself.
//!
//! - A write sends its segments before it returns, as a system call would.
//! - A wait receives. Acknowledgements of what it received ride on the answer, or leave with the
//!   next wait if there is none: a segment of their own would delay the answer.
//! - It spins: there is no wait that sleeps.

use super::device::DeviceKind;
use super::shared::DeviceSource;
use super::{address_of, no_sockets, source_to, v4};
use crate::connection::Connection;
use crate::streams::{Ready, Sockets, StreamId, StreamRead, Streams, Write};
use bypass::{AnyDevice, ConnectionId, Protocol, TcpLimits, TcpStack};
use clock::Clock;
use plan::backend::BELOW_CONNECTIONS_MAX;
use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::BorrowedFd;

/// Connections that wait for a peer. Each poll looks at them too, so they are few: a peer that
/// finds none tries again.
const BACKLOG: usize = 8;
const LIMITS: TcpLimits = TcpLimits {
    connections_max: BELOW_CONNECTIONS_MAX + BACKLOG,
    backlog: BACKLOG,
    receive_buffer_bytes: 256 * 1024,
    send_buffer_bytes: 256 * 1024,
};
/// Local ports of connections that are dialled. A device keeps a port for as long as it lives, so
/// the one that was used longest ago comes again: by then its peer has forgotten it.
const LOCAL_PORTS_MAX: usize = 2 * BELOW_CONNECTIONS_MAX;
/// Limit on the time that a peer takes to accept a connection.
const DIAL_NS: u64 = 5_000_000_000;

pub(crate) fn open(kind: DeviceKind, clock: Clock) -> io::Result<Box<dyn Sockets>> {
    Ok(Box::new(over(DeviceSource::Own(kind), clock)))
}

pub(super) fn over(source: DeviceSource, clock: Clock) -> Connections {
    Connections { source, clock, stack: None, lanes: Vec::new(), local_ports: VecDeque::new() }
}

/// One connection.
struct BelowLane {
    connection: ConnectionId,
    peer: SocketAddrV4,
    readable: bool,
    writable: bool,
}

pub(super) struct Connections {
    source: DeviceSource,
    clock: Clock,
    /// Opened by the first call that says on which address.
    stack: Option<(Ipv4Addr, TcpStack<AnyDevice>)>,
    lanes: Vec<Option<BelowLane>>,
    /// Local ports of earlier dials, the one of longest ago first.
    local_ports: VecDeque<u16>,
}

impl Connections {
    /// The stack of an address of this machine.
    fn stack_at(&mut self, address: Ipv4Addr) -> io::Result<&mut TcpStack<AnyDevice>> {
        let (its, stack) = match &mut self.stack {
            Some(opened) => opened,
            none => {
                let device = self.source.open_at(address, Protocol::Tcp)?;
                let seed = RandomState::new().hash_one(());
                let stack = TcpStack::on_port(device, address, LIMITS, seed);
                none.insert((address, stack.map_err(io::Error::other)?))
            }
        };
        if *its != address {
            let why = format!(
                "the stack is on the address {its} already, and {address} is another: use one \
                 interface for all connections"
            );
            return Err(io::Error::new(ErrorKind::AddrNotAvailable, why));
        }
        Ok(stack)
    }

    /// A local port from which no connection to that peer is left.
    fn local_port(&mut self, peer: SocketAddrV4) -> io::Result<u16> {
        let ports = &mut self.local_ports;
        let Some((_, stack)) = &mut self.stack else { return Err(not_connected()) };
        let port = if ports.len() < LOCAL_PORTS_MAX {
            stack.bind(0).map_err(io::Error::other)?.port()
        } else {
            let free = ports.iter().position(|port| stack.is_free(*port, peer));
            free.and_then(|at| ports.remove(at)).ok_or(ErrorKind::AddrInUse)?
        };
        ports.push_back(port);
        Ok(port)
    }

    /// A stream's stack and lane.
    #[inline]
    fn lane(&mut self, id: StreamId) -> io::Result<(&mut TcpStack<AnyDevice>, &mut BelowLane)> {
        let lane = self.lanes.get_mut(id.index()).and_then(Option::as_mut);
        match (&mut self.stack, lane) {
            (Some((_, stack)), Some(lane)) => Ok((stack, lane)),
            _ => Err(not_connected()),
        }
    }

    fn add_lane(&mut self, connection: ConnectionId, peer: SocketAddrV4) -> StreamId {
        let lane = BelowLane { connection, peer, readable: true, writable: false };
        let index = match self.lanes.iter().position(Option::is_none) {
            Some(index) => index,
            None => {
                self.lanes.push(None);
                self.lanes.len() - 1
            }
        };
        self.lanes[index] = Some(lane);
        StreamId(index as u32)
    }
}

impl Streams for Connections {
    fn add(&mut self, _: Connection) -> io::Result<StreamId> {
        Err(no_sockets())
    }

    fn dial(&mut self, peer: SocketAddr) -> io::Result<StreamId> {
        let (peer, clock) = (v4(peer)?, self.clock);
        let source = source_to(peer)?;
        self.stack_at(source)?.resolve(*peer.ip()).map_err(io::Error::other)?;
        let local_port = self.local_port(peer)?;
        let stack = self.stack_at(source)?;
        let connection = stack.connect(local_port, peer)?;
        let until_ns = clock.now_ns() + DIAL_NS;
        while !stack.is_connected(connection) {
            let now_ns = clock.now_ns();
            stack.poll(now_ns)?;
            if stack.is_closed(connection) {
                stack.close(connection);
                return Err(ErrorKind::ConnectionRefused.into());
            }
            if now_ns >= until_ns {
                stack.abort(connection);
                stack.transmit(now_ns)?;
                return Err(ErrorKind::TimedOut.into());
            }
        }
        // The last part of the handshake.
        stack.transmit(clock.now_ns())?;
        Ok(self.add_lane(connection, peer))
    }

    fn remove(&mut self, id: StreamId) {
        let now_ns = self.clock.now_ns();
        if let Ok((stack, lane)) = self.lane(id) {
            stack.close(lane.connection);
            // An interface that is gone is found by the next wait.
            let _ = stack.transmit(now_ns);
            self.lanes[id.index()] = None;
        }
    }

    fn shutdown(&mut self, id: StreamId) {
        let now_ns = self.clock.now_ns();
        if let Ok((stack, lane)) = self.lane(id) {
            stack.finish(lane.connection);
            let _ = stack.transmit(now_ns);
        }
    }

    fn listen(&mut self, _: TcpListener) -> io::Result<()> {
        Err(no_sockets())
    }

    fn listen_at(&mut self, address: &str) -> io::Result<SocketAddr> {
        let address = address_of(address)?;
        let stack = self.stack_at(*address.ip())?;
        let bound = stack.bind(address.port()).map_err(io::Error::other)?;
        stack.listen(bound.port());
        Ok(SocketAddr::V4(bound))
    }

    fn accept(&mut self) -> io::Result<Option<StreamId>> {
        let Some((_, stack)) = &mut self.stack else { return Ok(None) };
        let accepted = stack.accept();
        Ok(accepted.map(|(connection, peer)| self.add_lane(connection, peer)))
    }

    fn stack(&self) -> Option<String> {
        self.stack.as_ref().map(|(_, stack)| format!("{}, TCP by smoltcp", stack.frames()))
    }

    fn peer(&self, id: StreamId) -> Option<SocketAddr> {
        Some(SocketAddr::V4(self.lanes.get(id.index())?.as_ref()?.peer))
    }

    fn wait(&mut self, _: u64, ready: &mut Vec<Ready>) -> io::Result<()> {
        let Some((_, stack)) = &mut self.stack else { return Ok(()) };
        let now_ns = self.clock.now_ns();
        if stack.is_due(now_ns) {
            stack.transmit(now_ns)?;
        }
        stack.receive(now_ns);
        if stack.has_incoming() {
            ready.push(Ready::Incoming);
        }
        for (index, lane) in self.lanes.iter().enumerate() {
            let Some(lane) = lane else { continue };
            let id = StreamId(index as u32);
            if lane.readable && stack.is_readable(lane.connection) {
                ready.push(Ready::Readable(id));
            }
            if lane.writable && stack.is_writable(lane.connection) {
                ready.push(Ready::Writable(id));
            }
        }
        Ok(())
    }

    #[inline]
    fn read(&mut self, id: StreamId, into: &mut [u8]) -> StreamRead {
        debug_assert!(!into.is_empty());
        let result = self.lane(id).and_then(|(stack, lane)| stack.read(lane.connection, into));
        let stamp_ns = self.clock.now_ns();
        match result {
            Ok(0) => StreamRead::Closed,
            Ok(n) => StreamRead::Bytes { n, stamp_ns },
            Err(why) if why.kind() == ErrorKind::WouldBlock => StreamRead::Empty,
            Err(why) => StreamRead::Failed(why),
        }
    }

    #[inline]
    fn write(&mut self, id: StreamId, from: &[u8]) -> Write {
        debug_assert!(!from.is_empty());
        let clock = self.clock;
        let (stack, lane) = match self.lane(id) {
            Ok(both) => both,
            Err(why) => return Write::Failed(why),
        };
        let stamp_ns = clock.now_ns();
        let written = match stack.write(lane.connection, from) {
            Ok(n) => n,
            Err(why) if why.kind() == ErrorKind::WouldBlock => 0,
            Err(why) => return Write::Failed(why),
        };
        match stack.transmit(stamp_ns) {
            Ok(()) => Write::Bytes { n: written, stamp_ns },
            Err(why) => Write::Failed(why),
        }
    }

    fn watch_writable(&mut self, id: StreamId, watch: bool) -> io::Result<()> {
        self.lane(id).map(|(_, lane)| lane.writable = watch)
    }

    fn watch_readable(&mut self, id: StreamId, watch: bool) -> io::Result<()> {
        self.lane(id).map(|(_, lane)| lane.readable = watch)
    }
}

impl Sockets for Connections {
    fn accept_socket(&mut self) -> io::Result<Option<TcpStream>> {
        Err(no_sockets())
    }

    fn wake_by(&mut self, _: BorrowedFd<'_>) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Connections {
    /// Ends what is open, as the kernel does with a process's sockets.
    fn drop(&mut self) {
        for index in 0..self.lanes.len() {
            self.remove(StreamId(index as u32));
        }
    }
}

fn not_connected() -> io::Error {
    io::Error::new(ErrorKind::NotConnected, "the stream was removed")
}

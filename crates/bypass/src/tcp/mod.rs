//! TCP in user space over frames, by `smoltcp`.
//!
//! Acknowledgements are not delayed, and small writes are not gathered (no Nagle). A lost segment
//! is sent again after three duplicate acknowledgements or `smoltcp`'s time-out, which is at least
//! a second: four times that of Linux.

mod limits;
mod wire;

use crate::error::BypassError;
use crate::frame::{Checksums, Mac};
use crate::frames::Frames;
use crate::port::Port;
use smoltcp::iface::{Config, Interface, PollResult, SocketHandle, SocketSet};
use smoltcp::socket::tcp::{RecvError, Socket, SocketBuffer, State};
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr, IpEndpoint, IpListenEndpoint};
use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use wire::{Staged, Wire};

pub use limits::{CONNECTIONS_MAX, TcpLimits};

/// Segments that a poll takes before it sends.
const SEGMENTS_MAX: usize = 64;
/// Rounds of sending in a poll, a segment of each connection in each.
const ROUNDS_MAX: usize = 64;
/// A peer that acknowledges nothing for so long is given up.
const TIME_OUT: Duration = Duration::from_secs(60);
/// How often a silent peer is asked whether it lives.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Connections, and segments that a stack did not pass on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpCounts {
    /// Frames that carried no segment, or a harmed one.
    pub rejected: u64,
    /// First segments of a connection that exists already.
    pub repeated: u64,
    /// Segments to an address whose hardware address is unknown.
    pub unknown: u64,
    /// Segments for which the interface had no room.
    pub no_room: u64,
    /// Connections that were accepted or opened.
    pub connections: u64,
}

/// A connection of a stack. It is void once it was closed or aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConnectionId(SocketHandle);

/// TCP of one address. Allocates nothing after it was made.
pub struct TcpStack<F: Frames> {
    wire: Wire<F>,
    interface: Interface,
    sockets: SocketSet<'static>,
    /// Sockets that belong to no connection.
    free: Vec<Socket<'static>>,
    ports: Vec<u16>,
    /// Sockets that listen, or whose connection is being opened by a peer.
    opening: Vec<(SocketHandle, u16)>,
    /// Connections that wait to be accepted.
    ready: VecDeque<SocketHandle>,
    /// Connections that the user has closed.
    closing: Vec<SocketHandle>,
    address: Ipv4Addr,
    limits: TcpLimits,
    now: Instant,
}

impl TcpStack<Port> {
    /// Over a port, with its address `address`. Which local ports it takes from the kernel, `Port::
    /// claim` says. `seed`: a random number, from which sequence numbers are made.
    ///
    /// # Errors
    /// If a limit is out of range.
    pub fn on_port(
        port: Port,
        address: Ipv4Addr,
        limits: TcpLimits,
        seed: u64,
    ) -> Result<TcpStack<Port>, BypassError> {
        let (mac, mtu) = (port.interface().mac, port.interface().mtu as usize);
        let checksums =
            if port.interface().is_veth { Checksums::OrPartial } else { Checksums::Whole };
        TcpStack::over(port, mac, (address, mtu), checksums, limits, seed)
    }

    /// Looks up the way to a peer, before [`TcpStack::connect`]. Off the path.
    ///
    /// # Errors
    /// As [`Port::next_hop`].
    pub fn resolve(&mut self, peer: Ipv4Addr) -> Result<(), BypassError> {
        let mac = self.wire.frames.next_hop(peer)?;
        self.learn(peer, mac);
        Ok(())
    }
}

impl<F: Frames> TcpStack<F> {
    /// Over any frames, with an address and an MTU in bytes.
    ///
    /// # Errors
    /// If a limit is out of range.
    pub fn over(
        frames: F,
        mac: Mac,
        (address, mtu): (Ipv4Addr, usize),
        checksums: Checksums,
        limits: TcpLimits,
        seed: u64,
    ) -> Result<TcpStack<F>, BypassError> {
        limits.check(mtu)?;
        let mut wire = Wire::new(frames, mac, mtu, checksums);
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = seed;
        let mut interface = Interface::new(config, &mut wire, Instant::ZERO);
        // All addresses are on the link: `Wire` knows the routers to them. The list has room for
        // one, and a default route is not needed.
        interface.update_ip_addrs(|list| {
            let _ = list.push(IpCidr::new(IpAddress::Ipv4(address), 0));
        });
        let n = limits.connections_max;
        Ok(TcpStack {
            wire,
            interface,
            sockets: SocketSet::new(Vec::with_capacity(n)),
            free: (0..n).map(|_| new_socket(&limits)).collect(),
            ports: Vec::new(),
            opening: Vec::with_capacity(n),
            ready: VecDeque::with_capacity(n),
            closing: Vec::with_capacity(n),
            address,
            limits,
            now: Instant::ZERO,
        })
    }

    /// Notes the hardware address of a peer, or of the router to it. False past
    /// [`NEIGHBOURS_MAX`](crate::NEIGHBOURS_MAX).
    pub fn learn(&mut self, peer: Ipv4Addr, mac: Mac) -> bool {
        self.wire.neighbours.learn(peer, mac)
    }

    /// The frames below.
    pub fn frames_mut(&mut self) -> &mut F {
        &mut self.wire.frames
    }

    /// Counts so far.
    pub fn counts(&self) -> TcpCounts {
        self.wire.counts
    }

    /// Accepts connections to `port` from now on.
    pub fn listen(&mut self, port: u16) {
        if port != 0 && !self.ports.contains(&port) {
            self.ports.push(port);
            self.refill();
        }
    }

    /// Opens a connection from a local port to a peer, whose hardware address must be known
    /// ([`TcpStack::resolve`]) unless it sent something before. It is open when
    /// [`TcpStack::is_connected`] says so.
    ///
    /// # Errors
    /// `QuotaExceeded` if there are too many connections; `AddrInUse` if there is one between these
    /// two; `InvalidInput` if a port is zero.
    pub fn connect(&mut self, local_port: u16, peer: SocketAddrV4) -> io::Result<ConnectionId> {
        let ends = (SocketAddrV4::new(self.address, local_port), peer);
        if self.existing(ends.0, ends.1).is_some() {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        let socket = self.free_socket().ok_or(io::ErrorKind::QuotaExceeded)?;
        let handle = self.sockets.add(socket);
        let local =
            IpListenEndpoint { addr: Some(IpAddress::Ipv4(self.address)), port: local_port };
        let socket: &mut Socket<'_> = self.sockets.get_mut(handle);
        let opened = socket.connect(self.interface.context(), IpEndpoint::from(peer), local);
        if opened.is_err() {
            self.recycle(handle);
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.wire.counts.connections += 1;
        Ok(ConnectionId(handle))
    }

    /// Receives and sends what there is. `now_ns`: time of any clock that never goes back.
    ///
    /// # Errors
    /// If the interface is gone.
    pub fn poll(&mut self, now_ns: u64) -> io::Result<()> {
        self.now = Instant::from_micros((now_ns / 1000).cast_signed());
        self.interface.poll_maintenance(self.now);
        for _ in 0..SEGMENTS_MAX {
            let Some(staged) = self.wire.stage() else { break };
            if let Staged::Opening(from, to) = staged
                && self.is_repeated(from, to)
            {
                self.wire.counts.repeated += 1;
                self.wire.unstage();
                continue;
            }
            self.interface.poll_ingress_single(self.now, &mut self.wire, &mut self.sockets);
        }
        for _ in 0..ROUNDS_MAX {
            let sent = self.interface.poll_egress(self.now, &mut self.wire, &mut self.sockets);
            if sent == PollResult::None {
                break;
            }
        }
        self.wire.frames.flush()?;
        self.sort_out();
        Ok(())
    }

    /// The next connection that a peer opened, if there is one, with the peer's address.
    pub fn accept(&mut self) -> Option<(ConnectionId, SocketAddrV4)> {
        while let Some(handle) = self.ready.pop_front() {
            self.refill();
            let endpoint = self.sockets.get::<Socket<'_>>(handle).remote_endpoint();
            if let Some(IpEndpoint { addr: IpAddress::Ipv4(ip), port }) = endpoint {
                self.wire.counts.connections += 1;
                return Some((ConnectionId(handle), SocketAddrV4::new(ip, port)));
            }
            // It was reset while it waited.
            self.recycle(handle);
        }
        None
    }

    /// Whether a connection is open, at least in one direction.
    pub fn is_connected(&self, id: ConnectionId) -> bool {
        let socket: &Socket<'_> = self.sockets.get(id.0);
        socket.may_send() || socket.may_recv() || socket.can_recv()
    }

    /// Whether a connection is closed in both directions: refused, reset, timed out, or ended.
    pub fn is_closed(&self, id: ConnectionId) -> bool {
        self.sockets.get::<Socket<'_>>(id.0).state() == State::Closed
    }

    /// Reads what has arrived, like `std::io::Read`: 0 is the peer's end.
    ///
    /// # Errors
    /// `WouldBlock` if nothing is there; `ConnectionReset` if the connection is no more.
    pub fn read(&mut self, id: ConnectionId, into: &mut [u8]) -> io::Result<usize> {
        let socket: &mut Socket<'_> = self.sockets.get_mut(id.0);
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

    /// Takes bytes to send, as many as there is room for. They leave with the next poll.
    ///
    /// # Errors
    /// `WouldBlock` if there is no room; `BrokenPipe` if this direction is closed.
    pub fn write(&mut self, id: ConnectionId, bytes: &[u8]) -> io::Result<usize> {
        let socket: &mut Socket<'_> = self.sockets.get_mut(id.0);
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
    }

    /// Closes a connection: what was written still arrives, and nobody reads any more.
    pub fn close(&mut self, id: ConnectionId) {
        self.finish(id);
        self.closing.push(id.0);
    }

    /// Ends a connection with a reset.
    pub fn abort(&mut self, id: ConnectionId) {
        self.sockets.get_mut::<Socket<'_>>(id.0).abort();
        self.closing.push(id.0);
    }

    /// Whether the first segment of a connection from `from` to `to` belongs to one that exists. A
    /// listening socket would take it for another one. An old connection in TIME-WAIT gives way.
    fn is_repeated(&mut self, from: SocketAddrV4, to: SocketAddrV4) -> bool {
        match self.existing(to, from) {
            Some((handle, State::TimeWait)) if self.closing.contains(&handle) => {
                self.closing.retain(|one| *one != handle);
                self.recycle(handle);
                false
            }
            found => found.is_some(),
        }
    }

    /// The connection between two ends, and its state.
    fn existing(&self, ours: SocketAddrV4, peer: SocketAddrV4) -> Option<(SocketHandle, State)> {
        let (local, remote) = (IpEndpoint::from(ours), IpEndpoint::from(peer));
        self.sockets.iter().find_map(|(handle, socket)| {
            let smoltcp::socket::Socket::Tcp(socket) = socket;
            let is_same =
                socket.remote_endpoint() == Some(remote) && socket.local_endpoint() == Some(local);
            is_same.then(|| (handle, socket.state()))
        })
    }

    /// After segments came: what peers opened is ready, what has ended is free.
    fn sort_out(&mut self) {
        let mut at = 0;
        while let Some(&(handle, port)) = self.opening.get(at) {
            match self.sockets.get::<Socket<'_>>(handle).state() {
                State::Listen | State::SynReceived => at += 1,
                // The peer was silent or gave up.
                State::Closed => {
                    self.opening.swap_remove(at);
                    self.recycle(handle);
                    self.listen_with_one_more(port);
                }
                _ => {
                    self.opening.swap_remove(at);
                    self.ready.push_back(handle);
                }
            }
        }
        while let Some(&handle) = self.closing.get(at_closed(&self.closing, &self.sockets)) {
            self.closing.retain(|one| *one != handle);
            self.recycle(handle);
        }
        self.refill();
    }

    /// Gives every port as many listening sockets as the backlog has room for.
    fn refill(&mut self) {
        let Some(share) = self.limits.backlog.checked_div(self.ports.len()) else { return };
        for at in 0..self.ports.len() {
            let port = self.ports[at];
            let used = self.opening.iter().filter(|one| one.1 == port).count();
            let waiting = self.ready.len();
            for _ in (used + waiting)..share.max(1) {
                if !self.listen_with_one_more(port) {
                    return;
                }
            }
        }
    }

    fn listen_with_one_more(&mut self, port: u16) -> bool {
        let Some(mut socket) = self.free_socket() else { return false };
        let local = IpListenEndpoint { addr: Some(IpAddress::Ipv4(self.address)), port };
        if socket.listen(local).is_err() {
            self.free.push(socket);
            return false;
        }
        self.opening.push((self.sockets.add(socket), port));
        true
    }

    /// A socket without a connection; if there is none, that of the longest TIME-WAIT.
    fn free_socket(&mut self) -> Option<Socket<'static>> {
        if self.free.is_empty() {
            let waits = |handle: &SocketHandle| {
                self.sockets.get::<Socket<'_>>(*handle).state() == State::TimeWait
            };
            let oldest = self.closing.iter().position(waits)?;
            let handle = self.closing.remove(oldest);
            self.recycle(handle);
        }
        self.free.pop()
    }

    fn recycle(&mut self, handle: SocketHandle) {
        let smoltcp::socket::Socket::Tcp(mut socket) = self.sockets.remove(handle);
        // A socket that is closed may be opened again, which resets it.
        socket.abort();
        self.free.push(socket);
    }
}

/// Where the first closed connection stands that has nothing more to send; behind all if none.
fn at_closed(closing: &[SocketHandle], sockets: &SocketSet<'_>) -> usize {
    let has_ended = |handle: &SocketHandle| {
        let socket: &Socket<'_> = sockets.get(*handle);
        // The reset of an aborted one leaves with the next poll; then the peer is forgotten.
        socket.state() == State::Closed && socket.remote_endpoint().is_none()
    };
    closing.iter().position(has_ended).unwrap_or(closing.len())
}

fn new_socket(limits: &TcpLimits) -> Socket<'static> {
    let buffer = |bytes| SocketBuffer::new(vec![0; bytes]);
    let mut socket =
        Socket::new(buffer(limits.receive_buffer_bytes), buffer(limits.send_buffer_bytes));
    socket.set_ack_delay(None);
    socket.set_nagle_enabled(false);
    socket.set_timeout(Some(TIME_OUT));
    socket.set_keep_alive(Some(KEEP_ALIVE));
    socket
}

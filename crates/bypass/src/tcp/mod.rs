//! TCP in user space over frames, by `smoltcp`.
//!
//! Acknowledgements are not delayed, and small writes are not gathered (no Nagle). A lost segment
//! is sent again after three duplicate acknowledgements or `smoltcp`'s time-out, which is at least
//! a second: four times that of Linux.

mod connection;
mod limits;
mod upkeep;
mod wire;

use crate::device::Device;
use crate::error::BypassError;
use crate::frame::{Checksums, Mac};
use crate::frames::Frames;
use crate::protocol::Protocol;
use smoltcp::iface::{Config, Interface, PollResult, SocketHandle, SocketSet};
use smoltcp::socket::tcp::{Socket, SocketBuffer};
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr, IpEndpoint, IpListenEndpoint};
use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use wire::{InboxPacket, Wire};

pub use limits::{CONNECTIONS_MAX, TcpLimits};

/// Segments that a poll takes before it sends.
const SEGMENTS_MAX: usize = 64;
/// Rounds of sending in a poll, a segment of each connection in each.
const ROUNDS_MAX: usize = 64;
/// A peer that acknowledges nothing for this long is given up.
const TIME_OUT: Duration = Duration::from_secs(60);
/// How often a silent peer is asked whether it lives.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// A peer of a closed connection is reset if it does not end its side within this time.
const LINGER: Duration = Duration::from_secs(10);

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
    closing: Vec<ClosedConnection>,
    address: Ipv4Addr,
    limits: TcpLimits,
    now: Instant,
    /// When there may be something to send, at the latest.
    due: Instant,
}

/// A connection that the user has closed.
struct ClosedConnection {
    handle: SocketHandle,
    /// When its peer is reset.
    until: Instant,
}

impl<D: Device> TcpStack<D> {
    /// Over a device, with its address `address`. [`TcpStack::bind`] takes local ports from the
    /// kernel. `seed`: a random number, from which sequence numbers are made.
    ///
    /// # Errors
    /// If a limit is out of range.
    pub fn on_port(
        device: D,
        address: Ipv4Addr,
        limits: TcpLimits,
        seed: u64,
    ) -> Result<TcpStack<D>, BypassError> {
        let (mac, mtu) = (device.interface().mac, device.interface().mtu as usize);
        let checksums = device.checksums();
        TcpStack::over(device, mac, (address, mtu), checksums, limits, seed)
    }

    /// Takes a port of the stack's address from the kernel, or with 0 any that is free.
    ///
    /// # Errors
    /// As [`Device::claim`].
    pub fn bind(&mut self, port: u16) -> Result<SocketAddrV4, BypassError> {
        let address = SocketAddrV4::new(self.address, port);
        self.wire.frames.claim(Protocol::Tcp, address)
    }

    /// Looks up the way to a peer, before [`TcpStack::connect`]. Off the path.
    ///
    /// # Errors
    /// As [`Device::next_hop`].
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
            due: Instant::ZERO,
        })
    }

    /// Notes the hardware address of a peer, or of the router to it. False past
    /// [`NEIGHBOURS_MAX`](crate::NEIGHBOURS_MAX).
    pub fn learn(&mut self, peer: Ipv4Addr, mac: Mac) -> bool {
        self.wire.neighbours.learn(peer, mac)
    }

    /// The frames below.
    pub fn frames(&self) -> &F {
        &self.wire.frames
    }

    /// The same, to change them.
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

    /// Whether no connection between a local port and a peer is left, not even one in TIME-WAIT.
    pub fn is_free(&self, local_port: u16, peer: SocketAddrV4) -> bool {
        self.existing(SocketAddrV4::new(self.address, local_port), peer).is_none()
    }

    /// Opens a connection from a local port to a peer, whose hardware address must be known
    /// ([`TcpStack::resolve`]) unless it sent something before. It is open when
    /// [`TcpStack::is_connected`] says so.
    ///
    /// # Errors
    /// `QuotaExceeded` if there are too many connections; `AddrInUse` if there is one between these
    /// two; `InvalidInput` if a port is zero.
    pub fn connect(&mut self, local_port: u16, peer: SocketAddrV4) -> io::Result<ConnectionId> {
        if !self.is_free(local_port, peer) {
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
        self.due = Instant::ZERO;
        Ok(ConnectionId(handle))
    }

    /// Receives and sends what there is. `now_ns`: time of any clock that never goes back.
    ///
    /// # Errors
    /// If the interface is gone.
    pub fn poll(&mut self, now_ns: u64) -> io::Result<()> {
        self.receive(now_ns);
        self.transmit(now_ns)
    }

    /// Receives what there is. Acknowledgements wait for the next [`TcpStack::transmit`], with
    /// which they may ride on an answer.
    #[inline]
    pub fn receive(&mut self, now_ns: u64) {
        self.now = instant(now_ns);
        let mut segments = 0;
        while segments < SEGMENTS_MAX
            && let Some(staged) = self.wire.stage()
        {
            segments += 1;
            if let InboxPacket::Opening(from, to) = staged
                && self.is_repeated(from, to)
            {
                self.wire.counts.repeated += 1;
                self.wire.unstage();
                continue;
            }
            self.interface.poll_ingress_single(self.now, &mut self.wire, &mut self.sockets);
        }
        if segments > 0 {
            self.due = Instant::ZERO;
            self.sort_out();
        }
    }

    /// Whether there may be something to send: bytes, acknowledgements, or what a timer asks for.
    #[inline]
    pub fn is_due(&self, now_ns: u64) -> bool {
        self.due <= instant(now_ns)
    }

    /// Sends what there is.
    ///
    /// # Errors
    /// If the interface is gone.
    pub fn transmit(&mut self, now_ns: u64) -> io::Result<()> {
        self.now = instant(now_ns);
        self.interface.poll_maintenance(self.now);
        self.end_closed();
        for _ in 0..ROUNDS_MAX {
            let sent = self.interface.poll_egress(self.now, &mut self.wire, &mut self.sockets);
            if sent == PollResult::None {
                break;
            }
        }
        self.wire.frames.flush()?;
        self.sort_out();
        let timer = self.interface.poll_at(self.now, &self.sockets);
        let never = Instant::from_micros(i64::MAX);
        self.due = timer.into_iter().chain(self.next_reset()).min().unwrap_or(never);
        Ok(())
    }

    /// Whether a connection waits to be accepted.
    #[inline]
    pub fn has_incoming(&self) -> bool {
        !self.ready.is_empty()
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
}

fn instant(now_ns: u64) -> Instant {
    Instant::from_micros((now_ns / 1000).cast_signed())
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

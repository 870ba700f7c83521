//! Datagrams: one receive call each, stamped by the kernel on arrival and by us when the call
//! returns.
//!
//! The kernel stamps in `CLOCK_REALTIME` (Documentation/networking/timestamping.rst);
//! [`clock::wall`] converts that to our clock. A network card's stamp is in the card's own time,
//! which nothing aligns with ours: it is reported, not used.

mod arrival;
pub(crate) mod control;
mod drops;
pub(crate) mod harm;
pub(crate) mod receive_stamps;
pub(crate) mod received;
mod recipients;
mod sender;
mod socket_receiver;
mod stamped;

pub use crate::datagram::arrival::ArrivalSocket;
pub use crate::datagram::received::Datagram;
pub use crate::datagram::recipients::{BadNetwork, Network, NotSent, Recipients};
pub use crate::datagram::sender::{DatagramSender, SendOptions, SendOutcome, is_full, sending};
pub use crate::datagram::stamped::StampedSocket;
pub use crate::stream::below::shared::SharedDevice;
pub use plan::tables::ticks::{DATAGRAM_BYTES_MAX, RECEIVE_BUFFER_BYTES_MAX};

pub(crate) use crate::datagram::control::Control;
use crate::datagram::harm::HarmState;
use crate::datagram::socket_receiver::SocketReceiver;
use crate::stream::below::receiver::BelowReceiver;
use clock::Clock;
use clock::wall::Wall;
use nix::errno::Errno;
use nix::sys::socket::sockopt::{RcvBuf, RcvBufForce, Timestamping};
use nix::sys::socket::{TimestampingFlag, getsockopt, setsockopt};
use plan::faults::DatagramHarm;
use rustix::net::{AddressFamily, SocketType, sockopt};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

/// How datagrams are received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveOptions {
    /// Receive buffer to ask for, bytes, at most [`RECEIVE_BUFFER_BYTES_MAX`]. The kernel doubles
    /// it to make room for its own overhead, 1 to 2 KB for a full datagram.
    pub receive_buffer_bytes: usize,
    /// Ask the kernel for receive stamps.
    pub kernel_stamps: bool,
    /// A group to join, and the address of the interface on which (`0.0.0.0`: the kernel chooses).
    pub multicast: Option<(Ipv4Addr, Ipv4Addr)>,
}

/// A socket that could not be made as asked.
#[derive(Debug, thiserror::Error)]
pub enum DatagramError {
    /// The address is taken, or not of this machine.
    #[error("cannot receive datagrams on {address}: {source}; port 0 lets the system choose one")]
    Bind {
        /// As asked.
        address: SocketAddr,
        /// The system's reason.
        source: io::Error,
    },
    /// The group could not be joined, or not be sent to.
    #[error(
        "multicast on the interface {interface} does not work (group {group}): {source}; name the address of an interface \
         that is up and has a route to the group, or use unicast"
    )]
    Multicast {
        /// The group.
        group: Ipv4Addr,
        /// The interface's address.
        interface: Ipv4Addr,
        /// The system's reason.
        source: io::Error,
    },
    /// The kernel rejected an option that every kernel has.
    #[error("cannot set the socket option {option}: {source}; check whether a sandbox forbids it")]
    Option {
        /// Its name.
        option: &'static str,
        /// The system's reason.
        source: io::Error,
    },
}

impl DatagramError {
    /// As an error of the system.
    pub(crate) fn into_io(self) -> io::Error {
        io::Error::other(self)
    }
}

/// Receive buffer of a flow, bytes: enough for a second of 256 bytes at 25 000 a second.
const FLOW_BUFFER_BYTES: usize = 8 << 20;

/// A socket that sends to `peer` and receives from nobody else.
///
/// # Errors
/// If the kernel has no socket for it.
pub fn connected(peer: SocketAddr) -> io::Result<UdpSocket> {
    let any: SocketAddr = match peer {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(any)?;
    socket.connect(peer)?;
    Ok(socket)
}

/// As [`connected`], with room for the replies of a load.
///
/// # Errors
/// As [`connected`]; or if the kernel rejects the size.
pub fn flow_to(peer: SocketAddr) -> io::Result<UdpSocket> {
    let socket = connected(peer)?;
    set_receive_buffer(&socket, FLOW_BUFFER_BYTES).map_err(DatagramError::into_io)?;
    Ok(socket)
}

/// Where datagrams come to. Never blocks; nothing is allocated on the way of a datagram.
pub struct DatagramReceiver {
    source: Source,
    harmed: Option<Box<HarmState>>,
    /// Drops that are not counted.
    dropped_before: u64,
}

enum Source {
    Socket(Box<SocketReceiver>),
    /// Below the kernel.
    Below(Box<BelowReceiver>),
}

impl Source {
    #[inline]
    fn receive(&mut self, into: &mut [u8]) -> Datagram {
        match self {
            Source::Socket(socket) => socket.receive(into),
            Source::Below(below) => below.receive(into),
        }
    }

    /// The control messages beside the latest datagram.
    fn control(&self) -> Control {
        match self {
            Source::Socket(socket) => socket.stamps.control.clone(),
            Source::Below(_) => Control::none(),
        }
    }

    fn set_control(&mut self, control: Control) {
        if let Source::Socket(socket) = self {
            socket.stamps.control = control;
        }
    }

    fn socket(&self) -> Option<&SocketReceiver> {
        match self {
            Source::Socket(socket) => Some(socket),
            Source::Below(_) => None,
        }
    }
}

impl DatagramReceiver {
    /// Receives what is sent to `address`, or, with a group, to the group at that port. With kernel
    /// stamps it takes about 200 ms, because it reads the wall clock twice.
    ///
    /// # Errors
    /// See [`DatagramError`]. A kernel without receive stamps is not an error:
    /// [`DatagramReceiver::kernel_stamps`] tells.
    pub fn bind(
        address: SocketAddr,
        options: &ReceiveOptions,
        clock: Clock,
    ) -> Result<DatagramReceiver, DatagramError> {
        let socket = Box::new(SocketReceiver::bind(address, options, clock)?);
        Ok(DatagramReceiver { source: Source::Socket(socket), harmed: None, dropped_before: 0 })
    }

    /// The same below the kernel, over a device that connections share. The kernel stamps nothing
    /// and keeps no buffer there: frames wait in the device's rings.
    ///
    /// # Errors
    /// If the device can't run on the interface of that address, or the address or the group can't
    /// be had there.
    pub fn below(
        device: &SharedDevice,
        address: SocketAddr,
        multicast: Option<(Ipv4Addr, Ipv4Addr)>,
        clock: Clock,
    ) -> Result<DatagramReceiver, DatagramError> {
        let failed = |source| DatagramError::Bind { address, source };
        let below = BelowReceiver::bind(device, address, multicast, clock).map_err(failed)?;
        Ok(DatagramReceiver {
            source: Source::Below(Box::new(below)),
            harmed: None,
            dropped_before: 0,
        })
    }

    /// Does harm to what is received from now on. The default harm is none.
    #[must_use]
    pub fn harmed_by(mut self, harm: DatagramHarm) -> DatagramReceiver {
        self.harmed = (!harm.is_none()).then(|| Box::new(HarmState::new(harm)));
        self
    }

    /// The next datagram, if one is there, into `into`.
    #[inline]
    pub fn receive(&mut self, into: &mut [u8]) -> Datagram {
        let DatagramReceiver { source, harmed, .. } = self;
        let Some(harmed) = harmed else { return source.receive(into) };
        let (datagram, control) =
            harmed.receive(into, |into| (source.receive(into), source.control()));
        source.set_control(control);
        datagram
    }

    /// When the kernel received the latest datagram, ns on the [`Clock`]; 0: not stamped. Off the
    /// path: it decodes the control messages only now.
    pub fn kernel_ns(&mut self) -> u64 {
        match &mut self.source {
            Source::Socket(socket) => socket.kernel_ns(),
            Source::Below(_) => 0,
        }
    }

    /// Where to send what shall come here.
    ///
    /// # Errors
    /// If the kernel doesn't say.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        match &self.source {
            Source::Socket(socket) => socket.local_addr(),
            Source::Below(below) => Ok(below.address()),
        }
    }

    /// Receive buffer that the kernel gave, bytes, in its own count: twice what was asked for, if
    /// it gave that. `None`: there is none below the kernel.
    pub fn receive_buffer_bytes(&self) -> Option<usize> {
        self.source.socket().map(SocketReceiver::receive_buffer_bytes)
    }

    /// Source of the latest stamp: `software`, `hardware` (the card, as well; the kernel's is
    /// used), or empty.
    pub fn kernel_stamps(&self) -> &'static str {
        self.source.socket().map_or("", SocketReceiver::kernel_stamps)
    }

    /// Datagrams dropped for want of room since [`DatagramReceiver::count_drops`] or, without it,
    /// since the beginning: in the receive buffer or, below the kernel, in the device's rings,
    /// there with the frames of connections. Off the path: it asks the kernel.
    pub fn dropped(&self) -> u64 {
        self.dropped_in_all().saturating_sub(self.dropped_before)
    }

    /// Counts drops from now on. Off the path: it asks the kernel.
    pub fn count_drops(&mut self) {
        self.dropped_before = self.dropped_in_all();
    }

    fn dropped_in_all(&self) -> u64 {
        match &self.source {
            Source::Socket(socket) => socket.dropped(),
            Source::Below(below) => below.dropped(),
        }
    }

    /// Datagrams that were longer than the buffer they were read into.
    pub fn cut(&self) -> u64 {
        self.source.socket().map_or(0, SocketReceiver::cut)
    }

    /// Reads the wall clock again, some microseconds: off the path, about once a second.
    pub fn refresh_wall(&mut self) {
        if let Source::Socket(socket) = &mut self.source {
            socket.refresh_wall();
        }
    }

    /// The wall clock that converts the kernel's stamps to our clock; `None` where there are none.
    pub fn wall(&self) -> Option<&Wall> {
        self.source.socket().and_then(SocketReceiver::wall)
    }

    /// The stack below the kernel and its mode; `None`: it is the kernel's.
    pub fn stack(&self) -> Option<String> {
        match &self.source {
            Source::Socket(_) => None,
            Source::Below(below) => Some(below.stack()),
        }
    }

    /// The kernel's socket, to sleep until something comes; `None`: there is none below it.
    pub fn socket(&self) -> Option<BorrowedFd<'_>> {
        self.source.socket().map(SocketReceiver::as_fd)
    }
}

/// A socket that never blocks, for datagrams to `address` or, with a group and the address of an
/// interface, to that group at the port of `address`. Returns also its receive buffer, bytes, in
/// the kernel's own count.
///
/// # Errors
/// See [`DatagramError`].
pub fn receiving(
    address: SocketAddr,
    multicast: Option<(Ipv4Addr, Ipv4Addr)>,
    receive_buffer_bytes: usize,
) -> Result<(UdpSocket, usize), DatagramError> {
    let socket = match multicast {
        None => bind(address)?,
        Some((group, interface)) => join(address.port(), group, interface)?,
    };
    let granted_bytes = set_receive_buffer(&socket, receive_buffer_bytes)?;
    Ok((socket, granted_bytes))
}

/// Datagrams that a socket dropped so far because its receive buffer was full; `None` if the kernel
/// doesn't say. Off the path: it reads the table of all UDP sockets.
pub fn dropped(socket: &UdpSocket) -> Option<u64> {
    drops::of(socket)
}

pub(crate) fn bind(address: SocketAddr) -> Result<UdpSocket, DatagramError> {
    let failed = |source| DatagramError::Bind { address, source };
    let socket = UdpSocket::bind(address).map_err(failed)?;
    socket.set_nonblocking(true).map_err(failed)?;
    Ok(socket)
}

/// Binds to the group itself, so that other groups' datagrams to the same port don't arrive.
/// Several followers on one machine may do so.
fn join(port: u16, group: Ipv4Addr, interface: Ipv4Addr) -> Result<UdpSocket, DatagramError> {
    let joined = || -> io::Result<UdpSocket> {
        let socket = rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None)?;
        sockopt::set_socket_reuseaddr(&socket, true)?;
        rustix::net::bind(&socket, &SocketAddr::from((group, port)))?;
        let socket = UdpSocket::from(socket);
        socket.set_nonblocking(true)?;
        socket.join_multicast_v4(&group, &interface)?;
        Ok(socket)
    };
    joined().map_err(|source| DatagramError::Multicast { group, interface, source })
}

/// Past what the system allows everybody (`net.core.rmem_max`) where we may.
/// The receive buffer that the kernel gives this process if it asks for `bytes`, in bytes: twice as
/// many if nothing limits it (socket(7)).
///
/// # Errors
/// If there is no socket to try it with.
pub fn receive_buffer_granted(bytes: usize) -> Result<usize, DatagramError> {
    let failed = |source| DatagramError::Option { option: "SO_RCVBUF", source };
    let socket = UdpSocket::bind(("127.0.0.1", 0)).map_err(failed)?;
    set_receive_buffer(&socket, bytes)
}

pub(crate) fn set_receive_buffer(socket: &UdpSocket, bytes: usize) -> Result<usize, DatagramError> {
    let failed = |errno: Errno| DatagramError::Option { option: "SO_RCVBUF", source: errno.into() };
    let bytes = bytes.min(RECEIVE_BUFFER_BYTES_MAX);
    if setsockopt(socket, RcvBufForce, &bytes).is_err() {
        setsockopt(socket, RcvBuf, &bytes).map_err(failed)?;
    }
    getsockopt(socket, RcvBuf).map_err(failed)
}

/// Asks the kernel to stamp what a socket receives. Returns whether it will.
pub(crate) fn ask_for_stamps(socket: &impl AsFd) -> bool {
    let flags = TimestampingFlag::SOF_TIMESTAMPING_RX_SOFTWARE
        | TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE
        | TimestampingFlag::SOF_TIMESTAMPING_RX_HARDWARE
        | TimestampingFlag::SOF_TIMESTAMPING_RAW_HARDWARE;
    setsockopt(socket, Timestamping, &flags).is_ok()
}

#[cfg(test)]
mod tests;

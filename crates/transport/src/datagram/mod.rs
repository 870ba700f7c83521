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
mod received;
mod recipients;
mod sender;
mod stamped;

pub use crate::datagram::arrival::ArrivalSocket;
pub use crate::datagram::received::Datagram;
pub use crate::datagram::recipients::{BadNetwork, Network, NotSent, Recipients};
pub use crate::datagram::sender::{DatagramSender, SendOptions, SendOutcome, is_full, sending};
pub use crate::datagram::stamped::StampedSocket;
pub use plan::tables::ticks::{DATAGRAM_BYTES_MAX, RECEIVE_BUFFER_BYTES_MAX};

pub(crate) use crate::datagram::control::Control;
use crate::datagram::control::{CONTROL_BYTES, ControlMessages};
use crate::datagram::harm::HarmState;
use clock::Clock;
use clock::wall::Wall;
use nix::errno::Errno;
use nix::sys::socket::sockopt::{RcvBuf, RcvBufForce, RxqOvfl, Timestamping};
use nix::sys::socket::{MsgFlags, TimestampingFlag, getsockopt, recvmsg, setsockopt};
use plan::faults::DatagramHarm;
use rustix::net::{AddressFamily, SocketType, sockopt};
use std::io::{self, IoSliceMut};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

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

/// Which stamps the kernel put on what was received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum StampKind {
    #[default]
    Nothing,
    Software,
    /// The card stamped as well.
    Hardware,
}

/// A socket that datagrams come to. Never blocks; nothing is allocated on the way of a datagram.
pub struct DatagramReceiver {
    socket: UdpSocket,
    clock: Clock,
    wall: Option<Wall>,
    /// The control messages beside the latest datagram.
    control: Control,
    stamped: StampKind,
    receive_buffer_bytes: usize,
    dropped: u32,
    cut: u64,
    harmed: Option<Box<HarmState>>,
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
        let (socket, receive_buffer_bytes) =
            receiving(address, options.multicast, options.receive_buffer_bytes)?;
        // Without the count of drops they show as gaps in the feed all the same.
        let _ = setsockopt(&socket, RxqOvfl, &1);
        let stamps = options.kernel_stamps && ask_for_stamps(&socket);
        Ok(DatagramReceiver {
            socket,
            clock,
            wall: stamps.then(|| Wall::read(clock)),
            control: Control([0; CONTROL_BYTES]),
            stamped: StampKind::Nothing,
            receive_buffer_bytes,
            dropped: 0,
            cut: 0,
            harmed: None,
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
        let Some(mut harmed) = self.harmed.take() else { return self.receive_from_kernel(into) };
        let (datagram, control) =
            harmed.receive(into, |into| (self.receive_from_kernel(into), self.control.clone()));
        (self.harmed, self.control) = (Some(harmed), control);
        datagram
    }

    #[inline]
    fn receive_from_kernel(&mut self, into: &mut [u8]) -> Datagram {
        self.control.clear();
        let mut slices = [IoSliceMut::new(into)];
        let received = recvmsg::<()>(
            self.socket.as_raw_fd(),
            &mut slices,
            Some(&mut self.control.0),
            MsgFlags::empty(),
        );
        let read_ns = self.clock.now_ns();
        match received {
            Ok(received) => {
                self.cut += u64::from(received.flags.contains(MsgFlags::MSG_TRUNC));
                Datagram::Bytes { n: received.bytes, read_ns }
            }
            Err(Errno::EAGAIN | Errno::EINTR) => Datagram::Empty,
            Err(errno) => Datagram::Failed(errno.into()),
        }
    }

    /// When the kernel received the latest datagram, ns on the [`Clock`]; 0: not stamped. Off the
    /// path: it decodes the control messages only now.
    pub fn kernel_ns(&mut self) -> u64 {
        let ControlMessages { software_ns, hardware_ns, dropped, .. } = self.control.said();
        self.dropped = dropped.unwrap_or(self.dropped);
        if software_ns == 0 {
            return 0;
        }
        self.stamped = if hardware_ns > 0 { StampKind::Hardware } else { StampKind::Software };
        self.wall.as_ref().map_or(0, |wall| wall.clock_ns(software_ns))
    }

    /// Where to send what shall come here.
    ///
    /// # Errors
    /// If the kernel doesn't say.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Receive buffer that the kernel gave, bytes, in its own count: twice what was asked for, if
    /// it gave that.
    pub fn receive_buffer_bytes(&self) -> usize {
        self.receive_buffer_bytes
    }

    /// Source of the latest stamp: `software`, `hardware` (the card, as well; the kernel's is
    /// used), or empty.
    pub fn kernel_stamps(&self) -> &'static str {
        match self.stamped {
            StampKind::Nothing => "",
            StampKind::Software => "software",
            StampKind::Hardware => "hardware",
        }
    }

    /// Datagrams dropped so far because the receive buffer was full. Off the path: it asks the
    /// kernel, which otherwise reports only drops before the latest datagram.
    pub fn dropped(&self) -> u64 {
        let told = u64::from(self.dropped);
        drops::of(&self.socket).map_or(told, |asked| asked.max(told))
    }

    /// Datagrams that were longer than the buffer they were read into.
    pub fn cut(&self) -> u64 {
        self.cut
    }

    /// Reads the wall clock again, some microseconds: off the path, about once a second.
    pub fn refresh_wall(&mut self) {
        self.wall.iter_mut().for_each(Wall::refresh);
    }

    /// The wall clock by which the kernel's stamps are laid on ours; `None` where there are none.
    pub fn wall(&self) -> Option<&Wall> {
        self.wall.as_ref()
    }
}

/// For whoever sleeps until something comes.
impl AsFd for DatagramReceiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
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

fn ask_for_stamps(socket: &UdpSocket) -> bool {
    let flags = TimestampingFlag::SOF_TIMESTAMPING_RX_SOFTWARE
        | TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE
        | TimestampingFlag::SOF_TIMESTAMPING_RX_HARDWARE
        | TimestampingFlag::SOF_TIMESTAMPING_RAW_HARDWARE;
    setsockopt(socket, Timestamping, &flags).is_ok()
}

#[cfg(test)]
mod tests;

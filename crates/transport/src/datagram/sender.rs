//! The sending side of [`crate::datagram`].

use crate::datagram::{DatagramError, bind};
use nix::errno::Errno;
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::SndBuf;
use rustix::net::sockopt::set_ip_multicast_if;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};

/// How datagrams are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendOptions {
    /// The send buffer to ask for, bytes.
    pub send_buffer_bytes: usize,
    /// Datagrams to a group leave by the interface with this address; `0.0.0.0`: the kernel
    /// chooses.
    pub multicast_interface: Option<Ipv4Addr>,
    /// How many routers such a datagram passes, less one: 1 stays in its network.
    pub multicast_hops: u32,
}

impl Default for SendOptions {
    fn default() -> SendOptions {
        SendOptions { send_buffer_bytes: 4 << 20, multicast_interface: None, multicast_hops: 1 }
    }
}

/// How a send went.
#[derive(Debug)]
pub enum SendOutcome {
    /// The kernel took it.
    Whole,
    /// The kernel has no room now: it was not sent.
    Full,
    /// It was not sent, and won't be.
    Failed(io::Error),
}

/// A socket that datagrams leave by. Never blocks.
pub struct DatagramSender {
    socket: UdpSocket,
}

impl DatagramSender {
    /// Sends from `address`; `0.0.0.0:0` lets the kernel choose for each destination.
    ///
    /// # Errors
    /// See [`DatagramError`].
    pub fn bind(
        address: SocketAddr,
        options: &SendOptions,
    ) -> Result<DatagramSender, DatagramError> {
        let socket = sending_with(address, options.send_buffer_bytes)?;
        if let (Some(interface), IpAddr::V4(_)) = (options.multicast_interface, address.ip()) {
            let failed = |source| DatagramError::Multicast {
                group: Ipv4Addr::UNSPECIFIED,
                interface,
                source,
            };
            set_ip_multicast_if(&socket, &interface).map_err(|errno| failed(errno.into()))?;
            socket.set_multicast_ttl_v4(options.multicast_hops).map_err(failed)?;
            socket.set_multicast_loop_v4(true).map_err(failed)?;
        }
        Ok(DatagramSender { socket })
    }

    /// Where what is sent comes from.
    ///
    /// # Errors
    /// If the kernel doesn't say.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Sends one datagram.
    #[inline]
    pub fn send(&mut self, to: SocketAddr, bytes: &[u8]) -> SendOutcome {
        match self.socket.send_to(bytes, to) {
            Ok(_) => SendOutcome::Whole,
            Err(error) if is_full(&error) => SendOutcome::Full,
            Err(error) => SendOutcome::Failed(error),
        }
    }
}

/// A socket that never blocks and sends from `address`, with the usual send buffer.
///
/// # Errors
/// See [`DatagramError`].
pub fn sending(address: SocketAddr) -> Result<UdpSocket, DatagramError> {
    sending_with(address, SendOptions::default().send_buffer_bytes)
}

fn sending_with(address: SocketAddr, send_buffer_bytes: usize) -> Result<UdpSocket, DatagramError> {
    let socket = bind(address)?;
    let failed = |errno: Errno| DatagramError::Option { option: "SO_SNDBUF", source: errno.into() };
    setsockopt(&socket, SndBuf, &send_buffer_bytes).map_err(failed)?;
    Ok(socket)
}

/// Whether a datagram was not sent because a queue on its way out is full, or a signal came first:
/// it may be sent again.
pub fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
        || error.raw_os_error() == Some(Errno::ENOBUFS as i32)
}

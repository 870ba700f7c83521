//! The sending side of [`crate::datagram`].

use crate::datagram::{DatagramError, bind};
use crate::stamps::{self, KernelStamps};
use crate::stream::below::sender::BelowSender;
use crate::stream::below::shared::SharedDevice;
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

/// The way by which datagrams leave. Never blocks.
pub struct DatagramSender(Way);

enum Way {
    Socket {
        socket: UdpSocket,
        /// Datagrams that the kernel was asked to stamp.
        stamped: u32,
    },
    /// Below the kernel.
    Below(Box<BelowSender>),
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
        Ok(DatagramSender(Way::Socket { socket, stamped: 0 }))
    }

    /// Sends below the kernel, over a device that connections share and open. To a group it sends
    /// by the interface of that device, in its network alone.
    pub fn below(device: SharedDevice) -> DatagramSender {
        DatagramSender(Way::Below(Box::new(BelowSender::new(device))))
    }

    /// Where what is sent comes from.
    ///
    /// # Errors
    /// If the kernel doesn't say, or a device below it is not open yet.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        match &self.0 {
            Way::Socket { socket, .. } => socket.local_addr(),
            Way::Below(below) => below.address(),
        }
    }

    /// Makes ready to send to an address. Off the path.
    ///
    /// # Errors
    /// Below the kernel, unless it is a group, or a host with which a connection of the same device
    /// speaks.
    pub fn reach(&mut self, to: SocketAddr) -> io::Result<()> {
        match &mut self.0 {
            Way::Socket { .. } => Ok(()),
            Way::Below(below) => below.reach(to),
        }
    }

    /// Sends one datagram, to an address that was [reached](DatagramSender::reach).
    #[inline]
    pub fn send(&mut self, to: SocketAddr, bytes: &[u8]) -> SendOutcome {
        let sent = match &mut self.0 {
            Way::Socket { socket, .. } => socket.send_to(bytes, to).map(|_| ()),
            Way::Below(below) => below.send(to, bytes),
        };
        match sent {
            Ok(()) => SendOutcome::Whole,
            Err(error) if is_full(&error) => SendOutcome::Full,
            Err(error) => SendOutcome::Failed(error),
        }
    }

    /// Has the kernel stamp what is sent until [`DatagramSender::departure`]. It is a system call,
    /// so make it before your own stamp. Returns whether the kernel can.
    pub fn stamp_next(&self) -> bool {
        match &self.0 {
            Way::Socket { socket, .. } => stamps::ask(socket, true).is_ok(),
            Way::Below(_) => false,
        }
    }

    /// The stamps of the datagram that was sent since then, if they are there already. Makes some
    /// system calls. `is_sent`: whether the kernel took it.
    pub fn departure(&mut self, is_sent: bool) -> KernelStamps {
        let mut departure = KernelStamps::default();
        let Way::Socket { socket, stamped } = &mut self.0 else { return departure };
        // It can't fail where it did not fail before.
        let _ = stamps::ask(&*socket, false);
        if is_sent {
            departure.sent(&*socket, *stamped);
            *stamped = stamped.wrapping_add(1);
        }
        departure
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Only datagrams that were to be stamped are, and each has its own stamps.
    #[test]
    fn a_datagram_is_stamped_on_its_way_out_where_that_is_asked() {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let to = receiver.local_addr().unwrap();
        let any = "127.0.0.1:0".parse().unwrap();
        let mut sender = DatagramSender::bind(any, &SendOptions::default()).unwrap();
        if !sender.stamp_next() {
            testing::skip!(Kernel, "SO_TIMESTAMPING");
        }
        let _ = sender.departure(false);
        for _ in 0..3 {
            assert!(matches!(sender.send(to, b"plain"), SendOutcome::Whole));
            assert!(sender.stamp_next());
            let before_ns = clock::wall_ns();
            let sent = sender.send(to, b"stamped");
            let stamps = sender.departure(matches!(sent, SendOutcome::Whole));
            let times = [Some(before_ns), stamps.queued_ns, stamps.driver_ns].map(Option::unwrap);
            assert!(times.is_sorted() && times[2] <= clock::wall_ns(), "{times:?}");
        }
    }
}

//! Devices: frames with an interface of the kernel beside them, from which addresses, ports, routes
//! and neighbours come.

use crate::error::BypassError;
use crate::frame::{Checksums, Mac};
use crate::frames::Frames;
use crate::protocol::Protocol;
use crate::routes::Interface;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket, sockopt};
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;

/// Frames of an interface. `Display` says which interface it is and how it runs.
pub trait Device: Frames + fmt::Display {
    /// The interface.
    fn interface(&self) -> &Interface;

    /// Takes all packets to `address` from now on; with port 0 the kernel chooses a free one. A
    /// socket of the kernel, which gets nothing, keeps the address from other programs.
    ///
    /// # Errors
    /// If the address is not of this interface, is taken, or there are too many already.
    fn claim(
        &mut self,
        protocol: Protocol,
        address: SocketAddrV4,
    ) -> Result<SocketAddrV4, BypassError>;

    /// Takes all datagrams to a group and port from now on. A socket of the kernel, which gets
    /// nothing, joins the group at `own`, an address of this interface.
    ///
    /// # Errors
    /// If it is no group, the kernel can't join it there, or there are too many flows already.
    fn join(&mut self, group: SocketAddrV4, own: Ipv4Addr) -> Result<(), BypassError>;

    /// Frames that were dropped because this process had not read earlier ones, of all flows;
    /// `None`: unknown.
    fn dropped(&self) -> Option<u64>;

    /// Where to send packets for an address: itself, or the router to it. Off the path.
    ///
    /// # Errors
    /// If the kernel's route leaves by another interface, or nobody answers ARP.
    fn next_hop(&mut self, to: Ipv4Addr) -> Result<Mac, BypassError>;

    /// Which checksums of what arrives are right.
    fn checksums(&self) -> Checksums {
        if self.interface().is_veth { Checksums::OrPartial } else { Checksums::Whole }
    }
}

/// A socket of the kernel that is bound to an address of an interface, or with port 0 to one that
/// the kernel chose.
pub(crate) fn reserve(
    interface: &Interface,
    protocol: Protocol,
    address: SocketAddrV4,
) -> io::Result<(OwnedFd, SocketAddrV4)> {
    if !interface.addresses.contains(address.ip()) {
        return Err(Errno::ADDRNOTAVAIL.into());
    }
    let socket = socket(AddressFamily::INET, protocol.kind(), None)?;
    bind(&socket, &address)?;
    let bound = SocketAddrV4::try_from(getsockname(&socket)?)?;
    Ok((socket, bound))
}

/// A socket of the kernel that joined a group at `own`, an address of an interface, and is bound to
/// the group. Other programs may follow it there too.
pub(crate) fn joined(
    interface: &Interface,
    group: SocketAddrV4,
    own: Ipv4Addr,
) -> io::Result<OwnedFd> {
    if !interface.addresses.contains(&own) || !group.ip().is_multicast() {
        return Err(Errno::ADDRNOTAVAIL.into());
    }
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    bind(&socket, &group)?;
    sockopt::set_ip_add_membership(&socket, group.ip(), &own)?;
    Ok(socket)
}

//! `af_xdp` and `dpdk`: streams over a network interface without the kernel's stack.

pub(crate) mod connections;
pub(crate) mod datagrams;
pub(crate) mod device;
pub(crate) mod receiver;
pub(crate) mod sender;
pub(crate) mod shared;

use bypass::routes;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, ToSocketAddrs};

/// The address from which the kernel would send to `peer`.
fn source_to(peer: SocketAddrV4) -> io::Result<Ipv4Addr> {
    Ok(routes::route(*peer.ip()).map_err(io::Error::other)?.source)
}

/// The address to listen on in `HOST:PORT`: of one interface, because below the kernel there is no
/// other.
///
/// # Errors
/// If it names none.
pub(crate) fn address_of(text: &str) -> io::Result<SocketAddrV4> {
    let first = text.to_socket_addrs()?.find_map(|address| match address {
        SocketAddr::V4(address) if !address.ip().is_unspecified() => Some(address),
        _ => None,
    });
    let why = "af_xdp and dpdk need the IPv4 address of one interface, such as 192.0.2.1:9000";
    first.ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, why))
}

fn v4(address: SocketAddr) -> io::Result<SocketAddrV4> {
    match address {
        SocketAddr::V4(address) => Ok(address),
        SocketAddr::V6(_) => {
            Err(io::Error::new(ErrorKind::Unsupported, "af_xdp and dpdk take IPv4 addresses only"))
        }
    }
}

/// An error of a set that has no sockets of the kernel.
fn no_sockets() -> io::Error {
    let why = "this backend has no sockets of the kernel, and they are needed here: take another \
               backend";
    io::Error::new(ErrorKind::Unsupported, why)
}

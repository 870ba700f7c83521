//! `af_xdp`: streams over a network interface without the kernel's stack.

pub(crate) mod connections;
pub(crate) mod datagrams;

use bypass::routes::{self, Interface};
use bypass::{BypassError, Port, PortOptions};
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, ToSocketAddrs};

/// Copies, because zero-copy on the queue that carries an ssh session can cut it off.
const OPTIONS: PortOptions = PortOptions { queue: None, zero_copy: false };

/// A port on the interface that has `address`.
fn port_at(address: Ipv4Addr) -> Result<Port, BypassError> {
    Port::open(&Interface::with_address(address)?, OPTIONS)
}

/// The address from which the kernel would send to `peer`.
fn source_to(peer: SocketAddrV4) -> io::Result<Ipv4Addr> {
    Ok(routes::route(*peer.ip()).map_err(io::Error::other)?.source)
}

/// The address to listen on in `HOST:PORT`: of one interface, because AF_XDP has no other.
///
/// # Errors
/// If it names none.
pub(crate) fn address_of(text: &str) -> io::Result<SocketAddrV4> {
    let first = text.to_socket_addrs()?.find_map(|address| match address {
        SocketAddr::V4(address) if !address.ip().is_unspecified() => Some(address),
        _ => None,
    });
    let why = "af_xdp needs the IPv4 address of one interface, such as 192.0.2.1:9000";
    first.ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, why))
}

fn v4(address: SocketAddr) -> io::Result<SocketAddrV4> {
    match address {
        SocketAddr::V4(address) => Ok(address),
        SocketAddr::V6(_) => {
            Err(io::Error::new(ErrorKind::Unsupported, "af_xdp takes IPv4 addresses only"))
        }
    }
}

/// An error of a set that has no sockets of the kernel.
fn no_sockets() -> io::Error {
    let why = "af_xdp has no sockets of the kernel, and this needs them: take another backend";
    io::Error::new(ErrorKind::Unsupported, why)
}

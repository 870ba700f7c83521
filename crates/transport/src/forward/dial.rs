//! The start of a connection that the loop does not wait for.

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};
use std::io;
use std::net::{SocketAddr, TcpStream};

/// A socket that connects, or already is connected, to `address`. It takes bytes once it is
/// connected; a connection that fails is found by reading.
///
/// # Errors
/// If the process has no descriptor left, or the kernel knows at once that it can't be.
pub(super) fn dial(address: SocketAddr) -> io::Result<TcpStream> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = TcpStream::from(socket_with(family, SocketType::STREAM, flags, None)?);
    match connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => {}
        Err(error) => return Err(error.into()),
    }
    // On loopback the kernel may choose the very port where nobody listens. Such a socket connects
    // to itself, and then the exchange can't have its port again.
    if socket.local_addr()? == address {
        return Err(Errno::CONNREFUSED.into());
    }
    Ok(socket)
}

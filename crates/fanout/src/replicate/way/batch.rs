//! One datagram to many addresses by `sendmmsg`.
//!
//! `nix` has the call, but hides how many datagrams the kernel took behind an iterator that reads
//! addresses which only a receive call fills.

use libc::{c_uint, iovec, mmsghdr, msghdr, sockaddr_in};
use std::io;
use std::mem::size_of;
use std::net::{SocketAddrV4, UdpSocket};
use std::os::fd::AsRawFd;
use std::ptr;

/// Most datagrams of one call (`UIO_MAXIOV` of the kernel).
const CALL_MAX: usize = 1024;

/// Addresses, and the room for a call that sends to them.
#[derive(Default)]
pub(crate) struct Batch {
    addresses: Vec<sockaddr_in>,
    headers: Vec<mmsghdr>,
}

impl Batch {
    /// Replaces the addresses. Allocates only for more of them than ever before.
    pub(crate) fn set_addresses(&mut self, addresses: impl Iterator<Item = SocketAddrV4>) {
        self.addresses.clear();
        self.addresses.extend(addresses.map(address_of));
        self.headers.clear();
        self.headers.reserve(self.addresses.len());
    }

    /// Sends `bytes` to the addresses with these indices, in this order, without waiting. Calls
    /// `each` with an index and what became of its datagram: the first error that the kernel gives
    /// belongs to the address at which it stopped, and the rest is sent all the same.
    pub(crate) fn send(
        &mut self,
        socket: &UdpSocket,
        bytes: &[u8],
        order: &[u32],
        each: &mut dyn FnMut(u32, io::Result<()>),
    ) {
        let mut whole = iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        self.headers.clear();
        for &index in order {
            let address = &raw const self.addresses[index as usize];
            self.headers.push(header(address, &raw mut whole));
        }
        let mut at = 0;
        while at < order.len() {
            let rest = &mut self.headers[at..];
            let count = rest.len().min(CALL_MAX);
            // SAFETY: the first `count` headers are initialised. Each points at an address in
            // `self.addresses` and at `whole`, neither of which changes or moves during the call,
            // and `whole` at `bytes`. The kernel writes only into the headers.
            let sent = unsafe {
                libc::sendmmsg(
                    socket.as_raw_fd(),
                    rest.as_mut_ptr(),
                    count as c_uint,
                    libc::MSG_DONTWAIT,
                )
            };
            match usize::try_from(sent) {
                Ok(sent) if sent > 0 => {
                    order[at..at + sent].iter().for_each(|index| each(*index, Ok(())));
                    at += sent;
                }
                _ => {
                    let error = io::Error::last_os_error();
                    if error.kind() != io::ErrorKind::Interrupted {
                        each(order[at], Err(error));
                        at += 1;
                    }
                }
            }
        }
        // They point at what lives no longer.
        self.headers.clear();
    }
}

fn header(address: *const sockaddr_in, whole: *mut iovec) -> mmsghdr {
    let msg_hdr = msghdr {
        msg_name: address.cast_mut().cast(),
        msg_namelen: size_of::<sockaddr_in>() as u32,
        msg_iov: whole,
        msg_iovlen: 1,
        msg_control: ptr::null_mut(),
        msg_controllen: 0,
        msg_flags: 0,
    };
    mmsghdr { msg_hdr, msg_len: 0 }
}

fn address_of(address: SocketAddrV4) -> sockaddr_in {
    sockaddr_in {
        sin_family: libc::AF_INET as u16,
        sin_port: address.port().to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(address.ip().octets()) },
        sin_zero: [0; 8],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;
    use std::time::Duration;

    fn socket() -> (UdpSocket, SocketAddrV4) {
        let socket = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let port = socket.local_addr().unwrap().port();
        (socket, SocketAddrV4::new(Ipv4Addr::LOCALHOST, port))
    }

    /// The kernel stops at the first address that it can't send to. A list with one such address
    /// would have cut off all behind it.
    #[test]
    fn an_address_that_fails_keeps_nobody_from_theirs() {
        let ((first, a), (last, b)) = (socket(), socket());
        // A broadcast address takes an option that this socket doesn't set.
        let refused = SocketAddrV4::new(Ipv4Addr::BROADCAST, 9);
        let (sender, _) = socket();
        let mut batch = Batch::default();
        batch.set_addresses([a, refused, b].into_iter());
        let mut seen = Vec::new();
        batch.send(&sender, b"tick", &[1, 2, 1, 0], &mut |index, sent| {
            seen.push((index, sent.is_ok()));
        });
        assert_eq!(seen, [(1, false), (2, true), (1, false), (0, true)]);
        for socket in [first, last] {
            let mut bytes = [0; 16];
            assert_eq!(socket.recv(&mut bytes).unwrap(), 4);
            assert_eq!(&bytes[..4], b"tick");
        }
    }

    /// More than the kernel takes in one call.
    #[test]
    fn a_long_list_takes_several_calls() {
        let (receiver, address) = socket();
        let (sender, _) = socket();
        let mut batch = Batch::default();
        batch.set_addresses(std::iter::once(address));
        let order = vec![0; CALL_MAX + 3];
        let mut sent = 0;
        batch.send(&sender, b"", &order, &mut |_, done| sent += usize::from(done.is_ok()));
        assert_eq!(sent, order.len());
        assert_eq!(receiver.recv(&mut [0; 1]).unwrap(), 0);
    }
}

//! A socket that says when the kernel received each datagram, by its `CLOCK_REALTIME`.

use crate::datagram::control::Control;
use crate::datagram::{DatagramError, ask_for_stamps, receiving};
use nix::sys::socket::{MsgFlags, recvmsg};
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

/// A bound socket that never blocks, for subscribers that share a thread: their arrivals don't
/// depend on when it reads them.
pub struct ArrivalSocket(UdpSocket);

impl ArrivalSocket {
    /// Binds it and asks the kernel for stamps. The kernel stamps datagrams from a moment later on.
    ///
    /// # Errors
    /// See [`DatagramError`].
    pub fn bind(
        address: SocketAddr,
        receive_buffer_bytes: usize,
    ) -> Result<ArrivalSocket, DatagramError> {
        let (socket, _) = receiving(address, None, receive_buffer_bytes)?;
        if !ask_for_stamps(&socket) {
            let source = io::Error::last_os_error();
            return Err(DatagramError::Option { option: "SO_TIMESTAMPING", source });
        }
        Ok(ArrivalSocket(socket))
    }

    /// The next datagram: its length, and when the kernel had it, ns; `None`: not stamped.
    ///
    /// # Errors
    /// As the socket's; `WouldBlock` where nothing is there.
    pub fn receive(&self, into: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
        let mut control = Control::none();
        let mut slices = [IoSliceMut::new(into)];
        let (socket, room) = (self.0.as_raw_fd(), Some(&mut control.0[..]));
        let length = recvmsg::<()>(socket, &mut slices, room, MsgFlags::empty())?.bytes;
        let received_ns = control.said().software_ns;
        Ok((length, (received_ns > 0).then_some(received_ns)))
    }
}

impl AsRef<UdpSocket> for ArrivalSocket {
    fn as_ref(&self) -> &UdpSocket {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// However late it is read, a datagram has the time of its arrival.
    #[test]
    fn an_arrival_does_not_depend_on_when_it_is_read() {
        let socket = match ArrivalSocket::bind("127.0.0.1:0".parse().unwrap(), 1 << 16) {
            Ok(socket) => socket,
            Err(why) => testing::skip!(Kernel, "{why}"),
        };
        let sender = crate::datagram::connected(socket.as_ref().local_addr().unwrap()).unwrap();
        let mut bytes = [0; 16];
        let deadline = clock::Deadline::after(Duration::from_secs(20));
        // The kernel stamps what arrives soon after it is asked to, not at once.
        loop {
            assert!(!deadline.left().is_zero(), "the kernel stamps nothing that arrives");
            let before_ns = clock::wall_ns();
            sender.send(b"tick").unwrap();
            std::thread::sleep(Duration::from_millis(20));
            let (length, received_ns) = socket.receive(&mut bytes).unwrap();
            assert_eq!(&bytes[..length], b"tick");
            let Some(received_ns) = received_ns else { continue };
            assert!(received_ns >= before_ns, "{received_ns} {before_ns}");
            if received_ns - before_ns < 10_000_000 {
                break;
            }
        }
        assert_eq!(socket.receive(&mut bytes).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }
}

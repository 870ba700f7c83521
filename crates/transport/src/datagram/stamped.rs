//! A datagram socket whose messages the kernel stamps on their way out and in, if asked to.

use crate::datagram::control::Control;
use crate::stamps::{self, KernelStamps};
use nix::sys::socket::MsgFlags;
use std::io;
use std::net::UdpSocket;

/// A connected socket.
pub struct StampedSocket {
    socket: UdpSocket,
    control: Control,
    /// Number of the next stamped message, as the kernel counts.
    next: u32,
}

impl StampedSocket {
    /// Asks the kernel to stamp what comes in, and to report all stamps.
    ///
    /// # Errors
    /// If the kernel rejects that, as a sandbox may.
    pub fn new(socket: UdpSocket) -> io::Result<StampedSocket> {
        stamps::ask(&socket, false)?;
        Ok(StampedSocket { socket, control: Control::none(), next: 0 })
    }

    /// Sends a message that the kernel stamps; calls `at` last thing before.
    ///
    /// # Errors
    /// As the socket's.
    pub fn send(&mut self, bytes: &[u8], at: &mut dyn FnMut()) -> io::Result<()> {
        stamps::ask(&self.socket, true)?;
        at();
        let sent = self.socket.send(bytes);
        self.next = self.next.wrapping_add(u32::from(sent.is_ok()));
        stamps::ask(&self.socket, false)?;
        sent.map(|_| ())
    }

    /// Receives a message, as the socket does, with its stamps.
    ///
    /// # Errors
    /// As the socket's.
    pub fn receive(&mut self, into: &mut [u8]) -> io::Result<usize> {
        stamps::receive(&self.socket, into, &mut self.control, MsgFlags::empty())
    }

    /// The stamps of the latest stamped message and of what was received last. Call it after the
    /// answer: the driver may stamp later than `send` returns. Makes some system calls.
    pub fn stamps(&mut self) -> KernelStamps {
        let mut stamps = KernelStamps::default();
        stamps.answered(&self.control);
        stamps.sent(&self.socket, self.next.wrapping_sub(1));
        stamps
    }
}

impl AsRef<UdpSocket> for StampedSocket {
    fn as_ref(&self) -> &UdpSocket {
        &self.socket
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> [UdpSocket; 2] {
        let sockets = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
        let [one, other] = &sockets;
        one.connect(other.local_addr().unwrap()).unwrap();
        other.connect(one.local_addr().unwrap()).unwrap();
        one.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
        sockets
    }

    /// Over loopback: every stamp that a kernel without a card has, in order, of the message that
    /// was sent last, also after messages whose stamps nobody read and one that was not stamped.
    #[test]
    fn a_message_is_stamped_on_its_way_out_and_its_answer_on_its_way_in() {
        let [socket, other] = pair();
        let mut socket = match StampedSocket::new(socket) {
            Ok(socket) => socket,
            Err(why) => testing::skip!(Kernel, "SO_TIMESTAMPING: {why}"),
        };
        let wall_ns = || clock::wall_ns();
        let mut bytes = [0; 16];
        // Regression: the kernel stamps what arrives soon after it is asked to, not at once.
        let deadline = clock::Deadline::after(std::time::Duration::from_secs(20));
        loop {
            other.send(b"pong").unwrap();
            socket.receive(&mut bytes).unwrap();
            if socket.stamps().received_ns.is_some() {
                break;
            }
            assert!(!deadline.left().is_zero(), "the kernel stamps nothing that arrives");
        }
        for round in 0..5 {
            socket.as_ref().send(b"plain").unwrap();
            let mut started_ns = 0;
            socket.send(b"ping", &mut || started_ns = wall_ns()).unwrap();
            for expected in [&b"plain"[..], b"ping"] {
                let n = other.recv(&mut bytes).unwrap();
                assert_eq!(&bytes[..n], expected);
            }
            other.send(b"pong").unwrap();
            assert_eq!(socket.receive(&mut bytes).unwrap(), 4);
            let ended_ns = wall_ns();
            if round % 2 == 1 {
                continue;
            }
            let stamps = socket.stamps();
            let [queued_ns, driver_ns, received_ns] =
                [stamps.queued_ns, stamps.driver_ns, stamps.received_ns].map(Option::unwrap);
            let order = [started_ns, queued_ns, driver_ns, received_ns, ended_ns];
            assert!(order.is_sorted(), "{order:?}");
            assert_eq!((stamps.card_sent_ns, stamps.card_received_ns), (None, None));
            let again = socket.stamps();
            assert_eq!((again.queued_ns, again.driver_ns), (None, None), "they were read");
        }
    }
}

//! A datagram socket whose messages the kernel stamps on their way out and in, if asked to.
//!
//! The kernel puts a transmit stamp into the socket's error queue, with the number of its message
//! (`SOF_TIMESTAMPING_OPT_ID`) and without its bytes (`OPT_TSONLY`). A message that isn't stamped
//! costs nothing more (Documentation/networking/timestamping.rst).

use crate::datagram::control::{
    CONTROL_BYTES, Control, SCM_TSTAMP_SCHED, SCM_TSTAMP_SND, SentStamp,
};
use nix::libc;
use nix::sys::socket::sockopt::Timestamping;
use nix::sys::socket::{MsgFlags, TimestampingFlag, recvmsg, setsockopt};
use std::io::{self, IoSliceMut};
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

/// Messages of the error queue that are read at a time: three stamps, and some of lost messages.
const QUEUED_MAX: usize = 16;

/// Stamps of one message and of the answer to it. Those of the kernel are by its `CLOCK_REALTIME`,
/// those of the card by the card's own clock; ns. `None`: there was no such stamp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelStamps {
    /// The message reached the queueing discipline (`SCM_TSTAMP_SCHED`).
    pub queued_ns: Option<u64>,
    /// The driver got it (`SCM_TSTAMP_SND`, software).
    pub driver_ns: Option<u64>,
    /// The card sent it.
    pub card_sent_ns: Option<u64>,
    /// The kernel got the answer from the driver.
    pub received_ns: Option<u64>,
    /// The card got the answer.
    pub card_received_ns: Option<u64>,
}

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
        set(&socket, false)?;
        Ok(StampedSocket { socket, control: Control([0; CONTROL_BYTES]), next: 0 })
    }

    /// Sends a message that the kernel stamps; calls `at` last thing before.
    ///
    /// # Errors
    /// As the socket's.
    pub fn send(&mut self, bytes: &[u8], at: &mut dyn FnMut()) -> io::Result<()> {
        set(&self.socket, true)?;
        at();
        let sent = self.socket.send(bytes);
        self.next = self.next.wrapping_add(u32::from(sent.is_ok()));
        set(&self.socket, false)?;
        sent.map(|_| ())
    }

    /// Receives a message, as the socket does, with its stamps.
    ///
    /// # Errors
    /// As the socket's.
    pub fn receive(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.read(into, MsgFlags::empty())
    }

    fn read(&mut self, into: &mut [u8], flags: MsgFlags) -> io::Result<usize> {
        self.control.clear();
        let (socket, control) = (self.socket.as_raw_fd(), Some(&mut self.control.0[..]));
        Ok(recvmsg::<()>(socket, &mut [IoSliceMut::new(into)], control, flags)?.bytes)
    }

    /// The stamps of the latest stamped message and of what was received last. Call it after the
    /// answer: the driver may stamp later than `send` returns. Makes some system calls.
    pub fn stamps(&mut self) -> KernelStamps {
        let seen = |ns: u64| (ns > 0).then_some(ns);
        let received = self.control.said();
        let mut stamps = KernelStamps {
            received_ns: seen(received.software_ns),
            card_received_ns: seen(received.hardware_ns),
            ..KernelStamps::default()
        };
        let latest = self.next.wrapping_sub(1);
        for _ in 0..QUEUED_MAX {
            let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
            if self.read(&mut [], flags).is_err() {
                break;
            }
            let said = self.control.said();
            let (software_ns, hardware_ns) = (seen(said.software_ns), seen(said.hardware_ns));
            match said.sent.filter(|sent| sent.number == latest) {
                Some(SentStamp { stage: SCM_TSTAMP_SCHED, .. }) => {
                    stamps.queued_ns = software_ns;
                }
                // One message with either stamp, or one each.
                Some(SentStamp { stage: SCM_TSTAMP_SND, .. }) => {
                    stamps.driver_ns = stamps.driver_ns.or(software_ns);
                    stamps.card_sent_ns = stamps.card_sent_ns.or(hardware_ns);
                }
                _ => {}
            }
        }
        stamps
    }
}

impl AsRef<UdpSocket> for StampedSocket {
    fn as_ref(&self) -> &UdpSocket {
        &self.socket
    }
}

/// Receive stamps stay on all the time: the kernel patches its code to switch them.
fn set(socket: &UdpSocket, transmit: bool) -> io::Result<()> {
    let mut flags = libc::SOF_TIMESTAMPING_SOFTWARE
        | libc::SOF_TIMESTAMPING_RAW_HARDWARE
        | libc::SOF_TIMESTAMPING_RX_SOFTWARE
        | libc::SOF_TIMESTAMPING_RX_HARDWARE
        | libc::SOF_TIMESTAMPING_OPT_ID
        | libc::SOF_TIMESTAMPING_OPT_TSONLY
        | libc::SOF_TIMESTAMPING_OPT_TX_SWHW;
    if transmit {
        flags |= libc::SOF_TIMESTAMPING_TX_SCHED
            | libc::SOF_TIMESTAMPING_TX_SOFTWARE
            | libc::SOF_TIMESTAMPING_TX_HARDWARE;
    }
    Ok(setsockopt(socket, Timestamping, &TimestampingFlag::from_bits_retain(flags))?)
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

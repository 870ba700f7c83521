//! The kernel's stamps of what a socket sends and receives (SO_TIMESTAMPING).
//!
//! The kernel puts a transmit stamp into the socket's error queue, with the number of its message
//! (`SOF_TIMESTAMPING_OPT_ID`) and without its bytes (`OPT_TSONLY`). A message that isn't stamped
//! costs nothing more (Documentation/networking/timestamping.rst).

pub(crate) mod segments;

pub use segments::Segments;

use crate::datagram::control::{Control, SCM_TSTAMP_SCHED, SCM_TSTAMP_SND, SentStamp};
use bypass::routes;
use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::sockopt::Timestamping;
use nix::sys::socket::{MsgFlags, TimestampingFlag, recvmsg, setsockopt};
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};

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

impl KernelStamps {
    /// Whether the card stamped, too.
    pub fn are_by_card(&self) -> bool {
        self.card_sent_ns.or(self.card_received_ns).is_some()
    }

    /// The same without those of the answer: they were of something else.
    #[must_use]
    pub fn without_answer(self) -> KernelStamps {
        KernelStamps { received_ns: None, card_received_ns: None, ..self }
    }

    /// Takes over the stamps of an answer, from what came with it.
    pub(crate) fn answered(&mut self, control: &Control) {
        let received = control.said();
        self.received_ns = seen(received.software_ns);
        self.card_received_ns = seen(received.hardware_ns);
    }

    /// Empties the socket's error queue, and takes over the stamps of message `number` in it. Makes
    /// some system calls.
    pub(crate) fn sent(&mut self, socket: &impl AsFd, number: u32) {
        let mut control = Control::none();
        for _ in 0..QUEUED_MAX {
            let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
            if receive(socket, &mut [], &mut control, flags).is_err() {
                break;
            }
            let said = control.said();
            let (software_ns, hardware_ns) = (seen(said.software_ns), seen(said.hardware_ns));
            match said.sent.filter(|sent| sent.number == number) {
                // A retransmitted message is stamped again; the first time counts.
                Some(SentStamp { stage: SCM_TSTAMP_SCHED, .. }) => {
                    self.queued_ns = self.queued_ns.or(software_ns);
                }
                // One message with either stamp, or one each.
                Some(SentStamp { stage: SCM_TSTAMP_SND, .. }) => {
                    self.driver_ns = self.driver_ns.or(software_ns);
                    self.card_sent_ns = self.card_sent_ns.or(hardware_ns);
                }
                _ => {}
            }
        }
    }
}

/// The network interface with a card by which the kernel sends to `peer`; `None` if there is none,
/// and over IPv6.
pub fn interface_to(peer: SocketAddr) -> Option<String> {
    let SocketAddr::V4(peer) = peer else { return None };
    let index = routes::route(*peer.ip()).ok()?.interface;
    routes::all().ok()?.into_iter().find(|one| one.index == index).map(|one| one.name)
}

fn seen(ns: u64) -> Option<u64> {
    (ns > 0).then_some(ns)
}

/// Receives into `into`, with what the kernel says beside it.
///
/// # Errors
/// As the socket's.
pub(crate) fn receive(
    socket: &impl AsFd,
    into: &mut [u8],
    control: &mut Control,
    flags: MsgFlags,
) -> io::Result<usize> {
    control.clear();
    let (socket, room) = (socket.as_fd().as_raw_fd(), Some(&mut control.0[..]));
    Ok(recvmsg::<()>(socket, &mut [IoSliceMut::new(into)], room, flags)?.bytes)
}

/// Asks the kernel to stamp what comes in and to report all stamps, and with `transmit` to stamp
/// what is sent from now on. Receive stamps stay on all the time: the kernel patches its code to
/// switch them.
///
/// # Errors
/// If the kernel rejects that, as a sandbox may.
pub(crate) fn ask(socket: &impl AsFd, transmit: bool) -> io::Result<()> {
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
    let set = |flags| setsockopt(socket, Timestamping, &TimestampingFlag::from_bits_retain(flags));
    // Or a stream's bytes would be counted from the first that the other end has not acknowledged
    // yet, and a stamp of a later write would have another number. Linux 6.2.
    match set(flags | libc::SOF_TIMESTAMPING_OPT_ID_TCP) {
        Err(Errno::EINVAL) => Ok(set(flags)?),
        done => Ok(done?),
    }
}

//! Counts of a replicator: received, sent and dropped.

use crate::register::registrar::RegistrarCounts;
use crate::replicate::frame::Reject;
use crate::subscribers::Subscribers;
use clock::recorder::histogram;
use hdrhistogram::Histogram;

/// Datagrams that were received and not copied, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rejects {
    /// They came from another host than the source.
    pub foreign: u64,
    /// They have no tunnel header, and one was expected.
    pub no_header: u64,
    /// Packets of GRE that carry no datagram to the wanted address, or a harmed one.
    pub gre: u64,
    /// The programs in the kernel left them to its stack: they came in fragments, with options, or
    /// by another interface.
    pub left_to_kernel: u64,
    /// Their copy would be longer than a datagram may be (`DATAGRAM_BYTES_MAX`).
    pub too_long: u64,
}

impl Rejects {
    pub(crate) fn count(&mut self, reject: Reject) {
        match reject {
            Reject::NoHeader => self.no_header += 1,
            Reject::TooLong => self.too_long += 1,
        }
    }
}

/// The counts of a replicator.
#[derive(Clone, Debug)]
pub struct Counts {
    /// Datagrams of the source that were received, those of registration not among them.
    pub received: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// Datagrams that the kernel dropped before they were received, because the receive buffer was
    /// full; `None`: the kernel doesn't say.
    pub receive_dropped: Option<u64>,
    /// The receive buffer in the kernel's own count, bytes; `None`: datagrams need none.
    pub receive_buffer_bytes: Option<usize>,
    /// Frames that the interface dropped on their way out, ours and others; `None`: the kernel
    /// doesn't say, or copies leave by more than one interface.
    pub interface_dropped: Option<u64>,
    /// Datagrams received and not copied.
    pub rejects: Rejects,
    /// Datagrams that there was nobody to send to; the programs in the kernel don't count them.
    pub without_subscribers: u64,
    /// From the receive call's return to the send call's, of each datagram that this process
    /// copied, ns.
    pub copying_ns: Histogram<u64>,
    /// Registration; `None` where nobody could register.
    pub registrar: Option<RegistrarCounts>,
    /// How often the parent had no place.
    pub parent_full: u64,
    /// The subscribers, with what was sent to each.
    pub subscribers: Subscribers,
}

impl Counts {
    pub(crate) fn new(receive_buffer_bytes: usize) -> Counts {
        Counts {
            received: 0,
            received_bytes: 0,
            receive_dropped: None,
            receive_buffer_bytes: Some(receive_buffer_bytes),
            interface_dropped: None,
            rejects: Rejects::default(),
            without_subscribers: 0,
            copying_ns: histogram(),
            registrar: None,
            parent_full: 0,
            subscribers: Subscribers::default(),
        }
    }
}

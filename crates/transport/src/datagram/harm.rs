//! Faults injected into received datagrams: what a network does to them, by count, so that every
//! run is the same.

use crate::datagram::control::Control;
use crate::datagram::received::Datagram;
use plan::faults::DatagramHarm;
use plan::tables::ticks::DATAGRAM_BYTES_MAX;

/// A datagram that comes later, or again.
struct KeptDatagram {
    bytes: Box<[u8]>,
    /// Its length, when it was read, and what the kernel said beside it.
    read: Option<(usize, u64, Control)>,
}

impl KeptDatagram {
    fn new() -> KeptDatagram {
        KeptDatagram { bytes: vec![0; DATAGRAM_BYTES_MAX].into_boxed_slice(), read: None }
    }

    fn keep(&mut self, bytes: &[u8], read_ns: u64, control: &Control) {
        self.bytes[..bytes.len()].copy_from_slice(bytes);
        self.read = Some((bytes.len(), read_ns, control.clone()));
    }

    fn give(&mut self, into: &mut [u8]) -> Option<(Datagram, Control)> {
        let (n, read_ns, control) = self.read.take()?;
        let n = n.min(into.len());
        into[..n].copy_from_slice(&self.bytes[..n]);
        Some((Datagram::Bytes { n, read_ns }, control))
    }
}

/// A receiver's harm, and what it holds back.
pub(crate) struct HarmState {
    harm: DatagramHarm,
    received: u64,
    again: KeptDatagram,
    later: KeptDatagram,
    /// The one that overtakes `later` has come.
    later_is_due: bool,
}

impl HarmState {
    pub fn new(harm: DatagramHarm) -> HarmState {
        HarmState {
            harm,
            received: 0,
            again: KeptDatagram::new(),
            later: KeptDatagram::new(),
            later_is_due: false,
        }
    }

    /// Whether a datagram is there that the kernel does not know of any more.
    pub fn has_more(&self) -> bool {
        self.again.read.is_some() || self.later_is_due
    }

    pub fn receive(
        &mut self,
        into: &mut [u8],
        mut receive: impl FnMut(&mut [u8]) -> (Datagram, Control),
    ) -> (Datagram, Control) {
        if let Some(datagram) = self.again.give(into) {
            return datagram;
        }
        if std::mem::take(&mut self.later_is_due)
            && let Some(datagram) = self.later.give(into)
        {
            return datagram;
        }
        let (received, control) = receive(into);
        let Datagram::Bytes { n, read_ns } = received else { return (received, control) };
        self.received += 1;
        let is_due = |every: u64| every > 0 && self.received.is_multiple_of(every);
        if is_due(self.harm.drop_every) {
            return (Datagram::Empty, control);
        }
        if is_due(self.harm.duplicate_every) {
            self.again.keep(&into[..n], read_ns, &control);
        } else if is_due(self.harm.reorder_every) && self.later.read.is_none() {
            self.later.keep(&into[..n], read_ns, &control);
            return (Datagram::Empty, control);
        }
        self.later_is_due = self.later.read.is_some();
        (received, control)
    }
}

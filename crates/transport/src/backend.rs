//! The backends: ways to wait, read and write.

use crate::stream::below::device::DeviceKind;
use crate::stream::below::shared::SharedDevice;
use crate::streams::{Sockets, Streams};
use crate::{stream, tls};
use clock::Clock;
use plan::backend::{self as rows, Queue, UnknownBackend};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

/// One way to wait, read and write, and how to open a set of its sockets.
#[derive(Clone, Copy)]
pub struct Backend {
    /// Its row in the plans.
    pub row: plan::backend::Backend,
    /// The queues of an interface, where it [has them](rows::has_queues).
    pub(crate) queue: Queue,
    pub(crate) open: fn(Clock, Queue) -> io::Result<Box<dyn Sockets>>,
}

/// A backend on all queues.
const fn row(
    row: plan::backend::Backend,
    open: fn(Clock, Queue) -> io::Result<Box<dyn Sockets>>,
) -> Backend {
    Backend { row, queue: Queue::All, open }
}

/// The backends over the kernel's sockets that plans can name, in their order.
pub const BACKENDS: &[Backend] = &[
    row(rows::SPIN, |clock, _| stream::readiness::spin(clock)),
    row(rows::BLOCK, |clock, _| stream::readiness::block(clock)),
    row(rows::IO_URING, |clock, _| stream::uring::sleep(clock)),
    row(rows::IO_URING_SPIN, |clock, _| stream::uring::spin(clock)),
];

/// The backends below the kernel. Apart from the others, because they have no sockets: their
/// streams dial and listen by themselves.
static BELOW: [Backend; 2] = [
    row(rows::AF_XDP, |clock, queue| {
        stream::below::connections::open(DeviceKind::AfXdp(queue), clock)
    }),
    row(rows::DPDK, |clock, _| stream::below::connections::open(DeviceKind::Dpdk, clock)),
];

/// The backend of that name.
///
/// # Errors
/// If there is none; the error lists all backends.
pub fn backend(name: &str) -> Result<&'static Backend, UnknownBackend> {
    let known = BACKENDS.iter().chain(&BELOW).find(|backend| backend.row.name == name);
    known.ok_or_else(|| UnknownBackend::new(name))
}

impl Backend {
    /// The same on that queue, if it has queues.
    pub fn on(&self, queue: Queue) -> Backend {
        Backend { queue, ..*self }
    }

    /// The kind of its device; `None` over the kernel's sockets.
    pub(crate) fn device(&self) -> Option<DeviceKind> {
        DeviceKind::of(self.row, self.queue)
    }

    /// An empty set of streams of this backend. Stamps are taken on `clock`.
    ///
    /// # Errors
    /// If the kernel lacks what the backend needs.
    pub fn open(&self, clock: Clock) -> io::Result<Box<dyn Streams>> {
        Ok((self.open)(clock, self.queue)?)
    }

    /// As [`Backend::open`], for flows of datagrams.
    ///
    /// # Errors
    /// If the kernel lacks what the backend needs.
    pub fn open_flows(&self, clock: Clock) -> io::Result<Box<dyn Streams>> {
        match self.device() {
            Some(kind) => stream::below::datagrams::open(kind, clock),
            None => self.open(clock),
        }
    }

    /// For a thread that has connections and datagrams: the device of both, not open yet. `None`:
    /// both have sockets of the kernel.
    pub fn shared_device(&self) -> Option<SharedDevice> {
        self.device().map(SharedDevice::new)
    }

    /// As [`Backend::open`], for a thread that also looks elsewhere: at a socket with datagrams, or
    /// at a [`SideSet`]. An event at one of the `bells` ends a sleeping wait. It is reported once,
    /// as [`BELL`](crate::BELL), which can't be read: take all that is there, then wait.
    ///
    /// # Errors
    /// If the kernel lacks what the backend needs.
    pub fn open_beside(
        &self,
        clock: Clock,
        bells: &[BorrowedFd<'_>],
    ) -> io::Result<Box<dyn Streams>> {
        let mut sockets = (self.open)(clock, self.queue)?;
        for bell in bells {
            sockets.wake_by(*bell)?;
        }
        Ok(sockets)
    }

    /// As [`Backend::open`], for a gateway's thread.
    pub(crate) fn open_sockets(
        &self,
        tls: Option<Arc<tls::Acceptor>>,
        clock: Clock,
    ) -> io::Result<Box<dyn Sockets>> {
        let sockets = (self.open)(clock, self.queue)?;
        Ok(match tls {
            None => sockets,
            Some(_) => Box::new(tls::TlsStreams::new(sockets, tls, clock)),
        })
    }
}

/// A set of sockets that a thread has beside its main one. The thread sleeps in the main set alone.
pub struct SideSet {
    /// The sockets. Their wait is to return at once: `until_ns` is 0.
    pub streams: Box<dyn Streams>,
    /// Rings at each event there; for [`Backend::open_beside`].
    pub bell: OwnedFd,
}

impl SideSet {
    /// An empty one. With `spins` its wait reads a few sockets in turn, as backend `spin` does.
    ///
    /// # Errors
    /// If the process or the system is out of descriptors.
    pub fn open(clock: Clock, spins: bool) -> io::Result<SideSet> {
        let (streams, bell) = stream::readiness::with_bell(clock, spins)?;
        Ok(SideSet { streams, bell })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_backend_that_a_plan_can_name_is_implemented() {
        let rows: Vec<rows::Backend> = BACKENDS.iter().map(|backend| backend.row).collect();
        assert_eq!(rows, rows::BACKENDS);
        assert_eq!(BELOW.each_ref().map(|backend| backend.row), rows::BELOW);
        for backend in &BELOW {
            assert!(backend.device().is_some(), "{:?}", backend.row);
        }
    }
}

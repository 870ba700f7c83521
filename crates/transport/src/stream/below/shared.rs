//! A device below the kernel that the connections and the datagrams of a thread share: an interface
//! has one program, and a queue one socket of AF_XDP.
//!
//! See docs/decisions/035-ticks-below-the-kernel.md.

use super::connections;
use super::device::DeviceKind;
use crate::streams::Streams;
use bypass::routes::Interface;
use bypass::{AnyDevice, Part, Protocol, RealDevice, share};
use clock::Clock;
use std::fmt;
use std::io::{self, ErrorKind};
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};

/// A device that connections and datagrams of one thread share. Whichever needs it first opens it,
/// on the interface of its address.
#[derive(Clone)]
pub struct SharedDevice {
    kind: DeviceKind,
    opened: Arc<Mutex<Option<OpenDevice>>>,
}

struct OpenDevice {
    interface: u32,
    address: Ipv4Addr,
    /// The parts of TCP and of UDP; `None`: taken.
    parts: [Option<Part<RealDevice>>; 2],
}

impl fmt::Debug for SharedDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, address) = (self.kind, self.address());
        f.debug_struct("SharedDevice").field("kind", &kind).field("address", &address).finish()
    }
}

impl SharedDevice {
    pub(crate) fn new(kind: DeviceKind) -> SharedDevice {
        SharedDevice { kind, opened: Arc::default() }
    }

    /// An empty set of connections over it. Stamps are taken on `clock`.
    pub fn streams(&self, clock: Clock) -> Box<dyn Streams> {
        Box::new(connections::over(DeviceSource::Shared(self.clone()), clock))
    }

    /// The address for which it was opened; `None`: it is not open.
    pub(crate) fn address(&self) -> Option<Ipv4Addr> {
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        opened.as_ref().map(|opened| opened.address)
    }

    /// The frames of one protocol, on the interface that has `address`.
    ///
    /// # Errors
    /// If there is none, the device can't run there or is on another interface, or its part was
    /// taken: in words that say what to try.
    pub(crate) fn part_at(&self, address: Ipv4Addr, protocol: Protocol) -> io::Result<AnyDevice> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let interface = Interface::with_address(address).map_err(io::Error::other)?;
        let opened = match &mut *opened {
            Some(opened) => opened,
            none => {
                let parts = share(self.kind.open_on(&interface)?).map(Some);
                none.insert(OpenDevice { interface: interface.index, address, parts })
            }
        };
        if opened.interface != interface.index {
            let why = format!(
                "the device is on the interface of {} already, and {address} is of another one: \
                 use one interface for orders and feed",
                opened.address
            );
            return Err(io::Error::new(ErrorKind::AddrNotAvailable, why));
        }
        let [segments, datagrams] = &mut opened.parts;
        let part = match protocol {
            Protocol::Tcp => segments.take(),
            Protocol::Udp => datagrams.take(),
        };
        let taken = "this part of the device is in use; this is a bug in tickpath";
        part.map(AnyDevice::Part).ok_or_else(|| io::Error::new(ErrorKind::AddrInUse, taken))
    }
}

/// From where a stack gets its device.
pub(crate) enum DeviceSource {
    /// One of its own.
    Own(DeviceKind),
    /// A part of one.
    Shared(SharedDevice),
}

impl DeviceSource {
    /// A device for one protocol on the interface that has `address`.
    ///
    /// # Errors
    /// If there is none, or the device can't run there: in words that say what to try.
    pub(crate) fn open_at(&self, address: Ipv4Addr, protocol: Protocol) -> io::Result<AnyDevice> {
        match self {
            DeviceSource::Own(kind) => kind.open_at(address),
            DeviceSource::Shared(device) => device.part_at(address, protocol),
        }
    }
}

//! The devices that a stack may stand on.

use bypass::routes::Interface;
use bypass::{AnyDevice, PortOptions, RealDevice, ZeroCopy};
use plan::backend::{self, Backend, Queue};
use std::io;
use std::net::Ipv4Addr;

/// Not without copies where an ssh session may be, because it could be cut off: on any queue where
/// the default route leaves, unless somebody chose a queue for us.
fn options(queue: Queue) -> PortOptions {
    match queue {
        Queue::All => PortOptions { queue: None, zero_copy: ZeroCopy::UnlessDefaultRoute },
        Queue::One(queue) => PortOptions { queue: Some(queue), zero_copy: ZeroCopy::WhereItCan },
    }
}

/// A kind of device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeviceKind {
    AfXdp(Queue),
    Dpdk,
}

impl DeviceKind {
    /// The kind of a backend's device; `None` over the kernel's sockets.
    pub(crate) fn of(row: Backend, queue: Queue) -> Option<DeviceKind> {
        match row {
            backend::AF_XDP => Some(DeviceKind::AfXdp(queue)),
            backend::DPDK => Some(DeviceKind::Dpdk),
            _ => None,
        }
    }

    /// A device on the interface that has `address`.
    ///
    /// # Errors
    /// If there is none, or the device can't run there: in words that say what to try.
    pub(crate) fn open_at(self, address: Ipv4Addr) -> io::Result<AnyDevice> {
        let interface = Interface::with_address(address).map_err(io::Error::other)?;
        self.open_on(&interface).map(AnyDevice::Whole)
    }

    /// A device on an interface.
    ///
    /// # Errors
    /// If the device can't run there: in words that say what to try.
    pub(crate) fn open_on(self, interface: &Interface) -> io::Result<RealDevice> {
        let opened = match self {
            DeviceKind::AfXdp(queue) => RealDevice::af_xdp(interface, options(queue)),
            DeviceKind::Dpdk => RealDevice::dpdk(interface),
        };
        opened.map_err(io::Error::other)
    }
}

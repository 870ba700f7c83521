//! The devices that a stack may stand on.

use bypass::routes::Interface;
use bypass::{AnyDevice, PortOptions, RealDevice, ZeroCopy};
use plan::backend::{self, Backend};
use std::io;
use std::net::Ipv4Addr;

/// Not without copies where an ssh session may be, because it could be cut off.
const OPTIONS: PortOptions = PortOptions { queue: None, zero_copy: ZeroCopy::UnlessDefaultRoute };

/// A kind of device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeviceKind {
    AfXdp,
    Dpdk,
}

impl DeviceKind {
    /// That of a backend; `None` for those over the kernel's sockets.
    pub(crate) fn of(row: Backend) -> Option<DeviceKind> {
        [(backend::AF_XDP, DeviceKind::AfXdp), (backend::DPDK, DeviceKind::Dpdk)]
            .into_iter()
            .find_map(|(known, kind)| (known == row).then_some(kind))
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
            DeviceKind::AfXdp => RealDevice::af_xdp(interface, OPTIONS),
            DeviceKind::Dpdk => RealDevice::dpdk(interface),
        };
        opened.map_err(io::Error::other)
    }
}

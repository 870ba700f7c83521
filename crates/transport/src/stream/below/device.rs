//! The devices that a stack may stand on.

use bypass::frame::Mac;
use bypass::routes::Interface;
use bypass::{BypassError, Device, Frames, Part, Port, PortOptions, Protocol, ZeroCopy};
use plan::backend::{self, Backend};
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};

/// Not without copies where an ssh session may be, because it could be cut off.
const OPTIONS: PortOptions = PortOptions { queue: None, zero_copy: ZeroCopy::UnlessDefaultRoute };
/// Names the driver of DPDK, with its arguments behind commas.
#[cfg(feature = "dpdk")]
const DRIVER_VARIABLE: &str = "TICKPATH_DPDK_DRIVER";

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
        match self {
            DeviceKind::AfXdp => {
                Port::open(interface, OPTIONS).map(RealDevice::AfXdp).map_err(io::Error::other)
            }
            DeviceKind::Dpdk => dpdk(interface),
        }
    }
}

#[cfg(feature = "dpdk")]
fn dpdk(interface: &Interface) -> io::Result<RealDevice> {
    let driver = std::env::var(DRIVER_VARIABLE);
    let driver = driver.as_deref().unwrap_or(bypass::DRIVER_DEFAULT);
    let port = bypass::DpdkPort::open(interface, driver).map_err(io::Error::other)?;
    Ok(RealDevice::Dpdk(port))
}

#[cfg(not(feature = "dpdk"))]
fn dpdk(_: &Interface) -> io::Result<RealDevice> {
    let why = "this tickpath is built without DPDK: install libdpdk-dev and build it with \
               `make dpdk`, or use af_xdp";
    Err(io::Error::new(io::ErrorKind::Unsupported, why))
}

/// A device of any kind. There is one a process, so its size does not matter.
#[cfg_attr(feature = "dpdk", allow(clippy::large_enum_variant))]
pub enum RealDevice {
    /// AF_XDP.
    AfXdp(Port),
    /// DPDK.
    #[cfg(feature = "dpdk")]
    Dpdk(bypass::DpdkPort),
}

/// A device, or the part of one that carries one protocol.
#[allow(clippy::large_enum_variant)]
pub enum AnyDevice {
    /// All of it.
    Whole(RealDevice),
    /// One protocol.
    Part(Part<RealDevice>),
}

impl AnyDevice {
    /// Where a host is to which the other part sends segments.
    pub(crate) fn spoken_to(&self, address: Ipv4Addr) -> Option<Mac> {
        match self {
            AnyDevice::Whole(_) => None,
            AnyDevice::Part(part) => part.spoken_to(address),
        }
    }
}

/// The same call of whichever it is.
macro_rules! whichever {
    (RealDevice, $device:expr, $one:ident => $call:expr) => {
        match $device {
            RealDevice::AfXdp($one) => $call,
            #[cfg(feature = "dpdk")]
            RealDevice::Dpdk($one) => $call,
        }
    };
    (AnyDevice, $device:expr, $one:ident => $call:expr) => {
        match $device {
            AnyDevice::Whole($one) => $call,
            AnyDevice::Part($one) => $call,
        }
    };
}

/// A device by the calls of those that it may be.
macro_rules! device {
    ($kind:ident) => {
        impl Frames for $kind {
            #[inline]
            fn receive(&mut self, take: impl FnOnce(&[u8])) -> bool {
                whichever!($kind, self, one => one.receive(take))
            }

            #[inline]
            fn send(&mut self, bytes: usize, fill: impl FnOnce(&mut [u8])) -> bool {
                whichever!($kind, self, one => one.send(bytes, fill))
            }

            #[inline]
            fn flush(&mut self) -> io::Result<()> {
                whichever!($kind, self, one => one.flush())
            }
        }

        impl Device for $kind {
            fn interface(&self) -> &Interface {
                whichever!($kind, self, one => one.interface())
            }

            fn claim(
                &mut self,
                protocol: Protocol,
                address: SocketAddrV4,
            ) -> Result<SocketAddrV4, BypassError> {
                whichever!($kind, self, one => one.claim(protocol, address))
            }

            fn join(&mut self, group: SocketAddrV4, own: Ipv4Addr) -> Result<(), BypassError> {
                whichever!($kind, self, one => one.join(group, own))
            }

            fn dropped(&self) -> Option<u64> {
                whichever!($kind, self, one => one.dropped())
            }

            fn next_hop(&mut self, to: Ipv4Addr) -> Result<Mac, BypassError> {
                whichever!($kind, self, one => one.next_hop(to))
            }
        }

        impl fmt::Display for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                whichever!($kind, self, one => one.fmt(f))
            }
        }
    };
}

device!(RealDevice);
device!(AnyDevice);

//! Devices of any kind: AF_XDP, DPDK, and the part of one that carries one protocol.

use crate::device::Device;
use crate::error::BypassError;
use crate::frame::Mac;
use crate::frames::Frames;
use crate::port::{Port, PortOptions};
use crate::protocol::Protocol;
use crate::queue::ReceivedFrame;
use crate::routes::Interface;
use crate::shared::Part;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::BorrowedFd;

/// The variable that names the driver of DPDK, with its arguments after commas.
#[cfg(feature = "dpdk")]
const DRIVER_VARIABLE: &str = "TICKPATH_DPDK_DRIVER";

/// A device of any kind. A process has one, so its size does not matter.
#[cfg_attr(feature = "dpdk", allow(clippy::large_enum_variant))]
pub enum RealDevice {
    /// AF_XDP.
    AfXdp(Port),
    /// DPDK.
    #[cfg(feature = "dpdk")]
    Dpdk(crate::dpdk::DpdkPort),
}

impl RealDevice {
    /// AF_XDP on an interface.
    ///
    /// # Errors
    /// As [`Port::open`].
    pub fn af_xdp(interface: &Interface, options: PortOptions) -> Result<RealDevice, BypassError> {
        Port::open(interface, options).map(RealDevice::AfXdp)
    }

    /// DPDK on an interface, by the driver that `TICKPATH_DPDK_DRIVER` names.
    ///
    /// # Errors
    /// If this process has a port already, or DPDK, the driver, the kernel or our rights do not
    /// allow it.
    #[cfg(feature = "dpdk")]
    pub fn dpdk(interface: &Interface) -> Result<RealDevice, BypassError> {
        let driver = std::env::var(DRIVER_VARIABLE);
        let driver = driver.as_deref().unwrap_or(crate::dpdk::DRIVER_DEFAULT);
        crate::dpdk::DpdkPort::open(interface, driver).map(RealDevice::Dpdk)
    }

    /// DPDK on an interface.
    ///
    /// # Errors
    /// Always: this build lacks it.
    #[cfg(not(feature = "dpdk"))]
    pub fn dpdk(_: &Interface) -> Result<RealDevice, BypassError> {
        Err(BypassError::NoDpdk)
    }

    /// Takes all packets to `address` from now on. Unlike with [`Device::claim`], the caller has
    /// `socket` at that address. Returns whether the socket still gets what the device leaves to
    /// the kernel: fragments, and packets by other interfaces.
    ///
    /// # Errors
    /// If there are too many flows already.
    #[cfg_attr(not(feature = "dpdk"), allow(unused_variables))]
    pub fn take(
        &mut self,
        protocol: Protocol,
        address: SocketAddrV4,
        socket: BorrowedFd<'_>,
    ) -> Result<bool, BypassError> {
        match self {
            RealDevice::AfXdp(port) => port.take(protocol, address).map(|()| true),
            #[cfg(feature = "dpdk")]
            RealDevice::Dpdk(port) => port.take(protocol, address, socket),
        }
    }

    /// Passes the next frame to `take`, which may send it in place. False if there is none now, or
    /// the device is not AF_XDP.
    #[inline]
    pub(crate) fn forward(&mut self, take: impl FnOnce(&mut ReceivedFrame<'_>)) -> bool {
        match self {
            RealDevice::AfXdp(port) => port.forward(take),
            #[cfg(feature = "dpdk")]
            RealDevice::Dpdk(_) => false,
        }
    }
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
    /// The hardware address of a host to which the other part sends segments, if it is known.
    pub fn spoken_to(&self, address: Ipv4Addr) -> Option<Mac> {
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

/// Implements a device by the same call of the one that it is.
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

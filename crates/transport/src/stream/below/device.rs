//! The devices that a stack may stand on.

use bypass::frame::Mac;
use bypass::routes::Interface;
use bypass::{BypassError, Device, Frames, Port, PortOptions, Protocol};
use plan::backend::{self, Backend};
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};

/// Copies, because zero-copy on the queue that carries an ssh session can cut it off.
const OPTIONS: PortOptions = PortOptions { queue: None, zero_copy: false };
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
        match self {
            DeviceKind::AfXdp => {
                Port::open(&interface, OPTIONS).map(AnyDevice::AfXdp).map_err(io::Error::other)
            }
            DeviceKind::Dpdk => dpdk(&interface),
        }
    }
}

#[cfg(feature = "dpdk")]
fn dpdk(interface: &Interface) -> io::Result<AnyDevice> {
    let driver = std::env::var(DRIVER_VARIABLE);
    let driver = driver.as_deref().unwrap_or(bypass::DRIVER_DEFAULT);
    let port = bypass::DpdkPort::open(interface, driver).map_err(io::Error::other)?;
    Ok(AnyDevice::Dpdk(port))
}

#[cfg(not(feature = "dpdk"))]
fn dpdk(_: &Interface) -> io::Result<AnyDevice> {
    let why = "this tickpath is built without DPDK: install libdpdk-dev and build it with \
               `make dpdk`, or use af_xdp";
    Err(io::Error::new(io::ErrorKind::Unsupported, why))
}

/// A device of any kind. There is one a process, so its size does not matter.
#[cfg_attr(feature = "dpdk", allow(clippy::large_enum_variant))]
pub enum AnyDevice {
    /// AF_XDP.
    AfXdp(Port),
    /// DPDK.
    #[cfg(feature = "dpdk")]
    Dpdk(bypass::DpdkPort),
}

/// The same call of whichever it is.
macro_rules! whichever {
    ($device:expr, $one:ident => $call:expr) => {
        match $device {
            AnyDevice::AfXdp($one) => $call,
            #[cfg(feature = "dpdk")]
            AnyDevice::Dpdk($one) => $call,
        }
    };
}

impl Frames for AnyDevice {
    #[inline]
    fn receive(&mut self, take: impl FnOnce(&[u8])) -> bool {
        whichever!(self, one => one.receive(take))
    }

    #[inline]
    fn send(&mut self, bytes: usize, fill: impl FnOnce(&mut [u8])) -> bool {
        whichever!(self, one => one.send(bytes, fill))
    }

    #[inline]
    fn flush(&mut self) -> io::Result<()> {
        whichever!(self, one => one.flush())
    }
}

impl Device for AnyDevice {
    fn interface(&self) -> &Interface {
        whichever!(self, one => one.interface())
    }

    fn claim(
        &mut self,
        protocol: Protocol,
        address: SocketAddrV4,
    ) -> Result<SocketAddrV4, BypassError> {
        whichever!(self, one => one.claim(protocol, address))
    }

    fn next_hop(&mut self, to: Ipv4Addr) -> Result<Mac, BypassError> {
        whichever!(self, one => one.next_hop(to))
    }
}

impl fmt::Display for AnyDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        whichever!(self, one => one.fmt(f))
    }
}

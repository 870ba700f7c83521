//! Datagrams that leave below the kernel.

use super::shared::SharedDevice;
use super::v4;
use bypass::{AnyDevice, Datagrams, Protocol};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;

/// Sends over a device that connections share, once those have opened it.
pub(crate) struct BelowSender {
    device: SharedDevice,
    /// With the local port.
    opened: Option<(Datagrams<AnyDevice>, SocketAddr)>,
}

impl BelowSender {
    pub(crate) fn new(device: SharedDevice) -> BelowSender {
        BelowSender { device, opened: None }
    }

    /// From where it sends.
    ///
    /// # Errors
    /// If the device is not open yet.
    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.opened.as_ref().map(|(_, address)| *address).ok_or(ErrorKind::NotConnected.into())
    }

    /// Makes ready to send to an address: a group, or a host with which a connection of the same
    /// device speaks. Asks nobody, so that the thread does not wait for ARP.
    ///
    /// # Errors
    /// If it is neither, or the device is not open.
    pub(crate) fn reach(&mut self, to: SocketAddr) -> io::Result<()> {
        let to = v4(to)?;
        let (datagrams, _) = self.open()?;
        if to.ip().is_multicast() {
            return datagrams.resolve(*to.ip()).map_err(io::Error::other);
        }
        match datagrams.frames().spoken_to(*to.ip()) {
            Some(mac) if datagrams.learn(*to.ip(), mac) => Ok(()),
            _ => Err(ErrorKind::HostUnreachable.into()),
        }
    }

    #[cold]
    fn open(&mut self) -> io::Result<&mut (Datagrams<AnyDevice>, SocketAddr)> {
        match &mut self.opened {
            Some(opened) => Ok(opened),
            none => {
                let own = self.device.address().ok_or(ErrorKind::NotConnected)?;
                let device = self.device.part_at(own, Protocol::Udp)?;
                let mut datagrams = Datagrams::on_port(device, own);
                let bound = datagrams.bind(0).map_err(io::Error::other)?;
                Ok(none.insert((datagrams, bound.into())))
            }
        }
    }

    /// Sends one datagram to a group, or to a host that was reached.
    ///
    /// # Errors
    /// `WouldBlock` if there is no room for it now; or if it can't be sent.
    #[inline]
    pub(crate) fn send(&mut self, to: SocketAddr, bytes: &[u8]) -> io::Result<()> {
        if self.opened.is_none() {
            // A group's first datagram: nobody named the group before.
            self.reach(to)?;
        }
        match (to, &mut self.opened) {
            (SocketAddr::V4(to), Some((datagrams, from))) => datagrams.send(from.port(), bytes, to),
            _ => Err(ErrorKind::NotConnected.into()),
        }
    }
}

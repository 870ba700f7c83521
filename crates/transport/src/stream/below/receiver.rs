//! Datagrams of one address or group below the kernel.

use super::shared::SharedDevice;
use super::v4;
use crate::datagram::received::Datagram;
use bypass::{AnyDevice, Datagrams, Device, Protocol};
use clock::Clock;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

/// Receives what is sent to one address, over a device that connections share.
pub(crate) struct BelowReceiver {
    datagrams: Datagrams<AnyDevice>,
    address: SocketAddrV4,
    clock: Clock,
    /// Frames that were dropped before it was bound, as with a socket.
    dropped_before: u64,
}

impl BelowReceiver {
    /// Receives what is sent to `address`, or, with a group and the address of an interface, to the
    /// group at that port.
    pub(crate) fn bind(
        device: &SharedDevice,
        address: SocketAddr,
        multicast: Option<(Ipv4Addr, Ipv4Addr)>,
        clock: Clock,
    ) -> io::Result<BelowReceiver> {
        let address = v4(address)?;
        // The interface of the connections is the default.
        let own = Some(multicast.map_or(*address.ip(), |(_, interface)| interface))
            .filter(|own| !own.is_unspecified())
            .or(device.address());
        let why = "af_xdp and dpdk need the address of one interface for the feed";
        let own = own.ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, why))?;
        let mut datagrams = Datagrams::on_port(device.part_at(own, Protocol::Udp)?, own);
        let address = match multicast {
            None => datagrams.bind(address.port()).map_err(io::Error::other)?,
            Some((group, _)) => {
                let group = SocketAddrV4::new(group, address.port());
                datagrams.join(group).map_err(io::Error::other)?;
                group
            }
        };
        let why = "this kernel does not count the frames that AF_XDP drops: take another backend";
        let dropped_before = datagrams.frames().dropped();
        let dropped_before =
            dropped_before.ok_or_else(|| io::Error::new(ErrorKind::Unsupported, why))?;
        Ok(BelowReceiver { datagrams, address, clock, dropped_before })
    }

    #[inline]
    pub(crate) fn receive(&mut self, into: &mut [u8]) -> Datagram {
        match self.datagrams.receive(into) {
            Some(arrival) => {
                let read_ns = self.clock.now_ns();
                debug_assert_eq!(arrival.to_port, self.address.port());
                Datagram::Bytes { n: arrival.length, read_ns }
            }
            None => Datagram::Empty,
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address.into()
    }

    /// The device in words.
    pub(crate) fn stack(&self) -> String {
        self.datagrams.frames().to_string()
    }

    /// Frames dropped since it was bound, and datagrams with a wrong checksum.
    pub(crate) fn dropped(&self) -> u64 {
        let dropped = self.datagrams.frames().dropped().unwrap_or(u64::MAX);
        dropped.saturating_sub(self.dropped_before)
    }
}

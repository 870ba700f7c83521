//! UDP over frames: one address with its claimed ports.

use crate::any::RealDevice;
use crate::broadcast::{Content, ReceiverHeaders};
use crate::device::Device;
use crate::error::BypassError;
use crate::frame::{self, Checksums, Header, Mac, UDP_HEADERS_BYTES};
use crate::frames::Frames;
use crate::neighbours::Neighbours;
use crate::protocol::Protocol;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};

/// Datagrams that a stack did not pass on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatagramCounts {
    /// Frames that carried no datagram for this address, or a harmed one.
    pub rejected: u64,
    /// Datagrams to an address whose hardware address is unknown.
    pub unknown: u64,
    /// Datagrams for which the interface had no room.
    pub no_room: u64,
}

/// A datagram that was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Bytes that were copied.
    pub length: usize,
    /// The sender.
    pub from: SocketAddrV4,
    /// The port of this end to which it came.
    pub to_port: u16,
}

/// UDP of one address. Never blocks, and allocates nothing after it was made.
pub struct Datagrams<F> {
    frames: F,
    mac: Mac,
    address: Ipv4Addr,
    /// A group that was joined.
    group: Option<Ipv4Addr>,
    mtu: usize,
    checksums: Checksums,
    neighbours: Neighbours,
    counts: DatagramCounts,
}

impl<D: Device> Datagrams<D> {
    /// Over a device, with an address of its interface.
    pub fn on_port(device: D, address: Ipv4Addr) -> Datagrams<D> {
        let interface = device.interface();
        let (mac, mtu) = (interface.mac, interface.mtu as usize);
        let checksums = device.checksums();
        Datagrams::over(device, mac, (address, mtu), checksums)
    }

    /// Takes a port from the kernel, or with 0 any that is free.
    ///
    /// # Errors
    /// As [`Device::claim`].
    pub fn bind(&mut self, port: u16) -> Result<SocketAddrV4, BypassError> {
        self.frames.claim(Protocol::Udp, SocketAddrV4::new(self.address, port))
    }

    /// Receives what is sent to a group at a port from now on; one group.
    ///
    /// # Errors
    /// As [`Device::join`].
    pub fn join(&mut self, group: SocketAddrV4) -> Result<(), BypassError> {
        self.frames.join(group, self.address)?;
        self.group = Some(*group.ip());
        Ok(())
    }

    /// Looks up the way to a peer, so that something can be sent to it before it has sent anything.
    /// Off the path.
    ///
    /// # Errors
    /// As [`Device::next_hop`]. A group needs no look-up.
    pub fn resolve(&mut self, peer: Ipv4Addr) -> Result<(), BypassError> {
        let mac = match peer.is_multicast() {
            true => Mac::of_group(peer),
            false => self.frames.next_hop(peer)?,
        };
        self.neighbours.learn(peer, mac);
        Ok(())
    }
}

impl<F: Frames> Datagrams<F> {
    /// Over any frames, with an address and an MTU in bytes.
    pub fn over(
        frames: F,
        mac: Mac,
        (address, mtu): (Ipv4Addr, usize),
        checksums: Checksums,
    ) -> Datagrams<F> {
        let (neighbours, counts) = (Neighbours::new(), DatagramCounts::default());
        Datagrams { frames, mac, address, group: None, mtu, checksums, neighbours, counts }
    }

    /// Bytes of the longest datagram: there are no fragments.
    pub fn bytes_max(&self) -> usize {
        self.mtu + frame::ETHERNET_BYTES - UDP_HEADERS_BYTES
    }

    /// Counts so far.
    pub fn counts(&self) -> DatagramCounts {
        self.counts
    }

    /// The frames below.
    pub fn frames(&self) -> &F {
        &self.frames
    }

    /// Notes where a peer is. False past [`NEIGHBOURS_MAX`](crate::NEIGHBOURS_MAX).
    pub fn learn(&mut self, peer: Ipv4Addr, mac: Mac) -> bool {
        self.neighbours.learn(peer, mac)
    }

    /// The next datagram, if one is there. The end of one that is longer than `into` is lost, as
    /// with `recvfrom`.
    #[inline]
    pub fn receive(&mut self, into: &mut [u8]) -> Option<Arrival> {
        loop {
            let (own, sums) = ((self.address, self.group), self.checksums);
            let mut received = None;
            let is_there = self.frames.receive(|bytes| received = read(bytes, own, sums, into));
            if !is_there {
                return None;
            }
            let Some((arrival, mac)) = received else {
                self.counts.rejected += 1;
                continue;
            };
            self.neighbours.learn(*arrival.from.ip(), mac);
            return Some(arrival);
        }
    }

    /// Sends a datagram from a port of this end at once.
    ///
    /// # Errors
    /// `InvalidInput` if it is longer than [`Datagrams::bytes_max`]; `HostUnreachable` if the
    /// peer's hardware address is unknown; `WouldBlock` if there is no room; or if the interface is
    /// gone.
    #[inline]
    pub fn send(&mut self, from: u16, content: &[u8], peer: SocketAddrV4) -> io::Result<()> {
        if content.len() > self.bytes_max() {
            return Err(too_long(content.len(), self.bytes_max()));
        }
        let Some(to) = self.neighbours.find(*peer.ip()) else {
            self.counts.unknown += 1;
            return Err(io::ErrorKind::HostUnreachable.into());
        };
        let source = SocketAddrV4::new(self.address, from);
        let header = Header { from: self.mac, to, source, destination: peer };
        let bytes = UDP_HEADERS_BYTES + content.len();
        if !self.frames.send(bytes, |bytes| frame::write_datagram(bytes, &header, content)) {
            self.counts.no_room += 1;
            // Sending those that wait may make room.
            self.frames.flush()?;
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.frames.flush()
    }

    /// Queues a copy of a datagram, which leaves with [`Datagrams::flush`] at the latest.
    ///
    /// # Errors
    /// `InvalidInput` if it is longer than [`Datagrams::bytes_max`]; `WouldBlock` if there is no
    /// room; or if the interface is gone.
    #[inline]
    pub fn send_copy(&mut self, to: &ReceiverHeaders, content: Content<'_>) -> io::Result<()> {
        let bytes = content.frame_bytes();
        if bytes > self.bytes_max() + UDP_HEADERS_BYTES {
            return Err(too_long(bytes - UDP_HEADERS_BYTES, self.bytes_max()));
        }
        if self.frames.send(bytes, |frame| to.write(frame, content)) {
            return Ok(());
        }
        // Sending those that wait may make room.
        self.frames.flush()?;
        if self.frames.send(bytes, |frame| to.write(frame, content)) {
            return Ok(());
        }
        self.counts.no_room += 1;
        Err(io::ErrorKind::WouldBlock.into())
    }

    /// Hands queued copies to the interface.
    ///
    /// # Errors
    /// If the interface is gone or down.
    #[inline]
    pub fn flush(&mut self) -> io::Result<()> {
        self.frames.flush()
    }
}

impl Datagrams<RealDevice> {
    /// The address, and which checksums are right.
    pub(crate) fn own(&self) -> (Ipv4Addr, Checksums) {
        (self.address, self.checksums)
    }

    pub(crate) fn device(&mut self) -> &mut RealDevice {
        &mut self.frames
    }

    pub(crate) fn reject(&mut self) {
        self.counts.rejected += 1;
    }

    pub(crate) fn add_no_room(&mut self, no_room: u64) {
        self.counts.no_room += no_room;
    }
}

#[cold]
fn too_long(bytes: usize, max: usize) -> io::Error {
    let why = format!(
        "a datagram of {bytes} bytes does not fit into one frame of this interface, and stacks \
         below the kernel send no fragments: send at most {max} bytes"
    );
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

/// Reads a datagram for an address or a group into `into`, and where its sender is.
#[inline]
fn read(
    bytes: &[u8],
    (address, group): (Ipv4Addr, Option<Ipv4Addr>),
    sums: Checksums,
    into: &mut [u8],
) -> Option<(Arrival, Mac)> {
    let packet = frame::packet(bytes).ok()?;
    let (source, to_port, content) = frame::datagram(packet, sums).ok()?;
    if packet.destination != address && Some(packet.destination) != group {
        return None;
    }
    let length = content.len().min(into.len());
    into[..length].copy_from_slice(&content[..length]);
    let from = SocketAddrV4::new(packet.source, source);
    Some((Arrival { length, from, to_port }, packet.from))
}

//! Between frames and `smoltcp`: Ethernet headers, checks of what arrives, and where packets go.
//!
//! `smoltcp` gets IPv4 packets (`Medium::Ip`): ARP is the kernel's, which has all packets that are
//! not ours.

use super::TcpCounts;
use crate::frame::{
    self, Checksums, ETHERNET_BYTES, Mac, check_segment, opening, packet, write_ethernet,
};
use crate::frames::Frames;
use crate::neighbours::Neighbours;
use smoltcp::phy::{self, Checksum, Device, DeviceCapabilities, Medium};
use smoltcp::time::Instant;
use std::net::{Ipv4Addr, SocketAddrV4};

/// The device that `smoltcp` sees.
pub(super) struct Wire<F> {
    pub(super) frames: F,
    pub(super) neighbours: Neighbours,
    pub(super) counts: TcpCounts,
    mac: Mac,
    mtu: usize,
    checksums: Checksums,
    /// The packet that was received, and its length; 0: none.
    inbox: Vec<u8>,
    staged: usize,
    /// A frame that is being written.
    outbox: Vec<u8>,
}

/// A packet that waits in the inbox.
pub(super) enum InboxPacket {
    /// The first of a connection, from the first end to the second.
    Opening(SocketAddrV4, SocketAddrV4),
    Other,
}

impl<F: Frames> Wire<F> {
    pub(super) fn new(frames: F, mac: Mac, mtu: usize, checksums: Checksums) -> Wire<F> {
        Wire {
            frames,
            neighbours: Neighbours::new(),
            counts: TcpCounts::default(),
            mac,
            mtu,
            checksums,
            // Longer than the MTU: a device may get as one packet what the kernel has joined.
            inbox: vec![0; frame::PACKET_BYTES_MAX],
            staged: 0,
            outbox: vec![0; mtu + ETHERNET_BYTES],
        }
    }

    /// Takes the next segment into the inbox; `None` if none is there.
    pub(super) fn stage(&mut self) -> Option<InboxPacket> {
        loop {
            let Wire { frames, inbox, checksums, .. } = self;
            let mut staged = None;
            if !frames.receive(|bytes| staged = take(bytes, *checksums, inbox)) {
                return None;
            }
            let Some((length, from, source, what)) = staged else {
                self.counts.rejected += 1;
                continue;
            };
            self.neighbours.learn(source, from);
            self.staged = length;
            return Some(what);
        }
    }

    /// Forgets what is in the inbox.
    pub(super) fn unstage(&mut self) {
        self.staged = 0;
    }
}

/// Copies the segment of a frame into `inbox`.
fn take(
    bytes: &[u8],
    checksums: Checksums,
    inbox: &mut [u8],
) -> Option<(usize, Mac, Ipv4Addr, InboxPacket)> {
    let packet = packet(bytes).ok()?;
    check_segment(packet, checksums).ok()?;
    inbox.get_mut(..packet.bytes.len())?.copy_from_slice(packet.bytes);
    let what =
        opening(packet).map_or(InboxPacket::Other, |(from, to)| InboxPacket::Opening(from, to));
    Some((packet.bytes.len(), packet.from, packet.source, what))
}

impl<F: Frames> Device for Wire<F> {
    type RxToken<'a>
        = ReceiveToken<'a>
    where
        Self: 'a;
    type TxToken<'a>
        = TransmitToken<'a, F>
    where
        Self: 'a;

    fn receive(&mut self, _: Instant) -> Option<(ReceiveToken<'_>, TransmitToken<'_, F>)> {
        let length = std::mem::take(&mut self.staged);
        if length == 0 {
            return None;
        }
        let Wire { frames, neighbours, counts, inbox, outbox, mac, .. } = self;
        let sent = TransmitToken { frames, neighbours, counts, outbox, mac: *mac };
        Some((ReceiveToken(&inbox[..length]), sent))
    }

    fn transmit(&mut self, _: Instant) -> Option<TransmitToken<'_, F>> {
        let Wire { frames, neighbours, counts, outbox, mac, .. } = self;
        Some(TransmitToken { frames, neighbours, counts, outbox, mac: *mac })
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = self.mtu;
        // `stage` has checked what came.
        capabilities.checksum.ipv4 = Checksum::Tx;
        capabilities.checksum.tcp = Checksum::Tx;
        capabilities
    }
}

/// A received packet.
pub(super) struct ReceiveToken<'a>(&'a [u8]);

impl phy::RxToken for ReceiveToken<'_> {
    fn consume<R, T: FnOnce(&[u8]) -> R>(self, f: T) -> R {
        f(self.0)
    }
}

/// Room for a packet. Where there is none after all, the packet is lost as on any wire, and TCP
/// sends it again.
pub(super) struct TransmitToken<'a, F> {
    frames: &'a mut F,
    neighbours: &'a Neighbours,
    counts: &'a mut TcpCounts,
    outbox: &'a mut [u8],
    mac: Mac,
}

impl<F: Frames> phy::TxToken for TransmitToken<'_, F> {
    fn consume<R, T: FnOnce(&mut [u8]) -> R>(self, length: usize, f: T) -> R {
        let frame = &mut self.outbox[..ETHERNET_BYTES + length];
        let result = f(&mut frame[ETHERNET_BYTES..]);
        let destination = frame[ETHERNET_BYTES + 16..].first_chunk::<4>();
        let to = destination.and_then(|octets| self.neighbours.find(Ipv4Addr::from(*octets)));
        let Some(to) = to else {
            self.counts.unknown += 1;
            return result;
        };
        write_ethernet(frame, self.mac, to);
        if !self.frames.send(frame.len(), |bytes| bytes.copy_from_slice(frame)) {
            self.counts.no_room += 1;
        }
        result
    }
}

/// Bytes of the shortest MTU that IPv4 allows (RFC 791).
pub(super) const MTU_MIN: usize = 68;
/// Bytes of the longest.
pub(super) const MTU_MAX: usize = frame::PACKET_BYTES_MAX;

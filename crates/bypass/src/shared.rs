//! One device under two stacks of a process: each gets the frames of its protocol.

use crate::device::Device;
use crate::error::BypassError;
use crate::frame::{ETHERNET_BYTES, Mac};
use crate::frames::Frames;
use crate::neighbours::Neighbours;
use crate::protocol::Protocol;
use crate::routes::Interface;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Limit on the frames of one protocol that wait while only the other stack receives. More are
/// dropped and counted.
pub const WAITING_MAX: usize = 2048;
/// Offset of the protocol's number in a frame with IPv4.
const PROTOCOL: usize = ETHERNET_BYTES + 9;
/// Offset of the receiver's address.
const DESTINATION: usize = ETHERNET_BYTES + 16;

/// A device for two stacks: the part of TCP and the part of UDP. One thread uses both.
pub fn share<D: Device>(device: D) -> [Part<D>; 2] {
    let interface = device.interface().clone();
    let frame_bytes = ETHERNET_BYTES + interface.mtu as usize;
    let shared = Arc::new(Mutex::new(DeviceState {
        device,
        spoken_to: Neighbours::new(),
        segments: WaitingFrames::new(frame_bytes),
        datagrams: WaitingFrames::new(frame_bytes),
    }));
    [Protocol::Tcp, Protocol::Udp].map(|protocol| Part {
        protocol,
        interface: interface.clone(),
        shared: shared.clone(),
    })
}

/// The frames of one protocol of a device.
pub struct Part<D> {
    protocol: Protocol,
    interface: Interface,
    /// The lock is never waited for on one thread.
    shared: Arc<Mutex<DeviceState<D>>>,
}

struct DeviceState<D> {
    device: D,
    /// Receivers of TCP segments. A stack sends those only to where a valid segment came from.
    spoken_to: Neighbours,
    segments: WaitingFrames,
    datagrams: WaitingFrames,
}

impl<D> Part<D> {
    fn lock(&self) -> MutexGuard<'_, DeviceState<D>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where a host is to which TCP segments were sent, if there is one.
    pub fn spoken_to(&self, address: Ipv4Addr) -> Option<Mac> {
        self.lock().spoken_to.find(address)
    }
}

impl<D: Frames> Frames for Part<D> {
    #[inline]
    fn receive(&mut self, take: impl FnOnce(&[u8])) -> bool {
        let number = self.protocol.number();
        let mut shared = self.lock();
        let DeviceState { device, segments, datagrams, .. } = &mut *shared;
        let (own, others) = match self.protocol {
            Protocol::Tcp => (segments, datagrams),
            Protocol::Udp => (datagrams, segments),
        };
        if let Some(frame) = own.pop() {
            take(frame);
            return true;
        }
        let mut take = Some(take);
        while take.is_some() {
            let is_there = device.receive(|frame| match frame.get(PROTOCOL) {
                Some(its) if *its != number => others.push(frame),
                _ => take.take().into_iter().for_each(|take| take(frame)),
            });
            if !is_there {
                return false;
            }
        }
        true
    }

    #[inline]
    fn send(&mut self, bytes: usize, fill: impl FnOnce(&mut [u8])) -> bool {
        let is_segment = self.protocol == Protocol::Tcp;
        let mut shared = self.lock();
        let DeviceState { device, spoken_to, .. } = &mut *shared;
        device.send(bytes, |frame| {
            fill(frame);
            if is_segment && let Some((address, mac)) = receiver(frame) {
                spoken_to.learn(address, mac);
            }
        })
    }

    #[inline]
    fn flush(&mut self) -> io::Result<()> {
        self.lock().device.flush()
    }
}

/// Where a frame with IPv4 goes.
#[inline]
fn receiver(frame: &[u8]) -> Option<(Ipv4Addr, Mac)> {
    let mac = frame.first_chunk::<6>()?;
    let address = frame.get(DESTINATION..)?.first_chunk::<4>()?;
    Some((Ipv4Addr::from(*address), Mac(*mac)))
}

impl<D: Device> Device for Part<D> {
    fn interface(&self) -> &Interface {
        &self.interface
    }

    fn claim(
        &mut self,
        protocol: Protocol,
        address: SocketAddrV4,
    ) -> Result<SocketAddrV4, BypassError> {
        self.lock().device.claim(protocol, address)
    }

    fn join(&mut self, group: SocketAddrV4, own: Ipv4Addr) -> Result<(), BypassError> {
        self.lock().device.join(group, own)
    }

    /// Also those that waited too long for the other stack to receive.
    fn dropped(&self) -> Option<u64> {
        let shared = self.lock();
        let waited = shared.segments.dropped + shared.datagrams.dropped;
        Some(shared.device.dropped()? + waited)
    }

    fn next_hop(&mut self, to: Ipv4Addr) -> Result<Mac, BypassError> {
        let mut shared = self.lock();
        match shared.spoken_to.find(to) {
            Some(mac) => Ok(mac),
            None => shared.device.next_hop(to),
        }
    }
}

impl<D: fmt::Display> fmt::Display for Part<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lock().device.fmt(f)
    }
}

/// Frames in the order in which they arrived.
struct WaitingFrames {
    bytes: Box<[u8]>,
    lengths: Box<[u16]>,
    first: usize,
    count: usize,
    dropped: u64,
}

impl WaitingFrames {
    /// For frames of at most `frame_bytes`.
    fn new(frame_bytes: usize) -> WaitingFrames {
        WaitingFrames {
            bytes: vec![0; WAITING_MAX * frame_bytes].into(),
            lengths: vec![0; WAITING_MAX].into(),
            first: 0,
            count: 0,
            dropped: 0,
        }
    }

    fn frame_bytes(&self) -> usize {
        self.bytes.len() / WAITING_MAX
    }

    fn push(&mut self, frame: &[u8]) {
        let room = self.frame_bytes();
        if self.count == WAITING_MAX || frame.len() > room {
            self.dropped += 1;
            return;
        }
        let slot = (self.first + self.count) % WAITING_MAX;
        self.bytes[slot * room..][..frame.len()].copy_from_slice(frame);
        self.lengths[slot] = frame.len() as u16;
        self.count += 1;
    }

    #[inline]
    fn pop(&mut self) -> Option<&[u8]> {
        if self.count == 0 {
            return None;
        }
        let slot = self.first;
        (self.first, self.count) = ((slot + 1) % WAITING_MAX, self.count - 1);
        let start = slot * self.frame_bytes();
        Some(&self.bytes[start..start + usize::from(self.lengths[slot])])
    }
}

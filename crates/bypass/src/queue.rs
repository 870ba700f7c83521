//! One queue of an interface: an AF_XDP socket with its shared memory and four rings, by crate
//! `xdp`. Nothing outside of this file sees a packet of that memory longer than a call.

use crate::busy_poll::BusyPoll;
use crate::routes::Interface;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use xdp::nic::NicIndex;
use xdp::slab::{HeapSlab, Slab};
use xdp::socket::{SocketError, XdpSocket, XdpSocketBuilder};
use xdp::umem::{FrameSize, UmemCfgBuilder};
use xdp::{RingConfigBuilder, Umem, WakableRings};

/// Bytes of the longest frame: a page less the headroom that XDP keeps for programs.
pub const FRAME_BYTES_MAX: usize = 4096 - 256;
/// Frames of a queue's shared memory: 16 MiB with those that are received.
const FRAMES: u32 = 4096;
/// Slots of each ring; half of the frames are for receiving, the others for sending.
const RING_SLOTS: u32 = FRAMES / 2;
/// Frames that are taken from or given to a ring at a time.
const BATCH: usize = 64;
/// Calls to the kernel in a row to send one batch: in copy mode a call sends some tens of frames.
const WAKE_UPS_MAX: usize = 16;

/// How frames come into shared memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyMode {
    /// The card writes and reads shared memory.
    ZeroCopy,
    /// The kernel copies frames.
    Copy {
        /// Why not without; `None`: it was not asked for.
        because: Option<String>,
    },
}

impl fmt::Display for CopyMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CopyMode::ZeroCopy => f.write_str("zero-copy"),
            CopyMode::Copy { because: None } => f.write_str("copy mode"),
            CopyMode::Copy { because: Some(why) } => write!(f, "copy mode (zero-copy: {why})"),
        }
    }
}

/// A step that failed, and the system's reason.
pub(crate) struct Failure(pub(crate) &'static str, pub(crate) io::Error);

/// An open queue.
pub(crate) struct Queue {
    // Dropped from the top: rings and socket before the memory that they name.
    rings: WakableRings,
    socket: XdpSocket,
    /// Received frames that nobody took yet.
    inbound: HeapSlab,
    /// Written frames that are in no ring yet.
    outbound: HeapSlab,
    /// Frames that the fill ring is owed.
    owed: usize,
    /// The kernel was not yet made to send all that is in the ring.
    unsent: bool,
    copying: CopyMode,
    busy_poll: BusyPoll,
    memory: Umem,
}

// SAFETY: rings, socket and memory belong to no thread. The pointers in packets name the queue's
// own memory, which moves with it.
unsafe impl Send for Queue {}

impl Queue {
    /// Opens queue `number` of an interface. If it does not go without copies, it is opened with
    /// them, and says why.
    pub(crate) fn open(
        interface: &Interface,
        number: u32,
        wanted: &CopyMode,
    ) -> Result<Queue, Failure> {
        match Queue::bind(interface, number, wanted.clone()) {
            Err(Failure(_, why)) if *wanted == CopyMode::ZeroCopy => {
                Queue::bind(interface, number, CopyMode::Copy { because: Some(why.to_string()) })
            }
            opened => opened,
        }
    }

    fn bind(interface: &Interface, number: u32, copying: CopyMode) -> Result<Queue, Failure> {
        let invalid = |_| Failure("lay out shared memory", io::ErrorKind::InvalidInput.into());
        let layout = UmemCfgBuilder {
            frame_size: FrameSize::FourK,
            frame_count: FRAMES,
            ..UmemCfgBuilder::default()
        };
        let mut memory = Umem::map(layout.build().map_err(invalid)?)
            .map_err(|why| Failure("map shared memory", why))?;
        let slots = RingConfigBuilder {
            rx_count: RING_SLOTS,
            tx_count: RING_SLOTS,
            fill_count: RING_SLOTS,
            completion_count: RING_SLOTS,
        };
        let mut socket = XdpSocketBuilder::new().map_err(failure)?;
        let slots = slots.build().map_err(invalid)?;
        let (mut rings, mut flags) = socket.build_wakable_rings(&memory, slots).map_err(failure)?;
        match copying {
            CopyMode::ZeroCopy => flags.force_zerocopy(),
            CopyMode::Copy { .. } => flags.force_copy(),
        }
        // SAFETY: the memory lives as long as the ring, in `Queue`.
        unsafe { rings.fill_ring.enqueue(&mut memory, RING_SLOTS as usize, false) }
            .map_err(|why| Failure("fill a ring", why))?;
        let nic = NicIndex::new(interface.index);
        let socket = socket.bind(nic, number, flags).map_err(failure)?;
        // SAFETY: the descriptor is open as long as the socket, which lives longer than this call.
        let descriptor = unsafe { BorrowedFd::borrow_raw(socket.as_raw_fd()) };
        // A veth has no interrupts: the core of the sender brings the packets.
        let busy_poll = if interface.is_veth { BusyPoll::Off } else { BusyPoll::ask(descriptor) };
        Ok(Queue {
            rings,
            socket,
            inbound: HeapSlab::with_capacity(BATCH),
            outbound: HeapSlab::with_capacity(BATCH),
            owed: 0,
            unsent: false,
            copying,
            busy_poll,
            memory,
        })
    }

    /// Frames that the kernel dropped because there was no room.
    pub(crate) fn dropped(&self) -> Option<u64> {
        dropped(self.socket.as_raw_fd())
    }

    pub(crate) fn copying(&self) -> &CopyMode {
        &self.copying
    }

    pub(crate) fn busy_poll(&self) -> &BusyPoll {
        &self.busy_poll
    }

    /// Passes the next frame to `take`, which may send it in place; false if there is none now.
    #[inline]
    pub(crate) fn forward(&mut self, take: impl FnOnce(&mut ReceivedFrame<'_>)) -> bool {
        let Some(packet) = self.inbound.pop_back().or_else(|| self.next_batch()) else {
            return false;
        };
        let mut received = ReceivedFrame { queue: self, packet, is_sent: false };
        take(&mut received);
        let ReceivedFrame { packet, is_sent, .. } = received;
        let unsent = if is_sent { self.outbound.push_front(packet) } else { Some(packet) };
        unsent.into_iter().for_each(|packet| self.memory.free_packet(packet));
        self.owed += 1;
        true
    }

    /// Whether a frame can leave: there is place for it, and one is free beside those that the fill
    /// ring is owed.
    #[inline]
    fn has_room(&mut self) -> bool {
        if self.outbound.available() == 0 {
            self.submit();
        }
        if self.memory.allocatable() <= self.owed {
            self.rings.completion_ring.dequeue(&mut self.memory, RING_SLOTS as usize);
        }
        self.outbound.available() > 0 && self.memory.allocatable() > self.owed
    }

    /// Returns what was read to the kernel, then takes what has arrived.
    #[inline]
    fn next_batch(&mut self) -> Option<xdp::Packet> {
        if self.owed > 0 {
            // In copy mode the kernel looks by itself; a driver has to be told.
            let wake = self.copying == CopyMode::ZeroCopy;
            // SAFETY: the memory lives as long as the ring. It has `owed` free frames: those of
            // packets that `receive` freed.
            let filled = unsafe { self.rings.fill_ring.enqueue(&mut self.memory, self.owed, wake) };
            // A failed wake-up leaves the frames in the ring; the next one wakes the driver.
            self.owed -= filled.unwrap_or(self.owed);
        }
        self.take_arrived();
        if self.inbound.is_empty() && self.busy_poll == BusyPoll::On {
            // The driver looks for packets in this call. An interface that is gone is found when
            // something is sent.
            let _ = rustix::net::recv(self.as_fd(), &mut [0; 0], RecvFlags::DONTWAIT);
            self.take_arrived();
        }
        self.inbound.pop_back()
    }

    /// Takes a batch of what has arrived.
    #[inline]
    fn take_arrived(&mut self) {
        let Some(ring) = self.rings.rx_ring.as_mut() else { return };
        // SAFETY: the memory is the one that the ring's socket was made with, and outlives it.
        unsafe { ring.recv(&self.memory, &mut self.inbound) };
    }

    /// Writes a frame; false if there is no room.
    #[inline]
    pub(crate) fn send(&mut self, bytes: usize, fill: impl FnOnce(&mut [u8])) -> bool {
        if bytes > FRAME_BYTES_MAX || !self.has_room() {
            return false;
        }
        // SAFETY: the packet goes into this queue's ring or stays in `outbound`, and the memory
        // outlives both.
        let Some(mut packet) = (unsafe { self.memory.alloc() }) else { return false };
        if packet.adjust_tail(bytes as i32).is_err() {
            self.memory.free_packet(packet);
            return false;
        }
        fill(&mut packet);
        self.outbound.push_front(packet);
        true
    }

    /// Puts written frames into the ring, if they all fit.
    fn submit(&mut self) {
        let Some(ring) = self.rings.tx_ring.as_mut() else { return };
        // SAFETY: the packets are from the memory that the ring's socket was made with.
        let sent = unsafe { ring.send(&mut self.outbound, false) };
        self.unsent |= sent.is_ok_and(|n| n > 0);
    }

    /// Makes the kernel send what is in the ring.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if !self.outbound.is_empty() {
            self.submit();
        }
        if !self.unsent {
            return Ok(());
        }
        // The kernel sends in this call; crate `xdp` does not show whether a driver needs it.
        for _ in 0..WAKE_UPS_MAX {
            match rustix::net::send(self.as_fd(), &[], SendFlags::DONTWAIT) {
                Ok(_) => {
                    self.unsent = false;
                    return Ok(());
                }
                // There is more to send, or no room on the way out: the next flush goes on.
                Err(Errno::AGAIN | Errno::BUSY | Errno::NOBUFS | Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }
}

/// Frames that the kernel dropped because a socket of AF_XDP had no room for them: no free frame,
/// or a full ring. `None` if the kernel doesn't say.
pub(crate) fn dropped(socket: RawFd) -> Option<u64> {
    // `struct xdp_statistics` of linux/if_xdp.h: dropped, invalid on the way in and out, ring
    // full, no free frame, nothing to send. A frame without a free one counts as dropped too.
    const WORDS: usize = 6;
    let mut words = [0_u64; WORDS];
    let mut bytes = size_of_val(&words) as libc::socklen_t;
    // SAFETY: the kernel writes at most `bytes` bytes into `words`, and their number into
    // `bytes`.
    let failed = unsafe {
        libc::getsockopt(
            socket,
            libc::SOL_XDP,
            libc::XDP_STATISTICS,
            words.as_mut_ptr().cast(),
            &raw mut bytes,
        )
    };
    (failed == 0).then_some(words[0] + words[3])
}

/// A received frame while it may still be sent in place.
pub(crate) struct ReceivedFrame<'a> {
    queue: &'a mut Queue,
    packet: xdp::Packet,
    is_sent: bool,
}

impl ReceivedFrame<'_> {
    #[inline]
    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        &mut self.packet
    }

    /// Writes another frame, for which `fill` reads this one; false if there is no room.
    #[inline]
    pub(crate) fn copy(&mut self, bytes: usize, fill: impl FnOnce(&mut [u8], &[u8])) -> bool {
        let packet = &self.packet;
        self.queue.send(bytes, |frame| fill(frame, packet))
    }

    /// Sends this frame, cut to `bytes`, after `change`; false if there is no room. Call it
    /// once, and nothing after it.
    #[inline]
    pub(crate) fn send(&mut self, bytes: usize, change: impl FnOnce(&mut [u8])) -> bool {
        let surplus = self.packet.len().checked_sub(bytes);
        // One frame less for sending: the fill ring gets a free one in the place of this one.
        let Some(surplus) = surplus.filter(|_| !self.is_sent && self.queue.has_room()) else {
            return false;
        };
        if self.packet.adjust_tail(-(surplus as i32)).is_err() {
            return false;
        }
        change(&mut self.packet);
        self.is_sent = true;
        true
    }

    /// Makes the kernel send what was written.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.queue.flush()
    }
}

impl AsFd for Queue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the socket's descriptor is open as long as the socket, which `self` owns.
        unsafe { BorrowedFd::borrow_raw(self.socket.as_raw_fd()) }
    }
}

fn failure(error: SocketError) -> Failure {
    match error {
        SocketError::SocketCreation(why) => Failure("open a socket", why),
        SocketError::SetSockOpt { inner, .. } | SocketError::GetSockOpt { inner, .. } => {
            Failure("register shared memory and rings", inner)
        }
        SocketError::RingMap { inner, .. } => Failure("map the rings", inner),
        SocketError::Bind(why) => Failure("bind a queue", why),
    }
}

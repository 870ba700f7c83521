//! A bounded ring of messages: one producer or many, one consumer, threads or processes.
//!
//! ```
//! use ipc::region::RegionBacking;
//! use ipc::ring::{Producers, SendError, Ring, Shape};
//!
//! let producers = Producers::One;
//! let shape = Shape { slots: 4, message_bytes_max: 16, producers, may_sleep: false };
//! let ring = Ring::create(RegionBacking::Memory, shape)?;
//! let mut producer = ring.producer()?;
//! let mut consumer = ring.consumer()?;
//! producer.try_send(b"tick").unwrap();
//! assert_eq!(consumer.receive(10, |message| assert_eq!(message, b"tick")), 1);
//! # Ok::<(), ipc::IpcError>(())
//! ```
//!
//! # In memory
//!
//! | bytes, after the region's header | |
//! |---|---|
//! | 0..8 | head: the consumer's position; all messages before it have been received |
//! | 8..16 | abandoned: claims of dead producers that were skipped |
//! | 16..24 | damaged: slots that were skipped because of an invalid word |
//! | 128..136 | tail: the position at which many producers start to look for a free slot |
//! | 256..260 | bell: the futex word of a sleeping consumer |
//! | 384.. | the slots, each a word of 8 bytes (turn, length, owner) and the message, a multiple of
//! 8 bytes |
//!
//! Geometry: slots, longest message, 1 for one producer and 2 for many, 1 if the consumer may
//! sleep.
//!
//! Reasons: when the ring is nearly empty, the consumer polls the line in which the next message
//! begins, so a message of one line costs one transfer between cores; a shared index would cost two
//! in sequence. The consumer never writes to slots. It stores its position only once a call, in a
//! line that a producer reads once per round of the ring. With many producers, the claim is in the
//! slot's word and not in a separate counter, so that its owner is known from the first instant.
//!
//! # When a process dies
//!
//! - A single producer: unpublished messages are lost; a batch is published whole or not at all.
//!   The next producer continues there.
//! - One of many: if it had claimed a slot, the consumer detects that the claim's holder is dead,
//!   skips the slot and counts it ([`Counts::abandoned`]). Later messages of others wait for that,
//!   some microseconds of polling.
//! - The consumer: the next consumer gets the messages of the interrupted call of
//!   [`Consumer::receive`] again; no other message is repeated, and none is lost.
//!
//! A process that may write the memory can damage it. A length is never trusted beyond its slot, or
//! an index beyond the ring; invalid slots are skipped and counted ([`Counts::damaged`]).

#[allow(unsafe_code)]
pub(crate) mod memory;
#[allow(unsafe_code)]
pub(crate) mod protocol;
#[allow(unsafe_code)]
pub(crate) mod receiver;
#[allow(unsafe_code)]
pub(crate) mod sender;

use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::IpcError;
use crate::bell::Bell;
use crate::claim::Claim;
use crate::region::{Region, RegionBacking, RegionKind};
use crate::ring::memory::RegionMemory;
use crate::ring::protocol::{Geometry, Memory};
use crate::ring::receiver::Receiver;
use crate::ring::sender::Sender;
use crate::wait::{Look, Wait};

pub use crate::ring::protocol::{MESSAGE_BYTES_MAX, PRODUCERS_MAX};
pub use crate::ring::sender::{Batch, SendError};

/// Maximum number of slots of a ring.
pub const SLOTS_MAX: u32 = 1 << 24;

/// Number of simultaneous producers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Producers {
    /// One: a message costs it only two stores.
    One,
    /// Up to [`PRODUCERS_MAX`]: a message costs an additional atomic exchange.
    Many,
}

/// Capacity of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of messages: a power of two, 2 to [`SLOTS_MAX`].
    pub slots: u32,
    /// Longest message, bytes: 1 to [`MESSAGE_BYTES_MAX`].
    pub message_bytes_max: usize,
    /// Number of simultaneous producers.
    pub producers: Producers,
    /// Whether the consumer may sleep ([`Wait::Futex`]): each publication then costs a full fence.
    pub may_sleep: bool,
}

impl Shape {
    fn geometry(self) -> Result<Geometry, IpcError> {
        if !self.slots.is_power_of_two() || !(2..=SLOTS_MAX).contains(&self.slots) {
            return Err(IpcError::Shape {
                what: "a ring's number of slots",
                given: self.slots.into(),
                allowed: format!("a power of two from 2 to {SLOTS_MAX}"),
            });
        }
        if !(1..=MESSAGE_BYTES_MAX).contains(&self.message_bytes_max) {
            return Err(IpcError::Shape {
                what: "a ring's longest message",
                given: self.message_bytes_max as u64,
                allowed: format!("1 to {MESSAGE_BYTES_MAX} bytes"),
            });
        }
        Ok(Geometry {
            slots_log2: self.slots.trailing_zeros(),
            message_bytes_max: self.message_bytes_max,
            many: self.producers == Producers::Many,
            may_sleep: self.may_sleep,
        })
    }

    fn words(self) -> [u64; 8] {
        let producers = match self.producers {
            Producers::One => 1,
            Producers::Many => 2,
        };
        let may_sleep = u64::from(self.may_sleep);
        [self.slots.into(), self.message_bytes_max as u64, producers, may_sleep, 0, 0, 0, 0]
    }

    fn from_words(words: &[u64; 8]) -> Option<Shape> {
        let producers = match words[2] {
            1 => Producers::One,
            2 => Producers::Many,
            _ => return None,
        };
        let may_sleep = match words[3] {
            0 => false,
            1 => true,
            _ => return None,
        };
        let slots = u32::try_from(words[0]).ok()?;
        let message_bytes_max = usize::try_from(words[1]).ok()?;
        Some(Shape { slots, message_bytes_max, producers, may_sleep })
    }
}

/// Slots that the consumer skipped since the ring was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Slots that a producer had claimed when it died.
    pub abandoned: u64,
    /// Slots with an invalid word.
    pub damaged: u64,
}

/// A ring; clones and openings by other processes share it.
#[derive(Clone)]
pub struct Ring {
    memory: RegionMemory,
    geometry: Geometry,
    shape: Shape,
}

/// The bytes of the file for the roles; producer `n` has byte `n`.
const CONSUMER_BYTE: u64 = 0;

impl Ring {
    /// Creates a ring, which becomes visible at its place when it is complete.
    ///
    /// # Errors
    /// A shape out of range, an existing file at the path, a full file system.
    pub fn create(place: RegionBacking<'_>, shape: Shape) -> Result<Ring, IpcError> {
        let geometry = shape.geometry()?;
        let bytes = memory::body_bytes(&geometry);
        let region = Region::create(place, RegionKind::Ring, shape.words(), bytes, |_| {})?;
        Ring::in_region(region)
    }

    /// Opens the ring at a path.
    ///
    /// # Errors
    /// If it is not a complete ring of this version; the error says why.
    pub fn open(path: &Path) -> Result<Ring, IpcError> {
        Ring::in_region(Region::open(path, RegionKind::Ring)?)
    }

    /// Opens a ring by an inherited or received descriptor, see [`Ring::fd`].
    ///
    /// # Errors
    /// As [`Ring::open`].
    pub fn from_fd(file: OwnedFd) -> Result<Ring, IpcError> {
        Ring::in_region(Region::from_fd(file, RegionKind::Ring)?)
    }

    fn in_region(region: Region) -> Result<Ring, IpcError> {
        let region = Arc::new(region);
        let damaged =
            |why: &str| IpcError::Damaged { region: region.name().to_owned(), why: why.to_owned() };
        let shape = Shape::from_words(region.geometry());
        let shape = shape.ok_or_else(|| damaged("its geometry is no ring's"))?;
        let geometry = shape.geometry()?;
        let memory = RegionMemory::new(Arc::clone(&region), &geometry);
        let memory = memory.ok_or_else(|| damaged("its length is not that of its geometry"))?;
        Ok(Ring { memory, geometry, shape })
    }

    /// Its capacity.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Slots that its consumers skipped so far.
    pub fn counts(&self) -> Counts {
        Counts {
            abandoned: self.memory.abandoned().load(Ordering::Relaxed),
            damaged: self.memory.damaged().load(Ordering::Relaxed),
        }
    }

    /// The descriptor, to pass to another process.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.region().fd()
    }

    /// Its memory.
    pub fn region(&self) -> &Region {
        self.memory.region()
    }

    /// A sending end, held until it is dropped or its process dies.
    ///
    /// # Errors
    /// If the maximum number of producers is reached.
    pub fn producer(&self) -> Result<Producer, IpcError> {
        let last = if self.geometry.many { PRODUCERS_MAX } else { 1 };
        for id in 1..=last {
            if let Some(claim) = self.region().try_claim(id.into())? {
                let sender = Sender::take_over(self.memory.clone(), self.geometry, id);
                return Ok(Producer { sender, _claim: claim });
            }
        }
        let role = if self.geometry.many { "most producers" } else { "producer" };
        Err(IpcError::Claimed { region: self.region().name().to_owned(), role })
    }

    /// The receiving end, held until it is dropped or its process dies.
    ///
    /// # Errors
    /// If it is taken.
    pub fn consumer(&self) -> Result<Consumer, IpcError> {
        let claim = self.region().claim(CONSUMER_BYTE, "consumer")?;
        let receiver = Receiver::take_over(self.memory.clone(), self.geometry);
        let ring = self.clone();
        Ok(Consumer { receiver, ring, _claim: claim })
    }
}

/// A sending end of a ring.
pub struct Producer {
    sender: Sender<RegionMemory>,
    _claim: Claim,
}

impl Producer {
    /// Sends one message by copying it into its slot.
    ///
    /// # Errors
    /// If the ring is full or the message too long; nothing is sent then.
    #[inline]
    pub fn try_send(&mut self, message: &[u8]) -> Result<(), SendError> {
        self.sender.try_send(message)
    }

    /// Sends messages until one is rejected. With one producer they become visible all at once;
    /// with many, one by one, possibly with others' in between. A rejected message has been taken
    /// from the iterator.
    #[inline]
    pub fn try_send_batch<B: AsRef<[u8]>>(
        &mut self,
        messages: impl IntoIterator<Item = B>,
    ) -> Batch {
        self.sender.try_send_batch(messages)
    }
}

/// The receiving end of a ring.
pub struct Consumer {
    receiver: Receiver<RegionMemory>,
    ring: Ring,
    _claim: Claim,
}

impl Consumer {
    /// Shows at most `max` messages in order, in their slots, and returns their number. The slots
    /// are free when it returns.
    #[inline]
    pub fn receive(&mut self, max: usize, show: impl FnMut(&[u8])) -> usize {
        let region = self.ring.region();
        self.receiver.receive(max, false, |id| is_alive(region, id), show)
    }

    /// As [`Consumer::receive`], but waits for a first message until the patience ends; 0 if none
    /// came. On a ring without `may_sleep`, [`Wait::Futex`] yields.
    #[inline]
    pub fn receive_within(
        &mut self,
        wait: Wait,
        patience: Duration,
        max: usize,
        mut show: impl FnMut(&[u8]),
    ) -> usize {
        let Consumer { receiver, ring, .. } = self;
        let bell = ring.geometry.may_sleep.then(|| Bell(ring.memory.bell()));
        let attempt = |look| {
            let probe = look == Look::BeforeSleep;
            match receiver.receive(max, probe, |id| is_alive(ring.region(), id), &mut show) {
                0 => None,
                received => Some(received),
            }
        };
        wait.until(patience, bell, attempt).unwrap_or(0)
    }
}

/// A process whose state can't be read counts as alive, so that no message is skipped on a guess.
fn is_alive(region: &Region, id: u8) -> bool {
    region.is_claimed(id.into()).unwrap_or(true)
}

#[cfg(test)]
mod tests;

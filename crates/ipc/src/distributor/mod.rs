//! The newest value of each of many keys, from one writer to any number of readers, which never
//! delay the writer.
//!
//! ```
//! use ipc::distributor::{Distributor, Shape};
//! use ipc::region::RegionBacking;
//!
//! let shape = Shape { keys: 12, slots: 4, value_bytes_max: 16, may_sleep: false };
//! let distributor = Distributor::create(RegionBacking::Memory, shape)?;
//! let mut reader = distributor.reader();
//! let mut writer = distributor.writer()?;
//! for price in [b"100", b"101", b"102"] {
//!     writer.publish(7, price).unwrap();
//! }
//! let shown = reader.poll(|key, value, missed| {
//!     assert_eq!((key, value, missed), (7, &b"102"[..], 2));
//! });
//! assert_eq!(shown, 1);
//! # Ok::<(), ipc::IpcError>(())
//! ```
//!
//! # In memory
//!
//! | bytes, after the region's header | |
//! |---|---|
//! | 0..8 | position of the journal's next note |
//! | 128..132 | bell: the futex word of sleeping readers |
//! | 256.. | newest: a word per key, its number of publications; padded to 128 bytes |
//! | then | journal: a word per note, the next power of two from keys, at least 1 024; padded to
//! 128 bytes |
//! | then | keys x slots, each a word of 8 bytes (sequence, length, being written) and the value, a
//! multiple of 64 bytes |
//!
//! Geometry: keys, slots per key, longest value, 1 if readers may sleep.
//!
//! Reasons: for any number of keys, a reader polls one word and goes from there directly to the
//! slot: two consecutive transfers between cores, and no scan. Each slot has its own lines, so that
//! a reader of one value doesn't take the next value's line from the writer. With more slots per
//! key, the writer overwrites a value less often while a slow reader copies it; the reader must
//! then copy again.
//!
//! # When a process dies
//!
//! - The writer: each key keeps its last whole value, also for later readers. A value whose
//!   publication was interrupted is published whole or not at all. The next writer continues the
//!   count.
//! - A reader: no effect.
//!
//! A process that may write the memory can damage it. Readers then show wrong values or none, but
//! never bytes outside a slot; they count lengths and keys out of range ([`Reader::damaged`]).

pub(crate) mod protocol;

use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::IpcError;
use crate::atomics::{AtomicU32, AtomicU64};
use crate::bell::Bell;
use crate::claim::Claim;
use crate::distributor::protocol::{BELL_HALF_WORD, Follower, Geometry, Publisher, Words};
use crate::region::{Region, RegionBacking, RegionKind};
use crate::wait::Wait;

pub use crate::distributor::protocol::{KEYS_MAX, PublishError, SLOTS_MAX, VALUE_BYTES_MAX};

/// Capacity of a distributor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of keys: 1 to [`KEYS_MAX`]. They are numbered from 0.
    pub keys: u32,
    /// Slots per key: a power of two, 2 to [`SLOTS_MAX`]; 4 is a good number.
    pub slots: u32,
    /// Longest value, bytes: 1 to [`VALUE_BYTES_MAX`].
    pub value_bytes_max: usize,
    /// Whether readers may sleep ([`Wait::Futex`]): each publication then costs a full fence.
    pub may_sleep: bool,
}

impl Shape {
    fn geometry(self) -> Result<Geometry, IpcError> {
        let shape_error = |what, given: u64, allowed| Err(IpcError::Shape { what, given, allowed });
        if !(1..=KEYS_MAX).contains(&self.keys) {
            let allowed = format!("1 to {KEYS_MAX}");
            return shape_error("a distributor's number of keys", self.keys.into(), allowed);
        }
        if !self.slots.is_power_of_two() || !(2..=SLOTS_MAX).contains(&self.slots) {
            let allowed = format!("a power of two from 2 to {SLOTS_MAX}");
            return shape_error("a distributor's slots a key", self.slots.into(), allowed);
        }
        if !(1..=VALUE_BYTES_MAX).contains(&self.value_bytes_max) {
            let allowed = format!("1 to {VALUE_BYTES_MAX} bytes");
            return shape_error(
                "a distributor's longest value",
                self.value_bytes_max as u64,
                allowed,
            );
        }
        let (keys, slots) = (self.keys as usize, self.slots as usize);
        Ok(Geometry::new(keys, slots, self.value_bytes_max, self.may_sleep))
    }

    fn words(self) -> [u64; 8] {
        let (keys, slots) = (self.keys.into(), self.slots.into());
        [keys, slots, self.value_bytes_max as u64, u64::from(self.may_sleep), 0, 0, 0, 0]
    }

    fn from_words(words: &[u64; 8]) -> Option<Shape> {
        Some(Shape {
            keys: words[0].try_into().ok()?,
            slots: words[1].try_into().ok()?,
            value_bytes_max: words[2].try_into().ok()?,
            may_sleep: match words[3] {
                0 => false,
                1 => true,
                _ => return None,
            },
        })
    }
}

/// The words of a region.
#[derive(Clone)]
struct RegionWords(Arc<Region>);

impl Words for RegionWords {
    #[inline(always)]
    fn words(&self) -> &[AtomicU64] {
        self.0.words()
    }

    #[inline(always)]
    fn bell(&self) -> &AtomicU32 {
        &self.0.half_words()[BELL_HALF_WORD]
    }
}

/// A distributor; clones and openings by other processes share it.
#[derive(Clone)]
pub struct Distributor {
    memory: RegionWords,
    geometry: Geometry,
    shape: Shape,
}

/// The byte of the file for the writer's role.
const WRITER_BYTE: u64 = 0;

impl Distributor {
    /// Creates a distributor, which becomes visible at its place when it is complete.
    ///
    /// # Errors
    /// A shape out of range, an existing file at the path, a full file system.
    pub fn create(place: RegionBacking<'_>, shape: Shape) -> Result<Distributor, IpcError> {
        let geometry = shape.geometry()?;
        let bytes = geometry.words() as u64 * 8;
        let region = Region::create(place, RegionKind::Distributor, shape.words(), bytes, |_| {})?;
        Distributor::in_region(region)
    }

    /// Opens the distributor at a path.
    ///
    /// # Errors
    /// If it is not a complete distributor of this version; the error says why.
    pub fn open(path: &Path) -> Result<Distributor, IpcError> {
        Distributor::in_region(Region::open(path, RegionKind::Distributor)?)
    }

    /// Opens a distributor by an inherited or received descriptor, see [`Distributor::fd`].
    ///
    /// # Errors
    /// As [`Distributor::open`].
    pub fn from_fd(file: OwnedFd) -> Result<Distributor, IpcError> {
        Distributor::in_region(Region::from_fd(file, RegionKind::Distributor)?)
    }

    fn in_region(region: Region) -> Result<Distributor, IpcError> {
        let damaged =
            |why: &str| IpcError::Damaged { region: region.name().to_owned(), why: why.to_owned() };
        let shape = Shape::from_words(region.geometry());
        let shape = shape.ok_or_else(|| damaged("its geometry is no distributor's"))?;
        let geometry = shape.geometry()?;
        if region.body_bytes() != geometry.words() * 8 {
            return Err(damaged("its length is not that of its geometry"));
        }
        Ok(Distributor { memory: RegionWords(Arc::new(region)), geometry, shape })
    }

    /// Its capacity.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The descriptor, to pass to another process.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.region().fd()
    }

    /// Its memory.
    pub fn region(&self) -> &Region {
        &self.memory.0
    }

    /// The writing end, held until it is dropped or its process dies.
    ///
    /// # Errors
    /// If it is taken.
    pub fn writer(&self) -> Result<Writer, IpcError> {
        let claim = self.region().claim(WRITER_BYTE, "writer")?;
        let publisher = Publisher::take_over(self.memory.clone(), self.geometry);
        Ok(Writer { publisher, _claim: claim })
    }

    /// A reading end. Its first poll shows the newest value of each key that has one.
    pub fn reader(&self) -> Reader {
        let follower = Follower::new(self.memory.clone(), self.geometry);
        Reader { follower, distributor: self.clone() }
    }
}

/// The writing end of a distributor.
pub struct Writer {
    publisher: Publisher<RegionWords>,
    _claim: Claim,
}

impl Writer {
    /// Publishes `value` as the newest of `key`. Never waits.
    ///
    /// # Errors
    /// If the key does not exist or the value is too long; nothing is published then.
    #[inline]
    pub fn publish(&mut self, key: u32, value: &[u8]) -> Result<(), PublishError> {
        self.publisher.publish(key as usize, value)
    }
}

/// A reading end of a distributor.
pub struct Reader {
    follower: Follower<RegionWords>,
    distributor: Distributor,
}

impl Reader {
    /// Shows the newest value of each key that has a new one: the key, the value, and the number of
    /// values of that key skipped since the last one shown. Returns the number of values shown.
    #[inline]
    pub fn poll(&mut self, mut show: impl FnMut(u32, &[u8], u64)) -> usize {
        self.follower.poll(|key, value, missed| show(key as u32, value, missed))
    }

    /// As [`Reader::poll`], but waits for a first value until the patience ends; 0 if none came. On
    /// a distributor without `may_sleep`, [`Wait::Futex`] yields.
    #[inline]
    pub fn poll_within(
        &mut self,
        wait: Wait,
        patience: Duration,
        mut show: impl FnMut(u32, &[u8], u64),
    ) -> usize {
        let Reader { follower, distributor } = self;
        let bell = distributor.geometry.may_sleep.then(|| Bell(distributor.memory.bell()));
        let attempt = |_| match follower.poll(|key, value, missed| show(key as u32, value, missed))
        {
            0 => None,
            shown => Some(shown),
        };
        wait.until(patience, bell, attempt).unwrap_or(0)
    }

    /// Slots and notes that this reader skipped because they were damaged.
    pub fn damaged(&self) -> u64 {
        self.follower.damaged()
    }
}

#[cfg(test)]
mod tests;

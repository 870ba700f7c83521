//! The newest value of each of many keys, from one writer to any number of readers, which never
//! hold it up.
//!
//! ```
//! use ipc::distributor::{Distributor, Shape};
//! use ipc::region::Place;
//!
//! let shape = Shape { keys: 12, slots: 4, value_bytes_max: 16, may_sleep: false };
//! let distributor = Distributor::create(Place::Memory, shape)?;
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
//! | bytes, behind the region's header | |
//! |---|---|
//! | 0..8 | position of the journal's next note |
//! | 128..132 | bell: the futex word of readers that sleep |
//! | 256.. | newest: a word a key, how often it was published; up to a multiple of 128 bytes |
//! | then | journal: a word a note, the next power of two from keys, at least 1 024; up to a multiple of 128 bytes |
//! | then | keys x slots, each a word of 8 bytes (sequence, length, being written) and the value, a multiple of 64 bytes |
//!
//! Geometry: keys, slots a key, longest value, 1 if readers may sleep.
//!
//! Why so: a reader polls one word, whatever the number of keys, and goes from there straight to
//! the slot: two transfers between cores one after the other, and no scan. Slots lie on lines of
//! their own, so that a reader of one value doesn't take from the writer the line of the next.
//! More slots a key mean that a slow reader is overtaken less often while it copies; what it costs
//! to be overtaken is to copy again.
//!
//! # When a process dies
//!
//! - The writer: each key keeps its last whole value, and readers that come later get it too. A
//!   value whose publication was cut off is there whole or not at all. The next writer goes on
//!   with the count.
//! - A reader: nobody notices.
//!
//! A process that may write the memory can write nonsense into it: readers then show wrong values
//! or none, never bytes outside a slot; a length or key out of range is counted
//! ([`Reader::damaged`]).

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
use crate::region::{Place, Region, RegionKind};
use crate::wait::Wait;

pub use crate::distributor::protocol::{KEYS_MAX, PublishError, SLOTS_MAX, VALUE_BYTES_MAX};

/// What a distributor is created for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// How many keys: 1 to [`KEYS_MAX`]. They are numbered from 0.
    pub keys: u32,
    /// Slots a key: a power of two, 2 to [`SLOTS_MAX`]; 4 is a good number.
    pub slots: u32,
    /// Longest value, bytes: 1 to [`VALUE_BYTES_MAX`].
    pub value_bytes_max: usize,
    /// Whether readers may sleep ([`Wait::Futex`]): each publication then costs a full fence.
    pub may_sleep: bool,
}

impl Shape {
    fn geometry(self) -> Result<Geometry, IpcError> {
        let refused = |what, given: u64, allowed| Err(IpcError::Shape { what, given, allowed });
        if !(1..=KEYS_MAX).contains(&self.keys) {
            let allowed = format!("1 to {KEYS_MAX}");
            return refused("a distributor's number of keys", self.keys.into(), allowed);
        }
        if !self.slots.is_power_of_two() || !(2..=SLOTS_MAX).contains(&self.slots) {
            let allowed = format!("a power of two from 2 to {SLOTS_MAX}");
            return refused("a distributor's slots a key", self.slots.into(), allowed);
        }
        if !(1..=VALUE_BYTES_MAX).contains(&self.value_bytes_max) {
            let allowed = format!("1 to {VALUE_BYTES_MAX} bytes");
            return refused("a distributor's longest value", self.value_bytes_max as u64, allowed);
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

/// A region's words.
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

/// A distributor; clones and other processes' openings are the same one.
#[derive(Clone)]
pub struct Distributor {
    memory: RegionWords,
    geometry: Geometry,
    shape: Shape,
}

/// The byte of the file that stands for the writer's role.
const WRITER_BYTE: u64 = 0;

impl Distributor {
    /// Creates a distributor, which becomes visible at its place when it is whole.
    ///
    /// # Errors
    /// A shape out of range, something at the path already, no room.
    pub fn create(place: Place<'_>, shape: Shape) -> Result<Distributor, IpcError> {
        let geometry = shape.geometry()?;
        let bytes = geometry.words() as u64 * 8;
        let region = Region::create(place, RegionKind::Distributor, shape.words(), bytes, |_| {})?;
        Distributor::in_region(region)
    }

    /// Opens the distributor at a path.
    ///
    /// # Errors
    /// Whatever is not a whole distributor of this version is refused; the error says why.
    pub fn open(path: &Path) -> Result<Distributor, IpcError> {
        Distributor::in_region(Region::open(path, RegionKind::Distributor)?)
    }

    /// Opens a distributor by a descriptor that was inherited or received, see [`Distributor::fd`].
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

    /// What it was created for.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The descriptor, to hand to another process.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.region().fd()
    }

    /// The memory it lies in.
    pub fn region(&self) -> &Region {
        &self.memory.0
    }

    /// The writing end, until it is dropped or its process dies.
    ///
    /// # Errors
    /// Somebody has it.
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
    /// Makes `value` the newest of `key`. Never waits.
    ///
    /// # Errors
    /// There is no such key, or the value is too long: nothing was published.
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
    /// Shows the newest value of each key that has a new one: the key, the value, and how many
    /// values of that key came between the last one shown and this. Returns how many were shown.
    #[inline]
    pub fn poll(&mut self, mut show: impl FnMut(u32, &[u8], u64)) -> usize {
        self.follower.poll(|key, value, missed| show(key as u32, value, missed))
    }

    /// As [`Reader::poll`], but waits for a first value as long as the patience lasts; 0 when none
    /// came. On a distributor that was not created for sleepers [`Wait::Futex`] yields.
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

    /// Slots and notes that this reader passed over because they made no sense.
    pub fn damaged(&self) -> u64 {
        self.follower.damaged()
    }
}

#[cfg(test)]
mod tests;

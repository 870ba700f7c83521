//! How an id is looked up: a flat hash map of fixed capacity.

use std::fmt;

use crate::memory::filled;

/// What a [`FlatMap`] can be keyed by.
pub trait Key: Copy + Eq {
    /// A number whose **highest** bits differ between keys that are in use together. It decides speed only:
    /// no result depends on it. Keys that a stranger chooses should be hashed with a secret, or he can
    /// choose them so that they collide, and every look-up becomes a search.
    fn hash(&self) -> u64;
}

impl Key for u64 {
    /// Fibonacci hashing (Knuth, volume 3, section 6.4): ids given out one after the other land as far
    /// from each other as can be, so that at half load they hardly ever touch.
    fn hash(&self) -> u64 {
        self.wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }
}

/// Why [`FlatMap::insert`] refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InsertError {
    /// The map holds as many keys as it was made for.
    Full,
    /// The key is in the map, with a value that was left as it was.
    Duplicate,
}

impl fmt::Display for InsertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            InsertError::Full => "the map is full: remove a key, or make it with more capacity",
            InsertError::Duplicate => "the key is in the map already: remove it first",
        })
    }
}

impl std::error::Error for InsertError {}

#[derive(Debug, Clone, Copy)]
struct Entry<K, V> {
    key: K,
    value: V,
}

/// A hash map that never allocates, never rehashes and never leaves a tombstone: open addressing,
/// linear probing, deletion by shifting back.
///
/// At most half of the slots are in use, so a probe is short and mostly stays in one cache line. Deletion
/// moves the entries behind the hole into it where they may stand, so a map that has run for a day is as fast as
/// a new one. Where `V` has a spare value, as `NonZeroU32` has, a slot is no larger than key and value.
#[derive(Debug)]
pub struct FlatMap<K, V> {
    slots: Vec<Option<Entry<K, V>>>,
    /// A hash shifted right by this is a slot.
    shift: u32,
    length: usize,
    capacity: usize,
}

impl<K: Key, V: Copy> FlatMap<K, V> {
    /// A map for at most `capacity` keys. It allocates between two and four slots for each, and writes to all of them.
    #[must_use]
    pub fn new(capacity: u32) -> FlatMap<K, V> {
        let capacity = capacity as usize;
        // At least two slots, because one slot would be a shift by 64 bits.
        let slots = (capacity * 2).next_power_of_two().max(2);
        FlatMap {
            slots: filled(slots, None),
            shift: u64::BITS - slots.trailing_zeros(),
            length: 0,
            capacity,
        }
    }

    /// How many keys it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether it holds none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// How many keys it can hold.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The value of a key.
    #[must_use]
    #[inline]
    pub fn get(&self, key: &K) -> Option<V> {
        self.find(key).ok().and_then(|slot| self.slots[slot]).map(|entry| entry.value)
    }

    /// The value of a key, to change in place.
    #[must_use]
    #[inline]
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let slot = self.find(key).ok()?;
        self.slots[slot].as_mut().map(|entry| &mut entry.value)
    }

    /// Adds a key that is not in the map.
    ///
    /// # Errors
    /// [`InsertError::Duplicate`] if it is, [`InsertError::Full`] if there is no room. Nothing has changed
    /// then.
    #[inline]
    pub fn insert(&mut self, key: K, value: V) -> Result<(), InsertError> {
        match self.find(&key) {
            Ok(_) => Err(InsertError::Duplicate),
            Err(_) if self.length == self.capacity => Err(InsertError::Full),
            Err(slot) => {
                self.slots[slot] = Some(Entry { key, value });
                self.length += 1;
                Ok(())
            }
        }
    }

    /// Takes a key out and gives its value.
    #[inline]
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let mut hole = self.find(key).ok()?;
        let removed = self.slots[hole].map(|entry| entry.value);
        let mask = self.slots.len() - 1;
        let mut slot = hole;
        loop {
            slot = (slot + 1) & mask;
            let Some(entry) = self.slots[slot] else { break };
            // An entry may move back to the hole, but not in front of its home, where no probe would
            // find it. Distances are taken modulo the table, since a probe wraps around.
            let from_home = slot.wrapping_sub(self.home(&entry.key)) & mask;
            let from_hole = slot.wrapping_sub(hole) & mask;
            if from_home >= from_hole {
                self.slots[hole] = Some(entry);
                hole = slot;
            }
        }
        self.slots[hole] = None;
        self.length -= 1;
        removed
    }

    fn home(&self, key: &K) -> usize {
        (key.hash() >> self.shift) as usize
    }

    /// The slot of a key, or the free slot where it would go. Ends because half of the slots are free.
    #[inline]
    fn find(&self, key: &K) -> Result<usize, usize> {
        let mask = self.slots.len() - 1;
        let mut slot = self.home(key);
        loop {
            match &self.slots[slot] {
                Some(entry) if entry.key == *key => return Ok(slot),
                Some(_) => slot = (slot + 1) & mask,
                None => return Err(slot),
            }
        }
    }
}

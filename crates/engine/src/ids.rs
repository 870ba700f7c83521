//! A flat hash map of fixed capacity, for keys of any kind. The engine itself finds its orders with
//! `open_orders::index`.

use std::fmt;

use crate::memory::filled;

/// A key of a [`FlatMap`].
pub trait Key: Copy + Eq {
    /// A number whose **highest** bits differ between keys that are used together. It matters only
    /// for speed: no result depends on it. If strangers choose the keys, hash them with a secret;
    /// otherwise a client can choose colliding keys, and every look-up becomes a search.
    fn hash(&self) -> u64;

    /// The first slot for a key: the highest bits of its hash; `shift` is 64 less their number.
    fn home(&self, shift: u32) -> usize {
        (self.hash() >> shift) as usize
    }
}

impl Key for u64 {
    /// Fibonacci hashing (Knuth, volume 3, section 6.4): consecutive ids land as far apart as
    /// possible, so that they hardly ever collide at half load.
    fn hash(&self) -> u64 {
        self.wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }

    /// Four consecutive ids are neighbours, in one cache line if an entry has 16 bytes, because
    /// they are often used together. The hash is of each group of four.
    fn home(&self, shift: u32) -> usize {
        let line = (self >> 2).hash() >> (shift + 2);
        (line << 2 | self & 3) as usize
    }
}

/// Why [`FlatMap::insert`] failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InsertError {
    /// The map has reached its capacity.
    Full,
    /// The key exists; its value is unchanged.
    Duplicate,
}

impl fmt::Display for InsertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            InsertError::Full => "the map is full: remove a key, or make it with more capacity",
            InsertError::Duplicate => "the key is already in the map: remove it first",
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
/// At most half of the slots are used, so a probe is short and mostly stays in one cache line.
/// Deletion moves later entries back into the hole if they may be there, so a map that has run for
/// a day is as fast as a new one. If `V` has a niche, as `NonZeroU32` has, a slot is no larger than
/// key and value.
#[derive(Debug)]
pub struct FlatMap<K, V> {
    slots: Vec<Option<Entry<K, V>>>,
    /// A hash shifted right by this is a slot.
    shift: u32,
    length: usize,
    capacity: usize,
}

impl<K: Key, V: Copy> FlatMap<K, V> {
    /// A map for at most `capacity` keys. It allocates between two and four slots per key, and
    /// writes to all of them.
    #[must_use]
    pub fn new(capacity: u32) -> FlatMap<K, V> {
        let capacity = capacity as usize;
        // At least eight slots; otherwise the shift could be 64 bits.
        let slots = (capacity * 2).next_power_of_two().max(8);
        FlatMap {
            slots: filled(slots, None),
            shift: u64::BITS - slots.trailing_zeros(),
            length: 0,
            capacity,
        }
    }

    /// Number of keys.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Largest number of keys.
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

    /// A mutable reference to a key's value.
    #[must_use]
    #[inline]
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let slot = self.find(key).ok()?;
        self.slots[slot].as_mut().map(|entry| &mut entry.value)
    }

    /// Adds a new key.
    ///
    /// # Errors
    /// [`InsertError::Duplicate`] if it exists, [`InsertError::Full`] if there is no room. The map
    /// is then unchanged.
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

    /// Removes a key and returns its value.
    #[inline]
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let mut hole = self.find(key).ok()?;
        let removed = self.slots[hole].map(|entry| entry.value);
        let mask = self.slots.len() - 1;
        let mut slot = hole;
        loop {
            slot = (slot + 1) & mask;
            let Some(entry) = self.slots[slot] else { break };
            // An entry may move back to the hole, but not before its home, where no probe would
            // find it. Distances are modulo the table, because a probe wraps around.
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

    #[inline]
    fn home(&self, key: &K) -> usize {
        key.home(self.shift)
    }

    /// The slot of a key, or the free slot for it. Terminates because half of the slots are free.
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

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::num::NonZeroU32;

    use proptest::prelude::*;

    use super::*;

    const _: () = assert!(size_of::<Option<Entry<u64, NonZeroU32>>>() == 16);

    /// A key with a given home, so that entries collide and wrap around the end.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    struct Placed {
        /// The home slot, in a table of 32.
        home: u8,
        name: u8,
    }

    impl Key for Placed {
        fn hash(&self) -> u64 {
            u64::from(self.home) << (64 - 5)
        }
    }

    #[derive(Debug, Clone, Copy)]
    enum Step {
        Insert(Placed, u16),
        Remove(Placed),
        Add(Placed, u16),
    }

    fn placed() -> impl Strategy<Value = Placed> {
        // Most homes are near the end of the table.
        (prop_oneof![4 => 28..32_u8, 1 => 0..32_u8], 0..6_u8)
            .prop_map(|(home, name)| Placed { home, name })
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (placed(), any::<u16>()).prop_map(|(key, value)| Step::Insert(key, value)),
            3 => placed().prop_map(Step::Remove),
            1 => (placed(), any::<u16>()).prop_map(|(key, value)| Step::Add(key, value)),
        ]
    }

    /// Checks that no hole is between an entry and its home, and that every entry is counted.
    fn check_slots(map: &FlatMap<Placed, u16>) {
        let mask = map.slots.len() - 1;
        let mut entries = 0;
        for (slot, entry) in map.slots.iter().enumerate() {
            let Some(entry) = entry else { continue };
            entries += 1;
            let mut probe = map.home(&entry.key);
            while probe != slot {
                assert!(map.slots[probe].is_some(), "a hole before {entry:?} at {slot}");
                probe = (probe + 1) & mask;
            }
        }
        assert_eq!(entries, map.len());
    }

    proptest! {
        #[test]
        fn it_is_a_map(steps in prop::collection::vec(step(), 0..400)) {
            let capacity = 16_u32;
            let mut map = FlatMap::new(capacity);
            let mut model = HashMap::new();
            for step in steps {
                match step {
                    Step::Insert(key, value) => {
                        let expected = if model.contains_key(&key) {
                            Err(InsertError::Duplicate)
                        } else if model.len() == capacity as usize {
                            Err(InsertError::Full)
                        } else {
                            model.insert(key, value);
                            Ok(())
                        };
                        prop_assert_eq!(map.insert(key, value), expected);
                    }
                    Step::Remove(key) => prop_assert_eq!(map.remove(&key), model.remove(&key)),
                    Step::Add(key, value) => {
                        let expected = model.get_mut(&key).map(|v| { *v ^= value; *v });
                        let changed = map.get_mut(&key).map(|v| { *v ^= value; *v });
                        prop_assert_eq!(changed, expected);
                    }
                }
                check_slots(&map);
                prop_assert_eq!(map.is_empty(), model.is_empty());
                for (key, value) in &model {
                    prop_assert_eq!(map.get(key), Some(*value));
                }
            }
        }
    }

    #[test]
    fn half_of_the_slots_stay_free() {
        for capacity in [0, 1, 2, 3, 4, 5, 1000, 1024, 1025] {
            let mut map = FlatMap::new(capacity);
            assert!(map.slots.len() >= 2 * capacity as usize);
            for id in 0..u64::from(capacity) {
                assert_eq!(map.insert(id, ()), Ok(()));
            }
            assert_eq!(map.insert(u64::MAX, ()), Err(InsertError::Full));
            assert_eq!((map.len(), map.capacity()), (capacity as usize, capacity as usize));
            assert_eq!(map.get(&u64::MAX), None);
        }
    }

    #[test]
    fn consecutive_ids_do_not_pile_up() {
        let capacity = 1 << 16;
        let mut map = FlatMap::new(capacity);
        // A moving window of ids, as over a day.
        for id in 0..10 * u64::from(capacity) {
            map.insert(id, ()).unwrap();
            if id >= u64::from(capacity) - 1 {
                map.remove(&(id + 1 - u64::from(capacity))).unwrap();
            }
        }
        let mask = map.slots.len() - 1;
        let longest = map
            .slots
            .iter()
            .enumerate()
            .filter_map(|(slot, entry)| Some(slot.wrapping_sub(map.home(&(*entry)?.key)) & mask))
            .max();
        assert!(longest.unwrap() <= 2, "an entry stands {longest:?} slots from its home");
    }
}

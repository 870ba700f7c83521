//! The distributor's protocol, over any words: a region's in production, loom's in `tests/loom.rs`.
//! It uses only atomics, no `unsafe`.
//!
//! Each key counts its publications; the count is its sequence. A value goes into slot `sequence %
//! slots` of its key under a seqlock (data are read and written as relaxed atomic words, with the
//! fences of H.-J. Boehm, "Can seqlocks get along with programming language memory models?", MSPC
//! 2012). The key's `newest` is its last complete sequence, so it never points to a value being
//! written.
//!
//! Then the publication is noted in a journal, a ring of words that each reader follows at its own
//! position:
//!
//! | bits | of a journal's word |
//! |---|---|
//! | 24..64 | turn: `position / journal + 1`; 0 before the first |
//! | 8..24 | key |
//! | 0..8 | slot |
//!
//! | bits | of a slot's word |
//! |---|---|
//! | 17..64 | sequence |
//! | 1..17 | length of the value, bytes |
//! | 0 | 1 while the value is being written |
//!
//! For any number of keys, a reader polls one word, which gives the position of the value. A reader
//! that finds more than one note uses `newest`, and skips notes of values that it has already seen:
//! that is the conflation. A reader that fell behind by more than the journal looks at each key
//! once.

use crate::atomics::{AtomicU32, AtomicU64, Ordering, fence};
use crate::bell::Bell;

/// Maximum number of keys.
pub const KEYS_MAX: u32 = 1 << 16;

/// Maximum number of slots per key.
pub const SLOTS_MAX: u32 = 1 << 8;

/// Longest value, bytes.
pub const VALUE_BYTES_MAX: usize = u16::MAX as usize;

/// Minimum number of notes in the journal, 8 KiB. With more keys there are more notes, so that
/// looking at each key once is never more work than the journal.
const JOURNAL_MIN: u32 = 1 << 10;

const TURN_MASK: u64 = (1 << 40) - 1;
const SEQUENCE_MASK: u64 = (1 << 47) - 1;

/// How often a reader tries to read a value that changes. Each failure means that a newer value has
/// a later note in the journal, so the reader gets it anyway.
const READ_ATTEMPTS: u32 = 4;

/// Words before the keys' newest sequences, each on its own pair of cache lines.
const POSITION: usize = 0;
const BELL: usize = 16;
const NEWEST: usize = 32;
/// Words of a pair of cache lines.
const PAIR_WORDS: usize = 16;
/// Words of a cache line: a slot begins on one.
const LINE_WORDS: usize = 8;

/// The bell's position, in half words.
pub(crate) const BELL_HALF_WORD: usize = BELL * 2;

const _: () = {
    assert!(POSITION * 8 == 0);
    assert!(BELL_HALF_WORD * 4 == 128);
    assert!(NEWEST * 8 == 256);
    assert!(KEYS_MAX <= 1 << 16 && SLOTS_MAX <= 1 << 8 && VALUE_BYTES_MAX < 1 << 16);
};

/// The memory of a distributor.
pub(crate) trait Words {
    fn words(&self) -> &[AtomicU64];
    fn bell(&self) -> &AtomicU32;
}

/// Parameters on which all ends must agree. Positions are in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    pub keys: usize,
    pub slots: usize,
    pub value_bytes_max: usize,
    pub may_sleep: bool,
    journal_log2: u32,
    journal: usize,
    values: usize,
    slot_words: usize,
}

impl Geometry {
    /// `slots` is a power of two.
    pub(crate) fn new(
        keys: usize,
        slots: usize,
        value_bytes_max: usize,
        may_sleep: bool,
    ) -> Geometry {
        let journal_min = (JOURNAL_MIN as usize).max(keys);
        Geometry::with_journal(keys, slots, value_bytes_max, may_sleep, journal_min)
    }

    pub(crate) fn with_journal(
        keys: usize,
        slots: usize,
        value_bytes_max: usize,
        may_sleep: bool,
        journal_min: usize,
    ) -> Geometry {
        let journal_log2 = journal_min.next_power_of_two().trailing_zeros();
        let journal = NEWEST + keys.next_multiple_of(PAIR_WORDS);
        let values = (journal + (1 << journal_log2)).next_multiple_of(PAIR_WORDS);
        let slot_words = (1 + value_bytes_max.div_ceil(8)).next_multiple_of(LINE_WORDS);
        Geometry {
            keys,
            slots,
            value_bytes_max,
            may_sleep,
            journal_log2,
            journal,
            values,
            slot_words,
        }
    }

    /// Total number of words.
    pub(crate) fn words(&self) -> usize {
        self.values + self.keys * self.slots * self.slot_words
    }

    #[inline(always)]
    fn note_at(&self, position: u64) -> usize {
        self.journal + (position & ((1 << self.journal_log2) - 1)) as usize
    }

    #[inline(always)]
    fn turn(&self, position: u64) -> u64 {
        ((position >> self.journal_log2) + 1) & TURN_MASK
    }

    /// The position of a sequence's slot: its word, then the value.
    #[inline(always)]
    fn slot_at(&self, key: usize, sequence: u64) -> usize {
        let slot = sequence as usize & (self.slots - 1);
        self.values + (key * self.slots + slot) * self.slot_words
    }
}

/// Why a value was not published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PublishError {
    /// The distributor has fewer keys.
    #[error("there is no such key: create the distributor for more")]
    NoSuchKey,
    /// The value is longer than a slot.
    #[error("the value is longer than the distributor's slots: create it for longer ones")]
    TooLong,
}

/// The writing end. Its owner's claim makes it exclusive.
pub(crate) struct Publisher<W> {
    memory: W,
    geometry: Geometry,
    /// The position of the next note.
    position: u64,
}

impl<W: Words> Publisher<W> {
    /// Takes over from the previous writer, which may have died at any instruction.
    pub(crate) fn take_over(memory: W, geometry: Geometry) -> Publisher<W> {
        let words = memory.words();
        let mut position = words[POSITION].load(Ordering::Acquire);
        // It may have written a note without counting it, and a reader may have read that note.
        if words[geometry.note_at(position)].load(Ordering::Acquire) >> 24
            == geometry.turn(position)
        {
            position = position.wrapping_add(1);
        }
        let mut publisher = Publisher { memory, geometry, position };
        for key in 0..geometry.keys {
            let words = publisher.memory.words();
            let mut sequence = words[NEWEST + key].load(Ordering::Acquire);
            // It may have written a value without publishing it, and a reader with an old note of
            // that slot may have taken it. So that sequence counts as used.
            let next = sequence.wrapping_add(1) & SEQUENCE_MASK;
            let word = words[geometry.slot_at(key, next)].load(Ordering::Acquire);
            if word >> 17 == next && word & 1 == 0 {
                sequence = next;
                words[NEWEST + key].store(sequence, Ordering::Release);
            }
            // It may have published without a note. A reader that has seen the value skips this
            // note.
            if sequence != 0 {
                publisher.note(key, sequence);
            }
        }
        publisher.ring();
        publisher
    }

    #[inline]
    pub(crate) fn publish(&mut self, key: usize, value: &[u8]) -> Result<(), PublishError> {
        if key >= self.geometry.keys {
            return Err(PublishError::NoSuchKey);
        }
        if value.len() > self.geometry.value_bytes_max {
            return Err(PublishError::TooLong);
        }
        let words = self.memory.words();
        let newest = &words[NEWEST + key];
        let sequence = newest.load(Ordering::Relaxed).wrapping_add(1) & SEQUENCE_MASK;
        let at = self.geometry.slot_at(key, sequence);
        let (word, data) = words[at..at + self.geometry.slot_words].split_first().expect("slot");
        word.store(sequence << 17 | 1, Ordering::Relaxed);
        // No data may be stored before the word that marks them as being written.
        fence(Ordering::Release);
        store_bytes(data, value);
        word.store(sequence << 17 | (value.len() as u64) << 1, Ordering::Release);
        newest.store(sequence, Ordering::Release);
        self.note(key, sequence);
        self.ring();
        Ok(())
    }

    #[inline(always)]
    fn note(&mut self, key: usize, sequence: u64) {
        let words = self.memory.words();
        let slot = sequence as usize & (self.geometry.slots - 1);
        let note = self.geometry.turn(self.position) << 24 | (key as u64) << 8 | slot as u64;
        words[self.geometry.note_at(self.position)].store(note, Ordering::Release);
        self.position = self.position.wrapping_add(1);
        words[POSITION].store(self.position, Ordering::Release);
    }

    #[inline(always)]
    fn ring(&self) {
        if self.geometry.may_sleep {
            Bell(self.memory.bell()).ring();
        }
    }
}

/// A reading end; there may be any number.
pub(crate) struct Follower<W> {
    memory: W,
    geometry: Geometry,
    /// Next note; `None` if each key must be looked at.
    next: Option<u64>,
    /// Last sequence shown, by key.
    seen: Vec<u64>,
    /// Buffer for the shown value.
    value: Vec<u8>,
    /// Slots with an invalid length.
    damaged: u64,
}

impl<W: Words> Follower<W> {
    /// A reader whose first poll shows the newest value of each key.
    pub(crate) fn new(memory: W, geometry: Geometry) -> Follower<W> {
        let words = memory.words();
        let before_newest =
            |key: usize| words[NEWEST + key].load(Ordering::Acquire).saturating_sub(1);
        let seen = (0..geometry.keys).map(before_newest).collect();
        let value = vec![0; geometry.value_bytes_max.next_multiple_of(8)];
        Follower { memory, geometry, next: None, seen, value, damaged: 0 }
    }

    pub(crate) fn damaged(&self) -> u64 {
        self.damaged
    }

    /// Shows the newest value of each key that has a new one. Reads at most as many notes as the
    /// journal has, and each key at most once, so that a fast writer can't hold it.
    #[inline]
    pub(crate) fn poll(&mut self, mut show: impl FnMut(usize, &[u8], u64)) -> usize {
        let mut shown = 0;
        let mut next = match self.next {
            Some(next) => next,
            None => self.look_at_each_key(&mut shown, &mut show),
        };
        for _ in 0..1u64 << self.geometry.journal_log2 {
            let note = self.memory.words()[self.geometry.note_at(next)].load(Ordering::Acquire);
            let turn = self.geometry.turn(next);
            if note >> 24 != turn {
                if note >> 24 != turn.wrapping_sub(1) & TURN_MASK {
                    // The writer has overwritten notes; the keys have their values.
                    next = self.look_at_each_key(&mut shown, &mut show);
                }
                break;
            }
            next = next.wrapping_add(1);
            let (key, slot) = ((note >> 8 & 0xFFFF) as usize, note & 0xFF);
            if key >= self.geometry.keys {
                self.damaged += 1;
                continue;
            }
            let hint = if self.is_noted(next) { None } else { Some(slot) };
            shown += usize::from(self.show_newest(key, hint, &mut show));
        }
        self.next = Some(next);
        shown
    }

    #[inline(always)]
    fn is_noted(&self, position: u64) -> bool {
        let note = self.memory.words()[self.geometry.note_at(position)].load(Ordering::Relaxed);
        note >> 24 == self.geometry.turn(position)
    }

    #[cold]
    fn look_at_each_key(
        &mut self,
        shown: &mut usize,
        show: &mut impl FnMut(usize, &[u8], u64),
    ) -> u64 {
        // Read the position first: later publications are noted after it.
        let position = self.memory.words()[POSITION].load(Ordering::Acquire);
        // If `show` panics, the next poll looks again, and shows nothing twice.
        self.next = None;
        for key in 0..self.geometry.keys {
            *shown += usize::from(self.show_newest(key, None, show));
        }
        position
    }

    /// Shows the key's newest value, if not yet seen. `hint` is the slot that probably has it,
    /// which saves loading one more line from the writer's core.
    #[inline(always)]
    fn show_newest(
        &mut self,
        key: usize,
        hint: Option<u64>,
        show: &mut impl FnMut(usize, &[u8], u64),
    ) -> bool {
        let mut hint = hint;
        for _ in 0..READ_ATTEMPTS {
            let newest = || self.memory.words()[NEWEST + key].load(Ordering::Acquire);
            let sequence = hint.take().unwrap_or_else(newest);
            if let Some((sequence, length)) = self.read(key, sequence) {
                let missed = sequence.wrapping_sub(self.seen[key]).wrapping_sub(1);
                if sequence <= self.seen[key] {
                    return false;
                }
                if length > self.geometry.value_bytes_max {
                    self.damaged += 1;
                    return false;
                }
                self.seen[key] = sequence;
                show(key, &self.value[..length], missed);
                return true;
            }
        }
        false
    }

    /// Copies the slot of a sequence; returns its content unless it changed in between.
    #[inline(always)]
    fn read(&mut self, key: usize, sequence: u64) -> Option<(u64, usize)> {
        let at = self.geometry.slot_at(key, sequence);
        let (word, data) = self.memory.words()[at..at + self.geometry.slot_words].split_first()?;
        let before = word.load(Ordering::Acquire);
        if before & 1 == 1 {
            return None;
        }
        let length = (before >> 1 & 0xFFFF) as usize;
        load_bytes(data, &mut self.value, length);
        // No data may be loaded after the word that says that they did not change.
        fence(Ordering::Acquire);
        (word.load(Ordering::Relaxed) == before).then_some((before >> 17, length))
    }
}

#[inline(always)]
fn store_bytes(words: &[AtomicU64], bytes: &[u8]) {
    let (whole, rest) = bytes.as_chunks::<8>();
    let mut words = words.iter();
    // In this order, because a zip that ends takes one more item from its left side.
    for (chunk, word) in whole.iter().zip(words.by_ref()) {
        word.store(u64::from_ne_bytes(*chunk), Ordering::Relaxed);
    }
    if let (Some(word), false) = (words.next(), rest.is_empty()) {
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        word.store(u64::from_ne_bytes(last), Ordering::Relaxed);
    }
}

/// Loads as many bytes as both sides have, in whole words.
#[inline(always)]
fn load_bytes(words: &[AtomicU64], bytes: &mut [u8], length: usize) {
    let places = bytes.as_chunks_mut::<8>().0.iter_mut();
    for (place, word) in places.zip(words).take(length.div_ceil(8)) {
        *place = word.load(Ordering::Relaxed).to_ne_bytes();
    }
}

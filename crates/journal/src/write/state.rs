//! What the threads of a journal tell each other, without a system call.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crate::error::JournalError;

/// How a journal does.
#[derive(Clone, Copy, Debug)]
pub enum JournalState<'a> {
    /// Inputs are taken.
    Running,
    /// The disk is full. Orders and amendments are refused as soon as only the reserve is left; it
    /// is tried again, and ends by itself.
    NoRoom,
    /// Nothing is taken any more, and what was not durable never will be.
    Failed {
        /// What happened.
        why: &'a JournalError,
    },
}

/// A word on cache lines of its own (two, because processors fetch them in pairs).
#[derive(Debug)]
#[repr(align(128))]
struct PaddedWord(AtomicU64);

/// Written by the writer's threads, read by the engine's.
#[derive(Debug)]
pub(crate) struct WriterState {
    /// All inputs below are durable.
    durable: PaddedWord,
    /// All inputs below have their place on the disk. 0: nothing is taken any more.
    room_end: PaddedWord,
    has_no_room: AtomicBool,
    failure: OnceLock<Arc<JournalError>>,
    /// The appender is gone: the writer ends when it has written what is in the ring.
    stop: AtomicBool,
}

impl WriterState {
    pub fn new(durable: u64, room_end: u64) -> WriterState {
        WriterState {
            durable: PaddedWord(AtomicU64::new(durable)),
            room_end: PaddedWord(AtomicU64::new(room_end)),
            has_no_room: AtomicBool::new(false),
            failure: OnceLock::new(),
            stop: AtomicBool::new(false),
        }
    }

    #[inline]
    pub fn durable(&self) -> u64 {
        self.durable.0.load(Ordering::Acquire)
    }

    pub fn set_durable(&self, sequence: u64) {
        self.durable.0.store(sequence, Ordering::Release);
    }

    #[inline]
    pub fn room_end(&self) -> u64 {
        self.room_end.0.load(Ordering::Acquire)
    }

    /// Says that there is room up to `end`, unless all is over.
    pub fn set_room_end(&self, end: u64) {
        let order = Ordering::AcqRel;
        let unless_over = |before| (before != 0).then_some(end);
        let _ = self.room_end.0.fetch_update(order, Ordering::Acquire, unless_over);
        self.has_no_room.store(false, Ordering::Release);
    }

    pub fn set_no_room(&self) {
        self.has_no_room.store(true, Ordering::Release);
    }

    pub fn set_room(&self) {
        self.has_no_room.store(false, Ordering::Release);
    }

    /// The end of the journal; the first reason counts.
    pub fn fail(&self, why: JournalError) {
        let _ = self.failure.set(Arc::new(why));
        self.room_end.0.store(0, Ordering::Release);
    }

    /// Why it failed, if it did.
    pub fn failure(&self) -> Option<Arc<JournalError>> {
        self.failure.get().cloned()
    }

    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }

    /// Whether nothing more will be taken.
    pub fn is_over(&self) -> bool {
        self.is_stopped() || self.room_end() == 0
    }

    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    pub fn state(&self) -> JournalState<'_> {
        match self.failure.get() {
            Some(why) => JournalState::Failed { why },
            None if self.has_no_room.load(Ordering::Acquire) => JournalState::NoRoom,
            None => JournalState::Running,
        }
    }
}

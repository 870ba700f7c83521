//! State shared by a journal's threads, without system calls.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::Thread;

use crate::error::JournalError;

/// State of a journal.
#[derive(Clone, Copy, Debug)]
pub enum JournalState<'a> {
    /// It accepts inputs.
    Running,
    /// The disk is full. Once only the reserve is left, orders and amendments are rejected. The
    /// writer keeps trying, and this state ends when there is room.
    NoRoom,
    /// It accepts no inputs any more, and inputs that are not durable are lost.
    Failed {
        /// The error.
        why: &'a JournalError,
    },
}

/// A word with its own cache lines (two, because processors fetch them in pairs).
#[derive(Debug)]
#[repr(align(128))]
struct PaddedWord(AtomicU64);

/// Written by the writer's threads, read by the engine's.
#[derive(Debug)]
pub(crate) struct WriterState {
    /// All inputs below are durable.
    durable: PaddedWord,
    /// All inputs below are in the log's files, durable or not.
    written: PaddedWord,
    /// All inputs below are durable at the follower.
    replicated: PaddedWord,
    /// The follower has not acknowledged for longer than its limit.
    has_no_follower: AtomicBool,
    /// The thread that ships written records; it may be parked.
    shipper: OnceLock<Thread>,
    /// All inputs below have room on the disk. 0: no input is accepted any more.
    room_end: PaddedWord,
    has_no_room: AtomicBool,
    failure: OnceLock<Arc<JournalError>>,
    /// The appender was dropped: the writer ends after it has written the ring's inputs.
    stop: AtomicBool,
}

impl WriterState {
    pub fn new(durable: u64, room_end: u64) -> WriterState {
        WriterState {
            durable: PaddedWord(AtomicU64::new(durable)),
            written: PaddedWord(AtomicU64::new(durable)),
            replicated: PaddedWord(AtomicU64::new(0)),
            has_no_follower: AtomicBool::new(false),
            shipper: OnceLock::new(),
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

    pub fn written(&self) -> u64 {
        self.written.0.load(Ordering::Acquire)
    }

    pub fn set_written(&self, sequence: u64) {
        self.written.0.store(sequence, Ordering::Release);
        if let Some(shipper) = self.shipper.get() {
            shipper.unpark();
        }
    }

    /// Sets the thread to wake after each write; only the first counts.
    pub fn set_shipper(&self, shipper: Thread) {
        let _ = self.shipper.set(shipper);
    }

    #[inline]
    pub fn replicated(&self) -> u64 {
        self.replicated.0.load(Ordering::Acquire)
    }

    pub fn set_replicated(&self, sequence: u64) {
        self.replicated.0.fetch_max(sequence, Ordering::AcqRel);
    }

    #[inline]
    pub fn has_no_follower(&self) -> bool {
        self.has_no_follower.load(Ordering::Acquire)
    }

    pub fn set_no_follower(&self, is_lost: bool) {
        self.has_no_follower.store(is_lost, Ordering::Release);
    }

    #[inline]
    pub fn room_end(&self) -> u64 {
        self.room_end.0.load(Ordering::Acquire)
    }

    /// Sets the end of the room, unless the journal has ended.
    pub fn set_room_end(&self, end: u64) {
        let order = Ordering::AcqRel;
        let unless_over = |before| (before != 0).then_some(end);
        let _ = self.room_end.0.fetch_update(order, Ordering::Acquire, unless_over);
        self.has_no_room.store(false, Ordering::Release);
    }

    pub fn has_no_room(&self) -> bool {
        self.has_no_room.load(Ordering::Acquire)
    }

    pub fn set_no_room(&self) {
        self.has_no_room.store(true, Ordering::Release);
    }

    pub fn set_room(&self) {
        self.has_no_room.store(false, Ordering::Release);
    }

    /// Fails the journal; the first reason counts.
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

    /// Whether no more inputs will be accepted.
    pub fn is_over(&self) -> bool {
        self.is_stopped() || self.room_end() == 0
    }

    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    pub fn state(&self) -> JournalState<'_> {
        match self.failure.get() {
            Some(why) => JournalState::Failed { why },
            None if self.has_no_room() => JournalState::NoRoom,
            None => JournalState::Running,
        }
    }
}

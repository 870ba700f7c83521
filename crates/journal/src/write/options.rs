//! How a journal is written.

use ipc::ring::SLOTS_MAX;
use ipc::wait::Wait;

use crate::error::JournalError;
use crate::file::header::{HEADER_BYTES, SEGMENT_BYTES_MAX};
use crate::file::record::RECORD_BYTES;

/// Smallest segment, bytes.
pub const SEGMENT_BYTES_MIN: u64 = 1 << 12;
/// Most inputs that are written and made durable at once.
pub const GROUP_INPUTS_MAX: u32 = 1 << 16;

/// When an input may be acknowledged. Both write the same bytes in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// When it was taken. A process that dies loses what was not written, a power failure what was
    /// not durable: some milliseconds' worth, and always the last.
    Async,
    /// When it is durable.
    Sync,
}

/// How a journal is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// When an input may be acknowledged.
    pub mode: Mode,
    /// Bytes of a segment's file, [`SEGMENT_BYTES_MIN`] to [`SEGMENT_BYTES_MAX`]. Segments that
    /// are there keep their size.
    pub segment_bytes: u64,
    /// Whether a segment's blocks are written with zeros when it is made, and not only allocated:
    /// costs as much writing again, and may spare each `fdatasync` a note in the file system's own
    /// journal.
    pub zeroed: bool,
    /// Inputs for which room on the disk is kept when there is no more: orders and amendments are
    /// refused, and cancels and what the operator sends can still be logged. Less than half of a
    /// segment.
    pub reserve_inputs: u64,
    /// Inputs that wait between engine and writer: a power of two, 2 to [`SLOTS_MAX`]. Where it is
    /// full, an input is refused.
    pub ring_slots: u32,
    /// Inputs that are written and made durable at once, at most: 1 to [`GROUP_INPUTS_MAX`].
    pub group_inputs_max: u32,
    /// How the writer waits for inputs.
    pub wait: Wait,
    /// The core of the writer's threads. `None`: those on which the thread that opens may run.
    pub core: Option<usize>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            mode: Mode::Sync,
            segment_bytes: 256 << 20,
            zeroed: false,
            reserve_inputs: 1 << 16,
            ring_slots: 1 << 16,
            group_inputs_max: 1 << 12,
            wait: Wait::Futex { spins: 200 },
            core: None,
        }
    }
}

impl Options {
    /// Records that a segment of this size has room for.
    pub(crate) fn segment_records(&self) -> u64 {
        (self.segment_bytes - HEADER_BYTES as u64) / RECORD_BYTES as u64
    }

    pub(crate) fn check(&self) -> Result<(), JournalError> {
        let range = |name, given, least, most| {
            if (least..=most).contains(&given) {
                return Ok(());
            }
            Err(JournalError::Option { name, given, least, most })
        };
        range("segment_bytes", self.segment_bytes, SEGMENT_BYTES_MIN, SEGMENT_BYTES_MAX)?;
        range("reserve_inputs", self.reserve_inputs, 0, self.segment_records() / 2)?;
        range("ring_slots", self.ring_slots.into(), 2, SLOTS_MAX.into())?;
        range("group_inputs_max", self.group_inputs_max.into(), 1, GROUP_INPUTS_MAX.into())
    }
}

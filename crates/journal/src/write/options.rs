//! Options of a journal's writer.

use ipc::ring::SLOTS_MAX;
use ipc::wait::Wait;

use crate::error::JournalError;
use crate::file::header::{HEADER_BYTES, SEGMENT_BYTES_MAX};
use crate::file::record::RECORD_BYTES;

/// Smallest segment, bytes.
pub const SEGMENT_BYTES_MIN: u64 = 1 << 12;
/// Maximum number of inputs that are written and made durable together.
pub const GROUP_INPUTS_MAX: u32 = 1 << 16;

/// When an input may be acknowledged. Both modes write the same bytes in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// When it was accepted. If the process dies, unwritten inputs are lost; in a power failure,
    /// inputs that are not durable: always the last ones, some milliseconds' worth.
    Async,
    /// When it is durable.
    Sync,
}

/// How a journal's inputs get to a follower, which keeps a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replication {
    /// `Sync`: an input may be acknowledged only once it is durable at the follower, too. `Async`:
    /// the follower lags behind.
    pub mode: Mode,
    /// Maximum number of records that the follower may lack, from 1: with more, orders and
    /// amendments are rejected.
    pub lag_max: u64,
}

/// Options of a journal's writer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// When an input may be acknowledged.
    pub mode: Mode,
    /// Bytes of a segment's file, [`SEGMENT_BYTES_MIN`] to [`SEGMENT_BYTES_MAX`]. Existing segments
    /// keep their size.
    pub segment_bytes: u64,
    /// Whether a segment is filled with zeros when it is made, and not only allocated. This doubles
    /// the written bytes, but may spare each `fdatasync` an update of the file system's own
    /// journal.
    pub zeroed: bool,
    /// Inputs for which room is reserved on a full disk: orders and amendments are then rejected,
    /// but cancels and the operator's commands can still be logged. Less than half of a segment.
    pub reserve_inputs: u64,
    /// Capacity of the ring between engine and writer: a power of two, 2 to [`SLOTS_MAX`]. When it
    /// is full, inputs are rejected.
    pub ring_slots: u32,
    /// Maximum number of inputs that are written and made durable together: 1 to
    /// [`GROUP_INPUTS_MAX`].
    pub group_inputs_max: u32,
    /// How the writer waits for inputs.
    pub wait: Wait,
    /// The cores that the writer's threads may run on. Empty: those of the opening thread.
    pub cores: Vec<usize>,
    /// `None`: there is no follower.
    pub replication: Option<Replication>,
    /// Ended orders of which recovery tells how they ended: the last ones that had a client id
    /// ([`crate::ClientIds::ended`]). 80 bytes each.
    pub ended_orders_max: usize,
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
            cores: Vec::new(),
            replication: None,
            ended_orders_max: 0,
        }
    }
}

impl Options {
    /// Capacity of a segment of this size in records.
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
        range("group_inputs_max", self.group_inputs_max.into(), 1, GROUP_INPUTS_MAX.into())?;
        let lag_max = self.replication.map_or(1, |replication| replication.lag_max);
        range("lag_max", lag_max, 1, u64::MAX)
    }
}

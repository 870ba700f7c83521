//! One of a desk's connections.

use crate::load::session::LoadMessage;
use transport::StreamId;

/// Bytes that wait in a lane whose socket is full. Beyond that the desk sends nothing until the
/// socket takes some, and messages are late. It is half of one read, so that replies are read as
/// fast as they are caused.
pub(super) const LANE_BYTES_MAX: usize = 32 * 1024;

/// One connection.
pub(crate) struct LoadLane {
    pub(crate) stream: StreamId,
    /// Encoded, but not taken by the kernel yet.
    pub(crate) bytes: Vec<u8>,
    /// The messages in `bytes`, each with the offset of its end.
    pub(crate) unsent: Vec<UnsentMessage>,
    /// It is in the desk's list of lanes to write.
    pub(crate) dirty: bool,
    pub(crate) watched: bool,
    pub(crate) unanswered: u32,
    /// Time of the last read with data, or of the first message after nothing was owed.
    pub(crate) quiet_since_ns: u64,
    /// The highest sequence number answered so far, to detect replies out of order.
    pub(crate) answered_sequence: u64,
}

#[derive(Clone, Copy)]
pub(crate) struct UnsentMessage {
    pub(crate) number: u64,
    pub(crate) message: LoadMessage,
    pub(crate) end: usize,
}

impl LoadLane {
    pub(super) fn new(stream: StreamId) -> LoadLane {
        LoadLane {
            stream,
            bytes: Vec::with_capacity(LANE_BYTES_MAX + 64 * 1024),
            unsent: Vec::with_capacity(LANE_BYTES_MAX / 64),
            dirty: false,
            watched: false,
            unanswered: 0,
            quiet_since_ns: 0,
            answered_sequence: 0,
        }
    }
}

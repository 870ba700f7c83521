//! The end of a log: a group of records, made durable with one write and one `fdatasync`, over
//! segments that are prepared ahead.

use std::sync::Arc;

use engine::Input;

use crate::error::JournalError;
use crate::file::directory::Lock;
use crate::file::mark::Mark;
use crate::file::record::{RECORD_BYTES, encode};
use crate::file::segment::Segment;
use crate::write::ahead::{RETRY, SegmentMaker};
use crate::write::state::WriterState;

/// Writes records to the end of a log.
pub(crate) struct LogWriter {
    /// The present segment.
    pub segment: Segment,
    /// The first unwritten input.
    pub next: u64,
    /// Records to write together.
    pub group: Vec<u8>,
    pub shared: Arc<WriterState>,
    pub ahead: SegmentMaker,
    pub mark: Mark,
    /// Dropped last: another writer may start only after all other parts have ended.
    #[expect(dead_code, reason = "held")]
    pub lock: Lock,
}

impl LogWriter {
    /// The sequence after the group.
    pub fn group_end(&self) -> u64 {
        self.next + (self.group.len() / RECORD_BYTES) as u64
    }

    /// Adds a record to the group.
    pub fn push(&mut self, content: &[u8; Input::BYTES]) {
        let record = encode(self.group_end(), self.shared.durable(), content);
        self.group.extend_from_slice(&record);
    }

    /// Makes the group durable. If a segment ends within it, its first part is made durable before
    /// the next segment gets content.
    pub fn commit(&mut self) -> Result<(), JournalError> {
        let mut written = 0;
        while written < self.group.len() {
            if self.next == self.segment.end() {
                self.segment = self.ahead.take().ok_or_else(|| self.no_segment())?;
            }
            let room = (self.segment.end() - self.next) as usize * RECORD_BYTES;
            let part = room.min(self.group.len() - written);
            self.retry(|| self.segment.write(self.next, &self.group[written..written + part]))?;
            written += part;
            let end = self.next + (part / RECORD_BYTES) as u64;
            // A follower's disk works while ours does.
            self.shared.set_written(end);
            self.segment.sync()?;
            self.next = end;
            self.retry(|| self.mark.set(self.next))?;
            self.shared.set_durable(self.next);
        }
        self.group.clear();
        Ok(())
    }

    /// Writes. A file system that copies on write may lack the promised room: then this waits for
    /// room. A failed write can be tried again, unlike a sync.
    fn retry(&self, write: impl Fn() -> Result<(), JournalError>) -> Result<(), JournalError> {
        let mut is_first = true;
        loop {
            match write() {
                Ok(()) => {
                    if !is_first {
                        self.shared.set_room();
                    }
                    return Ok(());
                }
                Err(JournalError::NoRoom { .. }) if !self.shared.is_over() => {
                    self.shared.set_no_room();
                    is_first = false;
                    std::thread::sleep(RETRY);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The error if the promised room for accepted inputs does not exist.
    fn no_segment(&self) -> JournalError {
        let source = std::io::Error::from(std::io::ErrorKind::Interrupted);
        JournalError::system("go on behind", self.segment.path(), source)
    }
}

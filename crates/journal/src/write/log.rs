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

/// Asked during a wait, with whether the disk is full: whether to go on.
pub(crate) type GoesOn<'a> = &'a mut dyn FnMut(bool) -> bool;

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
    /// the next segment gets content. While it waits for room or a segment, it asks `goes_on`, with
    /// whether the disk is full. Returns whether all of the group is durable. If not, `goes_on`
    /// said no, and the rest is dropped.
    pub fn commit(&mut self, goes_on: GoesOn<'_>) -> Result<bool, JournalError> {
        let is_whole = self.write(goes_on)?;
        self.group.clear();
        Ok(is_whole)
    }

    fn write(&mut self, goes_on: GoesOn<'_>) -> Result<bool, JournalError> {
        let mut written = 0;
        while written < self.group.len() {
            if self.next == self.segment.end() {
                let shared = &self.shared;
                let taken = self.ahead.take(&mut || goes_on(shared.has_no_room()));
                let Some(segment) = taken.map_err(|_| self.no_segment())? else {
                    return Ok(false);
                };
                self.segment = segment;
            }
            let room = (self.segment.end() - self.next) as usize * RECORD_BYTES;
            let part = room.min(self.group.len() - written);
            let group = &self.group[written..written + part];
            if !self.retry(goes_on, || self.segment.write(self.next, group))? {
                return Ok(false);
            }
            written += part;
            let end = self.next + (part / RECORD_BYTES) as u64;
            // A follower's disk works while ours does.
            self.shared.set_written(end);
            self.segment.sync()?;
            self.next = end;
            if !self.retry(goes_on, || self.mark.set(self.next))? {
                return Ok(false);
            }
            self.shared.set_durable(self.next);
        }
        Ok(true)
    }

    /// Writes. A file system that copies on write may lack the promised room: then this waits for
    /// room. A failed write can be tried again, unlike a sync. Returns whether it is written.
    fn retry(
        &self,
        goes_on: GoesOn<'_>,
        write: impl Fn() -> Result<(), JournalError>,
    ) -> Result<bool, JournalError> {
        let mut is_first = true;
        loop {
            match write() {
                Ok(()) => {
                    if !is_first {
                        self.shared.set_room();
                    }
                    return Ok(true);
                }
                Err(JournalError::NoRoom { .. }) if !self.shared.is_over() => {
                    self.shared.set_no_room();
                    is_first = false;
                    if !goes_on(true) {
                        return Ok(false);
                    }
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

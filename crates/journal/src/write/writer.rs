//! The writer's thread: what is in the ring becomes records, one write, one `fdatasync`, and then
//! they are durable.

use std::sync::Arc;
use std::time::Duration;

use engine::Input;
use ipc::ring::Consumer;
use ipc::wait::Wait;

use crate::error::JournalError;
use crate::file::directory::Lock;
use crate::file::mark::Mark;
use crate::file::record::{RECORD_BYTES, encode};
use crate::file::segment::Segment;
use crate::write::ahead::{Ahead, RETRY};
use crate::write::state::WriterState;

/// How long the ring is waited for before the writer looks whether it is to end. Its end is told
/// by a message as well.
const PATIENCE: Duration = Duration::from_millis(100);

/// The writing thread.
pub(crate) struct Writer {
    pub consumer: Consumer,
    pub wait: Wait,
    pub group_inputs_max: usize,
    /// Is written to.
    pub segment: Segment,
    /// The first input that is not written.
    pub next: u64,
    /// The records that are to be written at once.
    pub group: Vec<u8>,
    pub shared: Arc<WriterState>,
    pub ahead: Ahead,
    pub mark: Mark,
    /// Last: nobody else writes before the others are gone.
    #[expect(dead_code, reason = "held")]
    pub lock: Lock,
}

impl Writer {
    /// Writes until the appender is gone and the ring is empty, or until it can't.
    pub fn run(mut self) {
        let written = self.write_all();
        let Writer { shared, mark, .. } = self;
        if let Err(error) = written.and_then(|()| mark.close()) {
            shared.fail(error);
        }
    }

    fn write_all(&mut self) -> Result<(), JournalError> {
        loop {
            // Looked at before the ring: what was sent before the end is in it then.
            let is_stopped = self.shared.is_stopped();
            self.collect(if is_stopped { Duration::ZERO } else { PATIENCE });
            if !self.group.is_empty() {
                self.commit()?;
            } else if is_stopped {
                return Ok(());
            }
        }
    }

    /// Takes what is in the ring.
    fn collect(&mut self, patience: Duration) {
        let Writer { consumer, group, next, .. } = self;
        let durable = self.shared.durable();
        let mut sequence = *next;
        let take = |message: &[u8]| {
            // An empty message only wakes us.
            if let Ok(input) = <&[u8; Input::BYTES]>::try_from(message) {
                group.extend_from_slice(&encode(sequence, durable, input));
                sequence += 1;
            }
        };
        consumer.receive_within(self.wait, patience, self.group_inputs_max, take);
    }

    /// Makes the group durable. Where a segment ends in it, the first part is, before anything
    /// stands in the next.
    fn commit(&mut self) -> Result<(), JournalError> {
        let mut written = 0;
        while written < self.group.len() {
            if self.next == self.segment.end() {
                self.segment = self.ahead.take().ok_or_else(|| self.no_segment())?;
            }
            let room = (self.segment.end() - self.next) as usize * RECORD_BYTES;
            let part = room.min(self.group.len() - written);
            self.retry(|| self.segment.write(self.next, &self.group[written..written + part]))?;
            self.segment.sync()?;
            written += part;
            self.next += (part / RECORD_BYTES) as u64;
            self.retry(|| self.mark.set(self.next))?;
            self.shared.set_durable(self.next);
        }
        self.group.clear();
        Ok(())
    }

    /// Writes. On a file system that doesn't keep its promise of room (one that copies on write)
    /// it waits for some: a write that was refused can be tried again, unlike a sync.
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

    /// Only where the room that inputs were taken for is not there.
    fn no_segment(&self) -> JournalError {
        let source = std::io::Error::from(std::io::ErrorKind::Interrupted);
        JournalError::system("go on behind", self.segment.path(), source)
    }
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;

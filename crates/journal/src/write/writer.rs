//! The writer's thread: encodes the ring's inputs as records, and makes them durable with one write
//! and one `fdatasync`.

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
use crate::write::ahead::{RETRY, SegmentMaker};
use crate::write::state::WriterState;

/// Longest wait for inputs before the writer checks whether it must end. A message tells it of the
/// end, too.
const PATIENCE: Duration = Duration::from_millis(100);

/// The writing thread.
pub(crate) struct Writer {
    pub consumer: Consumer,
    pub wait: Wait,
    pub group_inputs_max: usize,
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

impl Writer {
    /// Writes until the appender is dropped and the ring is empty, or until an error.
    pub fn run(mut self) {
        let written = self.write_all();
        let Writer { shared, mark, .. } = self;
        if let Err(error) = written.and_then(|()| mark.close()) {
            shared.fail(error);
        }
    }

    fn write_all(&mut self) -> Result<(), JournalError> {
        loop {
            // Read this before the ring: then the ring has all inputs from before the end.
            let is_stopped = self.shared.is_stopped();
            self.collect(if is_stopped { Duration::ZERO } else { PATIENCE });
            if !self.group.is_empty() {
                self.commit()?;
            } else if is_stopped {
                return Ok(());
            }
        }
    }

    /// Takes the ring's inputs.
    fn collect(&mut self, patience: Duration) {
        let Writer { consumer, group, next, .. } = self;
        let durable = self.shared.durable();
        let mut sequence = *next;
        let take = |message: &[u8]| {
            // An input, or a client id and its input. An empty message only wakes this thread.
            let (records, _) = message.as_chunks::<{ Input::BYTES }>();
            for record in records {
                group.extend_from_slice(&encode(sequence, durable, record));
                sequence += 1;
            }
        };
        consumer.receive_within(self.wait, patience, self.group_inputs_max, take);
    }

    /// Makes the group durable. If a segment ends within it, its first part is made durable before
    /// the next segment gets content.
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

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;

//! The writer's thread: takes the ring's inputs and makes them durable, one group after the other.

use std::time::Duration;

use engine::Input;
use ipc::ring::Consumer;
use ipc::wait::Wait;

use crate::error::JournalError;
use crate::write::log::LogWriter;

/// Longest wait for inputs before the writer checks whether it must end. A message tells it of the
/// end, too.
const PATIENCE: Duration = Duration::from_millis(100);

/// The writing thread.
pub(crate) struct Writer {
    pub consumer: Consumer,
    pub wait: Wait,
    pub group_inputs_max: usize,
    pub log: LogWriter,
}

impl Writer {
    /// Writes until the appender is dropped and the ring is empty, or until an error.
    pub fn run(mut self) {
        let written = self.write_all();
        let LogWriter { shared, mark, .. } = self.log;
        if let Err(error) = written.and_then(|()| mark.close()) {
            shared.fail(error);
        }
    }

    fn write_all(&mut self) -> Result<(), JournalError> {
        loop {
            // Read this before the ring: then the ring has all inputs from before the end.
            let is_stopped = self.log.shared.is_stopped();
            self.collect(if is_stopped { Duration::ZERO } else { PATIENCE });
            if !self.log.group.is_empty() {
                self.log.commit(&mut |_| true)?;
            } else if is_stopped {
                return Ok(());
            }
        }
    }

    /// Takes the ring's inputs.
    fn collect(&mut self, patience: Duration) {
        let Writer { consumer, log, .. } = self;
        let take = |message: &[u8]| {
            // An input, or a client id and its input. An empty message only wakes this thread.
            let (records, _) = message.as_chunks::<{ Input::BYTES }>();
            records.iter().for_each(|record| log.push(record));
        };
        consumer.receive_within(self.wait, patience, self.group_inputs_max, take);
    }
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;

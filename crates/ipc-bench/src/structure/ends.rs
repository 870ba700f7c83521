//! The two ends of a structure.

/// Maximum number of messages per batch: between two batches, the consumer reads the clock.
pub(crate) const BATCH_MAX: usize = 64;

/// Result of sending a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendResult {
    /// It was sent.
    Yes,
    /// There is no room now.
    Full,
    /// It can never be sent; [`Sender::complaint`] says why.
    Broken,
}

/// The producer's end.
pub trait Sender: Send {
    /// Sends one message.
    fn send(&mut self, message: &[u8]) -> SendResult;

    /// Why a message could not be sent.
    fn complaint(&self) -> String {
        "a message was rejected for good".to_owned()
    }

    /// How often a block of a queue was not ready in time.
    fn blocks_late(&self) -> u64 {
        0
    }
}

/// The consumer's end.
pub trait Receiver: Send {
    /// Passes received messages to `take`, a bounded number, and returns their number. Never
    /// blocks.
    fn receive(&mut self, take: &mut impl FnMut(&[u8])) -> usize;

    /// Messages that newer ones replaced before they were read; `None` if the structure never
    /// replaces.
    fn conflated(&self) -> Option<u64> {
        None
    }

    /// Why no more messages will come, if so. Called while none comes.
    fn complaint(&self) -> Option<String> {
        None
    }

    /// How often a block of a queue was not ready in time.
    fn blocks_late(&self) -> u64 {
        0
    }
}

//! The two ends of a structure.

/// What there is to take at once at most: between two batches the consumer looks at the clock.
pub(crate) const BATCH_MAX: usize = 64;

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendResult {
    /// It is under way.
    Yes,
    /// There is no room now.
    Full,
    /// It can't be sent, now or later; [`Sender::complaint`] says why.
    Broken,
}

/// The producer's end.
pub trait Sender: Send {
    /// Sends one message.
    fn send(&mut self, message: &[u8]) -> SendResult;

    /// Why a message could not be sent.
    fn complaint(&self) -> String {
        "a message was refused for good".to_owned()
    }

    /// How often a block of a queue was not ready when it was needed.
    fn blocks_late(&self) -> u64 {
        0
    }
}

/// The consumer's end.
pub trait Receiver: Send {
    /// Hands what has come to `take`, a bounded number, and says how many. Never blocks.
    fn receive(&mut self, take: &mut impl FnMut(&[u8])) -> usize;

    /// Messages that newer ones replaced before they were read; `None` where nothing is ever
    /// replaced.
    fn conflated(&self) -> Option<u64> {
        None
    }

    /// Why nothing will come any more, if that is so. Asked while nothing comes.
    fn complaint(&self) -> Option<String> {
        None
    }

    /// How often a block of a queue was not ready when it was needed.
    fn blocks_late(&self) -> u64 {
        0
    }
}

//! The view of a journal's writer for the thread that ships its log to a follower.

use std::sync::Arc;
use std::thread::Thread;

use crate::error::JournalError;
use crate::write::state::WriterState;

/// The shipping thread's end of a journal with a follower.
#[derive(Clone, Debug)]
pub struct Shipping {
    shared: Arc<WriterState>,
}

impl Shipping {
    pub(crate) fn new(shared: Arc<WriterState>) -> Shipping {
        Shipping { shared }
    }

    /// Unparks this thread after every write. Only the first call counts.
    pub fn wake(&self, thread: Thread) {
        self.shared.set_shipper(thread);
    }

    /// All records below are in the log's files, so that a [`crate::Tail`] can read them.
    pub fn written(&self) -> u64 {
        self.shared.written()
    }

    /// All records below are durable at the follower.
    pub fn replicated(&self) -> u64 {
        self.shared.replicated()
    }

    /// The follower has acknowledged all records below `sequence`.
    pub fn acknowledge(&self, sequence: u64) {
        self.shared.set_replicated(sequence);
    }

    /// Whether the follower has been silent for longer than its limit. In sync mode the journal
    /// then accepts no input.
    pub fn set_lost(&self, is_lost: bool) {
        self.shared.set_no_follower(is_lost);
    }

    /// Ends the journal, because another primary has taken over.
    pub fn fence(&self, why: String) {
        self.shared.fail(JournalError::Fenced { why });
    }
}

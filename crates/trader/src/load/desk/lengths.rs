//! Mean lengths of the messages of a load, and of their replies.

use crate::load::session::LoadMessage;
use record::MessageBytes;

/// Messages of one kind, and their bytes.
#[derive(Default, Clone, Copy)]
struct Sum {
    messages: u64,
    bytes: u64,
}

impl Sum {
    fn add(&mut self, bytes: usize) {
        self.messages += 1;
        self.bytes += bytes as u64;
    }

    /// Rounded up; 0 if there was no message.
    fn mean(self) -> u64 {
        if self.messages == 0 { 0 } else { self.bytes.div_ceil(self.messages) }
    }
}

#[derive(Default)]
pub(super) struct Lengths {
    order: Sum,
    order_reply: Sum,
    cancel: Sum,
    cancel_reply: Sum,
}

impl Lengths {
    #[inline]
    pub(super) fn sent(&mut self, message: LoadMessage, bytes: usize) {
        match message {
            LoadMessage::Order => self.order.add(bytes),
            LoadMessage::Cancel => self.cancel.add(bytes),
        }
    }

    #[inline]
    pub(super) fn answered(&mut self, message: LoadMessage, bytes: usize) {
        match message {
            LoadMessage::Order => self.order_reply.add(bytes),
            LoadMessage::Cancel => self.cancel_reply.add(bytes),
        }
    }

    pub(super) fn means(&self) -> MessageBytes {
        MessageBytes {
            order: self.order.mean(),
            order_reply: self.order_reply.mean(),
            cancel: self.cancel.mean(),
            cancel_reply: self.cancel_reply.mean(),
        }
    }
}

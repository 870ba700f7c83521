//! The sending side: datagrams are kept until they are acknowledged.

use crate::acked::datagram::{DATAGRAM_BYTES_MAX, HEADER_BYTES};

/// Limit on the datagrams of one side that are not acknowledged, or not read.
pub const WINDOW_DATAGRAMS: usize = 64;

/// A datagram that may have to be sent again.
#[derive(Clone, Copy, Default)]
pub(super) struct SentDatagram {
    /// With its header.
    length: usize,
    pub ends: bool,
    /// When it was sent last, ns.
    pub sent_ns: u64,
    /// How often it was sent again because it was not acknowledged in time.
    pub again: u32,
    /// It was sent again for that or for another reason.
    pub resent: bool,
}

pub(super) struct SendWindow {
    sent: Box<[SentDatagram]>,
    datagrams: Box<[u8]>,
    /// Number of the first datagram that is not acknowledged.
    pub first: u64,
    /// Number of the next one.
    pub next: u64,
    /// The other end has no room from this number on.
    limit: u64,
}

fn slot_of(sequence: u64) -> usize {
    (sequence % WINDOW_DATAGRAMS as u64) as usize
}

impl SendWindow {
    pub fn new() -> SendWindow {
        SendWindow {
            sent: vec![SentDatagram::default(); WINDOW_DATAGRAMS].into(),
            // Not zeros: those would be pages that the first datagrams fault in.
            datagrams: vec![1; WINDOW_DATAGRAMS * DATAGRAM_BYTES_MAX].into(),
            first: 0,
            next: 0,
            limit: WINDOW_DATAGRAMS as u64,
        }
    }

    /// Whether another datagram may be sent.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.next < self.limit.min(self.first + WINDOW_DATAGRAMS as u64)
    }

    /// Whether all was acknowledged.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first == self.next
    }

    /// Takes the payload of the next datagram, if it [has room](SendWindow::has_room). Gives its
    /// number.
    #[inline]
    pub fn push(&mut self, payload: &[u8], ends: bool) -> u64 {
        let (sequence, length) = (self.next, HEADER_BYTES + payload.len());
        let index = slot_of(sequence);
        self.sent[index] = SentDatagram { length, ends, sent_ns: 0, again: 0, resent: false };
        let datagram = &mut self.datagrams[index * DATAGRAM_BYTES_MAX..][..length];
        datagram[HEADER_BYTES..].copy_from_slice(payload);
        self.next += 1;
        sequence
    }

    /// A datagram that is not acknowledged, and its bytes.
    #[inline]
    pub fn of(&mut self, sequence: u64) -> (&mut SentDatagram, &mut [u8]) {
        let index = slot_of(sequence);
        let sent = &mut self.sent[index];
        let datagram = &mut self.datagrams[index * DATAGRAM_BYTES_MAX..][..sent.length];
        (sent, datagram)
    }

    /// All before `ack`, which is at most [`next`](SendWindow::next), have arrived, and there is
    /// room for `room` more. Gives the last new one.
    #[inline]
    pub fn acknowledge(&mut self, ack: u64, room: u16) -> Option<SentDatagram> {
        self.limit = self.limit.max(ack + u64::from(room));
        if ack <= self.first {
            return None;
        }
        self.first = ack;
        Some(self.sent[slot_of(ack - 1)])
    }
}

//! The receiving side: datagrams in any order in, bytes in order out.

use crate::acked::datagram::PAYLOAD_BYTES_MAX;
use crate::acked::send::WINDOW_DATAGRAMS;

/// How an arrival goes with those before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// It was the next one.
    Next,
    /// One before it is missing.
    Ahead,
    /// It has arrived before, or there is no room for it.
    Unneeded,
}

/// The next bytes of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceivedBytes {
    /// So many, at least 1. All of them came with one datagram, at this stamp.
    Bytes {
        /// How many.
        n: usize,
        /// When the datagram was received, ns.
        stamp_ns: u64,
    },
    /// None now.
    Nothing,
    /// The other end has ended its side, and all of it was read.
    End,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    length: usize,
    stamp_ns: u64,
    is_filled: bool,
    ends: bool,
}

pub(super) struct ReceiveWindow {
    slots: Box<[Slot]>,
    /// A payload for each slot.
    payloads: Box<[u8]>,
    /// Number of the datagram that is read next.
    reading: u64,
    /// Bytes of it that were read.
    read_bytes: usize,
    /// Number of the first datagram that has not arrived.
    pub next: u64,
    /// One past the last that has arrived.
    beyond: u64,
}

fn slot_of(sequence: u64) -> usize {
    (sequence % WINDOW_DATAGRAMS as u64) as usize
}

impl ReceiveWindow {
    pub fn new() -> ReceiveWindow {
        ReceiveWindow {
            slots: vec![Slot::default(); WINDOW_DATAGRAMS].into(),
            // Not zeros: those would be pages that the first datagrams fault in.
            payloads: vec![1; WINDOW_DATAGRAMS * PAYLOAD_BYTES_MAX].into(),
            reading: 0,
            read_bytes: 0,
            next: 0,
            beyond: 0,
        }
    }

    /// Datagrams from `next` on that there is room for.
    #[inline]
    pub fn room(&self) -> u16 {
        (self.reading + WINDOW_DATAGRAMS as u64 - self.next) as u16
    }

    /// Whether a datagram before others that arrived is missing.
    #[inline]
    pub fn has_gap(&self) -> bool {
        self.beyond > self.next
    }

    /// Whether there are bytes to read, or the end.
    #[inline]
    pub fn is_readable(&self) -> bool {
        self.reading < self.next
    }

    /// `payload` is at most [`PAYLOAD_BYTES_MAX`] bytes.
    #[inline]
    pub fn insert(&mut self, sequence: u64, payload: &[u8], ends: bool, stamp_ns: u64) -> Arrival {
        let has_room = sequence < self.reading + WINDOW_DATAGRAMS as u64;
        let index = slot_of(sequence);
        if sequence < self.next || !has_room || self.slots[index].is_filled {
            return Arrival::Unneeded;
        }
        self.slots[index] = Slot { length: payload.len(), stamp_ns, is_filled: true, ends };
        self.payloads[index * PAYLOAD_BYTES_MAX..][..payload.len()].copy_from_slice(payload);
        self.beyond = self.beyond.max(sequence + 1);
        if sequence != self.next {
            return Arrival::Ahead;
        }
        while self.next < self.beyond && self.slots[slot_of(self.next)].is_filled {
            self.next += 1;
        }
        Arrival::Next
    }

    /// Reads into `into`, which is not empty.
    #[inline]
    pub fn read(&mut self, into: &mut [u8]) -> ReceivedBytes {
        if !self.is_readable() {
            return ReceivedBytes::Nothing;
        }
        let index = slot_of(self.reading);
        let Slot { length, stamp_ns, ends, .. } = self.slots[index];
        let n = (length - self.read_bytes).min(into.len());
        if n == 0 {
            return ReceivedBytes::End;
        }
        let from = index * PAYLOAD_BYTES_MAX + self.read_bytes;
        into[..n].copy_from_slice(&self.payloads[from..from + n]);
        self.read_bytes += n;
        // The last one stays: it is the end.
        if self.read_bytes == length && !ends {
            self.slots[index].is_filled = false;
            self.reading += 1;
            self.read_bytes = 0;
        }
        ReceivedBytes::Bytes { n, stamp_ns }
    }
}

//! A channel's datagrams in a ring: those to be sent, and sent ones for replays as long as there is
//! room.

use crate::format::codec;
use crate::format::message::{Channel, FeedMessage, PacketHeader, PacketKind};
use crate::format::packet::{PACKET_HEADER_BYTES, put_header};

/// One datagram.
#[derive(Debug, Clone, Copy)]
struct Slot {
    header: PacketHeader,
    length: usize,
    /// Whether its `intended_ns` is set.
    is_intended: bool,
}

/// Datagrams are numbered from 0, and each is in the ring's slot of its number. Messages are
/// appended to the last one.
#[derive(Debug)]
pub(crate) struct Packets {
    channel: Channel,
    session: u64,
    datagram_bytes_max: usize,
    bytes: Vec<u8>,
    slots: Vec<Slot>,
    /// The oldest datagram.
    first: u64,
    /// The next datagram to send.
    unsent: u64,
    open: u64,
    /// The number of the next message.
    next_sequence: u64,
    /// Messages below this number belong to ended inputs.
    ended_sequence: u64,
    /// The datagram with the first message of the present input.
    input_first: u64,
    /// Datagrams that were overwritten before they were sent.
    overrun: u64,
    /// Buffer for repeated datagrams and heartbeats.
    again: Vec<u8>,
}

/// Why messages can't be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReplayError {
    /// They are no longer kept: request a snapshot.
    TooOld,
    /// None of them has been sent.
    NotYet,
}

impl Packets {
    pub fn new(
        channel: Channel,
        session: u64,
        datagram_bytes_max: usize,
        packets_max: usize,
    ) -> Packets {
        let header = PacketHeader {
            session,
            sequence: 1,
            count: 0,
            part: 0,
            parts: 1,
            channel,
            kind: PacketKind::Live,
            intended_ns: 0,
            acknowledged_ns: 0,
            published_ns: 0,
        };
        let slot = Slot { header, length: PACKET_HEADER_BYTES, is_intended: false };
        Packets {
            channel,
            session,
            datagram_bytes_max,
            // Not zeros, so that the pages are mapped before the first message.
            bytes: vec![0xFF; datagram_bytes_max * packets_max],
            slots: vec![slot; packets_max],
            first: 0,
            unsent: 0,
            open: 0,
            next_sequence: 1,
            ended_sequence: 1,
            input_first: 0,
            overrun: 0,
            again: vec![0xFF; datagram_bytes_max],
        }
    }

    #[inline]
    pub fn append(&mut self, message: &FeedMessage) {
        let length = codec::message_bytes(message);
        if self.slot(self.open).length + length > self.datagram_bytes_max {
            self.begin_packet();
        }
        let index = self.index(self.open);
        let slot = &mut self.slots[index];
        let start = index * self.datagram_bytes_max;
        let datagram = &mut self.bytes[start..start + self.datagram_bytes_max];
        codec::encode(datagram, slot.length, message);
        slot.length += length;
        slot.header.count += 1;
        self.next_sequence += 1;
    }

    /// Ends an input, which all messages since the last call belong to.
    pub fn end_of_input(&mut self, intended_ns: u64, acknowledged_ns: u64) {
        if self.ended_sequence == self.next_sequence {
            return;
        }
        for packet in self.input_first.max(self.first)..=self.open {
            let ended_sequence = self.ended_sequence;
            let index = self.index(packet);
            let Slot { header, is_intended, .. } = &mut self.slots[index];
            if header.sequence + u64::from(header.count) <= ended_sequence {
                continue;
            }
            if !*is_intended {
                (header.intended_ns, *is_intended) = (intended_ns, true);
            }
            header.acknowledged_ns = acknowledged_ns;
        }
        self.input_first = self.open;
        self.ended_sequence = self.next_sequence;
    }

    /// The next datagram of ended inputs.
    pub fn next(&mut self) -> Option<&mut [u8]> {
        let slot = self.slot(self.unsent);
        let end = slot.header.sequence + u64::from(slot.header.count);
        if slot.header.count == 0 || end > self.ended_sequence {
            return None;
        }
        if self.unsent == self.open {
            self.begin_packet();
            self.input_first = self.open;
        }
        let index = self.index(self.unsent);
        self.unsent += 1;
        let Slot { header, length, .. } = self.slots[index];
        let start = index * self.datagram_bytes_max;
        let datagram = &mut self.bytes[start..start + length];
        put_header(datagram, &header);
        Some(datagram)
    }

    /// A datagram without messages that carries the sequence number of the sent ones.
    pub fn heartbeat(&mut self, now_ns: u64) -> &mut [u8] {
        let header = PacketHeader {
            sequence: self.slot(self.unsent).header.sequence,
            count: 0,
            intended_ns: now_ns,
            acknowledged_ns: now_ns,
            ..self.slot(self.unsent).header
        };
        put_header(&mut self.again, &header);
        &mut self.again[..PACKET_HEADER_BYTES]
    }

    /// The datagram with a message, if it was sent and is kept.
    pub fn packet_of(&self, sequence: u64) -> Result<u64, ReplayError> {
        if sequence < self.slot(self.first).header.sequence {
            return Err(ReplayError::TooOld);
        }
        if sequence >= self.slot(self.unsent).header.sequence {
            return Err(ReplayError::NotYet);
        }
        // The last one that begins at or before this number.
        let (mut low, mut high) = (self.first, self.unsent);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            match self.slot(middle).header.sequence <= sequence {
                true => low = middle,
                false => high = middle,
            }
        }
        Ok(low)
    }

    /// A datagram to send again, if it is still kept and begins below `end_sequence`.
    pub fn replayed(&mut self, packet: u64, end_sequence: u64) -> Option<&mut [u8]> {
        if packet < self.first || packet >= self.unsent {
            return None;
        }
        let Slot { header, length, .. } = *self.slot(packet);
        if header.sequence >= end_sequence {
            return None;
        }
        let start = self.index(packet) * self.datagram_bytes_max;
        self.again[..length].copy_from_slice(&self.bytes[start..start + length]);
        put_header(&mut self.again, &PacketHeader { kind: PacketKind::Replay, ..header });
        Some(&mut self.again[..length])
    }

    /// The number of the last message, 0 before the first.
    pub fn sequence(&self) -> u64 {
        self.next_sequence - 1
    }

    /// The number of the oldest kept message.
    pub fn oldest_sequence(&self) -> u64 {
        self.slot(self.first).header.sequence
    }

    pub fn overrun(&self) -> u64 {
        self.overrun
    }

    pub fn session(&self) -> u64 {
        self.session
    }

    fn begin_packet(&mut self) {
        self.open += 1;
        if self.open - self.first >= self.slots.len() as u64 {
            self.first += 1;
        }
        if self.unsent < self.first {
            self.unsent = self.first;
            self.overrun += 1;
        }
        let index = self.index(self.open);
        let Slot { header, length, is_intended } = &mut self.slots[index];
        (header.sequence, header.count) = (self.next_sequence, 0);
        (*length, *is_intended) = (PACKET_HEADER_BYTES, false);
        debug_assert_eq!(header.channel, self.channel);
    }

    fn slot(&self, packet: u64) -> &Slot {
        &self.slots[self.index(packet)]
    }

    #[inline]
    fn index(&self, packet: u64) -> usize {
        (packet % self.slots.len() as u64) as usize
    }
}

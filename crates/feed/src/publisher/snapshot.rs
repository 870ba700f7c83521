//! A snapshot: all books of a channel at one sequence number, as datagrams.

use crate::book::Book;
use crate::format::codec::{self, MESSAGE_BYTES_MAX};
use crate::format::message::{Channel, FeedMessage, PacketHeader, PacketKind};
use crate::format::packet::{PACKET_HEADER_BYTES, put_header};
use crate::publisher::packets::Packets;
use crate::settings::Definition;
use engine::Side;

/// A snapshot; the next one reuses its memory.
#[derive(Debug)]
pub(crate) struct TakenSnapshot {
    channel: Channel,
    datagram_bytes_max: usize,
    bytes: Vec<u8>,
    /// Length and messages of each datagram.
    parts: Vec<(usize, u16)>,
    /// Number of snapshots taken.
    number: u64,
    /// The first number that it does not contain.
    sequence: u64,
}

/// Maximum number of datagrams of a snapshot with this number of entries in all books.
pub(crate) fn parts_max(
    datagram_bytes_max: usize,
    instruments: usize,
    entries_max: usize,
) -> usize {
    let entry = FeedMessage::OrderAdded {
        instrument: 0,
        order_id: 0,
        side: Side::Buy,
        price_ticks: 0,
        quantity_lots: 0,
    };
    // The unused rest of each is smaller than the longest message.
    let room =
        datagram_bytes_max.saturating_sub(PACKET_HEADER_BYTES + MESSAGE_BYTES_MAX - 1).max(1);
    let heads = 2 * MESSAGE_BYTES_MAX;
    (instruments * heads + entries_max * codec::message_bytes(&entry)).div_ceil(room) + 1
}

impl TakenSnapshot {
    pub fn new(channel: Channel, datagram_bytes_max: usize, parts_max: usize) -> TakenSnapshot {
        TakenSnapshot {
            channel,
            datagram_bytes_max,
            bytes: vec![0xFF; datagram_bytes_max * parts_max],
            parts: Vec::with_capacity(parts_max),
            number: 0,
            sequence: 0,
        }
    }

    /// Whether it can serve a new request: all later messages are kept, with as much reserve.
    pub fn serves(&self, packets: &Packets) -> bool {
        let (oldest, next) = (packets.oldest_sequence(), packets.sequence() + 1);
        let middle = oldest + (next - oldest) / 2;
        self.number > 0 && self.sequence >= middle
    }

    /// Takes a snapshot of the present books. Hashing and encoding takes some tens of nanoseconds
    /// per entry.
    pub fn take(&mut self, packets: &Packets, books: &[Book], definitions: &[Definition]) {
        self.parts.clear();
        self.parts.push((PACKET_HEADER_BYTES, 0));
        (self.number, self.sequence) = (self.number + 1, packets.sequence() + 1);
        for (instrument, (book, definition)) in (0..).zip(books.iter().zip(definitions)) {
            let Definition { code, tick, lot } = *definition;
            self.append(&FeedMessage::Definition {
                instrument,
                code,
                tick,
                lot,
                entries: book.entries(self.channel),
                book_hash: book.hash_as(self.channel),
            });
            self.append(&FeedMessage::State { instrument, state: book.state() });
            for side in [Side::Buy, Side::Sell] {
                match self.channel {
                    Channel::Orders => book.orders(side).for_each(|order| {
                        self.append(&FeedMessage::OrderAdded {
                            instrument,
                            order_id: order.order_id,
                            side,
                            price_ticks: order.price_ticks,
                            quantity_lots: order.quantity_lots,
                        });
                    }),
                    Channel::Levels => {
                        book.levels(side).for_each(|(price_ticks, quantity_lots, orders)| {
                            self.append(&FeedMessage::Level {
                                instrument,
                                side,
                                price_ticks,
                                quantity_lots,
                                orders,
                            });
                        });
                    }
                }
            }
        }
        self.put_headers(packets.session());
    }

    fn put_headers(&mut self, session: u64) {
        let parts = u16::try_from(self.parts.len()).unwrap_or(u16::MAX);
        let datagrams = self.bytes.chunks_mut(self.datagram_bytes_max);
        for (part, (datagram, (_, count))) in (0..).zip(datagrams.zip(&self.parts)) {
            let header = PacketHeader {
                session,
                sequence: self.sequence,
                count: *count,
                part,
                parts,
                channel: self.channel,
                kind: PacketKind::Snapshot,
                intended_ns: 0,
                acknowledged_ns: 0,
                published_ns: 0,
            };
            put_header(datagram, &header);
        }
    }

    fn append(&mut self, message: &FeedMessage) {
        let bytes = codec::message_bytes(message);
        let is_full = |(length, _): &(usize, u16)| length + bytes > self.datagram_bytes_max;
        if self.parts.last().is_none_or(is_full) {
            self.parts.push((PACKET_HEADER_BYTES, 0));
        }
        let start = (self.parts.len() - 1) * self.datagram_bytes_max;
        if let Some((length, count)) = self.parts.last_mut() {
            // There is room unless the books exceed their limits. Then the snapshot is too short,
            // and its hash does not match.
            let end = start + self.datagram_bytes_max;
            let Some(datagram) = self.bytes.get_mut(start..end) else {
                self.parts.pop();
                return;
            };
            codec::encode(datagram, *length, message);
            (*length, *count) = (*length + bytes, *count + 1);
        }
    }

    /// Its number, and its number of datagrams.
    pub fn is(&self) -> (u64, usize) {
        (self.number, self.parts.len())
    }

    /// One of its datagrams.
    pub fn part(&mut self, part: usize) -> Option<&mut [u8]> {
        let (length, _) = *self.parts.get(part)?;
        let start = part * self.datagram_bytes_max;
        Some(&mut self.bytes[start..start + length])
    }
}

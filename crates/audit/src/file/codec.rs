//! A record's bytes. Pure: values in, 64 bytes out, and back.
//!
//! | bytes | |
//! |---|---|
//! | 0 | kind |
//! | 1 | flags: side (bit 0: sell), action or kind of tick (bits 1 and 2), accepted (bit 3) |
//! | 2..4 | the instrument; in a tick the number of messages |
//! | 4..8 | CRC-32C of the record's number in the file, from 0, in 8 bytes, and of the record's other 60 bytes |
//! | 8..64 | seven integers |
//!
//! | kind | | the integers |
//! |---|---|---|
//! | 1 | tick | number, intended, acknowledged, published, kernel, read, normalised |
//! | 2 | decision | tick, decided, checked, price, quantity, refused |
//! | 3 | order | order, tick, sent, price, quantity |
//! | 4 | ack | order, order id, replied, gateway in, engine in, engine out, gateway out |
//! | 5 | fill | order, order id, read, price, quantity, trade id |
//! | 6 | wall | clock, wall, bound, steps |
//! | 7 | lost | noticed, count |
//! | 8 | end | records before it, lost, clock |
//! | 9 | session | feed, run; since version 2 |
//!
//! All integers are little-endian, absent ones are 0. Stamps are in nanoseconds on the clock of the
//! file's header (the exchange's may be on its own, as the header says), prices in ticks (signed),
//! quantities in lots. The check includes the record's number, so that a missing, doubled or moved
//! record is detected.

use crate::{Action, Record, Side, TickKind};
use crc32c::{crc32c, crc32c_append};

/// Bytes of a record.
pub const RECORD_BYTES: usize = 64;

const WORDS: usize = 7;

const SELL: u8 = 1;
const ACCEPTED: u8 = 8;
/// First bit of action and kind of tick in the flags.
const CHOICE: u32 = 1;

/// A record's bytes except its kind and check; integers are written and read in order.
#[derive(Default)]
struct Parts {
    flags: u8,
    short: u16,
    words: [u64; WORDS],
    /// Number of integers so far.
    used: usize,
}

/// A value in a record. Its type determines its place: the flags, the next 16 bits, or the next
/// integer.
trait Field: Sized {
    fn put(self, parts: &mut Parts);

    /// `None` for an invalid value.
    fn take(parts: &mut Parts) -> Option<Self>;
}

impl Field for Side {
    fn put(self, parts: &mut Parts) {
        parts.flags |= if self == Side::Sell { SELL } else { 0 };
    }

    fn take(parts: &mut Parts) -> Option<Side> {
        Some(if parts.flags & SELL == 0 { Side::Buy } else { Side::Sell })
    }
}

impl Field for Action {
    fn put(self, parts: &mut Parts) {
        parts.flags |= (self as u8) << CHOICE;
    }

    fn take(parts: &mut Parts) -> Option<Action> {
        [Action::New, Action::Cancel, Action::Amend].get(choice(parts)).copied()
    }
}

impl Field for TickKind {
    fn put(self, parts: &mut Parts) {
        parts.flags |= (self as u8) << CHOICE;
    }

    fn take(parts: &mut Parts) -> Option<TickKind> {
        use TickKind::{Heartbeat, Live, Replay, Snapshot};
        [Live, Replay, Snapshot, Heartbeat].get(choice(parts)).copied()
    }
}

fn choice(parts: &Parts) -> usize {
    usize::from(parts.flags >> CHOICE & 3)
}

/// Whether an order was accepted.
impl Field for bool {
    fn put(self, parts: &mut Parts) {
        parts.flags |= if self { ACCEPTED } else { 0 };
    }

    fn take(parts: &mut Parts) -> Option<bool> {
        Some(parts.flags & ACCEPTED != 0)
    }
}

/// The instrument, or the number of messages.
impl Field for u16 {
    fn put(self, parts: &mut Parts) {
        parts.short = self;
    }

    fn take(parts: &mut Parts) -> Option<u16> {
        Some(parts.short)
    }
}

impl Field for u64 {
    fn put(self, parts: &mut Parts) {
        parts.words[parts.used] = self;
        parts.used += 1;
    }

    fn take(parts: &mut Parts) -> Option<u64> {
        parts.used += 1;
        Some(parts.words[parts.used - 1])
    }
}

/// A price.
impl Field for i64 {
    fn put(self, parts: &mut Parts) {
        self.cast_unsigned().put(parts);
    }

    fn take(parts: &mut Parts) -> Option<i64> {
        u64::take(parts).map(u64::cast_signed)
    }
}

/// Why risk rejected it: 0 if it did not, otherwise the reason's number plus one.
impl Field for Option<u16> {
    fn put(self, parts: &mut Parts) {
        self.map_or(0, |reason| u64::from(reason) + 1).put(parts);
    }

    fn take(parts: &mut Parts) -> Option<Option<u16>> {
        match u64::take(parts)? {
            0 => Some(None),
            reason => u16::try_from(reason - 1).ok().map(Some),
        }
    }
}

/// The exchange's stamps.
impl Field for [u64; 4] {
    fn put(self, parts: &mut Parts) {
        self.into_iter().for_each(|stamp| stamp.put(parts));
    }

    fn take(parts: &mut Parts) -> Option<[u64; 4]> {
        Some([u64::take(parts)?, u64::take(parts)?, u64::take(parts)?, u64::take(parts)?])
    }
}

/// Encoder and decoder from one list: for each kind its number and its fields, in the order of the
/// integers.
macro_rules! layout {
    ($($kind:literal $name:ident { $($field:ident),* })*) => {
        /// The kind's number, and the other bytes.
        fn parts(record: &Record) -> (u8, Parts) {
            let mut parts = Parts::default();
            let kind = match *record {
                $(Record::$name { $($field),* } => {
                    $($field.put(&mut parts);)*
                    $kind
                })*
            };
            (kind, parts)
        }

        fn of_parts(kind: u8, parts: &mut Parts) -> Option<Record> {
            // Fields are read in the order of the list.
            match kind {
                $($kind => Some(Record::$name { $($field: Field::take(parts)?),* }),)*
                _ => None,
            }
        }
    };
}

layout! {
    1 Tick { kind, messages, number, intended_ns, acknowledged_ns, published_ns, kernel_ns, read_ns, normalised_ns }
    2 Decision { instrument, side, tick, decided_ns, checked_ns, price_ticks, quantity_lots, refused }
    3 Order { action, instrument, side, order, tick, sent_ns, price_ticks, quantity_lots }
    4 Ack { accepted, order, order_id, replied_ns, stamps }
    5 Fill { instrument, side, order, order_id, read_ns, price_ticks, quantity_lots, trade_id }
    6 Wall { clock_ns, wall_ns, bound_ns, steps }
    7 Lost { noticed_ns, count }
    8 End { records, lost, clock_ns }
    9 Session { feed, run }
}

impl Record {
    /// Encodes it as the record with this number in a file, from 0.
    pub fn to_bytes(&self, number: u64) -> [u8; RECORD_BYTES] {
        let (kind, Parts { flags, short, words, .. }) = parts(self);
        let mut bytes = [0; RECORD_BYTES];
        (bytes[0], bytes[1]) = (kind, flags);
        bytes[2..4].copy_from_slice(&short.to_le_bytes());
        for (place, word) in bytes[8..].chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        let check = check(&bytes, number);
        bytes[4..8].copy_from_slice(&check.to_le_bytes());
        bytes
    }

    /// Decodes the record with this number in a file; `None` if it is incomplete or belongs to
    /// another position.
    pub fn from_bytes(bytes: &[u8; RECORD_BYTES], number: u64) -> Option<Record> {
        let found = u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
        if found != check(bytes, number) {
            return None;
        }
        let (flags, short) = (bytes[1], u16::from_le_bytes([bytes[2], bytes[3]]));
        let mut parts = Parts { flags, short, ..Parts::default() };
        for (word, place) in parts.words.iter_mut().zip(bytes[8..].as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*place);
        }
        let record = of_parts(bytes[0], &mut parts)?;
        // Unused bytes are 0, so that the encoding is unique.
        (record.to_bytes(number) == *bytes).then_some(record)
    }
}

fn check(bytes: &[u8; RECORD_BYTES], number: u64) -> u32 {
    let before = crc32c_append(crc32c(&number.to_le_bytes()), &bytes[..4]);
    crc32c_append(before, &bytes[8..])
}

#[cfg(test)]
#[path = "codec_tests.rs"]
mod tests;

//! A record's bytes. Pure: values in, 64 bytes out, and back.
//!
//! | bytes | |
//! |---|---|
//! | 0 | kind |
//! | 1 | flags: side (bit 0: sell), action or kind of tick (bits 1 and 2), accepted (bit 3) |
//! | 2..4 | the instrument; in a tick how many messages |
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
//!
//! All little-endian, absent ones 0. A stamp is in nanoseconds on the clock of the file's header, prices are in ticks (signed), quantities in lots.
//! The number in the check makes a record good in its own place alone: none can be missing, doubled or exchanged.

use crate::{Action, Record, Side, TickKind};
use measure::crc32c::{continued, crc32c};

/// Bytes of a record.
pub const RECORD_BYTES: usize = 64;

const WORDS: usize = 7;

const SELL: u8 = 1;
const ACCEPTED: u8 = 8;
/// Where action and kind of tick begin in the flags.
const CHOICE: u32 = 1;

impl Side {
    fn flags(self) -> u8 {
        if self == Side::Sell { SELL } else { 0 }
    }

    fn of(flags: u8) -> Side {
        if flags & SELL == 0 { Side::Buy } else { Side::Sell }
    }
}

impl Record {
    /// Flags, the 16 bits behind them, and the integers.
    fn fields(&self) -> (u8, u16, [u64; WORDS]) {
        match *self {
            Record::Tick {
                number,
                kind,
                messages,
                intended_ns,
                acknowledged_ns,
                published_ns,
                kernel_ns,
                read_ns,
                normalised_ns,
            } => {
                let (a, b, c, d) = (number, intended_ns, acknowledged_ns, published_ns);
                let words = [a, b, c, d, kernel_ns, read_ns, normalised_ns];
                ((kind as u8) << CHOICE, messages, words)
            }
            Record::Decision {
                tick,
                instrument,
                side,
                decided_ns,
                checked_ns,
                price_ticks,
                quantity_lots,
                refused,
            } => {
                let refused = refused.map_or(0, |reason| u64::from(reason) + 1);
                let price = price_ticks as u64;
                let words = [tick, decided_ns, checked_ns, price, quantity_lots, refused, 0];
                (side.flags(), instrument, words)
            }
            Record::Order {
                order,
                tick,
                action,
                instrument,
                side,
                sent_ns,
                price_ticks,
                quantity_lots,
            } => {
                let words = [order, tick, sent_ns, price_ticks as u64, quantity_lots, 0, 0];
                (side.flags() | (action as u8) << CHOICE, instrument, words)
            }
            Record::Ack { order, order_id, accepted, replied_ns, stamps } => {
                let [a, b, c, d] = stamps;
                let flags = if accepted { ACCEPTED } else { 0 };
                (flags, 0, [order, order_id, replied_ns, a, b, c, d])
            }
            Record::Fill {
                order,
                order_id,
                instrument,
                side,
                read_ns,
                price_ticks,
                quantity_lots,
                trade_id,
            } => {
                let price = price_ticks as u64;
                let words = [order, order_id, read_ns, price, quantity_lots, trade_id, 0];
                (side.flags(), instrument, words)
            }
            Record::Wall { .. } | Record::Lost { .. } | Record::End { .. } => {
                (0, 0, self.loggers_words())
            }
        }
    }

    /// The integers of what the logger itself writes.
    fn loggers_words(&self) -> [u64; WORDS] {
        match *self {
            Record::Wall { clock_ns, wall_ns, bound_ns, steps } => {
                [clock_ns, wall_ns, bound_ns, steps, 0, 0, 0]
            }
            Record::Lost { noticed_ns, count } => [noticed_ns, count, 0, 0, 0, 0, 0],
            Record::End { records, lost, clock_ns } => [records, lost, clock_ns, 0, 0, 0, 0],
            _ => [0; WORDS],
        }
    }

    /// As it stands in a file as its `number`-th record, from 0.
    pub fn to_bytes(&self, number: u64) -> [u8; RECORD_BYTES] {
        let (flags, short, words) = self.fields();
        let mut bytes = [0; RECORD_BYTES];
        bytes[0] = self.kind() as u8 + 1;
        bytes[1] = flags;
        bytes[2..4].copy_from_slice(&short.to_le_bytes());
        for (place, word) in bytes[8..].chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        let check = check(&bytes, number);
        bytes[4..8].copy_from_slice(&check.to_le_bytes());
        bytes
    }

    /// Reads what stands in a file as its `number`-th record; `None` if that is no whole record, or one of another place.
    pub fn from_bytes(bytes: &[u8; RECORD_BYTES], number: u64) -> Option<Record> {
        let found = u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
        if found != check(bytes, number) {
            return None;
        }
        let mut words = [0; WORDS];
        for (word, place) in words.iter_mut().zip(bytes[8..].as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*place);
        }
        let record =
            of_fields(bytes[0], bytes[1], u16::from_le_bytes([bytes[2], bytes[3]]), words)?;
        // What is not used is 0: one thing has one form.
        (record.to_bytes(number) == *bytes).then_some(record)
    }
}

fn of_fields(kind: u8, flags: u8, short: u16, words: [u64; WORDS]) -> Option<Record> {
    let [a, b, c, d, e, f, g] = words;
    let choice = flags >> CHOICE & 3;
    let (instrument, side) = (short, Side::of(flags));
    let (price_ticks, quantity_lots) = (d as i64, e);
    Some(match kind {
        1 => Record::Tick {
            number: a,
            kind: [TickKind::Live, TickKind::Replay, TickKind::Snapshot, TickKind::Heartbeat]
                [usize::from(choice)],
            messages: short,
            intended_ns: b,
            acknowledged_ns: c,
            published_ns: d,
            kernel_ns: e,
            read_ns: f,
            normalised_ns: g,
        },
        2 => decision(instrument, side, words)?,
        3 => {
            let action = match choice {
                0 => Action::New,
                1 => Action::Cancel,
                2 => Action::Amend,
                _ => return None,
            };
            let (order, tick, sent_ns) = (a, b, c);
            Record::Order {
                order,
                tick,
                action,
                instrument,
                side,
                sent_ns,
                price_ticks,
                quantity_lots,
            }
        }
        4 => Record::Ack {
            order: a,
            order_id: b,
            accepted: flags & ACCEPTED != 0,
            replied_ns: c,
            stamps: [d, e, f, g],
        },
        5 => {
            let (order, order_id, read_ns, trade_id) = (a, b, c, f);
            Record::Fill {
                order,
                order_id,
                instrument,
                side,
                read_ns,
                price_ticks,
                quantity_lots,
                trade_id,
            }
        }
        6 => Record::Wall { clock_ns: a, wall_ns: b, bound_ns: c, steps: d },
        7 => Record::Lost { noticed_ns: a, count: b },
        8 => Record::End { records: a, lost: b, clock_ns: c },
        _ => return None,
    })
}

fn decision(instrument: u16, side: Side, words: [u64; WORDS]) -> Option<Record> {
    let [tick, decided_ns, checked_ns, price, quantity_lots, refused, _] = words;
    let refused = match refused {
        0 => None,
        reason => Some(u16::try_from(reason - 1).ok()?),
    };
    Some(Record::Decision {
        tick,
        instrument,
        side,
        decided_ns,
        checked_ns,
        price_ticks: price as i64,
        quantity_lots,
        refused,
    })
}

fn check(bytes: &[u8; RECORD_BYTES], number: u64) -> u32 {
    let before = continued(crc32c(&number.to_le_bytes()), &bytes[..4]);
    continued(before, &bytes[8..])
}

#[cfg(test)]
#[path = "codec_tests.rs"]
mod tests;

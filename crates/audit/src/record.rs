//! One thing that happened. Pure: values in, 64 bytes out, and back.
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

use measure::crc32c::{continued, crc32c};

/// Bytes of a record.
pub const RECORD_BYTES: usize = 64;

const WORDS: usize = 7;

/// Whose side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// To buy.
    Buy,
    /// To sell.
    Sell,
}

/// What an order message asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A new order.
    New,
    /// An order's end.
    Cancel,
    /// An order's change.
    Amend,
}

/// What kind of datagram a tick was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TickKind {
    /// New messages.
    Live,
    /// Messages that were asked for again.
    Replay,
    /// A part of a snapshot.
    Snapshot,
    /// No messages.
    Heartbeat,
}

/// One thing that happened; 0 stands for a stamp that was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// A datagram of the feed was read.
    Tick {
        /// The number of its last message on the feed.
        number: u64,
        /// What kind of datagram.
        kind: TickKind,
        /// Messages in it.
        messages: u16,
        /// See `measure::tick::Point::Intended`.
        intended_ns: u64,
        /// See `measure::tick::Point::Acknowledged`.
        acknowledged_ns: u64,
        /// See `measure::tick::Point::Published`.
        published_ns: u64,
        /// See `measure::tick::Point::KernelReceived`.
        kernel_ns: u64,
        /// See `measure::tick::Point::Read`.
        read_ns: u64,
        /// See `measure::tick::Point::Normalised`.
        normalised_ns: u64,
    },
    /// The strategy wanted an order, and risk passed it or refused it.
    Decision {
        /// The tick that led to it.
        tick: u64,
        /// The instrument.
        instrument: u16,
        /// Its side.
        side: Side,
        /// See `measure::tick::Point::Decided`.
        decided_ns: u64,
        /// See `measure::tick::Point::Checked`.
        checked_ns: u64,
        /// In ticks.
        price_ticks: i64,
        /// In lots.
        quantity_lots: u64,
        /// Why risk refused it: the how many-th of the header's reasons, from 0; `None`: it was passed.
        refused: Option<u16>,
    },
    /// An order message was written.
    Order {
        /// The number in its client id.
        order: u64,
        /// The tick that led to it; 0: none.
        tick: u64,
        /// New, or the end of one.
        action: Action,
        /// The instrument.
        instrument: u16,
        /// Its side.
        side: Side,
        /// See `measure::tick::Point::Sent`.
        sent_ns: u64,
        /// In ticks.
        price_ticks: i64,
        /// In lots.
        quantity_lots: u64,
    },
    /// The exchange has answered.
    Ack {
        /// The number in the client id of what it answers.
        order: u64,
        /// The exchange's number of the order; 0: it said none.
        order_id: u64,
        /// Or refused.
        accepted: bool,
        /// See `measure::tick::Point::Replied`.
        replied_ns: u64,
        /// The reply's own: gateway in, engine in, engine out, gateway out.
        stamps: [u64; 4],
    },
    /// An order of ours traded.
    Fill {
        /// The number in the order's client id.
        order: u64,
        /// The exchange's number of it.
        order_id: u64,
        /// The instrument.
        instrument: u16,
        /// The order's side.
        side: Side,
        /// When the read returned that brought the news, ns.
        read_ns: u64,
        /// In ticks.
        price_ticks: i64,
        /// In lots.
        quantity_lots: u64,
        /// The exchange's number of the trade.
        trade_id: u64,
    },
    /// The wall clock was read; the logger writes it, about once a second.
    Wall {
        /// On the header's clock, ns.
        clock_ns: u64,
        /// Nanoseconds since 1970.
        wall_ns: u64,
        /// By how much a stamp that was laid on the wall clock was off so far, ns, at most.
        bound_ns: u64,
        /// How often the wall clock was set since the logger began.
        steps: u64,
    },
    /// Records found no room on their way to the logger; the logger writes it where it noticed.
    Lost {
        /// When it noticed, ns.
        noticed_ns: u64,
        /// How many since it noticed last.
        count: u64,
    },
    /// The logger has finished. Nothing follows.
    End {
        /// Records before this one.
        records: u64,
        /// Of what was told, how many are not in the file.
        lost: u64,
        /// When, ns.
        clock_ns: u64,
    },
}

/// The kinds by name, in the order of their numbers, which begin at 1.
pub const KINDS: [&str; 8] = ["tick", "decision", "order", "ack", "fill", "wall", "lost", "end"];

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

    /// `buy` or `sell`.
    pub fn name(self) -> &'static str {
        match self {
            Side::Buy => "buy",
            Side::Sell => "sell",
        }
    }
}

impl Action {
    /// `new`, `cancel` or `amend`.
    pub fn name(self) -> &'static str {
        match self {
            Action::New => "new",
            Action::Cancel => "cancel",
            Action::Amend => "amend",
        }
    }
}

impl TickKind {
    /// `live`, `replay`, `snapshot` or `heartbeat`.
    pub fn name(self) -> &'static str {
        match self {
            TickKind::Live => "live",
            TickKind::Replay => "replay",
            TickKind::Snapshot => "snapshot",
            TickKind::Heartbeat => "heartbeat",
        }
    }
}

impl Record {
    /// Which kind it is, as an index into [`KINDS`].
    pub fn kind(&self) -> usize {
        match self {
            Record::Tick { .. } => 0,
            Record::Decision { .. } => 1,
            Record::Order { .. } => 2,
            Record::Ack { .. } => 3,
            Record::Fill { .. } => 4,
            Record::Wall { .. } => 5,
            Record::Lost { .. } => 6,
            Record::End { .. } => 7,
        }
    }

    /// When it happened, ns on the header's clock: the last of its stamps that is the trader's own.
    pub fn at_ns(&self) -> u64 {
        match *self {
            Record::Tick { normalised_ns, .. } => normalised_ns,
            Record::Decision { checked_ns, .. } => checked_ns,
            Record::Order { sent_ns, .. } => sent_ns,
            Record::Ack { replied_ns, .. } => replied_ns,
            Record::Fill { read_ns, .. } => read_ns,
            Record::Wall { clock_ns, .. } | Record::End { clock_ns, .. } => clock_ns,
            Record::Lost { noticed_ns, .. } => noticed_ns,
        }
    }

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
                let from = [number, intended_ns, acknowledged_ns, published_ns];
                let [a, b, c, d] = from;
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
            Record::Wall { clock_ns, wall_ns, bound_ns, steps } => {
                (0, 0, [clock_ns, wall_ns, bound_ns, steps, 0, 0, 0])
            }
            Record::Lost { noticed_ns, count } => (0, 0, [noticed_ns, count, 0, 0, 0, 0, 0]),
            Record::End { records, lost, clock_ns } => {
                (0, 0, [records, lost, clock_ns, 0, 0, 0, 0])
            }
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
        2 => {
            let refused = match f {
                0 => None,
                reason => Some(u16::try_from(reason - 1).ok()?),
            };
            let (tick, decided_ns, checked_ns) = (a, b, c);
            Record::Decision {
                tick,
                instrument,
                side,
                decided_ns,
                checked_ns,
                price_ticks,
                quantity_lots,
                refused,
            }
        }
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

fn check(bytes: &[u8; RECORD_BYTES], number: u64) -> u32 {
    let before = continued(crc32c(&number.to_le_bytes()), &bytes[..4]);
    continued(before, &bytes[8..])
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;

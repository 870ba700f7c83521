//! Faults of a datagram.

use std::fmt;

/// Why a datagram, or the rest of one, was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Fault {
    /// It ends before its announced end.
    Truncated = 0,
    /// It does not begin like a packet of this feed.
    Garbage,
    /// Its packet has a later version than this code.
    FutureVersion,
    /// It contains a message of an unknown template, which was skipped; the rest was read.
    UnknownTemplate,
    /// A message's block is shorter than its template's.
    ShortBlock,
    /// A field has an invalid value.
    BadValue,
    /// Bytes follow its last message.
    TrailingBytes,
    /// It belongs to another channel.
    OtherChannel,
    /// It belongs to another session.
    OtherSession,
    /// It names an unknown instrument.
    UnknownInstrument,
    /// It names an order that does not rest.
    UnknownOrder,
    /// It adds an order that rests already.
    DuplicateOrder,
    /// Its change of an order, or its trade, contradicts the order.
    Contradiction,
    /// The book is full: the reader's `orders_max` or `levels_max` is too low.
    BookFull,
    /// A snapshot's book does not match its hash.
    BookHash,
}

impl Fault {
    /// All, in the order of their numbers.
    pub const ALL: [Fault; 15] = [
        Fault::Truncated,
        Fault::Garbage,
        Fault::FutureVersion,
        Fault::UnknownTemplate,
        Fault::ShortBlock,
        Fault::BadValue,
        Fault::TrailingBytes,
        Fault::OtherChannel,
        Fault::OtherSession,
        Fault::UnknownInstrument,
        Fault::UnknownOrder,
        Fault::DuplicateOrder,
        Fault::Contradiction,
        Fault::BookFull,
        Fault::BookHash,
    ];

    /// Its name in records, which must not change.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Fault::Truncated => "truncated",
            Fault::Garbage => "garbage",
            Fault::FutureVersion => "future_version",
            Fault::UnknownTemplate => "unknown_template",
            Fault::ShortBlock => "short_block",
            Fault::BadValue => "bad_value",
            Fault::TrailingBytes => "trailing_bytes",
            Fault::OtherChannel => "other_channel",
            Fault::OtherSession => "other_session",
            Fault::UnknownInstrument => "unknown_instrument",
            Fault::UnknownOrder => "unknown_order",
            Fault::DuplicateOrder => "duplicate_order",
            Fault::Contradiction => "contradiction",
            Fault::BookFull => "book_full",
            Fault::BookHash => "book_hash",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl std::error::Error for Fault {}

/// Number of faults by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Faults([u64; Fault::ALL.len()]);

impl Faults {
    /// Adds one fault.
    #[inline]
    pub fn count(&mut self, fault: Fault) {
        self.0[fault as usize] += 1;
    }

    /// Number of faults of a kind.
    #[must_use]
    pub fn of(&self, fault: Fault) -> u64 {
        self.0[fault as usize]
    }

    /// Kinds that occurred, by name.
    pub fn met(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        Fault::ALL.iter().map(|fault| (fault.name(), self.of(*fault))).filter(|(_, n)| *n > 0)
    }

    /// Faults since an earlier reading.
    #[must_use]
    pub fn since(&self, before: &Faults) -> Faults {
        let mut since = *self;
        since.0.iter_mut().zip(before.0).for_each(|(count, before)| *count -= before);
        since
    }

    /// Total number.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

//! What can be wrong with a datagram.

use std::fmt;

/// Why a datagram, or the rest of one, was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Fault {
    /// It ends before what it announces does.
    Truncated = 0,
    /// It does not begin as a packet of this feed.
    Garbage,
    /// Its packet is of a version that came after this code.
    FutureVersion,
    /// A message in it is of no known template. It was passed over; the rest was read.
    UnknownTemplate,
    /// A message's block is shorter than its template's.
    ShortBlock,
    /// A field has a value that it can't have.
    BadValue,
    /// There are bytes behind its last message.
    TrailingBytes,
    /// It belongs to another channel.
    OtherChannel,
    /// It belongs to another session.
    OtherSession,
    /// It names an instrument that there is not.
    UnknownInstrument,
    /// It names an order that does not rest.
    UnknownOrder,
    /// It adds an order that rests already.
    DuplicateOrder,
    /// It says something of an order, or of a trade, that does not go with what the order shows.
    Contradiction,
    /// The book has no room for what it says: `orders_max` or `levels_max` of the reader is too
    /// low.
    BookFull,
    /// A snapshot makes another book than it says.
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

    /// Its name in records. Stable.
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

/// How often each fault was met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Faults([u64; Fault::ALL.len()]);

impl Faults {
    /// One more.
    #[inline]
    pub fn count(&mut self, fault: Fault) {
        self.0[fault as usize] += 1;
    }

    /// How often.
    #[must_use]
    pub fn of(&self, fault: Fault) -> u64 {
        self.0[fault as usize]
    }

    /// Those that were met, by name.
    pub fn met(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        Fault::ALL.iter().map(|fault| (fault.name(), self.of(*fault))).filter(|(_, n)| *n > 0)
    }

    /// Those that were met since an earlier look.
    #[must_use]
    pub fn since(&self, before: &Faults) -> Faults {
        let mut since = *self;
        since.0.iter_mut().zip(before.0).for_each(|(count, before)| *count -= before);
        since
    }

    /// All together.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

//! Builds a follower's books from a snapshot, whose parts may come in any order.

use crate::book::Book;
use crate::counts::Counts;
use crate::fault::Fault;
use crate::follower::buffered::DatagramBuffer;
use crate::format::message::{FeedMessage, PacketHeader};
use crate::format::packet::Packet;
use crate::settings::Definition;

/// The received parts, and the progress of the books.
#[derive(Debug)]
pub(crate) struct Rebuild {
    snapshot: Option<Snapshot>,
    /// By part number, those that came too early.
    early: DatagramBuffer,
    /// Holds a kept part while it is applied.
    scratch: Vec<u8>,
}

/// The books and counts of a follower.
pub(crate) struct Books<'a> {
    pub books: &'a mut [Book],
    pub definitions: &'a mut [Option<Definition>],
    pub counts: &'a mut Counts,
}

/// Result of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RebuildResult {
    /// It is useless.
    Nothing,
    /// It belongs to the present snapshot, which is not complete; it was applied, kept, or known.
    Part,
    /// The books are complete: the exchange's before the message with this number.
    Books(u64),
}

/// Progress of a snapshot.
#[derive(Debug, Clone, Copy)]
struct Snapshot {
    /// Identifies it: the first number that it does not contain.
    sequence: u64,
    parts: u16,
    /// The next part.
    next_part: u16,
    /// The instrument whose entries are next.
    current: Option<CurrentInstrument>,
}

#[derive(Debug, Clone, Copy)]
struct CurrentInstrument {
    instrument: u16,
    entries_left: u32,
    book_hash: u64,
}

impl Rebuild {
    pub fn new(datagrams_max: u32, datagram_bytes_max: usize) -> Rebuild {
        Rebuild {
            snapshot: None,
            early: DatagramBuffer::new(datagrams_max, datagram_bytes_max),
            scratch: vec![0; datagram_bytes_max],
        }
    }

    /// Starts over with the next snapshot's first part.
    pub fn start_over(&mut self) {
        self.snapshot = None;
        self.early.clear();
    }

    /// Handles a part.
    pub fn part(&mut self, packet: &Packet, bytes: &[u8], mut books: Books) -> RebuildResult {
        let PacketHeader { sequence, part, parts, .. } = *packet.header();
        if self.snapshot.is_some_and(|snapshot| sequence < snapshot.sequence) {
            books.counts.not_needed += 1;
            return RebuildResult::Nothing;
        }
        let is_same = |s: Snapshot| (sequence, parts) == (s.sequence, s.parts);
        let mut snapshot = match self.snapshot.filter(|snapshot| is_same(*snapshot)) {
            Some(snapshot) => snapshot,
            None => {
                self.early.clear();
                books.books.iter_mut().for_each(Book::clear);
                Snapshot { sequence, parts, next_part: 0, current: None }
            }
        };
        self.snapshot = Some(snapshot);
        if part < snapshot.next_part {
            books.counts.not_needed += 1;
            return RebuildResult::Part;
        }
        if part > snapshot.next_part {
            books.counts.early += 1;
            let is_kept = self.early.keep(u64::from(part), bytes);
            books.counts.not_kept += u64::from(!is_kept);
            return RebuildResult::Part;
        }
        let mut taken = snapshot.take(packet, &mut books);
        while let Ok(RebuildResult::Part) = taken
            && let Some(length) = self.early.take(u64::from(snapshot.next_part), &mut self.scratch)
        {
            let packet = Packet::decode(&self.scratch[..length]);
            taken = packet.and_then(|packet| snapshot.take(&packet, &mut books));
        }
        self.snapshot = Some(snapshot);
        taken.unwrap_or_else(|fault| {
            books.counts.faults.count(fault);
            self.start_over();
            RebuildResult::Nothing
        })
    }
}

impl Snapshot {
    /// Applies the next part.
    ///
    /// # Errors
    /// If it does not match the book that it announces.
    fn take(&mut self, packet: &Packet, books: &mut Books) -> Result<RebuildResult, Fault> {
        for message in packet.messages() {
            match message {
                Ok(message) => self.message(&message, books)?,
                Err(Fault::UnknownTemplate) => books.counts.faults.count(Fault::UnknownTemplate),
                Err(fault) => return Err(fault),
            }
        }
        self.next_part += 1;
        if self.next_part < self.parts {
            return Ok(RebuildResult::Part);
        }
        self.check(books.books)?;
        books.counts.snapshots += 1;
        Ok(RebuildResult::Books(self.sequence))
    }

    fn message(&mut self, message: &FeedMessage, books: &mut Books) -> Result<(), Fault> {
        let Books { books, definitions, counts } = books;
        let instrument = message.instrument();
        let place = usize::from(instrument);
        if let FeedMessage::Definition { code, tick, lot, entries, book_hash, .. } = *message {
            self.check(books)?;
            self.current = Some(CurrentInstrument { instrument, entries_left: entries, book_hash });
            match definitions.get_mut(place) {
                Some(definition) => *definition = Some(Definition { code, tick, lot }),
                None => counts.faults.count(Fault::UnknownInstrument),
            }
            return Ok(());
        }
        let Some(current) = self.current.as_mut().filter(|c| c.instrument == instrument) else {
            return Err(Fault::Contradiction);
        };
        if !matches!(message, FeedMessage::State { .. }) {
            let left = current.entries_left.checked_sub(1);
            current.entries_left = left.ok_or(Fault::Contradiction)?;
        }
        books.get_mut(place).map_or(Ok(()), |book| book.apply(message))
    }

    /// Checks that the previous instrument is complete.
    fn check(&self, books: &[Book]) -> Result<(), Fault> {
        let Some(CurrentInstrument { instrument, entries_left, book_hash }) = self.current else {
            return Ok(());
        };
        let book = books.get(usize::from(instrument));
        match entries_left == 0 && book.is_none_or(|book| book.hash() == book_hash) {
            true => Ok(()),
            false => Err(Fault::BookHash),
        }
    }
}

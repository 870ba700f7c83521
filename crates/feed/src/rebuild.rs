//! A follower's books from a snapshot, part by part.

use crate::book::Book;
use crate::fault::{Fault, Faults};
use crate::message::Message;
use crate::packet::Packet;
use crate::settings::Definition;

/// How far a snapshot has come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rebuild {
    /// Which: the first number that it does not contain.
    pub sequence: u64,
    pub parts: u16,
    /// The part that is to come.
    pub next_part: u16,
    /// The instrument whose entries come.
    current: Option<Current>,
}

#[derive(Debug, Clone, Copy)]
struct Current {
    instrument: u16,
    entries_left: u32,
    book_hash: u64,
}

impl Rebuild {
    /// From its first part. The books are empty.
    pub fn begin(sequence: u64, parts: u16) -> Rebuild {
        Rebuild { sequence, parts, next_part: 0, current: None }
    }

    /// Takes in the part that was to come. True: it was the last, and the books are those of who sent it.
    ///
    /// # Errors
    /// What does not make the books that it says.
    pub fn take(
        &mut self,
        packet: &Packet,
        books: &mut [Book],
        definitions: &mut [Option<Definition>],
        faults: &mut Faults,
    ) -> Result<bool, Fault> {
        for message in packet.messages() {
            match message {
                Ok(message) => self.message(&message, books, definitions, faults)?,
                Err(Fault::UnknownTemplate) => faults.count(Fault::UnknownTemplate),
                Err(fault) => return Err(fault),
            }
        }
        self.next_part += 1;
        let is_last = self.next_part == self.parts;
        if is_last {
            self.check(books)?;
        }
        Ok(is_last)
    }

    fn message(
        &mut self,
        message: &Message,
        books: &mut [Book],
        definitions: &mut [Option<Definition>],
        faults: &mut Faults,
    ) -> Result<(), Fault> {
        let instrument = message.instrument();
        let place = usize::from(instrument);
        if let Message::Definition { code, tick, lot, entries, book_hash, .. } = *message {
            self.check(books)?;
            self.current = Some(Current { instrument, entries_left: entries, book_hash });
            match definitions.get_mut(place) {
                Some(definition) => *definition = Some(Definition { code, tick, lot }),
                None => faults.count(Fault::UnknownInstrument),
            }
            return Ok(());
        }
        let Some(current) = self.current.as_mut().filter(|c| c.instrument == instrument) else {
            return Err(Fault::Contradiction);
        };
        if !matches!(message, Message::State { .. }) {
            current.entries_left =
                current.entries_left.checked_sub(1).ok_or(Fault::Contradiction)?;
        }
        books.get_mut(place).map_or(Ok(()), |book| book.apply(message))
    }

    /// Whether the instrument before is all there.
    fn check(&self, books: &[Book]) -> Result<(), Fault> {
        let Some(Current { instrument, entries_left, book_hash }) = self.current else {
            return Ok(());
        };
        let book = books.get(usize::from(instrument));
        match entries_left == 0 && book.is_none_or(|book| book.hash() == book_hash) {
            true => Ok(()),
            false => Err(Fault::BookHash),
        }
    }
}

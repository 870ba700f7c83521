//! The other side: datagrams to books that stay equal to the publisher's, whatever the network
//! does to them.
//!
//! A follower is in one of three states:
//! - **In sync**: each message is taken in as its number comes.
//! - **Behind**: messages are missing. What comes meanwhile is kept; a replay of the missing ones
//!   is wanted.
//! - **Rebuilding**: there are no books (there never were, or a message did not go with them, or
//!   the session is another, or a replay was refused). A snapshot is wanted; what comes meanwhile
//!   is kept.
//!
//! Anything that is no datagram of this feed changes nothing. UDP's checksum drops a datagram
//! whose bits flipped on the way; there is none here. What a flipped bit would do all the same: a
//! number far ahead makes the follower ask for what was never sent, and then for a snapshot, after
//! which it forgets that number; a change that does not go with the book is noticed at once, one
//! that does when a snapshot's hash or that of who compares books is another.

pub(crate) mod asked;
pub(crate) mod buffered;
pub(crate) mod rebuild;

use crate::book::{self, Book};
use crate::counts::Counts;
use crate::fault::Fault;
use crate::follower::asked::{RecoveryRequest, RequestState, RequestTurn};
use crate::follower::buffered::DatagramBuffer;
use crate::follower::rebuild::{Books, Rebuild, Rebuilt};
use crate::format::message::{PacketHeader, PacketKind};
use crate::format::packet::Packet;
use crate::settings::{Definition, FollowerSettings};

/// So many datagrams of another session, with none of this one between them, and that is the
/// session.
const SESSION_DATAGRAMS: u32 = 3;

/// What a datagram was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// Its head, if it has one.
    pub header: Option<PacketHeader>,
    /// Messages that were taken into the books because of it: its own, and those that were kept
    /// and had waited for it. Not those of a snapshot.
    pub applied: u32,
    /// It is a tick: new messages, taken in as they came.
    pub is_live_tick: bool,
}

/// Follows one channel. Reads no clock, does no I/O, and allocates nothing after it was made.
#[derive(Debug)]
pub struct Follower {
    settings: FollowerSettings,
    books: Vec<Book>,
    definitions: Vec<Option<Definition>>,
    session: Option<u64>,
    /// Another session that was met, and how often in a row.
    other_session: (u64, u32),
    /// The number of the message that is to come.
    next: u64,
    /// Messages below this number have been sent.
    end: u64,
    is_rebuilding: bool,
    rebuild: Rebuild,
    /// By their first message's number.
    early: DatagramBuffer,
    /// A datagram that was kept, while it is taken in.
    scratch: Vec<u8>,
    asking: RequestState,
    counts: Counts,
}

impl Follower {
    /// Without books yet: it wants a snapshot.
    #[must_use]
    pub fn new(settings: FollowerSettings) -> Follower {
        let FollowerSettings { channel, instruments, orders_max, levels_max, .. } = settings;
        let FollowerSettings { buffered_datagrams_max, datagram_bytes_max, .. } = settings;
        Follower {
            settings,
            books: (0..instruments).map(|_| Book::new(channel, orders_max, levels_max)).collect(),
            definitions: vec![None; usize::from(instruments)],
            session: None,
            other_session: (0, 0),
            next: 1,
            end: 1,
            is_rebuilding: true,
            rebuild: Rebuild::new(buffered_datagrams_max, datagram_bytes_max),
            early: DatagramBuffer::new(buffered_datagrams_max, datagram_bytes_max),
            scratch: vec![0; datagram_bytes_max],
            asking: RequestState::default(),
            counts: Counts::default(),
        }
    }

    /// A datagram came.
    #[inline]
    pub fn datagram(&mut self, bytes: &[u8]) -> Outcome {
        self.counts.datagrams += 1;
        let packet = match Packet::decode(bytes) {
            Ok(packet) => packet,
            Err(fault) => {
                self.counts.faults.count(fault);
                return Outcome { header: None, applied: 0, is_live_tick: false };
            }
        };
        let header = *packet.header();
        let none = Outcome { header: Some(header), applied: 0, is_live_tick: false };
        if header.channel != self.settings.channel {
            self.counts.faults.count(Fault::OtherChannel);
            return none;
        }
        if self.session != Some(header.session) && !self.begins_session(header.session) {
            return none;
        }
        self.other_session.1 = 0;
        self.asking.datagram();
        if header.kind == PacketKind::Snapshot {
            return Outcome { applied: self.part(&packet, bytes), ..none };
        }
        let was_in_sync = self.is_in_sync();
        self.end = self.end.max(header.sequence + u64::from(header.count));
        if was_in_sync && header.sequence > self.next {
            self.counts.gaps += 1;
        }
        if header.count == 0 {
            self.counts.heartbeats += 1;
            return none;
        }
        if self.is_rebuilding || header.sequence > self.next {
            self.keep(&header, bytes);
            return none;
        }
        let own = self.take(&packet);
        let is_live_tick = own > 0 && header.kind == PacketKind::Live;
        let applied = if self.early.is_empty() { own } else { own + self.take_early() };
        Outcome { applied, is_live_tick, ..none }
    }

    /// What it needs now. It is said once, to be asked of the exchange, and again when so many
    /// datagrams have brought nothing of it, or after [`Follower::again`].
    #[inline]
    pub fn wants(&mut self) -> Option<RecoveryRequest> {
        if self.is_in_sync() {
            self.asking.end();
            return None;
        }
        self.wants_now()
    }

    /// So much time has passed, since it wanted something or since this was last said, that what
    /// was asked for has been lost, if nothing of it came in that time.
    pub fn again(&mut self) {
        self.asking.time_is_up();
    }

    /// What was asked for last was refused.
    pub fn refused(&mut self) {
        if !self.is_in_sync() {
            self.begin_again();
        }
    }

    /// The books are known to be others than the exchange's: it wants a snapshot.
    pub fn begin_again(&mut self) {
        self.forget();
        self.asking.end();
    }

    /// The book of an instrument. What it shows is only right while the follower is in sync.
    #[must_use]
    #[inline]
    pub fn book(&self, instrument: u16) -> Option<&Book> {
        self.books.get(usize::from(instrument))
    }

    /// What an instrument is, once a snapshot has told it.
    #[must_use]
    pub fn definition(&self, instrument: u16) -> Option<&Definition> {
        self.definitions.get(usize::from(instrument))?.as_ref()
    }

    /// The number of the last message that was taken in; 0 before the first.
    #[must_use]
    #[inline]
    pub fn sequence(&self) -> u64 {
        self.next.saturating_sub(1)
    }

    /// The session that it follows.
    #[must_use]
    pub fn session(&self) -> Option<u64> {
        self.session
    }

    /// Whether its books are those of the exchange, as far as it was told.
    #[must_use]
    #[inline]
    pub fn is_in_sync(&self) -> bool {
        !self.is_rebuilding && self.next >= self.end
    }

    /// What it has met.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// A hash of all books, which is that of the publisher at the same number.
    #[must_use]
    pub fn book_hash(&self) -> u64 {
        book::hash_of(self.books.iter(), self.settings.channel)
    }

    /// Another session than that which is followed. True: it is followed from now on.
    #[cold]
    fn begins_session(&mut self, session: u64) -> bool {
        if self.session.is_some() {
            self.counts.faults.count(Fault::OtherSession);
            let (other, times) = self.other_session;
            self.other_session = (session, if other == session { times + 1 } else { 1 });
            if self.other_session.1 < SESSION_DATAGRAMS {
                return false;
            }
            self.counts.sessions += 1;
        }
        self.session = Some(session);
        self.next = 1;
        self.forget();
        true
    }

    /// As [`Follower::lose_books`], and what was said to have been sent is not believed: nobody
    /// has it.
    #[cold]
    fn forget(&mut self) {
        self.end = 1;
        self.early.clear();
        self.lose_books();
    }

    /// The books are not those of the exchange any more.
    #[cold]
    fn lose_books(&mut self) {
        self.is_rebuilding = true;
        self.rebuild.start_over();
    }

    /// A datagram before its turn.
    #[cold]
    fn keep(&mut self, header: &PacketHeader, bytes: &[u8]) {
        self.counts.early += 1;
        if self.early.keep(header.sequence, bytes) {
            return;
        }
        self.counts.not_kept += 1;
        // While there are no books, the snapshot will have the older ones.
        if self.is_rebuilding {
            self.counts.not_kept += self.early.clear();
            self.early.keep(header.sequence, bytes);
        }
    }

    /// Takes the messages of a packet in whose turn has come. Gives how many.
    #[inline]
    fn take(&mut self, packet: &Packet) -> u32 {
        let header = packet.header();
        if header.sequence + u64::from(header.count) <= self.next {
            self.counts.duplicates += 1;
            return 0;
        }
        let mut applied = 0;
        let mut sequence = header.sequence;
        for message in packet.messages() {
            if sequence < self.next {
                sequence += 1;
                continue;
            }
            let result = message.and_then(|message| {
                let book = self.books.get_mut(usize::from(message.instrument()));
                book.ok_or(Fault::UnknownInstrument).map(|book| book.apply(&message))
            });
            match result {
                Ok(Ok(())) => applied += 1,
                Ok(Err(fault)) => {
                    self.counts.faults.count(fault);
                    self.lose_books();
                    break;
                }
                Err(fault @ (Fault::UnknownTemplate | Fault::UnknownInstrument)) => {
                    self.counts.faults.count(fault);
                }
                Err(fault) => {
                    self.counts.faults.count(fault);
                    break;
                }
            }
            sequence += 1;
            self.next = sequence;
        }
        self.counts.messages += u64::from(applied);
        if header.kind == PacketKind::Replay {
            self.counts.replayed += u64::from(applied);
            self.asking.progress();
        }
        applied
    }

    /// Takes in what was kept and whose turn has come.
    #[cold]
    fn take_early(&mut self) -> u32 {
        let mut applied = 0;
        let mut scratch = std::mem::take(&mut self.scratch);
        while !self.is_rebuilding
            && let Some(length) = self.early.take(self.next, &mut scratch)
        {
            match Packet::decode(&scratch[..length]) {
                Ok(packet) => applied += self.take(&packet),
                Err(fault) => self.counts.faults.count(fault),
            }
        }
        self.scratch = scratch;
        if self.is_in_sync() {
            self.early.clear();
        }
        applied
    }

    /// A part of a snapshot. Gives how many messages that were kept are taken in after it.
    #[cold]
    fn part(&mut self, packet: &Packet, bytes: &[u8]) -> u32 {
        let Follower { rebuild, books, definitions, counts, .. } = self;
        if !self.is_rebuilding {
            counts.duplicates += 1;
            return 0;
        }
        match rebuild.part(packet, bytes, Books { books, definitions, counts }) {
            Rebuilt::Nothing => 0,
            Rebuilt::Part => {
                self.asking.progress();
                0
            }
            Rebuilt::Books(sequence) => {
                self.is_rebuilding = false;
                self.rebuild.start_over();
                self.asking.end();
                self.resume(sequence);
                self.take_early()
            }
        }
    }

    /// The books are those of the exchange before this message.
    fn resume(&mut self, sequence: u64) {
        self.next = sequence;
        self.end = self.end.max(sequence);
        self.early.release_below(sequence);
    }

    #[cold]
    fn wants_now(&mut self) -> Option<RecoveryRequest> {
        let want = match self.is_rebuilding {
            true => RecoveryRequest::Snapshot,
            false => self.missing(),
        };
        match self.asking.turn(want) {
            RequestTurn::Wait => return None,
            RequestTurn::Ask => {}
            RequestTurn::GiveUp => {
                match want {
                    // Nothing comes of what has come so far, whatever it was.
                    RecoveryRequest::Snapshot => self.lose_books(),
                    RecoveryRequest::Replay { .. } => self.forget(),
                }
                return self.wants_now();
            }
        }
        match want {
            RecoveryRequest::Snapshot => self.counts.snapshots_asked += 1,
            RecoveryRequest::Replay { .. } => self.counts.replays_asked += 1,
        }
        Some(want)
    }

    /// The messages between those that were taken in and the first that is kept.
    fn missing(&self) -> RecoveryRequest {
        let end = self.early.lowest().filter(|early| *early > self.next).unwrap_or(self.end);
        let count = u32::try_from(end - self.next).unwrap_or(u32::MAX);
        RecoveryRequest::Replay { from: self.next, count }
    }
}

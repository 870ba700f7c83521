//! Follows the feed: keeps books equal to the publisher's in spite of the network's faults.
//!
//! A follower is in one of three states:
//! - **In sync**: applies each message in order.
//! - **Behind**: messages are missing. It keeps later ones and wants a replay of the missing ones.
//! - **Rebuilding**: it has no valid books (at the start, after a message that contradicts them, in
//!   another session, or after a rejected replay). It keeps messages and wants a snapshot.
//!
//! A datagram that is not of this feed changes nothing. UDP's checksum drops datagrams with flipped
//! bits; the feed has no checksum of its own. If a bit flips in spite of that: a sequence number
//! far ahead makes the follower request a replay that is rejected, and then a snapshot, after which
//! it forgets the number. A change that contradicts the book is detected at once; any other when
//! the hash of a snapshot, or of a comparison of books, differs.

pub(crate) mod asked;
pub(crate) mod buffered;
pub(crate) mod rebuild;

use crate::book::{self, Book};
use crate::counts::Counts;
use crate::fault::Fault;
use crate::follower::asked::{RecoveryRequest, RequestState, RequestTurn};
use crate::follower::buffered::DatagramBuffer;
use crate::follower::rebuild::{Books, Rebuild, RebuildResult};
use crate::format::message::{PacketHeader, PacketKind};
use crate::format::packet::Packet;
use crate::settings::{Definition, FollowerSettings};

/// Number of datagrams of another session in a row after which the follower changes to that
/// session.
const SESSION_DATAGRAMS: u32 = 3;

/// Result of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// Its header, if valid.
    pub header: Option<PacketHeader>,
    /// Messages applied because of it, including those that were kept and waited for it, but not
    /// those of a snapshot.
    pub applied: u32,
    /// Whether it is a tick: new messages, applied on arrival.
    pub is_live_tick: bool,
}

/// Follows one channel. Reads no clock, does no I/O, and allocates only when it is made.
#[derive(Debug)]
pub struct Follower {
    settings: FollowerSettings,
    books: Vec<Book>,
    definitions: Vec<Option<Definition>>,
    session: Option<u64>,
    /// Another session, and the number of its datagrams in a row.
    other_session: (u64, u32),
    /// The number of the next message.
    next: u64,
    /// Messages below this number exist.
    end: u64,
    is_rebuilding: bool,
    rebuild: Rebuild,
    /// By their first message's number.
    early: DatagramBuffer,
    /// Holds a kept datagram while it is applied.
    scratch: Vec<u8>,
    asking: RequestState,
    counts: Counts,
}

impl Follower {
    /// A follower without books, which wants a snapshot.
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

    /// Handles a datagram.
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

    /// The request to send to the exchange now, if any. It is returned once, and again after many
    /// datagrams without an answer or after [`Follower::again`].
    #[inline]
    pub fn wants(&mut self) -> Option<RecoveryRequest> {
        if self.is_in_sync() {
            self.asking.end();
            return None;
        }
        self.wants_now()
    }

    /// Handles a time-out: call it when a time has passed since the last request or the last call.
    /// A request without any part of an answer in that time counts as lost.
    pub fn again(&mut self) {
        self.asking.time_is_up();
    }

    /// Handles the rejection of the last request.
    pub fn request_rejected(&mut self) {
        if !self.is_in_sync() {
            self.begin_again();
        }
    }

    /// Discards the books, because they are known to differ from the exchange's. It then wants a
    /// snapshot.
    pub fn begin_again(&mut self) {
        self.forget();
        self.asking.end();
    }

    /// Follows another exchange from now on: the session of the next datagram is its own, and it
    /// wants a snapshot.
    pub fn change_exchange(&mut self) {
        (self.session, self.other_session, self.next) = (None, (0, 0), 1);
        self.counts.sessions += 1;
        self.begin_again();
    }

    /// The book of an instrument. It is right only while the follower is in sync.
    #[must_use]
    #[inline]
    pub fn book(&self, instrument: u16) -> Option<&Book> {
        self.books.get(usize::from(instrument))
    }

    /// The definition of an instrument, once a snapshot has brought it.
    #[must_use]
    pub fn definition(&self, instrument: u16) -> Option<&Definition> {
        self.definitions.get(usize::from(instrument))?.as_ref()
    }

    /// The number of the last applied message; 0 before the first.
    #[must_use]
    #[inline]
    pub fn sequence(&self) -> u64 {
        self.next.saturating_sub(1)
    }

    /// Its session.
    #[must_use]
    pub fn session(&self) -> Option<u64> {
        self.session
    }

    /// Whether its books are the exchange's, as far as it knows.
    #[must_use]
    #[inline]
    pub fn is_in_sync(&self) -> bool {
        !self.is_rebuilding && self.next >= self.end
    }

    /// Its counts.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// A hash of all books, equal to the publisher's at the same number.
    #[must_use]
    pub fn book_hash(&self) -> u64 {
        book::hash_of(self.books.iter(), self.settings.channel)
    }

    /// Handles a datagram of another session. True if the follower changes to it.
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

    /// As [`Follower::lose_books`], and forgets the end of the feed, because the exchange has no
    /// such messages.
    #[cold]
    fn forget(&mut self) {
        self.end = 1;
        self.early.clear();
        self.lose_books();
    }

    /// Discards the books, which differ from the exchange's.
    #[cold]
    fn lose_books(&mut self) {
        self.is_rebuilding = true;
        self.rebuild.start_over();
    }

    /// Keeps a datagram that came too early.
    #[cold]
    fn keep(&mut self, header: &PacketHeader, bytes: &[u8]) {
        self.counts.early += 1;
        if self.early.keep(header.sequence, bytes) {
            return;
        }
        self.counts.not_kept += 1;
        // Without books, the snapshot will contain the older ones.
        if self.is_rebuilding {
            self.counts.not_kept += self.early.clear();
            self.early.keep(header.sequence, bytes);
        }
    }

    /// Applies the messages of the packet that is next. Returns their number.
    #[inline]
    fn take(&mut self, packet: &Packet) -> u32 {
        let header = packet.header();
        if header.sequence + u64::from(header.count) <= self.next {
            match header.kind {
                PacketKind::Live => self.counts.duplicates += 1,
                PacketKind::Replay | PacketKind::Snapshot => self.counts.not_needed += 1,
            }
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

    /// Applies kept datagrams that are next.
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

    /// Handles a part of a snapshot. Returns the number of kept messages applied after it.
    #[cold]
    fn part(&mut self, packet: &Packet, bytes: &[u8]) -> u32 {
        let Follower { rebuild, books, definitions, counts, .. } = self;
        if !self.is_rebuilding {
            counts.not_needed += 1;
            return 0;
        }
        match rebuild.part(packet, bytes, Books { books, definitions, counts }) {
            RebuildResult::Nothing => 0,
            RebuildResult::Part => {
                self.asking.progress();
                0
            }
            RebuildResult::Books(sequence) => {
                self.is_rebuilding = false;
                self.rebuild.start_over();
                self.asking.end();
                self.resume(sequence);
                self.take_early()
            }
        }
    }

    /// Continues with the books, which are the exchange's before this message.
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
                    // The parts that came so far are useless.
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

    /// The messages between the applied ones and the first kept one.
    fn missing(&self) -> RecoveryRequest {
        let end = self.early.lowest().filter(|early| *early > self.next).unwrap_or(self.end);
        let count = u32::try_from(end - self.next).unwrap_or(u32::MAX);
        RecoveryRequest::Replay { from: self.next, count }
    }
}

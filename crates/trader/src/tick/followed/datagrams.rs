//! The books of the feed's datagrams.

use crate::tick::followed::{FollowedBook, MarketDataKind, Tick};
use crate::tick::followed_state::FollowedState;
use crate::tick::releases::Publication;
use feed::{Book, Counts, Follower, Packet, PacketHeader, PacketKind, RecoveryRequest};

impl FollowedBook for Follower {
    const HAS_HEARTBEATS: bool = true;

    #[inline]
    fn publication(&self, datagram: &[u8]) -> Option<Publication> {
        let packet = Packet::decode(datagram).ok()?;
        let PacketHeader { kind, count, published_ns, intended_ns, .. } = *packet.header();
        let is_tick = kind == PacketKind::Live && count > 0;
        is_tick.then_some(Publication { published_ns, intended_ns })
    }

    #[inline]
    fn take(&mut self, datagram: &[u8]) -> Option<Tick> {
        let feed::Outcome { header, is_live_tick, .. } = self.datagram(datagram);
        let header = header?;
        let kind = match header.kind {
            PacketKind::Live if is_live_tick && Follower::is_in_sync(self) => MarketDataKind::Live,
            PacketKind::Live if header.count == 0 => MarketDataKind::Heartbeat,
            PacketKind::Live => MarketDataKind::NotNow,
            PacketKind::Replay => MarketDataKind::Replay,
            PacketKind::Snapshot => MarketDataKind::Snapshot,
        };
        Some(Tick {
            number: (header.sequence + u64::from(header.count)).saturating_sub(1),
            messages: header.count,
            bytes: datagram.len(),
            kind,
            intended_ns: header.intended_ns,
            acknowledged_ns: header.acknowledged_ns,
            published_ns: header.published_ns,
        })
    }

    #[inline]
    fn book(&self, instrument: u16) -> Option<&Book> {
        Follower::book(self, instrument)
    }

    fn wants(&mut self) -> Option<RecoveryRequest> {
        Follower::wants(self)
    }

    fn request_rejected(&mut self) {
        Follower::request_rejected(self);
    }

    fn again(&mut self) {
        Follower::again(self);
    }

    fn change_exchange(&mut self) {
        Follower::change_exchange(self);
    }

    fn sequence(&self) -> u64 {
        Follower::sequence(self)
    }

    #[inline]
    fn is_in_sync(&self) -> bool {
        Follower::is_in_sync(self)
    }

    fn state(&self, _instrument_code: &str) -> FollowedState {
        FollowedState::Orders
    }

    fn hash(&self) -> u64 {
        self.book_hash()
    }

    fn counts(&self) -> Counts {
        *Follower::counts(self)
    }
}

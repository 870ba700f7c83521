//! A feed that is made before the start, and can be sent again and again: its books are empty at
//! both ends.

use engine::{Cancel, Command, Engine, EngineLimits, Event, Input, Side};
use feed::{
    Channel, Definition, Follower, FollowerSettings, Packet, Publisher, PublisherSettings,
    PublisherSettingsError,
};
use flow::w1::{Flow, SHALLOW, TAG_CANCEL};

/// Operations of the flow in one round, after those that fill the book and before those that empty
/// it.
const OPERATIONS: u64 = 500_000;
/// Inputs that share datagrams, as when they come faster than they are sent.
const PACKED_INPUTS: usize = 500;
/// Datagrams that they need at most: each input has fewer messages than a datagram has room for.
const PACKED_DATAGRAMS_MAX: usize = PACKED_INPUTS + 2;
const LIMITS: EngineLimits = EngineLimits {
    open_orders_max: 1 << 16,
    price_levels_max: 1 << 12,
    stop_levels_max: 0,
    expiring_orders_max: 0,
    accounts_max: 0,
};
const CHANNEL: Channel = Channel::Orders;

/// A datagram of the feed.
pub(crate) struct PreparedDatagram {
    pub bytes: Vec<u8>,
    /// Its messages.
    pub messages: u64,
    /// The number of its first message in the first round.
    pub sequence: u64,
    /// Hash of the publisher's book after it, where a pack of inputs ends with it.
    pub book_hash: Option<u64>,
}

/// The feed.
pub(crate) struct PreparedFeed {
    /// The books at its start, which are empty.
    snapshot: Vec<Vec<u8>>,
    /// A datagram without messages, of the start.
    pub heartbeat: Vec<u8>,
    /// One round.
    pub datagrams: Vec<PreparedDatagram>,
    /// Messages of one round.
    pub messages: u64,
    datagram_bytes_max: usize,
}

impl PreparedFeed {
    /// Makes it. Takes about a second.
    ///
    /// # Errors
    /// If no such datagram can be made.
    pub(crate) fn new(
        seed: u64,
        datagram_bytes_max: usize,
    ) -> Result<PreparedFeed, PublisherSettingsError> {
        let mut exchange = Exchange::new(datagram_bytes_max)?;
        let (snapshot, heartbeat) = (exchange.snapshot(), exchange.heartbeat());
        let (mut flow, filling) = Flow::bounded(SHALLOW, 1, seed);
        let mut datagrams = Vec::new();
        exchange.publish(&filling, &mut datagrams);
        exchange.publish(&flow.take(OPERATIONS), &mut datagrams);
        exchange.publish(&exchange.cancels(), &mut datagrams);
        let messages = exchange.publisher.sequence(CHANNEL);
        Ok(PreparedFeed { snapshot, heartbeat, datagrams, messages, datagram_bytes_max })
    }

    /// A follower that has the books from which the feed begins.
    pub(crate) fn follower(&self) -> Follower {
        let EngineLimits { open_orders_max, price_levels_max, .. } = LIMITS;
        let mut follower = Follower::new(FollowerSettings {
            datagram_bytes_max: self.datagram_bytes_max,
            ..FollowerSettings::new(CHANNEL, 1, open_orders_max, price_levels_max)
        });
        self.snapshot.iter().for_each(|datagram| {
            follower.datagram(datagram);
        });
        follower
    }
}

/// An engine with its publisher.
struct Exchange {
    engine: Engine,
    publisher: Publisher,
    trades: u64,
}

impl Exchange {
    fn new(datagram_bytes_max: usize) -> Result<Exchange, PublisherSettingsError> {
        let publisher = Publisher::new(&PublisherSettings {
            session: 1,
            datagram_bytes_max,
            replay_packets_max: PACKED_DATAGRAMS_MAX,
            definitions: vec![Definition { code: [0; 32], tick: (1, -2), lot: (1, -3) }],
            orders_max: LIMITS.open_orders_max,
            levels_max: LIMITS.price_levels_max,
            channels: vec![CHANNEL],
        })?;
        Ok(Exchange { engine: Engine::new(1, LIMITS), publisher, trades: 0 })
    }

    fn snapshot(&mut self) -> Vec<Vec<u8>> {
        let mut datagrams = Vec::new();
        if let Some(mut sending) = self.publisher.snapshot(CHANNEL) {
            while let Some(datagram) = self.publisher.next_of(&mut sending) {
                datagrams.push(datagram.to_vec());
            }
        }
        datagrams
    }

    fn heartbeat(&mut self) -> Vec<u8> {
        self.publisher.heartbeat(CHANNEL, 0).map(|datagram| datagram.to_vec()).unwrap_or_default()
    }

    /// Applies inputs, and adds the datagrams that tell of them.
    fn publish(&mut self, inputs: &[Input], datagrams: &mut Vec<PreparedDatagram>) {
        for pack in inputs.chunks(PACKED_INPUTS) {
            for input in pack {
                let Exchange { engine, publisher, trades } = self;
                engine.apply(input, &mut |event| {
                    *trades += u64::from(matches!(event, Event::Trade { .. }));
                    publisher.event(&event, *trades);
                });
                publisher.end_of_input(0, 0);
            }
            while let Some(bytes) = self.publisher.next(CHANNEL) {
                let bytes = bytes.to_vec();
                let Ok(packet) = Packet::decode(&bytes) else { continue };
                let (messages, sequence) = (packet.header().count.into(), packet.header().sequence);
                datagrams.push(PreparedDatagram { bytes, messages, sequence, book_hash: None });
            }
            if let Some(last) = datagrams.last_mut() {
                last.book_hash = Some(self.publisher.book_hash(CHANNEL));
            }
        }
    }

    /// Inputs that empty the book.
    fn cancels(&self) -> Vec<Input> {
        let books = self.publisher.book(0).into_iter();
        let orders = books.flat_map(|book| [Side::Buy, Side::Sell].map(|side| book.orders(side)));
        let cancel = |order_id| Cancel { order_id, account: 0, tag: TAG_CANCEL, instrument: 0 };
        let input = |order_id| Input { time_ns: 0, command: Command::Cancel(cancel(order_id)) };
        orders.flatten().map(|order| input(order.order_id)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise the second round would not go with the books of the first.
    #[test]
    fn a_feed_can_be_followed_round_after_round() {
        let mut feed = PreparedFeed::new(7, 1472).unwrap();
        let mut follower = feed.follower();
        let empty = follower.book_hash();
        for round in 0..2 {
            for datagram in &mut feed.datagrams {
                let first = round * feed.messages + datagram.sequence;
                feed::patch_place(&mut datagram.bytes, first, 1);
                let applied = follower.datagram(&datagram.bytes).applied;
                assert_eq!(u64::from(applied), datagram.messages, "message {first}");
                assert!(datagram.book_hash.is_none_or(|hash| hash == follower.book_hash()));
            }
            assert_eq!(follower.sequence(), (round + 1) * feed.messages);
            assert_eq!(follower.book_hash(), empty);
        }
        assert_eq!(follower.counts().gaps, 0);
    }

    /// A datagram that is half empty costs as much as a full one.
    #[test]
    fn datagrams_are_nearly_full() {
        let feed = PreparedFeed::new(7, 1472).unwrap();
        let bytes: usize = feed.datagrams.iter().map(|datagram| datagram.bytes.len()).sum();
        assert!(bytes > feed.datagrams.len() * 1300, "{bytes} in {}", feed.datagrams.len());
    }
}

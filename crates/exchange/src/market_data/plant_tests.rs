//! The order and time of publication.

use super::*;
use crate::Config;
use crate::market_data::json::DataChannel;
use crate::market_data::settings::published_as;
use crate::setup::instruments::Instruments;
use engine::{Command, EngineLimits, Input, NewOrder, Side};
use transport::serve::Outbound;

/// An engine, and a plant that publishes its channel of orders.
struct Beside {
    engine: Engine,
    plant: Plant,
    instruments: Instruments,
    outbound: Outbound,
    orders: u64,
}

impl Beside {
    fn new() -> Beside {
        Beside::keeping(Config::default().limits.feed_replay_packets_max)
    }

    /// With room for this many datagrams.
    fn keeping(replay_packets_max: usize) -> Beside {
        let config = Config::default();
        let instruments = Instruments::shipped();
        let settings = PublisherSettings {
            replay_packets_max,
            ..published_as(None, &config.limits, 1, &instruments)
        };
        let engine = Engine::new(instruments.count(), EngineLimits::matching_only(1000, 1000));
        let mut plant = Plant::new(settings, None, &config.limits, None, 0);
        plant.begin(Channel::Orders, &engine).unwrap();
        Beside { engine, plant, instruments, outbound: Outbound::default(), orders: 0 }
    }

    /// Executes an order that rests, with a mark.
    fn order(&mut self, mark: u64) {
        self.orders += 1;
        let order = NewOrder { order_id: self.orders, ..NewOrder::limit(Side::Buy, 100, 1) };
        let mut events = Vec::new();
        self.engine.apply(&Input { time_ns: 0, command: Command::New(order) }, &mut |event| {
            events.push(NumberedEvent { event, order_book_sequence: 0, trade_id: 0 });
        });
        let (intended_ns, acknowledged_ns, state) = (0, 0, None);
        self.plant.done(&events, Completion { mark, intended_ns, acknowledged_ns, state });
    }

    /// Subscribes a connection to JSON market data.
    fn subscribe(&mut self, connection: u32, channels: &[DataChannel]) {
        let connection = StreamId(connection);
        self.outbound.open(connection);
        self.plant.begin(Channel::Levels, &self.engine).unwrap();
        for channel in channels {
            let of = DataSubscription { connection, channel: *channel, instrument: 0 };
            self.plant.data.subscribe(of).unwrap();
            let mut to = JsonOutput {
                instruments: &self.instruments,
                outbound: &mut self.outbound,
                time_ms: 0,
            };
            self.plant.begin_data(of, &mut to);
        }
    }

    /// Takes the messages that a connection got since the last call, and returns their types.
    fn told(&mut self, connection: u32) -> Vec<String> {
        let bytes = std::mem::take(self.outbound.to(StreamId(connection)));
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let kinds = text.split(r#"{"type":""#).skip(1);
        kinds.filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect()
    }

    /// Releases inputs up to a mark and publishes them. Returns the number of messages so far, and
    /// whether the release said that there are any to publish.
    fn publish(&mut self, acknowledged: u64) -> (u64, bool) {
        let is_any = self.plant.release(acknowledged);
        let to =
            JsonOutput { instruments: &self.instruments, outbound: &mut self.outbound, time_ms: 0 };
        assert!(!self.plant.publish(to), "an input that waits is nothing to do at once");
        (self.plant.sequence(Channel::Orders), is_any)
    }
}

#[test]
fn an_input_is_published_when_it_is_durable_and_not_before() {
    let mut beside = Beside::new();
    (1..=3).for_each(|mark| beside.order(mark));
    assert_eq!(beside.publish(0), (0, false));
    assert_eq!(beside.publish(1), (1, true));
    assert_eq!(beside.plant.datagrams(Channel::Orders), 1);
    assert!(beside.plant.is_pending());
    assert_eq!(beside.publish(1), (1, false));
    assert_eq!(beside.publish(3), (3, true));
    // Both were released at once, so one datagram holds both.
    assert_eq!(beside.plant.datagrams(Channel::Orders), 2);
    // Without a journal no input waits.
    beside.order(0);
    assert_eq!(beside.publish(3), (4, false));
}

/// A newly published channel already contains what is in the engine, and gets it only once.
#[test]
fn a_channel_that_begins_later_has_the_same_books() {
    let mut beside = Beside::new();
    beside.order(1);
    beside.order(2);
    beside.publish(1);
    beside.plant.begin(Channel::Levels, &beside.engine).unwrap();
    beside.order(3);
    assert_eq!(beside.publish(3), (3, true));
    assert_eq!(beside.plant.sequence(Channel::Levels), 1);
    for publisher in [Channel::Orders, Channel::Levels] {
        let book = beside.plant.publisher(publisher).unwrap().book(0).unwrap();
        assert_eq!(book.level(Side::Buy, 100), (3, 3));
    }
    assert_eq!(beside.plant.counts().faults, 0);
}

/// Datagrams that are overwritten before they are sent are a gap for subscribers of JSON.
#[test]
fn overwritten_datagrams_are_a_gap_for_all() {
    let mut beside = Beside::keeping(3);
    beside.subscribe(0, &[DataChannel::Book]);
    beside.subscribe(1, &[DataChannel::Trades]);
    assert_eq!((beside.told(0), beside.told(1)), (vec!["BOOK_SNAPSHOT".to_owned()], vec![]));
    beside.order(0);
    beside.publish(0);
    assert_eq!((beside.told(0), beside.told(1)), (vec!["BOOK".to_owned()], vec![]));
    // More messages than three datagrams hold.
    (0..200).for_each(|_| beside.order(0));
    beside.publish(0);
    assert!(beside.plant.counts().overrun > 0);
    assert_eq!(beside.told(0), ["GAP", "BOOK_SNAPSHOT"]);
    assert_eq!(beside.told(1), ["GAP"]);
    // Later messages arrive again, also at a client that subscribes after a time without any.
    beside.order(0);
    beside.publish(0);
    assert_eq!(beside.told(0), ["BOOK"]);
    (0..2).for_each(|connection| beside.plant.unsubscribe(StreamId(connection)));
    beside.order(0);
    beside.publish(0);
    beside.subscribe(0, &[DataChannel::Book]);
    beside.order(0);
    beside.publish(0);
    assert_eq!(beside.told(0), ["BOOK_SNAPSHOT", "BOOK"]);
}

/// Earlier, the trader's rule `book` compared its book with the publisher's copy, which a lost
/// event would make as wrong as the trader's.
#[test]
fn the_hash_of_a_channel_is_that_of_the_engines_own_book() {
    let mut beside = Beside::new();
    beside.order(0);
    beside.publish(0);
    let hash = |beside: &Beside| {
        beside.plant.states(&beside.instruments, &beside.engine)[0].book_hash.clone()
    };
    let mirror = beside.plant.publisher(Channel::Orders).unwrap().book_hash(Channel::Orders);
    assert_eq!(hash(&beside), format!("{mirror:016x}"));
    // The plant misses an input of the engine.
    let order = NewOrder { order_id: 99, ..NewOrder::limit(Side::Buy, 101, 1) };
    beside.engine.apply(&Input { time_ns: 0, command: Command::New(order) }, &mut |_| ());
    assert_ne!(hash(&beside), format!("{mirror:016x}"));
}

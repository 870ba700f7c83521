//! Market data as JSON: the feed by price, for clients that subscribe on their WebSocket.
//!
//! It is made from the feed's own datagrams, so that both always agree. A slow reader is skipped
//! until it has read what waits for it; a `GAP` then names the messages that it missed.

use crate::market_data::encode::{encode, level_of, levels};
use crate::market_data::stamped_top::StampedTop;
use crate::reply::text::send;
use crate::setup::instruments::Instruments;
use clock::Clock;
use engine::{Quote, Side, Top};
use feed::{FeedMessage, Packet, PacketHeader, Publisher, TopHistory};
use std::collections::BTreeMap;
use transport::StreamId;
use transport::serve::Outbound;
use wire::market_data::{self, Gap};

/// A channel of market data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DataChannel {
    Book,
    Trades,
    Top,
}

impl DataChannel {
    pub const ALL: [DataChannel; 3] = [DataChannel::Book, DataChannel::Trades, DataChannel::Top];

    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            DataChannel::Book => "BOOK",
            DataChannel::Trades => "TRADES",
            DataChannel::Top => "TOP",
        }
    }

    pub fn read(name: &str) -> Option<DataChannel> {
        DataChannel::ALL.into_iter().find(|channel| channel.name() == name)
    }
}

/// Room for a frame of one message.
const FRAME_BYTES: usize = 1024;

/// A subscription of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DataSubscription {
    pub connection: StreamId,
    pub channel: DataChannel,
    pub instrument: u16,
}

struct Subscriber {
    of: DataSubscription,
    /// Whether the last message of a tick carries stamps.
    is_stamped: bool,
    /// The first message that it missed, while it is skipped.
    skipped_from: Option<u64>,
    /// The top of book that it was sent last.
    top: Top,
    stamped_top: StampedTop,
}

/// Counters of market data as JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct MarketDataCounts {
    /// Messages sent.
    pub messages: u64,
    /// `GAP` messages sent.
    pub gaps: u64,
}

pub(crate) struct MarketDataSubscribers {
    subscribers: Vec<Subscriber>,
    subscriptions_max: usize,
    bytes_max: usize,
    counts: MarketDataCounts,
    /// Whether a subscriber is skipped.
    is_behind: bool,
    /// The number of the next message of the feed.
    next_sequence: u64,
    /// A message as a frame, encoded once for all its subscribers: without and with stamps.
    frames: [Vec<u8>; 2],
    /// The clock of stamps.
    clock: Option<Clock>,
    /// Number of the last `BOOK` of each instrument that has or had a stamped subscriber.
    book_sequences: BTreeMap<u16, u64>,
}

/// Destination of JSON market data, with the instruments and the time to write it.
pub(crate) struct JsonOutput<'a> {
    pub instruments: &'a Instruments,
    pub outbound: &'a mut Outbound,
    pub time_ms: i64,
}

impl MarketDataSubscribers {
    pub fn new(
        subscriptions_max: usize,
        bytes_max: usize,
        clock: Option<Clock>,
    ) -> MarketDataSubscribers {
        MarketDataSubscribers {
            subscribers: Vec::new(),
            subscriptions_max,
            bytes_max,
            counts: MarketDataCounts::default(),
            is_behind: false,
            next_sequence: 0,
            frames: [(); 2].map(|()| Vec::with_capacity(FRAME_BYTES)),
            clock,
            book_sequences: BTreeMap::new(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.subscribers.is_empty()
    }

    /// Whether a skipped subscriber may have read what waits for it.
    #[inline]
    pub fn is_behind(&self) -> bool {
        self.is_behind
    }

    pub fn counts(&self) -> MarketDataCounts {
        self.counts
    }

    /// Subscribes. Returns whether the subscription is new; `None` at the limit. [`Self::begin`]
    /// sends its first messages.
    pub fn subscribe(&mut self, of: DataSubscription) -> Option<bool> {
        if self.subscribers.iter().any(|subscriber| subscriber.of == of) {
            return Some(false);
        }
        let (is_stamped, skipped_from, top) = (false, None, Top::default());
        let stamped_top = StampedTop::default();
        let is_room = self.subscribers.len() < self.subscriptions_max;
        is_room.then(|| {
            let subscriber = Subscriber { of, is_stamped, skipped_from, top, stamped_top };
            self.subscribers.push(subscriber);
            true
        })
    }

    /// From now on, whether the last message of each tick of a subscription carries stamps. Returns
    /// false if there is no clock for them.
    pub fn stamp(&mut self, of: DataSubscription, is_stamped: bool) -> bool {
        if is_stamped && self.clock.is_none() {
            return false;
        }
        let its = self.subscribers.iter_mut().find(|subscriber| subscriber.of == of);
        if let Some(subscriber) = its.filter(|subscriber| subscriber.is_stamped != is_stamped) {
            subscriber.is_stamped = is_stamped;
            subscriber.stamped_top = StampedTop::default();
        }
        if is_stamped && of.channel == DataChannel::Book {
            self.book_sequences.entry(of.instrument).or_default();
        }
        true
    }

    /// Number of the last `BOOK` of an instrument since its first stamped subscriber, 0 before the
    /// first; `None` if it never had one.
    pub fn book_sequence(&self, instrument: u16) -> Option<u64> {
        self.book_sequences.get(&instrument).copied()
    }

    /// The instruments that have or had a stamped subscriber, each with the number of its last
    /// `BOOK`.
    pub fn book_sequences(&self) -> impl Iterator<Item = (u16, u64)> + '_ {
        self.book_sequences.iter().map(|(instrument, sequence)| (*instrument, *sequence))
    }

    /// The best prices that each subscriber of `TOP` with stamps was shown, with the instrument.
    pub fn top_histories(&self) -> impl Iterator<Item = (u16, &TopHistory)> + '_ {
        let shown = self.subscribers.iter().filter(|one| one.skipped_from.is_none());
        shown.filter_map(|one| Some((one.of.instrument, one.stamped_top.history()?)))
    }

    /// Number of the last `TOP` of an instrument that showed a change, 0 before the first; `None`
    /// without a stamped subscriber.
    pub fn top_sequence(&self, instrument: u16) -> Option<u64> {
        let its = self.top_histories().filter(|(of, _)| *of == instrument);
        its.map(|(_, shown)| if shown.changes() > 0 { shown.sequence() } else { 0 }).max()
    }

    pub fn unsubscribe(&mut self, connection: StreamId) {
        self.subscribers.retain(|subscriber| subscriber.of.connection != connection);
        self.is_behind &= !self.subscribers.is_empty();
    }

    /// The subscriptions of a connection, and whether they are stamped.
    pub fn of(&self, connection: StreamId) -> impl Iterator<Item = (DataSubscription, bool)> {
        let its = self.subscribers.iter().filter(move |one| one.of.connection == connection);
        its.map(|subscriber| (subscriber.of, subscriber.is_stamped))
    }

    /// Sends the present state to a new subscriber.
    pub fn begin(
        &mut self,
        of: DataSubscription,
        publisher: &Publisher,
        sequence: u64,
        to: &mut JsonOutput,
    ) {
        // Earlier messages were passed on, or there was no subscriber.
        self.next_sequence = sequence + 1;
        let is_it = |one: &&mut Subscriber| one.of == of;
        let Some(subscriber) = self.subscribers.iter_mut().find(is_it) else { return };
        self.counts.messages += subscriber.refresh(publisher, sequence, self.clock, to);
    }

    /// Passes on a datagram of the feed.
    pub fn datagram(&mut self, datagram: &[u8], to: &mut JsonOutput) {
        // The exchange encoded it itself, so it is valid.
        let Ok(packet) = Packet::decode(datagram) else { return };
        let PacketHeader { sequence, count, intended_ns, acknowledged_ns, .. } = *packet.header();
        if sequence != self.next_sequence {
            self.skip_all();
        }
        self.next_sequence = sequence + u64::from(count);
        let numbered = || packet.messages().flatten().zip(sequence..);
        if !self.book_sequences.is_empty() {
            for (message, number) in numbered() {
                let instrument = level_of(&message);
                let last = instrument.and_then(|of| self.book_sequences.get_mut(&of));
                last.into_iter().for_each(|last| *last = number);
            }
        }
        let stamped = self.subscribers.iter_mut().filter(|one| one.is_stamped);
        for subscriber in stamped.filter(|one| one.of.channel == DataChannel::Top) {
            let is_its =
                |message: FeedMessage| level_of(&message) == Some(subscriber.of.instrument);
            if packet.messages().flatten().any(is_its) {
                subscriber.stamped_top.changes([intended_ns, acknowledged_ns]);
            }
        }
        for (message, number) in numbered() {
            let last = level_of(&message).and_then(|of| self.book_sequence(of));
            let stamps = (last == Some(number)).then_some([intended_ns, acknowledged_ns]);
            self.message(&message, (number, stamps), to);
        }
    }

    /// Messages were overwritten before they were passed on: all subscribers get a gap.
    #[cold]
    fn skip_all(&mut self) {
        for subscriber in &mut self.subscribers {
            subscriber.skipped_from.get_or_insert(self.next_sequence);
        }
    }

    /// Passes on a message with its number and, if it is the last of a tick, the first two of its
    /// stamps.
    fn message(
        &mut self,
        message: &FeedMessage,
        (feed_sequence, stamps): (u64, Option<[u64; 2]>),
        to: &mut JsonOutput,
    ) {
        let (channel, instrument) = match message {
            FeedMessage::Level { instrument, .. } => (DataChannel::Book, *instrument),
            FeedMessage::Trade { instrument, .. } => (DataChannel::Trades, *instrument),
            _ => return,
        };
        let MarketDataSubscribers { subscribers, frames, counts, bytes_max, clock, .. } = self;
        frames.iter_mut().for_each(Vec::clear);
        for subscriber in subscribers {
            if (subscriber.of.channel, subscriber.of.instrument) != (channel, instrument) {
                continue;
            }
            if subscriber.is_skipped(feed_sequence, *bytes_max, to.outbound) {
                continue;
            }
            let stamps = stamps.zip(*clock).filter(|_| subscriber.is_stamped);
            let frame = &mut frames[usize::from(stamps.is_some())];
            if frame.is_empty() {
                let instrument = to.instruments.get(instrument);
                let stamp = stamps.map(|([intended_ns, acknowledged_ns], clock)| {
                    move || [intended_ns, acknowledged_ns, clock.now_ns()]
                });
                encode(frame, message, instrument, (feed_sequence, to.time_ms), stamp);
            }
            counts.messages += 1;
            to.outbound.to(subscriber.of.connection).extend_from_slice(frame);
        }
    }

    /// Call it after all datagrams of a turn. Sends changed tops, and resumes skipped subscribers
    /// that have read what waited for them.
    pub fn settle(&mut self, publisher: &Publisher, sequence: u64, to: &mut JsonOutput) {
        let (bytes_max, counts, clock) = (self.bytes_max, &mut self.counts, self.clock);
        for subscriber in &mut self.subscribers {
            let DataSubscription { connection, channel, instrument } = subscriber.of;
            if let Some(from) = subscriber.skipped_from {
                if to.outbound.waiting_bytes(connection) > bytes_max / 2 {
                    continue;
                }
                let instrument_code = to.instruments.get(instrument).code.as_str().into();
                let channel = channel.name().into();
                let gap = Gap { channel, instrument_code, from, to: sequence };
                send(to.outbound.to(connection), |out| market_data::encode_gap(out, &gap));
                counts.gaps += 1;
                subscriber.skipped_from = None;
                subscriber.stamped_top = StampedTop::default();
                counts.messages += 1 + subscriber.refresh(publisher, sequence, clock, to);
            } else if channel == DataChannel::Top
                && publisher.top(instrument) != subscriber.top
                && !subscriber.is_skipped(sequence, bytes_max, to.outbound)
            {
                counts.messages += subscriber.refresh(publisher, sequence, clock, to);
            }
            subscriber.stamped_top.end_turn();
        }
        self.is_behind = self.subscribers.iter().any(|one| one.skipped_from.is_some());
    }
}

impl Subscriber {
    /// Whether to skip this message because too much waits for the subscriber.
    fn is_skipped(&mut self, sequence: u64, bytes_max: usize, outbound: &Outbound) -> bool {
        if self.skipped_from.is_none() && outbound.waiting_bytes(self.of.connection) > bytes_max {
            self.skipped_from = Some(sequence);
        }
        self.skipped_from.is_some()
    }

    /// Sends the present state. Returns the number of messages.
    fn refresh(
        &mut self,
        publisher: &Publisher,
        feed_sequence: u64,
        clock: Option<Clock>,
        to: &mut JsonOutput,
    ) -> u64 {
        let DataSubscription { connection, channel, instrument } = self.of;
        let JsonOutput { instruments, outbound, time_ms } = to;
        let (instrument_of, time_ms) = (instruments.get(instrument), *time_ms);
        let out = outbound.to(connection);
        match channel {
            DataChannel::Book => {
                let Some(book) = publisher.book(instrument) else { return 0 };
                let levels = |side| levels(instrument_of, book, side);
                let (bids, asks) = (levels(Side::Buy), levels(Side::Sell));
                let code = &instrument_of.code;
                send(out, |out| {
                    market_data::encode_book_snapshot(out, code, bids, asks, feed_sequence, time_ms)
                });
            }
            DataChannel::Trades => return 0,
            DataChannel::Top => {
                self.top = publisher.top(instrument);
                let stamps = match self.is_stamped {
                    true => self.stamped_top.shown(feed_sequence, &self.top).zip(clock),
                    false => None,
                };
                let level = |quote: Quote| {
                    let price = instrument_of.price(quote.price_ticks);
                    (price, instrument_of.amount(quote.quantity_lots))
                };
                let top = market_data::Top {
                    instrument_code: instrument_of.code.as_str().into(),
                    bid: self.top.bid.map(level),
                    ask: self.top.ask.map(level),
                    feed_sequence,
                    time_ms,
                    stamps: None,
                };
                send(out, |out| {
                    market_data::encode_top(out, &top);
                    if let Some(([intended_ns, acknowledged_ns], clock)) = stamps {
                        let stamps = [intended_ns, acknowledged_ns, clock.now_ns()];
                        market_data::encode_tick_stamps(out, &stamps);
                    }
                });
            }
        }
        1
    }
}

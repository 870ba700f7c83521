//! Market data as JSON: the feed by price, for clients that subscribe on their WebSocket.
//!
//! It is made from the feed's own datagrams, so that both always agree. A slow reader is skipped
//! until it has read what waits for it; a `GAP` then names the messages that it missed.

use crate::reply::text::{send, wire_side};
use crate::setup::instruments::{Instrument, Instruments};
use engine::{Quote, Side, Top};
use feed::{Book, Message, Packet, PacketHeader, Publisher};
use transport::StreamId;
use transport::serve::Outbound;
use wire::Decimal;
use wire::market_data::{self, Gap, Level, Trade};

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

/// A subscription of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DataSubscription {
    pub connection: StreamId,
    pub channel: DataChannel,
    pub instrument: u16,
}

struct Subscriber {
    of: DataSubscription,
    /// The first message that it missed, while it is skipped.
    skipped_from: Option<u64>,
    /// The top of book that it was sent last.
    top: Top,
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
    /// A message as a frame, encoded once for all its subscribers.
    frame: Vec<u8>,
}

/// Destination of JSON market data, with the instruments and the time to write it.
pub(crate) struct JsonOutput<'a> {
    pub instruments: &'a Instruments,
    pub outbound: &'a mut Outbound,
    pub time_ms: i64,
}

impl MarketDataSubscribers {
    pub fn new(subscriptions_max: usize, bytes_max: usize) -> MarketDataSubscribers {
        MarketDataSubscribers {
            subscribers: Vec::new(),
            subscriptions_max,
            bytes_max,
            counts: MarketDataCounts::default(),
            is_behind: false,
            next_sequence: 0,
            frame: Vec::with_capacity(64 * 1024),
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
        let (skipped_from, top) = (None, Top::default());
        let is_room = self.subscribers.len() < self.subscriptions_max;
        is_room.then(|| {
            self.subscribers.push(Subscriber { of, skipped_from, top });
            true
        })
    }

    pub fn unsubscribe(&mut self, connection: StreamId) {
        self.subscribers.retain(|subscriber| subscriber.of.connection != connection);
        self.is_behind &= !self.subscribers.is_empty();
    }

    pub fn of(&self, connection: StreamId) -> impl Iterator<Item = DataSubscription> {
        let is_its = move |one: &DataSubscription| one.connection == connection;
        self.subscribers.iter().map(|subscriber| subscriber.of).filter(is_its)
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
        self.counts.messages += subscriber.refresh(publisher, sequence, to);
    }

    /// Passes on a datagram of the feed.
    pub fn datagram(&mut self, datagram: &[u8], to: &mut JsonOutput) {
        // The exchange encoded it itself, so it is valid.
        let Ok(packet) = Packet::decode(datagram) else { return };
        let PacketHeader { sequence, count, .. } = *packet.header();
        if sequence != self.next_sequence {
            self.skip_all();
        }
        self.next_sequence = sequence + u64::from(count);
        for (sequence, message) in (sequence..).zip(packet.messages().flatten()) {
            self.message(&message, sequence, to);
        }
    }

    /// Messages were overwritten before they were passed on: all subscribers get a gap.
    #[cold]
    fn skip_all(&mut self) {
        for subscriber in &mut self.subscribers {
            subscriber.skipped_from.get_or_insert(self.next_sequence);
        }
    }

    fn message(&mut self, message: &Message, feed_sequence: u64, to: &mut JsonOutput) {
        let (channel, instrument) = match message {
            Message::Level { instrument, .. } => (DataChannel::Book, *instrument),
            Message::Trade { instrument, .. } => (DataChannel::Trades, *instrument),
            _ => return,
        };
        let MarketDataSubscribers { subscribers, frame, counts, bytes_max, .. } = self;
        frame.clear();
        for subscriber in subscribers {
            if (subscriber.of.channel, subscriber.of.instrument) != (channel, instrument) {
                continue;
            }
            if subscriber.is_skipped(feed_sequence, *bytes_max, to.outbound) {
                continue;
            }
            if frame.is_empty() {
                encode(frame, message, to.instruments.get(instrument), feed_sequence, to.time_ms);
            }
            counts.messages += 1;
            to.outbound.to(subscriber.of.connection).extend_from_slice(frame);
        }
    }

    /// Call it after all datagrams of a turn. Sends changed tops, and resumes skipped subscribers
    /// that have read what waited for them.
    pub fn settle(&mut self, publisher: &Publisher, sequence: u64, to: &mut JsonOutput) {
        let (bytes_max, counts) = (self.bytes_max, &mut self.counts);
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
                counts.messages += 1 + subscriber.refresh(publisher, sequence, to);
            } else if channel == DataChannel::Top
                && publisher.top(instrument) != subscriber.top
                && !subscriber.is_skipped(sequence, bytes_max, to.outbound)
            {
                counts.messages += subscriber.refresh(publisher, sequence, to);
            }
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
    fn refresh(&mut self, publisher: &Publisher, feed_sequence: u64, to: &mut JsonOutput) -> u64 {
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
                };
                send(out, |out| market_data::encode_top(out, &top));
            }
        }
        1
    }
}

/// A side of a book as prices and amounts.
fn levels<'a>(
    instrument: &'a Instrument,
    book: &'a Book,
    side: Side,
) -> impl Iterator<Item = (Decimal, Decimal)> + 'a {
    book.levels(side).map(|(price_ticks, quantity_lots, _)| {
        (instrument.price(price_ticks), instrument.amount(quantity_lots))
    })
}

fn encode(
    frame: &mut Vec<u8>,
    message: &Message,
    instrument: &Instrument,
    feed_sequence: u64,
    time_ms: i64,
) {
    let instrument_code = instrument.code.as_str().into();
    match *message {
        Message::Level { side, price_ticks, quantity_lots, .. } => {
            let (side, price) = (wire_side(side), instrument.price(price_ticks));
            let amount = instrument.amount(quantity_lots);
            let level = Level { instrument_code, side, price, amount, feed_sequence, time_ms };
            send(frame, |out| market_data::encode_level(out, &level));
        }
        Message::Trade { trade_id, aggressor_side, price_ticks, quantity_lots, .. } => {
            let (side, price) = (wire_side(aggressor_side), instrument.price(price_ticks));
            let amount = instrument.amount(quantity_lots);
            let trade =
                Trade { instrument_code, trade_id, side, price, amount, feed_sequence, time_ms };
            send(frame, |out| market_data::encode_trade(out, &trade));
        }
        _ => {}
    }
}

//! The exchange's side: turns events of the engine into datagrams.

pub(crate) mod packets;
pub(crate) mod sending;
pub(crate) mod snapshot;

use engine::depth::RestingOrder;
use engine::{Event, InstrumentState, SavedItem, Side, Top};

use crate::book::{self, Book};
use crate::format::message::{Channel, FeedMessage};
use crate::publisher::packets::{Packets, ReplayError};
use crate::publisher::sending::{RequestedPackets, Sending};
use crate::publisher::snapshot::{TakenSnapshot, parts_max};
use crate::settings::{
    DATAGRAM_BYTES_LARGEST, DATAGRAM_BYTES_MIN, Definition, PublisherSettings,
    PublisherSettingsError,
};

/// State of a channel.
#[derive(Debug)]
struct PublishedChannel {
    packets: Packets,
    snapshot: TakenSnapshot,
}

/// The place of a pending [`FeedMessage::Level`].
type Place = (u16, Side, i64);

/// Makes the feed, and keeps the books as the feed shows them.
///
/// For each input: [`Publisher::event`] with each of its events, [`Publisher::end_of_input`], then
/// [`Publisher::next`] until it returns `None`. It reads no clock, does no I/O, and allocates only
/// when it is made.
#[derive(Debug)]
pub struct Publisher {
    books: Vec<Book>,
    definitions: Vec<Definition>,
    orders: Option<PublishedChannel>,
    levels: Option<PublishedChannel>,
    /// A changed level that is not yet published.
    due: Option<Place>,
    faults: u64,
}

impl Publisher {
    /// A publisher with empty books.
    ///
    /// # Errors
    /// If a setting is out of range.
    pub fn new(settings: &PublisherSettings) -> Result<Publisher, PublisherSettingsError> {
        let PublisherSettings { session, datagram_bytes_max, replay_packets_max, .. } = *settings;
        if !(DATAGRAM_BYTES_MIN..=DATAGRAM_BYTES_LARGEST).contains(&datagram_bytes_max) {
            return Err(PublisherSettingsError::DatagramBytes(datagram_bytes_max));
        }
        if replay_packets_max < 2 {
            return Err(PublisherSettingsError::ReplayPackets(replay_packets_max));
        }
        let instruments = settings.definitions.len();
        let published = |channel| -> Result<Option<PublishedChannel>, PublisherSettingsError> {
            if !settings.channels.contains(&channel) {
                return Ok(None);
            }
            let orders_max = settings.orders_max as usize;
            let entries_max = match channel {
                Channel::Orders => orders_max,
                Channel::Levels => orders_max.min(2 * settings.levels_max as usize * instruments),
            };
            let parts = parts_max(datagram_bytes_max, instruments, entries_max);
            if parts > usize::from(u16::MAX) {
                return Err(PublisherSettingsError::SnapshotParts(parts));
            }
            Ok(Some(PublishedChannel {
                packets: Packets::new(channel, session, datagram_bytes_max, replay_packets_max),
                snapshot: TakenSnapshot::new(channel, datagram_bytes_max, parts),
            }))
        };
        let book =
            |_: &Definition| Book::new(Channel::Orders, settings.orders_max, settings.levels_max);
        Ok(Publisher {
            orders: published(Channel::Orders)?,
            levels: published(Channel::Levels)?,
            books: settings.definitions.iter().map(book).collect(),
            definitions: settings.definitions.clone(),
            due: None,
            faults: 0,
        })
    }

    /// Restores a piece of the engine's state before the first event. If the engine starts with a
    /// state, pass all of `Engine::save`, in order.
    pub fn restore(&mut self, piece: &SavedItem) {
        match *piece {
            SavedItem::Instrument(settings) => {
                let Some(book) = self.books.get_mut(usize::from(settings.instrument)) else {
                    return;
                };
                let state =
                    FeedMessage::State { instrument: settings.instrument, state: settings.state };
                let _ = book.apply(&state);
            }
            SavedItem::Order { order, visible_lots } if order.stop_ticks == 0 => {
                let Some(book) = self.books.get_mut(usize::from(order.instrument)) else { return };
                let added = FeedMessage::OrderAdded {
                    instrument: order.instrument,
                    order_id: order.order_id,
                    side: order.side,
                    price_ticks: order.price_ticks,
                    quantity_lots: visible_lots,
                };
                self.faults += u64::from(book.apply(&added).is_err());
            }
            _ => {}
        }
    }

    /// Handles an event of the engine. `trade_id` is the id of the trade, if it is one.
    #[inline]
    pub fn event(&mut self, event: &Event, trade_id: u64) {
        match *event {
            Event::Booked { instrument, order, side, price_ticks, visible_lots }
            | Event::Replenished { instrument, order, side, price_ticks, visible_lots } => {
                let order_id = order.order_id;
                let quantity_lots = visible_lots;
                let place = (instrument, side, price_ticks);
                self.changed(
                    place,
                    &FeedMessage::OrderAdded {
                        instrument,
                        order_id,
                        side,
                        price_ticks,
                        quantity_lots,
                    },
                );
            }
            Event::Trade {
                instrument,
                price_ticks,
                quantity_lots,
                aggressor_side,
                resting,
                ..
            } => {
                let order_id = resting.order_id;
                let place = (instrument, aggressor_side.opposite(), price_ticks);
                let trade = FeedMessage::Trade {
                    instrument,
                    trade_id,
                    order_id,
                    aggressor_side,
                    price_ticks,
                    quantity_lots,
                };
                self.changed(place, &trade);
            }
            Event::Decremented { instrument, quantity_lots, resting, .. } => {
                let shown = self.shown(instrument, resting.order_id);
                let left =
                    shown.map_or(0, |shown| shown.quantity_lots.saturating_sub(quantity_lots));
                self.shows(instrument, resting.order_id, left);
            }
            Event::Amended { instrument, order, kept_place, visible_lots, .. } => {
                self.shows(instrument, order.order_id, if kept_place { visible_lots } else { 0 });
            }
            Event::Done { instrument, order, .. } => self.shows(instrument, order.order_id, 0),
            Event::Waiting { .. }
            | Event::Triggered { .. }
            | Event::Applied { .. }
            | Event::Rejected { .. } => {}
        }
    }

    /// Publishes an instrument's state if it has changed.
    pub fn state(&mut self, instrument: u16, state: InstrumentState) {
        let Some(book) = self.books.get_mut(usize::from(instrument)) else { return };
        if book.state() == state {
            return;
        }
        self.tell_due_level();
        let message = FeedMessage::State { instrument, state };
        let _ = self.books[usize::from(instrument)].apply(&message);
        for published in [&mut self.orders, &mut self.levels].into_iter().flatten() {
            published.packets.append(&message);
        }
    }

    /// Ends an input: all events since the last call belong to it. It was due at `intended_ns` and
    /// acknowledged at `acknowledged_ns`.
    pub fn end_of_input(&mut self, intended_ns: u64, acknowledged_ns: u64) {
        self.tell_due_level();
        for published in [&mut self.orders, &mut self.levels].into_iter().flatten() {
            published.packets.end_of_input(intended_ns, acknowledged_ns);
        }
    }

    /// The next datagram to send. The sender calls [`crate::patch_published`] just before sending.
    pub fn next(&mut self, channel: Channel) -> Option<&mut [u8]> {
        self.published_mut(channel)?.packets.next()
    }

    /// A datagram with the present sequence number, for a time without messages.
    pub fn heartbeat(&mut self, channel: Channel, now_ns: u64) -> Option<&mut [u8]> {
        Some(self.published_mut(channel)?.packets.heartbeat(now_ns))
    }

    /// Takes a snapshot to send with [`Publisher::next_of`]. A heartbeat before and after it tells
    /// the present sequence number. `None` if the channel is not published.
    ///
    /// The last snapshot is sent again as long as all later messages are kept, with some reserve.
    /// So a follower that lost a part gets it, and several followers can share a snapshot. Taking a
    /// new one ends the sending of the old one.
    pub fn snapshot(&mut self, channel: Channel) -> Option<Sending> {
        let Publisher { books, definitions, orders, levels, .. } = self;
        let PublishedChannel { packets, snapshot } = match channel {
            Channel::Orders => orders.as_mut()?,
            Channel::Levels => levels.as_mut()?,
        };
        if !snapshot.serves(packets) {
            snapshot.take(packets, books, definitions);
        }
        let (number, parts) = snapshot.is();
        let what = RequestedPackets::Snapshot { number, part: 0, left: parts + 2 };
        Some(Sending { channel, what })
    }

    /// The datagrams with messages `from` to `from + count`, to send again with
    /// [`Publisher::next_of`].
    ///
    /// # Errors
    /// If they are no longer kept or not yet sent. An unpublished channel keeps none.
    pub fn replay(
        &mut self,
        channel: Channel,
        from: u64,
        count: u32,
    ) -> Result<Sending, ReplayError> {
        let published = self.published_mut(channel).ok_or(ReplayError::TooOld)?;
        let packet = published.packets.packet_of(from)?;
        let end_sequence = from.saturating_add(u64::from(count));
        Ok(Sending { channel, what: RequestedPackets::Replay { packet, end_sequence } })
    }

    /// The next datagram of a replay or snapshot. `None` at the end, or if it is no longer kept, in
    /// which case the client must repeat its request.
    pub fn next_of(&mut self, sending: &mut Sending) -> Option<&mut [u8]> {
        let PublishedChannel { packets, snapshot } = self.published_mut(sending.channel)?;
        match &mut sending.what {
            RequestedPackets::Replay { packet, end_sequence } => {
                *packet += 1;
                packets.replayed(*packet - 1, *end_sequence)
            }
            RequestedPackets::Snapshot { number, part, left } => {
                let (current, parts) = snapshot.is();
                *left = left.checked_sub(1).filter(|_| *number == current)?;
                if *left == 0 || *left > parts {
                    return Some(packets.heartbeat(0));
                }
                let next = *part;
                *part = (next + 1) % parts;
                snapshot.part(next)
            }
        }
    }

    /// The number of a channel's last message; 0 before the first, and for an unpublished channel.
    #[must_use]
    pub fn sequence(&self, channel: Channel) -> u64 {
        self.published(channel).map_or(0, |published| published.packets.sequence())
    }

    /// A hash of all books as a channel shows them, equal to [`crate::Follower::book_hash`] at the
    /// same number.
    #[must_use]
    pub fn book_hash(&self, channel: Channel) -> u64 {
        book::hash_of(self.books.iter(), channel)
    }

    /// The best prices of an instrument; empty for an unknown instrument.
    #[must_use]
    pub fn top(&self, instrument: u16) -> Top {
        self.book(instrument).map(Book::top).unwrap_or_default()
    }

    /// The book of an instrument, order by order.
    #[must_use]
    pub fn book(&self, instrument: u16) -> Option<&Book> {
        self.books.get(usize::from(instrument))
    }

    /// Datagrams that were overwritten before they were sent, because one input had more than
    /// `replay_packets_max`. Followers see a gap.
    #[must_use]
    pub fn overrun(&self) -> u64 {
        let overrun = |published: &Option<PublishedChannel>| {
            published.as_ref().map_or(0, |published| published.packets.overrun())
        };
        overrun(&self.orders) + overrun(&self.levels)
    }

    /// Events that contradict the books. 0 is expected; otherwise `orders_max` or `levels_max` is
    /// less than the engine's, or events were omitted.
    #[must_use]
    pub fn faults(&self) -> u64 {
        self.faults
    }
}

impl Publisher {
    /// Publishes an order's new shown quantity; 0 removes it. Publishes nothing for an order that
    /// does not rest (an incoming order or a stop), or whose shown quantity did not fall (an
    /// iceberg that lost hidden quantity).
    fn shows(&mut self, instrument: u16, order_id: u64, quantity_lots: u64) {
        let Some(shown) = self.shown(instrument, order_id) else { return };
        if shown.quantity_lots == quantity_lots {
            return;
        }
        let message = match quantity_lots {
            0 => FeedMessage::OrderDeleted { instrument, order_id },
            _ => FeedMessage::OrderReduced { instrument, order_id, quantity_lots },
        };
        self.changed((instrument, shown.side, shown.price_ticks), &message);
    }

    /// Applies a message to a book and publishes it.
    #[inline]
    fn changed(&mut self, place: Place, message: &FeedMessage) {
        let book = self.books.get_mut(usize::from(place.0));
        if book.is_none_or(|book| book.apply(message).is_err()) {
            self.faults += 1;
            return;
        }
        if let Some(orders) = &mut self.orders {
            orders.packets.append(message);
        }
        if self.levels.is_none() {
            return;
        }
        if self.due != Some(place) {
            self.tell_due_level();
            self.due = Some(place);
        }
        if let (FeedMessage::Trade { .. }, Some(levels)) = (message, &mut self.levels) {
            levels.packets.append(message);
        }
    }

    /// Publishes a pending level when another level changes or the input ends, so that a level is
    /// published once, after all of its changes.
    fn tell_due_level(&mut self) {
        let Some((instrument, side, price_ticks)) = self.due.take() else { return };
        let Some(book) = self.books.get(usize::from(instrument)) else { return };
        let (quantity_lots, orders) = book.level(side, price_ticks);
        if let Some(levels) = &mut self.levels {
            levels.packets.append(&FeedMessage::Level {
                instrument,
                side,
                price_ticks,
                quantity_lots,
                orders,
            });
        }
    }

    fn shown(&self, instrument: u16, order_id: u64) -> Option<RestingOrder> {
        self.book(instrument)?.order(order_id)
    }

    fn published(&self, channel: Channel) -> Option<&PublishedChannel> {
        match channel {
            Channel::Orders => self.orders.as_ref(),
            Channel::Levels => self.levels.as_ref(),
        }
    }

    fn published_mut(&mut self, channel: Channel) -> Option<&mut PublishedChannel> {
        match channel {
            Channel::Orders => self.orders.as_mut(),
            Channel::Levels => self.levels.as_mut(),
        }
    }
}

//! The ticker plant: what the engine did, as datagrams and as JSON, for those who subscribe.
//!
//! ```text
//!   execution: events ─> pending ─ (durable) ─> feed::Publisher ─> datagrams ─> feed_subscribers
//!                                                                    └─> market_data: JSON
//! ```
//!
//! While an input is executed its events are only kept. The next turn of the loop publishes them,
//! after the answers of this turn; with a journal in sync mode, the turn after the one that found
//! the input durable and let its answers leave. So a snapshot, a hash and a replay never show what
//! could be lost, and no follower reads anything before the client concerned was told.

use crate::market_data::json::{DataSubscription, MarketDataCounts, MarketDataSubscribers, To};
use crate::market_data::publishing::depth;
use crate::market_data::subscribers::{FeedSubscribers, SubscriberCounts};
use crate::sequencer::Sequenced;
use crate::setup::limits::Limits;
use clock::Clock;
use engine::{Engine, Event, InstrumentState};
use feed::{Channel, Publisher, PublisherSettings, PublisherSettingsError, Sending};
use serde::Serialize;
use std::collections::VecDeque;
use transport::StreamId;
use wire::administration::FeedState;

/// Room for events that wait for a journal, which its `ring_slots` bound: by default so many inputs
/// with two events each. With more, memory is allocated during the measurement.
const PENDING_INPUTS: usize = 1 << 16;
const PENDING_EVENTS: usize = 2 * PENDING_INPUTS;

/// An input that is done and not published.
#[derive(Clone, Copy, Debug)]
struct Pending {
    happened: Happened,
    /// How many of the events are its.
    events: usize,
}

/// When an input was to happen and when it was done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Happened {
    /// Not to be published before this is released; 0: at once.
    pub mark: u64,
    pub intended_ns: u64,
    pub acknowledged_ns: u64,
    /// The state that the input gave an instrument.
    pub state: Option<(u16, InstrumentState)>,
}

/// A channel of the feed.
struct Published {
    publisher: Publisher,
    /// Inputs that wait and were in the engine when this publisher was made.
    known: usize,
    /// What it was made from may be shown from this mark on.
    shown_from: u64,
    /// Datagrams with new messages.
    datagrams: u64,
    /// The same at the last sweep.
    datagrams_swept: u64,
}

/// What was published.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FeedCounts {
    /// Datagrams with new messages, order by order.
    pub datagrams: u64,
    /// Messages in them.
    pub messages: u64,
    /// Datagrams that one input made so many of that they were gone before they were sent.
    pub overrun: u64,
    /// Events that did not go with the published books: 0, or the feed is wrong.
    pub faults: u64,
    /// By subscriber, those that are gone with them.
    pub subscribers: Vec<SubscriberCounts>,
    /// Market data as JSON.
    pub json: MarketDataCounts,
}

/// Channels that are published.
#[derive(Default)]
struct Channels {
    orders: Option<Published>,
    levels: Option<Published>,
}

impl Channels {
    fn get(&self, channel: Channel) -> Option<&Published> {
        match channel {
            Channel::Orders => self.orders.as_ref(),
            Channel::Levels => self.levels.as_ref(),
        }
    }

    fn get_mut(&mut self, channel: Channel) -> Option<&mut Published> {
        match channel {
            Channel::Orders => self.orders.as_mut(),
            Channel::Levels => self.levels.as_mut(),
        }
    }
}

pub(crate) struct Plant {
    settings: PublisherSettings,
    channels: Channels,
    /// Subscribers that get datagrams; `None` without a feed.
    pub subscribers: Option<FeedSubscribers>,
    pub data: MarketDataSubscribers,
    clock: Option<Clock>,
    events: VecDeque<Sequenced>,
    inputs: VecDeque<Pending>,
    /// The answers to inputs with marks up to this have been let go.
    released: u64,
    /// Somebody asked for what was sent before, or for the books, and has not had all of it.
    asked: bool,
    snapshot_ns: u64,
    snapshot_due_ns: u64,
}

impl Plant {
    /// With nothing published yet.
    pub fn new(
        settings: PublisherSettings,
        subscribers: Option<FeedSubscribers>,
        limits: &Limits,
        clock: Option<Clock>,
        snapshot_ns: u64,
    ) -> Plant {
        let Limits { market_data_subscriptions_max, market_data_bytes_max, .. } = *limits;
        let data = MarketDataSubscribers::new(market_data_subscriptions_max, market_data_bytes_max);
        Plant {
            settings,
            channels: Channels::default(),
            subscribers,
            data,
            clock,
            events: VecDeque::with_capacity(PENDING_EVENTS),
            inputs: VecDeque::with_capacity(PENDING_INPUTS),
            released: 0,
            asked: false,
            snapshot_ns,
            snapshot_due_ns: 0,
        }
    }

    /// Starts publishing a channel from the engine's books. The first time it takes some
    /// milliseconds, because it allocates and touches memory.
    ///
    /// # Errors
    /// If no such feed can be made.
    #[cold]
    pub fn begin(
        &mut self,
        channel: Channel,
        engine: &Engine,
    ) -> Result<(), PublisherSettingsError> {
        if self.channels.get(channel).is_some() {
            return Ok(());
        }
        let channels = vec![channel];
        let mut publisher =
            Publisher::new(&PublisherSettings { channels, ..self.settings.clone() })?;
        engine.save(&mut |piece| publisher.restore(&piece));
        let published = Published {
            publisher,
            known: self.inputs.len(),
            shown_from: self.inputs.back().map_or(0, |input| input.happened.mark),
            datagrams: 0,
            datagrams_swept: 0,
        };
        match channel {
            Channel::Orders => self.channels.orders = Some(published),
            Channel::Levels => self.channels.levels = Some(published),
        }
        Ok(())
    }

    /// An input was executed.
    #[inline]
    pub fn done(&mut self, events: &[Sequenced], happened: Happened) {
        let before = self.events.len();
        self.events.extend(events.iter().filter(|sequenced| changes_a_book(&sequenced.event)));
        let count = self.events.len() - before;
        if count > 0 || happened.state.is_some() {
            self.inputs.push_back(Pending { happened, events: count });
        }
    }

    /// Whether a turn of the loop has anything to do here: rarely but after an input.
    #[inline]
    pub fn has_work(&self) -> bool {
        !self.inputs.is_empty() || self.asked || self.data.is_behind()
    }

    /// The journal holds inputs with marks up to this, and their answers leave now: the next turn
    /// publishes them.
    #[inline]
    pub fn release(&mut self, mark: u64) {
        if mark == self.released {
            return;
        }
        // What waited for the journal was not acknowledged before now.
        let now_ns = self.clock.map_or(0, |clock| clock.now_ns());
        let first = self.inputs.partition_point(|input| input.happened.mark <= self.released);
        let later = self.inputs.range_mut(first..).map(|input| &mut input.happened);
        later.take_while(|it| it.mark <= mark).for_each(|it| it.acknowledged_ns = now_ns);
        self.released = mark;
    }

    /// Publishes what is pending and may be. Says whether there is more to do.
    #[inline]
    pub fn publish(&mut self, mut to: To) -> bool {
        let ready = self.inputs.partition_point(|input| input.happened.mark <= self.released);
        let mut asked = false;
        // All of one channel first: its datagrams do not wait until the other's are encoded.
        for channel in [Channel::Orders, Channel::Levels] {
            if ready > 0 {
                self.encode(channel, ready);
                self.send(channel, &mut to);
            }
            asked |= self.send_asked(channel);
        }
        let events: usize = self.inputs.drain(..ready).map(|input| input.events).sum();
        self.events.drain(..events);
        if !self.data.is_empty()
            && let Some(Published { publisher, .. }) = &self.channels.levels
        {
            let sequence = publisher.sequence(Channel::Levels);
            self.data.settle(publisher, sequence, &mut to);
        }
        self.asked = asked;
        asked || !self.inputs.is_empty()
    }

    fn encode(&mut self, channel: Channel, ready: usize) {
        let channel = self.channels.get_mut(channel);
        let Some(Published { publisher, known, .. }) = channel else { return };
        let mut first = 0;
        for input in self.inputs.iter().take(ready) {
            let of_input = first..first + input.events;
            first = of_input.end;
            if *known > 0 {
                *known -= 1;
                continue;
            }
            for Sequenced { event, trade_id, .. } in self.events.range(of_input) {
                publisher.event(event, trade_id.cast_unsigned());
            }
            if let Some((instrument, state)) = input.happened.state {
                publisher.state(instrument, state);
            }
            publisher.end_of_input(input.happened.intended_ns, input.happened.acknowledged_ns);
        }
    }

    fn send(&mut self, channel: Channel, to: &mut To) {
        let Plant { channels, subscribers, data, .. } = self;
        let Some(Published { publisher, datagrams, .. }) = channels.get_mut(channel) else {
            return;
        };
        while let Some(datagram) = publisher.next(channel) {
            *datagrams += 1;
            if let Some(subscribers) = subscribers {
                subscribers.publish(channel, datagram);
            }
            if channel == Channel::Levels && !data.is_empty() {
                data.hear(datagram, to);
            }
        }
    }

    /// Sends some of what was asked for again. Says whether there is more.
    fn send_asked(&mut self, channel: Channel) -> bool {
        let Plant { channels, subscribers: Some(subscribers), .. } = self else { return false };
        let Some(published) = channels.get_mut(channel) else { return false };
        if published.shown_from > self.released {
            return subscribers.has(channel);
        }
        subscribers.send_asked(channel, &mut published.publisher)
    }

    /// Ten times a second: sends a heartbeat if nothing else was sent, and the group's snapshot.
    pub fn sweep(&mut self, now_ns: u64) {
        let is_due = self.snapshot_ns > 0 && now_ns >= self.snapshot_due_ns;
        let Plant { channels, subscribers: Some(subscribers), asked, .. } = self else { return };
        for channel in [Channel::Orders, Channel::Levels] {
            let Some(published) = channels.get_mut(channel) else { continue };
            let Published { publisher, datagrams, datagrams_swept, .. } = published;
            if datagrams == datagrams_swept
                && let Some(datagram) = publisher.heartbeat(channel, now_ns)
            {
                subscribers.publish(channel, datagram);
            }
            *datagrams_swept = *datagrams;
            if is_due
                && subscribers.is_multicast()
                && let Some(sending) = publisher.snapshot(channel)
            {
                subscribers.send_group(channel, sending);
                *asked = true;
            }
        }
        if is_due {
            self.snapshot_due_ns = now_ns + self.snapshot_ns;
        }
    }

    /// The publisher of a channel, where it is published.
    pub fn publisher(&mut self, channel: Channel) -> Option<&mut Publisher> {
        self.channels.get_mut(channel).map(|published| &mut published.publisher)
    }

    /// Sends a new subscriber of market data what stands now.
    pub fn begin_data(&mut self, of: DataSubscription, to: &mut To) {
        if let Some(Published { publisher, .. }) = &self.channels.levels {
            self.data.begin(of, publisher, publisher.sequence(Channel::Levels), to);
        }
    }

    /// What a connection is sent as datagrams.
    pub fn channel_of(&self, connection: StreamId) -> Option<Channel> {
        self.subscribers.as_ref()?.of(connection).map(|(channel, _)| channel)
    }

    /// A subscriber is to be sent something again, from the next turns on.
    pub fn send_again(&mut self, connection: StreamId, channel: Channel, sending: Sending) {
        if let Some(subscribers) = &mut self.subscribers {
            subscribers.send_again(connection, channel, sending);
            self.asked = true;
        }
    }

    /// A connection is gone, and its subscriptions with it.
    pub fn unsubscribe(&mut self, connection: StreamId) {
        self.data.unsubscribe(connection);
        if let Some(subscribers) = &mut self.subscribers {
            subscribers.unsubscribe(connection);
        }
    }

    /// Which run of the exchange.
    pub fn session(&self) -> u64 {
        self.settings.session
    }

    /// The number of a channel's last message.
    pub fn sequence(&self, channel: Channel) -> u64 {
        self.channels.get(channel).map_or(0, |published| published.publisher.sequence(channel))
    }

    /// Datagrams with new messages of a channel.
    pub fn datagrams(&self, channel: Channel) -> u64 {
        self.channels.get(channel).map_or(0, |published| published.datagrams)
    }

    /// Whether something waits to be published.
    pub fn is_pending(&self) -> bool {
        !self.inputs.is_empty()
    }

    /// The state of each channel. Its hash is that of the engine's own book, shown as the channel
    /// shows it: a follower that agrees with a wrong mirror of the publisher must not pass. While
    /// inputs wait to be published, the engine is ahead of the channel, and the hash is the
    /// mirror's. Takes some milliseconds if many orders rest.
    pub fn states(&self, engine: &Engine) -> Vec<FeedState> {
        let state = |channel: Channel| {
            let publisher = &self.channels.get(channel)?.publisher;
            let hash = match self.is_pending() {
                true => publisher.book_hash(channel),
                false => self.engine_hash(channel, engine)?,
            };
            Some(FeedState {
                depth: depth(channel).name().to_owned(),
                sequence: publisher.sequence(channel),
                book_hash: format!("{hash:016x}"),
            })
        };
        [Channel::Orders, Channel::Levels].into_iter().filter_map(state).collect()
    }

    /// The hash of the engine's books, from the pieces that it would save.
    fn engine_hash(&self, channel: Channel, engine: &Engine) -> Option<u64> {
        let channels = vec![channel];
        let mut books =
            Publisher::new(&PublisherSettings { channels, ..self.settings.clone() }).ok()?;
        engine.save(&mut |piece| books.restore(&piece));
        Some(books.book_hash(channel))
    }

    pub fn counts(&self) -> FeedCounts {
        let all = || [&self.channels.orders, &self.channels.levels].into_iter().flatten();
        FeedCounts {
            datagrams: self.datagrams(Channel::Orders),
            messages: self.sequence(Channel::Orders),
            overrun: all().map(|published| published.publisher.overrun()).sum(),
            faults: all().map(|published| published.publisher.faults()).sum(),
            subscribers: self.subscribers.as_ref().map_or_else(Vec::new, FeedSubscribers::counts),
            json: self.data.counts(),
        }
    }
}

/// Whether an event may change what a book shows.
#[inline]
fn changes_a_book(event: &Event) -> bool {
    !matches!(
        event,
        Event::Rejected { .. }
            | Event::Applied { .. }
            | Event::Waiting { .. }
            | Event::Triggered { .. }
    )
}

#[cfg(test)]
#[path = "plant_tests.rs"]
mod tests;

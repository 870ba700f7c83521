//! The ticker plant: publishes the engine's events as datagrams and as JSON.
//!
//! ```text
//!   execution: events ─> pending ─ (durable) ─> feed::Publisher ─> datagrams ─> feed_subscribers
//!                                                                    └─> market_data: JSON
//! ```
//!
//! While an input is executed, its events are only kept. The next turn of the loop publishes them,
//! after the replies of this turn; with a journal in sync mode, the turn after the input is durable
//! and its replies are released. So a snapshot, a hash and a replay never contain an input that
//! could be lost, and no follower reads an event before the client gets its report.

use crate::market_data::channels::{Channels, PublishedChannel};
use crate::market_data::json::{
    DataSubscription, JsonOutput, MarketDataCounts, MarketDataSubscribers,
};
use crate::market_data::subscribers::{FeedSubscribers, SubscriberCounts};
use crate::sequencer::NumberedEvent;
use crate::setup::limits::Limits;
use clock::Clock;
use engine::{Engine, Event, InstrumentState};
use feed::{Channel, Publisher, PublisherSettings, PublisherSettingsError, Sending};
use serde::Serialize;
use std::collections::VecDeque;
use transport::StreamId;

/// Room for the inputs that wait for a journal: its default `ring_slots`, with two events each. If
/// more wait, memory is allocated during the measurement.
const PENDING_INPUTS: usize = 1 << 16;
const PENDING_EVENTS: usize = 2 * PENDING_INPUTS;

/// An executed input that is not published yet.
#[derive(Clone, Copy, Debug)]
struct PendingInput {
    completion: Completion,
    /// Number of its events.
    events: usize,
}

/// When an input was intended and when it was executed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Completion {
    /// Publish it only when this mark is released; 0: at once.
    pub mark: u64,
    pub intended_ns: u64,
    pub acknowledged_ns: u64,
    /// The instrument whose state the input set, and the state.
    pub state: Option<(u16, InstrumentState)>,
}

/// Counters of market data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FeedCounts {
    /// Datagrams with new messages, order by order.
    pub datagrams: u64,
    /// Messages in them.
    pub messages: u64,
    /// Datagrams that were overwritten before they were sent, because one input made too many.
    pub overrun: u64,
    /// Events that contradict the published books; must be 0.
    pub faults: u64,
    /// By subscriber, including former ones.
    pub subscribers: Vec<SubscriberCounts>,
    /// Market data as JSON.
    pub json: MarketDataCounts,
}

pub(crate) struct Plant {
    pub(super) settings: PublisherSettings,
    pub(super) channels: Channels,
    /// Subscribers that get datagrams; `None` without a feed.
    pub subscribers: Option<FeedSubscribers>,
    pub data: MarketDataSubscribers,
    clock: Option<Clock>,
    events: VecDeque<NumberedEvent>,
    inputs: VecDeque<PendingInput>,
    /// Replies to inputs with marks up to this are released.
    released: u64,
    /// Whether a replay or a snapshot is still being sent.
    resending: bool,
    snapshot_ns: u64,
    snapshot_due_ns: u64,
}

impl Plant {
    /// A plant that publishes no channel yet.
    pub fn new(
        settings: PublisherSettings,
        subscribers: Option<FeedSubscribers>,
        limits: &Limits,
        clock: Option<Clock>,
        snapshot_ns: u64,
    ) -> Plant {
        let Limits { market_data_subscriptions_max, market_data_bytes_max, .. } = *limits;
        let data =
            MarketDataSubscribers::new(market_data_subscriptions_max, market_data_bytes_max, clock);
        Plant {
            settings,
            channels: Channels::default(),
            subscribers,
            data,
            clock,
            events: VecDeque::with_capacity(PENDING_EVENTS),
            inputs: VecDeque::with_capacity(PENDING_INPUTS),
            released: 0,
            resending: false,
            snapshot_ns,
            snapshot_due_ns: 0,
        }
    }

    /// Starts publishing a channel from the engine's books. The first time it takes some
    /// milliseconds, because it allocates and touches memory.
    ///
    /// # Errors
    /// If the settings are invalid.
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
        let published = PublishedChannel {
            publisher,
            known: self.inputs.len(),
            shown_from: self.inputs.back().map_or(0, |input| input.completion.mark),
            datagrams: 0,
            datagrams_swept: 0,
        };
        self.channels.add(channel, published);
        Ok(())
    }

    /// Adds an executed input.
    #[inline]
    pub fn done(&mut self, events: &[NumberedEvent], completion: Completion) {
        let before = self.events.len();
        self.events.extend(events.iter().filter(|numbered| changes_a_book(&numbered.event)));
        let count = self.events.len() - before;
        if count > 0 || completion.state.is_some() {
            self.inputs.push_back(PendingInput { completion, events: count });
        }
    }

    /// Whether a turn of the loop has work here; usually only after an input.
    #[inline]
    pub fn has_work(&self) -> bool {
        !self.inputs.is_empty() || self.resending || self.data.is_behind()
    }

    /// Releases inputs with marks up to this: they are durable and their replies leave now, so the
    /// next turn publishes them. Returns whether there are any.
    #[inline]
    pub fn release(&mut self, mark: u64) -> bool {
        if mark == self.released {
            return false;
        }
        // Inputs that waited for the journal are acknowledged now.
        let now_ns = self.clock.map_or(0, |clock| clock.now_ns());
        let first = self.inputs.partition_point(|input| input.completion.mark <= self.released);
        let later = self.inputs.range_mut(first..).map(|input| &mut input.completion);
        later.take_while(|it| it.mark <= mark).for_each(|it| it.acknowledged_ns = now_ns);
        self.released = mark;
        self.inputs.front().is_some_and(|input| input.completion.mark <= mark)
    }

    /// Publishes released inputs. Returns whether there is more to do at once.
    #[inline]
    pub fn publish(&mut self, mut to: JsonOutput) -> bool {
        let ready = self.inputs.partition_point(|input| input.completion.mark <= self.released);
        let mut resending = false;
        // Send one channel before encoding the next, so that its datagrams do not wait.
        for channel in [Channel::Orders, Channel::Levels] {
            if ready > 0 {
                self.encode(channel, ready);
                self.send(channel, &mut to);
            }
            resending |= self.resend(channel);
        }
        let events: usize = self.inputs.drain(..ready).map(|input| input.events).sum();
        self.events.drain(..events);
        if !self.data.is_empty()
            && let Some(PublishedChannel { publisher, .. }) = self.channels.get(Channel::Levels)
        {
            let sequence = publisher.sequence(Channel::Levels);
            self.data.settle(publisher, sequence, &mut to);
        }
        self.resending = resending;
        resending
    }

    fn encode(&mut self, channel: Channel, ready: usize) {
        let channel = self.channels.get_mut(channel);
        let Some(PublishedChannel { publisher, known, .. }) = channel else { return };
        let mut first = 0;
        for input in self.inputs.iter().take(ready) {
            let of_input = first..first + input.events;
            first = of_input.end;
            if *known > 0 {
                *known -= 1;
                continue;
            }
            for NumberedEvent { event, trade_id, .. } in self.events.range(of_input) {
                publisher.event(event, trade_id.cast_unsigned());
            }
            if let Some((instrument, state)) = input.completion.state {
                publisher.state(instrument, state);
            }
            publisher.end_of_input(input.completion.intended_ns, input.completion.acknowledged_ns);
        }
    }

    fn send(&mut self, channel: Channel, to: &mut JsonOutput) {
        let Plant { channels, subscribers, data, .. } = self;
        let Some(PublishedChannel { publisher, datagrams, .. }) = channels.get_mut(channel) else {
            return;
        };
        while let Some(datagram) = publisher.next(channel) {
            *datagrams += 1;
            if let Some(subscribers) = subscribers {
                subscribers.publish(channel, datagram);
            }
            if channel == Channel::Levels && !data.is_empty() {
                data.datagram(datagram, to);
            }
        }
    }

    /// Sends a datagram of a replay or a snapshot. Returns whether there is more.
    fn resend(&mut self, channel: Channel) -> bool {
        let Plant { channels, subscribers: Some(subscribers), .. } = self else { return false };
        let Some(published) = channels.get_mut(channel) else { return false };
        if published.shown_from > self.released {
            // An input that began it waits, and when it is released, there is a turn for it.
            return false;
        }
        subscribers.resend(channel, &mut published.publisher)
    }

    /// Sends a heartbeat if nothing else was sent, and the group's snapshot if it is due. Call it
    /// ten times a second.
    pub fn sweep(&mut self, now_ns: u64) {
        let is_due = self.snapshot_ns > 0 && now_ns >= self.snapshot_due_ns;
        let Plant { channels, subscribers: Some(subscribers), resending, .. } = self else {
            return;
        };
        subscribers.sweep(now_ns);
        for channel in [Channel::Orders, Channel::Levels] {
            let Some(published) = channels.get_mut(channel) else { continue };
            let PublishedChannel { publisher, datagrams, datagrams_swept, .. } = published;
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
                *resending = true;
            }
        }
        if is_due {
            self.snapshot_due_ns = now_ns + self.snapshot_ns;
        }
    }

    /// The publisher of a channel; `None` if the channel is not published.
    pub fn publisher(&mut self, channel: Channel) -> Option<&mut Publisher> {
        self.channels.get_mut(channel).map(|published| &mut published.publisher)
    }

    /// Sends the present state to a new subscriber of JSON market data.
    pub fn begin_data(&mut self, of: DataSubscription, to: &mut JsonOutput) {
        if let Some(PublishedChannel { publisher, .. }) = self.channels.get(Channel::Levels) {
            self.data.begin(of, publisher, publisher.sequence(Channel::Levels), to);
        }
    }

    /// The channel of datagrams to which a connection is subscribed.
    pub fn channel_of(&self, connection: StreamId) -> Option<Channel> {
        self.subscribers.as_ref()?.of(connection).map(|(channel, _)| channel)
    }

    /// Sends a replay or a snapshot to a subscriber in the next turns.
    pub fn send_again(&mut self, connection: StreamId, channel: Channel, sending: Sending) {
        if let Some(subscribers) = &mut self.subscribers {
            subscribers.send_again(connection, channel, sending);
            self.resending = true;
        }
    }

    /// Removes the subscriptions of a closed connection.
    pub fn unsubscribe(&mut self, connection: StreamId) {
        self.data.unsubscribe(connection);
        if let Some(subscribers) = &mut self.subscribers {
            subscribers.unsubscribe(connection);
        }
    }

    /// Identifies this run of the exchange.
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

    /// Whether inputs wait to be published.
    pub fn is_pending(&self) -> bool {
        !self.inputs.is_empty()
    }

    pub fn counts(&self) -> FeedCounts {
        FeedCounts {
            datagrams: self.datagrams(Channel::Orders),
            messages: self.sequence(Channel::Orders),
            overrun: self.channels.iter().map(|published| published.publisher.overrun()).sum(),
            faults: self.channels.iter().map(|published| published.publisher.faults()).sum(),
            subscribers: self.subscribers.as_ref().map_or_else(Vec::new, FeedSubscribers::counts),
            json: self.data.counts(),
        }
    }
}

/// Whether an event may change a published book.
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

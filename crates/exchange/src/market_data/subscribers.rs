//! Subscribers of the feed's datagrams.

use crate::market_data::departures::{DepartureLine, Departures};
use crate::setup::limits::Limits;
use clock::Clock;
use feed::{Channel, Publisher, Sending, patch_published};
use serde::Serialize;
use std::net::{IpAddr, SocketAddr, SocketAddrV4};
use transport::StreamId;
use transport::datagram::{DatagramSender, NotSent, Recipients, SendOutcome};
use wire::administration;

/// Former subscribers that have counters of their own.
const GONE_MAX: usize = 64;
/// The address in the counters of all further former subscribers.
const OTHERS: &str = "others";

/// Counters of a subscriber's datagrams.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SubscriberCounts {
    /// Its address or the group's; `others` for all former subscribers after the first 64.
    pub address: String,
    /// Datagrams of any kind that the kernel took.
    pub sent: u64,
    /// Datagrams that the kernel had no buffer for; the subscriber sees a gap.
    pub dropped: u64,
    /// Datagrams that failed with an error.
    pub failed: u64,
}

struct Subscriber {
    /// `None` is the multicast group.
    connection: Option<StreamId>,
    channel: Channel,
    address: SocketAddr,
    /// The replay or snapshot that is being sent to it.
    sending: Option<Sending>,
    /// `None`: it didn't ask for stamps.
    departures: Option<Box<Departures>>,
    sent: u64,
    dropped: u64,
    failed: u64,
}

impl Subscriber {
    fn new(connection: Option<StreamId>, channel: Channel, address: SocketAddr) -> Subscriber {
        let (sending, departures, sent, dropped, failed) = (None, None, 0, 0, 0);
        Subscriber { connection, channel, address, sending, departures, sent, dropped, failed }
    }

    /// Sends a datagram with its publication stamp, which is taken just before. If it is its turn,
    /// the kernel stamps it on its way out.
    #[inline]
    fn publish(
        &mut self,
        sender: &mut DatagramSender,
        clock: Clock,
        datagram: &mut [u8],
        line: Option<&DepartureLine>,
    ) {
        let turn = self.departures.as_mut().zip(line);
        let turn = turn.is_some_and(|(departures, line)| line.is_ready() && departures.has_turn());
        let is_stamped = turn && sender.stamp_next();
        patch_published(datagram, clock.now_ns());
        let sent_before = self.sent;
        self.send(sender, datagram);
        if is_stamped {
            let stamps = sender.departure(self.sent > sent_before);
            if let Some((departures, line)) = self.departures.as_mut().zip(line) {
                departures.keep(datagram, &stamps, line);
            }
        }
    }

    fn send(&mut self, sender: &mut DatagramSender, datagram: &[u8]) {
        match sender.send(self.address, datagram) {
            SendOutcome::Whole => self.sent += 1,
            SendOutcome::Full => self.dropped += 1,
            SendOutcome::Failed(_) => self.failed += 1,
        }
    }

    fn counts(&self) -> SubscriberCounts {
        let Subscriber { sent, dropped, failed, .. } = *self;
        SubscriberCounts { address: self.address.to_string(), sent, dropped, failed }
    }
}

/// Why a connection can't be subscribed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SubscribeError {
    /// The request has no address and the exchange no group.
    NoAddress,
    /// The exchange may not send to this address.
    NotSent(SocketAddr, NotSent),
    /// `feed_subscribers_max`.
    Full,
}

pub(crate) struct FeedSubscribers {
    sender: DatagramSender,
    clock: Clock,
    subscribers: Vec<Subscriber>,
    /// Connections that listen to the group.
    listeners: Vec<(StreamId, Channel)>,
    subscribers_max: usize,
    recipients: Recipients,
    /// Time between two datagrams of snapshots and replays, for all subscribers together.
    resent_gap_ns: u64,
    /// When the next one may be sent.
    resent_ns: u64,
    /// The subscriber that got the last one.
    resent_to: usize,
    /// Counters of former subscribers: [`GONE_MAX`] of them, and one for all others.
    gone: Vec<SubscriberCounts>,
    /// From the first subscriber that asks for stamps on.
    line: Option<DepartureLine>,
}

impl FeedSubscribers {
    pub fn new(
        sender: DatagramSender,
        clock: Clock,
        limits: &Limits,
        recipients: Recipients,
    ) -> FeedSubscribers {
        let subscribers_max = limits.feed_subscribers_max;
        let group = recipients.group;
        let mut subscribers = Vec::with_capacity(subscribers_max + 2);
        for channel in [Channel::Orders, Channel::Levels] {
            let address = group.map(|group| port_of(group, channel));
            subscribers.extend(address.map(|address| Subscriber::new(None, channel, address)));
        }
        let (listeners, gone) = (Vec::new(), Vec::new());
        FeedSubscribers {
            sender,
            clock,
            subscribers,
            listeners,
            subscribers_max,
            recipients,
            resent_gap_ns: 1_000_000_000 / u64::from(limits.feed_resent_per_second_max),
            resent_ns: 0,
            resent_to: 0,
            gone,
            line: None,
        }
    }

    /// Subscribes a connection, in place of its earlier subscription: to all datagrams at an
    /// address, or to the group. `peer` is where the connection comes from.
    pub fn subscribe(
        &mut self,
        (connection, peer): (StreamId, Option<IpAddr>),
        channel: Channel,
        address: Option<SocketAddr>,
    ) -> Result<(), SubscribeError> {
        let group = self.recipients.group;
        if address.is_none() && group.is_none() {
            return Err(SubscribeError::NoAddress);
        }
        if let Some(address) = address {
            let checked = self.recipients.check(address, peer);
            checked.map_err(|why| SubscribeError::NotSent(address, why))?;
        }
        // A subscriber that names the group listens to it; it gets no second copy.
        let address = address.filter(|address| !address.ip().is_multicast());
        self.unsubscribe(connection);
        let own = self.subscribers.iter().filter(|subscriber| subscriber.connection.is_some());
        if own.count() + self.listeners.len() >= self.subscribers_max {
            return Err(SubscribeError::Full);
        }
        let Some(address) = address else {
            self.listeners.push((connection, channel));
            return Ok(());
        };
        let unconnected = |_| SubscribeError::NotSent(address, NotSent::Unconnected);
        self.sender.reach(address).map_err(unconnected)?;
        self.subscribers.push(Subscriber::new(Some(connection), channel, address));
        Ok(())
    }

    /// The channel and address of a connection's subscription.
    pub fn of(&self, connection: StreamId) -> Option<(Channel, SocketAddr)> {
        let is_its = |one: &&Subscriber| one.connection == Some(connection);
        let own = self.subscribers.iter().find(is_its).map(|one| (one.channel, one.address));
        own.or_else(|| {
            let (_, channel) = self.listeners.iter().find(|(id, _)| *id == connection)?;
            Some((*channel, port_of(self.recipients.group?, *channel)))
        })
    }

    /// Has the kernel stamp one of `every` datagrams to a connection on its way out. A group's
    /// datagrams are those of its latest listener that asked.
    pub fn stamp(&mut self, connection: StreamId, every: u32) {
        let clock = self.clock;
        if let Some(subscriber) = self.serving(connection) {
            subscriber.departures = Some(Box::new(Departures::new(every)));
            self.line.get_or_insert_with(|| DepartureLine::begin(clock));
        }
    }

    /// The stamps since then; `None` if the connection didn't ask for any.
    pub fn departures(&mut self, connection: StreamId) -> Option<administration::Departures> {
        let line = self.line.as_mut()?.check();
        let departures = self.serving(connection)?.departures.as_ref()?;
        Some(departures.said(line))
    }

    /// Reads the wall clock again if it is time.
    pub fn sweep(&mut self, now_ns: u64) {
        self.line.iter_mut().for_each(|line| line.sweep(now_ns));
    }

    /// The subscriber whose datagrams a connection gets: its own, or its group.
    fn serving(&mut self, connection: StreamId) -> Option<&mut Subscriber> {
        let listens = self.listeners.iter().find(|(id, _)| *id == connection);
        let group = listens.map(|(_, channel)| *channel);
        self.subscribers.iter_mut().find(|one| match group {
            Some(channel) => one.connection.is_none() && one.channel == channel,
            None => one.connection == Some(connection),
        })
    }

    pub fn unsubscribe(&mut self, connection: StreamId) {
        self.listeners.retain(|(id, _)| *id != connection);
        if self.listeners.is_empty() {
            let groups = self.subscribers.iter_mut().filter(|one| one.connection.is_none());
            groups.for_each(|group| group.departures = None);
        }
        let is_its = |subscriber: &Subscriber| subscriber.connection == Some(connection);
        while let Some(index) = self.subscribers.iter().position(is_its) {
            let counts = self.subscribers.swap_remove(index).counts();
            self.keep(counts);
        }
    }

    /// Keeps the counters of a former subscriber.
    fn keep(&mut self, mut counts: SubscriberCounts) {
        if let Some(others) = self.gone.get_mut(GONE_MAX) {
            others.sent += counts.sent;
            others.dropped += counts.dropped;
            others.failed += counts.failed;
            return;
        }
        if self.gone.len() == GONE_MAX {
            counts.address = OTHERS.to_owned();
        }
        self.gone.push(counts);
    }

    /// Sends a datagram to all subscribers of a channel, each with a publication stamp of its own.
    #[inline]
    pub fn publish(&mut self, channel: Channel, datagram: &mut [u8]) {
        let FeedSubscribers { sender, clock, subscribers, line, .. } = self;
        for subscriber in subscribers.iter_mut().filter(|one| one.channel == channel) {
            subscriber.publish(sender, *clock, datagram, line.as_ref());
        }
    }

    /// Sends a replay or a snapshot to a subscriber in the next turns; for a listener, to the
    /// group.
    pub fn send_again(&mut self, connection: StreamId, channel: Channel, sending: Sending) {
        let own = self.subscribers.iter().position(|one| one.connection == Some(connection));
        let group = || {
            let is_group = |one: &Subscriber| one.connection.is_none() && one.channel == channel;
            self.subscribers.iter().position(is_group)
        };
        if let Some(index) = own.or_else(group) {
            let under_way = &mut self.subscribers[index].sending;
            *under_way = Some(under_way.map_or(sending, |it| it.joined_by(sending)));
        }
    }

    /// Sends a snapshot to the group, unless it is being sent a replay or a snapshot.
    pub fn send_group(&mut self, channel: Channel, sending: Sending) {
        let is_group = |one: &&mut Subscriber| one.connection.is_none() && one.channel == channel;
        if let Some(group) = self.subscribers.iter_mut().find(is_group) {
            group.sending.get_or_insert(sending);
        }
    }

    /// Sends the next datagram of a replay or a snapshot, if it is due and the next subscriber is
    /// of this channel. Returns whether there is more. Both channels share the rate
    /// `feed_resent_per_second_max`.
    pub fn resend(&mut self, channel: Channel, publisher: &mut Publisher) -> bool {
        let is_resending = |one: &Subscriber| one.sending.is_some();
        if !self.subscribers.iter().any(|one| one.channel == channel && is_resending(one)) {
            return false;
        }
        let now_ns = self.clock.now_ns();
        if now_ns < self.resent_ns {
            return true;
        }
        let count = self.subscribers.len();
        let mut turns = (1..=count).map(|behind| (self.resent_to + behind) % count);
        let next = turns.find(|index| is_resending(&self.subscribers[*index]));
        let FeedSubscribers { sender, clock, subscribers, .. } = self;
        let Some(next) = next.filter(|index| subscribers[*index].channel == channel) else {
            return true;
        };
        (self.resent_to, self.resent_ns) = (next, now_ns + self.resent_gap_ns);
        let subscriber = &mut subscribers[next];
        match subscriber.sending.as_mut().and_then(|sending| publisher.next_of(sending)) {
            Some(datagram) => {
                patch_published(datagram, clock.now_ns());
                subscriber.send(sender, datagram);
            }
            None => subscriber.sending = None,
        }
        true
    }

    pub fn is_multicast(&self) -> bool {
        self.recipients.group.is_some()
    }

    /// Counters of former and present subscribers.
    pub fn counts(&self) -> Vec<SubscriberCounts> {
        self.gone.iter().cloned().chain(self.subscribers.iter().map(Subscriber::counts)).collect()
    }
}

/// Each channel has a port of the group.
fn port_of(group: SocketAddrV4, channel: Channel) -> SocketAddr {
    let port = match channel {
        Channel::Orders => group.port(),
        Channel::Levels => group.port().wrapping_add(1),
    };
    SocketAddrV4::new(*group.ip(), port).into()
}

#[cfg(test)]
#[path = "subscribers_tests.rs"]
mod tests;

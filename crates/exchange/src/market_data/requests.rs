//! Clients' requests about the feed and market data, and an operator's about the flow and the
//! exchange.

use crate::entry::OrderEntry;
use crate::entry::refusals::NO_OPERATOR;
use crate::entry::text::{send, wire_time};
use crate::market_data::json::{DataChannel, DataSubscription, To};
use crate::market_data::plant::Plant;
use crate::market_data::publishing::depth;
use crate::market_data::subscribers::NotSubscribed;
use clock::time_base::TimeBase;
use feed::{Channel, ReplayRefused};
use std::net::{IpAddr, SocketAddr};
use transport::StreamId;
use transport::datagram::NotSent;
use transport::serve::Outbound;
use wire::administration::{Description, Notice, encode_notice};
use wire::reply::{self, FeedSubscription, Subscription, Subscriptions};
use wire::request::{self, Depth};

/// The channel of an account's orders.
const ORDERS: &str = "ORDERS";
const FEED: &str = "FEED";
const NO_FEED: &str = "this exchange has no feed; channels BOOK, TRADES and TOP come here as JSON";
const NOT_A_SUBSCRIBER: &str = "subscribe to channel FEED first";

/// A channel that somebody wants, looked up.
#[derive(Clone, Copy)]
enum Wanted {
    Orders,
    Feed { channel: Channel, address: Option<SocketAddr> },
    Data { channel: DataChannel, instrument: u16 },
}

impl OrderEntry {
    /// Subscribes to all of them, or reports the first that is impossible; those before it stay
    /// subscribed.
    #[cold]
    pub fn subscribe(
        &mut self,
        from: StreamId,
        channels: &[request::Channel<'_>],
        time_ns: u64,
        outbound: &mut Outbound,
    ) {
        let wanted: Result<Vec<Wanted>, String> =
            channels.iter().map(|channel| self.wanted(channel)).collect();
        let mut begun = Vec::new();
        let subscribed = wanted.and_then(|wanted| {
            wanted.into_iter().try_for_each(|wanted| match wanted {
                Wanted::Orders => {
                    self.sessions.subscribe(from);
                    Ok(())
                }
                Wanted::Feed { channel, address } => self.subscribe_feed(from, channel, address),
                Wanted::Data { channel, instrument } => {
                    let of = DataSubscription { connection: from, channel, instrument };
                    self.subscribe_data(of).map(|is_new| begun.extend(is_new.then_some(of)))
                }
            })
        });
        match subscribed {
            Ok(()) => self.tell_subscriptions(from, time_ns, outbound.to(from)),
            Err(reason) => self.error(outbound.to(from), &reason),
        }
        let OrderEntry { plant: Some(plant), instruments, .. } = self else { return };
        let mut to = To { instruments, outbound, time_ms: wire_time(time_ns) };
        begun.into_iter().for_each(|of| plant.begin_data(of, &mut to));
    }

    fn wanted(&self, channel: &request::Channel<'_>) -> Result<Wanted, String> {
        let request::Channel { name, address, depth, instrument_code } = channel;
        if name == ORDERS {
            return Ok(Wanted::Orders);
        }
        if name == FEED {
            let channel = match depth {
                None | Some(Depth::Orders) => Channel::Orders,
                Some(Depth::Levels) => Channel::Levels,
            };
            return Ok(Wanted::Feed { channel, address: *address });
        }
        let Some(channel) = DataChannel::read(name) else {
            let there_are = "there are ORDERS, FEED, BOOK, TRADES and TOP";
            return Err(format!("unknown channel {name:?}; {there_are}"));
        };
        let Some(code) = instrument_code else {
            return Err(format!("channel {name} needs an instrument_code"));
        };
        let instrument = self.instruments.number(code).map_err(|unknown| unknown.reason)?;
        Ok(Wanted::Data { channel, instrument })
    }

    fn subscribe_feed(
        &mut self,
        from: StreamId,
        channel: Channel,
        address: Option<SocketAddr>,
    ) -> Result<(), String> {
        let OrderEntry { plant, sequencer, sessions, limits, refusals, .. } = self;
        let plant = plant.as_mut().filter(|plant| plant.subscribers.is_some()).ok_or(NO_FEED)?;
        let Some(subscribers) = &mut plant.subscribers else { return Err(NO_FEED.to_owned()) };
        let peer = sessions.peer(from).map(|peer| peer.ip());
        subscribers.subscribe((from, peer), channel, address).map_err(|why| match why {
            NotSubscribed::NoAddress => {
                "channel FEED needs an address: this exchange sends to no group".to_owned()
            }
            NotSubscribed::NotSent(address, why) => {
                refusals.rejected.add("feed_address");
                not_sent(address, peer, why)
            }
            NotSubscribed::Full => {
                refusals.limits.add("feed_subscribers_max");
                let max = limits.feed_subscribers_max;
                format!("too many subscribers of the feed (limit feed_subscribers_max = {max})")
            }
        })?;
        // Only now: a channel that is published costs each input, for ever.
        plant.begin(channel, sequencer.engine()).map_err(|error| {
            plant.subscribers.iter_mut().for_each(|subscribers| subscribers.unsubscribe(from));
            error.to_string()
        })
    }

    /// Returns whether the subscription is new.
    fn subscribe_data(&mut self, of: DataSubscription) -> Result<bool, String> {
        let OrderEntry { plant, sequencer, limits, refusals, observed, published_as, .. } = self;
        // Market data as JSON is made from the feed by price, whether or not anybody gets that
        // feed.
        let plant = plant.get_or_insert_with(|| {
            observed.is_on = true;
            let settings = published_as.clone();
            Box::new(Plant::new(settings, None, limits, observed.clock, 0))
        });
        plant.begin(Channel::Levels, sequencer.engine()).map_err(|error| error.to_string())?;
        plant.data.subscribe(of).ok_or_else(|| {
            refusals.limits.add("market_data_subscriptions_max");
            let max = limits.market_data_subscriptions_max;
            format!("too many subscriptions (limit market_data_subscriptions_max = {max})")
        })
    }

    fn tell_subscriptions(&self, from: StreamId, time_ns: u64, out: &mut Vec<u8>) {
        let subscribed = self.sessions.is_subscribed(from);
        let accounts = self.sessions.account_ids(from).filter(|_| subscribed);
        let mut channels: Vec<Subscription<'_>> = accounts
            .map(|account| Subscription::Account {
                account_id: account.into(),
                name: ORDERS.into(),
            })
            .collect();
        if let Some(plant) = &self.plant {
            let feed = plant.subscribers.as_ref().and_then(|subscribers| subscribers.of(from));
            channels.extend(feed.map(|(channel, address)| {
                let (session, sequence) = (plant.session(), plant.sequence(channel));
                let depth = depth(channel);
                Subscription::Feed(FeedSubscription { depth, address, session, sequence })
            }));
            channels.extend(plant.data.of(from).map(|of| Subscription::MarketData {
                name: of.channel.name().into(),
                instrument_code: self.instruments.get(of.instrument).code.as_str().into(),
            }));
        }
        let subscriptions = Subscriptions { channels, time_ms: wire_time(time_ns) };
        send(out, |out| reply::encode_subscriptions(out, &subscriptions));
    }

    /// Datagrams are to be sent again.
    #[cold]
    pub fn feed_replay(&mut self, from: StreamId, first: u64, count: u32, out: &mut Vec<u8>) {
        let refused = self.replay(from, first, count);
        self.tell_refused(refused, out);
    }

    fn replay(&mut self, from: StreamId, first: u64, count: u32) -> Result<(), String> {
        let plant = self.plant.as_mut().ok_or(NO_FEED)?;
        let channel = plant.channel_of(from).ok_or(NOT_A_SUBSCRIBER)?;
        let publisher = plant.publisher(channel).ok_or(NO_FEED)?;
        let sending = publisher.replay(channel, first, count).map_err(|why| match why {
            ReplayRefused::TooOld => {
                format!("message {first} is too old to be sent again; ask for a snapshot")
            }
            ReplayRefused::NotYet => format!("message {first} has not been sent yet"),
        })?;
        plant.send_again(from, channel, sending);
        Ok(())
    }

    /// The books are to be sent.
    #[cold]
    pub fn feed_snapshot(&mut self, from: StreamId, out: &mut Vec<u8>) {
        let refused = self.snapshot(from).map_err(str::to_owned);
        self.tell_refused(refused, out);
    }

    fn snapshot(&mut self, from: StreamId) -> Result<(), &'static str> {
        let plant = self.plant.as_mut().ok_or(NO_FEED)?;
        let channel = plant.channel_of(from).ok_or(NOT_A_SUBSCRIBER)?;
        let publisher = plant.publisher(channel).ok_or(NO_FEED)?;
        let sending = publisher.snapshot(channel).ok_or(NO_FEED)?;
        plant.send_again(from, channel, sending);
        Ok(())
    }

    /// Nothing is said where datagrams are on their way.
    fn tell_refused(&mut self, asked: Result<(), String>, out: &mut Vec<u8>) {
        if let Err(reason) = asked {
            self.refusals.rejected.add("feed_refused");
            let notice = Notice::FeedRefused { reason: reason.into() };
            send(out, |out| encode_notice(out, &notice));
        }
    }

    #[cold]
    pub fn flow(&mut self, from: StreamId, outbound: &mut Outbound) {
        let by = self.sessions.sender(from);
        let started = match self.sessions.may_operate(from) {
            true => self.start_flow(by),
            false => Err(NO_OPERATOR.reason),
        };
        match started {
            Ok(()) => send(outbound.to(from), |out| encode_notice(out, &Notice::FlowStarted)),
            Err(reason) => self.error(outbound.to(from), &reason),
        }
    }

    /// Takes some milliseconds if many orders rest, or to ask the wall clock's keeper: not for use
    /// during a measurement.
    #[cold]
    pub fn describe(&mut self, from: StreamId, out: &mut Vec<u8>) {
        if !self.sessions.may_operate(from) {
            return self.error(out, &NO_OPERATOR.reason);
        }
        let plant = self.plant.as_ref();
        let time_base = self.observed.clock.map(|clock| TimeBase {
            boot_id: self.about.boot_id.clone(),
            clock,
            wall: clock.beside_wall(),
            utc: (self.about.utc)(),
        });
        let description = Description {
            tool: self.about.tool.clone(),
            session: plant.map_or_else(String::new, |plant| plant.session().to_string()),
            state_hash: format!("{:016x}", self.sequencer.state_hash()),
            feeds: plant.map_or_else(Vec::new, |plant| plant.states(self.sequencer.engine())),
            time_base: serde_json::to_value(time_base).unwrap_or_default(),
            machine: self.about.machine.clone(),
        };
        let notice = Notice::Description(Box::new(description));
        send(out, |out| encode_notice(out, &notice));
    }
}

/// Why the feed is not sent to an address.
fn not_sent(address: SocketAddr, peer: Option<IpAddr>, why: NotSent) -> String {
    let is_not = format!("channel FEED can't be sent to {address}");
    match why {
        NotSent::Unreachable => {
            format!("{is_not}: name an IPv4 address and a port, as 192.0.2.1:4000")
        }
        NotSent::NotOneHost => {
            format!("{is_not}: it is not the address of one host, nor the group of this exchange")
        }
        NotSent::Foreign => {
            let own = peer.map_or_else(String::new, |peer| format!(", {}", peer.to_canonical()));
            format!(
                "{is_not}: name the address that this connection comes from{own}, or have the operator allow the \
                 other with --feed-allow {}/32",
                address.ip()
            )
        }
    }
}

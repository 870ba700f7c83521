//! Clients' subscriptions to reports, to the feed and to JSON market data, and the feed's replays
//! and snapshots.

use crate::entry::state::OrderEntry;
use crate::execution::Execution;
use crate::market_data::json::{DataChannel, DataSubscription, JsonOutput};
use crate::market_data::plant::Plant;
use crate::market_data::settings::depth;
use crate::market_data::subscribers::SubscribeError;
use crate::reply::rejections::NO_OPERATOR;
use crate::reply::text::{send, wire_time};
use crate::setup::instruments::Instruments;
use feed::{Channel, ReplayError};
use std::net::{IpAddr, SocketAddr};
use transport::StreamId;
use transport::datagram::NotSent;
use transport::serve::Outbound;
use wire::administration::{Notice, encode_notice};
use wire::reply::{self, FeedSubscription, Subscription, Subscriptions};
use wire::request::{self, Depth};

/// The channel of an account's orders.
const ORDERS: &str = "ORDERS";
const FEED: &str = "FEED";
const NO_FEED: &str = "this exchange has no feed; channels BOOK, TRADES and TOP come here as JSON";
const NOT_A_SUBSCRIBER: &str = "subscribe to channel FEED first";

/// A requested channel after lookup.
#[derive(Clone, Copy)]
enum ChannelRequest {
    Orders,
    Feed { channel: Channel, address: Option<SocketAddr>, stamp_every: u32 },
    Data { channel: DataChannel, instrument: u16, stamps: Option<bool> },
}

/// Subscribes to all channels, or reports the first that fails; those before it stay subscribed.
#[cold]
pub(crate) fn subscribe(
    entry: &mut OrderEntry,
    from: StreamId,
    channels: &[request::Channel<'_>],
    time_ns: u64,
    outbound: &mut Outbound,
) {
    let instruments = &entry.core.instruments;
    let requests: Result<Vec<ChannelRequest>, String> =
        channels.iter().map(|channel| look_up(instruments, channel)).collect();
    let mut begun = Vec::new();
    let subscribed = requests.and_then(|requests| {
        requests.into_iter().try_for_each(|request| match request {
            ChannelRequest::Orders => {
                entry.core.sessions.subscribe(from);
                Ok(())
            }
            ChannelRequest::Feed { channel, address, stamp_every } => {
                subscribe_feed(entry, from, channel, address)?;
                stamp_feed(&mut entry.core, from, stamp_every)
            }
            ChannelRequest::Data { channel, instrument, stamps } => {
                let of = DataSubscription { connection: from, channel, instrument };
                begun.extend(subscribe_data(entry, of)?.then_some(of));
                stamp_data(&mut entry.core, of, stamps)
            }
        })
    });
    let core = &mut entry.core;
    match subscribed {
        Ok(()) => send_subscriptions(core, from, time_ns, outbound.to(from)),
        Err(reason) => core.rejections.error(outbound.to(from), &reason),
    }
    let Execution { plant: Some(plant), instruments, .. } = core else { return };
    let mut to = JsonOutput { instruments, outbound, time_ms: wire_time(time_ns) };
    begun.into_iter().for_each(|of| plant.begin_data(of, &mut to));
}

fn look_up(
    instruments: &Instruments,
    channel: &request::Channel<'_>,
) -> Result<ChannelRequest, String> {
    let request::Channel { name, address, depth, instrument_code, stamp_every, stamps } = channel;
    if name == ORDERS {
        return Ok(ChannelRequest::Orders);
    }
    if name == FEED {
        let channel = match depth {
            None | Some(Depth::Orders) => Channel::Orders,
            Some(Depth::Levels) => Channel::Levels,
        };
        let (address, stamp_every) = (*address, stamp_every.unwrap_or(0));
        return Ok(ChannelRequest::Feed { channel, address, stamp_every });
    }
    let Some(channel) = DataChannel::read(name) else {
        let there_are = "there are ORDERS, FEED, BOOK, TRADES and TOP";
        return Err(format!("unknown channel {name:?}; {there_are}"));
    };
    let Some(code) = instrument_code else {
        return Err(format!("channel {name} needs an instrument_code"));
    };
    let instrument = instruments.number(code).map_err(|unknown| unknown.reason)?;
    if *stamps == Some(true) && channel == DataChannel::Trades {
        let instead = "leave them out, or subscribe to BOOK or TOP";
        return Err(format!("channel {name} has no stamps; {instead}"));
    }
    Ok(ChannelRequest::Data { channel, instrument, stamps: *stamps })
}

fn subscribe_feed(
    entry: &mut OrderEntry,
    from: StreamId,
    channel: Channel,
    address: Option<SocketAddr>,
) -> Result<(), String> {
    let OrderEntry { core, limits, .. } = entry;
    let Execution { plant, sequencer, sessions, rejections, .. } = core;
    let plant = plant.as_mut().filter(|plant| plant.subscribers.is_some()).ok_or(NO_FEED)?;
    let Some(subscribers) = &mut plant.subscribers else { return Err(NO_FEED.to_owned()) };
    let client = sessions.client(from);
    subscribers.subscribe((from, client), channel, address).map_err(|why| match why {
        SubscribeError::NoAddress => {
            "channel FEED needs an address: this exchange sends to no group".to_owned()
        }
        SubscribeError::NotSent(address, why) => {
            rejections.rejected.add("feed_address");
            not_sent(address, client, why)
        }
        SubscribeError::Full => {
            rejections.limits.add("feed_subscribers_max");
            let max = limits.feed_subscribers_max;
            format!("too many subscribers of the feed (limit feed_subscribers_max = {max})")
        }
    })?;
    // Last, because a published channel adds work to every later input.
    plant.begin(channel, sequencer.engine()).map_err(|error| {
        plant.subscribers.iter_mut().for_each(|subscribers| subscribers.unsubscribe(from));
        error.to_string()
    })
}

/// Has the kernel stamp datagrams of a subscription. Each stamp costs the exchange some system
/// calls, and only `DESCRIBE` returns it, so that only an operator may ask.
fn stamp_feed(core: &mut Execution, from: StreamId, every: u32) -> Result<(), String> {
    if every == 0 {
        return Ok(());
    }
    if !core.sessions.may_operate(from) {
        return Err(format!("stamp_every: {}", NO_OPERATOR.reason));
    }
    let subscribers = core.plant.as_mut().and_then(|plant| plant.subscribers.as_mut());
    subscribers.into_iter().for_each(|subscribers| subscribers.stamp(from, every));
    Ok(())
}

/// Subscribes to JSON market data. Returns whether the subscription is new.
fn subscribe_data(entry: &mut OrderEntry, of: DataSubscription) -> Result<bool, String> {
    let OrderEntry { core, limits, publisher, .. } = entry;
    let Execution { plant, sequencer, rejections, observed, .. } = core;
    // JSON market data is made from the channel of levels, even if that has no subscribers.
    let plant = plant.get_or_insert_with(|| {
        observed.is_on = true;
        let settings = publisher.clone();
        Box::new(Plant::new(settings, None, limits, observed.clock, 0))
    });
    plant.begin(Channel::Levels, sequencer.engine()).map_err(|error| error.to_string())?;
    plant.data.subscribe(of).ok_or_else(|| {
        rejections.limits.add("market_data_subscriptions_max");
        let max = limits.market_data_subscriptions_max;
        format!("too many subscriptions (limit market_data_subscriptions_max = {max})")
    })
}

/// Has a tick's last message carry stamps, or not any more.
fn stamp_data(
    core: &mut Execution,
    of: DataSubscription,
    stamps: Option<bool>,
) -> Result<(), String> {
    let Some((stamps, plant)) = stamps.zip(core.plant.as_mut()) else { return Ok(()) };
    match plant.data.stamp(of, stamps) {
        true => Ok(()),
        false => Err("stamps: this exchange has no clock for them; leave them out".to_owned()),
    }
}

fn send_subscriptions(core: &Execution, from: StreamId, time_ns: u64, out: &mut Vec<u8>) {
    let subscribed = core.sessions.is_subscribed(from);
    let accounts = core.sessions.account_ids(from).filter(|_| subscribed);
    let mut channels: Vec<Subscription<'_>> = accounts
        .map(|account| Subscription::Account { account_id: account.into(), name: ORDERS.into() })
        .collect();
    if let Some(plant) = &core.plant {
        let feed = plant.subscribers.as_ref().and_then(|subscribers| subscribers.of(from));
        channels.extend(feed.map(|(channel, address)| {
            let (session, sequence) = (plant.session(), plant.sequence(channel));
            let depth = depth(channel);
            let delivery_window_us =
                core.deliveries.as_ref().map(|it| it.window.window_ns() / 1_000);
            Subscription::Feed(FeedSubscription {
                depth,
                address,
                session,
                sequence,
                delivery_window_us,
            })
        }));
        channels.extend(plant.data.of(from).map(|(of, is_stamped)| {
            let instrument = core.instruments.get(of.instrument);
            Subscription::MarketData {
                name: of.channel.name().into(),
                instrument_code: instrument.code.as_str().into(),
                units: is_stamped.then_some([instrument.tick, instrument.lot]),
            }
        }));
    }
    let subscriptions = Subscriptions { channels, time_ms: wire_time(time_ns) };
    send(out, |out| reply::encode_subscriptions(out, &subscriptions));
}

/// Handles `FEED_REPLAY`.
#[cold]
pub(crate) fn feed_replay(
    core: &mut Execution,
    from: StreamId,
    first: u64,
    count: u32,
    out: &mut Vec<u8>,
) {
    let result = replay(core, from, first, count);
    reject_failed(core, result, out);
}

fn replay(core: &mut Execution, from: StreamId, first: u64, count: u32) -> Result<(), String> {
    let plant = core.plant.as_mut().ok_or(NO_FEED)?;
    let channel = plant.channel_of(from).ok_or(NOT_A_SUBSCRIBER)?;
    let publisher = plant.publisher(channel).ok_or(NO_FEED)?;
    let sending = publisher.replay(channel, first, count).map_err(|why| match why {
        ReplayError::TooOld => {
            format!("message {first} is too old to be sent again; ask for a snapshot")
        }
        ReplayError::NotYet => format!("message {first} has not been sent yet"),
    })?;
    plant.send_again(from, channel, sending);
    Ok(())
}

/// Handles `FEED_SNAPSHOT`.
#[cold]
pub(crate) fn feed_snapshot(core: &mut Execution, from: StreamId, out: &mut Vec<u8>) {
    let result = snapshot(core, from).map_err(str::to_owned);
    reject_failed(core, result, out);
}

fn snapshot(core: &mut Execution, from: StreamId) -> Result<(), &'static str> {
    let plant = core.plant.as_mut().ok_or(NO_FEED)?;
    let channel = plant.channel_of(from).ok_or(NOT_A_SUBSCRIBER)?;
    let publisher = plant.publisher(channel).ok_or(NO_FEED)?;
    let sending = publisher.snapshot(channel).ok_or(NO_FEED)?;
    plant.send_again(from, channel, sending);
    Ok(())
}

/// Sends a rejection if a replay or snapshot failed. Success needs no reply: datagrams follow.
fn reject_failed(core: &mut Execution, result: Result<(), String>, out: &mut Vec<u8>) {
    if let Err(reason) = result {
        core.rejections.rejected.add("feed_refused");
        let notice = Notice::FeedRejected { reason: reason.into() };
        send(out, |out| encode_notice(out, &notice));
    }
}

/// Explains why the feed is not sent to an address.
fn not_sent(address: SocketAddr, client: Option<IpAddr>, why: NotSent) -> String {
    let is_not = format!("channel FEED can't be sent to {address}");
    match why {
        NotSent::Unreachable => {
            format!("{is_not}: name an IPv4 address and a port, as 192.0.2.1:4000")
        }
        NotSent::NotOneHost => {
            format!(
                "{is_not}: it is neither one host's address nor this exchange's group; an address that ends in .0 or .255 needs --feed-allow {}/32",
                address.ip()
            )
        }
        NotSent::Unconnected => {
            format!(
                "{is_not}: over af_xdp and dpdk the exchange sends only to hosts that have a connection to it; \
                 subscribe from the host that receives the feed, or start the exchange with a group (--feed)"
            )
        }
        NotSent::Foreign => {
            let allow = format!("have the operator allow it with --feed-allow {}/32", address.ip());
            match client.map(|client| client.to_canonical()) {
                Some(own) => format!(
                    "{is_not}: name the address that this connection comes from, {own}, or {allow}"
                ),
                None => format!("{is_not}: this connection comes through a gateway; {allow}"),
            }
        }
    }
}

//! As [`crate::tick::feed_start`], for market data as JSON: a second connection, which market data
//! alone comes over, so that no tick waits for a reply.

use crate::load::dialler::Dialler;
use crate::load::error::TraderError;
use crate::session::web::{WebSession, nonce};
use crate::tick::followed::FollowedBook;
use crate::tick::followed::json::JsonBook;
use crate::tick::followed::json_top::TopBook;
use crate::tick::followed_state::{BOOK, TOP};
use crate::tick::frames::FrameReceiver;
use crate::tick::frames::web::WebFrames;
use crate::tick::link::Link;
use crate::tick::prepare::{FollowedFeed, REHEARSED_MAX, SyncedBook, prepare, wrong};
use crate::tick::receiver::TickReceiver;
use crate::tick::rehearsal::MadeUpTicks;
use crate::tick::rehearsal_prices::PriceTicks;
use crate::tick::rehearsal_tops::TopTicks;
use crate::tick::session::exchange::ExchangeSession;
use clock::Clock;
use plan::process::ticks::TickPlan;
use std::io;
use transport::Blocking;
use wire::Decimal;
use wire::market_data::{MarketData, decode_market_data};
use wire::reply::{Reply, Subscription};
use wire::request::{Channel, encode_subscribe};

/// Limit on a message: the snapshot of a book, some 25 bytes a price.
const MESSAGE_BYTES_MAX: usize = 4 << 20;

/// A book that follows a channel of JSON.
pub(crate) trait ChannelBook: FollowedBook + Sized {
    /// The channel.
    const CHANNEL: &'static str;

    /// An empty book of an instrument with that tick and lot (`units`), and room for `levels_max`
    /// prices a side.
    fn empty(instrument_code: &str, units: [Decimal; 2], levels_max: u32) -> Self;

    /// Takes over the channel's first message; `None`: it is another one.
    fn begin_with(&mut self, message: &MarketData<'_>) -> Option<Result<(), String>>;

    /// Messages of a market around a price.
    fn made_up(instrument_code: &str, units: [Decimal; 2], at_ticks: i64) -> Box<dyn MadeUpTicks>;
}

impl ChannelBook for JsonBook {
    const CHANNEL: &'static str = BOOK;

    fn empty(instrument_code: &str, units: [Decimal; 2], levels_max: u32) -> JsonBook {
        JsonBook::new(instrument_code, units, levels_max)
    }

    fn begin_with(&mut self, message: &MarketData<'_>) -> Option<Result<(), String>> {
        match message {
            MarketData::Snapshot(snapshot) => Some(self.begin(snapshot)),
            _ => None,
        }
    }

    fn made_up(instrument_code: &str, units: [Decimal; 2], at_ticks: i64) -> Box<dyn MadeUpTicks> {
        Box::new(PriceTicks::json(instrument_code, units, at_ticks))
    }
}

impl ChannelBook for TopBook {
    const CHANNEL: &'static str = TOP;

    fn empty(instrument_code: &str, units: [Decimal; 2], _: u32) -> TopBook {
        TopBook::new(instrument_code, units)
    }

    fn begin_with(&mut self, message: &MarketData<'_>) -> Option<Result<(), String>> {
        match message {
            MarketData::Top(top) => Some(self.begin(top)),
            _ => None,
        }
    }

    fn made_up(instrument_code: &str, units: [Decimal; 2], at_ticks: i64) -> Box<dyn MadeUpTicks> {
        Box::new(TopTicks::new(instrument_code, units, at_ticks))
    }
}

/// Connects once more, subscribes to the instrument's channel with stamps, and takes its first
/// message.
///
/// # Errors
/// As [`crate::tick::feed_start::follow`]; or if the exchange does not stamp the channel.
pub(crate) fn follow<F: ChannelBook>(
    plan: &TickPlan,
    clock: Clock,
    session: &mut ExchangeSession,
    link: &mut Link<'_>,
    dialler: &Dialler<'_>,
) -> Result<FollowedFeed<F>, TraderError> {
    let failed = |source| TraderError::connect(&plan.target, 1, source);
    link.talk(|stream| session.subscribe_orders(stream)).map_err(failed)?;
    let mut connection = dialler.connect().map_err(failed)?;
    let mut web = WebSession::with_room(&plan.target, nonce().into(), MESSAGE_BYTES_MAX);
    let units = subscribe(plan, F::CHANNEL, &mut web, &mut connection).map_err(failed)?;
    let units = units.ok_or_else(|| {
        let channel = F::CHANNEL;
        wrong(plan, format!("the exchange does not stamp its {channel}: is it an older tickpath?"))
    })?;
    let mut book = F::empty(&plan.instrument, units, plan.feed.levels_max);
    let begun = web.wait_for(&mut connection, "SUBSCRIBE", |_, text| {
        decode_market_data(text).ok().and_then(|message| book.begin_with(&message))
    });
    begun.map_err(failed)?.map_err(|why| wrong(plan, why))?;
    let frames = WebFrames::new(web);
    let receiver = FrameReceiver::new(connection, frames, plan.feed.kernel_stamps, clock);
    let receiver = TickReceiver::Web(Box::new(receiver.map_err(failed)?));
    let rehearsed = |at_ticks| {
        let ticks = F::made_up(&plan.instrument, units, at_ticks);
        (F::empty(&plan.instrument, units, REHEARSED_MAX), ticks)
    };
    let synced = SyncedBook { receiver, book, instrument: 0, units };
    prepare(plan, clock, session, synced, rehearsed)
}

/// Logs on and subscribes. Returns the instrument's tick and lot, if the exchange stamps.
fn subscribe(
    plan: &TickPlan,
    channel: &str,
    web: &mut WebSession,
    stream: &mut dyn Blocking,
) -> io::Result<Option<[Decimal; 2]>> {
    web.upgrade(stream)?;
    web.authenticate(stream, plan.first_token, [None; 2])?;
    let instrument_code = Some(plan.instrument.as_str().into());
    let channel = Channel { instrument_code, stamps: Some(true), ..Channel::named(channel) };
    web.send(stream, |out| encode_subscribe(out, &[channel]))?;
    web.wait_for(stream, "SUBSCRIBE", |reply, _| match reply {
        Reply::Subscriptions(subscriptions) => {
            Some(subscriptions.channels.iter().find_map(|channel| match channel {
                Subscription::MarketData { units, .. } => *units,
                _ => None,
            }))
        }
        _ => None,
    })
}

//! As [`crate::tick::feed_start`], for market data as JSON: a second connection, which market data
//! alone comes over, so that no tick waits for a reply.

use crate::load::dialler::Dialler;
use crate::load::run::TraderError;
use crate::session::web::{WebSession, nonce};
use crate::tick::followed::json::JsonBook;
use crate::tick::frames::FrameReceiver;
use crate::tick::frames::web::WebFrames;
use crate::tick::link::Link;
use crate::tick::phase::BOOK;
use crate::tick::prepare::{FollowedFeed, REHEARSED_MAX, SyncedBook, prepare, wrong};
use crate::tick::receiver::TickReceiver;
use crate::tick::rehearsal::MadeUpTicks;
use crate::tick::rehearsal_prices::PriceTicks;
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

/// Connects once more, subscribes to the instrument's `BOOK` with stamps, and takes its snapshot.
///
/// # Errors
/// As [`crate::tick::feed_start::follow`]; or if the exchange stamps no `BOOK`.
pub(crate) fn follow(
    plan: &TickPlan,
    clock: Clock,
    session: &mut ExchangeSession,
    link: &mut Link<'_>,
    dialler: &Dialler<'_>,
) -> Result<FollowedFeed<JsonBook>, TraderError> {
    let failed = |source| TraderError::connect(&plan.target, 1, source);
    link.talk(|stream| session.subscribe_orders(stream)).map_err(failed)?;
    let mut connection = dialler.connect().map_err(failed)?;
    let mut web = WebSession::with_room(&plan.target, nonce().into(), MESSAGE_BYTES_MAX);
    let units = subscribe(plan, &mut web, &mut connection).map_err(failed)?;
    let units = units.ok_or_else(|| {
        let why = "the exchange does not stamp its BOOK: is it an older tickpath?";
        wrong(plan, why.to_owned())
    })?;
    let mut book = JsonBook::new(&plan.instrument, units, plan.feed.levels_max);
    let begun =
        web.wait_for(&mut connection, "SUBSCRIBE", |_, text| match decode_market_data(text) {
            Ok(MarketData::Snapshot(snapshot)) => Some(book.begin(&snapshot)),
            _ => None,
        });
    begun.map_err(failed)?.map_err(|why| wrong(plan, why))?;
    let frames = WebFrames::new(web);
    let receiver = FrameReceiver::new(connection, frames, plan.feed.kernel_stamps, clock);
    let receiver = TickReceiver::Web(Box::new(receiver.map_err(failed)?));
    let rehearsed = |at_ticks| {
        let ticks: Box<dyn MadeUpTicks> =
            Box::new(PriceTicks::json(&plan.instrument, units, at_ticks));
        (JsonBook::new(&plan.instrument, units, REHEARSED_MAX), ticks)
    };
    let synced = SyncedBook { receiver, book, instrument: 0, units };
    prepare(plan, clock, session, synced, rehearsed)
}

/// Logs on and subscribes. Returns the instrument's tick and lot, if the exchange stamps.
fn subscribe(
    plan: &TickPlan,
    web: &mut WebSession,
    stream: &mut dyn Blocking,
) -> io::Result<Option<[Decimal; 2]>> {
    web.upgrade(stream)?;
    web.authenticate(stream, plan.first_token, [None; 2])?;
    let instrument_code = Some(plan.instrument.as_str().into());
    let channel = Channel { instrument_code, stamps: Some(true), ..Channel::named(BOOK) };
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

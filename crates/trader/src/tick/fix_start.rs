//! As [`crate::tick::json_start`], for market data over FIX: a session of its own at the exchange's
//! FIX port.
//!
//! See docs/decisions/039-ticks-over-fix.md.

use crate::load::dialler::Dialler;
use crate::load::error::TraderError;
use crate::session::fix::{SessionConnection, Times, initiator, password};
use crate::session::web::STEP_PATIENCE;
use crate::tick::followed::fix::{FixBook, MD_ENTRY_TYPE, MD_REQ_ID, SYMBOL};
use crate::tick::frames::FrameReceiver;
use crate::tick::frames::fix::FixFrames;
use crate::tick::link::Link;
use crate::tick::prepare::{FollowedFeed, REHEARSED_MAX, SyncedBook, prepare, wrong};
use crate::tick::receiver::TickReceiver;
use crate::tick::rehearsal::MadeUpTicks;
use crate::tick::rehearsal_prices::PriceTicks;
use crate::tick::session::exchange::ExchangeSession;
use clock::Clock;
use fix::dictionary::Dictionary;
use fix::encode::Body;
use fix::message::Message;
use fix::tag;
use plan::process::ticks::TickPlan;
use std::io;
use std::sync::Arc;
use transport::echo::Inbound;
use wire::Decimal;

const NO_RELATED_SYM: u32 = 146;
const SUBSCRIPTION_REQUEST_TYPE: u32 = 263;
const MARKET_DEPTH: u32 = 264;
const MD_UPDATE_TYPE: u32 = 265;
const NO_MD_ENTRY_TYPES: u32 = 267;
const SECURITY_REQ_ID: u32 = 320;
const SECURITY_LIST_REQUEST_TYPE: u32 = 559;
const ROUND_LOT: u32 = 561;
/// The id of both requests.
const ID: &str = "ticks";
/// In Text (58) of a SecurityList: FIX 4.4 has no field for it.
const MIN_PRICE_INCREMENT: &str = "MinPriceIncrement=";

/// Logs on at the plan's FIX port, requests the instrument's book with stamps, and takes its
/// snapshot.
///
/// # Errors
/// As [`crate::tick::json_start::follow`].
pub(crate) fn follow(
    plan: &TickPlan,
    clock: Clock,
    session: &mut ExchangeSession,
    link: &mut Link<'_>,
) -> Result<FollowedFeed<FixBook>, TraderError> {
    let failed = |source| TraderError::connect(&plan.target, 0, source);
    link.talk(|stream| session.subscribe_orders(stream)).map_err(failed)?;
    // The plan was checked.
    let address = plan.feed.address.as_deref().unwrap_or_default();
    let failed = |source| TraderError::connect(address, 1, source);
    let mut connection = Dialler::new(address, plan.tls.as_ref())?.connect().map_err(failed)?;
    let token = plan.first_token.to_string();
    let dictionary = Arc::new(Dictionary::tickpath());
    let mut fix = initiator(&format!("TICKS-{token}"), password(&token), dictionary);
    let (times, mut inbound) = (Times::new(clock), Inbound::default());
    let mut line = SessionConnection {
        session: &mut fix,
        inbound: &mut inbound,
        stream: &mut connection,
        times,
        patience: STEP_PATIENCE,
    };
    line.log_on().map_err(failed)?;
    let units = units(&mut line, &plan.instrument).map_err(failed)?;
    let units = units.map_err(|why| wrong(plan, why))?;
    let mut book = FixBook::new(&plan.instrument, units, plan.feed.levels_max);
    subscribe(&mut line, &plan.instrument, &mut book)
        .map_err(failed)?
        .map_err(|why| wrong(plan, why))?;
    let frames = FixFrames::new(fix, inbound, times);
    let receiver = FrameReceiver::new(connection, frames, plan.feed.kernel_stamps, clock);
    let receiver = TickReceiver::Fix(Box::new(receiver.map_err(failed)?));
    let rehearsed = |at_ticks| {
        let ticks: Box<dyn MadeUpTicks> =
            Box::new(PriceTicks::fix(&plan.instrument, units, at_ticks));
        (FixBook::new(&plan.instrument, units, REHEARSED_MAX), ticks)
    };
    let synced = SyncedBook { receiver, book, instrument: 0, units };
    prepare(plan, clock, session, synced, rehearsed)
}

/// The value of a tick, and the size of a lot, by a SecurityList.
fn units(
    line: &mut SessionConnection<'_>,
    symbol: &str,
) -> io::Result<Result<[Decimal; 2], String>> {
    line.send("x", |body: &mut Body<'_>| {
        body.text(SECURITY_REQ_ID, ID).number(SECURITY_LIST_REQUEST_TYPE, 0).text(SYMBOL, symbol);
    })?;
    line.wait_for("SecurityListRequest", |message| {
        (message.msg_type() == b"y").then(|| {
            listed(message).ok_or_else(|| {
                let text = message.text(tag::TEXT).unwrap_or_default();
                format!(
                    "the exchange lists no {symbol} with RoundLot and MinPriceIncrement: {text}"
                )
            })
        })
    })
}

fn listed(message: Message<'_>) -> Option<[Decimal; 2]> {
    let tick = message.text(tag::TEXT)?.strip_prefix(MIN_PRICE_INCREMENT)?;
    let lot = message.text(ROUND_LOT)?;
    Some([Decimal::parse(tick).ok()?, Decimal::parse(lot).ok()?])
}

/// Requests the book, and takes its snapshot.
fn subscribe(
    line: &mut SessionConnection<'_>,
    symbol: &str,
    book: &mut FixBook,
) -> io::Result<Result<(), String>> {
    line.send("V", |body: &mut Body<'_>| {
        body.text(MD_REQ_ID, ID)
            .number(SUBSCRIPTION_REQUEST_TYPE, 1)
            .number(MARKET_DEPTH, 0)
            .number(MD_UPDATE_TYPE, 1)
            .number(NO_MD_ENTRY_TYPES, 2)
            .number(MD_ENTRY_TYPE, 0)
            .number(MD_ENTRY_TYPE, 1)
            .number(NO_RELATED_SYM, 1)
            .text(SYMBOL, symbol)
            .flag(tag::TICK_STAMPS, true);
    })?;
    line.wait_for("MarketDataRequest", |message| {
        (message.msg_type() == b"W").then(|| book.begin(message))
    })
}

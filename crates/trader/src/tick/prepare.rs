//! From a synchronised book to a trader: the strategy and its risk check in the feed's units, and
//! rehearsals of them.

use crate::load::error::TraderError;
use crate::risk::{Profile, Risk};
use crate::strategy::market_maker::MarketMaker;
use crate::strategy::outcome::Outcome;
use crate::strategy::{Strategy, Trigger};
use crate::tick::followed::FollowedBook;
use crate::tick::logic::FeedLogic;
use crate::tick::receiver::TickReceiver;
use crate::tick::rehearsal::{MadeUpTicks, Rehearsal};
use crate::tick::session::exchange::ExchangeSession;
use crate::tick::stages::Stages;
use clock::Clock;
use engine::Top;
use feed::Book;
use plan::process::ticks::TickPlan;
use plan::tables::strategy::StrategyName;
use std::path::Path;
use wire::Decimal;

/// Orders, and prices per side, of the book of rehearsals.
pub(crate) const REHEARSED_MAX: u32 = 16;

/// A book that equals the exchange's, and where its changes come to.
pub(crate) struct SyncedBook<F> {
    pub(crate) receiver: TickReceiver,
    pub(crate) book: F,
    pub(crate) instrument: u16,
    /// The value of a tick, and the size of a lot.
    pub(crate) units: [Decimal; 2],
}

/// A feed that is followed.
pub(crate) struct FollowedFeed<F> {
    pub(crate) receiver: TickReceiver,
    pub(crate) logic: FeedLogic<F>,
    pub(crate) instrument: u16,
    pub(crate) rehearsal: Option<Rehearsal<FeedLogic<F>, ExchangeSession>>,
}

/// Makes the strategy and its risk check. `rehearsed` makes an empty book for rehearsals, and a
/// made-up feed around a price, in ticks.
///
/// # Errors
/// If the risk profile does not know the instrument, or an order can't have the plan's amount.
pub(crate) fn prepare<F: FollowedBook>(
    plan: &TickPlan,
    clock: Clock,
    session: &mut ExchangeSession,
    synced: SyncedBook<F>,
    rehearsed: impl FnOnce(i64) -> (F, Box<dyn MadeUpTicks>),
) -> Result<FollowedFeed<F>, TraderError> {
    let SyncedBook { receiver, book, instrument, units: [tick, lot] } = synced;
    session.count_in(tick, lot);
    let profile = plan.risk.as_ref().map(|path| Profile::read(Path::new(path))).transpose()?;
    let mut profile = profile.unwrap_or_default();
    let risk = Risk::new(&profile, &plan.instrument, tick, lot)?;
    let (own, outcome) = strategy(plan, instrument, lot)?;
    let top = book.book(instrument).map_or_else(Top::default, Book::top);
    let logic = FeedLogic::new(book, instrument, own, risk, outcome);
    // A trader that sleeps has no idle turns.
    let rehearses = plan.strategy.rehearse && transport::backend(&plan.backend)?.row.spins;
    let rehearsal = if rehearses {
        // Rehearsals are more frequent than messages may be.
        profile.limits.messages_per_second_max = u32::MAX;
        let risk = Risk::new(&profile, &plan.instrument, tick, lot)?;
        let (own, _) = strategy(plan, 0, lot)?;
        let at_ticks = top.bid.or(top.ask).map_or(1, |quote| quote.price_ticks);
        let (book, ticks) = rehearsed(at_ticks);
        let logic = FeedLogic::new(book, 0, own, risk, None);
        Some(Rehearsal::new(Stages::new(clock, logic, session.twin()), ticks))
    } else {
        None
    };
    Ok(FollowedFeed { receiver, logic, instrument, rehearsal })
}

/// An error about the feed.
pub(crate) fn wrong(plan: &TickPlan, why: String) -> TraderError {
    TraderError::Feed { target: plan.target.clone(), why }
}

fn strategy(
    plan: &TickPlan,
    instrument: u16,
    lot: Decimal,
) -> Result<(Box<dyn Strategy>, Option<Outcome>), TraderError> {
    let amount = Decimal::parse(&plan.strategy.amount).unwrap_or_default();
    let lots = amount.in_units_of(lot).ok().and_then(|lots| u64::try_from(lots).ok());
    let Some(lots) = lots.filter(|lots| *lots > 0) else {
        let why = format!("strategy.amount = {amount} is no multiple of the lot {lot}");
        return Err(wrong(plan, why));
    };
    Ok(match plan.strategy.name {
        StrategyName::Trigger => (Box::new(Trigger::new(&plan.strategy, lots)), None),
        StrategyName::MarketMaking => {
            let maker = MarketMaker::new(&plan.strategy, lots);
            (Box::new(maker), Some(Outcome::new(instrument)))
        }
    })
}

//! Rehearsals cover the whole path of a tick, without end, and leave nothing behind.

use super::*;
use crate::risk::{Profile, Risk};
use crate::strategy::market_maker::MarketMaker;
use crate::strategy::{Strategy, Trigger};
use crate::tick::followed::MarketDataKind;
use crate::tick::logic::FeedLogic;
use crate::tick::session::exchange::ExchangeSession;
use clock::Clock;
use feed::{Follower, FollowerSettings};
use plan::tables::strategy::StrategyPlan;
use wire::Decimal;

fn rehearsal(
    strategy: Box<dyn Strategy>,
    at_ticks: i64,
) -> Rehearsal<FeedLogic<Follower>, ExchangeSession> {
    let unit = Decimal::new(1, 2).unwrap();
    let mut profile = Profile::default();
    profile.limits.messages_per_second_max = u32::MAX;
    let risk = Risk::new(&profile, "BTC_USDT", unit, unit).unwrap();
    let mut session = ExchangeSession::new("localhost:1", "BTC_USDT");
    session.count_in(unit, unit);
    let follower = Follower::new(FollowerSettings::new(Channel::Orders, 1, 16, 16));
    let logic = FeedLogic::new(follower, 0, strategy, risk, None);
    Rehearsal::new(Stages::new(Clock::calibrate(), logic, session), Box::new(Ticks::new(at_ticks)))
}

#[test]
fn every_turn_leads_to_an_order() {
    let plan = StrategyPlan { distance_ticks: 1, ..StrategyPlan::default() };
    for at_ticks in [1, 4_000_000] {
        let strategies: [Box<dyn Strategy>; 2] =
            [Box::new(Trigger::new(&plan, 1)), Box::new(MarketMaker::new(&plan, 1))];
        for strategy in strategies {
            let mut rehearsal = rehearsal(strategy, at_ticks);
            for turn in 1..=1_000 {
                let said = rehearsal.stages.counts.said;
                rehearsal.turn();
                assert!(rehearsal.stages.counts.said > said, "at {at_ticks} in turn {turn}");
            }
            let Stages { logic, orders, outbox, counts, .. } = &rehearsal.stages;
            assert!(logic.is_in_sync());
            assert_eq!(logic.follower.counts().faults.met().count(), 0);
            assert_eq!((orders.alive(), orders.unanswered()), (0, 0));
            assert!(outbox.bytes.is_empty() && outbox.messages.is_empty());
            assert_eq!(counts.risk_rejections.iter().sum::<u64>(), 0);
        }
    }
}

/// If the risk check rejects the order intent at that price, the rehearsal covers the rejection.
#[test]
fn at_any_price_the_market_is_there() {
    let mut rehearsal =
        rehearsal(Box::new(Trigger::new(&StrategyPlan::default(), 1)), engine::PRICE_TICKS_MAX);
    (0..100).for_each(|_| rehearsal.turn());
    let Stages { logic, orders, counts, .. } = &rehearsal.stages;
    assert!(logic.is_in_sync());
    assert_eq!(
        (orders.alive(), counts.said, counts.risk_rejections.iter().sum::<u64>()),
        (0, 0, 100)
    );
}

/// The four steps of a life are ticks of the live feed, and end where they began.
#[test]
fn a_life_leaves_the_book_as_it_was() {
    let mut rehearsal = rehearsal(Box::new(Trigger::new(&StrategyPlan::default(), 1)), 4_000_000);
    let book = |rehearsal: &Rehearsal<FeedLogic<Follower>, ExchangeSession>| {
        let book = rehearsal.stages.logic.follower.book(0).unwrap();
        (book.hash(), book.orders_open())
    };
    let before = book(&rehearsal);
    for step in 0..LIFE {
        let tick = rehearsal.stages.logic.normalise(rehearsal.ticks.next()).unwrap();
        assert_eq!((tick.kind, tick.messages), (MarketDataKind::Live, 1), "step {step}");
        assert_eq!(book(&rehearsal) == before, step == LIFE - 1, "step {step}");
    }
}

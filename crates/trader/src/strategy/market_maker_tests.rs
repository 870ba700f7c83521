//! The market maker's decisions on given books.

use super::{MarketMaker, TICK, micro_price};
use crate::strategy::own_orders::{OwnOrders, PendingRequest};
use crate::strategy::{Market, OrderIntent, Strategy as _};
use engine::{PRICE_TICKS_MAX, Quote, Side, Top};
use expect_test::expect;
use plan::tables::strategy::StrategyPlan;
use proptest::prelude::*;

fn quote(price_ticks: i64, quantity_lots: u64) -> Quote {
    Quote { price_ticks, quantity_lots }
}

fn top(bid: (i64, u64), ask: (i64, u64)) -> Top {
    Top { bid: Some(quote(bid.0, bid.1)), ask: Some(quote(ask.0, ask.1)) }
}

fn maker() -> MarketMaker {
    let plan = StrategyPlan {
        half_spread_ticks: 2.0,
        skew_ticks: 4.0,
        position_quotes_max: 4,
        requote_ticks: 2.0,
        ..StrategyPlan::default()
    };
    MarketMaker::new(&plan, 10)
}

/// One line per order intent.
fn said(maker: &mut MarketMaker, top: Top, orders: &OwnOrders) -> String {
    let mut intents = Vec::new();
    maker.tick(&Market { top, orders }, &mut intents);
    let line = |intent: &OrderIntent| match *intent {
        OrderIntent::New { side, price_ticks, quantity_lots, .. } => {
            format!("{side:?} {quantity_lots} at {price_ticks}")
        }
        OrderIntent::Amend { number, price_ticks, .. } => format!("move {number} to {price_ticks}"),
        OrderIntent::Cancel { number } => format!("end {number}"),
    };
    intents.iter().map(line).collect::<Vec<_>>().join(", ")
}

/// Both quotes rest at those prices.
fn quoting(bid: i64, ask: i64) -> OwnOrders {
    let mut orders = OwnOrders::default();
    for (side, price) in [(Side::Buy, bid), (Side::Sell, ask)] {
        let number = orders.enter(side, price, 10, true).unwrap();
        orders.answered(number, true).unwrap();
        orders.booked(number, number + 100);
    }
    orders
}

#[test]
fn quotes_stand_around_the_micro_price() {
    let orders = OwnOrders::default();
    let books = [
        ("even", top((100, 5), (110, 5))),
        ("more is bid", top((100, 30), (110, 10))),
        ("more is offered", top((100, 10), (110, 30))),
        ("narrow", top((100, 5), (101, 5))),
    ];
    let lines = books.map(|(name, top)| format!("{name}: {}", said(&mut maker(), top, &orders)));
    expect![[r#"
        even: Buy 10 at 103, Sell 10 at 107
        more is bid: Buy 10 at 105, Sell 10 at 110
        more is offered: Buy 10 at 100, Sell 10 at 105
        narrow: Buy 10 at 98, Sell 10 at 103"#]]
    .assert_eq(&lines.join("\n"));
}

#[test]
fn a_position_moves_the_middle_against_itself_until_one_side_is_empty() {
    let lines: Vec<String> = [0, 10, 20, 31, 40, -40]
        .into_iter()
        .map(|position: i64| {
            let mut orders = OwnOrders::default();
            let side = if position < 0 { Side::Sell } else { Side::Buy };
            let lots = position.unsigned_abs();
            let number = orders.enter(side, 105, lots, false).unwrap();
            orders.answered(number, true).unwrap();
            orders.filled(number, 105, lots);
            orders.end(number);
            let said = said(&mut maker(), top((100, 5), (110, 5)), &orders);
            format!("{position}: {said}")
        })
        .collect();
    expect![[r#"
        0: Buy 10 at 103, Sell 10 at 107
        10: Buy 10 at 102, Sell 10 at 106
        20: Buy 10 at 101, Sell 10 at 105
        31: Sell 10 at 104
        40: Sell 10 at 103
        -40: Buy 10 at 107"#]]
    .assert_eq(&lines.join("\n"));
}

#[test]
fn a_quote_is_moved_when_it_is_off_by_the_threshold() {
    let mut orders = quoting(103, 107);
    let say = |top, orders: &OwnOrders| said(&mut maker(), top, orders);
    assert_eq!(say(top((100, 5), (110, 5)), &orders), "");
    assert_eq!(say(top((101, 5), (111, 5)), &orders), "", "one tick is less than two");
    assert_eq!(say(top((102, 5), (112, 5)), &orders), "move 0 to 105, move 1 to 109");
    orders.ask(0, PendingRequest::Amend { price_ticks: 105, quantity_lots: 10 }).unwrap();
    assert_eq!(say(top((102, 5), (112, 5)), &orders), "move 1 to 109", "the bid is on its way");
}

#[test]
fn the_quote_that_gives_way_goes_first() {
    let orders = quoting(103, 107);
    let up = said(&mut maker(), top((110, 5), (120, 5)), &orders);
    assert_eq!(up, "move 1 to 117, move 0 to 113", "the bid would have met our offer at 107");
    let down = said(&mut maker(), top((90, 5), (100, 5)), &orders);
    assert_eq!(down, "move 0 to 93, move 1 to 97");
}

#[test]
fn without_a_market_there_are_no_quotes() {
    let orders = quoting(103, 107);
    assert_eq!(said(&mut maker(), Top::default(), &orders), "end 0, end 1");
    let one_sided = Top { bid: Some(quote(100, 1)), ask: None };
    assert_eq!(said(&mut maker(), one_sided, &OwnOrders::default()), "");
}

proptest! {
    #[test]
    fn the_micro_price_lies_between_the_best_prices(
        bid in 1..PRICE_TICKS_MAX, spread in 1i64..1_000_000_000,
        bids in 1..=u64::MAX, asks in 1..=u64::MAX
    ) {
        let ask = (bid + spread).min(PRICE_TICKS_MAX);
        let micro = micro_price(&quote(bid, bids), &quote(ask, asks));
        prop_assert!((bid * TICK..=ask * TICK).contains(&micro));
        let exact = i128::from(ask - bid) * i128::from(bids) * i128::from(TICK)
            / (i128::from(bids) + i128::from(asks));
        let off = i128::from(micro - bid * TICK) - exact;
        // A fraction of the weight is worth as much as the spread.
        prop_assert!(off.abs() <= i128::from(ask - bid) + 1, "{off}");
    }

    /// Post-only or not: no quote crosses the market or our other quote.
    #[test]
    fn quotes_never_cross(
        bid in 1i64..1_000_000, spread in 1i64..1_000, bids in 1u64..10_000, asks in 1u64..10_000,
        position in -60i64..60
    ) {
        let mut orders = OwnOrders::default();
        if position != 0 {
            let side = if position < 0 { Side::Sell } else { Side::Buy };
            let number = orders.enter(side, 5, position.unsigned_abs(), false).unwrap();
            orders.answered(number, true).unwrap();
            orders.filled(number, 5, position.unsigned_abs());
            orders.end(number);
        }
        let mut intents = Vec::new();
        maker().tick(&Market { top: top((bid, bids), (bid + spread, asks)), orders: &orders }, &mut intents);
        let mut prices = [0, i64::MAX];
        for intent in intents {
            let OrderIntent::New { side, price_ticks, .. } = intent else { panic!("{intent:?}") };
            prices[side as usize] = price_ticks;
        }
        prop_assert!(prices[0] < bid + spread && prices[1] > bid && prices[0] < prices[1]);
    }
}

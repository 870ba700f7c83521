//! Each limit rejects under its own name, and only what exceeds it.

use super::*;
use crate::strategy::own_orders::PendingRequest;
use engine::Quote;
use expect_test::expect;
use proptest::prelude::*;

const TOP: Top = Top {
    bid: Some(Quote { price_ticks: 9_990, quantity_lots: 5 }),
    ask: Some(Quote { price_ticks: 10_010, quantity_lots: 5 }),
};

fn decimal(text: &str) -> Decimal {
    Decimal::parse(text).unwrap()
}

/// Tick 0.01, lot 0.1: at most 10 lots, a notional of 10 000, 20 lots of position, 3 orders, 5
/// messages per second, 5 %.
fn risk() -> Risk {
    let text = r#"
        [limits]
        amount_max = "1"
        notional_max = "100.5"
        position_max = "2"
        open_orders_max = 3
        messages_per_second_max = 5
        collar_basis_points = 500
    "#;
    Risk::new(&toml::from_str(text).unwrap(), "X", decimal("0.01"), decimal("0.1")).unwrap()
}

fn enter(side: Side, price_ticks: i64, quantity_lots: u64) -> OrderIntent {
    OrderIntent::New { side, price_ticks, quantity_lots, to_rest: true }
}

fn check(risk: &mut Risk, intent: &OrderIntent, orders: &mut OwnOrders) -> &'static str {
    risk.check(intent, orders, &TOP, 0).map_or_else(Rejection::name, |()| "passes")
}

#[test]
fn each_limit_has_its_own_reason() {
    let mut orders = OwnOrders::default();
    let intents = [
        enter(Side::Buy, 10_000, 10),
        enter(Side::Buy, 0, 1),
        enter(Side::Buy, 10_000, 0),
        enter(Side::Buy, 1, 11),
        enter(Side::Buy, 10_051, 10),
        enter(Side::Sell, 10_050, 10),
        enter(Side::Buy, 10_501, 1),
        enter(Side::Buy, 10_500, 1),
        enter(Side::Sell, 9_499, 1),
        enter(Side::Sell, 9_500, 1),
        enter(Side::Buy, 1, 1),
        OrderIntent::Cancel { number: 7 },
    ];
    let lines: Vec<String> = intents
        .iter()
        .map(|intent| format!("{intent:?}: {}", check(&mut risk(), intent, &mut orders)))
        .map(|line| line.replace("_ticks", "").replace("_lots", "").replace(", to_rest: true", ""))
        .collect();
    expect![[r#"
        New { side: Buy, price: 10000, quantity: 10 }: passes
        New { side: Buy, price: 0, quantity: 1 }: range
        New { side: Buy, price: 10000, quantity: 0 }: range
        New { side: Buy, price: 1, quantity: 11 }: amount_max
        New { side: Buy, price: 10051, quantity: 10 }: notional_max
        New { side: Sell, price: 10050, quantity: 10 }: passes
        New { side: Buy, price: 10501, quantity: 1 }: collar_basis_points
        New { side: Buy, price: 10500, quantity: 1 }: passes
        New { side: Sell, price: 9499, quantity: 1 }: collar_basis_points
        New { side: Sell, price: 9500, quantity: 1 }: passes
        New { side: Buy, price: 1, quantity: 1 }: passes
        Cancel { number: 7 }: not_open"#]]
    .assert_eq(&lines.join("\n"));
}

#[test]
fn a_position_is_what_it_would_be_if_all_that_is_open_traded() {
    let (mut risk, mut orders) = (risk(), OwnOrders::default());
    for lots in [10, 5] {
        assert_eq!(check(&mut risk, &enter(Side::Buy, 100, lots), &mut orders), "passes");
        orders.enter(Side::Buy, 100, lots, true).unwrap();
    }
    assert_eq!(check(&mut risk, &enter(Side::Buy, 100, 6), &mut orders), "position_max");
    assert_eq!(
        check(&mut risk, &enter(Side::Sell, 10_000, 10), &mut orders),
        "passes",
        "the other side"
    );
    orders.answered(0, true).unwrap();
    orders.filled(0, 100, 10);
    assert_eq!(check(&mut risk, &enter(Side::Buy, 100, 6), &mut orders), "position_max");
}

/// The order trades 9 of its 10 lots while its amendment to 10 is in flight, and then all 10 of the
/// amendment. When the open amount counted once, the position was 19 with a limit of 10.
#[test]
fn an_amendment_that_crosses_a_fill_stays_within_the_position() {
    let (mut risk, mut orders) = (risk(), OwnOrders::default());
    orders.enter(Side::Buy, 100, 10, true).unwrap();
    orders.answered(0, true).unwrap();
    let moved = |quantity_lots| OrderIntent::Amend { number: 0, price_ticks: 90, quantity_lots };
    assert_eq!(check(&mut risk, &moved(10), &mut orders), "passes", "20 in all");
    assert_eq!(check(&mut risk, &enter(Side::Buy, 90, 1), &mut orders), "passes");
    orders.ask(0, PendingRequest::Amend { price_ticks: 90, quantity_lots: 10 }).unwrap();
    assert_eq!(check(&mut risk, &enter(Side::Buy, 90, 1), &mut orders), "position_max");
    orders.filled(0, 100, 9);
    orders.answered(0, true).unwrap();
    orders.filled(0, 90, 10);
    assert_eq!(orders.position_lots(), 19);
    orders.end(0);
    assert_eq!(check(&mut risk, &enter(Side::Buy, 90, 2), &mut orders), "position_max");
    assert_eq!(check(&mut risk, &enter(Side::Buy, 90, 1), &mut orders), "passes");
}

#[test]
fn orders_and_messages_are_counted() {
    let (mut risk, mut orders) = (risk(), OwnOrders::default());
    for _ in 0..3 {
        orders.enter(Side::Buy, 1, 1, true).unwrap();
    }
    assert_eq!(check(&mut risk, &enter(Side::Buy, 1, 1), &mut orders), "open_orders_max");
    orders.answered(0, true).unwrap();
    let moved = OrderIntent::Amend { number: 0, price_ticks: 2, quantity_lots: 1 };
    for _ in 0..5 {
        assert_eq!(check(&mut risk, &moved, &mut orders), "passes");
    }
    assert_eq!(check(&mut risk, &moved, &mut orders), "messages_per_second_max");
    assert_eq!(
        check(&mut risk, &OrderIntent::Cancel { number: 0 }, &mut orders),
        "passes",
        "cancels always"
    );
    assert!(risk.check(&moved, &mut orders, &TOP, 1_000_000_000).is_ok(), "the next second");
    orders.ask(0, PendingRequest::Cancel).unwrap();
    assert_eq!(check(&mut risk, &moved, &mut orders), "not_open", "it waits for an answer");
}

#[test]
fn without_a_book_there_is_no_price_to_hold_on_to() {
    let none = risk().check(&enter(Side::Buy, 1, 1), &mut OwnOrders::default(), &Top::default(), 0);
    assert_eq!(none, Err(Rejection::NoReference));
    let one_sided = Top { ask: None, ..TOP };
    let dear = enter(Side::Buy, 10_500, 1);
    let rejected = risk().check(&dear, &mut OwnOrders::default(), &one_sided, 0);
    assert_eq!(rejected, Err(Rejection::Collar));
}

#[test]
fn a_profile_says_what_is_wrong_with_it() {
    let new = |text: &str| {
        let profile: Profile = toml::from_str(text).map_err(|error| error.to_string())?;
        let risk = Risk::new(&profile, "X", decimal("0.01"), decimal("0.1"));
        risk.map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(new(""), Ok(()));
    let listed = "[[instrument]]\ncode = \"X\"\ntick = \"0.010\"\nlot = \"0.1\"\n";
    assert_eq!(new(listed), Ok(()));
    let errors = [
        new(&listed.replace("\"X\"", "\"Y\"")),
        new(&listed.replace("\"0.1\"", "\"1\"")),
        new("[limits]\namount_max = \"0.05\""),
        new("[limits]\nnotional_max = \"-1\""),
        new("[limits]\nopen_orders_max = 0"),
        new("[limits]\ncollar_basis_points = 1000001"),
    ];
    let lines: Vec<String> = errors.into_iter().map(Result::unwrap_err).collect();
    expect![[r#"
        the risk profile has no reference data of X; add an [[instrument]] for it
        reference data of X differ: tick 0.01 and lot 1 in the profile, 0.01 and 0.1 at the exchange; correct the profile
        the risk profile's amount_max is 0.05: it must be at least one lot, 0.1
        the risk profile's notional_max is -1: it must be above 0
        the risk profile's open_orders_max is 0: 1 to 16384
        the risk profile's collar_basis_points is 1000001: 0 to 1000000"#]]
    .assert_eq(&lines.join("\n"));
    assert!(new("[limits]\namount_maximum = \"1\"").unwrap_err().contains("unknown field"));
    assert!(new("[limits]\namount_max = 1.5").unwrap_err().contains("in quotes"));
}

proptest! {
    #[test]
    fn a_profile_that_was_written_is_read(
        mantissas in any::<[i64; 3]>(), scale in 0u8..=9, counts in any::<[u32; 3]>(), codes in prop::collection::vec(".*", 0..3)
    ) {
        let number = |mantissa| Decimal::new(mantissa, scale).unwrap_or_default();
        let [amount_max, notional_max, position_max] = mantissas.map(number);
        let [open_orders_max, messages_per_second_max, collar_basis_points] = counts;
        let limits = Limits {
            amount_max, notional_max, position_max, open_orders_max, messages_per_second_max, collar_basis_points
        };
        let reference = |code| Reference { code, tick: amount_max, lot: notional_max };
        let profile = Profile { limits, instrument: codes.into_iter().map(reference).collect() };
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("risk.toml");
        profile.write(&path).unwrap();
        prop_assert_eq!(Profile::read(&path).unwrap(), profile);
    }

    /// No profile and no order intent causes a panic, and what passes keeps every limit.
    #[test]
    fn what_passes_keeps_the_limits(
        price in any::<i64>(), lots in any::<u64>(), bid in 1..=PRICE_TICKS_MAX, ask in 1..=PRICE_TICKS_MAX,
        buys: bool, collar in 0u32..=1_000_000
    ) {
        let limits = Limits { collar_basis_points: collar, ..Limits::default() };
        let profile = Profile { limits, instrument: Vec::new() };
        let mut risk = Risk::new(&profile, "X", decimal("0.01"), decimal("0.001")).unwrap();
        let quote = |price_ticks| Some(Quote { price_ticks, quantity_lots: 1 });
        let top = Top { bid: quote(bid), ask: quote(ask) };
        let side = if buys { Side::Buy } else { Side::Sell };
        if risk.check(&enter(side, price, lots), &mut OwnOrders::default(), &top, 0).is_ok() {
            prop_assert!((1..=PRICE_TICKS_MAX).contains(&price) && (1..=10_000).contains(&lots));
            // 10 million in units of 0.01 times 0.001.
            prop_assert!(i128::from(price) * i128::from(lots) <= 1_000_000_000_000);
            let middle = i128::from((bid + ask) / 2);
            let past = if buys { i128::from(price) - middle } else { middle - i128::from(price) };
            prop_assert!(past <= (middle * i128::from(collar) / 10_000).max(1));
        }
    }
}

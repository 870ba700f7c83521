use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

const LEVELS_MAX: usize = 40;

/// Prices in the same page, in neighbouring pages, and in pages with the same place in `near`.
fn price_ticks() -> impl Strategy<Value = i64> {
    let near_ticks = (NEAR_PAGES * PAGE_PRICES) as i64;
    prop_oneof![
        6 => 1..60_i64,
        2 => (0..3_i64, 1..40_i64).prop_map(move |(laps, ticks)| laps * near_ticks + ticks),
        1 => crate::PRICE_TICKS_MAX - 20..=crate::PRICE_TICKS_MAX,
    ]
}

proptest! {
    /// Compares with a map from price to level, with more pages than are compared one by one.
    #[test]
    fn levels_are_a_sorted_map(
        side in prop_oneof![Just(Side::Buy), Just(Side::Sell)],
        steps in prop::collection::vec((price_ticks(), any::<bool>()), 0..300),
    ) {
        let mut levels = Levels::new(side, LEVELS_MAX as u32);
        let mut model = BTreeMap::new();
        for (price_ticks, insert) in steps {
            let known = model.get(&price_ticks).copied();
            prop_assert_eq!(levels.find(price_ticks), known);
            prop_assert_eq!(
                levels.has_room_for(price_ticks),
                known.is_some() || model.len() < LEVELS_MAX
            );
            if insert {
                let found = levels.find_or_insert(price_ticks);
                match (known, found) {
                    (Some(known), found) => prop_assert_eq!(found, Some(known)),
                    (None, Some(level)) => {
                        prop_assert!(!model.values().any(|used| *used == level));
                        model.insert(price_ticks, level);
                    }
                    (None, None) => prop_assert_eq!(model.len(), LEVELS_MAX),
                }
            } else if let Some(level) = model.remove(&price_ticks) {
                levels.remove(level);
            }
            let mut expected: Vec<_> = model.keys().copied().collect();
            if side == Side::Buy {
                expected.reverse();
            }
            let prices: Vec<_> = levels.best_first().map(|level| level.price_ticks).collect();
            prop_assert_eq!(&prices, &expected);
            prop_assert_eq!(levels.best_ticks(), expected.first().copied());
            let best = levels.best().map(|level| levels.level(level).price_ticks);
            prop_assert_eq!(best, expected.first().copied());
        }
    }
}

//! Laws of every race.

use crate::closed::{maker, market, run, sniper};
use proptest::prelude::*;
use race::hawkes::Hawkes;
use race::{File, Latency, Market, Participant, Passive, Race, Role, new_engine, simulate};

fn latency() -> impl Strategy<Value = Latency> {
    prop_oneof![
        (0..200_000_u64).prop_map(Latency::constant),
        (1..200_000_u64).prop_map(Latency::exponential),
        (1..50_000_u64).prop_map(|ns| {
            let blocks = [vec![(ns, 9), (20 * ns, 1)], vec![(2 * ns, 5)]];
            Latency::recorded(&blocks, "log").unwrap()
        }),
    ]
}

fn role() -> impl Strategy<Value = Role> {
    let lots = || 1..5_u64;
    prop_oneof![
        (0..2_u16, 1..6_i64, lots()).prop_map(|(venue, half_spread, lots)| Role::Maker {
            venue,
            half_spread,
            lots
        }),
        (0..2_u16, 0..4_i64, lots()).prop_map(|(venue, edge, lots)| Role::Sniper {
            venue,
            edge,
            lots
        }),
        (1..4_i64, lots(), 0..50_000_u64).prop_map(|(edge, lots, far_ns)| Role::Arbitrageur {
            edge,
            lots,
            far_ns
        }),
    ]
}

fn participant() -> impl Strategy<Value = Participant> {
    (role(), latency(), 1..30_u64).prop_map(|(role, latency, inventory_lots_max)| Participant {
        name: "one".to_owned(),
        role,
        latency,
        inventory_lots_max,
    })
}

fn any_race() -> impl Strategy<Value = Race> {
    let participants = proptest::collection::vec(participant(), 1..8);
    let batch_ns = prop_oneof![Just(0), 1..200_000_u64];
    let passive = prop_oneof![Just(0.0), Just(500.0)];
    let policy = (0..100_000_u64, batch_ns, passive);
    (participants, 0.0..0.9_f64, policy, 1..60_i64).prop_map(
        |(participants, branching, (speed_bump_ns, batch_ns, per_second), value_ticks)| Race {
            market: Market {
                // Near the bottom of the scale, too.
                value_ticks,
                news: Hawkes::with_rate(400.0, branching, 1_000.0),
                noise: Hawkes::with_rate(800.0, branching, 1_000.0),
                noise_lots: 2,
                speed_bump_ns,
                batch_ns,
                passive: Passive { per_second, within_1ms: 0.5, longer_ns: 1e8, ..Passive::NONE },
                ..market(0.0, 0.0)
            },
            participants,
            background: None,
            duration_ns: 1_000_000_000,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(200)))]

    /// Money and lots only change hands; the engine agrees about them; the same seed gives the
    /// same market; a replay of the engine's inputs comes to the same state.
    #[test]
    fn every_race_conserves_and_repeats(race in any_race(), seed in any::<u64>()) {
        let mut inputs = Vec::new();
        let outcome = simulate(&race, seed, &mut |input| inputs.push(*input));
        prop_assert_eq!(outcome.accounts.iter().map(|one| one.cash).sum::<i64>(), 0);
        prop_assert_eq!(outcome.accounts.iter().map(|one| one.inventory).sum::<i64>(), 0);
        let made: u64 = outcome.accounts.iter().map(|one| one.lots_made).sum();
        let taken: u64 = outcome.accounts.iter().map(|one| one.lots_taken).sum();
        prop_assert_eq!((made, taken), (outcome.volume_lots, outcome.volume_lots));

        let mut engine = new_engine(&race);
        inputs.iter().for_each(|input| engine.apply(input, &mut |_| {}));
        prop_assert_eq!(engine.state_hash(), outcome.state_hash);
        prop_assert_eq!(inputs.len() as u64, outcome.inputs);
        for (who, account) in outcome.accounts.iter().enumerate() {
            let positions = (0..race.venues()).map(|venue| engine.position_lots(who as u32, venue));
            prop_assert_eq!(positions.sum::<i64>(), account.inventory);
            prop_assert!(account.lots_made + account.lots_taken <= account.lots_sent);
            for marked in account.marked {
                prop_assert!(marked.lots <= account.lots_made + account.lots_taken);
            }
        }
        prop_assert_eq!(simulate(&race, seed, &mut |_| {}), outcome);
    }

    /// An inventory never leaves its limit by more than the orders that were under way together.
    #[test]
    fn an_inventory_keeps_its_limit(race in any_race(), seed in any::<u64>()) {
        let outcome = simulate(&race, seed, &mut |_| {});
        for (participant, account) in race.participants.iter().zip(&outcome.accounts) {
            let lots = match participant.role {
                Role::Maker { lots, .. } => lots,
                _ => 0,
            };
            // A maker's two quotes each had room when they were made.
            let most = participant.inventory_lots_max + lots;
            prop_assert!(account.inventory.unsigned_abs() <= most, "{participant:?}: {account:?}");
        }
    }
}

/// The same on every machine: a change of this hash is a change of every result.
#[test]
fn a_seed_gives_the_same_market_on_every_machine() {
    let text = r#"
        name = "pinned"
        seconds = 2
        seeds = 3
        [market]
        news_branching = 0.5
        noise_branching = 0.3
        [[participant]]
        name = "maker"
        kind = "maker"
        latency.exponential_us = 40
        [[participant]]
        name = "sniper"
        kind = "sniper"
        latency.exponential_us = 40
    "#;
    let prepared = File::parse(text).and_then(File::prepare).unwrap();
    let record = prepared.run(|_| {});
    assert_eq!((record.state_hash.as_str(), record.inputs), ("76cc77b69ae591bc", 1_795));
    // Without six seeds there is no interval, and a warning.
    assert_eq!(record.participants[0].pnl_per_hour.interval, None);
    assert!(record.warnings[0].contains("fewer than 6 seeds"), "{:?}", record.warnings);
}

/// A faster sniper leaves the news, the noise and the other participant's latencies as they were.
#[test]
fn other_latencies_leave_the_market_as_it_was() {
    let maker = maker("maker", 1, Latency::exponential(30_000));
    let of = |sniper_ns| Race {
        market: market(50.0, 50.0),
        participants: vec![maker.clone(), sniper("sniper", Latency::constant(sniper_ns))],
        background: None,
        duration_ns: 5_000_000_000,
    };
    let (slow, fast) = (run(&of(50_000), 9), run(&of(5_000), 9));
    assert_eq!(slow.fair, fast.fair);
    assert_eq!(slow.accounts[2].orders, fast.accounts[2].orders);
    assert!(slow.accounts[1].orders_taken < fast.accounts[1].orders_taken);
}

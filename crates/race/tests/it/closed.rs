//! Races with a known result.

use engine::Command;
use race::hawkes::Hawkes;
use race::{Latency, Market, Outcome, Participant, Passive, Race, Role, simulate};

pub(crate) fn market(news: f64, noise: f64) -> Market {
    Market {
        value_ticks: 100_000,
        news: Hawkes::with_rate(news, 0.0, 100.0),
        jump_ticks: 4.0,
        noise: Hawkes::with_rate(noise, 0.0, 100.0),
        noise_lots: 1,
        noise_reach_ticks: 10,
        passive: Passive::NONE,
        maker_fee_ticks: 0.0,
        taker_fee_ticks: 0.0,
        speed_bump_ns: 0,
        batch_ns: 0,
    }
}

fn participant(name: &str, role: Role, latency: Latency) -> Participant {
    Participant { name: name.to_owned(), role, latency, inventory_lots_max: 1_000_000 }
}

pub(crate) fn maker(name: &str, lots: u64, latency: Latency) -> Participant {
    participant(name, Role::Maker { venue: 0, half_spread: 2, lots }, latency)
}

pub(crate) fn sniper(name: &str, latency: Latency) -> Participant {
    participant(name, Role::Sniper { venue: 0, edge: 1, lots: 1 }, latency)
}

fn of(market: Market, participants: Vec<Participant>, seconds: u64) -> Race {
    Race { market, participants, background: None, duration_ns: seconds * 1_000_000_000 }
}

pub(crate) fn run(race: &Race, seed: u64) -> Outcome {
    simulate(race, seed, &mut |_| {})
}

/// Orders that won and lost, over five seeds.
fn wins(race: &Race, who: usize) -> (u64, u64) {
    let of_seed = |seed| {
        let account = run(race, seed).accounts[who].clone();
        (account.orders_taken, account.orders)
    };
    (0..5).map(of_seed).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

/// A maker that reacts after a millisecond shows one lot to two snipers: exactly one gets it.
fn duel(a: Latency, b: Latency) -> Race {
    let maker = maker("maker", 1, Latency::constant(2_000_000));
    of(market(40.0, 0.0), vec![maker, sniper("a", a), sniper("b", b)], 60)
}

/// Asserts that `a` won this share, within four standard deviations of the binomial.
#[track_caller]
fn assert_share(race: &Race, share: f64) {
    let ((a, orders), (b, _)) = (wins(race, 1), wins(race, 2));
    let races = (a + b) as f64;
    // A stale quote may arrive between both orders, and then both win; that is rare.
    assert!(races > 5_000.0 && races < orders as f64 * 1.01, "{races} of {orders}");
    let bound = 4.0 * (share * (1.0 - share) / races).sqrt();
    let won = a as f64 / races;
    assert!((won - share).abs() < bound, "{won} of {races}, expected {share} +- {bound}");
}

/// Also with a constant latency, where both orders arrive in the same nanosecond: the place in the
/// file decides nothing.
#[test]
fn two_identical_snipers_win_half_each() {
    assert_share(&duel(Latency::constant(20_000), Latency::constant(20_000)), 0.5);
    assert_share(&duel(Latency::exponential(20_000), Latency::exponential(20_000)), 0.5);
    let log = [vec![(1_000, 90), (50_000, 10)], vec![(1_000, 50), (90_000, 50)]];
    let recorded = Latency::recorded(&log, "log").unwrap();
    assert_share(&duel(recorded.clone(), recorded), 0.5);
}

/// The first of two exponential clocks with rates a and b is a's with probability a / (a + b).
#[test]
fn a_race_of_exponentials_is_won_by_their_rates() {
    for (a, b) in [(10_000, 20_000), (10_000, 90_000), (30_000, 20_000)] {
        let share = b as f64 / (a + b) as f64;
        assert_share(&duel(Latency::exponential(a), Latency::exponential(b)), share);
    }
}

#[test]
fn the_faster_of_two_constants_always_wins() {
    let race = duel(Latency::constant(19_999), Latency::constant(20_000));
    assert!(wins(&race, 1).0 > 5_000);
    assert_eq!(wins(&race, 2).0, 0);
}

/// A speed bump that is longer than the maker's latency protects it, whoever comes.
#[test]
fn a_speed_bump_protects_a_slower_maker() {
    let slow = maker("maker", 1, Latency::constant(300_000));
    let mut race = of(market(40.0, 100.0), vec![slow, sniper("a", Latency::constant(0))], 20);
    let picked_off = |race: &Race| run(race, 1).accounts[0].lots_picked_off;
    assert!(picked_off(&race) > 100, "{}", picked_off(&race));
    race.market.speed_bump_ns = 300_001;
    // The bump delays snipers only. A noise trader may still hit a stale quote; there is one 1.2 %
    // of the time.
    assert!(picked_off(&race) < 30, "{}", picked_off(&race));
}

/// A batch is longer than both latencies, so the faster sniper wins only where a batch ends between
/// the two arrivals: 20 of 1000 us.
#[test]
fn in_a_batch_the_faster_sniper_wins_half() {
    let mut race = duel(Latency::constant(10_000), Latency::constant(30_000));
    race.market.batch_ns = 1_000_000;
    assert_share(&race, 0.51);
}

/// Quotes are first in their batch, so a maker is only picked off where a batch ends between the
/// sniper's arrival and its own: 300 of 1000 us.
#[test]
fn a_batch_protects_a_maker_for_the_part_of_it_that_is_left() {
    let picked_off = |batch_ns| {
        let maker = maker("maker", 1, Latency::constant(300_000));
        let mut race = of(market(40.0, 0.0), vec![maker, sniper("a", Latency::constant(0))], 100);
        race.market.batch_ns = batch_ns;
        let outcomes = (0..5).map(|seed| run(&race, seed).accounts[0].lots_picked_off);
        outcomes.sum::<u64>() as f64
    };
    let (always, batched) = (picked_off(0), picked_off(1_000_000));
    assert!(always > 10_000.0, "{always}");
    // Four standard deviations, and the rare news of the same batch.
    let (share, bound) = (batched / always, 4.0 * (0.3 * 0.7 / always).sqrt() + 0.01);
    assert!((share - 0.3).abs() < bound, "{share}, expected 0.3 +- {bound}");
}

/// As many orders leave within 100 us and within 1 ms as the market says, and the others rest for
/// an exponential time.
#[test]
fn orders_of_others_live_as_long_as_the_market_says() {
    let passive = Passive {
        per_second: 2_000.0,
        within_100us: 0.5,
        within_1ms: 0.7,
        longer_ns: 20e6,
        lots: 1,
        reach_ticks: 3,
    };
    let mut race = of(market(0.0, 0.0), vec![maker("maker", 1, Latency::constant(0))], 10);
    race.market.passive = passive;
    let (mut since, mut lives) = (std::collections::HashMap::new(), Vec::new());
    let outcome = simulate(&race, 1, &mut |input| match input.command {
        Command::New(new) if new.account == 2 => {
            since.insert(new.order_id, input.time_ns);
        }
        Command::Cancel(cancel) if cancel.account == 2 => {
            lives.push((input.time_ns - since[&cancel.order_id]) as f64);
        }
        _ => {}
    });
    assert_eq!((outcome.accounts[2].rejected, outcome.volume_lots), (0, 0));
    let n = lives.len() as f64;
    assert!(n > 19_000.0, "{n}");
    for (within_ns, share) in [(1e5, 0.5), (1e6, 0.7)] {
        let found = lives.iter().filter(|life| **life <= within_ns).count() as f64 / n;
        let bound = 4.0 * (share * (1.0 - share) / n).sqrt();
        assert!((found - share).abs() < bound, "{found} within {within_ns} ns, expected {share}");
    }
    let longer: Vec<f64> = lives.into_iter().filter(|life| *life > 1e6).collect();
    let mean = longer.iter().sum::<f64>() / longer.len() as f64 - 1e6;
    // Quotes that still rest at the end are the longest: 20 ms of 10 s.
    assert!((mean / 20e6 - 1.0).abs() < 4.0 / (longer.len() as f64).sqrt() + 0.01, "{mean}");
}

#[test]
fn a_maker_without_latency_is_never_picked_off() {
    let (fast, slow) = (Latency::constant(0), Latency::constant(100));
    let snipers = ["a", "b", "c"].map(|name| sniper(name, Latency::constant(1)));
    for (latency, is_safe) in [(fast, true), (slow, false)] {
        let participants = [vec![maker("maker", 5, latency)], snipers.to_vec()].concat();
        let race = of(market(200.0, 200.0), participants, 10);
        for seed in 0..5 {
            let account = &run(&race, seed).accounts[0];
            assert!(account.lots_made > 500, "{account:?}");
            assert_eq!(account.lots_picked_off == 0, is_safe, "seed {seed}: {account:?}");
        }
    }
}

/// Sell orders of one lot arrive as a Poisson process. The first maker shows q lots, the second one
/// lot behind it at the same price, and both replace a filled quote at once. So the second is
/// filled by every (q + 1)-th order, exactly, and waits for the sum of q + 1 exponential gaps:
/// Erlang(q + 1), whose mean is (q + 1) / rate.
#[test]
fn a_quote_waits_for_the_queue_ahead_of_it() {
    for ahead in [1, 4, 20] {
        // The second maker is slower by a nanosecond, so that it is second in the queue.
        let first = maker("first", ahead, Latency::constant(0));
        let second = maker("second", 1, Latency::constant(1));
        let race = of(market(0.0, 1_000.0), vec![first, second], 200);
        let outcome = run(&race, ahead);
        let (noise, second) = (&outcome.accounts[2], &outcome.accounts[1]);
        assert_eq!(noise.lots_taken, noise.orders, "each noise order trades");
        let exact = noise.orders / (ahead + 1);
        // Each side may have a last part of a round.
        assert!((exact - 1..=exact).contains(&second.lots_made), "{ahead}: {}", second.lots_made);
        assert_eq!(second.lots_ahead, ahead * second.fills_made);
        // Per side half the rate. Four standard errors of an Erlang mean, and 1 ns of latency.
        let (k, n) = ((ahead + 1) as f64, second.fills_made as f64);
        let (mean, expected) = (second.resting_ns as f64 / n, k / 500.0 * 1e9);
        let bound = 4.0 * expected / (k * n).sqrt() + 1.0;
        assert!((mean - expected).abs() < bound, "{ahead}: {mean}, expected {expected} +- {bound}");
    }
}

/// A maker alone with noise traders earns half its spread per lot, whatever happens to the value.
#[test]
fn noise_pays_the_spread() {
    let race = of(market(0.0, 500.0), vec![maker("maker", 1, Latency::constant(1_000))], 60);
    let outcome = run(&race, 3);
    let account = &outcome.accounts[0];
    assert!(account.lots_made > 20_000);
    // Two half ticks a lot.
    assert_eq!(account.equity(outcome.fair), 2 * account.lots_made as i64);
    assert!(account.marked.iter().all(|marked| marked.gain == 2 * marked.lots as i64));
}

/// Both legs of a pair of orders trade when nobody else is there, so an arbitrageur ends flat with
/// a profit.
#[test]
fn an_arbitrageur_keeps_two_venues_together() {
    let at = |name: &str, venue, latency| {
        participant(name, Role::Maker { venue, half_spread: 2, lots: 1 }, latency)
    };
    let arbitrageur = participant(
        "arbitrageur",
        Role::Arbitrageur { edge: 2, lots: 1, far_ns: 5_000 },
        Latency::constant(10_000),
    );
    let makers = vec![
        at("fast", 0, Latency::constant(1_000)),
        at("slow", 1, Latency::constant(100_000)),
        arbitrageur,
    ];
    let race = of(market(100.0, 0.0), makers, 20);
    let outcome = run(&race, 1);
    let [_, slow, arbitrageur, _] = &outcome.accounts[..] else { panic!("four accounts") };
    assert!(arbitrageur.lots_taken > 500, "{arbitrageur:?}");
    // Two half ticks a pair is what it asks for.
    assert!(arbitrageur.equity(outcome.fair) >= arbitrageur.lots_taken as i64);
    assert!(slow.lots_picked_off > 0 && slow.equity(outcome.fair) < 0, "{slow:?}");
}

//! Races on a recorded day.

use race::{Background, File, PreparedRace, new_engine, simulate};

const DAY: &str = "esh4-glbx-mdp3-20231225.mbo.dbn.zst";

fn prepare(seconds: u32) -> Option<PreparedRace> {
    let day = testing::market_data(DAY)?;
    let text = format!(
        r#"
        name = "day"
        seconds = {seconds}
        seeds = 2
        market.recorded = {day:?}
        [[participant]]
        name = "maker"
        kind = "maker"
        spread_ticks = 1
        latency.constant_us = 100
        [[participant]]
        name = "sniper"
        kind = "sniper"
        latency.constant_us = 10
        "#
    );
    Some(File::parse(&text).and_then(File::prepare).unwrap())
}

/// Money and lots are conserved beside real orders, too, and a replay comes to the same state.
#[test]
fn participants_trade_with_a_recorded_day() {
    let Some(prepared) = prepare(86_400) else { return };
    let race = &prepared.race;
    let mut engine = new_engine(race);
    let outcome = simulate(race, 1, &mut |input| engine.apply(input, &mut |_| {}));
    assert_eq!(outcome.accounts.iter().map(|one| one.cash).sum::<i64>(), 0);
    assert_eq!(outcome.accounts.iter().map(|one| one.inventory).sum::<i64>(), 0);
    assert_eq!(engine.state_hash(), outcome.state_hash);
    let [maker, _, noise, day] = &outcome.accounts[..] else { panic!("four accounts") };
    assert!(maker.lots_made > 100, "{maker:?}");
    assert_eq!(noise.orders, 0);
    assert!(day.lots_made + day.lots_taken > 1_000, "{day:?}");
    // The fair value is that of the day, not of what we do to its book.
    let mut alone = race.clone();
    alone.participants[0].inventory_lots_max = 1;
    assert_eq!(simulate(&alone, 1, &mut |_| {}).fair, outcome.fair);
    let record = prepared.run(|_| {});
    assert!(record.warnings.iter().any(|one| one.contains("same recorded day")));
}

/// A day fits a Hawkes process better than a Poisson process; whether it fits well is said.
#[test]
fn a_recorded_day_comes_in_bursts() {
    let Some(day) = testing::market_data(DAY) else { return };
    let fit = Background::read(&day, 86_400.0).unwrap().fit(DAY);
    for arrivals in [&fit.news, &fit.noise] {
        assert!(arrivals.events > 1_000, "{fit:?}");
        let process = arrivals.process.as_ref().unwrap_or_else(|| panic!("{fit:?}"));
        let kernel = &process.kernels[0];
        let [low, high] = kernel.branching_interval;
        assert!(0.1 < low && low < kernel.branching && kernel.branching < high, "{fit:?}");
        // The second kernel brings the process closer to the day.
        let two = arrivals.two_kernels.as_ref().unwrap_or_else(|| panic!("{fit:?}"));
        assert!(two.distance < process.distance && two.kernels.len() == 2, "{fit:?}");
        assert!((0.0..=1.0).contains(&process.p) && process.distance < 0.5, "{fit:?}");
    }
    assert!(fit.jump_ticks.unwrap() >= 0.5, "{fit:?}");
}

/// A guess that is always the worst, or always the best, errs in one direction only; the truth lies
/// between them.
#[test]
fn fills_of_the_day_lie_between_the_guesses() {
    let Some(day) = testing::market_data(DAY) else { return };
    let check = Background::read(&day, 86_400.0).unwrap().queue_check(DAY);
    assert!(check.traded > 1_000 && check.traded < check.orders, "{check:?}");
    let [behind, anywhere, ahead] = &check.estimators[..] else { panic!("{check:?}") };
    assert_eq!((behind.invented, behind.early, ahead.missed), (0, 0, 0), "{check:?}");
    assert!(behind.missed > 0 && ahead.invented > 0 && ahead.early > 0, "{check:?}");
    assert!(anywhere.missed < behind.missed && anywhere.invented < ahead.invented, "{check:?}");
    assert!(ahead.bias_lots < anywhere.bias_lots && anywhere.bias_lots < behind.bias_lots);
}

#[test]
fn what_is_no_day_is_an_error() {
    let error = Background::read("/no/day.dbn".as_ref(), 1.0).unwrap_err().to_string();
    assert!(error.contains("no recorded market: can't read orders from /no/day.dbn"), "{error}");
}

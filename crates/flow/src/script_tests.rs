//! The contents of a script, and that each of its inputs changes a book.

use super::*;
use crate::settings::Pace;
use clock::schedule::Arrival;
use engine::{Engine, EngineLimits, Event, Input, Side};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

const LIMITS: EngineLimits = EngineLimits {
    open_orders_max: 40_000,
    price_levels_max: 8_000,
    stop_levels_max: 0,
    expiring_orders_max: 0,
    accounts_max: 1,
};

fn fixed(rate_per_second: f64) -> Pace {
    Pace::Fixed { rate_per_second, arrival: Arrival::Uniform, burst: 1 }
}

fn settings(source: Source, pace: Pace, seconds: f64) -> Settings {
    Settings {
        source,
        pace,
        seconds,
        lots_per_unit: 1000,
        mid_ticks: 6_500_000,
        price_ticks_max: 1_000_000_000,
        quantity_lots_max: 1_000_000_000,
        limits: LIMITS,
    }
}

/// Runs a script as an exchange does, and gives the engine and how many inputs changed nothing.
fn run(script: &Script) -> (Engine, usize) {
    let mut engine = Engine::new(1, LIMITS);
    let mut tell = |command| {
        let mut changes = 0;
        engine.apply(&Input { time_ns: 0, command }, &mut |event| {
            changes += match event {
                Event::Rejected { .. } => 0,
                Event::Done { reason: engine::DoneReason::Expired, .. } => 0,
                _ => 1,
            };
        });
        changes
    };
    for order in script.start() {
        assert_eq!(tell(Command::New(*order)), 1, "{order:?} rests");
    }
    let unchanged = (0..script.len()).filter(|index| tell(script.command(*index)) == 0).count();
    (engine, unchanged)
}

#[test]
fn every_input_changes_the_book_and_comes_when_it_is_due() {
    let script = Script::new(&settings(Source::Synthetic, fixed(10_000.0), 2.0)).unwrap();
    assert_eq!(script.len(), 20_000);
    assert_eq!(script.start().len(), SHALLOW.live as usize);
    assert_eq!(script.offset_ns(0), Some(0));
    assert_eq!(script.offset_ns(19_999), Some(1_999_900_000));
    assert_eq!((script.offset_ns(20_000), script.duration_ns()), (None, 2_000_000_000));
    let skipped = script.skipped();
    assert!(skipped.without_effect > 0 && (skipped.traded_already, skipped.crossing) == (0, 0));
    let (engine, unchanged) = run(&script);
    assert_eq!(unchanged, 0);
    // Around the instrument's own middle, in its own lots.
    let top = engine.top(0);
    let (bid, ask) = (top.bid.unwrap(), top.ask.unwrap());
    assert!(bid.price_ticks.abs_diff(6_500_000) < 200 && ask.price_ticks > bid.price_ticks);
    assert_eq!(bid.quantity_lots % 1000, 0);
    // Again, and on every machine.
    let again = Script::new(&settings(Source::Synthetic, fixed(10_000.0), 2.0)).unwrap();
    assert_eq!(run(&again).0.state_hash(), engine.state_hash());
    assert_eq!(engine.state_hash(), STATE);
}

/// For the two seconds above.
const STATE: u64 = 0xe757eee8fc600b2f;

/// The last burst of a second is due long before its end, and a file may end anywhere.
#[test]
fn a_flow_lasts_as_asked_unless_its_source_ends() {
    let burst = Pace::Fixed { rate_per_second: 100.0, arrival: Arrival::Burst, burst: 50 };
    let script = Script::new(&settings(Source::Synthetic, burst, 1.0)).unwrap();
    assert_eq!((script.offset_ns(99), script.duration_ns()), (Some(500_000_000), 1_000_000_000));
    let mut writer = Writer::new(&settings(Source::Synthetic, fixed(100.0), 1.0));
    for number in 1..=50 {
        assert!(writer.write(super::step(Action::Add(Side::Buy), number, 5, 1), 0).unwrap());
    }
    assert_eq!(writer.duration_ns(), 490_000_000);
}

#[test]
fn a_pace_of_its_own_is_kept_and_multiplied() {
    let recorded =
        |speed| Script::new(&settings(Source::Synthetic, Pace::Recorded { speed }, 0.01)).unwrap();
    let (once, twice) = (recorded(1.0), recorded(2.0));
    let gaps = |script: &Script, n| -> Vec<u64> {
        (0..n).map(|index| script.offset_ns(index).unwrap()).collect()
    };
    let (slow, fast) = (gaps(&once, once.len()), gaps(&twice, once.len()));
    assert!(slow.is_sorted() && twice.len() > once.len());
    assert!(slow.iter().zip(&fast).all(|(slow, fast)| slow / 2 == *fast));
    // Inputs that are left out leave their time: some of 4 629 in a hundredth of a second.
    let first = w1::GAP_NS;
    assert!(slow.iter().all(|offset_ns| offset_ns % first == 0) && slow.len() < 4629);
}

#[test]
fn a_setting_out_of_range_is_named() {
    let error = |pace, seconds| {
        Script::new(&settings(Source::Synthetic, pace, seconds)).unwrap_err().to_string()
    };
    assert!(error(fixed(0.0), 1.0).starts_with("the flow's rate is 0,"));
    assert!(error(fixed(f64::NAN), 1.0).contains("rate"));
    assert!(error(fixed(1.0), -1.0).contains("seconds"));
    assert!(error(Pace::Recorded { speed: 1e9 }, 1.0).contains("speed"));
    let burst = Pace::Fixed { rate_per_second: 1.0, arrival: Arrival::Burst, burst: 0 };
    assert!(error(burst, 1.0).contains("burst"));
    let narrow =
        Settings { price_ticks_max: 6_500_010, ..settings(Source::Synthetic, fixed(1.0), 1.0) };
    let error = Script::new(&narrow).unwrap_err().to_string();
    assert!(error.contains("ticks, not 1 to 6500010"), "{error}");
}

#[test]
fn a_file_that_is_no_day_is_told() {
    let error = |path: &Path| {
        let source = Source::DatabentoMbo(path.to_owned());
        Script::new(&settings(source, fixed(1.0), 1.0)).unwrap_err().to_string()
    };
    assert!(error(Path::new("/no/such.dbn.zst")).starts_with("can't read orders from /no/such"));
    let Some(snapshot) = testing::market_data("esh4-glbx-mdp3-20231224.mbo.dbn.zst") else {
        return;
    };
    assert!(error(&snapshot).contains("no orders that change a book"), "{}", error(&snapshot));
}

#[test]
fn a_recorded_day_is_replayed() {
    let Some(path) = testing::market_data("esh4-glbx-mdp3-20231225.mbo.dbn.zst") else { return };
    let source = Source::DatabentoMbo(path.clone());
    let day = Script::new(&settings(source.clone(), Pace::Recorded { speed: 1e5 }, 10.0)).unwrap();
    println!("{} at the start, {} inputs, {:?}", day.start().len(), day.len(), day.skipped());
    let (engine, unchanged) = run(&day);
    assert_eq!(unchanged, 0);
    // In the end what was live then, price by price, with a tick of a quarter.
    let mut recorded = [BTreeMap::new(), BTreeMap::new()];
    for order in crate::databento::live_orders(&path).unwrap() {
        *recorded[order.side as usize].entry(order.price / 250_000_000).or_insert(0) +=
            u64::from(order.size) * 1000;
    }
    for side in [Side::Buy, Side::Sell] {
        let ours: BTreeMap<i64, u64> =
            engine.levels(0, side).map(|(price_ticks, lots, _)| (price_ticks, lots)).collect();
        let theirs = &recorded[side as usize];
        let differ = theirs.iter().filter(|(price, lots)| ours.get(price) != Some(lots)).count();
        println!("{side:?}: {differ} of {} prices differ", theirs.len());
        assert!(differ * 100 <= theirs.len() && ours.len().abs_diff(theirs.len()) < 5);
    }
    let paced = Script::new(&settings(source, fixed(10_000.0), 1.0)).unwrap();
    assert_eq!(paced.len(), 10_000);
    assert_eq!(paced.start(), day.start());
    assert!((0..10_000).all(|index| paced.command(index) == day.command(index)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(16)))]

    #[test]
    fn at_any_rate_every_input_changes_the_book(
        rate_per_second in 100.0f64..100_000.0,
        arrival in prop::sample::select(vec![Arrival::Uniform, Arrival::Poisson, Arrival::Burst]),
        burst in 1u64..200,
    ) {
        let pace = Pace::Fixed { rate_per_second, arrival, burst };
        let script = Script::new(&settings(Source::Synthetic, pace, 0.02)).unwrap();
        prop_assert_eq!(run(&script).1, 0);
        let offsets: Vec<u64> = (0..script.len()).map(|i| script.offset_ns(i).unwrap()).collect();
        prop_assert!(offsets.is_sorted() && offsets.iter().all(|offset_ns| *offset_ns < 20_000_000));
    }
}

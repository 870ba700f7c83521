//! The search with known knees, and sweeps that are rejected before anything is measured.

use super::*;
use plan::Scenario;
use proptest::prelude::*;

/// A scenario as a sweep takes it.
fn with_sets(name: &str, sets: &[String]) -> Result<Scenario, plan::ScenarioError> {
    Scenario::find(name, &[&SETS.map(str::to_owned)[..], sets].concat())
}

/// The rates that a search tries if every rate up to `knee` is good.
fn tried(start: f64, steps: u32, knee: f64) -> Vec<f64> {
    tried_below(start, RATE_PER_SECOND_MAX, steps, knee)
}

fn tried_below(start: f64, highest: f64, steps: u32, knee: f64) -> Vec<f64> {
    let mut search = Search::new(start, highest, steps);
    let mut tried = Vec::new();
    let mut next = Some(start);
    while let Some(rate) = next {
        tried.push(rate);
        next = search.next(rate, rate <= knee);
    }
    tried
}

#[test]
fn it_doubles_and_then_bisects() {
    assert_eq!(tried(10_000.0, 2, 45_000.0), [1e4, 2e4, 4e4, 8e4, 56_600.0, 47_600.0]);
    assert_eq!(tried(10_000.0, 0, 45_000.0), [1e4, 2e4, 4e4, 8e4]);
    assert_eq!(tried(10_000.0, 1, 3_000.0), [1e4, 5e3, 2.5e3, 3_540.0]);
    assert_eq!(tried(1.0, 1, 1.0), [1.0, 2.0, 1.41]);
}

#[test]
fn a_search_below_a_rate_goes_no_higher() {
    let below = |knee: f64| tried_below(16_000.0, 16_000.0, 2, knee);
    assert_eq!(below(1e9), [16e3]);
    assert_eq!(below(16_000.0), [16e3]);
    assert_eq!(below(9_000.0), [16e3, 8e3, 11_300.0, 9_510.0]);
    assert_eq!(below(0.0), [16e3, 8e3, 4e3, 2e3, 1e3]);
}

#[test]
fn it_ends_where_nothing_is_good_and_where_everything_is() {
    assert_eq!(tried(16_000.0, 3, 0.0), [16e3, 8e3, 4e3, 2e3, 1e3]);
    let all = tried(1.0, 3, f64::INFINITY);
    assert!(all.len() == 30 && all[29] <= RATE_PER_SECOND_MAX, "{all:?}");
}

proptest! {
    /// The highest good rate and the lowest bad one enclose any knee, as closely as the steps and
    /// the rounding to three digits allow.
    #[test]
    fn the_knee_is_enclosed(start in 10.0..1e5f64, factor in 0.1..100.0f64, steps in 0..=STEPS_MAX) {
        let knee = start * factor;
        let tried = tried(start, steps, knee);
        prop_assert!(tried.len() <= RATES_MAX);
        let good = tried.iter().copied().filter(|rate| *rate <= knee).fold(0.0, f64::max);
        let bad = tried.iter().copied().filter(|rate| *rate > knee).fold(f64::INFINITY, f64::min);
        prop_assert!(good <= knee && knee < bad);
        prop_assert!(bad / good <= 2f64.powf(0.5f64.powi(steps as i32)) + 0.02, "{tried:?}");
        for (index, rate) in tried.iter().enumerate() {
            prop_assert!(!tried[..index].contains(rate), "twice: {tried:?}");
        }
    }

    #[test]
    fn any_text_is_rates_or_rejected(text in "[0-9kM.,e+ -]{0,20}") {
        if let Ok(Rates::List(rates)) = text.parse() {
            prop_assert!(rates.windows(2).all(|two| two[0] < two[1]));
            prop_assert!(rates.iter().all(|rate| (0.0..=RATE_PER_SECOND_MAX).contains(rate)));
        }
    }
}

#[test]
fn rates_are_read_with_their_suffix() {
    let rates: Rates = "1.5M, 10k,500".parse().unwrap();
    assert_eq!(rates, Rates::List(vec![500.0, 10_000.0, 1_500_000.0]));
    for (text, expected) in [
        ("", "is no rate"),
        ("10k,", "is no rate"),
        ("10K", "is no rate"),
        ("0", "is not above 0"),
        ("nan", "is not above 0"),
        ("-5k", "is not above 0"),
        ("1001M", "is not above 0"),
        ("10k,10000", "names a rate twice"),
    ] {
        let error = text.parse::<Rates>().unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("10k,20k"), "{text}: {error}");
    }
    let many = (1..=65).map(|rate| rate.to_string()).collect::<Vec<_>>().join(",");
    assert!(many.parse::<Rates>().unwrap_err().to_string().contains("more than 64"));
}

#[test]
fn a_sweep_makes_three_runs_unless_told() {
    assert_eq!(with_sets("order-to-ack", &[]).unwrap().runs, 3);
    assert_eq!(with_sets("order-to-ack", &["runs=6".to_owned()]).unwrap().runs, 6);
}

#[test]
fn what_can_not_be_swept_is_rejected_before_anything_is_measured() {
    let refused_with = |name: &str, sets: &[&str], steps: u32, objective: &str| {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        let sweep = Sweep {
            conduct: Conduct {
                runs_directory: PathBuf::from("/nowhere"),
                ..Conduct::of(with_sets(name, &sets).unwrap())
            },
            point_command: Vec::new(),
            late_share_max: None,
            rates: Rates::Search { steps, highest: RATE_PER_SECOND_MAX },
            objective: Some(objective.parse().unwrap()),
        };
        sweep.check().unwrap_err().to_string()
    };
    let refused =
        |name: &str, steps: u32, objective: &str| refused_with(name, &[], steps, objective);
    assert!(refused("ping-pong", 3, "p99 < 1ms").contains("which has no rate"));
    assert!(refused("order-to-ack", 7, "p99 < 1ms").contains("at most 6 steps"));
    let recorded = refused("tick-to-trade-replay", 3, "p99 < 1ms");
    assert!(recorded.contains("--set flow.pace=fixed"), "{recorded}");
    let elsewhere = refused_with("tick-to-trade", &["exchange.start=false"], 3, "p99 < 1ms");
    assert!(elsewhere.contains("the rate that it was started with"), "{elsewhere}");
    let subject = refused("order-to-ack", 3, "java.order.p99 < 1ms");
    assert!(subject.contains("no subject \"java\". There are: rust"), "{subject}");
    let series = refused("order-to-ack", 3, "cycle.p99 < 1ms");
    assert!(series.contains("There are: order, cancel"), "{series}");
    let no_floor = refused_with("order-to-ack", &["floor_seconds=0"], 3, "p50 / floor <= 1.2");
    assert!(no_floor.contains("add --set floor_seconds=2"), "{no_floor}");
    let few = refused("order-to-ack", 3, "p99.999 < 1ms");
    assert!(few.contains("60000 samples in 3 runs at 10000 messages/s are too few"), "{few}");
}

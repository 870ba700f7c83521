//! Tests whether the comparison can be trusted: A with A under the noise of a real machine, and
//! real shifts.

use clock::random::SplitMix64;
use record::comparison::compared::ComparedFigure;
use record::comparison::selector::Figure;
use record::comparison::{Question, Runs, compare};
use record::{Kind, Percentiles, RunRecord, Series, Subject};
use stats::compare::Design;
use stats::verdict::Outcome;

/// Length of a block of consecutive runs when drawing from the real series: within ten runs, the
/// autocorrelation of p50 falls to zero and that of p99 to a third.
const BLOCK: usize = 10;
const PAIRS: usize = 12;

/// p50 and p99 of order and cancel, run by run, as a real machine gave them.
struct Machine {
    runs: Vec<[u64; 4]>,
}

impl Machine {
    fn real() -> Machine {
        let text = include_str!("noise/ping-pong-240-runs.csv");
        let runs = text
            .lines()
            .filter(|line| !line.starts_with('#') && !line.starts_with("order"))
            .map(|line| {
                let mut values = line.split(',').map(|value| value.parse().unwrap());
                std::array::from_fn(|_| values.next().unwrap())
            })
            .collect();
        Machine { runs }
    }

    /// Consecutive runs, as this machine might give on another day: blocks of real runs in another
    /// order.
    fn day(&self, random: &mut SplitMix64, runs: usize) -> Vec<[u64; 4]> {
        let mut day = Vec::new();
        while day.len() < runs {
            let start = (random.bits() % self.runs.len() as u64) as usize;
            day.extend((0..BLOCK).map(|at| self.runs[(start + at) % self.runs.len()]));
        }
        // Start some experiments in the middle of a block.
        let skip = (random.bits() % BLOCK as u64) as usize;
        day.rotate_left(skip);
        day.truncate(runs);
        day
    }
}

/// A record of one run, as the experiment makes it.
fn record([order_p50, order_p99, cancel_p50, cancel_p99]: [u64; 4], factor: f64) -> RunRecord {
    let series = |name: &str, p50: u64, p99: u64| Series {
        name: name.to_owned(),
        kind: Kind::Service,
        unit: "ns".to_owned(),
        pooled: Percentiles {
            count: 30_000,
            p50: Some((p50 as f64 * factor) as u64),
            p99: Some((p99 as f64 * factor) as u64),
            ..Percentiles::default()
        },
        uncertain: Vec::new(),
        per_run: Vec::new(),
        interval: Default::default(),
        bracket: Default::default(),
        holds_to: Some(1.0),
        moves: Default::default(),
        not_judged: String::new(),
        over_floor: None,
        regimes: Vec::new(),
        disturbed: Vec::new(),
    };
    let subject = Subject {
        name: "rust".to_owned(),
        series: vec![
            series("order", order_p50, order_p99),
            series("cancel", cancel_p50, cancel_p99),
        ],
        ..Subject::default()
    };
    let mut record: RunRecord = serde_json::from_str(
        r#"{"schema": 1, "tool": "", "scenario": "", "complete": true, "valid": true,
            "invalid_because": [], "runs": 1, "runs_void": 0, "warnings": [], "subjects": []}"#,
    )
    .unwrap();
    record.subjects = vec![subject];
    record
}

fn experiments() -> usize {
    testing::cases(200) as usize
}

/// A B B A A B B A … over a day; B's latencies are multiplied by `factor`.
fn interleaved(day: &[[u64; 4]], factor: f64) -> Vec<ComparedFigure> {
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for (pair, runs) in day.chunks_exact(2).enumerate() {
        let (of_a, of_b) = if pair % 2 == 0 { (runs[0], runs[1]) } else { (runs[1], runs[0]) };
        a.push(record(of_a, 1.0));
        b.push(record(of_b, factor));
    }
    let figures = ["p50", "p99"].map(|figure| figure.parse::<Figure>().unwrap()).to_vec();
    let question =
        Question { design: Design::Interleaved, figures, floor_is_control: false, forced: false };
    compare(&question, &Runs::of_records(&a), &Runs::of_records(&b))
}

#[test]
fn the_real_series_is_autocorrelated() {
    let runs = Machine::real().runs;
    let logs: Vec<f64> = runs.iter().map(|run| (run[0] as f64).ln()).collect();
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let product = |lag: usize| -> f64 {
        logs.iter().zip(&logs[lag..]).map(|(x, y)| (x - mean) * (y - mean)).sum()
    };
    assert_eq!(logs.len(), 240);
    assert!(product(1) / product(0) > 0.3, "otherwise the tests below prove little");
}

/// The target: A compared with A says better or worse at most once in twenty, over all figures of a
/// comparison together, with the noise of a real machine.
#[test]
fn a_against_a_is_no_difference() {
    let machine = Machine::real();
    let mut random = SplitMix64::new(1);
    let experiments = experiments();
    let told_apart = (0..experiments)
        .filter(|_| {
            let figures = interleaved(&machine.day(&mut random, 2 * PAIRS), 1.0);
            assert_eq!(figures.len(), 4);
            figures.iter().any(|figure| figure.outcome.is_difference())
        })
        .count();
    println!("{told_apart} of {experiments} comparisons of A with A said better or worse");
    assert!(told_apart * 20 <= experiments, "{told_apart} of {experiments}");
}

/// A shift of three times the stated noise floor is found nine times of ten.
#[test]
fn a_shift_of_three_noise_floors_is_found() {
    let shifts = [("p50", Outcome::Worse), ("p50", Outcome::Better), ("p99", Outcome::Worse)];
    let machine = Machine::real();
    let mut random = SplitMix64::new(2);
    let mut found = [0; 3];
    let experiments = experiments();
    for _ in 0..experiments {
        let day = machine.day(&mut random, 2 * PAIRS);
        let nothing = interleaved(&day, 1.0);
        for (found, (figure, direction)) in found.iter_mut().zip(shifts) {
            let of = |figures: &[ComparedFigure]| {
                let is = |one: &&ComparedFigure| one.figure == figure && one.series == "order";
                figures.iter().find(is).unwrap().clone()
            };
            let factor = match direction {
                Outcome::Better => 1.0 / (1.0 + 3.0 * of(&nothing).effect.noise_floor),
                _ => 1.0 + 3.0 * of(&nothing).effect.noise_floor,
            };
            *found += usize::from(of(&interleaved(&day, factor)).outcome == direction);
        }
    }
    for (found, (figure, direction)) in found.into_iter().zip(shifts) {
        println!("{figure} {direction:?}: {found} of {experiments} shifts found");
        assert!(found * 10 >= experiments * 9, "{figure} {direction:?}: {found} of {experiments}");
    }
}

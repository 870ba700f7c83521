//! Comparisons on a machine that is disturbed or changes its speed: simulated runs, message by
//! message, with the brackets that a record has.

use clock::random::SplitMix64;
use clock::recorder::histogram;
use record::comparison::compared::ComparedFigure;
use record::comparison::selector::Figure;
use record::comparison::{Question, Runs, compare};
use record::{DisturbedShare, Disturber, Kind, RunRecord, Series, Subject};
use stats::bracket::{Moves, bracket, holds};
use stats::compare::Design;
use stats::verdict::Outcome;
use stats::{PERCENTILES, percentiles};

const MESSAGES: usize = 3_000;
/// A run with its processes and checks, s, its measured part, and when its floor begins after it.
const RUN_S: f64 = 4.0;
const MEASURED_S: f64 = 1.5;
const FLOOR_AT_S: f64 = 2.0;
const FLOOR_NS: f64 = 7_500.0;
/// The machine is fast for as long as it is slow, s.
const REGIME_S: f64 = 20.0;
const SLOWER: f64 = 1.4;

fn uniform(random: &mut SplitMix64) -> f64 {
    (random.bits() >> 11) as f64 / (1u64 << 53) as f64
}

/// About normal, with variance 1.
fn normal(random: &mut SplitMix64) -> f64 {
    (0..12).map(|_| uniform(random)).sum::<f64>() - 6.0
}

/// One build: its latency without disturbance, and the shares of its messages that are disturbed.
#[derive(Clone, Copy)]
struct Build {
    ns: f64,
    disturbed: [f64; 2],
}

const QUIET: Build = Build { ns: 8_000.0, disturbed: [0.0, 0.0] };

struct Machine {
    random: SplitMix64,
    /// Whether it switches between two speeds, and when it did first, s.
    switches: Option<f64>,
}

impl Machine {
    fn new(seed: u64, switches: bool) -> Machine {
        let mut random = SplitMix64::new(seed);
        let phase = uniform(&mut random) * 2.0 * REGIME_S;
        Machine { random, switches: switches.then_some(phase) }
    }

    fn speed(&self, at_s: f64) -> f64 {
        match self.switches {
            Some(phase) if (at_s + phase) % (2.0 * REGIME_S) < REGIME_S => SLOWER,
            _ => 1.0,
        }
    }

    /// A run of `build` that begins at `at_s`.
    fn run(&mut self, build: Build, at_s: f64) -> RunRecord {
        let [least, most] = build.disturbed;
        let share = least + (most - least) * uniform(&mut self.random);
        let drift = 1.0 + 0.004 * normal(&mut self.random);
        let ours = self.part(build.ns * drift, share, at_s);
        let floor = self.part(FLOOR_NS * drift, share, at_s + FLOOR_AT_S);
        record(&[ours, floor])
    }

    /// A sample that takes `ns` without disturbance, and the share of it that was disturbed.
    fn part(&mut self, ns: f64, share: f64, at_s: f64) -> MergePart {
        let mut sample = histogram();
        let mut disturbed = 0;
        for message in 0..MESSAGES {
            let at_s = at_s + MEASURED_S * message as f64 / MESSAGES as f64;
            let scatter = (0.05 * normal(&mut self.random)).exp();
            let mut ns = ns * scatter * self.speed(at_s);
            if uniform(&mut self.random) < share {
                disturbed += 1;
                ns += 4e6 * uniform(&mut self.random);
            }
            sample.record(ns as u64).unwrap();
        }
        (sample, disturbed as f64 / MESSAGES as f64)
    }

    /// The figures of `pairs` pairs, A B B A …
    fn compare(&mut self, a: Build, b: Build, pairs: usize) -> Vec<ComparedFigure> {
        let (mut of_a, mut of_b) = (Vec::new(), Vec::new());
        for pair in 0..pairs {
            let [first, second] = [0.0, 1.0].map(|run| (2.0 * pair as f64 + run) * RUN_S);
            let (at_a, at_b) = if pair % 2 == 0 { (first, second) } else { (second, first) };
            of_a.push(self.run(a, at_a));
            of_b.push(self.run(b, at_b));
        }
        let figures = ["p50", "p90", "p99"].map(|name| name.parse::<Figure>().unwrap()).to_vec();
        let design = Design::Interleaved;
        let question = Question { design, figures, floor_is_control: false, forced: false };
        compare(&question, &Runs::of_records(&of_a), &Runs::of_records(&of_b))
    }
}

type MergePart = (hdrhistogram::Histogram<u64>, f64);

/// A record of one run with these samples of a subject and its floor, judged as tickpath judges it.
fn record(parts: &[MergePart; 2]) -> RunRecord {
    let names = ["rust", "floor"];
    let subject = |(name, (sample, share)): (&str, &MergePart)| Subject {
        name: name.to_owned(),
        series: vec![series(sample, *share)],
        ..Subject::default()
    };
    let mut subjects: Vec<Subject> = names.into_iter().zip(parts).map(subject).collect();
    let tagged =
        |(name, (sample, _)): (&str, &MergePart)| (format!("{name}.order.service"), sample.clone());
    let totals = names.into_iter().zip(parts).map(tagged).collect();
    record::pairing::pair(&mut subjects, &[&totals], &[]);
    let is_disturbed = parts[0].1 > 0.0;
    RunRecord {
        runs: 1,
        subjects,
        disturber: is_disturbed
            .then(|| Disturber { name: "stress".to_owned(), ..Disturber::default() }),
        ..RunRecord::default()
    }
}

fn series(sample: &hdrhistogram::Histogram<u64>, share: f64) -> Series {
    let pooled = percentiles(sample).0;
    let brackets: Vec<(&str, f64, u64, [u64; 2])> = PERCENTILES
        .into_iter()
        .zip(pooled.values())
        .filter_map(|((name, rank), value)| {
            Some((name, rank, value?, bracket(sample, rank, share, Moves::Up)))
        })
        .collect();
    let held = brackets.iter().take_while(|(_, _, value, ends)| holds(*value, *ends));
    Series {
        name: "order".to_owned(),
        kind: Kind::Service,
        unit: "ns".to_owned(),
        pooled,
        uncertain: Vec::new(),
        per_run: Vec::new(),
        interval: Default::default(),
        bracket: brackets.iter().map(|one| (one.0.to_owned(), one.3)).collect(),
        holds_to: Some(held.last().map_or(0.0, |one| one.1)),
        moves: Moves::Up,
        not_judged: String::new(),
        disturbed: vec![DisturbedShare {
            share: Some(share),
            preempted: Some(share),
            ..DisturbedShare::NONE
        }],
        over_floor: None,
        regimes: Vec::new(),
    }
}

fn any(figures: &[ComparedFigure], outcome: Outcome) -> bool {
    figures.iter().any(|figure| figure.outcome == outcome)
}

fn is_worse(figures: &[ComparedFigure]) -> bool {
    any(figures, Outcome::Worse) && !any(figures, Outcome::Better)
}

fn claims(figures: &[ComparedFigure]) -> bool {
    figures.iter().any(|figure| figure.outcome.is_difference())
}

/// How many of `experiments` comparisons with different seeds meet `condition`.
fn count(
    experiments: u64,
    switches: bool,
    (a, b, pairs): (Build, Build, usize),
    condition: impl Fn(&[ComparedFigure]) -> bool,
) -> u64 {
    let of = |seed: &u64| condition(&Machine::new(*seed, switches).compare(a, b, pairs));
    (1..=experiments).filter(of).count() as u64
}

/// 20 s fast, 20 s slow by 40 %. A switch between the two runs of a pair adds 40 % to one of them.
#[test]
fn a_machine_that_changes_its_speed_hides_no_delay_of_a_twentieth() {
    let slower = Build { ns: QUIET.ns * 1.05, ..QUIET };
    let found = count(40, true, (QUIET, slower, 12), is_worse);
    println!("{found} of 40 delays found");
    assert!(found >= 36, "{found} of 40");
    let claimed = count(100, true, (QUIET, QUIET, 12), claims);
    println!("{claimed} of 100 comparisons of A with A said better or worse");
    assert!(claimed <= 5, "{claimed} of 100");
}

/// A disturbance of A's runs alone makes A look slower.
#[test]
fn a_disturbance_of_one_side_is_no_difference_and_is_named() {
    let disturbed = Build { disturbed: [0.2, 0.6], ..QUIET };
    let named = |side: &'static str, other: &'static str| {
        move |figures: &[ComparedFigure]| {
            let p50 = &figures[0];
            let names = p50.disturbance.starts_with(side) && !p50.disturbance.contains(other);
            !claims(figures) && names
        }
    };
    let of_a = count(40, false, (disturbed, QUIET, 8), named("A, mostly by stress", "B,"));
    let of_b = count(40, false, (QUIET, disturbed, 8), named("B, mostly by stress", "A,"));
    println!("named in {of_a} and {of_b} of 40");
    assert!(of_a >= 36 && of_b >= 36, "{of_a} and {of_b} of 40");
}

#[test]
fn what_is_far_slower_is_worse_though_both_sides_are_disturbed() {
    let a = Build { disturbed: [0.1, 0.45], ..QUIET };
    for slower in [3.0 * QUIET.ns, QUIET.ns + 50_000.0] {
        let found = count(20, false, (a, Build { ns: slower, ..a }, 6), is_worse);
        println!("{slower} ns: {found} of 20 found");
        assert_eq!(found, 20);
    }
}

#[test]
fn equal_builds_beside_a_disturbance_are_not_told_apart() {
    let build = Build { disturbed: [0.05, 0.5], ..QUIET };
    let claimed = count(100, false, (build, build, 6), claims);
    println!("{claimed} of 100 claimed");
    assert!(claimed <= 5, "{claimed} of 100");
}

//! Which records have two regimes, and what follows from them.

use super::*;
use crate::hlog::tests::line;
use crate::merge::pooling::{self, FigureJudge};
use crate::pairing;
use crate::{DisturbedShare, Moves, RunRecord};
use clock::random::SplitMix64;

/// Seconds of one run: the factor by which the host slows the subject's and the floor's.
struct Seconds(Vec<f64>, Vec<f64>);

const FLOOR_NS: f64 = 7_500.0;
const SOFTWARE: f64 = 1.07;

/// A record of one subject and its floor whose seconds are these.
fn record(runs: &[Seconds]) -> RunRecord {
    record_of(3, runs)
}

fn record_of(seed: u64, runs: &[Seconds]) -> RunRecord {
    let mut random = SplitMix64::new(seed);
    let mut second = |tag: &str, at: usize, p50: f64| {
        let mut samples = clock::recorder::histogram();
        for _ in 0..400 {
            let off = f64::from(random.below(400)) / 10_000.0;
            samples.record((p50 * (0.98 + off)) as u64).unwrap();
        }
        line(tag, at as f64, 1.0, &samples, true)
    };
    let mut log = |Seconds(ours, floor): &Seconds| -> String {
        let ours = ours.iter().enumerate();
        let ours: String = ours
            .map(|(at, slow)| second("a.order.service", at, FLOOR_NS * SOFTWARE * slow))
            .collect();
        let floor = floor.iter().enumerate();
        let floor: String =
            floor.map(|(at, slow)| second("floor.order.service", at, FLOOR_NS * slow)).collect();
        ours + &floor
    };
    let logs: Vec<String> = runs.iter().map(&mut log).collect();
    let totals: Vec<Totals> =
        logs.iter().map(|log| crate::hlog::totals(log.as_bytes()).unwrap()).collect();
    let totals: Vec<&Totals> = totals.iter().collect();
    let judging = FigureJudge {
        disturbed: &|_, _, _| DisturbedShare { share: Some(0.01), ..DisturbedShare::NONE },
        moves: &|_, _| Moves::Up,
        spread: false,
    };
    let subject = |name: &str| {
        let series = pooling::series(name, &totals, runs.len() as u32, &judging);
        Subject { name: name.to_owned(), series, ..Subject::default() }
    };
    let mut subjects = vec![subject("a"), subject("floor")];
    let open = |run: usize| Ok(logs[run].as_bytes());
    let by_regime = find(&mut subjects, runs.len(), open).unwrap();
    pairing::pair(&mut subjects, &totals, &by_regime);
    RunRecord { subjects, ..RunRecord::default() }
}

fn seconds(ours: [f64; 4], floor: [f64; 2]) -> Seconds {
    Seconds(ours.to_vec(), floor.to_vec())
}

/// How much slower the slow regime is: 10.9 us instead of 7.8.
const SLOW: f64 = 1.4;

/// The host switched within two runs, so their halves lay in different regimes: whole runs give
/// ratios of 0.8 and 1.5.
#[test]
fn halves_of_different_regimes_are_not_paired() {
    let fast = || seconds([1.0; 4], [1.0; 2]);
    let slow = || seconds([SLOW; 4], [SLOW; 2]);
    let record = record(&[
        fast(),
        seconds([1.0; 4], [SLOW; 2]),
        slow(),
        slow(),
        seconds([SLOW, SLOW, SLOW, 1.0], [1.0; 2]),
        fast(),
    ]);
    let series = record.main_series().unwrap();
    let over = series.over_floor.as_ref().unwrap();
    let pairs: Vec<_> = over.pairs.iter().map(|pair| (pair.run, pair.regime.unwrap())).collect();
    let expected = [
        (1, Regime::Fast),
        (3, Regime::Slow),
        (4, Regime::Slow),
        (5, Regime::Fast),
        (6, Regime::Fast),
    ];
    assert_eq!(pairs, expected, "run 2 has no pair: the floor was slow and the subject was not");
    assert!((over.figures["p50"].ratio - SOFTWARE).abs() < 0.01 && over.holds(0.9), "{over:?}");

    let [fast, slow] = series.regimes.as_slice() else { panic!("{:?}", series.regimes) };
    assert_eq!((fast.slices, slow.slices), (13, 11));
    assert!((fast.share + slow.share - 1.0).abs() < 1e-9);
    let near = |regime: &InRegime, ns: f64| (regime.figures.p50.unwrap() as f64 / ns - 1.0).abs();
    assert!(
        near(fast, FLOOR_NS * SOFTWARE) < 0.01 && near(slow, FLOOR_NS * SOFTWARE * SLOW) < 0.01
    );
    assert_eq!(series.holds_to, Some(0.0), "no p50 of both regimes holds: {:?}", series.bracket);
    assert!(record.ratio_holds(0.5) && !record.holds(0.5));
}

#[test]
fn a_machine_with_one_speed_keeps_its_figures() {
    let runs: Vec<Seconds> = (0..6).map(|_| seconds([1.0; 4], [1.0; 2])).collect();
    let record = record(&runs);
    let series = record.main_series().unwrap();
    assert!(series.regimes.is_empty() && record.holds(0.9), "{series:?}");
    let over = series.over_floor.as_ref().unwrap();
    assert!(over.pairs.len() == 6 && over.pairs.iter().all(|pair| pair.regime.is_none()));
}

/// A subject that is slow for half of its time beside a floor with one speed has that of its own.
#[test]
fn two_speeds_of_the_subject_alone_are_not_the_machines() {
    let own = [1.0, 1.0, SLOW, SLOW];
    let runs: Vec<Seconds> = (0..6).map(|_| seconds(own, [1.0; 2])).collect();
    let record = record(&runs);
    assert!(record.main_series().unwrap().regimes.is_empty());
}

#[test]
fn a_log_that_cannot_be_read_is_an_error() {
    let mut subjects = Vec::new();
    let damaged = find(&mut subjects, 1, |_| Ok(&b"Tag=a.order.service,0,1,1,xx\n"[..]));
    assert!(
        damaged.unwrap_err().to_string().contains("line 1"),
        "it has a histogram without bytes"
    );
    let missing = find::<&[u8]>(&mut subjects, 1, |_| Err(std::io::ErrorKind::NotFound.into()));
    assert!(missing.is_err());
}

/// Logs of six runs of `order-to-ack` on a host that is `slow` for 20 s of each 40 s: the floor
/// stands before or after the subject, and each waits for its processes.
fn switching(seed: u64, slow: f64) -> RunRecord {
    let phase = f64::from(SplitMix64::new(seed).below(40_000)) / 1e3;
    let speed = |at_s: f64| if (at_s + phase) % 40.0 < 20.0 { 1.0 } else { slow };
    let mut now_s = 0.0;
    let mut part = |seconds: usize| -> Vec<f64> {
        now_s += 3.0;
        let all = (0..seconds).map(|at| speed(now_s + at as f64 + 0.5)).collect();
        now_s += seconds as f64;
        all
    };
    let runs: Vec<Seconds> = (0..6)
        .map(|run| match run % 2 {
            0 => {
                let ours = part(4);
                Seconds(ours, part(2))
            }
            _ => {
                let floor = part(2);
                Seconds(part(4), floor)
            }
        })
        .collect();
    record_of(seed, &runs)
}

/// The proof on simulated logs: a planted switch is named in nine records of ten, and the ratio
/// holds there; a machine with one speed gets the name in none.
#[test]
fn a_planted_switch_is_named_in_nine_of_ten() {
    let has_two = |record: &RunRecord| !record.main_series().unwrap().regimes.is_empty();
    let records: Vec<RunRecord> = (1..=40).map(|seed| switching(seed, SLOW)).collect();
    let named = records.iter().filter(|record| has_two(record)).count();
    let held = records.iter().filter(|record| record.ratio_holds(0.9)).count();
    let invented = (1..=40).filter(|seed| has_two(&switching(*seed, 1.0))).count();
    println!(
        "named in {named}, the ratio holds in {held} of 40; named without a switch: {invented}"
    );
    assert!(named >= 36 && held >= 36 && invented <= 2, "{named}, {held}, {invented}");
}

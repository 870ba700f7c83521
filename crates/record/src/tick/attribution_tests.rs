//! Attribution of samples with known stages.

use super::*;
use crate::tick::{INTERVALS, POINTS, Point};
use proptest::prelude::*;

const RESPONSE: Interval = INTERVALS[1];

/// A sample with these durations of its stages.
fn sample(number: u64, stages: [u64; POINTS - 1]) -> Sample {
    let mut stamps = [1_000_000; POINTS];
    for (stage, length_ns) in stages.into_iter().enumerate() {
        stamps[stage + 1] = stamps[stage] + length_ns;
    }
    Sample { number, stamps }
}

fn ways<'a>(samples: &'a [Sample]) -> Ways<'a> {
    Ways::new(&[samples], &RESPONSE, 0)
}

fn of<'a>(attribution: &'a Attribution, stage: &str) -> &'a f64 {
    &attribution.stages.iter().find(|(name, _)| name == stage).unwrap().1
}

/// 100 ns per stage; in the slowest two of a hundred, `risk` takes a microsecond more.
fn with_a_slow_stage() -> Vec<Sample> {
    let stages = |number: u64| {
        let mut stages = [100; POINTS - 1];
        stages[Point::Decided as usize] += if number.is_multiple_of(50) { 1_000 } else { 0 };
        // Makes all totals different.
        stages[0] += number % 7;
        stages
    };
    (0..10_000).map(|number| sample(number, stages(number))).collect()
}

#[test]
fn the_stage_that_grew_owns_the_tail() {
    let samples = with_a_slow_stage();
    let [p50, p99] = &ways(&samples).attributions()[..] else { panic!("not two") };
    assert_eq!((p50.around.as_str(), p99.around.as_str()), ("p50", "p99"));
    assert_eq!((*of(p50, "risk"), *of(p99, "risk")), (100.0, 1_100.0));
    assert_eq!((p50.samples, p50.within_rank), (21, 0.001));
    let tail = tail(p50, p99).unwrap();
    assert_eq!(tail.stage, "risk");
    assert!((tail.grew_ns - 1_000.0).abs() < 1.0, "{tail:?}");
    assert!((tail.whole_grew_ns - 1_000.0).abs() < 7.0, "{tail:?}");
}

#[test]
fn nothing_that_did_not_grow_owns_a_tail() {
    let samples: Vec<Sample> = (0..2_000).map(|number| sample(number, [50; POINTS - 1])).collect();
    let attributions = ways(&samples).attributions();
    assert_eq!(tail(&attributions[0], &attributions[1]), None);
}

#[test]
fn few_samples_reach_further_and_too_few_have_no_p99() {
    let samples = with_a_slow_stage();
    let few = ways(&samples[..1_000]).attributions();
    assert_eq!(few.iter().map(|one| one.samples).collect::<Vec<_>>(), [21, 21]);
    assert_eq!(few[1].within_rank, 0.01);
    let fewer = ways(&samples[..999]).attributions();
    assert_eq!(fewer.iter().map(|one| one.around.as_str()).collect::<Vec<_>>(), ["p50"]);
    let fewest = ways(&samples[..20]).attributions();
    assert_eq!(fewest.iter().map(|one| one.samples).collect::<Vec<_>>(), [20]);
    assert!(ways(&samples[..19]).attributions().is_empty());
    assert!(ways(&[]).attributions().is_empty());
}

/// Without the kernel's stamp, the stages before and after it are one.
#[test]
fn a_point_that_nobody_stamped_joins_two_stages() {
    let mut samples = with_a_slow_stage();
    for sample in &mut samples {
        sample.stamps[Point::KernelReceived as usize] = 0;
    }
    let ways = ways(&samples);
    let attributions = ways.attributions();
    assert_eq!(*of(&attributions[0], "network_in + ingest"), 200.0);
    assert_eq!(attributions[0].stages.len(), 8);
    assert_eq!(ways.left_out, 0);
    assert_eq!(owner("network_in + ingest"), "kernel and network and trader");
    assert_eq!(owner("risk"), "trader");
}

#[test]
fn what_is_not_known_from_end_to_end_is_left_out() {
    let mut samples = with_a_slow_stage();
    samples[3].stamps[Point::Intended as usize] = 0;
    samples[4].stamps[Point::GatewayIn as usize] = 0;
    samples[5].stamps[Point::KernelReceived as usize] = 0;
    samples[6].stamps[Point::Checked as usize] = samples[6].stamps[Point::Decided as usize] - 31;
    let of = |bound_ns| Ways::new(&[&samples], &RESPONSE, bound_ns);
    assert_eq!((of(30).left_out, of(31).left_out), (4, 3));
    assert!(of(31).attributions().iter().all(|one| one.left_out == 3));
    let ends_after = INTERVALS.iter().find(|one| one.name == "order_to_ack").unwrap();
    assert_eq!(Ways::new(&[&samples], ends_after, 0).left_out, 1);
}

#[test]
fn the_worst_come_with_their_run_and_all_their_stages() {
    let mut runs = [with_a_slow_stage(), with_a_slow_stage()];
    runs[1][77] = sample(77, [9_000; POINTS - 1]);
    let runs: Vec<&[Sample]> = runs.iter().map(Vec::as_slice).collect();
    let worst = Ways::new(&runs, &RESPONSE, 0).worst(3);
    assert_eq!(worst.len(), 3);
    assert_eq!((worst[0].run, worst[0].number, worst[0].total_ns), (2, 77, 81_000));
    assert_eq!(worst[0].begin_ns, 1_000_000);
    assert_eq!(worst[0].stages[0], ("event".to_owned(), 9_000));
    assert!(worst.iter().is_sorted_by_key(|one| std::cmp::Reverse(one.total_ns)));
}

proptest! {
    /// For any samples, the means of the stages add up to the mean of the totals they come from,
    /// and that mean lies around the percentile.
    #[test]
    fn stages_add_up_to_the_whole(
        lengths in prop::collection::vec(prop::array::uniform13(0u64..100_000), 20..400),
        which in 0..INTERVALS.len(),
        kernel_stamps in any::<bool>(),
    ) {
        let mut samples: Vec<Sample> =
            (1..).zip(lengths).map(|(number, stages)| sample(number, stages)).collect();
        if !kernel_stamps {
            samples.iter_mut().for_each(|one| one.stamps[Point::KernelReceived as usize] = 0);
        }
        let interval = &INTERVALS[which];
        let ways = Ways::new(&[&samples], interval, 0);
        let total = |one: &Sample| one.stamps[interval.to as usize] - one.stamps[interval.from as usize];
        let mut totals: Vec<u64> = samples.iter().map(total).collect();
        totals.sort_unstable();
        prop_assert_eq!(ways.left_out, 0);
        let attribution = &ways.attributions()[0];
        let rank = totals.len().div_ceil(2) - 1;
        prop_assert_eq!(attribution.total_ns, totals[rank]);
        let around = &totals[rank.saturating_sub(10)..=(rank + 10).min(totals.len() - 1)];
        let mean = around.iter().sum::<u64>() as f64 / around.len() as f64;
        let sum: f64 = attribution.stages.iter().map(|(_, mean)| mean).sum();
        prop_assert!((sum - mean).abs() <= 1e-9 * mean.max(1.0), "{} and {}", sum, mean);
        for traced in ways.worst(5) {
            let sum: i64 = traced.stages.iter().map(|(_, length)| length).sum();
            prop_assert_eq!(sum as u64, traced.total_ns);
        }
    }
}

use super::*;

fn draws(latency: &Latency, n: u64) -> Vec<u64> {
    (0..n).map(|number| latency.draw_ns(7, 8, number, number * 1_000)).collect()
}

#[test]
fn exponential_draws_have_their_mean_and_percentiles() {
    let latency = Latency::exponential(10_000);
    let mut draws = draws(&latency, 40_000);
    let mean = draws.iter().sum::<u64>() as f64 / 40_000.0;
    // Four standard errors of 50 ns.
    assert!((mean - 10_000.0).abs() < 200.0, "{mean}");
    draws.sort_unstable();
    let p99 = latency.summary().p99_ns;
    let above = draws.iter().filter(|ns| **ns > p99).count();
    // 400 and four standard deviations of 20.
    assert!((320..=480).contains(&above), "{above}");
}

/// Seconds of the log with a pause stay together: within a second of the market, latencies are all
/// short or all long.
#[test]
fn recorded_seconds_stay_together() {
    let blocks = [vec![(10, 100)], vec![(10, 50), (9_000, 50)], Vec::new()];
    let latency = Latency::recorded(&blocks, "log").unwrap();
    let mut bad_seconds = 0;
    for second in 0..200 {
        let long = (0..100)
            .filter(|one| {
                let number = second * 100 + one;
                latency.draw_ns(1, 0, number, second * BLOCK_NS + one) == 9_000
            })
            .count();
        assert!(long == 0 || (20..80).contains(&long), "second {second}: {long} of 100");
        bad_seconds += u32::from(long > 0);
    }
    // 100 and four standard deviations of 7.
    assert!((72..=128).contains(&bad_seconds), "{bad_seconds}");
    assert_eq!((latency.summary().p50_ns, latency.summary().p99_ns), (10, 9_000));
}

#[test]
fn blocks_without_values_are_no_distribution() {
    assert!(Latency::recorded(&[], "log").is_none());
    assert!(Latency::recorded(&[Vec::new(), vec![(5, 0)]], "log").is_none());
}

#[test]
fn a_change_moves_body_and_tail() {
    let blocks = [(1..=1_000).map(|ns| (ns * 100, 1)).collect::<Block>()];
    let latency = Latency::recorded(&blocks, "log").unwrap();
    let summary = |change: Change| {
        let RaceLatency { p50_ns, p99_ns, p99_9_ns, .. } = latency.changed(change).summary();
        [p50_ns, p99_ns, p99_9_ns]
    };
    assert_eq!(summary(Change::NONE), [50_000, 99_000, 99_900]);
    let body = Change { body_ns: -1_000.0, ..Change::NONE };
    assert_eq!(summary(body), [49_000, 98_000, 99_900]);
    let tail = Change { tail_ns: -500.0, ..Change::NONE };
    assert_eq!(summary(tail), [50_000, 99_000, 99_400]);
    let cut = Change { cut_tail: true, ..Change::NONE };
    assert_eq!(summary(cut), [50_000, 99_000, 99_000]);
    let half = Change { times: 0.5, ..Change::NONE };
    assert_eq!(summary(half), [25_000, 49_500, 49_950]);
    let gone = Change { body_ns: -1e9, tail_ns: -1e9, ..Change::NONE };
    assert_eq!(summary(gone), [0, 0, 0]);
}

/// The same draw with another latency is the same quantile: a faster participant is faster in every
/// race, and its seeds can be compared in pairs.
#[test]
fn draws_of_a_changed_latency_are_paired() {
    let latency = Latency::exponential(10_000);
    let faster = latency.changed(Change { times: 0.5, ..Change::NONE });
    for (slow, fast) in draws(&latency, 100).into_iter().zip(draws(&faster, 100)) {
        assert!(fast * 2 <= slow + 1 && fast * 2 + 2 >= slow, "{slow} {fast}");
    }
    let shifted = Latency::constant(1_000).shifted(2.0, 500.0);
    assert_eq!(draws(&shifted, 1), [2_500]);
    assert_eq!(draws(&Latency::constant(1_000).shifted(1.0, -5_000.0), 1), [0]);
}

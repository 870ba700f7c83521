//! Which samples are kept, and which series they make.

use super::*;
use proptest::prelude::*;
use record::Kind::{Response, Service};

fn same() -> Time {
    Time {
        same_clock: true,
        kernel_bound_ns: Some(50),
        exchange_bound_ns: Some(0),
        ..Time::default()
    }
}

/// Point `i` is stamped at 1000 times (i + 1).
fn sample() -> Sample {
    Sample { number: 1, stamps: std::array::from_fn(|point| 1_000 * (point as u64 + 1)) }
}

fn with(changes: &[(Point, u64)]) -> Sample {
    let mut sample = sample();
    changes.iter().for_each(|(point, ns)| sample.stamps[*point as usize] = *ns);
    sample
}

fn judged(sample: Sample, time: &Time) -> (SampleChecks, Vec<Sample>) {
    let mut samples = vec![sample];
    (judge(&mut samples, time), samples)
}

#[test]
fn a_way_without_an_end_is_none() {
    for point in NEEDED {
        let (judged, kept) = judged(with(&[(point, 0)]), &same());
        assert_eq!((judged, kept.len()), (SampleChecks::default(), 0), "{point:?}");
    }
    for point in [Point::KernelReceived, Point::Acknowledged] {
        let (judged, kept) = judged(with(&[(point, 0)]), &same());
        assert_eq!((judged.whole, judged.out_of_order, kept.len()), (1, 0, 1), "{point:?}");
    }
}

#[test]
fn the_kernels_stamp_may_be_off_by_its_bound() {
    let at = |kernel_ns| judged(with(&[(Point::KernelReceived, kernel_ns)]), &same());
    for (kernel_ns, settled_ns) in [(2_950, 3_000), (5_050, 5_000), (3_001, 3_001)] {
        let (judged, kept) = at(kernel_ns);
        assert_eq!((judged.out_of_order, judged.not_adding_up), (0, 0));
        assert_eq!(kept[0].stamps[Point::KernelReceived as usize], settled_ns);
    }
    for kernel_ns in [2_949, 5_051] {
        let (judged, kept) = at(kernel_ns);
        assert_eq!((judged.whole, judged.out_of_order, kept.len()), (1, 1, 0), "{kernel_ns}");
        assert_eq!(judged.not_adding_up, 1, "a stage below nothing is recorded as nothing");
    }
}

#[test]
fn between_two_machines_order_is_not_known() {
    // The exchange's clock is an hour behind.
    let early = AT_EXCHANGE.map(|point| (point, 10 + point as u64));
    let (judged_alone, kept) = judged(with(&early), &same());
    assert_eq!((judged_alone.out_of_order, kept.len()), (1, 0));
    let (judged_apart, kept) = judged(with(&early), &Time::default());
    assert_eq!((judged_apart.whole, judged_apart.out_of_order, kept.len()), (1, 0, 1));
    let torn = with(&[(Point::Decided, 1)]);
    assert_eq!(judged(torn, &Time::default()).0.out_of_order, 1, "on one machine it is");
}

fn series_of(samples: &[Sample], time: &Time) -> Vec<(String, u64, u64)> {
    let mut log = Vec::new();
    write_log(
        (samples, &[]),
        &withheld(samples, time, OneWay::Tenth),
        "t",
        &mut log,
        SystemTime::now(),
        0,
    )
    .unwrap();
    let totals = record::hlog::totals(&log[..]).unwrap();
    totals.into_iter().map(|(tag, values)| (tag, values.len(), values.max())).collect()
}

#[test]
fn every_interval_and_every_stage_is_a_series() {
    let series = series_of(&[sample(); 3], &same());
    assert_eq!(series.len(), INTERVALS.len() + STAGES.len());
    assert!(series.iter().all(|(_, count, _)| *count == 3));
    let max = |tag: String| series.iter().find(|row| row.0 == tag).map(|row| row.2 / 100 * 100);
    for interval in &INTERVALS {
        let length = (interval.to as u64 - interval.from as u64) * 1_000;
        let tag = format!("t.{}.{}", interval.name, interval.kind.name());
        assert_eq!(max(tag), Some(length), "{interval:?}");
        assert!([Response, Service].contains(&interval.kind));
    }
    for stage in &STAGES {
        assert_eq!(max(format!("t.{}.stage", stage.name)), Some(1_000), "{stage:?}");
    }
}

#[test]
fn what_lies_between_two_machines_is_no_series() {
    let series = series_of(&[sample()], &Time::default());
    let tags: Vec<&str> = series.iter().map(|(tag, ..)| tag.as_str()).collect();
    let expected = [
        "t.decision.service",
        "t.engine.stage",
        "t.event.stage",
        "t.gateway.stage",
        "t.ingest.stage",
        "t.normalise.stage",
        "t.order.stage",
        "t.order_to_ack.service",
        "t.publish.stage",
        "t.report.stage",
        "t.risk.stage",
        "t.signal.stage",
        "t.tick_to_gateway.response",
        "t.tick_to_gateway.service",
        "t.tick_to_trade.service",
    ];
    let mut sorted = tags.clone();
    sorted.sort_unstable();
    // Publication and gateway are both stamped by the exchange, so that interval is exact.
    assert_eq!(sorted, expected);
}

/// Stages are 1 us long.
#[test]
fn between_two_clocks_a_series_is_given_if_they_are_apart_by_a_tenth_of_it_at_most() {
    let apart = |bound_ns| Time {
        kernel_bound_ns: Some(0),
        exchange_bound_ns: Some(bound_ns),
        ..Time::default()
    };
    let given = |bound_ns| series_of(&[sample(); 3], &apart(bound_ns)).len();
    let all = INTERVALS.len() + STAGES.len();
    let network = 3;
    assert_eq!([100, 101].map(given), [all, all - network]);
    // From the exchange's acknowledgement to the order it takes 7 us, from the intended event to
    // the reply 13.
    assert_eq!([700, 701, 1_300, 1_301].map(given), [all - 3, all - 4, all - 4, all - 5]);
    let withheld = withheld(&[sample()], &apart(701), OneWay::Tenth);
    let why = &withheld["gateway_to_trade.service"];
    assert!(why.contains("may be 701 ns apart") && why.contains("7000 ns"), "{why}");
    // As an interval it is given, with its error.
    assert!(super::withheld(&[sample()], &apart(701), OneWay::Bracket).is_empty());
    let errors_ns = errors_ns(&[sample()], &apart(701));
    assert_eq!(errors_ns["gateway_to_trade.service"], 701);
    assert!(!errors_ns.contains_key("decision.service"), "one clock stamps both ends");
    // Without a bound, the error of a kernel stamp is unknown.
    let unknown = Time { kernel_bound_ns: None, ..apart(0) };
    assert!(
        super::withheld(&[sample()], &unknown, OneWay::Bracket).contains_key("network_in.stage")
    );
    // A stamp may lie before the one that it must follow by as much.
    let early = with(&[(Point::KernelReceived, 2_500), (Point::Read, 2_500)]);
    assert_eq!([499, 500].map(|bound_ns| judged(early, &apart(bound_ns)).0.out_of_order), [1, 0]);
}

/// Two NTP clocks a millisecond apart, with a bound of five: each kernel stamp was once moved to
/// the read's, and the network stage was 0.
#[test]
fn another_machines_clock_moves_no_stamp_of_ours() {
    let time =
        Time { kernel_bound_ns: Some(50), exchange_bound_ns: Some(5_000_000), ..Time::default() };
    let early = AT_EXCHANGE.map(|point| (point, 1_000_000 + 1_000 * (point as u64 + 1)));
    let (judged_apart, kept) = judged(with(&early), &time);
    assert_eq!((judged_apart.whole, judged_apart.out_of_order, kept.len()), (1, 0, 1));
    let [kernel, read] = [Point::KernelReceived, Point::Read].map(|point| point as usize);
    assert_eq!(kept[0].stamps[read] - kept[0].stamps[kernel], 1_000);
}

/// The kernel's stamp has a bound of its own, which also counts between two machines.
#[test]
fn between_two_machines_the_kernels_bound_counts() {
    let apart =
        |ns| Time { kernel_bound_ns: Some(ns), exchange_bound_ns: Some(60), ..Time::default() };
    let network_in = |kernel_bound_ns| {
        withheld(&[sample()], &apart(kernel_bound_ns), OneWay::Tenth)
            .contains_key("network_in.stage")
    };
    assert_eq!([40, 41].map(network_in), [false, true]);
    // Without such stamps it is joined with the next stage: 2 us, of which 200 ns may be unknown.
    let joined = with(&[(Point::KernelReceived, 0)]);
    let time = |bound_ns| Time { exchange_bound_ns: Some(bound_ns), ..Time::default() };
    let given = |bound_ns| {
        !withheld(&[joined], &time(bound_ns), OneWay::Tenth).contains_key("network_in.stage")
    };
    assert_eq!([200, 201].map(given), [true, false]);
}

proptest! {
    // Each case writes a log.
    #![proptest_config(ProptestConfig::with_cases(testing::cases(24)))]

    /// For any stamps: no panic, and the kept samples are in order and add up.
    #[test]
    fn what_is_kept_adds_up(stamps in prop::collection::vec(prop::array::uniform14(0u64..100), 1..20), bound in 0u64..20) {
        let time = Time { kernel_bound_ns: Some(bound), ..same() };
        let mut samples: Vec<Sample> =
            stamps.into_iter().map(|stamps| Sample { number: 0, stamps }).collect();
        let judged = judge(&mut samples, &time);
        prop_assert!(judged.out_of_order <= judged.whole);
        for sample in &samples {
            let known: Vec<u64> = sample.stamps.into_iter().filter(|ns| *ns > 0).collect();
            prop_assert!(known.is_sorted(), "{known:?}");
        }
        write_log((&samples, &[]), &withheld(&samples, &time, OneWay::Tenth), "t", &mut Vec::new(), SystemTime::now(), 0).unwrap();
    }

    /// A sample is in the second in which its order left, and none is lost.
    #[test]
    fn no_sample_is_lost_between_seconds(gaps in prop::collection::vec(0u64..3_000_000_000, 1..50), start_ns in 0u64..5_000) {
        let mut at = start_ns + 20_000;
        let samples: Vec<Sample> = gaps
            .iter()
            .map(|gap| {
                at += gap;
                let mut sample = sample();
                sample.stamps.iter_mut().for_each(|ns| *ns += at);
                sample
            })
            .collect();
        let mut log = Vec::new();
        write_log((&samples, &[]), &BTreeMap::new(), "t", &mut log, SystemTime::now(), start_ns).unwrap();
        let totals = record::hlog::totals(&log[..]).unwrap();
        for (tag, values) in totals {
            prop_assert_eq!(values.len(), samples.len() as u64, "{}", tag);
        }
    }
}

/// Regression: the last interval was a whole second, so that it ended up to a second after the run
/// and its occupancy of the cores, and the ticks were not judged.
#[test]
fn the_last_interval_ends_with_its_last_sample() {
    let sent = |ns: u64| with(&[(Point::Sent, ns)]);
    let part = |sent_ns: &[u64]| {
        let samples: Vec<Sample> = sent_ns.iter().copied().map(sent).collect();
        let (mut log, began) = (Vec::new(), SystemTime::UNIX_EPOCH);
        write_log((&samples, &[]), &BTreeMap::new(), "t", &mut log, began, 0).unwrap();
        record::hlog::measured_part(&log[..], "t").unwrap()
    };
    assert_eq!(part(&[1_000, 410_000_000 - 1]), (0.0, 0.41));
    assert_eq!(part(&[1_000, 2_500_000_000 - 1]), (0.0, 2.5), "seconds between stay whole");
    assert_eq!(part(&[1_000, 999_999_999]), (0.0, 1.0));
}

/// Values of some samples beside their stages are in the log, and a series without a value is not.
#[test]
fn what_some_samples_have_beside_their_stages_is_series() {
    let samples = [sample(), Sample { number: sample().number + 1, ..sample() }];
    let of = |name: &'static str, lengths: Vec<Option<u64>>| ExtraSeries {
        series: vec![Series::new(name, Kind::Service), Series::new("empty", Kind::Service)],
        lengths: HashMap::from([(sample().number, lengths)]),
    };
    let nothing = ExtraSeries { lengths: HashMap::new(), ..of("nothing", Vec::new()) };
    let asides = [nothing, of("one", vec![Some(7), None]), of("other", vec![Some(8), None])];
    let (mut log, none) = (Vec::new(), BTreeMap::new());
    write_log((&samples, &asides), &none, "t", &mut log, SystemTime::UNIX_EPOCH, 0).unwrap();
    let totals = record::hlog::totals(&log[..]).unwrap();
    let count = |tag: &str| totals.get(tag).map(|values| (values.len(), values.max()));
    assert_eq!(count("t.one.service"), Some((1, 7)));
    assert_eq!(count("t.other.service"), Some((1, 8)));
    assert_eq!((count("t.empty.service"), count("t.nothing.service")), (None, None));
    assert_eq!(count("t.tick_to_trade.service").map(|(count, _)| count), Some(2));
}

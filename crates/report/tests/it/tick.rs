//! A record of ticks that became orders, as a person sees it.

use clock::utc::Time;
use expect_test::{Expect, expect};
use record::tick::{
    Attribution, Audit, CoreLoss, INTERVALS, MarketMaking, POINTS, STAGES, Tick, TracedTick,
};
use record::{Kind, Load, Percentiles, RunRecord, Series, Subject};
use report::{RecordFiles, record_page};

fn series(name: &str, kind: Kind, p50: u64) -> Series {
    let pooled = Percentiles {
        count: 240_000,
        min: p50 / 2,
        p50: Some(p50),
        p90: Some(p50 * 3 / 2),
        p95: Some(p50 * 2),
        p99: Some(p50 * 3),
        p99_9: Some(p50 * 5),
        p99_99: Some(p50 * 9),
        p99_999: None,
        max: p50 * 40,
        below_1us: 0,
    };
    Series {
        name: name.to_owned(),
        kind,
        unit: "ns".to_owned(),
        pooled,
        uncertain: vec!["p99_99".to_owned()],
        per_run: vec![pooled; 6],
        interval: [("p50".to_owned(), [p50 - p50 / 20, p50 + p50 / 20])].into(),
        bracket: Default::default(),
        holds_to: Some(1.0),
        moves: Default::default(),
        not_judged: String::new(),
        over_floor: None,
        regimes: Vec::new(),
        disturbed: Vec::new(),
    }
}

/// How long stages take around p50, ns.
const USUAL: [f64; POINTS - 1] = [
    2_310.0, 640.0, 3_100.0, 2_220.0, 145.0, 38.0, 24.0, 92.0, 6_830.0, 1_040.0, 710.0, 520.0,
    7_300.0,
];

fn attribution(around: &str, to: usize, slow: [f64; POINTS - 1]) -> Attribution {
    let stages = STAGES[..to].iter().zip(slow).map(|(stage, ns)| (stage.name.to_owned(), ns));
    let of = INTERVALS.iter().find(|one| one.to as usize == to && one.kind == Kind::Response);
    Attribution {
        around: around.to_owned(),
        of: of.unwrap().name.to_owned(),
        kind: Kind::Response,
        total_ns: slow[..to].iter().sum::<f64>() as u64,
        samples: 481,
        within_rank: 0.001,
        left_out: 0,
        stages: stages.collect(),
    }
}

/// A trader whose slow ticks wait in the kernel on their way out.
fn trader() -> Subject {
    let mut slow = USUAL;
    slow[8] += 31_000.0;
    slow[4] += 900.0;
    let tick = Tick {
        datagrams: 40_000,
        messages: 61_000,
        datagram_bytes: 96,
        kernel_stamps: "software".to_owned(),
        receive_buffer_bytes: Some(16 << 20),
        samples: 40_000,
        book_hash: "00aa".to_owned(),
        exchange_book_hash: "00aa".to_owned(),
        time: Time { same_clock: true, kernel_bound_ns: Some(61), ..Time::default() },
        audit: Some(Audit {
            records: 160_000,
            core: Some(0),
            shares_core_with: "exchange".to_owned(),
            windows: 400,
            windows_ns: 12_000_000,
            samples_in_windows: 120,
            ..Audit::default()
        }),
        ..Tick::default()
    };
    let traced = TracedTick {
        run: 3,
        number: 51_204,
        of: "tick_to_ack".to_owned(),
        begin_ns: 1,
        total_ns: 4_071_000,
        stages: vec![("event".to_owned(), 71_000), ("network_in".to_owned(), 4_000_000)],
        noise: vec![CoreLoss {
            cause: "switched out".to_owned(),
            of: "trader".to_owned(),
            core: Some(1),
            from_ns: 72_000,
            length_ns: 3_950_000,
        }],
    };
    let intervals = INTERVALS
        .iter()
        .enumerate()
        .map(|(at, one)| series(one.name, one.kind, 900 + 4_000 * at as u64));
    let stages = STAGES.iter().zip(USUAL).map(|(one, ns)| series(one.name, Kind::Stage, ns as u64));
    Subject {
        name: "rust".to_owned(),
        backend: "spin".to_owned(),
        cores: vec![0, 1],
        load: Load {
            model: "trigger".to_owned(),
            rate_per_second_offered: Some(10_000.0),
            rate_per_second_achieved: 10_000.0,
            sent: 240_000,
            tick: vec![tick; 6],
            ..Load::default()
        },
        series: intervals.chain(stages).collect(),
        attribution: vec![
            attribution("p50", 9, USUAL),
            attribution("p99", 9, slow),
            attribution("p50", 13, USUAL),
            attribution("p99", 13, slow),
        ],
        traced: vec![traced],
        ..Subject::default()
    }
}

fn record(change: impl FnOnce(&mut RunRecord)) -> RunRecord {
    let floor = Subject {
        name: "floor".to_owned(),
        backend: "spin".to_owned(),
        cores: vec![0, 1],
        series: vec![
            series("tick_to_gateway", Kind::Response, 4_000),
            series("tick_to_gateway", Kind::Service, 800),
        ],
        ..Subject::default()
    };
    let mut record = RunRecord {
        schema: 1,
        tool: "tickpath 0.1.0".to_owned(),
        scenario: "tick-to-trade".to_owned(),
        complete: true,
        runs: 6,
        resolved: serde_json::json!({"kind": "tick", "network": "loopback", "exchange": {"start": true},
            "flow": {"source": "synthetic", "pace": "fixed", "rate_per_second": 10_000.0, "arrival": "uniform"},
            "feed": {"transport": "unicast"}, "strategy": {"name": "trigger"}}),
        subjects: vec![trader(), floor],
        ..RunRecord::default()
    };
    change(&mut record);
    record
}

/// The terminal's table from the line that begins with `from` to the next empty one.
fn part(record: &RunRecord, from: &str) -> String {
    let table = report::table(record, 100);
    assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
    let lines = table.lines().skip_while(|line| !line.starts_with(from));
    lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

fn check(record: &RunRecord, from: &str, expected: Expect) {
    expected.assert_eq(&part(record, from));
}

#[test]
fn intervals_stand_in_the_order_of_the_way() {
    check(
        &record(|_| ()),
        "us",
        expect![[r#"
            us                                         p50   p90   p99  p99.9  p99.99   max     n  p50 interval
            trader (rust)  tick_to_gateway service   0.900  1.35  2.70   4.50   ~8.10  36.0  240k   0.855-0.945
                           tick_to_gateway response   4.90  7.35  14.7   24.5   ~44.1   196  240k     4.66-5.14
                           tick_to_trade service      8.90  13.3  26.7   44.5   ~80.1   356  240k     8.46-9.35
                           gateway_to_trade service   12.9  19.4  38.7   64.5    ~116   516  240k     12.3-13.5
                           decision service           16.9  25.4  50.7   84.5    ~152   676  240k     16.1-17.7
                           order_to_ack service       20.9  31.4  62.7    104    ~188   836  240k     19.9-21.9
                           tick_to_ack response       24.9  37.4  74.7    124    ~224   996  240k     23.7-26.1
            floor          tick_to_gateway response   4.00  6.00  12.0   20.0   ~36.0   160  240k     3.80-4.20
                           tick_to_gateway service   0.800  1.20  2.40   4.00   ~7.20  32.0  240k   0.760-0.840
              ~ fewer than 100 samples lie beyond it; - fewer than 10, not shown"#]],
    );
}

#[test]
fn the_headline_says_where_ticks_come_from() {
    check(
        &record(|_| ()),
        "tick-to-trade",
        expect![[r#"
            tick-to-trade · holds · 6 runs
              Disturbance moved none of these figures by more than a tenth: quote and compare them.
              ticks: synthetic, 10 000 inputs/s, uniform, UDP unicast, loopback; strategy trigger
              trader (rust): trigger, spin, cores 0 1, 10 000 of 10 000 orders/s, 240k sent, 0 lost"#]],
    );
    let with = |path: &[&str], value: serde_json::Value| {
        let record = record(|record| record.resolved[path[0]][path[1]] = value);
        part(&record, "tick-to-trade")
    };
    assert!(with(&["flow", "pace"], "recorded".into()).contains("1 x the recorded pace"));
    assert!(with(&["exchange", "start"], false.into()).contains("the exchange's own pace"));
}

#[test]
fn stages_say_whose_time_it_was_and_who_owns_the_tail() {
    check(
        &record(|_| ()),
        "Stages of rust",
        expect![[r#"
            Stages of rust, ns
                                    whose time   p50    p99  p99.9    max  around p50  around p99
            event                     exchange  2310   6930  11550  92400        2310        2310
            publish                   exchange   640   1920   3200  25600         640         640
            network_in         kernel, network  3100   9300  15500  124us        3100        3100
            ingest              kernel, trader  2220   6660  11100  88800        2220        2220
            normalise                   trader   145    435    725   5800         145        1045
            signal                      trader    38    114    190   1520          38          38
            risk                        trader    24     72    120    960          24          24
            order                       trader    92    276    460   3680          92          92
            network_out        kernel, network  6830  20490  34150  273us        6830       37830
            gateway                   exchange  1040   3120   5200  41600        1040        1040
            engine                    exchange   710   2130   3550  28400         710         710
            report                    exchange   520   1560   2600  20800         520         520
            network_back       kernel, network  7300  21900  36500  292us        7300        7300
            tick_to_ack, mean                                                   24969       56869
              tick_to_gateway response, p50 15.4 us and p99 47.3 us: network_out owns the tail (kernel and
              network): it grew by 31.0 us, the whole by 31.9 us.
              tick_to_ack response, p50 25.0 us and p99 56.9 us: network_out owns the tail (kernel and network):
              it grew by 31.0 us, the whole by 31.9 us.
              Means over 481 samples around p50 and 481 samples around p99, within 0.1 % of rank: percentiles of
              stages don't add up, means do."#]],
    );
}

#[test]
fn a_kernel_without_stamps_has_two_stages_in_one() {
    let joined = record(|record| {
        let subject = &mut record.subjects[0];
        subject.series.retain(|one| !["network_in", "ingest"].contains(&one.name.as_str()));
        for one in &mut subject.attribution {
            let ingest = one.stages.remove(3).1;
            one.stages[2] = ("network_in + ingest".to_owned(), one.stages[2].1 + ingest);
        }
        subject.load.tick[0].kernel_stamps.clear();
    });
    let table = part(&joined, "Stages of rust");
    assert!(table.contains("network_in + ingest"), "{table}");
    assert!(report::table(&joined, 100).contains("the kernel stamped nothing"));
}

#[test]
fn what_the_means_leave_out_and_what_was_done_to_the_clock_is_said() {
    let table = report::table(
        &record(|record| {
            let subject = &mut record.subjects[0];
            subject.attribution.iter_mut().skip(2).for_each(|one| one.left_out = 17);
            subject.load.tick[2].time.wall_steps = 2;
        }),
        100,
    );
    let said = table.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("Left out of tick_to_ack response: 17 samples"), "{table}");
    assert!(!said.contains("Left out of tick_to_gateway"), "{table}");
    assert!(said.contains("SOMEBODY SET THE WALL CLOCK meanwhile, 2 x"), "{table}");
}

/// The floor's trader decides nothing, so these stages have no latency.
#[test]
fn a_floor_shows_nothing_that_it_has_no_part_of() {
    let told = record(|record| {
        let floor = &mut record.subjects[1];
        let stages = [("normalise", 0), ("order", 3_035)];
        let stages = stages.map(|(name, ns)| series(name, Kind::Stage, ns));
        floor.series.extend(stages);
        floor.series.push(series("decision", Kind::Service, 0));
        // A stage that takes less than the clock can tell is shown all the same.
        let ours = record.subjects[0].series.iter_mut();
        ours.filter(|one| one.name == "risk").for_each(|one| *one = series("risk", Kind::Stage, 0));
    });
    let stages = part(&told, "Stages of floor");
    assert!(stages.contains("order") && !stages.contains("normalise"), "{stages}");
    let (ours, intervals) = (part(&told, "Stages of rust"), part(&told, "us "));
    assert!(ours.contains("\nrisk "), "{ours}");
    assert_eq!(intervals.matches("decision service").count(), 1, "{intervals}");
    let page =
        record_page(&told, "{}", RecordFiles { machine: Err("none"), timeline: Err("none") });
    assert!(page.contains("rust.decision.service") && !page.contains("floor.decision.service"));
}

#[test]
fn few_samples_have_no_tail_to_own() {
    let few = record(|record| record.subjects[0].attribution.retain(|one| one.around == "p50"));
    assert!(part(&few, "Stages of rust").contains("too few samples"));
    // A merged record has no samples.
    let merged = record(|record| record.subjects[0].attribution.clear());
    let stages = part(&merged, "Stages of rust");
    assert!(!stages.contains("owns") && !stages.contains("around"), "{stages}");
    assert!(stages.lines().nth(1).unwrap().ends_with("max"), "{stages}");
}

#[test]
fn the_feed_the_worst_and_what_it_rests_on() {
    let told = record(|_| ());
    check(
        &told,
        "Feed",
        expect![[r#"
        Feed
              datagrams  messages  bytes  gaps  replayed  faulty  dropped  samples  refused   book
        rust       240k      366k     96     0         0       0        0     240k        0  equal
          Bytes: a datagram's mean length. Samples: ticks that led to an order and are known from end to
          end. Refused: orders that the trader's own risk held back."#]],
    );
    check(
        &told,
        "The worst of rust",
        expect![[r#"
            The worst of rust, tick_to_ack
                     run  message       most of it in          cores taken
            4.07 ms    3    51204  network_in 4.00 ms  trader off, 3.95 ms
              run.json has all their stages (traced).
              rust: receive buffer 16.0 MiB; the kernel's receive stamps are software; both ends stamp by one
              clock, the kernel's stamps within 61 ns
              rust's audit: 960k records, 0 lost; its logger ran on core 0, which is the exchange's too, woke
              2400 times and took 72.0 ms in all; 0.300 % of the samples lie in those windows"#]],
    );
    // A busy machine takes both cores often, which one line has no room for.
    let busy = record(|record| {
        let taken = record.subjects[0].traced[0].noise[0].clone();
        for (of, cause) in
            [("exchange", "switched out"), ("exchange", "page fault"), ("trader", "page fault")]
        {
            let one = CoreLoss { of: of.to_owned(), cause: cause.to_owned(), ..taken.clone() };
            record.subjects[0].traced[0].noise.extend(vec![one; 1_000]);
        }
    });
    assert!(part(&busy, "The worst of rust").contains("trader off, 3.95 ms; exchange off 1000x"));
    let unequal = record(|record| record.subjects[0].load.tick[3].book_hash.clear());
    assert!(part(&unequal, "Feed").contains("UNEQUAL"));
}

#[test]
fn a_market_maker_is_told_run_by_run() {
    let traded = record(|record| {
        let outcome = MarketMaking {
            position_lots: -3,
            pnl_tick_lots: 41.5,
            quotes: 12_000,
            quotes_filled: 340,
            filled_lots: 510,
            share_at_top: [0.61, 0.583],
            queue_ahead_lots_p50: Some(17),
            flow_lifetime_ns: [Some(90_000), Some(2_400_000), None],
        };
        record.subjects[0].load.tick.truncate(2);
        record.subjects[0].load.tick[1].market_making = Some(outcome);
    });
    check(
        &traded,
        "Result of the market maker rust",
        expect![[r#"
        Result of the market maker rust
               position   made  quotes  filled  lots  at bid  at ask  ahead p50  flow's orders live
        run 2        -3  +41.5     12k   2.8 %   510  61.0 %  58.3 %         17   90.0 us 2.40 ms -
          Position in lots; made in ticks times lots, the position at the last mid price, without fees.
          Filled: quotes that traded at least in part. At bid, at ask: share of the time in which a quote
          was at the best price. Ahead: lots before a quote when it joined its queue. How long the flow's
          orders lived: p10, p50, p90."#]],
    );
}

#[test]
fn the_page_draws_both_bars_to_one_scale() {
    let record = record(|_| ());
    let json = serde_json::to_string(&record).unwrap();
    let page =
        record_page(&record, &json, RecordFiles { machine: Err("none"), timeline: Err("none") });
    if let Some(path) = std::env::var_os("TICKPATH_PAGE") {
        std::fs::write(path, &page).unwrap();
    }
    let widths = |ns: &str| -> Vec<f64> {
        let of = |rect: &str| {
            let width = rect.split_once("width=\"")?.1.split_once('"')?.0.parse::<f64>().ok()?;
            rect.contains("data-stage=\"network_out\"")
                .then_some(())
                .filter(|()| rect.contains(ns))
                .map(|()| width)
        };
        page.split("<rect").filter_map(of).collect()
    };
    let (usual, slow) = (widths("data-ns=\"6830\""), widths("data-ns=\"37830\""));
    // Two intervals; around p50 once more, enlarged, of the one where it is short.
    assert_eq!((usual.len(), slow.len()), (3, 2), "{usual:?}");
    assert!((slow[0] / usual[0] - 37_830.0 / 6_830.0).abs() < 0.1, "{usual:?} {slow:?}");
    for text in [
        "network_out owns the tail",
        "Where rust's time went",
        "The worst of rust",
        "of the samples lie",
    ] {
        assert!(page.contains(text), "no {text:?}");
    }
}

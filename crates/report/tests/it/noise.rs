//! The causes of gaps, as a person sees them.

use expect_test::expect;
use record::RunRecord;

fn record() -> RunRecord {
    let core = |core: u32, lost_ns: u64| {
        serde_json::json!({"core": core, "seconds": 75.0, "looks": 3_700_000_000u64, "look_ns": 20.3,
            "gap_from_ns": 220, "gaps": 120_400, "gaps_1us": 41_000, "gaps_10us": 18_800,
            "gaps_100us": 312, "gaps_1ms": 4, "max_ns": 3_012_345, "lost_ns": lost_ns,
            "unaccounted_ns": -1_250_000})
    };
    let cause = |cause: &str, count: u64, share: f64, period: Option<u64>, is: Option<&str>| {
        serde_json::json!({"cause": cause, "count": count, "lost_ns": (share * 9e8) as u64,
            "share": share, "p50_ns": (count >= 20).then_some(5_900), "max_ns": 141_000,
            "period_ns": period, "period_share": 0.99, "period_is": is})
    };
    let record = serde_json::json!({
        "schema": 1, "tool": "tickpath 0.1.0", "scenario": "noise", "complete": true,
        "valid": true, "invalid_because": [], "runs": 1, "runs_void": 0, "warnings": [],
        "noise": {
            "cores": [core(2, 600_000_000), core(3, 300_000_000)],
            "causes": [
                cause("tick", 18_750, 0.62, Some(4_000_005), Some("our_tick")),
                cause("host", 75_012, 0.3, Some(1_000_020), Some("host_tick")),
                cause("workqueue.virtio_transport_tx_work_of_long_name", 12, 0.079, None, None),
                cause("thread.cargo", 1, 0.00001, Some(7_000_000), None),
            ],
            "attribution": {"traced": true, "missing": ["the kernel does not let irq_vectors/irq_work_exit \
                be read"],
                "events": 100, "events_lost": 0, "aligned_share": 0.5,
                "cost": {"off": {"seconds": 4.0, "gaps": 6_000, "lost_ns": 20_000_000, "p50_ns": 360},
                    "on": {"seconds": 4.0, "gaps": 6_100, "lost_ns": 24_000_000, "p50_ns": 372}}},
            "longest": [
                {"core": 3, "run": 0, "at_seconds": 17.2901, "length_ns": 3_012_345,
                 "parts": [{"cause": "thread.cargo", "length_ns": 2_000_000},
                    {"cause": "host", "length_ns": 1_012_345}]},
                {"core": 2, "run": 4, "subject": "rust", "at_seconds": 0.5, "length_ns": 912_000,
                 "parts": [{"cause": "softirq.net_rx", "length_ns": 912_000}]}],
        },
        "subjects": []
    });
    RunRecord::from_json(&record.to_string()).unwrap()
}

#[test]
fn the_table_says_who_took_how_much_and_what_it_rests_on() {
    let table = report::table(&record(), 100);
    assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
    expect![[r#"
        noise · nothing was measured · 1 run

        gaps    look ns  gaps  >= 1 us  >= 10 us  >= 100 us  >= 1 ms  max us    lost  of time
        core 2     20.3  120k      41k       18k        312        4    3012  600 ms    0.80%
        core 3     20.3  120k      41k       18k        312        4    3012  300 ms    0.40%

        lost by                            count  of lost     lost  p50 us  max us                 period
        tick                                 18k    62.0%   558 ms    5.90     141      4.00 ms, our tick
        host                                 75k    30.0%   270 ms    5.90     141  1.00 ms, host's tick?
        workqueue.virtio_tra~of_long_name     12    7.90%  71.1 ms       -     141                      -
        thread.cargo                           1   <0.01%  9.00 us       -     141                7.00 ms

        longest
           3.01 ms  core 3 at 17.290 s: thread.cargo 2.00 ms, host 1.01 ms
            912 us  core 2, run 4, rust at 0.500 s: softirq.net_rx
          lost together 900 ms, 0.60% of the time; a gap is longer than 220 ns; looks that were no gaps took
          no longer than usual
          the same with tracing off: 1500 gaps/s, 0.50% of the time, p50 360 ns; on: 1525 gaps/s, 0.60% of
          the time, p50 372 ns
          ! only 50.0% of the kernel's events lie in gaps: its stamps and the meter's disagree, and causes
          are not to be trusted
          * the kernel does not let irq_vectors/irq_work_exit be read
    "#]].assert_eq(&table);
}

#[test]
fn a_record_without_it_has_no_word_of_it() {
    let record = RunRecord { noise: None, ..record() };
    assert!(!report::table(&record, 100).contains("lost by"));
}

#[test]
fn the_page_has_every_cause() {
    let record = record();
    let json = serde_json::to_string(&record).unwrap();
    let beside = report::RecordFiles { machine: Err("not here"), timeline: Err("not here") };
    let page = report::record_page(&record, &json, beside);
    let body = page.split("<script").next().unwrap();
    for word in [
        "Time taken by others",
        "workqueue.virtio_transport_tx_work_of_long_name",
        "4.00 ms, our tick",
    ] {
        assert!(body.contains(word), "{word}");
    }
}

//! `tickpath report --export hftbacktest` and `nautilus-trader`, read by the packages themselves.

use crate::support::python::python_with;
use crate::support::*;
use serde_json::Value;
use std::path::Path;
use testing::Need;

const SERIES: &str = "rust.order.service";

/// A run of a second, and its archive of three seconds from 2026-01-01.
fn exported(directory: &Path) -> (String, Vec<u8>) {
    let out = directory.display().to_string();
    let done = tickpath().args(SHORT).args(["--out", &out]).output().unwrap();
    assert!(!is_void(&record(&only_run(directory))), "{}", text(&done.stderr));
    let run = only_run(directory).display().to_string();
    let export = ["report", "--export", "hftbacktest", &run, "--series", SERIES];
    let time = ["--start", "2026-01-01T00:00:00Z", "--seconds", "3"];
    let done = output(&[&export[..], &time].concat());
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    (run, done.stdout)
}

/// Each order of a backtest takes a latency of the archive, and the run's log has it.
#[test]
fn hftbacktest_reads_the_latencies_of_a_run() {
    let Some(mut python) = python_with(Need::Hftbacktest, "hftbacktest", "TICKPATH_HFTBACKTEST")
    else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let (run, archive) = exported(directory.path());
    let file = directory.path().join("latency.npz");
    std::fs::write(&file, archive).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/backtest.py");
    let done = python.arg(script).arg(&file).output().unwrap();
    let read: Value = serde_json::from_slice(&done.stdout)
        .unwrap_or_else(|_| panic!("{}{}", text(&done.stdout), text(&done.stderr)));
    assert_eq!(read["rows"], 60);
    assert_eq!(read["fields"], serde_json::json!(["req_ts", "exch_ts", "resp_ts", "_padding"]));
    let log = std::fs::read(Path::new(&run).join("001.hlog")).unwrap();
    let totals = record::hlog::totals(&log[..]).unwrap();
    let orders = read["orders"].as_array().unwrap();
    assert_eq!(orders.len(), 12);
    for order in orders {
        let ns = |name: &str| order[name].as_u64().unwrap();
        assert_eq!(
            (ns("entry"), ns("response")),
            (ns("entry_expected"), ns("response_expected")),
            "{order}"
        );
        let round_trip = ns("entry") + ns("response");
        assert!(totals[SERIES].count_at(round_trip) > 0, "{round_trip} is not in the log");
    }
}

/// Half of the medians of orders and cancels; the package's exchange acts on commands that much
/// later.
#[test]
fn nautilus_trader_takes_the_latencies_of_a_run() {
    let directory = tempfile::tempdir().unwrap();
    let (run, _) = exported(directory.path());
    let done = output(&["report", "--export", "nautilus-trader", &run, "--series", SERIES]);
    let model: Value = serde_json::from_slice(&done.stdout).unwrap();
    let record = record(Path::new(&run));
    let half = |name: &str| {
        series(&record, "rust", name, "service")["pooled"]["p50"].as_u64().unwrap() / 2
    };
    let (order, cancel) = (half("order"), half("cancel"));
    let expected = serde_json::json!({"base_latency_nanos": 0, "insert_latency_nanos": order,
        "update_latency_nanos": order, "cancel_latency_nanos": cancel});
    assert_eq!(model, expected);

    let Some(mut python) =
        python_with(Need::NautilusTrader, "nautilus_trader", "TICKPATH_NAUTILUS_TRADER")
    else {
        return;
    };
    let file = directory.path().join("latency.json");
    std::fs::write(&file, done.stdout).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/nautilus.py");
    let done = python.arg(script).arg(&file).output().unwrap();
    let read: Value = serde_json::from_slice(&done.stdout)
        .unwrap_or_else(|_| panic!("{}{}", text(&done.stdout), text(&done.stderr)));
    let step = read["step"].as_u64().unwrap();
    let orders = read["orders"].as_array().unwrap();
    assert_eq!(orders.len(), 3);
    for one in orders {
        for (name, expected) in [("insert", order), ("cancel", cancel)] {
            let took = one[name].as_u64().unwrap();
            assert!((expected..=expected + step).contains(&took), "{name}: {expected}, {read}");
        }
    }
}

/// A latency for each order of a day, from a run whose orders came as those of the day.
#[test]
fn latencies_follow_the_bursts_of_a_day() {
    let Some(day) = testing::market_data("esh4-glbx-mdp3-20231225.mbo.dbn.zst") else { return };
    let day = day.display().to_string();
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().display().to_string();
    let sets = ["--set", "load.arrival=recorded", "--set", &format!("load.source={day}")];
    let done = tickpath().args(SHORT).args(["--out", &out]).args(sets).output().unwrap();
    assert!(!is_void(&record(&only_run(directory.path()))), "{}", text(&done.stderr));
    let run = only_run(directory.path()).display().to_string();
    let export = ["report", "--export", "hftbacktest", &run, "--by-intensity", &day];
    let done = output(&[&export[..], &["--series", "rust"]].concat());
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let times = flow::times_ns(Path::new(&day)).unwrap();
    // Two rows of 32 bytes for each time, once where times are equal.
    assert!(done.stdout.len() > 32 * times.len(), "{} bytes", done.stdout.len());
    let first = times[0].to_le_bytes();
    assert!(done.stdout.windows(8).any(|bytes| bytes == first), "no row at the day's start");
    let done = output(&[&export[..], &["--series", "floors"]].concat());
    assert!(text(&done.stderr).contains("no series such as floors.order@0.response"));
}

#[test]
fn an_export_without_a_series_or_of_two_records_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let (run, _) = exported(directory.path());
    let fails = |arguments: &[&str], expected: &str| {
        let done = output(&[&["report", "--export", "hftbacktest"], arguments].concat());
        let said = text(&done.stderr);
        assert_eq!((done.status.code(), done.stdout.len()), (Some(2), 0), "{said}");
        assert!(said.contains(expected), "{said}");
    };
    fails(&[&run], "needs --series, such as --series rust.order.service");
    fails(&[&run, &run, "--series", SERIES], "takes one record, not 2");
    fails(&[&run, "--series", "rust.no.service"], "it has no series \"rust.no.service\", but ");
    fails(&[&run, "--series", SERIES, "--start", "today"], "--start \"today\" is no time");
    fails(&[&run, "--series", SERIES, "--draws-per-second", "1000"], "(limit rows_max)");
}

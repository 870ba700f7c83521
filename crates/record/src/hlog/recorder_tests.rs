//! The recorder and its drain: warm-up, intervals, a late drain, a full disk.

use crate::hlog;
use clock::kind::Kind;
use clock::recorder::*;
use std::io::Write;
use std::time::{Duration, SystemTime};

const SERIES: [Series; 2] =
    [Series::new("order", Kind::Response), Series::new("order", Kind::Service)];

#[test]
fn warm_up_is_dropped_and_intervals_are_logged_and_added_up() {
    let (mut recorder, drain) = recorder(&SERIES, 3.0);
    recorder.record(0, 1);
    recorder.start(5_000);
    recorder.record(0, 100);
    recorder.record(1, 50);
    recorder.roll(5_000 + INTERVAL_NS);
    recorder.record(0, 300);
    recorder.finish(5_000 + INTERVAL_NS + 7);
    let mut log = Vec::new();
    drain.run("rust", &mut log, SystemTime::now(), 5_000, &|| ()).unwrap();

    let lines: Vec<hlog::LogLine> = log
        .split_inclusive(|byte| *byte == b'\n')
        .filter_map(|line| hlog::parse(line).unwrap())
        .collect();
    let tags: Vec<&str> = lines.iter().map(|line| line.tag).collect();
    assert_eq!(tags, ["rust.order.response", "rust.order.service", "rust.order.response"]);
    assert_eq!((lines[2].start, lines[2].length), (1.0, 0.0));
    let totals = hlog::totals(&log[..]).unwrap();
    assert_eq!(totals["rust.order.response"].len(), 2);
    assert_eq!(totals["rust.order.response"].max(), 300);
    assert_eq!(totals["rust.order.service"].len(), 1);
}

#[test]
fn a_drain_that_is_behind_makes_intervals_longer_and_loses_nothing() {
    let (mut recorder, drain) = recorder(&SERIES, 1.0);
    recorder.start(0);
    for second in 1..100 {
        recorder.record(0, second);
        recorder.roll(second * INTERVAL_NS);
    }
    recorder.finish(100 * INTERVAL_NS);
    let mut log = Vec::new();
    drain.run("rust", &mut log, SystemTime::now(), 0, &|| ()).unwrap();
    assert_eq!(hlog::totals(&log[..]).unwrap()["rust.order.response"].len(), 99);
}

#[test]
fn a_recorder_thread_drains_while_the_run_lasts() {
    let (mut recorder, drain) = recorder(&SERIES, 1_000.0);
    let thread = std::thread::spawn(move || {
        let mut log = Vec::new();
        drain.run("s", &mut log, SystemTime::now(), 0, &|| ()).map(|()| log)
    });
    recorder.start(0);
    for second in 1..=200 {
        recorder.record(0, second);
        recorder.roll(second * INTERVAL_NS);
        std::thread::sleep(Duration::from_micros(100));
    }
    recorder.finish(201 * INTERVAL_NS);
    let log = thread.join().unwrap().unwrap();
    assert_eq!(hlog::totals(&log[..]).unwrap()["s.order.response"].len(), 200);
}

/// The same lines for any length of run, watched or not.
#[test]
fn what_is_watched_is_logged_all_the_same() {
    for (seconds, watched) in [(5.0, true), (5.0, false), (1_000.0, true)] {
        let (mut recorder, mut drain) = recorder(&SERIES, seconds);
        let thread = std::thread::spawn(move || {
            let (mut log, mut counts) = (Vec::new(), Vec::new());
            let mut watch = |one: &Interval| counts.push(one.histograms[0].len());
            if watched && seconds <= SECONDS_IN_MEMORY_MAX {
                drain.keep(&mut watch);
            }
            let started = SystemTime::now();
            drain.run_watched("s", &mut log, started, 0, &|| (), &mut watch).unwrap();
            (log, counts)
        });
        recorder.start(0);
        for second in 1..=5 {
            (0..second).for_each(|_| recorder.record(0, 7));
            recorder.roll(second * INTERVAL_NS);
            std::thread::sleep(Duration::from_millis(5));
        }
        recorder.finish(5 * INTERVAL_NS + 9);
        let (log, counts) = thread.join().unwrap();
        assert_eq!(counts, [1, 2, 3, 4, 5, 0], "{seconds} {watched}");
        let lines = log.split_inclusive(|byte| *byte == b'\n');
        let logged: Vec<u64> = lines
            .flat_map(|line| hlog::totals(line).unwrap())
            .map(|(_, histogram)| histogram.len())
            .collect();
        assert_eq!(logged, [1, 2, 3, 4, 5], "{seconds} {watched}");
    }
}

#[test]
fn a_full_disk_is_an_error_and_the_recorder_goes_on() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::Error::from_raw_os_error(libc::ENOSPC))
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let (mut recorder, drain) = recorder(&SERIES, 1.0);
    recorder.start(0);
    recorder.record(0, 9);
    recorder.finish(10);
    let error = drain.run("rust", &mut Full, SystemTime::now(), 0, &|| ()).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ENOSPC));
}

#[test]
fn the_measured_part_is_from_the_first_interval_to_the_last() {
    let mut log = Vec::new();
    for (subject, started) in [("rust", 1_000), ("floor", 5_000)] {
        let (mut recorder, drain) = recorder(&SERIES, 5.0);
        // Half a second of warm-up, then two intervals.
        recorder.start(500_000_000);
        recorder.record(0, 10);
        recorder.roll(1_500_000_000);
        recorder.record(0, 10);
        recorder.finish(1_750_000_000);
        let started = SystemTime::UNIX_EPOCH + Duration::from_secs(started);
        drain.run(subject, &mut log, started, 0, &|| ()).unwrap();
    }
    assert_eq!(hlog::measured_part(&log[..], "rust"), Ok((1_000.5, 1_001.75)));
    assert_eq!(hlog::measured_part(&log[..], "floor"), Ok((5_000.5, 5_001.75)));
    assert!(hlog::measured_part(&log[..], "flo").is_err());
}

/// Each writer's log has its subjects in all its time modes, one block after the other. Absolute
/// times behind another block's base once lay half a century away.
#[test]
fn the_logs_of_other_languages_writers_lie_where_they_say() {
    let writers = [
        ("c", include_str!("../../tests/writers/c.hlog")),
        ("go", include_str!("../../tests/writers/go.hlog")),
        ("java", include_str!("../../tests/writers/java.hlog")),
        ("javascript", include_str!("../../tests/writers/javascript.hlog")),
        ("python", include_str!("../../tests/writers/python.hlog")),
    ];
    let subjects = ["absolute", "base", "bare", "start-absolute", "start-relative", "before"];
    for (writer, log) in writers {
        let totals = hlog::totals(log.as_bytes()).unwrap();
        assert_eq!(totals.len(), subjects.len(), "{writer}");
        for subject in subjects {
            let part = hlog::measured_part(log.as_bytes(), subject);
            assert_eq!(part, Ok((1_700_000_001.5, 1_700_000_002.75)), "{writer} {subject}");
            let total = &totals[&format!("{subject}.order.service")];
            assert_eq!(total.len(), 10, "{writer} {subject}");
            assert!(total.max().abs_diff(10_000) <= 10, "{writer} {subject}: {}", total.max());
        }
    }
}

/// A damaged line may hold the end of the measured part.
#[test]
fn the_measured_part_of_a_cut_log_is_not_known() {
    let log = include_str!("../../tests/writers/java.hlog");
    let why = hlog::measured_part(&log.as_bytes()[..log.len() - 9], "base").unwrap_err();
    assert!(why.contains("line 20") && why.contains("incomplete"), "{why}");
}

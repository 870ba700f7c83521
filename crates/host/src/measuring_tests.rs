use super::*;
use clock::kind::Kind;
use clock::recorder::{Series, recorder};

const SERIES: [Series; 1] = [Series::new("order", Kind::Service)];

fn measuring<'a>(hlog: &'a str, stop: &'a AtomicBool) -> MeasuringRun<'a> {
    let (core, writes_meanwhile, progress) = (None, false, true);
    MeasuringRun { subject: "rust", hlog, core, writes_meanwhile, progress, stop }
}

/// Records three values in two intervals.
fn record_three(reporter: &Reporter) -> ClientResult {
    let (mut recorder, drain) = recorder(&SERIES, 2.0);
    reporter.tell(&Second::default());
    reporter.start(drain, 0);
    recorder.start(0);
    recorder.record(0, 1_000);
    recorder.record(0, 2_000);
    recorder.roll(1_000_000_000);
    recorder.record(0, 3_000);
    recorder.finish(1_500_000_000);
    ClientResult { complete: true, ..ClientResult::default() }
}

#[test]
fn intervals_are_reported_and_written_after_the_run_or_meanwhile() {
    let directory = tempfile::tempdir().unwrap();
    for writes_meanwhile in [false, true] {
        let hlog = directory.path().join(format!("{writes_meanwhile}.hlog"));
        let (hlog, stop) = (hlog.display().to_string(), AtomicBool::new(false));
        let measuring = MeasuringRun { writes_meanwhile, ..measuring(&hlog, &stop) };
        let (mut values, mut seconds) = (0, 0);
        let result = measuring.carry_out::<MeasuringError>(
            |reporter| Ok(record_three(&reporter)),
            &mut |report| match report {
                Report::Interval(interval) => values += interval.histograms[0].len(),
                Report::Second(_) => seconds += 1,
            },
        );
        assert!(result.unwrap().complete);
        assert_eq!((values, seconds), (3, 1), "{writes_meanwhile}");
        let log = std::fs::read_to_string(&hlog).unwrap();
        assert_eq!(log.matches("rust.order.service").count(), 2, "{log}");
    }
}

#[test]
fn a_log_that_fails_ends_the_run_and_is_named() {
    let stop = AtomicBool::new(false);
    let measuring = MeasuringRun { writes_meanwhile: true, ..measuring("/dev/full", &stop) };
    let result = measuring
        .carry_out::<MeasuringError>(|reporter| Ok(record_three(&reporter)), &mut |_| ())
        .unwrap();
    assert!(!result.complete && result.failures[0].contains("/dev/full"), "{result:?}");
    assert!(result.failures[0].contains("free some space"), "{result:?}");
}

#[test]
fn nothing_is_measured_without_a_log_or_a_core() {
    let stop = AtomicBool::new(false);
    let never = |_| panic!("it measured");
    let error = measuring("/no/such/place/001.hlog", &stop)
        .carry_out::<MeasuringError>(never, &mut |_| ())
        .unwrap_err();
    assert!(error.to_string().contains("/no/such/place/001.hlog"), "{error}");
    let nowhere = MeasuringRun { core: Some(100_000), ..measuring("/dev/null", &stop) };
    let error = nowhere.carry_out::<MeasuringError>(never, &mut |_| ()).unwrap_err();
    assert!(matches!(error, MeasuringError::Host(_)), "{error}");
}

#[test]
fn a_panic_is_an_error() {
    let stop = AtomicBool::new(false);
    let error = measuring("/dev/null", &stop)
        .carry_out::<MeasuringError>(|_| panic!("a bug of the test"), &mut |_| ())
        .unwrap_err();
    assert!(matches!(error, MeasuringError::Panicked), "{error}");
}

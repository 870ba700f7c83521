use super::*;
use crate::meter::{Gap, Totals as GapTotals};
use std::time::SystemTime;

#[test]
fn a_record_is_left_and_adds_up() {
    let runs = tempfile::tempdir().unwrap();
    let core = host::thread::allowed().unwrap()[0];
    let run = Run {
        plan: Plan {
            cores: vec![core],
            scheduling: host::Scheduling::Other,
            threshold_ns: crate::meter::THRESHOLD_NS,
            seconds: 0.4,
            has_fair_server: true,
        },
        runs_directory: runs.path().to_owned(),
        tool: "tickpath 0.0.0".to_owned(),
        command: vec!["tickpath".to_owned()],
        warnings: Vec::new(),
    };
    let (record, path) = run.carry_out(&AtomicBool::new(false)).unwrap();
    assert!(record.complete, "{:?}", record.void_because);
    let noise = record.noise.as_ref().unwrap();
    let (one, lost_ns) =
        (&noise.cores[0], noise.causes.iter().map(|cause| cause.lost_ns).sum::<u64>());
    // Causes subtract a whole look from each gap, the core's own sum also the look's fraction.
    assert!(lost_ns.abs_diff(one.lost_ns) <= one.gaps + 1, "{lost_ns} {}", one.lost_ns);
    let series = record.subjects[0].series(SERIES, Kind::Noise);
    assert_eq!(series.map_or(0, |series| series.pooled.count), one.gaps - one.gaps_not_kept);
    if !noise.attribution.traced {
        eprintln!("not traced: {:?}", noise.attribution.missing);
        assert_eq!(noise.causes.len(), 1);
        assert!(!noise.attribution.missing.is_empty());
    }
    let again = directory::load_record(&path).unwrap();
    assert_eq!(again.noise.unwrap().longest.len(), noise.longest.len());
    // Stopped at once: there is a record, but it is void.
    let (record, _) = run.carry_out(&AtomicBool::new(true)).unwrap();
    assert!(!record.complete && record.is_void());
}

#[test]
fn the_log_of_a_long_time_has_every_gap_in_its_second() {
    let second = 1_000_000_000;
    let gaps: Vec<Gap> = (0..150)
        .map(|number| Gap { start_ns: number * second + 5, end_ns: number * second + 1_005 })
        .collect();
    let seen = MeterResult {
        core: 4,
        thread: 1,
        started: SystemTime::UNIX_EPOCH,
        start_ns: 0,
        end_ns: 150 * second,
        looks: 1,
        look_ns: 20.0,
        limit_ns: 220,
        totals: GapTotals::default(),
        gaps,
        anchors: [(0, 0); 2],
    };
    let mut log = Vec::new();
    write_core(&mut log, &seen).unwrap();
    let totals = record::hlog::totals(&log[..]).unwrap();
    assert_eq!(totals["core4.gap.noise"].len(), 150);
    let text = String::from_utf8(log).unwrap();
    assert_eq!(text.lines().filter(|line| line.starts_with("Tag=core4.gap.noise,")).count(), 150);
}

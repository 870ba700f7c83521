use super::*;
use crate::{LogTail, ReadError, Reader};
use clock::Deadline;
use std::fs::File;
use std::path::Path;

fn settings(directory: &Path) -> Settings {
    let pause = Duration::from_millis(1);
    Settings { pause, ..Settings::new(directory.join("001.audit"), Clock::calibrate()) }
}

fn read(path: &Path) -> Result<(Vec<Record>, LogTail), ReadError> {
    let mut reader = Reader::new(std::io::BufReader::new(File::open(path)?))?;
    let records: Result<Vec<Record>, ReadError> = reader.by_ref().collect();
    Ok((records?, reader.tail().unwrap()))
}

fn ack(order: u64) -> Record {
    Record::Ack { order, order_id: order, accepted: true, replied_ns: order, stamps: [order; 4] }
}

/// The logged records, by the number of their order.
fn told(records: &[Record]) -> Vec<u64> {
    let order = |record: &Record| match *record {
        Record::Ack { order, .. } => Some(order),
        _ => None,
    };
    records.iter().filter_map(order).collect()
}

#[test]
fn what_was_told_is_on_disk_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let settings = settings(directory.path());
    let file = settings.file.clone();
    let clock = settings.clock;
    let (mut auditor, logger) = start(settings).unwrap();
    let from_ns = clock.now_ns();
    for order in 0..50_000 {
        auditor.tell(&ack(order));
    }
    drop(auditor);
    let finished = logger.finish();
    assert!(finished.windows.overlap(from_ns, clock.now_ns()));
    let (records, tail) = read(&file).unwrap();
    assert_eq!(tail, LogTail::Finished);
    assert!(told(&records).into_iter().eq(0..50_000));
    let audit = finished.audit;
    assert_eq!(
        (audit.records + 1, audit.lost, audit.failed.as_str()),
        (records.len() as u64, 0, "")
    );
    assert_eq!(audit.windows, finished.windows.count());
    let walls = records.iter().filter(|record| matches!(record, Record::Wall { .. })).count();
    assert!(walls >= 1, "the wall clock is read at the end at least");
    assert!(matches!(records.last(), Some(Record::End { lost: 0, .. })));
}

/// The logger sleeps; the ring has room for four.
#[test]
fn what_finds_no_room_is_counted_where_it_happened() {
    let directory = tempfile::tempdir().unwrap();
    let slow =
        Settings { ring_records: 4, pause: Duration::from_secs(60), ..settings(directory.path()) };
    let file = slow.file.clone();
    let (mut auditor, logger) = start(slow).unwrap();
    // It looks once before its first sleep.
    std::thread::sleep(Duration::from_millis(200));
    (0..100).for_each(|order| auditor.tell(&ack(order)));
    assert!(auditor.lost() >= 92, "{}", auditor.lost());
    let lost = auditor.lost();
    let audit = logger.finish().audit;
    assert_eq!(audit.lost, lost);
    let (records, tail) = read(&file).unwrap();
    assert_eq!((tail, told(&records).len() as u64), (LogTail::Finished, 100 - lost));
    let counted: u64 = records
        .iter()
        .map(|record| if let Record::Lost { count, .. } = record { *count } else { 0 })
        .sum();
    assert_eq!(counted, lost);
    assert!(matches!(records.last(), Some(Record::End { lost: told, .. }) if *told == lost));
}

/// A killed writer leaves a log without an end record; so does one whose process never finishes it.
#[test]
fn while_it_runs_the_log_can_be_read() {
    let directory = tempfile::tempdir().unwrap();
    let settings = settings(directory.path());
    let file = settings.file.clone();
    let (mut auditor, logger) = start(settings).unwrap();
    (0..10).for_each(|order| auditor.tell(&ack(order)));
    let deadline = Deadline::after(Duration::from_secs(10));
    loop {
        let (records, tail) = read(&file).unwrap();
        assert_ne!(tail, LogTail::Finished);
        if told(&records).len() == 10 {
            break;
        }
        assert!(!deadline.left().is_zero(), "{records:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(logger);
    assert_eq!(read(&file).unwrap().1, LogTail::Finished);
}

#[test]
fn what_cannot_begin_says_why() {
    let directory = tempfile::tempdir().unwrap();
    let settings = settings(directory.path());
    let rejected = |settings: &Settings| start(settings.clone()).err().unwrap().to_string();
    let nowhere = Settings { file: "/nowhere/at/all".into(), ..settings.clone() };
    assert!(rejected(&nowhere).contains("/nowhere/at/all"));
    let no_ring = Settings { ring_records: 0, ..settings.clone() };
    assert!(rejected(&no_ring).contains("1 to"));
    let long = Settings { scenario: "x".repeat(5_000), ..settings.clone() };
    assert!(rejected(&long).contains("4076"));
    let no_core = Settings { core: Some(4_095), ..settings.clone() };
    assert!(rejected(&no_core).contains("4095"), "{}", rejected(&no_core));
    // Only the last rejected one had made its file.
    std::fs::remove_file(&settings.file).unwrap();
    drop(start(settings.clone()).unwrap());
    assert!(rejected(&settings).contains("already"), "{}", rejected(&settings));
}

#[test]
fn a_record_on_its_way_is_not_much_larger_than_on_disk() {
    assert!(size_of::<Record>() <= RECORD_BYTES + 8);
}

//! Errors of the system, made with special files.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use engine::{Cancel, Command, EngineLimits};
use ipc::region::RegionBacking;
use ipc::ring::{Producer, Producers, Ring, Shape};

use super::*;
use crate::file::directory::{Access, Directory};
use crate::file::header::{FileKind, Header, Identity};
use crate::file::mark::Mark;
use crate::file::segment::Segment;
use crate::write::ahead::{Maker, SegmentMaker};
use crate::write::state::{JournalState, WriterState};

const INPUTS: u64 = 5;

/// A writer to this file, and the sending end of its ring with some inputs.
fn writer(place: &std::path::Path, file: &str) -> (Writer, Producer) {
    let directory = Directory::new(place);
    let lock = directory.lock(Access::Write).unwrap();
    let identity = Identity { instruments: 1, limits: EngineLimits::matching_only(1, 1) };
    let header = Header { kind: FileKind::Segment, log: 1, sequence: 0, records: 100, identity };
    let shared = Arc::new(WriterState::new(0, 100));
    let mark = Mark::create(&directory, 1, 0, Arc::clone(&shared)).unwrap();
    let maker = Maker { directory, header, zeroed: false, shared: Arc::clone(&shared) };
    let ahead = SegmentMaker::start(maker, 100).unwrap();
    let shape = Shape {
        slots: 64,
        message_bytes_max: Input::BYTES,
        producers: Producers::One,
        may_sleep: false,
    };
    let ring = Ring::create(RegionBacking::Memory, shape).unwrap();
    let mut producer = ring.producer().unwrap();
    for order_id in 0..INPUTS {
        let cancel = Cancel { order_id, account: 0, tag: 0, instrument: 0 };
        let input = Input { time_ns: 0, command: Command::Cancel(cancel) };
        producer.try_send(&input.to_bytes()).unwrap();
    }
    let opened = File::options().write(true).open(file).unwrap();
    let writer = Writer {
        consumer: ring.consumer().unwrap(),
        wait: Wait::Spin,
        group_inputs_max: 3,
        log: LogWriter {
            segment: Segment::of_file(opened, PathBuf::from(file), header),
            next: 0,
            group: Vec::new(),
            shared,
            ahead,
            mark,
            lock,
        },
    };
    (writer, producer)
}

/// `/dev/null` accepts every write and can't be synced, like a disk that loses its data.
#[test]
fn a_sync_that_fails_is_the_end() {
    let place = tempfile::tempdir().unwrap();
    let (writer, _producer) = writer(place.path(), "/dev/null");
    let shared = Arc::clone(&writer.log.shared);
    writer.run();
    assert_eq!(shared.durable(), 0);
    assert_eq!(shared.room_end(), 0, "nothing more is taken");
    let JournalState::Failed { why: JournalError::NotDurable { path, .. } } = shared.state() else {
        panic!("{:?}", shared.state());
    };
    assert_eq!(path, &PathBuf::from("/dev/null"));
    // The thread that makes segments is late, and must not reopen the room.
    shared.set_room_end(200);
    assert_eq!(shared.room_end(), 0);
}

/// `/dev/full` rejects every byte.
#[test]
fn a_write_without_room_is_tried_again_until_the_end() {
    let place = tempfile::tempdir().unwrap();
    let (writer, _producer) = writer(place.path(), "/dev/full");
    let shared = Arc::clone(&writer.log.shared);
    let thread = std::thread::spawn(move || writer.run());
    let deadline = clock::Deadline::after(Duration::from_secs(60));
    while !matches!(shared.state(), JournalState::NoRoom) {
        assert!(!deadline.left().is_zero(), "{:?}", shared.state());
        std::thread::yield_now();
    }
    assert!(!thread.is_finished());
    shared.stop();
    thread.join().unwrap();
    assert_eq!(shared.durable(), 0);
    let JournalState::Failed { why } = shared.state() else { panic!("what was taken is lost") };
    assert!(matches!(why, JournalError::NoRoom { .. }), "{why}");
}

#[test]
fn a_write_that_fails_otherwise_is_the_end() {
    let place = tempfile::tempdir().unwrap();
    let (mut writer, _producer) = writer(place.path(), "/dev/null");
    // Opened only for reading.
    let file = File::open("/dev/null").unwrap();
    let header = *writer.log.segment.header();
    writer.log.segment = Segment::of_file(file, PathBuf::from("/dev/null"), header);
    let shared = Arc::clone(&writer.log.shared);
    writer.run();
    let JournalState::Failed { why } = shared.state() else { panic!("{:?}", shared.state()) };
    assert!(matches!(why, JournalError::System { doing: "write", .. }), "{why}");
}

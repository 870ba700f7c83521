//! A full disk is an error of the call that needs room, never a SIGBUS, and written records stay.
//! On a tmpfs of a few pages, in its own mount namespace.

use std::path::Path;

use ipc::IpcError;
use ipc::queue::{BLOCK_BYTES_MIN, BlockMaker, Options, QueueError, Reader, Start, Writer};
use testing::{small_disk, test_name};

/// Room for three blocks, their names, and a part of a fourth.
const DISK_BYTES: usize = 3 * BLOCK_BYTES_MIN + BLOCK_BYTES_MIN / 2;

fn fill(place: &Path, ahead: BlockMaker) {
    let options = Options {
        block_bytes: BLOCK_BYTES_MIN,
        keep_blocks: 100,
        checked: true,
        ahead,
        may_sleep: false,
    };
    let directory = place.join("queue");
    let mut writer = Writer::open(&directory, options).unwrap();
    let is_no_room =
        |error: &QueueError| matches!(error, QueueError::Block(IpcError::NoRoom { .. }));
    let record = |sequence: u64| vec![sequence as u8; 1000];
    let full = loop {
        match writer.append(&record(writer.next_sequence())) {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(is_no_room(&full), "{full}");
    // 15 records fill a block. Appended records stay, rejected ones are absent.
    let taken = writer.next_sequence();
    assert_eq!(taken, 45);
    assert!(is_no_room(&writer.append(&[1; 1000]).unwrap_err()), "it is full still");
    if ahead == BlockMaker::Caller {
        assert!(is_no_room(&writer.prepare_next().unwrap_err()));
    }
    let mut reader = Reader::open(&directory, Start::Oldest, BlockMaker::Caller).unwrap();
    let mut next = 0;
    while reader
        .read(9, |sequence, bytes| {
            assert_eq!((sequence, bytes), (next, &record(next)[..]));
            next += 1;
        })
        .unwrap()
        > 0
    {}
    assert_eq!(next, taken);

    // With free room, the same writer and its readers continue.
    std::fs::remove_file(directory.join("00000000.block")).unwrap();
    assert_eq!(writer.append(&record(taken)).unwrap(), taken);
    assert_eq!(reader.read(9, |_, bytes| assert_eq!(bytes, record(taken))).unwrap(), 1);
    drop(writer);
    assert_eq!(Writer::open(&directory, options).unwrap().next_sequence(), taken + 1);
}

#[test]
fn a_full_disk_is_an_error_of_append() {
    let name = test_name!(a_full_disk_is_an_error_of_append);
    small_disk::on(DISK_BYTES as u64, &name, |place| fill(place, BlockMaker::Caller));
}

#[test]
fn a_full_disk_that_the_thread_meets_is_an_error_of_append() {
    small_disk::on(
        DISK_BYTES as u64,
        &test_name!(a_full_disk_that_the_thread_meets_is_an_error_of_append),
        |place| {
            fill(place, BlockMaker::Thread);
        },
    );
}

#[test]
fn a_disk_too_small_for_one_block_is_an_error_of_open() {
    small_disk::on(
        DISK_BYTES as u64,
        &test_name!(a_disk_too_small_for_one_block_is_an_error_of_open),
        |place| {
            let options = Options { block_bytes: DISK_BYTES + 1, ..Options::default() };
            let error = Writer::open(&place.join("queue"), options).err().unwrap();
            assert!(matches!(error, QueueError::Block(IpcError::NoRoom { .. })), "{error}");
            assert!(error.to_string().contains("no room for"), "{error}");
        },
    );
}

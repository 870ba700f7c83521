use super::*;
use proptest::prelude::*;
use std::fs;
use std::path::Path;
use testing::{small_disk, test_name};

#[derive(Clone, Debug)]
enum Step {
    Sent(Vec<u8>),
    NextIn(u64),
    Reset,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => proptest::collection::vec(any::<u8>(), 0..40).prop_map(Step::Sent),
        4 => (1u64..1000).prop_map(Step::NextIn),
        1 => Just(Step::Reset),
    ];
    proptest::collection::vec(step, 0..10)
}

fn apply(store: &mut impl Store, step: &Step) {
    match step {
        Step::Sent(message) => store.sent(message),
        Step::NextIn(next_in) => store.set_next_in(*next_in),
        Step::Reset => store.reset(),
    }
    .expect("a store that works");
}

type StoreContent = (u64, u64, Vec<(u64, Vec<u8>)>);

fn seen(store: &mut impl Store) -> StoreContent {
    let mut messages = Vec::new();
    let mut each = |seq, message: &[u8]| messages.push((seq, message.to_vec()));
    store.read(1..=u64::MAX, &mut each).expect("messages");
    (store.next_out(), store.next_in(), messages)
}

/// A store that finds these bytes: what it says. It must go on from there.
fn opened(bytes: &[u8]) -> StoreContent {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store");
    fs::write(&path, bytes).expect("a copy");
    let mut store = FileStore::with_limit(&path, 4000).expect("a store");
    let found = seen(&mut store);
    apply(&mut store, &Step::NextIn(7));
    drop(store);
    let again = seen(&mut FileStore::open(&path).expect("again"));
    assert_eq!(again, (found.0, 7, found.2.clone()));
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(4)))]

    /// The process may end within any write: what was complete before is there. Bytes of a record
    /// come in any order to the file, and files of earlier versions end with the last one.
    #[test]
    fn a_file_cut_at_any_byte_is_the_store_before_the_cut_record(steps in steps()) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("store");
        let mut store = FileStore::with_limit(&path, 4000).expect("a store");
        let mut model = MemoryStore::default();
        for step in &steps {
            let (start, before) = (store.end(), seen(&mut model));
            apply(&mut store, step);
            apply(&mut model, step);
            let after = seen(&mut model);
            prop_assert_eq!(&seen(&mut store), &after);
            if matches!(step, Step::Reset) {
                continue;
            }
            let bytes = fs::read(&path).expect("bytes");
            let end = store.end();
            for cut in start..end {
                prop_assert_eq!(&opened(&bytes[..cut]), &before, "ends at {}", cut);
                let mut first = bytes.clone();
                first[cut..].fill(0);
                // A record may end with zeros.
                let is_whole = bytes[cut..end].iter().all(|byte| *byte == 0);
                let either = if is_whole { &after } else { &before };
                prop_assert_eq!(&opened(&first), either, "zeros from {}", cut);
                let mut last = bytes.clone();
                last[start..=cut].fill(0);
                prop_assert_eq!(&opened(&last), &before, "zeros up to {}", cut);
            }
        }
    }

    /// A changed bit is no record, nor is anything after it.
    #[test]
    fn any_bytes_open_or_say_why(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("store");
        fs::write(&path, &bytes).expect("a file");
        match FileStore::open(&path) {
            Ok(store) => prop_assert!(store.next_out() >= 1),
            Err(error) => prop_assert!(error.to_string().contains("no message store")),
        }
    }
}

/// Two exchanges with one folder would both append.
#[test]
fn a_file_has_one_user() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store");
    let mut store = FileStore::open(&path).expect("a store");
    for _ in 0..2 {
        let error = FileStore::open(&path).expect_err("it is in use").to_string();
        assert!(error.contains("another exchange"), "{error}");
        // A file that is written anew is locked as well.
        store.reset().expect("a store that works");
    }
    drop(store);
    FileStore::open(&path).expect("free again");
}

#[test]
fn a_full_file_keeps_numbers_and_newer_messages() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store");
    let mut store = FileStore::with_limit(&path, 4000).expect("a store");
    for n in 0..100u8 {
        store.set_next_in(u64::from(n) + 5).expect("a number");
        store.sent(&[n; 100]).expect("a message");
        assert!(folder_bytes(folder.path()) <= 4000);
    }
    let before = seen(&mut store);
    assert_eq!((before.0, before.1), (101, 104));
    let newest = before.2.last().expect("messages");
    assert_eq!(newest, &(100, vec![99; 100]));
    assert!(before.2.len() > 10 && before.2.len() < 40, "{} messages", before.2.len());
    drop(store);
    let again = seen(&mut FileStore::with_limit(&path, 4000).expect("again"));
    assert_eq!(again, before);
    // Longer than half the limit: not sent, and the store is as before.
    let mut store = FileStore::with_limit(&path, 4000).expect("again");
    store.sent(&[1; 3000]).expect_err("no file has room");
    assert_eq!((store.next_out(), store.next_in()), (101, 104));
    store.sent(&[1; 100]).expect("the next one has");
}

fn folder_bytes(folder: &Path) -> u64 {
    let files = fs::read_dir(folder).expect("a folder");
    files.map(|file| file.expect("a file").metadata().expect("its size").len()).sum()
}

/// A page of the file without a place on the disk would end the process when it is written.
#[test]
fn a_store_on_a_full_disk_uses_what_it_has_reserved_and_then_says_so() {
    const DISK_BYTES: u64 = FILE_BYTES_MAX + (FILE_BYTES_MAX >> 2);
    let name = test_name!(a_store_on_a_full_disk_uses_what_it_has_reserved_and_then_says_so);
    small_disk::on(DISK_BYTES, &name, |folder| {
        let path = folder.join("store.fix");
        let mut store = FileStore::open(&path).expect("a store");
        let rest = folder.join("rest");
        fs::write(&rest, vec![1; DISK_BYTES as usize]).expect_err("a full disk");
        let error = std::iter::repeat_with(|| store.sent(&[7; 10_000])).find_map(Result::err);
        let error = error.expect("no room for another file");
        assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
        assert!(error.to_string().contains("cannot reserve"), "{error}");
        let sent = FILE_BYTES_MAX / 2 / 10_100;
        assert!(store.next_out() > sent, "{}", store.next_out());
        let before = seen(&mut store);
        fs::remove_file(&rest).expect("the rest");
        store.sent(&[8; 10_000]).expect("room again");
        drop(store);
        let after = seen(&mut FileStore::open(&path).expect("again"));
        assert_eq!((after.0, after.1), (before.0 + 1, before.1));
        assert_eq!(after.2.last(), Some(&(before.0, vec![8; 10_000])));
    });
}

/// The process may end between two of the calls that put a new file in its place: `turn_over` and
/// `reset` at each of them.
#[test]
fn an_end_between_two_renames_loses_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let open = || FileStore::with_limit(&at("store.fix"), 1000).expect("a store");
    let mut store = open();
    // The second file has begun, and the present one is full.
    while !at("store.older").exists() || store.end() < 450 {
        store.sent(&[7; 20]).expect("a message");
        store.set_next_in(store.next_out() + 10).expect("a number");
    }
    let before = seen(&mut store);
    drop(store);

    fs::write(at("store.new"), "half a file, or another one").expect("a file");
    assert_eq!(seen(&mut open()), before);
    // Behind each rename of `turn_over` but the last: older messages are gone, as after it.
    for (from, to) in [("store.older", "store.new"), ("store.fix", "store.older")] {
        fs::rename(at(from), at(to)).expect("a rename");
        let (next_out, next_in, messages) = seen(&mut open());
        assert_eq!((next_out, next_in), (before.0, before.1), "{from}");
        assert!(!messages.is_empty() && before.2.ends_with(&messages), "{from}");
    }
    let mut store = open();
    while !at("store.older").exists() {
        store.sent(&[8; 20]).expect("a message");
    }
    let older = fs::read(at("store.older")).expect("a file");

    // `reset` has not removed the older file.
    store.reset().expect("a store that works");
    drop(store);
    fs::write(at("store.older"), older).expect("a file");
    let mut store = open();
    assert_eq!(seen(&mut store), (1, 1, Vec::new()));
    store.sent(&[9; 20]).expect("a message");
    drop(store);
    assert_eq!(seen(&mut open()), (2, 1, vec![(1, vec![9; 20])]));
}

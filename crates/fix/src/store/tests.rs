use super::*;
use proptest::prelude::*;
use std::fs;

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

type Seen = (u64, u64, Vec<(u64, Vec<u8>)>);

fn seen(store: &mut impl Store) -> Seen {
    let mut messages = Vec::new();
    let mut each = |seq, message: &[u8]| messages.push((seq, message.to_vec()));
    store.read(1..=u64::MAX, &mut each).expect("messages");
    (store.next_out(), store.next_in(), messages)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(4)))]

    /// The process may end within any write: what was complete before is there.
    #[test]
    fn a_file_cut_at_any_byte_is_the_store_before_the_cut_record(steps in steps()) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("store");
        let mut store = FileStore::open(&path).expect("a store");
        let mut model = MemoryStore::default();
        // The file's size after each step since the last reset, and what it held.
        let mut history = vec![(store_bytes(&path), seen(&mut model))];
        for step in &steps {
            apply(&mut store, step);
            apply(&mut model, step);
            prop_assert_eq!(seen(&mut store), seen(&mut model));
            if matches!(step, Step::Reset) {
                history.clear();
            }
            history.push((store_bytes(&path), seen(&mut model)));
        }
        drop(store);
        let bytes = fs::read(&path).expect("bytes");
        let cut_path = folder.path().join("cut");
        for cut in history[0].0..=bytes.len() {
            fs::write(&cut_path, &bytes[..cut]).expect("a copy");
            let mut store = FileStore::open(&cut_path).expect("a cut store");
            let whole = history.iter().rev().find(|(size, _)| *size <= cut);
            prop_assert_eq!(&seen(&mut store), &whole.expect("a state before").1, "cut at {}", cut);
            // And it goes on from there.
            apply(&mut store, &Step::NextIn(7));
            drop(store);
            prop_assert_eq!(FileStore::open(&cut_path).expect("again").next_in(), 7);
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

fn store_bytes(path: &std::path::Path) -> usize {
    fs::metadata(path).expect("a file").len() as usize
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
        assert!(store_bytes(&path) <= 4000);
    }
    let before = seen(&mut store);
    assert_eq!((before.0, before.1), (101, 104));
    let newest = before.2.last().expect("messages");
    assert_eq!(newest, &(100, vec![99; 100]));
    assert!(before.2.len() > 10 && before.2.len() < 40, "{} messages", before.2.len());
    drop(store);
    assert_eq!(seen(&mut FileStore::open(&path).expect("again")), before);
}

//! A follower whose disk is full says so, waits for room, and ends when it is told to.

use crate::ends::{inputs, listener, options, primary};
use clock::Deadline;
use journal::Mode;
use replica::follow::{FollowSettings, follow};
use replica::store::DirectoryStore;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use testing::{small_disk, test_name};

const SEGMENT_BYTES: u64 = 1 << 14;
const SEGMENT_RECORDS: u64 = (SEGMENT_BYTES - 128) / 96;
/// Room for four segments and small files; with the filler, for two.
const DISK_BYTES: u64 = 9 * SEGMENT_BYTES / 2 + FILES_BYTES;
const FILES_BYTES: u64 = 4 * 4096;
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_follower_without_room_waits_for_it_and_ends_when_told() {
    let name = test_name!(a_follower_without_room_waits_for_it_and_ends_when_told);
    small_disk::on(DISK_BYTES, &name, follow_without_room);
}

fn wait_for(what: &str, is_there: impl Fn() -> bool) {
    let deadline = Deadline::after(PATIENCE);
    while !is_there() {
        assert!(!deadline.left().is_zero(), "{what} did not come");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn follow_without_room(place: &Path) {
    let filler = place.join("filler");
    std::fs::write(&filler, vec![1; 2 * SEGMENT_BYTES as usize]).unwrap();
    let (elsewhere, copy) = (tempfile::tempdir().unwrap(), place.join("copy"));
    let (door, address) = listener();
    let stop = Arc::new(AtomicBool::new(false));
    // How often it was asked whether to wait for room, and told that it has some again.
    let [asked, told] = [0; 2].map(|none| Arc::new(AtomicUsize::new(none)));
    let mut store = DirectoryStore::open(&copy, options(Mode::Sync)).unwrap();
    let (its_stop, its_asked, its_told) =
        (Arc::clone(&stop), Arc::clone(&asked), Arc::clone(&told));
    let mut was_full = false;
    store.tell_room(Box::new(move |is_full| {
        its_asked.fetch_add(is_full.into(), Ordering::SeqCst);
        its_told.fetch_add((was_full && !is_full).into(), Ordering::SeqCst);
        was_full = is_full;
        !its_stop.load(Ordering::SeqCst)
    }));
    // It is told once, one segment ahead, and then asked as long as it waits.
    let waits = || {
        let before = asked.load(Ordering::SeqCst);
        wait_for("the wait for room", || asked.load(Ordering::SeqCst) > before + 3);
    };
    let flag = Arc::clone(&stop);
    let follower = std::thread::spawn(move || {
        let counts = follow(&door, &mut store, FollowSettings::default(), &flag, &mut |_| {});
        counts.map(|_| store.next_sequence())
    });

    // More than it has room for.
    let mut first = primary(elsewhere.path(), address, Mode::Async);
    let shipping = first.appender.shipping().unwrap();
    first.append(3 * SEGMENT_RECORDS);
    waits();
    assert!(shipping.replicated() <= 2 * SEGMENT_RECORDS);

    std::fs::remove_file(&filler).unwrap();
    wait_for("the third segment", || shipping.replicated() == 3 * SEGMENT_RECORDS);
    assert_eq!(told.load(Ordering::SeqCst), 1);

    // It waits for a fifth segment when it has to end.
    first.append(2 * SEGMENT_RECORDS);
    waits();
    stop.store(true, Ordering::SeqCst);
    wait_for("its end", || follower.is_finished());
    assert_eq!(follower.join().unwrap().unwrap(), 4 * SEGMENT_RECORDS);
    assert_eq!(inputs(&copy).len() as u64, 4 * SEGMENT_RECORDS);
}

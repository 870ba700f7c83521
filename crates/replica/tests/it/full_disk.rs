//! A follower whose disk is full says so, waits for room, and ends when it is told to.

use crate::ends::{inputs, listener, options, primary};
use clock::Deadline;
use journal::Mode;
use replica::follow::{FollowSettings, follow};
use replica::session::StoreError;
use replica::store::DirectoryStore;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use testing::{small_disk, test_name};

const SEGMENT_BYTES: u64 = 1 << 14;
const SEGMENT_RECORDS: u64 = (SEGMENT_BYTES - 128) / 96;
/// Room for four segments and small files; with the filler, for two.
const DISK_BYTES: u64 = 9 * SEGMENT_BYTES / 2 + FILES_BYTES;
const FILES_BYTES: u64 = 4 * PAGE_BYTES;
const PAGE_BYTES: u64 = 4096;
/// Room for one segment and its mark, and for a page each of terms and register: the fillers'.
const SMALL_FILES_BYTES: u64 = SEGMENT_BYTES + PAGE_BYTES + 2 * PAGE_BYTES;
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_follower_without_room_waits_for_it_and_ends_when_told() {
    let name = test_name!(a_follower_without_room_waits_for_it_and_ends_when_told);
    small_disk::on(DISK_BYTES, &name, follow_without_room);
}

/// The next segment is tried again and again, and takes all the room there is for that moment. A
/// standby whose register came then ended with an error.
#[test]
fn what_is_beside_the_records_waits_for_room_too() {
    let name = test_name!(what_is_beside_the_records_waits_for_room_too);
    small_disk::on(SMALL_FILES_BYTES, &name, |place| {
        for removed in 0..=2 {
            write_small_files(&place.join(removed.to_string()), removed);
            std::fs::remove_dir_all(place.join(removed.to_string())).unwrap();
        }
    });
}

fn wait_for(what: &str, is_there: impl Fn() -> bool) {
    let deadline = Deadline::after(PATIENCE);
    while !is_there() {
        assert!(!deadline.left().is_zero(), "{what} did not come");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A follower on a small disk.
struct Small {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    /// How often it was asked whether to wait for room, and told that it has some again.
    asked: Arc<AtomicUsize>,
    told: Arc<AtomicUsize>,
    /// The record that it needs next, at its end.
    thread: JoinHandle<Result<u64, StoreError>>,
}

impl Small {
    fn start(copy: &Path) -> Small {
        let (door, address) = listener();
        let stop = Arc::new(AtomicBool::new(false));
        let [asked, told] = [0; 2].map(|none| Arc::new(AtomicUsize::new(none)));
        let mut store = DirectoryStore::open(copy, options(Mode::Sync)).unwrap();
        let (its_stop, its_asked, its_told) =
            (Arc::clone(&stop), Arc::clone(&asked), Arc::clone(&told));
        let mut was_full = false;
        store.tell_room(Box::new(move |is_full| {
            its_asked.fetch_add(is_full.into(), Ordering::SeqCst);
            its_told.fetch_add((was_full && !is_full).into(), Ordering::SeqCst);
            was_full = is_full;
            !its_stop.load(Ordering::SeqCst)
        }));
        let flag = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let counts = follow(&door, &mut store, FollowSettings::default(), &flag, &mut |_| {});
            counts.map(|_| store.next_sequence())
        });
        Small { address, stop, asked, told, thread }
    }

    /// It is told once, one segment ahead, and then asked as long as it waits.
    fn waits(&self) {
        let before = self.asked.load(Ordering::SeqCst);
        wait_for("the wait for room", || self.asked.load(Ordering::SeqCst) > before + 3);
    }

    fn end(self) -> u64 {
        self.stop.store(true, Ordering::SeqCst);
        wait_for("its end", || self.thread.is_finished());
        self.thread.join().unwrap().unwrap()
    }
}

fn follow_without_room(place: &Path) {
    let filler = place.join("filler");
    std::fs::write(&filler, vec![1; 2 * SEGMENT_BYTES as usize]).unwrap();
    let (elsewhere, copy) = (tempfile::tempdir().unwrap(), place.join("copy"));
    let follower = Small::start(&copy);

    // More than it has room for.
    let mut first = primary(elsewhere.path(), follower.address, Mode::Async);
    let shipping = first.appender.shipping().unwrap();
    first.append(3 * SEGMENT_RECORDS);
    follower.waits();
    assert!(shipping.replicated() <= 2 * SEGMENT_RECORDS);

    std::fs::remove_file(&filler).unwrap();
    wait_for("the third segment", || shipping.replicated() == 3 * SEGMENT_RECORDS);
    assert_eq!(follower.told.load(Ordering::SeqCst), 1);

    // It waits for a fifth segment when it has to end.
    first.append(2 * SEGMENT_RECORDS);
    follower.waits();
    assert_eq!(follower.end(), 4 * SEGMENT_RECORDS);
    assert_eq!(inputs(&copy).len() as u64, 4 * SEGMENT_RECORDS);
}

/// The follower has to end after `removed` of the two fillers gave way.
fn write_small_files(place: &Path, removed: usize) {
    std::fs::create_dir(place).unwrap();
    let fillers =
        ["terms", "register"].map(|file| (file, place.join(format!("instead of {file}"))));
    for (_, filler) in &fillers {
        std::fs::write(filler, [1; PAGE_BYTES as usize]).unwrap();
    }
    let (elsewhere, copy) = (tempfile::tempdir().unwrap(), place.join("copy"));
    let follower = Small::start(&copy);
    let mut primary = primary(elsewhere.path(), follower.address, Mode::Async);
    let shipping = primary.appender.shipping().unwrap();
    primary.append(1);
    for (file, filler) in &fillers[..removed] {
        follower.waits();
        assert!(!copy.join(file).exists(), "{file}");
        std::fs::remove_file(filler).unwrap();
        wait_for(file, || copy.join(file).exists());
    }
    if removed == fillers.len() {
        wait_for("the record", || shipping.replicated() == 1);
    } else {
        follower.waits();
        assert_eq!(shipping.replicated(), 0);
    }
    assert_eq!(follower.end(), u64::from(removed == fillers.len()));
}

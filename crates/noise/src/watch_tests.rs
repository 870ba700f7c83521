use super::*;
use expect_test::expect;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

/// `None`, with a visible skip, if this kernel or emulator does not allow such events.
fn watch(tids: &[i32]) -> Option<Watch> {
    watch_with_room(tids, RING_BYTES)
}

fn watch_with_room(tids: &[i32], ring_bytes: usize) -> Option<Watch> {
    match Watch::with_room(tids, ring_bytes) {
        Ok(watch) => Some(watch),
        Err(error) => {
            testing::skipped(testing::Need::Tracepoints, format_args!("{error}"));
            None
        }
    }
}

fn this_thread() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

#[test]
fn sleeps_are_seen_with_their_length_on_the_right_thread() {
    let (tell, numbers) = mpsc::channel();
    let (go, gone) = mpsc::channel::<()>();
    let (slept, has_slept) = mpsc::channel::<()>();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let said = tell.clone();
        scope.spawn(|| {
            let said = said;
            said.send((0, this_thread())).unwrap();
            while !stop.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        scope.spawn(move || {
            tell.send((1, this_thread())).unwrap();
            gone.recv().unwrap();
            for _ in 0..5 {
                std::thread::sleep(Duration::from_millis(20));
            }
            slept.send(()).unwrap();
            // Blocks until the other end is dropped.
            let _ = gone.recv();
        });
        let mut tids: Vec<(usize, i32)> = numbers.iter().take(2).collect();
        tids.sort_unstable();
        let Some(watch) = watch(&[tids[0].1, tids[1].1]) else {
            stop.store(true, Ordering::Relaxed);
            go.send(()).unwrap();
            return;
        };
        go.send(()).unwrap();
        has_slept.recv().unwrap();
        std::thread::sleep(Duration::from_millis(100));
        let watched = watch.finish();
        stop.store(true, Ordering::Relaxed);
        drop(go);
        assert_eq!(watched.lost_records, 0);
        let long = |number| {
            let is_long = |one: &&Disturbance| {
                one.thread == number
                    && one.what == DisturbanceKind::Switch
                    && one.end_ns - one.start_ns >= 20_000_000
            };
            watched.disturbances.iter().filter(is_long).count()
        };
        // Five sleeps, and the wait after them, which the watch ends.
        assert!(long(1) >= 6, "{watched:?}");
        let last = watched.disturbances.iter().rfind(|one| one.thread == 1).unwrap();
        assert!(watched.disturbances.iter().all(|one| one.end_ns <= last.end_ns));
    });
}

#[test]
fn faults_are_counted() {
    // More than an allocator keeps: fresh from the system, and not mapped before it is touched.
    let mut memory = vec![0u8; 64 << 20];
    let Some(watch) = watch(&[this_thread()]) else { return };
    memory.chunks_mut(65_536).for_each(|part| part[0] = 1);
    std::hint::black_box(&memory);
    let watched = watch.finish();
    let faults = watched.disturbances.iter().filter(|one| one.what == DisturbanceKind::Fault);
    let faults: Vec<_> = faults.collect();
    // Memory may come in huge pages, several of our steps in one.
    assert!(!faults.is_empty(), "{watched:?}");
    assert!(faults.iter().all(|one| one.start_ns == one.end_ns));
}

#[test]
fn what_finds_no_room_is_counted() {
    let Some(watch) = watch_with_room(&[this_thread()], 1) else { return };
    // Each sleep is two records of sixteen bytes.
    for _ in 0..watch.threads[0].ring.capacity_bytes() / 32 + 100 {
        std::thread::sleep(Duration::from_nanos(1));
    }
    let watched = watch.finish();
    eprintln!("{} seen, {} lost", watched.disturbances.len(), watched.lost_records);
    assert!(watched.lost_records > 0);
    assert!(!watched.disturbances.is_empty());
}

#[test]
fn a_missing_thread_is_rejected_with_advice() {
    let Err(error) = Watch::start(&[i32::MAX]) else { panic!("there is no such thread") };
    let text = error.to_string();
    assert!(text.contains("kernel.perf_event_paranoid must be 2 or less"), "{text}");
    assert!(matches!(Watch::start(&[1; THREADS_MAX + 1]), Err(WatchError::Threads(257))));
}

/// Records as the kernel writes them: kind, flags, and words of eight bytes.
fn written(records: &[(u32, u16, &[u64])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (kind, flags, words) in records {
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(flags.to_ne_bytes());
        bytes.extend((8 + 8 * words.len() as u16).to_ne_bytes());
        bytes.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
    }
    bytes
}

fn read(records: &[(u32, u16, &[u64])]) -> String {
    let mut disturbances = Vec::new();
    let lost = add(&mut disturbances, 3, &written(records), (100, 900));
    let mut text = format!("lost {lost}");
    for one in disturbances {
        text += &format!("\n{} {}-{} {:?}", one.thread, one.start_ns, one.end_ns, one.what);
    }
    text
}

#[test]
fn intervals_are_closed_at_the_edges_and_where_records_are_lost() {
    const OUT: u16 = 1 << 13;
    let (switch, sample, lost) = (14, 9, 2);
    expect![[r#"
        lost 0
        3 100-150 Switch
        3 200-300 Switch
        3 250-250 Fault
        3 800-900 Switch"#]]
    .assert_eq(&read(&[
        (switch, 0, &[150]),
        (switch, OUT, &[200]),
        (sample, 0, &[250]),
        (switch, 0, &[300]),
        (switch, OUT, &[800]),
    ]));
    // Out, then a hole in which it came back at an unknown time.
    expect![[r#"
        lost 7
        3 200-400 Switch"#]]
    .assert_eq(&read(&[(switch, OUT, &[200]), (lost, 0, &[1, 7, 400]), (switch, 0, &[500])]));
    expect!["lost 0"].assert_eq(&read(&[]));
}

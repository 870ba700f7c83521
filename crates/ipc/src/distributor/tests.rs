//! Compares the distributor with a map, and tests its limits.

use std::sync::atomic::Ordering;

use proptest::prelude::*;

use super::*;

fn distributor(keys: u32, slots: u32, value_bytes_max: usize) -> Distributor {
    let shape = Shape { keys, slots, value_bytes_max, may_sleep: false };
    Distributor::create(RegionBacking::Memory, shape).unwrap()
}

#[derive(Clone, Debug)]
enum Step {
    Publish(u32, Vec<u8>),
    PublishMany(u32, u32),
    Poll(usize),
    ReaderAnew(usize),
    WriterAnew,
}

const KEYS: u32 = 5;
const LONGEST: usize = 20;
const READERS: usize = 2;

fn step() -> impl Strategy<Value = Step> {
    let value = prop::collection::vec(any::<u8>(), 0..=LONGEST + 1);
    prop_oneof![
        8 => (0..=KEYS, value).prop_map(|(key, value)| Step::Publish(key, value)),
        // Near and beyond the journal's length.
        1 => (0..KEYS, 1000..1100u32).prop_map(|(key, n)| Step::PublishMany(key, n)),
        5 => (0..READERS).prop_map(Step::Poll),
        1 => (0..READERS).prop_map(Step::ReaderAnew),
        1 => Just(Step::WriterAnew),
    ]
}

/// Per key: its newest value and its number of publications.
type Model = Vec<(Vec<u8>, u64)>;

/// The expected result of a poll: per key with news, the value and the number missed.
fn owed(model: &Model, seen: &mut [u64]) -> Vec<(u32, Vec<u8>, u64)> {
    let mut owed = Vec::new();
    for (key, (value, count)) in model.iter().enumerate() {
        if *count > seen[key] {
            owed.push((key as u32, value.clone(), count - seen[key] - 1));
            seen[key] = *count;
        }
    }
    owed
}

proptest! {
    #[test]
    fn behaves_as_a_map_that_counts(
        slots_log2 in 1..4u32,
        steps in prop::collection::vec(step(), 1..150),
    ) {
        let distributor = distributor(KEYS, 1 << slots_log2, LONGEST);
        let mut writer = distributor.writer().unwrap();
        let mut model: Model = vec![(Vec::new(), 0); KEYS as usize];
        let mut readers: Vec<_> =
            (0..READERS).map(|_| (distributor.reader(), vec![0; KEYS as usize])).collect();
        for step in steps {
            match step {
                Step::Publish(key, value) => {
                    let expected = if key >= KEYS {
                        Err(PublishError::NoSuchKey)
                    } else if value.len() > LONGEST {
                        Err(PublishError::TooLong)
                    } else {
                        Ok(())
                    };
                    prop_assert_eq!(writer.publish(key, &value), expected);
                    if expected.is_ok() {
                        let count = model[key as usize].1;
                        model[key as usize] = (value, count + 1);
                    }
                }
                Step::PublishMany(key, n) => {
                    for i in 0..n {
                        writer.publish(key, &i.to_ne_bytes()).unwrap();
                    }
                    let count = model[key as usize].1;
                    model[key as usize] = ((n - 1).to_ne_bytes().to_vec(), count + u64::from(n));
                }
                Step::Poll(reader) => {
                    let (reader, seen) = &mut readers[reader];
                    let mut got = Vec::new();
                    let n = reader.poll(|key, value, missed| got.push((key, value.to_vec(), missed)));
                    prop_assert_eq!(n, got.len());
                    got.sort();
                    prop_assert_eq!(got, owed(&model, seen));
                    prop_assert_eq!(reader.poll(|_, _, _| ()), 0);
                }
                Step::ReaderAnew(reader) => {
                    // A reader does not miss values from before its start.
                    let seen = model.iter().map(|(_, count)| count.saturating_sub(1)).collect();
                    readers[reader] = (distributor.reader(), seen);
                }
                Step::WriterAnew => {
                    drop(writer);
                    writer = distributor.writer().unwrap();
                }
            }
        }
        prop_assert!(readers.iter().all(|(reader, _)| reader.damaged() == 0));
    }

    /// For any content of the memory: no panic, and no value longer than a slot.
    #[test]
    fn nonsense_in_the_memory_is_survived(
        damage in prop::collection::vec((any::<u16>(), any::<u64>(), 0..3u8), 1..40),
    ) {
        let distributor = distributor(3, 2, 8);
        let mut writer = distributor.writer().unwrap();
        let mut reader = distributor.reader();
        let words = distributor.region().words();
        for (place, value, shift) in damage {
            // Half of the damage hits the first key, which is read most.
            let place = if place % 2 == 0 { place / 2 % 64 } else { place };
            let place = usize::from(place) % words.len();
            words[place].store(value >> (shift * 24), Ordering::Relaxed);
            writer.publish(1, b"value").unwrap();
            reader.poll(|key, value, _| assert!(key < 3 && value.len() <= 8));
        }
        drop(writer);
        distributor.writer().unwrap();
        distributor.reader().poll(|key, value, _| assert!(key < 3 && value.len() <= 8));
    }
}

fn polled(reader: &mut Reader) -> Vec<(u32, Vec<u8>, u64)> {
    let mut got = Vec::new();
    reader.poll(|key, value, missed| got.push((key, value.to_vec(), missed)));
    got
}

#[test]
fn values_come_in_the_order_of_their_publication() {
    let distributor = distributor(4096, 4, 8);
    let mut reader = distributor.reader();
    assert_eq!(reader.poll(|_, _, _| ()), 0);
    let mut writer = distributor.writer().unwrap();
    for key in [4095, 0, 17] {
        writer.publish(key, &key.to_ne_bytes()).unwrap();
    }
    let keys: Vec<_> = polled(&mut reader).into_iter().map(|(key, _, _)| key).collect();
    assert_eq!(keys, [4095, 0, 17]);
}

#[test]
fn there_is_one_writer_at_a_time() {
    let distributor = distributor(1, 2, 8);
    let other = Distributor::from_fd(distributor.fd().try_clone_to_owned().unwrap()).unwrap();
    let writer = distributor.writer().unwrap();
    assert!(matches!(other.writer(), Err(IpcError::Claimed { role: "writer", .. })));
    drop(writer);
    other.writer().unwrap();
}

/// A writer that died at each instruction of its third publication, simulated word by word. Readers
/// have the second or the third value, and get the next writer's first value.
#[test]
fn a_writer_may_die_at_any_store() {
    const STORES: usize = 6;
    for died_after in 0..=STORES {
        let distributor = distributor(2, 2, 8);
        let mut early = distributor.reader();
        {
            let mut writer = distributor.writer().unwrap();
            writer.publish(0, b"value--1").unwrap();
            writer.publish(0, b"value--2").unwrap();
        }
        // Make and undo the third publication to find its changed words.
        let words = distributor.region().words();
        let image = |words: &[AtomicU64]| -> Vec<u64> {
            words.iter().map(|word| word.load(Ordering::Relaxed)).collect()
        };
        let mut writer = distributor.writer().unwrap();
        let taken_over = image(words);
        writer.publish(0, b"value--3").unwrap();
        drop(writer);
        let after = image(words);
        let slot = after.iter().rposition(|&w| w == u64::from_ne_bytes(*b"value--3")).unwrap() - 1;
        let changed: Vec<_> = (0..words.len()).filter(|&i| after[i] != taken_over[i]).collect();
        let note = changed.iter().copied().find(|&i| i != 0 && i != 32 && i < slot).unwrap();
        assert_eq!(changed, [0, 32, note, slot, slot + 1]);
        let (done, writing) = (after[slot], after[slot] & !0x1FFFE | 1);
        let stores: [(usize, u64); STORES] = [
            (slot, writing),
            (slot + 1, after[slot + 1]),
            (slot, done),
            (32, after[32]),
            (note, after[note]),
            (0, after[0]),
        ];
        for (word, value) in words.iter().zip(&taken_over) {
            word.store(*value, Ordering::Relaxed);
        }
        for (place, value) in &stores[..died_after] {
            words[*place].store(*value, Ordering::Relaxed);
        }
        let whole = |got: &[(u32, Vec<u8>, u64)]| {
            assert!(got.len() == 1 && got[0].0 == 0, "{died_after}: {got:?}");
            assert!([&b"value--2"[..], b"value--3"].contains(&&got[0].1[..]), "{got:?}");
        };
        whole(&polled(&mut early));
        let mut late = distributor.reader();
        whole(&polled(&mut late));
        let mut writer = distributor.writer().unwrap();
        let (mut early_rest, mut late_rest) = (polled(&mut early), polled(&mut late));
        writer.publish(0, b"value--4").unwrap();
        early_rest.extend(polled(&mut early));
        late_rest.extend(polled(&mut late));
        for rest in [early_rest, late_rest] {
            let last = rest.last().expect("the next writer's value");
            assert_eq!(last.1, b"value--4", "{died_after}: {rest:?}");
            assert!(rest.iter().all(|(_, _, missed)| *missed == 0), "{died_after}: {rest:?}");
        }
    }
}

/// A reader is on its way to a slot when the writer overwrites it with a third value and dies
/// before publishing. The reader has shown that value, so its sequence must not be used again.
#[test]
fn a_value_that_a_reader_was_first_to_see_counts() {
    let distributor = distributor(1, 2, 8);
    let mut reader = distributor.reader();
    let mut writer = distributor.writer().unwrap();
    writer.publish(0, b"value--1").unwrap();
    assert_eq!(polled(&mut reader).len(), 1);
    let words = distributor.region().words();
    let image: Vec<_> = words.iter().map(|word| word.load(Ordering::Relaxed)).collect();
    writer.publish(0, b"value--2").unwrap();
    drop(writer);
    // Everything except the value's slot is as before; the old note still sends the reader there.
    let slot = (0..words.len())
        .find(|&i| words[i].load(Ordering::Relaxed) == u64::from_ne_bytes(*b"value--2"))
        .unwrap();
    let note = (40..slot).rev().find(|&i| words[i].load(Ordering::Relaxed) >> 24 == 1).unwrap();
    let sent_there = words[note].load(Ordering::Relaxed);
    for (i, word) in words.iter().enumerate().filter(|(i, _)| ![slot, slot - 1].contains(i)) {
        word.store(image[i], Ordering::Relaxed);
    }
    words[note].store(sent_there, Ordering::Relaxed);
    assert_eq!(polled(&mut reader), [(0, b"value--2".to_vec(), 0)]);
    words[note].store(image[note], Ordering::Relaxed);
    let mut writer = distributor.writer().unwrap();
    writer.publish(0, b"value--3").unwrap();
    // The next writer's note overwrites one that the reader has read; the reader shows the value
    // with the following one.
    writer.publish(0, b"value--4").unwrap();
    assert_eq!(polled(&mut reader), [(0, b"value--4".to_vec(), 1)]);
}

/// Threads: values of eight equal words, more values than slots.
#[test]
fn threads_see_whole_values_and_the_last_one() {
    for may_sleep in [false, true] {
        let shape = Shape { keys: 3, slots: 2, value_bytes_max: 64, may_sleep };
        let distributor = Distributor::create(RegionBacking::Memory, shape).unwrap();
        const LAST: u64 = 50_000;
        std::thread::scope(|scope| {
            for _ in 0..2 {
                let mut reader = distributor.reader();
                scope.spawn(move || {
                    let wait = if may_sleep {
                        Wait::Futex { spins: 0 }
                    } else {
                        Wait::SpinThenYield { spins: 10 }
                    };
                    let mut last = [0; 3];
                    while last != [LAST; 3] {
                        let patience = Duration::from_secs(60);
                        let shown = reader.poll_within(wait, patience, |key, value, missed| {
                            let words = value.as_chunks::<8>().0;
                            let number = u64::from_ne_bytes(words[0]);
                            assert!(words.len() == 8 && words.iter().all(|word| *word == words[0]));
                            let last = &mut last[key as usize];
                            assert_eq!(number, *last + missed + 1, "shown and missed are all");
                            *last = number;
                        });
                        assert!(shown > 0, "the last values never came: {last:?}");
                    }
                });
            }
            let mut writer = distributor.writer().unwrap();
            for number in 1..=LAST {
                for key in 0..3 {
                    let value = [number.to_ne_bytes(); 8];
                    writer.publish(key, value.as_flattened()).unwrap();
                }
            }
        });
    }
}

#[test]
fn shapes_out_of_range_are_rejected_by_name() {
    for (keys, slots, longest) in
        [(0, 4, 8), (1 << 17, 4, 8), (4, 1, 8), (4, 3, 8), (4, 512, 8), (4, 4, 0), (4, 4, 1 << 16)]
    {
        let shape = Shape { keys, slots, value_bytes_max: longest, may_sleep: false };
        let opened = Distributor::create(RegionBacking::Memory, shape);
        assert!(matches!(opened.err(), Some(IpcError::Shape { .. })), "{shape:?}");
    }
}

#[test]
fn a_geometry_that_does_not_fit_its_length_is_rejected() {
    for words in [[1, 2, 8, 2, 0, 0, 0, 0], [9, 2, 8, 0, 0, 0, 0, 0], [u64::MAX; 8]] {
        let region =
            Region::create(RegionBacking::Memory, RegionKind::Distributor, words, 512, |_| {})
                .unwrap();
        let opened = Distributor::in_region(region).err();
        assert!(matches!(opened, Some(IpcError::Damaged { .. })), "{words:?}: {opened:?}");
    }
}

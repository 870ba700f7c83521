//! Compares the ring with a `VecDeque`, and tests its limits.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

fn shape(slots: u32, message_bytes_max: usize, producers: Producers) -> Shape {
    Shape { slots, message_bytes_max, producers, may_sleep: false }
}

fn ring(slots: u32, message_bytes_max: usize, producers: Producers) -> Ring {
    Ring::create(RegionBacking::Memory, shape(slots, message_bytes_max, producers)).unwrap()
}

#[derive(Clone, Debug)]
enum Step {
    Send(Vec<u8>),
    SendBatch(Vec<Vec<u8>>),
    Receive(usize),
    ProducerAnew,
    ConsumerAnew,
}

/// Longest message of the property test's rings; steps use one byte more.
const LONGEST: usize = 20;

fn step() -> impl Strategy<Value = Step> {
    let message = || prop::collection::vec(any::<u8>(), 0..=LONGEST + 1);
    prop_oneof![
        6 => message().prop_map(Step::Send),
        4 => prop::collection::vec(message(), 0..6).prop_map(Step::SendBatch),
        6 => (0..6usize).prop_map(Step::Receive),
        1 => Just(Step::ProducerAnew),
        1 => Just(Step::ConsumerAnew),
    ]
}

/// Sends to the model; the expected result of the ring.
fn model_send(
    model: &mut VecDeque<Vec<u8>>,
    slots: usize,
    message: &[u8],
) -> Result<(), SendError> {
    if message.len() > LONGEST {
        return Err(SendError::TooLong);
    }
    if model.len() == slots {
        return Err(SendError::Full);
    }
    model.push_back(message.to_vec());
    Ok(())
}

proptest! {
    #[test]
    fn behaves_as_a_bounded_deque(
        slots_log2 in 1..4u32,
        many in any::<bool>(),
        steps in prop::collection::vec(step(), 1..200),
    ) {
        let producers = if many { Producers::Many } else { Producers::One };
        let slots = 1usize << slots_log2;
        let ring = ring(slots as u32, LONGEST, producers);
        let mut producer = ring.producer().unwrap();
        let mut consumer = ring.consumer().unwrap();
        let mut model = VecDeque::new();
        for step in steps {
            match step {
                Step::Send(message) => {
                    let expected = model_send(&mut model, slots, &message);
                    prop_assert_eq!(producer.try_send(&message), expected);
                }
                Step::SendBatch(messages) => {
                    let mut expected = Batch { sent: 0, error: None };
                    for message in &messages {
                        match model_send(&mut model, slots, message) {
                            Ok(()) => expected.sent += 1,
                            Err(error) => expected.error = Some(error),
                        }
                        if expected.error.is_some() {
                            break;
                        }
                    }
                    prop_assert_eq!(producer.try_send_batch(&messages), expected);
                }
                Step::Receive(max) => {
                    let expected: Vec<_> = model.drain(..max.min(model.len())).collect();
                    let mut got = Vec::new();
                    let n = consumer.receive(max, |message| got.push(message.to_vec()));
                    prop_assert_eq!(n, got.len());
                    prop_assert_eq!(got, expected);
                }
                Step::ProducerAnew => {
                    drop(producer);
                    producer = ring.producer().unwrap();
                }
                Step::ConsumerAnew => {
                    drop(consumer);
                    consumer = ring.consumer().unwrap();
                }
            }
        }
        prop_assert_eq!(ring.counts(), Counts::default());
    }

    /// For any content of the memory: no panic, and no message longer than a slot.
    #[test]
    fn nonsense_in_the_memory_is_survived(
        many in any::<bool>(),
        damage in prop::collection::vec((0..64usize, any::<u64>(), 0..3u8), 1..40),
    ) {
        let producers = if many { Producers::Many } else { Producers::One };
        let ring = ring(2, 8, producers);
        let mut producer = ring.producer().unwrap();
        let mut consumer = ring.consumer().unwrap();
        let words = ring.region().words();
        for (place, value, shift) in damage {
            // Small numbers look like turns and lengths.
            words[place % words.len()].store(value >> (shift * 24), Ordering::Relaxed);
            let _ = producer.try_send(b"message");
            let _ = producer.try_send_batch([b"one", b"two"]);
            consumer.receive(4, |message| assert!(message.len() <= 8));
        }
        drop((producer, consumer));
        let mut producer = ring.producer().unwrap();
        let _ = producer.try_send(b"message");
        ring.consumer().unwrap().receive(4, |message| assert!(message.len() <= 8));
    }
}

#[test]
fn roles_are_taken_once_and_given_back() {
    for (producers, places) in [(Producers::One, 1), (Producers::Many, PRODUCERS_MAX)] {
        let ring = ring(4, 8, producers);
        let consumer = ring.consumer().unwrap();
        assert!(matches!(ring.consumer(), Err(IpcError::Claimed { role: "consumer", .. })));
        let held: Vec<_> = (0..places).map(|_| ring.producer().unwrap()).collect();
        assert!(matches!(ring.producer(), Err(IpcError::Claimed { .. })));
        drop((consumer, held));
        ring.consumer().unwrap();
        ring.producer().unwrap();
    }
}

/// A memfd that is opened twice is one ring, and its roles are exclusive.
#[test]
fn a_descriptor_opens_the_same_ring() {
    let ring = ring(4, 8, Producers::One);
    let other = Ring::from_fd(ring.fd().try_clone_to_owned().unwrap()).unwrap();
    assert_eq!(other.shape(), ring.shape());
    let mut producer = ring.producer().unwrap();
    assert!(other.producer().is_err());
    producer.try_send(b"one").unwrap();
    let mut got = Vec::new();
    other.consumer().unwrap().receive(9, |message| got.push(message.to_vec()));
    assert_eq!(got, [b"one"]);
}

#[test]
fn shapes_out_of_range_are_rejected_by_name() {
    for (slots, longest) in [(0, 8), (1, 8), (3, 8), (1 << 31, 8), (4, 0), (4, 1 << 16)] {
        let opened = Ring::create(RegionBacking::Memory, shape(slots, longest, Producers::One));
        assert!(matches!(opened.err(), Some(IpcError::Shape { .. })), "{slots} {longest}");
    }
}

#[test]
fn a_geometry_that_does_not_fit_its_length_is_rejected() {
    let good = shape(4, 8, Producers::One);
    let cases = [
        ([4, 8, 3, 0, 0, 0, 0, 0], 512),
        ([4, 8, 1, 2, 0, 0, 0, 0], 512),
        (Shape { slots: 8, ..good }.words(), 384 + 4 * 16),
        ([3, 8, 1, 0, 0, 0, 0, 0], 384 + 3 * 16),
        ([u64::MAX; 8], 512),
    ];
    for (words, bytes) in cases {
        let region =
            Region::create(RegionBacking::Memory, RegionKind::Ring, words, bytes, |_| {}).unwrap();
        let opened = Ring::in_region(region).err();
        assert!(
            matches!(opened, Some(IpcError::Damaged { .. } | IpcError::Shape { .. })),
            "{words:?}: {opened:?}"
        );
    }
}

/// A panic in the consumer's closure: the messages before it are received, it comes again.
#[test]
fn a_panicking_consumer_loses_nothing() {
    let ring = ring(8, 8, Producers::One);
    let mut producer = ring.producer().unwrap();
    producer.try_send_batch([b"1", b"2", b"3"]);
    let mut consumer = ring.consumer().unwrap();
    let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        consumer.receive(9, |message| assert_ne!(message, b"2"));
    }));
    assert!(unwound.is_err());
    let mut got = Vec::new();
    consumer.receive(9, |message| got.push(message.to_vec()));
    assert_eq!(got, [b"2", b"3"]);
}

/// A panic in the iterator of a batch: the messages before it are sent.
#[test]
fn a_panicking_batch_is_sent_as_far_as_it_went() {
    let ring = ring(8, 8, Producers::One);
    let mut producer = ring.producer().unwrap();
    let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        producer.try_send_batch((0..3u8).map(|n| {
            assert_ne!(n, 2);
            [n]
        }));
    }));
    assert!(unwound.is_err());
    producer.try_send(&[9]).unwrap();
    let mut got = Vec::new();
    ring.consumer().unwrap().receive(9, |message| got.push(message.to_vec()));
    assert_eq!(got, [[0], [1], [9]]);
}

/// The remains of a producer killed in the middle of a batch: all words except the first. They must
/// not follow the next producer's messages.
#[test]
fn a_batch_that_was_cut_off_leaves_nothing() {
    let ring = ring(4, 8, Producers::One);
    {
        let mut producer = ring.producer().unwrap();
        producer.try_send_batch([b"1", b"2", b"3"]);
        ring.memory.word(0).store(0, Ordering::Relaxed);
    }
    let mut consumer = ring.consumer().unwrap();
    assert_eq!(consumer.receive(9, |_| ()), 0);
    let mut producer = ring.producer().unwrap();
    producer.try_send(b"new").unwrap();
    let mut got = Vec::new();
    consumer.receive(9, |message| got.push(message.to_vec()));
    assert_eq!(got, [b"new"]);
}

/// The claim of a dead producer is skipped and counted, after some polls or at once before a sleep.
#[test]
fn the_claim_of_a_dead_producer_is_skipped() {
    for sleeps in [false, true] {
        let ring = ring(4, 8, Producers::Many);
        let mut producer = ring.producer().unwrap();
        let mut consumer = ring.consumer().unwrap();
        // Claimed by producer 2, which doesn't exist: turn 1, no length.
        ring.memory.word(0).store(1 << 24 | 2, Ordering::Relaxed);
        producer.try_send(b"next").unwrap();
        let mut got = 0;
        assert_eq!(consumer.receive(9, |_| got += 1), 0);
        if sleeps {
            let wait = Wait::SpinThenYield { spins: 1 };
            consumer.receive_within(wait, Duration::from_secs(10), 9, |_| got += 1);
        } else {
            for _ in 0..1000 {
                consumer.receive(9, |_| got += 1);
            }
        }
        assert_eq!(got, 1);
        assert_eq!(ring.counts(), Counts { abandoned: 1, damaged: 0 });
    }
}

/// The consumer waits for the claim of a living producer for any time.
#[test]
fn the_claim_of_a_living_producer_is_waited_for() {
    let ring = ring(4, 8, Producers::Many);
    let first = ring.producer().unwrap();
    let mut second = ring.producer().unwrap();
    ring.memory.word(0).store(1 << 24 | 1, Ordering::Relaxed);
    second.try_send(b"next").unwrap();
    let mut consumer = ring.consumer().unwrap();
    for _ in 0..5000 {
        assert_eq!(consumer.receive(9, |_| ()), 0);
    }
    drop(first);
    // Its successor abandons its claim.
    let third = ring.producer().unwrap();
    assert_eq!(consumer.receive(9, |_| ()), 1);
    assert_eq!(ring.counts(), Counts { abandoned: 1, damaged: 0 });
    drop(third);
}

#[test]
fn a_length_beyond_the_slot_is_not_believed() {
    let ring = ring(4, 8, Producers::One);
    let mut producer = ring.producer().unwrap();
    producer.try_send_batch([b"1", b"2"]);
    ring.memory.word(0).store(1 << 24 | 9 << 8, Ordering::Relaxed);
    let mut got = Vec::new();
    ring.consumer().unwrap().receive(9, |message| got.push(message.to_vec()));
    assert_eq!(got, [b"2"]);
    assert_eq!(ring.counts(), Counts { abandoned: 0, damaged: 1 });
}

/// Threads: `each` messages from every producer, with every way of waiting.
fn between_threads(producers: u64, each: u64, may_sleep: bool, wait: Wait) {
    let kind = if producers == 1 { Producers::One } else { Producers::Many };
    let shape = Shape { slots: 8, message_bytes_max: 16, producers: kind, may_sleep };
    let ring = Ring::create(RegionBacking::Memory, shape).unwrap();
    std::thread::scope(|scope| {
        for id in 0..producers {
            let mut producer = ring.producer().unwrap();
            scope.spawn(move || {
                let deadline = clock::Deadline::after(Duration::from_secs(60));
                for n in 0..each {
                    let mut message = [0; 16];
                    message[..8].copy_from_slice(&id.to_ne_bytes());
                    message[8..].copy_from_slice(&n.to_ne_bytes());
                    while producer.try_send(&message).is_err() {
                        assert!(!deadline.left().is_zero(), "nobody receives");
                        std::thread::yield_now();
                    }
                }
            });
        }
        let mut consumer = ring.consumer().unwrap();
        let mut next = vec![0; producers as usize];
        let mut left = producers * each;
        while left > 0 {
            let received = consumer.receive_within(wait, Duration::from_secs(60), 5, |message| {
                let (words, rest) = message.as_chunks::<8>();
                assert!(words.len() == 2 && rest.is_empty());
                let id = u64::from_ne_bytes(words[0]) as usize;
                assert_eq!(u64::from_ne_bytes(words[1]), next[id]);
                next[id] += 1;
            });
            assert!(received > 0, "{left} messages never came");
            left -= received as u64;
        }
    });
    assert_eq!(ring.counts(), Counts::default());
}

#[test]
fn threads_see_every_message_once_and_in_order() {
    for producers in [1, 3] {
        between_threads(producers, 20_000, false, Wait::SpinThenYield { spins: 20 });
        between_threads(producers, 20_000, true, Wait::Futex { spins: 0 });
        between_threads(producers, 500, false, Wait::Spin);
    }
}

#[test]
fn a_wait_ends_when_its_patience_does() {
    let ring = Ring::create(
        RegionBacking::Memory,
        Shape { slots: 2, message_bytes_max: 8, producers: Producers::One, may_sleep: true },
    );
    let mut consumer = ring.unwrap().consumer().unwrap();
    let waits = [Wait::Spin, Wait::SpinThenYield { spins: 0 }, Wait::Futex { spins: 10 }];
    for wait in waits {
        let patience = Duration::from_millis(2);
        let deadline = clock::Deadline::after(patience);
        assert_eq!(consumer.receive_within(wait, patience, 1, |_| ()), 0);
        assert!(deadline.left().is_zero(), "{wait:?} came back early");
    }
}

//! loom tries every interleaving of small cases of the protocols: the library's sources, compiled
//! with loom's atomics. Messages are in loom's cells, which detect simultaneous accesses; a lost
//! wake-up is a deadlock, which loom detects too.

// Parts of the sources that these cases don't use.
#![allow(dead_code)]

#[path = "../src/bell.rs"]
mod bell;
#[path = "../src/distributor"]
mod distributor {
    pub(crate) mod protocol;
}
#[path = "../src/ring"]
mod ring {
    pub(crate) mod protocol;
    pub(crate) mod receiver;
    pub(crate) mod sender;
}

mod atomics {
    pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

    /// A futex as loom sees it: comparing and going to sleep are one step. No thread wakes by
    /// itself, not even by a time-out.
    pub(crate) mod futex {
        use std::time::Duration;

        use loom::sync::atomic::{AtomicU32, Ordering};
        use loom::sync::{Condvar, Mutex};

        loom::lazy_static! {
            static ref BED: (Mutex<()>, Condvar) = (Mutex::new(()), Condvar::new());
        }

        pub(crate) fn sleep(word: &AtomicU32, seen: u32, _: Duration) {
            let guard = BED.0.lock().unwrap();
            if word.load(Ordering::SeqCst) == seen {
                drop(BED.1.wait(guard).unwrap());
            }
        }

        pub(crate) fn wake_all(_: &AtomicU32) {
            let _guard = BED.0.lock().unwrap();
            BED.1.notify_all();
        }
    }
}

use std::time::Duration;

use atomics::{AtomicU32, AtomicU64, Ordering};
use bell::Bell;
use distributor::protocol::{Follower, Publisher, Words};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use ring::protocol::{Geometry, Memory};
use ring::receiver::Receiver;
use ring::sender::{Batch, SendError, Sender};

/// Longest message of the models.
const MESSAGE_BYTES: usize = 2;

struct Model {
    head: AtomicU64,
    tail: AtomicU64,
    abandoned: AtomicU64,
    damaged: AtomicU64,
    bell: AtomicU32,
    words: Vec<AtomicU64>,
    messages: Vec<UnsafeCell<[u8; MESSAGE_BYTES]>>,
}

impl Model {
    fn new(geometry: &Geometry) -> Arc<Model> {
        let slots = || 0..geometry.slots();
        Arc::new(Model {
            head: AtomicU64::new(0),
            tail: AtomicU64::new(0),
            abandoned: AtomicU64::new(0),
            damaged: AtomicU64::new(0),
            bell: AtomicU32::new(0),
            words: slots().map(|_| AtomicU64::new(0)).collect(),
            messages: slots().map(|_| UnsafeCell::new([0; MESSAGE_BYTES])).collect(),
        })
    }
}

impl Memory for Arc<Model> {
    fn head(&self) -> &AtomicU64 {
        &self.head
    }
    fn tail(&self) -> &AtomicU64 {
        &self.tail
    }
    fn abandoned(&self) -> &AtomicU64 {
        &self.abandoned
    }
    fn damaged(&self) -> &AtomicU64 {
        &self.damaged
    }
    fn bell(&self) -> &AtomicU32 {
        &self.bell
    }
    fn word(&self, slot: usize) -> &AtomicU64 {
        &self.words[slot]
    }
    unsafe fn write(&self, slot: usize, message: &[u8]) {
        self.messages[slot].with_mut(|bytes| {
            // SAFETY: loom's cell checks exclusive access.
            let bytes = unsafe { &mut *bytes };
            bytes[..message.len()].copy_from_slice(message);
        });
    }
    unsafe fn write_in_batch(&self, slot: usize, message: &[u8]) {
        // SAFETY: as the caller's.
        unsafe { self.write(slot, message) };
    }
    unsafe fn read<R>(&self, slot: usize, length: usize, show: impl FnOnce(&[u8]) -> R) -> R {
        self.messages[slot].with(|bytes| {
            // SAFETY: loom's cell checks that nobody writes it.
            let bytes = unsafe { &*bytes };
            show(&bytes[..length])
        })
    }
}

fn ring(slots_log2: u32, many: bool, may_sleep: bool) -> (Arc<Model>, Geometry) {
    let geometry = Geometry { slots_log2, message_bytes_max: MESSAGE_BYTES, many, may_sleep };
    (Model::new(&geometry), geometry)
}

/// Tries all interleavings with at most this number of preemptions.
fn explore(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

fn receive(receiver: &mut Receiver<Arc<Model>>, got: &mut Vec<Vec<u8>>) -> usize {
    receiver.receive(usize::MAX, false, |_| true, |message| got.push(message.to_vec()))
}

/// Slots are reused while the consumer reads: no two threads touch one at the same time, and
/// messages arrive in order.
#[test]
fn one_producer() {
    explore(4, || {
        let (model, geometry) = ring(1, false, false);
        let mut sender = Sender::take_over(model.clone(), geometry, 1);
        let mut receiver = Receiver::take_over(model, geometry);
        let sending = thread::spawn(move || {
            let mut taken = Vec::new();
            for n in 1..=4 {
                if sender.try_send(&[n, n]).is_ok() {
                    taken.push(vec![n, n]);
                }
            }
            taken
        });
        let mut got = Vec::new();
        for _ in 0..3 {
            receive(&mut receiver, &mut got);
        }
        let taken = sending.join().unwrap();
        receive(&mut receiver, &mut got);
        assert_eq!(got, taken);
    });
}

/// A batch becomes visible at once: after its first message the others are there.
#[test]
fn one_producers_batch() {
    explore(4, || {
        let (model, geometry) = ring(1, false, false);
        let mut sender = Sender::take_over(model.clone(), geometry, 1);
        let mut receiver = Receiver::take_over(model, geometry);
        let sending = thread::spawn(move || {
            assert_eq!(sender.try_send_batch([[1], [2]]), Batch { sent: 2, error: None });
            sender.try_send_batch([[3], [4]]).sent
        });
        let mut got = Vec::new();
        let first = receive(&mut receiver, &mut got);
        assert_ne!(first, 1);
        receive(&mut receiver, &mut got);
        let sent = 2 + sending.join().unwrap();
        receive(&mut receiver, &mut got);
        assert_eq!(got, [[1], [2], [3], [4]][..sent]);
    });
}

/// Two producers on two slots, and a consumer that reads at the same time: each sent message
/// arrives once, in order per producer.
#[test]
fn many_producers() {
    explore(3, || {
        let (model, geometry) = ring(1, true, false);
        let mut receiver = Receiver::take_over(model.clone(), geometry);
        let sending = [1, 2].map(|id| {
            let mut sender = Sender::take_over(model.clone(), geometry, id);
            thread::spawn(move || {
                let sent = |n: &u8| match sender.try_send(&[id, *n]) {
                    Ok(()) => true,
                    Err(error) => {
                        assert_eq!(error, SendError::Full);
                        false
                    }
                };
                (1..=2).filter(sent).map(|n| vec![id, n]).collect::<Vec<_>>()
            })
        });
        let mut got = Vec::new();
        receive(&mut receiver, &mut got);
        receive(&mut receiver, &mut got);
        let taken = sending.map(|thread| thread.join().unwrap());
        receive(&mut receiver, &mut got);
        for (id, taken) in [1, 2].into_iter().zip(taken) {
            let of_this = |message: &&Vec<u8>| message[0] == id;
            assert!(got.iter().filter(of_this).eq(&taken));
        }
        assert_eq!(model.abandoned.load(Ordering::Relaxed), 0);
        assert_eq!(model.damaged.load(Ordering::Relaxed), 0);
    });
}

/// The consumer detects a dead producer's claim while another producer takes over its number and
/// sends.
#[test]
fn a_dead_claim_is_skipped_once() {
    explore(3, || {
        let (model, geometry) = ring(1, true, false);
        // Slot 0, turn 1, claimed by producer 1; the tail has not advanced.
        model.words[0].store(1 << 24 | 1, Ordering::Relaxed);
        let mut receiver = Receiver::take_over(model.clone(), geometry);
        let (other, alive) = (model.clone(), Arc::new(AtomicU32::new(0)));
        let lock = alive.clone();
        let sending = thread::spawn(move || {
            lock.store(1, Ordering::Relaxed);
            let mut sender = Sender::take_over(other, geometry, 1);
            sender.try_send(&[7])
        });
        let mut got = Vec::new();
        let mut receive = || {
            let is_alive = |_| alive.load(Ordering::Relaxed) == 1;
            receiver.receive(9, true, is_alive, |message| got.push(message.to_vec()))
        };
        receive();
        sending.join().unwrap().unwrap();
        receive();
        assert_eq!(got, [[7]]);
        assert_eq!(model.abandoned.load(Ordering::Relaxed), 1);
    });
}

/// A producer takes over an interrupted batch while the consumer reads.
#[test]
fn a_producer_takes_over() {
    explore(4, || {
        let (model, geometry) = ring(2, false, false);
        {
            let mut dead = Sender::take_over(model.clone(), geometry, 1);
            dead.try_send(&[1]).unwrap();
            // The batch has all of its words except the first.
            model.words[2].store(1 << 24 | 1 << 8, Ordering::Relaxed);
        }
        let mut receiver = Receiver::take_over(model.clone(), geometry);
        let sending = thread::spawn(move || {
            let mut sender = Sender::take_over(model, geometry, 1);
            sender.try_send(&[2]).unwrap();
        });
        let mut got = Vec::new();
        receive(&mut receiver, &mut got);
        receive(&mut receiver, &mut got);
        sending.join().unwrap();
        receive(&mut receiver, &mut got);
        assert_eq!(got, [[1], [2]]);
    });
}

/// The consumer sleeps until all messages have come. A lost wake-up is a deadlock.
fn sleeps_until_all_has_come(producers: u8, each: u8, preemptions: usize) {
    explore(preemptions, move || {
        let (model, geometry) = ring(1, producers > 1, true);
        let mut receiver = Receiver::take_over(model.clone(), geometry);
        let senders = (1..=producers).map(|id| {
            let mut sender = Sender::take_over(model.clone(), geometry, id);
            thread::spawn(move || {
                for n in 0..each {
                    sender.try_send(&[id, n]).unwrap();
                }
            })
        });
        let senders: Vec<_> = senders.collect();
        let mut got = Vec::new();
        while got.len() < usize::from(producers * each) {
            let bell = Bell(&model.bell);
            bell.sleep_unless(Duration::MAX, || {
                (receive(&mut receiver, &mut got) > 0).then_some(())
            });
        }
        senders.into_iter().for_each(|sender| sender.join().unwrap());
    });
}

#[test]
fn no_wake_up_of_one_producer_is_lost() {
    sleeps_until_all_has_come(1, 2, 4);
}

#[test]
fn no_wake_up_of_two_producers_is_lost() {
    sleeps_until_all_has_come(2, 1, 3);
}

/// Two sleep on one bell, and both are woken.
#[test]
fn all_sleepers_are_woken() {
    explore(3, || {
        let shared = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
        let sleepers = [(); 2].map(|()| {
            let shared = shared.clone();
            thread::spawn(move || {
                let look = || (shared.1.load(Ordering::Relaxed) == 1).then_some(());
                while Bell(&shared.0).sleep_unless(Duration::MAX, look).is_none() {}
            })
        });
        shared.1.store(1, Ordering::Relaxed);
        Bell(&shared.0).ring();
        sleepers.into_iter().for_each(|sleeper| sleeper.join().unwrap());
    });
}

struct Table(Vec<AtomicU64>, AtomicU32);

impl Words for Arc<Table> {
    fn words(&self) -> &[AtomicU64] {
        &self.0
    }
    fn bell(&self) -> &AtomicU32 {
        &self.1
    }
}

fn table(keys: usize, journal: usize) -> (Arc<Table>, distributor::protocol::Geometry) {
    let geometry = distributor::protocol::Geometry::with_journal(keys, 2, 16, false, journal);
    let words = (0..geometry.words()).map(|_| AtomicU64::new(0)).collect();
    (Arc::new(Table(words, AtomicU32::new(0))), geometry)
}

/// Values of two equal words, while the writer wraps around the slots and the journal.
fn values_are_whole(keys: u64, publications: u64, journal: usize, preemptions: usize) {
    explore(preemptions, move || {
        let (table, geometry) = table(keys as usize, journal);
        let mut follower = Follower::new(table.clone(), geometry);
        let mut publisher = Publisher::take_over(table, geometry);
        let writing = thread::spawn(move || {
            for n in 1..=publications {
                let value = [n.to_ne_bytes(); 2];
                publisher.publish((n % keys) as usize, value.as_flattened()).unwrap();
            }
        });
        let mut last = vec![0; keys as usize];
        let mut show = |key: usize, value: &[u8], missed: u64| {
            let words = value.as_chunks::<8>().0;
            assert!(words.len() == 2 && words[0] == words[1], "torn");
            let of_key = u64::from_ne_bytes(words[0]).div_ceil(keys);
            assert_eq!(of_key, last[key] + missed + 1);
            last[key] = of_key;
        };
        follower.poll(&mut show);
        follower.poll(&mut show);
        writing.join().unwrap();
        follower.poll(&mut show);
        assert_eq!(last.iter().sum::<u64>(), publications, "each key's last value came");
        assert_eq!(follower.damaged(), 0);
    });
}

#[test]
fn values_of_one_key_are_whole() {
    values_are_whole(1, 3, 4, 2);
}

#[test]
fn values_are_whole_though_the_journal_is_lapped() {
    values_are_whole(1, 2, 1, 2);
}

#[test]
fn values_of_two_keys_are_whole() {
    values_are_whole(2, 3, 2, 2);
}

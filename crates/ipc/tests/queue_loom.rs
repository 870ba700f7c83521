//! Every interleaving of a writer and two readers of a queue's word, tried by loom: the same
//! source as in the library, compiled with loom's atomics. The bytes lie in loom's cells, which
//! notice a read beside a write.

#[path = "../src/queue/publish.rs"]
mod publish;

mod atomics {
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering, fence};
}

use atomics::{AtomicU64, Ordering};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use publish::{look, publish};

const RECORDS: usize = 2;

struct Record {
    word: AtomicU64,
    sequence: AtomicU64,
    bytes: UnsafeCell<u64>,
}

fn word(sequence: u64) -> u64 {
    sequence + 100
}

/// Reads on from where it is as far as it can; gives how many were there.
fn read(records: &[Record]) -> usize {
    for (sequence, record) in records.iter().enumerate() {
        let Some(found) = look(&record.word) else { return sequence };
        assert_eq!(found, word(sequence as u64));
        assert_eq!(record.sequence.load(Ordering::Relaxed), sequence as u64);
        // SAFETY: published; loom says so if that is not true.
        let bytes = record.bytes.with(|bytes| unsafe { *bytes });
        assert_eq!(bytes, sequence as u64 + 7);
    }
    records.len()
}

#[test]
fn what_is_seen_is_whole() {
    loom::model(|| {
        let new = || Record {
            word: AtomicU64::new(0),
            sequence: AtomicU64::new(0),
            bytes: UnsafeCell::new(0),
        };
        let records: Arc<Vec<Record>> = Arc::new((0..RECORDS).map(|_| new()).collect());
        let readers = [0; 2].map(|_| {
            let records = records.clone();
            thread::spawn(move || {
                let first = read(&records);
                assert!(read(&records) >= first, "what was seen stays");
            })
        });
        for (sequence, record) in records.iter().enumerate() {
            let sequence = sequence as u64;
            // SAFETY: not published; loom says so if anybody reads it.
            record.bytes.with_mut(|bytes| unsafe { *bytes = sequence + 7 });
            publish(&record.word, &record.sequence, sequence, word(sequence));
        }
        for reader in readers {
            reader.join().unwrap();
        }
        assert_eq!(read(&records), RECORDS);
    });
}

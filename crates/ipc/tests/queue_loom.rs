//! loom tries every interleaving of a writer and two readers of a queue's word: the library's
//! source, compiled with loom's atomics. The bytes are in loom's cells, which detect a read during
//! a write.

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

/// Reads on as far as possible; returns the number of records.
fn read(records: &[Record]) -> usize {
    for (sequence, record) in records.iter().enumerate() {
        let Some(found) = look(&record.word) else { return sequence };
        assert_eq!(found, word(sequence as u64));
        assert_eq!(record.sequence.load(Ordering::Relaxed), sequence as u64);
        // SAFETY: published; loom detects if that is wrong.
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
            // SAFETY: not published; loom detects if anybody reads it.
            record.bytes.with_mut(|bytes| unsafe { *bytes = sequence + 7 });
            publish(&record.word, &record.sequence, sequence, word(sequence));
        }
        for reader in readers {
            reader.join().unwrap();
        }
        assert_eq!(read(&records), RECORDS);
    });
}

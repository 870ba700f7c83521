//! Messages per second in batches through our ring and through `rtrb`, used as its authors
//! recommend for batches. Interleaved, one producer and one consumer, each pinned.
//!
//! `cargo run --release -p ipc-bench --example throughput [ROUNDS=9] [CORES=0,1]`

use clock::Clock;
use ipc::region::RegionBacking;
use ipc::ring::{Producers, Ring, Shape};
use std::hint::black_box;

const SLOTS: usize = 1024;
const BATCH: usize = 64;
const MESSAGES: usize = 20_000_000;
const BYTES: usize = 64;

fn main() {
    let argument = |n: usize| std::env::args().nth(n);
    let rounds: usize = argument(1).map_or(9, |text| text.parse().expect("ROUNDS is a number"));
    let cores: Vec<usize> = argument(2)
        .unwrap_or("0,1".to_owned())
        .split(',')
        .map(|core| core.parse().expect("CORES are two numbers"))
        .collect();
    let mut rates = [Vec::new(), Vec::new()];
    for round in 0..rounds {
        for which in [round % 2, 1 - round % 2] {
            let rate = if which == 0 { ours(&cores) } else { rtrb(&cores) };
            rates[which].push(rate);
        }
    }
    let median = |rates: &mut Vec<f64>| {
        rates.sort_unstable_by(f64::total_cmp);
        (rates[rates.len() / 2], rates[0], rates[rates.len() - 1])
    };
    let [mut ours, mut theirs] = rates;
    let (ours, theirs) = (median(&mut ours), median(&mut theirs));
    for (name, (middle, low, high)) in [("ring", ours), ("rtrb", theirs)] {
        println!(
            "{name}: {middle:.1} M messages/s of {BYTES} B ({low:.1} to {high:.1}), batches of {BATCH}"
        );
    }
    println!("ring over rtrb: {:.2}", ours.0 / theirs.0);
}

/// Messages per second, millions.
fn timed(cores: &[usize], send: impl FnOnce() + Send, receive: impl FnOnce() + Send) -> f64 {
    let clock = Clock::calibrate();
    std::thread::scope(|scope| {
        let (from, to) = (cores[0], cores[1]);
        let receiving = scope.spawn(move || {
            host::thread::pin(to).expect("the core is there");
            receive();
            clock.now_ns()
        });
        let sending = scope.spawn(move || {
            host::thread::pin(from).expect("the core is there");
            let start_ns = clock.now_ns();
            send();
            start_ns
        });
        let start_ns = sending.join().expect("it sends");
        let end_ns = receiving.join().expect("it receives");
        MESSAGES as f64 * 1e3 / (end_ns - start_ns) as f64
    })
}

fn ours(cores: &[usize]) -> f64 {
    let shape = Shape {
        slots: SLOTS as u32,
        message_bytes_max: BYTES,
        producers: Producers::One,
        may_sleep: false,
    };
    let ring = Ring::create(RegionBacking::Memory, shape).expect("memory for a ring");
    let mut producer = ring.producer().expect("the only producer");
    let mut consumer = ring.consumer().expect("the only consumer");
    let message = [7u8; BYTES];
    let send = move || {
        let mut left = MESSAGES;
        while left > 0 {
            left -= producer.try_send_batch((0..left.min(BATCH)).map(|_| &message)).sent;
        }
    };
    let receive = move || {
        let (mut left, mut sum) = (MESSAGES, 0u64);
        while left > 0 {
            left -= consumer.receive(BATCH.min(left), |bytes| sum += u64::from(bytes[BYTES - 1]));
        }
        black_box(sum);
    };
    timed(cores, send, receive)
}

fn rtrb(cores: &[usize]) -> f64 {
    let (mut producer, mut consumer) = rtrb::RingBuffer::<[u8; BYTES]>::new(SLOTS);
    let message = [7u8; BYTES];
    let send = move || {
        let mut left = MESSAGES;
        while left > 0 {
            let room = producer.slots().min(BATCH).min(left);
            if let Ok(chunk) = producer.write_chunk_uninit(room) {
                left -= chunk.fill_from_iter((0..room).map(|_| message));
            }
        }
    };
    let receive = move || {
        let (mut left, mut sum) = (MESSAGES, 0u64);
        while left > 0 {
            let ready = consumer.slots().min(BATCH).min(left);
            if let Ok(chunk) = consumer.read_chunk(ready) {
                let (first, second) = chunk.as_slices();
                for bytes in first.iter().chain(second) {
                    sum += u64::from(bytes[BYTES - 1]);
                }
                chunk.commit_all();
                left -= ready;
            }
        }
        black_box(sum);
    };
    timed(cores, send, receive)
}

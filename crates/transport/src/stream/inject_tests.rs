//! Over real sockets: the harm that was asked for, all of it, and no other.

use super::*;
use crate::backend::{BACKENDS, Backend};
use crate::present;
use std::io::Read as _;
use std::net::TcpStream;
use std::time::Duration;

/// A decorated stream and its peer.
struct Pair {
    streams: Box<dyn Streams>,
    id: StreamId,
    peer: TcpStream,
    clock: Clock,
}

fn pair(backend: &crate::Backend, inject: &Inject) -> Pair {
    let clock = Clock::calibrate();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (peer, _) = listener.accept().unwrap();
    peer.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut streams = around(backend.open(clock).unwrap(), inject, clock);
    let id = streams.add(ours.into()).unwrap();
    Pair { streams, id, peer, clock }
}

impl Pair {
    /// Writes all of `bytes`; returns the stamp.
    fn write(&mut self, bytes: &[u8]) -> u64 {
        match self.streams.write(self.id, bytes) {
            Write::Bytes { n, stamp_ns } if n == bytes.len() => stamp_ns,
            other => panic!("{other:?}"),
        }
    }

    /// Ends our side and returns what the peer has got.
    fn received(mut self) -> Vec<u8> {
        self.streams.shutdown(self.id);
        let mut bytes = Vec::new();
        self.peer.read_to_end(&mut bytes).unwrap();
        bytes
    }
}

#[test]
fn without_harm_there_is_no_decorator() {
    let clock = Clock::calibrate();
    let streams = BACKENDS[0].open(clock).unwrap();
    let before: *const dyn Streams = &*streams;
    let after = around(streams, &Inject::default(), clock);
    assert!(std::ptr::addr_eq(before, &*after));
}

#[test]
fn a_dropped_write_is_gone_and_only_it() {
    for backend in present::backends() {
        let mut pair = pair(backend, &Inject { drop_every: 10, ..Inject::default() });
        (1..=35u8).for_each(|message| {
            pair.write(&[message; 16]);
        });
        let kept: Vec<u8> = (1..=35)
            .filter(|message| message % 10 != 0)
            .flat_map(|message| [message; 16])
            .collect();
        assert_eq!(pair.received(), kept, "{}", backend.row.name);
    }
}

#[test]
fn streams_are_counted_each_by_itself_and_a_new_one_from_the_start() {
    let mut pair = pair(&BACKENDS[0], &Inject { drop_every: 10, ..Inject::default() });
    (0..9).for_each(|_| {
        pair.write(b"old");
    });
    pair.streams.remove(pair.id);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    pair.peer = listener.accept().unwrap().0;
    assert_eq!(pair.streams.add(ours.into()).unwrap(), pair.id, "the id is used again");
    pair.write(b"new");
    assert_eq!(pair.received(), b"new");
}

/// A slow peer makes the kernel take parts of messages. Whole messages arrive, in order, all but
/// the dropped ones.
#[test]
fn no_message_is_torn() {
    const MESSAGE_BYTES: usize = 3_000;
    const MESSAGES: u32 = 20_000;
    for backend in present::backends() {
        let mut pair = pair(backend, &Inject { drop_every: 10, ..Inject::default() });
        let mut peer = pair.peer.try_clone().unwrap();
        let reader = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            let mut bytes = Vec::new();
            peer.read_to_end(&mut bytes).unwrap();
            bytes
        });
        let (mut buffer, mut in_part) = (Vec::new(), 0);
        let mut written_messages = 0;
        while written_messages < MESSAGES || !buffer.is_empty() {
            if written_messages < MESSAGES && buffer.len() < 40 * MESSAGE_BYTES {
                let words = written_messages.to_le_bytes().repeat(MESSAGE_BYTES / 4);
                buffer.extend_from_slice(&words);
                written_messages += 1;
            }
            match pair.streams.write(pair.id, &buffer) {
                Write::Bytes { n, .. } => {
                    in_part += u32::from(n > 0 && n < buffer.len());
                    buffer.drain(..n);
                }
                Write::Failed(error) => panic!("{error}"),
            }
        }
        pair.streams.shutdown(pair.id);
        let bytes = reader.join().unwrap();
        assert!(in_part > 0, "the kernel took everything at once: nothing was tested");
        let mut last = None;
        for message in bytes.chunks(MESSAGE_BYTES) {
            let words: Vec<u32> = message
                .chunks(4)
                .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
                .collect();
            assert!(words.len() == MESSAGE_BYTES / 4 && words.iter().all(|word| *word == words[0]));
            assert!(last < Some(words[0]), "{words:?} after {last:?}");
            last = Some(words[0]);
        }
        assert!(bytes.len() < MESSAGES as usize * MESSAGE_BYTES, "nothing was dropped");
    }
}

/// The peer waits for the delayed write; the stamp is the write's, not the delay's beginning.
#[test]
fn a_delay_is_seen_by_the_peer_and_not_by_the_stamp() {
    let delay_us = 20_000;
    for backend in present::backends() {
        // The quickest of ten writes: from the call, and from the stamp, to the peer's read.
        let quickest = |inject: &Inject| {
            let mut pair = pair(backend, inject);
            let once = |_| {
                let called_ns = pair.clock.now_ns();
                let stamp_ns = pair.write(b"message");
                pair.peer.read_exact(&mut [0; 7]).unwrap();
                let read_ns = pair.clock.now_ns();
                (read_ns - called_ns, read_ns - stamp_ns)
            };
            let all: Vec<(u64, u64)> = (0..10).map(once).collect();
            (all.iter().map(|one| one.0).min().unwrap(), all.iter().map(|one| one.1).min().unwrap())
        };
        let (plain_ns, _) = quickest(&Inject::default());
        let (delayed_ns, after_stamp_ns) = quickest(&Inject { delay_us, ..Inject::default() });
        assert!(delayed_ns > plain_ns + delay_us * 500, "{delayed_ns} after {plain_ns}");
        assert!(delayed_ns > after_stamp_ns + delay_us * 900, "{delayed_ns}, {after_stamp_ns}");
    }
}

/// When waits of at least 20 ms began, within half a second.
fn long_waits(backend: &Backend, inject: &Inject) -> Vec<u64> {
    let mut pair = pair(backend, inject);
    let start_ns = pair.clock.now_ns();
    let mut waits = Vec::new();
    let mut ready = Vec::new();
    while pair.clock.now_ns() < start_ns + 500_000_000 {
        let before_ns = pair.clock.now_ns();
        // The backend's own wait is over at once.
        pair.streams.wait(before_ns, &mut ready).unwrap();
        ready.clear();
        if pair.clock.now_ns() - before_ns >= 20_000_000 {
            waits.push(before_ns - start_ns);
        }
    }
    waits
}

/// A busy machine adds waits of its own and takes others' time: one try of five must agree with the
/// clock, over at most ten stalls.
#[test]
fn a_stall_comes_as_often_as_asked() {
    if !testing::cores::is_quiet(0.1) {
        return;
    }
    let inject = Inject { stall_ms: 20, stall_every_ms: 50, ..Inject::default() };
    for backend in present::backends() {
        let mut tries = Vec::new();
        let as_asked = (0..5).any(|_| {
            tries.push(long_waits(backend, &inject).len());
            tries.last().is_some_and(|stalls| (3..=12).contains(stalls))
        });
        assert!(as_asked, "{}: stalls {tries:?}", backend.row.name);
    }
}

#[test]
fn a_sleeping_backend_wakes_for_a_stall() {
    let inject = Inject { stall_ms: 1, stall_every_ms: 20, ..Inject::default() };
    let mut pair = pair(crate::backend("block").unwrap(), &inject);
    let until_ns = pair.clock.now_ns() + 5_000_000_000;
    pair.streams.wait(until_ns, &mut Vec::new()).unwrap();
    assert!(pair.clock.now_ns() < until_ns);
}

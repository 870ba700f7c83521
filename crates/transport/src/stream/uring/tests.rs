//! Over real sockets: what the tests of all backends can't bring about.

use super::ring::{PIECE_BYTES, PIECES, SEND_BYTES};
use super::*;
use crate::present;
use rustix::net::sockopt;
use std::io::{Read as _, Write as _};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(20);

/// Runs `test` in a thread of its own with a sleeping and a spinning set; see [`present`].
fn each(test: fn(Uring)) {
    let has = |name| present::backends().iter().any(|backend| backend.row.name == name);
    if !has("io_uring") {
        return;
    }
    for spins in [false, true] {
        let run = move || test(Uring::new(Clock::calibrate(), spins).unwrap());
        std::thread::spawn(run).join().unwrap();
    }
}

/// A stream of the set and its peer.
fn pair(uring: &mut Uring) -> (StreamId, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    peer.set_read_timeout(Some(PATIENCE)).unwrap();
    (uring.add(listener.accept().unwrap().0.into()).unwrap(), peer)
}

/// The events of one wait of at most 10 ms.
fn wait(uring: &mut Uring) -> Vec<Ready> {
    let mut ready = Vec::new();
    uring.wait(uring.clock.now_ns() + 10_000_000, &mut ready).unwrap();
    ready
}

/// Waits until `is_so`.
fn wait_until(uring: &mut Uring, is_so: impl Fn(&mut Uring) -> bool) {
    let began = Instant::now();
    while !is_so(uring) {
        assert!(began.elapsed() < PATIENCE, "it does not come");
        wait(uring);
    }
}

/// Reads a stream whenever it is ready, to its end or until there are this many bytes.
fn read(uring: &mut Uring, id: StreamId, bytes: usize) -> (Vec<u8>, StreamRead) {
    let (mut got, mut buffer, began) = (Vec::new(), vec![0; 10_000], Instant::now());
    while got.len() < bytes {
        assert!(began.elapsed() < PATIENCE, "{} of {bytes} bytes came", got.len());
        for _ in wait(uring).iter().filter(|event| **event == Ready::Readable(id)) {
            match uring.read(id, &mut buffer) {
                StreamRead::Bytes { n, .. } => got.extend_from_slice(&buffer[..n]),
                StreamRead::Empty => {}
                end => return (got, end),
            }
        }
    }
    (got, StreamRead::Empty)
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 13 + at / 241) as u8).collect()
}

/// Writes as much as the kernel takes now.
fn push(peer: &TcpStream, bytes: &[u8]) -> usize {
    peer.set_nonblocking(true).unwrap();
    let written = { peer }.write(bytes).unwrap_or(0);
    peer.set_nonblocking(false).unwrap();
    written
}

/// A stream of a crowd, its peer, and how many bytes that one has sent.
type Member = (StreamId, TcpStream, usize);

/// Streams whose peers have sent until the kernel had no piece left for the next byte.
fn crowd(uring: &mut Uring, sent: &[u8]) -> Vec<Member> {
    let (mut crowd, began): (Vec<Member>, _) = (Vec::new(), Instant::now());
    while !uring.ring.is_out_of_pieces() {
        assert!(began.elapsed() < PATIENCE, "there are pieces for {} streams", crowd.len());
        let (id, peer) = pair(uring);
        let n = push(&peer, sent);
        crowd.push((id, peer, n));
        wait(uring);
    }
    crowd
}

#[test]
fn tags_come_back_as_what_they_are_about() {
    for lane in [0, 1, u32::MAX] {
        for about in
            [UringRequest::Receive(lane), UringRequest::Writable(lane), UringRequest::Cancel(lane)]
        {
            assert_eq!(UringRequest::of(about.tag()), about);
        }
    }
    for about in
        [UringRequest::Listener, UringRequest::Bell(0), UringRequest::Bell(1), UringRequest::Write]
    {
        assert_eq!(UringRequest::of(about.tag()), about);
    }
}

/// Many streams take every piece. The kernel ends the request of another one (ENOBUFS), which gets
/// nothing until pieces are back; then all go on.
#[test]
fn a_burst_of_more_than_all_pieces_arrives_whole() {
    each(|mut uring| {
        let (modest, mut other) = pair(&mut uring);
        wait(&mut uring);
        let sent = pattern(16 * PIECE_BYTES);
        let crowd = crowd(&mut uring, &sent);
        other.write_all(b"one word").unwrap();
        wait_until(&mut uring, |uring| uring.lanes[modest.index()].receive == Request::Queued);
        assert!(matches!(uring.read(modest, &mut [0; 8]), StreamRead::Empty));
        for (id, _peer, n) in &crowd {
            let (got, _) = read(&mut uring, *id, *n);
            assert!(got == sent[..*n], "other bytes");
        }
        assert_eq!(read(&mut uring, modest, 8).0, b"one word");
    });
}

/// One stream is not read, and its peer sends all that the kernel takes. Others have pieces all the
/// time, and when the stream is read, each of its bytes comes once.
#[test]
fn a_stream_that_floods_leaves_pieces_to_the_others() {
    each(|mut uring| {
        let (greedy, peer) = pair(&mut uring);
        let (modest, mut other) = pair(&mut uring);
        let sent = pattern(16 * usize::from(PIECES) * PIECE_BYTES);
        let mut n = 0;
        for round in 0..100_u8 {
            n += push(&peer, &sent[n..]);
            other.write_all(&[round]).unwrap();
            assert_eq!(read(&mut uring, modest, 1).0, [round]);
        }
        assert!(n > usize::from(PIECES) * PIECE_BYTES / 2, "{n} bytes are no flood");
        assert!(!uring.ring.is_out_of_pieces());
        let rest = sent[n..].to_vec();
        let writer = std::thread::spawn(move || { &peer }.write_all(&rest).map(|()| peer));
        let (got, _) = read(&mut uring, greedy, sent.len());
        assert!(got == sent, "other bytes");
        let mut peer = writer.join().unwrap().unwrap();
        // Read to its end, it is an ordinary stream again.
        peer.write_all(b"one word").unwrap();
        assert_eq!(read(&mut uring, greedy, 8).0, b"one word");
        assert!(!uring.lanes[greedy.index()].rationed);
    });
}

/// Pieces of streams that are removed unread serve the others.
#[test]
fn a_removed_stream_gives_its_pieces_back() {
    each(|mut uring| {
        for _ in 0..3 {
            let (kept, mut other) = pair(&mut uring);
            for (removed, mut peer, _) in crowd(&mut uring, &pattern(16 * PIECE_BYTES)) {
                uring.remove(removed);
                assert!(matches!(uring.read(removed, &mut [0; 8]), StreamRead::Failed(_)));
                assert!(uring.lanes[removed.index()].is_vacant(), "its number is free at once");
                // Its peer is told at once, by an end or by a reset.
                assert!(!matches!(peer.read(&mut [0; 8]), Ok(1..)));
            }
            other.write_all(b"go on").unwrap();
            assert_eq!(read(&mut uring, kept, 5).0, b"go on");
            uring.remove(kept);
        }
    });
}

#[test]
fn a_request_that_was_broken_off_is_made_again() {
    each(|mut uring| {
        let (id, mut peer) = pair(&mut uring);
        for round in 0..3 {
            wait_until(&mut uring, |uring| uring.lanes[id.index()].receive == Request::Armed);
            wait(&mut uring);
            uring
                .ring
                .cancel(UringRequest::Receive(id.0).tag(), UringRequest::Cancel(id.0).tag())
                .unwrap();
            uring.enter().unwrap();
            wait_until(&mut uring, |uring| {
                let _ = uring.enter();
                uring.lanes[id.index()].receive == Request::Queued
            });
            peer.write_all(&[round; 100]).unwrap();
            assert_eq!(read(&mut uring, id, 100).0, [round; 100]);
        }
    });
}

#[test]
fn bytes_before_an_end_are_read_before_it() {
    each(|mut uring| {
        let (id, mut peer) = pair(&mut uring);
        peer.write_all(b"last words").unwrap();
        peer.shutdown(Shutdown::Write).unwrap();
        let (got, end) = read(&mut uring, id, usize::MAX);
        assert_eq!(got, b"last words");
        assert!(matches!(end, StreamRead::Closed));
        // It is reported once, and a sleeping wait sleeps again.
        assert!(!wait(&mut uring).contains(&Ready::Readable(id)));
        assert!(matches!(uring.read(id, &mut [0; 8]), StreamRead::Closed));
        // The other direction is open.
        assert!(matches!(uring.write(id, b"answer"), Write::Bytes { n: 6, .. }));
        uring.shutdown(id);
        let mut answer = String::new();
        peer.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "answer");
    });
}

#[test]
fn a_peer_that_resets_fails_reads_and_writes() {
    each(|mut uring| {
        let (id, peer) = pair(&mut uring);
        wait(&mut uring);
        // No time to linger: closing resets the connection.
        sockopt::set_socket_linger(&peer, Some(Duration::ZERO)).unwrap();
        drop(peer);
        let StreamRead::Failed(error) = read(&mut uring, id, usize::MAX).1 else {
            panic!("an end")
        };
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset, "{error}");
        let Write::Failed(error) = uring.write(id, b"to nobody") else { panic!("it was taken") };
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe, "{error}");
    });
}

/// A peer that does not read: a write is taken in part, then not at all; when the peer reads, the
/// stream is reported writable, and every byte has come once.
#[test]
fn a_full_socket_takes_a_part_and_says_when_it_takes_more() {
    each(|mut uring| {
        let (id, mut peer) = pair(&mut uring);
        let sent = pattern(32 << 20);
        let (mut n, mut calls, mut parts) = (0, 0, 0);
        while let Write::Bytes { n: more @ 1.., .. } = uring.write(id, &sent[n..]) {
            n += more;
            calls += 1;
            assert!(more <= SEND_BYTES);
            parts += u32::from(more < SEND_BYTES);
        }
        assert!(n < sent.len() && calls > 1, "{n} bytes in {calls} writes, {parts} in part");
        uring.watch_writable(id, true).unwrap();
        assert!(!wait(&mut uring).contains(&Ready::Writable(id)));
        let length = sent.len();
        let reader = std::thread::spawn(move || {
            let mut got = vec![0; length];
            // The peer stays open: its end would be something to read.
            peer.read_exact(&mut got).map(|()| (got, peer))
        });
        let began = Instant::now();
        while n < sent.len() {
            assert!(began.elapsed() < PATIENCE, "{n} bytes were taken");
            if wait(&mut uring).contains(&Ready::Writable(id)) {
                let Write::Bytes { n: more, .. } = uring.write(id, &sent[n..]) else { panic!() };
                n += more;
            }
        }
        let (got, _peer) = reader.join().unwrap().unwrap();
        assert!(got == sent, "other bytes");
        uring.watch_writable(id, false).unwrap();
        wait(&mut uring);
        assert!(wait(&mut uring).is_empty(), "it is not watched any more");
    });
}

/// The stamps lie around what they stamp: a write's before its bytes can come back, a read's after
/// they were written and not after the wait that found them.
#[test]
fn stamps_stand_next_to_the_calls() {
    each(|mut uring| {
        let (id, mut peer) = pair(&mut uring);
        for _ in 0..100 {
            let before_ns = uring.clock.now_ns();
            let Write::Bytes { n: 4, stamp_ns } = uring.write(id, b"ping") else { panic!() };
            let after_ns = uring.clock.now_ns();
            assert!((before_ns..=after_ns).contains(&stamp_ns));
            let mut buffer = [0; 8];
            peer.read_exact(&mut buffer[..4]).unwrap();
            peer.write_all(b"pong").unwrap();
            wait_until(&mut uring, |uring| uring.lanes[id.index()].is_readable());
            let found_ns = uring.clock.now_ns();
            let StreamRead::Bytes { n: 4, stamp_ns: read_ns } = uring.read(id, &mut buffer) else {
                panic!()
            };
            assert!((after_ns..=found_ns).contains(&read_ns));
        }
    });
}

/// A wait that sleeps returns when it is to, and not before.
#[test]
fn a_wait_that_sleeps_ends_in_time() {
    each(|mut uring| {
        let (_, _peer) = pair(&mut uring);
        wait(&mut uring);
        let until_ns = uring.clock.now_ns() + 20_000_000;
        let mut ready = Vec::new();
        uring.wait(until_ns, &mut ready).unwrap();
        assert!(ready.is_empty());
        assert_eq!(uring.clock.now_ns() >= until_ns, !uring.spins);
    });
}

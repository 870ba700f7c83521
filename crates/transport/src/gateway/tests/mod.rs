//! Gateways one by one: full rings, slow peers, ends, holds, and gateways that fail.

mod hold;
mod pairs;

use super::*;
use crate::backend::BACKENDS;
use crate::present;
use crate::stream::readiness;
use crate::streams::{Ready, StreamRead, Write};
use pairs::{Before, NUMBER, is_over, pairs, pattern};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

#[test]
fn numbers_out_of_range_are_rejected() {
    for count in [0, GATEWAYS_MAX + 1, usize::MAX] {
        let error = open(count, &BACKENDS[0], None, Clock::calibrate(), |_| Ok(())).err().unwrap();
        assert!(error.to_string().contains("take 1 to 64"), "{error}");
    }
}

#[test]
fn one_that_does_not_start_is_named() {
    let fail = |gateway| match gateway {
        1 => Err(io::Error::other("there is no such core")),
        _ => Ok(()),
    };
    match open(2, &BACKENDS[1], None, Clock::calibrate(), fail) {
        Err(GatewaysError::Ring(error)) => {
            testing::skipped(testing::Need::Kernel, format_args!("no gateways here: {error}"))
        }
        Err(error) => {
            assert_eq!(error.to_string(), "gateway 1 can't be started: there is no such core");
        }
        Ok(_) => panic!("it was started"),
    }
}

static FAIL: AtomicBool = AtomicBool::new(false);
static PANIC: AtomicBool = AtomicBool::new(false);

static FAILING: Backend = Backend {
    row: plan::backend::Backend {
        name: "failing",
        about: "the second gateway fails on request",
        spins: false,
    },
    queue: plan::backend::Queue::All,
    open: |clock, _| {
        let act = || match NUMBER.get() == 1 && FAIL.load(Ordering::Relaxed) {
            true => Err(io::Error::other("broken on purpose")),
            false => Ok(()),
        };
        Ok(Box::new(Before { sockets: readiness::block(clock)?, act, after_read: || () }))
    },
};

static PANICKING: Backend = Backend {
    row: plan::backend::Backend {
        name: "panicking",
        about: "the second gateway panics on request",
        spins: true,
    },
    queue: plan::backend::Queue::All,
    open: |clock, _| {
        let act = || {
            assert!(NUMBER.get() != 1 || !PANIC.load(Ordering::Relaxed), "panicked on purpose");
            Ok(())
        };
        Ok(Box::new(Before { sockets: readiness::spin(clock)?, act, after_read: || () }))
    },
};

#[test]
fn one_that_fails_or_panics_later_ends_the_wait_with_its_name() {
    for (backend, order, why) in
        [(&FAILING, &FAIL, "broken on purpose"), (&PANICKING, &PANIC, "panicked on purpose")]
    {
        let Some(mut pairs) = pairs(2, backend, 2) else { return };
        pairs.peers[0].write_all(b"tick").unwrap();
        let id = pairs.ids[0];
        assert_eq!(pairs.read_until(id, 16, |reads| !reads.is_empty()), b"tick");
        order.store(true, Ordering::Relaxed);
        let deadline = Instant::now() + Duration::from_secs(20);
        let error = loop {
            assert!(Instant::now() < deadline, "nothing was said");
            if let Err(error) = pairs.wait() {
                break error.to_string();
            }
        };
        assert!(error.starts_with("gateway 1 of 2 is gone"), "{error}");
        assert!(error.contains(why), "{error}");
    }
}

/// Without a reader the gateway stops reading too, and the peer is held back. Then all bytes come.
#[test]
fn a_full_ring_to_the_server_holds_the_client_back() {
    for backend in present::backends() {
        let Some(mut pairs) = pairs(1, backend, 1) else { return };
        let sent = pattern(1, 64 << 20);
        pairs.peers[0].set_nonblocking(true).unwrap();
        let (mut n, mut since) = (0, Instant::now());
        while since.elapsed() < Duration::from_millis(300) {
            match pairs.peers[0].write(&sent[n..]) {
                Ok(more) => (n, since) = (n + more, Instant::now()),
                Err(_) => std::thread::sleep(Duration::from_millis(1)),
            }
        }
        assert!(n < sent.len(), "{}: all {n} bytes were taken", backend.row.name);
        let peer = pairs.peers.remove(0);
        peer.set_nonblocking(false).unwrap();
        peer.shutdown(std::net::Shutdown::Write).unwrap();
        let id = pairs.ids[0];
        // Less than what came in one message: the rest of it stays for the next read.
        let got = pairs.read_until(id, 1000, is_over);
        assert!(got == sent[..n], "{}: {} of {n} bytes", backend.row.name, got.len());
    }
}

/// Bytes that the peer doesn't read wait at the gateway up to the window, then with the writer.
#[test]
fn a_peer_that_reads_late_gets_everything() {
    for backend in present::backends() {
        let Some(mut pairs) = pairs(1, backend, 1) else { return };
        let (id, sent) = (pairs.ids[0], pattern(2, 32 << 20));
        let (mut n, mut since) = (0, Instant::now());
        while since.elapsed() < Duration::from_millis(300) {
            match pairs.write(id, &sent[n..]) {
                0 => drop(pairs.wait().unwrap()),
                more => (n, since) = (n + more, Instant::now()),
            }
        }
        assert!(n < sent.len(), "{}: all {n} bytes were taken", backend.row.name);
        pairs.streams.watch_writable(id, true).unwrap();
        let mut peer = pairs.peers.remove(0);
        let all = sent.len();
        let reader = std::thread::spawn(move || {
            let mut got = vec![0; all];
            peer.read_exact(&mut got).map(|()| got)
        });
        let deadline = Instant::now() + Duration::from_secs(120);
        while n < all {
            assert!(Instant::now() < deadline, "{}: {n} bytes", backend.row.name);
            if pairs.wait().unwrap().contains(&Ready::Writable(id)) {
                n += pairs.write(id, &sent[n..]);
            }
        }
        assert!(reader.join().unwrap().unwrap() == sent, "{}", backend.row.name);
    }
}

static HOLD: AtomicBool = AtomicBool::new(false);
static IS_HELD: AtomicBool = AtomicBool::new(false);

static HELD: Backend = Backend {
    row: plan::backend::Backend { name: "held", about: "stands still on request", spins: false },
    queue: plan::backend::Queue::All,
    open: |clock, _| {
        let act = || {
            let deadline = Instant::now() + Duration::from_secs(20);
            while HOLD.load(Ordering::Relaxed) && Instant::now() < deadline {
                IS_HELD.store(true, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(())
        };
        Ok(Box::new(Before { sockets: readiness::block(clock)?, act, after_read: || () }))
    },
};

/// A gateway stands still: its ring fills, and it takes nothing more, not even an end. When it goes
/// on, everything comes in order.
#[test]
fn a_full_ring_to_a_gateway_takes_no_more() {
    const STREAMS: usize = 40;
    let Some(mut pairs) = pairs(1, &HELD, STREAMS) else { return };
    HOLD.store(true, Ordering::Relaxed);
    // It stands still from its next wait on.
    let deadline = Instant::now() + Duration::from_secs(20);
    while !IS_HELD.load(Ordering::Relaxed) {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(1));
    }
    let sent: Vec<Vec<u8>> = (0..STREAMS).map(|seed| pattern(seed, WINDOW_BYTES)).collect();
    let mut written = vec![0; STREAMS];
    for index in 0..STREAMS {
        written[index] = pairs.write(pairs.ids[index], &sent[index]);
        pairs.streams.watch_writable(pairs.ids[index], written[index] < WINDOW_BYTES).unwrap();
    }
    assert_eq!(written[0], WINDOW_BYTES);
    assert_eq!(written[STREAMS - 1], 0, "{written:?}");
    // The first has all, the second is ended before the rest of the others can be written.
    pairs.streams.shutdown(pairs.ids[0]);
    pairs.streams.remove(pairs.ids[1]);
    assert_eq!(pairs.write(pairs.ids[STREAMS - 1], b"later"), 0, "an end waits before it");
    HOLD.store(false, Ordering::Relaxed);
    let deadline = Instant::now() + Duration::from_secs(20);
    while (2..STREAMS).any(|index| written[index] < WINDOW_BYTES) {
        assert!(Instant::now() < deadline, "{written:?}");
        for event in pairs.wait().unwrap() {
            let Ready::Writable(id) = event else { continue };
            let index = pairs.ids.iter().position(|one| *one == id).unwrap();
            let rest = &sent[index][written[index]..];
            if !rest.is_empty() {
                written[index] += pairs.write(id, rest);
            }
        }
    }
    for (index, peer) in pairs.peers.iter_mut().enumerate() {
        let mut got = vec![0; WINDOW_BYTES];
        peer.read_exact(&mut got).unwrap();
        assert!(got == sent[index], "stream {index}");
        if index < 2 {
            assert_eq!(peer.read(&mut got).unwrap(), 0, "stream {index} has ended");
        }
    }
    // The number of the one that was removed is used again, and nothing of it is left.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let id = pairs.streams.add(listener.accept().unwrap().0.into()).unwrap();
    assert_eq!(id, pairs.ids[1]);
    peer.write_all(b"new").unwrap();
    assert_eq!(pairs.read_until(id, 16, |reads| !reads.is_empty()), b"new");
}

/// Unread bytes of a removed stream are not taken for its successor's.
#[test]
fn a_number_that_is_used_again_brings_nothing_of_the_former_stream() {
    for backend in present::backends() {
        let Some(mut pairs) = pairs(1, backend, 1) else { return };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        for round in 0..3 {
            let id = pairs.ids[0];
            pairs.peers[0].write_all(&pattern(round, 5_000)).unwrap();
            std::thread::sleep(Duration::from_millis(100));
            if round == 1 {
                // One of them is held already.
                pairs.wait().unwrap();
            }
            pairs.streams.remove(id);
            let mut gone = Vec::new();
            // By an end or a reset.
            let _ = pairs.peers[0].read_to_end(&mut gone);
            pairs.peers[0] = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            pairs.peers[0].set_read_timeout(Some(Duration::from_secs(10))).unwrap();
            pairs.ids[0] = pairs.streams.add(listener.accept().unwrap().0.into()).unwrap();
            assert_eq!(pairs.ids[0], id);
            pairs.peers[0].write_all(b"new").unwrap();
            assert_eq!(pairs.read_until(id, 16, |reads| !reads.is_empty()), b"new");
        }
        // Removed before it was announced.
        pairs.streams.remove(pairs.ids[0]);
        let peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let id = pairs.streams.add(listener.accept().unwrap().0.into()).unwrap();
        pairs.streams.remove(id);
        std::thread::sleep(Duration::from_millis(50));
        assert!(!pairs.wait().unwrap().contains(&Ready::Incoming), "{}", backend.row.name);
        assert_eq!((&peer).read(&mut [0; 4]).unwrap(), 0);
    }
}

/// The peer ends its side and still gets later writes; a peer that is gone makes writes fail.
#[test]
fn ends_are_told_as_by_a_backend_itself() {
    for backend in present::backends() {
        let Some(mut pairs) = pairs(2, backend, 2) else { return };
        let (half, gone) = (pairs.ids[0], pairs.ids[1]);
        pairs.peers[0].write_all(b"last words").unwrap();
        pairs.peers[0].shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(pairs.read_until(half, 4, is_over), b"last words");
        assert!(matches!(pairs.streams.read(half, &mut [0; 4]), StreamRead::Closed));
        assert_eq!(pairs.write(half, b"answer"), 6);
        pairs.streams.shutdown(half);
        let mut got = String::new();
        pairs.peers[0].read_to_string(&mut got).unwrap();
        assert_eq!(got, "answer");

        drop(pairs.peers.remove(1));
        let deadline = Instant::now() + Duration::from_secs(20);
        while let Write::Bytes { .. } = pairs.streams.write(gone, b"to nobody") {
            assert!(Instant::now() < deadline, "{}: writes go on", backend.row.name);
            pairs.wait().unwrap();
        }
        pairs.streams.remove(gone);
        assert!(matches!(pairs.streams.write(gone, b"x"), Write::Failed(_)));
        assert!(matches!(pairs.streams.read(gone, &mut [0; 4]), StreamRead::Failed(_)));
        assert!(pairs.streams.watch_writable(gone, true).is_err());
    }
}

/// The stamp is the gateway's: after the peer's write, before this thread looks. The test repeats
/// until that look is late enough.
#[test]
fn a_read_is_stamped_where_it_is_made() {
    for backend in present::backends() {
        let Some(mut pairs) = pairs(1, backend, 1) else { return };
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let before_ns = pairs.clock.now_ns();
            pairs.peers[0].write_all(b"tick").unwrap();
            std::thread::sleep(Duration::from_millis(20));
            let came_ns = pairs.clock.now_ns();
            while !pairs.wait().unwrap().contains(&Ready::Readable(pairs.ids[0])) {
                assert!(Instant::now() < deadline);
            }
            let looked_ns = pairs.clock.now_ns();
            let read = pairs.streams.read(pairs.ids[0], &mut [0; 8]);
            let StreamRead::Bytes { n: 4, stamp_ns } = read else { panic!("{read:?}") };
            assert!((before_ns..looked_ns).contains(&stamp_ns), "{before_ns} {stamp_ns}");
            if stamp_ns < came_ns {
                break;
            }
            assert!(Instant::now() < deadline, "{}: stamped late each time", backend.row.name);
        }
    }
}

/// Sixteen connections over three gateways: six, five, five, whatever the kernel's hash.
#[test]
fn connections_are_dealt_out_evenly() {
    let links: Vec<_> = (0..3).map(|_| Arc::new(Link::new(false).unwrap())).collect();
    for _ in 0..16 {
        links[crate::gateway::link::least_busy(&links)].one_more();
    }
    assert_eq!(links.iter().map(|link| link.open()).collect::<Vec<_>>(), [6, 5, 5]);
    links[1].one_less();
    assert_eq!(crate::gateway::link::least_busy(&links), 1);
}

//! Stamped writes over loopback, to a peer that answers.

use super::*;
use std::io::{Read as _, Write as _};
use std::net::UdpSocket;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// A set with one stream, and its other end.
struct Pair {
    streams: Box<dyn Streams>,
    id: StreamId,
    peer: TcpStream,
    clock: Clock,
    spins: bool,
}

impl Pair {
    /// `None`: the kernel doesn't stamp.
    fn open(backend: &crate::Backend, is_datagrams: bool) -> Option<Pair> {
        let clock = Clock::calibrate();
        let spins = backend.row.spins;
        let mut streams = around(backend.open(clock).unwrap(), clock, spins);
        let (ours, peer) = if is_datagrams {
            let [one, other] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
            one.connect(other.local_addr().unwrap()).unwrap();
            other.connect(one.local_addr().unwrap()).unwrap();
            (Connection::of_datagrams(one), TcpStream::from(OwnedFd::from(other)))
        } else {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let mut ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let mut peer = listener.accept().unwrap().0;
            // As a log-on: the kernel counts bytes from when it is asked to stamp.
            ours.write_all(b"hello").unwrap();
            peer.read_exact(&mut [0; 5]).unwrap();
            peer.write_all(b"hello").unwrap();
            ours.read_exact(&mut [0; 5]).unwrap();
            // Regression: bytes that the other end has not acknowledged yet shifted the numbers,
            // and no stamp was found.
            sockopt::set_tcp_quickack(&peer, false).unwrap();
            ours.write_all(b"subscribe").unwrap();
            peer.read_exact(&mut [0; 9]).unwrap();
            (ours.into(), peer)
        };
        match streams.add(ours) {
            Ok(id) => Some(Pair { streams, id, peer, clock, spins }),
            Err(why) if why.to_string().contains("SO_TIMESTAMPING") => None,
            Err(why) => panic!("{why}"),
        }
    }

    fn send(&mut self, bytes: &[u8], stamp: bool) {
        if stamp {
            self.streams.stamp_next_write(self.id);
        }
        let Write::Bytes { n, .. } = self.streams.write(self.id, bytes) else { panic!("write") };
        assert_eq!(n, bytes.len());
        self.peer.read_exact(&mut vec![0; n]).unwrap();
    }

    fn answer(&mut self) {
        self.peer.write_all(b"pong").unwrap();
        let (mut ready, mut buffer) = (Vec::new(), [0; 64]);
        let until_ns = self.clock.now_ns() + 20_000_000_000;
        while self.clock.now_ns() < until_ns {
            self.streams.wait(until_ns, &mut ready).unwrap();
            ready.clear();
            if let StreamRead::Bytes { n, .. } = self.streams.read(self.id, &mut buffer) {
                return assert_eq!(&buffer[..n], b"pong");
            }
        }
        panic!("no answer came");
    }

    /// How often a wait returns within 30 ms in which nothing arrives.
    fn idle_waits(&mut self) -> u32 {
        let (mut ready, mut waits) = (Vec::new(), 0);
        let until_ns = self.clock.now_ns() + 30_000_000;
        while self.clock.now_ns() < until_ns {
            self.streams.wait(until_ns, &mut ready).unwrap();
            waits += 1;
            for _ in ready.drain(..) {
                let read = self.streams.read(self.id, &mut [0; 64]);
                assert!(matches!(read, StreamRead::Empty), "{read:?}");
            }
        }
        waits
    }
}

fn each(is_datagrams: bool, test: fn(&mut Pair)) {
    let backends = crate::present::backends();
    for backend in backends.into_iter().filter(|one| plan::backend::stamps(one.row.name)) {
        match Pair::open(backend, is_datagrams) {
            Some(mut pair) => test(&mut pair),
            None => testing::skip!(Kernel, "SO_TIMESTAMPING"),
        }
    }
}

/// All stamps of a kernel without a card, in order and of the chosen message, whatever is written
/// around it, and also after stamps that nobody took.
fn stamps_are_those_of_the_chosen_message(pair: &mut Pair) {
    // Regression: the kernel stamps what arrives soon after it is asked to, not at once.
    let deadline = clock::Deadline::after(Duration::from_secs(20));
    loop {
        pair.send(b"first", true);
        pair.answer();
        if pair.streams.stamps(pair.id).received_ns.is_some() {
            break;
        }
        assert!(!deadline.left().is_zero(), "the kernel stamps nothing that arrives");
    }
    for round in 0..5 {
        pair.send(b"unstamped", false);
        let started_ns = clock::wall_ns();
        pair.send(&vec![1; 100 + round], true);
        let sent_ns = clock::wall_ns();
        pair.send(b"unstamped too", false);
        let answered_ns = clock::wall_ns();
        pair.answer();
        let ended_ns = clock::wall_ns();
        if round % 2 == 1 {
            continue;
        }
        let stamps = pair.streams.stamps(pair.id);
        let [queued_ns, driver_ns, received_ns] =
            [stamps.queued_ns, stamps.driver_ns, stamps.received_ns].map(Option::unwrap);
        let order = [started_ns, queued_ns, driver_ns, sent_ns, answered_ns, received_ns, ended_ns];
        assert!(order.is_sorted(), "{order:?}");
        assert_eq!((stamps.card_sent_ns, stamps.card_received_ns), (None, None));
        assert_eq!(pair.streams.stamps(pair.id).queued_ns, None, "they were taken");
    }
}

#[test]
fn stamps_of_a_stream_are_those_of_the_chosen_write() {
    each(false, stamps_are_those_of_the_chosen_message);
}

#[test]
fn stamps_of_datagrams_are_those_of_the_chosen_one() {
    each(true, stamps_are_those_of_the_chosen_message);
}

/// The error queue makes a socket ready until it is read.
#[test]
fn a_stamp_wakes_a_sleeper_once_and_is_kept() {
    each(false, |pair| {
        pair.send(b"first", true);
        let waits = pair.idle_waits();
        assert!(pair.spins || waits < 10, "{waits} waits");
        pair.answer();
        assert!(pair.streams.stamps(pair.id).driver_ns.is_some());
        // Nobody asks for these.
        pair.send(b"second", true);
        pair.answer();
        let waits = pair.idle_waits();
        assert!(pair.spins || waits < 10, "{waits} waits");
    });
}

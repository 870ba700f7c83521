//! A subscriber that stops reading, dies or changes its address doesn't delay the others.
//!
//! One replicator runs all the time. In turns it has one more subscriber: a healthy one, and one of
//! each kind that is not. So whatever else the machine does meets all of them alike.

use crate::below::{WAYS, bench};
use crate::*;
use plan::backend::XDP;
use testing::quiet::or_doubled;
use testing::unless;

/// Subscribers whose latency is measured.
const OTHERS: usize = 4;
/// Datagrams of one guest's turn.
const DATAGRAMS: usize = 50;
/// Datagrams that fill the smallest receive buffer.
const FULL: usize = 20;
/// Turns of each guest, half of them in the opposite order.
const TURNS: u32 = 4;
/// The median latency of the others beside a guest, compared with that beside a healthy one. A wide
/// limit: a replicator that waited for a guest would exceed it hundreds of times.
const RATIO_MAX: f64 = 2.0;
const ASSUMPTION: &str = "the medians of 200 latencies in turns differ by less than 2 times";

/// One more subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Guest {
    /// It reads.
    Healthy,
    /// Its receive buffer is full.
    Deaf,
    /// It has no socket any more, and its lease lasts.
    Dead,
    /// It reads at another port, and its lease for the first one lasts.
    Moved,
}

const GUESTS: [Guest; 4] = [Guest::Healthy, Guest::Deaf, Guest::Dead, Guest::Moved];

/// A replicator and those around it. `open` makes a socket at that port of their host; 0: any.
struct Bed<'a> {
    open: &'a dyn Fn(u16) -> (UdpSocket, SocketAddrV4),
    clock: Clock,
    source: UdpSocket,
    others: Vec<UdpSocket>,
    running: Running,
}

impl Bed<'_> {
    /// Sends a datagram; how long it took until the last of the others had it, ns.
    fn latency_ns(&self) -> u64 {
        let sent_ns = self.clock.now_ns();
        self.source.send_to(&[7; 64], self.running.from).unwrap();
        self.others.iter().for_each(|one| assert_eq!(receive(one).len(), 64));
        self.clock.now_ns() - sent_ns
    }

    /// The latencies beside that guest, which registers before and leaves afterwards.
    fn turn(&self, guest: Guest) -> Vec<u64> {
        let at = self.running.listening;
        let (socket, address) = (self.open)(0);
        if guest == Guest::Deaf {
            rustix::net::sockopt::set_socket_recv_buffer_size(&socket, 1).unwrap();
        }
        let member = register(&socket, at);
        let (mut kept, mut moved) = (Some(socket), None);
        match guest {
            Guest::Healthy => {}
            Guest::Deaf => {
                (0..FULL).for_each(|_| _ = self.latency_ns());
            }
            Guest::Dead => kept = None,
            Guest::Moved => {
                kept = None;
                let (socket, _) = (self.open)(0);
                let member = register(&socket, at);
                moved = Some((socket, member));
            }
        }
        let reading = match guest {
            Guest::Healthy => kept.as_ref(),
            _ => moved.as_ref().map(|(socket, _)| socket),
        };
        let one = |_| {
            let latency_ns = self.latency_ns();
            reading.into_iter().for_each(|socket| drop(receive(socket)));
            latency_ns
        };
        let latencies = (0..DATAGRAMS).map(one).collect();
        let socket = kept.unwrap_or_else(|| (self.open)(address.port()).0);
        socket.send_to(&member.leave(), at).unwrap();
        if let Some((socket, member)) = moved {
            socket.send_to(&member.leave(), at).unwrap();
        }
        latencies
    }
}

/// Gives every guest its turns, and compares what the others saw beside each.
fn harms_no_other(bed: Bed<'_>, factor: u32) -> Result<(), String> {
    let mut found = GUESTS.map(|_| Vec::new());
    for turn in 0..TURNS * factor {
        let forward = turn % 2 == 0;
        for at in 0..GUESTS.len() {
            let at = if forward { at } else { GUESTS.len() - 1 - at };
            found[at].extend(bed.turn(GUESTS[at]));
        }
    }
    let counts = bed.running.end();
    assert_eq!(counts.subscribers.expired(), 0, "every guest left by itself");
    let medians = found.map(|mut all| {
        all.sort_unstable();
        all[all.len() / 2] as f64
    });
    for (guest, median) in GUESTS.iter().zip(medians).skip(1) {
        let ratio = median / medians[0];
        unless!(ratio < RATIO_MAX, "{guest:?}: {ratio:.2} x, medians of {GUESTS:?}: {medians:?}");
    }
    Ok(())
}

/// Each guest takes every place in the order of sending, where the way has one that rotates.
fn of_guests(settings: Settings) -> Settings {
    let order = if settings.backend == XDP { SendOrder::Fixed } else { SendOrder::Rotating };
    Settings { order, lease_ms: 60_000, ..settings }
}

#[test]
fn a_lost_subscriber_delays_no_other() {
    or_doubled(ASSUMPTION, |factor| {
        let open = |port| socket_at(SocketAddrV4::new(Ipv4Addr::LOCALHOST, port));
        let (others, to): (Vec<_>, Vec<_>) = (0..OTHERS).map(|_| open(0)).unzip();
        let running = Running::start(of_guests(settings(&to)));
        let (source, clock) = (open(0).0, Clock::calibrate());
        harms_no_other(Bed { open: &open, clock, source, others, running }, factor)
    });
}

#[test]
fn a_lost_subscriber_delays_no_other_below_the_kernel() {
    let Some(bench) = bench() else { return };
    for backend in WAYS {
        or_doubled(ASSUMPTION, |factor| {
            let open = |port| bench.socket_at(port);
            let (others, to): (Vec<_>, Vec<_>) = (0..OTHERS).map(|_| open(0)).unzip();
            let running = bench.start(of_guests(bench.settings(backend, &to)));
            let (source, clock) = (open(0).0, Clock::calibrate());
            let bed = Bed { open: &open, clock, source, others, running };
            harms_no_other(bed, factor).map_err(|why| format!("{}: {why}", backend.name))
        });
    }
}

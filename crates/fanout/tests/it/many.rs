//! One source and 64 subscribers, each in a namespace of its own; they need root.

use crate::*;
use host::star::Star;
use plan::backend::{AF_XDP, AF_XDP_IN_PLACE, BLOCK, Backend, XDP};
use transport::datagram;

const SUBSCRIBERS: usize = 64;
/// Messages that are on their way at a time: fewer copies than any ring or buffer has places for.
const WINDOW: u32 = 2;

/// Messages of a run: `TICKPATH_FAN_OUT_MESSAGES`, which scripts/weekly sets, or some hundreds.
fn messages() -> u32 {
    let asked = std::env::var("TICKPATH_FAN_OUT_MESSAGES").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(300)
}

/// Time that a message to all of them may take on a busy machine, ns.
const MESSAGE_NS_MAX: u64 = 20_000_000;

/// Subscribers in their namespaces.
struct Bench {
    star: Arc<Star>,
    source: UdpSocket,
    subscribers: Vec<(UdpSocket, SocketAddrV4)>,
}

/// `None` after counting the test as skipped.
fn bench() -> Option<Bench> {
    let star = match Star::create(SUBSCRIBERS + 2) {
        Ok(star) => Arc::new(star),
        Err(why) => {
            testing::skipped(testing::Need::Root, why);
            return None;
        }
    };
    let sockets: Vec<_> = star.leaves()[1..]
        .iter()
        .map(|leaf| leaf.within(|| socket_at(SocketAddrV4::new(leaf.address(), 0))).unwrap())
        .collect();
    let mut sockets = sockets.into_iter();
    let (source, _) = sockets.next().unwrap();
    Some(Bench { star, source, subscribers: sockets.collect() })
}

impl Bench {
    fn start(&self, backend: Backend) -> Running {
        let own = SocketAddrV4::new(self.star.leaves()[0].address(), 0);
        let to: Vec<SocketAddrV4> = self.subscribers.iter().map(|one| one.1).collect();
        let settings = Settings { from: own, listen: Some(own), backend, ..settings(&to) };
        let star = self.star.clone();
        let longest_ns = LONGEST_NS + u64::from(messages()) * MESSAGE_NS_MAX;
        let within = move |work: Work<'_>| star.leaves()[0].within(work).unwrap();
        Running::start_for(longest_ns, settings, within)
    }

    /// Copies that the kernel dropped in front of a subscriber.
    fn dropped(&self, at: usize) -> u64 {
        let dropped = || datagram::dropped(&self.subscribers[at].0);
        self.star.leaves()[at + 2].within(dropped).unwrap().unwrap()
    }
}

/// Each copy is received, or dropped by the buffer of the subscriber that did not read.
#[test]
fn copies_to_64_namespaces_are_all_accounted_for() {
    const DEAF: usize = 5;
    const DYING: usize = 9;
    let Some(mut bench) = bench() else { return };
    let all = messages();
    for backend in [BLOCK, AF_XDP, AF_XDP_IN_PLACE, XDP] {
        let before: Vec<u64> = (0..SUBSCRIBERS).map(|at| bench.dropped(at)).collect();
        rustix::net::sockopt::set_socket_recv_buffer_size(&bench.subscribers[DEAF].0, 1).unwrap();
        let running = bench.start(backend);
        let mut received = vec![0_u64; SUBSCRIBERS];
        let mut seen = 0;
        for number in 0..all {
            if number == all / 2 {
                // Its namespace stays, and answers copies by errors.
                let ip = *bench.subscribers[DYING].1.ip();
                let leaf = &bench.star.leaves()[DYING + 2];
                let any = SocketAddrV4::new(ip, 0);
                bench.subscribers[DYING].0 = leaf.within(|| socket_at(any)).unwrap().0;
            }
            bench.source.send_to(&number.to_be_bytes(), running.from).unwrap();
            if (number + 1) % WINDOW != 0 && number + 1 != all {
                continue;
            }
            for (at, (socket, _)) in bench.subscribers.iter().enumerate() {
                let gets = |one: &u32| at != DEAF && (at != DYING || *one < all / 2);
                let expected = (seen..=number).filter(gets).map(u32::to_be_bytes);
                let expected: Vec<[u8; 4]> = expected.collect();
                // They overtake each other where the replicator's thread moves to another core.
                let mut got: Vec<Vec<u8>> = expected.iter().map(|_| receive(socket)).collect();
                got.sort_unstable();
                assert_eq!(got, expected, "{at}");
                received[at] += got.len() as u64;
            }
            seen = number + 1;
        }
        let counts = running.end();
        let deaf = &bench.subscribers[DEAF].0;
        deaf.set_nonblocking(true).unwrap();
        received[DEAF] = std::iter::from_fn(|| deaf.recv(&mut [0; 16]).ok()).count() as u64;
        deaf.set_nonblocking(false).unwrap();
        assert_eq!(counts.received, u64::from(all), "{}", backend.name);
        assert_eq!(counts.interface_dropped.unwrap_or(0), 0, "{}", backend.name);
        for (at, one) in counts.subscribers.all().iter().enumerate() {
            assert_eq!(one.counts.sent, u64::from(all), "{} {at}", backend.name);
            let lost =
                if at == DYING { u64::from(all - all / 2) } else { bench.dropped(at) - before[at] };
            assert_eq!(received[at] + lost, u64::from(all), "{} {at}", backend.name);
        }
        assert!(bench.dropped(DEAF) > before[DEAF], "{}", backend.name);
        // A new process takes the dead one's address.
        let (_, address) = bench.subscribers[DYING];
        bench.subscribers[DYING].0 =
            bench.star.leaves()[DYING + 2].within(|| socket_at(address)).unwrap().0;
    }
}

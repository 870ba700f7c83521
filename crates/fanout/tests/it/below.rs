//! Ways to copy below the kernel's stack, between two namespaces; they need root.

use crate::registration::changes_its_address;
use crate::*;
use bypass::routes::Interface;
use bypass::{Port, PortOptions, ZeroCopy};
use fanout::tunnel::{STAMPED_BYTES, Stamps};
use host::network::{DEVICE, Networks};
use plan::backend::{AF_XDP, AF_XDP_IN_PLACE, Backend, REPLICATORS, XDP};
use testing::quiet::or_doubled;

pub const WAYS: [Backend; 3] = [AF_XDP, AF_XDP_IN_PLACE, XDP];

/// Namespaces, with the replicator in the first one.
pub struct Bench {
    networks: Arc<Networks>,
    /// A driver of veth takes frames of programs only if its peer has one too.
    _peer: Port,
}

/// `None` after counting the test as skipped.
pub fn bench() -> Option<Bench> {
    let networks = match Networks::create() {
        Ok(networks) => Arc::new(networks),
        Err(why) => {
            testing::skipped(testing::Need::Root, why);
            return None;
        }
    };
    let options = PortOptions { queue: None, zero_copy: ZeroCopy::No };
    let open = || Port::open(&Interface::named(DEVICE).unwrap(), options);
    match networks.trader().within(open).unwrap() {
        Ok(_peer) => Some(Bench { networks, _peer }),
        Err(why) => {
            testing::skipped(testing::Need::Kernel, why);
            None
        }
    }
}

impl Bench {
    pub fn settings(&self, backend: Backend, to: &[SocketAddrV4]) -> Settings {
        let own = SocketAddrV4::new(self.networks.exchange().address(), 0);
        Settings { from: own, listen: Some(own), backend, ..settings(to) }
    }

    pub fn start(&self, settings: Settings) -> Running {
        let networks = self.networks.clone();
        Running::start_in(settings, move |work| networks.exchange().within(work).unwrap())
    }

    /// A socket in the other namespace.
    pub fn socket(&self) -> (UdpSocket, SocketAddrV4) {
        self.socket_at(0)
    }

    /// One at that port; 0: any.
    pub fn socket_at(&self, port: u16) -> (UdpSocket, SocketAddrV4) {
        let at = SocketAddrV4::new(self.networks.trader().address(), port);
        self.networks.trader().within(|| socket_at(at)).unwrap()
    }
}

fn sent(counts: &Counts) -> Vec<u64> {
    counts.subscribers.all().iter().map(|one| one.counts.sent).collect()
}

#[test]
fn each_subscriber_gets_every_datagram_whole_and_once_below_the_kernel() {
    const SIZES: [usize; 6] = [0, 1, 60, 555, 1_471, 1_472];
    let Some(bench) = bench() else { return };
    for backend in WAYS {
        let (source, _) = bench.socket();
        let receivers: Vec<_> = (0..10).map(|_| bench.socket()).collect();
        let to: Vec<SocketAddrV4> = receivers.iter().map(|one| one.1).collect();
        let running = bench.start(bench.settings(backend, &to));
        for size in SIZES {
            let bytes: Vec<u8> = (0..size).map(|at| (at * 3 + size) as u8).collect();
            source.send_to(&bytes, running.from).unwrap();
            receivers.iter().for_each(|(receiver, _)| assert_eq!(receive(receiver), bytes));
        }
        receivers.iter().take(1).for_each(|(receiver, _)| gets_nothing(receiver));
        let counts = running.end();
        assert_eq!(counts.received, SIZES.len() as u64, "{}", backend.name);
        assert_eq!(counts.received_bytes, SIZES.iter().sum::<usize>() as u64);
        assert_eq!(sent(&counts), [SIZES.len() as u64; 10], "{}", backend.name);
        assert_eq!(counts.interface_dropped, Some(0));
        // No process sees datagrams that the kernel copies, so it has no times of them.
        let copied = if backend == XDP { 0 } else { SIZES.len() as u64 };
        assert_eq!(counts.copying_ns.len(), copied);
    }
}

/// In place the stamps are written where the datagram came in, and each copy has them, with the
/// checksum of its content.
#[test]
fn copies_in_place_are_stamped_and_frames_come_back() {
    /// More than the frames of a queue, so that each is used again.
    const MANY: u64 = 10_000;
    let Some(bench) = bench() else { return };
    let (source, _) = bench.socket();
    let receivers: Vec<_> = (0..3).map(|_| bench.socket()).collect();
    let to: Vec<SocketAddrV4> = receivers.iter().map(|one| one.1).collect();
    let settings = Settings { tunnel: Tunnel::Keep, ..bench.settings(AF_XDP_IN_PLACE, &to) };
    let running = bench.start(settings);
    let group = Ipv4Addr::new(239, 1, 2, 3);
    for sequence in 0..MANY {
        let mut bytes = [0; STAMPED_BYTES + 3];
        bytes[STAMPED_BYTES..].copy_from_slice(b"end");
        let stamps = Stamps { sequence, sent_ns: 7, ..Stamps::default() };
        stamps.encode(group, &mut bytes);
        source.send_to(&bytes, running.from).unwrap();
        let copies: Vec<Vec<u8>> = receivers.iter().map(|(one, _)| receive(one)).collect();
        let stamped = Stamps::decode(&copies[0]).unwrap();
        assert_eq!((stamped.sequence, stamped.sent_ns), (sequence, 7));
        assert!(stamped.received_ns > 0 && stamped.resent_ns >= stamped.received_ns);
        assert!(copies[0].ends_with(b"end") && copies.iter().all(|copy| *copy == copies[0]));
    }
    source.send_to(b"no header", running.from).unwrap();
    receivers.iter().for_each(|(receiver, _)| gets_nothing(receiver));
    let counts = running.end();
    assert_eq!((counts.received, counts.rejects.no_header), (MANY + 1, 1));
    assert_eq!(sent(&counts), [MANY; 3]);
}

/// A subscriber that registers gets the next datagram, and none after its lease.
#[test]
fn a_subscriber_below_the_kernel_comes_and_goes() {
    let Some(bench) = bench() else { return };
    for backend in WAYS {
        let ((source, _), (leased, address), (named, to)) =
            (bench.socket(), bench.socket(), bench.socket());
        let settings = Settings { lease_ms: 500, ..bench.settings(backend, &[to]) };
        let running = bench.start(settings);
        register(&leased, running.listening);
        source.send_to(b"tick", running.from).unwrap();
        let got = receive(&leased);
        assert_eq!((&got[..], &receive(&named)[..]), (&b"tick"[..], &b"tick"[..]));
        std::thread::sleep(Duration::from_millis(900));
        for _ in 0..3 {
            source.send_to(b"tock", running.from).unwrap();
            assert_eq!(receive(&named), b"tock");
        }
        gets_nothing(&leased);
        let counts = running.end();
        let (former, ..) = counts.subscribers.former();
        assert_eq!((former[0].0, former[0].1.sent), (address, 1), "{}", backend.name);
        assert_eq!((counts.subscribers.expired(), sent(&counts)), (1, vec![4]));
    }
}

/// Also from one address of the host to another.
#[test]
fn a_subscriber_below_the_kernel_changes_its_address() {
    let Some(bench) = bench() else { return };
    let (address, other) = (bench.networks.trader().address(), Ipv4Addr::new(192, 0, 2, 3));
    let mut ip = std::process::Command::new("ip");
    ip.args(["address", "add", &format!("{other}/24"), "dev", DEVICE]);
    assert!(bench.networks.trader().within(|| ip.status().unwrap()).unwrap().success());
    let both = (SocketAddrV4::new(address, 0), SocketAddrV4::new(other, 0));
    for backend in WAYS {
        or_doubled("a thread that renews a lease of 2 s runs in time", |factor| {
            let named = bench.socket();
            let settings = bench.settings(backend, &[named.1]);
            let running = bench.start(Settings { lease_ms: 2_000 * factor, ..settings });
            let changes = || changes_its_address(running, named, both);
            bench.networks.trader().within(changes).unwrap()
        });
    }
}

/// One whose host is down, one whose process died, and one that stops reading.
#[test]
fn a_subscriber_that_is_lost_harms_no_other_below_the_kernel() {
    const MANY: u32 = 1_000;
    let Some(bench) = bench() else { return };
    for backend in WAYS {
        let ((source, _), (deaf, deaf_address), (dead, dead_address), (good, good_address)) =
            (bench.socket(), bench.socket(), bench.socket(), bench.socket());
        rustix::net::sockopt::set_socket_recv_buffer_size(&deaf, 1).unwrap();
        drop(dead);
        let down = SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 77), 9);
        let to = [down, deaf_address, dead_address, good_address];
        let running = bench.start(bench.settings(backend, &to));
        for number in 0..MANY {
            let bytes = number.to_be_bytes();
            source.send_to(&bytes, running.from).unwrap();
            assert_eq!(receive(&good), bytes, "datagram {number}");
        }
        let counts = running.end();
        let many = u64::from(MANY);
        assert_eq!(sent(&counts), [0, many, many, many], "{}", backend.name);
        let first = &counts.subscribers.all()[0].counts;
        assert!(first.failure.is_some(), "{}: {first:?}", backend.name);
        deaf.set_nonblocking(true).unwrap();
        let kept = std::iter::from_fn(|| deaf.recv(&mut [0; 2048]).ok()).count();
        assert!((1..MANY as usize).contains(&kept), "the full buffer kept {kept} of {MANY}");
    }
}

/// A datagram from elsewhere, and one in fragments: copied by frames, counted by programs.
#[test]
fn only_the_source_is_copied_below_the_kernel() {
    let Some(bench) = bench() else { return };
    for backend in WAYS {
        let ((source, _), (receiver, to)) = (bench.socket(), bench.socket());
        let allowed = Some(bench.networks.trader().address());
        let running = bench.start(Settings { source: allowed, ..bench.settings(backend, &[to]) });
        let here = SocketAddrV4::new(bench.networks.exchange().address(), 0);
        let foreign = bench.networks.exchange().within(|| socket_at(here)).unwrap();
        foreign.0.send_to(b"foreign", running.from).unwrap();
        source.send_to(b"tick", running.from).unwrap();
        assert_eq!(receive(&receiver), b"tick");
        gets_nothing(&receiver);
        assert_eq!(running.end().rejects.foreign, 1, "{}", backend.name);
    }
}

#[test]
fn a_backend_that_cannot_says_why() {
    let clock = Clock::calibrate();
    let reject = |settings| Replicator::new(settings, clock).err().unwrap().to_string();
    let own = SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 1), 0);
    let group = SocketAddrV4::new(Ipv4Addr::new(239, 1, 2, 3), 9);
    for backend in WAYS {
        let loopback = reject(Settings { backend, ..settings(&[]) });
        assert!(loopback.contains("receive at 127.0.0.1") && loopback.contains(backend.name));
        let multicast = reject(Settings { backend, from: group, ..settings(&[]) });
        assert!(multicast.contains("--backend spin"), "{multicast}");
    }
    let xdp = || Settings { backend: XDP, from: own, ..settings(&[]) };
    for (settings, words) in [
        (Settings { parent: Some(group), ..xdp() }, "--parent"),
        (Settings { tunnel: Tunnel::Keep, ..xdp() }, "tunnel header"),
        (Settings { order: SendOrder::Random, ..xdp() }, "--order random"),
    ] {
        let why = reject(settings);
        assert!(why.contains(words) && why.contains("use --backend af_xdp"), "{why}");
    }
    let in_place =
        |tunnel| Settings { backend: AF_XDP_IN_PLACE, from: own, tunnel, ..settings(&[]) };
    let why = reject(in_place(Tunnel::Remove));
    assert!(why.contains("add or remove a tunnel header") && why.contains("af_xdp"), "{why}");
    assert_eq!(REPLICATORS.len(), 6);
}

/// Copies leave by the interface where datagrams arrive, and the maps have an end.
#[test]
fn subscribers_that_a_way_cannot_have_are_rejected() {
    let Some(bench) = bench() else { return };
    let clock = Clock::calibrate();
    let reject = |settings| {
        let open = || Replicator::new(settings, clock).err().map(|why| why.to_string());
        bench.networks.exchange().within(open).unwrap().unwrap()
    };
    for backend in WAYS {
        let here = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 9);
        let why = reject(bench.settings(backend, &[here]));
        assert!(why.contains("does not leave by tick0"), "{why}");
        let listen = Some(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0));
        let why = reject(Settings { listen, ..bench.settings(backend, &[]) });
        assert!(why.contains("name an address of it"), "{why}");
    }
    let receivers = bypass::broadcast::RECEIVERS_MAX as u16;
    let to =
        (1..=receivers + 1).map(|port| SocketAddrV4::new(bench.networks.trader().address(), port));
    let why = reject(bench.settings(XDP, &to.collect::<Vec<_>>()));
    assert!(why.contains(&receivers.to_string()), "{why}");
}

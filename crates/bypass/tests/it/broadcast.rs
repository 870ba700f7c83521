//! Copies by XDP programs, against the kernel's sockets.

use crate::bench::{PATIENCE, addresses, networks, port};
use bypass::broadcast::{Broadcast, Paths, RECEIVERS_MAX, ReceiverHeaders, ReceiverSlot};
use bypass::routes::Interface;
use bypass::{BypassError, Port};
use host::network::{DEVICE, Network, Networks};
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::process::{Command, Stdio};
use std::time::Duration;

const CHILD: &str = "TICKPATH_TEST_BROADCAST_CHILD";
const SILENCE: Duration = Duration::from_millis(50);

/// A broadcast in the first network, with a source and receivers in the second.
struct Bench {
    networks: Networks,
    broadcast: Broadcast,
    paths: Paths,
    /// A socket of the kernel: it gets what the broadcast leaves.
    beside: UdpSocket,
    flow: SocketAddrV4,
    source: UdpSocket,
    /// A driver of veth takes frames of programs only if its peer has one too.
    peer: Port,
}

fn socket(network: &Network, ip: Ipv4Addr) -> (UdpSocket, SocketAddrV4) {
    let socket = network.within(|| UdpSocket::bind((ip, 0))).unwrap().unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let SocketAddr::V4(address) = socket.local_addr().unwrap() else { panic!() };
    (socket, address)
}

fn peer(networks: &Networks) -> Option<Port> {
    let interface = || Interface::named(DEVICE).unwrap();
    let opened = networks.trader().within(|| Port::open(&interface(), crate::bench::COPY)).unwrap();
    opened.map_err(|why| testing::skipped(testing::Need::Kernel, why)).ok()
}

/// `None` after counting the test as skipped.
fn bench() -> Option<Bench> {
    bench_as(true)
}

/// The broadcast takes the interface for one of veth, or not.
fn bench_as(is_veth: bool) -> Option<Bench> {
    let networks = networks()?;
    let peer = peer(&networks)?;
    let [ours, theirs] = addresses(&networks);
    let (beside, flow) = socket(networks.exchange(), ours);
    let (source, _) = socket(networks.trader(), theirs);
    let open = || {
        let interface = Interface { is_veth, ..Interface::named(DEVICE).unwrap() };
        let mut paths = Paths::new(interface.clone(), flow);
        paths.add(theirs).unwrap();
        let deadline = clock::Deadline::after(PATIENCE);
        while paths.is_incomplete() && !deadline.left().is_zero() {
            paths.refresh().unwrap();
            std::thread::sleep(Duration::from_millis(2));
        }
        Broadcast::open(&interface, flow, None).map(|broadcast| (broadcast, paths))
    };
    match networks.exchange().within(open).unwrap() {
        Ok((broadcast, paths)) => {
            Some(Bench { networks, broadcast, paths, beside, flow, source, peer })
        }
        Err(why) => {
            testing::skipped(testing::Need::Kernel, why);
            None
        }
    }
}

impl Bench {
    fn receiver(&self) -> (UdpSocket, SocketAddrV4) {
        socket(self.networks.trader(), self.networks.trader().address())
    }

    fn enter(&mut self, address: SocketAddrV4) -> ReceiverSlot {
        let header = self.paths.header(address).unwrap();
        let enter = || self.broadcast.enter(&ReceiverHeaders::new(&header)).unwrap();
        self.networks.exchange().within(enter).unwrap()
    }

    fn send(&self, bytes: &[u8]) {
        assert_eq!(self.source.send_to(bytes, self.flow).unwrap(), bytes.len());
    }
}

#[track_caller]
fn gets(socket: &UdpSocket, expected: &[u8], from: SocketAddrV4) {
    let mut bytes = [0; 2048];
    // Stopping a process interrupts its waits with a timeout, and some machines stop all of theirs.
    let received = std::iter::repeat_with(|| socket.recv_from(&mut bytes))
        .find(|one| !matches!(one, Err(why) if why.kind() == std::io::ErrorKind::Interrupted));
    let (length, sender) = received.unwrap().unwrap();
    assert_eq!((&bytes[..length], sender), (expected, from.into()));
}

#[track_caller]
fn gets_nothing(socket: &UdpSocket) {
    socket.set_read_timeout(Some(SILENCE)).unwrap();
    let got = socket.recv(&mut [0; 2048]);
    assert!(got.is_err(), "{got:?} bytes came");
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
}

/// Each receiver has its own port, so a copy with another's headers would not come.
#[test]
fn each_receiver_gets_each_datagram_whole_and_once() {
    const RECEIVERS: usize = 20;
    let Some(mut bench) = bench() else { return };
    let receivers: Vec<_> = (0..RECEIVERS).map(|_| bench.receiver()).collect();
    let places: Vec<ReceiverSlot> = receivers.iter().map(|one| bench.enter(one.1)).collect();
    let sizes = [0, 1, 2, 7, 18, 64, 1_000, 1_471, 1_472];
    for (number, size) in sizes.into_iter().enumerate() {
        let content: Vec<u8> = (0..size).map(|at| (at * 7 + number) as u8).collect();
        bench.send(&content);
        receivers.iter().for_each(|(receiver, _)| gets(receiver, &content, bench.flow));
    }
    receivers.iter().take(2).for_each(|(receiver, _)| gets_nothing(receiver));
    for place in places {
        assert_eq!(bench.broadcast.sent(place).unwrap(), sizes.len() as u64);
    }
    let bytes: u64 = sizes.iter().sum::<usize>() as u64;
    assert_eq!(bench.broadcast.received().unwrap(), (sizes.len() as u64, bytes));
}

/// As on a wire, a datagram comes with its checksum, and the receiver's kernel checks that of the
/// copy.
#[test]
fn a_checksum_of_a_wire_stays_right() {
    let Some(mut bench) = bench_as(false) else { return };
    let receivers = [0; 3].map(|_| bench.receiver());
    for (_, address) in &receivers {
        bench.enter(*address);
    }
    let [ours, theirs] = addresses(&bench.networks);
    let Bench { networks, broadcast, flow, peer, .. } = bench;
    let mut source = bypass::Datagrams::on_port(peer, theirs);
    let bind = || {
        source.resolve(ours).unwrap();
        source.bind(0).unwrap().port()
    };
    let port = networks.trader().within(bind).unwrap();
    for number in 0..300_u16 {
        let content = number.wrapping_mul(1_237).to_be_bytes().repeat(usize::from(number % 7));
        source.send(port, &content, flow).unwrap();
        receivers.iter().for_each(|(receiver, _)| gets(receiver, &content, flow));
    }
    assert_eq!(broadcast.received().unwrap().0, 300);
}

/// Receivers that stay get everything, whoever leaves before them. A free place is given again.
#[test]
fn a_receiver_that_left_gets_nothing_more() {
    let Some(mut bench) = bench() else { return };
    let [a, b, c] = [0; 3].map(|_| bench.receiver());
    let first = bench.enter(a.1);
    bench.enter(b.1);
    bench.send(b"one");
    gets(&a.0, b"one", bench.flow);
    gets(&b.0, b"one", bench.flow);
    assert_eq!(bench.broadcast.leave(first).unwrap(), 1);
    bench.send(b"two");
    gets(&b.0, b"two", bench.flow);
    gets_nothing(&a.0);
    assert_eq!(bench.enter(c.1), first);
    bench.send(b"three");
    gets(&b.0, b"three", bench.flow);
    gets(&c.0, b"three", bench.flow);
    assert_eq!(bench.broadcast.leave(first).unwrap(), 1, "its own, not those of the one before it");
    gets_nothing(&a.0);
}

/// A dead receiver's host answers each copy by an ICMP error, which nobody notices.
#[test]
fn a_dead_receiver_harms_no_other() {
    let Some(mut bench) = bench() else { return };
    let (dead, good) = (bench.receiver(), bench.receiver());
    bench.enter(dead.1);
    bench.enter(good.1);
    drop(dead.0);
    for number in 0..50_u8 {
        bench.send(&[number]);
        gets(&good.0, &[number], bench.flow);
    }
}

#[test]
fn everything_else_stays_with_the_kernel() {
    let Some(mut bench) = bench() else { return };
    let (receiver, address) = bench.receiver();
    bench.enter(address);
    let ours = *bench.flow.ip();
    let (other, other_address) = socket(bench.networks.exchange(), ours);
    bench.source.send_to(b"another port", other_address).unwrap();
    let SocketAddr::V4(sender) = bench.source.local_addr().unwrap() else { panic!() };
    gets(&other, b"another port", sender);
    // It comes in fragments, of which only the first has ports.
    let long = [7; 4_000];
    bench.source.send_to(&long, bench.flow).unwrap();
    let mut bytes = [0; 8_192];
    assert_eq!(bench.beside.recv(&mut bytes).unwrap(), long.len());
    bench.send(b"tick");
    gets(&receiver, b"tick", bench.flow);
    gets_nothing(&bench.beside);
    gets_nothing(&receiver);
}

#[test]
fn one_more_than_the_map_has_room_for_is_rejected() {
    let Some(mut bench) = bench() else { return };
    let (_, address) = bench.receiver();
    for _ in 0..RECEIVERS_MAX {
        bench.enter(address);
    }
    let prepared = ReceiverHeaders::new(&bench.paths.header(address).unwrap());
    let why = bench.broadcast.enter(&prepared).unwrap_err();
    assert!(matches!(why, BypassError::Limit { max: RECEIVERS_MAX, .. }), "{why}");
}

/// Numbers of interfaces are those of a namespace: in another one, copies would leave by a strange
/// interface.
#[test]
fn a_receiver_enters_only_in_the_namespace_of_the_interface() {
    let Some(mut bench) = bench() else { return };
    let (_, address) = bench.receiver();
    let prepared = ReceiverHeaders::new(&bench.paths.header(address).unwrap());
    let why = bench.broadcast.enter(&prepared).unwrap_err();
    assert!(matches!(why, BypassError::NoInterface { .. }), "{why}");
    bench.enter(address);
}

/// An interface has one program.
#[test]
fn a_broadcast_and_a_port_do_not_share_an_interface() {
    let Some(bench) = bench() else { return };
    let interface = || Interface::named(DEVICE).unwrap();
    let open = || Port::open(&interface(), crate::bench::COPY).map(drop);
    let why = bench.networks.exchange().within(open).unwrap().unwrap_err();
    assert!(why.to_string().contains("xdp off"), "{why}");
}

/// Killed at any instant, a process leaves no program.
#[test]
fn a_killed_process_leaves_the_interface_to_the_kernel() {
    if std::env::var_os(CHILD).is_some() {
        let interface = Interface::named(DEVICE).unwrap();
        let flow = SocketAddrV4::new(interface.addresses[0], 9);
        let _broadcast = Broadcast::open(&interface, flow, None).unwrap();
        println!("\nit holds a broadcast");
        std::thread::sleep(PATIENCE);
        return;
    }
    if !testing::child::is_possible() {
        return;
    }
    let Some(networks) = networks() else { return };
    if port(&networks).is_none() {
        return;
    }
    let spawn = || {
        let name = testing::test_name!(a_killed_process_leaves_the_interface_to_the_kernel);
        let mut child: Command = testing::child::again(&name);
        child.env(CHILD, "1").stdout(Stdio::piped()).spawn().unwrap()
    };
    let mut child = networks.exchange().within(spawn).unwrap();
    let said = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let opened = said.into_iter().find(|line| line.contains("holds"));
    let has_program = || {
        let interface = || Interface::named(DEVICE).unwrap();
        networks.exchange().within(|| interface().has_program).unwrap()
    };
    let was_attached = has_program();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(opened.is_some() && was_attached, "{opened:?}");
    let deadline = clock::Deadline::after(PATIENCE);
    while has_program() {
        assert!(!deadline.left().is_zero(), "the program is still attached");
        std::thread::sleep(Duration::from_millis(1));
    }
}

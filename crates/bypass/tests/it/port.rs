//! Packets that a port takes and those that it leaves; how it ends.

use crate::bench::{COPY, PATIENCE, addresses, networks, open, port};
use bypass::routes::{Interface, route};
use bypass::{BypassError, CopyMode, Device, PortOptions, Protocol, ZeroCopy};
use host::network::{DEVICE, Networks};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const CHILD: &str = "TICKPATH_TEST_PORT_CHILD";

/// The kernel's TCP and UDP between the two networks.
fn the_kernels_stack_works(networks: &Networks) {
    let [first, second] = addresses(networks);
    let listener = networks.exchange().within(|| TcpListener::bind((first, 0))).unwrap().unwrap();
    let to = listener.local_addr().unwrap();
    let connect = || TcpStream::connect_timeout(&to, PATIENCE);
    let mut client = networks.trader().within(connect).unwrap().unwrap();
    let mut server = listener.accept().unwrap().0;
    client.write_all(b"order").unwrap();
    let mut into = [0; 5];
    server.read_exact(&mut into).unwrap();
    assert_eq!(&into, b"order");
    let bind = |ip| move || UdpSocket::bind((ip, 0)).unwrap();
    let from = networks.trader().within(bind(second)).unwrap();
    let to = networks.exchange().within(bind(first)).unwrap();
    to.set_read_timeout(Some(PATIENCE)).unwrap();
    from.send_to(b"tick", to.local_addr().unwrap()).unwrap();
    assert_eq!(to.recv(&mut into).unwrap(), 4);
}

fn has_program(networks: &Networks) -> bool {
    networks.exchange().within(|| Interface::named(DEVICE).unwrap().has_program).unwrap()
}

/// A process that another test has just started has our descriptors until it runs its program.
fn the_program_goes(networks: &Networks) {
    let deadline = clock::Deadline::after(PATIENCE);
    while has_program(networks) {
        assert!(!deadline.left().is_zero(), "the program is still attached");
    }
}

/// ssh, ARP and everything else pass: also the same port of the other protocol.
#[test]
fn what_was_not_claimed_stays_with_the_kernel() {
    let Some(networks) = networks() else { return };
    let Some(mut port) = port(&networks) else { return };
    let [address, _] = addresses(&networks);
    let claim = |protocol, at| move |port: &mut bypass::Port| port.claim(protocol, at);
    let any = SocketAddrV4::new(address, 0);
    let tcp = networks.exchange().within(|| claim(Protocol::Tcp, any)(&mut port)).unwrap().unwrap();
    assert_ne!(tcp.port(), 0);
    assert!(has_program(&networks));
    the_kernels_stack_works(&networks);
    let same = networks.exchange().within(|| UdpSocket::bind(tcp)).unwrap().unwrap();
    same.set_read_timeout(Some(PATIENCE)).unwrap();
    let other = networks.trader().within(|| UdpSocket::bind("0.0.0.0:0")).unwrap().unwrap();
    other.send_to(b"tick", tcp).unwrap();
    assert_eq!(same.recv(&mut [0; 8]).unwrap(), 4);
    let taken = networks.exchange().within(|| claim(Protocol::Udp, tcp)(&mut port)).unwrap();
    assert!(matches!(taken, Err(BypassError::Claim { .. })), "{taken:?}");
    let foreign = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
    let foreign = networks.exchange().within(|| claim(Protocol::Udp, foreign)(&mut port)).unwrap();
    assert!(matches!(foreign, Err(BypassError::Claim { .. })), "{foreign:?}");
    drop(port);
    the_program_goes(&networks);
}

/// veth has no zero-copy: the port says so and copies. Nobody else gets the queue meanwhile.
#[test]
fn a_port_falls_back_to_copies_and_says_why() {
    let Some(networks) = networks() else { return };
    let options = PortOptions { queue: Some(0), zero_copy: ZeroCopy::WhereItCan };
    let port = match open(networks.exchange(), options) {
        Ok(port) => port,
        Err(why) => testing::skip!(Kernel, "{why}"),
    };
    let modes: Vec<&CopyMode> = port.copying().collect();
    assert!(matches!(modes[..], [CopyMode::Copy { because: Some(_) }]), "{modes:?}");
    let said = port.to_string();
    assert!(said.starts_with("AF_XDP on tick0: native XDP, queue 0, copy mode (zero"), "{said}");
    let Err(second) = open(networks.exchange(), COPY) else { panic!("two ports on one queue") };
    assert!(second.to_string().contains("xdp off"), "{second}");
}

/// Where the default route leaves, nobody asks the driver for zero-copy.
#[test]
fn zero_copy_is_not_asked_for_where_ssh_may_be() {
    let Some(networks) = networks() else { return };
    let options = PortOptions { queue: None, zero_copy: ZeroCopy::UnlessDefaultRoute };
    let said = || match open(networks.exchange(), options) {
        Ok(port) => Some(port.to_string()),
        Err(why) => {
            testing::skipped(testing::Need::Kernel, why);
            None
        }
    };
    let has_default =
        || networks.exchange().within(|| Interface::named(DEVICE).unwrap().has_default_route());
    assert!(!has_default().unwrap().unwrap());
    let Some(before) = said() else { return };
    assert!(before.contains("copy mode (zero-copy: ") && !before.contains("ssh"), "{before}");
    let [_, router] = addresses(&networks).map(|address| address.to_string());
    let mut ip = Command::new("ip");
    ip.args(["route", "add", "default", "via", &router, "dev", DEVICE]);
    assert!(networks.exchange().within(|| ip.status().unwrap()).unwrap().success());
    assert!(has_default().unwrap().unwrap());
    let Some(after) = said() else { return };
    assert!(
        after.ends_with("copy mode (zero-copy: an ssh session may be here, by the default route)")
    );
}

/// Flows are spread over queues by their ports. A port of both has them all, one queue its share.
#[test]
fn several_queues_are_served_and_one_alone_has_its_share() {
    const FLOWS: usize = 32;
    let Some(networks) = networks() else { return };
    for network in [networks.exchange(), networks.trader()] {
        let mut ethtool = Command::new("ethtool");
        ethtool.args(["-L", DEVICE, "rx", "2", "tx", "2"]).stderr(Stdio::piped());
        match network.within(|| ethtool.output()).unwrap() {
            Ok(done) if done.status.success() => {}
            other => testing::skip!(Kernel, "two queues: {other:?}"),
        }
    }
    let [first, second] = addresses(&networks);
    let bind = || (0..FLOWS).map(|_| UdpSocket::bind((second, 0)).unwrap()).collect();
    let senders: Vec<UdpSocket> = networks.trader().within(bind).unwrap();
    for (queue, said) in [(None, "2 queues"), (Some(1), "queue 1,")] {
        let port = open(networks.exchange(), PortOptions { queue, zero_copy: ZeroCopy::No });
        let port = match port {
            Ok(port) => port,
            Err(why) => testing::skip!(Kernel, "{why}"),
        };
        assert!(port.to_string().contains(said), "{port}");
        let mut ours = bypass::Datagrams::on_port(port, first);
        let to = networks.exchange().within(|| ours.bind(0)).unwrap().unwrap();
        senders.iter().for_each(|sender| assert_eq!(sender.send_to(b"tick", to).unwrap(), 4));
        let least = if queue.is_none() { FLOWS } else { 1 };
        let (mut came, deadline) = (0, clock::Deadline::after(PATIENCE));
        while came < least {
            came += usize::from(ours.receive(&mut [0; 8]).is_some());
            assert!(!deadline.left().is_zero(), "{queue:?}: {came} of {least}");
        }
        let quiet = clock::Deadline::after(Duration::from_millis(50));
        while !quiet.left().is_zero() {
            came += usize::from(ours.receive(&mut [0; 8]).is_some());
        }
        assert_eq!(came == FLOWS, queue.is_none(), "{queue:?}: {came}");
    }
}

/// How long a child has the queue before it gives it back, and takes it again.
const HELD: Duration = Duration::from_millis(3);
/// How soon the kernel has everything again.
const SOON: Duration = Duration::from_secs(1);

/// Rounds: `TICKPATH_BELOW_KILL_ROUNDS`, which scripts/weekly sets, or some.
fn rounds() -> u32 {
    let asked = std::env::var("TICKPATH_BELOW_KILL_ROUNDS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(12)
}

/// All routes and rules of the first network, and its interface with the program, in `ip`'s words.
/// Without those of IPv6: a second after the interface was made the kernel adds its own address.
fn kernels_settings(networks: &Networks) -> String {
    let show: [&[&str]; 3] = [
        &["-4", "route", "show", "table", "all"],
        &["-4", "rule", "show"],
        &["-details", "link", "show", "dev", DEVICE],
    ];
    let said = show.map(|arguments| {
        let run = || Command::new("ip").args(arguments).output().unwrap();
        let done = networks.exchange().within(run).unwrap();
        assert!(done.status.success(), "{done:?}");
        String::from_utf8(done.stdout).unwrap()
    });
    said.concat()
}

/// A child that opens a port, once or again and again, until it is killed.
fn child(networks: &Networks, how: &str) -> Child {
    let start = || {
        let name = testing::test_name!(a_killed_process_leaves_the_interface_to_the_kernel);
        let mut child: Command = testing::child::again(&name);
        child.env(CHILD, how).stdout(Stdio::piped()).spawn().unwrap()
    };
    networks.exchange().within(start).unwrap()
}

/// Waits until a child has said that it has a port.
fn holds(child: &mut Child) {
    let mut said = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(said.any(|line| line.contains("holds")), "the child has no port");
}

/// Killed at any instant, a process leaves no program, no route and no rule, and within a second
/// the kernel's stack works. A second is one of this thread's: see `testing::cores`.
#[test]
fn a_killed_process_leaves_the_interface_to_the_kernel() {
    if let Some(how) = std::env::var_os(CHILD) {
        hold_a_port(how == "again");
        return;
    }
    if !testing::child::is_possible() {
        return;
    }
    let Some(networks) = networks() else { return };
    if port(&networks).is_none() {
        return;
    }
    the_program_goes(&networks);
    let before = kernels_settings(&networks);
    let begin = clock::monotonic_ns();
    let mut first = child(&networks, "once");
    holds(&mut first);
    let starts_ns = clock::monotonic_ns() - begin;
    assert!(has_program(&networks));
    is_killed(&networks, first, &before, "while it has a port");
    // From the fork on: until it has its port, has it, and has given it back several times.
    let mut random = clock::random::SplitMix64::new(clock::wall_ns());
    for _ in 0..rounds() {
        let delay = Duration::from_nanos(starts_ns).mul_f64(2.0 * random.unit_open());
        let killed = child(&networks, "again");
        std::thread::sleep(delay);
        is_killed(&networks, killed, &before, &format!("{delay:?} after its start"));
    }
    let again = port(&networks).expect("the queue is free again");
    drop(again);
}

fn is_killed(networks: &Networks, mut child: Child, before: &str, when: &str) {
    child.kill().unwrap();
    child.wait().unwrap();
    let is_the_kernels = || {
        !has_program(networks) && {
            the_kernels_stack_works(networks);
            true
        }
    };
    assert!(testing::cores::is_done_within(SOON, is_the_kernels), "killed {when}");
    assert_eq!(kernels_settings(networks), before, "killed {when}");
}

/// In the child, which its parent kills, or which ends by itself.
fn hold_a_port(again: bool) {
    let interface = Interface::named(DEVICE).unwrap();
    let deadline = clock::Deadline::after(PATIENCE);
    while !deadline.left().is_zero() {
        let mut port = bypass::Port::open(&interface, COPY).unwrap();
        port.claim(Protocol::Tcp, SocketAddrV4::new(interface.addresses[0], 0)).unwrap();
        println!("\nit holds a port");
        std::thread::sleep(if again { HELD } else { PATIENCE });
    }
}

/// Routes and neighbours are the kernel's.
#[test]
fn a_route_leads_to_a_neighbour() {
    let Some(networks) = networks() else { return };
    let [first, second] = addresses(&networks);
    let other = networks.trader().within(|| Interface::named(DEVICE).unwrap()).unwrap();
    networks
        .exchange()
        .within(|| {
            let interface = Interface::with_address(first).unwrap();
            assert_eq!((interface.name.as_str(), interface.is_veth), (DEVICE, true));
            assert_eq!(interface.receive_queues().unwrap(), 1);
            let way = route(second).unwrap();
            assert_eq!((way.interface, way.source, way.next_hop), (interface.index, first, second));
            assert_eq!(interface.neighbour(second).unwrap(), other.mac);
            let far = route(Ipv4Addr::new(198, 51, 100, 1)).unwrap_err();
            assert!(far.to_string().contains("ip route get 198.51.100.1"), "{far}");
            let missing = Interface::named("eth77").unwrap_err();
            assert!(missing.to_string().contains("eth77"), "{missing}");
        })
        .unwrap();
}

//! Which datagrams a subscriber gets.

use crate::*;
use fanout::tunnel::{self, STAMPED_BYTES, Stamps};
use transport::datagram::{DatagramSender, SendOptions, SendOutcome};

/// Datagrams of a test, few enough for any receive buffer.
const DATAGRAMS: u8 = 50;

#[test]
fn each_subscriber_gets_every_datagram_whole_and_once() {
    let (source, _) = socket();
    let receivers: Vec<_> = (0..5).map(|_| socket()).collect();
    let to: Vec<SocketAddrV4> = receivers.iter().map(|one| one.1).collect();
    for order in SendOrder::ALL {
        let running = Running::start(Settings { order, ..settings(&to) });
        for number in 0..DATAGRAMS {
            let bytes = vec![number; usize::from(number) * 20];
            source.send_to(&bytes, running.from).unwrap();
            for (receiver, _) in &receivers {
                assert_eq!(receive(receiver), bytes);
            }
        }
        receivers.iter().take(1).for_each(|(receiver, _)| gets_nothing(receiver));
        let counts = running.end();
        assert_eq!(counts.received, u64::from(DATAGRAMS));
        assert_eq!(counts.copying_ns.len(), u64::from(DATAGRAMS));
        assert_eq!(counts.receive_dropped, Some(0));
        for subscriber in counts.subscribers.all() {
            assert_eq!(subscriber.counts.sent, u64::from(DATAGRAMS));
        }
    }
}

/// One that stops reading fills its own buffer, and one that died has no socket any more. Neither
/// costs the others a datagram.
#[test]
fn a_subscriber_that_stops_reading_or_dies_harms_no_other() {
    let (source, _) = socket();
    let ((deaf, deaf_address), (good, good_address)) = (socket(), socket());
    // The least that the kernel gives, room for a few datagrams.
    rustix::net::sockopt::set_socket_recv_buffer_size(&deaf, 1).unwrap();
    let (dead, dead_address) = socket();
    drop(dead);
    let to = [deaf_address, dead_address, good_address];
    let running = Running::start(settings(&to));
    const MANY: u32 = 2_000;
    for number in 0..MANY {
        let mut bytes = [0; 1_000];
        bytes[..4].copy_from_slice(&number.to_be_bytes());
        source.send_to(&bytes, running.from).unwrap();
        assert_eq!(receive(&good), bytes, "datagram {number}");
    }
    let counts = running.end();
    let sent = counts.subscribers.all().iter().map(|one| one.counts.sent);
    assert_eq!(sent.collect::<Vec<_>>(), [u64::from(MANY); 3]);
    deaf.set_nonblocking(true).unwrap();
    let kept = std::iter::from_fn(|| deaf.recv(&mut [0; 2048]).ok()).count();
    assert!((1..MANY as usize).contains(&kept), "the full buffer kept {kept} of {MANY}");
}

#[test]
fn only_the_source_is_copied() {
    let (source, _) = socket();
    let (receiver, address) = socket();
    let foreign = Some(Ipv4Addr::new(127, 0, 0, 99));
    let running = Running::start(Settings { source: foreign, ..settings(&[address]) });
    source.send_to(b"from 127.0.0.1", running.from).unwrap();
    let allowed = UdpSocket::bind("127.0.0.99:0").unwrap();
    allowed.send_to(b"from 127.0.0.99", running.from).unwrap();
    assert_eq!(receive(&receiver), b"from 127.0.0.99");
    assert_eq!(running.end().rejects.foreign, 1);
}

/// The three stamps of a tunnelled datagram split its way into two hops and the time in between.
#[test]
fn both_hops_and_the_replicator_add_up() {
    let (source, _) = socket();
    let (receiver, address) = socket();
    let running = Running::start(Settings { tunnel: Tunnel::Keep, ..settings(&[address]) });
    let group = Ipv4Addr::new(224, 0, 31, 50);
    let mut datagram = [7; STAMPED_BYTES + 20];
    let before_ns = clock::wall_ns();
    let sent = Stamps { sequence: 9, sent_ns: before_ns, ..Stamps::default() };
    sent.encode(group, &mut datagram);
    source.send_to(b"no header", running.from).unwrap();
    source.send_to(&datagram, running.from).unwrap();
    let copy = receive(&receiver);
    let after_ns = clock::wall_ns();
    let stamps = Stamps::decode(&copy).unwrap();
    assert_eq!(tunnel::group(&copy), Some(group));
    assert_eq!((stamps.sequence, stamps.sent_ns), (9, before_ns));
    assert_eq!(copy[STAMPED_BYTES..], [7; 20]);
    let hops = [before_ns, stamps.received_ns, stamps.resent_ns, after_ns];
    assert!(hops.is_sorted() && before_ns < after_ns, "{hops:?}");
    assert_eq!(running.end().rejects.no_header, 1);
}

/// Subscribers get in a tunnel the datagrams of a group that the replicator joined.
#[test]
fn a_multicast_group_is_joined_and_carried_on() {
    let group = SocketAddrV4::new(Ipv4Addr::new(239, 34, 34, 34), free_port());
    let own = Some((*group.ip(), Ipv4Addr::LOCALHOST));
    if let Err(why) = transport::datagram::receiving(group.into(), own, 1 << 16) {
        testing::skip!(Multicast, "{why}");
    }
    let (receiver, address) = socket();
    let options =
        SendOptions { multicast_interface: Some(Ipv4Addr::LOCALHOST), ..SendOptions::default() };
    let running =
        Running::start(Settings { from: group, tunnel: Tunnel::Add, ..settings(&[address]) });
    let mut sender = DatagramSender::bind(ANY.into(), &options).unwrap();
    assert!(matches!(sender.send(group.into(), b"to all"), SendOutcome::Whole));
    let expected = [&tunnel::header(*group.ip())[..], b"to all"].concat();
    assert_eq!(receive(&receiver), expected);
    drop(running.end());
}

/// A port that nothing has just now.
fn free_port() -> u16 {
    UdpSocket::bind(ANY).unwrap().local_addr().unwrap().port()
}

#[test]
fn a_list_that_makes_no_sense_is_rejected() {
    let clock = Clock::calibrate();
    let reject = |settings| Replicator::new(settings, clock).err().unwrap().to_string();
    let (_, address) = socket();
    let twice = reject(settings(&[address, address]));
    assert!(twice.contains(&address.to_string()) && twice.contains("twice"), "{twice}");
    let plain = reject(Settings { tunnel: Tunnel::Add, ..settings(&[]) });
    assert!(plain.contains("no multicast group"), "{plain}");
}
